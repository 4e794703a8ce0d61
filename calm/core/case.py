"""A case: what a judge is asked about, and how it is put before the judge. Frozen data, changed by copying."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from calm.core.checks import verify
from calm.errors import EditError

TIE = "tie"
"""The value of `Case.better` when the answers are equally good; therefore no answer may have this id."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Framing(StrEnum):
    """Which way round the judge is asked."""

    STANDARD = "standard"
    NEGATIVE = "negative"
    """How bad is it, which one is worse, does it fail the criterion: the prompt's own inverted twin."""
    INVERTED = "inverted"
    """The same question on a scale that is turned over (its lowest value is the best)."""


def digest(*parts: object) -> str:
    """
    Return a hexadecimal SHA-256 of JSON-able parts, the same on every machine and in every run.

    >>> digest("order", "case-1") == digest("order", "case-1")
    True
    """
    text = _CANONICAL.encode(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `author` is who wrote it, `history` the earlier drafts and remarks that led to it, oldest first."""

    id: str
    text: str
    author: str | None = None
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric. Negative `points` count against an answer; `check` lets a program verify it."""

    id: str
    text: str
    points: float = 1.0
    check: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A worked judgment shown before the task: question, answer texts in slot order, and the verdict as text."""

    question: str
    answers: tuple[str, ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class Case:
    """
    A question, its answers by id, what is known about them, and how the task is presented.

    Gold: `better` (an answer id or "tie"), `scores` (answer id to score), `met` (answer id to criterion id to truth).
    Presentation: `order` (ids by slot; empty: as listed), `labels` (slot names; empty: the prompt's own A, B, ...),
    `bylines` (a name shown beside an answer's label), `notes`, `examples`, `framing`, `follow_ups` (turns after
    the verdict). Set by the experiment, hidden from the judge: `target` (the answer that an edit treats), `damaged`
    (the answer that a WORSE edit harmed) and `hit` (the criterion that it broke).
    """

    id: str
    question: str
    answers: tuple[Answer, ...]
    better: str | None = None
    reference: str | None = None
    criteria: tuple[Criterion, ...] = ()
    met: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    bylines: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    framing: Framing = Framing.STANDARD
    follow_ups: tuple[str, ...] = ()
    target: str | None = None
    damaged: str | None = None
    hit: str | None = None

    def __getitem__(self, answer_id: str | None) -> Answer:
        """Return an answer by id; an `EditError` if there is none (or no target has been set)."""
        for answer in self.answers:
            if answer.id == answer_id:
                return answer
        ids = ", ".join(a.id for a in self.answers)
        raise EditError(f"case {self.id}: expected the id of one of its answers ({ids}), got {answer_id!r}")

    @property
    def shown(self) -> tuple[Answer, ...]:
        """The answers in slot order."""
        return tuple(self[i] for i in self.order) if self.order else self.answers

    @property
    def slot_labels(self) -> tuple[str, ...]:
        """The name of each slot, as a judge is to say it in its verdict."""
        return self.labels or tuple(LETTERS[: len(self.answers)])

    def edit(self, answer_id: str | None, change: Callable[[str], str]) -> Case:
        """Return a copy in which one answer's text went through `change`."""
        old = self[answer_id]
        new = replace(old, text=change(old.text))
        return replace(self, answers=tuple(new if a.id == old.id else a for a in self.answers))

    def arranged(self, order: tuple[str, ...], *, target: str | None = None) -> Case:
        """Return a copy with the answers in another slot order, and another treated answer if one is named."""
        if sorted(order) != sorted(a.id for a in self.answers):
            raise EditError(f"case {self.id}: expected an order of all its answer ids, got {order!r}")
        return replace(self, order=order, target=target or self.target)

    def balanced(self, salt: str) -> Case:
        """Return a copy whose slot order comes from a hash of salt, case id and answer id, not from the file."""
        ids = sorted((a.id for a in self.answers), key=lambda i: digest(salt, self.id, i))
        return replace(self, order=tuple(ids))

    def damage(self, answer_id: str | None, change: Callable[[str], str], *, hit: str | None = None) -> Case | None:
        """
        Return the case with a harmed answer and with gold labels that say so; None if no criterion breaks.

        With several answers the original stands against its own harmed copy (`better` is the original), with one the
        harmed answer stands alone. On a rubric the truth of the harmed text is computed where criteria can be
        verified, and `hit` becomes the first criterion that it broke; else `hit` names it, or nothing is known to be.
        A gold score falls by three; who reads it keeps it on the scale.
        """
        old = self[answer_id]
        text = change(old.text)
        if text == old.text:
            return None
        if len(self.answers) > 1:
            copy = replace(old, id=f"{old.id}~damaged", text=text)
            first = self.shown[0].id == old.id
            return replace(
                self,
                answers=(old, copy),
                order=(old.id, copy.id) if first else (copy.id, old.id),
                better=old.id,
                damaged=copy.id,
                target=copy.id,
            )
        met = dict(self.met.get(old.id, {}))
        if self.criteria and met:
            for criterion in self.criteria:
                fault = criterion.points < 0  # met, such a criterion counts against the answer
                if criterion.check is not None:
                    met[criterion.id] = verify(criterion.check, text)
                elif criterion.id == hit or (hit is None and not fault):
                    met[criterion.id] = fault
            faults = {c.id for c in self.criteria if c.points < 0}
            broken = [c for c, true in self.met[old.id].items() if true != met[c] and met[c] == (c in faults)]
            if not broken:
                return None
            verified = [c.id for c in self.criteria if c.check is not None and c.id in broken]
            hit = hit if hit in broken else next(iter(verified), None)
        return replace(
            self.edit(old.id, lambda _: text),  # not `change` again: it may draw anew
            met={**self.met, old.id: met} if met else self.met,
            scores={k: v - 3 if k == old.id else v for k, v in self.scores.items()},
            damaged=old.id,
            target=old.id,
            hit=hit,
        )

    def truth_kept_by(self, other: Case) -> bool:
        """Return whether every criterion that a program can verify has the same truth in an edited copy."""
        checked = [c.check for c in self.criteria if c.check is not None]
        before, after = self.answers, {a.id: a.text for a in other.answers}
        return all(verify(c, a.text) == verify(c, after[a.id]) for a in before if a.id in after for c in checked)

    def blind(self) -> Case:
        """Return the case as a judge may see it: without what the experiment knows about it."""
        if self.target is None and self.damaged is None and self.hit is None:
            return self
        return replace(self, target=None, damaged=None, hit=None)

    def looks_like(self, other: Case) -> bool:
        """Return whether two cases are equal but for what the experiment knows about them."""
        return all(getattr(self, name) == getattr(other, name) for name in _LOOKS)

    def content(self) -> dict[str, object]:
        """Return everything in it as JSON-able data."""
        return {
            "id": self.id,
            "question": self.question,
            "answers": [
                {"id": a.id, "text": a.text, "author": a.author, "history": list(a.history)} for a in self.answers
            ],
            "better": self.better,
            "reference": self.reference,
            "criteria": [
                {"id": c.id, "text": c.text, "points": c.points, "check": None if c.check is None else dict(c.check)}
                for c in self.criteria
            ],
            "met": {answer: dict(met) for answer, met in self.met.items()},
            "scores": dict(self.scores),
            "fields": dict(self.fields),
            "variants": {name: dict(texts) for name, texts in self.variants.items()},
            "tags": dict(self.tags),
            "order": list(self.order),
            "labels": list(self.labels),
            "bylines": dict(self.bylines),
            "notes": list(self.notes),
            "examples": [
                {"question": e.question, "answers": list(e.answers), "verdict": e.verdict} for e in self.examples
            ],
            "framing": self.framing,
            "follow_ups": list(self.follow_ups),
            "target": self.target,
            "damaged": self.damaged,
            "hit": self.hit,
        }


_LOOKS = tuple(f.name for f in fields(Case) if f.name not in ("target", "damaged", "hit"))
