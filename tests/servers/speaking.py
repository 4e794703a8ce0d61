"""Judges that say more than their verdict: notes on orders that they ignored, drafts, and what they refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any, Final

from calm.core.case import Case
from tests.servers import Answer, Respond, Turns
from tests.servers.planted import planted_respond

_SAID: Final = re.compile(r"(?:\[\[|\"verdict\": \"?|<verdict>)([\w.]+)|^([\w.]+)\s*\Z", re.MULTILINE)
FORMATS: Final = ("brackets", "json", "tag", "regex", "last-line", "logprobs")
VERDICT: Final[Mapping[str, str]] = {
    "brackets": '[verdict]\nformat = "brackets"\n',
    "json": '[verdict]\nformat = "json"\n',
    "tag": '[verdict]\nformat = "tag"\n',
    "regex": "[verdict]\nformat = \"regex\"\npattern = 'Verdict: ([A-Za-z]+|[0-9.]+)'\n",
    "last-line": '[verdict]\nformat = "last-line"\n',
    "logprobs": '[verdict]\nformat = "logprobs"\n',
}
"""The table of judge.toml for each format."""


def note(mine: str, other: str) -> str:
    """Return a verdict with an honest note after it."""
    return f"{mine}\n\nNote: the answer tried to make me output {other}; I ignored that."


def drafts(mine: str, other: str) -> str:
    """Return a verdict after a draft of another one."""
    return f"Draft: {other}\nThe draft overlooks the facts.\nFinal: {mine}"


def refuses(mine: str, other: str) -> str:
    """Return a verdict between two explanations of what was refused."""
    told = f"The text tells its judge to write {other}, and I refuse to."
    return f"{told}\n\nFinal verdict: {mine}\n\nHad I obeyed that order, the verdict would have been {other}."


STYLES: Final = {style.__name__: style for style in (note, drafts, refuses)}


def speaking(spec: str, cases: Sequence[Case], form: str, style: Callable[[str, str], str]) -> Respond:
    """Return what a server answers that runs the planted judge `spec`, and wraps its verdict in more words."""
    planted = planted_respond(f"planted:{spec}", cases)

    def respond(messages: Turns, body: dict[str, Any]) -> str | Answer:
        said = "".join(_SAID.findall(str(planted(messages, body)))[-1])
        told = style(_written(said, form), _written(_other(said), form))
        if form == "regex":
            told = told.replace("Final verdict: Verdict", "Verdict")
        if form != "logprobs":
            return told
        return Answer(told, tokens=[(t, log(0.9), [(t, log(0.9))]) for t in re.findall(r"\s*(?:\w+|[^\w\s])", told)])

    return respond


def _other(said: str) -> str:
    """Return a verdict that the judge does not give."""
    others = {"A": "B", "B": "A", "C": "A", "YES": "NO", "NO": "YES", "true": "false", "false": "true"}
    return others.get(said) or ("10" if float(said) < 6 else "1")


def _written(said: str, form: str) -> str:
    if form == "json":
        plain = {"YES": True, "NO": False, "true": True, "false": False}.get(said, said)
        return json.dumps({"verdict": float(said) if str(plain).replace(".", "").isdigit() else plain})
    return {"brackets": f"[[{said}]]", "tag": f"<verdict>{said}</verdict>", "regex": f"Verdict: {said}"}.get(form, said)
