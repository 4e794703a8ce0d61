"""
A decision as a finding: its figures, its rows in codes, and its control.

The control is what inert words did to the same cases, in the place of the edit and of about its length. An edit is
measured beyond its inert words. Where these move the verdict themselves, the measured effect does not show that, so it
is shown beside the finding: a judge that sees only length shows it here, and fails in one suite alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calm.core.case import changed
from calm.core.claims import Claim, Decision, Estimate, Outcome
from calm.core.edits import AnyEdit, Expects
from calm.core.measures import (
    MEASURES,
    acknowledgement,
    consistency_rate,
    flips,
    gain,
    rate,
    rewording_rate,
    robustness_rate,
)
from calm.core.people import references
from calm.core.ready_made import unused
from calm.core.reasons import NONE, Kind, Reason, because, listed, ordered, reason_of
from calm.core.trials import CUED, Trial, Trials
from calm.core.verdict import Family, Refused, Scale, Unreadable, chances, code
from calm.errors import EstimateError
from calm.experiment.inert import REPEATS, TESTS_LENGTH
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json
from calm.results.audit import AGREEMENT, RUN, SAME, Control, Finding, Limit, TrialRecord

SHIPPED: Final = "calm.perturbations."
"""Modules of edits whose first line says after its colon what they do."""
LABELLED = "The cases as they are, compared with their labels."
"""What is done where agreement is measured."""
MUCH: Final[Mapping[Family, float]] = {
    "pairwise": 0.10,
    "listwise": 0.10,
    "score": 0.05,
    "rubric": 0.05,
    "label": 0.10,
}
"""Movement by inert words from which a finding says so: shares of verdicts, or of the scale."""
MANY_UNREAD: Final = 0.05
"""Share of the replies without a verdict beyond which a finding says why."""
_OPEN: Final = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)
IN_ANSWER: Final = "answer"
"""The channel of an edit in an answer, beside which inert words make the answer as long as the edit does."""


def finding(
    *,
    bias: str,
    node: str,
    task: str,
    edit: AnyEdit | None,
    against: AnyEdit | None,
    decision: Decision,
    trials: Trials | None,
    accepted: str | None = None,
    records: dict[tuple[int, bool, bool], TrialRecord] | None = None,
) -> Finding:
    """
    Return the record of one decision, with its trials in codes.

    `records` are those that were made for other decisions on the same trials, by the identities of these.
    """
    estimate, claim = decision.estimate, decision.claim
    shown = edit.label if edit and edit.name else None
    told = trials is not None and any(row.clean or row.target == CUED for row in trials.rows)
    rows = sorted(trials.rows, key=lambda row: (row.case, row.edit)) if trials else []
    tied = edit is None or edit.expects in (Expects.TIE, Expects.OBSERVE)
    kept = tuple(_recorded(rows, against is not None, tied, {} if records is None else records))
    what = _what(edit, decision.reason) if edit else ""
    figures, left = figures_of(estimate), _unused(rows, decision.measure)
    scale = _points(trials.scale, trials.family) if trials else {}
    measure = MEASURES.get(decision.measure)
    agreed = references(measure, trials) if measure is not None and measure.agrees and trials and estimate else {}
    moved = flips(trials) if trials and edit and told else None
    control, as_much = control_of(trials, bias)
    return Finding(
        key="/".join(part for part in (bias, decision.measure, shown) if part),
        node=node,
        bias=bias,
        perturbation=shown,
        expects=edit.expects.value if edit else None,
        dose=edit.dose if edit else None,
        summary=edit.summary if edit else LABELLED if bias == AGREEMENT else "The same prompt asked again.",
        task=task,
        measure=decision.measure,
        claim=Limit(claim.op, claim.limit) if claim is not None else None,
        outcome=decision.outcome,
        reason=listed([reason for reason in (decision.reason, as_much, _unread_by(decision, trials)) if reason]),
        **figures,
        excluded=ordered(estimate.excluded if estimate else trials.excluded if trials else {}),
        robustness_rate=_rounded(rate(robustness_rate, trials)) if trials else None,
        consistency_rate=_rounded(rate(consistency_rate, trials)) if trials else None,
        flips={"toward": moved.toward, "away": moved.away, "other": moved.other} if moved else {},
        cases_to_decide=decision.cases_to_decide,
        channel=", ".join(sorted({r.channel for r in trials.rows if r.channel})) if trials else "",
        asserted=True,
        accepted=accepted,
        asks=trials.asks if trials else "",
        against=against.label if against else None,
        control=control,
        own=len({row.case for row in rows if row.own}),
        what=what,
        references={name: round(one, 6) + 0.0 for name, one in agreed.items()},
        unused=left,
        scale=scale,
        lost=sum(trials.lost.values()) if trials else 0,
        acknowledged=acknowledgement(trials) if trials and moved else {},
        trials=kept,
    )


def _unread_by(decision: Decision, trials: Trials | None) -> Reason:
    """Return why replies to the cases as they are mostly hold no verdict, if many do so and a claim is open by it."""
    silent = decision.reason.of(Kind.UNREAD_REPLIES)
    if decision.outcome not in _OPEN or (
        decision.measure != "readable_rate" and (silent is None or silent.details[0] != "clean")
    ):
        return NONE
    said = [verdict for row in trials.rows for verdict in row.clean] if trials else []
    lost = [verdict for verdict in said if isinstance(verdict, Unreadable | Refused)]
    if len(lost) <= MANY_UNREAD * len(said):
        return NONE
    whys = [(one.why or reason_of(one.reason)) if isinstance(one, Unreadable) else NONE for one in lost]
    kinds = Counter(why.kind for why in whys)
    most = max(kinds, key=lambda kind: (kinds[kind], kind))
    if most is Kind.NONE:
        return NONE  # they are refusals, which no other reading makes a verdict
    alike = Counter(why for why in whys if why.kind is most)
    example = max(alike, key=lambda why: (alike[why], str(why)))
    return because(Kind.UNREAD_BY, round(kinds[most] / len(said), 6), example)


def _what(edit: AnyEdit, reason: Reason) -> str:
    worst = reason.worst
    chosen = next((one for one in edit.variants if one.label == worst), edit)
    if not chosen.variants:
        return chosen.summary
    made = (getattr(one.rewrite, "rewrite", one.rewrite) for one in chosen.variants)  # an edit may rename another one
    shipped = all(getattr(one, "__module__", "").startswith(SHIPPED) for one in made)
    home = sys.modules.get(f"{SHIPPED}{edit.bias.replace('-', '_')}") if shipped else None
    return ((home and home.__doc__) or "").strip().partition("\n")[0].partition(": ")[2]


def finding_of_run(decision: Decision, *, task: str, stated: Claim, scale: Scale, family: Family) -> Finding:
    """Return the record of a decision about all probes of a run; `stated` is the claim before gate.toml."""
    estimate, claim = decision.estimate, decision.claim
    assert claim is not None, "something is claimed of a run"
    return bare(
        f"{RUN}/{claim.measure}",
        RUN,
        task,
        claim.measure,
        "All probes of the run together.",
        claim=Limit(claim.op, claim.limit),
        outcome=decision.outcome,
        reason=decision.reason,
        cases_to_decide=decision.cases_to_decide,
        stated=None if stated == claim else Limit(stated.op, stated.limit),
        scale=_points(scale, family),
        **figures_of(estimate),
    )


def bare(key: str, bias: str, task: str, measure: str, summary: str, **known: Any) -> Finding:
    """Return a finding that no probe made by itself: nothing is known of it but `known`."""
    unknown = dict.fromkeys(("perturbation", "expects", "dose", "claim", "robustness_rate", "consistency_rate"))
    unknown |= dict.fromkeys(("cases_to_decide", "accepted"))
    empty = {"node": "", "channel": "", "asks": "", "excluded": {}, "flips": {}, "reason": NONE, "asserted": True}
    fields = {**unknown, **empty, "outcome": Outcome.NOT_TESTED, **figures_of(None), **known}
    return Finding(key=key, bias=bias, task=task, measure=measure, summary=summary, **fields)


def figures_of(estimate: Estimate | None) -> dict[str, Any]:
    """Return the fields of a finding that an estimate gives: to six places, without -0.0."""
    if estimate is None:
        return {"value": None, "low": None, "high": None, "level": None, "n": 0}
    value, low, high = (round(one, 6) + 0.0 for one in (estimate.value, estimate.low, estimate.high))
    return {"value": value, "low": low, "high": high, "level": estimate.level, "n": estimate.n}


def _points(scale: Scale, family: Family) -> dict[str, float]:
    if family != "score":
        return {}
    return {"low": scale.low, "high": scale.high} | ({"best": scale.low} if scale.best == "low" else {})


def _unused(rows: Sequence[Trial], measure: str) -> dict[Reason, int]:
    if (measure in MEASURES and MEASURES[measure].worst_of) or not any(row.held for row in rows):
        return {}
    shown: dict[str, set[str]] = {}
    for row in rows:
        shown.setdefault(row.case, set()).add(row.own)
    found: Counter[Reason] = Counter()
    for case, held in {row.case: row.held for row in rows if row.held}.items():
        found.update(unused(held, shown[case]))
    return ordered(found)


def _recorded(
    rows: Sequence[Trial], controlled: bool, tied: bool, known: dict[tuple[int, bool, bool], TrialRecord]
) -> Iterator[TrialRecord]:
    for row in rows:
        about = id(row), controlled, tied
        found = known.get(about)
        if found is None:
            found = known[about] = _record(row, controlled=controlled, tied=tied)
        yield found


def _record(row: Trial, *, controlled: bool, tied: bool) -> TrialRecord:
    probable, compared = _chances(row, "control" if controlled else "clean"), tuple(map(code, row.clean))
    same = {name: getattr(row, name) for name in SAME}
    return TrialRecord(
        **same,
        pilot=None if row.pilot is None else code(row.pilot),
        clean=() if controlled else compared,
        perturbed=tuple(map(code, row.perturbed)),
        control=compared if controlled else (),
        inert=tuple(map(code, row.inert)),
        cluster="" if row.cluster == row.case else row.cluster,
        slots=row.slots if tied or row.order or row.target == CUED else (),
        people={person: code(said) for person, said in row.people.items()},
        chances=probable,
    )


def _chances(row: Trial, compared: str) -> dict[str, Json]:
    pilot = () if row.pilot is None else (row.pilot,)
    if all(chances(verdict) is None for verdict in (*row.clean, *row.inert, *row.perturbed, *pilot)):
        return {}
    arms = {compared: row.clean, "inert": row.inert, "perturbed": row.perturbed, "pilot": pilot}
    laws = {arm: [chances(verdict) for verdict in verdicts] for arm, verdicts in arms.items()}
    return {
        arm: [None if law is None else {name: round(p, 9) for name, p in law.items()} for law in given]
        for arm, given in laws.items()
        if any(law is not None for law in given)
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0  # + 0.0 turns -0.0 into 0.0


def control_of(trials: Trials | None, bias: str) -> tuple[Control | None, Reason]:
    """
    Return what inert words did to the rows of a probe, None without such asks; and why that matters, or `NONE`.

    A bias whose edits are inert words themselves has no such reason: there it is the finding.
    """
    found = () if trials is None else trials.rows
    rows = tuple(row for row in found if row.inert and row.room and len(row.clean) > 1 and row.floor != REPEATS)
    if trials is None or not rows:
        return None, NONE
    asked = replace(trials, rows=tuple(changed(row, perturbed=row.inert, inert=()) for row in rows))
    moved, gained = (_estimate(measure.name, asked) for measure in (rewording_rate, gain))
    if moved is None:
        return None, NONE
    floor = ", ".join(sorted({row.floor for row in rows}))
    control = Control(floor, round(moved.value, 6) + 0.0, _rounded(None if gained is None else gained.value), len(rows))
    if bias in TESTS_LENGTH:
        return control, NONE
    longer = any(IN_ANSWER in row.channel.split(", ") for row in rows)
    much = MUCH[trials.family]
    if _one_sided(gained, much):
        kind = Kind.SAME_LENGTH if longer else Kind.SAME_GAIN
        return control, because(kind, round(gained.value, 2) if gained else 0)
    turns = replace(trials, rows=tuple(changed(row, inert=()) for row in rows))
    if _beyond(moved.value, moved.low, much) and not _one_sided(_estimate(gain.name, turns), much):
        return control, because(Kind.SAME_PLACE, round(moved.value, 2))
    return control, NONE


def _estimate(name: str, trials: Trials) -> Estimate | None:
    try:
        return MEASURES[name].estimate(trials, LEVEL)
    except EstimateError:
        return None


def _one_sided(gained: Estimate | None, much: float) -> bool:
    return gained is not None and (
        _beyond(gained.value, gained.low, much) or _beyond(-gained.value, -gained.high, much)
    )


def _beyond(value: float, low: float, much: float) -> bool:
    return value > much and low > much / 2
