"""One calibration: ask about labelled and unlabelled cases, and say how far the judge can be trusted for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.core.case import Case
from calm.core.claims import Claim, Estimate, Outcome
from calm.core.measures import Measure, readable_rate
from calm.core.reasons import NONE, Reason
from calm.core.trials import Trials
from calm.core.verdict import Family
from calm.errors import ConfigError
from calm.experiment import run as experiment
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.setup import Setup, clusters_of
from calm.experiment.stopping import missing
from calm.gate.from_spec import refuse_off_scale
from calm.results.audit import Finding
from calm.results.findings import finding
from calm.statistics.confidence import CalibrationError
from calm.studies.calibrate import estimates, fitting, remarks, tables
from calm.studies.calibrate.items import Entity, Item, Rule, entity_of, gold_of, items_of, source_of

SUITE: Final = "agreement"
"""The suite whose findings a calibration holds, so that a later run of it can be compared with them."""
DRAWN, CHOSEN = "drawn", "chosen"
"""Tag and value of a case that was labelled because `next` named it: it is in no share, as it is no random one."""
SHOWN: Final = 5
"""Faulty cases that are named."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted: limits of claims, the risk of deciding alone, when a score is right, and how many to label."""

    limits: tuple[float, ...] = ()
    risk: float = 0.05
    within: float | None = None
    passing: float | None = None
    count: int = 10
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """
    All figures of one judge against the labels of people.

    `agreement` is the share of right verdicts (None: fewer than two questions), `incomplete` why data are missing.
    `partly` tells which criteria `corrected` and `alone` are about, if not all of them.
    `findings` are those of the suite on the labelled cases, which a later run is compared with.
    """

    family: Family
    rule: Rule
    entity: Entity | None
    labelled: int
    unlabelled: int
    source: str | None
    remarks: tuple[Reason, ...]
    agreement: Estimate | None
    confusion: tables.Confusion
    classes: tuple[tables.Row, ...]
    slices: tables.Slices
    fit: fitting.Fit | None
    budgets: tuple[estimates.Budget, ...]
    next: tuple[estimates.Next, ...]
    corrected: estimates.Corrected | None
    alone: estimates.Alone | None
    partly: estimates.Partly | None
    reliability: CalibrationError | None
    findings: tuple[Finding, ...]
    asked: str
    lost: Mapping[Reason, int]
    incomplete: Reason = NONE
    divided: int = 0
    """Cases on which people are divided: they have no gold, and are in no figure."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Cases by what people say of them: one thing, different things in equal number, or nothing."""

    labelled: list[Case]
    divided: list[Case]
    unlabelled: list[Case]


def split(cases: Sequence[Case], task: str) -> Parts:
    """Return the cases with gold for a task, those on which people are divided, and those without labels."""
    parts = Parts([], [], [])
    for case in cases:
        found = parts.labelled if gold_of(case, task) else parts.divided if _divided(case, task) else parts.unlabelled
        found.append(case)
    return parts


def _divided(case: Case, task: str) -> bool:
    """Return whether people labelled a case without gold, and no label has more voices than the others."""
    said = case.annotations.values()
    if task in ("rubric", "rubric-all", "points"):
        alone = case.answers[0].id
        voiced = {criterion for one in said for criterion in one.met.get(alone, {})}
        return bool(voiced - case.met.get(alone, {}).keys())
    return task != "score" and any(one.better is not None for one in said)


def is_chosen(case: Case) -> bool:
    """Return whether a case was labelled because `next` named it: then it is in no share."""
    return case.tags.get(DRAWN) == CHOSEN


def drawn_of(cases: Sequence[Case]) -> list[Case]:
    """
    Return the cases that were drawn at random, of those with labels.

    Raises:
        ConfigError: there is none.
    """
    drawn = [case for case in cases if not is_chosen(case)]
    if not drawn:
        raise ConfigError(
            f"expected labelled cases that were drawn at random, got {len(cases)} that all have the tag "
            f"{DRAWN} = {CHOSEN}: no share follows from these; label some cases that are drawn at random, too"
        )
    return drawn


def refuse_drawn(cases: Sequence[Case]) -> None:
    """
    Refuse a value of the tag `drawn` that says nothing: a slip of the pen would count as a random draw.

    Raises:
        ConfigError: the first of them, and how many there are.
    """
    bad = [(case.id, value) for case in cases if (value := case.tags.get(DRAWN, CHOSEN)) != CHOSEN]
    if bad:
        case, value = bad[0]
        more = f" and in {len(bad) - 1} more" if len(bad) > 1 else ""
        raise ConfigError(
            f"tags.{DRAWN}: expected {CHOSEN!r}, got {value[:60]!r} in case {case!r}{more}; write {CHOSEN!r} for a "
            "case that was labelled because `label next` named it, and leave the tag out of one drawn at random"
        )


def refuse_gold(setup: Setup) -> None:
    """
    Refuse gold scores that the judge could not give.

    Raises:
        ConfigError: the first of them, and how many there are.
    """
    if setup.family != "score":
        return
    golds = [(case.id, float(gold)) for case in setup.cases for gold in gold_of(case, setup.judge.task).values()]
    refuse_off_scale(setup.judge.scale, golds, len(setup.cases))


def calibrate(
    setup: Setup,
    unlabelled: Sequence[Case],
    wishes: Wishes,
    claims: Sequence[Claim] = (),
    observed: Sequence[Measure] = (),
) -> Calibration:
    """
    Ask a judge about the labelled cases of a setup, and about others, and return what the labels say of it.

    The claims and the observed measures are those of the suite `SUITE`; they are decided on the labelled cases.

    Raises:
        ConfigError: gold that is not on the judge's scale.
        CalmError: the first live call failed.
    """
    refuse_gold(setup)
    judge = setup.judge
    drawn = tuple(drawn_of(setup.cases))
    labelled_trials, rulings = _asked(replace(setup, cases=drawn), claims, observed)
    if len(drawn) < len(setup.cases):  # these are in the tables and the mappings, and no finding is about them
        chosen = tuple(filter(is_chosen, setup.cases))
        labelled_trials = _together(labelled_trials, _asked(replace(setup, cases=chosen), (), ())[0])
    others = replace(setup, cases=tuple(unlabelled))
    other_trials, _ = _asked(others, (), ()) if unlabelled else (replace(labelled_trials, rows=(), lost={}), ())
    rule = Rule.of(judge.scale, wishes.within, wishes.passing)
    every = (*setup.cases, *unlabelled)
    entity = entity_of(every, wishes.of) if setup.family in ("pairwise", "listwise") else None
    known = items_of(setup.cases, labelled_trials, judge.task, rule, shown=_shown(setup), entity=entity)
    clusters = clusters_of(setup.cases)
    known = [replace(item, cluster=clusters[item.case]) for item in known if item.gold is not None]
    rest = [
        replace(item, gold=None, target=None, worth=None)
        for item in items_of(unlabelled, other_trials, judge.task, rule, shown=_shown(setup), entity=entity)
    ]
    both = _together(labelled_trials, other_trials)
    incomplete = missing(readable_rate, both)
    found = finish(known, rest, setup, wishes, rule=rule, source=source_of(both), entity=entity)
    budgets = tuple(replace(one, outcome=Outcome.INCOMPLETE, cases=None) for one in found.budgets)
    return replace(
        found,
        findings=rulings,
        asked=labelled_trials.asks,
        lost=both.lost,
        incomplete=incomplete,
        budgets=budgets if incomplete else found.budgets,
    )


def _together(one: Trials, other: Trials) -> Trials:
    """Return two parts of the same cases as one."""
    lost = Counter(one.lost)
    lost.update(other.lost)
    return replace(one, rows=(*one.rows, *other.rows), lost=dict(lost))


def finish(
    known: Sequence[Item],
    rest: Sequence[Item],
    setup: Setup,
    wishes: Wishes,
    *,
    rule: Rule,
    source: str | None,
    entity: Entity | None = None,
) -> Calibration:
    """Return all figures of items with and without gold."""
    if source is not None and any(item.confidence is None for item in (*known, *rest)):
        source = None
    named = tables.namer(known, rule)
    fit = fitting.fit(known, setup.family, rule, setup.seed)
    classes, slices = tables.by_class(known, named), tables.slices(known)
    drawn = [item for item in known if item.tags.get(DRAWN) != CHOSEN]
    criteria = {case.id: {one.id for one in case.criteria} for case in setup.cases} if setup.family == "rubric" else {}
    alike, others, partly = estimates.comparable(drawn, rest, criteria)
    agreement = estimates.share_right(drawn)
    marks = rule.passing is not None
    scale = rule.scale if setup.family == "score" else None
    corrected = estimates.corrected(alike, others, scale, setup.seed) if alike and others else None
    said = (
        remarks.remarks(
            (*known, *rest),
            named,
            fit=fit,
            classes=classes,
            slices=slices,
            source=source,
            passing=marks,
            corrected=corrected,
        )
        if known
        else ()
    )
    return Calibration(
        family=setup.family,
        rule=rule,
        entity=entity,
        labelled=len({item.case for item in known}),
        unlabelled=len({item.case for item in rest}),
        source=source,
        remarks=said,
        agreement=agreement,
        confusion=tables.confusion(known, named),
        classes=classes,
        slices=slices,
        fit=fit,
        budgets=() if agreement is None else estimates.budgets(agreement, wishes.limits),
        next=estimates.next_labels(rest, wishes.count, setup.seed),
        corrected=corrected,
        alone=estimates.alone(alike, others, source, wishes.risk) if alike else None,
        partly=partly,
        reliability=estimates.reliable(drawn, setup.seed) if source is not None else None,
        findings=(),
        asked="",
        lost={},
    )


def _shown(setup: Setup) -> Callable[[Case], Case]:
    """Return what puts a case in the order in which the judge is shown it."""
    salt = "" if setup.judge.traits.as_given else ORDER_SALT
    return lambda case: case.with_order(salt)


def _asked(setup: Setup, claims: Sequence[Claim], observed: Sequence[Measure]) -> tuple[Trials, tuple[Finding, ...]]:
    """Ask about all cases of a setup as they are; return the trials, and the findings about claims and measures."""
    rulings = experiment.run(setup, None, claims, observed=(*observed, readable_rate), top_up=False).rulings
    trials = rulings[-1].trials
    if trials is None:
        reason = rulings[-1].decision.reason
        lost = {reason: len(setup.cases)}
        trials = Trials((), setup.family, setup.judge.scale, {}, lost, f"{setup.design.clean}+0")
    findings = tuple(
        finding(
            bias=SUITE,
            node=SUITE,
            task=setup.judge.task,
            edit=None,
            against=None,
            decision=ruling.decision,
            trials=ruling.trials,
        )
        for ruling in rulings[:-1]
    )
    return trials, findings
