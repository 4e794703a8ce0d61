"""Heuristics: what they measure, when they warn, and when they do not."""

import random
from dataclasses import replace

from calm import Answer, Case, Criterion
from calm.cases import bundled
from calm.cases.heuristics import read_heuristics, warnings


def pairs(n, change, *, seed=1):
    """Return pairs of random texts, of which `change(good, bad)` gives the final texts."""
    rng = random.Random(seed)
    cases = []
    for number in range(n):
        good, bad = (" ".join(rng.choices(["so", "thus", "then", "lamp"], k=rng.randint(5, 9))) for _ in "xy")
        good, bad = change(good, bad)
        answers = [Answer("good", good), Answer("bad", bad)]
        rng.shuffle(answers)
        cases.append(Case(f"c{number}", f"What of {number}?", tuple(answers), better="good"))
    return cases


def reading_of(cases, *words):
    """Return the reading of the heuristic whose name holds one of the words."""
    return next(reading for reading in read_heuristics(cases) if any(word in reading.heuristic for word in words))


PLANTED = [
    ("longest answer", lambda g, b: (f"{g} {b}", b)),
    ("shortest answer", lambda g, b: (g, f"{g} {b}")),
    ("most lists and markup", lambda g, b: (f"- {g}\n- **{g}**", f"{b}; {g}; {g} {b}")),
    ("most digits", lambda g, b: (f"{g} 40", f"{b} so")),
]


def test_a_planted_shortcut_is_found_and_warned_of(subtests):
    """The heuristic that equals the gold is named, with its agreement and what to do."""
    for heuristic, change in PLANTED:
        with subtests.test(heuristic=heuristic, change=change):
            cases = pairs(60, change)

            found = reading_of(cases, heuristic)

            assert (found.agreement, found.n, found.level) == (1.0, 60, "gold")
            assert warnings([found])[0].startswith(f"the heuristic `{heuristic}` nearly equals the gold: 100% [")


def test_unrelated_texts_give_no_warning():
    """Where nothing was planted, nothing is found."""
    assert warnings(read_heuristics(pairs(200, lambda g, b: (g, b)))) == []


def test_few_cases_do_not_cry_wolf():
    """Four cases out of four are no evidence at this level, five hundred by chance neither."""
    few = pairs(4, PLANTED[0][1])

    assert reading_of(few, "longest").agreement == 1.0
    assert warnings(read_heuristics(few)) == []


def test_a_heuristic_between_coin_and_gold_leans():
    """Seven of ten, over many cases, is told as less than the gold."""
    longer, shorter = pairs(300, PLANTED[0][1]), pairs(120, PLANTED[1][1], seed=2)
    cases = longer + [replace(case, id=f"d{n}") for n, case in enumerate(shorter)]

    found = reading_of(cases, "longest")

    assert (round(found.agreement, 2), found.level) == (0.71, "leans")
    assert "agrees with the gold too often" in found.warning


def test_the_words_of_question_and_reference_are_heuristics():
    """An overlap with either that equals the gold is found; without a reference there is nothing to measure."""
    cases = [Case(f"c{n}", f"why {n}", (Answer("b", "red lamp"), Answer("a", f"why {n} so")), "a") for n in range(50)]
    shown = [replace(case, reference=f"{case.id} red lamp", better="b") for case in cases]

    assert reading_of(cases, "question").heuristic == "most words of the question"
    assert reading_of(shown, "reference").heuristic == "most words of the reference"
    assert not any("reference" in reading.heuristic for reading in read_heuristics(cases))


def test_the_place_in_the_file_is_a_heuristic():
    """A file with the better answer always first is told about, as harmless here."""
    cases = [Case(f"c{n}", "q", (Answer("a", "x"), Answer("b", "y")), "a") for n in range(50)]

    found = reading_of(cases, "listed")

    assert (found.heuristic, found.level) == ("first listed", "gold")
    assert "harmless in calm" in found.warning


def test_an_author_who_always_wins_is_a_heuristic():
    """The name is in the warning; an author against himself counts for nothing."""
    cases = [Case(f"c{n}", "q", (Answer("a", "x", "m1"), Answer("b", "y", f"m{n}")), "a") for n in range(1, 41)]

    found = reading_of(cases, "by m1")

    assert (found.heuristic, found.agreement, found.n) == ("the answer by m1", 1.0, 39)


def test_ties_and_cases_without_gold_are_left_out():
    """What is not known cannot agree."""
    cases = pairs(10, PLANTED[0][1])
    known = [*cases, replace(cases[0], id="t", better="tie"), replace(cases[0], id="u", better=None)]

    assert reading_of(known, "longest").n == 10
    assert read_heuristics([replace(case, better=None) for case in cases]) == []


def test_a_draw_counts_half():
    """Answers that a heuristic cannot tell apart are worth a coin."""
    cases = [Case(f"c{n}", "q", (Answer("a", "x"), Answer("b", "y")), "ab"[n % 2]) for n in range(20)]

    assert reading_of(cases, "longest").agreement == 0.5


def test_scores_of_single_answers_are_compared_between_cases():
    """A grade that follows the length is found, and the bounds are wider than those of as many pairs."""
    cases = [Case(f"c{n}", f"q{n}", (Answer("only", "x" * (n + 1)),), scores={"only": n % 10}) for n in range(10)]
    more = [replace(case, id=f"{case.id}-{n}") for n in range(6) for case in cases]

    found = reading_of(more, "longest")

    assert (found.agreement, found.n, found.level) == (1.0, 60, "gold")
    assert found.low < reading_of(pairs(60, PLANTED[0][1]), "longest").low


def test_points_of_a_rubric_are_gold():
    """Criteria that are met more often in longer answers are found; faults count against."""
    criteria = (Criterion("c", "good"), Criterion("f", "bad", points=-1.0))
    cases = [
        Case(f"c{n}", "q", (Answer("a", "x" * (9 if n % 2 else 2)),), criteria=criteria,
             met={"a": {"c": True, "f": n % 2 == 0}})
        for n in range(60)
    ]  # fmt: skip

    assert reading_of(cases, "longest").level == "gold"


def test_lists_are_compared_answer_by_answer():
    """With several answers every two of different gold are a comparison, and the case is the unit."""
    answers = tuple(Answer(name, "x" * length) for name, length in (("a", 1), ("b", 2), ("c", 3)))
    cases = [Case(f"c{n}", "q", answers, scores={"a": 1, "b": 3, "c": 2}) for n in range(30)]

    found = reading_of(cases, "longest")

    assert (round(found.agreement, 3), found.n) == (0.667, 30)


def test_a_reply_that_is_always_right_is_found(subtests):
    """A judge that says the same of everything would look right."""
    for cases, heuristic in [
        ([Case(f"c{n}", "q", (Answer("a", "x"),), scores={"a": 7 if n else 2}) for n in range(40)], "always 7"),
        (
            [
                Case(f"c{n}", "q", (Answer("a", "x"),), criteria=(Criterion("c", "t"),), met={"a": {"c": n > 0}})
                for n in range(40)
            ],
            "every criterion met",
        ),
    ]:
        with subtests.test(cases=cases, heuristic=heuristic):
            found = reading_of(cases, heuristic)

            assert (found.agreement, found.level) == (39 / 40, "gold")


def test_the_shipped_cases_have_no_shortcut_but_their_references(subtests):
    """Only the overlap with the reference knows something of their gold, as a reference should."""
    for task in ["pairwise", "score", "rubric", "listwise"]:
        with subtests.test(task=task):
            told = warnings(read_heuristics(bundled(task)))

            assert [warning for warning in told if "of the reference" not in warning] == []


def test_the_order_of_the_cases_makes_no_difference():
    """Also where only some of the cases are compared."""
    cases = [Case(f"c{n}", f"q{n}", (Answer("a", "x" * (n % 7)),), scores={"a": n % 5}) for n in range(700)]

    assert read_heuristics(cases) == read_heuristics(cases[::-1])
