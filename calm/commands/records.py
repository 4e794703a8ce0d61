"""`calm accept` and `calm compare`: make a baseline of a run, and compare runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

from calm.commands import DONE, REFUSED, add_command
from calm.core.plugins import needed
from calm.errors import ConfigError, few_of

if TYPE_CHECKING:
    from calm.results.baseline import Undecided

EXPIRES: Final = timedelta(days=90)
"""How long a limit holds that `accept` proposes."""
FORMS = ("calm",)
"""The tables of several judges that `compare --as` makes."""
PAIR = 2
NAMED = 5
"""How many failed claims a line names."""
LINES = 40
"""How many lines of each part of a comparison are shown, unless --lines says otherwise."""


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
        "Show what changed between the results of two runs. It names the claims that got better or worse, and the "
        "cases that flipped. With --as calm, show a table of several judges as in the paper on CALM.",
        "calm compare baseline.json calm-audit/results.json -o changes.html",
    )
    compare.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="results or a baseline: the old one, then the new one; with --as calm two results or more of "
        "`pytest suites/papers`, and records of `calm self-preference`",
    )
    compare.add_argument(
        "--as", dest="form", choices=FORMS, metavar="FORM", help="calm: a row for each judge, CALM's figures by column"
    )
    compare.add_argument(
        "-o",
        "--out",
        metavar="FILE.html",
        help="also write the comparison as an HTML page; with --as calm FILE.csv, too",
    )
    compare.add_argument(
        "--texts",
        choices=("full", "none"),
        default="full",
        metavar="full|none",
        help="none: leave every text out",
    )
    compare.add_argument("--lines", type=int, metavar="N", help=f"show at most N lines of each part (default {LINES})")
    compare.set_defaults(run=_compare)


def _accept(options: argparse.Namespace) -> int:
    from calm.core.files import inputs
    from calm.results.audit import read
    from calm.results.baseline import accept, undecided, write_baseline
    from calm.results.outputs import BASELINE, Output, refuse
    from calm.results.steps import again_costs
    from calm.results.wording import fitted, printable

    audit = read(Path(options.results))
    refuse([Output("-o", Path(options.out), BASELINE)], inputs=inputs())
    try:
        accepted = accept(audit)
    except ConfigError as error:
        advice = () if audit.gaps else _advice(undecided(audit), again_costs(audit))
        said = "calm: " + "\n".join(map(printable, [*error.problems, *advice]))
        print(fitted(said, sys.stderr), file=sys.stderr)
        return REFUSED
    write_baseline(accepted, Path(options.out))
    out = printable(options.out)
    print(f"wrote {out}: review it, keep it under version control, use it with --calm-baseline={out}")
    if failed := sorted(f.key for f in audit.findings if f.red):
        them = "claim fails" if len(failed) == 1 else "claims fail"
        known = f"this run is RED: {len(failed)} {them} ({few_of(failed, NAMED)})"
        print(printable(f"{known}; the baseline takes that as known: later runs stay red by it, and may not get worse"))
    if audit.stopping != "fixed":
        print("this run stopped early: one with --calm-stopping=fixed has more cases to compare a later run with")
    return DONE


def _advice(found: Sequence[Undecided], again: str) -> Iterator[str]:
    if found:
        yield f"Do one of these for each claim, and run again: {again}."
    for one in found:
        more = f"take about {one.cases} cases" if one.cases else "take more cases"
        if one.limit is None:
            yield f"{one.key}: {more}; no limit can be decided with {one.n} cases"
            continue
        yield f"{one.key}: {more}, or leave it out with [[waive]] in gate.toml, or put this there:"
        yield "[[limit]]"
        yield f"key = {json.dumps(one.key)}"
        yield f"limit = {one.limit:g}"
        yield f'reason = "{one.n} cases decide no tighter limit"'
        yield f"expires = {date.today() + EXPIRES}"


def _compare(options: argparse.Namespace) -> int:
    if options.form:
        return int(needed("compare", f"--as {options.form}")(options))
    return _runs(options)


def _runs(options: argparse.Namespace) -> int:
    from calm.core.files import inputs
    from calm.results.baseline import read_record
    from calm.results.compare import compare, render_text
    from calm.results.outputs import REPORT, Output, refuse
    from calm.results.redaction import without_texts
    from calm.results.wording import printable

    if len(options.files) != PAIR:
        many = "; a table of several judges is made by --as calm" if len(options.files) > PAIR else ""
        raise ConfigError(f"compare: expected two files, the old one and the new one, got {len(options.files)}{many}")
    old, new = (read_record(Path(name)) for name in options.files)
    if options.out:
        refuse([Output("-o", Path(options.out), REPORT)], inputs=inputs())
    if options.texts == "none":
        old, new = without_texts(old), without_texts(new)
    try:
        found = compare(old, new)
    except ConfigError as error:
        raise ConfigError([f"compare {' '.join(options.files)}: {problem}" for problem in error.problems]) from error
    if options.out:
        from calm.results.reports import comparison

        comparison.write(found, old, new, Path(options.out))  # whoever reads only the first lines has a page, too
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    lines = LINES if options.lines is None else options.lines
    first, second = map(Path, options.files)
    since = first.name if first.name != second.name else str(first)
    print(render_text(found, width, lines=lines, since=since))
    if options.out:
        print(f"wrote {printable(options.out)}")
    return DONE
