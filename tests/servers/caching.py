"""
Servers that keep the beginnings of prompts as Anthropic and OpenAI do, and count what their caches give and take.

    with caching_server(respond, least=1024) as server:
        ...                                 # base_url = server.url
        assert server.counted.read > 0

A token is four characters. What a call wrote can be read once its reply has begun, and for five minutes after each use
(`server.later(301)` lets time pass). Anthropic's path goes by marks: at most four, none on an empty block, a beginning
of at least so many tokens, exactly the same blocks. OpenAI's goes by the longest beginning of at least 1,024 tokens, in
steps of 128; a model that caches by marks (`explicit`) keeps what ends at one, else the whole prompt, at its end. With
`refusal=400` it refuses marks by that status, as an older server or a gateway does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, Final

from tests.servers import Answer, Respond, Seen, Wire, serving

CHARACTERS: Final = 4
STEP: Final = 128
LIFE_S: Final = 300.0
MOST_MARKS: Final = 4
LOOK_BACK: Final = 20
"""So many blocks before a mark are looked at for a beginning that is kept."""


@dataclass
class Counted:
    """What the calls used: tokens of prompts, those that the cache gave, and those that it took."""

    calls: int = 0
    input: int = 0
    read: int = 0
    written: int = 0

    def cost(self, read: float, write: float) -> float:
        """Return the cost of all prompts as a share of what they would cost without a cache."""
        return (self.input - (1 - read) * self.read - (1 - write) * self.written) / self.input


@dataclass
class Caching(Wire):
    """A running server."""

    least: int = 1024
    explicit: bool = False
    refusal: int = 0
    delay_s: float = 0.0
    counted: Counted = field(default_factory=Counted)
    _kept: dict[int, list[float]] = field(default_factory=dict)
    """When each beginning can be read from on, and when it was last used."""
    _passed_s: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def later(self, seconds: float) -> None:
        """Let time pass for the cache."""
        self._passed_s += seconds

    def think(self, seen: Seen) -> Answer:
        """Return the answer, with what the cache gave and took."""
        found = super().think(seen)
        if found.status != 200:
            return found
        places = _blocks(seen.path, seen.body)
        told = [place for place, (_, mark, _) in enumerate(places) if mark]
        if (told and self.refusal) or len(told) > MOST_MARKS or any(not places[place][0].strip() for place in told):
            return Answer(status=self.refusal or 400, message="cache_control: Extra inputs are not permitted")
        now = monotonic() + self._passed_s
        with self._lock:
            by_marks = seen.path == "/v1/messages" or self.explicit
            put, read, written = (self._marked if by_marks else self._longest)(seen, places, now)
            if seen.messages[-1:] != [("user", "Answer with the one word: ready.")]:
                counted = self.counted
                counted.calls += 1
                counted.input += put
                counted.read += read
                counted.written += written
        return Answer(found.text, usage=(put, 7), kept=(read, written), delay_s=self.delay_s)

    def _marked(self, seen: Seen, places: list[tuple[str, bool, str]], now: float) -> tuple[int, int, int]:
        """Return the tokens of a prompt, those read and those written, where marks say what is kept."""
        sizes, keys, size, key = list[int](), list[int](), 0, hash(str(seen.body["model"]))
        for text, _, role in places:
            size, key = size + len(text), hash((key, role, text))
            sizes.append(size // CHARACTERS)
            keys.append(key)
        options = seen.body.get("prompt_cache_options", {})
        told = [place for place, (_, mark, _) in enumerate(places) if mark]
        if seen.path != "/v1/messages" and options.get("mode") != "explicit":
            told.append(len(places) - 1)
        told = [place for place in told if sizes[place] >= self.least]
        read = 0
        for place in told:
            for before in range(place, max(-1, place - LOOK_BACK), -1):
                if sizes[before] > read and self._held(keys[before], now):
                    read = sizes[before]
        for place in told:
            self._kept.setdefault(keys[place], [now + self.delay_s, now])[1] = now
        return size // CHARACTERS, read, max([read, *(sizes[place] for place in told)]) - read

    def _longest(self, seen: Seen, places: list[tuple[str, bool, str]], now: float) -> tuple[int, int, int]:
        """Return the same where the longest beginning that another prompt had is read."""
        text = "".join(f"{role}{text}" for text, _, role in places)
        tokens, read = len(text) // CHARACTERS, 0
        for size in range(self.least, tokens + 1, STEP):
            key = hash((str(seen.body["model"]), text[: size * CHARACTERS]))
            if self._held(key, now):
                read = size
            self._kept.setdefault(key, [now + self.delay_s, now])[1] = now
        return tokens, read, 0

    def _held(self, key: int, now: float) -> bool:
        found = self._kept.get(key)
        if found is not None and now - found[1] > LIFE_S:
            del self._kept[key]
            return False
        return found is not None and found[0] <= now


def _blocks(path: str, body: Mapping[str, Any]) -> list[tuple[str, bool, str]]:
    """Return the blocks of a prompt: the text, whether it has a mark, and whose it is."""
    turns = body["input"] if path == "/v1/responses" else body["messages"]
    whole = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    found = []
    for turn in [*whole, *turns]:
        content = turn["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            marked = "cache_control" in block or "prompt_cache_breakpoint" in block
            found.append((block["text"], marked, turn["role"]))
    return found


@contextmanager
def caching_server(respond: Respond, **settings: Any) -> Iterator[Caching]:
    """Run such a server in a thread of its own until the block ends."""
    wire = Caching(respond, **settings)
    with serving(wire):
        yield wire
