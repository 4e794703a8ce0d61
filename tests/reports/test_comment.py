"""The comment on a pull request: what it says, that no text in it acts, and that it fits."""

import re
from dataclasses import replace
from html import unescape

import pytest
from markdown_it import MarkdownIt

from calm.core.claims import Outcome
from calm.errors import ConfigError
from calm.results.audit import Limit
from calm.results.reports import markdown
from calm.results.reports.markdown import COMMENT, mark, render_comment
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import finding, sample
from tests.reports.tags import Tags

OURS = {"h3", "p", "strong", "ul", "li", "code", "br"}


def elements(text):
    """Return the names of the elements that GitHub would show."""
    tags = Tags()
    tags.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    return {name for name, _ in tags.found}


def test_a_red_comment_says_what_failed_and_the_flips_and_the_bill():
    """The mark first, then green or red with the worst bias, the three flips that say most, the claims, the bill."""
    text = render_comment(sample(), gate="support")
    lines = text.splitlines()

    assert lines[0] == mark("support") == "<!-- calm-comment: support -->"
    assert lines[1] == "### calm: RED: 2 of 7 claims fail: authority"
    flips = text.partition("**The verdicts that say most**")[2].partition("\nbiases: ")[0].strip().splitlines()
    assert 1 <= len(flips) <= 4
    assert all("\N{RIGHTWARDS ARROW}" in line for line in flips)
    assert any("; asked: " in line for line in flips)
    assert "- FAIL `" in text
    assert lines[-3].startswith("biases: 1 failed")
    assert lines[-1].startswith("judge ")


def test_what_got_worse_stands_before_what_is_not_proven():
    """A claim that passed in the baseline and fails now, and a finding of the baseline that failed by the evidence."""
    then = {"value": 0.02, "low": 0.0, "high": 0.05, "outcome": "PASS"}
    fell = finding(key="authority/gain", measure="gain", claim=Limit("<=", 0.1), outcome=Outcome.FAIL, baseline=then)
    evidence = finding(
        key="authority/worsening/cite", measure="worsening", claim=Limit("<=", 0.0), outcome=Outcome.FAIL, value=0.2
    )
    kept = finding(key="verbosity/gain", bias="verbosity", outcome=Outcome.FAIL, baseline={**then, "outcome": "FAIL"})

    text = render_comment(replace(sample(), findings=(fell, evidence, kept)))

    worse = text.partition("**Outcomes that are worse than in the baseline**")[2].partition("**Not proven**")[0]
    assert "`authority/gain` was PASS and is FAIL" in worse
    assert "FAIL `authority/worsening/cite`" in worse
    assert "verbosity" not in worse


def test_a_green_comment_is_short():
    """Nothing is listed where nothing is wrong."""
    text = render_comment(replace(sample(), findings=(finding(),), tests=(), faults=()))

    assert "### calm: GREEN: every claim holds" in text
    assert "**Not proven**" not in text
    assert "**Worse" not in text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_run_acts(text):
    """No markup, no comment that hides the rest, no mention and no link comes from a case, a judge or a server."""
    shown = render_comment(hostile_audit(text))

    assert len(shown.encode()) < COMMENT
    assert elements(shown) <= OURS
    assert shown.count("<!--") == 1
    assert "@everybody" not in unescape(shown)
    assert "](" not in shown


REFERENCES = [
    *("GH-1", "gh-23", "#1", "owner/repo#1", "@team", "@org/team", "owner/repo@0123456", "me@example.org"),
    *("deadbeef", "DEADBEEF00", "0123456789abcdef0123456789abcdef01234567", "1234567", "a" * 64),
    *("https://example.org", "HTTP://x.y", "ftp://x.y", "www.example.org", "WWW.x.y", "mailto:me@x.y", "xmpp:a@x.y/z"),
    *("!12", "%12", '%"soon"', "$12", "&12", "~bug", '~"to do"', "^alert#1", "[vulnerability:1]", ":tada:"),
]
FOUND = re.compile(
    r"gh-\d|[@#]\w|[0-9a-f]{7}|(https?|ftp|mailto|xmpp):\w|:/|www\.\w|\w@\w|[!%$&~^][\w\"]|\[\w+:\w|:\w+:",
    re.IGNORECASE,
)
"""What GitHub or GitLab takes for a link, a mention or a reference, in a text without code."""


@pytest.mark.parametrize("report", [render_comment, markdown.render], ids=["comment", "summary"])
@pytest.mark.parametrize("text", REFERENCES)
def test_no_text_of_a_run_is_a_reference(text, report):
    """Neither as it is written, where links are found, nor as it is shown, where references are."""
    assert FOUND.search(text)
    written = re.sub("`[^`\n]*`", "", report(hostile_audit(f"see {text} and {text}")))
    shown = re.sub("(?s)<code>.*?</code>", "", MarkdownIt("commonmark", {"html": True}).enable("table").render(written))

    assert not re.search(r"(https?|ftp):/|www\.", written, re.IGNORECASE)
    assert [one[0] for one in FOUND.finditer(unescape(re.sub("<[^>]*>", "", shown)))] == []


def test_the_largest_run_fits():
    """A thousand failed claims with long names: as many as fit, and the others are counted."""
    many = [
        finding(key=f"b{i}/{'@<' * 200}", bias=f"b{i}", outcome=Outcome.FAIL, reason="@#<>" * 500, value=None)
        for i in range(1000)
    ]

    text = render_comment(replace(sample(), findings=tuple(many)))

    assert len(text.encode()) < COMMENT
    assert "more\n" in text


@pytest.mark.parametrize("name", ["", "a b", "--> <b>", "x" * 61, "é"])
def test_a_name_that_no_mark_can_hold_is_refused(name):
    """It would end the mark, or be another gate's."""
    with pytest.raises(ConfigError, match="--name: expected 1 to 60 letters"):
        render_comment(sample(), gate=name)
