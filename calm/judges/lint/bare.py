"""A prompt in a file of its own, with the placeholders of any tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from calm.core.verdict import Task
from calm.errors import ConfigError
from calm.judges.lint.page import MOST_SLOTS, Role, Slot, page_of, sign, without_signs
from calm.judges.lint.placeholders import COMMENT, STATEMENT, marker_of, placeholders, role_of
from calm.judges.lint.places import Source, Sources
from calm.judges.lint.subject import Subject
from calm.judges.prompts.turns import text_of, turns_of

_SCORES: Final = re.compile(r"\b(?:scores?|rat(?:e|ing)|scale|stars|points)\b", re.IGNORECASE)
_LOOP: Final = re.compile(r"\{%-?\s*for\s+(\w+)\s+in\s+(\w+)")


def subject_of(path: Path, task: Task | None, roles: Mapping[str, Role]) -> Subject:
    """
    Return what to lint of a file that holds a prompt; `roles` say what placeholders mean, beside their names.

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

    turns = turns_of(path, text)
    page = page_of([(one.role, signed(one.text)) for one in turns], slots, [one.line for one in turns])
    if not page.slots:
        raise ConfigError(
            f"{path}: expected a prompt with placeholders such as {{question}} and {{answer}}, or a judge.toml, and "
            "found none"
        )
    if task is None:
        task = "pairwise" if len(page.answers) == 2 else "score" if _SCORES.search(page.prose) else "rubric"
    several = 2 if task == "pairwise" else 1
    return Subject(task, several, page, Sources((Source(str(path), text),)), _as_written)


def _blank(found: re.Match[str]) -> str:
    """Keep the lines of what is taken out, so that those after it keep their numbers."""
    return "\n" * found[0].count("\n")


def _as_written(slot: Slot, delimiter: str) -> bool:
    """What fills such a placeholder puts the text in as it is; only a filter beside it could change it."""
    return "|" not in slot.written
