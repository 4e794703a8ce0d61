"""One probe: which cases, which target, which arms, how many asks, and what follows for each claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calm.core.claims import Claim, Outcome
from calm.core.edits import AnyEdit, Expects
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import NONE, Kind, Reason, because, counted, name
from calm.core.texts import CaseTexts
from calm.core.verdict import Family
from calm.errors import ClaimError, nearest
from calm.experiment.arms import Arms
from calm.experiment.pairs import pair_up
from calm.experiment.setup import Setup
from calm.experiment.stopping import Ruling, Stopping, looks, observe, rule_on, untested
from calm.models.wire import Judge


@dataclass(frozen=True, slots=True)
class Result:
    """All rulings of a probe, and the texts of the cases that tell most about it."""

    rulings: tuple[Ruling, ...]
    texts: tuple[CaseTexts, ...] = ()
    asked: int = 0
    planned: int = 0
    """Asks that were needed, and that all cases would have needed before any top-up."""


def check(edit: AnyEdit | None, claims: Sequence[Claim], family: Family) -> None:
    """
    Refuse claims that say nothing about an edit.

    Raises:
        ClaimError: naming the claims that can be made.
    """
    expects = edit.expects if edit else None
    fitting = [m for m in MEASURES.values() if expects in m.serves and family in m.families]
    can = [m.name for m in fitting if m.asks[0] == 0 or not alone(edit, family)]
    for claim in claims:
        if claim.measure in can:
            continue
        if claim.measure not in MEASURES:
            raise ClaimError(f"unknown measure {claim.measure!r}{nearest(claim.measure, MEASURES)}")
        about = f"{edit!r} expects {expects}" if edit else "probe() without an edit asks the clean cases alone"
        instead = f"claim {' or '.join(can)}" if can else "nothing can be claimed"
        raise ClaimError(f"{about}: {claim.measure} says nothing about it on {family} verdicts; {instead}")


def unserved(judge: Judge, suite: str) -> Reason:
    """Return why a suite has nothing to test on a judge that says which suites it serves, or `NONE`."""
    serves = judge.traits.serves
    if serves is None or suite in serves:
        return NONE
    return because(Kind.UNSERVED, " and ".join(sorted(serves)))


def alone(edit: AnyEdit | None, family: Family) -> bool:
    """Return whether the edited case is asked without a clean arm: what must lose or tie does so in its own prompt."""
    together = family in ("pairwise", "listwise")
    return edit is not None and together and edit.expects in (Expects.WORSE, Expects.TIE)


def run(
    setup: Setup,
    edit: AnyEdit | None,
    claims: Sequence[Claim],
    *,
    observed: Sequence[Measure] = (),
    against: AnyEdit | None = None,
    top_up: bool = True,
) -> Result:
    """
    Ask what the claims need and decide them; `observed` measures are estimated without a limit.

    Raises:
        ClaimError: a claim that says nothing about this edit or task.
        EditError: an edit that changed nothing, or changed what it must not.
    """
    check(edit, claims, setup.family)
    has_clean = not alone(edit, setup.family)
    claims = with_readability(edit, claims)
    for one in (edit, against):
        if one is not None and setup.family not in one.tasks:
            reason = because(Kind.OTHER_TASK, name(repr(one)), ", ".join(one.tasks), setup.judge.task)
            return Result(tuple(untested(claims, observed, reason)))
    pairs, excluded, lost = pair_up(setup, edit, against)
    if not pairs:
        if lost:
            reason, outcome = counted(lost), Outcome.INCOMPLETE
        else:
            only = next(iter(excluded)) if len(excluded) == 1 else counted(excluded)
            reason, outcome = only or because(Kind.NO_CASES), Outcome.NOT_TESTED
        return Result(tuple(untested(claims, observed, reason, outcome)))
    design = setup.design
    staged = edit is not None and top_up and design.perturbed < design.clean
    rule = setup.stopping if claims else Stopping.FIXED
    plan = looks(rule, len(pairs), staged=staged, edited=edit is not None)
    arms = Arms(setup, pairs, excluded, lost, has_clean=has_clean)
    rulings: dict[Claim, Ruling] = {}
    for number, look in enumerate(plan.looks, start=1):
        asks = design.clean, design.clean if look.topped else design.perturbed
        if later := plan.looks[number : number + setup.looks_ahead]:
            arms.prefetch(later[-1], design)
        trials = arms.ask(look.n, *asks)
        for claim in claims:
            if claim in rulings:
                continue
            ruling = rule_on(rule, claim, trials, asks, look)
            if ruling.decision.outcome is not Outcome.UNDECIDED or number == len(plan.looks):
                rulings[claim] = ruling
        if claims and len(rulings) == len(claims):
            break
    arms.withdraw()
    seen = [observe(m, trials, (design.clean, design.perturbed)) for m in observed]
    planned = arms.asks_for(len(pairs), design.clean, design.perturbed)
    return Result((*(rulings[c] for c in claims), *seen), arms.texts(trials), arms.asked, planned)


def with_readability(edit: AnyEdit | None, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Add to a claim about a gain that the edit does not make replies unreadable: they would hide the gain."""
    moved = any(c.measure in ("gain", "mean_shift") for c in claims)
    stated = any(c.measure == "unreadable_gain" for c in claims)
    if edit is None or not moved or stated:
        return tuple(claims)
    return (*claims, Claim("unreadable_gain", "<=", 0.05))
