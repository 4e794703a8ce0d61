"""Cases in any number: their gold, their balance, and that no two are alike."""

import random
import tracemalloc
from collections import Counter
from datetime import date
from itertools import islice

import pytest

from calm import ConfigError
from calm.cases import bundled
from calm.cases.generate import (
    KINDS,
    MOST,
    SIZES,
    generate,
    problems,
)
from calm.cases.generate import (
    problems as results,
)
from calm.cases.generate.scores import gold
from calm.cases.heuristics import read_heuristics
from calm.core.checks import verify
from tests.cases.test_pairwise_cases import FORBIDDEN

TASKS = ("pairwise", "score", "rubric", "rubric-all", "points", "listwise")
WORKED = ("arithmetic", "units", "dates", "ordering")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@pytest.fixture(scope="module")
def made():
    """Return fifty cases of each task, of all kinds in turn."""
    return {task: list(generate(task, 50, 11)) for task in TASKS}


def test_cases_have_ids_and_questions_of_their_own_and_all_kinds(made, subtests):
    """The kinds take turns; nothing occurs twice, and nothing that ships occurs."""
    for task in TASKS:
        with subtests.test(task=task):
            cases = made[task]
            shipped = {case.question for case in bundled(task)}

            assert len({case.id for case in cases}) == len({case.question for case in cases} - shipped) == 50
            assert Counter(case.tags["category"] for case in cases) == dict.fromkeys(KINDS, 10)
            assert all(
                case.reference or task == "listwise" or case.tags["category"] == "instructions" for case in cases
            )


def test_a_seed_gives_the_same_cases_and_a_smaller_count_the_first_of_them(made, subtests):
    """Another seed gives others, under other ids."""
    for task in TASKS:
        with subtests.test(task=task):
            again, other = list(generate(task, 12, 11)), list(generate(task, 12, 12))

            assert again == made[task][:12]
            assert not {case.id for case in other} & {case.id for case in again}
            assert not {case.question for case in other} & {case.question for case in again}


def test_the_better_answer_of_a_pair_has_more_right_results(made):
    """The reference holds every result: the better answer has all its sentences, the worse one lacks some."""
    pairs = list(generate("pairwise", 120, 5, kinds=["dates"]))

    for case in pairs:
        wanted = case.reference.removesuffix(".").split(". ")
        kept = {answer.id: sum(sentence in answer.text for sentence in wanted) for answer in case.answers}
        assert kept["good"] == len(wanted) > kept["bad"], case.id
        assert (kept["bad"] == len(wanted) - 1) == (case.tags["margin"] == "close"), case.id


def test_the_score_of_an_answer_is_its_share_of_right_results():
    """Counted anew from the text, by the formula of the shipped cases."""
    for case in generate("score", 120, 5, kinds=WORKED):
        wanted = case.reference.removesuffix(".").split(". ")
        text = case.answers[0].text.removeprefix("- ").replace("\n- ", " ") + " "
        right = sum(f"{sentence}. " in text for sentence in wanted)
        assert case.scores == {"only": gold(right, len(wanted))}, case.id


def test_what_is_met_is_what_the_program_says(made, subtests):
    """Every criterion has a check, some are met and some not, and the reference meets all of them."""
    for task in ["rubric", "points"]:
        with subtests.test(task=task):
            truths = []
            for case in made[task]:
                for criterion in case.criteria:
                    truth = verify(criterion.check, case.answers[0].text)
                    assert case.met["only"][criterion.id] == truth
                    assert verify(criterion.check, case.reference), (case.id, criterion.text)
                    truths.append(truth)
            assert 0.3 < sum(truths) / len(truths) < 0.7


def test_a_list_has_answers_of_different_scores(made):
    """The best of them is the better one, and no place is the best one's."""
    for case in made["listwise"]:
        assert len(case.answers) >= 3
        assert len(set(case.scores.values())) == len(case.answers)
        assert case.scores[case.better] == max(case.scores.values())
    assert len({case.better for case in made["listwise"]}) >= 3


def test_a_list_has_as_many_answers_as_are_wanted(subtests):
    """Two to six, all of them of different scores; other tasks and kinds have none."""
    for size in SIZES:
        with subtests.test(size=size):
            cases = list(generate("listwise", 12, 11, kinds=WORKED, answers=size))
            assert {len(case.answers) for case in cases} == {size} == {len(set(case.scores.values())) for case in cases}
            assert all(case.scores[case.better] == max(case.scores.values()) for case in cases)
    for task, kinds, size in (("pairwise", WORKED, 2), ("listwise", KINDS, 6), ("listwise", WORKED, 7)):
        with subtests.test(task=task, size=size), pytest.raises(ConfigError, match="--answers: expected 2 to 6"):
            generate(task, 1, 1, kinds=kinds, answers=size)


def day_of(text):
    """Return the date that a text such as `3 March 2026` names."""
    day, month, year = text.split()
    return date(int(year), MONTHS.index(month) + 1, int(day))


def test_dates_agree_with_the_calendar():
    """The span, the weekday and the date in the reference follow from the two dates of the question."""
    draw = next(draw for draw in problems.BY_KIND["dates"] if draw.__name__ == "_spans")
    rng = random.Random(3)

    for _ in range(200):
        problem = draw(rng)
        first = day_of(problem.question.partition("day, ")[2].partition(" is the first")[0])
        last = day_of(problem.question.partition("first day and ")[2].partition(" the last")[0])
        days, weeks, over, weekday, later = (one.true for one in problem.results)
        assert int(days) == (last - first).days == 7 * int(weeks) + int(over)
        assert last.strftime("%A") == weekday
        assert (day_of(later) - first).days == 100


def test_a_wrong_result_is_never_the_true_one(subtests):
    """In no draw of any template do the two agree."""
    for kind in WORKED:
        with subtests.test(kind=kind):
            rng = random.Random(8)

            drawn = [draw(rng) for draw in problems.BY_KIND[kind] for _ in range(300)]

            assert [one for problem in drawn for one in problem.results if one.true == one.wrong] == []
            assert {len(problem.results) for problem in drawn} <= {5, 6}


def test_pairs_are_balanced():
    """Neither length, markup nor place finds the better answer; a third of the pairs are close."""
    pairs = list(generate("pairwise", 400, 21, kinds=WORKED))

    readings = {reading.heuristic: reading for reading in read_heuristics(pairs)}

    plain = [r for name, r in readings.items() if name.split()[0] in ("longest", "shortest", "first", "last")]
    plain += [r for name, r in readings.items() if "markup" in name]
    assert len(plain) == 3
    assert all(reading.agreement <= 0.6 for reading in plain)
    assert all(r.level == "free" for name, r in readings.items() if "reference" not in name)
    assert 0.25 <= sum(case.tags["margin"] == "close" for case in pairs) / 400 <= 0.42


def test_texts_are_clean(made):
    """No text holds what the bias edits add; an exclamation mark is a broken constraint and no cheer."""
    marks = [mark for mark in FORBIDDEN if mark not in ("!", "score", "rating", "instruction above", "study")]
    texts = [text for cases in made.values() for c in cases for text in (c.question, *(a.text for a in c.answers))]

    assert [(mark, text) for text in texts for mark in marks if mark in text.casefold()] == []


def test_a_hundred_thousand_cases_stream_in_little_memory():
    """The first case comes at once, and memory grows by a few dozen bytes a case at most."""
    stream = generate("score", 100_000, 2, kinds=["arithmetic"])
    next(stream)
    tracemalloc.start()

    taken = sum(1 for _ in islice(stream, 4_000))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken == 4_000
    assert peak < 4_000_000


def test_a_template_that_runs_dry_gives_way():
    """A template with two possible questions gives two cases, and the others go on."""
    from calm.cases.generate import _fresh

    dry = results.case_of(problems.BY_KIND["dates"][0](random.Random(1)), "score", random.Random(1), 0)
    wells = [lambda rng, turn: dict(dry), lambda rng, turn: dry | {"question": f"q{turn}"}]
    seen: set[int] = set()

    drawn = [_fresh(wells, random.Random(1), turn, seen)["question"] for turn in range(6)]

    assert len(wells) == 1
    assert len(set(drawn)) == 6


def test_what_cannot_be_made_is_refused_at_once(subtests):
    """Before the first case is drawn."""
    for task, count, kinds, said in [
        ("pairwise", 0, KINDS, f"expected a count from 1 to {MOST:,}, got count=0"),
        ("pairwise", MOST + 1, KINDS, "expected a count from 1 to"),
        ("pairwise", 1, ["date"], "expected one of the kinds of cases, got kind='date'; did you mean 'dates'?"),
        ("pairwise", 1, [], "expected at least one kind of cases, got none"),
        ("pair", 1, KINDS, "expected a task, got task='pair'"),
    ]:
        with subtests.test(task=task, count=count, kinds=kinds, said=said):
            with pytest.raises(ConfigError) as caught:
                generate(task, count, 1, kinds=kinds)

            assert caught.value.problems[0].startswith(said)
