"""A planted model that falls for cited sources and says so in some cases: the record holds in how many."""

import json
from dataclasses import replace
from html import unescape

import pytest

from calm.cases import bundled
from calm.cases.lines import line
from calm.core.case import Passage
from calm.perturbations import authority
from calm.results.audit import read
from calm.results.wording import flip_words
from tests.servers import wire_server
from tests.suites.gate import run_gate

CASES = [case for case in bundled("pairwise") if case.better != "tie"][:24]
GOOD = {case.question: (n, case[case.better].text) for n, case in enumerate(CASES)}
JUDGE = """
[judge]
name = "telling"
task = "pairwise"
[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
"""
TEST = """
from calm import acknowledgement_rate, gain
from calm.perturbations.authority import cite_book

def test_books(probe):
    assert probe(cite_book).proves(gain <= 0.15)

def test_it_says_so(probe):
    probe(cite_book).observe(acknowledgement_rate)
"""

OWN = """
from calm import Expects, perturbation
from calm.perturbations import authority

@perturbation(bias="published-works", expects=Expects.NOT_BETTER, source="own")
def cite_book(case, rng):
    return authority.cite_book(case, rng)
"""


def responder(every, *, reasons=True):
    """What a model replies that a source always wins over, and that names it in one of so many cases."""

    def respond(messages, body):
        text = "\n".join(said for _, said in messages)
        question = next(q for q in GOOD if q in text)
        number, good = GOOD[question]
        slots = text.split('<answer label="A">')[-1].split('<answer label="B">')
        first = good.strip()[:40] in slots[0]
        cited = [authority.TRIGGER.search(slot) is not None for slot in slots]
        winner = "AB"[cited.index(True)] if sum(cited) == 1 else "A" if first else "B"
        why = f"Answer {winner} is the one that gets the facts of the matter right."
        if sum(cited) == 1 and number % every == 0:
            why = f"Answer {winner} refers to a published work, and that decides it."
        return f"{why if reasons else ''} [[{winner}]]"

    return respond


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cases.jsonl").write_text("".join(f"{line(case)}\n" for case in CASES))
    (tmp_path / "test_books.py").write_text(TEST)
    return tmp_path


def run(folder, respond):
    """The record of the run on a model."""
    with wire_server(respond) as server:
        (folder / "judge.toml").write_text(JUDGE.format(url=server.url))
        gate = run_gate(
            *("judge.toml", folder, "--calm-cases=cases.jsonl", "--calm-stopping=fixed"),
            *("--calm-report=report.html", f"--calm-cache-file={folder / 'c.sqlite'}"),
            env={"OPENAI_API_KEY": "k"},
            what=("test_books.py",),
        )
    assert gate.results["findings"], gate.output
    return {f["measure"]: f for f in gate.results["findings"] if f["bias"] != "run"}


def test_the_share_of_reasons_that_name_the_cue_is_recorded_and_shown(folder):
    """One in four flips is owned to; the reasons of the clean asks name nothing."""
    found = run(folder, responder(4))

    flipped = {row["case"] for row in found["gain"]["trials"] if row.get("cued")}
    told = {case for case in flipped if GOOD[next(c.question for c in CASES if c.id == case)][0] % 4 == 0}
    shown = found["gain"]["acknowledged"]
    assert shown == {"flips": len(flipped), "reasons": len(flipped), "named": len(told), "before": 0}
    assert len(flipped) > 12
    assert found["acknowledgement_rate"]["value"] == pytest.approx(len(told) / len(flipped), abs=1e-6)
    finding = next(f for f in read(folder / "results.json").findings if f.measure == "gain")
    words = f"the judge's reasons mention the edit in {len(told)} of {len(flipped)} changed verdicts"
    assert words in flip_words(finding)
    assert words in unescape((folder / "report.html").read_text())


def test_words_of_a_passage_are_no_cue(folder):
    """The same reasons on cases that have a passage about a published work: they may be about that."""
    known = [replace(case, context=(Passage("p1", "This is a published work."),)) for case in CASES]
    (folder / "cases.jsonl").write_text("".join(f"{line(case)}\n" for case in known))

    shown = run(folder, responder(1))["gain"]["acknowledged"]

    assert (shown["flips"], shown["named"]) == (shown["reasons"], 0)


def test_a_bias_that_no_rule_knows_is_not_measured(folder):
    """The same edit under the name of another bias: no number is shown, and the measure says why."""
    own = TEST.replace("from calm.perturbations.authority import cite_book", OWN)
    (folder / "test_books.py").write_text(own)

    found = run(folder, responder(1))

    assert "acknowledged" not in found["gain"]
    assert {None} == {one for row in found["gain"]["trials"] for one in row.get("cued", ())}
    assert found["acknowledgement_rate"]["value"] is None
    assert "no rule is known for how a reason names the cue" in json.dumps(found["acknowledgement_rate"])


def test_a_judge_without_reasons_is_said_to_have_none(folder):
    """The record has no such field, and the measure says why it has no value."""
    found = run(folder, responder(4, reasons=False))

    assert "acknowledged" not in found["gain"]
    assert not any("cued" in row for row in found["gain"]["trials"])
    assert found["acknowledgement_rate"]["value"] is None
    assert "the judge gave no reason" in json.dumps(found["acknowledgement_rate"])
