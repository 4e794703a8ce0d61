"""A prompt in a file: one text, or several messages in a JSON list or after lines such as `### system`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.core.files import json_of, read_text
from calm.errors import ConfigError

_HEAD: Final = re.compile(r"^### (system|user|assistant)[ \t]*\n", re.MULTILINE)
"""A line that begins a message, where a file holds several."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a prompt: whose it is, its text, and the line of its file where the text begins."""

    role: str
    text: str
    line: int


def text_of(path: Path) -> str:
    """
    Return the text of a prompt file, with one kind of line end.

    Raises:
        ConfigError: it is a folder, cannot be read, or is empty.
    """
    if path.is_dir():
        raise ConfigError(f"{path}: expected a prompt in a file, got a folder")
    text = read_text(path, "a prompt")
    if not text.strip():
        raise ConfigError(f"{path}: expected a prompt, got an empty file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def turns_of(path: Path, text: str) -> list[Turn]:
    """
    Return the messages of a prompt file with this text; a text that is no list of messages is one of the user.

    Raises:
        ConfigError: a .json file holds no list of messages.
    """
    if path.suffix == ".json":
        return [Turn(role, said, _line(text, said)) for role, said in _listed(path, text)]
    heads = list(_HEAD.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        return [Turn("user", text, 1)]
    stops = [*(head.start() for head in heads[1:]), len(text)]
    return [
        Turn(head[1], text[head.end() : stop].removesuffix("\n"), text.count("\n", 0, head.end()) + 1)
        for head, stop in zip(heads, stops, strict=True)
    ]


def _line(text: str, said: str) -> int:
    begins = said.partition("\n")[0][:20].partition('"')[0]
    return text.count("\n", 0, max(0, text.find(begins))) + 1


def _listed(path: Path, text: str) -> list[tuple[str, str]]:
    try:
        turns = json_of(text)
    except ValueError as error:
        raise ConfigError(f"{path}: expected JSON: {error}") from error
    if not isinstance(turns, list) or not turns or not all(_is_turn(turn) for turn in turns):
        raise ConfigError(f'{path}: expected a list of {{"role": ..., "content": ...}} with texts')
    return [(turn["role"], turn["content"]) for turn in turns]


def _is_turn(turn: object) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str)
