"""`calm accept` and `calm compare`: make a baseline of a run, and compare two runs."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size

from calm.commands import DONE, REFUSED, add_command
from calm.errors import ConfigError
from calm.results.audit import Audit


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `accept` and `compare`."""
    accept = add_command(
        commands,
        "accept",
        "Write a baseline from the results of a run. Review the file and keep it under version control. A later run "
        "with --calm-baseline=FILE fails if it is worse.",
        "calm accept calm-audit/results.json -o baseline.json",
    )
    accept.add_argument("results", metavar="RESULTS", help="a file that --calm-results wrote")
    accept.add_argument(
        "-o", "--out", default="baseline.json", metavar="FILE", help="the file to write (default baseline.json)"
    )
    accept.set_defaults(run=_accept)

    compare = add_command(
        commands,
        "compare",
        "Show what changed between the results of two runs. The command says which claims got better or worse, and "
        "which cases flipped.",
        "calm compare baseline.json calm-audit/results.json -o changes.html",
    )
    compare.add_argument("old", metavar="OLD", help="results or a baseline")
    compare.add_argument("new", metavar="NEW", help="results or a baseline")
    compare.add_argument("-o", "--out", metavar="FILE.html", help="also write the comparison as an HTML page")
    compare.add_argument(
        "--lines", type=int, default=40, metavar="N", help="show at most N lines of each part (default 40)"
    )
    compare.set_defaults(run=_compare)


def _accept(options: argparse.Namespace) -> int:
    from calm.core.inputs import inputs
    from calm.results.audit import read
    from calm.results.baseline import write_baseline
    from calm.results.outputs import BASELINE, Output, refuse
    from calm.results.wording import printable

    try:
        audit = read(Path(options.results))
        refuse([Output("-o", Path(options.out), BASELINE)], inputs=inputs())
        write_baseline(audit, Path(options.out))
    except ConfigError as error:
        print("calm: " + "\n".join(map(printable, error.problems)), file=sys.stderr)
        return REFUSED
    out = printable(options.out)
    print(f"wrote {out}: review it, keep it under version control, use it with --calm-baseline={out}")
    if audit.stopping != "fixed":
        print("this run stopped early: one with --calm-stopping=fixed has more cases to compare a later run with")
    return DONE


def _compare(options: argparse.Namespace) -> int:
    from calm.core.inputs import inputs
    from calm.results.compare import compare, render_text
    from calm.results.outputs import REPORT, Output, refuse
    from calm.results.wording import printable

    old, new = (_record(Path(name)) for name in (options.old, options.new))
    if options.out:
        refuse([Output("-o", Path(options.out), REPORT)], inputs=inputs())
    found = compare(old, new)
    print(render_text(found, get_terminal_size().columns, lines=options.lines))
    if options.out:
        from calm.results.reports import comparison

        comparison.write(found, old, new, Path(options.out))
        print(f"wrote {printable(options.out)}")
    return DONE


def _record(path: Path) -> Audit:
    """Return an audit from a results file, a baseline or a calibration."""
    from calm.results.audit import read
    from calm.results.baseline import CALIBRATION, SCHEMA, read_baseline

    with suppress(OSError, UnicodeDecodeError):
        with path.open(encoding="utf-8") as file:
            head = file.read(200)
            accepted = any(f'"{schema}"' in head for schema in (SCHEMA, CALIBRATION))
        if accepted:
            return read_baseline(path)
    return read(path)
