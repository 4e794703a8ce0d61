"""Score options over HTTP: a judge that picks by the place of an option fails its suite; one that reads it does not."""

import re

import pytest

from benchmarks.planted_biases import suite_of
from calm.cases import bundled, sample
from calm.core.case import digest
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

OPTIONS = re.compile(r"\(one of ([\d, ]+)\)")
QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.DOTALL)
SIZE = 50


def by_place(place, respond):
    """Return what a server answers that takes the option at a place, in four questions of five, and else goes on."""

    def answer(messages, body):
        prompt = messages[-1][1]
        listed, asked = OPTIONS.search(prompt), QUESTION.search(prompt)
        if listed and int(digest("holds", asked[1])[:4], 16) % 5:
            return f"I took my pick. [[{listed[1].split(', ')[place]}]]"
        return respond(messages, body)

    return answer


@pytest.mark.parametrize(("place", "failed"), [(-1, {"score-options"}), (None, set())])
def test_a_judge_that_goes_by_the_place_of_an_option_is_found(tmp_path, place, failed):
    """Some models favour the last option of a list, some the first; a sound judge favours neither."""
    respond = planted_respond("planted:noise=0.02,task=score", sample(bundled("score"), SIZE, 0))
    with wire_server(respond if place is None else by_place(place, respond)) as server:
        (tmp_path / "judge.toml").write_text(
            '[judge]\nname = "by-place"\ntask = "score"\n[verdict.scale]\nlow = 1\nhigh = 10\nstep = 1\n'
            f'[model]\nprovider = "openai"\nmodel = "planted-1"\nbase_url = "{server.url}"\nmax_tokens = 256\n'
        )
        gate = run_gate(
            str(tmp_path / "judge.toml"), tmp_path, f"--calm-sample={SIZE}", what=(str(suite_of("score-options")),)
        )

    assert gate.failed == failed, gate.output
    assert {f["outcome"] for f in gate.results["findings"] if f["bias"] == "score-options"} >= (failed and {"FAIL"})
    assert gate.status == bool(failed), gate.output
