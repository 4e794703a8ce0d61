"""
Heuristics without parameters: how far the gold can be guessed without understanding a word.

A heuristic ranks answers by something trivial: their length, their place in the list, their markup. Where it agrees
with the gold, the cases cannot tell a judge from the heuristic, and a judge with that very bias looks accurate on them.

Agreement is the share of comparisons that a heuristic decides as the gold does, with a draw as a half: a coin has 0.5.
Answers of one case are compared with each other where their gold differs, and the case is the unit. Cases with a single
answer are compared with each other, at most `MOST_ALONE` of them; every second one counts in the bounds (a
bound for U-statistics that needs no variance: Hoeffding 1963, section 5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, TypeAlias

from calm.core.case import TIE, Answer, Case, digest
from calm.core.names import spelling
from calm.statistics.intervals import clopper_pearson

Level: TypeAlias = Literal["gold", "leans", "free"]
"""How much a heuristic knows: nearly as much as the gold, more than a coin, nothing."""
Measure: TypeAlias = Callable[[Case, Answer], float | None]
"""What a heuristic measures of an answer; None where there is nothing to measure."""

NEAR: Final = 0.80
"""A heuristic with this agreement or more nearly equals the gold (if its lower bound is above one half, too)."""
LEANING: Final = 0.60
"""A heuristic whose lower bound is above this leans to the gold."""
LEVEL: Final = 0.01
"""The level of the bounds, two-sided: some ten heuristics are used at once."""
MOST_ALONE: Final = 500
"""At most this many cases with a single answer are compared with each other, drawn by a hash of their ids."""
MOST_AUTHORS: Final = 5
"""The most authors that get a heuristic of their own, the most frequent ones first."""

_WORD: Final = re.compile(r"\w+(?:[.,:]\w+)*")
_MARKUP: Final = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|#{1,6}|>)\s|^\s*\||\*\*|__|`+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heuristic:
    """A measure of an answer, with the names of both of its ends and the fix where it equals the gold."""

    most: str
    least: str
    measure: Measure
    fix: str


@dataclass(frozen=True, slots=True)
class HeuristicAgreement:
    """How often a heuristic agrees with the gold, with exact bounds, over n cases; `heuristic` names the better end."""

    heuristic: str
    agreement: float
    low: float
    high: float
    n: int
    level: Level
    fix: str

    @property
    def warning(self) -> str | None:
        """The warning for a user; None for a heuristic that knows nothing."""
        if self.level == "free":
            return None
        how = "nearly equals the gold" if self.level == "gold" else "agrees with the gold too often"
        share = f"{self.agreement:.0%} [{self.low:.0%}, {self.high:.0%}]"
        return f"the heuristic `{self.heuristic}` {how}: {share} of n={self.n}; {self.fix}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _overlap(one: str, other: str) -> float:
    """
    Return the share of different words that two texts have in common (Dice's coefficient).

    >>> _overlap("The red lamp", "the lamp"), _overlap("a", "b"), _overlap("", "")
    (0.8, 0.0, 0.0)
    """
    first, second = _words(one), _words(other)
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


HEURISTICS: Final[tuple[Heuristic, ...]] = (
    Heuristic(
        "longest answer",
        "shortest answer",
        lambda case, answer: len(answer.text),
        "add cases where the worse answer is the longer one, and cases where it is the shorter one",
    ),
    Heuristic(
        "most lists and markup",
        "least lists and markup",
        lambda case, answer: len(_MARKUP.findall(answer.text)),
        "write answers of both kinds with and without lists, headings and bold",
    ),
    Heuristic(
        "most digits",
        "fewest digits",
        lambda case, answer: sum(character.isdigit() for character in answer.text),
        "add cases where the worse answer has as many numbers, but wrong ones",
    ),
    Heuristic(
        "most words of the question",
        "fewest words of the question",
        lambda case, answer: _overlap(answer.text, case.question),
        "add worse answers that keep as close to the question",
    ),
    Heuristic(
        "most words of the reference",
        "fewest words of the reference",
        lambda case, answer: None if case.reference is None else _overlap(answer.text, case.reference),
        "reword the references: a judge that is shown them need not understand anything",
    ),
    Heuristic(
        "first listed",
        "last listed",
        lambda case, answer: None if len(case.answers) == 1 else -case.answers.index(answer),
        'harmless in calm, which chooses the order itself; not so with order = "as-given"',
    ),
)
"""The heuristics for every set; each frequent author adds one."""


def read_heuristics(cases: Sequence[Case]) -> list[HeuristicAgreement]:
    """
    Return how often each heuristic agrees with the gold of the cases, for each heuristic that applies to a case.

    The gold is `better` or `scores`, and for a rubric the points of the criteria that are met; cases without any, and
    answers that are equally good, are left out. Of classes it is known how often the commonest is right, and no more.
    """
    golds = {case.id: gold for case in cases if (gold := _gold(case))}
    known = [case for case in cases if case.id in golds]
    readings = []
    for rule in (*HEURISTICS, *_authors(known)):
        together = [share for case in known if (share := _agreement(case, golds[case.id], rule.measure)) is not None]
        if together:
            readings.append(_reading(rule, together, len(together)))
        alone = _alone(known, golds, rule.measure)
        if alone:
            readings.append(_reading(rule, *alone))
    return [*readings, *_constants(known, golds), *_constant_class(cases)]


def warnings(readings: Iterable[HeuristicAgreement]) -> list[str]:
    """Return the warnings about the readings, the heuristics that nearly equal the gold first."""
    ranked = sorted((r for r in readings if r.warning), key=lambda r: (r.level != "gold", -r.agreement))
    return [reading.warning or "" for reading in ranked]


def _gold(case: Case) -> Mapping[str, float]:
    """Return how good each answer is by the gold, as a number; nothing where it is not known."""
    ids = [answer.id for answer in case.answers]
    if all(name in case.scores for name in ids):
        return {name: case.scores[name] for name in ids}
    if case.better is not None:
        return {} if case.better == TIE else {name: float(name == case.better) for name in ids}
    if case.criteria and all(criterion.id in case.met.get(name, {}) for name in ids for criterion in case.criteria):
        whole = sum(abs(criterion.points) for criterion in case.criteria) or 1.0
        return {name: sum(c.points * case.met[name][c.id] for c in case.criteria) / whole for name in ids}
    return {}


def _decided(gold: float, measured: float) -> float:
    """Return 1 where the heuristic agrees with the gold, 0 where it does not, one half for a draw."""
    return 0.5 if measured == 0 else float((gold > 0) == (measured > 0))


def _agreement(case: Case, gold: Mapping[str, float], measure: Measure) -> float | None:
    """Return the share of a case's comparisons that a heuristic decides as the gold does; None if there are none."""
    if len(case.answers) < 2:
        return None
    rows = [(gold[a.id], value) for a in case.answers if (value := measure(case, a)) is not None]
    shares = [
        _decided(one[0] - other[0], one[1] - other[1]) for one, other in combinations(rows, 2) if one[0] != other[0]
    ]
    return sum(shares) / len(shares) if shares else None


def _alone(
    cases: Sequence[Case], golds: Mapping[str, Mapping[str, float]], measure: Measure
) -> tuple[list[float], int] | None:
    """Return the comparisons of the cases with a single answer, and how many cases there are; None without any."""
    single = sorted((case for case in cases if len(case.answers) == 1), key=lambda case: digest("rulers", case.id))
    rows = []
    for case in single[:MOST_ALONE]:
        answer = case.answers[0]
        if (value := measure(case, answer)) is not None:
            rows.append((golds[case.id][answer.id], value))
    shares = [
        _decided(one[0] - other[0], one[1] - other[1]) for one, other in combinations(rows, 2) if one[0] != other[0]
    ]
    return (shares, len(rows)) if shares else None


def _reading(heuristic: Heuristic, shares: Sequence[float], n: int) -> HeuristicAgreement:
    share = sum(shares) / len(shares)
    name = heuristic.most if share >= 0.5 else heuristic.least
    share = max(share, 1 - share)
    units = n if len(shares) == n else max(1, n // 2)
    low, high = clopper_pearson(share * units, units, LEVEL, sides=2)
    return HeuristicAgreement(name, share, low, high, n, _level(share, low), heuristic.fix)


def _level(share: float, low: float) -> Level:
    if share >= NEAR and low > 0.5:
        return "gold"
    return "leans" if low > LEANING else "free"


def _authors(cases: Sequence[Case]) -> list[Heuristic]:
    count: Counter[str] = Counter()
    first: dict[str, str] = {}
    for case in cases:
        named = {spelling(answer.author): answer.author for answer in case.answers if answer.author is not None}
        if len(named) + any(answer.author is None for answer in case.answers) > 1:
            count.update(first.setdefault(one, author) for one, author in named.items())
    return [_author(name) for name in sorted(count, key=lambda name: (-count[name], name))[:MOST_AUTHORS]]


def _author(name: str) -> Heuristic:
    def measure(case: Case, answer: Answer) -> float | None:
        theirs = {spelling(one.author or "") == spelling(name) for one in case.answers}
        return float(spelling(answer.author or "") == spelling(name)) if len(theirs) > 1 else None

    fix = "add cases where the answers of others are better: the author of an answer must not show how good it is"
    return Heuristic(f"the answer by {name}", f"the answer by another than {name}", measure, fix)


def _constants(cases: Sequence[Case], golds: Mapping[str, Mapping[str, float]]) -> list[HeuristicAgreement]:
    """Return how often a constant reply is right: the commonest score, all criteria met, or none."""
    readings = []
    single = [case for case in cases if len(case.answers) == 1]
    scored = [case.scores[case.answers[0].id] for case in single if case.answers[0].id in case.scores]
    if scored:
        value, most = max(Counter(scored).items(), key=lambda item: (item[1], item[0]))
        fix = "add cases of other grades: a judge that always says the same looks right"
        readings.append(_constant(f"always {value:g}", most, len(scored), len(scored), fix))
    judged = [case for case in single if case.criteria and not case.scores]
    truths = [case.met[case.answers[0].id][criterion.id] for case in judged for criterion in case.criteria]
    if truths:
        met = sum(truths)
        name = "every criterion met" if 2 * met >= len(truths) else "no criterion met"
        fix = "add answers that do otherwise: a judge that always says the same looks right"
        readings.append(_constant(name, max(met, len(truths) - met), len(truths), len(judged), fix))
    return readings


def _constant_class(cases: Sequence[Case]) -> list[HeuristicAgreement]:
    classed = [case.label for case in cases if case.label is not None]
    if not classed:
        return []
    name, most = max(Counter(classed).items(), key=lambda item: (item[1], item[0]))
    fix = "add cases of other classes: a judge that always says the same looks right"
    return [_constant(f"always {name}", most, len(classed), len(classed), fix)]


def _constant(name: str, right: int, count: int, n: int, fix: str) -> HeuristicAgreement:
    """Return the reading of a constant reply; one that is right by chance in half the cases is no finding."""
    share = right / count
    low, high = clopper_pearson(share * n, n, LEVEL, sides=2)
    return HeuristicAgreement(name, share, low, high, n, _level(share, low), fix)
