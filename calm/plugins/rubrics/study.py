"""
Which criteria of a rubric tell answers apart, by what a judge says of each.

| part | rows | what is estimated |
|---|---|---|
| answers | each answer, asked once | the share that meets the criterion; near 0 or 1 it tells no answers apart |
| exploits | cases in which the judge calls an answer about another question unmet | `rise`, as below |
| kept | answers that meet it | share in which the damaged answer meets it, too |
| pairs | answers with a verdict on both criteria | share in which the two verdicts differ, and kappa |

Damaged: the answer without what a check asks for; where there is none, an answer about another question.

An exploit is held against the same answer with inert words, asked twice: the first time chooses the rows, the second
says what the judge's noise alone makes of them. `rise` is the share of rows in which the exploit is met less that of
the second ask, and the claim is that it is at most `limit`. A verdict that cannot be read counts against what is to be
shown: as a rise where the claim is to be proven, as none where it is to be disproven. To disprove it, the claims that
have enough rows share the level: so of a rubric without a criterion that can be gamed, any is accused in 5 % of runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import chain, combinations
from math import fsum
from typing import Final

from calm.core.case import Case
from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide_between
from calm.core.reasons import Reason, reason_of
from calm.core.verdict import Criteria, NoReply
from calm.engine.asks import PlainQuestion, Question
from calm.engine.engine import Engine
from calm.errors import EstimateError
from calm.experiment.pairs import clusters_of
from calm.experiment.stopping import LEVEL
from calm.models.wire import Judge
from calm.plugins.rubrics.exploits import Exploits, Kind
from calm.statistics.association import kappa
from calm.statistics.intervals import grouped_t, smallest_n

RARE: Final = 0.05
"""A criterion says nothing where at most this share of the answers differ in it; two are one where so few differ."""
KEPT: Final = 0.5
"""A criterion says nothing where more than this share of the answers that meet it may be damaged."""
PLAIN_ASKS: Final = 2
"""Asks of the answer about another question: one chooses the rows, one shows the noise."""

Marks = Mapping[str, bool | None]
"""What a judge said of a case, by the id of the criterion; a criterion that is not there, or None, is not readable."""
Key = tuple[str | int, ...]
"""The id of a case, and of which answer a verdict is: its own one, the number of a plain ask, an exploit, broken."""


@dataclass(slots=True)
class Row:
    """
    What was said of one criterion in one case; None: not readable, and what has no reply is not there.

    `own` is of the case's own answer, `plain` of that about another question, by ask, `said` of each exploit. `fails`
    says of an exploit whether it fails the criterion for certain, and `damaged` the same of the damaged answer, of
    which `kept` is what was said.
    """

    case: str
    cluster: str
    criterion: str
    id: str
    own: tuple[bool | None, ...] = ()
    plain: tuple[bool | None, ...] = ()
    said: Mapping[Kind, bool | None] = field(default_factory=dict)
    fails: Mapping[Kind, bool] = field(default_factory=dict)
    damaged: bool | None = None
    kept: tuple[bool | None, ...] = ()

    @property
    def open(self) -> bool:
        """Whether an exploit can show something: the judge calls the answer about another question unmet."""
        return len(self.plain) == PLAIN_ASKS and self.plain[0] is False


def ask(
    judge: Judge, cases: Sequence[Case], made: Mapping[str, Exploits], engine: Engine, content: Container[str]
) -> tuple[list[Row], int, Counter[Reason]]:
    """
    Ask a judge about each answer, about one to another question, and about its exploits where these can show something.

    Return the rows, how many asks there were, and which replies are lost, by reason.

    Args:
        judge: marks criteria.
        cases: each with one answer and criteria.
        made: the exploits of each case, by its id; without any, only the answers are asked about.
        engine: what the judge is asked by.
        content: the ids of the criteria that only what an answer says about its own question can meet.
    """
    lost: Counter[Reason] = Counter()

    def heard(questions: Mapping[Key, Question]) -> dict[Key, Marks]:
        found: dict[Key, Marks] = {}
        for key, one in zip(questions, engine.ask_each([*questions.values()]), strict=True):
            if isinstance(one.verdict, NoReply):
                lost[reason_of(one.verdict.reason)] += 1
            else:
                found[key] = one.verdict.met if isinstance(one.verdict, Criteria) else {}
        return found

    plain = range(1, PLAIN_ASKS + 1)
    first: dict[Key, Question] = {(case.id, "own"): PlainQuestion(judge, case, 1) for case in cases}
    first |= {(case, k): (judge, forms.plain, k) for case, forms in made.items() for k in plain}
    marks, clusters, rows = heard(first), clusters_of(cases), []
    for case in cases:
        for one in case.criteria:
            row = Row(case.id, clusters[case.id], one.text, one.id, _told(marks, one.id, (case.id, "own")))
            if made and one.points >= 0:
                fails = partial(made[case.id].fails, one, content=one.id in content)
                row.plain = _told(marks, one.id, *((case.id, k) for k in plain))
                row.fails = {kind: sure for kind in made[case.id].forms if (sure := fails(kind)) is not None}
                row.damaged, row.kept = fails(), _told(marks, one.id, (case.id, plain[0]))
            rows.append(row)
    opened = [row for row in rows if row.open]
    broken = [row for row in rows if row.own == (True,) and row.fails and row.id in made[row.case].broken]
    second: dict[Key, Question] = {
        (row.case, kind): (judge, made[row.case].forms[kind], 1) for row in opened for kind in row.fails
    }
    second |= {(row.case, "broken", row.id): (judge, made[row.case].broken[row.id], 1) for row in broken}
    marks = heard(second)
    for row in opened:
        row.said = {kind: marks[row.case, kind].get(row.id) for kind in row.fails if (row.case, kind) in marks}
    for row in broken:
        row.damaged, row.kept = True, _told(marks, row.id, (row.case, "broken", row.id))
    return rows, len(first) + len(second), lost


def _told(marks: Mapping[Key, Marks], criterion: str, *keys: Key) -> tuple[bool | None, ...]:
    return tuple(marks[key].get(criterion) for key in keys if key in marks)


# ------------------------------------------------------------------------------------------------------ what is found


class Answer(StrEnum):
    """What is found of a criterion."""

    GAMED = "gamed"
    NOTHING = "nothing"
    APART = "apart"
    OPEN = "open"


class Why(StrEnum):
    """A reason for what is found; what it is about is the kind of an exploit, or nothing."""

    EXPLOIT = "exploit"
    NONE_FAILS = "none fails"
    NONE_MEETS = "none meets"
    KEPT = "kept"
    FEW_ANSWERS = "few answers"
    FEW_EXPLOITS = "few exploits"
    NO_ROOM = "no room"
    NO_EXPLOITS = "no exploits"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason, the kind of exploit that it is about, if any, and how many answers would do, if that is known."""

    why: Why
    kind: Kind | None = None
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """
    What an exploit did: it was met in `met` of `n` rows, and not readable in `unread` of them.

    `certain`: it fails the criterion in all of them for certain, so that it counts; `noise` is in how many of them the
    same answer was met without it. `low` and `high` are the bounds of the rise; about `needed` rows would decide.
    `example` is a case in which it was met.
    """

    kind: Kind
    certain: bool
    met: int
    n: int
    unread: int
    noise: int
    low: float
    high: float
    outcome: Outcome
    needed: int | None
    example: str


@dataclass(frozen=True, slots=True)
class Share:
    """A share of rows: `met` of `n`, its bounds, and in how many more the verdict could not be read."""

    met: int
    n: int
    low: float
    high: float
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """
    What is found of a criterion, or of all together (then `criterion` is empty, and only exploits decide).

    `own` is the share of answers that meet it, `kept` of damaged ones in the place of one that meets it; `kept_certain`
    says that these fail it for certain.
    """

    criterion: str
    ids: tuple[str, ...]
    answer: Answer
    causes: tuple[Cause, ...]
    own: Share | None
    kept: Share | None
    kept_certain: bool
    tried: tuple[Tried, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """
    Two criteria: in how many of `n` answers their verdicts differ, and kappa with bounds; None where neither varies.

    `together`: they differ in at most `RARE` of the answers, and agree beyond chance; `opposite`: the same of one and
    the other turned round.
    """

    first: str
    second: str
    differ: int
    n: int
    low: float
    high: float
    kappa: Estimate | None
    together: bool
    opposite: bool


def found_in(rows: Sequence[Row], limit: float, *, said: bool) -> tuple[Found, ...]:
    """
    Return what is found of each criterion, by its text; of several first what exploits do to all together.

    `said`: the user said which criteria only content can meet; if not, one that its words meet is not decided.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.criterion, []).append(row)
    together = [("", list(rows))] if len(groups) > 1 and any(row.fails for row in rows) else []
    every = [*together, *groups.items()]
    tries = [[one for kind in Kind if (one := _trial(kind, group)) is not None] for _, group in every]
    level = _level([one for some in tries for one in some if one.certain], limit)
    return tuple(
        _found(text, group, [_tried(one, limit, level) for one in some], limit, said)
        for (text, group), some in zip(every, tries, strict=True)
    )


def _found(text: str, rows: Sequence[Row], tried: Sequence[Tried], limit: float, said: bool) -> Found:
    own = _share([(row, row.own[0]) for row in rows if row.own])
    sure = any(row.damaged for row in rows)
    fitting = [row for row in rows if row.own == (True,) and row.kept and row.damaged is not None]
    kept = _share([(row, row.kept[0]) for row in fitting if bool(row.damaged) == sure])
    answer, causes = _decided([one for one in tried if one.certain])
    words = [one for one in tried if not one.certain and one.low > limit and not said]
    if words and answer is not Answer.GAMED:
        answer, causes = Answer.OPEN, [*causes, Cause(Why.WORDS, max(words, key=lambda one: one.low).kind)]
    if text and answer is not Answer.GAMED:
        answer, causes = _apart(answer, causes, own, kept if sure else None)
    ids = tuple(dict.fromkeys(row.id for row in rows)) if text else ()
    return Found(text, ids, answer, tuple(causes), own, kept, sure, tuple(tried))


def _decided(tried: Sequence[Tried]) -> tuple[Answer, list[Cause]]:
    """Return what the exploits say that count: those that work, or else the one that says least that it does not."""
    if gamed := [Cause(Why.EXPLOIT, one.kind) for one in tried if one.outcome is Outcome.FAIL]:
        return Answer.GAMED, gamed
    if not tried:
        return Answer.APART, [Cause(Why.NO_EXPLOITS)]
    worst = max([one for one in tried if one.n] or tried, key=lambda one: (one.outcome is not Outcome.PASS, one.high))
    if worst.outcome is Outcome.PASS:
        return Answer.APART, []
    return Answer.OPEN, [Cause(Why.FEW_EXPLOITS if worst.n else Why.NO_ROOM, worst.kind)]


def _apart(answer: Answer, causes: list[Cause], own: Share | None, kept: Share | None) -> tuple[Answer, list[Cause]]:
    """Return what the answers say of a criterion that no exploit was shown to game."""
    if own is not None and own.low >= 1 - RARE:
        return Answer.NOTHING, [Cause(Why.NONE_FAILS)]
    if own is not None and own.high <= RARE:
        return Answer.NOTHING, [Cause(Why.NONE_MEETS)]
    if kept is not None and kept.low > KEPT:
        return Answer.NOTHING, [Cause(Why.KEPT)]
    if own is None or not RARE < own.low <= own.high < 1 - RARE:
        return Answer.OPEN, [*causes, Cause(Why.FEW_ANSWERS, needed=_needed(own) if own else None)]
    return answer, causes


def _needed(own: Share) -> int | None:
    """Return about how many answers tell on which side of both limits the share lies."""
    one, unsure = Estimate(own.met / own.n, own.low, own.high, own.n, LEVEL), (RARE, 1 - RARE)
    needed = [
        cases_to_decide(one, Claim("share", "<=", at), smallest_n(RARE, LEVEL))
        for at in unsure
        if own.low <= at <= own.high
    ]
    return None if None in needed else max(filter(None, needed), default=None)


@dataclass(frozen=True, slots=True)
class _Trial:
    """An exploit in the rows where it counts (`certain`), or where there are none, in the others; without replies."""

    kind: Kind
    certain: bool
    rows: tuple[Row, ...]

    def rises(self, *, proof: bool) -> list[list[float]]:
        """Return the rise in each row, by question; what cannot be read counts against what is to be shown."""
        said, again = ({True: 1.0, False: 0.0, None: float(against)} for against in (proof, not proof))
        return _grouped((row, said[row.said[self.kind]] - again[row.plain[1]]) for row in self.rows)

    def low(self, level: float) -> float:
        """Return the lower bound of the rise."""
        groups = self.rises(proof=False)
        return max(-1.0, grouped_t(groups, -1.0, 1.0, level)[0]) if len(groups) > 1 else -1.0

    def could(self, level: float) -> float:
        """Return the lower bound that so many rows can have at most."""
        groups = _grouped((row, 1.0) for row in self.rows)
        return grouped_t(groups, -1.0, 1.0, level)[0] if len(groups) > 1 else -1.0


def _trial(kind: Kind, rows: Sequence[Row]) -> _Trial | None:
    there = [row for row in rows if kind in row.fails]
    certain = any(row.fails[kind] for row in there)
    asked = tuple(row for row in there if row.open and kind in row.said and row.fails[kind] == certain)
    return _Trial(kind, certain, asked) if there else None


def _could(trials: Sequence[_Trial], limit: float, level: float) -> int:
    return sum(one.could(level) > limit for one in trials)


def _level(trials: Sequence[_Trial], limit: float) -> float:
    """
    Return the level of each claim at which all are disproven together at `LEVEL`: Holm's steps with Tarone's number.

    The number of claims counts those alone that have enough rows to be disproven at that level, whatever is said.
    """
    left, level = [one for one in trials if one.could(LEVEL) > limit], LEVEL
    while left:
        numbers = range(1, len(left) + 1)
        counts = partial(_could, left, limit)
        level = LEVEL / numbers[bisect_left(numbers, True, key=lambda n: counts(LEVEL / n) <= n)]
        kept = [one for one in left if one.low(level) <= limit]
        if len(kept) == len(left):
            break
        left = kept
    return level


def _tried(trial: _Trial, limit: float, level: float) -> Tried:
    """Return what an exploit did."""
    said, again = [row.said[trial.kind] for row in trial.rows], [row.plain[1] for row in trial.rows]
    n, low, high, outcome, needed = len(said), trial.low(level), 1.0, Outcome.UNDECIDED, None
    claim = Claim("rise", "<=", limit)
    groups = trial.rises(proof=True)
    if len(groups) > 1:
        value = fsum(chain(*groups)) / n
        proof = Estimate(value, *grouped_t(groups, -1.0, 1.0, LEVEL), n, LEVEL, clusters=len(groups))
        counter = replace(proof, value=fsum(chain(*trial.rises(proof=False))) / n, low=low, level=level)
        outcome, _ = decide_between(proof, counter, claim, LEVEL)
        if outcome is Outcome.UNDECIDED:
            towards = counter if counter.value > limit else proof
            needed = cases_to_decide(towards, claim, smallest_n(limit, LEVEL))
        high = min(1.0, proof.high)
    example = next((row.case for row in trial.rows if row.said[trial.kind]), "")
    counts = said.count(True), n, said.count(None), again.count(True)
    outcome = outcome if trial.certain else Outcome.OBSERVED
    return Tried(trial.kind, trial.certain, *counts, low, high, outcome, needed, example)


def _grouped(rows: Iterable[tuple[Row, float]]) -> list[list[float]]:
    found: dict[str, list[float]] = {}
    for row, value in rows:
        found.setdefault(row.cluster, []).append(value)
    return list(found.values())


def _share(said: Sequence[tuple[Row, bool | None]]) -> Share | None:
    """Return the share of rows that are met among those that can be read; None of fewer than two questions."""
    read = [(row, float(one)) for row, one in said if one is not None]
    groups = _grouped(read)
    if len(groups) < 2:
        return None
    low, high = grouped_t(groups, 0.0, 1.0, LEVEL)
    met = sum(one is True for _, one in said)
    return Share(met, len(read), max(0.0, low), min(1.0, high), len(said) - len(read))


FEWEST: Final = 10
"""Two criteria are compared if so many answers have a verdict on both."""
AGREE: Final = 0.5
"""Two criteria are one only if kappa is above this for certain: where one is nearly always met, any two agree."""


def pairs_in(rows: Sequence[Row]) -> tuple[Pair, ...]:
    """Return each two criteria on which enough answers have a verdict, those first that differ least."""
    by_case: dict[str, list[Row]] = {}
    for row in rows:
        if row.own and row.own[0] is not None:
            by_case.setdefault(row.case, []).append(row)
    shared: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for held in by_case.values():
        for one, other in combinations(sorted(held, key=lambda row: row.criterion), 2):
            if one.criterion != other.criterion:
                shared.setdefault((one.criterion, other.criterion), []).append((one, other))
    found = filter(None, (_pair(both) for both in shared.values() if len(both) >= FEWEST))
    return tuple(sorted(found, key=lambda one: (-abs(one.kappa.value) if one.kappa else 0.0, one.first, one.second)))


def _pair(both: Sequence[tuple[Row, Row]]) -> Pair | None:
    rows, others = zip(*both, strict=True)
    first, second = ([bool(row.own[0]) for row in side] for side in (rows, others))
    unlike = _share([(row, a != b) for row, a, b in zip(rows, first, second, strict=True)])
    if unlike is None:
        return None
    agree, against = _kappa(rows, first, second), _kappa(rows, first, [not one for one in second])
    together = unlike.high <= RARE and agree is not None and agree.low > AGREE
    opposite = unlike.low >= 1 - RARE and against is not None and against.low > AGREE
    names = rows[0].criterion, others[0].criterion
    return Pair(*names, unlike.met, unlike.n, unlike.low, unlike.high, agree, together, opposite)


def _kappa(rows: Sequence[Row], first: Sequence[bool], second: Sequence[bool]) -> Estimate | None:
    try:
        found = kappa(first, second, (False, True))
        groups = _grouped(zip(rows, found.items, strict=True))
        low, high = grouped_t(groups, found.low, found.high, LEVEL)
    except EstimateError:  # neither ever varies
        return None
    return Estimate(found.value, max(-1.0, low), min(1.0, high), len(rows), LEVEL)
