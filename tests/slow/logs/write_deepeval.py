"""Write `deepeval.json` with the real package: `python -m tests.slow.logs.write_deepeval FOLDER`."""

import json
import os
import sys
from pathlib import Path

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "ERROR_REPORTING": "0", "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0"}

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import GEval
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams

from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS, Planted

JUDGE = Planted()


class Judge(DeepEvalBaseLLM):
    """The planted judge as a model of deepeval."""

    def load_model(self):
        """Return itself, as there is nothing to load."""
        return self

    def get_model_name(self):
        """Return its name."""
        return "planted-judge"

    def generate(self, prompt, schema=None):
        """Reply to the prompt of a metric."""
        return json.dumps({"reason": "I compared it with the policy.", "score": 10 * JUDGE.score(prompt)})

    async def a_generate(self, prompt, schema=None):
        """Do the same."""
        return self.generate(prompt)


def main(folder):
    """Run the metric and leave its test run in a folder."""
    params = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT]
    metric = GEval(
        name="Correctness",
        evaluation_steps=["Compare the answer with the expected one."],
        evaluation_params=params,
        model=Judge(),
        async_mode=False,
    )
    cases = [
        LLMTestCase(
            name=item.name,
            input=item.question,
            actual_output=item.answer,
            expected_output=item.reference,
            retrieval_context=list(CONTEXT),
            metadata={"person": item.person},
        )
        for _ in range(REPEATS)
        for item in ITEMS
    ]
    evaluate(
        test_cases=cases,
        metrics=[metric],
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(
            print_results=False, show_indicator=False, results_folder=str(folder), inspect_after_run=False
        ),
        error_config=ErrorConfig(ignore_errors=False),
    )
    [run] = Path(folder).glob("test_run_*")
    run.rename(folder / "deepeval.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
