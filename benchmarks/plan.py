"""
What a plan of every variant takes: the processor's time, and how much more it would be if nothing were shared.

    python -m benchmarks.plan                                            # print the table (some minutes)
    python -m benchmarks.plan --cases 20 --write docs/measured/performance.md

The judge has a model on a server that is never called. `made anew` is the same plan with edits, inert words and prompts
made each time that they are wanted. Times are the processor's, so that other work on the machine counts for little;
ratios within one run hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeVar
from unittest.mock import patch

from benchmarks.pages import measured, put
from calm.commands.plan import traced
from calm.core.memo import Memo
from calm.gate.from_spec import judge_from
from calm.gate.rehearsal import planned

T = TypeVar("T")
JUDGE = """
[judge]
name = "planned"
task = "{task}"
[model]
provider = "openai"
model = "model-1"
base_url = "http://127.0.0.1:9/v1"
"""


def anew(_: Memo, make: Callable[[], T], __: tuple[object, ...], *___: Hashable) -> T:
    """Return what is made, each time anew."""
    return make()


@contextmanager
def nothing_shared() -> Iterator[None]:
    """Plan as if nothing were kept."""
    with patch.object(Memo, "once", anew):
        yield


def seconds(task: str, cases: int, folder: Path) -> tuple[float, int]:
    """Return how much processor time a plan takes after its tests are collected, and how many asks it counts."""
    path = folder / f"{task}.toml"
    path.write_text(JUDGE.format(task=task), "utf-8")
    judge = judge_from(str(path))
    given = argparse.Namespace(cases=[], sample=str(cases), fit=False, repeats=None, pytest=["--calm-every-variant"])
    planner = traced(judge, given)
    began = process_time()
    plan = planned(planner.survey(judge))
    return process_time() - began, plan.most.asks


def table(tasks: Sequence[str], counts: Sequence[int], *, compare: bool) -> str:
    """Return the measurements as Markdown."""
    lines = ["| task | cases | asks at most | processor, s | made anew, s | ratio |", "|---|---|---|---|---|---|"]
    with TemporaryDirectory() as folder:
        for task in tasks:
            for count in counts:
                took, asks = seconds(task, count, Path(folder))
                cells = [task, f"{count}", f"{asks:,}", f"{took:.1f}"]
                if compare:
                    with nothing_shared():
                        other, _ = seconds(task, count, Path(folder))
                    cells += [f"{other:.1f}", f"{other / took:.1f}"]
                else:
                    cells += ["", ""]
                lines.append(f"| {' | '.join(cells)} |")
                print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, nargs="+", default=[20, 200], metavar="N")
    parser.add_argument("--tasks", nargs="+", default=["pairwise", "score"], metavar="TASK")
    parser.add_argument("--alone", action="store_true", help="leave out the comparison")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page, too")
    options = parser.parse_args()
    environ.setdefault("OPENAI_API_KEY", "unused")
    text = table(options.tasks, options.cases, compare=not options.alone)
    print(text)
    if options.write is not None:
        put(options.write, "plan", text, measured())


if __name__ == "__main__":
    main()
