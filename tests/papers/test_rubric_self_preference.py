"""arXiv 2604.06996: IFEval from the recorded verdicts (Tables 1 and 2, committees, filter), HealthBench as printed."""

import numpy as np
import pytest

from calm.plugins.self_preference import overestimation, recorded, rubric
from calm.plugins.self_preference.contrasts import Grid
from tests.papers.published import by, expected, pairwise_signs, rows

TABLE = recorded.rubric_table()
GRID = TABLE.grid
TRUE_SIGNS = rubric.signs(rubric.scored(TABLE, TABLE.truth))
SIGNS = rubric.signs(rubric.scored(TABLE, TABLE.verdicts))
BY_RUBRIC = overestimation.overestimated_rubrics(TABLE)
BY_INSTANCE = overestimation.overestimated_instances(SIGNS, TRUE_SIGNS)
MRA = dict(zip(GRID.judges, rubric.mean_rubric_agreement(TABLE.verdicts, TABLE.truth), strict=True))
MIPA = dict(zip(GRID.judges, rubric.mean_instance_agreement(SIGNS, TRUE_SIGNS), strict=True))
TABLE_1, TABLE_2, OWN_TABLES = by("rubric_table1.csv", "judge"), by("rubric_table2.csv", "judge"), expected()
EXACT = 1e-12


def ratios(over, grid=GRID, judges=None):
    """Return the HSPP ratios of judges."""
    return [overestimation.hspp(over.rates(), grid, judge) for judge in judges or grid.judges]


# ---------------------------------------------------------------------------------------------------------- Table 1


def test_table_1_on_ifeval_is_reproduced(subtests):
    """MRA and the ratios for self and family, to the two digits that are printed: 36 of 36 cells."""
    for judge in GRID.judges:
        with subtests.test(judge=judge):
            found, row = overestimation.hspp(BY_RUBRIC.rates(), GRID, judge), TABLE_1[judge]

            assert f"{MRA[judge]:.2f}" == row["ifeval_mra"]
            assert f"{found.ratio_self:.2f}" == row["ifeval_hspp_self"]
            assert f"{found.ratio_family_with_self:.2f}" == row["ifeval_hspp_fam"]


def test_the_family_column_is_not_what_its_formula_says():
    """Formula (2) leaves the judge out of its family: that reproduces 4 of 12 printed values, with the judge all."""
    without = {one.judge: f"{one.ratio_family_without_self:.2f}" for one in ratios(BY_RUBRIC)}

    assert sum(without[judge] == TABLE_1[judge]["ifeval_hspp_fam"] for judge in GRID.judges) == 4
    assert (without["GPT-5"], TABLE_1["GPT-5"]["ifeval_hspp_fam"]) == ("0.85", "1.16")


def test_pooled_counts_would_not_give_the_table():
    """The mean over the other generators is of rates: pooled counts miss 8 of the 12 printed ratios."""
    over, eligible = BY_RUBRIC.totals()
    kin = GRID.kin()

    pooled = {}
    for row, judge in enumerate(GRID.judges):
        own, others = GRID.own(judge), ~kin[row]
        rate = over[row, own] / eligible[row, own]
        pooled[judge] = rate / (over[row, others].sum() / eligible[row, others].sum())

    missed = [judge for judge, value in pooled.items() if f"{value:.2f}" != TABLE_1[judge]["ifeval_hspp_self"]]
    assert len(missed) == 8


def test_table_1_on_healthbench_cannot_be_recomputed(subtests):
    """HealthBench's verdicts are not public, so there are twelve printed figures and none of ours beside them."""
    for column in ["hb_mra", "hb_hspp_self", "hb_hspp_fam"]:
        with subtests.test(column=column):
            printed = [float(row[column]) for row in TABLE_1.values()]

            assert len(printed) == 12
            assert "healthbench" not in recorded.SETS


# ---------------------------------------------------------------------------------------------------------- Table 2


def test_table_2_is_reproduced(subtests):
    """Loss to win and loss to tie in percent, for self and pooled outside the family: 48 of 48 cells."""
    for judge in GRID.judges:
        with subtests.test(judge=judge):
            row, own, kin = GRID.row(judge), GRID.own(judge), GRID.kin()[GRID.row(judge)]
            won, all_over = BY_INSTANCE.to_win.sum(axis=2)[row], BY_INSTANCE.over.sum(axis=2)[row]

            mine, others = 100 * won[own] / all_over[own], 100 * won[~kin].sum() / all_over[~kin].sum()
            found = [mine, 100 - mine, others, 100 - others]

            columns = ("self_l2w", "self_l2t", "other_l2w", "other_l2t")
            assert [f"{value:.1f}" for value in found] == [TABLE_2[judge][column] for column in columns]


# ------------------------------------------------------------------------------------------------ the authors' tables


def test_the_counts_by_rubric_are_the_authors(subtests):
    """Over-estimated and failed criteria of each cell."""
    for row in rows("rubric_ifeval_cells_rubric.csv"):
        with subtests.test(row=f"{row['judge']}/{row['generator']}"):
            over, eligible = BY_RUBRIC.totals()
            cell = GRID.row(row["judge"]), GRID.generators.index(row["generator"])

            assert (over[cell], eligible[cell]) == (int(row["n_over"]), int(row["n_fail"]))


def test_the_counts_by_instance_are_the_authors(subtests):
    """Over-estimated and lost comparisons of each cell, and both parts."""
    for row in rows("rubric_ifeval_cells_instance.csv"):
        with subtests.test(row=f"{row['judge']}/{row['generator']}"):
            over, lost = BY_INSTANCE.totals()
            cell = GRID.row(row["judge"]), GRID.generators.index(row["generator"])
            parts = [part.sum(axis=2)[cell] for part in (BY_INSTANCE.to_win, BY_INSTANCE.to_tie)]

            assert [over[cell], lost[cell], *parts] == [int(row[n]) for n in ("n_over", "n_loss", "n_l2w", "n_l2t")]


def test_single_rubric_figures_equal_the_authors_tables(subtests):
    """MRA, MIPA and the ratios by rubric and instance, for both readings of the family, to 1e-12."""
    for judge in GRID.judges:
        with subtests.test(judge=judge):
            said = OWN_TABLES["rubric_ifeval"][judge]
            one, two = (
                overestimation.hspp(BY_RUBRIC.rates(), GRID, judge),
                overestimation.hspp(BY_INSTANCE.rates(), GRID, judge),
            )

            found = {
                "mra": MRA[judge],
                "hspp_rub_self": one.ratio_self,
                "hspp_rub_fam_incl_self": one.ratio_family_with_self,
                "hspp_rub_fam_excl_self": one.ratio_family_without_self,
                "sr_mipa": MIPA[judge],
                "sr_hspp_inst_self": two.ratio_self,
                "sr_hspp_inst_fam_incl_self": two.ratio_family_with_self,
                "sr_hspp_inst_fam_excl_self": two.ratio_family_without_self,
            }

            assert found == pytest.approx({name: said[name] for name in found}, abs=EXACT)


def test_pairwise_figures_equal_the_authors_tables():
    """MIPA and the ratios by instance from the resolved pairwise verdicts of nine judges, to 1e-12."""
    judges, signs = pairwise_signs(list(GRID.generators))
    grid = Grid(tuple(judges), GRID.generators, GRID.families)
    over, mipa = (
        overestimation.overestimated_instances(signs, TRUE_SIGNS),
        rubric.mean_instance_agreement(signs, TRUE_SIGNS),
    )

    for row, one in enumerate(ratios(over, grid)):
        said = OWN_TABLES["rubric_ifeval"][one.judge]
        found = (mipa[row], one.ratio_self, one.ratio_family_with_self, one.ratio_family_without_self)
        names = ("pwc_mipa", "pwc_hspp_inst_self", "pwc_hspp_inst_fam_incl_self", "pwc_hspp_inst_fam_excl_self")
        assert found == pytest.approx([said[name] for name in names], abs=EXACT)
    assert len(judges) == 9


# --------------------------------------------------------------------------------------------------------- committees

COMMITTEES = {
    "gpt_oss_120b": ("Gemma-27B", "Llama-Mav", "Qwen-235B", "GPT-120B", "Claude-Sonnet"),
    "gpt_5": ("Gemma-27B", "Llama-Mav", "Qwen-235B", "GPT-5", "Claude-Sonnet"),
}


def committee(name):
    """Return the committee's accuracy, agreement, and its verdicts' over-estimation by rubric and by instance."""
    marks = rubric.committee_marks(TABLE.verdicts[[GRID.row(m) for m in COMMITTEES[name]]])
    table = rubric.RubricTable(
        Grid(("committee",), GRID.generators, {**GRID.families, "committee": "none"}),
        TABLE.instances,
        TABLE.criteria,
        TABLE.instance,
        marks[None],
        TABLE.truth,
        TABLE.points,
    )
    signs = rubric.signs(rubric.scored(table, table.verdicts))
    return (
        rubric.mean_rubric_agreement(table.verdicts, table.truth)[0],
        rubric.mean_instance_agreement(signs, TRUE_SIGNS)[0],
        overestimation.overestimated_rubrics(table).rates()[0],
        overestimation.overestimated_instances(signs, TRUE_SIGNS).rates()[0],
    )


def test_committees_have_the_stated_accuracy_and_ratios(subtests):
    """A member's ratios with the majority's verdicts as prediction, and its own, to the ten digits of the file."""
    for row in rows("rubric_ifeval_committee.csv"):
        with subtests.test(row=f"{row['committee']}/{row['member']}"):
            accuracy, agreement, by_rubric, by_instance = committee(row["committee"])
            member = row["member"]
            one = Grid((member,), GRID.generators, GRID.families)

            found = {
                "mra_individual": MRA[member],
                "mra_committee": accuracy,
                "mipa_individual": MIPA[member],
                "mipa_committee": agreement,
                "hspp_rub_individual": overestimation.hspp(BY_RUBRIC.rates(), GRID, member).ratio_self,
                "hspp_rub_committee": overestimation.hspp(by_rubric[None], one, member).ratio_self,
                "hspp_inst_individual": overestimation.hspp(BY_INSTANCE.rates(), GRID, member).ratio_self,
                "hspp_inst_committee": overestimation.hspp(by_instance[None], one, member).ratio_self,
            }

            assert found == pytest.approx({name: float(row[name]) for name in found}, abs=1e-9)


def test_the_first_committee_has_the_authors_accuracy():
    """Mean rubric accuracy of the committee with GPT-oss-120B, to 1e-12."""
    assert committee("gpt_oss_120b")[0] == pytest.approx(OWN_TABLES["committee_mra"], abs=EXACT)


def test_neither_committee_does_what_figure_3_is_said_to_show(subtests):
    """ "Same or higher accuracy and lower self-preference across the board": with either GPT member one half fails."""
    for name in COMMITTEES:
        with subtests.test(name=name):
            found = [row for row in rows("rubric_ifeval_committee.csv") if row["committee"] == name]

            worse = [r["member"] for r in found if float(r["hspp_rub_committee"]) > float(r["hspp_rub_individual"])]
            less_accurate = [r["member"] for r in found if float(r["mra_committee"]) < float(r["mra_individual"])]

            assert worse == {"gpt_oss_120b": ["Gemma-27B", "Claude-Sonnet"], "gpt_5": ["Claude-Sonnet"]}[name]
            assert less_accurate == {"gpt_oss_120b": [], "gpt_5": ["GPT-5"]}[name]


# --------------------------------------------------------------------------------------------------- agreement filter


def test_agreement_is_the_stated_one():
    """The mean over generators of the share of judges' pairs that agree, to the four digits of the file."""
    stated = np.array([float(row["agreement"]) for row in rows("rubric_ifeval_agreement.csv")])

    assert np.abs(rubric.agreement(TABLE.verdicts) - stated).max() <= 0.00005 + 1e-9


def test_the_filter_by_agreement_gives_the_stated_curve(subtests):
    """Figure 4 has no printed number; our curve by criterion, and by cell, which matches its claim better."""
    for row in rows("rubric_ifeval_agreement_filter.csv"):
        with subtests.test(row=row["threshold"]):
            threshold = float(row["threshold"])
            table = rubric.agreement_filtered(TABLE, threshold)
            signs, truth = (rubric.signs(rubric.scored(table, marks)) for marks in (table.verdicts, table.truth))
            rates = overestimation.overestimated_rubrics(table), overestimation.overestimated_instances(signs, truth)
            cells = overestimation.overestimated_rubrics(rubric.agreement_filtered(TABLE, threshold, by="cell"))

            found = {
                "n_rubrics": len(table.criteria),
                "n_instances": len(table.instances),
                "hspp_rub_self": overestimation.mean_ratio(ratios(rates[0]), "self").value,
                "hspp_inst_self": overestimation.mean_ratio(ratios(rates[1]), "self").value,
                "hspp_rub_famonly": overestimation.mean_ratio(ratios(rates[0]), "family without self").value,
                "hspp_inst_famonly": overestimation.mean_ratio(ratios(rates[1]), "family without self").value,
                "hspp_rub_self_per_generator_filter": overestimation.mean_ratio(ratios(cells), "self").value,
            }

            stated = {name: float(row[name]) if row[name] else None for name in found}
            given = {name: value for name, value in stated.items() if value is not None}
            assert {name: found[name] for name in given} == pytest.approx(given, abs=1e-8)
            assert len(given) == (4 if threshold == 1 else 7)


def test_where_all_judges_agree_five_of_them_have_no_ratio():
    """At an agreement of 1 the answers of five judges failed nothing that is left; the other ratios are all 1."""
    found = ratios(overestimation.overestimated_rubrics(rubric.agreement_filtered(TABLE, 1.0)))

    mean = overestimation.mean_ratio(found, "self")

    assert (mean.value, mean.n) == (1.0, 7)
    assert mean.left_out == ("Gemma-12B", "Llama-Mav", "Llama-Scout", "Qwen-235B", "Claude-Haiku")
    assert [one.reason for one in found if one.judge == "Gemma-12B"] == ["the answers of Gemma-12B failed nothing"]


# ----------------------------------------------------------------------------------------------------------- Figure 5

FIGURE_5 = rows("rubric_hb_fig5_published.csv")


def figure_5():
    """Return the printed matrix of centred differences in points (score x 100), with its grid."""
    generators = tuple(name for name in FIGURE_5[0] if name != "judge")
    judges = tuple(row["judge"] for row in FIGURE_5)
    cells = np.array([[float(row[g]) for g in generators] for row in FIGURE_5])
    return cells, Grid(judges, generators, GRID.families)


def test_figure_5_holds_the_authors_differences(subtests):
    """Self minus the mean outside the family, against the authors' value with GPT-5 in the reference committee."""
    for row in rows("rubric_hb_msd_sp_gpt5_committee.csv"):
        with subtests.test(row=row["eval_judge"]):
            cells, grid = figure_5()

            found = rubric.self_minus_outsiders(cells, grid, row["eval_judge"])

            assert round(abs(found - 100 * float(row["msd_sp"])), 4) <= 0.0034


def test_the_rows_of_figure_5_are_centred():
    """Every row adds up to zero within the rounding of its cells."""
    cells, _ = figure_5()

    assert np.abs(cells.mean(axis=1)).max() <= 0.002
    assert np.abs(rubric.centred_deltas(cells, np.zeros(12)) - cells).max() <= 0.002
