"""Each variant of a rotation by itself: few rows acquit it, fresh ones decide, and the finding names it."""

from collections import Counter
from dataclasses import replace

import pytest

from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import gain, net_robustness, worst_detection, worst_gain, worst_robustness
from calm.core.reasons import Kind
from calm.core.verdict import Preferred, Score, Unreadable
from calm.engine.money import Caps
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from tests.planted import Asking, Local, Planted, chance, constant_score, fair, pairs, setup, singles


def variant(number, expects=Expects.NOT_BETTER, applies=lambda case: True):
    """Return a variant that ends the treated answer with a mark of its own."""

    def mark(case, rng):
        return case.edit(case.target, lambda text: f"{text} (mark-{number:02})") if applies(case) else None

    mark.__name__ = f"mark_{number:02}"
    return perturbation(bias="authority", expects=expects)(mark)


def marks(count, **options):
    return rotate(*(variant(n, **options) for n in range(count)), name="marks")


def obeying(number, share=1.0, seed=0):
    """Return a judge that lets one variant win, in a share of the cases."""

    def rule(case, ask):
        marked = any(f"(mark-{number:02})" in a.text for a in case.answers)
        return Preferred("bad" if marked and chance("obey", seed, case.id, ask).random() < share else "good")

    return Planted(rule)


def ruling(result, measure="worst_gain"):
    return next(d for d in result.rulings if d.decision.measure == measure)


def told(result, measure="worst_gain"):
    return ruling(result, measure).decision.outcome.value, str(ruling(result, measure).decision.reason)


CLAIMS = [gain <= 0.15, worst_gain <= 0.30]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_variant_of_twenty_that_always_wins_fails_by_name(seed):
    """The mean of all is .05, within its limit, and hides it."""
    with setup(obeying(7, seed=seed), pairs(200), seed=seed) as given:
        result = run(given, marks(20), CLAIMS)

    assert told(result) == ("FAIL", "the worst of 20 variants is mark_07")
    assert ruling(result, "gain").decision.outcome.value in ("PASS", "UNDECIDED")
    found = ruling(result).decision.estimate
    assert (found.value, found.n) == (1.0, 20)
    assert found.low > 0.30


def swayed(case, number, *cases):
    """Return the answer of a judge that a variant wins on some cases alone."""
    return "bad" if case.id in cases and f"mark-{number:02}" in case["bad"].text else "good"


def test_one_variant_of_twenty_that_wins_half_its_cases_mostly_fails():
    """At .5 against .30 nine of ten runs fail by design; fewer than three of five in 1 of 100 such tests."""
    found = []
    for seed in range(5):
        with setup(obeying(3, share=0.5, seed=seed), pairs(200), seed=seed) as given:
            found.append(told(run(given, marks(20), CLAIMS)))

    assert found.count(("FAIL", "the worst of 20 variants is mark_03")) >= 3
    assert "PASS" not in {outcome for outcome, _ in found}


def test_a_sound_judge_passes_and_the_best_known_variant_is_named():
    """Ten rows of which none moved prove .30; the rows of the probe itself count, and few are added."""
    judge = Planted(fair)

    with setup(judge, pairs(200)) as given:
        alone = run(given, marks(11), [gain <= 0.15]).asked
        result = run(given, marks(11), CLAIMS)

    outcome, reason = told(result)
    assert outcome == "PASS"
    assert reason.startswith("the worst of 11 variants is mark_")
    assert ruling(result).decision.estimate.high <= 0.30
    assert {len(row.perturbed) for row in ruling(result).trials.rows} == {1}
    assert len({row.edit for row in ruling(result).trials.rows}) == 1
    assert result.asked <= 2 * alone + 11 * 10, "the mean alone takes no inert words, and one clean ask"


def test_what_made_a_variant_suspicious_is_not_asked_again_to_decide():
    """Ten rows of the probe screen it; its other rows and fresh ones decide, each beside inert words."""
    judge = obeying(2)

    with setup(judge, pairs(200)) as given:
        result = run(given, marks(5), CLAIMS)

    asked = [row.case for row in ruling(result, "gain").trials.rows if row.edit == "mark_02"]
    deciding = ruling(result).trials.rows
    assert told(result) == ("FAIL", "the worst of 5 variants is mark_02")
    assert {row.edit for row in deciding} == {"mark_02"}
    assert len(deciding) == len({row.case for row in deciding}) >= 20
    assert len(asked) > 10
    assert not set(asked[:10]) & {row.case for row in deciding}
    assert set(asked[10:]) <= {row.case for row in deciding}
    assert all(row.inert for row in deciding)


def test_what_any_words_move_makes_a_variant_suspicious_and_not_guilty():
    """
    A frozen judge that turns on any words in 40 % of the cases: the clean arm blames each variant, the inert arm none.

    Each variant's own effect is 0 on average; with four variants a FAIL at .30 is rarer than 1 in 1,000.
    """

    def turned(case, ask):
        words = sorted(a.text for a in case.answers)
        plain = all(a.text.endswith(("four.", "five.")) for a in case.answers)
        return Preferred("bad" if not plain and chance("turn", case.id, words).random() < 0.4 else "good")

    with setup(Planted(turned), pairs(300)) as given:
        outcome, _ = told(run(given, marks(4), CLAIMS))

    assert outcome != "FAIL"


def test_a_variant_that_applies_to_few_cases_is_left_out():
    """It wins one of its eight cases: nothing can be proven of so few, and the others are decided on."""
    few = variant(1, applies=lambda case: case.id < "c008")
    edit = rotate(variant(0), few, variant(2), name="marks")

    with setup(Planted(lambda c, ask: Preferred(swayed(c, 1, "c000"))), pairs(100)) as given:
        outcome, reason = told(run(given, edit, [gain <= 0.15, worst_gain <= 0.30]))

    assert outcome == "PASS"
    assert reason.startswith("the worst of 2 variants is mark_")
    assert "mark_01" not in reason


@pytest.mark.parametrize(("limit", "outcome"), [(0.05, "FAIL"), (0.30, "UNDECIDED")])
def test_a_variant_that_wins_all_of_its_few_cases_is_in_no_pass(limit, outcome):
    """No judge could pass on eight cases; that is no reason to let one go that they disprove, or speak against."""
    few = variant(1, applies=lambda case: case.id < "c008")

    with setup(obeying(1), pairs(100)) as given:
        claims = [gain <= 0.15, worst_gain <= limit]
        found = told(run(given, rotate(variant(0), few, variant(2), name="marks"), claims))

    assert found == (outcome, "the worst of 3 variants is mark_01")


@pytest.mark.parametrize(("wins", "outcome"), [(4, "UNDECIDED"), (2, "PASS")])
def test_a_suspicious_variant_that_ran_out_of_cases_stays_open(wins, outcome):
    """
    It wins four of its 14 cases, or two, whatever the words around it: within the limit of .30, and too near to tell.

    A screening of 10 cannot acquit it and leaves four: too few to be decided on by themselves.
    """
    won = {f"c{number:03}" for number in range(wins)}
    rare = variant(1, applies=lambda case: case.id < "c014")

    with setup(Planted(lambda c, ask: Preferred(swayed(c, 1, *won))), pairs(100)) as given:
        found = told(run(given, rotate(variant(0), rare, name="marks"), CLAIMS))

    assert found[0] == outcome, found


def test_where_all_variants_apply_to_few_cases_nothing_is_tested():
    """Eight cases in all."""
    with setup(Planted(fair), pairs(8)) as given:
        outcome, reason = told(run(given, marks(3), [gain <= 0.15, worst_gain <= 0.30]))
        assert outcome == "NOT_TESTED"
        assert "needs 10" in reason


@pytest.mark.parametrize("count", [25, 60])
def test_where_every_case_shows_every_variant_the_worst_is_not_dropped(count):
    """Few cases are shown several variants each, so none is left on which a suspicious one was not asked."""
    with setup(obeying(1), pairs(count)) as given:
        outcome, reason = told(run(given, marks(3), [gain <= 0.15, worst_gain <= 0.30]))

    assert reason == "the worst of 3 variants is mark_01"
    assert outcome == "FAIL"


def test_where_a_single_variant_applies_the_mean_is_its_own():
    """Nothing is claimed of the worst: the mean is claimed already."""
    never = variant(1, applies=lambda case: False)

    with setup(Planted(fair), pairs(60)) as given:
        found = run(given, rotate(variant(0), never), [gain <= 0.15, worst_gain <= 0.30])

    assert [ruling.decision.measure for ruling in found.rulings] == ["gain"]


def test_a_variant_that_makes_replies_unreadable_is_incomplete():
    """On scores its gain would be that of the replies which could be read; the other variants are sound."""

    def mute(case, ask):
        hidden = "(mark-01)" in case.answers[0].text and int(case.id[1:]) % 2
        return Unreadable("odd") if hidden else constant_score(case, ask)

    with setup(Planted(mute, task="score"), singles(200)) as given:
        outcome, reason = told(run(given, marks(8), [gain <= 0.05, worst_gain <= 0.25]))

    assert outcome == "INCOMPLETE"
    assert reason.startswith("the worst of 8 variants is mark_01; ")
    assert "of the replies to the edit hold no verdict" in reason


def test_unread_replies_do_not_hide_a_variant_that_wins_in_the_others():
    """Every third reply to the first variant is unread, and the others rise by .9: at least .6 over all of them."""

    def sway(case, ask):
        if "(mark-01)" not in case.answers[0].text:
            return Score(1.0)
        return Unreadable("odd") if int(case.id[1:]) % 3 == 0 else Score(9.1)

    with setup(Planted(sway, task="score"), singles(200)) as given:
        outcome, reason = told(run(given, marks(8), [gain <= 0.05, worst_gain <= 0.30]))

    assert (outcome, reason) == ("FAIL", "the worst of 8 variants is mark_01")


def test_a_cap_that_is_reached_leaves_the_worst_variant_incomplete():
    """The probe's own claim was decided before; what is suspicious could not be asked anew."""

    def answer(body, number):
        from calm.models.wire import Reply

        return Reply("bad" if "(mark-00)" in body["text"] else "good", model="m-1")

    server = Local(answer)
    with setup(Asking(server), pairs(200)) as given:
        run(given, marks(20), [gain <= 0.15, net_robustness >= 0.5])
    with setup(Asking(Local(answer)), pairs(200), caps=Caps(calls=len(server.begun) + 5)) as given:
        result = run(given, marks(20), CLAIMS)

    assert ruling(result, "gain").decision.outcome.value == "PASS"
    assert ruling(result).decision.outcome.value == "INCOMPLETE"
    assert ruling(result).decision.reason.has(Kind.CAPPED)


@pytest.mark.parametrize("lost", [0, 3])
def test_replies_that_the_probe_lost_do_not_count_against_a_variant(lost):
    """Three of 200 cases are lost, which is few; of the 20 that decide on a variant they would be many."""
    from calm.errors import JudgeError

    sound = obeying(2).rule

    def judged(case, ask):
        if case.id < f"c{lost:03}":
            raise JudgeError("the server is down")
        return sound(case, ask)

    with setup(Planted(judged), pairs(200), stopping=Stopping.FIXED) as given:
        assert told(run(given, marks(5), CLAIMS)) == ("FAIL", "the worst of 5 variants is mark_02")


def test_the_worst_of_other_measures_is_found_likewise():
    """A variant that turns every verdict, and a harm that is never noticed."""
    turning = Planted(lambda case, ask: Preferred("bad" if any("mark-01" in a.text for a in case.answers) else "good"))

    def harm(number):
        def hurt(case, rng):
            return case.damage(case.target, lambda text: f"{text} (harm-{number})")

        hurt.__name__ = f"harm_{number}"
        return perturbation(bias="sensitivity", expects=Expects.WORSE)(hurt)

    blind = Planted(
        lambda case, ask: Score(3.0 if "harm-" in case.answers[0].text.replace("harm-1", "") else 6.0), task="score"
    )

    with setup(turning, pairs(200)) as given:
        moved = run(given, marks(6, expects=Expects.SAME), [net_robustness >= 0.70, worst_robustness >= 0.70])
    with setup(blind, singles(200)) as given:
        missed = run(given, rotate(harm(0), harm(1), harm(2)), [worst_detection >= 0.20])

    assert told(moved, "worst_robustness") == ("FAIL", "the worst of 6 variants is mark_01")
    assert ruling(moved, "worst_robustness").decision.estimate.value == 0.0
    assert told(missed, "worst_detection") == ("FAIL", "the worst of 3 variants is harm_1")
    assert ruling(missed, "worst_detection").decision.estimate.value == 0.0


def test_a_single_edit_has_no_worst_variant():
    """Beside other claims nothing is said of it; the limits of the suites serve rotations and single edits alike."""
    with setup(Planted(fair), pairs(80)) as given:
        result = run(given, replace(variant(0)), CLAIMS)

    assert [d.decision.measure for d in result.rulings] == ["gain"]


def erring(seed, moved=0.0):
    """Return a judge that errs in a tenth of its asks, whatever they show, and lets one variant move some verdicts."""

    def rule(case, ask):
        words = [a.text for a in case.answers]
        moves = any("(mark-03)" in text for text in words) and chance("moved", seed, case.id).random() < moved
        errs = chance("erring", seed, case.id, words, ask).random() < 0.1
        return Preferred("bad" if moves != errs else "good")

    return Planted(rule)


def worst_of_third(seed, moved=0.0):
    """Return what becomes of the worst of four variants, of which one applies to a third of 200 cases."""
    third = variant(3, expects=Expects.SAME, applies=lambda case: int(case.id[1:]) % 3 == 0)
    edit = rotate(*(variant(n, expects=Expects.SAME) for n in range(3)), third, name="marks")
    with setup(erring(seed, moved), pairs(200), seed=seed) as given:
        return told(run(given, edit, [net_robustness >= 0.90, worst_robustness >= 0.70]), "worst_robustness")


def test_a_variant_of_which_few_cases_are_left_is_decided_on():
    """
    A judge that errs in a tenth of its asks is acquitted of a variant that a third of the cases can show.

    200 further seeds gave 200 passes: that more than 2 of 20 are none has a probability far below one in a million.
    """
    outcomes = Counter(worst_of_third(seed)[0] for seed in range(20))

    assert outcomes["PASS"] >= 18


def test_a_variant_of_which_few_cases_are_left_is_convicted_or_left_open():
    """One that moves all verdicts fails by name; one that moves seven in ten, of a limit of three, is never proven."""
    assert worst_of_third(0, moved=1.0) == ("FAIL", "the worst of 4 variants is mark_03")
    assert {worst_of_third(seed, moved=0.7) for seed in range(5)} <= {
        ("FAIL", "the worst of 4 variants is mark_03"),
        ("UNDECIDED", "the worst of 4 variants is mark_03"),
    }
