"""Metrics of deepeval: GEval, ArenaGEval, and any other one for a single turn."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.judges.adapters.door import ONCE, VISITOR, Patch, patched
from calm.judges.adapters.dry import DRY
from calm.judges.adapters.evaluator import (
    ANSWER,
    QUESTION,
    REFERENCE,
    SECOND,
    SHARE,
    Evaluator,
    listed,
    made,
    package,
    release_of,
)

ENVIRONMENT: Final[Mapping[str, str]] = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",  # a call may wait for its turn longer than deepeval would
    "DEEPEVAL_RETRY_MAX_ATTEMPTS": "1",
}
"""What is set before deepeval is imported, where the user has not."""
PASSED: Final[Mapping[str, str]] = {
    "input": QUESTION,
    "actual_output": ANSWER,
    "expected_output": REFERENCE,
    "context": "context",
    "retrieval_context": "context",
}
"""Which part of a case is which of a test case's parameters."""
LISTS: Final = frozenset({"context", "retrieval_context"})
NAMES: Final = ("A", "B")
_ORDER: Final = patched()


def prepare(spec: str) -> None:
    """Raise a `ConfigError` if deepeval is not there."""
    package("deepeval", "deepeval", spec)


def evaluator_of(found: object, spec: str) -> Evaluator:
    """
    Return a metric as it is asked; a class or a function without arguments is called first.

    Raises:
        ConfigError: it is no metric, or one that cannot be a judge of single answers.
    """
    metrics = package("deepeval.metrics", "deepeval", spec)
    kinds = (metrics.BaseMetric, metrics.BaseConversationalMetric, metrics.BaseArenaMetric)
    if not isinstance(found, kinds) and callable(found):
        found = made(found, spec)
    if not isinstance(found, kinds):
        raise ConfigError(
            f"--calm-judge {spec}: expected a metric of deepeval, such as GEval(...), got {type(found).__name__}; "
            "a function of your own is a judge without the word deepeval: before it"
        )
    kind = type(found).__name__
    if isinstance(found, metrics.BaseConversationalMetric):
        raise ConfigError(
            f"--calm-judge {spec}: {kind} judges whole conversations, and a case holds one question with its answers; "
            "take a metric for a single turn"
        )
    if getattr(found, "eval_mode", None) not in (None, "llm"):
        raise ConfigError(
            f"--calm-judge {spec}: {kind} has eval_mode={found.eval_mode!r}, which asks a service of deepeval's own, "
            "not a model; take eval_mode='llm'"
        )
    _keep_clients(vars(found).get("model"))
    if isinstance(found, metrics.BaseArenaMetric):
        return _arena(found, spec)
    return _single(found, spec)


def _single(metric: Any, spec: str) -> Evaluator:
    passes = _passes(metric, spec)
    test_case = package("deepeval.test_case", "deepeval", spec).LLMTestCase
    steps = _Steps(metric)

    async def score(values: Mapping[str, Any]) -> object:
        one = copy.copy(metric)  # a metric keeps score, reason and error on itself
        if hasattr(one, "include_reason"):
            one.include_reason = False
        await steps.give(one)
        return await one.a_measure(test_case(**_listed(values)), _show_indicator=False)

    notes = [*steps.notes]
    if getattr(metric, "include_reason", False):
        notes.append("it is asked without its reason (include_reason=False), which it writes after the score")
    return Evaluator(
        release=release_of("deepeval"),
        task="score",
        scale=SHARE if not getattr(metric, "strict_mode", False) else Scale(0.0, 1.0, 1.0),
        passes=passes,
        call=score,
        asynchronous=True,
        notes=tuple(notes),
        description={"metric": type(metric).__name__, "prompt": _text(metric)},
    )


def _arena(metric: Any, spec: str) -> Evaluator:
    module = package("deepeval.test_case", "deepeval", spec)
    utils = package("deepeval.metrics.arena_g_eval.utils", "deepeval", spec)
    passes = _passes(metric, spec)
    steps = _Steps(metric)

    async def compare(values: Mapping[str, Any]) -> object:
        one = copy.copy(metric)
        one._a_generate_rewritten_reason = _kept_reason  # it comes after the winner
        await steps.give(one)
        shared = {name: value for name, value in values.items() if name not in ("actual_output", SECOND)}
        given = _listed(shared)
        answers = zip(NAMES, (values["actual_output"], values[SECOND]), strict=True)
        contestants = [
            module.Contestant(name=name, test_case=module.LLMTestCase(actual_output=answer, **given))
            for name, answer in answers
        ]
        with _ORDER.entered(lambda: [Patch(utils, "random", _in_order)]):
            return await one.a_measure(module.ArenaTestCase(contestants=contestants), _show_indicator=False)

    return Evaluator(
        release=release_of("deepeval"),
        task="pairwise",
        scale=Scale(),
        passes={**passes, SECOND: SECOND},
        call=compare,
        asynchronous=True,
        notes=(
            *steps.notes,
            "deepeval draws the order and the names of the answers again for each ask; here they are shown in calm's "
            "order, "
            "as Alice and Bob, so that the bias for a position can be measured. In deepeval the draw hides it",
            "its reason is not written again with the real names, which takes a call after the verdict",
        ),
        description={"metric": type(metric).__name__, "prompt": _text(metric)},
    )


class _Steps:
    """The evaluation steps of a metric with criteria alone: they are made once in a run, not once for each case."""

    def __init__(self, metric: Any) -> None:
        self._made: object = None
        self._lock = asyncio.Lock()
        self._wanted = getattr(metric, "criteria", None) is not None and not getattr(metric, "evaluation_steps", None)
        self._wanted &= hasattr(metric, "_a_generate_evaluation_steps")

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        if not self._wanted:
            return []
        return [
            "its model makes the evaluation steps of the criteria, here once in a run; deepeval makes them again "
            "for each case, so two cases may be judged by different steps there. Write evaluation_steps to fix them"
        ]

    async def give(self, metric: Any) -> None:
        """Give a copy of the metric its steps."""
        if not self._wanted:
            return
        async with self._lock:
            steps = self._made
            if steps is None or DRY.get():
                token = ONCE.set(True)
                try:
                    steps = await metric._a_generate_evaluation_steps(False)
                finally:
                    ONCE.reset(token)
                if not DRY.get():
                    self._made = steps
        metric.evaluation_steps = steps


def _passes(metric: Any, spec: str) -> dict[str, str]:
    """
    Return what a metric is passed of a case.

    Raises:
        ConfigError: it needs what no case has.
    """
    if getattr(metric, "requires_trace", False):
        raise ConfigError(
            f"--calm-judge {spec}: the metric has no evaluation_params, so it judges a trace, and a case has none; "
            "give it evaluation_params"
        )
    given = getattr(metric, "evaluation_params", None) or getattr(metric, "_required_params", None) or ()
    named = list(dict.fromkeys(["input", "actual_output", *(str(one.value) for one in given)]))
    if unknown := [name for name in named if name not in PASSED]:
        raise ConfigError(
            f"--calm-judge {spec}: the metric reads {', '.join(unknown)} of a test case, and a case of calm has "
            f"{', '.join(PASSED)} alone"
        )
    return {name: PASSED[name] for name in named}


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: listed(value) if name in LISTS else value for name, value in values.items()}


def _text(metric: Any) -> str:
    """Return what the user wrote for a metric to go by."""
    parts = (getattr(metric, "criteria", None), *(getattr(metric, "evaluation_steps", None) or ()))
    return "\n".join(str(part) for part in parts if part)


async def _kept_reason(reason: str, *_: object) -> str:
    return reason


def _in_order(before: ModuleType) -> SimpleNamespace:
    """Return a stand-in for the module `random` that shuffles nothing for a judge of calm."""

    def shuffle(items: list[Any]) -> None:
        if VISITOR.get() is None:
            random.shuffle(items)

    return SimpleNamespace(**{**vars(before), "shuffle": shuffle})


def _keep_clients(model: Any) -> None:
    """Let a model of deepeval keep its client: it would make one for each call, which takes 20 times as long."""
    build: Callable[[Any], Any] | None = getattr(model, "_build_client", None)
    if build is None or hasattr(model, "_calm_clients"):
        return
    known: dict[Any, Any] = {}

    def kept(cls: Any = None) -> Any:
        if cls not in known:
            known[cls] = build(cls) if cls is not None else build()  # type: ignore[call-arg]  # Gemini's takes none
        return known[cls]

    model._build_client, model._calm_clients = kept, known
