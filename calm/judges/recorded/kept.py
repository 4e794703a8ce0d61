"""Keep the verdicts of a judge in a log as a recorded judge: a table of verdicts, and a judge.toml that names it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from calm.cases.logs import Gathered
from calm.core.files import Value, toml
from calm.core.verdict import Scale


def verdict_lines(found: Gathered) -> Iterator[str]:
    """
    Yield the verdicts as JSON Lines, in the order of the log.

    `case`, `repeat` and `verdict` are read by the recorded judge. `reason`, `raw_reply` and `prompt` are kept for
    people, as far as the log has them.
    """
    for ask in found.asks:
        row: dict[str, object] = {"case": ask.case, "repeat": ask.repeat, "verdict": ask.verdict}
        if ask.judgment.reason:
            row["reason"] = ask.judgment.reason
        if ask.judgment.reply:
            row["raw_reply"] = ask.judgment.reply
        if ask.judgment.prompt:
            row["prompt"] = [{"role": turn.role, "content": turn.text} for turn in ask.judgment.prompt]
        yield json.dumps(row, ensure_ascii=False) + "\n"


def recorded_toml(found: Gathered, file: str, tool: str, cases: str) -> str:
    """Return the judge.toml of the recorded judge; `file` has its verdicts, beside `cases`; `tool` wrote the log."""
    recorded: dict[str, Value] = {"file": file}
    if model := " ".join(found.model.split()):
        recorded["model"] = model
    name = " ".join(found.metric.split()) or "judge"
    tables: dict[str, dict[str, Value]] = {
        "judge": {"name": name, "task": found.task, "cases": cases},
        "recorded": recorded,
    }
    if found.task == "score":
        tables["verdict.scale"] = scale_table(found.scale)
    return toml(tables, f"the verdicts of a judge, from {tool}; no model is called")


def scale_table(scale: Scale) -> dict[str, Value]:
    """Return a scale as a table of judge.toml."""
    table: dict[str, Value] = {"low": scale.low, "high": scale.high}
    if scale.step is not None:
        table["step"] = scale.step
    return table | ({"best": "low"} if scale.best == "low" else {})
