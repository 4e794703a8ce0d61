"""
Models on one server that answer and paraphrase: what one writes has a view of its own and a style of its own.

A paraphrase keeps the view of the original and has the style of its writer. A `poor` writer misspells in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tests.servers import Respond, Turns

STYLES = {"alpha-1": "To be brief:", "beta-1": "Well now,", "gamma-1": "As one may see,"}
VIEWS = {"alpha-1": "by weighing it", "beta-1": "by asking its maker", "gamma-1": "by filling it"}
ORIGINAL, ANEW = "Nothing more is known of it.", "There is no more to be told about it."
POOR = "teh tank"


def question(number: int) -> str:
    """Return a question."""
    return f"How much does tank {number} hold?"


def written(number: int, model: str) -> str:
    """Return the answer of a model to a question."""
    return f"{STYLES[model]} the tank numbered {number} holds {number} litres, found {VIEWS[model]}. {ORIGINAL}"


def paraphrased(text: str, model: str, *, poor: bool = False) -> str:
    """Return what a text says in the style of a model."""
    new = text.replace(ORIGINAL, ANEW)
    for style in STYLES.values():
        new = new.replace(style, STYLES[model])
    return new.replace("the tank", POOR) if poor else new


def wording_respond(poor: Collection[str] = ()) -> Respond:
    """Return what a server of these models answers."""

    def respond(messages: Turns, body: Mapping[str, object]) -> str:
        model, prompt = str(body["model"]), messages[-1][1]
        if found := re.search(r"<answer>\n(.*?)\n</answer>", prompt, re.DOTALL):
            return f"<rewrite>\n{paraphrased(found[1], model, poor=model in poor)}\n</rewrite>"
        return written(int(re.findall(r"\d+", prompt)[-1]), model)

    return respond
