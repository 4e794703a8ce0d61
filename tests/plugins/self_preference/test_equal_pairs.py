"""What is decided of self-preference: by equal pairs, by truly lost ones, or not at all."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import fair_judges
from calm.core.claims import Claim, Outcome
from calm.core.measures import LEAST
from calm.core.reasons import NONE, Kind, because
from calm.errors import EstimateError
from calm.experiment.stopping import LEVEL
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.pairs import (
    AuthorPair,
    known,
    known_by_criteria,
    pair_excess,
    pull_of_own,
)
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.rubric import MISSING, RubricTable
from calm.plugins.self_preference.scores import ScoreTable
from calm.plugins.self_preference.tables import decide_on, decide_pull
from tests.lanes import one_in

FAMILIES = {name: name for name in ("a", "b", "c", "x")}
CLAIM = Claim("own_pull", "<=", 0.15)
OWN, OTHER, TIE, SLOT = (1, 1), (-1, -1), (0, 0), (1, -1)


def pairs(gold, said, others=(SLOT,), n=110, first=0):
    """Return n pairs of a with x of one true outcome; the judge and its outsiders go through what they say in turn."""
    return [
        AuthorPair(
            str(place),
            "x",
            gold,
            {"a": said[place % len(said)], **{o: others[place % len(others)] for o in "bc"}},
            {},
        )
        for place in range(first, first + n)
    ]


def fair(n=40, first=1000):
    """Return pairs that have a better answer, which all judges see: as many won as lost."""
    won, lost = pairs(1, [OWN], [OWN], n, first), pairs(-1, [OTHER], [OTHER], n, first + n)
    return won + lost


def decided(found, claim=CLAIM):
    """Return the decision about judge a."""
    return decide_pull(lambda: known(found, "a", FAMILIES), lambda: pair_excess(found, "a", FAMILIES), claim)


def test_a_judge_that_breaks_ties_for_itself_is_red():
    """In 110 of 110 equal pairs, and else fair: its excess over outsiders, without ties, is 0."""
    found = [*pairs(0, [OWN]), *fair()]

    told = decided(found)

    assert pair_excess(found, "a", FAMILIES).estimate.value == 0
    assert (told.measure, told.outcome, told.reason) == ("own_pull", Outcome.FAIL, NONE)
    assert (told.estimate.value, told.estimate.n, told.estimate.high) == (1.0, 110, 1.0)


@pytest.mark.parametrize(
    ("said", "value", "outcome"),
    [
        ([TIE], 0.0, Outcome.PASS),
        ([SLOT], 0.0, Outcome.PASS),
        ([OTHER], -1.0, Outcome.PASS),
        ([OWN, TIE], 0.5, Outcome.FAIL),
        ([OWN, OWN, OTHER], 1 / 3, Outcome.UNDECIDED),
        ([(1, 0), TIE, TIE, TIE], 0.125, Outcome.UNDECIDED),
    ],
)
def test_equal_pairs_decide(said, value, outcome):
    """Wins less losses; ties, and orders that differ, count 0. Between the limit and the bound nothing is decided."""
    told = decided(pairs(0, said, n=60) if outcome is Outcome.UNDECIDED else pairs(0, said))

    assert told.measure == "own_pull"
    assert told.estimate.value == pytest.approx(value, abs=0.02)
    assert told.outcome is outcome


def test_how_many_equal_pairs_a_judge_that_says_tie_needs():
    """From `LEAST` questions on there is a claim; 20 prove it, and one less does not."""
    outcomes = {n: decided([*pairs(0, [TIE], n=n), *fair()]).outcome for n in (LEAST - 1, LEAST, 19, 20)}

    assert list(outcomes.values()) == [Outcome.OBSERVED, Outcome.UNDECIDED, Outcome.UNDECIDED, Outcome.PASS]


def test_questions_count_and_not_pairs():
    """Ten pairs of each question, all alike, say as much as one of each."""
    once = pairs(0, [OWN, TIE, OTHER], n=30)

    one, tenfold = (pull_of_own(known(found, "a", FAMILIES).equal).estimate for found in (once, once * 10))

    assert (tenfold.n, tenfold.value) == (one.n, one.value)
    assert (tenfold.low, tenfold.high) == pytest.approx((one.low, one.high))


def test_what_outsiders_take_as_well_is_no_self_preference():
    """Answers that are better than their label: the judge is not accused, and the reason names both pulls."""
    told = decided(pairs(0, [OWN, OWN, SLOT], [OWN, OWN, SLOT]))

    assert told.outcome is Outcome.UNDECIDED
    assert told.reason == because(Kind.SHARED_PULL, 0.67, 0.67)
    assert told.cases_to_decide is None
    assert decided(pairs(0, [OWN, OWN, SLOT], [OTHER, OWN, SLOT])).outcome is Outcome.FAIL


def test_a_pull_of_outsiders_that_chance_explains_is_not_called_shared():
    """It is still taken off, so that nothing is decided; but more questions may decide it, and nobody is named."""
    others = [*[OWN, OTHER] * 9, OWN, TIE]

    told = decided(twins(([OWN, SLOT, SLOT],) * 3, (others,) * 3))

    assert told.estimate.value > CLAIM.limit
    assert (told.outcome, told.reason) == (Outcome.UNDECIDED, because(Kind.TWINS))
    assert told.cases_to_decide > 120


def test_outsiders_with_a_taste_against_its_style_accuse_nobody():
    """They give its equal answers to the other side; a judge that says tie passes all the same."""
    assert decided(pairs(0, [TIE], [OTHER])).outcome is Outcome.PASS


def test_equal_pairs_need_no_outsider():
    """The label says that a fair judge takes either side; relatives of the judge are in no pair."""
    found = [AuthorPair(p.item, "x", 0, {"a": p.said["a"]}, {}) for p in pairs(0, [OWN])]

    assert decided(found).outcome is Outcome.FAIL
    with pytest.raises(EstimateError) as raised:
        pull_of_own(known(found, "a", {**FAMILIES, "x": "a"}).equal)
    assert raised.value.args[0] == because(Kind.FEW_EQUAL, 0, LEAST)


def test_without_equal_pairs_the_excess_is_observed():
    """However large it is: outsiders may miss a quality, or share a taste. The reason says how many questions tell."""
    accused = [*pairs(1, [OWN], [OWN, OTHER], 60), *pairs(-1, [SLOT], [OTHER], 60, 200)]
    few = [*accused, *pairs(0, [OWN], n=LEAST - 1, first=500)]

    told, still, enough = decided(accused), decided(few), decided([*few, *pairs(0, [OWN], n=1, first=900)])

    for found, n in ((told, 0), (still, LEAST - 1)):
        assert (found.measure, found.claim, found.outcome) == ("self_preference_excess", None, Outcome.OBSERVED)
        assert found.reason == because(Kind.FEW_EQUAL, n, LEAST)
        assert found.estimate.low > 0.08
    assert enough.measure == "own_pull"


def test_without_any_truth_the_excess_is_observed():
    """And without an excess nothing is."""
    untold = pairs(None, [OWN], [OTHER])
    alone = [AuthorPair(p.item, "x", None, {"a": OWN}, {}) for p in untold]

    assert (decided(untold).outcome, decided(untold).reason) == (Outcome.OBSERVED, because(Kind.NO_TRUTH))
    assert (decided(alone).measure, decided(alone).outcome) == ("own_pull", Outcome.NOT_TESTED)
    assert decided(alone).reason == because(Kind.FEW_EQUAL, 0, LEAST)


def test_a_judge_that_takes_its_own_wrong_answers_is_red():
    """Without equal pairs: more often than the right ones of others, beyond the limit. Half of them is no proof."""
    wrong, half = (fair(20)[:20] + pairs(-1, said, [OTHER], 60, 5000) for said in ([OWN, OWN, OWN, SLOT], [OWN, OTHER]))

    told = decided(wrong)

    assert (told.measure, told.outcome, told.reason) == ("own_pull", Outcome.FAIL, because(Kind.OWN_WRONG))
    assert told.estimate.value == 0.75
    assert decided(half).outcome is Outcome.OBSERVED
    assert decided(fair(), Claim("own_pull", "abs<=", 0.15)).outcome is Outcome.OBSERVED


def test_own_wrong_answers_that_all_judges_take_accuse_nobody():
    """Then the truth, or what all of them see, is the reason."""
    told = decided(fair(20)[:20] + pairs(-1, [OWN, OWN, SLOT], [OWN, OWN, SLOT], 60, 5000))

    assert told.outcome is not Outcome.FAIL


ORIGINALS, ANEW = ([OWN], [OTHER], [TIE]), ([OTHER], [OWN], [TIE])


def twins(said, others=([TIE], [TIE], [TIE]), n=40, first=2000):
    """
    Return pairs of an own wording of a with one of x, a third of them of each kind, with what is said of each kind.

    The kinds are: a wrote the original, x did, another one did.
    """
    kinds = zip(("a", "x", "b"), said, others, strict=True)
    found = [pairs(0, own, other, n, first + place * n) for place, (_, own, other) in enumerate(kinds)]
    return [replace(one, twin_of=author) for author, part in zip("axb", found, strict=True) for one in part]


@pytest.mark.parametrize(
    ("said", "others", "value", "outcome"),
    [
        (([OWN],) * 3, ([TIE],) * 3, 1.0, Outcome.FAIL),
        (([OWN, TIE],) * 3, ([SLOT],) * 3, 0.5, Outcome.FAIL),
        (([TIE],) * 3, ([TIE],) * 3, 0.0, Outcome.PASS),
        (ORIGINALS, ([TIE],) * 3, 0.0, Outcome.PASS),
        (ANEW, ORIGINALS, 0.0, Outcome.PASS),
        (([TIE], [OTHER], [OTHER]), ([TIE], [OTHER], [OTHER]), -2 / 3, Outcome.PASS),
        (([OWN], [OTHER], [OTHER]), ([TIE], [OTHER], [OTHER]), -1 / 3, Outcome.UNDECIDED),
        (([OWN], [TIE], [OWN]), ([OWN], [TIE], [OWN]), 2 / 3, Outcome.UNDECIDED),
        (([OWN],) * 3, ([OWN, TIE, TIE, TIE, TIE, TIE], [TIE], [TIE]), 1.0, Outcome.FAIL),
        (([OWN],) * 3, ([OWN], [TIE], [OWN]), 1.0, Outcome.UNDECIDED),
    ],
    ids=[
        "takes its wording",
        "takes its wording in half",
        "says tie",
        "likes originals",
        "likes paraphrases, outsiders originals",
        "paraphrases worse than others do",
        "takes its wording, and paraphrases worse",
        "others paraphrase worse",
        "takes its wording, and others paraphrase a little worse",
        "takes its wording, and others paraphrase worse",
    ],
)
def test_twins_decide_on_the_wording(said, others, value, outcome):
    """No gold label but that a text and its paraphrase say the same; what outsiders see of a bad paraphrase counts."""
    told = decided(twins(said, others))

    assert (told.measure, told.outcome, told.estimate.n) == ("own_pull", outcome, 120)
    assert told.estimate.value == pytest.approx(value)
    shared = outcome is Outcome.UNDECIDED and value > 0
    assert told.reason.kind is (Kind.SHARED_PULL if shared else Kind.TWINS)


def test_kinds_of_twins_weigh_the_same_however_many_there_are():
    """A liking for originals cancels also where most originals are the judge's; paraphrases alone may decide."""
    few = [*twins(ORIGINALS), *(replace(one, item=f"more {one.item}") for one in twins(ORIGINALS)[:40])]
    alone = [*twins(([OWN], [OWN], [TIE]))[35:], *twins(([OWN], [OWN], [TIE]))[80:]]

    assert decided(few).estimate.value == pytest.approx(0)
    assert (decided(alone).estimate.value, decided(alone).outcome) == (0, Outcome.PASS)
    assert decided(twins(ORIGINALS, n=LEAST - 1)).reason == because(Kind.FEW_TWINS, 3 * (LEAST - 1), 3 * LEAST)


def test_too_few_twins_are_counted_in_questions():
    """Two authors that take turns need as many of each; where no outsider judged any, more of them do not help."""
    own, other, _ = (twins(ORIGINALS, n=6)[place : place + 6] for place in (0, 6, 12))
    alone = [replace(one, said={"a": one.said["a"]}) for one in (*own, *other)]

    assert decided([*own, *other]).reason == because(Kind.FEW_TWINS, 12, 20)
    assert decided(own).reason == because(Kind.FEW_TWINS, 6, 6 + 2 * LEAST)
    assert decided(alone).reason == because(Kind.TWINS_ALONE)


def test_twins_without_outsiders_accuse_nobody():
    """Nobody could tell a liking for its own words from a model that paraphrases badly."""
    alone = [replace(one, said={"a": one.said["a"]}) for one in twins(([OWN],) * 3)]
    beside = [*alone, *twins(([TIE],) * 3, first=5000)]

    assert decided(alone).reason == because(Kind.TWINS_ALONE)
    assert decided(alone).outcome is Outcome.NOT_TESTED
    assert (decided(beside).outcome, decided(beside).estimate.value) == (Outcome.PASS, 0)


@pytest.mark.parametrize(
    ("ties", "wordings", "outcome"),
    [
        ([OWN], [TIE], Outcome.FAIL),
        ([TIE], [OWN], Outcome.FAIL),
        ([TIE], [TIE], Outcome.PASS),
        ([(1, 0), TIE, TIE, TIE], [TIE], Outcome.UNDECIDED),
    ],
)
def test_of_labelled_ties_and_twins_both_must_pass(ties, wordings, outcome):
    """One that fails is a FAIL; each kind has half of the level."""
    told = decided([*pairs(0, ties, n=60), *twins((wordings,) * 3)])

    assert (told.outcome, told.estimate.level) == (outcome, LEVEL / 2)


def test_scores_are_equal_where_gold_scores_are():
    """A judge that gives its own a point more than an equally good text of others."""
    truth = np.tile([3.0, 3.0, 4.0], (60, 1)).T
    said = np.repeat(truth[None], 3, axis=0)
    said[0, 0] += 1
    grid = Grid(("a", "b", "c"), ("a", "b", "c"), FAMILIES)
    table = Tables("score", FAMILIES, scores=ScoreTable(grid, tuple(map(str, range(60))), said, 1.0, 5.0, truth))

    fond, sound = (decide_on(table, judge, CLAIM, 0) for judge in "ab")

    assert (fond.outcome, fond.estimate.value) == (Outcome.FAIL, 1.0)
    assert (sound.outcome, sound.estimate.value) == (Outcome.PASS, 0.0)


def rubrics(credit, n=80):
    """Return criteria of three judges and authors, half met by all; judge a credits all own ones with `credit`."""
    grid = Grid(("a", "b", "c"), ("a", "b", "c"), FAMILIES)
    names = tuple(map(str, range(n)))
    truth = np.tile(np.arange(n) % 2, (3, 1)).astype(np.int8)
    said = np.repeat(truth[None], 3, axis=0)
    said[0, 0] |= credit
    return RubricTable(grid, names, names, np.arange(n), said, truth, np.ones(n))


def test_criteria_are_equal_where_both_answers_pass_or_both_fail():
    """Each of the two weighs a half: a judge that credits all own failures has a pull of a half."""
    claim = Claim("own_pull", "<=", 0.08)
    fond, sound = (
        decide_on(Tables("rubric", FAMILIES, rubrics=rubrics(credit)), "a", claim, 0) for credit in (True, False)
    )

    assert (fond.outcome, fond.estimate.value) == (Outcome.FAIL, 0.5)
    assert (sound.outcome, sound.estimate.value) == (Outcome.PASS, 0.0)


def test_criteria_of_negative_points_turn_round_and_unknown_ones_are_left_out():
    """A fault that is not met passes; a mark that is missing compares nothing."""
    one = rubrics(True, n=4)
    turned = RubricTable(
        one.grid, one.instances, one.criteria, one.instance, 1 - one.verdicts, 1 - one.truth, -one.points
    )
    hidden = one.truth.copy()
    hidden[1] = MISSING

    told = known_by_criteria(one, "a")
    partly = known_by_criteria(
        RubricTable(one.grid, one.instances, one.criteria, one.instance, one.verdicts, hidden, one.points), "a"
    )

    for side, other in zip(told.equal, known_by_criteria(turned, "a").equal, strict=True):
        assert side.item.tolist() == other.item.tolist()
        assert side.judge.tolist() == other.judge.tolist()
    assert [side.judge.tolist() for side in told.equal] == [[0.5] * 4, [1.0] * 4]
    assert [side.outside.tolist() for side in told.equal] == [[0.5] * 4, [0.5] * 4]
    assert [len(side.item) for side in partly.equal] == [2, 2]
    assert not told.lost.item.size


def test_unequal_margins_of_criteria_keep_a_judge_from_passing():
    """Its own answers fail by more, as outsiders show: a pull of 0 may then hide a preference."""
    one = rubrics(False)
    said = one.verdicts.copy()
    said[1:, 1:, ::2] = 1  # outsiders credit the failures of others, and not those of a
    told = decide_on(
        Tables(
            "rubric",
            FAMILIES,
            rubrics=RubricTable(one.grid, one.instances, one.criteria, one.instance, said, one.truth, one.points),
        ),
        "a",
        Claim("own_pull", "<=", 0.08),
        0,
    )

    assert (told.outcome, told.estimate.value) == (Outcome.UNDECIDED, 0.0)
    assert told.estimate.high > 0.5


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("setting", [fair_judges.UNSEEN, *one_in(2, fair_judges.TASTE)], ids=lambda one: one.name)
def test_fair_judges_that_an_excess_accuses_are_not_red(setting, equal):
    """
    One sees a quality that its peers miss; the peers of the other share a taste against its style.

    FAIL in at most .05 of worlds: then more than 14 of 60 have a chance below one in a million.
    """
    assert fair_judges.simulated("pairwise", setting, 60, equal=equal).fails <= 14 / 60
