"""CALM's error of self-enhancement: asked whatever is known of the answers, and shown by both commands that ask."""

import json
from dataclasses import replace
from hashlib import sha256
from statistics import fmean

import pytest

from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.plugins.papers.protocol import calm_protocol
from calm.results.audit import read
from tests.plugins.papers.test_compare_as_calm import STEADY, audit, observed
from tests.reports.planted_audit import finding
from tests.reports.tags import Tables
from tests.suites.gate import run_gate

NAMES = ("m1", "m2", "m3")
JUDGES = '''
from hashlib import sha256


class Judge:
    """Gives 5 to 7 points, and one more to its own answers; a share of the texts gets no verdict that can be read."""

    task, quick, reads, scale = "score", True, ("question", "answers"), {"low": 1, "high": 10}

    def __init__(self, name, mute=0):
        self.name, self.mute, self.fingerprint = name, mute, f"{name}-{mute}"

    def __call__(self, case):
        text = case.answers[0].text
        drawn = sha256((self.name + text).encode()).digest()
        return None if drawn[1] < self.mute else 5 + drawn[0] % 3 + text.startswith(self.name)


m1, m2, m3 = Judge("m1"), Judge("m2"), Judge("m3")
hoarse, other = Judge("m1", mute=90), Judge("m2", mute=90)
'''
ITEMS, MUTE = 20, 90
FAMILIES = [f"{name}={name}" for name in NAMES]


def points(judge, text):
    """Return what a judge gives a text."""
    return 5 + sha256((judge + text).encode()).digest()[0] % 3 + text.startswith(judge)


def unread(judge, text):
    """Return whether the hoarse one says nothing of a text."""
    return sha256((judge + text).encode()).digest()[1] < MUTE


def own_preference(judges, cases):
    """Run the command."""
    options = [f"--cases={cases}.jsonl", "-o", "own.json", "--report", "own.html"]
    main(["self-preference", *judges, *options, *(f"--family={one}" for one in FAMILIES)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the judges, and sixty answers without gold, with unequal gold, and with equal gold."""
    (tmp_path / "authors.py").write_text(JUDGES, "utf-8")
    for name, gold in (("bare", None), ("unequal", (8, 4)), ("equal", (7, 7))):
        lines = []
        for item in range(ITEMS):
            for place, author in enumerate(NAMES):
                answer = {"id": "x", "text": f"{author} says {item}.", "author": author}
                case = {"id": f"q{item}-{author}", "question": f"Why {item}?", "answers": [answer]}
                case |= {"tags": {"item": f"q{item}"}}
                lines.append(case if gold is None else case | {"scores": {"x": gold[(item + place) % 3 > 0]}})
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def expected(judge):
    """Return y_self and y_other, added up from all scores."""
    texts = [f"{judge} says {item}." for item in range(ITEMS)]
    others = [points(other, text) for text in texts for other in NAMES if other != judge]
    return fmean(points(judge, text) for text in texts), fmean(others)


def test_gold_does_not_take_the_error_of_self_enhancement_away(folder):
    """Where the truth is on one side only the excess says nothing, and nobody needs it for a ratio of two means."""
    options = ["--calm-peers=authors:m2,authors:m3", f"--calm-families={','.join(FAMILIES)}"]
    options += ["--calm-cases=unequal.jsonl", "-k", "self or refined"]
    ran = run_gate("authors:m1", folder, *options, what=("--pyargs", "calm.suites.papers"))
    found = read(folder / "results.json")
    own, others = expected("m1")
    error = calm_protocol(found).enhancement

    assert (error.after, error.before) == pytest.approx((own, others))
    assert error.value == pytest.approx(own / others - 1)
    assert f"Err_SE {own / others - 1:+.3f}" in ran.output
    assert "1 of 12 biases measured, not: refinement-aware" in " ".join(ran.output.split())
    [excess] = [one for one in found.findings if one.measure == "self_preference_excess"]
    assert excess.outcome is Outcome.NOT_TESTED


def test_of_scores_that_nobody_can_read_there_is_no_error(folder):
    """Of the judge's own scores more than a twentieth hold no verdict: the share is the reason."""
    own_preference(["authors:hoarse", "authors:m2", "authors:m3"], "bare")
    body = json.loads((folder / "own.json").read_text("utf-8"))
    texts = [f"{author} says {item}." for item in range(ITEMS) for author in NAMES]
    gone = fmean(unread("m1", text) for text in texts if text.startswith("m1"))
    crossed = replace(finding(), measure="self_preference_excess", outcome=Outcome.OBSERVED, trials=())
    run = replace(audit("m1", observed("authority", [STEADY] * 4), crossed), extras={"self_preference": body})
    run = replace(run, judge=replace(run.judge, model="m1"))

    assert 0.05 < gone < 1
    assert body["judges"][0]["published"]["self_enhancement_error"] is None
    assert calm_protocol(run).enhancement is None
    assert str(calm_protocol(run).of("self-enhancement").reason).startswith(f"{gone:.0%} of the scores")
    others = calm_protocol(replace(run, judge=replace(run.judge, model="m2"))).enhancement
    assert (others is None) == (fmean(unread("m1", text) / 2 for text in texts if text.startswith("m2")) > 0.05)


def test_only_scores_of_a_judges_own_answers_can_take_its_error_away(folder):
    """Answers of authors who judge nothing do not thin out what the others left unread of its own."""
    more = []
    for item in range(ITEMS):
        for author in ("w1", "w2", "w3", "w4"):
            answer = {"id": "x", "text": f"{author} says {item}.", "author": author}
            more.append({"id": f"q{item}-{author}", "question": f"Why {item}?", "answers": [answer]})
            more[-1]["tags"] = {"item": f"q{item}", "families": json.dumps({author: author})}
    with (folder / "bare.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(one) + "\n" for one in more))

    own_preference(["authors:m1", "authors:other", "authors:m3"], "bare")

    body = json.loads((folder / "own.json").read_text("utf-8"))
    [part] = [one for one in body["parts"] if one["name"] == "self_enhancement"]
    rows = {row["judge"]: row for row in part["rows"]}
    for judge in ("m1", "m3"):
        gone = fmean(unread("m2", f"{judge} says {item}.") for item in range(ITEMS)) / 2
        assert rows[judge]["unread"] == pytest.approx(gone)
        assert (rows[judge]["self_enhancement_error"] is None) == (gone > 0.05)


@pytest.mark.parametrize("cases", ["bare", "equal", "unequal"])
def test_the_command_shows_the_error_and_the_two_means(folder, capsys, cases):
    """A table of its own in the terminal and on the page, and the figure of each judge in the record."""
    own_preference([f"authors:{name}" for name in NAMES], cases)
    printed = capsys.readouterr().out
    body = json.loads((folder / "own.json").read_text("utf-8"))
    [part] = [one for one in body["parts"] if one["name"] == "self_enhancement"]
    page = Tables((folder / "own.html").read_text("utf-8")).found["CALM's error of self-enhancement"]

    assert [row["judge"] for row in part["rows"]] == list(NAMES)
    for judge, row, shown in zip(body["judges"], part["rows"], page[1:], strict=True):
        own, others = expected(judge["judge"])
        assert (row["y_self"], row["y_other"], row["unread"]) == pytest.approx((own, others, 0))
        assert row["self_enhancement_error"] == pytest.approx(own / others - 1)
        assert judge["published"]["self_enhancement_error"] == row["self_enhancement_error"]
        assert shown[:4] == [judge["judge"], str(ITEMS), f"{own:.2f}", f"{others:.2f}"]
    assert "Err_SE" in printed
