"""One calibration: ask about labelled and unlabelled cases, and say how far the judge can be trusted for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from calm.core.case import Case
from calm.core.claims import Claim, Estimate, Outcome
from calm.core.measures import Measure, readable_rate
from calm.core.reasons import NONE, Kind, Reason, because, name
from calm.core.trials import Trials
from calm.core.verdict import Family
from calm.errors import ConfigError
from calm.experiment import run as experiment
from calm.experiment.pairs import ORDER_SALT, clusters_of
from calm.experiment.setup import Setup
from calm.experiment.stopping import missing
from calm.gate.from_spec import refuse_off_scale
from calm.plugins.calibrate import figures
from calm.plugins.calibrate import items as tables
from calm.plugins.calibrate.figures import CONSTANT, FEWEST, RAW, Fit
from calm.plugins.calibrate.items import (
    FIRST,
    MET,
    NOT_MET,
    REPEATS,
    SECOND,
    Entity,
    Item,
    Label,
    Rule,
    entity_of,
    gold_of,
    items_of,
    source_of,
)
from calm.results.audit import Finding
from calm.results.findings import finding
from calm.statistics.calibration import CalibrationError

SAME: Final = 0.95
"""Share of verdicts from which on they count as all the same."""
UNREAD: Final = 0.05
"""Share of unread replies that is worth a word."""


def remarks(found: Calibration, items: Sequence[Item], named: Callable[[Label], str]) -> tuple[Reason, ...]:
    """Return why the agreement of a judge says less than it seems to; nothing where it says what it seems to."""
    known = [item for item in items if item.gold is not None]
    questions = len({item.cluster for item in known})
    said: list[Reason] = []
    if found.corrected is not None and found.corrected.draw.differs:
        one = found.corrected.draw
        said.append(because(Kind.LABELS_NOT_DRAWN, *(round(x, 6) for x in (one.labelled, one.unlabelled, one.p))))
    if questions < FEWEST:
        said.append(because(Kind.FEW_LABELS, questions, FEWEST))
    gold = Counter(named(item.gold) for item in known if item.gold is not None)
    if len(gold) == 1:
        said.append(because(Kind.ONE_GOLD, name(next(iter(gold)))))
    words = Counter(named(one) for item in known for one in item.said if one is not None)
    for word, count in words.most_common(1):
        share, of_gold = count / words.total(), gold[word] / gold.total()
        if share >= SAME > of_gold:
            said.append(because(Kind.SAME_WORD, name(word), round(share, 6), round(of_gold, 6)))
    if found.fit is not None:
        said += _as_constant(found.fit, known, passing=found.rule.passing is not None)
    if len(found.classes) > 1:  # right on one gold label only: below a half on another, and surely worse there
        strong, low = max(found.classes, key=lambda row: row.low), min(found.classes, key=lambda row: row.high)
        if low.high < strong.low and low.right < 0.5:
            told = round(strong.right, 6), name(strong.name), round(low.right, 6), name(low.name)
            said.append(because(Kind.ONE_CLASS, *told))
    weak = [(row.right, row.rest, row) for row in found.slices.rows if row.differs and row.rest is not None]
    if weak := [one for one in weak if one[0] < one[1]]:
        right, rest, row = min(weak, key=lambda one: one[0])
        said.append(because(Kind.WEAK_SLICE, round(right, 6), name(row.tag), name(row.name), round(rest, 6)))
    asks = [one for item in known for one in item.said]
    unread = sum(one is None for one in asks) / len(asks)
    if unread > UNREAD:
        said.append(because(Kind.UNREAD_SHARE, round(unread, 6)))
    if found.source == REPEATS and not any(item.spread for item in items):
        said.append(because(Kind.SAME_ASKS))
    return tuple(said)


def _as_constant(fit: Fit, known: Sequence[Item], *, passing: bool) -> list[Reason]:
    constant, raw = fit.of(CONSTANT), fit.of(RAW)
    value = constant.fitted.get("value")
    if constant.better is None or constant.better.high < 0 or not isinstance(value, int | float):
        return []
    mine, other = round(raw.value.value, 6), round(constant.value.value, 6)
    if fit.measure != "accuracy":
        return [because(Kind.OFF_AS_A_CONSTANT, mine, float(value), other)]
    criteria = any(item.gold in (MET, NOT_MET) for item in known)
    ends = ("pass", "fail") if passing else (MET, NOT_MET) if criteria else (FIRST, SECOND)
    word = {1.0: ends[0], -1.0: ends[1]}.get(float(value), ends[1] if passing else "tie")
    return [because(Kind.AS_A_CONSTANT, mine, word, other)]


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
    fit: figures.Fit | None
    budgets: tuple[figures.Budget, ...]
    next: tuple[figures.Next, ...]
    corrected: figures.Corrected | None
    alone: figures.Alone | None
    partly: figures.Partly | None
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
    salt = "" if judge.traits.as_given else ORDER_SALT

    def items(cases: Sequence[Case], trials: Trials) -> list[Item]:
        shown = partial(Case.with_order, salt=salt)
        return items_of(cases, trials, judge.task, rule, shown=shown, entity=entity)

    known = items(setup.cases, labelled_trials)
    clusters = clusters_of(setup.cases)
    known = [replace(item, cluster=clusters[item.case]) for item in known if item.gold is not None]
    rest = [replace(item, gold=None, target=None, worth=None) for item in items(unlabelled, other_trials)]
    both = _together(labelled_trials, other_trials)
    incomplete = missing(readable_rate, both)
    source = source_of(both)
    if any(item.confidence is None for item in (*known, *rest)):
        source = None
    named = tables.namer(known, rule)
    fit = figures.fit(known, setup.family, rule, setup.seed)
    classes, slices = tables.by_class(known, named), tables.slices(known)
    random = [item for item in known if item.tags.get(DRAWN) != CHOSEN]
    criteria = {case.id: {one.id for one in case.criteria} for case in setup.cases} if setup.family == "rubric" else {}
    alike, unlike, partly = figures.comparable(random, rest, criteria)
    agreement = figures.share_right(random)
    scale = rule.scale if setup.family == "score" else None
    corrected = figures.corrected(alike, unlike, scale, setup.seed) if alike and unlike else None
    budgets = () if agreement is None else figures.budgets(agreement, wishes.limits)
    if incomplete:
        budgets = tuple(replace(one, outcome=Outcome.INCOMPLETE, cases=None) for one in budgets)
    found = Calibration(
        family=setup.family,
        rule=rule,
        entity=entity,
        labelled=len({item.case for item in known}),
        unlabelled=len({item.case for item in rest}),
        source=source,
        remarks=(),
        agreement=agreement,
        confusion=tables.confusion(known, named),
        classes=classes,
        slices=slices,
        fit=fit,
        budgets=budgets,
        next=figures.next_labels(rest, wishes.count, setup.seed),
        corrected=corrected,
        alone=figures.alone(alike, unlike, source, wishes.risk) if alike else None,
        partly=partly,
        reliability=figures.reliable(random, setup.seed) if source is not None else None,
        findings=rulings,
        asked=labelled_trials.asks,
        lost=both.lost,
        incomplete=incomplete,
    )
    return replace(found, remarks=remarks(found, (*known, *rest), named)) if known else found


def _together(one: Trials, other: Trials) -> Trials:
    lost = Counter(one.lost)
    lost.update(other.lost)
    return replace(one, rows=(*one.rows, *other.rows), lost=dict(lost))


def _asked(setup: Setup, claims: Sequence[Claim], observed: Sequence[Measure]) -> tuple[Trials, tuple[Finding, ...]]:
    rulings = experiment.run(setup, None, claims, observed=(*observed, readable_rate), top_up=False).rulings
    trials = rulings[-1].trials
    if trials is None:
        reason = rulings[-1].decision.reason
        lost = {reason: len(setup.cases)}
        trials = Trials((), setup.family, setup.judge.scale, {}, lost, f"{setup.design.clean}+0")
    asked_of = partial(finding, bias=SUITE, node=SUITE, task=setup.judge.task, edit=None, against=None)
    findings = tuple(asked_of(decision=ruling.decision, trials=ruling.trials) for ruling in rulings[:-1])
    return trials, findings
