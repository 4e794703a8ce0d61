"""HSPP by the command: the paper's tables from the recorded judges, and a user's own judges of all four shapes."""

import json
from contextlib import redirect_stdout
from io import StringIO

import pytest

from calm.commands import cli
from calm.results.parts import words_of
from calm.results.sentences import capital
from tests.papers.published import by, expected, rows

FIRST = ("Gemma-27B", "Llama-Mav", "Qwen-235B", "GPT-120B", "Claude-Sonnet")
SECOND = ("Gemma-27B", "Llama-Mav", "Qwen-235B", "GPT-5", "Claude-Sonnet")
FILTER = rows("rubric_ifeval_agreement_filter.csv")


def command(folder, *arguments):
    """Run `calm self-preference`; return its status, its record, the rows of its tables by name, what it said."""
    told, out = StringIO(), folder / "record.json"
    with redirect_stdout(told):
        status = cli.main(["self-preference", *map(str, arguments), "-o", str(out), "--report", str(out) + ".html"])
    body = json.loads(out.read_text("utf-8"))
    return status, body, {part["name"]: part["rows"] for part in body["parts"]}, told.getvalue()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """All tables of the recorded judges of criteria, by one command."""
    thresholds = ",".join(row["threshold"] for row in FILTER)
    committees = [f"--committee={','.join(members)}" for members in (FIRST, SECOND)]
    options = (*committees, f"--agreement={thresholds}", "--slices=sign,length,axis")
    folder = tmp_path_factory.mktemp("ifeval")
    return *command(folder, "recorded:ifeval/GPT-5", *options), (folder / "record.json.html").read_text("utf-8")


def test_table_2_comes_from_the_command_as_printed(recorded):
    """Loss to win and to tie in percent, for itself and pooled over all others: 48 of 48 cells."""
    found = {row["judge"]: row for row in recorded[2]["loss_shares"] if row["reference"] == "truth"}

    columns = ("self_l2w", "self_l2t", "other_l2w", "other_l2t")
    ours = {
        (judge, column): f"{100 * row[name]:.1f}"
        for judge, row in found.items()
        for column, name in zip(columns, ("l2w_self", "l2t_self", "l2w_others", "l2t_others"), strict=True)
    }
    assert ours == {
        (judge, column): row[column] for judge, row in by("rubric_table2.csv", "judge").items() for column in columns
    }
    assert len(ours) == 48


def test_the_ratios_of_the_command_are_the_authors(recorded):
    """MRA, MIPA and the six ratios of each judge, to 1e-12."""
    names = {
        "mra": "mra",
        "mipa": "sr_mipa",
        "hspp_rubric_self": "hspp_rub_self",
        "hspp_rubric_family_with_self": "hspp_rub_fam_incl_self",
        "hspp_rubric_family_without_self": "hspp_rub_fam_excl_self",
        "hspp_instance_self": "sr_hspp_inst_self",
        "hspp_instance_family_with_self": "sr_hspp_inst_fam_incl_self",
        "hspp_instance_family_without_self": "sr_hspp_inst_fam_excl_self",
    }
    found = [row for row in recorded[2]["hspp"] if row["reference"] == "truth"]

    for row in found:
        said = expected()["rubric_ifeval"][row["judge"]]
        assert {n: row[n] for n in names} == pytest.approx({n: said[theirs] for n, theirs in names.items()}, abs=1e-12)
    assert len(found) == 12


def test_both_committees_of_the_paper_come_from_the_command(recorded):
    """Each member's own figures and those of its committee, to the ten digits of the file."""
    found = {(row["committee"], row["judge"]): row for row in recorded[2]["committee"]}
    names = {"mra": "mra", "mipa": "mipa", "hspp_rub": "hspp_rubric_self", "hspp_inst": "hspp_instance_self"}

    for row in rows("rubric_ifeval_committee.csv"):
        name = {"gpt_oss_120b": "committee 1", "gpt_5": "committee 2"}[row["committee"]]
        ours = found[name, row["member"]]
        for theirs, column in names.items():
            assert ours[column] == pytest.approx(float(row[f"{theirs}_individual"]), abs=1e-9)
            assert ours[f"{column}_committee"] == pytest.approx(float(row[f"{theirs}_committee"]), abs=1e-9)
    assert found["committee 1", "GPT-120B"]["mra_committee"] == pytest.approx(0.910171862509992, abs=1e-12)
    assert len(found) == 10


def test_the_agreement_filter_comes_from_the_command(recorded):
    """Both readings of the filter at each threshold of the file."""
    names = {
        "n_rubrics": "criteria",
        "n_instances": "questions",
        "hspp_rub_self": "hspp_rubric_self",
        "hspp_inst_self": "hspp_instance_self",
        "hspp_rub_famonly": "hspp_rubric_family_without_self",
        "hspp_inst_famonly": "hspp_instance_family_without_self",
        "hspp_rub_self_per_generator_filter": "hspp_by_cell",
    }

    for ours, row in zip(recorded[2]["agreement_filter"], FILTER, strict=True):
        given = {column: float(row[theirs]) for theirs, column in names.items() if row[theirs]}
        assert {name: ours[name] for name in given} == pytest.approx(given, abs=1e-8)


def test_committees_grow_and_slices_hold_every_criterion_once(recorded):
    """One member is the mean of the members; nine axes and four lengths; all points are positive, which is said."""
    _, body, tables, _, _ = recorded
    sizes, alone = tables["committee_size"], by("rubric_table1.csv", "judge")
    slices = [row for row in tables["slices"] if row["judge"] == "mean"]
    reasons = {part["name"]: part["reason"] for part in body["parts"]}

    pool = dict.fromkeys((*FIRST, *SECOND))
    assert [(row["size"], row["committees"]) for row in sizes] == [(1, 6), (2, 15), (3, 20), (4, 15), (5, 6), (6, 1)]
    assert sizes[0]["mra"] == pytest.approx(sum(float(alone[j]["ifeval_mra"]) for j in pool) / 6, abs=0.005)
    for way, count in (("axis", 9), ("length", 4)):
        found = [row["criteria"] for row in slices if row["by"] == way]
        assert (len(found), sum(found)) == (count, 834)
    assert "sign: all criteria are alike (positive)" in reasons["slices"]


def test_the_terminal_says_where_the_tables_are_and_the_page_has_them(recorded):
    """What options asked for is named on one screen; every table is on the page, sizes and agreement with a chart."""
    status, body, _, told, page = recorded
    flat = " ".join(told.split())

    assert status == 0
    assert len(told.splitlines()) <= 40
    assert all(len(line) <= 80 for line in told.splitlines() if not line.startswith("wrote "))
    for name in ("committee", "committee_size", "agreement_filter", "slices"):
        assert words_of(name).title in flat
    assert all(capital(words_of(part["name"]).title) in page for part in body["parts"])
    assert page.count("<polyline") >= 6
