"""
How often `calm watch` raises a false alarm over a year of runs, and how soon it sees a drift.

    python -m benchmarks.watch --write docs/measured/drift.md  # both tables, in about half an hour on one core
    python -m benchmarks.watch --histories 20                  # the same, coarse
    python -m benchmarks.watch --size    # the size of a history and the time to read it, after three years

Judges are simulated by their verdicts; all tests are those of the command (`calm.plugins.watch.alarm`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from statistics import median

import numpy as np

from benchmarks.pages import measured, put
from calm.cases.generate import generate
from calm.core.verdict import Scale
from calm.plugins.watch.alarm import Promise, Sheet, looks_for, signs
from calm.plugins.watch.comparison import compare
from calm.plugins.watch.history import History, Reference, Run, anchors_of, read_history, with_run
from calm.statistics.intervals import clopper_pearson
from calm.statistics.power import uniforms

DRIFTS = (("sudden, at run 11", 10, 1), ("sudden, at run 31", 30, 1), ("from run 31 over 60 runs", 30, 60))
"""Each drift, with the runs before it, and the runs that it takes."""
Law = np.ndarray
"""The probability of each verdict on each anchor: (anchors, verdicts)."""
PROMISE = Promise()
SCORES = np.linspace(0, 1, 10)
"""Ten scores, as shares of their scale."""
ASKS = 2
"""How often each anchor is asked in a run."""
YEAR = 365
QUIET = 100
"""Runs with a drift after which a history is given up."""


def noisy(share: float) -> Callable[[int, Random], Law]:
    """Return a judge of pairs that errs in this share of its asks on each anchor."""
    return lambda n, _: np.tile([1 - share, share], (n, 1))


def mixed(n: int, rng: Random) -> Law:
    """A judge of pairs that is sure of most anchors, and tosses a coin on others."""
    right = np.array([rng.betavariate(0.3, 0.08) for _ in range(n)])
    return np.stack([right, 1 - right], axis=1)


def scoring(n: int, rng: Random) -> Law:
    """A judge that gives scores around a value of each anchor, a tenth of them one or two steps off."""
    middle = np.array([rng.randrange(5, 8) for _ in range(n)])
    law = np.full((n, 10), 0.0)
    for step, share in ((0, 0.7), (1, 0.12), (-1, 0.12), (2, 0.03), (-2, 0.03)):
        law[np.arange(n), middle + step] += share
    return law


JUDGES: dict[str, tuple[Callable[[int, Random], Law], bool]] = {
    "noise 0": (noisy(0.0), False),
    "noise .05": (noisy(0.05), False),
    "noise .10": (noisy(0.10), False),
    "close calls": (noisy(0.5), False),
    "sure of most": (mixed, False),
    "noise .10, same reply all day": (noisy(0.10), True),
    "scores": (scoring, False),
}
"""Each judge, and whether the asks of a run repeat each other, as those of a server at temperature 0 do."""


def drawn(law: Law, rng: Random, frozen: bool) -> np.ndarray:
    """Return the share of each verdict in one run."""
    said = uniforms(rng, (1 if frozen else ASKS, len(law)))[:, :, None] > np.cumsum(law, axis=1)[None, :, :-1]
    shares: np.ndarray = np.eye(law.shape[1])[said.sum(axis=2)].mean(axis=0)
    return shares


def first_alarm(runs: Iterable[np.ndarray], worth: np.ndarray, most: int) -> tuple[int, str] | None:
    """Return the first run that raises an alarm, with its test; None if none does."""
    kept: list[np.ndarray] = []
    apart = np.abs(worth[:, None] - worth[None, :])
    for number, run in enumerate(runs, start=1):
        kept.append(run)
        if number > most:
            return None
        for look in looks_for(number, "up"):
            pool = kept[: min(look.reference, number - look.window)] + kept[-look.window :]
            shares = np.array(pool).transpose(1, 0, 2)
            sheet = Sheet(shares, np.broadcast_to(apart, (len(run), *apart.shape)), shares @ worth)
            for sign in signs([sheet], look, number, number - 1, PROMISE):
                if sign.raised:
                    return number, f"{sign.test}, {look.window}"
    return None


def shifted(law: Law, worth: np.ndarray, shift: float, rng: Random) -> Law:
    """Return a law whose mean falls by `shift`: the verdict of a random share of the anchors is turned over."""
    moved, order = law.copy(), rng.sample(range(len(law)), len(law))
    wanted, fallen = shift * len(law), 0.0
    for i in order:
        turned = law[i, ::-1]
        step = float((law[i] - turned) @ worth)
        if step <= 0.02:
            continue
        part = min(1.0, (wanted - fallen) / step)
        moved[i] = (1 - part) * law[i] + part * turned
        fallen += part * step
        if fallen >= wanted - 1e-9:
            break
    if fallen < wanted - 1e-9:  # a judge of close calls: every anchor by the same step
        moved = law - np.outer(np.full(len(law), shift), [1.0, *[0.0] * (len(worth) - 2), -1.0])
    return moved


def false_alarms(histories: int, n: int) -> Iterator[str]:
    """Yield how many of so many histories of a year without drift raise an alarm."""
    yield f"| judge, {n} anchors | histories of {YEAR} runs | false alarms | at most (95 %) |\n|---|---|---|---|"
    total = 0
    for name, (made, frozen) in JUDGES.items():
        raised = 0
        for seed in range(histories):
            rng = Random(f"still {seed} {n}")
            law = made(n, rng)
            worth = SCORES if law.shape[1] == 10 else np.array([1.0, 0.0])
            runs = (drawn(law, rng, frozen) for _ in range(YEAR))
            raised += first_alarm(runs, worth, YEAR) is not None
        total += raised
        yield f"| {name} | {histories} | {raised} | {clopper_pearson(raised, histories, 0.05)[1]:.4f} |"
    every = histories * len(JUDGES)
    yield f"| all | {every} | {total} | {clopper_pearson(total, every, 0.05)[1]:.4f} |"


def delays(histories: int) -> Iterator[str]:
    """Yield after how many runs a drift is reported: the median, and the share that was within `QUIET` runs."""
    shifts = (0.05, 0.10, 0.20)
    yield f"| judge | anchors | drift | {' | '.join(f'{s:.2f}' for s in shifts)} |\n|---|---|---|---|---|---|"
    for n in (60, 200):
        for name in ("noise 0", "noise .05", "noise .10", "sure of most", "close calls", "scores"):
            made, frozen = JUDGES[name]
            for word, before, slow in DRIFTS:
                cells = []
                for shift in shifts:
                    found = []
                    for seed in range(histories):
                        rng = Random(f"drifting {seed} {n}")
                        law = made(n, rng)
                        worth = SCORES if law.shape[1] == 10 else np.array([1.0, 0.0])
                        after = shifted(law, worth, shift, rng)
                        steps = [min(1.0, max(0, t - before) / slow) for t in range(1, before + QUIET + 1)]
                        runs = (drawn((1 - s) * law + s * after, rng, frozen) for s in steps)
                        alarm = first_alarm(runs, worth, before + QUIET)
                        found.append(QUIET + 1 if alarm is None else alarm[0] - before)
                    seen = sum(one <= QUIET for one in found)
                    middle = median(found)
                    said = f"{middle:.0f}" if middle <= QUIET else f"> {QUIET}"
                    cells.append(said if seen == histories else f"{said} ({seen} of {histories})")
                yield f"| {name} | {n} | {word} | {' | '.join(cells)} |"


def size(days: int, anchors: int) -> None:
    """Print what a history of so many runs takes."""
    cases = list(generate("pairwise", anchors, 0))
    rng = Random(0)
    known = anchors_of(cases)
    reference = Reference("judge", "f", "pairwise", ASKS, PROMISE)
    words = ('{"code":"good"}', '{"code":"bad"}')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "watch.jsonl"
        history, before = History(), 0
        for number in range(1, days + 1):
            rows = tuple(tuple(words[int(u < 0.05)] for u in (rng.random(), rng.random())) for _ in cases)
            run = Run(number, f"run {number:06}", known, rows)
            began = time.perf_counter()
            history = with_run(path, history, reference, run)
            wrote = time.perf_counter() - began
            if number in (1, 2, days):
                now = path.stat().st_size
                print(f"after {number} runs of {anchors} anchors: {now:,} bytes, {now - before:,} more than before")
                print(f"  written in {wrote:.2f} s")
            before = path.stat().st_size
        began = time.perf_counter()
        read = read_history(path)
        took = time.perf_counter() - began
        began = time.perf_counter()
        compare(read.runs, cases, Scale(), PROMISE)
        print(f"read in {took:.1f} s, compared in {time.perf_counter() - began:.1f} s")
        print(json.dumps({"runs": len(read.runs), "anchors": anchors, "bytes": path.stat().st_size}))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=200, metavar="N", help="histories in each row (default 200)")
    parser.add_argument("--only", choices=("false-alarms", "delays"), help="only this table")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page, too")
    parser.add_argument("--size", action="store_true", help="the size of a history instead")
    options = parser.parse_args()
    if options.size:
        size(3 * YEAR, 1000)
        return
    parts = {"false-alarms": false_alarms(options.histories, 60), "delays": delays(max(5, options.histories // 10))}
    for name, lines in parts.items():
        if options.only in (None, name):
            found = []
            for line in lines:
                print(line, flush=True)
                found.append(line)
            if options.write is not None:
                put(options.write, name, "\n".join(found), measured())


if __name__ == "__main__":
    main()
