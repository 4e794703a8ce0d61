"""What every edit must keep to, whatever its bias: parametrised over all of them, found by importing their modules."""

import importlib
import inspect
import json
import pkgutil
import re
from dataclasses import replace
from importlib.resources import files
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calm.perturbations
from calm import Answer, Case, Criterion, Expects, rotate
from calm import cases as datasets
from calm.core.case import Example
from calm.core.edits import Edit
from calm.core.verdict import FAMILIES
from calm.perturbations import identity_swap, position, sophistication
from calm.perturbations.self_authorship import (
    BYLINE,
    claim_authorship,
    claim_vendor,
    mark_as_you,
    name_label,
    speak_as,
)
from calm.suites import (
    test_added_answers,
    test_assertiveness,
    test_authority,
    test_bandwagon,
    test_compassion_fade,
    test_credentials,
    test_distraction,
    test_diversity,
    test_encoding,
    test_fallacy_oversight,
    test_formatting,
    test_framing,
    test_identity_swap,
    test_injection,
    test_invisible_text,
    test_labels,
    test_neutral,
    test_position,
    test_refinement_aware,
    test_sensitivity,
    test_sentiment,
    test_sophistication,
    test_surface_noise,
    test_verbosity,
    test_visible_reasoning,
)

MODEL = "gpt-4.1-mini-2025-04-14"
SAMPLES = {"model": MODEL, "dose": 2.0, "slots": 1, "percent": 80, "rank": 1, "count": 1, "times": 2, "share": 0.1}
SAMPLES |= {"appeals": 3, "tokens": 500, "turns": 3}
SAMPLES["cases"] = [Case(f"c{i}", f"Why {i}?", (Answer("a", f"It is a long story {i}."),)) for i in range(4)]
"""An argument for each parameter of a factory, by the parameter's name."""


def modules():
    """Return the modules of edits: those which say by a TRIGGER what their edits add to a text."""
    names = [found.name for found in pkgutil.iter_modules(calm.perturbations.__path__)]
    found = {name: importlib.import_module(f"calm.perturbations.{name}") for name in names}
    return {name: module for name, module in found.items() if isinstance(getattr(module, "TRIGGER", None), re.Pattern)}


def edits_of(module):
    """Return the edits of a module, those of its factories made with the sample arguments."""
    own = [value for value in vars(module).values() if isinstance(value, Edit)]
    factories = [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__annotations__.get("return") == "Edit"
    ]
    made = [factory(**{name: SAMPLES[name] for name in inspect.signature(factory).parameters}) for factory in factories]
    return own + made


MODULES = modules()
EDITS = [pytest.param(name, edit, id=f"{name}.{edit.label}") for name, m in MODULES.items() for edit in edits_of(m)]
KEEPERS = [p for p in EDITS if p.values[1].expects in (Expects.SAME, Expects.NOT_BETTER)]
BESIDE = {"mark_as_you", "name_label", "swap_names", "hint_at_tier", "credit_human", "name_models", "tag_authors"}
BESIDE |= {"crowd_note@80", "crowd_note_on_better@80", "prior_rating", "full_marks", "hobby_note"}
BESIDE |= {"hobby_note_on_better", "identity_note", "show_history", "revision_note", "feeling_in_better"}
BESIDE |= {"hint_at_price", "hint_at_release", "rank_note", "rank_label", "beginner_note"}
BESIDE |= {"suggested_verdict", "one_sided_examples", "high_anchor", "low_anchor", "ended_well", "ended_badly"}
BESIDE |= {"mark_reference_high", "mark_reference_low", "state_belief", "ask_leadingly", "pad_context@500"}
BESIDE |= {"assign_role", "raise_stakes", "lower_stakes", "cast_doubt", "order_in_question", "order_in_field"}
BESIDE |= {"smuggle_dialogue", "smuggle_quotation", "smuggle_sample", "smuggle_majority", "force_tie"}
BESIDE |= {"order_in_comment", "order_in_docstring"}
BESIDE |= {"neutral_note", "neutral_byline", "neutral_bylines", "neutral_history"}
BESIDE |= {"add_fillers@1", "add_stray_answer", "reverse_examples", "end_in_favour", "swap_gender", "cut_filler"}
"""Edits that leave the text of the sample's treated answer alone."""
ELSEWHERE = {"framing", "position", "labels", "code_comments", "code_style", "pushback"}
"""Modules that never write into prose."""
WRITERS = [p for p in KEEPERS if p.values[0] not in ELSEWHERE and p.values[1].label not in BESIDE]

BUNDLED = sorted(
    (entry for entry in files("calm").joinpath("cases", "data").iterdir() if entry.name.endswith(".jsonl")),
    key=lambda entry: entry.name,
)
GATED = (
    test_verbosity.PADDING,
    test_authority.SOURCES,
    test_injection.ATTACKS,
    test_framing.INVERSIONS,
    test_sensitivity.DEFECTS,
    test_sensitivity.DEGENERATES,
    test_position.swap,
    test_compassion_fade.NAMES,
    test_bandwagon.CROWDS,
    test_distraction.DIGRESSIONS,
    test_sentiment.MOODS,
    test_diversity.IDENTITIES,
    test_refinement_aware.REVISIONS,
    test_fallacy_oversight.fallacy,
    position.same_text,
    test_position.ORDERS,
    test_compassion_fade.DRAWN,
    test_added_answers.ADDED,
    test_assertiveness.SURE,
    test_assertiveness.UNSURE,
    test_credentials.RANKS,
    test_credentials.LOW,
    test_formatting.LAYOUTS,
    test_identity_swap.NAMES,
    identity_swap.send_from_abroad,
    identity_swap.profess_faith,
    test_labels.SCHEMES,
    test_neutral.IN_TEXT,
    test_neutral.BESIDE,
    test_invisible_text.HIDDEN,
    test_invisible_text.ON_BETTER,
    test_encoding.CODES,
    test_sophistication.LEARNED,
    sophistication.add_detail,
    test_surface_noise.SLIPS,
    test_visible_reasoning.SHOWN,
    rotate(claim_authorship(MODEL), claim_vendor(MODEL), speak_as(MODEL), name="text"),
    rotate(mark_as_you, name_label(MODEL), name="label"),
)


def declared(module, edit, what):
    """Return whether an edit's module says so of it: `SILENT`, `IN_PLACE`; by its name, without a dose."""
    return edit.name in getattr(MODULES[module], what, ())


def case_of(*texts, criteria=()):
    """Return a case with these answer texts, shown last to first, in which the first one is treated."""
    answers = tuple(Answer(f"a{number}", text) for number, text in enumerate(texts))
    return (
        Case(
            id="sample",
            question="How long does the trip take?",
            answers=answers,
            better="a1" if len(texts) > 1 else None,
            criteria=tuple(criteria),
            met={"a0": {c.id: True for c in criteria}} if criteria else {},
            scores={"a0": 6.0},
        )
        .present(order=tuple(a.id for a in reversed(answers)))
        .treat("a0")
    )


TEXT = (
    "The trip is long. It takes 4 hours to drive 320 km.\n\n"
    "- Leave Paris before noon.\n- Rest for 20 minutes.\n\n"
    "You arrive at 5."
)
CHECKED = Criterion("c1", "The answer mentions the drive.", check={"kind": "contains", "value": "drive"})
RICH = (
    "## About soup\n\nOf course the cook tastes it, and he adds two pinches of **salt**. "
    "It is usually done by 4 March 1987. Don't touch the gray pot.\n\nThe soup is ready."
)
"""A text with what the edits look for that change words or marks in place."""
CODED = (
    "The colour of the café of Пётр is right. It takes the value 4.\n\n```python\n# add up\ndef add(first):\n"
    "    total = first + 1\n    return total\nprint(add(1))\n```\n\nThis is all."
)
"""A text with Python code, and with letters that are not those of English."""
BY_TASK = {
    "pairwise": case_of(TEXT, "It takes 9 hours."),
    "score": case_of(TEXT),
    "rubric": case_of(TEXT, criteria=[CHECKED]),
    "listwise": case_of(TEXT, "It takes 9 hours.", "Who knows?"),
}


def bundled(entry):
    """Return the cases of a bundled file with balanced slots and no target."""
    cases = []
    for line in entry.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        answers = tuple(Answer(a["id"], a["text"]) for a in row["answers"])
        criteria = tuple(Criterion(**c) for c in row.get("criteria", ()))
        gold = {key: row[key] for key in ("better", "reference", "met", "scores") if key in row}
        case = Case(id=row["id"], question=row["question"], answers=answers, criteria=criteria, **gold)
        cases.append(case.balanced("test"))
    return cases


def aimed(case, expects):
    """Return the case with the target that the experiment would set for an edit of this expectation."""
    ids = [a.id for a in case.answers]
    better = case.better if case.better in ids else ids[0]
    weaker = next((i for i in ids if i != better), better)
    return case.treat(better if expects is Expects.WORSE else weaker)


@pytest.mark.parametrize(("module", "edit"), EDITS)
def test_an_edit_says_what_it_is(module, edit):
    """Every edit names its source, its bias as its module is called, and what it does in one sentence."""
    assert edit.source
    assert edit.bias == module.replace("_", "-") or module.startswith(f"{edit.bias}_")
    assert edit.summary.endswith(".")
    assert len(edit.summary) > 20
    assert edit.tasks


@pytest.mark.parametrize(("module", "edit"), EDITS)
def test_an_edit_is_a_pure_function(module, edit):
    """The same case and the same randomness give the same edit, and the case itself stays as it was."""
    for case in BY_TASK.values():
        before = json.dumps(case.content(), sort_keys=True)

        first, second = edit(case, Random(7)), edit(case, Random(7))

        assert first == second
        assert json.dumps(case.content(), sort_keys=True) == before


@pytest.mark.parametrize(("module", "edit"), EDITS)
def test_an_edit_serves_a_task_that_it_names(module, edit):
    """An edit applies to a sample case of at least one of its tasks, and to none without a change."""
    examples = tuple(Example("Why?", tuple("It is." for _ in range(3)), verdict) for verdict in "AB")
    rich = [
        case.edit(i, lambda _: RICH).present(examples=examples)
        for case in (BY_TASK[task] for task in edit.tasks)
        for i in [a.id for a in case.answers][:2]
    ]
    plain = [BY_TASK[task] for task in edit.tasks]
    answers = [tuple(replace(a, text=f"{CODED}{a.id}") for a in case.answers) for case in plain]
    coded = [replace(c, answers=a, reference="It takes 9 hours.") for c, a in zip(plain, answers, strict=True)]
    results = [edit.apply(case, seed=1) for case in (*plain, *rich, *coded)]

    assert any(result is not None for result in results)
    assert all(result is None or isinstance(result, Case) for result in results)


@pytest.mark.parametrize(("module", "edit"), EDITS)
def test_an_edit_leaves_a_blank_answer_sound(module, edit):
    """On an answer without text an edit gives None or a changed case, and no error."""
    for blank in ("", " \n\t"):
        assert edit.apply(case_of(blank, "It takes 9 hours."), seed=1) != case_of(blank, "It takes 9 hours.")
        assert edit.apply(case_of(blank), seed=1) != case_of(blank)


@pytest.mark.parametrize(("module", "edit"), KEEPERS)
def test_an_edit_keeps_what_a_case_is(module, edit):
    """Where the verdict must stay or not rise, ids, question, gold and the untreated answers survive."""
    for case in BY_TASK.values():
        edited = edit.apply(case, seed=1)
        if edited is None:
            continue

        assert edited.question.startswith(case.question)
        assert (edited.id, edited.criteria, edited.reference) == (case.id, case.criteria, case.reference)
        assert (edited.better, edited.met, edited.scores) == (case.better, case.met, case.scores)
        own = [a for a in edited.answers if not a.id.startswith("added~")]
        assert [a.id for a in own] == [a.id for a in case.answers]
        assert [a for a in own if a.id != edited.target] == [a for a in case.answers if a.id != edited.target]
        assert sorted(edited.order) == sorted(a.id for a in edited.answers)
        assert [i for i in edited.order if not i.startswith("added~")] == list(case.order) or module == "position"
        assert edited.damaged is None


@pytest.mark.parametrize(("module", "edit"), [p for p in EDITS if p.values[1].expects is Expects.WORSE])
def test_a_defect_changes_the_gold(module, edit):
    """A harmed answer loses in the gold: the original is better, the score lower, or a met criterion unmet."""
    pair, score, rubric = (edit.apply(BY_TASK[task], seed=1) for task in ("pairwise", "score", "rubric"))

    if pair is not None:
        assert (pair.better, pair.damaged) == ("a0", "a0~damaged")
        assert pair["a0"].text == TEXT
        assert pair["a0~damaged"].text != TEXT
    if score is not None:
        assert score.scores == {"a0": 3.0}
        assert score.damaged == "a0"
    if rubric is not None:
        assert rubric.met == {"a0": {"c1": False}}
        assert rubric.hit == "c1"
    assert any((pair, score, rubric))


FINALS = ("The answer is 42.", "So x = 3.5", "Total: $1,200.75.", "الجواب هو 7.", "It takes 90 minutes!", "Done 🎉.")
PIECES = (
    "```python\nx = 1. Y = 20\nprint('a. B')\n```",
    "~~~\n12 apples. None left.\n~~~",
    "````\n```\n3. Nested\n```\n````",
    "Call `f(2). G` first. Then rest.",
    "Say `Go there. Now it is` and then $b. Then go$ home. And rest.",
    "It is 3.14 or 1,000. Dr. Ray was there at 10:30.",
    "1. First one is 5.\n2. Second one\n3. Third one, with 6",
    "- red\n- green. And blue.\n\n- white",
    "Let $a_1. B$ be it. Then $$c = 7. D$$ holds.",
    "$$\nE = 9. F\n$$",
    "It costs $5. Two cost $9.50 here.",
    "Hello 👋🏽 there! How are 2 you? Fine.",
    "هذا نص عربي. فيه 12 كلمة. نعم.",
    "# Step 2: A heading. Really",
    "| a | 1. b |\n|---|---|\n| c | 3 |",
    "> A quote. With 2 parts.",
    "**Bold title**",
    "no capitals here. none in 2 lines.",
    "A line that\nruns on. And on\nfor 3 lines.",
    "<b>8 tags.</b>",
    "日本語です。三つ、3。",
    "    indented = 4. Code",
    "Odd\r\nline 6.\x0bBreaks\u2028here 7.",
    "A tick ` alone. Then 9.",
    "",
)
TEXTS = st.tuples(
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.sampled_from(("\n\n", "\n\n", "\n\n\n")),
    st.sampled_from(FINALS),
    st.sampled_from(("", "\n", "  \n")),
).map(lambda drawn: (drawn[1].join([*drawn[0], drawn[2]]) + drawn[3], drawn[2]))
CODE = re.compile(r"(?ms)^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=fence)$")
SPAN = re.compile(r"`[^`\n]+`|\$\$?[a-z][^$\n]*\$")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def blocks(text):
    """Return the code blocks of a text."""
    return [block[0] for block in CODE.finditer(text)]


def within(part, whole):
    """Return whether all of a sequence occurs in another one, in its order."""
    rest = iter(whole)
    return all(element in rest for element in part)


@pytest.mark.parametrize(("module", "edit"), KEEPERS)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(text_and_final=TEXTS, seed=st.integers(0, 9))
def test_code_numbers_and_the_final_answer_stay(module, edit, text_and_final, seed):
    """
    Where the verdict must stay or not rise, nothing of the text is lost, nor its code, numbers or final answer.

    An edit that changes words or marks in place keeps the latter three, and any other edit every character.
    """
    text, final = text_and_final
    for case in (case_of(text), case_of(text, "Another answer."), case_of(text, "Another answer.", "A third.")):
        edited = edit.apply(case, seed)
        if edited is None:
            continue
        after = edited["a0"].text

        assert declared(module, edit, "IN_PLACE") or within(text, after)
        assert within(blocks(text), blocks(after))
        assert within(SPAN.findall(CODE.sub("", text)), SPAN.findall(CODE.sub("", after)))
        assert within(NUMBER.findall(text), NUMBER.findall(after))
        assert final in after


@pytest.mark.parametrize(("module", "edit"), KEEPERS)
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(text_and_final=TEXTS, seed=st.integers(0, 9))
def test_a_text_shows_its_own_trigger_and_no_other(module, edit, text_and_final, seed):
    """
    An edited text matches the trigger of its bias, if the edit is one of the text, and never another's.

    An edit that adds no words of its own, as a slip or a space does not, is `SILENT`: its text matches no trigger.
    """
    text, _ = text_and_final
    for case in (case_of(text), case_of(text, "Another answer.", "A third.")):
        edited = edit.apply(case, seed)
        if edited is None:
            continue
        after = edited["a0"].text
        matched = {name for name, other in MODULES.items() if other.TRIGGER.search(after)}

        assert matched == ({module} if after != text and not declared(module, edit, "SILENT") else set())


@pytest.mark.parametrize(("module", "edit"), WRITERS)
def test_code_that_is_still_open_is_not_written_into(module, edit):
    """Behind a code block that is never closed nothing is added, since it would become code, but for white space."""
    code = "```python\nx = 1. Y = 20 is here.\nprint('It is long. It is done.')"

    edited = edit.apply(case_of(f"The trip is long. It takes many hours.\n\n{code}"), seed=1)

    assert edited is None or edited["a0"].text.rstrip().endswith(f"\n\n{code}")


@pytest.mark.parametrize(("module", "edit"), [p for p in WRITERS if not declared(*p.values, "SILENT")])
def test_an_addition_hides_in_no_capitals(module, edit):
    """A text without capital letters stays without them, so that a criterion which asks for that stays met."""
    text = "the trip is long. it takes 4 hours.\n\n- leave at noon.\n- rest for a while.\n\nyou arrive at 5."

    edited = edit.apply(case_of(text), seed=1)

    assert edited is not None
    assert edited["a0"].text.islower()
    assert MODULES[module].TRIGGER.search(edited["a0"].text)


@pytest.mark.parametrize(("module", "edit"), EDITS)
def test_long_and_hostile_texts_are_edited(module, edit):
    """Texts of 40 kB that would stall a careless pattern give a changed case or None."""
    size = 40_000
    texts = [
        p * (size // len(p)) for p in ("a", "1", "1,", "`", "``` a", "\n", "- a.\n", "1. ", "$a. ", '"a. ', "*", ".)")
    ]
    for text in (*texts, TEXT * 400, "1" * size + "a", "\ud800 half. A pair."):
        assert edit.apply(case_of(text), seed=1) != case_of(text)


@pytest.mark.parametrize("entry", BUNDLED, ids=lambda entry: entry.name)
def test_no_bundled_text_shows_a_trigger(entry):
    """A clean case holds no stock phrase of any bias, in its question, answers or reference."""
    shown = [
        (case.id, name)
        for case in bundled(entry)
        for text in (case.question, case.reference or "", *(a.text for a in case.answers))
        for name, module in MODULES.items()
        if module.TRIGGER.search(text)
    ]

    assert shown == []


SERVED = [(task, edit) for edit in GATED for task in FAMILIES if task in edit.tasks]


@pytest.mark.parametrize(
    ("task", "edit"), SERVED, ids=lambda one: one if isinstance(one, str) else f"{one.bias}.{one.name}"
)
def test_a_gated_edit_applies_to_enough_bundled_cases(task, edit):
    """Each edit that the gate uses applies to 150 bundled cases or more, with verified criteria kept as they are."""
    cases = [aimed(case.balanced("contract"), edit.expects) for case in datasets.bundled(task)]

    def applies(case):
        tried = (variant.apply(case, 0) for variant in edit.choices(case, 0))
        return any(e is not None and (edit.expects is Expects.WORSE or case.truth_kept_by(e)) for e in tried)

    assert sum(map(applies, cases)) >= 150


def test_a_byline_is_known_by_its_pattern():
    """The label that says "You" matches the pattern for labels; another author's does not."""
    signed = mark_as_you(BY_TASK["pairwise"], Random(0))

    assert BYLINE.fullmatch(signed.bylines["a0"])
    assert not BYLINE.fullmatch("Young and Partners")
    assert mark_as_you(signed, Random(0)) is None
