"""
Judges of other tools: such as `deepeval:package.module:metric`.

Each adapter is one module: it makes an `Evaluator` of an object of its tool. What is the same for all of them is here:
the object is imported and asked about a sample before the run (`dry`), and while it is asked its calls to models go
through calm (`door`). A tool is imported only where its judge is named.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Final

from calm.errors import ConfigError
from calm.judges.importing import imported
from calm.models.wire import Judge

PROMPTFOO: Final = "promptfoo"
"""The tool that is a program of its own: what follows the colon is its configuration."""
ADAPTERS: Final[Mapping[str, str]] = {
    "autoevals": "autoevals",
    "deepeval": "deepeval",
    "inspect": "inspect_ai",
    "langchain": "langchain",
    "openevals": "openevals",
    PROMPTFOO: PROMPTFOO,
    "ragas": "ragas",
}
"""The tools by the word before the colon, each with the module here that knows it."""
STAND_IN_KEY: Final = "no-key-for-a-replay"
KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""What clients of models want to be given before they are made."""


def adapted(spec: str, *, keyless: bool = False) -> Judge:
    """
    Return the judge of another tool that a specification names.

    A `keyless` one is for a replay: where its clients ask for a key, they get one that no server takes.

    Raises:
        ConfigError: the tool is not installed, there is no such object, or it is of a kind that cannot be a judge.
    """
    kind, _, rest = spec.partition(":")
    if kind == PROMPTFOO:
        return _promptfoo(rest, spec)
    adapter = importlib.import_module(f"calm.judges.adapters.{ADAPTERS[kind]}")
    module, _, attribute = rest.partition(":")
    if not module or not attribute:
        meant = f"; did you mean {kind}:{':'.join(rest.rsplit('.', 1))}?" if "." in rest else ""
        expected = f"expected {kind}:package.module:name, got {rest!r} after {kind}:{meant}"
        raise ConfigError(f"--calm-judge {spec}: {expected}")
    environment = {name: value for name, value in adapter.ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(environment)
    if keyless:
        for name in KEYS:
            os.environ.setdefault(name, STAND_IN_KEY)
    adapter.prepare(spec)
    evaluator = adapter.evaluator_of(imported(spec, module, attribute, wanted=lambda one: one is not None), spec)
    from calm.judges.adapters.judge import adapted_judge

    return adapted_judge(spec, evaluator, keyless=keyless, environment=environment)


def _promptfoo(name: str, spec: str) -> Judge:
    from calm.judges.adapters.judge import unseen_judge
    from calm.judges.adapters.promptfoo import evaluator_of_file

    return unseen_judge(spec, evaluator_of_file(name, spec), "the models of promptfoo's graders")
