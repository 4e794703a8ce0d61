"""Draw tasks with constraints that a program checks, and answers that keep some of them: the checks give the gold."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from calm.cases.generate.results import shape
from calm.cases.generate.rubrics import rubric_case
from calm.cases.generate.scores import gold, grade_class
from calm.cases.generate.topics import Topic
from calm.core.checks import verify, violate
from calm.core.verdict import Task

__all__ = ["case_of"]

_FULL: Final = 4
"""The turn, of 14, whose answer keeps every constraint."""
_FULL_PERIOD: Final = 14
_CLOSE_PERIOD: Final = 3

Checks = Sequence[Mapping[str, object]]


def case_of(topic: Topic, task: Task, rng: random.Random, turn: int) -> dict[str, object] | None:
    """Return a case without its id; None where the topic cannot carry the drawn constraints."""
    family = shape(task)
    if family in ("pairwise", "listwise") and turn % _FULL_PERIOD == _FULL:
        turn += 1  # an answer that keeps everything cannot lose against the reference
    drawn = rubric_case(rng, topic, turn)
    if drawn is None or family == "rubric":
        return drawn
    criteria, answers = drawn["criteria"], drawn["answers"]
    if not (isinstance(criteria, list) and isinstance(answers, list)):
        return None
    checks: Checks = [criterion["check"] for criterion in criteria]
    text, reference = str(answers[0]["text"]), str(drawn["reference"])
    known = {key: drawn[key] for key in ("question", "tags")}
    if family == "score":
        known |= {"answers": [{"id": "only", "text": text}], "reference": reference}
        return known | {"scores": {"only": _grade(checks, text)}}
    if family == "label":
        known |= {"answers": [{"id": "only", "text": text}], "reference": reference}
        return known | {"label": grade_class(_kept(checks, text), len(checks))}
    if family == "pairwise":
        return _pair(known, checks, (text, reference), rng, turn)
    return _list(known, checks, (text, reference), rng)


def _kept(checks: Checks, text: str) -> int:
    return sum(verify(check, text) for check in checks)


def _grade(checks: Checks, text: str) -> int:
    return gold(_kept(checks, text), len(checks))


def _broken(checks: Checks, text: str, rng: random.Random) -> str | None:
    """Return the text with one constraint broken and all others as they were; None if no edit does that."""
    before = [verify(check, text) for check in checks]
    for at in rng.sample(range(len(checks)), len(checks)):
        changed = violate(checks[at], text, rng) if before[at] else None
        if changed is not None and all(
            verify(check, changed) == (held and number != at)
            for number, (check, held) in enumerate(zip(checks, before, strict=True))
        ):
            return changed
    return None


def _pair(
    known: dict[str, object], checks: Checks, texts: tuple[str, str], rng: random.Random, turn: int
) -> dict[str, object] | None:
    """Return the reference against an answer that breaks one constraint (close) or most of them (clear)."""
    text, reference = texts
    close = turn % _CLOSE_PERIOD == 0
    bad = _broken(checks, reference, rng) if close else text
    if bad is None or _kept(checks, bad) == len(checks):
        return None
    return known | {
        "answers": [{"id": "good", "text": reference}, {"id": "bad", "text": bad}],
        "better": "good",
        "tags": {"margin": "close" if close else "clear"},
    }


def _list(
    known: dict[str, object], checks: Checks, texts: tuple[str, str], rng: random.Random
) -> dict[str, object] | None:
    """Return answers of which no two keep as many constraints."""
    found = {_kept(checks, text): text for text in texts}
    for text in texts:
        less = _broken(checks, text, rng)
        if less is not None:
            found.setdefault(_kept(checks, less), less)
    if len(found) < 3:
        return None
    kept = rng.sample(sorted(found), len(found))
    names = [f"w{number}" for number in range(1, len(kept) + 1)]
    return known | {
        "answers": [{"id": name, "text": found[count]} for name, count in zip(names, kept, strict=True)],
        "better": names[kept.index(max(kept))],
        "scores": {name: gold(count, len(checks)) for name, count in zip(names, kept, strict=True)},
    }
