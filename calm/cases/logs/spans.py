"""Spans of OpenTelemetry, from any tool: OTLP as JSON, the console exporter, or Phoenix; attributes are flat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from calm.cases.logs.values import said_by, texts_in, uses_tools, without_tools, written
from calm.cases.messages import TOOLS, about_tools, dig, objects, string, turns_of, unpacked
from calm.core.material import Turn

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
