"""
Logs of other evaluation tools: what their judges were asked, what they said, and on which question and answer.

A reader turns the documents of one tool into judgments; `gathered` turns judgments into cases and verdicts on them.
"""

from calm.cases.logs.gathering import Gathered, Wanted, gathered
from calm.cases.logs.judgments import Judgment, Log
from calm.cases.logs.opening import KINDS, Kind, is_log, read_logs
from calm.core.material import Turn

__all__ = [
    "KINDS",
    "Gathered",
    "Judgment",
    "Kind",
    "Log",
    "Turn",
    "Wanted",
    "documents_of",
    "gathered",
    "is_log",
    "read_logs",
]
