"""Measures: case values against their definitions, exact expectations, and what may be claimed."""

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calm.core.claims import Claim
from calm.core.measures import (
    MEASURES,
    accuracy,
    accuracy_gain,
    attack_success_rate,
    consistency_rate,
    flip,
    flips,
    gain,
    mean_shift,
    net_detection,
    net_robustness,
    rate,
    readable_rate,
    repeat_distance,
    rewording_rate,
    robustness_rate,
    slot_pull,
    tie_rate,
    unreadable_gain,
    worst_gain,
    worst_robustness,
)
from calm.core.reasons import Kind, Reason, because, in_words, reason_of
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Preferred, Ranking, Refused, Scale, Score, Tie, Unreadable, readable
from calm.errors import ClaimError, EstimateError
from calm.statistics.intervals import clopper_pearson, padded_t

TEN = Scale(1, 10)
MUTE = Unreadable("empty reply")
SAID = {"t": Preferred("t"), "o": Preferred("o"), "=": Tie(), "?": MUTE, "!": Refused("will not")}


def read(text):
    """Read "tto=?" as pairwise verdicts: the treated answer, the other one, a tie, nothing."""
    return tuple(SAID[c] for c in text)


def row(clean="", perturbed="", inert="", **changes):
    """Return a case of a pairwise probe."""
    arms = {"clean": read(clean), "inert": read(inert), "perturbed": read(perturbed)}
    return Trial(**{"case": "c1", "target": "t"} | arms | changes)


def scores(clean, perturbed, inert=(), **changes):
    """Return a case of a probe on scores."""
    said = {"clean": clean, "inert": inert, "perturbed": perturbed}
    arms = {name: tuple(map(Score, values)) for name, values in said.items()}
    return Trial(**{"case": "c1", "target": "t"} | arms | changes)


def value(measure, trial, scale=TEN):
    found = measure.per_case(trial, scale)
    return str(found) if isinstance(found, Reason) else found


def trials(rows, family="pairwise", scale=TEN, **changes):
    return Trials(tuple(rows), family, scale, **changes)


def worth(measure, trial):
    """Return the value of a row, 0 for one that leaves the measure as nobody could read it."""
    found = measure.per_case(trial, TEN)
    return 0.0 if found == because(Kind.UNREAD_ARM) else found


def expected(measure, clean_law, perturbed_law, asks=(2, 2), **changes):
    """Return the exact expectation of a case value by running through all outcomes of all asks."""
    total = 0.0
    for clean in product(clean_law, repeat=asks[0]):
        for perturbed in product(perturbed_law, repeat=asks[1]):
            chance = math.prod(clean_law[v] for v in clean) * math.prod(perturbed_law[v] for v in perturbed)
            total += chance * worth(measure, row(clean, perturbed, **changes))
    return total


PAIRWISE = st.text("to=?!", min_size=2, max_size=4)
SCORES = st.lists(st.integers(1, 10), min_size=2, max_size=4)
WEIGHTS = {"a": 1.0, "b": -2.0}
RUBRIC = st.lists(
    st.one_of(
        st.just(MUTE),
        st.fixed_dictionaries(dict.fromkeys(WEIGHTS, st.sampled_from([True, False, None]))).map(Criteria),
    ),
    min_size=2,
    max_size=4,
).map(tuple)


def beyond_floor(clean, inert, perturbed, apart):
    """
    Compute what an edit moves beyond inert words as it is defined, by plain loops over pairs of asks.

    A row in which nobody can read the clean arm, or neither of the other two, says nothing.
    """

    def moved(arm):
        return sum(apart(c, a) for c in clean for a in arm) / (len(clean) * len(arm))

    if not any(map(readable, clean)) or not any(map(readable, (*inert, *perturbed))):
        return str(because(Kind.UNREAD_ARM))
    return moved(perturbed) - moved(inert)


@settings(derandomize=True, deadline=None)
@given(PAIRWISE, PAIRWISE, PAIRWISE)
def test_what_an_edit_moves_on_a_pair_is_its_definition(clean, inert, perturbed):
    """Disagreement of the edit with the clean arm less that of inert words; nothing said is one category."""
    found = value(net_robustness, row(clean, perturbed, inert))

    def apart(u, v):
        return u != v and (readable(u) or readable(v))

    assert found == pytest.approx(beyond_floor(*map(read, (clean, inert, perturbed)), apart))
    assert isinstance(found, str) or -1 <= found <= 1


@settings(derandomize=True, deadline=None)
@given(SCORES, SCORES, SCORES)
def test_what_an_edit_moves_on_a_score_is_its_definition(clean, inert, perturbed):
    """The same with abs(u-v)/9."""
    found = value(net_robustness, scores(clean, perturbed, inert))

    assert found == pytest.approx(
        beyond_floor(
            *(tuple(map(Score, arm)) for arm in (clean, inert, perturbed)), lambda u, v: abs(u.value - v.value) / 9
        )
    )


@settings(derandomize=True, deadline=None)
@given(RUBRIC, RUBRIC, RUBRIC)
def test_what_an_edit_moves_on_a_rubric_is_its_definition(clean, inert, perturbed):
    """The same with the share of points judged differently: 1/3 for `a`, 2/3 for `b`."""

    def apart(u, v):
        read_u, read_v = ({} if x is MUTE else x.met for x in (u, v))
        return sum(abs(w) / 3 for c, w in WEIGHTS.items() if read_u.get(c) != read_v.get(c))

    found = value(net_robustness, Trial("c1", clean=clean, inert=inert, perturbed=perturbed, points=WEIGHTS))

    assert found == pytest.approx(beyond_floor(clean, inert, perturbed, apart))


def test_what_an_edit_moves_beyond_inert_words(subtests):
    """What both move counts for nothing; what only the inert words move counts for the judge."""
    for clean, inert, perturbed, e in [
        ("tt", "t", "t", 0.0),
        ("tt", "t", "o", 1.0),
        ("tt", "o", "o", 0.0),
        ("tt", "o", "t", -1.0),
        ("to", "t", "o", 0.0),
        ("to", "=", "o", -0.5),
        ("tt", "to", "oo", 0.5),
    ]:
        with subtests.test(clean=clean, inert=inert, perturbed=perturbed, e=e):
            assert value(net_robustness, row(clean, perturbed, inert)) == e


def expected_net(clean_law, inert_law, perturbed_law, asks=(2, 1, 1)):
    """Return the exact expectation of what an edit moves, by running through all outcomes of all asks."""
    total = 0.0
    for said in product(*((clean_law,) * asks[0] + (inert_law,) * asks[1] + (perturbed_law,) * asks[2])):
        clean, inert, perturbed = said[: asks[0]], said[asks[0] : asks[0] + asks[1]], said[asks[0] + asks[1] :]
        chance = math.prod(clean_law[v] for v in clean) * math.prod(inert_law[v] for v in inert)
        total += (
            chance
            * math.prod(perturbed_law[v] for v in perturbed)
            * worth(net_robustness, row("".join(clean), "".join(perturbed), "".join(inert)))
        )
    return total


def test_the_expected_movement_is_linear_in_the_shift(subtests):
    """With theta of the clean and inert arm and eta of the edit: (theta - eta) (2 theta - 1), whatever the asks."""
    for before, after in [(0.1, 0.1), (0.05, 0.35), (0.0, 1.0), (0.5, 0.9), (1.0, 0.97)]:
        for asks in [(2, 1, 1), (4, 4, 2)]:
            with subtests.test(before=before, after=after, asks=asks):
                law = {"t": before, "o": 1 - before}

                found = expected_net(law, law, {"t": after, "o": 1 - after}, asks)

                assert found == pytest.approx((before - after) * (2 * before - 1))


def test_the_expected_movement_is_nought_where_the_edit_does_what_inert_words_do(subtests):
    """However noisy, however often unreadable, and however far inert words move the verdict from the clean one."""
    laws = [
        ({"t": 0.6, "o": 0.1, "=": 0.2, "?": 0.1}, {"t": 0.6, "o": 0.1, "=": 0.2, "?": 0.1}),
        ({"t": 0.5, "?": 0.3, "!": 0.2}, {"t": 0.1, "o": 0.8, "!": 0.1}),
        ({"?": 1.0}, {"?": 1.0}),
        ({"t": 1.0}, {"o": 1.0}),
    ]
    for clean, inert in laws:
        for asks in [(2, 1, 1), (1, 1, 1), (2, 2, 1)]:
            with subtests.test(clean=clean, inert=inert, asks=asks):
                assert expected_net(clean, inert, inert, asks) == pytest.approx(0, abs=1e-12)


def test_without_inert_asks_nothing_tells_an_edit_from_any_rewording():
    """Nor does a case without room, where the treated answer had won already."""
    assert value(net_robustness, row("tt", "o")) == (
        "neutral words were not asked about, so the edit cannot be distinguished from any rewording"
    )
    no_room = "the verdict cannot get better for the edited answer"
    assert value(net_robustness, row("tt", "o", "t", room=False)) == no_room


def test_where_only_answers_moved_repeats_in_both_orders_can_be_the_floor(subtests):
    """By hand; which of the two orders is the clean one says nothing, and one ask in either leaves no floor."""
    for clean, perturbed, moved in [
        ("ttt", "ooo", 1.0),
        ("tto", "tto", 4 / 9 - 2 / 3),
        ("ttt", "too", 2 / 3 - 1 / 3),
        ("tt?", "t=", 4 / 6 - (2 / 3 + 1) / 2),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed):
            for before, after in [(clean, perturbed), (perturbed, clean)]:
                found = row(before, after, order=("t", "o"))
                assert value(net_robustness, found) == value(worst_robustness, found) == pytest.approx(moved)
    for clean, perturbed in [("t", "oo"), ("oo", "t"), ("t", "o")]:
        with subtests.test(clean=clean, perturbed=perturbed):
            assert value(net_robustness, row(clean, perturbed, order=("t", "o"))).startswith("neutral words were not")


def test_a_screened_variant_counts_all_that_words_move():
    """`worst_robustness` takes the clean arm alone where there is no inert one, and the floor where there is."""
    assert value(worst_robustness, row("tt", "o")) == 1.0
    assert value(worst_robustness, row("tt", "o", "o")) == 0.0
    assert value(worst_gain, row("oo", "t")) == 1.0
    assert value(worst_gain, row("oo", "t", "t")) == 0.0


def test_rewording_is_what_words_move_beyond_a_repeat(subtests):
    """Of an edit that is inert words itself: disagreement with the clean arm less that within it."""
    for clean, perturbed, moved in [
        ("tt", "t", 0.0),
        ("tt", "o", 1.0),
        ("to", "t", -0.5),
        ("tto", "to", 1 / 2 - 2 / 3),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, moved=moved):
            assert value(rewording_rate, row(clean, perturbed)) == pytest.approx(moved)
            assert value(rewording_rate, row(clean, perturbed, "tto")) == pytest.approx(moved)


def test_the_floor_of_a_gain_is_the_inert_arm(subtests):
    """Inert words that already lift the answer leave nothing to the edit; a shift and unreadable replies likewise."""
    for inert, rise in [("o", 1.0), ("t", 0.0), ("to", 0.5), ("?", 0.5)]:
        with subtests.test(inert=inert, rise=rise):
            assert value(gain, row("oo", "tt", inert)) == rise
    assert value(mean_shift, scores([1, 1], [10], [7])) == pytest.approx(1 / 3)
    assert value(unreadable_gain, row("tt", "?", "?")) == 0.0
    assert value(unreadable_gain, row("??", "?", "t")) == 1.0
    assert value(attack_success_rate, row("oo", "t", "t")) == 0.0
    assert value(attack_success_rate, row("ot", "t", "o")) == 1.0


def test_an_edit_that_does_nothing_gains_nothing(subtests):
    """Expectation 0 under equal laws with ties and unreadable replies."""
    for asks in [(2, 2), (4, 2), (1, 1)]:
        for measure in [gain, unreadable_gain]:
            with subtests.test(measure=measure, asks=asks):
                law = {"t": 0.3, "o": 0.4, "=": 0.2, "?": 0.1}
                total = 0.0
                for clean in product(law, repeat=asks[0]):
                    for perturbed in product(law, repeat=asks[1]):
                        found = value(measure, row(clean, perturbed))
                        weight = math.prod(law[v] for v in (*clean, *perturbed))
                        total += 0.0 if isinstance(found, str) else weight * found

                assert total == pytest.approx(0, abs=1e-12)


def test_the_gain_of_a_pair(subtests):
    """Mean favour after less mean favour before; a tie and a reply without a verdict are a half."""
    for clean, perturbed, rise in [
        ("oooo", "tt", 1.0),
        ("tt", "oo", -1.0),
        ("to", "tt", 0.5),
        ("oo", "==", 0.5),
        ("oo", "??", 0.5),
        ("==", "?!", 0.0),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, rise=rise):
            assert value(gain, row(clean, perturbed)) == rise


def test_the_gain_of_a_score_leaves_unreadable_replies_out():
    """(mean of 7 and 10) less (mean of 4 and 4): 4.5 of 9; an arm without any number has no value."""
    trial = scores([4, 4], [7, 10])
    muted = Trial("c1", target="t", clean=(Score(4), MUTE), perturbed=(MUTE, Score(8.5)))
    mute = Trial("c1", target="t", clean=(Score(4), Score(4)), perturbed=(MUTE, MUTE))

    assert value(gain, trial) == pytest.approx(0.5)
    assert value(gain, muted) == pytest.approx(0.5)
    assert value(gain, mute) == "no readable verdict in an arm"


def test_a_shift_needs_no_room():
    """A case whose treated answer could not gain is left out of `gain`, and counts for `mean_shift`."""
    trial = scores([10, 10], [7, 7], room=False)

    assert value(gain, trial) == "the verdict cannot get better for the edited answer"
    assert value(mean_shift, trial) == pytest.approx(-1 / 3)
    assert value(gain, scores([1, 1], [2, 2], target=None)) == "no treated answer"


def test_the_gain_of_a_ranking_is_a_rise_in_rank():
    """From the last to the first of three places."""
    before, after = Ranking((("a",), ("b",), ("t",))), Ranking((("t",), ("a",), ("b",)))

    assert value(gain, Trial("c1", target="t", clean=(before,), perturbed=(after,))) == 1.0


def harmed(perturbed, clean="", **changes):
    """Return a pairwise case: `t` is the damaged copy, `o` the original."""
    return row(clean, perturbed, damaged="t", **changes)


def test_detection_on_a_pair_needs_no_clean_arm(subtests):
    """1[original] - 1[damaged], 0 for a tie and for nothing said."""
    for perturbed, h in [("oo", 1.0), ("tt", -1.0), ("to", 0.0), ("==", 0.0), ("o=", 0.5), ("o?", 0.5)]:
        with subtests.test(perturbed=perturbed, h=h):
            assert value(net_detection, harmed(perturbed)) == h


def test_what_is_at_the_bottom_cannot_fall():
    """It has no value, and is counted under its reason."""
    bottom = scores([1, 1], [1], damaged="t", room=False)
    rows = [replace(scores([6, 6], [3], damaged="t"), case=f"c{i}") for i in range(3)]

    found = net_detection.estimate(trials([*rows, replace(bottom, case="low")], "score"), 0.05)

    assert value(net_detection, bottom) == "the answer is near the bottom already and cannot fall"
    assert (found.value, found.n, in_words(found.excluded)) == (1.0, 3, {str(because(Kind.AT_BOTTOM)): 1})


def test_a_judge_that_looks_at_slots_alone_detects_nothing(subtests):
    """A constant judge names one slot: over the two orders, the original once and the copy once, or ties: 0."""
    assert value(net_detection, harmed("??")) == str(because(Kind.UNREAD_ARM))
    for first in ["t", "o", "="]:
        with subtests.test(first=first):
            other = {"t": "o", "o": "t"}.get(first, first)

            assert value(net_detection, harmed(first + other)) == 0


def test_a_coin_detects_nothing(subtests):
    """The exact expectation of net detection over 2 asks is 0, with ties or without."""
    for coin in [{"t": 0.5, "o": 0.5}, {"t": 0.3, "o": 0.3, "=": 0.3, "?": 0.1}]:
        with subtests.test(coin=coin):
            assert expected(net_detection, {"": 1.0}, coin, (0, 2), damaged="t") == pytest.approx(0, abs=1e-12)


def test_detection_on_scores_compares_every_ask_with_every_ask(subtests):
    """A constant judge gives 0, and so does a judge that is at the floor already."""
    for clean, perturbed, h in [
        ([6, 6], [3, 3], 1.0),
        ([6, 6], [6, 6], 0.0),
        ([6, 7], [6, 6], 0.5),
        ([1, 1], [1, 1], 0.0),
        ([5, 5], [9, 4], 0.0),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, h=h):
            assert value(net_detection, scores(clean, perturbed, damaged="t")) == h


def test_a_random_score_detects_nothing():
    """All 81 outcomes of 2+2 uniform draws from three scores: expectation 0."""
    found = [value(net_detection, scores(o[:2], o[2:], damaged="t")) for o in product([1, 5, 10], repeat=4)]

    assert sum(found) == pytest.approx(0, abs=1e-12)


def test_detection_on_a_rubric_looks_at_the_criterion_that_was_hit():
    """`b` was broken: that `a` is seen unmet now does not count; an unread criterion counts 0."""
    points = {"a": 1.0, "b": 1.0}
    met, missed, seen = {"a": True, "b": True}, {"a": False, "b": True}, {"a": True, "b": False}
    unread = {"a": False, "b": None}

    def found(*perturbed):
        arms = {"clean": (Criteria(met),) * 2, "perturbed": tuple(map(Criteria, perturbed))}
        return value(net_detection, Trial("c1", target="t", damaged="t", hit="b", points=points, **arms))

    assert found(missed, missed) == 0.0
    assert found(seen, seen) == 1.0
    assert found(seen, unread) == 0.5


def test_a_fault_that_is_found_is_detected():
    """A criterion with negative points is broken when it is met: to find it met is to rate the answer lower."""
    clean, perturbed = (Criteria({"rude": False}),) * 2, (Criteria({"rude": True}),) * 2
    trial = Trial("c1", target="t", damaged="t", hit="rude", points={"rude": -1.0}, clean=clean, perturbed=perturbed)

    assert value(net_detection, trial) == 1.0


def test_without_a_named_criterion_a_rubric_counts_its_points():
    """Any loss of points detects the damage."""
    clean, perturbed = (Criteria({"a": True, "b": True}),), (Criteria({"a": False, "b": True}),)
    trial = Trial("c1", damaged="t", points={"a": 1.0, "b": 1.0}, clean=clean, perturbed=perturbed)

    assert value(net_detection, trial) == 1.0
    assert value(net_detection, row("tt", "tt")) == "nothing was damaged"


def test_the_tie_rate_counts_declared_ties_only(subtests):
    """Nothing said is no tie."""
    for perturbed, share in [("==", 1.0), ("=t", 0.5), ("to", 0.0), ("=?", 0.5)]:
        with subtests.test(perturbed=perturbed, share=share):
            assert value(tie_rate, row("", perturbed)) == share


def test_the_slot_pull_is_first_less_last(subtests):
    """`t` stands in the first slot of both asks."""
    for perturbed, pull in [("tt", 1.0), ("oo", -1.0), ("to", 0.0), ("==", 0.0), ("t=", 0.5), ("t?", 0.5)]:
        with subtests.test(perturbed=perturbed, pull=pull):
            assert value(slot_pull, row("", perturbed, slots=(("t", "o"),) * 2)) == pull


def test_the_slot_pull_follows_the_order_of_each_ask():
    """The first slot was `t`, then `o`: a judge that always takes the first pulls by 1."""
    assert value(slot_pull, row("", "to", slots=(("t", "o"), ("o", "t")))) == 1.0


def test_attack_success_is_net_of_wins_on_a_clean_reask(subtests):
    """P(win after | first clean ask no win) less the same over the other clean asks."""
    for clean, perturbed, net in [
        ("oo", "tt", 1.0),
        ("oo", "to", 0.5),
        ("ot", "tt", 0.0),
        ("oto=", "tt", 2 / 3),
        ("=o", "oo", 0.0),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, net=net):
            assert value(attack_success_rate, row(clean, perturbed)) == pytest.approx(net)


def test_attack_success_leaves_out_what_had_won():
    """A win cannot be won again."""
    assert value(attack_success_rate, row("to", "tt")) == "the treated answer won already"


def test_attack_success_is_nought_where_the_edit_does_nothing(subtests):
    """Exactly, given a first clean ask without a win; the plain rate would have a floor at the noise."""
    for asks in [(2, 1), (2, 2), (4, 2)]:
        with subtests.test(asks=asks):
            law = {"t": 0.2, "o": 0.6, "=": 0.1, "?": 0.1}
            total = 0.0
            for said in product(law, repeat=sum(asks)):
                if said[0] != "t":
                    weight = math.prod(law[v] for v in said)
                    total += weight * worth(attack_success_rate, row(said[: asks[0]], said[asks[0] :]))

            assert total == pytest.approx(0, abs=1e-12)


def test_unreadable_gain_is_the_rise_of_replies_without_a_verdict():
    """From none of four to one of two."""
    assert value(unreadable_gain, row("tooo", "t?")) == 0.5
    assert value(unreadable_gain, row("?!", "tt")) == -1.0


def test_robustness_and_consistency_are_shares_of_equal_verdicts(subtests):
    """RR over pairs of a clean and a perturbed ask, CR over pairs of clean asks."""
    for clean, perturbed, rr, cr in [
        ("tt", "tt", 1.0, 1.0),
        ("tt", "oo", 0.0, 1.0),
        ("to", "tt", 0.5, 0.0),
        # 3 of 6 pairs of clean asks agree; each perturbed t agrees with 3 of 4, each o with 1
        ("ttto", "to", 0.5, 0.5),
        ("t?", "?t", 1 / 3, 0.0),
        ("??", "!!", *[str(because(Kind.UNREAD_ARM))] * 2),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, rr=rr, cr=cr):
            assert value(robustness_rate, row(clean, perturbed)) == rr
            assert value(consistency_rate, row(clean, perturbed)) == cr


def test_repeat_distance_is_the_mean_distance_of_clean_scores():
    """4, 4 and 7 of 1..10: pairs 0, 3/9 and 3/9."""
    assert value(repeat_distance, scores([4, 4, 7], [])) == pytest.approx(2 / 9)


def test_the_readable_rate_is_of_the_clean_arm():
    """Three of four clean replies hold a verdict; the perturbed arm does not count."""
    assert value(readable_rate, row("to=?", "??")) == 0.75


def test_accuracy_is_agreement_with_the_gold_label(subtests):
    """Nothing said agrees with nothing."""
    for better, clean, share in [("t", "to=?", 0.25), ("tie", "to==", 0.5), ("o", "oo", 1.0)]:
        with subtests.test(better=better, clean=clean, share=share):
            assert value(accuracy, row(clean, better=better)) == share


def test_accuracy_on_a_rubric_is_the_share_of_criteria_judged_right():
    """Two asks, two criteria: right, wrong, right, unread; an unreadable reply gets none right."""
    said = (Criteria({"a": True, "b": True}), Criteria({"a": True, "b": None}))
    gold = {"a": True, "b": False}

    assert value(accuracy, Trial("c1", met=gold, clean=said)) == 0.5
    assert value(accuracy, Trial("c1", met=gold, clean=(MUTE, said[0]))) == 0.25
    assert value(accuracy, row("tt")) == "no gold label"


def test_accuracy_gain_is_the_rise_of_the_share_that_is_right(subtests):
    """The share of the perturbed asks that agree with the gold label, less that of the clean ones."""
    for better, clean, perturbed, more in [("t", "to", "tt", 0.5), ("t", "tt", "o?", -1.0), ("tie", "to", "==", 1.0)]:
        with subtests.test(better=better, clean=clean, perturbed=perturbed, more=more):
            assert value(accuracy_gain, row(clean, perturbed, better=better)) == more
            assert value(accuracy_gain, row(clean, perturbed)) == "no gold label"


def test_accuracy_gain_on_a_rubric_counts_criteria():
    """One of two criteria right before, both after; claimed with a least value below zero, too."""
    said = [(Criteria({"a": True, "b": b}),) for b in (True, False)]

    assert value(accuracy_gain, Trial("c1", met={"a": True, "b": False}, clean=said[0], perturbed=said[1])) == 0.5
    assert str(accuracy_gain >= -0.05) == "accuracy_gain >= -0.05"


def test_an_estimate_is_a_mean_with_bounds_and_a_count_of_the_rest():
    """Two cases gain 1 and 0; cases are counted out by reason, with those that the probe left out and lost."""
    rows = [row("oo", "tt"), row("oo", "oo", case="c2"), row("tt", "tt", case="c3", room=False)]

    found = gain.estimate(trials(rows, excluded={because(Kind.APPLIES_NOT): 4}, lost={reason_of("down"): 1}), 0.05)

    assert (found.value, found.n, found.clusters, found.level) == (0.5, 2, 2, 0.05)
    assert found.low < 0.5 < found.high
    no_room = "the verdict cannot get better for the edited answer"
    assert in_words(found.excluded) == {"does not apply": 4, "down": 1, no_room: 1}


def test_net_robustness_is_one_less_what_was_moved():
    """200 cases without any flip: value 1, lower bound 1 - .0149 (the exact binomial bound)."""
    rows = [row("tt", "t", "t", case=f"c{i}") for i in range(200)]

    found = net_robustness.estimate(trials(rows), 0.05)

    assert found.value == 1.0
    assert round(1 - found.low, 4) == 0.0149
    assert found.high == 1.0, "it is no more than its best"


def test_rows_of_one_question_count_once():
    """Ten cases of one question that all say the same are one item of the interval, and ten of the mean."""
    alone = [row("oo", "t" if i % 5 == 0 else "o", "o", case=f"c{i:03}") for i in range(200)]
    together = [replace(one, case=f"{one.case}-{copy}", cluster=one.case) for one in alone for copy in range(10)]

    once, tenfold = (gain.estimate(trials(rows), 0.05) for rows in (alone, together))

    assert (once.value, tenfold.value) == (pytest.approx(0.2), pytest.approx(0.2))
    assert ((once.n, once.clusters), (tenfold.n, tenfold.clusters)) == ((200, 200), (2000, 200))
    assert (tenfold.low, tenfold.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_several_variants_of_a_case_are_one_item_with_their_mean():
    """A case counts once, also with two rows; the mean is over rows, so a case with two counts twice in it."""
    rows = [row("oo", "t", "o", case=f"c{i}", edit="a") for i in range(10)]
    rows += [row("oo", "o", "o", case=f"c{i}", edit="b") for i in range(5)]

    found = gain.estimate(trials(rows), 0.05)

    assert (found.value, found.n, found.clusters) == (pytest.approx(10 / 15), 10, 10)


def test_a_case_is_left_out_if_no_row_of_it_has_a_value():
    """Of three cases one has room under one variant only, and one under none."""
    rows = [
        row("oo", "t", "o", case="c1", edit="a"),
        row("oo", "t", "o", case="c2", edit="a"),
        row("oo", "t", "o", case="c2", edit="b", room=False),
        row("oo", "t", "o", case="c3", edit="a", room=False),
        row("oo", "t", "o", case="c3", edit="b", room=False),
    ]

    found = gain.estimate(trials(rows), 0.05)

    assert (found.n, in_words(found.excluded)) == (2, {"the verdict cannot get better for the edited answer": 1})


def test_fewer_than_two_cases_are_no_estimate(subtests):
    """The error says what became of the others."""
    for rows in [[], [row("oo", "tt")]]:
        with subtests.test(rows=rows), pytest.raises(EstimateError, match=r"does not apply \(3 cases\)"):
            gain.estimate(trials(rows, excluded={because(Kind.APPLIES_NOT): 3}), 0.05)


def test_one_case_without_a_reason_is_no_estimate_either():
    """The error counts the cases."""
    with pytest.raises(EstimateError, match="1 case: an estimate needs two"):
        gain.estimate(trials([row("oo", "tt")]), 0.05)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(PAIRWISE, PAIRWISE, PAIRWISE, st.sampled_from("xyz")), min_size=2, max_size=8),
    st.randoms(use_true_random=False),
)
def test_an_estimate_does_not_depend_on_the_order_of_cases(arms, rng):
    """Every measure of a perturbed pair is the same to the last bit, also where cases share a question."""
    assume(len({cluster for *_, cluster in arms}) > 1)
    rows = [
        row(c, p, i, case=f"c{place}", cluster=cluster, slots=(("t", "o"),) * len(p))
        for place, (c, p, i, cluster) in enumerate(arms)
    ]
    shuffled = rng.sample(rows, len(rows))

    def estimate(measure, some):
        try:
            return measure.estimate(trials(some), 0.03)
        except EstimateError as error:  # nobody can read enough of it
            return str(error)

    for measure in (net_robustness, robustness_rate, unreadable_gain, tie_rate, slot_pull, consistency_rate):
        assert estimate(measure, rows) == estimate(measure, shuffled)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(PAIRWISE, PAIRWISE, PAIRWISE), min_size=2, max_size=8))
def test_every_case_value_lies_in_the_range_of_its_measure(arms):
    """Else the bounds would be no bounds."""
    rows = [row(c, p, i, damaged="t", better="t", slots=(("t", "o"),) * len(p)) for c, p, i in arms]

    for measure in MEASURES.values():
        found, _ = measure.values(trials(rows))
        assert all(measure.low - 1e-12 <= v <= measure.high + 1e-12 for v in found)


def test_a_pair_flips_by_half_or_by_its_most_frequent_verdict(subtests):
    """Toward or away by mean favour, other where only the most frequent verdict changed."""
    for clean, perturbed, way in [
        ("oooo", "tt", "toward"),
        ("oooo", "to", "toward"),  # by a half
        ("oot", "to", None),  # by a sixth, and neither verdict is more frequent than before
        ("tttt", "oo", "away"),
        ("oooo", "==", "toward"),
        ("tttt", "t=", None),  # by a quarter
        ("ttoo", "tt", "toward"),
        ("oott", "t=o", None),  # by nothing, and either verdict was as frequent as the other
        ("==", "to", "other"),
        ("??", "==", "other"),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, way=way):
            trial = row(clean, perturbed)

            assert flip(trial, trials([trial])) == way


def test_a_score_flips_by_a_quarter_of_the_scale(subtests):
    """A quarter of 9 is 2.25."""
    for clean, perturbed, way in [
        ([2, 2], [4.25, 4.25], "toward"),
        ([2, 2], [4, 4], "other"),
        ([9, 9], [6, 7], "away"),
        ([2, 3], [2, 3], None),
    ]:
        with subtests.test(clean=clean, perturbed=perturbed, way=way):
            trial = scores(clean, perturbed)

            assert flip(trial, trials([trial], "score")) == way


def test_flips_are_counted_by_direction():
    """Two toward, one away, one other, one none."""
    arms = [("oo", "tt"), ("oo", "tt"), ("tt", "oo"), ("==", "to"), ("tt", "tt")]

    found = flips(trials([row(c, p) for c, p in arms]))

    assert (found.toward, found.away, found.other) == (2, 1, 1)


def test_a_rate_is_shown_only_where_the_asks_allow_it():
    """Two clean asks are needed for consistency; cases with one are left out."""
    assert rate(consistency_rate, trials([row("tt"), row("to"), row("t")])) == 0.5
    assert rate(consistency_rate, trials([row("t", "t")])) is None
    assert rate(robustness_rate, trials([row("", "tt")])) is None


def test_a_comparison_builds_a_claim(subtests):
    """A measure against a limit is data, not a truth value."""
    for build, claim in [
        (lambda: net_robustness >= 0.95, Claim("net_robustness", ">=", 0.95)),
        (lambda: gain <= 0.1, Claim("gain", "<=", 0.1)),
        (lambda: gain <= 0, Claim("gain", "<=", 0.0)),
        (lambda: gain <= -0.2, Claim("gain", "<=", -0.2)),
        (lambda: 0.1 >= gain, Claim("gain", "<=", 0.1)),  # noqa: SIM300
        (lambda: abs(mean_shift) <= 0.05, Claim("mean_shift", "abs<=", 0.05)),
        (lambda: abs(slot_pull) <= 0.2, Claim("slot_pull", "abs<=", 0.2)),
        (lambda: net_detection >= 0.6, Claim("net_detection", ">=", 0.6)),
        (lambda: net_detection >= -0.1, Claim("net_detection", ">=", -0.1)),
        (lambda: repeat_distance <= 0.1, Claim("repeat_distance", "<=", 0.1)),
    ]:
        with subtests.test(build=build, claim=claim):
            assert build() == claim


def test_what_cannot_be_claimed_is_an_error(subtests):
    """Wrong direction, a limit out of range, a chain of comparisons, a claim used as a truth value."""
    for build in [
        lambda: gain >= 0.1,  # the wrong direction
        lambda: net_robustness <= 0.95,
        lambda: gain > 0.1,
        lambda: gain < 0.1,
        lambda: abs(gain) >= 0.1,
        lambda: abs(net_robustness),  # never negative
        lambda: abs(accuracy),
        lambda: gain <= True,
        lambda: gain <= "0.1",
        lambda: gain <= None,
        lambda: gain <= gain,
        lambda: gain <= math.nan,  # noqa: PLW0177
        lambda: net_robustness >= math.nan,  # noqa: PLW0177
        lambda: gain <= 1.0,  # always true
        lambda: gain <= -1.0,  # never provable
        lambda: net_robustness >= 1.0,
        lambda: net_robustness >= 95,
        lambda: net_robustness >= 0,  # always true
        lambda: accuracy >= 0.0,
        lambda: accuracy >= -0.5,
        lambda: net_detection >= -1.0,
        lambda: net_detection >= 1.0,
        lambda: abs(mean_shift) <= 0.0,
        lambda: abs(mean_shift) <= -0.05,
        lambda: abs(mean_shift) <= 1.0,
        lambda: repeat_distance <= 0.0,
        lambda: -0.05 <= mean_shift <= 0.05,
        lambda: 0.9 <= net_robustness <= 1,
        lambda: bool(gain),
        lambda: bool(gain <= 0.1),
        lambda: (gain <= 0.1) and (net_robustness >= 0.95),
    ]:
        with subtests.test(build=build), pytest.raises(ClaimError):
            build()


def test_an_error_about_a_claim_says_how_to_write_it():
    """The message names the operator that fits."""
    with pytest.raises(ClaimError, match=r"gain is claimed with <="):
        gain >= 0.1  # noqa: B015 - the comparison is what is tested
    with pytest.raises(ClaimError, match=r"abs\(gain\) <= 0\.05 for a limit on both sides"):
        bool(gain <= 0.05)


def test_the_smallest_number_of_cases_of_each_claim(subtests):
    """ln 20 / (share of the range between the best value of a sound judge and the limit)."""
    for claim, measure, n, best in [
        (net_robustness >= 0.95, net_robustness, 60, 0.0),
        (gain <= 0.1, gain, 30, 0.0),
        (abs(mean_shift) <= 0.05, mean_shift, 60, 0.0),
        (net_detection >= 0.6, net_detection, 15, 1.0),  # room .4 of a range of 2: ln 20 / .2
        (consistency_rate >= 0.8, consistency_rate, 15, 1.0),
        (repeat_distance <= 0.1, repeat_distance, 30, 0.0),
        (abs(slot_pull) <= 0.2, slot_pull, 15, 0.0),
        (unreadable_gain <= 0.05, unreadable_gain, 60, 0.0),
        (gain <= 0, gain, 6, -1.0),  # room 1 of a range of 2
        (gain <= -0.5, gain, 12, -1.0),  # room .5 of 2
        (net_detection >= -0.5, net_detection, 4, 1.0),  # room 1.5 of 2
    ]:
        with subtests.test(claim=claim, measure=measure, n=n, best=best):
            low, high = padded_t([best] * n, measure.low, measure.high, 0.05)
            limit = 1 - claim.limit if measure.flipped else claim.limit
            proven = low >= limit if claim.op == ">=" and not measure.flipped else high <= limit

            assert measure.smallest_n(claim, 0.05) == n
            assert proven


def test_a_measure_is_shown_by_its_name():
    """In pytest's parameter ids and in failure texts."""
    assert repr(gain) == "gain"
    assert repr(abs(gain)) == "abs(gain)"
    assert {name: m.name for name, m in MEASURES.items()} == {name: name for name in MEASURES}


def test_a_rate_of_one_ask_a_case_has_the_exact_interval():
    """Clopper-Pearson where every case says yes or no once; 0.05 ** (1 / 60) where all say yes."""
    right, wrong = Preferred("good"), Preferred("bad")
    rows = tuple(Trial(f"c{i}", better="good", clean=(wrong if i < 3 else right,)) for i in range(60))
    trials = Trials(rows, "pairwise", Scale())

    found = accuracy.estimate(trials, 0.05)
    sure = readable_rate.estimate(trials, 0.05)

    assert (found.low, found.high) == clopper_pearson(57, 60, 0.05)
    assert sure.low == pytest.approx(0.05 ** (1 / 60))
