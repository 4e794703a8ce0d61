"""For your own tests: `check_perturbation(edit)` checks a perturbation, `found` reads what a hunt found."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from random import Random

from calm.core.case import Case, Treated
from calm.core.edits import Edit, Expects
from calm.core.validation import refusal
from calm.errors import CalmError
from calm.experiment.pairs import aim
from calm.testing.findings import found as found
from calm.testing.operations import Tally
from calm.testing.samples import KINDS, long_text, sample, sample_cases

__all__ = ["check_perturbation", "found"]

SIZES = (25_000, 50_000, 100_000)
"""Characters of the texts on which the operations of an edit are counted."""
GROWTH = 5.0
"""Four times the text may take so many times the operations: it takes 4 if they are linear, 4.6 if they are n log n."""


def check_perturbation(edit: Edit, cases: Sequence[Case] | None = None) -> None:
    """
    Check an edit against the rules for all edits, on sample cases of each task that it serves and on your own cases.

    It is a function of the case and the seed alone and leaves its argument as it was; it returns a changed case or
    None; it keeps the gold labels, the ids, and the truth of criteria that a program can verify, unless it expects
    WORSE, and then it says which answer it harmed; it handles empty, long and hostile texts; its operations grow no
    faster than the text; and it applies to at least one case. Operations are counted, not timed
    (`calm.testing.operations`), so the check holds on a busy machine.

    Raises:
        AssertionError: with a line for each fault.
    """
    faults = list(dict.fromkeys(_faults(edit, cases)))
    if faults:
        raise AssertionError(f"{edit!r} breaks the contract of perturbations:\n" + "\n".join(f"- {f}" for f in faults))


def _faults(edit: Edit, cases: Sequence[Case] | None) -> Iterator[str]:
    if not isinstance(edit, Edit):
        yield f"expected a perturbation, got {type(edit).__name__}: decorate the function with @perturbation(...)"
        return
    if not edit.summary and not edit.variants:
        yield "its function has no docstring: its first line is what reports and `calm perturb --list` show"
    if not edit.source and not edit.variants:
        yield "it names no source: a paper, a project, or your own"
    yield from _growth(edit)
    applied = 0
    for case in (*sample_cases(edit.tasks), *(_aimed(edit, case) for case in cases or ())):
        found = yield from _on(edit, case)
        applied += found
    if not applied:
        yield "it applies to none of the cases: it returned None for all of them"


def _on(edit: Edit, case: Treated) -> Generator[str, None, int]:
    before = deepcopy(case)
    where = f"case {case.id} ({len(case.answers)} answers)"
    applied = 0
    for variant in edit.variants or (edit,):
        try:
            made: object = variant(case, Random(1))
            if made is not None and not isinstance(made, Treated):
                yield f"{where}: expected a treated case or None, got {type(made).__name__}"
                continue
            first, again = variant.apply(case, 1), variant.apply(case, 1)
        except CalmError as error:
            yield str(error)
            continue
        except Exception as error:  # noqa: BLE001 - whatever an edit raises is a fault of it
            yield f"{where}: {type(error).__name__}: {error}"
            continue
        if case != before:
            yield f"{where}: it changed its argument; return a copy, as case.edit(...) does"
        if first != again:
            yield f"{where}: two runs with one seed differ; draw from the `rng` that it is given, and from nothing else"
        if first is None:
            continue
        applied += 1
        yield from _kept(variant, case, first, where)
    return applied


def _growth(edit: Edit) -> Iterator[str]:
    for variant in edit.variants or (edit,):
        for kind in KINDS:
            counted = [operations(variant, long_text(kind, size)) for size in SIZES]
            small, middle, large = counted
            if large > GROWTH * small and large > GROWTH / 2 * middle:
                said = ", ".join(f"{n:,} at {size // 1000} kB" for n, size in zip(counted, SIZES, strict=True))
                yield f"{variant.label}: its operations grow faster than the text: {said}; go through the text once"


def operations(edit: Edit, text: str) -> int:
    """Return how many operations an edit takes on a case whose answers are this long text; 0 where it breaks."""
    tally = Tally()
    case = sample(f"{edit.tasks[0]}-long", edit.tasks[0], text)
    longs = [a.text if a.id == case.target else f"{text}{a.text}" for a in case.answers]
    counting = tuple(replace(a, text=tally.text(long)) for a, long in zip(case.answers, longs, strict=True))
    try:
        with tally:
            edit.apply(replace(case, answers=counting), 1)
    except Exception:  # noqa: BLE001 - that an edit breaks is a fault by itself
        return 0
    return tally.operations


def _kept(edit: Edit, before: Treated, after: Treated, where: str) -> Iterator[str]:
    if edit.expects is Expects.WORSE:
        if after.damaged is None:
            yield f"{where}: it expects WORSE and does not say which answer it harmed: use case.damage(id, change)"
        return
    if edit.expects not in (Expects.SAME, Expects.NOT_BETTER):
        return
    for name in ("better", "scores", "met", "reference"):
        if getattr(before, name) != getattr(after, name):
            yield f"{where}: it expects {edit.expects} and changed {name}"
    if {a.id for a in before.answers} - {a.id for a in after.answers}:
        yield f"{where}: it took an answer away"
    elif (why := refusal(edit, before, after)) is not None:
        yield f"{where}: {why}"


def _aimed(edit: Edit, case: Case) -> Treated:
    """Return a case of the user's with the answer to treat, as the experiment chooses it without a pilot."""
    found = case if isinstance(case, Treated) else aim(case, edit.expects)
    assert isinstance(found, Treated), "only a pilot can be unreadable"
    return found.with_order()
