"""
Exports of Langfuse: traces, observations and scores, of the page, the blob storage or the public API.

A trace has the question and the answer, or an observation if the score is about it alone. A score has the verdict, and
the trace of an evaluator the prompt and the reply. They may be in one file or in several.
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

_JUDGES: Final = ("langfuse-llm-as-a-judge", "llm-as-a-judge")
_RUNS: Final = "Execute evaluator: "
TYPES: Final = (
    *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
"""The types of observations."""


@dataclass(slots=True)
class _Trace:
    """What the files hold of one trace, or of one observation."""

    question: str = ""
    answer: str = ""
    reference: str = ""
    context: list[str] = field(default_factory=list)
    tools: bool = False
    row: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Run:
    """
    A run of an evaluator: on which trace, or which observation of it ("": on the whole trace), what it was asked and
    what it replied.
    """

    target: str
    part: str
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
    judged = [one for one in observations if not _is_judge(one)]
    for one in judged:
        _note_observation(one, traces)
    held = _Held(traces, {_name(one, "id"): one for one in judged})
    evaluated = {_name(score, "name") for score in scores if _name(score, "source") == "EVAL"}
    for score in scores:
        if _name(score, "source") == "API" and _name(score, "name") in evaluated:
            log.leave(f"{_name(score, 'name')}: sent to the API, and the evaluator of this name is another judge")
        else:
            _score(score, held, runs, log)
    if not scores:
        for run in runs:
            _alone(run, held, log)


@dataclass(frozen=True, slots=True)
class _Held:
    """The traces and the observations of the application that some files hold, by id."""

    traces: Mapping[str, _Trace]
    observations: Mapping[str, Mapping[str, object]]

    def about(self, trace: str, observation: str) -> _Trace | None:
        """Return the texts of a trace, or of an observation of it ("": of the trace); None if it lacks one."""
        whole = self.traces.get(trace)
        row = self.observations.get(observation)
        if observation and row is None:
            return None
        found = whole if row is None else _part(row, whole or _Trace())
        return found if found is not None and found.question and found.answer else None


def _part(row: Mapping[str, object], trace: _Trace) -> _Trace:
    """Return the texts of an observation; the outermost one of a trace has those of the trace, too."""
    outer = trace if not at(row, "parentObservationId") else _Trace()
    asked, replied = unpacked(row.get("input")), unpacked(row.get("output"))
    given = _given(row)
    expected = at(row, "experimentItemExpectedOutput") or first_of(given, REFERENCES)
    return _Trace(
        question_in(asked) or outer.question,
        answer_in(replied) or outer.answer,
        reference_in(unpacked(expected)) or outer.reference,
        [*texts_in(first_of(given, CONTEXTS))] or trace.context,
        uses_tools([asked, replied]) or outer.tools,
        row,
    )


def _given(row: Mapping[str, object]) -> Mapping[str, object]:
    metadata = unpacked(row.get("metadata"))
    return metadata if isinstance(metadata, Mapping) else {}


def _is_judge(row: Mapping[str, object]) -> bool:
    named = any(_name(row, key).startswith(_RUNS) for key in ("name", "traceName"))
    return _name(row, "environment") in _JUDGES or named


def _note_trace(row: Mapping[str, object], traces: dict[str, _Trace]) -> None:
    if _is_judge(row) or not _name(row, "id"):
        return
    trace = traces.setdefault(_name(row, "id"), _Trace())
    asked, replied, given = unpacked(row.get("input")), unpacked(row.get("output")), _given(row)
    trace.question = question_in(asked) or trace.question
    trace.answer = answer_in(replied) or trace.answer
    trace.tools = trace.tools or uses_tools([asked, replied])
    trace.reference = reference_in(first_of(given, REFERENCES)) or trace.reference
    trace.context += texts_in(first_of(given, CONTEXTS))
    trace.row = row


def _note_observation(row: Mapping[str, object], traces: dict[str, _Trace]) -> None:
    trace = traces.setdefault(_name(row, "traceId"), _Trace())
    kind = _name(row, "type")
    if kind == "RETRIEVER":
        trace.context += [text for text in texts_in(unpacked(row.get("output"))) if text not in trace.context]
    elif not at(row, "parentObservationId"):
        asked, replied = unpacked(row.get("input")), unpacked(row.get("output"))
        trace.tools = trace.tools or uses_tools([asked, replied])
        trace.question = trace.question or question_in(asked)
        trace.answer = trace.answer or answer_in(replied)
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
                string(metadata, "target_observation_id"),
                label.removeprefix(_RUNS),
                frozenset(keys - {""}),
                one,
                models.get(trace, ""),
            )
        )
    return found


def _run_of(score: Mapping[str, object], trace: str, part: str, runs: Sequence[_Run]) -> _Run | None:
    """Return the run that gave a score: by an id that both hold, else by trace, observation and name."""
    metadata = unpacked(score.get("metadata"))
    keys = {_name(score, "id"), string(metadata, "job_execution_id"), _name(score, "executionTraceId")} - {""}
    for run in runs:
        if keys & run.keys:
            return run
    about = trace, part, _name(score, "name")
    return next((run for run in runs if trace and (run.target, run.part, run.metric) == about), None)


def _score(score: Mapping[str, object], held: _Held, runs: Sequence[_Run], log: Log) -> None:
    source, metric = _name(score, "source"), _name(score, "name")
    about = _name(score, "traceId") or string(score, "subject", "traceId")
    if not about and string(score, "subject", "kind") == "trace":
        about = string(score, "subject", "id")
    part = _name(score, "observationId")
    if not part and string(score, "subject", "kind") == "observation":
        part = string(score, "subject", "id")
    run = _run_of(score, about, part, runs)
    trace = held.about(about, part)
    if _name(score, "dataType") in ("TEXT", "CORRECTION"):
        log.leave(f"{metric}: a text is no verdict")
    elif trace is None:
        what = "observation" if part else "trace"
        log.leave(f"a score whose {what} is not among the files, or has no input or no output")
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
                item=part or about,
                reference=trace.reference or None,
                context=tuple(trace.context),
                who="person" if source == "ANNOTATION" else "judge",
                person=_name(score, "authorUserName") or _name(score, "authorUserId"),
                reason=_name(score, "comment"),
                prompt=prompt_of(unpacked(observation.get("input"))),
                reply=written(observation.get("output")),
                model="" if run is None else run.model,
                tools=trace.tools,
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


def _alone(run: _Run, held: _Held, log: Log) -> None:
    """Add what an evaluator said, where no file of scores is given."""
    trace = held.about(run.target, run.part)
    output = unpacked(run.observation.get("output"))
    said = dig(output, "score")
    if trace is None:
        log.leave(
            "a run of an evaluator whose trace or observation is not among the files, or has no input or no output"
        )
        return
    log.judgments.append(
        Judgment(
            metric=run.metric or "evaluator",
            place=f"trace {_name(run.observation, 'traceId')}",
            question=trace.question,
            answers=(trace.answer,),
            value=said if isinstance(said, str | bool | int | float) else None,
            state="said" if isinstance(said, str | bool | int | float) else "unread",
            item=run.part or run.target,
            reference=trace.reference or None,
            context=tuple(trace.context),
            reason=string(output, "reasoning") or string(output, "comment"),
            prompt=prompt_of(unpacked(run.observation.get("input"))),
            reply=written(run.observation.get("output")),
            model=run.model,
            tools=trace.tools,
            row=trace.row,
        )
    )
