""" "Investigating Bias in LLM Self-Evaluation" (ELTE, 2025): Table 1, all 150 cells, from the raw scores."""

import json
import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from scipy.stats import nct, t

from benchmarks.paper_lines import thesis_cells
from calm.commands import cli
from calm.core.case import Framing
from calm.plugins.self_preference import recorded, scores
from tests.papers.published import rows

FRAMINGS = {"pos": Framing.STANDARD, "neg": Framing.NEGATIVE}
TABLE = rows("thesis_table1.csv")


def test_every_cell_of_table_1_is_reproduced(subtests):
    """N, S, R, G, both t, both p and both intervals, to the digits that are printed: 15 cells in each of 10 rows."""
    for row in TABLE:
        with subtests.test(row=row):
            found = scores.self_evaluation(recorded.score_table(FRAMINGS[row["variant"]]), row["judge"])

            printed = thesis_cells(found)

            assert len(printed) == 15
            assert printed == {name: row[name] for name in printed}


def test_the_plus_minus_is_a_standard_deviation():
    """The thesis calls it a standard error; for the first row that would be 0.029 instead of the 0.29 it prints."""
    own = scores.self_evaluation(recorded.score_table(), "claude-3-7-sonnet-20250219").own

    assert f"{own.sd:.2f}" == "0.29"
    assert f"{own.sd / own.n**0.5:.3f}" == "0.029"


def test_texts_by_people_are_in_no_mean():
    """A generator that is no judge changes nothing, although its scores are in the raw data."""
    judge = "claude-3-7-sonnet-20250219"

    with_people = scores.self_evaluation(recorded.score_table(people=True), judge)

    assert with_people == scores.self_evaluation(recorded.score_table(), judge)


def test_with_texts_by_people_the_given_scores_would_be_others():
    """Counting people as a peer moves G of the first row from 3.88 to 3.71, so the exclusion matters."""
    table = recorded.score_table(people=True)
    row, own = table.grid.row("claude-3-7-sonnet-20250219"), table.grid.own("claude-3-7-sonnet-20250219")

    given = np.nanmean(np.delete(table.scores[row], own, axis=0), axis=0).mean()

    assert f"{given:.2f}" == "3.71"


def test_the_remark_on_power_holds():
    """A one-sample t test of 100 items has power .80 at an effect of about 0.28 standard deviations."""
    cut = t.ppf(0.975, 99)
    power = nct.sf(cut, 99, 0.283 * 10) + nct.cdf(-cut, 99, 0.283 * 10)

    assert power == pytest.approx(0.80, abs=0.002)


def test_the_excess_says_which_judges_over_rate_themselves(subtests):
    """Of what S - R and S - G say, the double-centred excess keeps what is neither leniency nor worth of the texts."""
    for framing in FRAMINGS.values():
        with subtests.test(framing=framing):
            table = recorded.score_table(framing)

            found = {judge: scores.score_excess(table, judge, Random(1)) for judge in table.grid.judges}

            accused = [judge.split("-")[0] for judge, estimate in found.items() if estimate.low > 0]
            assert (
                accused
                == {Framing.STANDARD: ["gemini", "sonar"], Framing.NEGATIVE: ["gemini", "gpt", "sonar"]}[framing]
            )


def test_the_excess_is_double_centred_where_nothing_is_missing():
    """With a family each and no gap it equals (S_mm - S_m.) - (S_.m - S_..), self cells out of every mean."""
    table = recorded.score_table()
    complete = ~np.isnan(table.scores).any(axis=(0, 1))
    table = replace(table, items=tuple(np.array(table.items)[complete]), scores=table.scores[:, :, complete])
    means, m = table.scores.mean(axis=2), 0
    off = ~np.eye(5, dtype=bool)
    rest = np.delete(np.delete(means, m, 0), m, 1)[~np.eye(4, dtype=bool)].mean()
    by_hand = (means[m, m] - means[m, off[m]].mean()) - (means[off[:, m], m].mean() - rest)

    found = scores.score_excess(table, table.grid.judges[m], Random(1))

    assert found.value == pytest.approx(by_hand, abs=1e-12)


def test_the_command_prints_table_1(tmp_path):
    """All 150 cells from the record that `calm self-preference recorded:headlines/...` writes, a row of its page."""
    out = tmp_path / "headlines.json"

    given = ["-o", str(out), "--report", str(tmp_path / "page.html")]
    assert cli.main(["self-preference", "recorded:headlines/gpt-4.1-2025-04-14", *given]) == 0

    parts = {part["name"]: part["rows"] for part in json.loads(out.read_text("utf-8"))["parts"]}
    names = {"pos": "standard", "neg": "negative"}
    means = {(row["judge"], row["framing"]): row for row in parts["self_evaluation"]}
    tests = {(row["judge"], row["framing"], row["figure"]): row for row in parts["self_evaluation_tests"]}
    cells = 0
    for row in TABLE:
        key = row["judge"], names[row["variant"]]
        found = {"n": str(means[key]["n"])}
        for letter, name in (("s", "own"), ("r", "received"), ("g", "given")):
            found |= {f"{letter}_mean": f"{means[key][name]:.2f}", f"{letter}_pm": f"{means[key][f'{name}_sd']:.2f}"}
            if letter != "s":
                test = tests[(*key, f"own minus {name}")]
                found |= {f"t_{letter}": f"{test['t']:.2f}"}
                found |= {f"p_{letter}_pct": "<0.1" if test["p"] < 0.001 else f"{100 * test['p']:.1f}"}
                found |= {f"ci_{letter}_{end}": f"{test['difference'][end]:.2f}" for end in ("low", "high")}
        assert found == {name: row[name] for name in found}
        cells += len(found)
    assert cells == 150
    shown = " ".join(re.findall("<bdi>([^<]*)</bdi>", (tmp_path / "page.html").read_text("utf-8")))
    assert "claude-3-7-sonnet-20250219 negative 100 3.90 0.36 4.19 0.48 3.71 0.37" in shown
