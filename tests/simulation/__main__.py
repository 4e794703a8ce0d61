"""`python -m tests.simulation`: many simulated runs, or one again; a failing one is made smaller."""

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter

from tests.simulation.faults import Plan, shrunk
from tests.simulation.world import failure, run

LOT = 100


def lot(seeds):
    """Run the plans of some seeds; return what happened, and the seeds that failed."""
    happened, failed = Counter(), []
    for seed in seeds:
        try:
            world = run(Plan.drawn(seed))
        except AssertionError as error:
            failed.append((seed, str(error)))
        else:
            happened += world.happened
            happened["steps"] += world.loops.steps
    return happened, failed


def main():
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=2000, metavar="N", help="how many runs (default 2000)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the seed of the first one (default 0)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    parser.add_argument("--seed", type=int, metavar="N", help="run this one alone, and make it smaller if it fails")
    given = parser.parse_args()
    if given.seed is not None:
        plan = Plan.drawn(given.seed)
        print(plan)
        if why := failure(plan):
            small = shrunk(plan, lambda one: bool(failure(one)))
            print(f"{why}\nsmallest: {small}\n{failure(small)}")
        else:
            print("all holds")
        return int(bool(why))
    began, happened, failed = perf_counter(), Counter(), []
    last = given.first + given.schedules
    lots = [range(at, min(at + LOT, last)) for at in range(given.first, last, LOT)]
    with ProcessPoolExecutor(given.jobs) as pool:
        for found, wrong in pool.map(lot, lots):
            happened += found
            failed += wrong
            for seed, why in wrong:
                print(f"seed {seed}: {why}", flush=True)
    steps = happened.pop("steps", 0)
    print(f"{given.schedules} runs, {steps} steps, {happened.total()} faults, {perf_counter() - began:.0f} s")
    for kind, count in happened.most_common():
        print(f"  {count:>8}  {kind}")
    print(f"{len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
