"""
The Alternative Annotator Test: may a judge stand in for a person who labels?

Source: Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL 2025, pages
16051-16081, arXiv 2501.10970. The sections below are those of the ACL version.

What the paper says:

- S(f, i, j) compares the judge's label of item i with the labels of all people who labelled it but j. Accuracy is the
  share of them with an equal label; the other score is minus the root of the mean squared difference. S(h_j, i, j) is
  the same for the label of j (3.1).
- W^f = 1 if S(f) >= S(h_j), W^h = 1 if S(h_j) >= S(f): a tie counts for both. Their means over the items that j
  labelled are rho^f_j and rho^h_j (3.2).
- H0_j: rho^f_j <= rho^h_j - epsilon. With d_i = W^h_i - W^f_i, t = (mean d - epsilon) / (s / sqrt n), s with n - 1; the
  alternative is a mean below epsilon, so p is the lower tail. "When n < 30" a test without normality is to be used,
  "e.g., Wilcoxon signed-rank" (3.3; appendix A says the same of items per annotator).
- Benjamini and Yekutieli (2001) over the m p values: the largest i with p_(i) <= (i / m) q / (1 + 1/2 + ... + 1/m), and
  all up to it are rejected (3.3; C.6, algorithm 1). The winning rate is the share of the m that are rejected; the judge
  may replace people from 0.5 (3.3). The average advantage probability is the mean of rho^f_j (3.4).

What it leaves open, and what is done here:

1. How many others. The scores divide by the number of annotators of the item less one (3.1), so one other is enough
   and without one there is no score. Appendix A calls two annotators possible but less reliable and advises three; the
   data sets of appendix E keep items with at least two, three or five labels. Here: at least one other. An item that
   only j labelled does not count in n.
2. The n of the t test. The formula sums from 1 to n, the number of all items; the means of 3.2 are over the items of
   j. Here n is the number of items that count for j.
3. No spread (all d equal). The formula divides by zero. Here p is its limit: 0 if d < epsilon, 1 if d > epsilon. If
   d = epsilon (epsilon = 0 and nothing but ties) it is 0/0, but the null hypothesis holds with equality: p is 1. A p of
   0 is what the formula gives, not what n items can show: with nothing but ties, (1 - epsilon)^n is the least p that
   holds for every distribution under H0.
4. Which Wilcoxon test. Here: signed ranks of d - epsilon, one-sided (less), differences of zero left out, mid-ranks for
   ties, the exact distribution given the ranks. A normal approximation would be poor: d - epsilon has three values.
   The test assumes that d is symmetric about epsilon. With the values -1, 0 and 1 it cannot be, for an epsilon
   between 0 and 1 other than one half, so that the level does not hold for H0_j: ties count as small wins of the
   judge.
5. Ties of the score. Comparing rounded roots loses ties: 0.3 - 0.1 is not 0.5 - 0.3 in floats. Here numbers are taken
   as the decimals that they are written as and compared as fractions. Root and divisor are the same on both sides and
   change no order.
6. An item without a label of the judge. The paper has none. Here it is left out for everyone.
7. A person with no item that counts has no rho. Here this is a ValueError, and so are fewer than two people.
8. Where 3.3 says p < alpha for one hypothesis, algorithm 1 decides with <=. Here: algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

Label: TypeAlias = Any
Score: TypeAlias = Literal["accuracy", "rmse"]


@dataclass(frozen=True)
class Annotator:
    """The judge against one person: `n` items that count, the two advantage probabilities (0 to 1), and the test."""

    n: int
    advantage: float
    """rho^f_j: the share of items where the judge is as near to the others as this person, or nearer."""
    advantage_human: float
    """rho^h_j: the share of items where this person is as near to the others as the judge, or nearer."""
    p_value: float
    """One-sided, of rho^f_j <= rho^h_j - epsilon, before the correction."""
    rejected: bool
    """After the correction for all people."""


@dataclass(frozen=True)
class Result:
    """What the test says; `annotators` in the order of `people`."""

    annotators: tuple[Annotator, ...]
    winning_rate: float
    """The share of people whose hypothesis is rejected, 0 to 1."""
    average_advantage: float
    """The mean of `advantage` over people, 0 to 1."""
    passes: bool
    """Whether the winning rate is at least one half."""


def alternative_test(
    judge: Sequence[Label | None],
    people: Sequence[Sequence[Label | None]],
    *,
    epsilon: float = 0.2,
    level: float = 0.05,
    score: Score = "accuracy",
    least: int = 30,
) -> Result:
    """
    Test whether `judge` may replace `people`, one row of labels a person, in the order of the items; None is no label.

    `epsilon` is what a person's cost is worth, as a difference of probabilities; `level` is the false discovery rate.
    `score` is "accuracy" for labels that are equal or not, "rmse" for numbers. A person with fewer than `least` items
    that count is tested by signed ranks instead of Student's t.

    Raises ValueError with fewer than two people, with rows of unequal length, with a person who shares no item with
    another person and the judge, and, for "rmse", with a label that is no finite number.
    """
    if len(people) < 2:
        raise ValueError("the test needs two people or more")
    if any(len(row) != len(judge) for row in people):
        raise ValueError("each row must have one entry for each item")
    found = [_differences(judge, people, j, score) for j in range(len(people))]
    if empty := [j for j, (judge_wins, _) in enumerate(found) if not judge_wins]:
        raise ValueError(f"no item that counts for the people in rows {empty}")

    p_values = []
    for judge_wins, human_wins in found:
        d = [h - f for h, f in zip(human_wins, judge_wins, strict=True)]
        p_values.append(t_test(d, epsilon) if len(d) >= max(least, 2) else signed_rank_test(d, epsilon))
    rejected = benjamini_yekutieli(p_values, level)
    annotators = tuple(
        Annotator(len(f), sum(f) / len(f), sum(h) / len(h), p, reject)
        for (f, h), p, reject in zip(found, p_values, rejected, strict=True)
    )
    m = len(annotators)
    return Result(
        annotators,
        winning_rate=sum(rejected) / m,
        average_advantage=sum(a.advantage for a in annotators) / m,
        passes=2 * sum(rejected) >= m,
    )


def _differences(
    judge: Sequence[Label | None], people: Sequence[Sequence[Label | None]], j: int, score: Score
) -> tuple[list[int], list[int]]:
    """Return W^f and W^h for each item that counts for person j."""
    judge_wins, human_wins = [], []
    for i, by_judge in enumerate(judge):
        by_human = people[j][i]
        others = [row[i] for k, row in enumerate(people) if k != j and row[i] is not None]
        if by_judge is None or by_human is None or not others:
            continue
        of_judge, of_human = (_alignment(label, others, score) for label in (by_judge, by_human))
        judge_wins.append(int(of_judge >= of_human))
        human_wins.append(int(of_human >= of_judge))
    return judge_wins, human_wins


def _alignment(label: Label, others: Sequence[Label], score: Score) -> Fraction:
    """Return a number that orders two labels of one item as S does, without rounding."""
    if score == "accuracy":
        return Fraction(sum(label == other for other in others))
    if score == "rmse":
        return -sum(((Fraction(str(label)) - Fraction(str(other))) ** 2 for other in others), Fraction(0))
    raise ValueError(f"score is {score!r}, not 'accuracy' or 'rmse'")


def t_test(d: Sequence[int], epsilon: float) -> float:
    """Return the lower tail of Student's t for the mean of `d` against `epsilon`, or its limit without any spread."""
    n = len(d)
    if len(set(d)) == 1:
        return 0.0 if d[0] < epsilon else 1.0
    mean = sum(d) / n
    s = math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1))
    return float(student.cdf((mean - epsilon) / (s / math.sqrt(n)), n - 1))


def signed_rank_test(d: Sequence[int], epsilon: float) -> float:
    """Return the exact probability that the ranks of positive `d` - `epsilon` sum to no more than they do."""
    shifted = [x - epsilon for x in d if x != epsilon]
    if not shifted:
        return 1.0
    doubled = [round(2 * rank) for rank in rankdata(np.abs(shifted))]
    # ways[w] counts the choices of signs whose positive ranks sum to w / 2; Python's integers do not overflow
    ways = [1] + [0] * sum(doubled)
    for rank in doubled:
        ways = [kept + (ways[w - rank] if w >= rank else 0) for w, kept in enumerate(ways)]
    seen = sum(rank for rank, x in zip(doubled, shifted, strict=True) if x > 0)
    return float(Fraction(sum(ways[: seen + 1]), 2 ** len(doubled)))


def benjamini_yekutieli(p_values: Sequence[float], level: float) -> list[bool]:
    """Return which hypotheses are rejected at the false discovery rate `level`, however the p values depend."""
    m = len(p_values)
    harmonic = sum(1 / i for i in range(1, m + 1))
    order = sorted(range(m), key=p_values.__getitem__)
    last = max((i for i, k in enumerate(order, 1) if p_values[k] <= i / m * level / harmonic), default=0)
    return [k in order[:last] for k in range(m)]
