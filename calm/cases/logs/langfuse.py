"""
Exports of Langfuse: traces, observations and scores, of the page, the blob storage or the public API.

A trace has the question and the answer, a score the verdict, and the trace of an evaluator the prompt and the reply.
They may be in one file or in several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from calm.cases.logs.judgments import Judgment, Log
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
    turns_of,
    unpacked,
    written,
)

_JUDGES: Final = ("langfuse-llm-as-a-judge", "llm-as-a-judge")
_RUNS: Final = "Execute evaluator: "
TYPES: Final = (
    *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
"""The types of observations."""


@dataclass(slots=True)
class _Trace:
    """What the files hold of one trace."""

    question: str = ""
    answer: str = ""
    reference: str = ""
    context: list[str] = field(default_factory=list)
    row: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of an evaluator: on which trace, what it was asked and what it replied."""

    target: str
    metric: str
    keys: frozenset[str]
    observation: Mapping[str, object]
    model: str


def at(value: object, camel: str) -> object:
    """Return the value of a key that is written as `traceId` or as `trace_id`."""
    found = dig(value, camel)
    return dig(value, "".join(f"_{c.lower()}" if c.isupper() else c for c in camel)) if found is None else found


def _name(value: object, camel: str) -> str:
    found = at(value, camel)
    return found if isinstance(found, str) else ""


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all scores to the log; without scores, those of all runs of evaluators."""
    traces: dict[str, _Trace] = {}
    observations: list[Mapping[str, object]] = []
    scores: list[Mapping[str, object]] = []
    for document in documents:
        rows = objects(document, "data") or ([document] if isinstance(document, Mapping) else [])
        for row in rows:
            if _name(row, "dataType"):
                scores.append(row)
            elif _name(row, "type") in TYPES:
                observations.append(row)
            else:
                _note_trace(row, traces)
                observations += objects(row, "observations")
                scores += objects(row, "scores")
    runs = _runs(observations)
    for one in observations:
        if not _is_judge(one):
            _note_observation(one, traces)
    if scores:
        for score in scores:
            _score(score, traces, runs, log)
    else:
        for run in runs:
            _alone(run, traces, log)


def _is_judge(row: Mapping[str, object]) -> bool:
    named = any(_name(row, key).startswith(_RUNS) for key in ("name", "traceName"))
    return _name(row, "environment") in _JUDGES or named


def _note_trace(row: Mapping[str, object], traces: dict[str, _Trace]) -> None:
    if _is_judge(row) or not _name(row, "id"):
        return
    trace = traces.setdefault(_name(row, "id"), _Trace())
    trace.question = question_in(unpacked(row.get("input"))) or trace.question
    trace.answer = answer_in(unpacked(row.get("output"))) or trace.answer
    metadata = unpacked(row.get("metadata"))
    given = metadata if isinstance(metadata, Mapping) else {}
    trace.reference = reference_in(first_of(given, REFERENCES)) or trace.reference
    trace.context += texts_in(first_of(given, CONTEXTS))
    trace.row = row


def _note_observation(row: Mapping[str, object], traces: dict[str, _Trace]) -> None:
    trace = traces.setdefault(_name(row, "traceId"), _Trace())
    kind = _name(row, "type")
    if kind == "RETRIEVER":
        trace.context += [text for text in texts_in(unpacked(row.get("output"))) if text not in trace.context]
    elif not at(row, "parentObservationId"):
        trace.question = trace.question or question_in(unpacked(row.get("input")))
        trace.answer = trace.answer or answer_in(unpacked(row.get("output")))
        trace.row = trace.row or row
    expected = at(row, "experimentItemExpectedOutput")
    trace.reference = trace.reference or (reference_in(unpacked(expected)) if expected else "")


def _runs(observations: Sequence[Mapping[str, object]]) -> list[_Run]:
    """Return the runs of evaluators: the root of each such trace, with the model of the call under it."""
    judged = [one for one in observations if _is_judge(one)]
    models = {_name(one, "traceId"): _name(one, "model") or _name(one, "providedModelName") for one in judged}
    models |= {
        _name(one, "traceId"): model
        for one in judged
        if (model := _name(one, "model") or _name(one, "providedModelName"))
    }
    found: list[_Run] = []
    for one in judged:
        if at(one, "parentObservationId"):
            continue
        metadata = unpacked(one.get("metadata"))
        keys = {string(metadata, key) for key in ("score_id", "job_execution_id")} | {_name(one, "traceId")}
        label = next((_name(one, k) for k in ("name", "traceName") if _name(one, k).startswith(_RUNS)), "")
        trace = _name(one, "traceId")
        found.append(
            _Run(
                string(metadata, "target_trace_id"),
                label.removeprefix(_RUNS),
                frozenset(keys - {""}),
                one,
                models.get(trace, ""),
            )
        )
    return found


def _run_of(score: Mapping[str, object], trace: str, runs: Sequence[_Run]) -> _Run | None:
    """Return the run that gave a score: by an id that both hold, else by trace and name."""
    metadata = unpacked(score.get("metadata"))
    keys = {_name(score, "id"), string(metadata, "job_execution_id"), _name(score, "executionTraceId")} - {""}
    for run in runs:
        if keys & run.keys:
            return run
    return next((run for run in runs if trace and run.target == trace and run.metric == _name(score, "name")), None)


def _score(score: Mapping[str, object], traces: Mapping[str, _Trace], runs: Sequence[_Run], log: Log) -> None:
    source, metric = _name(score, "source"), _name(score, "name")
    about = _name(score, "traceId") or string(score, "subject", "traceId")
    if not about and string(score, "subject", "kind") == "trace":
        about = string(score, "subject", "id")
    run = _run_of(score, about, runs)
    trace = traces.get(about)
    if _name(score, "dataType") in ("TEXT", "CORRECTION"):
        log.leave(f"{metric}: a text is no verdict")
    elif trace is None or not trace.question or not trace.answer:
        log.leave("a score whose trace, with its input and output, is not among the files")
    else:
        value = _value(score)
        observation: Mapping[str, object] = {} if run is None else run.observation
        log.judgments.append(
            Judgment(
                metric=metric,
                place=f"score {_name(score, 'id')}",
                question=trace.question,
                answers=(trace.answer,),
                value=value,
                state="failed" if value is None else "said",
                item=about,
                reference=trace.reference or None,
                context=tuple(trace.context),
                who="person" if source == "ANNOTATION" else "judge",
                person=_name(score, "authorUserName") or _name(score, "authorUserId") or "annotator",
                reason=_name(score, "comment"),
                prompt=turns_of(unpacked(observation.get("input"))),
                reply=written(observation.get("output")),
                model="" if run is None else run.model,
                row=trace.row,
            )
        )


def _value(score: Mapping[str, object]) -> object:
    """Return what a score says: a truth value, the word of a category, or a number."""
    value, words = score.get("value"), at(score, "stringValue")
    kind = _name(score, "dataType")
    if kind == "BOOLEAN":
        return value if isinstance(value, bool) else None if number(value) is None else bool(value)
    if kind == "CATEGORICAL":
        return words if isinstance(words, str) else value if isinstance(value, str) else None
    if isinstance(value, str):  # a file of comma-separated values
        try:
            value = float(value)
        except ValueError:
            return None
    return number(value)


def _alone(run: _Run, traces: Mapping[str, _Trace], log: Log) -> None:
    """Add what an evaluator said, where no file of scores is given."""
    trace = traces.get(run.target)
    output = unpacked(run.observation.get("output"))
    said = dig(output, "score")
    if trace is None or not trace.question or not trace.answer:
        log.leave("a run of an evaluator whose trace, with its input and output, is not among the files")
        return
    log.judgments.append(
        Judgment(
            metric=run.metric or "evaluator",
            place=f"trace {_name(run.observation, 'traceId')}",
            question=trace.question,
            answers=(trace.answer,),
            value=said if isinstance(said, str | bool | int | float) else None,
            state="said" if isinstance(said, str | bool | int | float) else "unread",
            item=run.target,
            reference=trace.reference or None,
            context=tuple(trace.context),
            reason=string(output, "reasoning") or string(output, "comment"),
            prompt=turns_of(unpacked(run.observation.get("input"))),
            reply=written(run.observation.get("output")),
            model=run.model,
            row=trace.row,
        )
    )
