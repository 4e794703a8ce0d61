"""The control of a finding: what inert words moved, and when that explains a finding."""

from dataclasses import replace
from random import Random

import pytest

from calm.core.reasons import NONE, Kind
from calm.core.trials import Trial, Trials
from calm.core.verdict import Preferred, Scale, Score
from calm.results.findings import control_of


def pairs(rows):
    """Return the trials of a probe on pairs whose treated answer is `bad`, from (clean, inert) a row."""
    made = [
        Trial(
            f"c{i}",
            target="bad",
            better="good",
            clean=tuple(map(Preferred, clean)),
            inert=tuple(map(Preferred, inert)),
            perturbed=(Preferred("bad"),),
            floor="text-10" if i % 2 else "text-20",
            channel="answer",
        )
        for i, (clean, inert) in enumerate(rows)
    ]
    return Trials(tuple(made), "pairwise", Scale())


def of(trials):
    """Return the control and the reason of a probe about authority."""
    return control_of(trials, "authority")


STAYS, TURNS = (["good", "good"], ["good"]), (["good", "good"], ["bad"])


def test_it_is_what_inert_words_moved_and_gave_beyond_a_repeat():
    """One row of four turned to the treated answer; a row whose repeats differ as much moves nothing."""
    control, reason = of(pairs([STAYS, TURNS, STAYS, (["good", "bad"], ["bad"])]))

    assert (control.floor, control.n) == ("text-10, text-20", 4)
    assert control.moved == pytest.approx((1 + 0.5 - 1) / 4)
    assert control.gain == pytest.approx((1 + 0.5) / 4)
    assert reason == NONE  # four rows prove nothing


def test_there_is_none_without_inert_words_or_repeats(subtests):
    """An arm without them, a single clean ask, no room: nothing is said of any."""
    plain = pairs([STAYS] * 20)
    for name, row in {
        "no inert words": replace(plain.rows[0], inert=()),
        "no repeat": replace(plain.rows[0], clean=(Preferred("good"),)),
        "no room": replace(plain.rows[0], room=False),
    }.items():
        with subtests.test(name):
            assert of(replace(plain, rows=(row,) * 20)) == (None, NONE)
    assert of(None) == (None, NONE)


def test_words_that_give_the_answer_much_are_length():
    """The reason is data: its kind, and by how much; words that cost it as much are length, too."""
    _, longer = of(pairs([STAYS, TURNS] * 30))
    _, shorter = of(pairs([(["bad", "bad"], ["good"]), (["bad", "bad"], ["bad"])] * 30))

    assert (longer.kind, longer.details) == (Kind.SAME_LENGTH, (0.5,))
    assert (shorter.kind, shorter.details) == (Kind.SAME_LENGTH, (-0.5,))


def beside(rows, said="bad"):
    """Return the trials of an edit that makes a note beside the answer, after which the judge says the same of all."""
    trials = pairs(rows)
    rows = tuple(replace(row, channel="note", perturbed=(Preferred(said),)) for row in trials.rows)
    return replace(trials, rows=rows)


def test_words_that_make_no_answer_longer_and_go_one_way_are_their_place():
    """A note beside an answer is not its length. What wins or loses is a pull, and no turning on any rewording."""
    _, wins = of(beside([STAYS, TURNS] * 30))
    _, loses = of(beside([(["bad", "bad"], ["good"]), (["bad", "bad"], ["bad"])] * 30))

    assert (wins.kind, wins.details) == (Kind.SAME_GAIN, (0.5,))
    assert (loses.kind, loses.details) == (Kind.SAME_GAIN, (-0.5,))
    assert "reword" not in f"{wins} {loses}"


BOTH_WAYS = [STAYS, TURNS, STAYS, (["bad", "bad"], ["good"])] * 15


def turning(says):
    """Return the trials of an edit after which the judge says `says(row)`, inert words moving verdicts both ways."""
    trials = pairs(BOTH_WAYS)
    return replace(trials, rows=tuple(replace(row, perturbed=(says(row),)) for row in trials.rows))


def test_words_that_move_verdicts_both_ways_are_rewording():
    """They favour no answer, whether the answer becomes longer or not; nor does the edit itself."""
    stays = turning(lambda row: row.clean[0])
    noted = replace(stays, rows=tuple(replace(row, channel="note") for row in stays.rows))

    for _, reason in (of(stays), of(noted)):
        assert (reason.kind, reason.details) == (Kind.SAME_PLACE, (0.5,))


def test_what_an_edit_wins_one_way_is_not_called_rewording():
    """Inert words move verdicts both ways, and the edit all of them to its answer: it says nothing of that."""
    control, reason = of(turning(lambda row: Preferred("bad")))

    assert control.moved == 0.5
    assert reason == NONE


def test_a_suite_of_length_does_not_point_to_itself():
    """Where the edits are inert words of some length, what these do is the finding, and no reason for it."""
    long = pairs([STAYS, TURNS] * 30)

    for bias in ("verbosity", "neutral", "rewording"):
        control, reason = control_of(long, bias)

        assert (control.gain, reason) == (0.5, NONE)


def test_on_scores_it_is_a_share_of_the_scale():
    """An answer that gains 0.9 points of 9 by any words gains a tenth of the scale."""
    rows = tuple(
        Trial(
            f"c{i}",
            target="a",
            clean=(Score(5), Score(5)),
            inert=(Score(5.9),),
            perturbed=(Score(6),),
            channel="answer",
        )
        for i in range(90)
    )
    control, reason = of(Trials(rows, "score", Scale(1, 10)))

    assert (control.moved, control.gain) == (pytest.approx(0.1), pytest.approx(0.1))
    assert reason.kind is Kind.SAME_LENGTH


def test_a_noisy_judge_is_hardly_ever_called_one_of_length():
    """
    Noise .10 and nothing else: 45 rows, 400 seeds.

    Each seed says so with a probability of about .01; more than 12 of 400 would have one below 1 in 1000.
    """
    said = 0
    for seed in range(400):
        rng = Random(seed)
        asks = [["bad" if rng.random() < 0.1 else "good" for _ in range(3)] for _ in range(45)]
        _, reason = of(pairs([(three[:2], three[2:]) for three in asks]))
        said += reason is not NONE

    assert said <= 12, said
