"""The command that hunts for the smallest example of what failed."""

from dataclasses import replace

from calm.core.claims import Outcome
from calm.results.reports import html, markdown
from calm.results.steps import command
from tests.reports.planted_audit import empty, finding

FAILED = finding(outcome=Outcome.FAIL, hunt={"edits": "authority.cite_book", "where": "answer"})


def test_the_command_is_quoted_for_a_shell():
    """Names with blanks and signs are one word each, and the usual place is not named."""
    told = command(FAILED, "my judges/a.toml", ["my cases.jsonl", "b.csv"])

    assert told == ("calm hunt 'my judges/a.toml' --cases 'my cases.jsonl' --cases b.csv --edits authority.cite_book")


def test_another_place_is_named():
    """An edit that writes elsewhere is hunted there."""
    noted = replace(FAILED, hunt={"edits": "bandwagon.crowd", "where": "notes"})

    assert command(noted, "JUDGE") == "calm hunt JUDGE --edits bandwagon.crowd --where notes"


def test_only_what_failed_and_was_not_accepted_has_a_command(subtests):
    """Nothing is said of any other outcome, of an accepted failure, or where a hunt makes no sense."""
    for outcome in Outcome:
        with subtests.test(repr(outcome)):
            assert bool(command(replace(FAILED, outcome=outcome), "J")) is (outcome is Outcome.FAIL)
    assert not command(replace(FAILED, accepted="known"), "J")
    assert not command(replace(FAILED, hunt={}), "J")


def test_reports_show_it():
    """It stands on the card of the bias and in the summary; JUDGE stands for what no record names."""
    audit = empty(findings=(FAILED,))

    assert "<code>calm hunt JUDGE --edits authority.cite_book</code>" in html.render(audit)
    assert "calm hunt JUDGE --edits authority.cite" in markdown.render(audit).replace("&#95;", "_")
