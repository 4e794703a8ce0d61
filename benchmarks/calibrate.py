"""
Whether the intervals of `calm calibrate` keep what they promise, on verdicts of real judges and on planted ones.

    python -m benchmarks.calibrate                      # 2,000 resamples a row: some minutes
    python -m benchmarks.calibrate --resamples 200      # a quick look
    python -m benchmarks.calibrate --write docs/measured/calibrate.md

**Means.** The whole table of a judge is the truth. Each resample draws n labelled cases and ten times as many without
labels from it, with replacement, and takes the corrected mean by the product's own code. A row tells how often each
interval holds the true mean, and how much wider that of labels alone is.

**Labels that are no random sample.** The labelled cases of a planted judge have another true rate than the others. A
row tells how often the corrected interval holds the true mean of the others, and how often the run says that the
labelled cases are not drawn like them. Where the rates differ, a row is of a quarter of the resamples.

**Deciding alone.** A planted judge has a confidence that tells its errors well, badly or not at all. A row tells how
often the chosen threshold breaks its promise, and which share of the cases it lets the judge decide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

from benchmarks.pages import measured, put
from calm.core.measures import readable_rate
from calm.core.verdict import FAMILY
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment import run as experiment
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design, Stopping
from calm.gate.from_spec import cases_from, judge_from
from calm.plugins.calibrate.figures import GRID, corrected
from calm.plugins.calibrate.items import Item, Rule, entity_of, items_of
from calm.statistics.calibration import Clusters, prediction_powered_mean, select
from calm.statistics.intervals import padded_t

JUDGES = (
    "recorded:pandalm/gpt-3.5",
    "recorded:pandalm/pandalm-7b",
    "recorded:llmbar/GPT-4/Vanilla",
    "recorded:llmbar/GPT-4/Metrics_Reference",
    "recorded:llmbar/GPT-4/Swap",
    "recorded:llmbar/ChatGPT/Vanilla",
    "recorded:llmbar/ChatGPT-0301/CoT",
    "recorded:llmbar/Falcon/Vanilla",
)
PLANTED = ((0.5, 0.02, 0.02), (0.5, 0.10, 0.10), (0.8, 0.05, 0.0), (0.8, 0.30, 0.05), (0.95, 0.05, 0.05))
"""True rate, and the shares of wins and of losses that the judge gets wrong."""
SHIFTED = (
    (0.175, 0.175, 1),
    (0.5375, 0.5375, 1),
    (0.175, 0.175, 4),
    (0.3, 0.175, 1),
    (0.5375, 0.175, 1),
    (0.5375, 0.175, 4),
)
"""True rates of the labelled and of the other cases, and cases a question; the judge gets a tenth of them wrong."""
WRONG = 0.1
DRAWN = 100
"""Labelled cases of which it is asked whether they are drawn like the others."""
LABELS = (60, 200)
MORE = 10
SHAPES = {
    "tells its errors well": lambda place: 0.30 * place**3,
    "tells them a little": lambda place: 0.02 + 0.10 * place,
    "tells nothing": lambda _: 0.055,
    "is worst in the middle": lambda place: 0.12 if 0.3 < place < 0.5 else 0.02,
}
"""How often a planted judge errs, by its place in the order of its confidence, 0 the surest."""


def items_by(spec: str) -> list[Item]:
    """Return the items of a recorded judge on all of its cases."""
    judge = judge_from(spec)
    cases = tuple(cases_from([], judge))
    engine = Engine(Store(None, Mode.OFF))
    try:
        setup = Setup(judge, cases, engine, 0, Design(3, 1), Stopping.FIXED)
        trials = experiment.run(setup, None, (), observed=(readable_rate,)).rulings[0].trials
    finally:
        engine.close()
    assert trials is not None
    assert FAMILY[judge.task] == "pairwise"
    rule, entity = Rule.of(judge.scale), entity_of(cases)
    found = items_of(cases, trials, judge.task, rule, shown=lambda case: case.with_order(), entity=entity)
    return [item for item in found if item.gold is not None]


def planted(rate: float, missed: float, invented: float, n: int, rng: Random) -> list[Item]:
    """Return so many cases of a planted judge: labels of yes or no, and its word on them."""
    found = []
    for place in range(n):
        gold = float(rng.random() < rate)
        said = gold if rng.random() >= (missed if gold else invented) else 1 - gold
        found.append(
            Item(
                f"c{place}", "", f"c{place}", {}, gold, (said,), said, right=float(said == gold), value=said, worth=gold
            )
        )
    return found


def means(resamples: int) -> Iterator[str]:
    """Yield a table of coverage, a row for each judge and number of labels."""
    names = "judge", "labels", "right", "true mean", "corrected", "labels alone", "judge alone", "share right"
    yield f"| {' | '.join(names)} | labels alone, times as wide |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for spec in JUDGES:
        items = items_by(spec)
        for n in LABELS:
            yield _row(spec.removeprefix("recorded:"), n, items, resamples)
    for setting in PLANTED:
        big = planted(*setting, 20_000, Random(9))
        for n in LABELS:
            rate, missed, invented = setting
            yield _row(f"planted: rate {rate:g}, misses {missed:g}, invents {invented:g}", n, big, resamples)


def _row(name: str, n: int, items: Sequence[Item], resamples: int) -> str:
    """
    Return the row of a judge: each item is a case of its own.

    A verdict that could not be read counts as the mean of the others, as in the product.
    """
    rng = Random(f"{name} {n}")
    read = [item.value for item in items if item.value is not None]
    silent = sum(read) / len(read)
    rows = [(item.worth or 0.0, silent if item.value is None else item.value, item.right) for item in items]
    true, right = sum(y for y, _, _ in rows) / len(rows), sum(r for *_, r in rows) / len(rows)
    held, widths, single = [0, 0, 0, 0], [0.0, 0.0], Clusters.single
    for _ in range(resamples):
        gold, said, hits = zip(*rng.choices(rows, k=n), strict=True)
        others = [f for _, f, _ in rng.choices(rows, k=MORE * n)]
        one = prediction_powered_mean(single(gold), single(said), single(others), (0.0, 1.0))
        for place, interval in enumerate((one.corrected, one.labelled, one.predicted)):
            held[place] += interval.low <= true <= interval.high
        low, high = padded_t(hits, 0.0, 1.0, 0.05)
        held[3] += low <= right <= high
        widths[0] += one.corrected.width
        widths[1] += one.labelled.width
    shares = " | ".join(f"{count / resamples:.3f}" for count in held)
    return f"| {name} | {n} | {right:.2f} | {true:.3f} | {shares} | {widths[1] / widths[0]:.2f} |"


def draws(resamples: int) -> Iterator[str]:
    """Yield a table of coverage and warnings, a row for each pair of true rates and each size of questions."""
    names = "true rate of the labelled", "of the others", "the judge says", "of the others", "cases a question"
    yield f"| {' | '.join(names)} | resamples | corrected | said not to be drawn alike |"
    yield "|---|---|---|---|---|---|---|---|"
    for mine, others, size in SHIFTED:
        rng = Random(f"draws {mine} {others} {size}")
        many = resamples if mine == others else max(1, resamples // 4)
        held = warned = 0
        for seed in range(many):
            labelled = _of_questions(mine, DRAWN, size, rng)
            one = corrected(labelled, _of_questions(others, MORE * DRAWN, size, rng), None, seed)
            assert one is not None
            held += one.found.corrected.low <= others <= one.found.corrected.high
            warned += one.draw.differs
        says = [WRONG + rate * (1 - 2 * WRONG) for rate in (mine, others)]
        cells = f"{mine:.3f} | {others:.3f} | {says[0]:.2f} | {says[1]:.2f} | {size} | {many}"
        yield f"| {cells} | {held / many:.3f} | {warned / many:.3f} |"


def _of_questions(rate: float, n: int, size: int, rng: Random) -> list[Item]:
    """Return so many cases of a planted judge, those of one question with the same label and verdict."""
    found = planted(rate, WRONG, WRONG, n // size, rng)
    return [replace(item, case=f"{item.case} {place}") for item in found for place in range(size)]


def alone(resamples: int) -> Iterator[str]:
    """Yield a table of broken promises, a row for each planted judge and number of labels."""
    names = "a judge whose confidence", "labels", "promise broken", "something proven", "mean share decided alone"
    yield f"| {' | '.join(names)} | largest true share |"
    yield "|---|---|---|---|---|---|"
    for name, errs in SHAPES.items():
        for n in (60, 100, 200, 400):
            rng = Random(f"{name} {n}")
            broken = proven = 0
            share = 0.0
            for _ in range(resamples):
                places = [rng.random() for _ in range(n)]
                wrong = [float(rng.random() < errs(place)) for place in places]
                found = select([1 - place / 2 for place in places], wrong, GRID, risk=0.05)
                if found.chosen is None:
                    continue
                proven += 1
                taken = min(1.0, 2 * (1 - found.chosen.threshold))
                share += taken
                broken += _risk(errs, taken) > 0.05
            most = max([s / 1000 for s in range(1, 1001) if _risk(errs, s / 1000) <= 0.05], default=0.0)
            yield (
                f"| {name} | {n} | {broken / resamples:.3f} | {proven / resamples:.2f} | {share / resamples:.2f} | "
                f"{most:.2f} |"
            )


def _risk(errs: Callable[[float], float], share: float) -> float:
    """Return the true error of the surest share of cases."""
    return sum(errs(share * (k + 0.5) / 400) for k in range(400)) / 400


def main() -> None:
    """Print the tables, or write them between their marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=2000, metavar="N", help="samples of each row (default 2000)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables between the marks of a page")
    options = parser.parse_args()
    lines = []
    for line in chain(
        [""], means(options.resamples), [""], draws(options.resamples), [""], alone(options.resamples), [""]
    ):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        put(options.write, "calibrate", "\n".join(lines), measured())


if __name__ == "__main__":
    main()
