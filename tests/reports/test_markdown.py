"""The summary in Markdown: what it says, that no text in it acts, and that it fits."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, reason_of
from calm.errors import ConfigError
from calm.results.audit import Control, Limit
from calm.results.reports.markdown import COMMENT, SMALLEST, code, plain, render, write
from calm.results.sentences import sentence
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, sample

OURS = {
    "h1",
    "h2",
    "p",
    "ul",
    "li",
    "strong",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "br",
    "details",
    "summary",
}


class Page(HTMLParser):
    """What a browser would find in a document."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.texts.append(data)


def page(text):
    """Return a summary as it would be shown: GitHub's tables, and HTML let through."""
    return Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def test_it_begins_with_the_outcome_and_why():
    """What a reader must know stands first."""
    shown = render(sample())

    assert shown.startswith("# calm: RED\n\n**RED: 2 of 7 claims fail: authority.** biases: 1 failed, ")
    assert "| self-authorship | the judge's prompt shows no author |" in shown
    assert plain(sentence(sample().findings[0]), 300) in shown


def test_what_is_red_stands_before_what_was_accepted():
    """The table of red claims holds each of them, and no other."""
    red, _, rest = render(sample()).partition("## Accepted")

    assert all(f"`{f.key}`" in red for f in sample().findings if f.red)
    assert "position/net_robustness/swap" not in red
    assert "until 2026-09-01" in rest


def test_what_changed_since_the_baseline_is_named():
    """A claim with another outcome than in the accepted run has a line."""
    assert "| `authority/gain/rotation` | PASS 0.04 | FAIL 0.31 |" in render(sample())


def test_a_note_of_the_run_is_shown():
    """What a reader should know stands above the tables."""
    noted = replace(sample(), run=replace(sample().run, notes=(because(Kind.SERVED_NOW, "a", "b", "c"),)))

    assert f"- Note: {plain(str(noted.run.notes[0]), 300)}" in render(noted)


def test_an_audit_of_nothing_is_not_green():
    """No finding is no proof."""
    assert render(empty()).startswith("# calm: NOT GREEN\n\n**NOT GREEN: no claim passed")


def test_no_text_makes_markup(subtests):
    """Whatever stands in a record, only our own elements come of it: no link, image, code fence, or heading."""
    for text in HOSTILE:
        with subtests.test(text=text):
            plain_page, hostile_page = page(render(hostile_audit("plain"))), page(render(hostile_audit(text)))

            assert set(hostile_page.elements) <= OURS
            assert not hostile_page.attributes
            assert hostile_page.elements.count("td") == plain_page.elements.count("td")
            assert hostile_page.elements.count("h2") == plain_page.elements.count("h2")


def test_no_text_becomes_a_link_or_a_mention(subtests):
    """What GitHub finds after the markup is made, as addresses, mentions and references, is not there to be found."""
    for text in HOSTILE:
        with subtests.test(text=text):
            shown = render(hostile_audit(text))
            told = "".join(page(shown).texts)

            assert not re.search(r"https?:|www\.|javascript:", re.sub("`[^`]*`", "", shown))
            assert not re.search(r"(?<!\w)[@#]\w", re.sub("`[^`]*`", "", shown.replace("&#", "")))
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", told)


def test_a_text_can_be_read_as_it_was(subtests):
    """Escaping changes how a text is written and not what is read, but for white space."""
    for text in HOSTILE[:10]:
        with subtests.test(text=text):
            shown = unescape(plain(text, 1_000)).replace("\u200b", "")

            assert shown == " ".join(text.split())


def test_it_fits_its_limit(subtests):
    """However many claims there are, the bytes stay below the limit, and what is left out is counted."""
    for limit in [SMALLEST, 5_000, COMMENT]:
        for count in [0, 3, 3_000]:
            with subtests.test(limit=limit, count=count):
                many = tuple(
                    finding(
                        key=f"bias-{i:04}/gain/\u00e9", bias=f"bias-{i:04}", outcome=Outcome.FAIL, reason="\u6f22" * 400
                    )
                    for i in range(count)
                )
                crowded = empty(findings=many, run=replace(empty().run, notes=(reason_of("n" * 500),) * 300))

                shown = render(crowded, limit=limit)

                assert len(shown.encode()) <= limit
                assert shown.startswith("# calm: ")
                assert page(shown).elements.count("details") == len(re.findall("</details>", shown))
                if count == 3_000:
                    assert re.search(r"\d+ (more )?are left out here", shown)


def test_hostile_texts_fit_a_comment(subtests):
    """A text of any length is cut."""
    for text in HOSTILE:
        with subtests.test(text=text):
            assert len(render(hostile_audit(text), limit=COMMENT).encode()) <= COMMENT


def test_a_limit_that_holds_nothing_is_refused():
    """The message says how much is needed."""
    with pytest.raises(ConfigError, match="expected a limit of at least 2000 bytes for a summary, got limit=10"):
        render(sample(), limit=10)


def test_a_name_with_a_backtick_does_not_leave_its_code():
    """Backticks are used only where nothing can close them."""
    assert code("a`b") == "<code>a&#96;b</code>"


def test_it_is_written_whole(tmp_path):
    """The file appears in a folder that did not exist."""
    write(sample(), tmp_path / "out" / "summary.md")

    assert (tmp_path / "out" / "summary.md").read_text("utf-8") == render(sample())


def test_what_inert_words_did_stands_beside_a_claim():
    """Both tables say what they moved, and what they gave the treated answer."""
    one, *rest = sample().findings

    shown = render(replace(sample(), findings=(replace(one, control=Control("note", 0.284, -0.012, 197)), *rest)))

    red, _, every = shown.partition("Every claim")
    assert "neutral words moved 0.28, gained &#45;0.01" in red or "neutral words moved 0.28, gained -0.01" in red
    assert "| 0.31 [0.26, 0.37] | moved 0.28, gained -0.01 | 186 |" in every


def test_claims_about_all_probes_stand_first():
    """Whatever came out; what is not green follows."""
    together = finding(
        key="run/gain",
        bias="run",
        measure="gain",
        claim=Limit("<=", 0.05),
        reason=because(Kind.OVER_ROWS, 3412, 9),
        task="score",
        scale={"low": 1.0, "high": 10.0},
        value=0.07,
        low=0.03,
        high=0.11,
        outcome=Outcome.FAIL,
    )
    shown = render(replace(sample(), findings=(*sample().findings, together)))

    first, _, rest = shown.partition("## Not green")
    assert "| `run/gain`<br>`gain <= 0.05` | FAIL | 0.07 [0.03, 0.11] (0.6 points on 1-10) | 200 |" in first
    assert "over all 3,412 rows of 9 probes" in first
    reds, _, every = rest.partition("Every claim")
    assert "`run/gain`" not in reds
    assert "`run/gain`" in every
