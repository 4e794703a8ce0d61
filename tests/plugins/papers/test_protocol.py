"""CALM's own protocol, as it ships: asked if it is named, 2+1 asks, and the figures of each bias."""

import json
from collections import defaultdict
from math import sqrt
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.calm_protocol import ROWS, Run
from calm.perturbations.compassion_fade import STRONG, WEAK
from calm.perturbations.diversity import GROUPS
from tests.reports.tags import Tables
from tests.suites.gate import WHOLE, run_gate

BIASES = {
    "authority",
    "bandwagon",
    "chain-of-thought",
    "compassion-fade",
    "distraction",
    "diversity",
    "fallacy-oversight",
    "position",
    "refinement-aware",
    "sentiment",
    "verbosity",
}
NINE = BIASES - {"chain-of-thought", "refinement-aware"}
JUDGE = "planted:authority=0.4,noise=0.02"
SAMPLE = 200
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "calm-protocol.md"
PAPERS = ("--pyargs", "calm.suites.papers")
FIRST = "11 of 12 biases measured, not: self-enhancement (the cases name no authors"


@pytest.fixture(scope="module")
def paired(tmp_path_factory):
    """Run the protocol on a judge of pairs with a planted bias; its page is beside its results."""
    folder = tmp_path_factory.mktemp("paired")
    return folder, run_gate(JUDGE, folder, f"--calm-sample={SAMPLE}", "--calm-report=page.html", what=PAPERS)


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Run the part about refinement on a judge of scores that likes what was refined."""
    folder = tmp_path_factory.mktemp("scored")
    judge = "planted:task=score,refinement-aware=0.3,noise=0.05"
    return folder, run_gate(judge, folder, "--calm-sample=20", "-k", "refined or authority", what=PAPERS)


def trials(gate):
    """Return the rows of each robustness rate by bias, a list for each side."""
    found = defaultdict(list)
    for one in gate.results["findings"]:
        if one["measure"] == "robustness_rate" and one["trials"]:
            found[one["bias"]].append(one["trials"])
    return found


def equal(row):
    """Return the share of clean verdicts that equal the perturbed one, of a row with 2+1 asks."""
    return fmean(said == row["perturbed"][0] for said in row["clean"])


def right(row, arm):
    """Return the share of verdicts of an arm for the better answer."""
    return fmean(said == row["better"] for said in row[arm])


def wilson(p, n, z=1.959963984540054):
    """Return Wilson's 95% interval of a rate."""
    centre, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def test_each_bias_has_its_two_rates_and_the_planted_one_stands_out(paired):
    """RR falls by the dose where the bias is, and nowhere else; CR is that of the same cases; nothing is claimed."""
    found = {f["bias"]: f for f in paired[1].results["findings"] if f["measure"] == "robustness_rate"}

    assert set(found) == BIASES
    assert {f["asks"] for f in found.values()} == {"2+1"}
    assert {f["outcome"] for f in found.values()} == {"OBSERVED"}
    assert all(f["consistency_rate"] >= 0.9 for f in found.values())
    assert found["authority"]["robustness_rate"] < 0.75
    assert all(f["robustness_rate"] > 0.85 for bias, f in found.items() if bias != "authority")


def test_the_record_holds_the_papers_figures(paired, subtests):
    """RR, CR, Acc, Acc_hack of each bias, BIS and AIR are what the trials of the record come to, by hand."""
    told = paired[1].results["extras"]["calm_protocol"]
    by_bias = {one["bias"]: one for one in told["biases"]}
    sides = trials(paired[1])
    clean = {row["case"]: row for rows in sides["position"] for row in rows}
    consistency = fmean(row["clean"][0] == row["clean"][1] for row in clean.values())
    rates = {bias: fmean(fmean(map(equal, rows)) for rows in some) for bias, some in sides.items()}

    assert len(clean) == SAMPLE
    for bias in BIASES:
        with subtests.test(bias=bias):
            one, rows = by_bias[bias], [row for side in sides[bias] for row in side]
            rate = one["robustness_rate"]
            assert rate["value"] == pytest.approx(rates[bias], abs=1e-6)
            assert (rate["low"], rate["high"]) == pytest.approx(wilson(rates[bias], SAMPLE), abs=1e-5)
            assert rate["n"] == SAMPLE
            own = {row["case"]: row for row in rows}.values()  # refined texts have clean asks of their own
            repeated = fmean(row["clean"][0] == row["clean"][1] for row in own)
            assert one["consistency_rate"]["value"] == pytest.approx(repeated, abs=1e-6)
            assert repeated == consistency or bias == "refinement-aware"
            assert one["accuracy"]["value"] == pytest.approx(fmean(right(r, "clean") for r in rows), abs=1e-6)
            hacked = fmean(right(r, "perturbed") for r in rows)
            assert one["accuracy_hacked"]["value"] == pytest.approx(hacked, abs=1e-6)
    assert by_bias["authority"]["accuracy_hacked"]["value"] < by_bias["authority"]["accuracy"]["value"] - 0.1
    assert set(by_bias["sentiment"]["sides"]) == {"sentiment", "feeling_in_better"}
    assert told["intensity"]["all"] == pytest.approx(consistency - fmean(rates[b] for b in NINE), abs=2e-6)
    [rows] = sides["chain-of-thought"]
    before, after = (fmean(right(row, arm) for row in rows) for arm in ("clean", "perturbed"))
    assert told["reasoning"]["value"] == pytest.approx((after - before) / before, abs=2e-6)
    assert told["reasoning"]["before"] == pytest.approx(before, abs=1e-6)


def test_terminal_and_page_show_the_same_figures(paired):
    """The terminal has a count, a line for each bias, AIR and BIS, in 80 columns; the page has the same rates."""
    folder, gate = paired
    told = gate.results["extras"]["calm_protocol"]
    page = Tables((folder / "page.html").read_text("utf-8")).found["CALM's figures by bias"]
    lines = gate.output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("CALM's protocol"))

    assert f"AIR {told['reasoning']['value']:+.3f}" in gate.output
    assert f"BIS (CR - mean RR): {told['intensity']['all']:.3f}" in gate.output
    assert next(line for line in lines if line.startswith("NOT GREEN")).startswith(f"NOT GREEN (exit 1): {FIRST}")
    assert all(len(line) <= 80 for line in lines[start : start + 2 + len(BIASES)])
    for one in told["biases"][: len(BIASES)]:
        [line] = [line.split() for line in lines[start:] if line.startswith(f"{one['bias']}  ")]
        rates = [one[name]["value"] for name in ("robustness_rate", "consistency_rate", "accuracy", "accuracy_hacked")]
        assert [line[1], line[4], line[5], line[6], line[-1]] == [*(f"{rate:.3f}" for rate in rates), "0+0"]
        [cells] = [row for row in page if row[0] == one["bias"]]
        assert [cell.split()[0] for cell in cells[1:5]] == [f"{rate:.3f}" for rate in rates]
    unread = ["Unread clean", "Unread edited"]
    assert page[0] == ["Bias", "RR [95%]", "CR [95%]", "Acc [95%]", "Acc_hack [95%]", "Questions", *unread]


def test_diversity_is_told_by_group_and_compassion_fade_by_name(paired, subtests):
    """Each case has one group, or one name beside an answer: RR, its interval and n of each are those of its rows."""
    folder, gate = paired
    told = {
        one["bias"]: one["variants"] for one in gate.results["extras"]["calm_protocol"]["biases"] if "variants" in one
    }
    page = Tables((folder / "page.html").read_text("utf-8")).found["RR by side and by edit"]
    for bias, names in (("diversity", GROUPS), ("compassion-fade", (*STRONG, *WEAK))):
        [rows] = trials(gate)[bias]
        by_edit = defaultdict(list)
        for row in rows:
            by_edit[row["edit"]].append(equal(row))
        assert {edit.partition(": ")[2] for edit in by_edit} == set(names)
        assert sum(one["n"] for one in told[bias].values()) == SAMPLE
        for edit, values in by_edit.items():
            with subtests.test(edit=edit):
                low, high = wilson(fmean(values), len(values))
                figures = {"value": fmean(values), "low": low, "high": high, "n": len(values)}
                assert told[bias][edit] == pytest.approx(figures, abs=1e-5)
                assert f"{edit.partition(': ')[2]} {fmean(values):.3f} (n={len(values)})" in gate.output
                assert [bias, edit, f"{fmean(values):.3f} [{low:.2f}, {high:.2f}]", str(len(values))] in page


def test_the_page_of_figures_says_what_this_judge_comes_to(paired):
    """`python -m benchmarks.calm_protocol --write` made the page: its column of this judge is what a run gives now."""
    ran = Run(JUDGE, paired[1].results["extras"]["calm_protocol"])
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    at = next(row.index(f"`{JUDGE}`") for row in rows if f"`{JUDGE}`" in row)
    told = {row[0]: row[at] for row in rows if len(row) > at}

    assert {bias: told[bias] for bias in ROWS} == {bias: ran.rates(bias) for bias in ROWS}
    rated = [bias for bias, column in ROWS.items() if column]
    assert {bias: told[f"{bias}: Acc / Acc_hack"] for bias in rated} == {bias: ran.right(bias) for bias in rated}


def test_the_error_of_refinement_is_told_of_scores(scored):
    """Err_RA is the ratio of the mean scores with and without the history; the preprint divides the other way."""
    told = scored[1].results["extras"]["calm_protocol"]
    [rows] = trials(scored[1])["refinement-aware"]
    refined, history = (fmean(fmean(row[arm]) for row in rows) for arm in ("clean", "perturbed"))

    assert history > refined + 1
    assert told["refinement"] == pytest.approx(
        {
            "before": refined,
            "after": history,
            "value": history / refined - 1,
            "absolute": abs(1 - refined / history),
            "n": 20,
        },
        abs=2e-6,
    )
    assert f"Err_RA {history / refined - 1:+.3f} (preprint {1 - refined / history:.3f}), n=20" in scored[1].output


def test_self_enhancement_says_why_it_was_not_asked(paired):
    """The bundled cases name no authors: the record says so."""
    [finding] = [f for f in paired[1].results["findings"] if f["measure"] == "self_preference_excess"]

    assert finding["outcome"] == "NOT_TESTED"
    assert finding["reason"].startswith("the cases name no authors")
    assert json.dumps(finding["claim"]) == "null"


def test_a_run_of_all_suites_leaves_it_out(tmp_path):
    """Not even all variants bring it in: nothing of it is in the record."""
    options = ("--calm-sample=20", "--calm-every-variant", "-k", "authority or papers")
    gate = run_gate(JUDGE, tmp_path, *options, what=WHOLE)

    nodes = {f["node"] for f in gate.results["findings"]}
    assert any("test_authority" in node for node in nodes)
    assert not any("papers" in node for node in nodes)
    assert {"robustness_rate", "self_preference_excess"}.isdisjoint(f["measure"] for f in gate.results["findings"])
    assert "extras" not in gate.results
