"""Equal opportunity and parity as tables: counts and bounds by hand, with Newcombe's and Wilson's formulas here."""

from math import sqrt
from random import Random

import numpy as np
import pytest
from scipy.stats import norm, t

from calm.core.case import Answer, Case
from calm.core.verdict import Preferred, Tie
from calm.experiment.crossing import Judgment
from calm.plugins.self_preference.pairs import AuthorPair
from calm.plugins.self_preference.parts import opportunity_parts
from calm.plugins.self_preference.report import Tables
from tests.papers.published import rows

FAMILIES = {"me": "M", "you": "Y", "she": "S", "kin": "M"}


def wilson(hits, n, z):
    """Return Wilson's bounds of a rate."""
    rate = hits / n
    middle = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


def newcombe(hits, n, others, m, z):
    """Return Newcombe's bounds of the difference of two rates."""
    p, q = hits / n, others / m
    (low, high), (below, above) = wilson(hits, n, z), wilson(others, m, z)
    return p - q - sqrt((p - low) ** 2 + (above - q) ** 2), p - q + sqrt((high - p) ** 2 + (q - below) ** 2)


def pair(item, gold, *, other="you", scores=None, **said):
    """Return a pair of an answer of `me`, with what each judge said of it in both orders."""
    return AuthorPair(str(item), other, gold, {judge: tuple(orders) for judge, orders in said.items()}, scores or {})


def parts(pairs, **options):
    """Return the rows of the two tables for `me`, and what the second one says is missing."""
    counts, figures = opportunity_parts({"me": pairs}, FAMILIES, Random(1), **options)
    return counts.rows, figures.rows, figures.reason


def test_the_published_counts_give_the_published_figures():
    """.945, .424, .520 and, as the counts are, .798: through the tables that users get, with the bounds written out."""
    [printed] = rows("opportunity_gpt4_confusion.csv")
    kinds = [
        (int(printed[f"human_{people}_judge_{judge}"]), gold, said)
        for people, gold in (("self", 1), ("other", -1))
        for judge, said in (("self", 1), ("other", -1))
    ]
    every = [(gold, said) for count, gold, said in kinds for _ in range(count)]

    [counts], [found], reason = parts([pair(i, gold, me=(said, said)) for i, (gold, said) in enumerate(every)])

    names = ("pairs", "self_as_self", "self_as_other", "other_as_other", "other_as_self", "self_as_none")
    assert tuple(counts[name] for name in names) == (2238, 1852, 108, 118, 160, 0)
    shown = {name: round(found[name], 3) for name in ("recall_self", "recall_other")}
    assert shown == {"recall_self": 0.945, "recall_other": 0.424}
    assert (found["n_self"], found["n_other"], found["n_parity"], found["interval"]) == (
        1960,
        278,
        2238,
        "Newcombe, Wilson",
    )
    assert (round(found["gap"]["value"], 3), round(found["parity"]["value"], 3), reason) == (0.520, 0.798, "")
    assert (found["parity_labelled"], found["n_parity_labelled"]) == (found["parity"], 2238)
    z = norm.ppf(0.95)
    assert (found["gap"]["low"], found["gap"]["high"]) == pytest.approx(newcombe(1852, 1960, 118, 278, z))
    low, high = wilson(2012, 2238, z)
    assert (found["parity"]["low"], found["parity"]["high"]) == pytest.approx((2 * low - 1, 2 * high - 1))


def test_every_pair_is_counted_once_whatever_was_said():
    """Ties of people, no label, splits, ties of the judge, and pairs that it did not judge; outsiders beside it."""
    every = [
        pair(1, 1, me=(1, 1), she=(1, 1)),
        pair(2, 1, me=(1, 1), she=(1, 1)),
        pair(3, 1, me=(-1, -1), she=(-1, -1)),
        pair(4, 1, me=(1, -1), she=(1, 1)),
        pair(5, -1, me=(1, 1), she=(-1, -1)),
        pair(6, -1, me=(-1, -1), she=(-1, -1)),
        pair(7, -1, me=(0, 0), she=(1, 1)),
        pair(8, 0, me=(1, 1), she=(0, 0)),
        pair(9, None, me=(1, 1), she=(-1, -1)),
        pair(10, 1, she=(1, 1)),
        pair(11, 1, me=(-1, -1), she=(-1, -1), kin=(1, 1), other="she"),
    ]

    [counts], [mine, theirs], _ = parts(every)

    assert counts == {
        "judge": "me",
        "by": "verdicts",
        "pairs": 11,
        "self_as_self": 2,
        "self_as_other": 2,
        "other_as_other": 1,
        "other_as_self": 1,
        "self_as_none": 1,
        "other_as_none": 1,
        "people_tied": 1,
        "no_label": 1,
        "not_judged": 1,
    }
    assert (mine["recall_self"], mine["n_self"], mine["recall_other"], mine["n_other"]) == (0.5, 4, 0.5, 2)
    assert (mine["gap"]["value"], mine["parity"]["value"], mine["n_parity"]) == (0, 2 * 5 / 8 - 1, 8)
    assert (mine["parity_labelled"]["value"], mine["n_parity_labelled"]) == (0, 6)
    # she: own answers and those of relatives are in none of her figures, nor is pair 10, which `me` did not judge
    assert (theirs["who"], theirs["judges"]) == ("outsiders", 1)
    assert (theirs["recall_self"], theirs["recall_other"]) == pytest.approx((3 / 4, 2 / 3))
    assert theirs["gap"] == pytest.approx(3 / 4 - 2 / 3)
    assert theirs["parity"] == pytest.approx((4 - 4) / 8)
    assert theirs["parity_labelled"] == pytest.approx((4 - 3) / 7)


def test_an_empty_class_has_no_gap_and_a_reason():
    """The other recall and the parity are still there."""
    [counts], [found], reason = parts([pair(i, 1, me=(1, 1) if i else (-1, -1)) for i in range(4)])

    assert (counts["self_as_self"], found["recall_self"], found["recall_other"], found["gap"]) == (3, 0.75, None, None)
    assert found["parity"]["value"] == 0.5
    assert reason.startswith("me: gap: expected pairs in which people preferred the other answer, got none")


def test_pairs_of_one_item_go_together():
    """Three equal pairs an item tell no more than one; the bounds are those of a ratio of sums over items."""
    rng = Random(3)
    gold, said = (np.array([1 if rng.random() < share else -1 for _ in range(120)]) for share in (0.5, 0.7))
    once = [pair(i, int(g), me=(int(s), int(s))) for i, (g, s) in enumerate(zip(gold, said, strict=True))]

    _, [found], reason = parts([one for one in once for _ in range(3)], draws=4000)

    assert (reason, found["interval"]) == ("", "items resampled")
    own = (said == 1).mean()
    error = {
        "parity": 2 * sqrt(own * (1 - own) / 119),
        "gap": sqrt(sum((said[gold == g] == g).var() / (gold == g).sum() for g in (1, -1))),
    }
    value = {"parity": 2 * own - 1, "gap": (said[gold == 1] == 1).mean() - (said[gold == -1] == -1).mean()}
    for name, width in error.items():
        assert found[name]["value"] == pytest.approx(value[name])
        half = t.ppf(0.95, 119) * width
        assert found[name]["value"] - found[name]["low"] == pytest.approx(half, rel=0.06)
        assert found[name]["high"] - found[name]["value"] == pytest.approx(half, rel=0.06)


def test_probabilities_have_a_row_of_their_own():
    """A split by verdict is decided by the mean score: .9 and .4 make .65 for the own answer, .45 the other wins."""
    answers = (Answer("a", "A", "me"), Answer("b", "B", "you"))
    judged = []
    for number, (first, second) in enumerate(((0.9, 0.4), (0.5, 0.4), (0.8, 0.8), (0.3, 0.2)), 1):
        for name, order, share in (("x", ("a", "b"), first), ("y", ("b", "a"), second)):
            case = Case(f"{number}{name}", f"q{number}", answers, better="a" if number < 3 else "b").arranged(order)
            shares = {"a": share * 0.9, "b": (1 - share) * 0.9, "tie": 0.1}
            won = Tie(shares) if share == 0.5 else Preferred("a" if share > 0.5 else "b", shares)
            judged.append(Judgment("me", case, won))
            judged.append(Judgment("she", case, Preferred("a")))

    found = Tables("pairwise", FAMILIES, pairs=tuple(judged)).figures(Random(1), draws=100)

    counts, figures = found.parts
    assert [(row["judge"], row["by"]) for row in counts.rows] == [("me", "verdicts"), ("me", "probabilities")]
    names = ("self_as_self", "self_as_other", "other_as_other", "other_as_self", "self_as_none", "other_as_none")
    assert [tuple(row[name] for name in names) for row in counts.rows] == [(0, 0, 1, 1, 2, 0), (1, 1, 1, 1, 0, 0)]
    assert [(row["by"], row["who"]) for row in figures.rows] == [
        ("verdicts", "judge"),
        ("verdicts", "outsiders"),
        ("probabilities", "judge"),
    ]
    assert figures.rows[2]["gap"]["value"] == 0
    assert figures.rows[1]["parity"] == 1
