"""The judgments through deepeval, GEval with given steps: PROMPTS.jsonl COUNT IN_FLIGHT URL."""

import os
import sys

from material import prompts

os.environ |= {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "ERROR_REPORTING": "NO",
    "OPENAI_API_KEY": "none",
    "DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE": "600",
}

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import GEval
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase, SingleTurnParams

PATH, COUNT, IN_FLIGHT, URL = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
model = OpenAIModel(
    model="gpt-4o-mini",  # it asks its own table what a model can do
    api_key="none",
    base_url=URL,
    temperature=0,
    cost_per_input_token=0,
    cost_per_output_token=0,
)
metric = GEval(
    name="Quality",
    evaluation_steps=["Say whether the answer is right and serves the question"],
    evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
    model=model,
)
found = evaluate(
    test_cases=[LLMTestCase(input=q, actual_output=a) for q, a in prompts(PATH, COUNT)],
    metrics=[metric],
    async_config=AsyncConfig(run_async=True, max_concurrent=IN_FLIGHT),
    cache_config=CacheConfig(write_cache=False, use_cache=False),
    display_config=DisplayConfig(inspect_after_run=False, show_indicator=False, print_results=False),
)
print("judged", len(found.test_results))
