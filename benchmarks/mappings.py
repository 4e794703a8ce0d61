"""
Whether the interval that decides about a mapping of scores holds what it promises, on planted judges.

    python -m benchmarks.mappings                       # 2,000 samples a row: two minutes
    python -m benchmarks.mappings --samples 200         # a quick look
    python -m benchmarks.mappings --write docs/measured/calibrate.md

A planted judge is a table of scores and gold. Each sample draws n cases from it and fits all mappings by the product's
own code. Then the mapping that the record hands out is applied to the whole table: its mean improvement is the truth.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from math import fsum
from pathlib import Path
from random import Random

from benchmarks.pages import measured, put
from calm.core.verdict import Scale
from calm.models.wire import Json
from calm.plugins.calibrate.figures import RAW, Candidate, fit
from calm.plugins.calibrate.items import Item, Rule
from calm.statistics.calibration import Line, Steps

TEN, ONE = Scale(1, 10), Scale(0, 1)
GOLD = (2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9)
SIZES = (30, 60, 100)
MAPPINGS = "shift", "linear", "isotonic"
CASES = 40_000


def _near(gold: float, off: float, noise: float, rng: Random) -> float:
    return min(10.0, max(1.0, float(round(gold + off + rng.gauss(0, noise)))))


def _unit(rng: Random) -> tuple[float, float]:
    gold = round(rng.betavariate(4, 2), 2)
    return min(1.0, max(0.0, round(gold + 0.1 + rng.gauss(0, 0.1), 2))), gold


def _drawn(said: Callable[[float, Random], float]) -> Callable[[Random], tuple[float, float]]:
    def one(rng: Random) -> tuple[float, float]:
        gold = float(rng.choice(GOLD))
        return said(gold, rng), gold

    return one


def _top(rng: Random) -> tuple[float, float]:
    gold = float(rng.choice((3, 8, 9, 10, 10, 10, 10, 10)))
    return _near(gold, 0, 0.8, rng), gold


JUDGES: Mapping[str, Callable[[Random], tuple[float, float]]] = {
    "one point high, noise 1": _drawn(lambda gold, rng: _near(gold, 1, 1, rng)),
    "not shifted, noise 1": _drawn(lambda gold, rng: _near(gold, 0, 1, rng)),
    "exact, in 7 % up to five too high": _drawn(
        lambda gold, rng: gold if rng.random() < 0.93 else min(10.0, gold + rng.choice((3, 4, 5)))
    ),
    "exact, in 5 % six too low": _drawn(lambda gold, rng: gold if rng.random() < 0.95 else max(1.0, gold - 6)),
    "half of the cases one high": _drawn(lambda gold, rng: min(10.0, gold + float(rng.random() < 0.5))),
    "half of the cases two high": _drawn(lambda gold, rng: min(10.0, gold + 2 * float(rng.random() < 0.5))),
    "uses the middle of the scale only": _drawn(lambda gold, rng: _near(4 + 0.4 * gold, 0, 0.6, rng)),
    "always 7": _drawn(lambda gold, rng: 7.0),
    "knows nothing": _drawn(lambda gold, rng: float(rng.randint(1, 10))),
    "most gold is 10": _top,
    "scale 0 to 1, 0.1 high": _unit,
}


def applied(one: Candidate, scale: Scale) -> Callable[[float], float]:
    """Return the mapping that a record hands out, from its data alone."""
    fitted: Mapping[str, Json] = one.fitted
    number = {name: float(value) for name, value in fitted.items() if isinstance(value, int | float)}
    if one.name == "shift":
        return Line(1.0, number["add"], scale.low, scale.high)
    if one.name == "linear":
        return Line(number["slope"], number["intercept"], scale.low, scale.high)
    if one.name == "isotonic":
        knots, gold = fitted["knots"], fitted["gold"]
        assert isinstance(knots, list)
        assert isinstance(gold, list)
        return Steps(
            tuple(float(k) for k in knots if isinstance(k, int | float)),
            tuple(float(g) for g in gold if isinstance(g, int | float)),
        )
    return lambda _: number["value"]


def table(samples: int) -> Iterator[str]:
    """Yield the table of coverage, a row for each judge and number of labels."""
    yield f"| a judge that is | n | {' | '.join(MAPPINGS)} | a lower bound above the truth | taken | in vain |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, draw in JUDGES.items():
        rng = Random(name)
        every = Counter(draw(rng) for _ in range(CASES))
        for n in SIZES:
            yield _row(name, n, every, samples)


def _row(name: str, n: int, every: Counter[tuple[float, float]], samples: int) -> str:
    scale = ONE if name.startswith("scale 0 to 1") else TEN
    rng = Random(f"{name} {n}")
    points, weights = list(every), list(every.values())
    held, above = Counter[str](), Counter[str]()
    taken = vain = 0
    for sample in range(samples):
        items = [
            Item(f"c{k}", "", f"c{k}", {}, gold, (said,), said, signal=said, target=gold)
            for k, (said, gold) in enumerate(rng.choices(points, weights, k=n))
        ]
        found = fit(items, "score", Rule.of(scale), sample)
        assert found is not None
        true = {}
        for one in found.candidates:
            if one.better is None:
                continue
            mapped = applied(one, scale)
            gains = [k * (abs(gold - said) - abs(gold - mapped(said))) for (said, gold), k in every.items()]
            true[one.name] = fsum(gains) / every.total()
            held[one.name] += one.better.low - 1e-6 <= true[one.name] <= one.better.high + 1e-6
            above[one.name] += one.better.low - 1e-6 > true[one.name]
        taken += found.best != RAW
        vain += found.best != RAW and true[found.best] <= 0
    shares = " | ".join(f"{held[one] / samples:.3f}" for one in MAPPINGS)
    worst = max(above[one] for one in MAPPINGS) / samples
    return f"| {name} | {n} | {shares} | {worst:.3f} | {taken / samples:.2f} | {vain / samples:.3f} |"


def main() -> None:
    """Print the table, or write it between its marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000, metavar="N", help="samples of each row (default 2000)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table between the marks of a page")
    options = parser.parse_args()
    lines = []
    for line in chain(table(options.samples), [""]):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        put(options.write, "mappings", "\n".join(lines), measured())


if __name__ == "__main__":
    main()
