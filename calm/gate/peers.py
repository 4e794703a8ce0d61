"""The judges that a test of self-preference compares with: judge files, or what `calm self-preference` recorded."""

from __future__ import annotations

from pathlib import Path

from calm.core.files import read_json
from calm.core.model_names import bare
from calm.core.plugins import needed
from calm.core.verdict import FAMILY, Task
from calm.errors import ConfigError
from calm.gate.from_spec import judge_from
from calm.selfpreference.crossing.design import Member, member_of


def read_peers(text: str, task: Task, *, keyless: bool = False) -> tuple[Member, ...]:
    """
    Return the judges that a list with commas names, each once.

    Args:
        text: specifications of judges, and files (.json) that hold the verdicts of some.
        task: the task of the judge; the peers must give verdicts of its kind.
        keyless: whether no live call will be made, so that no key is needed.

    Raises:
        ConfigError: no such judge or file, or one with another kind of verdict; each is named.
    """
    found: dict[str, Member] = {}
    problems: list[str] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        try:
            recorded = name.endswith(".json") and not name.startswith("recorded:")
            members = read_record(Path(name)) if recorded else [member_of(judge_from(name, keyless=keyless))]
        except ConfigError as error:
            problems += [f"--calm-peers: {problem}" for problem in error.problems]
            continue
        for member in members:
            if FAMILY[member.task] != FAMILY[task]:
                wanted = f"verdicts of the judge's kind ({FAMILY[task]})"
                problems.append(f"--calm-peers: {name}: expected {wanted}, got task={member.task!r}; leave it out")
            found.setdefault(bare(member.model), member)
    if problems:
        raise ConfigError(problems)
    return tuple(found.values())


def read_record(path: Path) -> list[Member]:
    """
    Return the judges of a record, with their verdicts.

    Raises:
        ConfigError: no such file, or not a record of `calm self-preference`.
    """
    body = read_json(path, "a record that `calm self-preference` wrote")
    if not isinstance(body, dict):
        raise ConfigError(f"{path}: expected a record that `calm self-preference` wrote, got {type(body).__name__}")
    members_from = needed("peers", str(path))
    try:
        return list(members_from(body))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
