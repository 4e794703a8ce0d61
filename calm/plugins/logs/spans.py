"""Spans: traces of a judge's calls, as OpenTelemetry and tools above it write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from calm.cases.logs.judgments import Judgment, Log, State
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
    uses_tools,
    without_tools,
    written,
)
from calm.cases.rows import TOOLS, about_tools, dig, objects, string, unpacked
from calm.cases.rows import turns_of_messages as turns_of
from calm.core.case import Turn

Attributes = Mapping[str, object]

_SIMPLE: Final = ("stringValue", "boolValue", "doubleValue", "bytesValue")
_INDEXED: Final = re.compile(r"(.+?)\.(\d+)\.(.+)")
_MESSAGES: Final = {
    "in": ("llm.input_messages", "gen_ai.prompt", "llm.prompts"),
    "out": ("llm.output_messages", "gen_ai.completion", "llm.completions"),
}
_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


@dataclass(slots=True)
class Span:
    """A span: its place in a trace, its attributes by name, and its events with theirs."""

    trace: str
    id: str
    parent: str
    name: str
    attributes: Attributes
    events: list[tuple[str, Attributes]] = field(default_factory=list)

    def text(self, *names: str) -> str:
        """Return the first of some attributes that is a text."""
        return next((found for name in names if isinstance(found := self.attributes.get(name), str) and found), "")

    @property
    def kind(self) -> str:
        """The kind that OpenInference gives it."""
        return self.text("openinference.span.kind").upper()

    @property
    def model(self) -> str:
        """The model that it called, "" for a span that called none."""
        return self.text("gen_ai.request.model", "gen_ai.response.model", "llm.model_name")

    @property
    def asked(self) -> tuple[Turn, ...]:
        """The messages that went to a model."""
        found = [Turn("system", text) for text in texts_in(self.attributes.get("gen_ai.system_instructions"))]
        found += turns_of(self.attributes.get("gen_ai.input.messages") or "")
        found = found or _listed(self.attributes, _MESSAGES["in"])
        found = found or [Turn(_EVENTS[name], string(body, "content")) for name, body in self.events if name in _EVENTS]
        if not found:
            spoken = next((body for name, body in self.events if name == "gen_ai.content.prompt"), {})
            found = list(turns_of(spoken.get("gen_ai.prompt") or ""))
        return tuple(found)

    @property
    def prompt(self) -> tuple[Turn, ...]:
        """The messages that went to a model, for a prompt that is to be shown again; none if it used tools."""
        return without_tools(self.asked)

    @property
    def tools(self) -> bool:
        """Whether tools were used, as far as its messages show."""
        return any(turn.role == "tool" for turn in self.asked) or uses_tools(
            [self.attributes.get(name) for name in ("input.value", "output.value")]
        )

    @property
    def replied(self) -> str:
        """What a model replied."""
        found = list(turns_of(self.attributes.get("gen_ai.output.messages") or ""))
        found = found or _listed(self.attributes, _MESSAGES["out"])
        if found:
            return said_by("assistant", found) or found[-1].text
        for name, body in self.events:
            if name == "gen_ai.choice":
                return string(unpacked(body.get("message")), "content")
            if name == "gen_ai.content.completion":
                return next(iter(turns_of(body.get("gen_ai.completion") or "")), Turn("", "")).text
        return ""

    def shows(self, text: str) -> bool:
        """Return whether a text stands in a message that went to a model."""
        return any(text in turn.text for turn in self.asked)

    @property
    def documents(self) -> tuple[str, ...]:
        """The texts that it retrieved."""
        found = texts_in(self.attributes.get("gen_ai.retrieval.documents"))
        return found or tuple(
            written(part["document.content"])
            for part in indexed(self.attributes, "retrieval.documents")
            if "document.content" in part
        )


def indexed(attributes: Attributes, start: str) -> list[dict[str, object]]:
    """
    Return the parts of a list that is spelled out in names, such as `start.0.a`, each as an object.

    >>> indexed({"m.0.role": "user", "m.0.content": "Hi", "n": 1}, "m")
    [{'role': 'user', 'content': 'Hi'}]
    """
    found: dict[int, dict[str, object]] = {}
    for name, value in attributes.items():
        parts = _INDEXED.fullmatch(name)
        if parts and parts[1] == start:
            found.setdefault(int(parts[2]), {})[parts[3]] = value
    return [found[place] for place in sorted(found)]


def _listed(attributes: Attributes, starts: Sequence[str]) -> list[Turn]:
    """Return the messages that are spelled out in names under one of some beginnings."""
    turns = []
    for start in starts:
        for part in indexed(attributes, start):
            plain = {name.removeprefix("message."): value for name, value in part.items()}
            parts = [string(one, "message_content.text") for one in indexed(plain, "contents")]
            content = plain.get("content")
            listed = unpacked(content) if isinstance(content, str) and content.startswith("[{") else content
            texts = [turn.text for turn in turns_of([{"role": "user", "content": listed}])]
            text = "\n".join([*filter(None, parts), *texts])
            calls = [name for name in plain if name.startswith("tool_calls")]
            role = string(plain, "role") or "assistant"
            of_tool = role in TOOLS or (not text and about_tools({"content": listed, "tool_calls": calls}))
            turns.append(Turn("tool" if of_tool else role, text))
    return turns


def spans_in(documents: Sequence[object]) -> list[Span]:
    """Return all spans of some documents; records of logs become events of their spans."""
    spans: dict[tuple[str, str], Span] = {}
    events: list[tuple[str, str, str, Attributes]] = []
    for document in documents:
        for resource in (*objects(document, "resourceSpans"), *objects(document, "resource_spans")):
            for scope in (*objects(resource, "scopeSpans"), *objects(resource, "scope_spans")):
                for row in objects(scope, "spans"):
                    _note(_of_otlp(row), spans)
        for row in objects(document, "data"):
            if row.get("context") is not None:
                _note(_of_flat(row), spans)
        if dig(document, "context") is not None and dig(document, "attributes") is not None:
            _note(_of_flat(document), spans)
        events += _records(document)
    for trace, id_, name, attributes in events:
        if (trace, id_) not in spans:
            spans[trace, id_] = Span(trace, id_, "", "", attributes)
        span = spans[trace, id_]
        if name == "gen_ai.client.inference.operation.details":
            span.attributes = {**attributes, **span.attributes}
        else:
            span.events.append((name, attributes))
    return list(spans.values())


def _note(span: Span, spans: dict[tuple[str, str], Span]) -> None:
    spans[span.trace, span.id] = span


def _of_otlp(row: Mapping[str, object]) -> Span:
    def name(camel: str, snake: str) -> str:
        return string(row, camel) or string(row, snake)

    events: list[tuple[str, Attributes]] = [
        (string(event, "name"), _pairs(event.get("attributes"))) for event in objects(row, "events")
    ]
    attributes = _pairs(row.get("attributes"))
    place = name("traceId", "trace_id"), name("spanId", "span_id"), name("parentSpanId", "parent_span_id")
    return Span(*place, string(row, "name"), attributes, events)


def _of_flat(row: object) -> Span:
    """Return a span of the console exporter or of Phoenix, whose attributes are an object, flat or nested."""
    attributes = dict(_flat(dig(row, "attributes")))
    kind = string(row, "span_kind")
    if kind and "openinference.span.kind" not in attributes:
        attributes["openinference.span.kind"] = kind
    events: list[tuple[str, Attributes]] = [
        (string(event, "name"), dict(_flat(event.get("attributes")))) for event in objects(row, "events")
    ]
    context = dig(row, "context")
    return Span(
        string(context, "trace_id"),
        string(context, "span_id"),
        string(row, "parent_id"),
        string(row, "name"),
        attributes,
        events,
    )


def _flat(value: object, start: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{start}.{key}" if start else str(key))
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        for place, one in enumerate(value):
            yield from _flat(one, f"{start}.{place}")
    elif start:
        yield start, value


def _pairs(value: object) -> dict[str, object]:
    """Return the attributes of OTLP as an object."""
    if isinstance(value, Mapping):
        return dict(_flat(value))
    found: dict[str, object] = {}
    for pair in objects({"all": value}, "all"):
        found[string(pair, "key")] = _plain(pair.get("value"))
    return found


def _plain(value: object) -> object:
    """Return a value of OTLP as plain data; a whole number is written as a string there."""
    if not isinstance(value, Mapping):
        return value
    for key in _SIMPLE:
        if key in value:
            return value[key]
    if "intValue" in value:
        return int(str(value["intValue"])) if str(value["intValue"]).lstrip("-").isdigit() else None
    if "arrayValue" in value:
        return [_plain(one) for one in objects(value, "arrayValue", "values")]
    if "kvlistValue" in value:
        return {string(one, "key"): _plain(one.get("value")) for one in objects(value, "kvlistValue", "values")}
    return None


def _records(document: object) -> Iterator[tuple[str, str, str, Attributes]]:
    """Yield the records of a log about spans: trace, span, name and attributes, with what the body holds."""
    for resource in (*objects(document, "resourceLogs"), *objects(document, "resource_logs")):
        for scope in (*objects(resource, "scopeLogs"), *objects(resource, "scope_logs")):
            for row in objects(scope, "logRecords"):
                attributes = _pairs(row.get("attributes"))
                body = _plain(row.get("body"))
                held = body if isinstance(body, Mapping) else {}
                name = string(row, "eventName") or string(attributes, "event.name")
                yield string(row, "traceId"), string(row, "spanId"), name, {**attributes, **held}


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
