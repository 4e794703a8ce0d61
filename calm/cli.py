"""The `calm` command: audit a judge, try it on one case, see a failing report without spending anything."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from textwrap import indent

from calm import __version__
from calm.audit import Audit
from calm.case import Case
from calm.edits import Edit
from calm.errors import CalmError, ConfigError, nearest
from calm.verdict import code
from calm.wording import printable

DONE, REFUSED, CONFIGURATION = 0, 1, 4
DEMO = "planted:verbosity=0.35,authority=0.5,noise=0.03,seed=7"


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command and return its exit status: 0 done, 1 refused or a claim not proven, 4 configuration.

    Usage errors leave with status 2, as is the custom of command lines.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    options = _parser().parse_args(given[:end])
    options.pytest = given[end + 1 :]  # argparse would take them only straight behind the judge
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except CalmError as error:
        print(f"calm: {error}", file=sys.stderr)
        return CONFIGURATION
    except KeyboardInterrupt:
        print("calm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left: `calm try ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="calm", description="The regression gate for LLM judges.")
    parser.add_argument("--version", action="version", version=f"calm {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    judge_help = "lexical, planted:..., a path to a judge.toml, or package.module:attribute"

    audit = commands.add_parser(
        "audit", help="run all suites on a judge and write a report", epilog="Options of pytest may follow after --."
    )
    audit.add_argument("judge", metavar="JUDGE", help=judge_help)
    audit.add_argument("--cases", action="append", default=[], metavar="FILE", help="cases as JSON Lines (repeatable)")
    audit.add_argument("--out", default="calm-audit", metavar="DIR", help="where to write (default calm-audit)")
    audit.set_defaults(run=_audit)

    attempt = commands.add_parser("try", help="ask a judge about one case: prompt, reply, verdict")
    attempt.add_argument("judge", metavar="JUDGE", help=judge_help)
    attempt.add_argument("--cases", action="append", default=[], metavar="FILE", help="cases as JSON Lines")
    attempt.add_argument("--case", metavar="ID", help="which case (default: the first)")
    attempt.add_argument("--edit", metavar="NAME", help="a perturbation: authority.cite_book, or package.module:name")
    attempt.add_argument("--seed", type=int, default=0, metavar="I", help="seed of the edit (default 0)")
    attempt.set_defaults(run=_try)

    accept = commands.add_parser("accept", help="write a reviewed baseline from the results of a run")
    accept.add_argument("results", metavar="RESULTS", help="a file that --calm-results wrote")
    accept.add_argument("-o", "--out", default="baseline.json", metavar="FILE", help="default baseline.json")
    accept.set_defaults(run=_accept)

    compare = commands.add_parser("compare", help="say what changed between the results of two runs")
    compare.add_argument("old", metavar="OLD", help="results or a baseline")
    compare.add_argument("new", metavar="NEW", help="results or a baseline")
    compare.add_argument("--lines", type=int, default=40, metavar="N", help="lines a part (default 40)")
    compare.set_defaults(run=_compare)

    demo = commands.add_parser("demo", help="show a failing report of a planted judge; no model, no cost")
    demo.add_argument("--out", default="calm-demo", metavar="DIR", help="where to write (default calm-demo)")
    demo.set_defaults(run=_demo)
    return parser


def _gate(judge: str, out: Path, options: Sequence[str]) -> int:
    """Run the shipped suites in this process, independent of any pytest settings of the current folder."""
    import pytest

    with _importable(Path.cwd()):
        return int(
            pytest.main(
                [
                    "--pyargs",
                    "calm.suites",
                    "--import-mode=importlib",
                    f"--rootdir={Path.cwd()}",
                    "-c",
                    os.devnull,
                    "-p",
                    "no:cacheprovider",
                    "--tb=no",
                    "-q",
                    "-W",  # an editable install is imported before pytest can rewrite it
                    "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning",
                    f"--calm-judge={judge}",
                    f"--calm-report={out / 'report.html'}",
                    f"--calm-results={out / 'results.json'}",
                    *options,
                ]
            )
        )


def _audit(options: argparse.Namespace) -> int:
    files = [f"--calm-cases={f}" for f in options.cases]
    status = _gate(options.judge, Path(options.out), [*files, *options.pytest])
    return status if status in (DONE, REFUSED) else CONFIGURATION if status == CONFIGURATION else REFUSED


def _demo(options: argparse.Namespace) -> int:
    out = Path(options.out)
    print(f"A simulated judge with planted biases ({DEMO}): it prefers padded answers and cited books.\n")
    status = _gate(DEMO, out, ["--calm-cache=off"])
    if status not in (DONE, REFUSED):
        return CONFIGURATION
    print(f"\nThe gate is red, as it should be. Open {out / 'report.html'}.")
    return DONE


def _accept(options: argparse.Namespace) -> int:
    from calm.audit import read
    from calm.baseline import write_baseline

    try:
        write_baseline(read(Path(options.results)), Path(options.out))
    except ConfigError as error:
        print(f"calm: {error}", file=sys.stderr)
        return REFUSED
    print(f"wrote {options.out}: review it, keep it under version control, use it with --calm-baseline={options.out}")
    return DONE


def _compare(options: argparse.Namespace) -> int:
    from calm.compare import compare, render_text

    old, new = (_record(Path(name)) for name in (options.old, options.new))
    print(render_text(compare(old, new), get_terminal_size().columns, lines=options.lines))
    return DONE


def _record(path: Path) -> Audit:
    """Return an audit from a results file or a baseline."""
    from calm.audit import read
    from calm.baseline import SCHEMA, read_baseline

    with suppress(OSError, UnicodeDecodeError):
        if f'"{SCHEMA}"' in path.read_text("utf-8")[:200]:
            return read_baseline(path)
    return read(path)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let a judge `package.module:attribute` be found in the current folder, as `python -m` does."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _try(options: argparse.Namespace) -> int:
    from calm.config import cases_from, judge_from
    from calm.engine import Engine
    from calm.experiment import Setup, pair_up
    from calm.store import Mode, Store

    judge = judge_from(options.judge)
    case = _chosen(cases_from(options.cases, judge), options.case)
    edit = find_edit(options.edit) if options.edit else None
    engine = Engine(Store(None, Mode.OFF))
    try:
        engine.greet(judge)
        setup = Setup(judge, (case,), engine, options.seed)
        pairs, excluded, lost = pair_up(setup, edit, None)
        if not pairs:
            raise ConfigError(f"case {case.id!r}: {edit!r} {next(iter([*excluded, *lost]))}")
        print(f"case {case.id}: {_shown(case.question)}")
        _show(engine, setup, pairs[0].base, "as it is")
        if pairs[0].edited is not None:
            _show(engine, setup, pairs[0].edited, f"after {pairs[0].variant} ({edit.expects if edit else ''})")
    finally:
        engine.close()
    return DONE


def _show(engine: object, setup: object, case: Case, title: str) -> None:
    from calm.engine import Engine
    from calm.experiment import Setup

    assert isinstance(engine, Engine)
    assert isinstance(setup, Setup)
    asked = engine.ask(setup.judge, [(case, 1)])[0]
    print(f"\n== {title}")
    for key in asked.calls:
        for message in engine.store.prompt(key):
            print(f"-- {message.role}\n{indent(_shown(message.text), '   ')}")
        reply = engine.store.get(key)
        print(f"-- reply\n{indent(_shown(reply.text if reply else ''), '   ')}")
    said = getattr(asked.verdict, "reason", "")
    reason = f" ({_shown(said)})" if said else ""
    print(f"-- verdict: {code(asked.verdict)}{reason}")


def _shown(text: str) -> str:
    return printable(text, keep="\n\t")


def _chosen(cases: Sequence[Case], wanted: str | None) -> Case:
    if wanted is None:
        return cases[0]
    by_id = {c.id: c for c in cases}
    if wanted not in by_id:
        raise ConfigError(f"--case: there is no case {wanted!r} among {len(cases)}{nearest(wanted, list(by_id)[:20])}")
    return by_id[wanted]


def find_edit(name: str) -> Edit:
    """
    Return a perturbation by name: `cite_book`, `authority.cite_book`, or `package.module:name` for one of your own.

    Raises:
        ConfigError: there is none of this name, or it is no perturbation.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            with _importable(Path.cwd()):
                found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"--edit {name}: {error}") from error
        if not isinstance(found, Edit):
            raise ConfigError(f"--edit {name}: expected a perturbation, got {type(found).__name__}")
        return found
    edits = dict(shipped_edits())
    matches = [e for key, e in edits.items() if name in (key, key.partition(".")[2])]
    if not matches:
        names = edits if "." in name else [key.partition(".")[2] for key in edits]
        raise ConfigError(f"--edit {name}: there is no such perturbation{nearest(name, names)}")
    return matches[0]


def shipped_edits() -> Iterator[tuple[str, Edit]]:
    """Yield `module.name` and perturbation for all that calm ships and that need no argument."""
    from calm import perturbations

    for module in pkgutil.iter_modules(perturbations.__path__):
        for name, value in vars(importlib.import_module(f"calm.perturbations.{module.name}")).items():
            if isinstance(value, Edit):
                yield f"{module.name}.{name}", value


if __name__ == "__main__":
    sys.exit(main())
