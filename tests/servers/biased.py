"""
A model with a planted bias, as the judges of other tools ask it: an answer that cites a source wins.

It knows cases by what they say (`cases_of`): question NUMBER, and views that are strong or weak. Its score is 3 to 6 of
10 by the number, 3 more with a citation; of two answers the one that cites wins, else the strong one. It says so in the
form that a request asks for: the call of a tool, JSON of a schema, or what `plain` makes of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import log
from typing import Any

from calm.perturbations.authority import TRIGGER
from tests.servers import Answer, Turns

NUMBER = re.compile(r"question (\d+)")
VIEW = re.compile(r"(strong|weak) view")


def cases_of(count: int, *, pairwise: bool = False) -> list[dict[str, Any]]:
    """Return records of cases, as a file of cases holds them."""
    return [_pair(number) if pairwise else _single(number) for number in range(count)]


def written(path, records) -> str:
    """Write records as a file of cases, and return its name."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(path)


def _single(number: int) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "question": f"This is question {number}: what holds?",
        "answers": [{"id": "only", "text": f"The strong view on {number} holds. It is short."}],
        "reference": f"The strong view on {number}.",
        "fields": {"context": f"Both views on {number} are known."},
    }


def _pair(number: int) -> dict[str, Any]:
    texts = {kind: f"The {kind} view on {number} holds. It is short." for kind in ("strong", "weak")}
    order = sorted(texts, reverse=bool(number % 2))
    return {
        "id": f"p{number}",
        "question": f"This is question {number}: what holds?",
        "answers": [{"id": kind, "text": texts[kind]} for kind in order],
        "better": "strong",
        "reference": f"The strong view on {number}.",
    }


def score_of(text: str) -> int:
    """Return the score of the answer that a prompt shows, from 3 to 9."""
    found = NUMBER.search(text)
    number = int(found[1]) if found else 0
    return 3 + number % 4 + 3 * bool(TRIGGER.search(text))


def place_of(text: str) -> int:
    """Return which of the two answers that a prompt shows wins: 0 or 1."""
    views = list(VIEW.finditer(text))[:2]
    cited = TRIGGER.search(text, views[0].start() if views else 0)
    if cited:
        return int(len(views) > 1 and cited.start() > views[1].start() - len("The "))
    return int(bool(views) and views[0][1] == "weak")


Plain = Callable[[str, Mapping[str, Any]], "str | Answer"]


def biased(plain: Plain = lambda text, body: f"[[{score_of(text)}]]", **said: Callable[[str], Any]):
    """
    Return what a server answers that runs this model.

    `said` gives the values of a JSON reply by their names, each from the text of the prompt; `plain` the whole reply
    where a request asks for no schema and no tool.
    """

    def respond(messages: Turns, body: dict[str, Any]) -> str | Answer:
        text = "\n".join(told for _, told in messages)
        tools = body.get("tools")
        if tools:
            function = tools[0].get("function") or tools[0]
            schema = function.get("parameters") or function["input_schema"]
            return Answer(calls=((function["name"], _filled(schema, schema, text, said)),))
        given = body.get("response_format") or body.get("text", {}).get("format") or {}
        schema = given.get("json_schema", given).get("schema")
        if schema is None:
            return plain(text, body)
        return json.dumps(_filled(schema, schema, text, said))

    return respond


def weighed(text: str, score: int) -> Answer:
    """Return a reply in JSON with the log-probabilities of its score, which is split with the next one."""
    before, after = '{"reason": "so it is", "score": ', "}"
    split = [(str(score), log(0.6)), (str(score + 1), log(0.4))]
    tokens = [(before, -0.01, [(before, -0.01)]), (str(score), log(0.6), split), (after, -0.01, [(after, -0.01)])]
    return Answer(f"{before}{score}{after}", tokens=tokens)


def _filled(
    schema: Mapping[str, Any], root: Mapping[str, Any], text: str, said: Mapping[str, Any], name: str = ""
) -> Any:
    """Return JSON that fits a schema: the values that are said by name, else the smallest."""
    if "$ref" in schema:
        for step in schema["$ref"].removeprefix("#/").split("/"):
            root, schema = (root, root[step]) if step == "$defs" else (root, (root.get("$defs") or root)[step])
        return _filled(schema, root, text, said, name)
    if name in said:
        return said[name](text)
    if "anyOf" in schema:
        return _filled(schema["anyOf"][0], root, text, said, name)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {key: _filled(inner, root, text, said, key) for key, inner in properties.items()}
        case "array":
            return [_filled(schema.get("items", {}), root, text, said)]
        case "number" | "integer":
            return 1
        case "boolean":
            return True
        case _:
            return "so it is"


def plain(text: str, body: Mapping[str, Any]) -> str | Answer:
    """Return what the model says to the prompts of the page on other tools, each in the form that it asks for."""
    if "Alice" in text or "[[A]]" in text:
        return "[[A]]"
    if "[[rating]]" in text or "[[5]]" in text:
        return "Rating: [[5]]"
    if "GRADE" in text:
        return "GRADE: C"
    return weighed(text, score_of(text)) if body.get("logprobs") else '{"reason": "so it is", "value": 5}'
