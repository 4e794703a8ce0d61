"""The `calm` command: audit a judge, try it on one case, see a failing report without spending anything."""

from __future__ import annotations

import argparse
import glob
import importlib
import importlib.util
import inspect
import io
import os
import pkgutil
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from textwrap import indent
from typing import TYPE_CHECKING

from calm import __version__
from calm.audit import Audit
from calm.case import Case
from calm.edits import Edit
from calm.errors import CalmError, ConfigError, nearest
from calm.verdict import code
from calm.wording import printable

if TYPE_CHECKING:
    from calm.experiment import Design
    from calm.planning import Assumptions, Budget, Fit
    from calm.pytest_plugin import Planner
    from calm.wire import Judge

DONE, REFUSED, CONFIGURATION = 0, 1, 4
SIZED = ("net_robustness", "gain", "consistency_rate", "accuracy", "readable_rate")
JUDGES = "lexical, planted:..., a path to a judge.toml, or package.module:attribute"
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
    audit = commands.add_parser(
        "audit", help="run all suites on a judge and write a report", epilog="Options of pytest may follow after --."
    )
    audit.add_argument("judge", metavar="JUDGE", help=JUDGES)
    audit.add_argument("--cases", action="append", default=[], metavar="FILE", help="cases as JSON Lines (repeatable)")
    audit.add_argument("--out", default="calm-audit", metavar="DIR", help="where to write (default calm-audit)")
    audit.set_defaults(run=_audit)

    attempt = commands.add_parser("try", help="ask a judge about one case: prompt, reply, verdict")
    attempt.add_argument("judge", metavar="JUDGE", help=JUDGES)
    attempt.add_argument("--cases", action="append", default=[], metavar="FILE", help="cases as JSON Lines")
    attempt.add_argument("--case", metavar="ID", help="which case (default: the first)")
    attempt.add_argument("--edit", metavar="NAME", help="a perturbation: authority.cite_book, or package.module:name")
    attempt.add_argument("--seed", type=int, default=0, metavar="I", help="seed of the edit (default 0)")
    attempt.set_defaults(run=_try)

    _add_paper_commands(commands)
    demo = commands.add_parser("demo", help="show a failing report of a planted judge; no model, no cost")
    demo.add_argument("--out", default="calm-demo", metavar="DIR", help="where to write (default calm-demo)")
    demo.set_defaults(run=_demo)
    return parser


def _add_paper_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands that read what runs wrote, and those that say what a run would need."""
    accept = commands.add_parser("accept", help="write a reviewed baseline from the results of a run")
    accept.add_argument("results", metavar="RESULTS", help="a file that --calm-results wrote")
    accept.add_argument("-o", "--out", default="baseline.json", metavar="FILE", help="default baseline.json")
    accept.set_defaults(run=_accept)

    compare = commands.add_parser("compare", help="say what changed between the results of two runs")
    compare.add_argument("old", metavar="OLD", help="results or a baseline")
    compare.add_argument("new", metavar="NEW", help="results or a baseline")
    compare.add_argument("-o", "--out", metavar="FILE.html", help="also write the comparison as a page")
    compare.add_argument("--lines", type=int, default=40, metavar="N", help="lines a part (default 40)")
    compare.set_defaults(run=_compare)

    plan = commands.add_parser(
        "plan",
        help="say what a run will ask and cost; no call is made",
        epilog="Options of pytest may follow after --.",
    )
    plan.add_argument("judge", metavar="JUDGE", help=JUDGES)
    plan.add_argument("--cases", action="append", default=[], metavar="FILE", help="cases as JSON Lines (repeatable)")
    plan.add_argument("--sample", metavar="N", help="at most so many cases (default 200; with --fit: all)")
    plan.add_argument("--repeats", metavar="K+M", help="clean and perturbed asks a case (default 4+2)")
    plan.add_argument("--output-tokens", type=int, default=200, metavar="N", help="tokens of a reply (default 200)")
    plan.add_argument("--call-seconds", type=float, default=2.0, metavar="S", help="seconds a call (default 2)")
    plan.add_argument("--fit", action="store_true", help="find the sample and repeats that a budget allows")
    plan.add_argument("--max-usd", type=float, metavar="X", help="with --fit: the most to spend, in US dollars")
    plan.add_argument("--max-minutes", type=float, metavar="M", help="with --fit: the longest time")
    plan.add_argument(
        "--noise", type=float, default=0.05, metavar="V", help="with --fit: share of asks in which the judge errs"
    )
    plan.set_defaults(run=_plan)

    power = commands.add_parser("power", help="say how many cases and repeats a claim needs")
    power.add_argument("--measure", default="net_robustness", metavar="NAME", help=f"one of {', '.join(SIZED)}")
    power.add_argument(
        "--limit", type=float, metavar="X", help="limit of the claim (default 0.05: net_robustness >= 0.95; gain 0.10)"
    )
    power.add_argument("--true", type=float, metavar="X", help="what is true of the judge (default 0: no effect)")
    power.add_argument("--noise", type=float, default=0.05, metavar="V", help="share of asks that err (default 0.05)")
    power.add_argument("--close-calls", type=float, default=0.0, metavar="V", help="share of cases (default 0)")
    power.add_argument("--probes", type=int, default=12, metavar="N", help="probes that pass together (default 12)")
    power.add_argument("--cases", type=int, metavar="N", help="only this number of cases (default 40 to 400)")
    power.add_argument("--repeats", default="4+2", metavar="K+M", help="clean and perturbed asks a case (default 4+2)")
    power.set_defaults(run=_power)


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
    found = compare(old, new)
    print(render_text(found, get_terminal_size().columns, lines=options.lines))
    if options.out:
        from calm.reports import comparison

        comparison.write(found, old, new, Path(options.out))
        print(f"wrote {options.out}")
    return DONE


def _record(path: Path) -> Audit:
    """Return an audit from a results file or a baseline."""
    from calm.audit import read
    from calm.baseline import SCHEMA, read_baseline

    with suppress(OSError, UnicodeDecodeError):
        if f'"{SCHEMA}"' in path.read_text("utf-8")[:200]:
            return read_baseline(path)
    return read(path)


def _power(options: argparse.Namespace) -> int:
    from calm.sizing import power_report, question

    asked = question(options.measure, options.limit, options.true, options.noise, options.close_calls)
    print(power_report(asked, probes=options.probes, cases=options.cases, repeats=options.repeats))
    return DONE


def _plan(options: argparse.Namespace) -> int:
    from calm import planning
    from calm.config import cases_from, judge_from

    assumptions, budget = _assumptions(options), _budget(options)
    judge = judge_from(options.judge)
    if options.cases:
        cases_from(options.cases, judge)  # their faults are said here, before any test is collected
    planner = _planned(judge, options)
    found = planning.survey(planner.record, judge, planner.cases or (), planner.settings)
    found = replace(found, skipped=(*found.skipped, *planner.skipped))
    design = found.settings.design
    if budget is None:
        plan = planning.plan_of(found, len(found.cases), design, assumptions)
        text, fits = planning.render(found, plan, assumptions), True
    else:
        one = planning.fit(found, budget, options.noise, _designs(options, design), assumptions)
        text = f"{planning.render(found, one.plan, assumptions)}\n\n{planning.render_fit(one, budget, options.noise)}"
        if fits := one.enough:
            text += f"\n\n{_command(options, planner, one, budget)}"
    print(printable(text, "\n"))
    for node, reason in planner.troubles:
        print(f"calm: not planned: {node}: {printable(reason)}", file=sys.stderr)
    return DONE if fits and not planner.troubles else REFUSED


def _assumptions(options: argparse.Namespace) -> Assumptions:
    """
    Return what a plan assumes.

    Raises:
        ConfigError: a number that cannot be, with its option.
    """
    from calm.planning import Assumptions

    problems = []
    if options.output_tokens < 1:
        problems.append(f"--output-tokens: expected a whole number of at least 1, got {options.output_tokens}")
    if not 0 < options.call_seconds < float("inf"):
        problems.append(f"--call-seconds: expected a number above 0, got {options.call_seconds!r}")
    if problems:
        raise ConfigError(problems)
    return Assumptions(options.output_tokens, options.call_seconds)


def _budget(options: argparse.Namespace) -> Budget | None:
    """
    Return the budget to fit a run into, if one is asked for.

    Raises:
        ConfigError: an amount that cannot be, none at all, or one without `--fit`.
    """
    from calm.planning import Budget

    amounts = {"--max-usd": options.max_usd, "--max-minutes": options.max_minutes}
    given = {name: amount for name, amount in amounts.items() if amount is not None}
    problems = [f"{n}: expected an amount above 0, got {a!r}" for n, a in given.items() if not 0 < a < float("inf")]
    if not 0 <= options.noise < 0.5:
        problems.append(f"--noise: expected a share of wrong asks from 0 to below 0.5, got {options.noise!r}")
    if options.fit and not given:
        problems.append("--fit: expected a budget, --max-usd or --max-minutes or both, got none")
    if given and not options.fit:
        problems.append(f"{next(iter(given))}: expected --fit with it, which finds the sample that the budget allows")
    if problems:
        raise ConfigError(problems)
    return Budget(options.max_usd, options.max_minutes) if options.fit else None


def _planned(judge: Judge, options: argparse.Namespace) -> Planner:
    """
    Run the shipped suites, or the paths given, with probes that ask nothing; show nothing of it unless it fails.

    Raises:
        ConfigError: no probe could be planned.
    """
    import pytest

    from calm import suites
    from calm.pytest_plugin import Planner

    planner = Planner(judge)
    sample = options.sample or ("1000000000" if options.fit else None)
    distributed = importlib.util.find_spec("xdist") is not None and "no:xdist" not in options.pytest
    arguments = [
        "--import-mode=importlib",
        f"--rootdir={Path.cwd()}",
        "-c",
        os.devnull,
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning",
        "-o",  # what is run if no path is given
        f"testpaths={shlex.quote(glob.escape(suites.__path__[0]))}",
        *(f"--calm-cases={file}" for file in options.cases),
        *([f"--calm-sample={sample}"] if sample else []),
        *([f"--calm-repeats={options.repeats}"] if options.repeats else []),
        *options.pytest,
        *(["-n0"] if distributed else []),  # what is recorded stays in this process
    ]
    told = io.StringIO()
    with _importable(Path.cwd()), redirect_stdout(told), redirect_stderr(told):
        status = pytest.main(arguments, plugins=[planner])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not planner.record:
        said = told.getvalue().strip() or "no test uses `probe`"
        raise ConfigError(f"nothing could be planned, as pytest ended with status {int(status)}:\n{said}")
    return planner


def _designs(options: argparse.Namespace, given: Design) -> list[Design]:
    """Return the designs to try: the one that is given, else the default and the cheapest that shows noise."""
    from calm.experiment import Design

    chosen = options.repeats or any(option.startswith("--calm-repeats") for option in options.pytest)
    return [given] if chosen else [Design(4, 2), Design(2, 2)]


def _command(options: argparse.Namespace, planner: Planner, one: Fit, budget: Budget) -> str:
    """Return the command line that runs what fits."""
    own = [option for option in options.pytest if not option.startswith(("--calm-sample", "--calm-repeats"))]
    words = [
        "pytest",
        *([] if planner.paths else ["--pyargs", "calm.suites"]),
        *own,
        f"--calm-judge={options.judge}",
        *(f"--calm-cases={file}" for file in options.cases),
        f"--calm-sample={one.sample}",
        f"--calm-repeats={one.design}",
        *([f"--calm-max-usd={budget.usd:g}"] if budget.usd is not None else []),
    ]
    return shlex.join(words)


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
    edit = find_edit(options.edit, str(judge.about.get("model") or judge.name)) if options.edit else None
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


def find_edit(name: str, model: str = "") -> Edit:
    """
    Return a perturbation by name: `cite_book`, `authority.cite_book`, or `package.module:name` for one of your own.

    What follows an @ is the argument of one that takes one, as in `expand@3`; `model` is that of those that need a
    model's name.

    Raises:
        ConfigError: there is none of this name, it is no perturbation, or its argument is missing or wrong.
    """
    plain, _, argument = name.partition("@")
    if ":" in plain:
        module, _, attribute = plain.partition(":")
        try:
            with _importable(Path.cwd()):
                found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"--edit {name}: {error}") from error
    else:
        shipped = dict(shipped_edits())
        matches = [e for key, e in shipped.items() if plain in (key, key.partition(".")[2])]
        if not matches:
            names = shipped if "." in plain else [key.partition(".")[2] for key in shipped]
            raise ConfigError(f"--edit {name}: there is no such perturbation{nearest(plain, names)}")
        found = matches[0]
    if not isinstance(found, Edit) and callable(found):
        found = _made(name, found, argument, model)
    if not isinstance(found, Edit):
        raise ConfigError(f"--edit {name}: expected a perturbation, got {type(found).__name__}")
    return found


def _made(name: str, factory: Callable[..., object], argument: str, model: str) -> object:
    """Return what a factory of perturbations makes of an argument given as text."""
    parameters = list(inspect.signature(factory).parameters.values())
    if len(parameters) != 1:
        raise ConfigError(
            f"--edit {name}: it takes {len(parameters)} arguments; give one of your own in package.module:name"
        )
    one = parameters[0]
    if not argument and one.name == "model":
        return factory(model)
    if not argument and one.default is not inspect.Parameter.empty:
        return factory()
    convert = {"int": int, "float": float}.get(str(getattr(one.annotation, "__name__", one.annotation)), str)
    try:
        return factory(convert(argument))
    except ValueError as error:
        wanted = f"{name.partition('@')[0]}@{one.name.upper()}"
        raise ConfigError(f"--edit {name}: expected {wanted} with a fitting {one.name}, got {argument!r}") from error


def shipped_edits() -> Iterator[tuple[str, Edit | Callable[..., object]]]:
    """Yield `module.name` and what it names, for all perturbations that calm ships and all that make one."""
    from calm import perturbations

    for info in pkgutil.iter_modules(perturbations.__path__):
        module = importlib.import_module(f"calm.perturbations.{info.name}")
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
            if isinstance(value, Edit) or (own and inspect.signature(value).return_annotation in (Edit, "Edit")):
                yield f"{info.name}.{name}", value


if __name__ == "__main__":
    sys.exit(main())
