"""`calm demo`: a red gate on a simulated judge, or a run on a small language model of this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from calm.commands import DONE, REFUSED, add_command, real
from calm.commands.audit import ended, gate
from calm.results.wording import fitted, printable

DEMO = "planted:verbosity=0.5,authority=0.5,noise=0.03,seed=7"
SHOWN, SAMPLE = ("position", "verbosity", "authority"), 100
"""The suites that the demo runs, and on how many cases: it takes seconds."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo`."""
    demo = add_command(
        commands,
        "demo",
        "Show a red gate of three suites on a simulated judge. The judge prefers padded answers and answers that cite "
        "a book. No model is called, and nothing is spent. With --real, the judge is a small language model on this "
        "machine.",
        "calm demo",
    )
    demo.add_argument(
        "-o", "--out", default="calm-demo", metavar="DIR", help="the folder to write to (default calm-demo)"
    )
    real.add_options(demo)
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    out = Path(options.out)
    if options.real:
        return real.demonstrate(options, out, gate)
    real.refuse_alone(options)
    print("A simulated judge that prefers padded answers, and answers that cite a book:", flush=True)
    status = ended(gate(DEMO, out, ["--calm-cache=off", f"--calm-sample={SAMPLE}"], SHOWN))
    if status not in (DONE, REFUSED):
        return status
    said = f"The gate is red, as it should be. Open {printable(str(out / 'report.html'))}."
    print(fitted(f"{said} These are {len(SHOWN)} suites; calm audit runs all.", sys.stdout))
    return DONE
