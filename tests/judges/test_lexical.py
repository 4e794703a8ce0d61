"""The embedded judge: overlap, and the verdicts that follow from it."""

import asyncio
import random
from dataclasses import replace

import pytest
from sacrebleu.metrics.chrf import CHRF

from calm import Answer, Case, ConfigError, Criteria, Criterion, Preferred, Ranking, Score, Tie, Unreadable
from calm.cases import bundled
from calm.judges.lexical import LexicalJudge, covered, lexical, overlap
from calm.models.wire import Judge

REFERENCE = "Ice floats because it is less dense than liquid water."
PAIR = Case(
    "c",
    "Why does ice float?",
    (Answer("far", "It is cold."), Answer("near", "Ice is less dense than water, so it floats.")),
    reference=REFERENCE,
)


def ask(judge, case):
    return asyncio.run(judge.judge(case, None))


def test_the_answer_of_more_overlap_is_preferred_in_either_order():
    """The verdict names an answer, and the slots do not matter."""
    judge: Judge = LexicalJudge()

    assert ask(judge, PAIR) == Preferred("near")
    assert ask(judge, PAIR.arranged(("near", "far"))) == Preferred("near")


def test_equal_overlap_is_a_tie():
    """Two answers of one text cannot be told apart."""
    case = replace(PAIR, answers=(Answer("one", "Ice."), Answer("two", "Ice.")))

    assert ask(LexicalJudge(), case) == Tie()


def test_the_question_stands_in_for_a_reference_that_is_missing(subtests):
    """Without a reference the answer that speaks of the question is preferred."""
    for reference in [None, "", " \n"]:
        with subtests.test(reference=reference):
            case = replace(PAIR, reference=reference)

            assert ask(LexicalJudge(), case) == Preferred("near")


def test_a_score_is_the_overlap_on_the_scale():
    """Full overlap is the top of the scale, none its foot, and between them the score is linear."""
    judge = LexicalJudge("score")
    half = "Ice floats because"

    def score(text):
        return ask(judge, replace(PAIR, answers=(Answer("a", text),)))

    assert score(REFERENCE) == Score(10.0)
    assert score("") == Score(1.0)
    assert score(half) == Score(1 + 9 * overlap(REFERENCE, half))
    assert judge.scale.step is None


def test_a_ranking_goes_by_overlap_with_ties_together():
    """Listwise judging is the same measure over more answers."""
    case = replace(PAIR, answers=(*PAIR.answers, Answer("same", "It is cold.")))

    assert ask(LexicalJudge("listwise"), case) == Ranking((("near",), ("far", "same")))


def test_a_criterion_is_met_by_two_thirds_of_its_words(subtests):
    """Quoted words count alone if there are any, and a negation outside the quotation turns the verdict over."""
    for criterion, text, met in [
        ('The answer contains the word "keeper".', "The keeper sleeps.", True),
        ('The answer contains the word "keeper".', "Nobody sleeps.", False),
        ('It names “red” and "blue".', "Red, yellow.", False),
        ('It names "red", "blue" and "green".', "Red, green.", True),
        ('The answer does not contain the word "clock".', "A clock.", False),
        ('The answer does not contain the word "clock".', "A bell.", True),
        ('The answer contains the words "no way".', "No way out.", True),
        ("Water expands slowly.", "So water expands.", True),
        ("Water expands slowly.", "Water shrinks.", False),
    ]:
        with subtests.test(criterion=criterion, text=text, met=met):
            case = Case("c", "q", (Answer("a", text),), criteria=(Criterion("k", criterion),))

            assert covered(criterion, text) is met
            assert ask(LexicalJudge("rubric"), case) == Criteria({"k": met})


def test_points_are_the_share_earned():
    """A criterion of negative points is earned where it is not met."""
    criteria = (Criterion("k1", '"red"', 3), Criterion("k2", '"blue"', 1), Criterion("k3", '"grey"', -4))
    case = Case("c", "q", (Answer("a", "Red and grey."),), criteria=criteria)

    assert ask(LexicalJudge("points"), case) == Score(3 / 8)
    assert isinstance(ask(LexicalJudge("points"), replace(case, criteria=())), Unreadable)


def test_odd_texts_have_an_overlap(subtests):
    """Empty, foreign, broken and long texts are data."""
    for text in ["", " ", "\n", "…", "水", "\ud800", "a" * 100_000]:
        with subtests.test(text=text):
            assert 0 <= overlap(REFERENCE, text) <= 1
            assert 0 <= overlap(text, REFERENCE) <= 1


def test_overlap_is_that_of_the_reference_program():
    """Bit for bit, on texts of the bundled cases and on blanks, signs and scripts in a random order."""
    rng, oracle = random.Random(41), CHRF(word_order=2)
    texts = [text for case in bundled("pairwise") for text in (case.question, *(a.text for a in case.answers))]
    texts += ["".join(rng.choices("ab .,!('\n\u00a0é中\u2028\x1f", k=rng.randrange(12))) for _ in range(100)]
    pairs = [rng.choices(texts, k=2) for _ in range(200)]

    assert [100 * overlap(*pair) for pair in pairs] == [oracle.sentence_score(b, [a]).score for a, b in pairs]


def test_overlap_does_not_change_with_the_order_of_calls():
    """The measure has no memory but its cache."""
    before = overlap(REFERENCE, "Ice floats.")
    overlap.cache_clear()
    overlap("another", "text")

    assert overlap(REFERENCE, "Ice floats.") == before


def test_sees_is_what_can_reach_the_verdict():
    """The question matters only where it is measured by; notes and bylines never do."""
    judge = LexicalJudge()

    assert judge.sees(PAIR) == judge.sees(replace(PAIR, question="What?").present(notes=("n",), bylines={"far": "You"}))
    assert judge.sees(PAIR) != judge.sees(replace(PAIR, reference="Because."))
    assert judge.sees(PAIR) != judge.sees(PAIR.edit("far", str.upper))
    assert judge.sees(PAIR) != judge.sees(PAIR.arranged(("near", "far")))
    assert judge.sees(replace(PAIR, reference=None)) != judge.sees(replace(PAIR, reference=None, question="What?"))


def test_a_specification_names_the_task():
    """The default is pairwise; each task has a fingerprint of its own."""
    assert lexical("lexical") == lexical("lexical:") == LexicalJudge("pairwise")
    assert lexical("lexical:task=score") == LexicalJudge("score")
    assert lexical("lexical:task=score").fingerprint != lexical("lexical").fingerprint


def test_a_wrong_specification_is_a_fault_of_configuration(subtests):
    """The message names the key and the nearest known one."""
    for spec, expected in [
        ("lexical:tsk=score", "unknown key 'tsk'; did you mean 'task'?"),
        ("lexical:task=scores", "got task='scores'; did you mean 'score'?"),
        ("lexical:score", "expected KEY=VALUE, got 'score'"),
        ("lexicon", "got 'lexicon'"),
    ]:
        with subtests.test(spec=spec, expected=expected):
            with pytest.raises(ConfigError) as caught:
                lexical(spec)

            assert expected in str(caught.value)


def test_the_judge_is_real_on_the_bundled_pairs():
    """It finds the better answer of nine pairs in ten, so a user's first run has something to show."""
    cases = [case.balanced("salt") for case in bundled("pairwise")]

    right = sum(ask(LexicalJudge(), case) == Preferred(case.better) for case in cases)

    assert right >= 0.9 * len(cases)
