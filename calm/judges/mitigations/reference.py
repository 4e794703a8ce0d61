"""
Reference: show what a good answer says (arXiv:2306.05685), at a length that favours no answer (arXiv:2407.01085).

`reference` shows the case's own reference. If there is none, the judge's model writes one before it sees any answer;
with `reference:self` it always does. `same-length` chooses among the case's reference and its fields whose names begin
with "reference": it shows the one whose length is nearest to the mean length of the answers. If the case has none, the
model writes one of that length.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from calm.core.case import Case
from calm.core.templates import Prompt
from calm.core.verdict import Verdict
from calm.errors import ConfigError
from calm.judges.mitigations.inner_model import ask_model, need_model, shown_question
from calm.judges.mitigations.mitigation import EVERY, MitigatedJudge, Mitigation, Reader
from calm.judges.mitigations.prompt_changes import with_changed_prompt, with_last_words
from calm.models.wire import Judge, Send

FIELD = "reference"
STEP = 50
"""A length that is asked for is rounded up to a multiple of so many words, so that similar cases share a call."""

_USED = re.compile(r"\{[%{][^}]*\breference\b")
_SHOWN = (
    "{% if reference is not none %}A reference answer, to check the others against; it is not one of those to be "
    "judged:\n<reference>\n{{ reference }}\n</reference>{% endif %}"
)

Find = Callable[[Judge, Case, Send], Awaitable[str | None]]


def _showing(prompt: Prompt) -> Prompt:
    """Return a prompt that shows the reference."""
    shown = any(_USED.search(message.text) for message in prompt.messages)
    return prompt if shown else with_last_words(prompt, _SHOWN)


def _with_reference(name: str, judge: Judge, label: str, find: Find) -> Judge:
    need_model(name, judge)
    with_changed_prompt(name, judge, _showing)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        found = await find(inner, case, send)
        fields = {key: text for key, text in case.fields.items() if not key.startswith(FIELD)}
        return await with_changed_prompt(name, inner, _showing).judge(
            replace(case, reference=found, fields=fields), send
        )

    return MitigatedJudge(
        judge, label, label, ask, lambda inner, case: with_changed_prompt(name, inner, _showing).sees(case)
    )


async def _written(judge: Judge, case: Case, send: Send, words: int | None = None) -> str | None:
    """Return the model's own answer to the question, written before it sees one; None if it says nothing."""
    length = "" if words is None else f" Write about {words} words."
    system = (
        "Answer the question between the tags as well as you can, correctly and completely. Write the answer alone."
    )
    asked = shown_question(replace(case, criteria=()))
    reply = await ask_model(need_model("reference", judge), system + length, asked, send)
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
        raise ConfigError(f"mitigations: expected 'reference' or 'reference:self', got {argument!r} after the colon")
    return _with_reference(
        "reference", judge, f"reference{argument and ':self'}", _written if argument else _own_or_written
    )


def _same_length(judge: Judge, *_: object) -> Judge:
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
