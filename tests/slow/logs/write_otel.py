"""Write `otel.jsonl` with the real encoder of OTLP: `python -m tests.slow.logs.write_otel FOLDER`."""

import base64
import json
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS, Planted, prompt


def messages(role, text):
    """Return one message in the conventions for generative AI."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def traced(tracer, item, said):
    """Trace an answer, and the call of the judge about it."""
    with tracer.start_as_current_span("invoke_agent desk"):
        with tracer.start_as_current_span("retrieval policy") as span:
            documents = [{"id": str(place), "content": text} for place, text in enumerate(CONTEXT)]
            span.set_attribute("gen_ai.operation.name", "retrieval")
            span.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))
        with tracer.start_as_current_span("chat app-model") as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "app-model",
                    "gen_ai.input.messages": messages("user", item.question),
                    "gen_ai.output.messages": messages("assistant", item.answer),
                }
            )
            span.add_event(
                "gen_ai.evaluation.result",
                {"gen_ai.evaluation.name": "correctness", "gen_ai.evaluation.score.value": float(said)},
            )
        with tracer.start_as_current_span("chat planted-judge") as span:
            reply = json.dumps({"reason": "I compared it.", "score": said})
            span.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "planted-judge",
                    "gen_ai.input.messages": messages("user", prompt(item)),
                    "gen_ai.output.messages": messages("assistant", reply),
                }
            )


def as_the_specification_says(value):
    """Return encoded spans with ids in hexadecimal and kinds as numbers, as OTLP in JSON has them."""
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {
            key: base64.b64decode(one).hex() if key in ids else 1 if key == "kind" else as_the_specification_says(one)
            for key, one in value.items()
        }
    return [as_the_specification_says(one) for one in value] if isinstance(value, list) else value


def main(folder):
    """Trace all items and leave the spans in a folder."""
    kept, provider = InMemorySpanExporter(), TracerProvider(resource=Resource({"service.name": "desk"}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    judge = Planted()
    for _ in range(REPEATS):
        for item in ITEMS:
            traced(provider.get_tracer("desk"), item, judge.score(prompt(item)))
    found = as_the_specification_says(MessageToDict(encode_spans(kept.get_finished_spans())))
    (folder / "otel.jsonl").write_text(json.dumps(found) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
