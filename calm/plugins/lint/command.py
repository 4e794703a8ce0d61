"""`calm lint`: read a judge's prompt before any call, and say what will go wrong."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from calm.commands import CASES, CONFIGURATION, DONE, REFUSED, add_command
from calm.core.verdict import Task
from calm.errors import ConfigError, nearest
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.models.wire import Judge
    from calm.plugins.lint.page import Role
    from calm.plugins.lint.shown import Checked

FORMATS = ("text", "json", "sarif")
FAIL_ON = ("error", "warning", "note")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `lint`."""
    lint = add_command(
        commands,
        "lint",
        "Read the prompt of a judge, and say what will go wrong. Each finding has its line, why it matters, the "
        "evidence and the fix. No model is called. A file that is no .toml is a prompt with placeholders such as "
        "{question}, or a template: then the judge.toml beside it that names it is read.",
        "calm lint judge.toml --fail-on warning",
    )
    lint.add_argument("files", nargs="*", metavar="FILE", help="a judge.toml, or a file with a prompt (several)")
    lint.add_argument(
        "--task",
        choices=get_args(Task),
        metavar="TASK",
        help=f"what a prompt file is for: {', '.join(get_args(Task))} (default: what its placeholders say)",
    )
    lint.add_argument(
        "--slot",
        action="append",
        default=[],
        metavar="NAME=ROLE",
        help="what a placeholder of a prompt file holds: question, answer, reference, context, criteria or name "
        "(repeatable)",
    )
    lint.add_argument(
        "--allow", action="append", default=[], metavar="'RULE REASON'", help="accept what a rule finds (repeatable)"
    )
    lint.add_argument("--cases", action="append", default=[], metavar="FILE", help=f"{CASES}; they must fit the model")
    lint.add_argument("--context", type=int, metavar="TOKENS", help="what the model takes, where calm does not know it")
    lint.add_argument(
        "--format", choices=FORMATS, default="text", metavar="FORM", help="text, json or sarif (default text)"
    )
    lint.add_argument("-o", "--out", metavar="FILE", help="also write them to a file: .sarif or .json")
    lint.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="error",
        metavar="SEVERITY",
        help="exit with 1 from this severity on: error, warning or note (default error)",
    )
    lint.add_argument("--rules", action="store_true", help="list the rules instead")
    lint.set_defaults(run=_lint)


def _lint(options: argparse.Namespace) -> int:
    from calm.plugins.lint.shown import in_text, listed
    from calm.plugins.lint.subject import judges_of

    if options.rules:
        print("\n".join(listed()))
        return DONE
    if not options.files:
        raise ConfigError("calm lint: expected a judge.toml or a file with a prompt, such as calm lint judge.toml")
    if options.context is not None and options.context < 1:
        raise ConfigError(f"--context: expected a number of tokens above 0, got {options.context}")
    out = None if options.out is None else Path(options.out)
    if out is not None and out.suffix not in (".sarif", ".json"):
        raise ConfigError(f"--out: expected a file that ends with .sarif or .json, got {options.out!r}")
    roles = _roles(options.slot)
    checked: list[Checked] = []
    problems: list[str] = []
    alone = bool(options.task or roles)
    files = [one for name in options.files for one in ([Path(name)] if alone else judges_of(Path(name)))]
    for path in dict.fromkeys(files):
        try:
            checked.append(_checked(path, options, roles))
        except ConfigError as error:
            problems += error.problems
    if checked or options.format != "text":
        if options.format == "text":
            print(fitted("\n".join(map(printable, in_text(checked))), sys.stdout))
        else:
            print(_made(options.format, checked, problems))
    if out is not None:
        _write(out, checked, problems)
    if problems:
        raise ConfigError(problems)
    return REFUSED if any(one.result.at_least(options.fail_on) for one in checked) else DONE


def _made(form: str, checked: Sequence[Checked], problems: Sequence[str]) -> str:
    from calm.plugins.lint.shown import in_json, in_sarif

    return json.dumps(in_json(checked) if form == "json" else in_sarif(checked, problems), ensure_ascii=False, indent=1)


def _write(path: Path, checked: Sequence[Checked], problems: Sequence[str]) -> None:
    from calm.results import outputs

    form = path.suffix.removeprefix(".")
    outputs.write_whole(
        path, [_made(form, checked, problems), "\n"], outputs.SARIF if form == "sarif" else outputs.LINTED
    )


def _checked(path: Path, options: argparse.Namespace, roles: Mapping[str, Role]) -> Checked:
    from calm.judges.judgefile import remembered
    from calm.plugins.lint.linting import lint
    from calm.plugins.lint.shown import Checked
    from calm.plugins.lint.subject import subject_of, subjects_of

    if path.suffix == ".toml":
        if options.task or roles:
            raise ConfigError(f"{path}: --task and --slot are for prompt files; a judge.toml says both itself")
        subjects = subjects_of(path, _cases(options.cases or remembered(str(path))), options.context)
    else:
        if options.cases or options.context:
            raise ConfigError(f"{path}: --cases and --context are for a judge.toml, which says which model is asked")
        subjects = [subject_of(path, options.task, roles)]
    tasks = tuple(dict.fromkeys(subject.task for subject in subjects))
    return Checked(str(path), tasks, lint(subjects, options.allow))


def _cases(files: Sequence[str]) -> Callable[[Judge], Sequence[Case]]:
    def found(judge: Judge) -> Sequence[Case]:
        from calm.gate.from_spec import cases_from

        return cases_from(files, judge)

    return found


def _roles(slots: Sequence[str]) -> dict[str, Role]:
    from calm.plugins.lint.page import Role

    roles: dict[str, Role] = {}
    known = [role for role in get_args(Role) if role not in ("note", "draft", "example")]
    for one in slots:
        name, _, wanted = one.partition("=")
        role: Role | None = next((role for role in known if role == wanted.strip()), None)
        if not name.strip() or role is None:
            hint = nearest(wanted.strip(), known) if wanted else "; such as --slot output=answer"
            raise ConfigError(f"--slot: expected NAME=ROLE, got {one!r}{hint}")
        roles[name.strip()] = role
    return roles


def before_audit(spec: str, cases: Sequence[str]) -> int:
    """
    Say what the linter finds in a judge.toml, and return 4, if an audit of it is pointless; else return 0.

    It is pointless where the judge does not see what it judges or what the answers rest on, or where no reply that
    follows the prompt can be read. The other errors are said by the run itself.
    """
    from calm.plugins.lint.linting import Linted, lint
    from calm.plugins.lint.shown import Checked, in_text
    from calm.plugins.lint.subject import subjects_of

    path = Path(spec)
    if path.suffix != ".toml" or not path.is_file():
        return DONE
    try:
        found = lint(subjects_of(path, _cases(cases)))
    except ConfigError:
        return DONE  # the run says what is wrong with the file, or the judge has no prompt
    stops = tuple(one for one in found.findings if one.rule.stops)
    if not stops:
        return DONE
    command = " ".join(["calm lint", _quoted(spec), *(f"--cases {_quoted(file)}" for file in cases)])
    print("\n".join(map(printable, in_text([Checked(spec, (), Linted(stops))]))))
    rules = " or ".join(dict.fromkeys(one.rule.id for one in stops))
    print(
        f"calm: nothing was asked. Fix the prompt, or accept {rules} with a line in {printable(spec)}: "
        f"# calm: allow {stops[0].rule.id} REASON; all findings: {command}"
    )
    return CONFIGURATION


def _quoted(text: str) -> str:
    from calm.core.files import quote

    return printable(quote(text))
