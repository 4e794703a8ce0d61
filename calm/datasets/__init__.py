"""Cases in: a file of the user's, the sets that ship with calm, and a sample of either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path

from calm.case import Case, digest
from calm.datasets.reading import ANSWERS, read
from calm.errors import ConfigError
from calm.verdict import Task

BUNDLED: Mapping[Task, str] = {
    "pairwise": "pairwise-1.jsonl",
    "score": "score-1.jsonl",
    "rubric": "rubric-1.jsonl",
    "rubric-all": "rubric-1.jsonl",
    "points": "rubric-1.jsonl",
}
"""The set that ships for each task; the number in its name is its version."""


def read_cases(path: str | PathLike[str], *, task: Task | None = None) -> list[Case]:
    """
    Return the cases of a JSON Lines file, in the file's order.

    Args:
        path: the file.
        task: if given, each case must also fit this task (number of answers, criteria). A case with more answers than
            the task takes, each with an author, gives a case for each answer, or for each pair of authors.

    Raises:
        ConfigError: a file that cannot be read, or all faults in it, as `file:line: field: message`.
    """
    name = fspath(path)
    try:
        with Path(path).open("rb") as stream:
            cases = read(stream, name, task=task)
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"{name}: expected a file of cases (JSON Lines), got an error: {reason}; check its path"
        ) from error
    return [part for case in cases for part in spread(case, task)]


def spread(case: Case, task: Task | None) -> list[Case]:
    """Return a case as a task takes it: itself, or one for each answer or pair of authors if it has more answers."""
    if task is None or len(case.answers) <= ANSWERS[task][1]:
        return [case]
    from calm.selfpreference.verdicts import all_pairs, one_answer_each

    return all_pairs(case) if task == "pairwise" else one_answer_each(case)


def bundled(task: Task) -> list[Case]:
    """
    Return the cases that ship with calm for a task.

    Raises:
        ConfigError: a task without bundled cases (listwise).
    """
    if task not in BUNDLED:
        raise ConfigError(f"no cases ship for task={task}; name a file of your own with --calm-cases FILE")
    with files("calm").joinpath("data", "cases", BUNDLED[task]).open("rb") as stream:
        return read(stream, BUNDLED[task], task=task)


def sha256(cases: Iterable[Case]) -> str:
    """Return a hash of the content of a set of cases, whatever their order."""
    return digest("cases", sorted(digest(case.content()) for case in cases))


def sample(cases: Iterable[Case], n: int, seed: int) -> list[Case]:
    """
    Return at most n of the cases, the same ones for a seed whatever their order.

    A smaller sample is the beginning of a larger one, and a case that is added moves no other one.

    Raises:
        ConfigError: n below 1.
    """
    if n < 1:
        raise ConfigError(f"expected a sample of at least 1 case, got n={n}; leave it out to take the default")
    return sorted(cases, key=lambda case: digest("sample", seed, case.id))[:n]
