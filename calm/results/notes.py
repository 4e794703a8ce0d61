"""
Notes of a run that its rows tell: what a reader must know of the judge and the cases to read the findings.

They decide nothing. Each is a kind with its figures; `calm.core.reasons` has the words.

Undeclared topics: whether cases that have something in common move together more than by chance.

An interval takes questions as independent of each other. Where the cases are about few topics, and a judge errs or is
moved by topic, they are not, and the interval is too narrow. A tag, or the way in which questions begin, may name the
topics. Each such column is tested by permutation: how alike are the questions of one group in their errors against the
gold label, or in all claims together? A column is named by chance in 1 % of runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt
from random import Random
from typing import Any, Final, NamedTuple

from calm.cases import sha256, texts_brought
from calm.core.agreement import share_right
from calm.core.case import Case, digest
from calm.core.claims import Outcome
from calm.core.edits import Expects
from calm.core.languages import ENGLISH, NAMES, SERVED, language_of_case
from calm.core.measures import ADVANTAGE, MEASURES
from calm.core.people import people_of, replacing
from calm.core.ready_made import NEUTRAL
from calm.core.reasons import NONE, Kind, Reason, because, name
from calm.core.trials import Trial
from calm.core.verdict import Scale
from calm.experiment.inert import CLASSES, REWRITE
from calm.experiment.pairs import CLUSTER, clusters_of
from calm.models.wire import Json, Judge
from calm.results.audit import Control, Finding
from calm.results.records import family_of, points_of, rows_of, scale_record, trials_of

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
FEWEST_SCORES: Final = 20
"""Scores below which it is no news that they are alike."""
SMALL_PART: Final = 0.2
"""Of a scale: scores that differ by no more leave most of it unused."""
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
        part_used(findings),
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


def part_used(findings: Iterable[Finding]) -> Reason:
    """Return that all scores of the cases as they are lie in a small part of the judge's scale, or `NONE`."""
    asked: dict[str, tuple[Finding, Sequence[object]]] = {}
    for one in findings:
        if one.scale and family_of(one.task) == "score":
            for row in one.trials:
                asked[row.case] = max(asked.get(row.case, (one, ())), (one, row.clean), key=lambda known: len(known[1]))
    scores = [(code, one) for one, codes in asked.values() for code in codes if isinstance(code, int | float)]
    if len(scores) < FEWEST_SCORES:
        return NONE
    scale = points_of(scores[0][1])
    low, *_, high = sorted(scale.upright(score) for score, _ in scores)
    if low == high or high - low > SMALL_PART * (scale.high - scale.low):
        return NONE
    share = round((high - low) / (scale.high - scale.low), 6)
    return because(Kind.SCORES_NARROW, len(scores), low, high, scale.low, scale.high, share)


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


LEVEL: Final = 0.01
"""Probability that any column is named where no group moves together."""
FEWEST: Final = 5
"""Groups below which no interval by group says anything."""
WORDS: Final = 3
"""Words at the beginning of a question that are taken for its template."""
BEGINNING: Final = "first words"
"""The column of them."""
ERRORS: Final = "accuracy"
TOGETHER: Final = "all probes together"
CLOSE: Final = 1e-9
SPARE: Final = 4
"""Permutations as telling as the data from which on a column is not named."""


class Topic(NamedTuple):
    """
    A column whose groups move together, with the number of its groups and of the questions in them.

    `most` names what they sway most: the errors, or all probes together. `effect` is the design effect there: how much
    groups raise the variance of the mean, at least 1.
    """

    column: str
    groups: int
    questions: int
    most: str
    effect: float


def topics(findings: Sequence[Finding], cases: Sequence[Case], scale: Scale, seed: int) -> list[Reason]:
    """Return a note for each column of the cases whose groups move together; `seed` draws the permutations."""
    columns = columns_of(cases)
    if not columns:
        return []
    measured, case_of = moves(findings, scale)
    told = ((name, {unit: by[case] for unit, case in case_of.items() if case in by}) for name, by in columns.items())
    labels = {column: by for column, by in told if by}
    return [
        because(Kind.TOPIC, name(t.column), t.groups, t.questions, t.most, round(sqrt(t.effect), 2))
        for t in found(measured, labels, seed)
    ]


def columns_of(cases: Sequence[Case]) -> dict[str, dict[str, str]]:
    """
    Return for each column of the cases the group of each case, by its id: its tags, and how its question begins.

    A column has `FEWEST` groups, of two cases on average, or more. Of columns with the same groups the first is taken.
    """
    every: dict[str, dict[str, str]] = defaultdict(dict)
    for case in cases:
        for tag, value in case.tags.items():
            if tag != CLUSTER:
                every[tag][case.id] = value
        every[BEGINNING][case.id] = " ".join(case.question.casefold().split()[:WORDS])
    distinct: dict[frozenset[frozenset[str]], str] = {}
    for column, by in every.items():
        groups: dict[str, set[str]] = defaultdict(set)
        for case_id, value in by.items():
            groups[value].add(case_id)
        if FEWEST <= len(groups) <= len(by) / 2:
            distinct.setdefault(frozenset(map(frozenset, groups.values())), column)
    return {column: every[column] for column in distinct.values()}


def moves(findings: Iterable[Finding], scale: Scale) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """
    Return the mean value of each question in the errors and in each claim that is a mean over rows, and a case of each.

    A question is named by its cluster, as in the rows. The higher the value, the worse.
    """
    by_claim: dict[str, dict[str, float]] = {}
    case_of: dict[str, str] = {}
    asked: dict[str, Trial] = {}
    for f in findings:
        measure = MEASURES.get(f.measure)
        if measure is None or measure.whole is not None or measure.worst_of or f.single or not f.trials:
            continue
        rows = rows_of(f)
        sign = -1 if measure.op == ">=" and not measure.flipped else 1
        by_claim[f.key] = _means(((row.cluster, measure.per_case(row, scale)) for row in rows), sign)
        case_of |= {row.cluster: row.case for row in rows}
        asked |= {
            row.case: row for row in rows if len(row.clean) > (len(asked[row.case].clean) if row.case in asked else 0)
        }
    errors = _means(((row.cluster, share_right(row.clean, row, scale)) for row in asked.values()), -1)
    return {ERRORS: errors, **by_claim}, case_of


def _means(cells: Iterable[tuple[str, float | Reason]], sign: int) -> dict[str, float]:
    units: dict[str, list[float]] = defaultdict(list)
    for unit, cell in cells:
        if not isinstance(cell, Reason):
            units[unit].append(sign * cell)
    return {unit: sum(values) / len(values) for unit, values in units.items()}


def found(
    measured: Mapping[str, Mapping[str, float]], labels: Mapping[str, Mapping[str, str]], seed: int
) -> list[Topic]:
    """
    Return the columns whose groups move together, at `LEVEL` for all of them (Bonferroni).

    `measured` holds by name the values of each question, `labels` by column its group. Under the hypothesis that a
    column says nothing of the values, each order of its labels is as likely; all values of a question stay together.
    Permutations end as soon as `SPARE` of them are as telling as the data (Besag & Clifford 1991).
    """
    topics = []
    draws = round(2 * SPARE * len(labels) / LEVEL) - 1  # of two statistics each
    for column, of in labels.items():
        columns = _scaled(measured, list(of))
        groups = list(of.values())
        sizes = Counter(groups).values()
        pairs = sum(size * (size - 1) for size in sizes)
        if not pairs:
            continue
        of_data = {what: _alike(values, groups) for what, values in columns.items()}
        as_telling = dict.fromkeys(columns, 0)
        rng, order = Random(digest("topics", seed, column)), list(groups)
        for _ in range(draws):
            rng.shuffle(order)
            for what, values in columns.items():
                as_telling[what] += _alike(values, order) >= of_data[what] - CLOSE
            if min(as_telling.values()) >= SPARE:
                break
        else:
            most = min(as_telling, key=as_telling.__getitem__)
            effect = 1 + (sum(size * size for size in sizes) / len(of) - 1) * of_data[most] / pairs
            topics.append(Topic(column, len(sizes), len(of), most, max(1.0, effect)))
    return topics


def _alike(values: Sequence[float], groups: Sequence[str]) -> float:
    sums: dict[str, float] = defaultdict(float)
    for value, group in zip(values, groups, strict=True):
        sums[group] += value
    return fsum(total * total for total in sums.values()) - fsum(value * value for value in values)


def _scaled(measured: Mapping[str, Mapping[str, float]], units: Sequence[str]) -> dict[str, list[float]]:
    """
    Return the values of the units in the errors, and in all claims together.

    The values of a claim are 0 on average, with mean square 1; without values, or where none varies, they are 0.
    """

    def scaled(column: Sequence[float]) -> list[float]:
        square = fsum(value * value for value in column) / len(column)
        return [value / sqrt(square) for value in column] if square > CLOSE else [0.0] * len(column)

    made = {}
    for key, values in measured.items():
        known = [values[unit] for unit in units if unit in values]
        middle = fsum(known) / len(known) if known else 0.0
        made[key] = scaled([values[unit] - middle if unit in values else 0.0 for unit in units])
    errors = made.pop(ERRORS)
    return {ERRORS: errors, TOGETHER: scaled([fsum(row) for row in zip(*made.values(), strict=True)] or errors)}


def judge_record(judge: Judge, served: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a `JudgeRecord`; `served` is the model that serves each endpoint, by its identity."""
    about = dict(judge.about)
    return {
        "name": judge.name,
        "task": judge.task,
        "fingerprint": judge.fingerprint,
        "model": about.pop("model", None),
        "served": ", ".join(served[e.identity] for e in judge.endpoints if e.identity in served) or None,
        "prompt_sha256": about.pop("prompt_sha256", None),
        "scale": scale_record(judge.scale),
        "parameters": about.pop("parameters", {}),
        "about": about,
    }


def cases_record(cases: Sequence[Case], of: int) -> dict[str, Any]:
    """Return how many cases there are, of how many they are a sample, and what they hold."""
    texts = texts_brought(cases)
    spoken = Counter(language_of_case(case) for case in cases)
    del spoken[ENGLISH]
    return {
        "n": len(cases),
        "of": of,
        "questions": len(set(clusters_of(cases).values())),
        "sha256": sha256(cases),
        "gold": sum(bool(case.better or case.scores or case.met or case.label) for case in cases),
        "people": len({person for case in cases for person in case.annotations}),
        **({"texts": texts} if texts else {}),
        **({"languages": dict(sorted(spoken.items()))} if spoken else {}),
    }
