"""Evaluators of langchain (`load_evaluator`), and functions `f(inputs, outputs, reference_outputs)` as LangSmith's."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.judges.adapters.evaluator import (
    ANSWER,
    QUESTION,
    REFERENCE,
    SECOND,
    SHARE,
    Evaluator,
    installed,
    package,
    release_of,
)
from calm.judges.adapters.openevals import function_of

ENVIRONMENT: Final[Mapping[str, str]] = {"LANGSMITH_TRACING": "false"}
"""What is set before langchain is imported: else each call may be sent to a service."""
POINTS: Final = Scale(1.0, 10.0)


def prepare(spec: str) -> None:
    """Raise a `ConfigError` if langchain is not there."""
    package("langchain_core", "langchain", spec)


def evaluator_of(found: object, spec: str) -> Evaluator:
    """
    Return an evaluator as it is asked.

    Raises:
        ConfigError: it is no evaluator.
    """
    strings = hasattr(found, "aevaluate_strings")
    if hasattr(found, "aevaluate_string_pairs"):
        return _comparison(found)
    if strings:
        return _grade(found)
    if not inspect.isfunction(found):
        raise ConfigError(
            f"--calm-judge {spec}: expected an evaluator, as load_evaluator(...) makes one, or a function "
            f"f(inputs, outputs, reference_outputs), got {type(found).__name__}"
        )
    return function_of(found, spec, release_of("langchain-core"), {})


def _grade(found: Any) -> Evaluator:
    kind = type(found).__name__
    norm = getattr(found, "normalize_by", None)
    points = "ScoreString" in kind
    scale = Scale(POINTS.low / norm, POINTS.high / norm) if points and norm else POINTS if points else SHARE

    async def grade(values: Mapping[str, Any]) -> object:
        result = await found.aevaluate_strings(**values)
        return result.get("score")

    return Evaluator(
        release=_release(),
        task="score",
        scale=scale,
        passes=_passes(found, {"prediction": ANSWER}),
        call=grade,
        asynchronous=True,
        notes=_misreadings(kind),
        description={"evaluator": kind, "prompt": _prompt(found)},
    )


def _comparison(found: Any) -> Evaluator:
    async def compare(values: Mapping[str, Any]) -> object:
        result = await found.aevaluate_string_pairs(**values)
        return {1: "A", 0: "B", 0.5: "tie"}.get(result.get("score"))

    return Evaluator(
        release=_release(),
        task="pairwise",
        scale=Scale(),
        passes=_passes(found, {"prediction": ANSWER, "prediction_b": SECOND}),
        call=compare,
        asynchronous=True,
        description={"evaluator": type(found).__name__, "prompt": _prompt(found)},
    )


def _passes(found: Any, answers: Mapping[str, str]) -> dict[str, str]:
    passes = dict(answers)
    if getattr(found, "requires_input", True):
        passes["input"] = QUESTION
    if getattr(found, "requires_reference", False):
        passes["reference"] = REFERENCE
    return passes


def _misreadings(kind: str) -> tuple[str, ...]:
    """Return what langchain takes for a verdict, though it is none."""
    if "Criteria" in kind:
        return ('langchain takes any reply that ends in y or n for a verdict: "I am not sure why" is a Y',)
    if kind in ("QAEvalChain", "CotQAEvalChain", "ContextQAEvalChain"):
        return ('langchain takes any reply with the word correct for CORRECT: "the answer is not correct" is one',)
    return ()


def _prompt(found: Any) -> str:
    return str(getattr(getattr(found, "prompt", None), "template", "") or "")


def _release() -> str:
    return release_of("langchain-classic" if installed("langchain_classic") else "langchain")
