"""
Names of models, authors and families: when two of them mean the same.

Case and stray white space say nothing, nor does the maker or server before the last `/` (`openai/gpt-4o`, `GPT-4o`).
A dated version and the name without a date are the same model; two different dates are two models of one family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

T = TypeVar("T")

_DATE: Final = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2})|[-@:]latest)$")


def spelling(name: str) -> str:
    """
    Return a name without capitals and stray white space: so names of families are compared.

    >>> spelling(" Meta  Llama ")
    'meta llama'
    """
    return " ".join(name.split()).casefold()


def bare(model: str) -> str:
    """
    Return the name of a model without its maker, capitals and stray white space; the date stays.

    >>> bare("openai/GPT-4o-2024-08-06 ")
    'gpt-4o-2024-08-06'
    """
    whole = spelling(model)
    return whole.rpartition("/")[2].strip() or whole


def plain(model: str) -> str:
    """
    Return the same without the date.

    >>> plain("openai/GPT-4o-2024-08-06"), plain("claude-3-7-sonnet-20250219"), plain("llama3:latest")
    ('gpt-4o', 'claude-3-7-sonnet', 'llama3')
    """
    return _DATE.sub("", bare(model))


def same_model(one: str, other: str) -> bool:
    """
    Return whether two names mean one model.

    >>> same_model("openai/gpt-4o", "GPT-4o-2024-08-06"), same_model("gpt-4o-2024-05-13", "gpt-4o-2024-08-06")
    (True, False)
    """
    names, without = {bare(one), bare(other)}, {plain(one), plain(other)}
    return len(names) == 1 or (len(without) == 1 and not without.isdisjoint(names))


def repeated(models: Iterable[str]) -> list[str]:
    """
    Return the names that mean the same model as one before them.

    >>> repeated(["gpt-4o", "o3", "openai/GPT-4o"])
    ['openai/GPT-4o']
    """
    seen: list[str] = []
    found = []
    for model in models:
        if any(same_model(model, other) for other in seen):
            found.append(model)
        seen.append(model)
    return found


def one_name(names: Iterable[str], known: Iterable[str] = ()) -> dict[str, str]:
    """
    Return under which name each of some authors goes: that of the `known` model that it means, else its first spelling.

    A name that means several known models, and is spelt like none of them, means none.

    >>> one_name(["GPT-4o", "Human", "human"], known=["openai/gpt-4o"])
    {'GPT-4o': 'openai/gpt-4o', 'Human': 'Human', 'human': 'Human'}
    """
    models = list(dict.fromkeys(known))
    first: dict[str, str] = {}
    found = {}
    for name in dict.fromkeys(names):
        near = [one for one in models if same_model(one, name)]
        alike = [one for one in near if bare(one) == bare(name)] or near
        spelt = [one for one in alike if spelling(one) == spelling(name)] or alike
        found[name] = spelt[0] if len(spelt) == 1 else first.setdefault(spelling(name), name)
    return found


def value_for(model: str, stated: Mapping[str, T]) -> T | None:
    """
    Return what is stated of a model: of its name as it is, without its maker, or without its date; None: nothing.

    Of two names that differ in case or white space alone, the last one counts.

    >>> value_for("vendor/House-1-20250101", {"HOUSE-1": "qwen"})
    'qwen'
    """
    folded = {spelling(name): value for name, value in stated.items()}
    folded |= {bare(name): value for name, value in stated.items() if bare(name) not in folded}
    return next((folded[name] for name in (spelling(model), bare(model), plain(model)) if name in folded), None)
