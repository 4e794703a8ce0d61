"""The record of a study that asked a judge about cases, as a run of the gate keeps it."""

from __future__ import annotations

from collections.abc import Sequence

from calm import __version__
from calm.engine.engine import Engine
from calm.experiment.setup import Setup
from calm.results.audit import Audit, Finding, JudgeRecord
from calm.results.notes import cases_record, judge_record


def audit_of(setup: Setup, findings: Sequence[Finding], engine: Engine, *, of: int, asks: str) -> Audit:
    """Return the audit of what a study found on the cases of a setup, which are a sample of so many."""
    judge = JudgeRecord(**judge_record(setup.judge, engine.served))
    counted = cases_record(setup.cases, of)
    return Audit(__version__, judge, counted, setup.seed, asks, tuple(findings), setup.stopping.value)
