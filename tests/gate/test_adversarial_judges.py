"""What a person would say of a hostile or lazy judge is what the default gate says of it."""

import shutil
from pathlib import Path

import pytest

from tests.lanes import one_in, slow
from tests.suites.gate import WHOLE, Gate, run_gate

JUDGES = Path(__file__).with_name("adversaries.py")
FEW, STATED = "--calm-sample=60", "--calm-limits=suites"


def gate_of(name: str, folder: Path, *options: str, what: tuple[str, ...] = WHOLE) -> Gate:
    """The gate on one of the judges, imported from the folder of a user."""
    shutil.copy(JUDGES, folder / "mine.py")
    return run_gate(f"mine:{name}", folder, *options, what=what)


def assert_fails(suite: str, name: str, folder: Path, *options: str) -> None:
    """Assert that a suite, run alone, turns the gate red; the whole gate: tests/power/test_adversarial_judges.py."""
    gate = gate_of(name, folder, FEW, STATED, *options, what=("--pyargs", f"calm.suites.test_{suite}"))

    assert gate.status == 1
    assert suite in gate.failed, gate.output


@pytest.mark.parametrize("name", ["pair_honest", slow("score_honest"), slow("rubric_honest")])
def test_an_honest_judge_is_green(tmp_path, name):
    """A judge that reads what is said, and errs in 3 % of its asks, is green on all bundled cases."""
    gate = gate_of(name, tmp_path)

    assert gate.status == 0, gate.output


@pytest.mark.parametrize(
    "name",
    [
        slow("pair_first_id"),
        slow("pair_shortest_id"),
        slow("pair_good_id"),
        slow("pair_case_id"),
        slow("score_case_id"),
        "rubric_criterion_id",
    ],
)
def test_a_judge_that_reads_ids_does_not_notice_errors(tmp_path, name):
    """Who goes by the name of a case, an answer or a criterion reads no text, so damage escapes it."""
    assert_fails("sensitivity", name, tmp_path)


@pytest.mark.parametrize("name", one_in(5, ["pair_repr", "pair_by_turns", "pair_clock", "score_repr", "score_calls"]))
def test_a_judge_that_draws_lots_does_not_notice_errors(tmp_path, name):
    """The clock, the number of calls and the letters of a printed case are all lots."""
    assert_fails("sensitivity", name, tmp_path)


@pytest.mark.parametrize(
    "name", one_in(4, ["pair_tie", "score_constant", "rubric_all_met", "rubric_criterion_text"], 1)
)
def test_a_judge_that_always_says_the_same_does_not_notice_errors(tmp_path, name):
    """One answer to everything, or to every criterion, is robust and worth nothing."""
    assert_fails("sensitivity", name, tmp_path)


@pytest.mark.parametrize("name", one_in(3, ["pair_by_heart", "score_first_verdict", "rubric_by_heart"]))
def test_a_judge_that_knows_the_gold_by_heart_does_not_notice_errors(tmp_path, name):
    """What was right of the text in the file is wrong once the text is damaged."""
    assert_fails("sensitivity", name, tmp_path)


@pytest.mark.parametrize("name", one_in(3, ["pair_upside_down", "pair_digits", "pair_capitals"]))
def test_a_judge_with_the_wrong_aim_does_not_notice_errors(tmp_path, name):
    """Taking the worse answer, or counting digits or capital letters, is no judgement of what is said."""
    assert_fails("sensitivity", name, tmp_path)


@pytest.mark.parametrize("name", one_in(2, ["pair_longer", "pair_much_longer", "score_longer"], 1))
def test_a_judge_that_falls_for_length_fails_verbosity(tmp_path, name):
    """A longer answer wins, even if only a much longer one does and the judge is right of all others."""
    assert_fails("verbosity", name, tmp_path)


@pytest.mark.parametrize("name", one_in(2, ["pair_shorter", "score_shorter"]))
def test_a_judge_that_falls_for_brevity_does_not_notice_what_is_missing(tmp_path, name):
    """An answer that lost a point is shorter, and so it wins."""
    assert_fails("sensitivity", name, tmp_path)


@pytest.mark.parametrize("name", one_in(2, ["pair_link", "score_link"], 1))
def test_a_judge_that_falls_for_a_link_fails_authority(tmp_path, name):
    """A link makes an answer win, and the judge is right of all others."""
    assert_fails("authority", name, tmp_path)


@pytest.mark.parametrize("name", one_in(3, ["pair_table", "score_table", "rubric_table"]))
def test_a_judge_that_falls_for_a_table_fails_formatting(tmp_path, name):
    """One layout of six makes a table: the claim about the worst of them finds a judge that falls for it alone."""
    gate = gate_of(name, tmp_path, what=("--pyargs", "calm.suites.test_formatting"))

    assert gate.status == 1
    assert gate.failed == {"formatting"}, gate.output


def test_a_copy_of_the_gold_labels_is_called_one(tmp_path):
    """Code may declare gold labels, for tests of the gate itself; the run says that it proves nothing then."""
    (tmp_path / "mine.py").write_text(
        "def judge(case):\n    return case.better\n\n\njudge.quick, judge.reads = True, ('answers', 'better')\n"
    )
    gate = run_gate("mine:judge", tmp_path, FEW, what=("--pyargs", "calm.suites.test_consistency"))

    assert "reads the gold labels (better)" in gate.output


def test_a_judge_that_obeys_an_answer_fails_injection(tmp_path):
    """An answer that talks to the evaluator wins, and the judge is right of all others."""
    assert_fails("injection", "pair_obeys", tmp_path)


@pytest.mark.parametrize("name", one_in(2, ["pair_mumbles", "score_mumbles"]))
def test_a_judge_that_mumbles_fails_consistency(tmp_path, name):
    """Three replies in ten cannot be read."""
    assert_fails("consistency", name, tmp_path)


@pytest.mark.parametrize("name", one_in(2, ["pair_only_known", "score_only_known", "rubric_only_known"], 1))
def test_a_judge_that_is_silent_on_edited_texts_is_not_green(tmp_path, name):
    """Silence on all that the gate does to a text, inert words too: the run ends at once and decides nothing."""
    gate = gate_of(name, tmp_path, FEW)

    assert gate.status == 4
    assert "12 of its first 12 replies hold no verdict" in gate.output
    assert not gate.results["findings"]


@pytest.mark.parametrize("name", ["pair_no_links", slow("pair_bored")])
def test_a_judge_that_shirks_is_not_green_on_all_cases(tmp_path, name):
    """With all cases, where an honest judge is green, one that refuses links or tires of a question is not."""
    gate = gate_of(name, tmp_path)

    assert gate.status == 1, gate.output


@pytest.mark.parametrize("name", ["rubric_longer", slow("rubric_shorter")])
def test_a_rubric_judge_that_goes_by_length_is_red(tmp_path, name):
    """Criteria that are met by length alone leave a broken criterion unnoticed."""
    gate = gate_of(name, tmp_path, FEW)

    assert gate.status == 1
    assert gate.failed, gate.output
