"""The composition root: `--calm-judge SPEC` to a judge, `--calm-cases` to cases."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from calm.cases import bundled, read_files
from calm.core.case import Case
from calm.errors import ConfigError, nearest
from calm.models.secrets import on_guard
from calm.models.wire import Judge

SPECS = (
    "lexical, planted:..., recorded:SET/MODEL, recorded:FILE, panel:A+B, a path to a judge.toml, or "
    "package.module:attribute"
)


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
    if spec.endswith(".toml") or Path(spec).is_file():
        from calm.judges.judgefile import read_judge

        return read_judge(Path(spec), os.environ if env is None else env, keyless=keyless)
    if ":" in spec:
        return _callable(spec, kind, rest)
    close = nearest(spec, ["lexical", "planted", "recorded", "panel"]) if len(spec) < 20 else ""
    raise ConfigError(f"--calm-judge {spec}: expected {SPECS}{close}")


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


def _callable(spec: str, module: str, attribute: str) -> Judge:
    from calm.judges.python import PythonJudge

    here = str(Path.cwd())
    added = here not in sys.path
    if added:  # as `python -m pytest` does, for the `calm` commands
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--calm-judge {spec}: there is no module {error.name!r}; "
            "is it installed, or is its folder on the path (pythonpath = . in pytest's ini file)?"
        ) from error
    except AttributeError as error:
        raise ConfigError(f"--calm-judge {spec}: {error}") from error
    except (Exception, SystemExit) as error:  # whatever the user's module does on import is the user's to read
        raise ConfigError(f"--calm-judge {spec}: importing it failed: {type(error).__name__}: {error}") from error
    finally:
        if added:
            sys.path.remove(here)
    if not callable(found):
        raise ConfigError(f"--calm-judge {spec}: expected a callable f(case), got {type(found).__name__}")
    return PythonJudge(found, spec)


def cases_from(files: Sequence[str], judge: Judge) -> list[Case]:
    """
    Return the cases of some files, or the bundled ones for the judge's task; a recorded judge brings cases of its own.

    Raises:
        ConfigError: a file that cannot be read or holds faults (each with file, line and field), ids that two files
            share, or cases that a recorded judge knows nothing of.
    """
    own = judge.traits.recorded.own if judge.traits.recorded is not None else ()
    cases = read_files(files, task=judge.task) if files else list(own) or bundled(judge.task)
    recall(judge, cases)
    return cases


def recall(judge: Judge, cases: Sequence[Case]) -> None:
    """
    Tell a judge that replays a table which cases its verdicts are about; others need no telling.

    Raises:
        ConfigError: the table does not fit the cases; all its faulty records are named.
    """
    if judge.traits.recorded is not None:
        judge.traits.recorded.recall(cases)
