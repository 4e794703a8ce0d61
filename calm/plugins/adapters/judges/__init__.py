"""
Judges of other tools: such as `deepeval:package.module:metric`.

`tools` makes an `Evaluator` of an object of its tool. What is the same for all of them is here: the object is imported
and asked about a sample before the run (`judge`), and while it is asked its calls to models go through calm (`door`).
A tool is imported only where its judge is named.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from calm.errors import ConfigError
from calm.judges.code import imported
from calm.models.wire import Judge

ADAPTERS: Final[Mapping[str, str]] = {
    "autoevals": "autoevals",
    "deepeval": "deepeval",
    "inspect": "inspect_ai",
    "langchain": "langchain_core",
    "openevals": "openevals",
    "promptfoo": "promptfoo",
    "ragas": "ragas",
}
"""The tools by the word before the colon, each with its package; promptfoo is a program of its own."""
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
    from calm.plugins.adapters.judges.judge import adapted_judge, unseen_judge

    kind, _, rest = spec.partition(":")
    if kind == "promptfoo":
        from calm.plugins.adapters.judges.promptfoo import evaluator_of_file

        return unseen_judge(spec, evaluator_of_file(rest, spec), "the models of promptfoo's graders")
    from calm.plugins.adapters.judges.evaluator import package
    from calm.plugins.adapters.judges.tools import TOOLS

    tool = TOOLS[kind]
    module, _, attribute = rest.partition(":")
    if not module or not attribute:
        meant = f"; did you mean {kind}:{':'.join(rest.rsplit('.', 1))}?" if "." in rest else ""
        expected = f"expected {kind}:package.module:name, got {rest!r} after {kind}:{meant}"
        raise ConfigError(f"--calm-judge {spec}: {expected}")
    environment = {name: value for name, value in tool.environment.items() if name not in os.environ}
    os.environ.update(environment)
    if keyless:
        for name in KEYS:
            os.environ.setdefault(name, STAND_IN_KEY)
    package(ADAPTERS[kind], kind, spec)
    evaluator = tool.evaluator_of(imported(spec, module, attribute, wanted=lambda one: one is not None), spec)
    return adapted_judge(spec, evaluator, keyless=keyless, environment=environment)
