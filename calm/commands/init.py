"""`calm init`: write a judge, its cases and a CI workflow, from a prompt, a log, a table, or from nothing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Final, cast, get_args

from calm.commands import DONE, REFUSED, add_command, attempt, init_files, logs
from calm.commands.file_set import put
from calm.commands.init_drafts import RECORDED, USUAL, draft_cases, draft_judge, of_log
from calm.commands.init_prompts import Draft, prompt_of
from calm.core.verdict import Task
from calm.errors import CalmError, ConfigError
from calm.models.address import Provider
from calm.results.wording import printable

TASKS: Final[tuple[Task, ...]] = get_args(Task)
PROVIDERS: Final[tuple[Provider, ...]] = get_args(Provider)
CI: Final = ("github", "gitlab", "none")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `init`."""
    init = add_command(
        commands,
        "init",
        "Write what an audit needs: judge.toml, its prompt with the negative twin, cases.jsonl, gate.toml and a CI "
        "workflow. It starts from a prompt file, a log of another tool, a table, or from nothing. At a terminal "
        "it asks what no option says. At the end it tries the judge on one case, if it has a key.",
        "calm init --prompt prompt.txt --cases sixty.csv --model gpt-4.1-mini",
    )
    init.add_argument("--dir", default=".", metavar="DIR", help="the folder to write to (default: this one)")
    init.add_argument("--task", choices=TASKS, metavar="TASK", help=f"the judge's kind: {', '.join(TASKS)}")
    init.add_argument("--prompt", metavar="FILE", help="a prompt that you have, with placeholders of any tool")
    init.add_argument("--system", metavar="FILE", help="with --prompt: the system message before it")
    init.add_argument("--negative", metavar="FILE", help="with --prompt: its twin, which asks the other way round")
    init.add_argument("--log", action="append", default=[], metavar="FILE", help="results of another tool (repeatable)")
    init.add_argument("--cases", metavar="FILE", help="cases, or a table of them")
    init.add_argument(
        "--map", action="append", default=[], metavar="FIELD=COLUMN", help="which column holds a field (repeatable)"
    )
    init.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="WORD=MEANING",
        help="what a WORD of a verdict means (repeatable)",
    )
    logs.add_options(init)
    init.add_argument("--name", metavar="NAME", help="how reports call the judge (default: after the folder)")
    init.add_argument("--provider", choices=PROVIDERS, metavar="API", help=f"{', '.join(PROVIDERS)} (default openai)")
    init.add_argument("--model", metavar="MODEL", help="the model's name, as its server knows it")
    init.add_argument("--base-url", metavar="URL", help="a compatible server, such as http://127.0.0.1:8000/v1")
    init.add_argument("--api-key-env", metavar="NAME", help="the name of the variable that holds the key")
    init.add_argument("--ci", choices=CI, metavar="CI", help="github, gitlab or none (default github)")
    init.add_argument("--force", action="store_true", help="overwrite files that are there")
    init.set_defaults(run=_init)


def _init(options: argparse.Namespace) -> int:
    folder = Path(options.dir)
    _refuse(options)
    _ask(options)
    draft = Draft()
    found = of_log(options, draft)
    prompt = prompt_of(options, found, draft)
    if prompt is not None:
        draft_cases(options, prompt, found, draft)
        draft_judge(options, prompt, found, draft)
    else:
        draft.judge = RECORDED
    key = init_files.check(draft.files, draft.judge)
    draft.files["gate.toml"] = init_files.GATE
    if prompt is not None and options.ci != "none":
        _add_workflow(options, draft, key)
    files = {_place(folder, name): text for name, text in draft.files.items()}
    there = [path for path in files if path.exists() or path.is_symlink()]
    given = {Path(one).resolve() for one in (options.prompt, options.system, options.negative, options.cases) if one}
    given |= {Path(one).resolve() for one in options.log}
    if taken := [str(path) for path in files if path.resolve() in given]:
        raise ConfigError(f"expected --dir DIR, as {', '.join(taken)} would be written over what is read, got the same")
    if there and not options.force:
        verb, them = ("exists", "it") if len(there) == 1 else ("exist", "them")
        names = ", ".join(map(str, there))
        _say(
            f"calm: {names} {verb} already, so nothing was written; to write over {them}, as after a calm init that "
            "was stopped half way, add --force",
            error=True,
        )
        return REFUSED
    judges = [folder / name for name in draft.files if name in (draft.judge, RECORDED)]
    put(files, init_files.WRITTEN, judges=judges, force=options.force)
    _say(f"wrote {', '.join(map(str, files))}")
    for note in draft.notes:
        _say(f"note: {note}")
    for line in _linted(folder / draft.judge) if prompt is not None else ():
        _say(f"note: {line}")
    return _tried(folder, draft.judge, key)


def _add_workflow(options: argparse.Namespace, draft: Draft, key: str | None) -> None:
    """Draft the workflow, and say what is left to do for it."""
    from calm.commands.init_ci import workflow

    made = workflow(options.ci or "github", Path(options.dir), key)
    draft.files[made.place] = made.text
    if made.left:
        draft.notes.append(made.left)
    if key is None:
        where = f": {options.base_url} must answer where it runs" if options.base_url else ""
        draft.notes.append(f"the judge needs no key, so the workflow has none{where}")


def _place(folder: Path, name: str) -> Path:
    """Return where a file goes, as a person names it from where they are; `folder` need not be there yet."""
    if not name.startswith("../"):
        return folder / name
    place = Path(os.path.normpath(folder.resolve() / name))
    here = Path.cwd()
    return place.relative_to(here) if place.is_relative_to(here) else place


def _refuse(options: argparse.Namespace) -> None:
    """Refuse options that say two things at once, before anybody is asked."""
    faults = [
        f"--{name}: expected --prompt FILE beside it, got none"
        for name in ("system", "negative")
        if getattr(options, name) and not options.prompt
    ]
    if options.prompt and options.log:
        faults.append("--prompt, --log: expected one of them, as a log brings its own prompt; take one out")
    if logs.asked_for(options) and not options.log:
        faults.append("--from, --metric, --gold, --scale: expected --log FILE beside them, got none")
    if options.cases and options.log:
        faults.append("--cases, --log: expected one of them, as a log brings its own cases; take one out")
    if faults:
        raise ConfigError(faults)


def _linted(path: Path) -> Iterator[str]:
    """Yield the errors that the linter finds in the judge that was written, and a line that counts all findings."""
    from calm.commands.lint_shown import counted
    from calm.judges.lint import lint, subjects_of

    found = lint(subjects_of(path))
    for one in found.findings:
        if one.rule.severity == "error":
            yield f"{one.place.file}:{one.place.line}: error: {one.rule.id}: {one.words}; {one.fix}"
    if found.findings:
        yield f"{counted(found)} in the prompt; see: calm lint {quote(str(path))}"


# ------------------------------------------------------------------------------------------------------ the questions


def _ask(options: argparse.Namespace) -> None:
    """Ask a person at a terminal what no option says; nobody is asked anywhere else."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if not options.log and not options.prompt and options.task is None:
        options.task = _chosen("What does the judge do", TASKS, "pairwise")
    if options.provider is None and not options.log:
        options.provider = _chosen("Which API does its model have", PROVIDERS, "openai")
    if options.model is None and not options.log:
        usual = USUAL[cast("Provider", options.provider or "openai")]
        options.model = _answered(f"Which model [{usual}]? ") or usual
    if options.ci is None:
        options.ci = _chosen("A workflow for which CI", CI, "github")


def _chosen(question: str, known: Sequence[str], usual: str) -> str:
    while True:
        said = _answered(f"{question}: {', '.join(known)} [{usual}]? ") or usual
        if said in known:
            return said
        _say(f"expected one of {', '.join(known)}, got {said}")


def _answered(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        return ""


# ------------------------------------------------------------------------------------------------------------- the try


def _tried(folder: Path, judge: str, key: str | None) -> int:
    """Ask the judge about one case, unless its key lacks; say what to do next."""
    path, cases = folder / judge, folder / "cases.jsonl"
    named = f"{quote(str(path))} --cases {quote(str(cases))}"
    if key is not None and not os.environ.get(key, "").strip():
        _say(f"no call was made, as {key} is not set: export {key}=..., then: calm try {named}")
        return DONE
    _say("one case, to see that the judge answers:")
    parser = argparse.ArgumentParser(prog="calm")
    attempt.register(parser.add_subparsers())
    options = parser.parse_args(["try", str(path), "--cases", str(cases)])
    try:
        status: int = options.run(options)
    except CalmError as error:
        problems = error.problems if isinstance(error, ConfigError) else str(error).splitlines()
        for problem in problems:
            _say(f"calm: {problem}", error=True)
        status = REFUSED
    if status != DONE:
        _say(f"the files are written; when this is fixed: calm try {named}", error=True)
        return REFUSED
    _say(f"next: calm audit {named}")
    return DONE


def _say(text: str, *, error: bool = False) -> None:
    print(printable(text), file=sys.stderr if error else sys.stdout)
