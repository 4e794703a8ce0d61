"""Who is asked about whose answers, why nothing is, and figures of pairs, panels and prompts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from calm.cases import for_task
from calm.cases.shapes import all_pairs
from calm.core.annotations import Annotation
from calm.core.case import Answer, Case, Criterion
from calm.core.claims import Claim
from calm.core.measures import own_pull, self_preference_excess, self_preference_ratio
from calm.core.reasons import Kind, because
from calm.core.verdict import Criteria, Preferred, Refused, Scale, Score, Tie
from calm.errors import ClaimError, ConfigError, EstimateError
from calm.experiment.crossing import (
    FAMILIES_TAG,
    CrossInputs,
    Judgment,
    Member,
    arrange,
    arranged_for,
    identity,
    with_truth,
)
from calm.judges.python import PythonJudge
from calm.plugins.self_preference.likelihood import comparisons
from calm.plugins.self_preference.pairs import faced, pair_excess
from calm.plugins.self_preference.panels import agreements, stability, tau_b
from calm.plugins.self_preference.record import members_from

AUTHORS = ("gpt-5", "qwen-3", "claude-4")
FAMILIES = {"gpt-5": "gpt", "qwen-3": "qwen", "claude-4": "claude"}


def answered(name, authors=AUTHORS, **more):
    """Return a question with an answer by each author."""
    answers = tuple(Answer(f"a{n}", f"text {n} of {name}", author=author) for n, author in enumerate(authors, start=1))
    return Case(name, f"Question {name}?", answers, tags={"item": name}, **more)


def member(model, task="score", family=None):
    """Return a judge by name alone."""
    return Member(model, task, Scale(1, 10), family)


MEMBERS = [member(model) for model in AUTHORS]


def ones(cases):
    """Return a case for each answer, as a score judge takes them."""
    return [one for case in cases for one in for_task(case, "score")]


def test_every_judge_is_put_to_every_answer():
    """All cases, the judges in their order, families by their names."""
    found = arrange(MEMBERS, ones([answered("q1"), answered("q2")]))

    assert [m.model for m in found.members] == list(AUTHORS)
    assert [c.id for c in found.cases] == [f"q{q}~{n}" for q in (1, 2) for n in (1, 2, 3)]
    assert dict(found.families) == FAMILIES


def test_judges_and_authors_are_found_under_any_spelling():
    """Whoever spells a name or a family in another way sees the same table."""
    spelt = ("GPT-5", "vendor/QWEN-3 ", "Claude-4")
    members = [member("house-1", family="Qwen"), *MEMBERS]
    cases = ones([answered(f"q{n}", (*spelt, ("House-1", "house-1")[n % 2])) for n in range(4)])

    found = arrange(members, cases, families={"CLAUDE-4": "Gpt"})

    assert {a.author for case in found.cases for a in case.answers} == {"house-1", *AUTHORS}
    assert dict(found.families) == {"house-1": "qwen", "gpt-5": "gpt", "qwen-3": "qwen", "claude-4": "gpt"}
    with pytest.raises(ConfigError, match="different models"):
        arrange([*MEMBERS, member("GPT-5")], cases)


def test_a_sample_is_of_questions_whatever_their_order():
    """All answers to a question stay together."""
    cases = ones([answered(f"q{n}") for n in range(20)])

    found, again = (arrange(MEMBERS, one, sample=5, seed=1) for one in (cases, cases[::-1]))

    assert found.cases == again.cases
    assert len({c.tags["item"] for c in found.cases}) == 5
    assert len(found.cases) == 15


def test_an_author_is_the_judge_whose_model_it_is():
    """Maker, date and capitals aside; the author then has the judge's name."""
    found = arrange([member("openai/GPT-5-2025-08-07"), member("qwen-3")], ones([answered("q1")]), about="qwen-3")

    assert {c.answers[0].author for c in found.cases} == {"openai/GPT-5-2025-08-07", "qwen-3", "claude-4"}


def test_pairs_are_asked_in_both_orders_and_only_those_in_question():
    """Two orders of each pair with an own answer; the others tell nothing of this judge."""
    pairs = for_task(answered("q1"), "pairwise")
    judges = [member(model, "pairwise") for model in AUTHORS]

    every, own = arrange(judges, pairs), arrange(judges, pairs, about="gpt-5")

    assert (len(every.cases), len(own.cases)) == (6, 4)
    assert {c.order for c in own.cases if c.id.startswith("q1~1")} == {("a1", "a2"), ("a2", "a1")}
    assert all("gpt-5" in {a.author for a in c.answers} for c in own.cases)


def test_the_reason_says_what_the_data_lack(subtests):
    """Nothing is asked where nothing could be said."""
    for members, cases, about, why in [
        (MEMBERS, [Case("c", "Q?", (Answer("a", "text"),))], "gpt-5", "the cases name no authors"),
        (MEMBERS, ones([answered("q1", ("qwen-3", "claude-4"))]), "gpt-5", "'gpt-5' wrote none of the answers"),
        (MEMBERS[:1], ones([answered("q1")]), "gpt-5", "there is no other judge to compare with"),
        (
            [*MEMBERS, member("house-1")],
            ones([answered("q1")]),
            "gpt-5",
            "got none for house-1; add --family house-1=house-1",
        ),
        ([member("gpt-5", "listwise")], ones([answered("q1")]), "gpt-5", "rankings are no verdicts"),
    ]:
        with subtests.test(members=members, cases=cases, about=about, why=why):
            with pytest.raises(EstimateError) as raised:
                arrange(members, cases, about=about)

            assert why in str(raised.value)


def test_judges_that_do_not_fit_are_a_fault(subtests):
    """Not a lack of data."""
    for members, message in [
        ([member("gpt-5"), member("qwen-3", "rubric")], "expected judges of one kind of verdict, got rubric, score"),
        ([member("gpt-5"), member("gpt-5")], "expected judges of different models, got 'gpt-5' twice"),
    ]:
        with subtests.test(members=members, message=message), pytest.raises(ConfigError, match=message):
            arrange(members, ones([answered("q1")]))


def test_families_come_from_cases_judges_and_names():
    """What the judge's file says wins over the cases, and these over the name."""
    tags = {"item": "q", FAMILIES_TAG: json.dumps({"house-1": "house", "qwen-3": "tuned"})}
    cases = [replace(one, tags=tags) for one in ones([answered("q", ("gpt-5", "qwen-3", "house-1"))])]

    found = arrange([member("gpt-5"), member("qwen-3", family="mine")], cases)

    assert dict(found.families) == {"gpt-5": "gpt", "qwen-3": "mine", "house-1": "house"}


def test_a_judge_in_python_is_the_author_of_its_name_and_leaks_are_told():
    """A related writer of the perturbations or gold labels is said; a peer of the same model is left out."""

    def judge(case):
        return 5

    judge.task, judge.name = "score", "gpt-5"
    tags = {"item": "q1", "written_by": "gpt-4o (gpt)", "labelled_by": "claude-3"}
    cases = tuple(replace(one, tags=tags) for one in ones([answered("q1")]))
    peers = (member("openai/gpt-5"), member("qwen-3"))

    found = arranged_for(PythonJudge(judge), CrossInputs(cases, peers), 0, ["self_preference_excess"])

    assert [m.model for m in found.members] == ["gpt-5", "qwen-3"]
    assert [str(leak) for leak in found.leaks] == [
        "perturbations: made by gpt-4o, same family as the judge; its taste may leak into the data"
    ]


def test_leaks_name_the_judge_where_several_are_tested():
    """Each judge by its name; what nobody is related to is not told."""
    tags = {"item": "q1", "asked_by": "gpt-4o"}
    cases = [replace(one, tags=tags) for one in ones([answered("q1")])]

    found = arrange(MEMBERS, cases)

    assert [str(leak) for leak in found.leaks] == [
        "questions: made by gpt-4o, same family as gpt-5; its taste may leak into the data"
    ]


def test_a_judge_of_the_family_that_taught_authors_is_named_beside_them():
    """Both stay in the figures: a fine-tune is of the family of its weights."""
    cases = ones([answered("q1", ("gpt-5", "vicuna-13b", "llama-2-70b", "alpaca-13b"))])

    found = arrange([member("gpt-5"), member("llama-2-70b")], cases)

    assert (found.families["vicuna-13b"], found.left_out, len(found.cases)) == ("llama", {}, 4)
    assert [(leak.role, leak.model, leak.relation.value, leak.judge) for leak in found.leaks] == [
        ("answers", "alpaca-13b, vicuna-13b", "derived model", "gpt-5")
    ]
    assert "gpt-5: one was tuned on outputs" in str(found.leaks[0])


def voiced(name, better, /, **labels):
    """Return the same pair as a case of this name, with the labels of people."""
    said = {person: Annotation(choice) for person, choice in labels.items()}
    return replace(answered("q1", AUTHORS[:2]), id=name, annotations=said, better=better)


def test_labels_of_one_pair_in_two_cases_are_counted_together():
    """People that are numbered are others in each case; a name is one person, whose label counts once if alike."""
    judges = [member(model, "pairwise") for model in AUTHORS]
    once = voiced("1", "a1", **{"1": "a1", "2": "tie", "Ann": "a1", "Bob": "a1"})
    again = voiced("2", "a2", **{"1": "a1", "2": "a2", "3": "a2", "Ann": "a1", "Bob": "a2"})

    def gold(*cases, votes=None):
        asked = arrange(judges, cases, votes=votes).cases
        [found] = {(case.better, tuple(sorted(one.better for one in case.annotations.values()))) for case in asked}
        return found if len(asked) == 2 else None

    every = ("a1", "a1", "a1", "a1", "a2", "a2", "a2", "tie")
    assert gold(once, again, votes="plurality") == ("a1", every)
    assert gold(once, again) == (None, every)
    assert gold(voiced("1", "a2", x="a2", y="a1"), voiced("2", "a2"))[0] == "a2"
    with pytest.raises(ConfigError, match="case '2': better: expected 'a1', as case '1' says of the same two"):
        gold(voiced("1", "a1"), voiced("2", "a2", x="a2"))


def recorded_verdict(said, family="pairwise", shares=None):
    """Return a record of one judge with one verdict, as `record` writes it."""
    task = {"pairwise": "pairwise", "score": "score", "rubric": "rubric-all"}[family]
    one = {"model": "m", "task": task, "family": "f", "fingerprint": None, "verdicts": {"k": said}}
    return {"schema": "calm-self-preference/1", "judged": [one | ({"probabilities": {"k": shares}} if shares else {})]}


def test_a_record_gives_the_verdicts_back(subtests):
    """Of each kind of verdict, and of none."""
    for said, family, verdict in [
        ("a1", "pairwise", Preferred("a1")),
        ("tie", "pairwise", Tie()),
        ("!refused", "score", Refused("")),
        (0.25, "score", Score(0.25)),
        ({"c": True, "d": None}, "rubric", Criteria({"c": True, "d": None})),
    ]:
        with subtests.test(said=said, family=family, verdict=verdict):
            (member,) = members_from(recorded_verdict(said, family))

            assert dict(member.recalled) == {"k": verdict}


def test_a_record_keeps_probabilities():
    """So that each figure can be computed again."""
    (member,) = members_from(recorded_verdict("a1", shares={"a1": 0.7, "a2": 0.2}))

    assert member.recalled["k"].probabilities == {"a1": 0.7, "a2": 0.2}


def test_a_damaged_record_is_refused(subtests):
    """It was taken for a judge that says nothing, or for one without relatives."""
    for body, what in [
        (recorded_verdict(True), "True as a pairwise verdict"),
        (recorded_verdict(["a1"]), "as a pairwise verdict"),
        (recorded_verdict({"a": "x"}, "rubric"), "as a rubric verdict"),
        (recorded_verdict({"a": 1}, "rubric"), "as a rubric verdict"),
        (recorded_verdict("a1", "score"), "'a1' as a score verdict"),
        (recorded_verdict(7.0, "score"), "7.0 as a score verdict"),
        (recorded_verdict(float("nan"), "score"), "nan as a score verdict"),
        (recorded_verdict("a1", shares={"a1": 3}), "the probability 3"),
        (recorded_verdict("a1", shares={"a1": float("nan")}), "the probability nan"),
        (recorded_verdict("a1") | {"schema": "calm-results/1"}, "schema='calm-results/1'"),
        (recorded_verdict("a1") | {"judged": {}}, "expected a list, got dict"),
    ]:
        with subtests.test(body=body, what=what):
            with pytest.raises(ConfigError) as raised:
                members_from(body)

            assert what in str(raised.value)


def test_a_record_without_names_is_refused(subtests):
    """A family of None was one of its own: unrelated to everybody."""
    for change in [{"family": None}, {"model": ["m"]}, {"fingerprint": 3}, {"task": "tasks"}]:
        with subtests.test(change=change):
            body = recorded_verdict("a1")
            body["judged"][0] |= change

            with pytest.raises(ConfigError, match="expected a record of `calm self-preference` with its verdicts"):
                members_from(body)


def test_truth_is_computed_where_a_program_can():
    """Criteria with a check; what was known of the others stays."""
    criteria = (Criterion("w", "short", check={"kind": "max_words", "value": 3}), Criterion("n", "nice"))
    case = Case("c", "Q?", (Answer("a", "two words"), Answer("b", "more than three words")), criteria=criteria)

    found = with_truth(replace(case, met={"a": {"n": True}}))

    assert found.met == {"a": {"n": True, "w": True}, "b": {"w": False}}


def test_the_identity_of_a_case_is_what_a_judge_may_see():
    """Not its id, its authors or its gold; the order of the answers is."""
    case = answered("q1", ("gpt-5", "qwen-3"))

    same = replace(case, id="other", better="a1", answers=tuple(replace(a, author="x") for a in case.answers))

    assert identity(same) == identity(case)
    assert identity(case.arranged(("a2", "a1"))) != identity(case)


# ---------------------------------------------------------------------------------------------- before anybody is asked


def labelled(task, own_wins, own_loses):
    """Return cases of a task on which the answers of gpt-5 are better in some questions and worse in others."""
    criteria = (Criterion("c", "C"), Criterion("fault", "F", -1.0))
    found = []
    for n in range(own_wins + own_loses):
        good = n < own_wins
        met = {"a1": {"c": good}, "a2": {"c": not good}, "a3": {"c": not good}}
        case = answered(f"q{n}", criteria=criteria if task == "rubric" else criteria[:1], met=met)
        found += for_task(case, task)
    return tuple(found)


def wanted(task, cases, peers=AUTHORS[1:]):
    """Return what a test of gpt-5 would ask, by the figures of it that are wanted."""

    def judge(case):
        return None

    judge.task, judge.name = task, "gpt-5"
    inputs = CrossInputs(cases, tuple(member(name, task) for name in peers))
    return lambda *measures: arranged_for(PythonJudge(judge), inputs, 0, measures)


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
def test_nothing_is_asked_where_the_truth_cannot_decide(task, subtests):
    """Too few own answers that deserve the verdict, too few that do not, and peers of one family; scores are asked."""
    excess, ratio = "self_preference_excess", "self_preference_ratio"
    for cases, peers, reason in [
        (labelled(task, 10, 9), AUTHORS[1:], because(Kind.ONE_SIDED, 10, 9, 10)),
        (labelled(task, 0, 20), AUTHORS[1:], because(Kind.ONE_SIDED, 0, 20, 10)),
        (labelled(task, 10, 10), AUTHORS[1:2], because(Kind.ONE_OUTSIDER, "qwen-3")),
    ]:
        with subtests.test(reason=str(reason)):
            ask = wanted(task, cases, peers)

            if task == "score":  # the ratio of two mean scores needs no truth
                assert ask(excess).cases
            else:
                with pytest.raises(EstimateError) as raised:
                    ask(excess)
                assert raised.value.args[0] == reason
            assert ask(excess, ratio).cases  # another figure may still be had
    assert wanted(task, labelled(task, 10, 10))(excess).cases
    with pytest.raises(EstimateError) as raised:
        wanted(task, labelled(task, 20, 9))("own_pull")  # neither equal answers nor own ones that lost or failed
    assert raised.value.args[0].kind is Kind.FEW_EQUAL
    assert wanted(task, labelled(task, 0, 10), AUTHORS[1:2])("own_pull").cases
    unlabelled = tuple(replace(c, better=None, met={}, criteria=()) for c in labelled(task, 10, 2))
    assert wanted(task, unlabelled, AUTHORS[1:2])(excess).cases  # to be observed


# ---------------------------------------------------------------------------------------------------- pairs, symbols


def test_pairs_are_better_by_scores_or_by_the_truth_of_criteria():
    """Points of criteria that are met; unknown where one is."""
    criteria = (Criterion("x", "X", 2.0), Criterion("y", "Y", -1.0))
    met = {"a1": {"x": True, "y": True}, "a2": {"x": False, "y": False}, "a3": {"x": True}}

    by_truth = all_pairs(answered("q1", criteria=criteria, met=met))
    by_score = all_pairs(answered("q1", scores={"a1": 3, "a2": 3, "a3": 5}))

    assert [pair.better for pair in by_truth] == ["a1", None, None]
    assert [pair.better for pair in by_score] == ["tie", "a3", "a3"]


def test_the_excess_on_pairs_is_over_outsiders_on_the_same_pairs():
    """A judge that always takes its own, beside two that always take the better one; nobody wrote down which it is."""
    judged = []
    for n in range(20):
        good = n % 2 == 0  # its own answer is the better one in half of the questions
        for pair in all_pairs(answered(f"q{n}"))[:2]:  # with qwen-3, with claude-4
            other = next(a.id for a in pair.answers if a.author != "gpt-5")
            judged.append(Judgment("gpt-5", pair, Preferred("a1")))
            judged += [Judgment(j, pair, Preferred("a1" if good else other)) for j in ("qwen-3", "claude-4")]

    found = pair_excess(faced(judged, "gpt-5"), "gpt-5", FAMILIES)

    assert (found.estimate.value, found.estimate.n, found.skill) == (0.5, 20, None)
    assert 0.1 < found.estimate.low < 0.5 < found.estimate.high
    with pytest.raises(EstimateError, match="judged by it and by a judge related to neither"):
        pair_excess(faced(judged, "gpt-5"), "gpt-5", dict.fromkeys(AUTHORS, "gpt"))


def test_the_symbols_build_claims_in_one_direction():
    """With a limit that a fair judge keeps; the message says what can be claimed."""
    assert (self_preference_ratio <= 1.25) == Claim("self_preference_ratio", "<=", 1.25)
    assert (own_pull <= 0.15) == Claim("own_pull", "<=", 0.15)
    assert (abs(self_preference_excess) <= 0.05) == Claim("self_preference_excess", "abs<=", 0.05)
    for wrong in (
        lambda: self_preference_ratio >= 1.25,
        lambda: self_preference_ratio <= 0.9,
        lambda: abs(self_preference_ratio) <= 1.25,
        lambda: self_preference_excess <= True,
        lambda: bool(self_preference_excess),
    ):
        with pytest.raises(ClaimError):
            wrong()


# ------------------------------------------------------------------------------------------------- panels, likelihood


def test_a_ranking_that_rests_on_one_judge_is_seen():
    """Without the judge that loves its own the order is another one."""
    scores = np.array([[9.0, 1.0, 1.0], [4.0, 5.0, 3.0], [4.0, 6.0, 3.0]])

    left = {one.judge: one for one in stability(scores, ("a", "b", "c"), ("x", "y", "z"))}

    assert (left["a"].best, left["b"].best, left["c"].best) == ("y", "x", "x")
    assert left["a"].tau == pytest.approx(1 / 3)
    assert left["c"].tau == 1.0
    assert stability(scores[:1], ("a",), ("x", "y", "z")) == ()
    assert tau_b([1, 1], [1, 2]) is None


def test_agreement_has_no_coefficient_where_there_is_none():
    """One category throughout: raw agreement is 1, kappa cannot be had."""
    assert agreements([[1, 1], [1, 1]]) == {"raw": 1.0, "kappa": None, "alpha": None, "ac1": None}
    assert agreements([[1.0, 2.0], [5.0, 5.0]], numeric=True)["alpha"] > 0.5


def test_verdicts_on_single_answers_compare_them():
    """Each pair of answers to a question, the judge's own first; ties count a half, unread ones nothing."""
    cases = ones([answered("q1")])
    judged = [
        Judgment("qwen-3", case, verdict)
        for case, verdict in zip(cases, (Score(0.2), Score(0.9), Score(0.2)), strict=True)
    ]

    found = [(c.first, c.second, c.judged) for c in comparisons(judged, "qwen-3")]
    pairs = [Judgment("qwen-3", pair, Tie()) for pair in all_pairs(answered("q1"))]
    orders = [replace(all_pairs(answered("q2"))[0], id=name) for name in "ab"]
    slot = [Judgment("qwen-3", one, Preferred(chosen)) for one, chosen in zip(orders, ("a1", "a2"), strict=True)]

    assert sorted(found) == [("claude-4", "gpt-5", 0.5), ("qwen-3", "claude-4", 1.0), ("qwen-3", "gpt-5", 1.0)]
    assert [c.judged for c in comparisons(pairs, "qwen-3")] == [0.5, 0.5, 0.5]
    assert [c.judged for c in comparisons(slot, "qwen-3")] == [0.5]  # one pair, whose slot decided
    unread = [Judgment("qwen-3", case, Criteria({"x": None})) for case in cases]
    assert all(np.isnan(c.judged) for c in comparisons(unread, "qwen-3"))


def test_a_question_in_two_languages_is_two_for_answers_and_one_pair_for_none():
    """Translations share an item and the ids of their answers: neither language is left out, nor do they disagree."""
    pairs = [
        replace(answered("q1", AUTHORS[:2]), id=code, better=better, tags={"item": "q1", "language": code})
        for code, better in (("en", "a1"), ("de", "a2"))
    ]
    other = answered("q2", AUTHORS[:2])
    found = arrange([member(name, "pairwise") for name in AUTHORS], [*pairs, other])

    assert found.items == 3
    assert len(found.cases) == 6
    assert {case.tags["item"] for case in found.cases} == {"q1 (en)", "q1 (de)", "q2"}
