"""
Coherence: whether a judge's verdicts on pairs of answers fit together, and fit the scores of another judge.

| check | what it is | a round of asks says |
|---|---|---|
| `intransitive` | A is preferred to B, B to C, and C to A | +1 for one direction of the cycle, -1 for the other |
| `no_gap` | the preferred answer has no higher score | +1 if that is the one answer, -1 if the other |
| `reversed` | the preferred answer has a lower score | the same |

A round has one ask of each question. `share` is the share of rounds that say +1 or -1: noise alone makes some. `net`
is the mean product of what two different rounds say: an unbiased estimate of the square of (P(+1) - P(-1)). A cycle
that repeats counts 1, and one that turns the other way -1. The cycles of a coin are thus 0 net, and those of a judge
with a firm order and noise v at most v squared; the same holds for its share of preferences for the lower of two firm
scores. Both are means of one value for each case, with padded-t bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import fsum
from typing import Final

from calm.core.case import TIE, Case, digest
from calm.core.claims import Estimate
from calm.core.reasons import Kind, Reason, because, counted, in_words, reason_of
from calm.core.trials import Trial, favour
from calm.core.verdict import FAMILY, NoReply, Preferred, Ranking, Verdict, readable
from calm.engine.asks import PlainQuestion
from calm.engine.engine import Engine
from calm.errors import ConfigError
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json, Judge
from calm.results.reports.pages import Page
from calm.results.study_provenance import numbers, too_little
from calm.statistics.intervals import padded_t

EVEN: Final = 1e-9
"""Scores that differ by less are equal."""
TOGETHER: Final = ("pairwise", "listwise")


@dataclass(frozen=True, slots=True)
class Omission:
    """Why a case has no rounds; `lost` if replies are missing."""

    reason: Reason
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """
    One check: what each round said of each case, +1, -1 or 0, and the two estimates (None: fewer than two cases).

    `excluded` counts cases that were not asked about or have no readable verdict, `lost` those without a reply.
    `unread` holds, by judge, how many of its verdicts could not be read, and how many it gave.
    """

    name: str
    signs: Mapping[str, tuple[int, ...]]
    share: Estimate | None
    net: Estimate | None
    excluded: Mapping[Reason, int] = field(default_factory=dict)
    lost: Mapping[Reason, int] = field(default_factory=dict)
    unread: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def incomplete(self) -> Reason:
        """Why the data are incomplete, or `NONE`."""
        return too_little(self.lost, sum(self.lost.values()) + len(self.signs))


def check_order(judge: Judge, cases: Sequence[Case], engine: Engine, *, rounds: int = 2, seed: int = 0) -> Check:
    """
    Ask a judge about the three pairs of three answers of each case, and return how often they form a cycle.

    A judge of rankings is asked about lists of two. If a case has more than three answers, three are drawn.

    Raises:
        ConfigError: a judge of single answers.
    """
    _refuse(judge, TOGETHER)
    chosen = [(case, _drawn(case, 3, seed)) for case in sorted(cases, key=lambda case: digest("sample", seed, case.id))]
    fit = [(case, ids) for case, ids in chosen if len(ids) == 3]
    excluded = Counter({because(Kind.FEW_ANSWERS, 3): len(chosen) - len(fit)})
    # A to B, B to C, C to A: the sign is the direction of the cycle
    plan = {case.id: [(_part(judge, case, pair), pair) for pair in pairwise((*ids, ids[0]))] for case, ids in fit}
    said = _ask(engine, [(judge, part) for parts in plan.values() for part, _ in parts], rounds)
    signs: dict[str, tuple[int, ...] | Omission] = {}
    for case, _ in fit:
        edges = [(said[judge.name, part.id], pair) for part, pair in plan[case.id]]
        prefer = [[_prefers(v, *pair) for v in verdicts] for verdicts, pair in edges]
        signs[case.id] = _signs(prefer, edges, lambda one: int(one[0]) if len(set(one)) == 1 else 0)
    return replace(_check("intransitive", signs, excluded), unread=_unread(said))


def check_scores(
    judge: Judge, scorer: Judge, cases: Sequence[Case], engine: Engine, *, rounds: int = 2, seed: int = 0
) -> tuple[Check, Check]:
    """
    Ask a judge of pairs and one of single answers about the same two answers of each case.

    Returns:
        How often the preferred answer has no higher score, and how often it has a lower one. If a case has more than
        two answers, two are drawn. If the judge calls both equal, there is no winner.

    Raises:
        ConfigError: the first judge judges single answers, or the second does not.
    """
    _refuse(judge, TOGETHER)
    _refuse(scorer, ("score", "rubric"))
    chosen = [(case, _drawn(case, 2, seed)) for case in sorted(cases, key=lambda case: digest("sample", seed, case.id))]
    fit = [(case, ids) for case, ids in chosen if len(ids) == 2]
    excluded = Counter({because(Kind.FEW_ANSWERS, 2): len(chosen) - len(fit)})
    questions: list[tuple[Judge, Case]] = []
    for case, ids in fit:
        questions.append((judge, _part(judge, case, ids)))
        questions += [(scorer, _part(scorer, case, (one,))) for one in ids]
    said = _ask(engine, questions, rounds)
    found: dict[str, dict[str, tuple[int, ...] | Omission]] = {"no_gap": {}, "reversed": {}}
    for case, ids in fit:
        pair = said[judge.name, _part(judge, case, ids).id]
        alone = [said[scorer.name, _part(scorer, case, (one,)).id] for one in ids]
        row = Trial(case.id, points={c.id: c.points for c in case.criteria})
        scores = [[favour(v, None, row, scorer.scale) for v in verdicts] for verdicts in alone]
        preferred = [_prefers(v, *ids) for v in pair]
        edges = [(verdicts, ids) for verdicts in (pair, *alone)]
        for name, most in (("no_gap", EVEN), ("reversed", -EVEN)):

            def rule(said: Sequence[float], most: float = most) -> int:
                return int(said[0]) if said[0] * (said[1] - said[2]) <= most else 0

            found[name][case.id] = _signs([preferred, *scores], edges, rule)
    first, second = (replace(_check(name, one, excluded), unread=_unread(said)) for name, one in found.items())
    return first, second


def _unread(said: Mapping[tuple[str, str], Sequence[Verdict]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for (judge, _), verdicts in said.items():
        given = [v for v in verdicts if not isinstance(v, NoReply)]
        unread, asked = found.get(judge, (0, 0))
        found[judge] = unread + sum(not readable(v) for v in given), asked + len(given)
    return found


# ----------------------------------------------------------------------------------------------------------- the rules


def _prefers(verdict: Verdict, one: str, other: str) -> float | None:
    match verdict:
        case Preferred(answer=answer):
            return 1.0 if answer == one else -1.0
        case Ranking(order=order):
            place = {answer: number for number, group in enumerate(order) for answer in group}
            return float((place[one] < place[other]) - (place[one] > place[other]))
        case _:
            return 0.0 if readable(verdict) else None


def _signs(
    values: Sequence[Sequence[float | None]],
    edges: Sequence[tuple[Sequence[Verdict], object]],
    rule: Callable[[Sequence[float]], int],
) -> tuple[int, ...] | Omission:
    missing = [reason_of(v.reason) for verdicts, _ in edges for v in verdicts if isinstance(v, NoReply)]
    if missing:
        capped = [reason for reason in missing if reason.unfinished]
        return Omission((capped or missing)[0], lost=True)
    rounds = [one for one in zip(*values, strict=True) if None not in one]
    if len(rounds) < 2:
        return Omission(because(Kind.FEW_ROUNDS))
    return tuple(rule([v for v in one if v is not None]) for one in rounds)


def _check(name: str, signs: Mapping[str, tuple[int, ...] | Omission], excluded: Counter[Reason]) -> Check:
    kept = {case: said for case, said in signs.items() if not isinstance(said, Omission)}
    left = [said for said in signs.values() if isinstance(said, Omission)]
    lost = Counter(one.reason for one in left if one.lost)
    without = excluded + Counter(one.reason for one in left if not one.lost)
    share = [fsum(map(abs, said)) / len(said) for said in kept.values()]
    net = [again(said) for said in kept.values()]
    left_out = dict(without + lost)
    return Check(name, kept, _estimate(share, 0, left_out), _estimate(net, -1, left_out), without, lost)


def again(signs: Sequence[int]) -> float:
    """
    Return the mean product of two different rounds.

    >>> again((1, 1)), again((1, 0)), again((1, -1, 0))
    (1.0, 0.0, -0.3333333333333333)
    """
    pairs = list(combinations(signs, 2))
    return fsum(one * other for one, other in pairs) / len(pairs)


def _estimate(values: Sequence[float], low: float, excluded: Mapping[Reason, int]) -> Estimate | None:
    if len(values) < 2:
        return None
    bounds = padded_t(values, low, 1, LEVEL)
    return Estimate(fsum(values) / len(values), *bounds, len(values), LEVEL, excluded)


# -------------------------------------------------------------------------------------------------------------- asking


def _refuse(judge: Judge, families: Sequence[str]) -> None:
    if FAMILY[judge.task] not in families:
        wanted = " or ".join(families)
        raise ConfigError(f"{judge.name}: expected a judge of task {wanted}, got task={judge.task!r}")


def _drawn(case: Case, count: int, seed: int) -> tuple[str, ...]:
    ids = sorted((a.id for a in case.answers), key=lambda i: digest("cross-check", seed, case.id, i))
    return tuple(ids[:count])


def _part(judge: Judge, case: Case, ids: Sequence[str]) -> Case:
    answers = tuple(a for a in case.answers if a.id in ids)
    scores = {i: score for i, score in case.scores.items() if i in ids}
    better = case.better if case.better in (*ids, TIE) else None
    if len(ids) > 1 and len(scores) == len(ids):
        best = [i for i in ids if scores[i] == max(scores.values())]
        better = best[0] if len(best) == 1 else TIE
    part = replace(
        case,
        id=f"{case.id}/{'+'.join(sorted(ids))}",
        answers=answers,
        better=better if len(ids) > 1 else None,
        scores=scores,
        met={i: met for i, met in case.met.items() if i in ids},
        variants={},
        annotations={},
    ).present(order=(), bylines={}, labels=())
    if len(ids) == 1 or judge.traits.as_given:
        return part.present(order=tuple(a.id for a in answers))
    return part.balanced(ORDER_SALT)


def _ask(
    engine: Engine, questions: Sequence[tuple[Judge, Case]], rounds: int
) -> dict[tuple[str, str], tuple[Verdict, ...]]:
    wanted = [PlainQuestion(judge, case, k) for judge, case in questions for k in range(1, rounds + 1)]
    answers = iter(engine.ask_each(wanted))
    return {(judge.name, case.id): tuple(next(answers).verdict for _ in range(rounds)) for judge, case in questions}


# ------------------------------------------------------------------------------------------------------------- results


WORDS: Final[Mapping[str, str]] = {
    "intransitive": "A over B, B over C, C over A",
    "no_gap": "preferred without a higher score",
    "reversed": "preferred with a lower score",
}


def to_json(checks: Sequence[Check]) -> list[Json]:
    """Return a record of checks, with what each round said."""
    return [
        {
            "check": one.name,
            "incomplete": str(one.incomplete),
            "share": numbers(one.share),
            "net": numbers(one.net),
            "excluded": {**in_words(one.excluded)},
            "lost": {**in_words(one.lost)},
            "unread": {judge: {"unread": gone, "of": asked} for judge, (gone, asked) in one.unread.items()},
            "rounds": {case: list(signs) for case, signs in sorted(one.signs.items())},
        }
        for one in checks
    ]


def summary(checks: Sequence[Check]) -> str:
    """Return the checks for a terminal, one line for each, followed by the cases that were left out."""
    lines: list[str] = []
    for one in checks:
        lines.append(f"{one.name} ({WORDS[one.name]}): {_shown('share', one.share)}; {_shown('net', one.net)}")
        if one.incomplete:
            lines.append(f"  INCOMPLETE: {one.incomplete}")
        again_and_again = sorted(case for case, signs in one.signs.items() if abs(sum(signs)) == len(signs))
        if again_and_again:
            lines.append(f"  in every round: {len(again_and_again)} ({', '.join(again_and_again[:5])})")
        if one.excluded:
            lines.append(f"  left out: {counted(one.excluded)}")
    unread = {judge: counts for one in checks for judge, counts in one.unread.items()}
    lines += [
        f"{judge}: {gone} of {asked} verdicts could not be read" for judge, (gone, asked) in unread.items() if gone
    ]
    return "\n".join(lines)


def _shown(name: str, one: Estimate | None) -> str:
    if one is None:
        return f"{name} not known: fewer than two cases"
    return f"{name} {one.value:.2f} [{one.low:.2f}, {one.high:.2f}], n={one.n}"


page = Page("calm \N{MIDDLE DOT} whether a judge agrees with itself", hidden=("judges",))
