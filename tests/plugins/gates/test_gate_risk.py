"""`calm gate-risk`: what it says of a gate is what gates do that are simulated by other means."""

import json
from math import ceil, comb
from random import Random

import numpy as np
import pytest

from calm.commands.cli import main
from calm.plugins.gates.risk import Asked, Chance, Gate
from tests.lanes import slow
from tests.plugins.gates.planted import SCORES, drawn, graded, mark_at, mixed, red_share, table

PASSES = np.array([0.0, 1.0])


def said(capsys, *words):
    """Return the exit status of the command, and its record."""
    status = main(["gate-risk", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def whole(laws, times):
    """Return asks in which each value stands as often as its law says, as far as whole asks can."""
    numbers = []
    for law in laws:
        ends = np.round(np.cumsum(law) * times).astype(int)
        numbers.append(np.repeat(np.arange(len(law)), np.diff(ends, prepend=0)))
    return np.array(numbers)


# ------------------------------------------------------------------------------------------------------------- by hand


def test_a_gate_on_fresh_cases_is_binomial(tmp_path, capsys):
    """
    By hand: 9 of 10 verdicts pass, 20 fresh cases, at least 17 must pass.

    P(X <= 16) = 1 - (.9^20 + 20 .9^19 .1 + 190 .9^18 .1^2 + 1140 .9^17 .1^3) = 0.1330.
    """
    path = table(tmp_path / "t.csv", PASSES, [[1] if case % 10 else [0] for case in range(100)], "pass")
    by_hand = 1 - sum(comb(20, failed) * 0.9 ** (20 - failed) * 0.1**failed for failed in range(4))

    _, found = said(capsys, path, "--pass-at-least", "0.85", "--cases", "20", "--new-cases")

    assert by_hand == pytest.approx(0.1330, abs=5e-5)
    assert found["marks"][0]["red"]["value"] == pytest.approx(by_hand, abs=1e-12)


def test_a_gate_on_the_same_cases_is_poisson_binomial(tmp_path, capsys):
    """
    By hand: of 4 cases 3 always pass; one passed in 200 of 400 asks. All 4 must pass: red in half of the runs.

    Of two such cases: 1 - 1/4 = 3/4. The laws are drawn together by 1 in 400 at most, so .01 is enough.
    """
    for split, wanted in ((1, 0.5), (2, 0.75)):
        numbers = [[0, 1] * 200 if case < split else [1] * 400 for case in range(4)]
        path = table(tmp_path / f"{split}.csv", PASSES, numbers, "verdict")

        _, found = said(capsys, path, "--pass-at-least", "1")

        assert found["marks"][0]["red"]["value"] == pytest.approx(wanted, abs=0.01)


def test_several_asks_of_a_case_are_a_vote():
    """By hand: a case that passes in 8 of 10 asks passes 2 of 3 with .8^3 + 3 .8^2 .2 = 0.896; two do with .803."""
    asked = Asked(np.repeat(np.arange(20), 10), np.tile([1.0] * 8 + [0.0] * 2, 20), 0.0, 1.0)

    assert Chance(asked, Gate(2, 3, 2, fresh=True)).red(1.0) == pytest.approx(1 - 0.896**2, abs=1e-9)


def test_where_nothing_varied_the_bound_is_exact():
    """By hand: no failure in 100 asks leaves room for 1 - .05^(1/100) = 0.0295; of 20 cases one fails in .451 then."""
    asked = Asked(np.repeat(np.arange(20), 5), np.ones(100), 0.0, 1.0)

    found = Chance(asked, Gate(20, 1, 1)).bounded(1.0)

    assert (found.value, found.low) == pytest.approx((0, 0), abs=1e-12)
    assert found.high == pytest.approx(1 - (0.05 ** (1 / 100)) ** 20, abs=1e-9)
    assert found.high == pytest.approx(0.4507, abs=1e-4)


def test_of_new_cases_the_bound_counts_cases_and_not_asks():
    """By hand: 20 cases that pass in all 5 asks leave room for 1 - .05^(1/20) that never do; of 9 new ones one does."""
    asked = Asked(np.repeat(np.arange(20), 5), np.ones(100), 0.0, 1.0)

    found = Chance(asked, Gate(9, 3, 2, fresh=True)).bounded(1.0)

    assert found.high == pytest.approx(1 - 0.05 ** (9 / 20), abs=1e-9)


# -------------------------------------------------------------------------------------------------------- by simulation


@pytest.mark.parametrize(("kind", "far"), [("mean", 1.0), ("share", 1.0), slow("mean", 1.6), slow("share", 1.6)])
def test_simulated_gates_are_red_as_often_as_it_says(tmp_path, capsys, kind, far):
    """
    Of 80,000 gates, drawn from the laws of the judge, as many are red within .01 as the command says of its record.

    False alarms: the standard error of the simulation is at most .0013 at a risk of up to .16, and the record, which
    holds 200 asks of each case in the shares of the law, leaves .002. The other .008 are 6 standard errors: P < 1e-8.
    """
    rng = Random(11)
    laws = graded(rng, 60) if kind == "mean" else mixed(rng, [0.05, 0.5, 0.8, 0.95, 1.0], 60)
    values = SCORES if kind == "mean" else PASSES
    mark = mark_at(laws, values, far)
    path = table(tmp_path / "t.csv", values, whole(laws, 200))
    option = "--mean-at-least" if kind == "mean" else "--pass-at-least"

    _, found = said(capsys, path, option, f"{mark:.6f}")

    counted = red_share(rng, laws, values, mark, 80_000)
    assert 0.01 < counted < 0.2
    assert found["marks"][0]["red"]["value"] == pytest.approx(counted, abs=0.01)


def test_a_worse_system_is_missed_as_often_as_it_says(tmp_path, capsys):
    """
    All scores fall by .1, with the same noise: 80,000 gates are green as often as the command says, within .01.

    False alarms: as above.
    """
    rng = Random(4)
    laws = graded(rng, 60)
    mark = mark_at(laws, SCORES, 0)
    path = table(tmp_path / "t.csv", SCORES, whole(laws, 200))

    _, found = said(capsys, path, "--mean-at-least", f"{mark:.6f}", "--drop", "0.1")

    green = 1 - red_share(rng, laws, SCORES - 0.1, mark, 80_000)
    assert 0.02 < green < 0.15
    assert found["marks"][0]["missed"]["value"] == pytest.approx(green, abs=0.01)


def test_the_needed_cases_are_enough(tmp_path, capsys):
    """
    With the needed number of the same cases, the mark of the wanted risk misses the drop about as often as wished.

    A gate of that size is simulated: red in .05, green though worse in .20, each within .04 (the mark is a step of the
    mean, which moves the first by .01 here). 4,000 gates: the standard error is .0034 and .0063, of which .04 are 6.
    """
    rng = Random(7)
    laws = graded(rng, 60, noise=0.6)
    path = table(tmp_path / "t.csv", SCORES, whole(laws, 200))
    _, found = said(capsys, path, "--drop", "0.1")
    cases = found["needed"][0]["same"]
    many = np.tile(laws, (-(-cases // 60), 1))[:cases]
    mark = mark_at(many, SCORES, 1.645)

    assert cases > 60
    assert red_share(rng, many, SCORES, mark, 4_000) == pytest.approx(0.05, abs=0.04)
    assert 1 - red_share(rng, many, SCORES - 0.1, mark, 4_000) == pytest.approx(0.20, abs=0.04)


@pytest.mark.parametrize(("asks", "records", "least"), [(3, 100, 82), slow(2, 300, 264), slow(8, 300, 264)])
def test_the_bounds_hold_as_often_as_they_say(asks, records, least):
    """
    Each bound of a record with few asks of 60 cases holds in 95 of 100 records.

    False alarms: a bound that holds in .95 does so in fewer than 82 of 100, or 264 of 300, with P < 1e-6 (binomial).
    """
    rng = Random(5)
    laws = mixed(rng, [0.05, 0.5, 0.8, 0.95, 1.0], 60)
    mark = mark_at(laws, PASSES, 1.3)
    law = np.ones(1)
    for passes in laws:
        law = np.convolve(law, passes)
    true = law[: ceil(60 * mark)].sum()
    below = above = 0
    for _ in range(records):
        values = drawn(rng, laws, asks).astype(float).ravel()
        found = Chance(Asked(np.repeat(np.arange(60), asks), values, 0.0, 1.0), Gate(60, 1, 1)).bounded(mark)
        below += found.low <= true
        above += found.high >= true

    assert min(below, above) >= least


@pytest.mark.parametrize(("never", "asks", "records", "least"), [(0.05, 3, 100, 82), slow(0.02, 5, 300, 264)])
def test_the_bounds_hold_for_new_cases_of_which_some_never_pass(never, asks, records, least):
    """
    Each case passes always or never, so repeats add nothing: of 60 new cases the failed ones are binomial.

    False alarms: as above.
    """
    rng = Random(3)
    true = 1 - sum(comb(60, failed) * never**failed * (1 - never) ** (60 - failed) for failed in range(4))
    below = above = 0
    for _ in range(records):
        values = np.repeat([float(rng.random() >= never) for _ in range(60)], asks)
        asked = Asked(np.repeat(np.arange(60), asks), values, 0.0, 1.0)
        found = Chance(asked, Gate(60, 1, 1, fresh=True)).bounded(0.95)
        below += found.low <= true
        above += found.high >= true

    assert min(below, above) >= least


# ----------------------------------------------------------------------------------------- a noisy gate and a sound one


def test_of_two_cases_with_two_asks_nothing_is_sure(tmp_path, capsys):
    """That no ask was below 3 does not show that none will be; and no more asks are asked for than would help."""
    (tmp_path / "runs.csv").write_text("case,run 1,run 2\na,4,5\nb,3,3\n")

    status, found = said(capsys, str(tmp_path / "runs.csv"), "--mean-at-least=3")

    assert status == 4
    assert [mark["why"] for mark in found["marks"]] == ["given", "likely"]
    assert found["marks"][0]["red"]["high"] > 0.5
    assert found["asks_to_decide"] > 2


@pytest.mark.parametrize("seed", [0, *map(slow, range(1, 20))])
def test_a_noisy_gate_is_red_and_a_sound_one_green(tmp_path, capsys, seed):
    """
    8 asks of 60 cases: a mark at the judge's own mean is red in half of the runs, one 4 standard errors below in none.

    False alarms: the bound of the first is below .05 only if the mean is 1.6 standard deviations of a run off, which
    are 4.7 of its own standard errors; that of the second is above .05 only if it is 2.3 off, 6.6 of them: P < 2e-6 and
    1e-10 for a seed. At the first 20 seeds all 40 are decided so.
    """
    rng = Random(seed)
    laws = graded(rng, 60)
    path = table(tmp_path / "t.csv", SCORES, drawn(rng, laws, 8))

    noisy, bad = said(capsys, path, "--mean-at-least", f"{mark_at(laws, SCORES, 0):.6f}")
    sound, good = said(capsys, path, "--mean-at-least", f"{mark_at(laws, SCORES, 4):.6f}")

    assert (noisy, bad["outcome"]) == (1, "FAIL")
    assert (sound, good["outcome"]) == (0, "PASS")


def test_two_asks_of_each_case_cannot_tell(tmp_path, capsys):
    """Exit status 4, and how many asks would do."""
    rng = Random(1)
    laws = graded(rng, 60)
    path = table(tmp_path / "t.csv", SCORES, drawn(rng, laws, 2))

    status, found = said(capsys, path, "--mean-at-least", f"{mark_at(laws, SCORES, 1.5):.6f}")

    assert (status, found["outcome"]) == (4, "UNDECIDED")
    assert found["asks_to_decide"] > 2


# ------------------------------------------------------------------------------------------------------ what it reads


def test_repeats_stand_in_rows_columns_or_files(tmp_path, capsys):
    """The same asks give the same risk."""
    rng = Random(2)
    numbers = drawn(rng, graded(rng, 30), 3)
    rows = table(tmp_path / "rows.csv", SCORES, numbers)
    wide = tmp_path / "wide.csv"
    lines = [f"{n},{a},{b},{c}" for n, (a, b, c) in enumerate(numbers + 1)]
    wide.write_text("\n".join(["id,run 1,run 2,run 3", *lines]))
    files = []
    for ask in range(3):
        files.append(tmp_path / f"run-{ask}.jsonl")
        lines = [json.dumps({"name": f"c{n}", "rating": int(row[ask]) + 1}) for n, row in enumerate(numbers)]
        files[-1].write_text("\n".join(lines))

    found = [said(capsys, *map(str, of), "--mean-at-least", "3")[1]["marks"] for of in ([rows], [wide], files)]

    assert found[0] == found[1] == found[2]


def test_a_run_of_calm_is_read(tmp_path, capsys, monkeypatch):
    """Its clean asks are the repeats: of pairs, whether the verdict is right."""
    monkeypatch.chdir(tmp_path)
    main(["audit", "planted:noise=0.2", "--sample", "20", "-o", "out", "--", "-k", "consistency"])
    capsys.readouterr()

    status, found = said(capsys, "out", "--pass-at-least", "0.2")

    assert status == 0
    assert found["cases"] == 20
    assert found["fewest"] >= 2
    assert 0.6 < found["centre"] < 0.95


def test_low_scores_may_be_good(tmp_path, capsys):
    """A gate on a mean of at most T is the one on at least 6 - T of scores that are turned over."""
    rng = Random(3)
    numbers = drawn(rng, graded(rng, 30), 4)
    up, down = table(tmp_path / "up.csv", SCORES, numbers), table(tmp_path / "down.csv", SCORES, 4 - numbers)

    high = said(capsys, up, "--mean-at-least", "2.9")[1]
    low = said(capsys, down, "--mean-at-most", "3.1")[1]

    assert [one["red"]["value"] for one in low["marks"]] == pytest.approx(
        [one["red"]["value"] for one in high["marks"]]
    )
    assert [6 - one["mark"] for one in low["marks"]] == pytest.approx([one["mark"] for one in high["marks"]])


def test_a_mark_that_it_names_is_the_same_gate_when_it_is_typed(tmp_path, capsys):
    """The number is short, and neither a case more nor less."""
    rng = Random(8)
    path = table(tmp_path / "t.csv", PASSES, drawn(rng, mixed(rng, [0.6, 0.9, 1.0], 59), 5))

    for one in said(capsys, path)[1]["marks"]:
        again = said(capsys, path, "--pass-at-least", str(one["mark"]))[1]["marks"][0]

        assert again["red"] == one["red"]


def test_one_verdict_on_each_case_says_nothing_of_noise(tmp_path, capsys):
    """It is refused with what to do; with fresh cases each time it is enough."""
    rng = Random(9)
    path = table(tmp_path / "t.csv", SCORES, drawn(rng, graded(rng, 30), 1))

    assert main(["gate-risk", path, "--mean-at-least", "3"]) == 4
    assert "5 times" in capsys.readouterr().err
    assert said(capsys, path, "--mean-at-least", "1", "--new-cases")[0] == 0


def test_asks_without_a_verdict_are_left_out_and_counted(tmp_path, capsys):
    """Also NaN and null; unless the user says what they are worth."""
    path = tmp_path / "t.jsonl"
    lines = [f'{{"case": "c{n}", "score": {score}}}' for n in range(20) for score in ("NaN", "null", 1, 1)]
    path.write_text("\n".join(lines))

    left = said(capsys, str(path), "--pass-at-least", "0.9", "--drop", "0.1")[1]
    failed = said(capsys, str(path), "--pass-at-least", "0.9", "--value", "=0")[1]

    assert (left["unread"], left["asks"], left["centre"]) == (40, 40, 1)
    assert left["needed"] == []  # without any noise one case would do
    assert (failed["unread"], failed["asks"], failed["centre"]) == (0, 80, 0.5)


@pytest.mark.parametrize(
    ("text", "words", "about"),
    [
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--mean-at-least", "7"], "--mean-at-least: expected a mean on the scale"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--mean-at-least", "nan"], "--mean-at-least: expected a finite"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--pass-at-least", "95"], "write 0.95 for 95 %"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--pass-at-least", "0.9"], "--pass-mark X"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--pass-mark", "9"], "--pass-mark: expected a score on the scale"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--drop", "9"], "--drop: expected less than"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--risk", "0.9"], "--risk: expected a probability"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--cases", "0"], "--cases: expected a whole number"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--asks-pass", "2"], "--asks-pass: expected it with"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--map", "scor=score"], "did you mean score=score?"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--map", "case=nope"], "expected a column"),
        ("case,score\na,3\na,4\n", [], "expected two cases or more"),
        ("case,score\na,banana\na,4\n", [], "--value banana=1"),
        ("case,score\na,inf\na,4\n", [], "got inf"),
        ("case,score\na,\nb,\n", [], "expected verdicts, got none"),
        ("case,score\na,-300\nb,700\n", [], "--scale LOW..HIGH"),
        ("case,score,pass\na,3,1\n", [], "got several (score, pass)"),
        ("case,repeat,score\na,1,3\na,1,4\n", [], "expected one verdict on case 'a'"),
        ("score\n3\n4\n", [], "--map case=COLUMN"),
        ("case,metric,score\na,faithful,3\na,relevant,4\n", [], "got 2 in 'metric' (faithful, relevant)"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--scale", "0..1e300"], "a scale at most 1e+09 wide"),
        ("case,score\na,3\na,4\nb,2\nb,3\n", ["--drop", "2"], "--drop: expected less than 2,"),
        ("case,score\n" + "a,3\nb,4\n" * 5 + "slip,44\n", [], "case 'slip'"),
        ("case,score\n" + "a,3\nb,4\n" * 5 + "slip,-4\n", [], "case 'slip'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_fix(tmp_path, capsys, text, words, about):
    """Exit status 4, and nothing is said of a gate."""
    path = tmp_path / "t.csv"
    path.write_text(text)

    status = main(["gate-risk", str(path), *words])

    told = capsys.readouterr()
    assert (status, told.out) == (4, "")
    assert about in told.err


def test_files_on_two_scales_are_refused(tmp_path, capsys):
    """Shares of 1 in one of them, and scores of 1 to 5 in the other."""
    rng = Random(0)
    one = table(tmp_path / "one.csv", SCORES / 5, drawn(rng, graded(rng, 20), 1))
    other = table(tmp_path / "other.csv", SCORES, drawn(rng, graded(rng, 20), 1))

    assert main(["gate-risk", one, other]) == 4
    assert "on one scale" in capsys.readouterr().err


@pytest.mark.parametrize("scores", [(0.8, 80, 0.7, 90), (0.5, 12), (0.8, 4, 8)])
def test_a_table_on_two_scales_is_refused_unless_its_scale_is_said(tmp_path, capsys, scores):
    """Shares of 1 beside scores beyond 10, or fractions below 1 alone; in one column, or in one column each."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["case,score", *(f"{case},{score}" for case in "abc" for score in scores)]))

    assert main(["gate-risk", str(path)]) == 4
    assert "--scale LOW..HIGH" in capsys.readouterr().err
    assert said(capsys, str(path), "--scale", "0..100")[1]["high"] == 100
    path.write_text(f"{path.read_text()}\nd,5.5\nd,6")
    assert main(["gate-risk", str(path)]) == 0
    path.write_text("case,run 1,run 2\na,0.5,4.5\nb,1,3\n")
    assert main(["gate-risk", str(path)]) == 4


@pytest.mark.parametrize(("column", "words"), [("question_id", []), ("topic", ["--map", "group=topic"])])
def test_cases_of_one_question_are_counted_as_independent_and_it_is_said(tmp_path, capsys, column, words):
    """Three cases a question: the text says that bounds over other cases may be too narrow, and the record how many."""
    rng = Random(1)
    path = tmp_path / "t.csv"
    rows = (f"c{case},q{case // 3},{rng.choice('345')}" for case in range(30) for _ in range(2))
    path.write_text("\n".join([f"id,{column},score", *rows]))

    found = said(capsys, str(path), "--mean-at-least", "3", *words)[1]
    main(["gate-risk", str(path), "--mean-at-least", "3", *words])

    assert (found["cases"], found["groups"]) == (30, 10)
    assert "10 questions" in capsys.readouterr().out


def test_its_lines_fit_a_terminal_and_run_no_command(tmp_path, capsys):
    """At most 80 columns, and the names of cases do nothing."""
    rng = Random(6)
    numbers = drawn(rng, graded(rng, 30), 5)
    lines = [f'"\x1b[31m{"x" * 99}{n}",{number + 1}' for n, row in enumerate(numbers) for number in row]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["case,score", *lines, '"\x1b[31m::error::y",']))

    main(["gate-risk", str(path), "--pass-mark", "3", "--pass-at-least", "0.7", "--drop", "0.1", "--asks", "3"])

    told = capsys.readouterr().out
    assert max(map(len, told.replace(str(path), "t.csv").splitlines())) <= 80
    assert "\x1b" not in told


@pytest.mark.parametrize("fresh", [False, True])
def test_the_normal_curve_takes_the_place_of_a_large_law(fresh):
    """It says how far it may be off, and is not farther from the exact law of twice the cases."""
    rng = Random(12)
    laws = graded(rng, 60)
    values = SCORES[whole(laws, 20)]
    once = Asked(np.repeat(np.arange(60), 20), values.ravel(), 1.0, 5.0)
    twice = Asked(np.repeat(np.arange(120), 20), np.concatenate([values, values]).ravel(), 1.0, 5.0)
    curve, exact = Chance(once, Gate(120, fresh=fresh)), Chance(twice, Gate(120, fresh=fresh))
    mark = mark_at(laws, SCORES, 1)

    assert exact.roughness == 0
    assert curve.exact == fresh
    assert curve.red(mark) == pytest.approx(exact.red(mark), abs=max(curve.roughness, 1e-9))
