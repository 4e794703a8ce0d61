"""A prompt in a file of its own, with the placeholders of any tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from calm.core.files import json_of, read_text
from calm.core.verdict import Task
from calm.errors import ConfigError
from calm.judges.lint.page import MOST_SLOTS, Role, Slot, page_of, sign, without_signs
from calm.judges.lint.placeholders import COMMENT, STATEMENT, marker_of, placeholders, role_of
from calm.judges.lint.places import Source, Sources
from calm.judges.lint.subject import Subject

_TURN: Final = re.compile(r"^### (system|user|assistant)[ \t]*\n", re.MULTILINE)
"""A line that begins a message, where a file holds several."""
_SCORES: Final = re.compile(r"\b(?:scores?|rat(?:e|ing)|scale|stars|points)\b", re.IGNORECASE)
_LOOP: Final = re.compile(r"\{%-?\s*for\s+(\w+)\s+in\s+(\w+)")


def subject_of(path: Path, task: Task | None, roles: Mapping[str, Role]) -> Subject:
    """
    Return what to lint of a file that holds a prompt; `roles` say what placeholders stand for, beside their names.

    Without a task, a prompt with two answers is for pairs, one that speaks of scores for scores, others for a rubric.

    Raises:
        ConfigError: the file cannot be read, is empty, or holds no placeholder.
    """
    text = text_of(path)
    slots: list[tuple[Role, int, str]] = []
    keys: dict[str, int] = {}
    loops = {one: role_of(many) for one, many in _LOOP.findall(text)}

    def signed(said: str) -> str:
        said = STATEMENT.sub(_blank, COMMENT.sub(_blank, without_signs(said)))
        made, at = [], 0
        for one in placeholders(said):
            role = roles.get(one.name) or loops.get(one.name.partition(".")[0]) or role_of(one.name)
            key = marker_of(one.name) or (one.name if task == "pairwise" else "")
            number = keys.setdefault(key, len(keys)) if role == "answer" else 0
            if len(slots) >= MOST_SLOTS:
                raise ConfigError(f"{path}: expected at most {MOST_SLOTS} placeholders, got more; is this a prompt?")
            slots.append((role, number, one.written))
            made += [said[at : one.start], sign(len(slots) - 1)]
            at = one.stop
        return "".join([*made, said[at:]])

    turns = _turns(path, text)
    page = page_of([(role, signed(said)) for role, said, _ in turns], slots, [line for *_, line in turns])
    if not page.slots:
        raise ConfigError(
            f"{path}: expected a prompt with placeholders such as {{question}} and {{answer}}, or a judge.toml, and "
            "found none"
        )
    if task is None:
        task = "pairwise" if len(page.answers) == 2 else "score" if _SCORES.search(page.prose) else "rubric"
    several = 2 if task == "pairwise" else 1
    return Subject(task, several, page, Sources((Source(str(path), text),)), _as_written)


def text_of(path: Path) -> str:
    """
    Return the text of a file, with one kind of line end.

    Raises:
        ConfigError: the file cannot be read, or is empty.
    """
    text = read_text(path, "a prompt")
    if not text.strip():
        raise ConfigError(f"{path}: expected a prompt, got an empty file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _turns(path: Path, text: str) -> list[tuple[str, str, int]]:
    """
    Return the messages of a file, each with its role and the line where its text begins.

    They stand in a JSON list, or in a text after lines such as `### system` and `### user`; else the text is one.
    """
    if path.suffix == ".json":
        return [
            (role, said, text.count("\n", 0, max(0, text.find(said[:20]))) + 1) for role, said in _listed(path, text)
        ]
    heads = list(_TURN.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        return [("user", text, 1)]
    stops = [*(head.start() for head in heads[1:]), len(text)]
    return [
        (head[1], text[head.end() : stop].removesuffix("\n"), text.count("\n", 0, head.end()) + 1)
        for head, stop in zip(heads, stops, strict=True)
    ]


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


def _blank(found: re.Match[str]) -> str:
    """Keep the lines of what is taken out, so that those after it keep their numbers."""
    return "\n" * found[0].count("\n")


def _as_written(slot: Slot, delimiter: str) -> bool:
    """What fills such a placeholder puts the text in as it is; only a filter beside it could change it."""
    return "|" not in slot.written
