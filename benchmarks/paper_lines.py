"""
The figures of the publications beside ours: recomputed from raw verdicts, or from other numbers that they print.

Each line names the function of calm that computes it. `benchmarks.methods` says by which command that function serves
a user's own judges, and `tests/papers/test_methods.py` holds both to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from calm.core.case import Framing
from calm.plugins.self_preference import harmful, opportunity, overestimation, recorded, rubric, scores
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.uda import ratings as consensus
from calm.statistics import calm_errors
from tests.papers import published


@dataclass(frozen=True, slots=True)
class Line:
    """
    A figure of a paper: what it prints, what we compute and where the two differ why.

    `by` is the function that computes ours, "module:name" below `calm.`; empty where nothing can be computed. `cells`
    are how many figures of the source the line stands for, and how many of them ours equal as it gives them; none where
    it repeats cells of another line, or the source gives no figure. `raw`: ours come from raw verdicts; else from other
    printed numbers. `method` is the name in `benchmarks.methods`.
    """

    what: str
    printed: str
    ours: str
    by: str = ""
    remark: str = ""
    cells: tuple[int, int] = (0, 0)
    raw: bool = True
    method: str = ""


S_R_G = "S, R, G: N, mean, SD, t, p and intervals"
RECALLS = "both recalls and the gap"
BY_CRITERION = "MRA, HSPP by criterion (SR)"
SHAPED = "MIPA, HSPP by comparison ({})"
COMMITTEES = "committees, leave-one-out and by size"
OWN_TABLES = "in the authors' own tables"
EXACT = 1e-9
OWN_COLUMNS = {
    "mra": "mra",
    "hspp_rub_self": "hspp_rubric_self",
    "mipa": "mipa",
    "hspp_inst_self": "hspp_instance_self",
    "hspp_inst_fam_incl_self": "hspp_instance_family_with_self",
    "hspp_inst_fam_excl_self": "hspp_instance_family_without_self",
}
COMMITTEE_COLUMNS = {"mra": "mra", "mipa": "mipa", "hspp_rub": "hspp_rubric_self", "hspp_inst": "hspp_instance_self"}
FILTER_COLUMNS = {
    "n_rubrics": "criteria",
    "n_instances": "questions",
    "hspp_inst_self": "hspp_instance_self",
    "hspp_rub_self": "hspp_rubric_self",
    "hspp_inst_famonly": "hspp_instance_family_without_self",
    "hspp_rub_famonly": "hspp_rubric_family_without_self",
    "hspp_rub_self_per_generator_filter": "hspp_by_cell",
}
"""The columns of the authors' own tables and ours."""
SELF = "plugins.self_preference."
TABLE_1 = {
    "ifeval_mra": "mra",
    "ifeval_hspp_self": "hspp_rubric_self",
    "ifeval_hspp_fam": "hspp_rubric_family_with_self",
}
"""The columns of Table 1 and ours."""


def same(printed: str, value: float | None, form: str = ".2f") -> bool:
    """Return whether a value, as the paper rounds, is what it prints."""
    return value is not None and printed == format(value, form)


def calm() -> Iterator[Line]:
    """Return the lines of CALM's tables: its verdicts are not public, so only printed numbers can be compared."""
    rates, errors = published.by("calm_table4.csv", "judge"), published.rows("calm_table5_errors.csv")
    yield Line(
        "Table 4: RR, CR and accuracy",
        str(6 * 12),
        "-",
        remark="the verdicts are not public",
        cells=(6 * 12, 0),
        method="RR and CR of each bias",
    )
    sentiment = published.rows("calm_table8_sentiment.csv")
    close = sum(
        abs(sum(float(row[judge]) for row in sentiment) / len(sentiment) - float(of["Sen"])) <= 0.0011
        for judge, of in rates.items()
    )
    yield Line("Table 4, sentiment, from Table 8", "6", f"{close} within .001", remark="a mean", raw=False)
    for row in errors:
        for name, (above, below), by in (
            ("Err_SE", ("y_self", "y_other"), calm_errors.self_enhancement_error),
            ("Err_RA", ("y_ref", "y_ref_history"), calm_errors.refinement_error),
        ):
            ours = f"{100 * by(float(row[above]), float(row[below])):.2f}"
            printed = f"{float(row[f'{name.lower()}_pct']):.2f}"
            yield Line(
                f"Table 5, {row['judge']}: {name} in percent",
                printed,
                ours,
                f"statistics.calm_errors:{by.__name__}",
                "from printed means, each rounded to two decimals",
                (1, int(printed == ours)),
                raw=False,
                method=name,
            )


def thesis() -> Iterator[Line]:
    """Return the lines of the thesis on graded self-evaluation."""
    framings = {"pos": Framing.STANDARD, "neg": Framing.NEGATIVE}
    by, equal, total = f"{SELF}scores:self_evaluation", 0, 0
    for row in published.rows("thesis_table1.csv"):
        found = scores.self_evaluation(recorded.score_table(framings[row["variant"]]), row["judge"])
        cells = thesis_cells(found)
        equal += sum(row[name] == shown for name, shown in cells.items())
        total += len(cells)
        received, given = found.own_minus_received, found.own_minus_given
        assert received, "all judges score all texts"
        assert given, "all judges score all texts"
        yield Line(
            f"Table 1, {row['judge']}, {row['variant']}: t of S - R, t of S - G",
            f"{row['t_r']}, {row['t_g']}",
            f"{received.t:.2f}, {given.t:.2f}",
            by,
        )
    remark = "the printed plus-minus is a standard deviation, not the standard error that the text calls it"
    yield Line("Table 1, all cells", str(total), f"{equal} equal", by, remark, (total, equal), method=S_R_G)


def thesis_cells(found: scores.SelfEvaluation) -> dict[str, str]:
    """Return the fifteen cells of a row as the thesis prints them."""
    printed = {"n": str(found.n)}
    for name, spread in (("s", found.own), ("r", found.received), ("g", found.given)):
        assert spread, "all judges score all texts"
        printed |= {f"{name}_mean": f"{spread.mean:.2f}", f"{name}_pm": f"{spread.sd:.2f}"}
    for name, test in (("r", found.own_minus_received), ("g", found.own_minus_given)):
        assert test, "all judges score all texts"
        assert test.p is not None, "and not all differences are equal"
        percent = 100 * test.p
        printed |= {
            f"t_{name}": f"{test.t:.2f}",
            f"p_{name}_pct": "<0.1" if percent < 0.1 else f"{percent:.1f}",
            f"ci_{name}_low": f"{test.low:.2f}",
            f"ci_{name}_high": f"{test.high:.2f}",
        }
    return printed


def equal_opportunity() -> Iterator[Line]:
    """Return the lines of the paper on equal opportunity: it prints counts, and no verdicts."""
    [row] = published.rows("opportunity_gpt4_confusion.csv")
    counts = opportunity.Confusion(
        int(row["human_self_judge_self"]),
        int(row["human_self_judge_other"]),
        int(row["human_other_judge_other"]),
        int(row["human_other_judge_self"]),
    )
    found = opportunity.equal_opportunity(counts)
    by = f"{SELF}opportunity:equal_opportunity"
    exact = f"{counts.other_as_other} of {found.n_other} is {found.recall_other:.5f}"
    for what, printed, value, remark in (
        ("recall of its own answers", row["recall_self"], found.recall_self, ""),
        ("recall of the other answers", row["recall_other"], found.recall_other, exact),
        ("equal-opportunity gap", row["bias"], found.gap.value, ""),
    ):
        cells = 1, int(same(printed, value, ".3f"))
        yield Line(f"GPT-4, {what}", printed, f"{value:.3f}", by, remark, cells, raw=False, method=RECALLS)
    parity = opportunity.demographic_parity(
        counts.self_as_self + counts.other_as_self, counts.self_as_other + counts.other_as_other
    )
    yield Line(
        "GPT-4, demographic parity over the pairs that people decided (`parity_labelled`)",
        published.by("opportunity_table2_demographic_parity.csv", "judge")["GPT-4"]["dp_bias"],
        f"{parity.value:.3f}",
        f"{SELF}opportunity:demographic_parity",
        "the printed one is not from these counts: pairs that people tied are probably in it, as in `parity`",
        (1, 0),
        raw=False,
        method="demographic parity over labelled pairs (`parity_labelled`)",
    )
    remark = "no counts are given"
    yield Line(
        "seven other judges, demographic parity",
        "7",
        "-",
        remark=remark,
        cells=(7, 0),
        method="demographic parity over all pairs (`parity`)",
    )


def rubrics() -> Iterator[Line]:
    """Return the lines of the paper on rubrics: IFEval from the verdicts, HealthBench as printed."""
    table = recorded.rubric_table()
    said = overestimation.of_criteria(table)
    ratios, shares = harmful.harmful(said, {})
    one, two = (published.by(f"rubric_table{n}.csv", "judge") for n in (1, 2))
    by, without = f"{SELF}harmful:harmful", 0
    for row in ratios.rows:
        printed = one[str(row["judge"])]
        ours = {theirs: float(str(row[name])) for theirs, name in TABLE_1.items()}
        equal = sum(same(printed[theirs], value) for theirs, value in ours.items())
        without += same(printed["ifeval_hspp_fam"], float(str(row["hspp_rubric_family_without_self"])))
        yield Line(
            f"Table 1, IFEval, {row['judge']}: MRA, HSPP self, HSPP family",
            ", ".join(printed[theirs] for theirs in ours),
            ", ".join(f"{value:.2f}" for value in ours.values()),
            by,
            cells=(len(ours), equal),
            method=BY_CRITERION,
        )
    yield Line(
        "Table 1, IFEval, HSPP family without the judge",
        "12, by formula (2)",
        f"{without} equal",
        by,
        "the printed column has the judge in its own family",
    )
    pairs = [
        (two[str(row["judge"])][f"{theirs}_{kind}"], 100 * float(str(row[f"{kind}_{ours}"])))
        for row in shares.rows
        for theirs, ours in (("self", "self"), ("other", "others"))
        for kind in ("l2w", "l2t")
    ]
    equal = sum(same(printed, value, ".1f") for printed, value in pairs)
    yield Line(
        "Table 2, IFEval, loss to win and to tie",
        str(len(pairs)),
        f"{equal} equal",
        by,
        cells=(len(pairs), equal),
        method="loss to win, loss to tie",
    )
    yield from _of_the_authors(said)
    yield Line("Table 1, HealthBench", "36", "-", remark="the verdicts are not public", cells=(36, 0))
    apart = _figure_5(table.grid)
    yield Line(
        "Figure 5, HealthBench, self minus outsiders",
        str(len(apart)),
        f"{len(apart)} within {max(apart):.4f} points",
        f"{SELF}rubric:self_minus_outsiders",
        "with GPT-5 in the reference committee, where the text names GPT-oss-120B; the matrix and the differences are "
        "both printed",
        (len(apart), sum(one < 0.005 for one in apart)),
        raw=False,
        method="self minus outsiders (MSD-SP)",
    )
    file = published.rows("rubric_ifeval_agreement_filter.csv")
    kept = harmful.filtered(table, tuple(float(row["threshold"]) for row in file)).rows
    found = [
        (float(row[theirs]), float(str(ours[name])))
        for row, ours in zip(file, kept, strict=True)
        for theirs, name in FILTER_COLUMNS.items()
        if row[theirs]
    ]
    yield Line(
        f"Figure 4, agreement filter, {OWN_TABLES}", f"{len(found)}", f"{_equal(found)} equal",
        f"{SELF}harmful:filtered",
        "the figure has no numbers; filtering criteria: flat up to .80; filtering each answer to a criterion: falls "
        "from .5, as the text says",
        (len(found), _equal(found)), method="agreement filter",
    )  # fmt: skip


def _of_the_authors(said: overestimation.Evidence) -> Iterator[Line]:
    """Return the lines of the authors' own tables: each kind of verdict, and committees."""
    judges, signs = published.pairwise_signs(list(said.grid.generators))
    grid = Grid(tuple(judges), said.grid.generators, said.grid.families)
    pairs = overestimation.Evidence(grid, overestimation.Reading(signs), said.truth)
    for shape, evidence in (("SR", said), ("PWC", pairs)):
        printed = [
            (published.expected()["rubric_ifeval"][row["judge"]][f"{shape.lower()}_{theirs}"], row[ours])
            for row in harmful.harmful(evidence, {})[0].rows
            for theirs, ours in OWN_COLUMNS.items()
            if ours in row
        ]
        yield Line(
            f"{shape}, {OWN_TABLES}", f"{len(printed)}", f"{_equal(printed)} equal", f"{SELF}harmful:held",
            "MIPA, HSPP of self and family, of SR by criterion, too; to nine digits",
            (len(printed), _equal(printed)), method=SHAPED.format(shape),
        )  # fmt: skip
    for shape, cells in (("AR", 54), ("DA", 36)):
        yield Line(
            f"{shape}, {OWN_TABLES}", str(cells), "-", remark="these verdicts do not ship with calm",
            cells=(cells, 0), method=SHAPED.format(shape),
        )  # fmt: skip
    file = published.rows("rubric_ifeval_committee.csv")
    members = {row["committee"]: [r["member"] for r in file if r["committee"] == row["committee"]] for row in file}
    found = {(row["committee"], row["judge"]): row for row in harmful.together(said, members, 0)[0].rows}
    printed = [
        (float(row[f"{theirs}_{whose}"]), found[row["committee"], row["member"]][f"{ours}{end}"])
        for row in file
        for theirs, ours in COMMITTEE_COLUMNS.items()
        for whose, end in (("individual", ""), ("committee", "_committee"))
    ]
    yield Line(
        f"Figure 3, committees, {OWN_TABLES}", f"{len(printed)}", f"{_equal(printed)} equal", f"{SELF}harmful:together",
        "the figure has no numbers; neither committee is as accurate as its members and less self-preferring in all of "
        "them, as the text says",
        (len(printed), _equal(printed)), method=COMMITTEES,
    )  # fmt: skip


def _equal(pairs: Iterable[tuple[float, object]]) -> int:
    """Return how many figures of the source equal ours."""
    return sum(isinstance(ours, float) and abs(theirs - ours) < EXACT for theirs, ours in pairs)


def _figure_5(grid: Grid) -> list[float]:
    """Return how far the printed matrix is from the authors' own differences, in points."""
    rows = published.rows("rubric_hb_fig5_published.csv")
    generators = tuple(name for name in rows[0] if name != "judge")
    printed = Grid(tuple(row["judge"] for row in rows), generators, grid.families)
    cells = np.array([[float(row[g]) for g in generators] for row in rows])
    return [
        abs(rubric.self_minus_outsiders(cells, printed, row["eval_judge"]) - 100 * float(row["msd_sp"]))
        for row in published.rows("rubric_hb_msd_sp_gpt5_committee.csv")
    ]


def uda() -> Iterator[Line]:
    """Return the lines of UDA: its comparisons are not public, so all come from the matrices of its appendix."""
    models, judges, before = published.matrix("uda_human_baseline.csv")
    after, people = published.matrix("uda_human_uda.csv")[2], published.matrix("uda_human_row.csv")[2][0]
    names, rows = published.matrix("uda_published_std.csv")[1:]
    printed = dict(zip(names, rows, strict=True))
    for name, matrix in (("human_baseline", before), ("human_uda", after)):
        found = np.round(consensus.inter_judge_std(matrix), 1)
        equal = int((found == printed[name]).sum())
        remark = "" if equal == len(found) else "two differ by one in the last digit"
        yield Line(
            f"deviations between judges, transfer set, {name.partition('_')[2]}",
            str(len(found)),
            f"{equal} equal",
            "plugins.uda.ratings:inter_judge_std",
            remark,
            (len(found), equal),
            raw=False,
            method="deviation between judges",
        )
    fall = consensus.inter_judge_std(after).mean() / consensus.inter_judge_std(before).mean() - 1
    yield Line(
        "fall of the mean deviation",
        "-63.4 %",
        f"{100 * fall:.1f} %",
        "plugins.uda.ratings:inter_judge_std",
        cells=(1, int(f"{100 * fall:.1f}" == "-63.4")),
        raw=False,
        method="deviation between judges",
    )
    own = [consensus.self_deviation(m, judges, models).values() for m in (before, after)]
    ends = [f"{100 * end(each):+.1f}" for each in own for end in (min, max)]
    told = ["-21.0", "+56.4", "-15.4", "+3.9"]
    yield Line(
        "deviations of own ratings, in percent",
        "{} to {}, {} to {}".format(*told),
        "{} to {}, {} to {}".format(*ends),
        "plugins.uda.ratings:self_deviation",
        cells=(len(told), sum(one == other for one, other in zip(told, ends, strict=True))),
        raw=False,
        method="deviation of a judge's own rating",
    )
    file, anchor = published.by("uda_published_table4.csv", "judge"), before.mean(axis=0)
    pairs = [
        (file[judge][f"pearson_{name}"], f"{consensus.correlation(matrix[place], anchor):.4f}")
        for place, judge in enumerate(judges)
        for name, matrix in (("baseline", before), ("uda", after))
    ]
    equal = sum(one == other for one, other in pairs)
    yield Line(
        "Table 4: correlation with the consensus",
        str(len(pairs)),
        f"{equal} equal",
        "plugins.uda.ratings:correlation",
        "one is printed without its sign, and one follows from a printed cell that its row contradicts",
        (len(pairs), equal),
        raw=False,
        method="correlation with the consensus",
    )
    near = [float(np.mean([consensus.correlation(row, people) for row in m])) for m in (before, after)]
    yield Line(
        "mean correlation with people",
        "0.651, 0.812",
        f"{near[0]:.3f}, {near[1]:.3f}",
        "plugins.uda.ratings:correlation",
        "the authors' script makes a human row for each judge, and one is in print; no variant tried gives the means",
        raw=False,
    )
    anchor = before.mean(axis=0)
    alike, off = (
        [float(np.mean([of(row, anchor) for row in m])) for m in (before, after)]
        for of in (consensus.correlation, consensus.squared_error)
    )
    yield Line(
        "Table 4, averages: correlation with the consensus, squared error",
        "0.7363, 0.8778; 43152.6, 19452.7",
        f"{alike[0]:.4f}, {alike[1]:.4f}; {off[0]:.1f}, {off[1]:.1f}",
        "plugins.uda.ratings:correlation",
        "one printed cell is off by 0.98, and one sign is lost in print",
        raw=False,
    )
    first, second = (printed[f"arenahard_{name}"].mean() for name in ("baseline", "uda"))
    yield Line(
        "deviations between judges, ArenaHard",
        "20",
        "-",
        remark=f"its matrices are in no public repository that we found; the means of the printed deviations are "
        f"{first:.2f} and {second:.2f}, a fall of {100 * (1 - second / first):.1f} %",
    )


PAPERS = (
    ("CALM (arXiv 2410.02736)", calm),
    ("Investigating Bias in LLM Self-Evaluation (ELTE, 2025)", thesis),
    ("Self-preference as an equal-opportunity gap (arXiv 2410.21819)", equal_opportunity),
    ("Self-preference in rubric-based evaluation (arXiv 2604.06996)", rubrics),
    ("UDA: Unsupervised Debiasing Alignment", uda),
)
