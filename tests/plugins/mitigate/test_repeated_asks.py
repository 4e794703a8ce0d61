"""Samples, orders of the scale, and a plan: several asks for one verdict, and what each of them is shown."""

from dataclasses import replace

import pytest

from calm.core.edits import Message, Prompt, ordered
from calm.core.verdict import Criteria, Preferred, Scale, Score, Tie
from calm.judges.prompts import bundled
from calm.plugins.mitigate.asks import permuted
from calm.plugins.mitigate.mitigation import NotApplicable
from calm.plugins.mitigate.mitigations import mitigated
from tests.judges.judging import PAIR, RUBRIC, SINGLE, judge_at, system, user
from tests.plugins.mitigate.judging import asked

STEPS = Scale(1, 5, 1.0)
OPTIONS = "Options:\n- 1: bad\n- 2: poor\n- 3: fair\n- 4: so so\n- 5: good\nSay [[N]]."
LISTED = Prompt((Message("user", f"{{{{ question }}}} {{{{ answers[0].text }}}}\n{OPTIONS}"),))

# ------------------------------------------------------------------------------------------------------------- samples


def numbered(*replies):
    """Return a server that gives a reply to each sample; the first has no number."""
    return lambda messages, _: next(
        (r for n, r in enumerate(replies, 1) if f"Sample number {n}." in system(messages)), replies[0]
    )


def test_samples_are_averaged(subtests):
    """Scores by their mean, pairs and criteria by what most samples say; k calls, the first the judge's own."""
    for task, case, replies, expected in [
        ("score", SINGLE, ("[[4]]", "[[7]]", "[[10]]"), Score(7.0)),
        ("pairwise", PAIR, ("[[B]]", "[[A]]", "[[A]]"), "a"),
        ("rubric", RUBRIC, ("[[NO]]", "[[YES]]", "[[YES]]"), {"k1": True, "k2": True}),
    ]:
        with subtests.test(task):
            bare, one = asked(numbered(*replies), case, task=task)
            found, seen = asked(numbered(*replies), case, "samples:3", task=task)

            got = found.answer if isinstance(found, Preferred) else found.met if isinstance(found, Criteria) else found
            assert got == expected
            assert bare != found
            assert len(seen) == 3 * len(one)
            assert all(prompt in seen for prompt in one)


def test_samples_that_disagree_evenly_are_a_tie():
    """Two of four each."""
    found, _ = asked(numbered("[[A]]", "[[B]]", "[[A]]", "[[B]]"), PAIR, "samples:4")

    assert isinstance(found, Tie)


# ------------------------------------------------------------------------------------------------- orders of the scale


def first_shown(messages, _):
    """Score by the option that is shown first: a judge that its prompt's order decides."""
    text = user(messages)
    options = {place: value for value in (1, 2, 3, 4, 5) if (place := text.find(f"one of {value},")) >= 0}
    return f"[[{options[min(options)]}]]" if options else "[[1]]"


def test_the_order_of_the_scale_is_averaged_out():
    """As written it says 1, with the scale from the top it says 5: the mean of two orders is 3."""
    bare, _ = asked(first_shown, SINGLE, task="score", scale=STEPS)
    found, seen = asked(first_shown, SINGLE, "score-options:2", task="score", scale=STEPS)

    assert (bare, found) == (Score(1.0), Score(3.0))
    assert len(seen) == 2
    assert "whole number (one of 5, 4, 3, 2, 1): 5 for the best" in user(seen[0]) + user(seen[1])


def test_orders_are_the_prompts_own_its_reverse_and_drawn_ones():
    """A drawn one is the same in every run, and holds each value once."""
    assert ordered([1, 2, 3, 4], 0) == [1, 2, 3, 4]
    assert ordered([1, 2, 3, 4], 1) == [4, 3, 2, 1]
    assert sorted(ordered([1, 2, 3, 4], 2)) == [1, 2, 3, 4]
    assert ordered([1, 2, 3, 4], 2) == ordered([1, 2, 3, 4], 2)


def test_the_lines_of_a_users_own_list_change_places():
    """What stands around them stays."""
    found = permuted(LISTED, 1, STEPS).messages[0].text

    assert "Options:\n- 5: good\n- 4: so so\n- 3: fair\n- 2: poor\n- 1: bad\nSay [[N]]." in found


GRADES = "1: bad\n2: poor\n3: fair\n4: good\n5: best"
STEPS_TO_TAKE = "1. Read the question.\n2. List what the answer gets wrong.\n3. Only then give a score."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"Score the answer from 1 to 5.\n{STEPS_TO_TAKE}",
            f"Score the answer (one of 5, 4, 3, 2, 1).\n{STEPS_TO_TAKE}",
        ),
        (
            "Score the answer from 1 to 5. Good answers have 1-5 sentences.",
            "Score the answer (one of 5, 4, 3, 2, 1). Good answers have 1-5 sentences.",
        ),
        (
            "Good answers have 1-5 sentences. Score the answer from 1 to 5.",
            "Good answers have 1-5 sentences. Score the answer (one of 5, 4, 3, 2, 1).",
        ),
        (f"Scores: {GRADES}\nGo.", "Scores: 5: best\n4: good\n3: fair\n2: poor\n1: bad\nGo."),
        (
            GRADES.replace("bad", "bad,\n   wrong"),
            "5: best\n4: good\n3: fair\n2: poor\n1: bad,\n   wrong",
        ),
        (f"{STEPS_TO_TAKE}\n\n{GRADES}", f"{STEPS_TO_TAKE}\n\n5: best\n4: good\n3: fair\n2: poor\n1: bad"),
        ("Answers have 1-5 sentences, of 1-5 clauses.", "Answers have 1-5 sentences, of 1-5 clauses."),
    ],
    ids=["instructions", "other range", "other range first", "header", "two lines", "two lists", "unclear"],
)
def test_only_the_scale_changes(text, expected):
    """Numbered instructions and other ranges stay; a description of two lines moves as one."""
    prompt = Prompt((Message("user", text),))

    assert permuted(prompt, 1, STEPS).messages[0].text == expected


def test_a_scale_without_steps_has_two_orders():
    """Its ends change places, and nothing is asked twice."""
    _, seen = asked(lambda *_: "[[5]]", SINGLE, "score-options:4", task="score")

    assert len(seen) == 2
    assert {"from 1 to 10" in user(m) for m in seen} == {"from 10 to 1" in user(m) for m in seen} == {True, False}


def test_the_inverted_twin_keeps_its_direction():
    """Only the order changes, never which end is good."""
    prompt = replace(bundled("score", "brackets"), scale=STEPS)

    found = permuted(prompt, 1, STEPS)

    assert all("(one of 5, 4, 3, 2, 1): {{ scale.low" in m.text for m in found.inverted if m.role == "user")


def test_a_prompt_that_shows_no_scale_has_none_to_reorder(subtests):
    """The reason is told."""
    bare = Prompt((Message("user", "{{ question }} {{ answers[0].text }} Give a grade."),))
    for settings, told in [
        ({"prompt": bare, "scale": STEPS}, "shows its scale at no clear place"),
        ({"scale": Scale(0, 1, 1.0)}, "a scale of 3 to 21 values"),
    ]:
        with subtests.test(told), pytest.raises(NotApplicable, match=told):
            mitigated(judge_at(task="score", **settings), ["score-options"])


# ---------------------------------------------------------------------------------------------------------------- plan


def planner(messages, _):
    """Plan, carry out, and judge by what was found alone."""
    if "Write the plan" in system(messages):
        return "1. Check the colour."
    if "Carry out" in system(messages):
        return "Step 1: answer B is right." if "1. Check the colour." in user(messages) else "?"
    return "[[B]]" if "Step 1: answer B is right." in user(messages) else "[[A]]"


def test_a_plan_is_made_carried_out_and_judged_by():
    """Three calls: the plan sees no answer, the execution sees both, the judge sees what was found."""
    bare, _ = asked(planner, PAIR)
    found, seen = asked(planner, PAIR, "plan")

    assert (bare, found) == (Preferred("a"), Preferred("b"))
    assert len(seen) == 3
    assert "The sky is" not in user(seen[0])
    assert '<answer label="A">\nThe sky is blue.' in user(seen[1])
    assert "1. Check the colour." in user(seen[2])


def test_a_plan_is_shared_by_both_orders_of_a_question():
    """The request for it is the same one, so the cache has it."""
    _, one = asked(planner, PAIR, "plan")
    _, two = asked(planner, PAIR.arranged(("b", "a")), "plan")

    assert one[0] == two[0]
    assert one[1] != two[1]


def test_a_users_own_prompt_shows_plan_and_findings_once(subtests):
    """At its end, or where it shows the fields of a case."""
    plain = "{{ question }}{% for a in answers %} {{ a.text }}{% endfor %}"
    for text in [plain, f"{plain}{{% for n, v in fields.items() %}} {{{{ n }}}}: {{{{ v }}}}{{% endfor %}}"]:
        with subtests.test(text):
            found, seen = asked(planner, PAIR, "plan", prompt=Prompt((Message("user", text),)))

            assert found == Preferred("b")
            assert user(seen[2]).count("1. Check the colour.") == user(seen[2]).count("answer B is right.") == 1
