"""Agreement with a gold label: of pairs, scores, rubrics and lists, beside a constant and beside people."""

from dataclasses import replace
from random import Random

import pytest

from calm.core.agreement import on_scale
from calm.core.measures import MEASURES
from calm.core.people import people_of, references, replacing
from calm.core.reasons import Kind, Reason
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Preferred, Ranking, Scale, Score, Tie, Unreadable
from calm.errors import EstimateError
from calm.statistics.association import kappa
from calm.statistics.intervals import clustered_t

SCALE = Scale(1, 10)
POINTS = {"c1": 1.0, "c2": 2.0}
BAD = Unreadable("no verdict")


def pair(place, gold, *said, people=None):
    """Return a row about a pair whose answers `a` and `b` swap slots from case to case."""
    order = ("a", "b") if place % 2 else ("b", "a")
    return Trial(str(place), better=gold, clean=tuple(map(pairwise, said)), order=order, people=people or {})


def pairwise(word):
    return BAD if word == "?" else Tie() if word == "tie" else Preferred(word)


def score(place, gold, *said):
    clean = tuple(BAD if one is None else Score(one) for one in said)
    return Trial(str(place), clean=clean, order=("only",), worth={} if gold is None else {"only": gold})


def rubric(place, gold, *said):
    return Trial(str(place), clean=tuple(map(Criteria, said)), order=("only",), met=gold, points=POINTS)


def ranking(place, worth, *said):
    return Trial(str(place), better=max(worth, key=worth.get), clean=said, order=tuple(worth), worth=worth)


def pairs_of(gold, said):
    return trials([pair(i, g, s) for i, (g, s) in enumerate(zip(gold, said, strict=True))])


def trials(rows, family="pairwise"):
    return Trials(tuple(rows), family, SCALE)


def value(name, table):
    return MEASURES[name].estimate(table, 0.05).value


def test_slots_and_not_the_ids_of_a_file_are_the_labels_of_a_pair():
    """Where a file lists the better answer first each time, a judge that takes the first slot agrees by chance."""
    first = trials([pair(i, "a", "a" if i % 2 else "b") for i in range(60)])
    right = trials([pair(i, "a", "a") for i in range(60)])

    assert value("kappa", first) == 0
    assert value("balanced_accuracy", first) == 0.5
    assert value("kappa", right) == 1


def test_kappas_are_those_of_scikit_learn():
    """With ties, two asks of each case, and replies that cannot be read: a label that is never right."""
    from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score

    rng = Random(4)
    gold = [rng.choice(["a", "b", "tie"]) for _ in range(90)]
    asks = [[g if rng.random() < 0.6 else rng.choice(["a", "b", "tie", "?"]) for g in gold] for _ in range(2)]
    table = trials([pair(i, g, one, two) for i, (g, one, two) in enumerate(zip(gold, *asks, strict=True))])

    def slots(labels):
        return [x if x in ("tie", "?") else str((x == "a") == bool(i % 2)) for i, x in enumerate(labels)]

    kappas = [cohen_kappa_score(slots(gold), slots(ask)) for ask in asks]
    assert value("kappa", table) == pytest.approx(sum(kappas) / 2, abs=1e-9)
    with pytest.warns(UserWarning, match="not in y_true"):
        balanced = [balanced_accuracy_score(slots(gold), slots(ask)) for ask in asks]
    assert value("balanced_accuracy", table) == pytest.approx(sum(balanced) / 2, abs=1e-9)


def test_scores_agree_as_scipy_and_scikit_learn_say():
    """Ranks, squares and errors of 80 scores."""
    from scipy.stats import kendalltau, spearmanr
    from sklearn.metrics import cohen_kappa_score

    rng = Random(9)
    gold = [float(rng.randint(1, 10)) for _ in range(80)]
    said = [min(10.0, max(1.0, g + rng.randint(-2, 3))) for g in gold]
    table = trials([score(i, g, s) for i, (g, s) in enumerate(zip(gold, said, strict=True))], "score")

    assert value("rank_agreement", table) == pytest.approx(kendalltau(gold, said).statistic, abs=1e-9)
    assert value("correlation", table) == pytest.approx(spearmanr(gold, said).statistic, abs=1e-9)
    weighted = cohen_kappa_score(gold, said, weights="quadratic", labels=[float(x) for x in range(1, 11)])
    assert value("weighted_kappa", table) == pytest.approx(weighted, abs=1e-9)
    errors = [(s - g) / 9 for g, s in zip(gold, said, strict=True)]
    assert value("mean_error", table) == pytest.approx(sum(errors) / 80)
    assert value("mean_absolute_error", table) == pytest.approx(sum(map(abs, errors)) / 80)
    assert value("accuracy", table) == pytest.approx(sum(abs(e) * 9 <= 0.5 for e in errors) / 80)


def test_rubrics_agree_criterion_by_criterion():
    """Chance is counted within each criterion: scikit-learn's kappas, weighted by the chance in each."""
    from sklearn.metrics import cohen_kappa_score

    rng = Random(2)
    gold = [{"c1": rng.random() < 0.7, "c2": rng.random() < 0.4} for _ in range(50)]
    said = [{c: t if rng.random() < 0.8 else not t for c, t in met.items()} for met in gold]
    table = trials([rubric(i, g, s) for i, (g, s) in enumerate(zip(gold, said, strict=True))], "rubric")
    kappas, chances = [], []
    for criterion in POINTS:
        one, other = ([met[criterion] for met in side] for side in (gold, said))
        kappas.append(cohen_kappa_score(one, other))
        p, q = sum(one) / 50, sum(other) / 50
        chances.append(p * (1 - q) + q * (1 - p))

    expected = sum(k * w for k, w in zip(kappas, chances, strict=True)) / sum(chances)
    assert value("kappa", table) == pytest.approx(expected, abs=1e-9)
    cells = MEASURES["kappa"].cells(table)
    assert sum(cells) / len(cells) == pytest.approx(value("kappa", table))


def test_criteria_that_stand_in_few_cases_are_one_kind():
    """Each case has criteria of its own: their kappa is the plain one."""
    from sklearn.metrics import cohen_kappa_score

    rng = Random(6)
    gold = [{f"{i}-{c}": rng.random() < 0.5 for c in "xy"} for i in range(40)]
    said = [{c: t if rng.random() < 0.8 else not t for c, t in met.items()} for met in gold]
    rows = [
        Trial(str(i), clean=(Criteria(s),), order=("only",), met=g, points=dict.fromkeys(g, 1.0))
        for i, (g, s) in enumerate(zip(gold, said, strict=True))
    ]
    flat = [[true for met in side for true in met.values()] for side in (gold, said)]

    assert value("kappa", trials(rows, "rubric")) == pytest.approx(cohen_kappa_score(*flat), abs=1e-9)


def test_a_tie_in_a_thousand_moves_gwets_ac_little():
    """All labels that a judge could give are counted, not those that it happened to give."""
    rows = [pair(i, "a" if i % 3 else "b", "a") for i in range(999)]

    without, with_one = trials(rows), trials([*rows, pair(999, "a", "tie")])

    assert value("gwet_ac", with_one) == pytest.approx(value("gwet_ac", without), abs=0.003)


def test_ac2_counts_all_steps_of_a_scale():
    """By hand: ten grades, of which four occur, and one reply that cannot be read is left out."""
    from calm.statistics.association import gwet_ac

    gold, said = [2.0, 2.0, 9.0, 9.0, 5.0], [2.0, 3.0, 9.0, 9.0, None]
    table = trials([score(i, g, s) for i, (g, s) in enumerate(zip(gold, said, strict=True))], "score")

    expected = gwet_ac(gold[:4], said[:4], [float(x) for x in range(1, 11)], weights="quadratic").value
    assert value("gwet_ac", table) == pytest.approx(expected, abs=1e-9)
    assert value("gwet_ac", table) != pytest.approx(
        gwet_ac(gold[:4], said[:4], [2.0, 3.0, 9.0], weights="quadratic").value
    )


def test_lists_agree_list_by_list():
    """The mean over lists of tau-b, and the best answer alone at the head."""
    worth = {"a": 3.0, "b": 2.0, "c": 1.0}
    right, turned, flat = (Ranking(o) for o in ((("a",), ("b",), ("c",)), (("c",), ("b",), ("a",)), (("a", "b", "c"),)))
    table = trials([ranking(0, worth, right), ranking(1, worth, turned), ranking(2, worth, flat)], "listwise")

    assert MEASURES["rank_agreement"].cells(table) == pytest.approx([1, -1, 0])
    assert value("accuracy", table) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["rank_agreement", "correlation", "weighted_kappa"])
def test_a_judge_that_gives_each_case_the_same_score_has_no_agreement(name):
    """Its agreement is 0, and 60 cases leave no more than .45 open."""
    table = trials([score(i, float(1 + i % 10), 7.0) for i in range(60)], "score")

    found = MEASURES[name].estimate(table, 0.05)

    assert found.value == pytest.approx(0)
    assert found.high < 0.45
    assert value("mean_error", table) == pytest.approx((7 - 5.5) / 9)


def test_a_judge_that_knows_the_easy_class_alone_is_accurate_and_has_no_kappa():
    """Nine cases of ten have the label that it always gives."""
    gold = [{"c1": i % 10 == 0, "c2": True} for i in range(80)]
    table = trials([rubric(i, g, {"c1": False, "c2": True}) for i, g in enumerate(gold)], "rubric")

    assert value("accuracy", table) == 0.95
    assert value("kappa", table) == pytest.approx(0)
    assert value("gwet_ac", table) > 0.85
    assert references(MEASURES["accuracy"], table)["constant"] == 0.95


def test_labels_that_are_all_the_same_tell_a_judge_from_nothing():
    """The reason names the label."""
    table = trials([pair(1, "a", "a") for _ in range(20)])

    assert {cell.kind for cell in MEASURES["kappa"].cells(table) if isinstance(cell, Reason)} == {Kind.ONE_GOLD}
    with pytest.raises(EstimateError, match="every gold label is the same"):
        MEASURES["kappa"].estimate(table, 0.05)


def test_what_has_no_gold_or_no_number_is_left_out_by_its_reason():
    """A case without gold, and one whose reply cannot be read."""
    rows = [score(0, None, 5.0), score(2, 5.0, None), score(3, 5.0, 5.0), score(4, 2.0, 3.0)]
    found = MEASURES["mean_absolute_error"].estimate(trials(rows, "score"), 0.05)

    assert {reason.kind: count for reason, count in found.excluded.items()} == {Kind.NO_GOLD: 1, Kind.UNREAD_ASK: 1}
    assert found.n == 2


@pytest.mark.parametrize("name", ["mean_absolute_error", "weighted_kappa", "gwet_ac"])
def test_gold_on_another_scale_tells_nothing_but_the_order(name):
    """The reason counts the gold scores off the scale; ranks need no scale."""
    table = trials([score(i, float(10 * (i % 10)), float(1 + i % 10)) for i in range(50)], "score")

    assert {str(cell) for cell in MEASURES[name].cells(table)} == {
        "45 of 50 gold scores are not on the judge's scale, 1 to 10: bring gold and verdicts to one scale"
    }
    assert value("rank_agreement", table) == pytest.approx(1)


def test_a_constant_and_a_person_stand_beside_the_judge():
    """Three people who say the same in all cases; four fifths of the labels are `a`, and slots alternate."""
    gold = ["a" if i % 5 else "b" for i in range(50)]
    rows = [pair(i, g, "a", people={name: Preferred(g) for name in ("ann", "ben", "eva")}) for i, g in enumerate(gold)]

    found = references(MEASURES["accuracy"], trials(rows))

    assert found["person"] == 1
    first = sum((g == "a") == bool(i % 2) for i, g in enumerate(gold)) / 50
    assert found["constant"] == pytest.approx(max(first, 1 - first))
    assert references(MEASURES["kappa"], trials(rows))["constant"] == pytest.approx(0)


def test_people_agree_as_krippendorff_says():
    """The alpha of three people, with gaps, nominal on pairs and interval on scores."""
    import krippendorff

    rng = Random(8)
    votes = [[rng.choice(["a", "b"]) if rng.random() < 0.9 else None for _ in range(3)] for _ in range(40)]
    rows = [
        pair(1, "a", "a", people={str(k): Preferred(v) for k, v in enumerate(vote) if v is not None}) for vote in votes
    ]
    numbers = [[float("nan") if v is None else "ab".index(v) for v in vote] for vote in votes]
    expected = krippendorff.alpha(list(zip(*numbers, strict=True)), level_of_measurement="nominal")

    assert people_of(trials(rows)).alpha == pytest.approx(expected, abs=1e-9)
    assert people_of(trials([pair(1, "a", "a")])) is None


def people(**said):
    return {person: Preferred(answer) for person, answer in said.items()}


def test_an_advantage_needs_two_people():
    """With the label of one person there is nobody to agree with."""
    alone = trials([pair(i, "a", "a", people=people(ann="a")) for i in range(40)])

    assert {cell.kind for cell in MEASURES["annotator_advantage"].cells(alone)} == {Kind.FEW_PEOPLE}


def test_who_agrees_better_with_the_other_people_has_the_advantage():
    """Two people who agree in four of five cases; the judge says what Ann says, in one case of ten what nobody says."""
    rows = []
    for i in range(50):
        ben = "b" if i % 5 == 0 else "a"
        rows.append(pair(i, "a", "tie" if i % 10 == 1 else "a", people=people(ann="a", ben=ben)))

    found = MEASURES["annotator_advantage"].estimate(trials(rows), 0.05)

    # against Ben it is as good as Ann but in the five cases of the tie; against Ann it is better than Ben in ten
    assert found.value == pytest.approx((-5 / 50 + (10 - 5) / 50) / 2)


@pytest.mark.parametrize("family", ["pairwise", "listwise"])
def test_people_who_agree_by_chance_are_no_measure_of_a_judge(family):
    """A judge at random is as good as they are; that says nothing for it."""
    rng = Random(5)

    def anything():
        if family == "pairwise":
            return Preferred(rng.choice("ab"))
        return Ranking(tuple((x,) for x in rng.sample("abc", 3)))

    table = trials(
        [
            Trial(str(i), clean=(anything(),), order=tuple("ab" if family == "pairwise" else "abc"), people=word)
            for i in range(60)
            if (word := {who: anything() for who in ("ann", "ben", "eva")})
        ],
        family,
    )

    assert {cell.kind for cell in MEASURES["annotator_advantage"].cells(table)} == {Kind.PEOPLE_DIVIDED}
    assert replacing(table, 0.2) is None


def test_people_are_compared_on_the_criteria_that_both_labelled():
    """Ann labels one criterion, Ben the other, Eva both; all are right, and so is the judge."""
    rng = Random(3)
    rows = []
    for i in range(40):
        truth = {"c1": rng.random() < 0.5, "c2": rng.random() < 0.5}
        said = {"ann": {"c1": truth["c1"]}, "ben": {"c2": truth["c2"]}, "eva": truth}
        row = rubric(i, truth, truth)
        rows.append(replace(row, people={who: Criteria(met) for who, met in said.items()}))
    table = trials(rows, "rubric")

    assert value("annotator_advantage", table) == 0
    assert references(MEASURES["kappa"], table)["person"] == 1


def test_a_verdict_on_a_rubric_is_held_against_the_criteria_whose_truth_is_known():
    """A judge that is always right has no error where only one of two criteria has a gold label."""
    rows = [rubric(i, {"c1": i % 2 == 0}, {"c1": i % 2 == 0, "c2": i % 3 == 0}) for i in range(40)]
    table = trials(rows, "rubric")

    assert value("mean_error", table) == 0
    assert value("correlation", table) == pytest.approx(1)


def test_a_judge_of_points_is_held_against_the_share_that_the_truth_earns():
    """Criteria with points below 0 count if they are not met, as they do for the judge."""
    points = {"good": 2.0, "bad": -2.0}

    assert on_scale({"good": True, "bad": True}, points, Scale(0, 1)) == 0.5
    assert on_scale({"good": True, "bad": False}, points, Scale(0, 10)) == 10
    assert on_scale({"good": True}, points, Scale(0, 1)) is None


def test_labels_that_one_ask_found_all_prove_no_more_than_they_can():
    """Of a rare label found twice of two, nothing is known: the bound of one ask is not tighter than that of two."""
    rows = [
        pair(i, "tie" if i < 2 else ("a" if i % 3 else "b"), "tie" if i < 2 else ("a" if i % 3 else "b"))
        for i in range(100)
    ]
    twice = [replace(row, clean=row.clean * 2) for row in rows]

    once, again = (MEASURES["balanced_accuracy"].estimate(trials(r), 0.05) for r in (rows, twice))

    assert once.low == pytest.approx(again.low)
    assert once.low < 0.7


@pytest.mark.parametrize(("rare", "found", "least"), [(0.05, 0.5, 0.4), (0.03, 0.5, 0.4)])
def test_kappa_does_not_fail_for_want_of_a_rare_label(rare, found, least):
    """
    A rare label, found in half of the cases: kappa is above the limit, and samples of 60 often hold none of them.

    False FAIL in at most 24 of 200 samples; at .05 more have a probability of 2e-5.
    """
    rng = Random(7)

    def sample(n):
        truth = [rng.random() < rare for _ in range(n)]
        return truth, [rng.random() < found if true else rng.random() < 0.005 for true in truth]

    whole = kappa(*sample(40_000), (False, True)).value
    failed = 0
    for _ in range(200):
        truth, said = sample(60)
        if len(set(truth)) > 1:
            one = kappa(truth, said, (False, True))
            failed += clustered_t(one.items, [1] * 60, one.low, one.high, 0.05)[1] < least
    assert whole > least
    assert failed <= 24
