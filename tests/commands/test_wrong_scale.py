"""A judge.toml with another scale than the prompt: lint, a try and an audit say so, and what to write."""

import json
import re

import pytest

from calm.cases.generate import generate
from calm.commands.cli import main
from calm.core.reasons import Kind, because
from tests.servers import wire_server

PROMPT = "You grade answers from 1 (useless) to 10 (excellent).\\nQ: {{ question }}\\nA: {{ answers[0].text }}\\n[[N]]"
JUDGE = (
    '[judge]\nname = "j"\ntask = "score"\n[model]\nprovider = "openai"\nmodel = "m"\nbase_url = "URL"\n'
    f'[prompt]\nuser = "{PROMPT}"\n[verdict]\nformat = "brackets"\n[verdict.scale]\nlow = LOW\nhigh = HIGH\nstep = 1\n'
)
NAMED = "the prompt names the scale 1 to 10, and judge.toml says "


def respond(messages, _):
    """Give nine points to one question in three, and two or four to the others."""
    question = re.search("Q: (.*)", messages[-1][1])[1]
    return f"[[{(9, 2, 4)[sum(question.encode()) % 3]}]]"


@pytest.fixture
def audited(tmp_path, monkeypatch, capfd):
    """Return what a command says of a judge on a scale, on generated cases without gold."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    cases = [
        {"id": case.id, "question": case.question, "answers": [{"id": "a", "text": case.answers[0].text}]}
        for case in generate("score", 40, 1)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in cases), "utf-8")
    with wire_server(respond) as wire:

        def run(low, high, *words):
            text = JUDGE.replace("URL", wire.url).replace("LOW", str(low)).replace("HIGH", str(high))
            (tmp_path / "judge.toml").write_text(text, "utf-8")
            status = main([words[0], "judge.toml", *words[1:]])
            out, err = capfd.readouterr()
            return status, f"{out}{err}"

        yield run


def test_scores_that_are_not_on_the_scale_are_named_and_the_next_step_mends_it(audited, tmp_path):
    """A part of the replies: the first finding, the summary and the report say which, and no mitigation is advised."""
    status, said = audited(1, 5, "audit", "--cases", "cases.jsonl", "--", "-k", "consistency")

    share = re.search(r"(\d+) of 100 replies name a number that is not on the scale 1 to 5, such as 9", said)
    read = re.search(r"FAIL consistency: (\d+) of 100 replies can be read", said)
    assert status == 1
    assert int(share[1]) + int(read[1]) == 100
    assert "next: do this first: let [verdict.scale] in judge.toml and the prompt name the same scale" in said
    assert "calm try judge.toml --cases cases.jsonl --case=" in said
    assert "calm mitigate" not in said
    assert share[0] in (tmp_path / "calm-audit/summary.md").read_text("utf-8")
    assert share[0] in (tmp_path / "calm-audit/report.html").read_text("utf-8")


def test_a_scale_that_differs_is_said_at_the_start_and_at_the_end_of_an_audit(audited):
    """All replies can be read, and the audit goes on; a judge.toml with the scale of the prompt gets no word of it."""
    wrong = audited(0, 100, "audit", "--cases", "cases.jsonl", "--", "-k", "readable or can_be_read")[1]
    sound = audited(1, 10, "audit", "--cases", "cases.jsonl", "--", "-k", "readable or can_be_read")[1]

    assert wrong.startswith(f"calm: judge j: {NAMED}0 to 100. Limits are shares of the scale in judge.toml")
    assert f"check: judge j: {NAMED}0 to 100" in wrong
    assert "write low = 1 and high = 10 under [verdict.scale] in judge.toml, or correct the prompt" in wrong
    assert (
        "note: the judge used a part of its scale: all 40 scores of the cases as they are lie between 2 and 9" in wrong
    )
    assert "GREEN" in wrong
    assert NAMED not in sound
    assert "a part of its scale" not in sound


def test_lint_and_try_say_it(audited):
    """Lint with line, cause and fix; a try below the verdict."""
    for command, told in [(("lint",), "warning: scale-differs: "), (("try", "--cases", "cases.jsonl"), "calm: ")]:
        said = audited(0, 100, *command)[1]

        assert f"{told}{NAMED}0 to 100" in said
        assert said.lower().count("write low = 1 and high = 10 under [verdict.scale]") == 1


def test_limits_of_a_score_judge_are_words_of_a_score():
    """A gain is a share of the scale there, and wins of pairs; the line says which limit fails what."""
    said = str(because(Kind.AT_RESOLUTION, 60, "gain", 0.17, 0.08, "score"))

    assert said == (
        "60 cases prove less than 200, so claims pass at wider limits: an edit may raise a score by 17 % of the scale "
        "(with 200 cases: 8). A claim that surely misses the limit for 200 cases still fails, except one about the "
        "worst variant (worst_)"
    )
    assert "make the worse answer win in 17 of 100 cases" in str(because(Kind.AT_RESOLUTION, 60, "gain", 0.17, 0.08))
