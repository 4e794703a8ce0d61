"""What a record of a study says of its judge and its cases, as the record of a run of the gate does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from calm import __version__
from calm.cases import sha256
from calm.engine.engine import Engine
from calm.experiment.setup import Setup, clusters_of
from calm.models.wire import Json
from calm.results.audit import Audit, Finding, JudgeRecord


def audit_of(setup: Setup, findings: Sequence[Finding], engine: Engine, *, of: int, asks: str) -> Audit:
    """Return the audit of what a study found on the cases of a setup, which are a sample of so many."""
    judge, cases = setup.judge, setup.cases
    about = dict(judge.about)
    served = [engine.served[e.identity] for e in judge.endpoints if e.identity in engine.served]
    parameters = about.pop("parameters", {})
    record = JudgeRecord(
        name=judge.name,
        task=judge.task,
        fingerprint=judge.fingerprint,
        model=cast("str | None", about.pop("model", None)),
        served=", ".join(served) or None,
        prompt_sha256=cast("str | None", about.pop("prompt_sha256", None)),
        scale={"low": judge.scale.low, "high": judge.scale.high, "step": judge.scale.step},
        parameters=parameters if isinstance(parameters, dict) else {},
        about=about,
    )
    questions = len(set(clusters_of(cases).values()))
    counted: dict[str, Json] = {"n": len(cases), "of": of, "questions": questions, "sha256": sha256(cases)}
    return Audit(__version__, record, counted, setup.seed, asks, tuple(findings), setup.stopping.value)
