"""The page about real judges: its figures are counted again, and its samples are decided as the gate decides them."""

import csv
import re
from itertools import product
from math import comb, fsum
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from benchmarks import pages
from benchmarks.real_judges import comparing, page, resampling
from benchmarks.real_judges.page import FROM, MOST, WANTED
from benchmarks.real_judges.tables import CLAIMS, ran, replayed, specs, tables
from calm import accuracy, consistency_rate, readable_rate
from calm.core.claims import Claim, Outcome
from calm.core.trials import Trials
from calm.experiment.stopping import Asks, Stopping, looks, rule_on
from calm.statistics.intervals import clopper_pearson
from calm.statistics.sequential import Look
from tests.judges.test_real_records import apart, lines

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "real-judges.md"
DOES_NOT_FLIP = {"1": "2", "2": "1"}


def block(name):
    """Return the cells of a generated table of the page, by the judge in the first one."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in pages.block(PAGE, name).splitlines()[2:]]
    return {row[0].strip("`"): row[1:] for row in rows}


def measured():
    """Return the rows behind the page."""
    with PAGE.with_suffix(".csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def table(judge, measure):
    """Return the table of a judge for one measure."""
    return next(one for one in tables(judge) if one.measure == measure)


# ------------------------------------------------------------------------------------------------------- its figures


def test_the_flips_on_the_page_are_those_of_a_plain_count():
    """Of each of the six judges: raw flips, repeats that differ, flips beyond these, and the pull of the first slot."""
    told = block("real-judges-position")
    names = [name for name in lines("position")[0] if name.startswith(("gpt-", "claude-"))]
    pull = {"1": 1, "2": -1, "t": 0, ".": 0}
    assert sorted(told) == sorted(names)
    for name in names:
        raw, noise, pulls = [], [], []
        for row in lines("position"):
            one, other = row[name][:3], row[name][3:]
            turned = [DOES_NOT_FLIP.get(mark, mark) for mark in other]
            raw.append(fmean(x != y for x, y in product(one, turned)))
            noise.append((apart(one) + apart(other)) / 2)
            pulls.append(fmean(pull[mark] for mark in one + other))
        net = [flips - floor for flips, floor in zip(raw, noise, strict=True)]
        shown = [cell.partition(" ")[0] for cell in told[name]]
        assert shown[:4] == [f"{fmean(values) + 0.0:.3f}" for values in (raw, noise, net, pulls)]
        assert shown[5] == str(len(raw))


def test_the_accuracy_on_the_page_is_that_of_a_plain_count():
    """Of all 49 judges of pairs with gold, in the order in which the pairs are listed."""
    told = block("real-judges-gold")
    assert len(told) == 49
    for spec, cells in told.items():
        name, _, judge = spec.partition("/")
        if name == "llmbar":
            right = fmean(row[judge][0] == row["gold"] for row in lines(name))
        else:
            right = fmean(row[judge] == max("12t", key=row["people"].count) for row in lines(name))
        assert cells[0].startswith(f"{right:.3f} ")


def test_every_judge_and_measure_is_on_the_page_with_every_n():
    """Nothing was left out of the samples: 2,000 of each."""
    rows = [row for row in measured() if row["kind"] == "resampled"]

    assert {row["judge"] for row in rows} == set(specs())
    assert {row["samples"] for row in rows} == {"2000"}
    for row in rows:
        sizes = {r["n"] for r in rows if all(r[k] == row[k] for k in ("judge", "measure", "design"))}
        assert sizes >= {"30", "60", "100", "200"}


def test_the_rows_of_the_csv_can_be_kept_where_one_set_is_measured_anew():
    """What is read from the CSV makes the same CSV, and the same tables of samples as the page holds."""
    text, shown = PAGE.with_suffix(".csv").read_text("utf-8"), PAGE.read_text("utf-8")
    rows = page.from_csv(text)

    assert page.as_csv(rows, 2000) == text
    for name in ("gate", "misses", "each", "sizes", "prompts"):
        assert page.TABLES[f"real-judges-{name}"](rows).rstrip() in shown


def test_the_bounds_cover_and_the_decisions_are_right():
    """
    What must be shown of each row with n >= 60: coverage of .94, and wrong decisions in at most .05.

    Where the limit is the truth itself an exact interval errs in just .05: there three Monte-Carlo errors are allowed.
    """
    wrong, edge = [], MOST + 3 * (MOST * (1 - MOST) / 2000) ** 0.5
    for row in measured():
        if row["kind"] == "resampled" and int(row["n"]) >= FROM:
            claim, truth = CLAIMS[row["measure"]], float(row["truth"])
            size = abs(truth) if claim.op == "abs<=" else truth
            holds = size >= claim.limit if claim.op == ">=" else size <= claim.limit
            suite = float(row["suite_FAIL"] if holds else row["suite_PASS"])
            hardest = max(float(row["holds_FAIL"] or 0), float(row["broken_PASS"] or 0))
            if min(float(row["low"]), float(row["high"])) < WANTED or suite > MOST or hardest > edge:
                wrong.append((row["judge"], row["measure"], row["design"], row["n"]))

    said = re.search(r"(\d+) of [\d,]+ rows with n >= 60 miss", PAGE.read_text("utf-8"))

    assert wrong == [("llmbar/GPT-4/Vanilla", "accuracy", "fixed", "200")]
    assert said[1] == "1"


def test_the_one_row_that_misses_does_so_by_chance():
    """Its interval is exact: over all counts of right verdicts, weighed by their probability, it covers in .95."""
    truth = fmean(row["GPT-4/Vanilla"][0] == row["gold"] for row in lines("llmbar"))
    chance = [comb(200, k) * truth**k * (1 - truth) ** (200 - k) for k in range(201)]

    covered = fsum(p for k, p in enumerate(chance) if clopper_pearson(k, 200, 0.05)[1] >= truth)

    assert covered >= 0.95
    assert f"{covered:.3f}" in PAGE.read_text("utf-8").partition("real-judges-misses -->\n\n")[2][:600]


def test_a_sure_difference_has_the_sign_that_it_has():
    """Of all prompts compared at n = 200, the wrong way in at most .05 of the samples."""
    rows = [row for row in measured() if row["kind"] == "compared"]

    assert len(rows) == 15 + 2 * 43
    assert max(float(row["wrong"]) for row in rows) <= MOST


# ------------------------------------------------------------------------------------------------------- its samples


@pytest.mark.parametrize(
    ("judge", "measure"),
    [
        ("position/gpt-3.5-turbo-1106", "slot_pull"),
        ("position/gpt-4-0613", "net_robustness"),
        ("llmbar/Falcon/CoT", "gain"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_a_sample_is_decided_as_a_run_decides_it(judge, measure, whole):
    """Look by look through `rule_on`, on the same rows: the same outcome and the same bounds."""
    one = table(judge, measure)
    source, estimates = resampling.Samples(one, whole=whole), resampling.Estimates(one, whole=whole)
    rng, seen = Random(1), set()
    for n in (60, 120):
        for _ in range(20):
            drawn = source.draw(n, rng)
            found = resampling.decided({"suite": CLAIMS[measure]}, estimates, drawn, Stopping.SEQUENTIAL)["suite"]
            for look in looks(Stopping.SEQUENTIAL, len(drawn.cells), top_ups=0).looks:
                trials = Trials(drawn.rows(look.n), one.trials.family, one.trials.scale)
                ruling = rule_on(Stopping.SEQUENTIAL, CLAIMS[measure], trials, Asks(3, 1, 3), look).decision
                if ruling.outcome in (Outcome.PASS, Outcome.FAIL):
                    break
            assert found[0] is ruling.outcome
            assert (found[1].low, found[1].high) == (ruling.estimate.low, ruling.estimate.high)
            seen.add(found[0])
    assert seen


def test_what_is_replayed_is_what_a_run_asks_for():
    """The verdicts on the cases as they are, read from the record at once, give the values of a run of the gate."""
    for judge, measures in [
        ("position/claude-3-haiku-20240307", (consistency_rate, readable_rate)),
        ("llmbar/GPT-4/CoT", (accuracy,)),
    ]:
        for one, other in zip(replayed(judge, measures), ran(judge, False, measures), strict=True):
            found, asked = (
                {row.case: (cell, row.cluster) for row, cell in zip(t.rows, t.cells, strict=True)} for t in (one, other)
            )
            assert found == asked


def test_the_truth_of_the_samples_is_the_table():
    """Every case is as likely as any other: the mean of many samples is that of the whole table."""
    one = table("position/gpt-3.5-turbo-1106", "slot_pull")
    source, rng = resampling.Samples(one, whole=True), Random(2)
    values = [cell for _ in range(300) for cell in source.draw(60, rng).cells]

    assert fmean(values) == pytest.approx(one.truth, abs=0.06)  # 6 standard errors: less than 1e-6 by chance
    assert len(source.table.rows) == one.n


def test_the_samples_tell_bounds_that_do_not_cover():
    """Coverage can be missed: bounds at .6 cover the truth in about .6 of the samples, and those at .95 in more."""
    one = table("position/gpt-3.5-turbo-1106", "slot_pull")
    source, rng = resampling.Samples(one, whole=False), Random(3)
    estimates, covered = resampling.Estimates(one, whole=False), []
    for _ in range(300):
        drawn = source.draw(100, rng)
        loose, tight = (estimates.at(Look(100, level, level), drawn)[0] for level in (0.4, 0.05))
        covered.append((loose.low <= one.truth, tight.low <= one.truth))

    assert fmean(was for was, _ in covered) < 0.8  # six standard errors below .94 and more
    assert fmean(was for _, was in covered) > 0.88  # .95 less 5.5 standard errors


def test_a_claim_on_the_edge_holds_or_is_broken_by_a_hair():
    """The hardest limits that there are stand on either side of the truth."""
    one = table("llmbar/GPT-4/Vanilla", "accuracy")
    claims = resampling.claims_of(one)

    assert claims["holds"].limit < one.truth < claims["broken"].limit
    assert claims["suite"] == Claim("accuracy", ">=", 0.70)


def test_prompts_are_compared_on_the_cases_of_both():
    """The difference of the whole tables is that of a plain count, and a large one is found in every sample."""
    old, new = table("llmbar/ChatGPT/Vanilla", "gain"), table("llmbar/ChatGPT/Rating", "gain")
    both = comparing.paired(old, new)
    favour = {".": 0.5, "1": 1.0, "2": 0.0}
    pulls = [
        fmean(favour[row[judge][0]] - 1 + favour[DOES_NOT_FLIP.get(row[judge][1], ".")] for row in lines("llmbar"))
        for judge in ("ChatGPT/Vanilla", "ChatGPT/Rating")
    ]

    assert len(both.rows) == 419
    found = comparing.compared(old, new, 200, 50)
    assert abs(comparing.truth(both)) == pytest.approx(abs(old.truth - new.truth), abs=1e-12)
    assert (found.right, found.wrong) == (50, 0)
    assert pulls[0] > pulls[1]
