"""Scorers of Inspect: model-graded ones, and any other one that judges an output."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from calm.errors import ConfigError
from calm.judges.adapters.door import Patch, patched
from calm.judges.adapters.dry import DRY
from calm.judges.adapters.evaluator import (
    ANSWER,
    QUESTION,
    REFERENCE,
    SHARE,
    Evaluator,
    made,
    package,
    release_of,
)

ENVIRONMENT: Final[Mapping[str, str]] = {}
_PROBES: Final = patched()
NO_MODEL: Final = "none/none"
"""The model that an output is said to be of: nothing asks it."""
_GRADES: Final[Mapping[str, float]] = {
    **{"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0},
    **dict.fromkeys(("yes", "true", "correct"), 1.0),
    **dict.fromkeys(("no", "false", "incorrect"), 0.0),
}
"""The values that Inspect's own `value_to_float` knows; it takes every other text for 0."""


def prepare(spec: str) -> None:
    """Raise a `ConfigError` if Inspect is not there."""
    package("inspect_ai", "inspect", spec)


def evaluator_of(found: object, spec: str) -> Evaluator:
    """
    Return a scorer as it is asked; a function with `@scorer` is called without arguments first.

    Raises:
        ConfigError: it is no scorer.
    """
    if callable(found) and not _asynchronous(found):
        found = made(found, spec)
    if not callable(found) or not _asynchronous(found):
        raise ConfigError(
            f"--calm-judge {spec}: expected a scorer of Inspect, such as model_graded_qa(...), got "
            f"{type(found).__name__}"
        )
    scorers = package("inspect_ai.scorer", "inspect", spec)
    models = package("inspect_ai.model", "inspect", spec)
    solvers = package("inspect_ai.solver", "inspect", spec)
    scorer: Any = found
    name, prompt = _about(scorer, spec)

    async def score(values: Mapping[str, Any]) -> object:
        question, answer = values["input"], values["output"]
        target = scorers.Target(values.get("target", ""))
        state = solvers.TaskState(
            model=models.ModelName(NO_MODEL),
            sample_id="1",
            epoch=1,
            input=question,
            messages=[models.ChatMessageUser(content=question), models.ChatMessageAssistant(content=answer)],
            target=target,
            output=models.ModelOutput.from_content(NO_MODEL, answer),
            metadata={name: value for name, value in values.items() if name not in ("input", "output", "target")},
            completed=True,
        )
        with _PROBES.entered(_patches):
            return _number(await scorer(state, target))

    return Evaluator(
        release=release_of("inspect-ai"),
        task="score",
        scale=SHARE,
        passes={"input": QUESTION, "output": ANSWER, "target": REFERENCE, "context": "context"},
        call=score,
        asynchronous=True,
        optional=frozenset({"target", "context"}),
        description={"scorer": name, "prompt": prompt},
    )


def _patches() -> list[Patch]:
    """Keep Inspect from believing what a dry ask replies: it asks a model once what it takes, and remembers that."""
    try:
        provider = importlib.import_module("inspect_ai.model._providers.openai")  # it needs the package of OpenAI
    except ImportError:
        return []
    return [Patch(provider.OpenAIAPI, "reasoning_summaries", _unasked_when_dry)]


def _unasked_when_dry(before: Callable[[Any], Awaitable[bool]]) -> Callable[[Any], Awaitable[bool]]:
    async def reasoning_summaries(self: Any) -> bool:
        return True if DRY.get() else await before(self)

    return reasoning_summaries


def _number(score: Any) -> object:
    """Return the number that a score means; None: it means none, as where the grader gave no grade."""
    value = None if score is None else score.value
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, str):
        known = _GRADES.get(value, _GRADES.get(value.lower()))
        try:
            return float(value) if known is None else known
        except ValueError:
            return value  # no number: the reader says so
    return value


def _asynchronous(found: object) -> bool:
    return inspect.iscoroutinefunction(found) or (
        not inspect.isfunction(found) and inspect.iscoroutinefunction(getattr(found, "__call__", None))  # noqa: B004
    )


def _about(scorer: Any, spec: str) -> tuple[str, str]:
    """Return the name of a scorer, and the texts that it was made with; it may be a function that no one registered."""
    registry = package("inspect_ai._util.registry", "inspect", spec)
    if not registry.is_registry_object(scorer):
        return str(getattr(scorer, "__qualname__", type(scorer).__name__)), ""
    given: Mapping[str, Any] = registry.registry_params(scorer)
    texts = [str(given[name]) for name in ("template", "instructions") if given.get(name)]
    return str(registry.registry_log_name(scorer)), "\n".join(texts)
