"""
What a judge that only sees length would gain in each suite of the default gate, measured against inert words.

    python -m benchmarks.inert                                      # print the table (about two minutes)
    python -m benchmarks.inert --write docs/measured/inert.md      # put it between its markers

The judge is `planted:length=1`: of two answers the longer one wins, and a longer answer alone gets more. A suite that
asks about anything but length should measure nothing of it: what the edit moves, less what inert words move, should be
near zero. The more lengths of inert words there are, the nearer. The suites are traced, not run: each case is put to
the judge under up to four variants of the edit, and under four forms of the inert words beside each.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from pkgutil import iter_modules
from statistics import mean, median, stdev

from benchmarks.pages import measured, put
from calm import suites
from calm.cases import bundled
from calm.core.case import Case
from calm.core.checks import words
from calm.core.edits import Edit, Expects
from calm.core.trials import Trial, favour
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.edited import Pair
from calm.experiment.inert import CLASSES, floor_of
from calm.experiment.lookahead import Order
from calm.experiment.pairs import pair_up
from calm.experiment.setup import Setup
from calm.gate.plan import PlanRecord, PlanSink
from calm.gate.probe import Probe
from calm.gate.question import Context, Node
from calm.perturbations.planted import planted

LENGTHS: Mapping[int, tuple[int, ...]] = {
    1: (10,),
    2: (5, 15),
    3: (5, 10, 20),
    4: (5, 10, 15, 25),
    5: (5, 10, 15, 20, 30),
}
"""Lengths in words of the inert texts, by how many there are."""
TASKS = ("pairwise", "score", "rubric")
VARIANTS, FORMS = 4, 4
ENOUGH = 20
"""Cases that a variant needs to be named as the worst of its suite."""
GOAL = 0.05
"""The gain that a suite may measure in a judge that only sees length."""
ABOUT_LENGTH = frozenset({"verbosity"})
"""Suites that are to measure it."""
EXTRA = "calm_every_variant"


@dataclass(slots=True)
class Found:
    """What one suite measured: the words that its edits added, and for each case the gains by the number of lengths."""

    added: list[int] = field(default_factory=list)
    clean: list[float] = field(default_factory=list)
    gains: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    variants: dict[int, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def worst(self, count: int) -> tuple[str, float]:
        """Return the variant with the largest gain either way, among those with enough cases, and its gain."""
        found = {name: mean(gains) for name, gains in self.variants[count].items() if len(gains) >= ENOUGH}
        return max(found.items(), key=lambda one: abs(one[1]), default=("-", 0.0))


@contextmanager
def setup_of(task: str) -> Iterator[Setup]:
    """Prepare a run of the judge by length on the bundled cases."""
    judge = planted(f"planted:length=1,task={task}")
    engine = Engine(Store(None, Mode.OFF))
    try:
        yield Setup(judge, tuple(bundled(judge.task)), engine)
    finally:
        engine.close()


def orders(setup: Setup) -> Iterator[tuple[str, Order]]:
    """Yield what the tests of the default gate would ask, with the name of their suite."""
    for info in iter_modules(suites.__path__):
        if not info.name.startswith("test_"):
            continue
        module = importlib.import_module(f"calm.suites.{info.name}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("test_") or EXTRA in (*_marks(module), *_marks(test)):
                continue
            suite = info.name.removeprefix("test_").replace("_", "-")
            record = PlanRecord()
            probe = Probe(Context(setup, Node(f"{info.name}.py::{name}", suite), sink=PlanSink(record)))
            given = {"probe": probe, "judge": setup.judge, "cases": setup.cases}
            test(**{wanted: given[wanted] for wanted in inspect.signature(test).parameters})
            for entry in record.entries:
                yield suite, entry.order


def _marks(marked: object) -> list[str]:
    """Return the names of the marks of a module or of a test."""
    marks = getattr(marked, "pytestmark", ())
    return [mark.name for mark in (marks if isinstance(marks, list | tuple) else [marks])]


def asked_about(setup: Setup, order: Order, found: Found) -> None:
    """Add what one question of a suite measures."""
    pairing = pair_up(setup, order.edit, order.against)
    pairing.pilot(len(pairing.pairs))
    for first in list(pairing.pairs):
        pairs = [pair for pair in pairing.under(first, VARIANTS) if pair.room]
        if pairs:
            _add(setup, pairs, found)


def _add(setup: Setup, pairs: Sequence[Pair], found: Found) -> None:
    """Add what one case measures, under each of some variants."""
    found.added += [_added(pair) for pair in pairs]
    shown: dict[tuple[int, str | int], list[Case]] = {(n, "clean"): [pair.base] for n, pair in enumerate(pairs)}
    shown |= {(n, "edited"): [pair.ask(1)[0]()] for n, pair in enumerate(pairs)}
    shown |= {(n, count): _floors(pair, of) for n, pair in enumerate(pairs) for count, of in LENGTHS.items()}
    favours = iter(_favours(setup, [(pairs[n], case) for (n, _), cases in shown.items() for case in cases]))
    means = {key: mean(next(favours) for _ in cases) for key, cases in shown.items()}
    found.clean.append(mean(means[n, "edited"] - means[n, "clean"] for n in range(len(pairs))))
    for count in LENGTHS:
        gains = [means[n, "edited"] - means[n, count] for n in range(len(pairs))]
        found.gains[count].append(mean(gains))
        for pair, one in zip(pairs, gains, strict=True):
            found.variants[count][pair.variant].append(one)


def _floors(pair: Pair, lengths: Sequence[int]) -> list[Case]:
    assert pair.shown is not None, "there is an edit"
    given = pair.source.treat(pair.treatment.target), pair.base, pair.shown, pair.changed
    return [floor_of(*given, number, brief=pair.brief, classes=lengths).case for number in range(1, FORMS + 1)]


def _favours(setup: Setup, shown: Sequence[tuple[Pair, Case]]) -> list[float]:
    """Return how far the judge favours the treated answer of each pair in a case."""
    asked = setup.engine.ask(setup.judge, [(case, 1) for _, case in shown])
    found = []
    for (pair, _), answer in zip(shown, asked, strict=True):
        row = Trial(pair.source.id, points=pair.source.points)
        x = favour(answer.verdict, pair.treatment.target, row, setup.judge.scale)
        assert x is not None, "a planted judge can be read"
        found.append(x)
    return found


def _added(pair: Pair) -> int:
    assert pair.shown is not None, "there is an edit"
    texts = {a.id: a.text for a in pair.base.answers}
    target = pair.treatment.target
    return words(pair.shown()[target].text) - words(texts.get(str(target), ""))


def measure(task: str) -> dict[str, Found]:
    """Return what each suite of the default gate measures whose edits may not help, or may change nothing."""
    found: dict[str, Found] = defaultdict(Found)
    with setup_of(task) as setup:
        for suite, order in orders(setup):
            served = isinstance(order.edit, Edit) and setup.family in order.edit.tasks
            if served and order.edit and order.edit.expects in (Expects.SAME, Expects.NOT_BETTER):
                asked_about(setup, order, found[suite])
    return {suite: one for suite, one in found.items() if one.clean}


def table(task: str, found: Mapping[str, Found], chosen: int) -> str:
    """Return the table of one kind of verdict, with the worst variant under the chosen number of lengths."""
    counts = list(LENGTHS)
    heads = " | ".join(str(count) for count in counts)
    lines = [
        f"| {task}: suite | cases | words added | against the clean prompt | {heads} | worst variant, {chosen} |",
        f"|---|---|---|---|{'---|' * len(counts)}---|",
    ]
    for suite, one in sorted(found.items()):
        gains = " | ".join(_shown(one.gains[count], bold=suite not in ABOUT_LENGTH) for count in counts)
        spread = f"{median(one.added):.0f} ({min(one.added)} to {max(one.added)})"
        name, worst = one.worst(chosen)
        start = f"| {suite} | {len(one.clean)} | {spread} | {_shown(one.clean)} | {gains}"
        lines.append(f"{start} | `{name}` {worst:+.3f} |" if one.variants[chosen] else f"{start} | |")
    return "\n".join(lines)


def _shown(gains: Sequence[float], *, bold: bool = False) -> str:
    """Return a mean with its standard error, bold where it is beyond the goal."""
    value = f"{mean(gains):+.3f} ± {stdev(gains) / sqrt(len(gains)):.3f}"
    return f"**{value}**" if bold and abs(mean(gains)) > GOAL else value


def beyond(by_task: Mapping[str, Mapping[str, Found]], count: int) -> str:
    """Return which suites measure more than the goal against so many lengths, but for those about length."""
    found = [
        f"{suite} ({task})"
        for task, suites_of in by_task.items()
        for suite, one in suites_of.items()
        if abs(mean(one.gains[count])) > GOAL and suite not in ABOUT_LENGTH
    ]
    return ", ".join(found) or "no other suite"


def main() -> None:
    """Measure, print or write."""
    parser = argparse.ArgumentParser(description="What a judge by length gains against inert words.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page with the markers of this table")
    options = parser.parse_args()
    by_task = {task: measure(task) for task in TASKS}
    lengths = "; ".join(f"{number}: {', '.join(map(str, of))}" for number, of in LENGTHS.items())
    count = len(CLASSES)
    parts = [
        f"Lengths in words, by how many there are:\n{lengths}.\n"
        f"calm takes {count}. With these, verbosity measures more than {GOAL:.2f}, and {beyond(by_task, count)}.",
        *(table(task, found, count) for task, found in by_task.items()),
    ]
    text = "\n\n".join(parts)
    if options.write is None:
        print(text)
    else:
        put(options.write, "inert", text, measured())


if __name__ == "__main__":
    main()
