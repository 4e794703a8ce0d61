"""
Spans of generative AI in OpenTelemetry (also OpenLLMetry and OpenInference), and annotations of Phoenix.

A verdict is an event `gen_ai.evaluation.result`, an annotation, or the reply of a judge. A span of a model is that of a
judge if it lies under a span of kind EVALUATOR, or if a span around it, or its model, is called judge, grader or so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.cases.logs.judgments import Judgment, Log, State
from calm.cases.logs.spans import Span, indexed, spans_in
from calm.cases.logs.values import (
    CONTEXTS,
    REFERENCES,
    answer_in,
    first_of,
    number,
    question_in,
    reference_in,
    said_by,
    texts_in,
)
from calm.cases.messages import objects, string, unpacked

_EVALUATION: Final = "gen_ai.evaluation"
_JUDGE: Final = re.compile(r"judge|grader|grading|evaluat|scorer|metric", re.IGNORECASE)
_SAID: Final = ("score", "rating", "grade", "verdict", "label", "pass", "passed", "result", "choice", "value")
_MARK: Final = re.compile(r"\[\[\s*([^\[\]]{1,40}?)\s*\]\]")
_LAST: Final = re.compile(r"(?:score|rating|grade|verdict)\s*[:=]\s*\**\s*([\w.+-]{1,20})", re.IGNORECASE)
_OBJECT: Final = re.compile(r"\{[^{}]*\}", re.DOTALL)
_NAMED: Final = "evaluate "


@dataclass(frozen=True, slots=True)
class _Held:
    """The spans of some files: by id, by trace, and those of judges."""

    by_id: Mapping[str, Span]
    traces: Mapping[str, Sequence[Span]]
    judges: Sequence[Span]

    def told(self, span: Span) -> _About:
        """Return question, answer and context of a span that was judged."""
        asked = said_by("user", span.asked)
        question = question_in(unpacked(span.attributes.get("input.value")) or "") or asked
        answer = answer_in(unpacked(span.attributes.get("output.value")) or "") or span.replied
        context = tuple(text for one in self.traces[span.trace] for text in one.documents)
        return _About(question, answer, context, tools=span.tools)

    def handed(self, judge: Span) -> _About:
        """Return what a judge was handed, as the span of kind EVALUATOR around it says; empty where there is none."""
        outer = next((one for one in around(judge, self.by_id) if one.kind == "EVALUATOR"), None)
        given = unpacked(outer.attributes.get("input.value")) if outer else None
        values = given if isinstance(given, Mapping) else {}
        return _About(
            question_in(first_of(values, ("input", "question", "query")) or ""),
            answer_in(first_of(values, ("output", "answer", "response")) or ""),
            texts_in(first_of(values, CONTEXTS)),
            reference_in(first_of(values, REFERENCES[:-2]) or ""),
        )

    def call(self, about: _About, span: Span) -> Span | None:
        """Return the one call of a judge whose prompt holds question and answer, in the same trace if any is there."""
        found = [
            one for one in self.judges if one is not span and one.shows(about.question) and one.shows(about.answer)
        ]
        near = [one for one in found if one.trace == span.trace] or found
        return near[0] if len(near) == 1 else None


@dataclass(frozen=True, slots=True)
class _About:
    """What a verdict is about."""

    question: str = ""
    answer: str = ""
    context: tuple[str, ...] = ()
    reference: str = ""
    tools: bool = False


def around(span: Span, by_id: Mapping[str, Span]) -> list[Span]:
    """Return a span and those around it, from the inside."""
    found = [span]
    while (outer := by_id.get(found[-1].parent)) is not None and outer not in found:
        found.append(outer)
    return found


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all spans to the log."""
    spans = spans_in(documents)
    by_id = {span.id: span for span in spans}
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    held = _Held(by_id, traces, [span for span in spans if span.asked and span.model and _is_judge(span, by_id)])
    before = len(log.judgments)
    for span in spans:
        for name, attributes in span.events:
            if name == f"{_EVALUATION}.result":
                _event(span, attributes, held, log)
        for one in (*indexed(span.attributes, "annotations"), *indexed(span.attributes, "evaluations")):
            plain = {key.removeprefix("annotation.").removeprefix("evaluation."): value for key, value in one.items()}
            _annotated(span, plain, held, log)
    for document in documents:
        for row in (*objects(document, "data"), *([document] if isinstance(document, Mapping) else [])):
            if "annotator_kind" in row and (about := by_id.get(string(row, "span_id"))) is not None:
                result = row.get("result")
                _annotated(about, {**row, **(result if isinstance(result, Mapping) else {})}, held, log)
    if len(log.judgments) == before:
        for span in held.judges:
            _reply(span, held, log)


def _is_judge(span: Span, by_id: Mapping[str, Span]) -> bool:
    named = any(one.kind == "EVALUATOR" or _JUDGE.search(one.name) for one in around(span, by_id))
    return named or bool(_JUDGE.search(span.model))


def _event(span: Span, attributes: Mapping[str, object], held: _Held, log: Log) -> None:
    value, label = number(attributes.get(f"{_EVALUATION}.score.value")), attributes.get(f"{_EVALUATION}.score.label")
    failed = bool(attributes.get("error.type"))
    reason = string(attributes, f"{_EVALUATION}.explanation")
    said = None if failed else label if value is None else value
    _add(span, string(attributes, f"{_EVALUATION}.name"), said, held, log, reason=reason)


def _annotated(span: Span, one: Mapping[str, object], held: _Held, log: Log) -> None:
    kind = string(one, "annotator_kind").upper()
    if kind == "CODE":
        log.leave(f"{string(one, 'name')}: no judge that is a model")
        return
    score = number(one.get("score"))
    said = string(one, "label") or None if score is None else score
    person = string(one, "identifier") if kind == "HUMAN" else None
    _add(span, string(one, "name"), said, held, log, reason=string(one, "explanation"), person=person)


def _add(
    span: Span, metric: str, value: object, held: _Held, log: Log, *, reason: str = "", person: str | None = None
) -> None:
    """Add a verdict on a span, that of a judge unless there is a person who said it; None: there is none."""
    about = held.told(span)
    if not about.question or not about.answer:
        log.leave("a verdict on a span without an input or an output; was content captured?")
        return
    call = held.call(about, span)
    asked = call if person is None else None
    handed = _About() if call is None else held.handed(call)
    log.judgments.append(
        replace(
            _judgment(span, about, metric or "evaluation", value, without="failed"),
            reference=handed.reference or None,
            who="judge" if person is None else "person",
            person=person or "",
            reason=reason,
            prompt=() if asked is None else asked.prompt,
            reply="" if asked is None else asked.replied,
            model="" if asked is None else asked.model,
        )
    )


def _reply(span: Span, held: _Held, log: Log) -> None:
    """Add what the reply of a judge says, on the texts that the span around it, or its trace, holds."""
    about = held.handed(span)
    if not about.question or not about.answer:
        judged = [one for one in held.traces[span.trace] if one not in held.judges and one.asked and one.replied]
        about = held.told(judged[-1]) if len(judged) == 1 else _About()
    if not about.question or not about.answer:
        log.leave("a call of a judge without a span that says which question and answer it was about")
        return
    outer = around(span, held.by_id)[-1]
    name = outer.name if outer is not span else ""
    metric = name[len(_NAMED) :] if name.lower().startswith(_NAMED) else name or span.model
    log.judgments.append(
        replace(
            _judgment(span, about, metric, verdict_in(span.replied), without="unread"),
            reference=about.reference or None,
            prompt=span.prompt,
            reply=span.replied,
            model=span.model,
        )
    )


def _judgment(span: Span, about: _About, metric: str, value: object, *, without: State) -> Judgment:
    """Return a verdict on a span, about the texts that are known of it; `without` is its state if there is no value."""
    return Judgment(
        metric=metric,
        place=f"span {span.id}",
        question=about.question,
        answers=(about.answer,),
        value=value,
        state=without if value is None else "said",
        item=f"{span.trace[:8]}-{span.id[:8]}",
        context=about.context,
        tools=about.tools,
        row=span.attributes,
    )


def verdict_in(reply: str) -> object:
    """
    Return the verdict in a reply: of the last JSON object, the last double brackets, or the last line that names one.

    >>> verdict_in('Fine. {"score": 4}'), verdict_in("Best: [[7]]"), verdict_in("GRADE: C"), verdict_in("Hm.")
    (4, 7.0, 'C', None)
    """
    for found in reversed(_OBJECT.findall(reply)):
        value = first_of(values, _SAID) if isinstance(values := unpacked(found), Mapping) else None
        if isinstance(value, str | bool | int | float):
            return value
    said = [*_MARK.findall(reply)] or [*_LAST.findall(reply)]
    if not said:
        return None
    try:
        return float(said[-1])
    except ValueError:
        return str(said[-1])
