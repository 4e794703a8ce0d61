"""Write `inspect.eval` with the real package: `python -m tests.slow.logs.write_inspect FOLDER`."""

import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, model_graded_qa
from inspect_ai.solver import solver

from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS, Planted

JUDGE = Planted()


@solver
def desk():
    """Answer as the application: what stands in the sample."""

    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm/app", state.metadata["answer"])
        return state

    return solve


def graded(input, tools, tool_choice, config):
    """Reply as the judge."""
    grade = "C" if JUDGE.score(input[-1].text) else "I"
    output = ModelOutput.from_content("mockllm/judge", f"I compared it with the criterion.\n\nGRADE: {grade}")
    output.usage = ModelUsage(
        input_tokens=12, output_tokens=7, total_tokens=19
    )  # else it counts with a file of the web
    return output


def main(folder):
    """Run the task and leave its log in a folder."""
    samples = [
        Sample(
            id=item.name,
            input=item.question,
            target=item.reference,
            metadata={"context": list(CONTEXT), "person": item.person, "answer": item.answer},
        )
        for item in ITEMS
    ]
    task = Task(
        name="desk",
        dataset=samples,
        solver=[desk()],
        scorer=[model_graded_qa(model_role="grader"), includes()],
        epochs=REPEATS,
    )
    judge = get_model("mockllm/judge", custom_outputs=graded, memoize=False)
    [log] = eval(
        task, model="mockllm/app", model_roles={"grader": judge}, log_dir=str(folder), display="none", max_samples=1
    )
    Path(log.location.removeprefix("file://")).rename(folder / "inspect.eval")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
