"""`calm report`: write the record of a run as a page, one sheet, a summary, SARIF, JUnit or a table."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from calm.commands import CONFIGURATION, DONE, add_command
from calm.core.plugins import Given, given, needed
from calm.core.reasons import NONE, Kind, Reason, because
from calm.errors import ConfigError
from calm.results import outputs
from calm.results.audit import Audit

FORMATS = ("html", "one-page", "markdown", "comment", "sarif", "junit", "csv", "parquet", "json")
SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".sarif": "sarif",
    ".xml": "junit",
    ".csv": "csv",
    ".parquet": "parquet",
    ".json": "json",
}
DEFAULTS = {
    "html": "report.html",
    "one-page": "one-page.html",
    "markdown": "summary.md",
    "comment": "comment.md",
    "sarif": "results.sarif",
    "junit": "junit.xml",
    "csv": "trials.csv",
    "parquet": "trials.parquet",
    "json": "published.json",
}

FORMS = {
    "html": outputs.REPORT,
    "one-page": outputs.REPORT,
    "markdown": outputs.SUMMARY,
    "comment": outputs.COMMENT,
    "sarif": outputs.SARIF,
    "junit": outputs.JUNIT,
    "csv": outputs.TRIALS,
    "parquet": outputs.PARQUET,
    "json": outputs.RESULTS,
}

TREND = "trend.html"
_HEAD = 200
_SCHEMA = re.compile(r'\s*\{\s*"schema":\s*"([^"/]*)')
"""The beginning of a record that calm wrote."""

SHOWS_HUNTS = ("html", "json")
"""The formats that hold what a hunt found."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report`."""
    report = add_command(
        commands,
        "report",
        "Write the results of a run in another form. The ending of FILE chooses the form: a page, a summary, SARIF, "
        "JUnit, tables, or JSON. --format one-page makes one A4 sheet. The record of any other command becomes a page. "
        "With --history, show what each claim measured in all runs of a folder. With --to, send the results to another "
        "tool.",
        "calm report calm-audit/results.json -o junit.xml",
    )
    report.add_argument(
        "results",
        metavar="RESULTS",
        nargs="?",
        help="a file that --calm-results wrote, with its texts beside it, or any other record of calm",
    )
    report.add_argument("-o", "--out", metavar="FILE", help="the file to write (default report.html, summary.md, ...)")
    report.add_argument(
        "--format", choices=FORMATS, metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: from the ending of FILE)"
    )
    report.add_argument(
        "--texts", choices=("full", "none"), default="full", metavar="full|none", help="none: leave every text out"
    )
    report.add_argument(
        "--hunt",
        action="append",
        default=[],
        metavar="FILE",
        help="a record of `calm hunt` on the same judge, to show with the results; may be given several times",
    )
    report.add_argument(
        "--history",
        metavar="FOLDER",
        help="show the trend over all results in this folder, and over RESULTS if it is given, and write it as a page "
        "(default trend.html)",
    )
    report.add_argument(
        "--name",
        metavar="GATE",
        help="--format comment: what tells the comment of this gate from others (default gate)",
    )
    targets = given("EXPORTS")
    report.add_argument(
        "--to",
        choices=[*targets],
        metavar="TARGET",
        help=f"send the results to another tool: {', '.join(targets)}; the environment gives the address and keys",
    )
    report.add_argument("--limit", type=int, metavar="BYTES", help="the largest size of a summary (default 1048576)")

    def run(options: argparse.Namespace) -> int:
        if options.history is None and options.results is None:
            report.error("expected RESULTS, a file that --calm-results wrote, or --history FOLDER")
        if options.to is not None:
            return _send(options, targets[options.to])
        return _report(options) if options.history is None else _trend(options)

    report.set_defaults(run=run)


def _report(options: argparse.Namespace) -> int:
    from calm.core.files import record_at
    from calm.results.audit import read, texts_path
    from calm.results.outputs import TEXTS, Output, refuse
    from calm.results.redaction import without_texts
    from calm.results.reports.one_page import form_of
    from calm.results.reports.tables import parquet_paths
    from calm.results.wording import lines, printable

    source = record_at(Path(options.results))
    form = options.format or SUFFIXES.get(Path(options.out or "report.html").suffix.lower())
    if form is None:
        wanted = ", ".join(SUFFIXES)
        print(f"calm: expected --format, or a FILE that ends in {wanted}, got {options.out!r}", file=sys.stderr)
        return CONFIGURATION
    if form == "one-page" and Path(options.out or "").suffix.lower() == ".pdf":
        how = "write page.html, open it in a browser, and print it as PDF"
        raise ConfigError(f"-o {options.out}: a page is written as HTML or Markdown; {how}")
    if options.limit is not None and form != "markdown":
        print(f"calm: --limit: only a summary has one, got --format={form}", file=sys.stderr)
        return CONFIGURATION
    if options.name is not None and form != "comment":
        print(f"calm: --name: only a comment has one, got --format={form}", file=sys.stderr)
        return CONFIGURATION
    if options.hunt and options.texts == "none":
        print("calm: --hunt: a hunt is its texts, so it cannot be shown with --texts none", file=sys.stderr)
        return CONFIGURATION
    if options.hunt and form not in SHOWS_HUNTS:
        wanted = " or ".join(SHOWS_HUNTS)
        print(f"calm: --hunt: only {wanted} shows a hunt, got --format={form}", file=sys.stderr)
        return CONFIGURATION
    target = Path(options.out or DEFAULTS[form])
    hunts = [Path(name) for name in options.hunt]
    written = [Output("-o", target, form_of(target) if form == "one-page" else FORMS[form])]
    if form == "json":
        written.append(Output("-o", texts_path(target), TEXTS))
    if form == "parquet":
        written = [Output("-o", place, FORMS[form]) for place in parquet_paths(target).values()]
    try:
        kind = kind_of(source)
        if kind not in (None, "calm-results"):
            return _page(source, kind or "", form, target, options)
        audit = read(source)
        refuse(written, inputs=(source, texts_path(source), *hunts))
        if hunts:
            audit = needed("report.hunts", "--hunt")(audit, hunts)
        missing = NONE if options.texts == "none" else without(audit, source)
        audit = without_texts(audit) if options.texts == "none" else with_note(audit, missing)
        _writer(form, options.limit, options.name, texts=options.texts == "full")(audit, target)
    except ConfigError as error:
        print("calm: " + "\n".join(map(printable, error.problems)), file=sys.stderr)
        return CONFIGURATION
    if missing:
        print(printable(f"calm: {missing}"), file=sys.stderr)
    for gap in audit.gaps:
        print(f"calm: {lines(str(gap), 0)[0]}", file=sys.stderr)
    for one in written:
        if one.form is not TEXTS:
            print(printable(f"wrote {one.path}"))
    return DONE


def _send(options: argparse.Namespace, to: Given) -> int:
    """Send a run to another tool; its destination is checked before anything is read."""
    from tempfile import TemporaryDirectory

    from calm.core.files import record_at
    from calm.results import audit as record
    from calm.results.redaction import without_texts
    from calm.results.reports import html
    from calm.results.reports.exports import exported
    from calm.results.wording import printable

    given = {"-o": options.out, "--format": options.format, "--history": options.history, "--name": options.name}
    given |= {"--limit": options.limit, "--hunt": options.hunt or None}
    if without_meaning := [name for name, value in given.items() if value is not None]:
        raise ConfigError(
            f"--to {options.to}: nothing is written, got {', '.join(without_meaning)} with it; leave it out"
        )
    target = to.load()
    send = target.open()
    source = record_at(Path(options.results))
    if (kind := kind_of(source)) not in (None, "calm-results"):
        raise ConfigError(f"--to {options.to}: expected the results of a run, got a record of kind {kind}: {source}")
    audit = record.read(source)
    audit = without_texts(audit) if options.texts == "none" else with_note(audit, without(audit, source))
    with TemporaryDirectory() as folder:
        if target.keeps_files:
            html.write(audit, Path(folder) / "report.html")
            record.write(audit, Path(folder) / "results.json", texts=options.texts == "full")
        where = send(exported(audit, source), sorted(Path(folder).iterdir()))
    print(printable(f"sent to {options.to}: {where}"))
    return DONE


def _trend(options: argparse.Namespace) -> int:
    from calm.core.files import inputs
    from calm.results.history import history, render_text
    from calm.results.outputs import REPORT, Output, refuse
    from calm.results.reports import comparison
    from calm.results.wording import printable

    target = Path(options.out or TREND)
    form = options.format or SUFFIXES.get(target.suffix.lower())
    if form != "html":
        what = f"--format {form}" if options.format else f"-o {options.out}"
        raise ConfigError(f"{what}: a trend is written as a page: calm report --history {options.history} -o {TREND}")
    if options.hunt or options.limit is not None:
        what = "--hunt" if options.hunt else "--limit"
        raise ConfigError(f"{what}: a trend has none, got it with --history; leave it out")
    newest = Path(options.results) if options.results else None
    found = history(Path(options.history), newest, texts=options.texts == "full")
    refuse([Output("-o", target, REPORT)], inputs=inputs())
    comparison.write_trend(found, target)  # whoever reads only the first lines has a page, too
    print(render_text(found))
    print(printable(f"wrote {target}"))
    return DONE


def kind_of(source: Path) -> str | None:
    """Return the schema of a record without its version; None where the file is no JSON object, or has no schema."""
    from contextlib import suppress

    from calm.core.files import read_json

    with suppress(OSError, UnicodeDecodeError), source.open(encoding="utf-8") as file:
        if named := _SCHEMA.match(file.read(_HEAD)):  # results are large: what calm wrote says its kind at once
            return named[1]
    with suppress(ConfigError):
        body = read_json(source, "a record that calm wrote")
        schema = body.get("schema") if isinstance(body, dict) else None
        return schema.partition("/")[0] if isinstance(schema, str) else None
    return None


def _page(source: Path, kind: str, form: str, target: Path, options: argparse.Namespace) -> int:
    """
    Write the page of a record that is not the results of a run.

    Raises:
        ConfigError: an option that this kind does not have, or no kind of calm.
    """
    from calm.core.files import read_json
    from calm.results.baseline import read_baseline
    from calm.results.outputs import Output, refuse
    from calm.results.reports import html, pages
    from calm.results.wording import printable

    if form != "html" or options.hunt or options.texts == "none":
        what = "--hunt" if options.hunt else "--texts none" if options.texts == "none" else f"--format={form}"
        raise ConfigError(
            f"{what}: a record of kind {kind} can only be written as a page, whole: calm report {source} -o page.html"
        )
    refuse([Output("-o", target, FORMS[form])], inputs=(source,))
    if kind in ("calm-baseline", "calm-calibration"):
        html.write(read_baseline(source), target)
    else:
        body = read_json(source, "a record that calm wrote")
        assert isinstance(body, dict)
        outputs.write_whole(target, [pages.render(body, str(source))], outputs.REPORT)
    print(printable(f"wrote {target}"))
    return DONE


def without(audit: Audit, source: Path) -> Reason:
    """Return the warning about a record whose texts are missing."""
    from calm.results.audit import texts_path
    from calm.results.redaction import NOTE

    beside = texts_path(source)
    if beside.exists() or NOTE in audit.run.notes:
        return NONE
    return because(Kind.TEXTS_NOT_FOUND, beside.name, source.name)


def with_note(audit: Audit, note: Reason) -> Audit:
    """Return an audit with one more note, which every form of it shows."""
    if not note:
        return audit
    return replace(audit, run=replace(audit.run, notes=tuple(dict.fromkeys([*audit.run.notes, note]))))


def _writer(form: str, limit: int | None, gate: str | None, *, texts: bool) -> Callable[[Audit, Path], None]:
    from calm.results import audit as record
    from calm.results.reports import html, markdown, one_page, sarif, tables

    def summary(audit: Audit, path: Path) -> None:
        markdown.write(audit, path, limit=markdown.SUMMARY if limit is None else limit)

    def published(audit: Audit, path: Path) -> None:
        record.write(audit, path, texts=texts)

    writers: Mapping[str, Callable[[Audit, Path], None]] = {
        "html": html.write,
        "one-page": one_page.write,
        "markdown": summary,
        "comment": lambda audit, path: markdown.write_comment(audit, path, gate=gate or "gate"),
        "sarif": lambda audit, path: sarif.write(audit, path, root=Path.cwd()),
        "junit": sarif.write_junit,
        "csv": tables.write_csv,
        "parquet": tables.write_parquet,
        "json": published,
    }
    return writers[form]
