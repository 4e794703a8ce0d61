"""Changes of the prompt of the judge inside, on top of any edit of it that a test makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from calm.core.case import Case
from calm.core.templates import Message, Messages, Prompt
from calm.core.verdict import Verdict
from calm.judges.combining import LAW, combined
from calm.judges.mitigations.inner_model import model_of
from calm.judges.mitigations.mitigation import MitigatedJudge, NotApplicable
from calm.judges.prompted import together
from calm.models.wire import Judge, Rewordable, Send

_FIELDS = re.compile(r"\{%[-+]?\s*for\b[^%]*\bin\s+fields\b")
"""A template that shows all fields of a case."""


def with_changed_prompt(name: str, judge: Judge, change: Callable[[Prompt], Prompt]) -> Judge:
    """
    Return the judge with a changed prompt.

    Raises:
        NotApplicable: it has no prompt.
    """
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None or not isinstance(judge, Rewordable):
        raise NotApplicable(f"{name}: the judge has no prompt that can be rewritten")
    return judge.with_prompt(change(prompt))


def prompt_mitigation(
    name: str, judge: Judge, label: str, change: Callable[[Prompt], Prompt], *, key: str = ""
) -> Judge:
    """
    Return a judge whose prompt is changed before each ask, on top of any edit of it that a test makes.

    `key` is what of it decides verdicts, where that is more than its label: it is another one for another text.

    Raises:
        NotApplicable: it has no prompt.
    """
    with_changed_prompt(name, judge, change)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        return await with_changed_prompt(name, inner, change).judge(case, send)

    return MitigatedJudge(
        judge, label, key or label, ask, lambda inner, case: with_changed_prompt(name, inner, change).sees(case)
    )


def several_prompts(name: str, judge: Judge, label: str, changes: Sequence[Callable[[Prompt], Prompt]]) -> Judge:
    """
    Return a judge that is asked once with each of several changes of its prompt, and takes the mean.

    Raises:
        NotApplicable: it has no prompt.
    """

    def each(inner: Judge) -> list[Judge]:
        return [with_changed_prompt(name, inner, change) for change in changes]

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        return combined(await together(*(one.judge(case, send) for one in each(inner))), case)

    each(judge)
    key = label.replace(name, f"{name}-{LAW}", 1)
    return MitigatedJudge(judge, label, key, ask, lambda inner, case: each(inner)[0].sees(case))


def with_field(prompt: Prompt, field: str, about: str) -> Prompt:
    """Return a prompt that shows a field of the case, where it has one, and says what it is about."""
    text = f"{{% if '{field}' in fields %}}{about}"
    shown = any(_FIELDS.search(message.text) for message in prompt.messages)
    tag = f"<{field}>\n{{{{ fields['{field}'] }}}}\n</{field}>"
    where = f"It stands in the field {field}." if shown else f"\n{tag}"
    return with_last_words(prompt, f"{text} {where}{{% endif %}}")


def with_rule(prompt: Prompt, text: str) -> Prompt:
    """Return a prompt whose system message ends with a text, in each framing; it gets one if it has none."""

    def change(messages: Messages) -> Messages:
        if messages[0].role != "system":
            return (Message("system", text), *messages)
        return (_ending(messages[0], text), *messages[1:])

    return prompt.each(change)


def with_last_words(prompt: Prompt, text: str) -> Prompt:
    """Return a prompt whose last message ends with a text, in each framing."""
    return prompt.each(lambda messages: (*messages[:-1], _ending(messages[-1], text)))


def _ending(message: Message, text: str) -> Message:
    """Add a text after a message, with its own kind of line end: a template may not mix two kinds."""
    end = "\r\n" if "\r\n" in message.text else "\n"
    return Message(message.role, f"{message.text.rstrip()}{end * 2}{text.replace(chr(10), end)}")


def need_room_for_reasons(name: str, judge: Judge) -> None:
    """
    Refuse a judge whose reply is the verdict and nothing else.

    Raises:
        NotApplicable: its reply has no room for reasons.
    """
    inside = model_of(judge)
    if inside is not None and (inside.schema is not None or (inside.form.kind == "logprobs" and inside.prompt.bundled)):
        raise NotApplicable(f"{name}: the judge's reply is the verdict alone, with no room for reasons")
