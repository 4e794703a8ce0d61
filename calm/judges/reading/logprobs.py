"""Verdicts of one token, with the probabilities of all that are allowed."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from calm.core.case import Framing
from calm.core.reasons import Reason
from calm.core.verdict import Criteria, Preferred, Score, Tie, Unreadable, Verdict
from calm.judges.reading.deciding import decide
from calm.judges.reading.formats import Format
from calm.judges.reading.marks import Mark
from calm.judges.reading.meanings import better, folded, is_met, number_of, turns
from calm.judges.reading.reasoning import spoken
from calm.judges.reading.views import View
from calm.models.wire import Reply, Token

LONGEST_PAD: Final = 4_000
"""Characters around a token in which nothing but white space and special tokens may stand if it is alone."""

_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<end_of_turn>|<eos>")
_BEFORE = re.compile(r"(?:.*(?:[:=>]|\[\[)|)[\s*_`\"'(\[]{0,12}", re.DOTALL)
_AFTER = re.compile(r"[\s*_`\"')\]}.!]{0,12}(?:</[A-Za-z_][\w.-]{0,40}>)?\s{0,12}")


def by_token(reply: Reply, view: View, form: Format) -> Verdict | Reason | None:
    """Return the verdict of the generated token that is one, with its distribution over the allowed verdicts."""
    if view.task in ("rubric-all", "points", "listwise"):
        return Unreadable(f"format='logprobs' cannot read the task {view.task}; use json or brackets")
    if not reply.tokens:
        return Unreadable(
            "the server sent no tokens with log-probabilities; take a server that gives them, or another format"
        )
    token = _verdict_token(reply, view, form)
    if not isinstance(token, Token):
        return token
    if not token.alternatives:
        return Unreadable("the server sent no alternatives to the verdict's token (top_logprobs)")
    weights = _distribution(token, _allowed(view, form))
    if weights is None:
        return Unreadable("the log-probabilities of the verdict's token are not numbers")
    return _weighed(weights, view)


def _allowed(view: View, form: Format) -> Callable[[str], str | None]:
    """Return what maps a token to a verdict: a slot's number or "tie", a number of the scale, "met" or "unmet"."""
    values = folded(form)

    def name(token: str) -> str | None:
        text = token.strip()
        value: object = values.get(text.casefold(), text)
        if view.task == "score":
            number = number_of(value)
            return f"{number:g}" if number is not None and number.is_integer() and view.scale.holds(number) else None
        if view.task == "rubric":
            met = is_met(text, form)
            return None if met is None else "met" if met else "unmet"
        if text.casefold() in values:
            return {"first": "0", "second": "1", "tie": "tie"}.get(str(value))
        if text in view.labels:
            return str(view.labels.index(text))
        return "tie" if text == "C" or text.casefold() == "tie" else None

    return name


def _verdict_token(reply: Reply, view: View, form: Format) -> Token | Reason | None:
    """
    Return the token that is the verdict beyond doubt: alone on its line, or after a colon or the like at its end.

    The word A in a sentence is none, nor the 1 of a 10 that was generated digit by digit. A reply that max_tokens cut
    is read only if nothing but the verdict was generated.
    """
    tokens = reply.tokens or ()
    allowed = _allowed(view, form)
    text = "".join(t.text for t in tokens)
    spans = deque(spoken(text))
    marks: dict[int, Mark] = {}
    known: dict[int, Token] = {}
    end = 0
    for token in tokens:
        start, end = end, end + len(token.text)
        while spans and spans[0][1] < end:
            spans.popleft()
        if not spans or start < spans[0][0] or allowed(token.text) is None:
            continue
        if _alone(text, start, end):
            return token
        if reply.stop != "length" and _stands_alone(text, start, end, spans[0]):
            bare = token.text.strip()
            first = start + token.text.index(bare)
            marks[first] = Mark(first, first + len(bare), bare)
            known[first] = token

    def means(raw: object) -> Verdict:
        name = allowed(str(raw))
        return Unreadable("no verdict") if name is None else Preferred(name)

    visible = _SPECIAL.sub(lambda found: " " * len(found[0]), _unthought(text))
    one = decide(visible, list(marks.values()), means, replace(view, judged=()))
    return known[one.start] if isinstance(one, Mark) else one


def _unthought(text: str) -> str:
    """Return a text of the same length without its reasoning."""
    parts, at = [], 0
    for start, end in spoken(text):
        parts += [re.sub(r"[^\n]", " ", text[at:start]), text[start:end]]
        at = end
    return "".join([*parts, " " * (len(text) - at)])


def _alone(text: str, start: int, end: int) -> bool:
    """Return whether nothing else was generated."""
    if start > LONGEST_PAD or len(text) - end > LONGEST_PAD:
        return False
    return not text[:start].strip() and not _SPECIAL.sub("", text[end:]).strip()


def _stands_alone(text: str, start: int, end: int, span: tuple[int, int]) -> bool:
    """Return whether a token is the whole verdict of its line."""
    token = text[start:end]
    first, last = start + len(token) - len(token.lstrip()), end - len(token) + len(token.rstrip())
    begin = max(text.rfind("\n", max(0, first - 400), first) + 1, span[0], first - 400)
    stop = text.find("\n", last, last + 400)
    before = _SPECIAL.sub("", text[begin:first])
    after = _SPECIAL.sub("", text[last : min(span[1], stop if stop >= 0 else len(text), last + 400)])
    return _BEFORE.fullmatch(before) is not None and _AFTER.fullmatch(after) is not None


def _distribution(token: Token, allowed: Callable[[str], str | None]) -> dict[str, float] | None:
    """Return the probabilities of the allowed verdicts, made to sum to one; None if they are no numbers."""
    given = dict(token.alternatives)
    given.setdefault(token.text, token.logprob)
    weights: dict[str, float] = {}
    for text, logprob in given.items():
        name = allowed(text)
        if name is None:
            continue
        if math.isnan(logprob) or logprob == math.inf:
            return None
        weights[name] = weights.get(name, 0.0) + math.exp(min(logprob, 0.0))
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if total > 0 else None


def _weighed(weights: Mapping[str, float], view: View) -> Verdict:
    """Return the verdict that a distribution says."""
    if view.task == "score":
        turned = {(view.scale.turned(float(n)) if turns(view) else float(n)): p for n, p in weights.items()}
        probabilities = {f"{value:g}": p for value, p in sorted(turned.items())}
        return Score(math.fsum(value * p for value, p in turned.items()), probabilities)
    if view.task == "rubric":
        met = weights.get("unmet" if view.framing is Framing.NEGATIVE else "met", 0.0)
        return Criteria({view.criteria[0]: met >= 0.5}, {view.criteria[0]: met})
    named = {"tie" if n == "tie" else view.ids[better(int(n), view)]: p for n, p in weights.items()}
    probabilities = {name: named.get(name, 0.0) for name in (*view.ids, "tie")}
    best = max(probabilities.values())
    top = [name for name, p in probabilities.items() if p == best]
    return Preferred(top[0], probabilities) if len(top) == 1 and top[0] != "tie" else Tie(probabilities)
