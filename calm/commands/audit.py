"""`calm audit`: run the shipped suites on a judge and write the report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from calm.commands import (
    APART,
    CASES,
    CONFIGURATION,
    DONE,
    INTERRUPTED,
    JUDGES,
    NOTHING,
    REFUSED,
    add_command,
)
from calm.core.plugins import hook
from calm.engine.signals import SIGNALS
from calm.gate.catalogue import importable


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `audit`."""
    audit = add_command(
        commands,
        "audit",
        "Run all suites on a judge and write a report. The folder gets report.html, summary.md, results.sarif and "
        "results.json. Each option of a run has its short name here. Other options of pytest may follow after --.",
        "calm audit judge.toml --sample 60 --max-usd 5",
    )
    audit.add_argument("judge", metavar="JUDGE", help=JUDGES)
    audit.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    audit.add_argument(
        "-o", "--out", default="calm-audit", metavar="DIR", help="the folder to write to (default calm-audit)"
    )
    audit.add_argument(
        "--batch",
        action="store_true",
        help="send the calls by the provider's batch API, at about half the price, and wait for the replies",
    )
    audit.add_argument(
        "-v", "--verbose", action="store_true", help="print each test, and all figures, reasons and notes"
    )
    audit.set_defaults(run=_audit)


def gate(judge: str, out: Path | None, options: Sequence[str], suites: Sequence[str] = ()) -> int:
    """
    Run the shipped suites, or some of them, in this process, whatever pytest is told in the current folder.

    The outputs go to the folder `out`; without one, none is written.
    """
    import pytest

    written = {"report": "report.html", "results": "results.json", "summary": "summary.md", "sarif": "results.sarif"}
    outputs = [] if out is None else [f"--calm-{name}={out / file}" for name, file in written.items()]

    with importable(Path.cwd()):
        return int(
            pytest.main(
                [
                    "--pyargs",
                    *([f"calm.suites.test_{name}" for name in suites] or ["calm.suites"]),
                    "--import-mode=importlib",
                    f"--rootdir={Path.cwd()}",
                    "-c",
                    os.devnull,
                    *APART,
                    *_cache(out),
                    "--tb=no",
                    "--assert=plain",  # calm says what a claim found; else a first run compiles calm a second time
                    "-rN",  # what is not green is shown by bias, once
                    *([] if _verbose(options) else ["-q", "--disable-warnings"]),
                    "--calm-command",
                    f"--calm-judge={judge}",
                    *outputs,
                    *options,
                ]
            )
        )


def _cache(out: Path | None) -> list[str]:
    """Return options of pytest: where it notes which tests failed, for `--lf`; without a folder nothing is written."""
    return ["-p", "no:cacheprovider"] if out is None else ["-o", f"cache_dir={(out / '.pytest_cache').absolute()}"]


def _verbose(options: Sequence[str]) -> bool:
    return any(one == "--verbose" or (one.startswith("-v") and set(one[1:]) == {"v"}) for one in options)


def ended(status: int) -> int:
    """Return the exit status of a command for that of pytest, as the reference of commands says."""
    import pytest

    if status == pytest.ExitCode.INTERRUPTED and SIGNALS.came:
        return INTERRUPTED
    if status == NOTHING:
        print(
            "calm: no test was selected, so nothing was asked: look at -k, -m and the names of tests", file=sys.stderr
        )
    return status if status in (DONE, REFUSED, CONFIGURATION, NOTHING) else REFUSED


def _audit(options: argparse.Namespace) -> int:
    lint = hook("audit")
    if lint is not None and (pointless := lint(options.judge, options.cases)):
        return int(pointless)
    given = [f"--calm-cases={f}" for f in options.cases]
    given += ["--calm-batch"] if options.batch else []
    given += ["-v"] if options.verbose else []
    return ended(gate(options.judge, Path(options.out), [*given, *options.pytest]))
