"""
How often an unchanged judge is red against its own baseline, and how often one that got worse is.

    python -m benchmarks.baselines --seeds 200                  # both tables, on 200 cases
    python -m benchmarks.baselines --seeds 200 --cases 100      # the same with fewer cases
    python -m benchmarks.baselines --seeds 200 --noise 0.15     # the judges of one error rate alone

Each seed is a judge of pairs that errs in each ask with one probability, and two runs of the default gate on it, both
stopping early: the engine draws anew in each, the judge is the same. In the second table the judge of the second run
errs more often, by so many points of its accuracy. A row needs half a second to three seconds a seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from benchmarks.calibration.conditions import figure, gate_of
from benchmarks.calibration.harness import CASES, Gate, Run
from benchmarks.calibration.laws import SURE, PairJudge, Pairs
from calm.core.claims import Outcome
from calm.errors import ConfigError
from calm.experiment.stopping import Stopping
from calm.gate.question import FINE
from calm.models.wire import Json
from calm.results.audit import BASELINE, Audit, Finding, JudgeRecord
from calm.results.baseline import accept
from calm.results.worsening import against

NOISES: Final = (0.0, 0.05, 0.10, 0.15)
WORSENED: Final = (0.0, 0.05)
"""The error rates of the judges that get worse."""
POINTS: Final = (4, 8, 10, 15)
"""By how many points their accuracy falls."""
COLUMNS: Final = ("accepted", "red", "FAIL", "FAIL of accuracy or kappa", "UNDECIDED alone", "otherwise")


def judge_of(gate: Gate, noise: float, seed: int, worse: float = 0.0) -> PairJudge:
    """Return a judge that errs with probability `noise`, and on cases with a wrong answer with so much more."""
    n, wrong = len(gate.cases), noise + worse
    pairs = Pairs((wrong,) * n, (0.0,) * n, (noise,) * n, SURE if noise else 1.0, (noise,) * len(gate.equals))
    return PairJudge(gate.cases, pairs, seed)


def audit_of(gate: Gate, run: Run) -> Audit:
    """Return the record of a run, as one of `--calm-results` holds it."""
    scale: dict[str, Json] = {"low": gate.scale.low, "high": gate.scale.high}
    judge = JudgeRecord("simulated", gate.task, None, "simulated", "simulated", None, scale, {})
    cases: dict[str, Json] = {"n": len(gate.cases), "sha256": "the same in all runs"}
    return Audit("0", judge, cases, 0, "2+1", run.findings, stopping=str(Stopping.SEQUENTIAL))


def counted(found: Sequence[Finding], before: Audit) -> dict[str, float]:
    """Return what a comparison found, as shares of one."""
    red = [f for f in found if f.outcome not in FINE]
    fails = [f for f in red if f.outcome is Outcome.FAIL]
    accepted = False
    with suppress(ConfigError):
        accepted = bool(accept(before))
    flags = {
        "accepted": accepted,
        "red": bool(red),
        "FAIL": bool(fails),
        "FAIL of accuracy or kappa": any(f.bias == BASELINE and f.key.endswith(("accuracy", "kappa")) for f in fails),
        "UNDECIDED alone": bool(red) and all(f.outcome is Outcome.UNDECIDED for f in red),
        "otherwise": any(f.outcome not in (*FINE, Outcome.FAIL, Outcome.UNDECIDED) for f in red),
    }
    return {name: float(flag) for name, flag in flags.items()} | {f"  {f.key} {f.outcome}": 1.0 for f in red}


def measured(gate: Gate, noise: float, points: Sequence[int], seeds: int) -> dict[int, list[Mapping[str, float]]]:
    """Return what was counted with each seed, by how many points the judge of the second run is less accurate."""
    found: dict[int, list[Mapping[str, float]]] = {point: [] for point in points}
    for seed in range(seeds):
        before = audit_of(gate, gate.run(judge_of(gate, noise, seed), 10 * seed))
        for place, point in enumerate(points, start=1):
            run = gate.run(judge_of(gate, noise, seed, point / 100), 10 * seed + place)
            found[point].append(counted(against(before, audit_of(gate, run)), before))
    return found


def row(label: str, counts: Sequence[Mapping[str, float]]) -> str:
    """Return a row of a table."""
    cells = [str(figure([one[name] for one in counts])) for name in COLUMNS]
    return f"| {label} | {' | '.join(cells)} |"


def main() -> None:
    """Print both tables, and below each row which findings are red."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__)
    parser.add_argument("--seeds", type=int, required=True, help="pairs of runs for each row")
    parser.add_argument("--cases", type=int, default=CASES, help="how many cases a run has")
    parser.add_argument("--noise", type=float, nargs="*", default=NOISES, help="the error rates of the judges")
    options = parser.parse_args()
    gate = gate_of("pairwise", n=options.cases)
    print(f"| judge | {' | '.join(COLUMNS)} |\n|{'---|' * (1 + len(COLUMNS))}", flush=True)
    for noise in options.noise:
        points = (0, *(POINTS if noise in WORSENED else ()))
        for point, counts in measured(gate, noise, points, options.seeds).items():
            print(row(f"noise {noise:g}, {f'{point} points worse' if point else 'unchanged'}", counts), flush=True)
            names = sorted({name for one in counts for name in one if name not in COLUMNS})
            for name in names:
                print(f"{name}: {sum(one.get(name, 0.0) for one in counts):.0f} of {len(counts)}", flush=True)


if __name__ == "__main__":
    main()
