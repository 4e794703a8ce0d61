"""
How long a prompt may be: the context of a model in tokens, and what a program knows of a prompt's tokens for sure.

No tokenizer is asked. The usual ones part a text at its blanks before anything else, so a token belongs to one word,
and a prompt has at least as many tokens as words. At the 4.3 characters a token of English text, the shipped cases with
passages have 1.16 tokens a word: there the bound is 14 % too low. Text without blanks between its words (Chinese,
Japanese, Thai) is hardly counted. What passes the bound cannot fit. What does not pass it may still not fit: then the
server says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, cast

from calm.models.kept import KEPT
from calm.models.wire import Json

SHORTEST: Final = 512
"""No server gives a model a context of fewer tokens, so a smaller count is not that of a prompt which was cut."""


def least_tokens(texts: Iterable[str]) -> int:
    """
    Return how many tokens texts have at least: their words, as blanks part them.

    >>> least_tokens(["Which one is better?", "The first."])
    6
    """
    return sum(len(text.split()) for text in texts)


def may_exceed(characters: int, window: int = SHORTEST) -> bool:
    """Return whether texts of so many characters may have more words than a window: each takes a letter and a blank."""
    return characters >= 2 * window - 1


@cache
def window_of(model: str) -> int | None:
    """Return how many tokens the context of a model has, by the table of prices; None where it is not known."""
    return cast("int | None", KEPT.once(f"window {model}", _is_window, lambda: (_looked_up(model), True)))


def _looked_up(model: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot  # 150 ms that only the first run of a day with a model pays

    try:
        found = get_snapshot().find_provider_model(model, None, None, None)[1].context_window
    except LookupError:
        return None
    return found if isinstance(found, int) else None


def _is_window(found: Json) -> bool:
    return found is None or (type(found) is int and found > 0)


def was_cut(counted: int | None, least: int) -> bool:
    """
    Return whether a server read less of a prompt than was sent: it counted fewer tokens than the prompt has at least.

    A server that counts only what it had not kept from an earlier call says so few, too. What is cut by less than the
    bound is too low is not found.
    """
    return counted is not None and SHORTEST <= counted < least
