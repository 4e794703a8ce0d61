"""Evaluators of openevals, and functions like them: `f(inputs=, outputs=, reference_outputs=, ...)`."""

from __future__ import annotations

import inspect
import string
from collections.abc import Mapping
from typing import Any, Final

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.judges.adapters.evaluator import (
    ANSWER,
    QUESTION,
    REFERENCE,
    SHARE,
    Evaluator,
    package,
    part_for,
    release_of,
)

ENVIRONMENT: Final[Mapping[str, str]] = {"LANGSMITH_TRACING": "false"}
"""What is set before openevals is imported: else each call may be sent to a service."""
USUAL: Final[Mapping[str, str]] = {"inputs": QUESTION, "outputs": ANSWER, "reference_outputs": REFERENCE}


def prepare(spec: str) -> None:
    """Raise a `ConfigError` if openevals is not there."""
    package("openevals", "openevals", spec)


def evaluator_of(found: object, spec: str) -> Evaluator:
    """
    Return an evaluator as it is asked.

    Raises:
        ConfigError: it is no evaluator.
    """
    if not callable(found) or isinstance(found, type):
        raise ConfigError(
            f"--calm-judge {spec}: expected an evaluator, as create_llm_as_judge(...) makes one, got "
            f"{type(found).__name__}"
        )
    settings = _settings(found)
    return function_of(found, spec, release_of("openevals"), settings)


def function_of(found: Any, spec: str, release: str, settings: Mapping[str, Any]) -> Evaluator:
    """
    Return a function of such parameters as it is asked; `settings` is what a ready-made one was made with.

    Raises:
        ConfigError: its parameters are not those of an evaluator.
    """
    if settings.get("schema") is not None:
        raise ConfigError(
            f"--calm-judge {spec}: it has an output_schema, so nothing says which of its values is the score; leave "
            "it out, or write a function that returns the score"
        )
    passes, optional = _passes(found, settings, spec)

    def score(values: Mapping[str, Any]) -> object:
        value = found(**values)
        return _awaited(value) if inspect.isawaitable(value) else _score(value)

    return Evaluator(
        release=release,
        task="score",
        scale=_scale(settings),
        passes=passes,
        call=score,
        asynchronous=inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(getattr(found, "func", None)),
        optional=optional,
        description={"evaluator": getattr(found, "__qualname__", type(found).__name__), "prompt": _prompt(settings)},
    )


async def _awaited(value: Any) -> object:
    return _score(await value)


def _score(value: Any) -> object:
    """Return the score of a result: of the first one, if there are several."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, Mapping):
        value = value.get("score", value.get("value"))
    return float(value) if isinstance(value, bool) else value


def _settings(found: Any) -> dict[str, Any]:
    """Return what a ready-made evaluator was made with, which it holds in its closure."""
    scorer = _closure(found).get("scorer")
    return {} if scorer is None else _closure(scorer)


def _closure(function: Any) -> dict[str, Any]:
    cells = getattr(function, "__closure__", None) or ()
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return found


def _prompt(settings: Mapping[str, Any]) -> str:
    prompt = settings.get("prompt")
    return prompt if isinstance(prompt, str) else "" if prompt is None else repr(prompt)


def _scale(settings: Mapping[str, Any]) -> Scale:
    choices = settings.get("choices")
    if choices:
        return Scale(float(min(choices)), float(max(choices))) if min(choices) < max(choices) else SHARE
    return SHARE


def _passes(found: Any, settings: Mapping[str, Any], spec: str) -> tuple[dict[str, str], frozenset[str]]:
    """Return what it is passed, and what of that may be missing: the names in its prompt, or of its parameters."""
    prompt = settings.get("prompt")
    named = getattr(prompt, "input_variables", None)
    if isinstance(prompt, str):
        named = [name for _, name, _, _ in string.Formatter().parse(prompt) if name]
    if named is not None:
        if "outputs" not in named:
            raise ConfigError(f"--calm-judge {spec}: its prompt does not show the answer; write {{outputs}} into it")
        return {name: USUAL.get(name) or part_for(name) for name in dict.fromkeys(named)}, frozenset()
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--calm-judge {spec}: expected a function with named parameters ({error})") from error
    given = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if "outputs" not in given:
        got = ", ".join(given) or "none"
        raise ConfigError(
            f"--calm-judge {spec}: expected a function f(inputs, outputs, reference_outputs), got one of {got}"
        )
    passes = {
        name: USUAL.get(name) or part_for(name)
        for name, one in given.items()
        if name in USUAL or one.default is one.empty
    }
    return passes, frozenset(name for name, one in given.items() if one.default is not one.empty and name != "outputs")
