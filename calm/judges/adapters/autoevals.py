"""Scorers of autoevals: the ready-made ones, and those of `LLMClassifier`; `Battle` compares two answers."""

from __future__ import annotations

import re
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
    made,
    package,
    part_for,
    release_of,
)

ENVIRONMENT: Final[Mapping[str, str]] = {}
_NAMES: Final = re.compile(r"\{\{\{?\s*[#^&]?\s*(\w+)[\w.]*\s*\}?\}\}")
"""The names in a mustache template."""
_OWN: Final = frozenset({"__choices"})


def prepare(spec: str) -> None:
    """Raise a `ConfigError` if autoevals is not there."""
    package("autoevals", "autoevals", spec)


def evaluator_of(found: object, spec: str) -> Evaluator:
    """
    Return a scorer as it is asked; a class is made without arguments first.

    Raises:
        ConfigError: it is no scorer.
    """
    base = package("autoevals.partial", "autoevals", spec).Scorer
    if not isinstance(found, base) and callable(found):
        found = made(found, spec)
    if not isinstance(found, base):
        raise ConfigError(
            f"--calm-judge {spec}: expected a scorer of autoevals, such as Factuality(...), got {type(found).__name__}"
        )
    scorer: Any = found
    battle = scorer._name() == "Battle"
    passes = _passes(found, battle=battle)
    clients = package("autoevals.oai", "autoevals", spec)._client_var
    client = clients.get(None)  # `init()` sets it in the context in which the module was imported

    blocks = _blocks(getattr(scorer, "client", None) or client)

    def score(values: Mapping[str, Any]) -> object:
        if client is not None:
            clients.set(client)
        given = dict(values)
        output, expected = given.pop("output"), given.pop("expected", None)
        if blocks:
            return verdict(scorer.eval(output, expected, **given))
        return awaited(scorer.eval_async(output, expected, **given))

    async def awaited(coming: Any) -> object:
        return verdict(await coming)

    def verdict(found: Any) -> object:
        return {1: "A", 0: "B"}.get(found.score) if battle else found.score

    return Evaluator(
        release=release_of("autoevals"),
        task="pairwise" if battle else "score",
        scale=Scale() if battle else _scale(scorer),
        passes=passes,
        call=score,
        asynchronous=not blocks,
        notes=("autoevals has no tie: the first answer wins, or the second one",) if battle else (),
        description={"scorer": scorer._name(), "prompt": _prompt(scorer)},
    )


def _passes(scorer: Any, *, battle: bool) -> dict[str, str]:
    """Return what a scorer is passed: the names in its template, as it renders a missing one as nothing."""
    usual = {"output": ANSWER, "expected": SECOND if battle else REFERENCE}
    messages = getattr(scorer, "messages", None)
    if messages is None:
        return {**usual, "input": QUESTION}
    given = {*getattr(scorer, "render_args", {}), *_OWN}
    named = [name for one in messages for name in _NAMES.findall(str(one["content"]))]
    more = {"instructions": QUESTION} if battle else {}
    return {
        name: usual.get(name) or more.get(name) or part_for(name)
        for name in dict.fromkeys(["output", *named])
        if name not in given
    }


def _blocks(client: Any) -> bool:
    """Return whether a client blocks; where none is given, autoevals makes one that does not."""
    return client is not None and not type(getattr(client, "openai", client)).__name__.startswith("Async")


def _scale(scorer: Any) -> Scale:
    scores = [float(one) for one in (getattr(scorer, "choice_scores", None) or {}).values() if one is not None]
    return Scale(min(scores), max(scores)) if scores and min(scores) < max(scores) else SHARE


def _prompt(scorer: Any) -> str:
    return "\n".join(str(one["content"]) for one in getattr(scorer, "messages", None) or ())
