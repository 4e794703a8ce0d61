"""The findings that were decided from the same trials: their charts, and their most telling cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from calm.core.claims import Outcome
from calm.core.measures import MEASURES
from calm.core.texts import CaseTexts
from calm.results.audit import AGREEMENT, BASELINE, RUN, Audit, Finding
from calm.results.changes import places_of
from calm.results.command_lines import again
from calm.results.reports.charts import Curve, Histogram, curves_of, histogram_of, without_dose
from calm.results.reports.heading import asks_in_words
from calm.results.reports.highlights import Highlight, highlight, shown_scale
from calm.results.reports.rows import FindingRow, anchors, biases_of, outcomes_of
from calm.results.reports.texts import CaseView, Messages, Room, bytes_of, shown_texts, size_bytes
from calm.statistics.contingency import chi_squared_p

CASES, FEW = 20, 3
"""
Cases of each probe that are shown with prompts and replies, the most telling first, and of one that decides nothing,
such as a single variant. Where no case speaks against the judge, the few are examples of what was asked.
"""
WAYS: Mapping[str, int] = {"toward": -1, "other": 1, "away": 2}
"""In which order flips are read, by their word."""
BEGINNING = 240
"""Characters of a question in a list of cases."""
LEVEL = 0.05
"""The level at which variants count as different: this opens a table and decides nothing."""
WHOLE_BUDGET = 250_000
"""Bytes of prompts shown whole."""
ROOMS = (Room(160, 1_200), Room(120, 600), Room(60, 160), Room(40, 90))
"""How much is shown of each case: the first that fits the budget."""

EXPECTED: Mapping[str | None, str] = {
    "SAME": "the verdict must not change",
    "NOT_BETTER": "the treated answer must not gain",
    "WORSE": "the treated answer, which was harmed, must lose",
    "TIE": "the answers must tie, or be preferred symmetrically",
    "OBSERVE": "nothing is required; the effect is reported",
    None: "asked again, the judge must say the same",
}


WORST = "worst variant"
"""What a part of a probe is called whose rows show one variant alone."""
TURNS = "One of:"
"""How the summary of a rotation begins; its variants follow, with their meanings if each has a line of its own."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The findings that were decided from the same trials."""

    anchor: str
    bias: str
    perturbation: str | None
    part: str
    against: str | None
    summary: str
    expected: str
    asks: str
    channel: str
    node: str
    rows: tuple[FindingRow, ...]
    cases: tuple[Highlight, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    total: int = 0
    sources: int = 0
    """How many cases the rows are about; a case may have a row for each of several variants."""
    speaking: int = 0
    shifts: Histogram | None = None
    curves: tuple[Curve, ...] = ()
    variants: tuple[Variant, ...] = ()
    differ: bool = False
    """Whether the variants differ by more than chance in how many cases speak against the judge."""

    @property
    def alone(self) -> bool:
        """Whether it decides nothing."""
        return all(row.alone for row in self.rows)

    @property
    def red(self) -> bool:
        """Whether one of its claims keeps the gate from being green."""
        return any(row.finding.red for row in self.rows)

    @property
    def outcomes(self) -> list[tuple[Outcome, int]]:
        """How many of its claims have each outcome."""
        return outcomes_of(self.rows)

    @property
    def flips(self) -> tuple[Highlight, ...]:
        """The rows that speak against the judge, the loudest first."""
        return tuple(case for case in self.cases if case.tells)


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the edits that took turns: what it does, how many cases got it, and how many speak against the judge."""

    name: str
    meaning: str
    cases: int
    telling: int

    @property
    def share(self) -> float:
        """The share of its cases that speak against the judge."""
        return self.telling / self.cases


def probes_of(audit: Audit, rows: Sequence[FindingRow]) -> tuple[Probe, ...]:
    """Return the findings by the trials that they rest on, in the order of the table."""
    groups: dict[tuple[str | None, ...], list[FindingRow]] = {}
    for row in (row for bias in biases_of(rows) for row in bias.rows):
        one = row.finding
        groups.setdefault((one.bias, one.perturbation, one.against, _part(one)), []).append(row)
    names = ["/".join(part for part in key if part) for key in groups]
    texts = {(t.case, t.hash): t for t in audit.texts}
    questions = {t.case: t.question for t in audit.texts}
    curves = curves_of(audit.findings)
    meanings = {(f.bias, f.perturbation or ""): f.summary for f in audit.findings}
    shown: set[tuple[str, str]] = set()
    found = []
    for group, anchor in zip(groups.values(), anchors("p", names), strict=True):
        probe = _probe(tuple(group), anchor, texts, questions, audit)
        probe = replace(probe, variants=tuple(_with_meaning(v, probe, meanings) for v in probe.variants))
        family = probe.bias, without_dose(probe.perturbation or "")
        of_dose = group[0].finding.dose is not None and family in curves and family not in shown
        if of_dose:
            shown.add(family)
        found.append(replace(probe, curves=curves[family] if of_dose else ()))
    return tuple(found)


def _part(one: Finding) -> str:
    """Return what of a probe a finding is about, where it rests on rows of its own: the worst variant."""
    measure = MEASURES.get(one.measure)
    return WORST if measure is not None and measure.worst_of else ""


def _probe(
    rows: tuple[FindingRow, ...],
    anchor: str,
    texts: Mapping[tuple[str, str], CaseTexts],
    questions: Mapping[str, str],
    audit: Audit,
) -> Probe:
    one = rows[0].finding
    measures = frozenset(row.finding.measure for row in rows)
    trials = {(t.case, t.hash): t for row in reversed(rows) for t in row.finding.trials}
    scale = shown_scale(audit.judge)
    cases = [(highlight(trial, one, measures, texts.get(key), scale), trial) for key, trial in trials.items()]
    cases.sort(key=lambda pair: (not pair[0].tells, WAYS.get(pair[0].word, 0), -pair[0].weight, pair[0].case))
    decides = not all(row.alone for row in rows)
    telling = [pair for pair in cases if pair[0].tells]
    kept = [pair for pair in cases if not pair[0].tells and pair[0].texts is not None and pair[0].texts.whole]
    listed = [*telling, *([] if telling else kept[:FEW])]
    ids = anchors(f"c{anchor[1:]}", [case.case for case, _ in listed])
    moving = one.expects not in ("WORSE", None) and decides
    variants = _variants([case for case, _ in cases])
    return Probe(
        anchor=anchor,
        bias=one.bias,
        perturbation=one.perturbation,
        part=_part(one),
        against=one.against,
        summary=one.summary,
        expected="" if one.bias in (AGREEMENT, BASELINE, RUN) else EXPECTED.get(one.expects, one.expects or ""),
        asks=_asks(one),
        channel=one.channel,
        node=one.node,
        rows=rows,
        variants=variants,
        differ=_differ(variants),
        cases=tuple(
            replace(
                case,
                anchor=i,
                again=again(audit, one, trial),
                question=(case.texts.question if case.texts else questions.get(case.case, ""))[:BEGINNING],
                came=case.texts.came if case.texts else "",
                went=case.texts.went if case.texts else "",
                places=places_of(case.texts),
            )
            for (case, trial), i in zip(listed, ids, strict=True)
        ),
        counts=tuple(Counter(case.word for case, _ in cases).most_common()),
        total=len(trials),
        sources=len({case for case, _ in trials}),
        speaking=len(telling),
        shifts=histogram_of(trials.values(), one.task, scale) if moving else None,
    )


def _asks(one: Finding) -> str:
    """Return how often a row was asked in each arm, in words."""
    inert = max((len(row.inert) for row in one.trials), default=0)
    told = asks_in_words(one.asks)
    return f"{told}, {inert} with neutral words" if inert else told


def _variants(cases: Sequence[Highlight]) -> tuple[Variant, ...]:
    """Return the edits that took turns, by name, without their meaning; none where all cases got the same one."""
    asked = Counter(one.edit for one in cases)
    telling = Counter(one.edit for one in cases if one.tells)
    if len(asked) < 2:
        return ()
    found = [Variant(name, "", count, telling[name]) for name, count in sorted(asked.items())]
    return tuple(sorted(found, key=lambda v: (-v.share, v.name)))


def _with_meaning(one: Variant, probe: Probe, meanings: Mapping[tuple[str, str], str]) -> Variant:
    """Return a variant with what it does, as its rotation says or as a finding about it alone."""
    lines = (line.partition(": ") for line in probe.summary.splitlines())
    stated = {name: meaning for name, _, meaning in lines if meaning}
    return replace(one, meaning=stated.get(one.name) or meanings.get((probe.bias, one.name), ""))


def _differ(variants: Sequence[Variant]) -> bool:
    """Return whether shares of cases that speak against the judge differ by variant, by a chi-squared test at .05."""
    table = [[v.telling, v.cases - v.telling] for v in variants]
    if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
        return False
    return chi_squared_p(table) < LEVEL


# Texts


def with_texts(probes: tuple[Probe, ...], budget: int) -> tuple[tuple[Probe, ...], dict[Messages, str]]:
    """
    Return the probes with the texts of their cases, and the prompts shown whole with their ids.

    If the budget is too small for all, each probe's first case comes first, then each probe's second. Probes that
    decide nothing come last.
    """
    ranks = zip_longest(*([(i, j) for j in range(len(probe.cases))] for i, probe in enumerate(probes)))
    places = [place for rank in ranks for place in rank if place]
    places.sort(key=lambda place: all(row.alone for row in probes[place[0]].rows))
    with_some = [(i, j) for i, j in places if _is_whole(probes[i], j)]
    for room in ROOMS:
        shown, left = _within_budget(probes, with_some, room, max(0, budget), all_of_them=room is not ROOMS[-1])
        if len(shown) == len(with_some):
            break
    filled = tuple(
        replace(probe, cases=tuple(replace(one, shown=shown.get((i, j))) for j, one in enumerate(probe.cases)))
        for i, probe in enumerate(probes)
    )
    return filled, _whole(shown.values(), min(WHOLE_BUDGET, left))


def _is_whole(probe: Probe, place: int) -> bool:
    """Return whether a case is among those of a probe that are shown with prompts and replies, if they were kept."""
    texts = probe.cases[place].texts
    return texts is not None and texts.whole and place < (FEW if probe.alone else CASES)


def _within_budget(
    probes: Sequence[Probe], places: Iterable[tuple[int, int]], room: Room, budget: int, *, all_of_them: bool
) -> tuple[dict[tuple[int, int], CaseView], int]:
    """
    Return the cases whose texts fit the budget, by their places, and what is left of it.

    With `all_of_them` it ends at the first that does not fit.
    """
    left = budget
    shown: dict[tuple[int, int], CaseView] = {}
    for i, j in places:
        texts = probes[i].cases[j].texts
        assert texts is not None  # only such places are given
        made = shown_texts(texts, probes[i].cases[j].arms, room)
        size = size_bytes(made)
        if size <= left:
            left -= size
            shown[i, j] = made
        elif all_of_them:
            break
    return shown, left


def _whole(shown: Iterable[CaseView], budget: int) -> dict[Messages, str]:
    """Return, once each, the prompts that are shown in part and can stand whole within the budget."""
    found: dict[Messages, str] = {}
    parts = (prompts for one in shown for prompts in one.prompts if not prompts.whole)
    for messages in (messages for prompts in parts for _, messages in prompts.full):
        size = sum(bytes_of(text.text) for _, text in messages)
        if messages not in found and size <= budget:
            budget -= size
            found[messages] = f"w-{len(found) + 1}"
    return found
