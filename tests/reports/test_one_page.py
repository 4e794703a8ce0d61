"""One page for managers and papers: its figures by hand, and what a run lacks is named with its reason."""

from dataclasses import replace
from math import isclose

import pytest

from calm.commands.cli import main
from calm.core.reasons import Kind
from calm.core.verdict import Preferred, Scale, Score, Tie, Unreadable
from calm.results.audit import write
from calm.results.reports import one_page
from calm.results.reports.one_page import markdown, render, sheet_of
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import sample
from tests.reports.saved_run import row, saved

A, B = Preferred("a"), Preferred("b")
FIFTY = [("a", A)] * 20 + [("a", B)] * 5 + [("b", A)] * 10 + [("b", B)] * 15
"""Cohen's own kind of table: 35 of 50 agree, chance is 1/2, so that kappa is (.7 - .5) / (1 - .5) = .4."""


def figure(sheet, name):
    """Return a figure of the page."""
    return next(one for one in (*sheet.agreement, *sheet.stability, *sheet.replies) if one.name == name)


def value(sheet, name):
    """Return what was measured."""
    return figure(sheet, name).estimate.value


def item(sheet, name):
    """Return an item of the protocol."""
    return next(one for one in sheet.items if one.name == name)


def test_kappa_and_exact_match_of_a_table_by_hand():
    """The first ask of each case counts, as the protocol has it; kappa is 30 points lower than exact match."""
    sheet = sheet_of(saved([row(f"c{i}", [said, A], better=gold) for i, (gold, said) in enumerate(FIFTY)]))

    assert isclose(value(sheet, "Cohen's kappa"), 0.4, abs_tol=1e-9)
    assert isclose(value(sheet, "Exact match"), 0.7, abs_tol=1e-9)
    kappa = figure(sheet, "Cohen's kappa").estimate
    deviation = (0.7 * 0.3 / 50) ** 0.5 / 0.5  # Cohen's own large-sample one
    assert abs((kappa.high - kappa.low) / (2 * 1.96 * deviation) - 1) < 0.15
    assert item(sheet, "Correct for chance").state == "met"


def test_noise_and_position_are_told_apart_by_hand():
    """Of 40 cases, 4 change when asked again, and 10 more go by the place: the first one wins in both orders."""
    still = [row(f"s{i}", [A, A], swapped=[A, A]) for i in range(13)]
    other = [row(f"o{i}", [B, B], swapped=[B, B]) for i in range(13)]
    noisy = [row(f"n{i}", [A, B], swapped=[A if i % 2 else B]) for i in range(4)]
    placed = [row(f"p{i}", [A, A], swapped=[B, B]) for i in range(10)]
    rows = [*still, *other, *noisy, *placed]
    sheet = sheet_of(saved([], swapped=rows))

    assert isclose(value(sheet, "Asked again: same verdict"), 36 / 40)
    assert isclose(value(sheet, "Order swapped: same verdict"), (26 + 4 / 2) / 40)
    assert isclose(value(sheet, "Share won by the first place, less 1/2"), 10 / 40 / 2)
    # same when asked again less same when swapped: placed cases 1 each, noisy ones 0 - 1/2 each
    assert isclose(value(sheet, "Changed by the order beyond noise"), (10 - 4 / 2) / 40)
    # asked again: first ask a, a x 27, b x 13; second 4 of the first turn: p_o = .9, p_e = .675 .575 + .325 .425
    chance = 27 / 40 * 23 / 40 + 13 / 40 * 17 / 40
    assert isclose(value(sheet, "Asked again: kappa"), (0.9 - chance) / (1 - chance))
    assert item(sheet, "Stable is not fair").state == "does not apply"


@pytest.mark.parametrize(("placed", "state"), [(40, "failed"), (0, "met"), (8, "not decided")])
def test_a_stable_judge_that_goes_by_the_place_fails_the_audit(placed, state):
    """It repeats itself always; of 40 cases so many go by the place, half of that is its position bias."""
    rows = [row(f"p{i}", [A] * 3, swapped=[B] * 2) for i in range(placed)]
    rows += [row(f"s{i}", [A] * 3, swapped=[A] * 2) for i in range(40 - placed)]
    sheet = sheet_of(saved([], swapped=rows, parameters={"temperature": 0}))

    assert item(sheet, "Stable is not fair").state == state
    assert figure(sheet, "Asked again: kappa").reason.kind is Kind.ONE_WORD  # it always takes the same answer
    assert item(sheet, "Ask again").state == "met"


def test_the_order_is_held_against_repeats_and_not_against_neutral_words():
    """Of a judge whom neutral words move as much as the order does, that is its rewording; its noise is 0.

    Only the first swapped ask is the case in the other order, and nothing else.
    """
    whole = saved([], swapped=[row(f"p{i}", [A, A], swapped=[B, A]) for i in range(20)])
    moved = replace(whole.findings[1], trials=tuple(replace(one, inert=("b", "b")) for one in whole.findings[1].trials))

    assert value(sheet_of(replace(whole, findings=(moved,))), "Changed by the order beyond noise") == 1


def test_what_a_run_lacks_is_named_with_its_reason():
    """No gold, one ask of each case, one answer at a time."""
    pairs = sheet_of(saved([row(f"c{i}", [A]) for i in range(20)]))
    scores = sheet_of(saved([row(f"c{i}", [Score(3.0)], order=("a",)) for i in range(20)], task="score"))

    assert figure(pairs, "Cohen's kappa").reason.has(Kind.NO_GOLD)
    assert figure(pairs, "Asked again: same verdict").reason.kind is Kind.ASKED_ONCE
    assert item(pairs, "Ask again").state == item(pairs, "Swap positions").state == "not measured"
    assert figure(scores, "Order swapped: kappa").reason.kind is Kind.ONE_SHOWN
    assert item(scores, "Swap positions").state == item(scores, "Stable is not fair").state == "does not apply"
    assert all("not measured" in page for page in (render(scores), markdown(scores)))
    assert [one for one in scores.missing if "Cohen's kappa" in one and "no gold label" in one]


def test_scores_and_labels_have_kappa_too():
    """Scores one point off half of the time: plain kappa counts them as wrong, the weighted one hardly."""
    scale = Scale(1, 5, 1)
    gold = [1 + i % 5 for i in range(50)]
    told = [g if i < 25 else g - 1 if g > 1 else g + 1 for i, g in enumerate(gold)]
    rows = [
        row(f"c{i}", [Score(t)] * 2, worth={"a": g}, order=("a",))
        for i, (g, t) in enumerate(zip(gold, told, strict=True))
    ]
    sheet = sheet_of(saved(rows, task="score", scale=scale))
    chance = sum(gold.count(s) * told.count(s) for s in range(1, 6)) / 2500
    apart = sum((g - t) ** 2 for g, t in zip(gold, told, strict=True)) / 50
    across = sum((g - t) ** 2 for g in gold for t in told) / 2500

    assert isclose(value(sheet, "Cohen's kappa"), (0.5 - chance) / (1 - chance))
    assert isclose(value(sheet, "Kappa, weighted"), 1 - apart / across)
    assert value(sheet, "Exact match") == 0.5


def test_ties_and_unreadable_replies_count():
    """A tie in the gold is a label; a reply that cannot be read agrees with nothing."""
    rows = [row(f"c{i}", [Tie()], better="tie") for i in range(10)]
    rows += [row(f"d{i}", [A], better="a") for i in range(20)] + [
        row(f"e{i}", [Unreadable("?")], better="b") for i in range(10)
    ]
    sheet = sheet_of(saved(rows))

    assert value(sheet, "Readable replies") == 0.75
    assert value(sheet, "Exact match") == 0.75
    assert isclose(value(sheet, one_page.WITHOUT_TIES), 2 / 3)
    assert (value(sheet, "Ties"), value(sheet, "Ties in the gold")) == (0.25, 0.25)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_acts_on_the_page(text):
    """Neither as HTML nor as Markdown, whatever it says."""
    sheet = sheet_of(hostile_audit(text))

    assert "<script>alert" not in render(sheet)
    assert "<img" not in markdown(sheet)
    assert "](" not in markdown(sheet)


def test_the_command_writes_both_forms_and_replaces_only_its_own(tmp_path, capsys):
    """The ending chooses; a stranger's file stays."""
    write(saved([row(f"c{i}", [A, A], better="a" if i % 2 else "b") for i in range(20)]), tmp_path / "results.json")
    page, paper, mine = (tmp_path / name for name in ("page.html", "paper.md", "mine.md"))
    mine.write_text("# My notes\n")
    asked = ["report", str(tmp_path / "results.json"), "--format", "one-page", "-o"]

    assert [main([*asked, str(place)]) for place in (page, paper, page, paper)] == [0] * 4
    assert main([*asked, str(mine)]) == 4
    assert mine.read_text() == "# My notes\n"
    assert all("2606.19544" in place.read_text() for place in (page, paper))


def test_biases_come_with_their_verdicts_the_worst_first():
    """What failed, what is open, what was accepted, what passed."""
    told = [one.verdict for one in sheet_of(sample()).biases]

    assert told[0] == "beyond the limit"
    assert told[-1] == "within the limit"
    assert told.index("within the limit") > max(i for i, one in enumerate(told) if one != "within the limit")
