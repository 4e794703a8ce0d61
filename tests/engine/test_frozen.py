"""
Keys that users have paid for or written down: no move of a module, and no new name of a class, may change one.

`frozen.json` holds what calm makes of fixed judges, cases and edits. A key of the cache or the fingerprint of a judge
that changes makes everybody pay again; the key of a finding or the name of an edit that changes breaks baselines, gate
files and suites. `python -m tests.engine.frozen --add` adds rows for new edits and biases.
A row that changes, by hand, needs a reason that is worth all that.
"""

import json
import sqlite3
from contextlib import closing

import pytest

from calm.cases import bundled, sha256
from calm.core.case import digest
from calm.gate.catalogue import known_biases
from calm.gate.from_spec import judge_from
from tests.engine.frozen import FILE, FROZEN, TASKS, edits, gate, gates_with, row_of, with_new, written
from tests.inside import offered
from tests.pytest_plugin.conftest import project
from tests.servers import wire_server

__all__ = ["project"]

URL = "http://frozen.test/v1"
"""No such server: a key holds its address, and a proxy on this machine answers for it."""
# what a judge.toml says besides name, task, provider, model and URL
MODELS = {
    "plain": "",
    "sampled": "temperature = 0.7\nmax_tokens = 50\nextra_body = { top_p = 0.9, seed = 3 }",
    "routed": 'headers = { X-Team = "gate" }\nquery = { version = "2" }\nserved_as = "tiny-2"',
}
JUDGES = {
    **{f"{task} {provider}": (task, provider, "plain", "") for task in TASKS for provider in ("openai", "anthropic")},
    "pairwise openai-responses": ("pairwise", "openai-responses", "plain", ""),
    "score openai-responses sampled": ("score", "openai-responses", "sampled", ""),
    "pairwise openai sampled": ("pairwise", "openai", "sampled", ""),
    "pairwise openai routed": ("pairwise", "openai", "routed", ""),
    "score anthropic sampled json": ("score", "anthropic", "sampled", '[verdict]\nformat = "json"'),
    "pairwise openai own prompt": (
        "pairwise",
        "openai",
        "plain",
        '[prompt]\nuser = "{{ question }} 1: {{ answers[0].text }} 2: {{ answers[1].text }}"\n'
        '[verdict]\nformat = "regex"\npattern = "([12])"\nvalues = { 1 = "first", 2 = "second" }',
    ),
}
MITIGATED = {
    "pairwise openai swap evidence": ("pairwise", "openai", "plain", "", ["swap", "evidence:2"]),
    "pairwise openai guards": ("pairwise", "openai", "plain", "", ["datamarking", "sandwich", "string-filter"]),
    "pairwise openai plan": ("pairwise", "openai", "plain", "", ["plan"]),
    "score openai options": ("score", "openai", "plain", "", ["score-options:2", "segments:2"]),
    "score openai g-eval": ("score", "openai", "plain", "", ["g-eval"]),
    "listwise openai rotations": ("listwise", "openai", "plain", "", ["rotations", "samples:2"]),
}
SPECS = (
    "lexical",
    "lexical:task=score",
    "planted:authority=0.9,noise=0.03",
    "planted:task=label",
    "planted:task=rubric,noise=0.1,seed=4",
    "recorded:llmbar/GPT-4/Vanilla",
    "panel:lexical+planted:noise=0.1",
    "judges:gold",
    "judges:marked",
)


if offered("mitigate"):
    JUDGES |= MITIGATED


def toml(task, provider, model, more, mitigations=()):
    head = f'[judge]\nname = "frozen"\ntask = "{task}"\nmitigations = {json.dumps([*mitigations])}\n'
    head += '[labels]\nclasses = ["ungrounded", "grounded"]\n' if task == "label" else ""
    return f'{head}[model]\nprovider = "{provider}"\nmodel = "tiny"\nbase_url = "{URL}"\n{MODELS[model]}\n{more}\n'


@pytest.fixture
def furnished(project, monkeypatch):
    """A project with all the judge files, from which a run imports its own modules."""
    monkeypatch.chdir(project.path)
    for name, parts in JUDGES.items():
        project.write(file_of(name), toml(*parts))
    return project


def file_of(judge):
    return f"{judge.replace(' ', '-')}.toml" if judge in JUDGES else judge


def test_a_judge_has_the_fingerprint_that_it_had(furnished, monkeypatch, subtests):
    """So what is kept of it is found, and its baseline is that of the same judge."""
    monkeypatch.syspath_prepend(furnished.path)

    for judge in (*JUDGES, *SPECS):
        with subtests.test(judge):
            assert judge_from(file_of(judge), {}).fingerprint == FROZEN["fingerprints"][judge]


@pytest.mark.parametrize("judge", [one for one in FROZEN["replies"] if one in (*JUDGES, *SPECS)])
def test_a_reply_is_kept_under_the_key_that_it_had(judge, furnished, monkeypatch):
    """How many keys a small run leaves, the first, and a digest of all: of live calls and of a judge of code."""
    kept = furnished.path / "kept.sqlite"
    with wire_server(lambda messages, body: "It is right. [[A]]", model="tiny-2") as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        furnished.run(f"--calm-cache-file={kept}", "--calm-sample=4", "-q", judge=file_of(judge))
    with closing(sqlite3.connect(kept)) as db:
        keys = [key.hex() for (key,) in db.execute("select key from reply order by key")]

    assert [len(keys), keys[0], digest(*keys)] == FROZEN["replies"][judge]


@pytest.mark.parametrize("task", TASKS)
def test_bundled_cases_are_those_that_they_were(task):
    """A baseline is of certain cases."""
    assert sha256(bundled(task)) == FROZEN["cases"][task]


def test_edits_have_their_names_and_make_what_they_made(subtests):
    """A name is that by which a suite, a gate file or a record finds an edit; a copy's identity is in each row."""
    found = edits()

    assert found.keys() == FROZEN["edits"].keys(), "new edits: python -m tests.engine.frozen --add"
    for family, row in found.items():
        with subtests.test(family):
            assert row == FROZEN["edits"][family]


def test_what_keys_of_findings_begin_with():
    """A key in a baseline or in calm-gate.toml begins with the name of a bias."""
    assert sorted(known_biases()) == FROZEN["biases"], "new biases: python -m tests.engine.frozen --add"


def test_new_edits_get_rows_and_no_other_row_changes():
    """A row that differs from what calm makes now stays: only a person may change it, and only for a good reason."""
    lacking = {**FROZEN, "edits": {**FROZEN["edits"], "authority": [0, "?"]}, "biases": FROZEN["biases"][1:]}
    lost = lacking["edits"].pop("anchoring")

    after, new = with_new(lacking)

    assert new == ["anchoring", FROZEN["biases"][0]]
    assert after["edits"] == {**FROZEN["edits"], "anchoring": lost, "authority": [0, "?"]}
    assert after["biases"] == FROZEN["biases"]
    assert written(FROZEN) == FILE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_default_gate_has_the_keys_that_it_had(task):
    """The test of each finding with the finding's key, as they stand in baselines."""
    assert row_of(gate(task)) == FROZEN["gates"][task]


@pytest.mark.slow
def test_a_row_of_the_gate_takes_in_a_new_bias_and_no_other_change():
    """As if the suite of authority were new; and not if another bias is gone, too."""
    before = row_of(gate("listwise"), {"authority"})

    assert gates_with({"listwise": before}, {"authority"}) == {"listwise": FROZEN["gates"]["listwise"]}
    with pytest.raises(ValueError, match="other keys of the default gate changed, too: listwise"):
        gates_with({"listwise": before}, {"authority", "bandwagon"})
