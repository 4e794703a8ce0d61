"""Controls: for a perturbation, the one that says nothing in the same place and at about the same length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from random import Random

from calm import Answer, Case, Expects, Treated, rotate
from calm.core.case import Example
from calm.core.checks import words
from calm.core.edits import AnyEdit, Edit, PromptEdit
from calm.experiment.inert import CLOSERS
from calm.perturbations import neutral
from calm.perturbations.cues import on_either
from calm.perturbations.passages import on_stronger

_TEXT = (
    "## About soup\n\nOf course the cook tastes it before noon, and he adds **two** pinches of salt. "
    "It is usually done in 20 minutes. They do not stir it, since it is thin.\n\n"
    "- Wash the pot.\n- Cut the leek.\n- Warm the bowl.\n\nThe soup is ready, and it is hot."
)
_OTHER = "Salt it well with both hands and let it stand on a low flame for a while. Then wait."
"""An answer whose first sentence is about as long as one of a real answer: some perturbations quote it."""
_DRAWS = range(8)
"""How often a perturbation is tried, as what it draws may decide whom it treats."""


class Place(StrEnum):
    """Where a perturbation says something."""

    OPENING = "opening"
    CLOSING = "closing"
    BLOCK = "block"
    AROUND = "around"
    ASIDE = "aside"
    NOTE = "note"
    BYLINE = "byline"
    BYLINES = "bylines"
    HISTORY = "history"


_MANY: Mapping[Place, Callable[[int], Edit]] = {
    Place.CLOSING: neutral.neutral_closing,
    Place.BLOCK: neutral.neutral_block,
    Place.ASIDE: neutral.neutral_aside,
}
_ONE: Mapping[Place, Edit] = {
    Place.OPENING: neutral.neutral_opening,
    Place.AROUND: neutral.neutral_wrapper,
    Place.NOTE: neutral.neutral_note,
    Place.BYLINE: neutral.neutral_byline,
    Place.BYLINES: neutral.neutral_bylines,
    Place.HISTORY: neutral.neutral_history,
}
_BRIEF: Mapping[Place, Edit] = {
    Place.OPENING: neutral.neutral_brief_opening,
    Place.CLOSING: neutral.neutral_brief_closing,
}
_BRIEFLY = 6
"""A cue of so many words at most has a brief control in a place that has one."""
_LONGEST = 2
"""A cue as long as more sentences than these has no control in a place where a single one is said."""

_FEWEST = 3
"""Fewer words around a text, or inside it, are the names of its container: a layout, which no words are neutral to."""


@dataclass(frozen=True, slots=True)
class Cue:
    """
    What a perturbation adds: where, how many words, and to whom.

    That is the answer it was given, but for `elsewhere` (always to another one) and `drawn` (now to this, now to that).
    """

    place: Place
    words: int
    elsewhere: bool
    drawn: bool = False


def cue_of(edit: Edit) -> Cue | None:
    """Return where an edit adds words and how many, as seen on a sample case; None for one that does anything else."""
    for case in _samples(edit):
        edited = [after for seed in _DRAWS if (after := edit.rewrite(case, Random(seed))) is not None]
        if edited:
            found = [_cue(case, after) for after in edited]
            first = found[0]
            alike = first is not None and all(cue is not None and cue.place is first.place for cue in found)
            others = {cue is not None and cue.elsewhere for cue in found}
            words = round(sum(cue.words for cue in found if cue is not None) / len(found))
            if first is None or not alike:
                return None
            return replace(first, words=words, elsewhere=others == {True}, drawn=len(others) > 1)
    return None


def control_for(edit: AnyEdit) -> Edit | None:
    """
    Return the neutral edit that adds as much in the same place as an edit does; None where there is none.

    There is none for an edit that must be noticed, for one of the prompt, and for one that changes words in place, the
    order or the question: against these a neutral rewrite, or the clean arm alone, is the control. The control of a
    rotation rotates among those of its variants.
    """
    if isinstance(edit, PromptEdit) or edit.expects in (Expects.WORSE, Expects.TIE) or edit.bias == neutral.BIAS:
        return None
    controls = {c.label: c for variant in edit.variants or (edit,) if (c := _control(variant)) is not None}
    if len(controls) < 2 and not edit.variants:
        return next(iter(controls.values()), None)
    return rotate(*controls.values(), name=edit.name) if controls else None


@cache
def control_beside(edit: AnyEdit) -> Edit | None:
    """
    Return the control of an edit to be asked beside it, with the edit's own expectation; None where there is none.

    So it treats the same answers in the same cases, and what can be measured of the one can be measured of the other.
    """
    control = control_for(edit)
    return None if control is None else replace(control, expects=edit.expects)


def _control(edit: Edit) -> Edit | None:
    cue = cue_of(edit)
    control = None if cue is None else _neutral(cue)
    if cue is None or control is None:
        return None
    control = replace(control, tasks=edit.tasks)
    if cue.drawn:
        return _on_drawn(control)
    return _on_better(control) if cue.elsewhere else control


def _neutral(cue: Cue) -> Edit | None:
    """Return the neutral edit of a place that is about as long as a cue; None if the cue is far longer than any."""
    if cue.place in _BRIEF and cue.words <= _BRIEFLY:
        return _BRIEF[cue.place]
    count = max(1, round(cue.words / _average(CLOSERS)))
    if cue.place in _MANY:
        return _MANY[cue.place](count) if count <= len(CLOSERS) else None
    return _ONE[cue.place] if count <= _LONGEST else None


def _average(sentences: Sequence[str]) -> float:
    return sum(map(words, sentences)) / len(sentences)


def _on_better(control: Edit) -> Edit:
    """Return a control of the better answer, or of the only one."""

    def rewrite(case: Treated, rng: Random) -> Treated | None:
        aimed = on_stronger(case)
        return aimed and control(aimed, rng)

    summary = control.summary.replace("the weaker answer", "the better answer")
    return replace(control, name=f"{control.name}_on_better", rewrite=rewrite, summary=summary)


def _on_drawn(control: Edit) -> Edit:
    """Return a control of any of the answers, as it is drawn."""

    def rewrite(case: Treated, rng: Random) -> Treated | None:
        return control(on_either(case, rng), rng)

    summary = control.summary.replace("the weaker answer", "one of the answers")
    return replace(control, name=f"{control.name}_on_either", rewrite=rewrite, summary=summary)


def _samples(edit: Edit) -> list[Treated]:
    """Return a case for each kind of verdict that an edit serves."""
    texts = (_TEXT, _OTHER, "Who knows? Ask the cook.")
    number = {"pairwise": 2, "listwise": 3, "score": 1, "rubric": 1}
    return [_case(texts[: number[task]]) for task in edit.tasks]


def _case(texts: tuple[str, ...]) -> Treated:
    answers = tuple(Answer(id, text) for id, text in zip("abc", texts, strict=False))
    examples = tuple(Example("Why?", texts, label) for label in "AB")
    best = "b" if len(texts) > 1 else None
    order = tuple(answer.id for answer in answers)
    return Case("sample", "How is soup made?", answers, better=best).present(order=order, examples=examples).treat("a")


def _cue(before: Treated, after: Treated) -> Cue | None:
    """Return what was added to a case if it is all that happened to it."""
    plain = replace(after, answers=before.answers).present(notes=before.notes, bylines=before.bylines)
    if plain.treat(before.target) != before or [a.id for a in after.answers] != [a.id for a in before.answers]:
        return None
    elsewhere = after.target != before.target
    old, new = before[after.target], after[after.target]
    others = [a for a in after.answers if a.id != new.id] != [a for a in before.answers if a.id != old.id]
    places = [
        ("text", old.text != new.text),
        (Place.NOTE, after.notes != before.notes),
        (_labelled(after), after.bylines != before.bylines),
        (Place.HISTORY, old.history != new.history),
    ]
    changed = [place for place, differs in places if differs]
    if others or len(changed) != 1:
        return None
    place = _place(old.text, new.text) if changed[0] == "text" else Place(changed[0])
    said = words(" ".join([new.text, *after.notes])) - words(" ".join([old.text, *before.notes]))
    least = {Place.BYLINE: 0, Place.BYLINES: 0, Place.HISTORY: 0, Place.AROUND: _FEWEST, Place.ASIDE: _FEWEST}
    return Cue(place, said, elsewhere) if place and said >= least.get(place, 1) else None


def _labelled(case: Treated) -> Place:
    """Return whether names stand beside the labels of all of several answers, or of fewer."""
    return Place.BYLINES if len(case.bylines) == len(case.answers) > 1 else Place.BYLINE


def _place(old: str, new: str) -> Place | None:
    """Return where words were put that stand before a text, behind it, around it or between its sentences."""
    if new.startswith(old):
        return Place.BLOCK if new[len(old) :].startswith("\n\n") else Place.CLOSING
    if new.endswith(old):
        return Place.OPENING
    if old in new:
        return Place.AROUND
    rest = iter(new.split())
    return Place.ASIDE if all(word in rest for word in old.split()) else None
