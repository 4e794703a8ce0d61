"""
Write `langfuse.json` and `langfuse-scores.json`: `python -m tests.slow.logs.write_langfuse FOLDER`.

A server of Langfuse makes exports, and none runs here. The records are written by hand; those of scores go through the
models of the package, which refuse what its server would not send.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from langfuse.api import Score_Numeric

from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS, Planted, prompt

NOW = datetime(2026, 1, 2, tzinfo=UTC)
STAMP = NOW.isoformat()


def score(name, trace, value, metric, source, job=""):
    """Return a score as the package's own model writes it."""
    made = Score_Numeric(
        id=name,
        trace_id=trace,
        name=metric,
        value=value,
        source=source,
        timestamp=NOW,
        created_at=NOW,
        updated_at=NOW,
        environment="production",
        metadata={"job_execution_id": job} if job else {},
        comment="I compared it.",
    )
    return {**json.loads(made.model_dump_json(by_alias=True, exclude_none=True)), "dataType": "NUMERIC"}


def observation(id_, trace, kind, **more):
    """Return an observation as the public API lists it."""
    row = {"id": id_, "traceId": trace, "type": kind, "parentObservationId": None, "environment": "production"}
    return {**row, "startTime": STAMP, "endTime": STAMP, "metadata": {}, "model": None, **more}


def main(folder):
    """Leave observations, with the runs of the evaluator, and scores in a folder."""
    judge, seen, scores = Planted(), [], []
    for repeat in range(REPEATS):
        for item in ITEMS:
            trace, job = f"t-{item.name}-{repeat}", f"job-{item.name}-{repeat}"
            asked = [{"role": "user", "content": item.question}]
            said = judge.score(prompt(item))
            seen.append(
                observation(
                    f"o-{trace}",
                    trace,
                    "GENERATION",
                    input=asked,
                    model="app-model",
                    output={"role": "assistant", "content": item.answer},
                    experimentItemExpectedOutput=item.reference,
                )
            )
            documents = [{"content": text} for text in CONTEXT]
            seen.append(
                observation(f"r-{trace}", trace, "RETRIEVER", parentObservationId=f"o-{trace}", output=documents)
            )
            run = {
                "environment": "langfuse-llm-as-a-judge",
                "metadata": {"job_execution_id": job, "target_trace_id": trace},
                "input": [{"role": "user", "content": prompt(item)}],
                "output": {"reasoning": "I compared it.", "score": said},
            }
            seen.append(observation(f"e-{trace}", f"e-{trace}", "SPAN", name="Execute evaluator: correctness", **run))
            call = {**run, "parentObservationId": f"e-{trace}", "model": "planted-judge"}
            seen.append(observation(f"c-{trace}", f"e-{trace}", "GENERATION", name="generation", **call))
            scores.append(score(f"s-{trace}", trace, float(said), "correctness", "EVAL", job))
            scores.append(score(f"p-{trace}", trace, item.person, "correctness", "ANNOTATION"))
    (folder / "langfuse.json").write_text(json.dumps({"data": seen, "meta": {}}) + "\n", "utf-8")
    (folder / "langfuse-scores.json").write_text(json.dumps({"data": scores, "meta": {}}) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
