"""Score options over HTTP: a judge that picks by the place of an option fails its suite; one that reads it does not."""

import re

import pytest

from benchmarks.planted_biases import suite_of
from calm.cases import bundled, sample
from calm.core.case import digest
from tests.lanes import slow
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

OPTIONS = {
    "score": lambda prompt: re.findall(r"\d+", "".join(re.findall(r"\(one of ([\d, ]+)\)", prompt))),
    "label": lambda prompt: re.findall(r"^- (wrong|mixed|right):", prompt, re.MULTILINE),
}
"""The options that a prompt lists, in its order."""
QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.DOTALL)
SIZE = 110


SCALE = "[verdict.scale]\nlow = 1\nhigh = 10\nstep = 1\n"
CLASSES = '[labels]\nclasses = ["wrong", "mixed", "right"]\nordered = true\ndamaged = "wrong"\n' + (
    '[labels.meanings]\nwrong = "most is wrong"\nmixed = "half or more is right"\nright = "all is right"\n'
)


def by_place(place, task, respond):
    """Return what a server answers that takes the option at a place, in four questions of five, and else goes on."""

    def answer(messages, body):
        prompt = messages[-1][1]
        listed, asked = OPTIONS[task](prompt), QUESTION.search(prompt)
        if listed and int(digest("holds", asked[1])[:4], 16) % 5:
            return f"I took my pick. [[{listed[place]}]]"
        return respond(messages, body)

    return answer


@pytest.mark.parametrize(
    ("task", "place", "failed"),
    [
        ("score", -1, {"score-options"}),
        slow("score", None, set()),
        slow("label", 0, {"score-options"}),
        ("label", None, set()),
    ],
)
def test_a_judge_that_goes_by_the_place_of_an_option_is_found(tmp_path, task, place, failed):
    """Some models favour the last option of a list, some the first; a sound judge favours neither."""
    respond = planted_respond(f"planted:noise=0.02,task={task}", sample(bundled(task), SIZE, 0))
    with wire_server(respond if place is None else by_place(place, task, respond)) as server:
        (tmp_path / "judge.toml").write_text(
            f'[judge]\nname = "by-place"\ntask = "{task}"\n{SCALE if task == "score" else CLASSES}'
            f'[model]\nprovider = "openai"\nmodel = "planted-1"\nbase_url = "{server.url}"\nmax_tokens = 256\n'
        )
        gate = run_gate(
            str(tmp_path / "judge.toml"), tmp_path, f"--calm-sample={SIZE}", what=(str(suite_of("score-options")),)
        )

    assert gate.failed == failed, gate.output
    assert {f["outcome"] for f in gate.results["findings"] if f["bias"] == "score-options"} >= (failed and {"FAIL"})
    assert gate.status == bool(failed), gate.output
