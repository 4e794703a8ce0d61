"""The judgments through inspect_ai, its own scorer for judged answers: PROMPTS.jsonl COUNT IN_FLIGHT URL."""

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, Solver, TaskState, solver
from material import prompts

PATH, COUNT, IN_FLIGHT, URL = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


@solver
def recorded() -> Solver:
    """Put the recorded answer in the place of the model's."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
        return state

    return solve


judge = get_model("openai/stub-judge", base_url=URL, api_key="none", responses_api=False)
samples = [Sample(input=q, target="right", metadata={"answer": a}) for q, a in prompts(PATH, COUNT)]
task = Task(dataset=MemoryDataset(samples), solver=recorded(), scorer=model_graded_qa(model=judge))
(log,) = eval(task, model="mockllm/model", max_connections=IN_FLIGHT, max_samples=IN_FLIGHT, display="none")
print("judged", log.results.total_samples if log.results else log.error)
