"""Rankings of authors against a likelihood maximised here, fixed points and agreement by hand, and by the command."""

import json
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from math import sqrt
from random import Random

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import t

from calm.cases.lines import line
from calm.commands import cli
from calm.core.case import Answer, Case
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.overestimation import Evidence, Reading
from calm.plugins.self_preference.parts import judge_pairs, ranking
from calm.plugins.self_preference.recorded import rubric_table
from calm.results.parts import words_of
from calm.results.sentences import capital

NAMES = ("a", "b", "c", "d")


def evidence(judges, values, authors=NAMES):
    """Return evidence from the signs of the first of each pair: {(judge, a, b): [sign by item]}."""
    items = max(map(len, values.values()))
    signs = np.full((len(judges), len(authors), len(authors), items), 2, dtype=np.int8)
    for (judge, one, other), given in values.items():
        row, a, b = judges.index(judge), authors.index(one), authors.index(other)
        signs[row, a, b, : len(given)] = given
        signs[row, b, a, : len(given)] = [-sign for sign in given]
    families = {name: name for name in (*judges, *authors)}
    return Evidence(Grid(tuple(judges), tuple(authors), families), Reading(signs), None)


def tables(found, foreign=None):
    """Return the two tables by name; means are not looked at unless given."""
    shape = len(found.grid.judges), len(found.grid.generators)
    means = np.full(shape, np.nan) if foreign is None else np.array(foreign, float)
    return {part.name: part for part in ranking(found, means, means)}


def test_strengths_maximise_the_likelihood_without_own_answers():
    """The likelihood and its sandwich, written out over single comparisons; verdicts on own answers do not count."""
    rng = Random(5)
    pairs = [(x, y) for i, x in enumerate(NAMES) for y in NAMES[i + 1 :]]
    said = {(j, *pair): [rng.choice([1, 1, 0, -1, -1]) for _ in range(12)] for j, pair in product(("a", "x"), pairs)}
    rows = {row["author"]: row["strength"] for row in tables(evidence(("a", "x"), said))["ranking"].rows}

    counted = [
        (NAMES.index(one), NAMES.index(other), item, (sign + 1) / 2)
        for (judge, one, other), signs in said.items()
        if judge not in (one, other)
        for item, sign in enumerate(signs)
    ]

    def loss(free):
        s = np.append(free, -free.sum())
        return -sum(
            w * -np.log1p(np.exp(s[b] - s[a])) + (1 - w) * -np.log1p(np.exp(s[a] - s[b])) for a, b, _, w in counted
        )

    fit = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    best = np.append(fit.x, -fit.x.sum())
    information, by_item = np.zeros((4, 4)), np.zeros((4, 12))
    for a, b, item, w in counted:
        p, apart = 1 / (1 + np.exp(best[b] - best[a])), np.eye(4)[a] - np.eye(4)[b]
        information += p * (1 - p) * np.outer(apart, apart)
        by_item[:, item] += (w - p) * apart
    bread = np.linalg.pinv(information)
    errors = np.sqrt(np.diag(bread @ by_item @ by_item.T @ bread) * 12 / 11)
    assert [rows[name]["value"] for name in NAMES] == pytest.approx(list(best), abs=1e-5)
    assert [rows[n]["high"] - rows[n]["value"] for n in NAMES] == pytest.approx(
        list(t.ppf(0.95, 11) * errors), rel=1e-4
    )


def test_peer_rank_is_the_fixed_point_written_out():
    """Rates by reviewer; each weight is the win rate under the weights; an author that is no judge has a rank alone."""
    said = {
        ("a", "b", "c"): [1, 1, 1, -1],
        ("a", "b", "d"): [1, 0, 0, 1],
        ("a", "c", "d"): [1, -1, 1, 1],
        ("b", "a", "c"): [1, 1, -1, 1],
        ("b", "a", "d"): [1, 1, 1, 1],
        ("c", "a", "b"): [1, -1, 1, 1],
        ("c", "b", "d"): [1, 1, 0, -1],
        ("c", "c", "d"): [1, 1, 1, 1],
    }
    part = tables(evidence(("a", "b", "c"), said))["ranking"]
    rows = {row["author"]: row for row in part.rows}

    w = np.array([rows[name]["weight"] for name in "abc"])
    # by b and c; by a and c; by a and b. Each reviewer's rate is over all comparisons that it saw of the author
    of_a = (w[1] * 7 / 8 + w[2] * 3 / 4) / (w[1] + w[2])
    of_b = (w[0] * (3 + 3) / 8 + w[2] * (1 + 2.5) / 8) / (w[0] + w[2])
    of_c = (w[0] * (1 + 3) / 8 + w[1] * 1 / 4) / (w[0] + w[1])
    of_d = (w[0] * (1 + 1) / 8 + w[1] * 0 + w[2] * 1.5 / 4) / 1
    assert w == pytest.approx(np.array([of_a, of_b, of_c]) / (of_a + of_b + of_c), abs=1e-8)
    assert rows["d"]["weight"] is None
    assert [rows[n]["peer_rate"] for n in NAMES] == pytest.approx([of_a, of_b, of_c, of_d], abs=1e-7)
    assert [rows[n]["rank_peer_rate"] for n in NAMES] == [1, 2, 3, 4]


def test_circles_in_questions_and_of_authors():
    """One circle of two triples in questions; by majority a beats b, b ties c, so no triple is strict."""
    said = {("x", "a", "b"): [1, 1], ("x", "b", "c"): [1, -1], ("x", "a", "c"): [-1, 1]}
    [row] = tables(evidence(("x",), said, NAMES[:3]))["transitivity"].rows

    assert (row["authors"], row["circular_in_items"], row["n_in_items"]) == (3, 0.5, 2)
    assert (row["circular_of_authors"], row["n_of_authors"], row["zeta"]) == (None, 0, None)


def test_pairs_of_judges_by_hand():
    """Kappa (.75 - .5) / (1 - .5); scores 1 2 3 against 2 2 5: r and ICC from the sums of squares."""
    [kappas] = judge_pairs([["m", "m"], ["n", "n"], ["m", "n"], ["n", "n"], [None, "n"]], ("x", "y"))
    [scores] = judge_pairs([[1.0, 2.0], [2.0, 2.0], [3.0, 5.0]], ("x", "y"), numeric=True)

    assert dict(kappas.rows[0]) == {"judge": "x", "other_judge": "y", "n": 4, "raw": 0.75, "kappa": 0.5}
    # items 1.5 2 4, judges 2 3, all 2.5: between items 3.5, between judges 1.5, within 1.5 - that leaves .5 a degree
    assert scores.rows[0]["icc"] == pytest.approx((3.5 - 0.5) / (3.5 + 0.5 + 2 * (1.5 - 0.5) / 3))
    assert scores.rows[0]["r"] == pytest.approx(3 / sqrt(2 * 6))


def test_the_pairs_of_judges_that_agree_least_come_first():
    """Seven judges have 21 pairs, the lowest kappa first."""
    rng = Random(2)
    ratings = [[rng.choice("mn") for _ in range(7)] for _ in range(30)]
    [part] = judge_pairs(ratings, "abcdefg")

    kappas = [row["kappa"] for row in part.rows]
    assert len(kappas) == 21
    assert kappas == sorted(kappas)


def test_no_strength_and_no_weight_are_explained():
    """Who always wins has no finite strength; two judges that are the only authors compare no answers of others."""
    said = {("x", "a", "b"): [1, 1]}
    alone = tables(evidence(("x",), said, NAMES[:2]))["ranking"]
    two = tables(evidence(("a", "b"), {("a", "a", "b"): [1], ("b", "a", "b"): [-1]}, NAMES[:2]))["ranking"]

    assert alone.rows[0]["strength"] is None
    assert "strengths are infinite" in alone.reason
    assert "got 0" in alone.reason
    assert "compared two answers of others, got none" in two.reason
    assert [row["weight_with_own"] for row in two.rows] == [0.5, 0.5]


def command(folder, *arguments, expected=0):
    """Run `calm self-preference`; return the parts of its record by name, what it said, and its page."""
    told, out = StringIO(), folder / "record.json"
    with redirect_stdout(told):
        status = cli.main(["self-preference", *map(str, arguments), "-o", str(out), "--report", f"{out}.html"])
    assert status == expected
    parts = {part["name"]: part for part in json.loads(out.read_text("utf-8"))["parts"]}
    return parts, told.getvalue(), (folder / "record.json.html").read_text("utf-8")


def test_recorded_judges_rank_the_authors_by_command(tmp_path):
    """Scores: five authors and ten pairs of judges; criteria: 66 pairs, GPT-5 the first, as the terminal says."""
    headlines, _, _ = command(tmp_path, "recorded:headlines/deepseek-chat")
    parts, told, page = command(tmp_path, "recorded:ifeval/GPT-5")

    assert [len(headlines[name]["rows"]) for name in ("ranking", "transitivity", "judge_pairs")] == [5, 5, 10]
    rows = {row["author"]: row for row in parts["ranking"]["rows"]}
    assert {value for name, value in rows["GPT-5"].items() if name.startswith("rank_")} == {1}
    assert sum(row["weight"] for row in rows.values()) == pytest.approx(1)
    assert len(parts["judge_pairs"]["rows"]) == 66
    assert "Best authors: GPT-5," in " ".join(told.split())
    assert all(capital(words_of(name).title) in page for name in ("ranking", "judge_pairs"))
    table = rubric_table()
    one, other = (table.verdicts[table.grid.row(name)].ravel() for name in ("Gemma-4B", "Claude-Haiku"))
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    [least] = [
        row for row in parts["judge_pairs"]["rows"] if row["judge"] + row["other_judge"] == "Gemma-4BClaude-Haiku"
    ]
    assert least["kappa"] == pytest.approx(((one == other).mean() - chance) / (1 - chance))


JUDGE = """
def judge(case):
    return min(case.answers, key=lambda answer: {order}.index(answer.text[0])).id

judge.reads = ("answers",)
judge.fingerprint = judge.name = "{name}"
judge.quick = True
"""


def test_judges_of_pairs_rank_the_authors_by_command(tmp_path, monkeypatch):
    """Two Python judges on three authors: one always ranks a, b, c; the other the other way round, so kappa is -1."""
    cases = [
        Case(
            f"{q}-{x}{y}",
            f"Question {q}?",
            (Answer(x, f"{x} says {q}", author=x), Answer(y, f"{y} says {q}", author=y)),
        )
        for q in range(4)
        for x, y in ("ab", "bc", "ac")
    ]
    (tmp_path / "cases.jsonl").write_text("".join(line(case) + "\n" for case in cases), "utf-8")
    for name, order in (("ranks_up", "abc"), ("ranks_down", "cba")):
        (tmp_path / f"{name}.py").write_text(JUDGE.format(order=repr(order), name=name), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    judges = [f"{name}:judge" for name in ("ranks_up", "ranks_down")]
    families = [f"--family={name}={name}" for name in ("a", "b", "c", "ranks_up", "ranks_down")]
    given = (*judges, f"--cases={tmp_path / 'cases.jsonl'}", *families)
    parts, _, _ = command(tmp_path, *given, expected=1)  # they wrote nothing, so no judge has a corrected figure

    rows = parts["ranking"]["rows"]
    assert [(row["author"], row["mean"], row["strength"]["value"], row["weight"]) for row in rows] == [
        (name, 0.5, 0.0, None) for name in "abc"
    ]
    assert [(row["n_in_items"], row["circular_in_items"]) for row in parts["transitivity"]["rows"]] == [(4, 0.0)] * 2
    [pair] = parts["judge_pairs"]["rows"]
    assert (pair["n"], pair["raw"], pair["kappa"]) == (24, 0.0, pytest.approx(-1))
