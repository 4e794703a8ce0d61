"""
From verdicts that calm recorded to comparisons: records of `calm self-preference`, and of gate runs of several judges.

The cases name the author of each answer: the authors are the models that are rated. A verdict on a pair is one
comparison, in the order in which the pair was shown, so both orders give one each. Scores and criteria give one for
each two answers to a question: the higher one wins. A ranking gives one for each two of its answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from calm.cases import read_files
from calm.core.case import Answer, Case
from calm.core.files import json_of, read_bytes
from calm.core.items import item_of
from calm.core.model_names import one_name
from calm.core.plugins import needed
from calm.core.verdict import FAMILY, Code, Task
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results import audit
from calm.results.audit import Audit
from calm.selfpreference.crossing.design import identity
from calm.selfpreference.symbols import TABLE_MEASURES
from calm.studies.uda.comparisons import Answers, Key, Named, question
from calm.studies.uda.verdicts import Known, Said, key_of, named, outcome

RECORDS: Final = ("calm-self-preference", audit.SCHEMA.partition("/")[0])
"""The schemas of the records that hold verdicts on answers, without their versions."""
_HEAD: Final = 200
"""A record names its schema within so many characters."""


def record_in(path: Path) -> Mapping[str, Json] | None:
    """
    Return the record that a file holds, whatever its name; None for comparisons, or a file that cannot be read here.

    Raises:
        ConfigError: an empty file, a record cut short, or JSON of another kind.
    """
    if not path.is_file():
        return None
    try:
        text = read_bytes(path).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not text:
        raise ConfigError(f"{path}: expected at least one comparison, got an empty file; write one JSON object a line")
    line = text.partition("\n")[0].strip()
    if path.suffix.lower() == ".csv" or _is_line(line):
        return None
    if path.suffix.lower() != ".json" and line != "{" and '"schema"' not in line[:_HEAD]:
        return None
    try:
        body = json_of(text)
    except ValueError as error:
        raise ConfigError(
            f"{path}: expected comparisons, one JSON object a line, or a whole record, got damaged JSON: {error}; "
            f"write the file again"
        ) from error
    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(body, dict) or str(schema).partition("/")[0] not in RECORDS:
        raise ConfigError(
            f"{path}: expected comparisons, a record of `calm self-preference` or the results of a run, got "
            f"schema={schema!r}; give one of these"
        )
    return body


def _is_line(line: str) -> bool:
    """Return whether the first line of a file is JSON by itself, and no record."""
    try:
        body = json_of(line)
    except ValueError:
        return False
    return not isinstance(body, dict) or "schema" not in body


def compared(
    records: Mapping[Path, Mapping[str, Json]], answers: Path | None, held: Answers
) -> tuple[list[Named], int]:
    """
    Return the comparisons of records, and how many verdicts could not be read; the answers are put into `held`.

    Args:
        records: by the file that each came from.
        answers: the cases that the judges were asked about, with authors and texts.
        held: takes the texts of answers and questions.

    Raises:
        ConfigError: no cases, cases that name no authors or are not those of the record, or a judge twice.
    """
    if answers is None:
        raise ConfigError(
            "--answers: expected the cases that the judges were asked about, which `calm answer` writes, got none; a "
            "record holds no texts"
        )
    found: list[Named] = []
    unread = 0
    owners: dict[str, Path] = {}
    for path, body in records.items():
        said, known = _self_preference(path, body, answers, held) if _is_own(body) else _gate(path, answers, held)
        for judge in dict.fromkeys(one.judge for one in said):
            if judge in owners:
                raise ConfigError(
                    f"{path}: expected judges that differ, got {judge!r} again after {owners[judge]}; leave one of the "
                    f"two files out"
                )
            owners[judge] = path
        read = [outcome(one) for one in said]
        unread += read.count(None)
        for judge in dict.fromkeys(one.judge for one in said):
            values = [(one.case, value) for one, value in zip(said, read, strict=True) if one.judge == judge]
            found += named(judge, [(case, value) for case, value in values if value is not None], known)
    return found, unread


def _is_own(body: Mapping[str, Json]) -> bool:
    return str(body["schema"]).partition("/")[0] == RECORDS[0]


# ------------------------------------------------------------------------------------------------- who said what


def _self_preference(path: Path, body: Mapping[str, Json], answers: Path, held: Answers) -> tuple[list[Said], Known]:
    """Return what the judges of a record of `calm self-preference` said: cases in the order of the record."""
    members = needed("peers", "a record of judges")(body) if "judged" in body else []
    if not members:
        raise ConfigError(
            f"{path}: expected a record with verdicts, got one of recorded judges; ask judges about --cases"
        )
    names = [member.model for member in members]
    cases = _authored(answers, members[0].task, names)
    shown = {identity(case): case for case in _as_shown(cases, members[0].task)}
    asked = _mapping(body.get("cases"))
    if missing := [key for key in asked if key not in shown]:
        raise ConfigError(
            f"{answers}: expected the cases that {path} is about, got no case with the texts of {len(missing)} of "
            f"{len(asked)}; give the file that the judges were asked about"
        )
    said = [
        Said(str(one["model"]), shown[key], (_code(_mapping(one["verdicts"])[key]),))
        for one in map(_mapping, _array(body["judged"]))
        if not one.get("dimension") and one.get("framing", "standard") == "standard"
        for key in asked
        if key in _mapping(one["verdicts"])
    ]
    return said, Known(_hold(cases, held), needed("likelihoods", "a record of judges")(body))


def _gate(path: Path, answers: Path, held: Answers) -> tuple[list[Said], Known]:
    """Return what the judge of a gate run said of the cases as they are: its clean asks, cases as in the file."""
    found = audit.read(path)
    judge = found.judge.model or found.judge.name
    task = _task(path, found)
    cases = _authored(answers, task, [judge])
    asked = _clean(found)
    if not asked:
        raise ConfigError(f"{path}: expected verdicts on cases as they are, got none; run the suite test_consistency")
    by_id = {case.id: case for case in cases}
    if missing := [name for name in asked if name not in by_id]:
        raise ConfigError(
            f"{answers}: expected the cases of {path}, got none called {missing[0]!r}; give the file that the run had "
            f"as --calm-cases"
        )
    said = []
    for case in cases:
        if case.id in asked:
            codes, order = asked[case.id]
            known = {answer.id for answer in case.answers}
            if strange := [c for c in codes if isinstance(c, str) and c not in known | {"tie"} and c[:1] != "!"]:
                raise ConfigError(f"{path}: case {case.id!r}: expected an answer of {answers}, got {strange[0]!r}")
            turned = case.present(order=order) if set(order) == known else case
            said.append(Said(judge, replace(turned, answers=turned.shown), codes))
    return said, Known(_hold(cases, held), {})


def _clean(found: Audit) -> dict[str, tuple[tuple[Code, ...], tuple[str, ...]]]:
    """
    Return by case the codes of its clean asks and the order shown; rows without an edit are preferred.

    Figures of a table of judges are left out: their rows are about cases that calm arranged for them.
    """
    asked: dict[str, tuple[tuple[Code, ...], tuple[str, ...]]] = {}
    findings = [finding for finding in found.findings if finding.measure not in TABLE_MEASURES]
    rows = [row for finding in findings for row in finding.trials if row.clean]
    for row in sorted(rows, key=lambda row: not row.order):  # a stable sort: rows that tell the order come first
        asked.setdefault(row.case, (row.clean, row.order))
    return asked


def _task(path: Path, found: Audit) -> Task:
    tasks: list[Task] = [task for task in FAMILY if task == found.judge.task]
    if not tasks:
        raise ConfigError(f"{path}: expected the task of a judge, got task={found.judge.task!r}")
    return tasks[0]


def _authored(answers: Path, task: Task, judges: Sequence[str]) -> list[Case]:
    """Return the cases whose answers all have authors, each under the name that its judge has."""
    cases = [case for case in read_files([answers], task=task) if all(a.author for a in case.answers)]
    if not cases:
        raise ConfigError(
            f"{answers}: expected cases that name the author of each answer, got none: without authors there is no "
            f"model to rate; let models answer with `calm answer`, or add `author` to the answers"
        )
    names = one_name((answer.author for case in cases for answer in case.answers if answer.author), judges)

    def renamed(answer: Answer) -> Answer:
        return replace(answer, author=names[answer.author or ""])

    return [replace(case, answers=tuple(renamed(a) for a in case.answers)) for case in cases]


def _as_shown(cases: Sequence[Case], task: Task) -> Iterator[Case]:
    """Return cases as `calm self-preference` shows them: pairs in both orders."""
    for case in cases:
        yield case
        if FAMILY[task] == "pairwise":
            yield replace(case, answers=case.answers[::-1])


# ------------------------------------------------------------------------------------------------------- the texts


def _hold(cases: Sequence[Case], held: Answers) -> dict[tuple[str, str], Key]:
    """Put the answers and questions of cases into `held`, and return the key of each author's first answer."""
    own: dict[tuple[str, str], Key] = {}
    for case in cases:
        item = item_of(case)
        held.put(question(item), case.question)
        for answer in case.answers:
            key = key_of(item, answer)
            held.put(key, answer.text)
            own.setdefault((item, answer.author or ""), key)
    return own


def _code(value: Json) -> Code:
    """Return a verdict's code of a record, which `members_from` has checked."""
    if isinstance(value, str | int | float):
        return value
    return {name: met for name, met in _mapping(value).items() if isinstance(met, bool | None)}


def _mapping(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _array(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
