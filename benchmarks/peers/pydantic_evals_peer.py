"""The judgments through pydantic-evals: PROMPTS.jsonl COUNT IN_FLIGHT URL."""

import os
import sys

from material import prompts

os.environ["LOGFIRE_IGNORE_NO_CONFIG"] = "1"

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

PATH, COUNT, IN_FLIGHT, URL = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
MODEL = OpenAIChatModel("stub-judge", provider=OpenAIProvider(base_url=URL, api_key="none"))
GIVEN: dict[str, str] = {f"{n} {q}": a for n, (q, a) in enumerate(prompts(PATH, COUNT))}


async def recorded(question: str) -> str:
    """Return the answer that is to be judged."""
    return GIVEN[question]


judge = LLMJudge(rubric="The answer is right and serves the question", model=MODEL, include_input=True)
cases = [Case(name=f"c{n}", inputs=question) for n, question in enumerate(GIVEN)]
report = Dataset(name="load", cases=cases, evaluators=[judge]).evaluate_sync(
    recorded, max_concurrency=IN_FLIGHT, progress=False
)
report.print(include_input=False, include_output=False)
print("judged", len(report.cases), "failed", len(report.failures))
