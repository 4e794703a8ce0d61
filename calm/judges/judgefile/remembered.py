"""The files of cases that a judge.toml names: a run that is given no other ones asks about these."""

from __future__ import annotations

from pathlib import Path

from calm.errors import ConfigError
from calm.judges.judgefile.tables import Table, dict_of, read_document


def remembered(spec: str) -> list[str]:
    """
    Return the files of cases that a judge.toml names with `cases` in `[judge]`, as paths from where we are.

    None for any other judge, and for a file that cannot be read: who reads it as a judge says why.
    """
    path = Path(spec)
    if path.suffix != ".toml" or not path.is_file():
        return []
    try:
        table = Table(path, "judge", dict_of(read_document(path).get("judge")), [])
    except ConfigError:
        return []
    return [str(path.parent / name) for name in files_in(table)]


def files_in(judge: Table) -> list[str]:
    """Return the files of cases that the table `[judge]` names; any other value is noted, and none."""
    value = judge.get("cases")
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and all(isinstance(name, str) and name.strip() for name in names):
        return names
    if value is not None:
        judge.expected("cases", "the name of a file of cases, or a list of such names")
    return []
