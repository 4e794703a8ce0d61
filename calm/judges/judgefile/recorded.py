"""The `[recorded]` table of judge.toml: a judge whose verdicts stand in a table of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from calm.core.verdict import TASKS
from calm.errors import ConfigError, nearest
from calm.judges.judgefile.parts import classes_of, format_of, scale_of
from calm.judges.judgefile.tables import KEYS, OF_RECORDED, Table, dict_of, one_of, shown
from calm.judges.recorded.replay import Replay, table_in

_TABLES: Final = ("judge", "recorded", "verdict", "labels")


def replay_of(path: Path, document: Mapping[str, object]) -> Replay:
    """
    Return the judge of a file with a table `[recorded]`; the table of verdicts is beside it.

    Raises:
        ConfigError: one line for each fault of the file, or of the table of verdicts.
    """
    problems: list[str] = []
    for key, value in document.items():
        if key in ("model", "prompt"):
            problems.append(f"{path}: expected [recorded] without [{key}], got both; nothing is asked: take one out")
        elif key not in _TABLES:
            problems.append(f"{path}: unknown table [{key}]{nearest(key, _TABLES)}")
        elif not isinstance(value, dict):
            problems.append(f"{path}: expected a table [{key}], got {shown(key, value)}")
    judge = Table(path, "judge", dict_of(document.get("judge")), problems, OF_RECORDED)
    table = Table(path, "recorded", dict_of(document.get("recorded")), problems, KEYS["recorded"])
    verdict = Table(path, "verdict", dict_of(document.get("verdict")), problems, KEYS["verdict"])
    name, family, file = judge.line("name"), judge.line("family"), table.text("file")
    judge.names("cases")
    task = one_of(TASKS, judge.choice("task"))
    model = table.line("model")
    named = table.table("columns")
    found = {} if named is None else {key: named.text(key) for key in KEYS["recorded.columns"]}
    columns = {key: column for key, column in found.items() if column is not None}
    classes = classes_of(document, path, task, problems)
    form, _ = format_of(verdict, task, classes)
    scale = scale_of(verdict, task, classes)
    if form.kind == "logprobs":
        verdict.say("format", "expected a format of texts, got logprobs; a table holds no tokens")
    for one in (judge, table, verdict, *([] if named is None else [named])):
        one.unknown()
    if problems or name is None or task is None or file is None:
        raise ConfigError(problems)
    return Replay(name, task, scale, table_in(path.parent / file, columns), form, model or name, family)
