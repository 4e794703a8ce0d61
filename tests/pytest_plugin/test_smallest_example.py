"""A failing probe names the command that hunts for its smallest example, and the command runs as it stands."""

import json
import shlex

import pytest

from calm.commands.cli import main
from calm.results.audit import read
from calm.results.steps import steps_of, troubles
from tests.inside import offered

FALLS_FOR_BOOKS = "planted:authority=1"
PROBE = """
    from calm import gain, net_robustness, rotate
    from calm.perturbations.authority import cite_book, cite_quote, cite_url, expert_consensus
    from calm.perturbations.bandwagon import suggested_verdict
    from calm.perturbations.compassion_fade import credit_human
    from calm.perturbations.position import swap

    def test_book(probe):
        assert probe({edit}).proves({claims})
"""
CLAIMS = "net_robustness >= 0.90, gain <= 0.15"


def told(pytester, edit, *options, claims=CLAIMS):
    """Run a probe and return the commands that its report names; the screen names one at most, as what is next."""
    pytester.makepyfile(test_probe=PROBE.format(edit=edit, claims=claims))
    result = pytester.runpytest_subprocess("test_probe.py", "--calm-sample=60", "--calm-results=all.json", *options)
    audit = read(pytester.path / "all.json")
    steps = [step.command for one in troubles(audit) for step in steps_of(audit, one) if step.command]
    assert [line.strip() for line in result.outlines if line.startswith("  calm ")] == steps[:1]
    return [command for command in steps if command.startswith("calm hunt ")]


def test_the_command_finds_a_text_that_flips_the_judge(pytester, capsys):
    """Two claims fail, one command is named, and as it stands it finds and confirms a text."""
    [command] = told(pytester, "cite_book", f"--calm-judge={FALLS_FOR_BOOKS}")

    assert command == "calm hunt planted:authority=1 --edits authority.cite_book"
    if offered("hunt"):
        assert main(shlex.split(command)[1:]) == 0
        found = json.loads((pytester.path / "hunt.json").read_text("utf-8"))["findings"]
        assert any(one["confirmed"] for one in found)


def test_the_place_is_the_one_that_the_edit_writes_to(pytester):
    """An edit that adds a note is hunted for in notes, and found."""
    judge = "planted:bandwagon=1"
    [command] = told(pytester, "suggested_verdict", f"--calm-judge={judge}", claims="gain <= 0.15")

    assert command == f"calm hunt {judge} --edits bandwagon.suggested_verdict --where notes"
    if offered("hunt"):
        assert main(shlex.split(command)[1:]) == 0
        found = json.loads((pytester.path / "hunt.json").read_text("utf-8"))["findings"]
        assert any(one["confirmed"] and one["where"] == "notes" for one in found)


def test_the_files_of_cases_are_named_as_they_were_given(pytester):
    """A path with a blank is quoted, and the command reads that file."""
    rows = [
        {
            "id": f"c{i}",
            "question": f"How many legs do {i} cats have?",
            "answers": [{"id": "a", "text": f"They have {4 * i}."}, {"id": "b", "text": f"They have {4 * i + 1}."}],
            "better": "a",
        }
        for i in range(2, 62)
    ]
    (pytester.path / "my cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    [command] = told(pytester, "cite_book", f"--calm-judge={FALLS_FOR_BOOKS}", "--calm-cases=my cases.jsonl")

    assert command == "calm hunt planted:authority=1 --cases 'my cases.jsonl' --edits authority.cite_book"
    assert main([*shlex.split(command)[1:], "--plan"]) == 0


def test_a_rotation_names_the_variants_that_flipped_or_the_bias(pytester):
    """Of up to three variants each is named, of more the bias."""
    few = told(pytester, "rotate(cite_book, cite_quote)", f"--calm-judge={FALLS_FOR_BOOKS}")
    four = "rotate(cite_book, cite_quote, cite_url, expert_consensus)"
    many = told(pytester, four, f"--calm-judge={FALLS_FOR_BOOKS}")

    named = shlex.split(few[0])[-1].split(",")
    assert set(named) == {"authority.cite_book", "authority.cite_quote"}
    assert many == ["calm hunt planted:authority=1 --edits authority"]


def test_an_edit_of_ones_own_is_named_by_its_module(pytester, capsys):
    """It can be imported from this folder, so the command names it and runs."""
    pytester.makepyfile(
        own="""
        from calm import perturbation
        from calm.core.edits import Expects
        from calm.perturbations.authority import cite_book

        @perturbation(bias="authority", expects=Expects.NOT_BETTER)
        def quoted(case, rng):
            "Cite a book that does not exist."
            return cite_book(case, rng)
        """
    )
    [command] = told(pytester, "__import__('own').quoted", f"--calm-judge={FALLS_FOR_BOOKS}")

    assert command == "calm hunt planted:authority=1 --edits own:quoted"
    assert main([*shlex.split(command)[1:], "--plan"]) == 0


def test_a_judge_of_a_conftest_is_left_to_the_reader(pytester):
    """No word on a command line makes such a judge, so JUDGE stands for it."""
    pytester.makeconftest(
        """
        import pytest
        from calm.judges.python import PythonJudge

        def credulous(case):
            return next((answer.id for answer in case.answers if "Source: " in answer.text), case.better)

        credulous.reads = ("question", "answers", "better")

        @pytest.fixture(scope="session")
        def judge():
            return PythonJudge(credulous)
        """
    )

    assert told(pytester, "cite_book") == ["calm hunt JUDGE --edits authority.cite_book"]


@pytest.mark.parametrize(
    ("edit", "options", "claims"),
    [
        ("cite_book", ["--calm-judge=planted:noise=0.03"], CLAIMS),
        ("swap", ["--calm-judge=planted:position=1"], "net_robustness >= 0.90"),
        ("credit_human", ["--calm-judge=planted:compassion-fade=1"], "gain <= 0.15"),
    ],
)
def test_where_a_hunt_makes_no_sense_nothing_is_named(pytester, edit, options, claims):
    """A sound judge fails nothing, the order of answers is no text, and names beside both answers are two."""
    assert told(pytester, edit, *options, claims=claims) == []


def test_of_many_failures_one_command_is_what_is_next(pytester, monkeypatch):
    """With `-v`, too; it runs as it stands."""
    monkeypatch.delenv("COLUMNS", raising=False)  # readline sets it for the processes of whoever imports it
    pytester.makepyfile(
        test_many="""
        import pytest
        from calm import gain
        from calm.perturbations import authority

        @pytest.mark.parametrize("name", ["cite_book", "cite_quote", "cite_url", "cite_study", "expert_consensus"])
        def test_each(probe, name):
            assert probe(getattr(authority, name)).proves(gain <= 0.15)
        """
    )
    options = ("test_many.py", "--calm-sample=60", f"--calm-judge={FALLS_FOR_BOOKS}")

    few, every = (pytester.runpytest_subprocess(*options, *more).outlines for more in ((), ("-v",)))

    few, every = ([line for line in lines if line.startswith("  calm ")] for lines in (few, every))
    assert len(few) == 1
    assert every == few
    assert main([*shlex.split(few[0])[1:], "--plan"]) == 0
