"""
Logs of other evaluation tools: what their judges were asked, what they said, and on which question and answer.

A plug-in reads them into judgments; `gathered` turns judgments into cases and verdicts on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from calm.cases.foreign.records import ImportResult
from calm.cases.logs.gathering import Gathered, Wanted, gathered
from calm.cases.logs.judgments import Judgment, Log
from calm.core.case import Turn
from calm.core.plugins import hook, needed
from calm.core.verdict import Scale

__all__ = [
    "Gathered",
    "Judgment",
    "Log",
    "Turn",
    "Wanted",
    "gathered",
    "holds_runs",
    "import_runs",
    "is_log",
    "read_logs",
]


def is_log(path: Path) -> bool:
    """Return whether a file is a log of a tool that is read here; False also for one that cannot be opened."""
    logs = hook("logs")
    return logs is not None and bool(logs.is_log(path))


def read_logs(paths: Sequence[Path], kind: str | None = None) -> Log:
    """
    Return the judgments of some files of one tool; without a `kind`, what they hold says which.

    Raises:
        ConfigError: a file that cannot be read, or is none of a known tool, or files of several.
    """
    log: Log = needed("logs", "a log of another tool").read_logs(paths, kind)
    return log


def holds_runs(path: Path) -> bool:
    """Return whether a file holds runs of agents: messages, with calls of tools, and no log of verdicts; else False."""
    runs = hook("runs")
    return runs is not None and bool(runs.holds_runs(path))


def import_runs(
    paths: Sequence[Path], *, scale: Scale | None = None, words: Mapping[str, float | None] | None = None
) -> ImportResult:
    """
    Return a case for each run of agents in some files.

    `scale` is that of their scores, `words` the scores that words mean.

    Raises:
        ConfigError: a file that cannot be read or holds no run, with what was expected.
    """
    found: ImportResult = needed("runs", "runs of agents").import_runs(paths, scale=scale, words=words)
    return found
