"""Write `mlflow.jsonl` with the real package: `python -m tests.slow.logs.write_mlflow FOLDER`."""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true", "DO_NOT_TRACK": "true"}

import mlflow
from mlflow.entities import AssessmentSource, Document, Expectation, Feedback, SpanType

from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS, Planted, prompt

JUDGE = AssessmentSource("LLM_JUDGE", "openai:/planted-judge")
PERSON = AssessmentSource("HUMAN", "reader")


def traced(item, said):
    """Trace an answer and the judge's own call about it; return the ids of both traces."""
    with mlflow.start_span("answer", span_type=SpanType.CHAIN) as root:
        root.set_inputs({"question": item.question})
        with mlflow.start_span("retrieve", span_type=SpanType.RETRIEVER) as found:
            found.set_inputs({"query": item.question})
            found.set_outputs([Document(page_content=text, metadata={}, id=text[:3]) for text in CONTEXT])
        root.set_outputs({"response": item.answer})
    with mlflow.start_span("correctness", span_type=SpanType.EVALUATOR) as outer:
        outer.set_inputs({"inputs": {"question": item.question}, "outputs": {"response": item.answer}})
        with mlflow.start_span("call", span_type=SpanType.CHAT_MODEL) as call:
            call.set_inputs({"model": "planted-judge", "messages": [{"role": "user", "content": prompt(item)}]})
            reply = f'{{"reason": "I compared it.", "score": {said:g}}}'
            call.set_outputs({"choices": [{"message": {"role": "assistant", "content": reply}}]})
        outer.set_outputs({"value": "yes" if said else "no"})
    mlflow.flush_trace_async_logging()
    mlflow.set_trace_tag(outer.trace_id, "mlflow.trace.sourceScorer", "correctness")
    mlflow.log_assessment(root.trace_id, Expectation(name="expected_response", value=item.reference, source=PERSON))
    mlflow.log_assessment(
        root.trace_id,
        Feedback(
            name="correctness",
            value="yes" if said else "no",
            rationale="I compared it.",
            source=JUDGE,
            metadata={"mlflow.assessment.scorerTraceId": outer.trace_id},
        ),
    )
    verdict = "yes" if item.person else "no"
    mlflow.log_assessment(root.trace_id, Feedback(name="correctness", value=verdict, source=PERSON))
    return root.trace_id, outer.trace_id


def without_places(trace):
    """Return a trace without what it says of the machine and the user that made it."""
    kept = ("mlflow.trace_schema.version", "mlflow.traceInputs", "mlflow.traceOutputs")
    info = trace["info"]
    info["trace_metadata"] = {key: value for key, value in info["trace_metadata"].items() if key in kept}
    info["tags"].pop("mlflow.artifactLocation", None)
    return trace


def main(folder):
    """Log the traces and leave them in a folder, one a line."""
    mlflow.set_tracking_uri(Path(tempfile.mkdtemp()).as_uri())
    mlflow.set_experiment("desk")
    judge = Planted()
    ids = [one for _ in range(REPEATS) for item in ITEMS for one in traced(item, judge.score(prompt(item)))]
    lines = [json.dumps(without_places(json.loads(mlflow.get_trace(one).to_json()))) for one in ids]
    (folder / "mlflow.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
