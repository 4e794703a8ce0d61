"""The composition root: `--calm-judge SPEC` to a judge, `--calm-cases` to cases."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import Final

from calm.cases import bundled, read_files, upright
from calm.core.case import Case
from calm.core.classes import SHIPPED, Classes
from calm.core.files import MOST_SETTINGS, quote, read_bytes
from calm.core.plugins import find, given, troubles
from calm.core.verdict import Scale
from calm.errors import ConfigError, closest, nearest
from calm.models.secrets import on_guard
from calm.models.wire import Judge

SPECS: Final = (
    "the path of its judge.toml (`calm init` writes one), a Python function as package.module:function, a metric of "
    "another tool as deepeval:package.module:metric, verdicts as recorded:FILE, several judges as panel:A+B, or a "
    "judge of calm's own: lexical or planted"
)
_NO_JUDGES: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys((".txt", ".md", ".jinja", ".jinja2", ".j2", ".prompt"), ("prompt", "--prompt")),
    **dict.fromkeys((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"), ("table", "--cases")),
}
"""What a file is that is given as a judge and is none, and the option of `calm init` that takes it."""
SHOWN = 3
"""So many cases a message names."""


def judge_from(spec: str, env: Mapping[str, str] | None = None, *, keyless: bool = False) -> Judge:
    """
    Return the judge that a specification names; a `keyless` one is for a replay: it needs no key and makes no call.

    Raises:
        ConfigError: no such judge, or one that is set up wrongly; the message lists every fault.
    """
    on_guard()  # a judge of Python code may use the keys of the environment by itself
    kind, _, rest = spec.partition(":")
    if kind == "lexical":
        from calm.judges.lexical import lexical

        return lexical(spec)
    if kind == "planted":
        from calm.perturbations.planted import planted

        return planted(spec)
    if kind == "recorded":
        from calm.judges.recorded import recorded

        return recorded(spec)
    if kind == "panel":
        return _panel(rest, env, keyless=keyless)
    if kind.isidentifier() and (found := find("JUDGES", kind)):
        judge: Judge = found.load()(spec, keyless=keyless)
        return judge
    if rest.count(":") == 1 and kind.isidentifier() and len(kind) > 1 and not Path(spec).exists():
        unknown = f"--calm-judge {spec}: there is no tool {kind!r}{nearest(kind, given('JUDGES'))}"
        raise ConfigError([unknown, *troubles()])
    if (what := _NO_JUDGES.get(Path(spec).suffix.lower())) and Path(spec).is_file():
        raise ConfigError(f"{spec} is a {what[0]}, not a judge. Make one: calm init {what[1]} {quote(spec)}")
    if ":" not in spec and (near := _near(Path(spec))):
        raise ConfigError(f"{spec}: there is no such judge; did you mean {near}?")
    if in_python := _spelt(spec):
        raise ConfigError(f"--calm-judge {spec}: {in_python}")
    if spec.endswith(".toml") or Path(spec).is_file():
        from calm.judges.judgefile import read_judge

        return read_judge(Path(spec), os.environ if env is None else env, keyless=keyless)
    if ":" in spec:
        return _callable(spec, kind, rest)
    close = closest(spec, ["lexical", "planted", "recorded", "panel"])
    hint = f"Did you mean {close}?" if close else f"Give {SPECS}"
    raise ConfigError(f"{spec}: there is no such judge. {hint}")


def _near(path: Path) -> Path | None:
    """Return the judge.toml whose path a misspelt one most likely means; None if there is no such file."""
    if path.exists():
        return None
    try:
        close = closest(path.name, [file.name for file in path.parent.glob("*.toml")])
    except (OSError, ValueError):
        return None
    return path.with_name(close) if close else None


def _panel(names: str, env: Mapping[str, str] | None, *, keyless: bool) -> Judge:
    """Return the panel of the judges that a list with plus signs names; the majority decides."""
    from calm.judges.panel import panel

    members: list[Judge] = []
    problems: list[str] = []
    for name in filter(None, (part.strip() for part in names.split("+"))):
        try:
            members.append(judge_from(name, env, keyless=keyless))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    try:
        return panel(members)
    except ConfigError as error:
        raise ConfigError([f"--calm-judge panel:{names}: {problem}" for problem in error.problems]) from error


_DOTTED: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")


def _spelt(spec: str) -> str:
    """Return how the name of a Python function is written, if a specification looks like one and is none; else ""."""
    drive = PureWindowsPath(spec).drive  # of a path of Windows; "m:" of m:judge is none
    path, _, attribute = spec.removeprefix(drive).partition(":")
    path = f"{drive}{path}"
    if path.endswith(".py"):
        file = Path(path)
        with suppress(ValueError):
            file = file.resolve().relative_to(Path.cwd().resolve())
        if file.is_absolute():
            return f"expected package.module:function; run calm in the folder {str(file.parent)!r}, and name its module"
        module = ".".join(file.with_suffix("").parts)
        known = "" if attribute else f"; functions in it: {', '.join(_functions(file)) or 'none'}"
        return f"expected package.module:function; write {module}:{attribute or 'FUNCTION'}{known}"
    if not attribute and _DOTTED.fullmatch(spec) and not spec.endswith(".toml"):
        module, _, name = spec.rpartition(".")
        return f"expected package.module:function; write {module}:{name}"
    return ""


def _functions(file: Path) -> list[str]:
    """Return the names of the public functions and classes of a file of Python, without running it."""
    try:
        body = ast.parse(read_bytes(file, MOST_SETTINGS)).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [one.name for one in body if isinstance(one, kinds) and not one.name.startswith("_")]


def _callable(spec: str, module: str, attribute: str) -> Judge:
    from calm.judges.code import imported
    from calm.judges.python import PythonJudge

    found = imported(spec, module, attribute, wanted=callable)
    if tool := _tool_of(found):
        raise ConfigError(f"--calm-judge {spec}: it is an object of {tool}; name it {tool}:{spec}")
    if not callable(found):
        raise ConfigError(f"--calm-judge {spec}: expected a callable f(case), got {type(found).__name__}")
    return PythonJudge(found, spec)


def _tool_of(found: object) -> str | None:
    """Return the tool of a plug-in that an object comes from, by the name of its package; None: it is of no tool."""
    first = found[0] if isinstance(found, tuple) and found else found
    modules = [getattr(found, "__module__", None), *(one.__module__ for one in type(first).__mro__)]
    packages = [str(module).partition(".")[0] for module in modules]
    return next((tool for tool in given("JUDGES") for one in packages if f"{one}_".startswith(f"{tool}_")), None)


def cases_from(files: Sequence[str], judge: Judge) -> list[Case]:
    """
    Return the cases of some files, or the bundled ones for the judge's task, with gold as its verdicts have it.

    Raises:
        ConfigError: as `written_cases` does.
    """
    return upright(written_cases(files, judge), judge.task, judge.scale)


def written_cases(files: Sequence[str], judge: Judge) -> list[Case]:
    """
    Return the cases of some files, or the bundled ones for the judge's task; a recorded judge brings cases of its own.

    Gold scores are on the judge's scale as they are written: `calm.cases.upright` gives them as verdicts are.

    Raises:
        ConfigError: a file that cannot be read or holds faults (each with file, line and field), ids that two files
            share, or cases that a recorded judge knows nothing of.
    """
    own = judge.traits.recorded.own if judge.traits.recorded is not None else ()
    cases = read_files(files, task=judge.task) if files else list(own) or bundled(judge.task)
    recall(judge, cases)
    if files or judge.task == "label":
        refuse_gold(judge, cases, bundled=not files and not own)
    return cases


def refuse_gold(judge: Judge, cases: Sequence[Case], *, bundled: bool = False) -> None:
    """
    Refuse gold scores outside the scale of a score judge, or classes that a label judge does not know.

    Raises:
        ConfigError: the first cases with such gold, the scale or the classes, and the fix.
    """
    if judge.scale.classes is not None:
        refuse_other_classes(judge.scale.classes, cases, bundled=bundled)
    if judge.task == "score":
        refuse_off_scale(judge.scale, [(case.id, gold) for case in cases for gold in case.scores.values()], len(cases))


def refuse_off_scale(scale: Scale, golds: Iterable[tuple[str, float]], cases: int) -> None:
    """
    Refuse gold scores outside a scale, each given with the id of its case; `cases` is how many cases there are.

    Raises:
        ConfigError: the first cases with such scores, the scale, and the fix.
    """
    low, high = scale.low, scale.high
    off = [(name, gold) for name, gold in golds if not low <= gold <= high]
    if off:
        shown = ", ".join(f"{gold:g} in case {name!r}" for name, gold in off[:SHOWN])
        raise ConfigError(
            f"scores: expected gold on the judge's scale from {low:g} to {high:g}, got {shown} "
            f"({len(off)} of {cases} cases); rescale the scores, or set [verdict.scale] in judge.toml"
        )


def refuse_other_classes(classes: Classes, cases: Sequence[Case], *, bundled: bool) -> None:
    """
    Refuse gold labels, and those of people, that are no class of a judge.

    Raises:
        ConfigError: the first cases with such labels, the classes, and the fix.
    """
    golds = [(case.id, name) for case in cases for name in _classes_in(case) if name not in classes.names]
    if not golds:
        return
    known = ", ".join(classes.names)
    if bundled:
        raise ConfigError(
            f"the bundled cases have the classes {', '.join(SHIPPED.names)}, and the judge has {known}: bring cases of "
            "its own, with the key `label`: --calm-cases FILE"
        )
    shown = ", ".join(f"{name!r} in case {case!r}" for case, name in golds[:SHOWN])
    many = len({case for case, _ in golds})
    raise ConfigError(
        f"label: expected one of the judge's classes ({known}), got {shown} ({many} of {len(cases)} cases)"
        f"{nearest(golds[0][1], classes.names)}; write the class as [labels] in judge.toml does"
    )


def _classes_in(case: Case) -> list[str]:
    said = [one.label for one in case.annotations.values()]
    return list(dict.fromkeys(name for name in (case.label, *said) if name is not None))


def recall(judge: Judge, cases: Sequence[Case]) -> None:
    """
    Tell a judge that replays a table which cases its verdicts are about; others need no telling.

    Raises:
        ConfigError: the table does not fit the cases; all its faulty records are named.
    """
    if judge.traits.recorded is not None:
        judge.traits.recorded.recall(cases)
