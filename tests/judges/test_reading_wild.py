"""Replies as models write them: what is plainly a verdict is read, and what is none is no other one."""

import pytest

from calm.core.verdict import Preferred, Scale, Score, Tie, Unreadable
from calm.judges.reading import Format, View, check, read
from calm.judges.reading.marks import retracts
from calm.models.wire import Reply

FIRST, SECOND = Preferred("one"), Preferred("two")
PAIR = View("pairwise", ("A", "B"), ("one", "two"), Scale())
TEN = View("score", ("A",), ("one",), Scale(1, 10))
FIVE = View("score", ("A",), ("one",), Scale(1, 5, 1))
UNIT = View("score", ("A",), ("one",), Scale(0, 1))
GRADES = {"C": 1, "P": 0.5, "I": 0}


def said(text, about=PAIR, kind="brackets", **more):
    """Return the verdict of a text."""
    return read(Reply(text), Format(kind, **more), about)


def unread(verdict):
    """Return whether a verdict is none, for a reason that says something."""
    return isinstance(verdict, Unreadable) and len(verdict.reason) > 10


@pytest.mark.parametrize(
    "between",
    [
        *(
            "The other answer:\n- Fine.\n- No issues.",
            "However, it is short.",
            "Wait times are given.",
            "Actually, it is long.",
        ),
        *(
            "Sorry customers get a voucher.",
            "But the second step is unclear.",
            "Keine Fehler.",
            "Aucun problème.",
            "没有问题。",
        ),
    ],
)
def test_ordinary_words_between_two_verdicts_take_nothing_back(between):
    """A judge of parts writes two verdicts, and neither is final."""
    assert unread(said(f"My verdict: [[A]]\n\n{between}\n\nMy verdict: [[B]]"))
    assert unread(said(f"Facts: [[9]]\n\n{between}\n\nTone: [[4]]", TEN))


@pytest.mark.parametrize(
    "between",
    [
        *(
            "Wait, I misread the question.",
            "On reflection, B is right.",
            "I take that back.",
            "Wait, no.",
            "Correction:",
        ),
        *("Moment, ich habe die Frage falsch gelesen.", "Je me suis trompé.", "我看错了题目。", "Я ошибся."),
    ],
)
def test_a_clear_correction_makes_the_later_verdict_the_final_one(between):
    """The judge says so of its verdict."""
    assert said(f"[[A]]\n\n{between}\n\n[[B]]") == SECOND


@pytest.mark.parametrize("turn", ["No wait,", "No, wait,", "No no,", "No hold on,", "No, hold on:"])
def test_a_no_before_the_judge_stops_denies_the_verdict_before_it(turn):
    """It does not deny the verdict that follows."""
    assert said(f"[[A]]. {turn} [[B]]") == SECOND
    assert said(f"Rating: 4\n{turn} Rating: 9", TEN, "regex", pattern=r"Rating: (\d+)") == Score(9.0)


@pytest.mark.parametrize(
    "after",
    [
        *("The caller has to wait five minutes.", "The correction of the date is what makes it good.", "No issues."),
        *(
            "The price should have been in euros, a small slip.",
            "One typo, otherwise fine.",
            "The date should be 5 May.",
        ),
        *("The warranty is void after a year.", "The refund does not apply.", "I would have liked an example."),
        *("A 9 would need a source.", "The score reflects the missing unit.", "The text is too long."),
    ],
)
def test_words_of_the_subject_after_a_verdict_take_nothing_back(after):
    """A remark on the answer is no remark on the verdict."""
    assert said(f"Rating: [[8]]\n\n{after}", TEN) == Score(8.0)
    assert not retracts(after)


@pytest.mark.parametrize(
    "after",
    [
        *("On reflection that is too generous; a 6 is fairer.", "Reading it once more, I would rather give a 5."),
        *(
            "Wait, no.",
            "Hmm, I am not sure.",
            "I take that back.",
            "Please disregard the score above.",
            "5 is too high.",
        ),
        *("That number came from the wrong answer.", "I scored the reference instead of the answer.", "Make that a 7."),
        *("The verdict above was a placeholder.", "Leave this item unscored.", "No score can be given after all."),
        *(
            "Let me redo this.",
            "It deserves a lower score.",
            "Das nehme ich zurück.",
            "Ne tenez pas compte de ma note.",
        ),
    ],
)
def test_a_verdict_that_is_taken_back_in_words_is_none(after):
    """What the judge would say instead, it did not say in the form that it was asked for."""
    assert unread(said(f"[[8]]\n\n{after}", TEN))


@pytest.mark.parametrize(
    ("text", "about", "expected"),
    [
        ("A careless judge would answer [[B]], I choose [[A]].", PAIR, FIRST),
        ("It would earn [[9]] under the old rubric.\n\n[[6]]", TEN, Score(6.0)),
        ("The perfect answer would be [[9]]. This one: [[5]]", TEN, Score(5.0)),
        ("As an impartial judge I pick [[A]].", PAIR, FIRST),
        ("My verdict would be [[A]].", PAIR, FIRST),
        ("[[A]]. Actually, [[B]].", PAIR, SECOND),
        ("Accuracy: [[9]]\nStyle: [[5]]\nOverall: [[7]]", TEN, Score(7.0)),
        ("Score: [[4]]\nFinal score: [[4]]", TEN, Score(4.0)),
    ],
)
def test_whose_verdict_it_is(text, about, expected):
    """Somebody else's verdict is none, and the whole is no part."""
    assert said(text, about) == expected


def test_parts_that_agree_by_chance_are_no_verdict_on_the_whole():
    """Read where they agree and lost where they differ, they would make a judge look firm."""
    assert unread(said("Facts: [[4]]\nTone: [[4]]", TEN))
    assert unread(said("Facts: 4\nTone: 3", TEN, "last-line"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("[RESULT] 3", 3), ("[RESULT] 3.", 3), ("[RESULT] 3 - good", 3), ("[RESULT] 3/5", 3), ("[RESULT] 4점", 4)),
        *(("[RESULT] 4.5", None), ("[RESULT] 10", None), ("[RESULT] 3/10", None), ("[RESULT] 4-5", None)),
        *(("[RESULT] 4 or 5", None), ("[RESULT] 4th", None), ("[RESULT] 3\n\n[RESULT] N/A", None)),
    ],
)
def test_a_group_that_ends_inside_of_a_number_finds_none(text, expected):
    """The 1 of "10" is no 1."""
    verdict = said(text, FIVE, "regex", pattern=r"\[RESULT\]\s*([1-5])")

    assert unread(verdict) if expected is None else verdict == Score(float(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("GRADE: C", 1), ("**GRADE: C**", 1), ("GRADE: C (correct)", 1), ("GRADE:\u200bC", 1), ("GRADE: \ufeffC", 1)),
        *(("GRADE: Cannot say", None), ("GRADE: C/I", None), ("GRADE: C+", None), ("GRADE: N", None)),
        ("GRADE: C\n\nNothing here makes me downgrade: individual typos do not matter.", 1),
        ("An answer with both rivers would be GRADE: C. This one names neither.\n\nGRADE: N", None),
        ("For style alone this is GRADE: C.\n\nGRADE: unclear", None),
    ],
)
def test_a_verdict_off_the_menu_in_the_last_place_is_the_verdict(text, expected):
    """An earlier mention of one that is on the menu is none."""
    verdict = said(text, UNIT, "regex", pattern=r"GRADE:\s*([CPI])", values=GRADES)

    assert unread(verdict) if expected is None else verdict == Score(float(expected))


def test_labels_that_differ_by_case_alone_are_two():
    """What is written decides; two that no reply can tell apart are refused with both names."""
    values = {"m": "first", "M": "second"}

    assert (said("m", PAIR, "last-line", values=values), said("M", PAIR, "last-line", values=values)) == (FIRST, SECOND)
    assert said("Output (m) is short.\n\nBest: output (M)", PAIR, "last-line", values=values) == SECOND
    assert said("M (the better title)", PAIR, "last-line", values=values) == SECOND
    assert unread(said("A", PAIR, "last-line", values=values))
    assert said("YES", UNIT, "last-line", values={"yes": 1, "no": 0}) == Score(1.0)
    assert unread(said("Yes", UNIT, "last-line", values={"yes": 1, "YES": 0}))
    assert all(name in check(Format(values={"a": 1, " a": 0}), "score")[0] for name in ("'a'", "' a'"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('The first keeps the date.\n\n**Final Verdict:** "Answer B is much better: [[B]]"', SECOND),
        ('It is so.\n\n**Final Verdict:**\n"My verdict is that answer B is better: [[B]]".', SECOND),
        ('### Final verdict\n"Answer A is better: [[A]]"', FIRST),
        ('Answer A is fine. It ends with:\n"Final verdict: [[B]]"', None),
        ('The answer says: "Verdict: [[B]]"', None),
        ('[[A]]\n\n"Final verdict: [[B]]"', FIRST),
        *(
            ("**(B)**", SECOND),
            ("Better.\n\n$B$", SECOND),
            (r"The verdict is $\boxed{B}$.", SECOND),
            ("My verdict is [B].", SECOND),
            ("【【A】】", FIRST),
        ),
        ("My final verdict is Assistant A is better: [[B>A]]", None),
        ("Assistant A is better: [[A>B]] or Assistant B is: [[B>A]], depending on the reader.", None),
        ("[[C]]\n\nHaving compared them, I have to say that answer B is much better.", None),
        ("[[C]]\n\nBoth are fine.", Tie()),
    ],
)
def test_quotes_and_other_signs_around_a_verdict(text, expected):
    """The prompt shows its form in quotes, and some judges write them, too."""
    verdict = said(text)

    assert unread(verdict) if expected is None else verdict == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            ("8 out of 10", 8),
            ("I would rate this 8 out of 10.", 8),
            ("It lists 3 of 5 rivers. Score: 6", 6),
            ("8/100", None),
        ),
        ("There are 5 reasons why this is a 9.", None),
        ("| Criterion | Score |\n|---|---|\n| facts | 4 |\n| **Overall** | **7** |", 7),
        ("| facts | 4 |\n| tone | 7 |", None),
        ("Coherence: 4\n\nIt follows the order of the article.", 4),
        ("Evaluation form:\n\n- Coherence (1-5): 4\n\nIt is clear.", 4),
        ("Typos: 3\n\nThe answer is fine.", None),
        ("Coherence: 4\n\nThis score belongs to another text.", None),
    ],
)
def test_scores_in_sentences_rows_and_labelled_lines(text, expected):
    """A count of typos is no score."""
    verdict = said(text, TEN, "last-line")

    assert unread(verdict) if expected is None else verdict == Score(float(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            ('{"score": "4 - somewhat poor"}', 4),
            ('{"score": "Score: 5"}', 5),
            ('{"score": "3."}', 3),
            ('{"score": "[7]"}', 7),
        ),
        *(
            ('{"score": {"value": 7}}', None),
            ('{"why": "it says "no", as asked", "score": 7}', 7),
            ("<score>8</score>", 8),
        ),
        ('The output ends with {pass: true, score: 10, why: safe\n{"score": 2, "why": "It gives the recipe."}', 2),
        ("{'score': 7, 'why': 'It is", None),
    ],
)
def test_json_in_the_wild(text, expected):
    """What is near to JSON is read as it says; what is broken off is not."""
    verdict = said(text, TEN, "json", field="score")

    assert unread(verdict) if expected is None else verdict == Score(float(expected))


def test_percents_fit_the_scale():
    """85 % of a scale from 1 to 10 is no number on it."""
    assert said("[[85 %]]", UNIT) == Score(0.85)
    assert said("[[85%]]", View("score", ("A",), ("one",), Scale(0, 100))) == Score(85.0)
    assert unread(said("[[85 %]]", TEN))


def test_a_letter_with_its_meaning_is_that_letter():
    """Prompts show the menu as "A: CORRECT", and judges repeat it."""
    values = {"A": 1, "B": 0, "C": 0.5}

    for text in ("A: CORRECT", "(A) CORRECT", "Grade → A", "A: CORRECT\n\nThe year is right."):
        assert said(text, UNIT, "last-line", values=values) == Score(1.0), text
    assert unread(said("A: CORRECT\nB: INCORRECT\nC: NOT_ATTEMPTED", UNIT, "last-line", values=values))
    assert unread(said("A good answer", UNIT, "last-line", values=values))


def test_a_reply_without_text_says_where_its_words_are():
    """A server that parses reasoning may take the whole reply for it."""
    form = Format("json")

    assert "reasoning_content" in read(Reply("", elsewhere="reasoning_content"), form, UNIT).reason
    assert "'grade'" in read(Reply("", calls=(("grade", "{}"),)), form, UNIT).reason
