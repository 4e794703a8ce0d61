"""A prompt as it is sent about a case, and what is wrong with one before it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from calm.core.case import Answer, Case, Criterion, Example, Framing
from calm.core.classes import Classes
from calm.core.material import ASSISTANT, USER, Passage, Step, Turn
from calm.core.templates import Message, Messages, Prompt
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError
from calm.judges.prompts.placing import placed
from calm.judges.prompts.sandbox import MAX_RENDERED, TemplateFault, rendered
from calm.judges.prompts.skeleton import Pieces, Skeletons, filled, marked, moving, shaped
from calm.judges.prompts.variables import context_of

MOST_FILLED: Final = MAX_RENDERED // 2
"""Characters that a prompt may have which is put together; a longer one is rendered, and stopped at its limit."""
_SKELETONS: Final = Skeletons()
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


def render(prompt: Prompt, case: Case, task: Task, scale: Scale, criterion: Criterion | None = None) -> Messages:
    """
    Return the messages that a judge is sent about a case, rendered byte for byte.

    `placed` chooses the place of what a user's own templates have no place for. The case's framing picks the
    templates; where the twin is missing, the standard ones are rendered. Follow-ups are not part of it. `criterion` is
    the one asked about, for the task rubric.

    Raises:
        ConfigError: a template that cannot be rendered; the message names the template, its line and the variable.
    """
    return rendered_with_places(prompt, case, task, scale, criterion)[0]


def rendered_with_places(
    prompt: Prompt, case: Case, task: Task, scale: Scale, criterion: Criterion | None = None
) -> tuple[Messages, frozenset[str]]:
    """Return the messages, as `render` does, and where what the templates have no place for stands in them."""
    return placed(prompt, case, lambda one: _drawn(prompt, one, task, scale, criterion))


def shared(prompt: Prompt, case: Case, scale: Scale, criterion: Criterion | None = None) -> tuple[int, ...]:
    """
    Return how many characters the messages begin with that those about other cases of this shape have, too.

    The second number is that of all messages about this case, however its answers are edited. Templates that do more
    than write texts tell neither.
    """
    found = _pieces(prompt.framed(case.framing), case, scale, criterion, bundled=prompt.bundled)
    if found is None:
        return ()
    pieces, texts = found
    edited = moving(case, criterion)
    fixed = same = 0
    for one in (one for each in pieces for one in ((None,) if each is None else each)):
        if one is None or one in edited:
            break
        size = len(one) if isinstance(one, str) else len(texts[one])
        fixed += size if isinstance(one, str) and fixed == same else 0
        same += size
    return (fixed, same) if same > fixed else (fixed,)


def _pieces(
    messages: Messages, case: Case, scale: Scale, criterion: Criterion | None, *, bundled: bool
) -> tuple[list[Pieces | None], list[str]] | None:
    """Return the skeletons of the templates and the texts of a case; None for a case that is rendered each time."""
    found = shaped(case, scale, criterion, bundled=bundled)
    if found is None:
        return None
    shape, texts = found

    def drawn(text: str, base: int) -> str | None:
        marks, asked = marked(case, criterion, base)
        try:
            return rendered(text, context_of(marks, scale, asked, bundled=bundled), ours=bundled)
        except TemplateFault:
            return None

    return [_SKELETONS.pieces(m.text, shape, partial(drawn, m.text), bundled=bundled) for m in messages], texts


def _drawn(prompt: Prompt, case: Case, task: Task, scale: Scale, criterion: Criterion | None) -> Messages:
    """Return the messages of the templates alone."""
    messages, bundled = prompt.framed(case.framing), prompt.bundled
    found = _pieces(messages, case, scale, criterion, bundled=bundled)
    if found is not None:
        pieces, texts = found
        longest = sum(map(len, texts))
        if all(p is not None and longest * len(p) <= MOST_FILLED for p in pieces):
            return tuple([Message(m.role, filled(p or (), texts)) for m, p in zip(messages, pieces, strict=True)])
    return _drawn_whole(messages, case, task, context_of(case, scale, criterion, bundled=bundled), bundled=bundled)


def _drawn_whole(
    messages: Messages, case: Case, task: Task, context: Mapping[str, object], *, bundled: bool
) -> Messages:
    """Return the messages, each rendered with all values."""
    out = []
    for index, message in enumerate(messages, start=1):
        try:
            out.append(Message(message.role, rendered(message.text, context, ours=bundled)))
        except TemplateFault as fault:
            place = f"task {task}, case {case.id}: template {index} ({message.role}, {case.framing} framing)"
            raise ConfigError(fault.at(place)) from fault
    return tuple(out)


def check(
    prompt: Prompt, task: Task, scale: Scale | None = None, *, names: Mapping[str, str] | None = None
) -> list[str]:
    """
    Return the problems of a prompt, a line for each; none if it can be used.

    Every template is compiled, and rendered twice on a sample case that has everything (and any field asked for).

    Args:
        scale: the judge's scale (default: 1 to 10, or two classes for the task label).
        names: template text to the file that it was read from, for the messages.
    """
    problems = []
    for framing, messages in _sets(prompt):
        if not messages:
            problems.append(f"the {framing} prompt has no messages; expected at least one")
        for index, message in enumerate(messages, start=1):
            place = (names or {}).get(message.text) or f"template {index} ({message.role}, {framing} framing)"
            problem = _problem(message.text, task, scale or _any_scale(task), place, bundled=prompt.bundled)
            if problem is not None:
                problems.append(problem)
    return problems


def _any_scale(task: Task) -> Scale:
    return Scale(classes=Classes(("no", "yes"))) if task == "label" else Scale()


def _problem(text: str, task: Task, scale: Scale, place: str, *, bundled: bool) -> str | None:
    """Return what is wrong with one template, or None."""
    case = _sample(task)
    criterion = case.criteria[0] if task == "rubric" else None
    try:
        context = _sample_context(case, scale, criterion, bundled=bundled)
        one, two = (rendered(text, context, ours=bundled) for _ in range(2))
    except TemplateFault as fault:
        return fault.at(place)
    if one != two or _ADDRESS.search(one):
        return f"{place}: two renderings of one case differ; take out what is random or prints an object's address"
    return None


def _sample_context(case: Case, scale: Scale, criterion: Criterion | None, *, bundled: bool) -> dict[str, object]:
    """Return a sample's variables; its fields answer to every name, as a case's fields are the user's own."""
    context = context_of(case, scale, criterion, bundled=bundled)
    return {**context, "fields": _AnyField(case.fields)}


class _AnyField(dict[str, str]):
    """The fields of a sample, which has one of every name."""

    def __missing__(self, name: str) -> str:
        return "A sample field."


def _sample(task: Task) -> Case:
    """Return a case that has everything a template can show."""
    several = {"pairwise": 2, "listwise": 3}.get(task, 1)
    steps = (Step("A thought.", "look_up", '{"word": "sky"}', "A result."),)
    answers = tuple(
        Answer(f"a{n}", f"Sample answer {n}.", history=("An early draft.",) * 9, steps=steps) for n in range(several)
    )
    return Case(
        "sample",
        "Which colour has the sky?",
        answers,
        reference="Blue.",
        criteria=(Criterion("c1", "It is short."), Criterion("c2", "It names a colour.")),
        fields={"context": "A sample field."},
        turns=(Turn(USER, "A first message."), Turn(ASSISTANT, "A first reply.")),
        context=(Passage("p1", "A sample passage."),),
    ).present(
        notes=("A sample note.",),
        examples=(Example("Is water wet?", tuple("Yes." for _ in answers), "A"),),
        bylines={"a0": "Sample"},
    )


def _sets(prompt: Prompt) -> Iterator[tuple[Framing, tuple[Message, ...]]]:
    yield Framing.STANDARD, prompt.messages
    if prompt.negative is not None:
        yield Framing.NEGATIVE, prompt.negative
    if prompt.inverted is not None:
        yield Framing.INVERTED, prompt.inverted
