"""
What papers print and what we compute from their raw numbers, side by side.

    python -m benchmarks.papers                                    # print the tables (seconds)
    python -m benchmarks.papers --write docs/reference/papers.md   # write them between their marks
    python -m benchmarks.papers --check docs/reference/papers.md   # exit 1 if the page says otherwise

`tests/papers/` asserts every row.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from calm.core.case import Framing
from calm.selfpreference import (
    calm_errors,
    committees,
    opportunity,
    overestimation,
    recorded,
    rubric,
    self_evaluation,
)
from calm.selfpreference.contrasts import Grid
from tests.papers import published

BLOCK = re.compile(r"(<!-- generated: papers -->\n)(.*?)(<!-- end: papers -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A figure of a paper: what it prints, what we compute, and what is to be said where the two differ."""

    what: str
    printed: str
    ours: str
    remark: str = ""


def thesis() -> Iterator[Line]:
    """Return the lines of the thesis on graded self-evaluation."""
    framings = {"pos": Framing.STANDARD, "neg": Framing.NEGATIVE}
    equal = total = 0
    for row in published.rows("thesis_table1.csv"):
        found = self_evaluation.self_evaluation(recorded.score_table(framings[row["variant"]]), row["judge"])
        cells = thesis_cells(found)
        equal += sum(row[name] == shown for name, shown in cells.items())
        total += len(cells)
        received, given = found.own_minus_received, found.own_minus_given
        yield Line(
            f"Table 1, {row['judge']}, {row['variant']}: t of S - R, t of S - G",
            f"{row['t_r']}, {row['t_g']}",
            f"{received.t:.2f}, {given.t:.2f}",
        )
    remark = "the printed plus-minus is a standard deviation, not the standard error that the text calls it"
    yield Line("Table 1, all cells", str(total), f"{equal} equal", remark)


def thesis_cells(found: self_evaluation.SelfEvaluation) -> dict[str, str]:
    """Return the fifteen cells of a row as the thesis prints them."""
    printed = {"n": str(found.n)}
    for name, spread in (("s", found.own), ("r", found.received), ("g", found.given)):
        printed |= {f"{name}_mean": f"{spread.mean:.2f}", f"{name}_pm": f"{spread.sd:.2f}"}
    for name, test in (("r", found.own_minus_received), ("g", found.own_minus_given)):
        percent = 100 * test.p
        printed |= {
            f"t_{name}": f"{test.t:.2f}",
            f"p_{name}_pct": "<0.1" if percent < 0.1 else f"{percent:.1f}",
            f"ci_{name}_low": f"{test.low:.2f}",
            f"ci_{name}_high": f"{test.high:.2f}",
        }
    return printed


def equal_opportunity() -> Iterator[Line]:
    """Return the lines of the paper on equal opportunity."""
    [row] = published.rows("opportunity_gpt4_confusion.csv")
    counts = opportunity.Confusion(
        int(row["human_self_judge_self"]),
        int(row["human_self_judge_other"]),
        int(row["human_other_judge_other"]),
        int(row["human_other_judge_self"]),
    )
    found = opportunity.equal_opportunity(counts)
    yield Line("GPT-4, recall of its own answers", row["recall_self"], f"{found.recall_self:.3f}")
    yield Line(
        "GPT-4, recall of the other answers",
        row["recall_other"],
        f"{found.recall_other:.3f}",
        f"{counts.other_as_other} of {found.n_other} is {found.recall_other:.5f}",
    )
    yield Line("GPT-4, equal-opportunity gap", row["bias"], f"{found.gap.value:.3f}")
    parity = opportunity.demographic_parity(
        counts.self_as_self + counts.other_as_self, counts.self_as_other + counts.other_as_other
    )
    yield Line(
        "GPT-4, demographic parity",
        published.by("opportunity_table2_demographic_parity.csv", "judge")["GPT-4"]["dp_bias"],
        f"{parity.value:.3f}",
        "not from these counts: pairs that people tied are probably in the printed one",
    )
    yield Line("seven other judges", "8 of demographic parity", "-", "no counts are given")


def rubrics() -> Iterator[Line]:
    """Return the lines of the paper on rubrics: IFEval from the verdicts, HealthBench as printed."""
    table = recorded.rubric_table()
    grid = table.grid
    judged, true = (rubric.signs(rubric.scored(table, marks)) for marks in (table.verdicts, table.truth))
    over = overestimation.overestimated_rubrics(table)
    instances = overestimation.overestimated_instances(judged, true)
    accuracy = committees.mean_rubric_agreement(table.verdicts, table.truth)
    one = published.by("rubric_table1.csv", "judge")
    ratios = {judge: overestimation.hspp(over.rates(), grid, judge) for judge in grid.judges}
    for place, judge in enumerate(grid.judges):
        row, found = one[judge], ratios[judge]
        yield Line(
            f"Table 1, IFEval, {judge}: MRA, HSPP self, HSPP family",
            f"{row['ifeval_mra']}, {row['ifeval_hspp_self']}, {row['ifeval_hspp_fam']}",
            f"{accuracy[place]:.2f}, {found.ratio_self:.2f}, {found.ratio_family_with_self:.2f}",
        )
    without = sum(
        f"{found.ratio_family_without_self:.2f}" == one[judge]["ifeval_hspp_fam"] for judge, found in ratios.items()
    )
    yield Line(
        "Table 1, IFEval, HSPP family without the judge",
        "12, by formula (2)",
        f"{without} equal",
        "the printed column has the judge in its own family",
    )
    yield Line("Table 2, IFEval, loss to win and to tie", "48", f"{_table_2(instances, grid)} equal")
    yield Line("Table 1, HealthBench", "36", "-", "the verdicts are not public")
    yield Line("Figure 5, HealthBench, self minus outsiders", "7", *_figure_5(grid))
    yield Line(
        "Figure 3, committees",
        "no numbers",
        "both committees",
        "neither is as accurate as its members and less self-preferring in all of them, as the text says; for any "
        "judges: `calm self-preference --committee`",
    )
    yield Line(
        "Figure 4, agreement filter",
        "no numbers",
        "two readings",
        "filtering criteria: flat up to .80; filtering each answer to a criterion: falls from .5, as the text says; "
        "for any judges: `calm self-preference --agreement`",
    )


def _table_2(over: overestimation.Over, grid: Grid) -> int:
    """Return how many cells of Table 2 are equal to what is printed."""
    two, equal = published.by("rubric_table2.csv", "judge"), 0
    assert over.to_win is not None
    won, everything, kin = over.to_win.sum(axis=2), over.over.sum(axis=2), grid.kin()
    for place, judge in enumerate(grid.judges):
        own, others = grid.own(judge), ~kin[place]
        shares = (
            ("self", 100 * won[place, own] / everything[place, own]),
            ("other", 100 * won[place, others].sum() / everything[place, others].sum()),
        )
        for whose, share in shares:
            equal += two[judge][f"{whose}_l2w"] == f"{share:.1f}"
            equal += two[judge][f"{whose}_l2t"] == f"{100 - share:.1f}"
    return equal


def _figure_5(grid: Grid) -> tuple[str, str]:
    """Return how far the printed matrix is from the authors' own differences."""
    import numpy as np

    rows = published.rows("rubric_hb_fig5_published.csv")
    generators = tuple(name for name in rows[0] if name != "judge")
    printed = Grid(tuple(row["judge"] for row in rows), generators, grid.families)
    cells = np.array([[float(row[g]) for g in generators] for row in rows])
    apart = [
        abs(committees.self_minus_outsiders(cells, printed, row["eval_judge"]) - 100 * float(row["msd_sp"]))
        for row in published.rows("rubric_hb_msd_sp_gpt5_committee.csv")
    ]
    remark = "with GPT-5 in the reference committee, where the text names GPT-oss-120B"
    return f"{len(apart)} within {max(apart):.4f} points", remark


def calm() -> Iterator[Line]:
    """Return the lines of CALM's tables that follow from one another."""
    rates, errors = published.by("calm_table4.csv", "judge"), published.rows("calm_table5_errors.csv")
    sentiment = published.rows("calm_table8_sentiment.csv")
    close = sum(
        abs(sum(float(row[judge]) for row in sentiment) / len(sentiment) - float(of["Sen"])) <= 0.0011
        for judge, of in rates.items()
    )
    yield Line("Table 4, sentiment, from Table 8", "6", f"{close} within .001")
    for row in errors:
        own = 100 * calm_errors.self_enhancement_error(float(row["y_self"]), float(row["y_other"]))
        history = 100 * calm_errors.refinement_error(float(row["y_ref"]), float(row["y_ref_history"]))
        yield Line(
            f"Table 5, {row['judge']}: Err_SE, Err_RA in percent",
            f"{float(row['err_se_pct']):.2f}, {float(row['err_ra_pct']):.2f}",
            f"{own:.2f}, {history:.2f}",
            "from printed means, each rounded to two decimals",
        )


PAPERS = (
    ("CALM (arXiv 2410.02736)", calm),
    ("Investigating Bias in LLM Self-Evaluation (ELTE, 2025)", thesis),
    ("Self-preference as an equal-opportunity gap (arXiv 2410.21819)", equal_opportunity),
    ("Self-preference in rubric-based evaluation (arXiv 2604.06996)", rubrics),
)


def tables() -> str:
    """Return all tables as Markdown."""
    parts = []
    for title, lines in PAPERS:
        rows = [f"| {one.what} | {one.printed} | {one.ours} | {one.remark} |" for one in lines()]
        parts.append("\n".join([f"## {title}", "", "| figure | printed | ours | remark |", "|---|---|---|---|", *rows]))
    return "\n".join(["", "\n\n".join(parts), "", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, write them between their marks in a page, or check that they are there."""
    parser = argparse.ArgumentParser(description="Published figures and ours, side by side.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page that holds the marks")
    parser.add_argument("--check", type=Path, metavar="PAGE", help="the page to compare with")
    options = parser.parse_args(arguments)
    text = tables()
    page = options.write or options.check
    if page is None:
        print(text)
        return 0
    old = page.read_text("utf-8")
    new, found = BLOCK.subn(lambda block: block[1] + text + block[3], old)
    if not found:
        raise SystemExit(f"{page}: expected the marks of the block papers, found none")
    if options.check:
        return int(new != old)
    page.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
