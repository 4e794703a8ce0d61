"""Metrics of ragas: the collections, discrete and numeric ones with their model, and the older ones of single turns."""

from __future__ import annotations

import importlib
import inspect
import string
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.judges.adapters.evaluator import CONTEXTS, SHARE, Evaluator, listed, made, package, part_for, release_of

ENVIRONMENT: Final[Mapping[str, str]] = {"RAGAS_DO_NOT_TRACK": "true", "LANGSMITH_TRACING": "false"}
"""What is set before ragas is imported."""
_GONE: Final = "langchain_community.chat_models.vertexai"
_PASSED: Final[Mapping[str, float]] = {"pass": 1.0, "fail": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}


def prepare(spec: str) -> None:
    """Raise a `ConfigError` if ragas is not there, or cannot be imported."""
    if find_spec("ragas") is not None:
        _stand_in_for_what_is_gone()
    package("ragas", "ragas", spec)


def evaluator_of(found: object, spec: str) -> Evaluator:
    """
    Return a metric as it is asked; a class or a function without arguments is called first.

    Raises:
        ConfigError: it is no metric, or one whose values have no order.
    """
    base = package("ragas.metrics.base", "ragas", spec)
    kinds = (base.SimpleBaseMetric, base.SingleTurnMetric)
    llm: Any = None
    if isinstance(found, tuple) and len(found) == 2:
        found, llm = found
    if not isinstance(found, (*kinds, base.Metric)) and callable(found):
        found = made(found, spec)
    if not isinstance(found, kinds):
        raise ConfigError(
            f"--calm-judge {spec}: expected a metric of ragas that judges single answers, got {type(found).__name__}; "
            "one that takes its model at each call is named with it: name = (metric, llm)"
        )
    if isinstance(found, base.SimpleLLMMetric):
        return _with_model(found, llm, spec)
    return _single_turn(found, spec) if isinstance(found, base.SingleTurnMetric) else _collection(found, spec)


def _collection(metric: Any, spec: str) -> Evaluator:
    parameters = inspect.signature(metric.ascore).parameters.values()
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    optional = frozenset(one.name for one in parameters if one.default is not one.empty)
    if not names:
        raise ConfigError(f"--calm-judge {spec}: nothing says what {type(metric).__name__} reads: it has no parameters")
    if getattr(getattr(metric, "llm", None), "is_async", True) is False:
        raise ConfigError(
            f"--calm-judge {spec}: the metric's model has a client that blocks, which ragas cannot await; make it with "
            "llm_factory(..., client=AsyncOpenAI())"
        )

    async def score(values: Mapping[str, Any]) -> object:
        return (await metric.ascore(**_listed(values))).value

    return _evaluator(metric, names, score, optional)


def _with_model(metric: Any, llm: Any, spec: str) -> Evaluator:
    if llm is None:
        raise ConfigError(
            f"--calm-judge {spec}: {type(metric).__name__} is given its model at each call; name it with its model: "
            "name = (metric, llm)"
        )
    text = getattr(metric.prompt, "instruction", metric.prompt)
    names = [name for _, name, _, _ in string.Formatter().parse(str(text)) if name]
    values = metric.allowed_values
    texts = [str(one) for one in values] if isinstance(values, list) else []
    if texts and not all(one.lower() in _PASSED or _is_number(one) for one in texts):
        raise ConfigError(
            f"--calm-judge {spec}: the metric's values {', '.join(texts)} have no order that calm knows; take numbers, "
            "or pass and fail, or write a function that returns a number"
        )

    async def score(given: Mapping[str, Any]) -> object:
        value = (await metric.ascore(llm=llm, **given)).value
        return _PASSED.get(value.lower(), value) if isinstance(value, str) else value

    return _evaluator(metric, names, score, frozenset())


def _single_turn(metric: Any, spec: str) -> Evaluator:
    sample = package("ragas.dataset_schema", "ragas", spec).SingleTurnSample
    kinds = package("ragas.metrics.base", "ragas", spec).MetricType
    columns = sorted(metric._required_columns.get(kinds.SINGLE_TURN, ()))
    names = [name.partition(":")[0] for name in columns]
    optional = frozenset(name.partition(":")[0] for name in columns if name.endswith(":optional"))

    async def score(values: Mapping[str, Any]) -> object:
        return await metric.single_turn_ascore(sample(**_listed(values)))

    return _evaluator(metric, names, score, optional)


def _evaluator(metric: Any, names: list[str], call: Any, optional: frozenset[str]) -> Evaluator:
    return Evaluator(
        release=release_of("ragas"),
        task="score",
        scale=_scale(metric),
        passes={name: part_for(name) for name in names},
        call=call,
        asynchronous=True,
        optional=optional,
        description={"metric": type(metric).__name__, "prompt": _prompt(metric)},
    )


def _scale(metric: Any) -> Scale:
    allowed = getattr(metric, "allowed_values", None)
    if isinstance(allowed, range):
        return Scale(float(allowed.start), float(allowed.stop))
    if isinstance(allowed, list):
        numbers = [_PASSED.get(str(one).lower()) if not _is_number(str(one)) else float(one) for one in allowed]
        known = [one for one in numbers if one is not None]
    else:
        known = [float(one) for one in allowed or () if isinstance(one, int | float)]
    rubrics = getattr(metric, "rubrics", None)
    if not known and isinstance(rubrics, Mapping):
        known = [1.0, float(len(rubrics))]
    return Scale(min(known), max(known)) if known and min(known) < max(known) else SHARE


def _prompt(metric: Any) -> str:
    prompt = getattr(metric, "prompt", None)
    return str(getattr(prompt, "instruction", prompt) or "")


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: listed(value) if name in CONTEXTS else value for name, value in values.items()}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _stand_in_for_what_is_gone() -> None:
    """Give ragas a module that it imports by name alone, and that langchain-community has no more."""
    try:
        importlib.import_module("langchain_community.chat_models")
        importlib.import_module(_GONE)
    except ModuleNotFoundError as error:
        if error.name == _GONE:
            module: Any = ModuleType(_GONE)
            module.ChatVertexAI = type("ChatVertexAI", (), {})
            sys.modules[_GONE] = module
