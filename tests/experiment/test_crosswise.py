"""Crosswise: what a cue does between two equally good answers, and what a judge that ignores it is not blamed for."""

from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from calm.core.case import TIE, Answer
from calm.core.edits import Expects, perturbation, prompt_edit, rotate
from calm.core.measures import gain, pull, slot_pull, tie_rate, worst_pull
from calm.core.reasons import Kind, because, reason_of
from calm.core.verdict import Preferred, Ranking, Unreadable
from calm.engine.money import Caps
from calm.errors import JudgeError
from calm.experiment.inert import BYLINES
from calm.experiment.pairs import equal_pair
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from calm.judges.wrapper import JointRecord
from calm.models.wire import Reply, Traits
from tests.planted import Asking, Local, Planted, chance, pair, pairs, setup, single, singles, tied

BOOK, LONG = "(Citation: A Book)", "As the leading authorities in this whole field of learning confirm beyond doubt."
FOUR, FIVE = "The answer to c is four.", "The answer to c is five."
FIXED = Stopping.FIXED


class Texts(Planted):
    """A judge of question and answers alone."""

    def sees(self, case):
        """Return the texts."""
        return case.question, [answer.text for answer in case.shown]


def edit(rewrite, **options):
    """Make a perturbation of a lambda."""
    rewrite.__name__ = options.pop("name", "edit")
    return perturbation(**{"bias": "authority", "expects": Expects.NOT_BETTER} | options)(rewrite)


def saying(words, **options):
    """Return an edit that closes the treated answer with some words."""
    return edit(lambda case, rng: case.edit(case.target, lambda text: f"{text} {words}"), **options)


cite = saying(BOOK, name="cite")
note = edit(lambda case, rng: case.present(notes=(f"Slot {case.slots.index(case.target)} is liked.",)), name="note")
byline = edit(lambda case, rng: case.present(bylines={case.target: "a laureate"}), name="byline")
CUES = rotate(*(saying(f"(Source {n})", name=f"source-{n}") for n in range(8)))


def with_cue(case, words=BOOK):
    """Return the ids of the answers whose text holds some words."""
    return [answer.id for answer in case.shown if words in answer.text]


def slot(place):
    """Return a rule that prefers the answer in a slot."""
    return lambda case, ask: Preferred(case.shown[place].id)


def fan(words=BOOK, last=0):
    """Return a rule that prefers the answer with some words, else the one in a slot."""
    return lambda case, ask: Preferred((with_cue(case, words) or [case.shown[last].id])[0])


def foe(case, ask):
    """Prefer the answer without the cue."""
    return Preferred(next(answer.id for answer in case.shown if BOOK not in answer.text))


def coin(case, ask):
    """Prefer either answer, anew for each text."""
    return Preferred(chance("coin", case.id, [a.text for a in case.shown], ask).choice(case.shown).id)


def decided(judge, cases, edit, *claims, observed=(), **options):
    """Return the decisions of a probe by measure, and the rows of the first."""
    with setup(judge, cases, **options) as given:
        found = run(given, edit, claims, observed=observed).rulings
    return {one.decision.measure: one.decision for one in found}, found[0].trials.rows if found[0].trials else ()


def told(found):
    """Return outcome and reason by measure."""
    return {measure: (one.outcome.value, str(one.reason)) for measure, one in found.items()}


def shown_by_case(judge):
    """Return what a judge was shown of each case: without a cue, as was asked first, and then with it."""
    found = defaultdict(list)
    for case, _ in judge.asked:
        found[case.id].append(case)
    return found.values()


# ---------------------------------------------------------------------------------------------------------- the pairs


@pytest.mark.parametrize(
    ("case", "texts"),
    [
        (pair("c", better=TIE), {FOUR, FIVE}),
        (pair("c"), {FOUR}),
        (pair("c", better=None, scores={"good": 3, "bad": 9}), {FIVE}),
        (pair("c", variants={"paraphrase": {"good": "Four.", "bad": "Five."}}), {FOUR, "Four."}),
        (pair("c", variants={"sad": {"good": "Alas, four."}}), {FOUR}),
        (single("c"), {FOUR}),
        (single("c", variants={"neutral": {"only": "It is four."}}), {FOUR, "It is four."}),
    ],
    ids=["tie", "gold", "scores", "paraphrase", "other text", "single", "single rewritten"],
)
def test_equal_answers_are_those_of_a_tie_or_the_best_beside_its_paraphrase_or_its_copy(case, texts):
    """Whatever they were, they are called alike, and nothing says that one is better."""
    found = equal_pair(case)

    assert {answer.text for answer in found.answers} == texts
    assert ([answer.id for answer in found.answers], found.better, found.scores) == (["one", "two"], TIE, {})


def test_the_cue_changes_sides_while_the_order_stays():
    """Asked without a cue, then with it on the answer that lost, then on the other one."""
    judge = Planted(fan(last=1))
    _, rows = decided(judge, pairs(30, better=TIE), cite, pull <= 0.25, stopping=FIXED)

    assert len(shown_by_case(judge)) == 30
    for before, *after in shown_by_case(judge):
        assert with_cue(before) == []
        assert sorted(case.slots.index(*with_cue(case)) for case in after) == [0, 1]
        for case in after:
            assert all(then.text in now.text for then, now in zip(before.shown, case.shown, strict=True))
    assert {(row.target, row.slots) for row in rows} == {("cued", (("cued", "plain"), ("plain", "cued")))}


@pytest.mark.parametrize(
    ("cue", "bias", "least", "most"), [(BOOK, "authority", 3, 6), (LONG, "authority", 9, 17), (LONG, "verbosity", 0, 0)]
)
def test_the_other_answer_has_inert_words_of_about_the_length_of_the_cue(cue, bias, least, most):
    """None where length is the cue."""
    judge = Planted(tied)
    decided(judge, pairs(20, better=TIE), saying(cue, bias=bias), pull <= 0.25)

    shown = [case for case, _ in judge.asked if with_cue(case, cue)]
    others = [answer.text for case in shown for answer in case.shown if cue not in answer.text]
    added = [len(text.split()) - len(FOUR.split()) for text in others]
    assert len(added) == len(shown) == 16
    assert least <= min(added) <= max(added) <= most


@pytest.mark.parametrize("cue", [note, byline])
def test_a_cue_beside_the_answers_goes_to_one_of_two_copies_that_differ_by_inert_words(cue):
    """The same words stand on them in all asks; the other byline is inert, too."""
    judge = Planted(slot(0))
    _, rows = decided(judge, singles(30), cue, pull <= 0.25, stopping=FIXED)

    for before, *after in shown_by_case(judge):
        texts = {tuple(answer.text for answer in case.shown) for case in (before, *after)}
        assert [len(set(one)) for one in texts] == [2]
        assert all(f"The answer to {before.id} is four." in text for text in next(iter(texts)))
        beside = {(case.notes, tuple(case.bylines.get(one) for one in case.slots)) for case in after}
        assert len(beside) == 2
        for _, (one, other) in beside if cue is byline else ():
            assert [one in BYLINES, other in BYLINES].count(True) == [one, other].count("a laureate") == 1
    assert {row.channel for row in rows} == {"label" if cue is byline else "note"}


def test_what_no_such_pair_can_be_made_of_is_not_tested():
    """A judge that is shown no notes, or replays verdicts; an edit of the prompt, or of no answer, or of nothing."""
    prompt = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(lambda prompt, rng: None)
    remark = edit(lambda case, rng: case.present(notes=("A remark.",)))
    replayed = Planted(tied, traits=Traits(recorded=JointRecord(())))

    for judge, cases, cue, reason in [
        (Texts(tied), singles(4), note, "the judge is not shown the notes"),
        (replayed, singles(4), cite, str(because(Kind.NOT_RECORDED))),
        (Planted(tied), singles(4), prompt, str(because(Kind.NO_SIDE))),
        (Planted(tied), singles(4), remark, str(because(Kind.NO_SIDE))),
        (Planted(tied), singles(4), edit(lambda case, rng: None), "does not apply"),
        (Planted(tied), (), cite, "there are no cases"),
    ]:
        assert told(decided(judge, cases, cue, pull <= 0.25)[0]) == {"pull": ("NOT_TESTED", reason)}
        assert judge.asked == []


# ------------------------------------------------------------------------------------------------------- the decisions


@pytest.mark.parametrize(
    "rule",
    [tied, slot(0), slot(-1), lambda case, ask: Preferred(next(a.id for a in case.shown if "five" in a.text))],
    ids=["tie", "first", "last", "one text"],
)
def test_a_judge_that_ignores_the_cue_has_no_pull_and_passes_after_one_ask_of_a_pair(rule):
    """16 pairs prove .25 where no answer is lifted: each is asked without the cue, and on one side with it."""
    judge = Planted(rule)
    found, rows = decided(judge, pairs(80, better=TIE), cite, pull <= 0.25, worst_pull <= 0.5)

    assert told(found) == {"pull": ("PASS", "")}  # one wording is no rotation
    assert (found["pull"].estimate.value, found["pull"].estimate.n) == (0, 16)
    assert ({len(row.perturbed) for row in rows}, len(judge.asked)) == ({1}, 2 * 16)


@pytest.mark.parametrize("stopping", list(Stopping))
@pytest.mark.parametrize(
    ("rule", "value", "outcomes"),
    [(fan(), 1, ("FAIL", "FAIL")), (foe, -1, ("PASS", "FAIL")), (coin, 0, ("PASS", "PASS"))],
    ids=["fan", "foe", "coin"],
)
def test_a_fan_of_the_cue_fails_its_foe_fails_a_claim_of_both_ways_and_a_coin_neither(rule, value, outcomes, stopping):
    """Two asks a pair: of a coin sd .71 / sqrt(400) = .035; 5 of it (.177) are passed in fewer than 1 of 10^6 runs."""
    for claim, outcome in zip((pull <= 0.25, abs(pull) <= 0.25), outcomes, strict=True):
        found, _ = decided(Planted(rule), pairs(400, better=TIE), cite, claim, stopping=stopping)
        assert found["pull"].outcome.value == outcome
        assert abs(found["pull"].estimate.value - value) < 0.177 or stopping is not FIXED


def test_a_judge_of_lists_is_asked_about_two_equal_answers():
    """Of three answers about one beside its copy, where no label says which is good."""
    cases = [pair(f"c{i}", answers=tuple(Answer(x, f"Text {x}.") for x in "xyz"), better=None) for i in range(40)]
    fond = Planted(lambda case, ask: Ranking(tuple((one,) for one in sorted(case.slots, key=lambda i: i == "plain"))))
    level = Planted(lambda case, ask: Ranking((case.slots,)))

    for judge, value, outcome in ((fond, 1, "FAIL"), (level, 0, "PASS")):
        found, _ = decided(replace(judge, task="listwise"), cases, cite, pull <= 0.25)
        assert (found["pull"].outcome.value, found["pull"].estimate.value) == (outcome, value)
        assert {len(case.answers) for case, _ in judge.asked} == {2}


def test_a_wording_that_alone_pulls_fails_the_worst_and_not_the_mean():
    """One of eight: .125 of all pairs. Where all pull, the mean says it, and no wording is asked by itself."""
    loud, claims = Planted(fan("(Source 5)")), (pull <= 0.25, worst_pull <= 0.5)
    one, every, none, few = (
        decided(judge, pairs(count, better=TIE), CUES, *claims)[0]
        for judge, count in ((loud, 200), (Planted(fan("(Source")), 200), (Planted(tied), 200), (Planted(tied), 4))
    )

    assert told(one) == {"pull": ("PASS", ""), "worst_pull": ("FAIL", "the worst of 8 variants is source-5")}
    assert one["worst_pull"].estimate.value == 1
    assert told(every) == {"pull": ("FAIL", ""), "worst_pull": ("NOT_TESTED", str(because(Kind.MEAN_FAILS)))}
    assert {outcome for outcome, _ in told(none).values()} == {"PASS"}
    assert few["worst_pull"].reason.has(Kind.FEW_OF_EACH)
    pilots = Counter(case.id for case, _ in loud.asked if not with_cue(case, "(Source"))
    assert set(pilots.values()) == {1}  # each pair once, for all wordings


def test_a_pull_is_observed_beside_what_else_is_claimed_and_rests_on_questions():
    """On all pairs, 60 of 20 clusters; other measures are asked as ever. Without an edit 40 pairs tell of the slots."""
    cases = [pair(f"c{i:03}", tags={"cluster": str(i % 20)}) for i in range(60)]
    found, _ = decided(Planted(slot(0)), cases, cite, gain <= 0.5, observed=[pull])
    slots, _ = decided(Planted(slot(0)), pairs(60), None, observed=[slot_pull, tie_rate])

    assert {name: one.outcome.value for name, one in found.items()} == {"gain": "PASS", "pull": "OBSERVED"}
    seen = found["pull"].estimate
    assert (seen.value, seen.n, seen.clusters, seen.level) == (0, 60, 20, 0.05)
    assert [(one.estimate.value, one.estimate.n) for one in slots.values()] == [(1, 40), (0, 40)]


def test_equal_pairs_may_be_of_other_cases_than_those_of_the_run():
    """As the pairs that ship are, for cases that ship."""
    judge = Planted(tied)
    with setup(judge, pairs(30)) as given:
        run(replace(given, equals=tuple(pair(f"e{i}", better=TIE) for i in range(30))), cite, [pull <= 0.25])

    assert {case.id[0] for case, _ in judge.asked} == {"e"}


# --------------------------------------------------------------------------------------------------------- what is lost


@pytest.mark.parametrize("stopping", list(Stopping))
@pytest.mark.parametrize(("share", "outcome"), [(5, "PASS"), (2, "INCOMPLETE")])
def test_pairs_with_an_unread_reply_are_left_out_and_too_many_hide_the_pull(share, outcome, stopping):
    """Every fifth may be; every second is too many, however the rest came out."""
    odd = Planted(lambda c, ask: Unreadable("odd") if with_cue(c) and int(c.id[1:]) % share == 0 else tied(c, ask))
    found, _ = decided(odd, pairs(120, better=TIE), cite, pull <= 0.25, stopping=stopping)

    assert found["pull"].outcome.value == outcome
    assert found["pull"].reason.has(Kind.UNREAD_REPLIES) == (outcome == "INCOMPLETE")
    if stopping is FIXED:
        left = found["pull"].estimate.excluded
        assert (found["pull"].estimate.n, left) == (120 - 120 // share, {because(Kind.UNREAD_ARM): 120 // share})


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("lost", "outcome"), [(1, "PASS"), (5, "INCOMPLETE")])
def test_more_than_two_in_a_hundred_lost_pairs_leave_a_pull_incomplete(lost, outcome, when):
    """Whether the ask without the cue is lost, or those with it."""

    def shaky(case, ask):
        if case.id < f"c{lost:03}" and bool(with_cue(case)) == (when == "after"):
            raise JudgeError("the server is down")
        return tied(case, ask)

    found, _ = decided(Planted(shaky), pairs(100, better=TIE), cite, pull <= 0.25, stopping=FIXED)

    assert found["pull"].outcome.value == outcome
    left = found["pull"].estimate.excluded
    assert (found["pull"].estimate.n, left) == (100 - lost, {reason_of("the server is down"): lost})


@pytest.mark.parametrize("cap", [0, 10, 20, 31])
def test_a_cap_leaves_a_pull_incomplete(cap):
    """Also one call short of what acquits."""
    server = Local(lambda body, number: Reply("plain", model="m-1"))
    caps = Caps(calls=cap)
    found, _ = decided(Asking(server), pairs(60, better=TIE), CUES, pull <= 0.25, worst_pull <= 0.5, caps=caps)

    assert {outcome for outcome, _ in told(found).values()} == {"INCOMPLETE"}
    assert all(one.reason.has(Kind.CAPPED) for one in found.values())
    assert len(server.begun) == cap
