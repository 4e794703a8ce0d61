"""
What MLflow keeps: traces with assessments (`Trace.to_json()`, or rows of `search_traces()`), and tables of the older
`mlflow.evaluate`. The prompt of a judge is there only if its own trace was logged and is among the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from calm.cases.logs.judgments import Judgment, Log, State
from calm.cases.logs.values import (
    CONTEXTS,
    QUESTIONS,
    REFERENCES,
    answer_in,
    first_of,
    number,
    prompt_of,
    question_in,
    reference_in,
    texts_in,
    uses_tools,
    written,
)
from calm.cases.rows import (
    dig,
    objects,
    string,
    unpacked,
)
from calm.core.case import Turn
from calm.core.files import json_of

_SCORE: Final = "/score"
_WHY: Final = "/justification"
_NO_SCORE: Final = "Failed to extract score and justification. Raw output: "
_NO_CALL: Final = "Failed to score model on payload"
_UNNAMED: Final = "default"
"""The source of an assessment whose author gave no name."""
_OUTPUTS: Final = ("outputs", "output", "predictions", "prediction", "answer", "response")


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all traces and tables to the log."""
    traces: list[Mapping[str, object]] = []
    for document in documents:
        if isinstance(dig(document, "columns"), list):
            _table(document, log)
        else:
            traces += _traces(document)
    judges = {string(trace, "info", "trace_id"): _call(trace) for trace in traces if _is_judge(trace)}
    for trace in traces:
        if not _is_judge(trace):
            _trace(trace, judges, log)


def _traces(document: object) -> Iterator[Mapping[str, object]]:
    """Yield the traces of a document: one, or a row of a table that holds one in a column."""
    within = unpacked(dig(document, "trace"))
    for one in (document, within):
        if isinstance(one, Mapping) and isinstance(one.get("info"), Mapping):
            yield one
            return


def _is_judge(trace: Mapping[str, object]) -> bool:
    return bool(dig(trace, "info", "tags", "mlflow.trace.sourceScorer"))


def _attribute(span: object, key: str) -> object:
    """Return an attribute of a span: a string of JSON, also where it is a string itself."""
    value = dig(span, "attributes", key)
    if isinstance(value, str):
        try:
            return json_of(value)
        except ValueError:  # no JSON, or over a limit
            return value
    return value


def _call(trace: Mapping[str, object]) -> tuple[tuple[Turn, ...], str]:
    """Return prompt and reply of the last call of a model in the trace of a judge."""
    calls = [
        span for span in objects(trace, "data", "spans") if _attribute(span, "mlflow.spanType") in ("CHAT_MODEL", "LLM")
    ]
    if not calls:
        return (), ""
    asked = _attribute(calls[-1], "mlflow.spanInputs")
    return prompt_of(asked), answer_in(_attribute(calls[-1], "mlflow.spanOutputs"))


def _trace(trace: Mapping[str, object], judges: Mapping[str, tuple[tuple[Turn, ...], str]], log: Log) -> None:
    spans = objects(trace, "data", "spans")
    root = next((span for span in spans if not span.get("parent_span_id")), None)
    question = question_in(_attribute(root, "mlflow.spanInputs"))
    answer = answer_in(_attribute(root, "mlflow.spanOutputs"))
    name = string(trace, "info", "trace_id")
    tools = uses_tools([_attribute(root, "mlflow.spanInputs"), _attribute(root, "mlflow.spanOutputs")])
    if not question or not answer:
        log.leave("a trace without an input or an output")
        return
    context = tuple(
        text
        for span in spans
        if _attribute(span, "mlflow.spanType") == "RETRIEVER"
        for text in texts_in(_attribute(span, "mlflow.spanOutputs"))
    )
    assessments = objects(trace, "info", "assessments")
    expected = {
        string(one, "assessment_name"): _expected(one)
        for one in assessments
        if one.get("expectation") and not _replaced(one)
    }
    reference = reference_in(first_of(expected, REFERENCES)) or None
    for one in assessments:
        kind = string(one, "source", "source_type")
        if kind == "HUMAN" and _replaced(one):
            log.leave(f"{string(one, 'assessment_name')}: a person replaced it")
            continue
        if one.get("expectation"):
            continue
        if kind not in ("LLM_JUDGE", "AI_JUDGE", "HUMAN"):
            log.leave(f"{string(one, 'assessment_name')}: no judge that is a model")
            continue
        if one.get("span_id"):
            log.leave(f"{string(one, 'assessment_name')}: about a part of a trace")
            continue
        value, error = dig(one, "feedback", "value"), dig(one, "feedback", "error")
        failed = error is not None or value is None
        prompt, reply = judges.get(string(one, "metadata", "mlflow.assessment.scorerTraceId"), ((), ""))
        log.judgments.append(
            Judgment(
                metric=string(one, "assessment_name"),
                place=f"trace {name}",
                question=question,
                answers=(answer,),
                value=None if failed else value,
                state="failed" if failed else "said",
                item=name,
                reference=reference,
                context=context,
                who="person" if kind == "HUMAN" else "judge",
                person=named if (named := string(one, "source", "source_id")) != _UNNAMED else "",
                reason=string(one, "rationale"),
                prompt=prompt,
                reply=reply,
                model=string(one, "source", "source_id"),
                tools=tools,
                row=trace,
            )
        )


def _replaced(assessment: Mapping[str, object]) -> bool:
    """Return whether another assessment took the place of one. A verdict of a judge is still what the judge said."""
    return assessment.get("valid") is False


def _expected(assessment: Mapping[str, object]) -> object:
    found = dig(assessment, "expectation", "value")
    return unpacked(dig(assessment, "expectation", "serialized_value", "value")) if found is None else found


def _table(document: object, log: Log) -> None:
    """Add the judgments of a table that `mlflow.evaluate` wrote: columns, and rows as lists."""
    named, rows = dig(document, "columns"), dig(document, "data")
    columns = [str(column) for column in named] if isinstance(named, list) else []
    scored = [column for column in columns if column.endswith(_SCORE)]
    for place, cells in enumerate(rows if isinstance(rows, list) else (), 1):
        row = dict(zip(columns, cells, strict=False)) if isinstance(cells, list) else {}
        question, answer = question_in(first_of(row, QUESTIONS)), answer_in(first_of(row, _OUTPUTS))
        if not question or not answer:
            log.leave("a row without a question or an answer")
            continue
        for column in scored:
            why = written(row.get(f"{column.removesuffix(_SCORE)}{_WHY}"))
            if f"{column.removesuffix(_SCORE)}{_WHY}" not in columns:
                log.leave(f"{column}: no judge that is a model")
                continue
            score = number(row.get(column))
            state: State = "said" if score is not None else "failed" if why.startswith(_NO_CALL) else "unread"
            log.judgments.append(
                Judgment(
                    metric=column.removesuffix(_SCORE),
                    place=f"row {place}",
                    question=question,
                    answers=(answer,),
                    value=score,
                    state=state,
                    reference=reference_in(first_of(row, REFERENCES[:-2])) or None,
                    context=texts_in(first_of(row, CONTEXTS)),
                    reason=why,
                    reply=why.removeprefix(_NO_SCORE) if why.startswith(_NO_SCORE) else "",
                    limits=(1.0, 5.0),
                    row=row,
                )
            )
