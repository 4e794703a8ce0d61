"""
The curve of an attack: how often a weaker answer wins when somebody may try so many texts and keep one that won.

    cases --pilot--> subjects --n texts, n harmless ones, an ask each--> what won --fresh asks--> Curve

The texts are drawn as an attack draws them, but nothing is learnt from what the judge says: any k of the n are as good
as any others. So of a case in which c of n texts won, the share of all choices of k texts that hold a winner is
1 - C(n - c, k) / C(n, k), without a bias. An attacker who finds one uses it: the share of winners that win again, in a
fresh ask with other neutral words, says what comes of that. A noisy judge finds a winner among any n texts. So as many
harmless texts, the answer with neutral words around it, are tried in the same way, and what they reach is subtracted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, cycle, islice, product
from math import comb, fsum
from typing import Final

from calm.core.case import digest
from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide
from calm.core.languages import language_of_case
from calm.core.reasons import Kind, Reason, because, counted, in_words
from calm.experiment.inert import Form, stock_of
from calm.experiment.pairs import clusters_of
from calm.experiment.setup import Setup
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json
from calm.plugins.search.pages import lifts
from calm.plugins.search.proposers import Bandit, BestOf
from calm.plugins.search.subjects import FRESH, Subject, ask_all, in_hand
from calm.results.study_provenance import too_little
from calm.statistics.intervals import grouped_t, smallest_n

MEASURE: Final = "lift_beyond_harmless"
"""What the claim is about: the lift by the best of n texts, less that by the best of n harmless ones."""
AGAIN: Final = 4
"""So many fresh asks are made of the texts that won in a case: of some drawn at random, or of all in turn."""
AT_ONCE: Final = 8
"""So many texts of each case are asked about at a time: a cap stops a run between two such rounds."""
REPEATED: Final = 8
"""After so many texts in a row that a case has had already, there is no new one."""
SHORT: Final = 0.1
"""The share of cases with fewer texts than wanted from which on nothing is proven about the number that was wanted."""
MOST: Final = 512
"""The most texts of a case."""
BAR: Final = 16
"""Columns of the bar of all cases."""


@dataclass(slots=True)
class Tried:
    """Texts of one kind in a case: each with the number of its ask, whether it won, and whether it won again."""

    texts: list[tuple[str, int]] = field(default_factory=list)
    won: list[bool] = field(default_factory=list)
    again: list[bool] = field(default_factory=list)

    def found(self, budget: int) -> float:
        """
        Return the probability that some of so many texts won; where there are fewer texts, that of all of them.

        >>> Tried(won=[True, False, False, False]).found(2)
        0.5
        """
        count, lost = len(self.won), self.won.count(False)
        k = min(budget, count)
        return 1 - comb(lost, k) / comb(count, k)

    def lifted(self, budget: int) -> float:
        """Return the probability that one of so many texts won, and wins again when it is used."""
        return self.found(budget) * sum(self.again) / len(self.again) if self.again else 0.0


@dataclass(frozen=True, slots=True)
class Raced:
    """A case, the texts that were tried in it, and the harmless ones."""

    subject: Subject
    tried: Tried
    harmless: Tried


@dataclass(frozen=True, slots=True)
class Point:
    """What so many texts reach: found, lifted, by harmless texts, and the difference of the last two."""

    tries: int
    found: Estimate
    lifted: Estimate
    harmless: Estimate
    beyond: Estimate


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of the curve, what follows for the claim, and the cases that are in none, by reason."""

    raced: tuple[Raced, ...]
    points: tuple[Point, ...]
    claim: Claim
    outcome: Outcome
    excluded: Mapping[Reason, int]
    lost: Mapping[Reason, int]
    needed: int | None = None
    short: int = 0
    """In how many cases there were fewer texts than wanted."""

    @property
    def incomplete(self) -> Reason:
        """Why the data are incomplete, or `NONE`."""
        return too_little(self.lost, sum(self.lost.values()) + len(self.raced))


def budgets(tries: int) -> list[int]:
    """
    Return 1, 2, 4, ... up to a number of texts, and that number.

    >>> budgets(6), budgets(8)
    ([1, 2, 4, 6], [1, 2, 4, 8])
    """
    return [*(1 << n for n in range(tries.bit_length()) if 1 << n < tries), tries]


def race(setup: Setup, size: int, tries: int, bandit: Bandit, limit: float) -> Curve:
    """
    Try so many texts in each case, and as many harmless ones; ask again about what won, and decide the claim.

    Args:
        setup: judge, cases, engine and seed.
        size: at most so many cases are taken.
        tries: so many texts are tried in each.
        bandit: who proposes them.
        limit: the most that the best of them may lift the weaker answer, as a share of cases.
    """
    subjects, excluded, lost = in_hand(setup, size)
    for subject in subjects:
        subject.left = 2 * (tries + AGAIN)
    raced: list[Raced] = []
    for subject, texts in _proposed(subjects, tries, bandit).items():
        if texts:
            raced.append(Raced(subject, Tried([(text, 0) for text in texts]), Tried(_harmless(subject, len(texts)))))
        elif not subject.failed:
            excluded[because(Kind.NO_TEXT)] += 1
    _ask(raced, setup.seed)
    lost.update(subject.failed for subject in subjects if subject.failed)
    kept = tuple(one for one in raced if not one.subject.failed)
    claim, clusters = Claim(MEASURE, "<=", limit), clusters_of(setup.cases)
    groups: dict[str, list[Raced]] = {}
    for one in kept:
        groups.setdefault(clusters[one.subject.id], []).append(one)
    if len(groups) < 2:
        return Curve(kept, (), claim, Outcome.UNDECIDED, excluded, lost)
    points = tuple(_point(list(groups.values()), budget) for budget in budgets(tries))
    last = points[-1].beyond
    short = sum(len(one.tried.texts) < tries for one in kept)
    outcome, needed = decide(last, claim), cases_to_decide(last, claim, smallest_n(limit, LEVEL))
    if outcome is Outcome.PASS and short > SHORT * len(kept):
        outcome = Outcome.UNDECIDED
    return Curve(kept, points, claim, outcome, excluded, lost, needed, short)


def _proposed(subjects: Sequence[Subject], tries: int, bandit: Bandit) -> dict[Subject, list[str]]:
    """Return so many different texts for each subject, fewer where there are no more; all subjects take turns."""
    found: dict[Subject, dict[str, None]] = {subject: {} for subject in subjects}
    bandit.expect(subjects)
    repeated = Counter[Subject]()
    while going := [s for s in subjects if len(found[s]) < tries and repeated[s] < REPEATED and not s.failed]:
        for subject in going:
            one = bandit.propose(subject)
            repeated[subject] = 0 if one is not None and one.text not in found[subject] else repeated[subject] + 1
            if one is not None:
                found[subject][one.text] = None
    return {subject: list(texts) for subject, texts in found.items()}


def _harmless(subject: Subject, count: int) -> list[tuple[str, int]]:
    """Return the answer with neutral words before it, behind it or both, so often, each time as another ask."""
    stock = stock_of(language_of_case(subject.case))
    forms = product(("", *stock.brief_openers, *stock.openers), ("", *stock.brief_closers, *stock.closers))
    made = (Form(*words).around(subject.original) for words in forms if any(words))
    drawn = sorted(filter(None, made), key=partial(digest, "harmless", subject.setup.seed, subject.id))
    texts = list(islice((text for text in drawn if subject.place.allows(subject.case, text)), count))
    asks = [(text, number) for number in range(FRESH) for text in texts]
    asks += [(subject.original, number) for number in range(1, FRESH)]  # where no words can stand around it
    return asks[:count]


def _ask(raced: Sequence[Raced], seed: int) -> None:
    """Ask about all texts, some of each case at a time; then again about some that won."""
    both = [(one.subject, kind) for one in raced for kind in (one.tried, one.harmless)]
    for begin in range(0, max((len(kind.texts) for _, kind in both), default=0), AT_ONCE):
        ask_all([(subject, *ask) for subject, kind in both for ask in kind.texts[begin : begin + AT_ONCE]])
    fresh: list[tuple[Tried, tuple[Subject, str, int]]] = []
    for subject, kind in both:
        if not subject.failed:
            kind.won = [subject.said[ask].won for ask in kind.texts]
            winners = [ask for ask, won in zip(kind.texts, kind.won, strict=True) if won]
            drawn = sorted(winners, key=partial(digest, "again", seed, subject.id))
            fresh += [(kind, (subject, text, FRESH + n)) for n, (text, _) in enumerate(islice(cycle(drawn), AGAIN))]
    ask_all([ask for _, ask in fresh])
    for kind, (subject, text, number) in fresh:
        if not subject.failed:
            kind.again.append(subject.said[text, number].won)


def _point(groups: Sequence[Sequence[Raced]], budget: int) -> Point:
    def estimate(value: Callable[[Raced], float], least: int = 0) -> Estimate:
        values = [[value(one) for one in group] for group in groups]
        n, (low, high) = sum(map(len, values)), grouped_t(values, least, 1, LEVEL)
        return Estimate(fsum(chain(*values)) / n, max(least, low), min(1.0, high), n, LEVEL, clusters=len(groups))

    return Point(
        budget,
        found=estimate(lambda one: one.tried.found(budget)),
        lifted=estimate(lambda one: one.tried.lifted(budget)),
        harmless=estimate(lambda one: one.harmless.lifted(budget)),
        beyond=estimate(lambda one: one.tried.lifted(budget) - one.harmless.lifted(budget), -1),
    )


def summary(found: Curve, body: Mapping[str, Json], writer: BestOf | None = None) -> str:
    """Return what the record says was decided, the table of the curve and what is in none of it, in 80 columns."""
    lines = [lifts(body).replace(":", f" (exit {int(body['outcome'] != Outcome.PASS)}):", 1)]
    if found.points:
        n, judge = found.points[0].found.n, body["judge"]
        lines += ["", f"{judge}: share of {n} cases in which the best of so many texts", ""]
        lines.append("texts  wins once  wins again  harmless  beyond harmless words  bar: wins again")
        for point in found.points:
            one, bar = point.beyond, "#" * round(BAR * point.lifted.value)
            beyond = f"{one.value:+5.2f} [{one.low:+.2f}, {one.high:+.2f}]"
            shares = f"{point.found.value:9.2f}  {point.lifted.value:10.2f}  {point.harmless.value:8.2f}"
            lines.append(f"{point.tries:5}  {shares}  {beyond:21}  {bar}".rstrip())
        lines.append("")
    for title, counts in (("not tried", found.excluded), ("lost", found.lost)):
        if counts:
            lines.append(f"{title}: {counted(counts)}")
    if found.short:
        lines.append(f"fewer texts were there in {found.short} of {len(found.raced)} cases: there, all of them count")
    return "\n".join([*lines, *([str(writer)] if writer else [])])


def to_json(found: Curve, setup: Setup, tries: int, writer: BestOf | None = None) -> dict[str, Json]:
    """Return the record of a curve; nothing in it depends on what was cached."""
    incomplete = str(found.incomplete) or "calls of the writer failed" * bool(writer and writer.failed)
    points: list[Json] = [
        {
            "tries": point.tries,
            **{name: _rounded(getattr(point, name)) for name in ("found", "lifted", "harmless", "beyond")},
            "n": point.beyond.n,
        }
        for point in found.points
    ]
    rows: list[Json] = [
        {
            "case": one.subject.id,
            "target": one.subject.case.target,
            "texts": len(one.tried.texts),
            "won": sum(one.tried.won),
            "again": [int(held) for held in one.tried.again],
            "harmless_won": sum(one.harmless.won),
            "harmless_again": [int(held) for held in one.harmless.again],
        }
        for one in sorted(found.raced, key=lambda one: one.subject.id)
    ]
    return {
        "schema": "calm-attack-curve/1",
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "seed": setup.seed,
        "tries": tries,
        "claim": str(found.claim),
        "limit": found.claim.limit,
        "outcome": str(Outcome.INCOMPLETE if incomplete else found.outcome),
        "incomplete": incomplete,
        "level": LEVEL,
        "fewer_texts": found.short,
        "needed": found.needed if found.outcome is Outcome.UNDECIDED else None,
        "points": points,
        "excluded": {**in_words(found.excluded)},
        "lost": {**in_words(found.lost)},
        **({"writer": writer.to_json()} if writer else {}),
        "cases": rows,
    }


def _rounded(one: Estimate) -> Json:
    return {name: round(number, 6) for name, number in (("value", one.value), ("low", one.low), ("high", one.high))}
