"""The edits of passages: what each changes, what it leaves, and where it does not apply."""

import re
from dataclasses import replace
from random import Random

import pytest

from calm import Answer, Case
from calm.cases import bundled, shaped_cases
from calm.core.case import Criterion, Passage
from calm.perturbations import grounding, passage_citations, passage_conflict, passage_injection, passage_noise
from calm.perturbations.passage_ids import turn_ids
from calm.perturbations.passage_order import carrier_to_middle, reverse_passages, shuffle_passages
from calm.perturbations.planted import planted
from calm.perturbations.retrieved import carrier, cited, rests_on
from calm.perturbations.triggers import plants

PASSAGES = tuple(
    Passage(f"p{n}", text)
    for n, text in enumerate(
        (
            "The bridge opens at 9 for boats with a mast.",
            "Tickets for the museum are sold in the tower.",
            "A ferry leaves from the old pier every hour.",
            "The park has three ponds and a rose garden.",
        ),
        1,
    )
)
CASE = Case(
    "c",
    "When does the bridge open?",
    (Answer("good", "The bridge opens at 9 for boats with a mast [p1]."), Answer("bad", "It opens at 7 [p2, p3].")),
    better="good",
    context=PASSAGES,
).treat("bad")
SHIPPED = {task: shaped_cases("context", task, bundled(task)) for task in ("pairwise", "score")}
EDITS = (
    *(reverse_passages, shuffle_passages, carrier_to_middle, turn_ids, passage_noise.add_stray_passage),
    *(passage_noise.add_many_passages(500), passage_conflict.add_void_passage, passage_conflict.contradict_passage),
    passage_conflict.back_by_void_passage,
    *(passage_injection.plead_in_passage, passage_injection.order_in_passage, passage_injection.hide_in_passage),
    *(passage_citations.cite_all, passage_citations.cite_throughout, passage_citations.cite_missing),
)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.label)
def test_nothing_applies_to_a_case_without_passages(edit):
    """Such a case is left out, and counted."""
    assert edit.apply(replace(CASE, context=()), 1) is None


@pytest.mark.parametrize("edit", [reverse_passages, shuffle_passages, carrier_to_middle], ids=lambda edit: edit.name)
def test_another_order_holds_the_same_passages(edit):
    """None is lost, and none is the first as before."""
    for seed in range(20):
        after = edit.apply(CASE, seed)

        assert sorted(after.context, key=str) == sorted(CASE.context, key=str)
        assert after.context != CASE.context
        assert after.answers == CASE.answers


@pytest.mark.parametrize("at", range(4))
def test_the_carrying_passage_moves_from_an_end_to_the_middle(at):
    """One that stands between others already stays."""
    turned = (*PASSAGES[1 : at + 1], PASSAGES[0], *PASSAGES[at + 1 :])

    after = carrier_to_middle.apply(replace(CASE, context=turned), 1)

    if at in (0, 3):
        assert [passage.id for passage in after.context].index("p1") in (1, 2)
    else:
        assert after is None


def test_ids_turn_in_passages_and_answers_alike():
    """What an answer cites is still the same text, and its words stay."""
    for seed in range(20):
        after = turn_ids.apply(CASE, seed)

        texts = {passage.id: passage.text for passage in after.context}
        assert [passage.text for passage in after.context] == [passage.text for passage in PASSAGES]
        assert [texts[one] for one in cited(after["good"].text, list(texts))] == [PASSAGES[0].text]
        assert [texts[one] for one in cited(after["bad"].text, list(texts))] == [PASSAGES[1].text, PASSAGES[2].text]
        assert re.sub(r"p\d", "p", after["bad"].text) == re.sub(r"p\d", "p", CASE["bad"].text)


@pytest.mark.parametrize(
    "change",
    [
        {"reference": "See [p1]."},
        {"question": "Is p2 right?"},
        {"criteria": (Criterion("k", "It cites [p1]."),)},
        {"context": (*PASSAGES, Passage("p5", "As said in p1."))},
        {"answers": (Answer("good", "Passage p1 says 9."), Answer("bad", "It opens at 7."))},
    ],
)
def test_ids_that_stand_elsewhere_stay(change):
    """Where something names a passage that the edit may not change, the edit does not apply."""
    assert turn_ids.apply(replace(CASE, **change), 1) is None


NUMBERED = tuple(Passage(str(n), passage.text) for n, passage in enumerate(PASSAGES, 1))


@pytest.mark.parametrize(
    "said",
    [
        *("According to passage 2 it is so.", "It is so (2).", "It is so [Passage 2].", "It is so [1-2].", "So 【2】."),
        *("See documents 7 and 2.", "Source: #2", "It is so [^2].", "It is so (see 2).", "It is so 【2†source】."),
        *(
            "It opens at nine.²",
            "Das sagt Dokument 2.",
            "根据文档2",
            "It is so [0-9].",
            "So [2, p. 14].",
            "Passage **2**",
        ),
    ],
)
@pytest.mark.parametrize("part", ["answer", "question", "reference", "criterion"])
def test_a_number_that_names_a_passage_otherwise_stays(said, part):
    """The edit could not write it anew, so it would make a true citation a false one; an id may end in the number."""
    case = replace(CASE, context=NUMBERED, answers=(Answer("good", "It opens at 9."), Answer("bad", "At 7.")))
    change = {
        "answer": {"answers": (case.answers[0], Answer("bad", said))},
        "question": {"question": said},
        "reference": {"reference": said},
        "criterion": {"criteria": (Criterion("k", said),)},
    }[part]

    assert turn_ids.apply(case, 1) is not None
    assert turn_ids.apply(replace(case, **change), 1) is None
    assert turn_ids.apply(replace(case, context=PASSAGES, **change), 1) is None


@pytest.mark.parametrize(
    "said", ["It takes 2 hours (3 km).", "It has 2 m².", "It is so [2].", "[1, 3]", "In 1871 (2.5 m)", "Resource 2"]
)
def test_a_number_of_anything_else_is_no_name(said):
    case = replace(CASE, context=NUMBERED, answers=(Answer("good", "It opens at 9."), Answer("bad", said)))

    assert turn_ids.apply(case, 1) is not None


@pytest.mark.parametrize("form", ["doc-{}", "page {}", "https://a.b/{}?x"])
def test_an_id_of_several_words_is_found_as_a_whole(form):
    """Its words alone are no name, also where all of them stand in the texts."""
    context = tuple(Passage(form.format(n), f"doc page https a b x {n}.") for n in range(20, 24))
    free = replace(CASE, context=context, answers=(Answer("good", "It is so."), Answer("bad", "It is not.")))
    named = replace(free, answers=(Answer("good", f"It is so: {form.format(21)}."), free.answers[1]))

    assert turn_ids.apply(free, 1) is not None
    assert turn_ids.apply(named, 1) is None


def test_an_index_in_code_is_no_citation():
    """Nor is a number in brackets that no passage has."""
    code = replace(
        CASE,
        context=tuple(Passage(str(n), p.text) for n, p in enumerate(PASSAGES)),
        answers=(Answer("good", "```python\nx = y[1]\n```\n\nIt is [1]."), Answer("bad", "In [12] it is `y[2]`.")),
    )

    after = turn_ids.apply(code, 1)

    assert "x = y[1]" in after["good"].text
    assert after["bad"].text == "In [12] it is `y[2]`."
    assert not after["good"].text.endswith("It is [1].")


def test_new_passages_have_ids_that_no_other_has():
    """Whether one is added or many; those of the case stay in their order."""
    for edit in (passage_noise.add_stray_passage, passage_noise.add_many_passages(2000)):
        after = edit.apply(CASE, 3)
        ids = [passage.id for passage in after.context]

        assert len(set(ids)) == len(ids) > 4
        assert [passage for passage in after.context if passage in PASSAGES] == list(PASSAGES)
    added = sum(len(passage.text) for passage in after.context) - sum(len(passage.text) for passage in PASSAGES)
    assert added / 4 == pytest.approx(2000, rel=0.25)


def test_a_contradiction_backs_no_answer():
    """It says another number than the carrying passage, and none that an answer has."""
    for edit in (passage_conflict.add_void_passage, passage_conflict.contradict_passage):
        for case in SHIPPED["pairwise"][:60]:
            after = edit.apply(case.treat("bad"), 1)
            if after is None:
                continue
            (new,) = [passage for passage in after.context if passage not in case.context]
            numbers = set(re.findall(r"\d+", new.text)) - {case.tags["figure"].split()[0]}
            assert not any(numbers & set(re.findall(r"\d+", answer.text)) for answer in case.answers), case.id
            assert case.tags["figure"] not in new.text


def figures(text):
    """Return the numbers of a text, without those in brackets."""
    return set(re.findall(r"\d[\d.,:]*\d|\d", re.sub(r"\[.*?\]", "", text)))


def test_a_void_passage_can_back_the_weaker_answer():
    """It is the carrying passage with the figure of that answer, and it stands only where that figure is wrong."""
    backed = 0
    for case in SHIPPED["pairwise"]:
        after = passage_conflict.back_by_void_passage.apply(case.treat("bad"), 1)
        right, said = figures(case.tags["figure"]), figures(case["bad"].text)
        assert after is None or not right & said, case.id
        if after is not None:
            backed += 1
            (new,) = [passage for passage in after.context if passage not in case.context]
            assert new.text.startswith(passage_conflict.VOID)
            assert said <= figures(new.text), case.id
            assert not right & figures(new.text), case.id
    assert backed >= 90


@pytest.mark.parametrize("task", ["pairwise", "score"])
def test_no_answer_gets_the_citation_that_it_lacked(task):
    """One that lacks the passage which carries the answer would be the better one for it."""
    for case in SHIPPED[task]:
        for edit in (passage_citations.cite_all, passage_citations.cite_throughout):
            before = case.treat("bad" if task == "pairwise" else "only")
            after = edit.apply(before, 1)
            ids = [passage.id for passage in case.context]
            cites = [case.tags["carries"] in cited(one[before.target].text, ids) for one in (before, after)]
            assert cites[0] == cites[1], case.id


def test_where_no_program_can_tell_what_carries_only_old_citations_come_again():
    """Any other passage could be the one that the answer should have cited."""
    unknown = replace(CASE, better=None)

    again = passage_citations.cite_all.apply(unknown, 1)

    assert again["bad"].text == "It opens at 7 [p2, p3]. This is borne out by all of [p2] [p3]."
    without = replace(unknown, answers=(Answer("good", "At 9."), Answer("bad", "At 7.")))
    assert passage_citations.cite_all.apply(without, 1) is None
    assert passage_citations.cite_throughout.apply(without, 1) is None


def test_a_carrying_passage_is_found_by_its_tag_or_by_the_answer():
    """On most shipped cases the answer leads to the passage that the tag names, and never to another one."""
    found = []
    for case in SHIPPED["pairwise"]:
        at = [passage.id for passage in case.context].index(case.tags["carries"])
        assert carrier(case.treat(None)) == at
        found.append(carrier(replace(case, tags={}).treat(None)))
        assert found[-1] in (at, None), case.id
    assert sum(at is not None for at in found) >= 0.6 * len(found)
    assert rests_on("Nobody knows.", PASSAGES) is None
    assert rests_on("The bridge opens at 8 for boats with a mast.", PASSAGES) is None
    assert rests_on("The bridge opens at 9.", (*PASSAGES, PASSAGES[0])) is None
    assert rests_on("", PASSAGES) is None


def test_an_answer_that_rests_on_a_passage_is_harmed_by_its_loss():
    """The gold falls; an answer that says another figure rests on none, so it cannot lose one."""
    applied = 0
    for case in SHIPPED["score"]:
        after = grounding.lose_passage.apply(case.treat("only"), 1)
        rests = case.met["only"]["figure"]
        assert (after is not None) == rests, case.id
        if after is not None:
            applied += 1
            assert after.scores["only"] == case.scores["only"] - 3
            assert after.damaged == "only"
            assert len(after.context) == len(case.context)
            assert case.tags["figure"] not in " ".join(passage.text for passage in after.context)
    assert applied >= 100


SEA = (
    Passage("1", "The lighthouse near Molde was built in 1871 by Anna Berg."),
    Passage("2", "In 1871 Anna Berg built the lighthouse that stands at Molde to this day."),
    Passage("3", "Boats pass at noon."),
)
BUILT = Case(
    "c",
    "When was it built?",
    (Answer("only", "The lighthouse was built in 1871 by Anna Berg near Molde."),),
    scores={"only": 9},
    context=SEA,
).treat("only")


def test_no_passage_that_is_left_says_what_the_answer_says():
    """Where chunks overlap each of them goes; where too much would go, the edit does not apply."""
    after = grounding.lose_passage.apply(BUILT, 1)
    many = replace(BUILT, context=(*SEA, *(Passage(f"d{n}", f"{SEA[1].text} Come by bus {n}.") for n in range(4))))

    assert [passage.id for passage in after.context] == ["1", "2", "3"]
    assert after.context[2] == SEA[2]
    assert not any(word in passage.text for passage in after.context for word in ("1871", "Anna", "Molde"))
    assert len({passage.text for passage in after.context}) == 3
    assert grounding.lose_passage.apply(many, 1) is None


@pytest.mark.parametrize(
    ("asks", "hit"),
    [
        ("The answer is polite.", False),
        ("The answer cites at least two sources.", False),
        ("The answer is supported by the retrieved documents.", True),
        ("It uses only information from the context.", True),
        ("The answer is grounded.", True),
    ],
)
def test_only_a_criterion_about_the_passages_breaks(asks, hit):
    """Politeness does not go with a passage; without a criterion about support nothing of a rubric is known."""
    criteria = (Criterion("k", "It is in English."), Criterion("s", asks))
    rubric = replace(BUILT, scores={}, criteria=criteria, met={"only": {"k": True, "s": True}})

    after = grounding.lose_passage.apply(rubric, 1)

    assert (after is not None) == hit
    assert after is None or (after.met["only"], after.hit) == ({"k": True, "s": False}, "s")
    assert grounding.lose_passage.apply(replace(rubric, met={"only": {"k": True, "s": False}}), 1) is None


def test_each_edit_that_is_claimed_is_seen_by_its_own_planted_twin_alone():
    """On the shipped cases no other bias is triggered, and none without an edit."""
    twins = {plant.bias: plant for plant in plants() if plant.bias != "position"}  # every answer has a place
    judge = planted("planted:noise=0")
    for case in SHIPPED["pairwise"][:25]:
        assert not [bias for bias, plant in twins.items() if plant.carriers(judge.sees(case))], case.id
        for edit in EDITS:
            after = edit.apply(case.treat("bad"), 2)
            if after is None or edit.name == "contradict_passage":
                continue
            stirred = {bias for bias, plant in twins.items() if plant.carriers(judge.sees(after.untreated()))}
            assert stirred == {edit.bias}, (case.id, edit.label)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.label)
def test_hostile_passages_and_ids_give_a_case_or_none(edit):
    """Empty texts, brackets as ids, half of a pair, and a long text."""
    hostile = (
        *(
            Passage("[", ""),
            Passage("]", "\ud800"),
            Passage(".*", "a" * 20_000),
            Passage("1", "`code"),
            Passage("p,q", " "),
        ),
        Passage("\\1", "It opens at 9."),
    )

    for better in ("good", None, "tie"):
        edit(replace(CASE, context=hostile, better=better), Random(1))
