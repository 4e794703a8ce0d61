"""The reader against replies whose verdict a person wrote down: ten languages, six formats, sixteen public prompts."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import pages, reader

MOST_MISREAD = 0.001
MOST_LOST = 0.02
MOST_IN_STYLES = (0.007, 0.033)
"""Shares that are misread, and lost; half of these replies were written to mislead a reader."""
MOST_HELD_OUT = (0.015, 0.062)
LANGUAGES = {"de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"}


@pytest.fixture(scope="module")
def found():
    """What the reader makes of each reply."""
    return [reader.outcome(row) for row in reader.rows()]


@pytest.fixture(scope="module")
def styled():
    """What the reader makes of each reply in the style of a public prompt."""
    return [reader.outcome(row) for row in reader.styled()]


def test_at_most_one_reply_of_a_thousand_is_read_as_what_it_does_not_say(found):
    """A verdict that the judge did not give accuses it of what it did not do."""
    n, misread, _, _ = reader.share(found)

    assert misread <= MOST_MISREAD * n, reader.wrong(one for one in found if one.misread)


def test_at_most_two_of_a_hundred_verdicts_that_a_person_reads_are_lost(found):
    """A reader that reads nothing misreads nothing, and blocks a team."""
    _, _, real, lost = reader.share(found)

    assert lost <= MOST_LOST * real, reader.wrong(one for one in found if one.lost and one.row.real)


def test_replies_in_public_styles_are_read_as_a_person_reads_them(styled):
    """Of those that look real none says something else, and few are lost."""
    n, misread, real, lost = reader.share(styled)

    assert misread <= MOST_IN_STYLES[0] * n, reader.wrong(one for one in styled if one.misread)
    assert lost <= MOST_IN_STYLES[1] * real, reader.wrong(one for one in styled if one.lost and one.row.real)
    assert [one.row.id for one in styled if one.misread and one.row.real] == []


def test_of_the_replies_that_the_rules_were_not_made_for_as_few_are_misread(styled):
    """Rules that fit the replies beside them alone would be seen here."""
    n, misread, real, lost = reader.share([one for one in styled if one.row.held_out])

    assert misread <= MOST_HELD_OUT[0] * n
    assert lost <= MOST_HELD_OUT[1] * real


def test_the_page_shows_these_figures(found, styled):
    """`python -m benchmarks.reader --write docs/reference/reader.md` would not change them."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "reader.md"

    assert pages.block(page, "reader") == reader.tables(found)
    assert pages.block(page, "reader-styles").startswith(reader.tables(styled, reader.STYLE_HEADS))


def test_the_first_half_has_every_language_format_and_kind(found):
    """At least 1,600 replies, each of them once, with a label that its task can have."""
    rows = [one.row for one in found if one.row.half == "first"]

    assert len(rows) >= 1600
    assert {row.lang for row in rows} == LANGUAGES
    assert {row.format for row in rows} == {"brackets", "json", "tag", "regex", "last-line", "logprobs"}
    assert {row.task for row in rows} == {"pairwise", "score", "rubric", "rubric-all"}
    assert Counter(row.id for row in rows).most_common(1)[0][1] == 1
    assert len({(row.format, row.reply) for row in rows}) == len(rows)


def test_a_misread_and_a_lost_reply_are_counted():
    """The measure can fail: a label that is turned over is a misread reply, and one that is made up a lost one."""
    row = reader.Row("first", "en-1", "en", "brackets", "pairwise", None, "[[A]]", "B", "plain", True)
    none = reader.Row("first", "en-2", "en", "brackets", "pairwise", None, "Good.", "B", "plain", True)

    assert reader.share([reader.outcome(row), reader.outcome(none)]) == (2, 1, 2, 1)


def test_the_page_has_these_figures():
    """`python -m benchmarks.reader --write` was run after the last change of the reader."""
    page = reader.PAGE.read_text("utf-8")

    assert [name for name, text in reader.blocks().items() if text not in page] == []
