"""
Results of deepeval: a test run that it saves, its cache, or a dump of what `evaluate()` returns.

It keeps neither the prompt of a judge nor its reply. Keys are written in two ways, by file and version: both are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from calm.cases.logs.judgments import Judgment, Log
from calm.cases.logs.values import number, texts_in, transcript, truth, written
from calm.cases.rows import (
    dig,
    objects,
    string,
    unpacked,
)
from calm.core.case import Turn
from calm.core.files import MOST_BYTES

MOST_STEPS: Final = 10_000_000
"""Steps that SQLite may take for one statement: the newest of a million runs is found in a few hundred."""
_KINDS: Final = {type(None): "NULL", bytes: "bytes"}
_RUNS: Final = ("testCases", "conversationalTestCases", "test_results")


def newest_run(path: str) -> bytes | str:
    """
    Return the newest test run in a database of deepeval as JSON, b"" of a database without one, or what is wrong.

    It is read in a process of its own. Only a table is read, and no column that is computed: a view may be a query
    that does not end.
    """
    try:
        with closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as base:
            base.set_progress_handler(lambda: True, MOST_STEPS)
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            base.execute("PRAGMA trusted_schema=OFF")
            made = base.execute("SELECT sql FROM sqlite_master WHERE name='test_runs' COLLATE NOCASE").fetchall()
            if [str(sql).upper().split()[:2] for (sql,) in made] != [["CREATE", "TABLE"]]:
                return "expected a database of deepeval, got one without a table test_runs"
            stored = {name for _, name, _, _, _, _, how in base.execute("PRAGMA table_xinfo(test_runs)") if how == 0}
            if "payload_json" not in stored:
                return "expected a database of deepeval, got one whose test_runs keep no column payload_json"
            found = base.execute("SELECT payload_json FROM test_runs ORDER BY rowid DESC LIMIT 1").fetchone()
    except (sqlite3.Error, UnicodeError) as error:
        return f"expected a database of deepeval, got one that SQLite refuses: {error}"
    if found is None:
        return b""
    if not isinstance(found[0], str):
        kind = _KINDS.get(type(found[0]), "a number")
        return f"expected the newest run in test_runs.payload_json as a text, got {kind}; run the tests again"
    return found[0].encode()


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all test cases to the log."""
    for document in documents:
        run = dig(document, "testRunData") or document
        for key in _RUNS:
            for place, case in enumerate(objects(run, key), 1):
                _case(case, f"{key} {place}", log)
        cached = dig(run, "test_cases_lookup_map")
        for place, (key, entry) in enumerate(cached.items() if isinstance(cached, Mapping) else (), 1):
            metrics = [dig(one, "metric_data") for one in objects(entry, "cached_metrics_data")]
            held = unpacked(key)
            _case({**(held if isinstance(held, Mapping) else {}), "metricsData": metrics}, f"cached case {place}", log)


def _at(value: object, camel: str) -> object:
    """Return the value of a key that is written as `evaluationModel` or as `evaluation_model`."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel)
    found = dig(value, camel)
    return dig(value, snake) if found is None else found


def _case(case: Mapping[str, object], place: str, log: Log) -> None:
    spoken = [Turn(string(one, "role"), string(one, "content")) for one in objects(case, "turns")]
    turns = _answered(spoken)
    if spoken and not turns:
        log.leave("a conversation without a turn of the assistant")
        return
    for _ in spoken[len(turns) :]:
        log.leave("a turn after the last one of the assistant")
    question = transcript(turns[:-1]) or string(case, "scenario") if turns else string(case, "input")
    answer = turns[-1].text if turns else written(_at(case, "actualOutput") or "")
    if not answer or not question:
        log.leave("a test case without an input or an output")
        return
    reference = _at(case, "expectedOutcome") if turns else _at(case, "expectedOutput")
    context = texts_in(_at(case, "retrievalContext")) or texts_in(case.get("context"))
    metrics = objects({"all": _at(case, "metricsData")}, "all")
    if not metrics:
        log.leave("a test case without results of its metrics")
    for metric in metrics:
        failed = metric.get("error") is not None
        score = number(metric.get("score"))
        log.judgments.append(
            Judgment(
                metric=string(metric, "name") or "unnamed",
                place=place,
                question=question,
                answers=(answer,),
                value=None if failed else score,
                state="failed" if failed else "unread" if score is None else "said",
                item=string(case, "name"),
                reference=reference if isinstance(reference, str) else None,
                context=context,
                reason="" if failed else string(metric, "reason"),
                model=written_model(_at(metric, "evaluationModel")),
                passed=truth(metric.get("success")),
                threshold=number(metric.get("threshold")),
                limits=(0.0, 1.0),
                row=case,
            )
        )


def _answered(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return a conversation up to the last answer in it."""
    last = max((place for place, turn in enumerate(turns, 1) if turn.role == "assistant" and turn.text), default=0)
    return turns[:last]


def written_model(value: object) -> str:
    """Return the name of a model, "" where none is written."""
    return value if isinstance(value, str) else ""
