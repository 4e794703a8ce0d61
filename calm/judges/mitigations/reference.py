"""
Reference: show what a good answer says (arXiv:2306.05685), at a length that favours nobody (arXiv:2407.01085).

`reference` takes the case's own or, where it has none, one that the judge's model writes before it has seen any answer;
`reference:self` always the latter. `same-length` takes, of the case's reference and its fields whose names begin with
"reference", the one whose length is nearest to the mean length of the answers; where the case has none, the model
writes one of that length.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from calm.core.case import Case
from calm.core.templates import Prompt
from calm.core.verdict import Verdict
from calm.errors import ConfigError
from calm.judges.mitigations.mitigation import (
    EVERY,
    Mitigated,
    Mitigation,
    Reader,
    ended,
    needed_model,
    plain,
    reworded,
    said,
)
from calm.judges.prompts import neutral
from calm.models.wire import Judge, Send

FIELD = "reference"
STEP = 50
"""Words that an asked-for length is rounded up to, so that cases of like lengths share a call."""

_USED = re.compile(r"\{[%{][^}]*\breference\b")
_SHOWN = (
    "{% if reference is not none %}A reference answer, to check the others against; it is not one of those to be "
    "judged:\n<reference>\n{{ reference }}\n</reference>{% endif %}"
)

Find = Callable[[Judge, Case, Send], Awaitable[str | None]]


def _showing(prompt: Prompt) -> Prompt:
    """Return a prompt that shows the reference."""
    shown = any(_USED.search(message.text) for message in prompt.messages)
    return prompt if shown else ended(prompt, _SHOWN)


def _with_reference(name: str, judge: Judge, label: str, find: Find) -> Judge:
    needed_model(name, judge)
    reworded(name, judge, _showing)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        found = await find(inner, case, send)
        fields = {key: text for key, text in case.fields.items() if not key.startswith(FIELD)}
        return await reworded(name, inner, _showing).judge(replace(case, reference=found, fields=fields), send)

    return Mitigated(judge, label, label, ask, lambda inner, case: reworded(name, inner, _showing).sees(case))


async def _written(judge: Judge, case: Case, send: Send, words: int | None = None) -> str | None:
    """Return what the model answers to the question before it has seen an answer; None if it says nothing."""
    length = "" if words is None else f" Write about {words} words."
    system = (
        "Answer the question between the tags as well as you can, correctly and completely. Write the answer alone."
    )
    given = [f'<field name="{neutral(name)}">\n{neutral(text)}\n</field>' for name, text in case.fields.items()]
    asked = f"<question>\n{neutral(case.question)}\n</question>"
    reply = await said(needed_model("reference", judge), system + length, "\n\n".join([*given, asked]), send)
    return reply.text.strip() or None


async def _own_or_written(judge: Judge, case: Case, send: Send) -> str | None:
    return case.reference if case.reference is not None else await _written(judge, case, send)


async def _nearest(judge: Judge, case: Case, send: Send) -> str | None:
    """Return the reference whose length is nearest to the mean length of the answers."""
    mean = sum(len(a.text.split()) for a in case.shown) / len(case.shown)
    given = [case.reference, *(text for key, text in case.fields.items() if key.startswith(FIELD))]
    known = [text for text in given if text is not None]
    if not known:
        return await _written(judge, case, send, words=max(STEP, STEP * -(-round(mean) // STEP)))
    return min(known, key=lambda text: abs(len(text.split()) - mean))


def _reference(judge: Judge, argument: str, _: Reader) -> Judge:
    if argument not in ("", "self"):
        raise ConfigError(f"mitigations: expected 'reference' or 'reference:self', got {argument!r} behind the colon")
    return _with_reference(
        "reference", judge, f"reference{argument and ':self'}", _written if argument else _own_or_written
    )


def _same_length(judge: Judge, argument: str, _: Reader) -> Judge:
    plain("same-length", argument)
    return _with_reference("same-length", judge, "same-length", _nearest)


MITIGATIONS = (
    Mitigation(
        "reference",
        "show a reference: the case's, or one that the judge's model writes beforehand",
        EVERY,
        "1, or 2 where the model writes it",
        "arXiv:2306.05685",
        _reference,
        "self",
    ),
    Mitigation(
        "same-length",
        "show, of several references, the one that is as long as the answers",
        EVERY,
        "1, or 2 where the model writes it",
        "arXiv:2407.01085",
        _same_length,
    ),
)
