"""The record of a study: what it found as data, and as an audit, as a run of the gate keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

from calm import __version__
from calm.core.claims import Estimate, Outcome
from calm.core.reasons import NONE, Reason, counted
from calm.engine.engine import Engine
from calm.experiment.setup import Setup
from calm.experiment.stopping import LOST
from calm.models.wire import Json
from calm.results.audit import Audit, Finding, JudgeRecord
from calm.results.notes import cases_record, judge_record


def audit_of(setup: Setup, findings: Sequence[Finding], engine: Engine, *, of: int, asks: str) -> Audit:
    """Return the audit of what a study found on the cases of a setup, which are a sample of so many."""
    judge = JudgeRecord(**judge_record(setup.judge, engine.served))
    counted = cases_record(setup.cases, of)
    return Audit(__version__, judge, counted, setup.seed, asks, tuple(findings), setup.stopping.value)


def plain(value: object) -> Json:
    """Return a value as JSON-able data: numbers to six places, reasons in words, dataclasses as objects."""
    if isinstance(value, Reason):
        return str(value)
    if isinstance(value, Outcome):
        return value.value
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else plain_fields(value)


def plain_fields(value: object, *without: str) -> dict[str, Json]:
    """Return a dataclass as JSON-able data, without some of its fields."""
    assert is_dataclass(value)
    return {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.name not in without}


def numbers(found: Estimate | None) -> Json:
    """Return an estimate as JSON-able data: its value, bounds, level and n."""
    kept = ("value", "low", "high", "level", "n")
    return None if found is None else {name: plain(getattr(found, name)) for name in kept}


def too_little(lost: Mapping[Reason, int], asked: int) -> Reason:
    """Return why the data of a study are incomplete, or `NONE`: a cap ended it, or too many of its asks were lost."""
    capped = any(reason.unfinished for reason in lost)
    return counted(lost) if capped or sum(lost.values()) > LOST * asked else NONE
