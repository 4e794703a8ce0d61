"""
The gate on a prompt of the user's own, which shows the question and the answers and has a place for nothing else.

The prompt is that of docs/how-to/audit-a-judge-prompt.md without its labels. The planted judge is behind it, over HTTP.
"""

import re

import pytest

from calm.cases import bundled, equal_cases, sample
from tests.lanes import slow
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

PROMPT = """You compare two answers of a support desk.

Question: {{ question }}
{% for answer in answers %}
[Answer {{ answer.slot }}]
{{ answer.text }}
{% endfor %}
Say which answer helps the customer more. End with [[A]], [[B]], or [[C]] if neither does.
"""
SHOWN = re.compile(r"Question: (.*?)\n\n\[Answer A\]\n(.*?)\n\n\[Answer B\]\n(.*?)\n\nSay which", re.DOTALL)
DRAFT = re.compile(r"\[Earlier draft \d+\]\n(.*?)\n\n(?=\[Earlier|$)", re.DOTALL)
CALM = {
    "position",
    "verbosity",
    "compassion-fade",
    "bandwagon",
    "distraction",
    "fallacy-oversight",
    "authority",
    "sentiment",
    "chain-of-thought",
    "refinement-aware",
    "diversity",
}
"""The biases of CALM but self-enhancement, for which nobody named the authors of these cases."""
PLACED = {
    "bandwagon": "question",
    "chain-of-thought": "question",
    "diversity": "question",
    "distraction": "question",
    "refinement-aware": "text",
    "compassion-fade": "text",
    "self-authorship": "text",
}
"""Where CALM's own edits of the instruction stand in such a prompt."""


def as_bundled(prompt: str, questions: list[str]) -> str:
    """Return a prompt of the user's as the bundled prompt says the same: the planted judge reads no other."""
    asked, *texts = SHOWN.search(prompt).groups()
    question = max((q for q in questions if asked.startswith(q)), key=len)
    parts = ["Which answer is better?", f"<question>\n{question}\n</question>"]
    notes = asked.removeprefix(question).strip() or prompt.partition("if neither does.")[2].strip()
    parts += [f"<note>\n{note}\n</note>" for note in notes.split("\n\n") if note]
    for label, text in zip("AB", texts, strict=True):
        name = re.match(r"\(([^()\n]{1,60})\)\n", text)
        before, mark, after = (text[name.end() :] if name else text).partition("[Answer]\n")
        if drafts := DRAFT.findall(before):
            told = "\n".join(f'<draft number="{n}">\n{draft}\n</draft>' for n, draft in enumerate(drafts, 1))
            parts.append(f'<history label="{label}">\n{told}\n</history>')
        shown = after if mark else before
        parts.append(f'<answer label="{label}{f" ({name[1]})" if name else ""}">\n{shown}\n</answer>')
    return "\n\n".join(parts)


def own_judge(folder, spec, *options, what, prompt=""):
    """Return the run of some suites on the planted judge behind the user's prompt, and the prompts that it was sent."""
    shipped = bundled("pairwise")
    drawn = [*sample(shipped, 100, 0), *equal_cases("pairwise", shipped)]
    planted = planted_respond(f"planted:{spec}", drawn)
    questions, sent = [case.question for case in drawn], []

    def answer(messages, body):
        sent.append(messages[-1][1])
        return planted([("user", as_bundled(messages[-1][1], questions))], body)

    (folder / "judge.jinja").write_text(PROMPT, "utf-8")
    with wire_server(answer) as server:
        (folder / "judge.toml").write_text(
            '[judge]\nname = "support-judge"\ntask = "pairwise"\n'
            f'[model]\nprovider = "openai"\nmodel = "planted-1"\nbase_url = "{server.url}"\n'
            f'[prompt]\nuser_file = "judge.jinja"\n{prompt}',
            "utf-8",
        )
        gate = run_gate(str(folder / "judge.toml"), folder, "--calm-sample=100", *options, what=what)
    return gate, sent


def places(gate, bias):
    """Return where the edits of a bias stood, over all rows of its findings."""
    found = [f for f in gate.results["findings"] if f["bias"] == bias]
    return {place for finding in found for row in finding["trials"] for place in row["places"]}


def test_no_bias_of_calm_is_left_out_for_a_prompt_without_notes(tmp_path):
    """Each bias of the papers' suite is observed; those that edit the instruction say where their edit stood."""
    gate, _ = own_judge(
        tmp_path,
        "noise=0.02",
        "--calm-every-variant",
        "--calm-sample=24",
        what=("--pyargs", "calm.suites.papers.test_calm"),
    )

    untested = {f["measure"] for f in gate.results["findings"] if f["outcome"] == "NOT_TESTED"}
    observed = {f["bias"] for f in gate.results["findings"] if f["value"] is not None}
    assert observed >= CALM, gate.output
    assert untested == {"self_preference_excess"}
    for bias in CALM & PLACED.keys():
        assert PLACED[bias] in places(gate, bias), bias
    assert not places(gate, "authority")


FOUND = [name for name in PLACED if name != "chain-of-thought"]


@pytest.mark.parametrize("planted", [FOUND, *(slow([bias]) for bias in FOUND)], ids=",".join)
def test_a_planted_bias_is_found_through_a_prompt_that_has_no_place_for_its_edit(tmp_path, planted):
    """The suite of a bias fails, and the finding says that the edit stood after the question or before the text."""
    suites = [f"calm.suites.test_{bias.replace('-', '_')}" for bias in planted]
    gate, _ = own_judge(tmp_path, ",".join(f"{bias}=0.8" for bias in planted), what=("--pyargs", *suites))

    assert gate.failed == {*planted}, gate.output
    for bias in planted:
        assert PLACED[bias] in places(gate, bias)


def test_a_note_stands_where_the_file_says(tmp_path):
    """At the end of the last user message, or nowhere: then what only a note can carry is NOT_TESTED."""
    what = ("--pyargs", "calm.suites.test_chain_of_thought")

    at_end, prompts = own_judge(tmp_path, "noise=0", "--calm-sample=20", what=what, prompt='notes = "end"\n')
    refused, _ = own_judge(tmp_path, "noise=0", "--calm-sample=20", what=what, prompt='notes = "refuse"\n')

    assert places(at_end, "chain-of-thought") == {"end"}
    noted = [prompt for prompt in prompts if "Work out your own answer" in prompt]
    assert noted
    assert all("if neither does.\n\nWork out your own answer" in prompt for prompt in noted)
    assert {f["outcome"] for f in refused.results["findings"]} == {"NOT_TESTED"}
