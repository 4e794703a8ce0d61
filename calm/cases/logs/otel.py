"""
Spans of generative AI in OpenTelemetry (also OpenLLMetry and OpenInference), and annotations of Phoenix.

A verdict is an event `gen_ai.evaluation.result`, an annotation, or the reply of a judge. A span of a model is that of a
judge if it lies under a span of kind EVALUATOR, or if a span around it, or its model, is called judge, grader or so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from calm.cases.logs.judgments import Judgment, Log
from calm.cases.logs.spans import Span, indexed, spans_in
from calm.cases.logs.values import (
    CONTEXTS,
    REFERENCES,
    answer_in,
    dig,
    first_of,
    number,
    objects,
    question_in,
    reference_in,
    string,
    texts_in,
    unpacked,
)

_EVALUATION: Final = "gen_ai.evaluation"
_JUDGE: Final = re.compile(r"judge|grader|grading|evaluat|scorer|metric", re.IGNORECASE)
_SAID: Final = ("score", "rating", "grade", "verdict", "label", "pass", "passed", "result", "choice", "value")
_MARK: Final = re.compile(r"\[\[\s*([^\[\]]{1,40}?)\s*\]\]")
_LAST: Final = re.compile(r"(?:score|rating|grade|verdict)\s*[:=]\s*\**\s*([\w.+-]{1,20})", re.IGNORECASE)
_OBJECT: Final = re.compile(r"\{[^{}]*\}", re.DOTALL)
_NAMED: Final = "evaluate "


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all spans to the log."""
    spans = spans_in(documents)
    by_id = {span.id: span for span in spans}
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    judges = [span for span in spans if span.asked and span.model and _is_judge(span, by_id)]
    before = len(log.judgments)
    for span in spans:
        for name, attributes in span.events:
            if name == f"{_EVALUATION}.result":
                _event(span, attributes, traces, judges, log)
        for one in (*indexed(span.attributes, "annotations"), *indexed(span.attributes, "evaluations")):
            plain = {key.removeprefix("annotation.").removeprefix("evaluation."): value for key, value in one.items()}
            _annotated(span, plain, traces, judges, log)
    for document in documents:
        for row in (*objects(document, "data"), *([document] if isinstance(document, Mapping) else [])):
            if "annotator_kind" in row and (about := by_id.get(string(row, "span_id"))) is not None:
                plain = {key: value for key, value in row.items() if key != "result"}
                result = row.get("result")
                _annotated(about, {**plain, **(result if isinstance(result, Mapping) else {})}, traces, judges, log)
    if len(log.judgments) > before:
        return
    for span in judges:
        _reply(span, by_id, traces, judges, log)


def _around(span: Span, by_id: Mapping[str, Span]) -> list[Span]:
    """Return a span and those around it, from the inside."""
    found = [span]
    while (outer := by_id.get(found[-1].parent)) is not None and outer not in found:
        found.append(outer)
    return found


def _is_judge(span: Span, by_id: Mapping[str, Span]) -> bool:
    return any(one.kind == "EVALUATOR" or _JUDGE.search(one.name) for one in _around(span, by_id)) or bool(
        _JUDGE.search(span.model)
    )


def _told(span: Span, traces: Mapping[str, Sequence[Span]]) -> tuple[str, str, tuple[str, ...]]:
    """Return question, answer and context of a span that was judged."""
    asked = [turn for turn in span.asked if turn.role == "user"]
    question = question_in(span.attributes.get("input.value") or "") or (asked[-1].text if asked else "")
    answer = answer_in(span.attributes.get("output.value") or "") or span.replied
    context = tuple(text for one in traces[span.trace] for text in one.documents)
    return question, answer, context


def _add(
    span: Span,
    about: tuple[str, str, tuple[str, ...]],
    said: tuple[str, object, str, str],
    judges: Sequence[Span],
    log: Log,
    *,
    failed: bool = False,
) -> None:
    """Add a verdict on a span: its metric, value, reason and the person who said it ("": a judge)."""
    question, answer, context = about
    metric, value, reason, person = said
    if not question or not answer:
        log.leave("a verdict on a span without an input or an output; was content captured?")
        return
    call = None if person else _call(question, answer, span, judges)
    log.judgments.append(
        Judgment(
            metric=metric or "evaluation",
            place=f"span {span.id}",
            question=question,
            answers=(answer,),
            value=None if failed else value,
            state="failed" if failed or value is None else "said",
            item=f"{span.trace[:8]}-{span.id[:8]}",
            context=context,
            who="person" if person else "judge",
            person=person,
            reason=reason,
            prompt=() if call is None else call.asked,
            reply="" if call is None else call.replied,
            model="" if call is None else call.model,
            row=span.attributes,
        )
    )


def _call(question: str, answer: str, span: Span, judges: Sequence[Span]) -> Span | None:
    """Return the one call of a judge whose prompt holds question and answer, in the same trace if any is there."""
    found = [one for one in judges if one is not span and _holds(one, question) and _holds(one, answer)]
    near = [one for one in found if one.trace == span.trace]
    return next(iter(near or found), None) if len(near or found) == 1 else None


def _holds(span: Span, text: str) -> bool:
    return any(text in turn.text for turn in span.asked)


def _event(
    span: Span,
    attributes: Mapping[str, object],
    traces: Mapping[str, Sequence[Span]],
    judges: Sequence[Span],
    log: Log,
) -> None:
    value, label = number(attributes.get(f"{_EVALUATION}.score.value")), attributes.get(f"{_EVALUATION}.score.label")
    said = string(attributes, f"{_EVALUATION}.name"), label if value is None else value
    reason = string(attributes, f"{_EVALUATION}.explanation")
    failed = bool(attributes.get("error.type"))
    _add(span, _told(span, traces), (*said, reason, ""), judges, log, failed=failed)


def _annotated(
    span: Span, one: Mapping[str, object], traces: Mapping[str, Sequence[Span]], judges: Sequence[Span], log: Log
) -> None:
    kind = string(one, "annotator_kind").upper()
    name = string(one, "name")
    if kind == "CODE":
        log.leave(f"{name}: no judge that is a model")
        return
    score = number(one.get("score"))
    value = string(one, "label") or None if score is None else score
    person = (string(one, "identifier") or "annotator") if kind == "HUMAN" else ""
    _add(span, _told(span, traces), (name, value, string(one, "explanation"), person), judges, log)


def _reply(
    span: Span,
    by_id: Mapping[str, Span],
    traces: Mapping[str, Sequence[Span]],
    judges: Sequence[Span],
    log: Log,
) -> None:
    """Add what the reply of a judge says, on the texts that the span around it, or its trace, holds."""
    around = _around(span, by_id)
    evaluator = next((one for one in around if one.kind == "EVALUATOR"), None)
    given = unpacked(evaluator.attributes.get("input.value")) if evaluator else None
    values = given if isinstance(given, Mapping) else {}
    question, answer = question_in(first_of(values, ("input", "question", "query")) or ""), ""
    answer = answer_in(first_of(values, ("output", "answer", "response")) or "")
    context = texts_in(first_of(values, CONTEXTS))
    if not question or not answer:
        judged = [one for one in traces[span.trace] if one not in judges and one.asked and one.replied]
        question, answer, context = _told(judged[-1], traces) if len(judged) == 1 else ("", "", ())
    if not question or not answer:
        log.leave("a call of a judge without a span that says which question and answer it was about")
        return
    verdict = verdict_in(span.replied)
    outer = evaluator or around[-1]
    name = outer.name if outer is not span else ""
    log.judgments.append(
        Judgment(
            metric=name[len(_NAMED) :] if name.lower().startswith(_NAMED) else name or span.model,
            place=f"span {span.id}",
            question=question,
            answers=(answer,),
            value=verdict,
            state="unread" if verdict is None else "said",
            item=f"{span.trace[:8]}-{span.id[:8]}",
            reference=reference_in(first_of(values, REFERENCES[:-2]) or "") or None,
            context=context,
            prompt=span.asked,
            reply=span.replied,
            model=span.model,
            row=span.attributes,
        )
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
