"""
Notes of a run that its rows tell: what a reader must know of the judge and the cases to read the findings.

They decide nothing. Each is a kind with its figures; `calm.core.reasons` has the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from calm.core.claims import Outcome
from calm.core.edits import Expects
from calm.core.languages import NAMES, SERVED
from calm.core.measures import ADVANTAGE
from calm.core.people import people_of, replacing
from calm.core.ready_made import NEUTRAL
from calm.core.reasons import NONE, Kind, Reason, because, name
from calm.experiment.inert import CLASSES, REWRITE
from calm.models.wire import Json
from calm.results.audit import Finding
from calm.results.control import Control
from calm.results.records import family_of, points_of, trials_of

FEWEST_REPEATED: Final = 20
"""Cases asked twice below which equal repeats are no news."""
BACKWARDS: Final[Mapping[str, str]] = {
    "net_detection": "the sensitivity to planted errors",
    "weighted_kappa": "the agreement with the gold",
    "rank_agreement": "the agreement with the gold on the order of the cases",
}
"""Measures that lie far below 0 where a scale is turned round, in words."""
BACKWARDS_BY: Final = 0.3
"""So far below 0 a judge that merely errs hardly comes."""
FEWEST_BACKWARDS: Final = 10
FEW_CLUSTERS: Final = 30
"""Questions below which an interval rests on so few that a reader must know."""
MUCH_REWORDED: Final = 0.05
"""Share of verdicts moved by inert words from which a run says so, even where the claim is proven."""
MOSTLY: Final = 75
"""Of a hundred asks about equal answers: from so many on a judge counts as one that does one thing with them."""
REWORDING: Final = "rewording"


def notes_of(findings: Sequence[Finding], cases: Mapping[str, Json] | None = None) -> list[Reason]:
    """
    Return what the rows of all findings say of the judge and the cases, the judge first.

    `cases` is what a record says of them: how many there are, how many hold a ready-made text that did not ship, by its
    name, and how many are in a language other than English, by its code.
    """
    judge = (
        between_equals(findings),
        repeats(findings),
        rewording(findings),
        on_length(findings),
        *people(findings),
        narrow(findings),
        backwards(findings),
    )
    known = cases or {}
    texts = own_texts(findings), unasked(findings, known.get("texts"))
    return [n for n in (*judge, room(findings), clustering(findings), *texts, languages(known)) if n]


def people(findings: Iterable[Finding]) -> list[Reason]:
    """Return how far the people agree who labelled the cases, and whether the judge may take the place of one."""
    found = next((f for f in findings if f.measure == ADVANTAGE and any(row.people for row in f.trials)), None)
    if found is None or found.claim is None:
        return []
    trials = trials_of(found, points_of(found))
    notes, who = [], people_of(trials)
    if who is not None and who.alpha is not None:
        equal = "" if who.raw is None else f"; they say the same in {who.raw:.0%} of pairs of labels"
        notes.append(because(Kind.PEOPLE_AGREE, len(who.names), who.cases, round(who.alpha, 6), equal))
    test = replacing(trials, -(found.stated or found.claim).limit)
    if test is not None:
        kind = Kind.MAY_REPLACE if test.passes else Kind.MAY_NOT_REPLACE
        tested = [one for one in test.people.values() if one.p is not None]
        won = sum(one.rejected for one in tested)
        notes.append(because(kind, won, len(tested), round(test.advantage, 6), test.epsilon))
    return notes


def narrow(findings: Iterable[Finding]) -> Reason:
    """Return that all gold scores lie in a half of the judge's scale, as those on another scale do, or `NONE`."""
    for one in findings:
        scale = points_of(one)
        golds = [scale.upright(score) for row in one.trials for score in row.worth.values()] if one.scale else []
        if len(set(golds)) > 1:
            low, high = scale.low, scale.high
            half = (low + high) / 2
            if max(golds) <= half or min(golds) >= half:
                return because(Kind.GOLD_NARROW, min(golds), max(golds), low, high)
    return NONE


def backwards(findings: Iterable[Finding]) -> Reason:
    """Return that scores rise with planted errors, or run against the gold, as on a scale turned round, or `NONE`."""
    for one in findings:
        known = one.value is not None and one.n >= FEWEST_BACKWARDS and not one.single
        if known and one.scale and one.measure in BACKWARDS and (one.value or 0.0) < -BACKWARDS_BY:
            value = round(one.value or 0.0, 6)
            if one.measure != "net_detection":
                return because(Kind.GOLD_BACKWARDS, BACKWARDS[one.measure], value)
            best = "low" if points_of(one).best == "high" else "high"
            return because(Kind.SCALE_BACKWARDS, BACKWARDS[one.measure], value, best, best)
    return NONE


def repeats(findings: Iterable[Finding]) -> Reason:
    """Return that the judge gave each case the same verdict whenever it was asked again, or `NONE`."""
    asked: dict[str, Sequence[object]] = {}
    for row in (row for one in findings for row in one.trials if len(row.clean) > 1):
        asked[row.case] = max(asked.get(row.case, ()), row.clean, key=len)
    same = sum(all(code == codes[0] for code in codes) for codes in asked.values())
    return because(Kind.REPEATS_ITSELF, same) if same == len(asked) >= FEWEST_REPEATED else NONE


def rewording(findings: Iterable[Finding]) -> Reason:
    """
    Return how much words that say nothing move the verdict, where that is not little, or `NONE`.

    The probe of rewording and the inert arms of all others speak together, by their rows: alone that probe ends as soon
    as its claim is proven, and more often where it happened to see little. Arms as long as a sentence are left out, for
    there length may speak.
    """
    seen = {}
    for one in findings:
        if one.bias == REWORDING and one.measure == "rewording_rate" and not one.single and one.value is not None:
            seen[REWORDING] = one.value, one.n
        elif one.control is not None and not one.single and not _long(one.control):
            seen[f"{one.bias} {one.perturbation}"] = one.control.moved, one.control.n
    if REWORDING not in seen:
        return NONE
    moved = sum(value * n for value, n in seen.values()) / max(1, sum(n for _, n in seen.values()))
    return because(Kind.TURNS_ON_REWORDING, round(moved, 4)) if moved > MUCH_REWORDED else NONE


def between_equals(findings: Iterable[Finding]) -> Reason:
    """Return what the judge does with two equally good answers in either order, or `NONE` where that is not known."""
    seen = {one.measure: one for one in findings if one.outcome is Outcome.OBSERVED and one.perturbation is None}
    pulled, tied = seen.get("slot_pull"), seen.get("tie_rate")
    if pulled is None or tied is None or pulled.value is None or tied.value is None:
        return NONE
    first, last = ((1 - tied.value + sign * pulled.value) / 2 for sign in (1, -1))
    shares = [round(100 * share) for share in (tied.value, first, last)]
    most = max(range(3), key=shares.__getitem__)
    kinds = (Kind.SAYS_TIE, Kind.TAKES_FIRST, Kind.TAKES_LAST)
    return because(kinds[most], shares[most]) if shares[most] >= MOSTLY else because(Kind.TAKES_EITHER, *shares[1:])


def _long(control: Control) -> bool:
    return any(name.startswith("text-") and name != f"text-{min(CLASSES)}" for name in control.floor.split(", "))


def on_length(findings: Iterable[Finding]) -> Reason:
    """Return in how many probes words of the edit's length did much by themselves, or `NONE`."""
    probes = {(f.bias, f.perturbation) for f in findings if f.reason.has(Kind.SAME_LENGTH)}
    return because(Kind.TURNS_ON_LENGTH, len(probes)) if probes else NONE


def room(findings: Iterable[Finding]) -> Reason:
    """Return on how many cases an answer can still gain, for a judge that gives scores, or `NONE`."""
    rows = [
        row
        for one in findings
        if one.expects == Expects.NOT_BETTER and family_of(one.task) == "score"
        for row in one.trials
    ]
    cases, with_room = ({row.case for row in rows if row.room or every} for every in (True, False))
    return because(Kind.ROOM, len(with_room), len(cases)) if cases else NONE


def own_texts(findings: Iterable[Finding]) -> Reason:
    """Return in how many cases each probe was asked with texts that the cases hold themselves, or `NONE`."""
    seen: dict[str, tuple[int, int, int]] = {}
    for one in findings:
        if (one.own or one.unused) and not one.single:
            now = one.own, len({row.case for row in one.trials}), sum(one.unused.values())
            probe = "/".join(filter(None, [one.bias, one.perturbation]))
            seen[probe] = max(now, seen.get(probe, now), key=lambda of: (of[1], of[0], -of[2]))
    return because(Kind.OWN_TEXTS, *(part for bias, of in seen.items() for part in (bias, *of))) if seen else NONE


def unasked(findings: Iterable[Finding], held: Json) -> Reason:
    """Return the names of the texts that somebody's cases bring and that no probe showed, or `NONE`."""
    rows = [row for one in findings for row in one.trials]
    shown = {row.own for row in rows} | {NEUTRAL for row in rows if row.floor == REWRITE}
    left = {text: count for text, count in held.items() if text not in shown} if isinstance(held, dict) else {}
    parts = [part for text, count in left.items() if isinstance(count, int) for part in (name(text), count)]
    return because(Kind.TEXTS_UNASKED, *parts) if parts else NONE


def languages(cases: Mapping[str, Json]) -> Reason:
    """Return in which languages the cases are other than English, the most frequent first, or `NONE`."""
    spoken = cases.get("languages")
    if not isinstance(spoken, dict):
        return NONE
    parts: list[str | int] = []
    for code, count in sorted(spoken.items(), key=lambda item: (-int(str(item[1])), item[0])):
        parts += [NAMES.get(code, code), int(str(count)), code, int(code in SERVED)]
    return because(Kind.IN_LANGUAGES, int(str(cases.get("n", 0))), *parts)


def clustering(findings: Iterable[Finding]) -> Reason:
    """Return that the cases are about few questions, or `NONE`: the intervals rest on the questions."""
    rows = [row for one in findings for row in one.trials]
    cases = {row.case for row in rows}
    questions = {row.cluster or row.case for row in rows}
    few = len(questions) < min(FEW_CLUSTERS, len(cases))
    return because(Kind.FEW_CLUSTERS, len(cases), len(questions)) if few else NONE
