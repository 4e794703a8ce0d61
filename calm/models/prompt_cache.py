"""
The caches of prompts that providers keep: how long a beginning must be, and how a body marks where one ends.

A mark changes no text: a block that holds the end is cut in two, at a line break where there is one. calm assumes that
a model reads two blocks of a message as their joined text. Only models by Anthropic, and those of OpenAI that cache by
marks, are sent any, and only by their provider's own server or where judge.toml says `prompt_cache = true`: a gateway
may join blocks with a line break, or read the first one alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final

from calm.core.edits import Messages
from calm.models.apis import Provider, items, table
from calm.models.wire import Json

_OWN: Final = frozenset({"cache_control", "prompt_cache_options"})
"""What a user sends who says by `extra_body` what is cached."""
LEAST_CHARACTERS: Final = 2048
"""A beginning of fewer characters hardly has the 1,024 tokens that a cache wants at least."""


@dataclass(frozen=True, slots=True)
class CacheRule:
    """
    What a cache keeps of prompts to models whose bare name a pattern finds: beginnings of `least` tokens or more.

    With `marks`, it keeps those that a body marks.
    """

    names: re.Pattern[str]
    least: int
    marks: bool = False


_CLAUDE: Final = (
    CacheRule(re.compile(r"claude-(?:opus-4-[56]|haiku-4-5)(?!\d)"), 4096, marks=True),
    CacheRule(re.compile(r"claude-(?:opus-4-7(?!\d)|sonnet-4-6(?!\d)|3-haiku|3-5-haiku)"), 2048, marks=True),
    CacheRule(
        re.compile(r"claude-(?:opus-4(?:-[018]|-\d{8}|@|$)|sonnet-(?:4|5)|3-7-sonnet|3-5-sonnet|3-opus)"),
        1024,
        marks=True,
    ),
    CacheRule(re.compile(r"claude-"), 4096, marks=True),
)
"""
Sources: platform.claude.com/docs/en/build-with-claude/prompt-caching; for Sonnet 4.6 what was observed, in
github.com/anthropics/anthropic-sdk-python/issues/1194. A model that is not named here is taken to want the most.
"""
_OPENAI: Final = (
    CacheRule(re.compile(r"gpt-(?:5[.-](?:[6-9]|\d\d)|[6-9]|\d\d)(?![\d])"), 1024, marks=True),
    CacheRule(re.compile(r"(?:gpt-(?:4o|4\.1|5)|chatgpt-4o|o[134](?:-|$))"), 1024),
)
"""
Source: developers.openai.com/api/docs/guides/prompt-caching. From gpt-5.6 on, what is written to the cache costs more
than what is not, and is the whole prompt where a body marks nothing.
"""


@cache
def cache_rule(provider: Provider, model: str) -> CacheRule | None:
    """
    Return what is known of the cache for a model; None: nothing.

    >>> [getattr(cache_rule("anthropic", name), "least", None) for name in ("claude-sonnet-4-5", "claude-haiku-4-5")]
    [1024, 4096]
    >>> cache_rule("openai", "gpt-4o-mini").marks, cache_rule("openai", "gpt-5.6").marks, cache_rule("openai", "tiny")
    (False, True, None)
    """
    name = model.rsplit("/", 1)[-1].lower()
    rules = _CLAUDE if provider == "anthropic" else _OPENAI
    return next((rule for rule in rules if rule.names.match(name)), None)


def ends_in(prompt: Messages, shared: Sequence[int]) -> tuple[int, ...]:
    """
    Return where beginnings of a prompt end that are worth a mark, in characters of its joined texts.

    `shared` are the characters at its beginning that other prompts have, too: those of all cases, those of one case. So
    are the ends; the first is 0 where what all cases share is too short.
    """
    found: list[int] = []
    edges = [0, *accumulate(len(message.text) for message in prompt)]
    for end in shared:
        place = next((n for n, edge in enumerate(edges[1:]) if end <= edge), None)
        if place is None:
            continue
        cut = edges[place] + _cut(prompt[place].text, end - edges[place], first=edges[place] < LEAST_CHARACTERS)
        enough = cut - (found[-1] if found else 0) >= LEAST_CHARACTERS
        found += [cut] if enough else [] if found else [0]
    return tuple(found) if any(found) else ()


def _cut(text: str, end: int, *, first: bool) -> int:
    """Return where the block of a text is cut that is shared up to `end`; `first`: what is before is too short."""
    if not text[end:].strip():
        return len(text)
    line = text.rfind("\n", 0, end) + 1 or end
    return line if text[:line].strip() and (first or line >= LEAST_CHARACTERS) else 0


def marked(provider: Provider, body: Mapping[str, Json], ends: Sequence[int]) -> dict[str, Json] | None:
    """
    Return a body that marks where beginnings end; None where it has no such place, or marks of the user's own.

    OpenAI's has its model write nothing else: a prompt that no other one begins with would cost more.
    """
    texts = texts_in(provider, body)
    turns = body.get(_turns(provider))
    if texts is None or not isinstance(turns, list) or not _OWN.isdisjoint(body):
        return None
    blocks, begin = list[list[Json]](), 0
    for text in texts:
        blocks.append(list(_blocks(provider, text, [end - begin for end in ends if begin < end <= begin + len(text)])))
        begin += len(text)
    made = dict(body)
    opening = len(texts) - len(turns)
    if any(map(_has_mark, blocks[:opening])):
        made["system"] = [block for each in blocks[:opening] for block in each]
    made[_turns(provider)] = [
        {**turn, "content": each}
        if isinstance(turn, dict) and _has_mark(each) and _takes_parts(provider, turn)
        else turn
        for turn, each in zip(turns, blocks[opening:], strict=True)
    ]
    if provider != "anthropic":
        return {**made, "prompt_cache_options": {"mode": "explicit"}}
    return None if made == body else made


def texts_in(provider: Provider, body: Mapping[str, Json]) -> list[str] | None:
    """Return the texts of a body in the order of its prompt; None where it holds more than texts without marks."""
    system = body.get("system", []) if provider == "anthropic" else []
    opening = [system] if isinstance(system, str) else [_text_of(block) for block in items(system)]
    found = [*opening, *(table(turn).get("content") for turn in items(body.get(_turns(provider))))]
    texts = [text for text in found if isinstance(text, str)]
    return texts if len(texts) == len(found) else None


def _turns(provider: Provider) -> str:
    return "input" if provider == "openai-responses" else "messages"


def _text_of(block: object) -> object:
    """Return the text of a block without a mark; None of any other."""
    return table(block).get("text") if table(block).keys() == {"type", "text"} else None


def _has_mark(blocks: Sequence[Json]) -> bool:
    return any(len(table(block)) > 2 for block in blocks)


def _takes_parts(provider: Provider, turn: Mapping[str, object]) -> bool:
    """Return whether a turn may hold parts: what a model said has parts of other kinds in OpenAI's APIs."""
    return provider == "anthropic" or turn.get("role") != "assistant"


def _blocks(provider: Provider, text: str, cuts: Sequence[int]) -> Iterator[Json]:
    kind = "input_text" if provider == "openai-responses" else "text"
    mark: dict[str, Json] = {"cache_control": {"type": "ephemeral"}}
    if provider != "anthropic":
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    begin = 0
    for cut in cuts:
        yield {"type": kind, "text": text[begin:cut], **mark}
        begin = cut
    if begin < len(text):
        yield {"type": kind, "text": text[begin:]}
