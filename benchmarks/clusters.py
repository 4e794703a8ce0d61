"""
Cases that are not independent of each other: how well intervals by question hold, and whether topics are found.

    python -m benchmarks.clusters                   # three minutes
    python -m benchmarks.clusters --samples 100     # a quick look

1. Coverage of one-sided bounds of .95, and the width between them, over questions with several rows each. In a share
   of the questions all rows say the same, in the others each speaks for itself; the share is the correlation. The least
   coverage is that of 30 bounds; of 400 samples the least of 30 shares is about .93 where each is truly .95.
2. Power: 42 questions of 4 pairs, with a pull to one slot of -.22, resampled by question.
3. Topics that nobody declared, in whole gates on the bundled pairs: how often they are named, and how often a column
   that says nothing is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import fsum
from random import Random
from typing import Final

from benchmarks.calibration.conditions import gate_of
from benchmarks.calibration.harness import Gate, Prompt
from benchmarks.calibration.laws import Bias, Manner, PairJudge, pairs_of
from calm.core.case import digest
from calm.core.verdict import Scale
from calm.results.notes import found, moves
from calm.statistics.intervals import clustered_t, grouped_t

LEVEL: Final = 0.05
SIZES: Final[Mapping[str, tuple[int, ...]]] = {
    "2": (2,),
    "4": (4,),
    "5": (5,),
    "10": (10,),
    "1, 2, 4 or 10": (1, 2, 4, 10),
}
"""Rows of a question, by the name of a row of the table."""
CORRELATIONS: Final = (0.0, 0.2, 0.5, 1.0)
QUESTIONS: Final = (20, 42, 100)
TOPICS: Final = 20
GATES: Final = 8
COLUMNS: Final = 3
"""Columns that say nothing, tested together."""
Draw = Callable[[Random], float]


@dataclass(frozen=True, slots=True)
class Law:
    """What a row says: its mean, the range of its values, and how one is drawn."""

    mean: float
    low: float
    draw: Draw


def _rate(p: float, low: float = 0.0) -> Law:
    return Law(p, low, lambda rng: float(rng.random() < p))


def _slot(rng: Random) -> float:
    """Return what one pair says in both orders, of a judge with a pull of -.22: the mean of two asks."""
    drawn = rng.random()
    return -1.0 if drawn < 0.02 else -0.5 if drawn < 0.43 else 0.5 if drawn < 0.44 else 0.0


LAWS: Final = (_rate(0.02), _rate(0.05), _rate(0.5), _rate(0.05, -1.0), Law(-0.22, -1.0, _slot))
Interval = tuple[float, float]


def drawn(law: Law, sizes: Sequence[int], correlation: float, rng: Random) -> list[list[float]]:
    """Return the rows of questions of these sizes."""
    return [
        [law.draw(rng)] * size if rng.random() < correlation else [law.draw(rng) for _ in range(size)] for size in sizes
    ]


def alone(groups: Sequence[Sequence[float]], low: float) -> Interval:
    """Return the bounds where nothing is known of how the rows of a question hang together."""
    sums, sizes = [fsum(group) for group in groups], [len(group) for group in groups]
    return clustered_t(sums, sizes, low, 1.0, LEVEL)


def told(groups: Sequence[Sequence[float]], low: float) -> Interval:
    """Return the bounds of the gate."""
    return grouped_t(groups, low, 1.0, LEVEL)


def coverage(samples: int) -> Iterator[str]:
    """Yield the least coverage of a bound over all laws and numbers of questions, and the mean width of intervals."""
    yield "rows of a question | correlation | least coverage | width | width if rows moved together"
    for (label, kinds), correlation in product(SIZES.items(), CORRELATIONS):
        least, wide, wider = 1.0, [], []
        for law, questions in product(LAWS, QUESTIONS):
            rng = Random(digest("coverage", label, correlation, law.mean, law.low, questions))
            held = [0, 0]
            for number in range(samples):
                groups = drawn(law, [rng.choice(kinds) for _ in range(questions)], correlation, rng)
                low, high = told(groups, law.low)
                held[0] += low <= law.mean + 1e-12
                held[1] += high >= law.mean - 1e-12
                wide.append(high - low)
                if number % 10 == 0:
                    low, high = alone(groups, law.low)
                    wider.append(high - low)
            least = min(least, *(count / samples for count in held))
        yield f"{label} | {correlation} | {least:.3f} | {fsum(wide) / len(wide):.3f} | {fsum(wider) / len(wider):.3f}"


def power(samples: int) -> Iterator[str]:
    """Yield how often a limit of .10 is disproven by a pull of -.22, in resamples of one sample by question."""
    yield "correlation | bootstrap interval of 95 % | interval | disproven | disproven if rows moved together"
    for correlation in (0.1, 0.2, 0.4):
        rng = Random(digest("power", correlation))
        tries = (drawn(LAWS[-1], [4] * 42, correlation, rng) for _ in range(200))
        groups = min(tries, key=lambda rows: abs(_mean(rows) + 0.22))
        again = [[rng.choice(groups) for _ in groups] for _ in range(samples)]
        means = sorted(map(_mean, again))
        ends = means[round(0.025 * samples)], means[round(0.975 * samples) - 1]
        shown = told(groups, -1.0)
        shares = [sum(bounds(one, -1.0)[1] < -0.10 for one in again) / samples for bounds in (told, alone)]
        cells = [f"[{low:.3f}, {high:.3f}]" for low, high in (ends, shown)]
        yield " | ".join([str(correlation), *cells, *(f"{share:.3f}" for share in shares)])


def _mean(groups: Sequence[Sequence[float]]) -> float:
    return fsum(map(fsum, groups)) / sum(map(len, groups))


class ByTopic(PairJudge):
    """A judge whom an edit takes in as often as its topic says, in each probe anew."""

    effects: Sequence[float]
    topic: Sequence[int]

    def decided(self, prompt: Prompt) -> bool:
        """Return whether the edit decides the case."""
        chance = Random(digest("decided", self._seed, prompt.probe, prompt.case)).random()
        return chance < self.effects[self.topic[prompt.case]]


def topics(gates: int) -> Iterator[str]:
    """Yield how often topics are named in whole gates, and how often columns are that say nothing."""
    gate = gate_of("pairwise")
    yield f"judge of {len(gate.cases)} pairs about {TOPICS} topics | gates | topics named"
    silent = []
    for label in ("errs by topic", "is moved by topic, in each probe", "sound"):
        named = 0
        for seed in range(gates):
            topic, law = _law(label, gate, seed)
            measured, case_of = moves(gate.run(law, seed).findings, Scale())
            place = {case.id: number for number, case in enumerate(gate.cases)}
            units = {unit: place[case] for unit, case in case_of.items() if case in place}
            labels = {unit: str(topic[number]) for unit, number in units.items()}
            named += bool(found(measured, {"topic": labels}, seed))
            if label == "sound":
                silent += [_silent(measured, list(units), Random(digest("silent", seed, i)), i) for i in range(50)]
        yield f"{label} | {gates} | {named}"
    yield f"columns that say nothing, {COLUMNS} in a run | {len(silent)} drawn | {sum(silent)}"


def _law(label: str, gate: Gate, seed: int) -> tuple[list[int], PairJudge]:
    rng = Random(digest("topics", label, seed))
    topic = [rng.randrange(TOPICS) for _ in gate.cases]
    rates = [rng.betavariate(0.4, 3.6) for _ in range(TOPICS)]
    pairs = pairs_of("noise .05", gate.cases, seed, equals=len(gate.equals))
    if label == "errs by topic":
        pairs = replace(pairs, wrong=tuple(rates[one] for one in topic))
    law = ByTopic(gate.cases, pairs, seed, Manner(Bias()))
    law.topic, law.effects = topic, rates if label.startswith("is moved") else [0.0] * TOPICS
    return topic, law


def _silent(measured: Mapping[str, Mapping[str, float]], units: Sequence[str], rng: Random, seed: int) -> bool:
    """Return whether any of some columns that were drawn is named."""
    columns = {f"column {n}": {unit: str(rng.randrange(10 + 10 * n)) for unit in units} for n in range(COLUMNS)}
    return bool(found(measured, columns, seed))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("--samples", type=int, default=400, help="samples of each law (400)")
    parser.add_argument("--gates", type=int, default=GATES, help=f"whole gates of each judge ({GATES})")
    options = parser.parse_args()
    for table in (coverage(options.samples), power(options.samples), topics(options.gates)):
        for line in table:
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
