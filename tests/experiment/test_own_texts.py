"""What a run does with texts that the cases hold: what it compares them with, how it asks again, what it counts."""

from dataclasses import replace

from calm import Answer, Case, gain, rotate
from calm.core.edits import Expects
from calm.core.reasons import Kind
from calm.core.verdict import Preferred, Ranking
from calm.experiment.pairs import pair_up
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.gate.catalogue import texts_outlook
from calm.perturbations.authority import cite_book, cite_url
from calm.perturbations.sentiment import sad
from calm.results.findings import finding
from tests.planted import Planted, setup

NEUTRAL, SAD = "One bakes it for 20 minutes or so, in a hot oven.", "Alas, 20 minutes it takes to bake, and I weep."


def cases(count=20, *, better="good", answers=("bad",), **texts):
    """Return pairs with texts for some answers, by name."""
    return [
        Case(
            f"c{number}",
            f"How long, {number}?",
            (Answer("good", f"It takes {number} hours."), Answer("bad", f"Bake for {number} minutes in a hot oven.")),
            better=better,
            variants={name: dict.fromkeys(answers, f"{text} ({number})") for name, text in texts.items()},
        )
        for number in range(count)
    ]


def prefers_good(case, ask):
    """Return a verdict for the answer that is called good."""
    return Preferred("good")


def lists(*order):
    """Return a judge of lists that always ranks the answers so."""
    return Planted(lambda case, ask: Ranking(tuple((one,) for one in order)), task="listwise")


def test_a_rewrite_is_held_against_the_neutral_rewrite_of_its_case():
    """The words of the same writer stand in the inert arm; a citation has inert words of its length, as ever."""
    texts = {"sad": SAD, "neutral": NEUTRAL, "cite_book": "Bake it. Source: a book."}
    with setup(Planted(prefers_good), cases(4, **texts)) as ready:
        toned, cited = (pair_up(ready, edit, None).pairs[0] for edit in (sad, cite_book))

        first, again = toned.floor(1), toned.floor(2)

    assert first.name == again.name == "rewrite"
    assert first.case["bad"].text == toned.source.variants["neutral"]["bad"]
    assert NEUTRAL in again.case["bad"].text
    assert again.case != first.case
    assert cited.floor(1).name != "rewrite"
    assert (toned.own, cited.own) == ("sad", "cite_book")


def test_a_text_that_is_asked_again_keeps_its_words_and_both_answers_get_inert_ones():
    """Words put on the answers before the edit would be lost with the treated answer's text."""
    with setup(Planted(prefers_good), cases(2, sad=SAD)) as ready:
        pair = pair_up(ready, sad, None).pairs[0]

        shown, repeat = pair.ask(2)
        case = shown()

    assert repeat == 1
    assert SAD in case["bad"].text
    assert all(len(case[i].text) > len(pair.shown()[i].text) for i in ("good", "bad"))


def counted(judge, asked, edit, perturbed=2):
    """Return the record of a probe."""
    with setup(judge, asked, design=Design(2, perturbed)) as ready:
        ruling = run(ready, edit, [gain <= 0.15]).rulings[0]
    given = {"bias": edit.bias, "node": "n", "task": judge.task, "edit": edit, "against": None}
    return finding(**given, decision=ruling.decision, trials=ruling.trials)


def test_a_text_for_the_answer_that_the_pilot_does_not_choose_is_counted():
    """In a list without gold the judge says which answer is weakest; the outlook leaves it open, then it is known."""
    mine = cases(40, better=None, sad=SAD)

    weaker, stronger = (counted(lists(*order), mine, sad) for order in (("good", "bad"), ("bad", "good")))
    told = texts_outlook([sad], mine, "listwise")

    assert (told.cases, told.shown, told.open) == (40, 0, 40)
    assert (weaker.own, dict(weaker.unused)) == (len(weaker.trials), {})
    assert (stronger.own, [r.kind for r in stronger.unused]) == (0, [Kind.FOR_OTHER_ANSWER])
    assert sum(stronger.unused.values()) == len({row.case for row in stronger.trials})


def test_texts_for_both_answers_are_sure_to_be_shown():
    """Whatever the pilot says; the one for the other answer is then counted."""
    mine = cases(40, better=None, answers=("good", "bad"), sad=SAD)

    told, found = texts_outlook([sad], mine, "listwise"), counted(lists("bad", "good"), mine, sad)

    assert (told.shown, told.open, dict(told.unused)) == (40, 0, {})
    assert found.own == len({row.case for row in found.trials})
    assert [reason.kind for reason in found.unused] == [Kind.FOR_OTHER_ANSWER]


def test_a_pair_without_a_better_answer_shows_no_text():
    """Neither answer is the weaker one, which the text would be for: the outlook knows it before a call, as the run."""
    mine = cases(40, better=None, answers=("good", "bad"), sad=SAD)

    told, found = texts_outlook([sad], mine, "pairwise"), counted(Planted(prefers_good), mine, sad)

    assert (told.cases, told.shown, told.open) == (40, 0, 0)
    assert {reason.kind: count for reason, count in told.unused.items()} == {Kind.NO_GOLD: 80}
    assert (found.own, found.outcome.value, found.reason.kind) == (0, "NOT_TESTED", Kind.NO_GOLD)


def test_a_case_with_several_texts_says_which_were_left():
    """Asked once a case is shown one of its texts: the other is counted as one that was not shown."""
    mine = cases(200, cite_book="A book.", cite_url="A page.")

    found = counted(Planted(prefers_good), mine, rotate(cite_book, cite_url), perturbed=1)

    rows = len({row.case for row in found.trials})
    assert found.own == rows
    assert {reason.kind: count for reason, count in found.unused.items()} == {Kind.OTHER_TEXT_SHOWN: rows}
    assert {row.own for row in found.trials} == {"cite_book", "cite_url"} == {row.edit for row in found.trials}


def test_an_edit_that_serves_another_task_says_so_before_the_run():
    """Its texts are counted as not shown."""
    only = replace(sad, tasks=("score",), expects=Expects.NOT_BETTER)

    told = texts_outlook([only], cases(3, sad=SAD), "pairwise")

    assert (told.cases, told.shown, sum(told.unused.values())) == (3, 0, 3)
    assert [reason.kind for reason in told.unused] == [Kind.OWN_TASKS]
