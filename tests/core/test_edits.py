"""Perturbations and rotations."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from calm.core.edits import Edit, Expects, Message, Prompt, PromptEdit, perturbation, prompt_edit, rotate
from calm.errors import ConfigError, EditError
from tests.planted import pair


def appended(word, **options):
    """Return a perturbation that appends a word and a drawn number to the bad answer."""

    def append(case, rng):
        return case.edit("bad", lambda text: f"{text} {word}{rng.randrange(10**9)}")

    append.__doc__ = f"Append {word}.\n\nMore."
    append.__name__ = word
    return perturbation(**{"bias": "authority", "expects": Expects.NOT_BETTER} | options)(append)


def never(case, rng):
    """Apply to nothing."""


def test_a_decorated_function_is_a_perturbation_with_its_name():
    """Name and summary are the function's own; calling it rewrites a case."""
    edit = appended("book", source="arXiv:1", dose=0.5)

    assert (edit.name, edit.bias, edit.expects, edit.source) == ("book", "authority", Expects.NOT_BETTER, "arXiv:1")
    assert edit.summary == "Append book."
    assert (edit.label, repr(edit)) == ("book@0.5", "book@0.5")
    assert "book" in edit(pair("c1"), Random(1))["bad"].text


@pytest.mark.parametrize(
    "bias", ["", "Authority", "self authorship", "self_authorship", "self--authorship", "-x", "x-"]
)
def test_a_bias_is_named_in_kebab_case(bias):
    """Anything else is refused when the file is read."""
    with pytest.raises(ConfigError, match="kebab case"):
        perturbation(bias=bias, expects=Expects.SAME)


def test_an_unknown_task_is_refused_with_the_nearest_known_one():
    """A typing error is named."""
    with pytest.raises(ConfigError, match=r"unknown task 'pairwse'; did you mean 'pairwise'\?"):
        perturbation(bias="authority", expects=Expects.SAME, tasks=("pairwse",))


def test_the_randomness_of_an_edit_is_its_seed_its_name_and_the_case():
    """The same for the same three, whatever was applied before; different where one of them differs."""
    edit, other = appended("book"), appended("url")
    drawn = edit.apply(pair("c1", target="bad"), 7)
    for name in ("c2", "c3"):
        edit.apply(pair(name, target="bad"), 7)

    assert edit.apply(pair("c1", target="bad"), 7) == drawn
    text = drawn["bad"].text.removeprefix(pair("c1")["bad"].text + " book")
    others = [
        edit.apply(pair("c1", target="bad"), 8),
        edit.apply(pair("c9", target="bad"), 7),
        appended("book", dose=1).apply(pair("c1", target="bad"), 7),
    ]
    assert all(text not in case["bad"].text for case in others)
    assert text not in other.apply(pair("c1", target="bad"), 7)["bad"].text


@pytest.mark.parametrize("change", [lambda case: case, lambda case: case.treat("good")])
def test_an_edit_that_changes_nothing_is_an_error(change):
    """An unchanged case would be withstood by every judge; a new target alone changes nothing that is judged."""
    edit = perturbation(bias="authority", expects=Expects.SAME)(lambda case, rng: change(case))

    with pytest.raises(EditError, match="returned case c1 unchanged; return None"):
        edit.apply(pair("c1", target="bad"), 0)


def test_an_edit_may_say_that_it_does_not_apply():
    """None is passed on."""
    assert perturbation(bias="authority", expects=Expects.SAME)(never).apply(pair("c1", target="bad"), 0) is None


def test_a_rotation_needs_variants_that_agree():
    """None, or different biases, expectations or tasks, are refused with what differs."""
    with pytest.raises(ConfigError, match="at least one"):
        rotate()
    with pytest.raises(ConfigError, match="differ in bias: authority, framing"):
        rotate(appended("a"), appended("b", bias="framing"))
    with pytest.raises(ConfigError, match="differ in expects"):
        rotate(appended("a"), appended("b", expects=Expects.SAME))
    with pytest.raises(ConfigError, match="differ in tasks"):
        rotate(appended("a"), appended("b", tasks=("score",)))
    with pytest.raises(ConfigError, match="two variants are called 'a'"):
        rotate(appended("a"), appended("a"))


def test_a_rotation_is_shown_by_its_variants():
    """Its summary lists them; its name, if any, tells it from another one."""
    edit = rotate(appended("book"), appended("url", dose=2), name="sources")

    assert repr(edit) == "rotate(book, url@2, name='sources')"
    assert repr(rotate(appended("book"))) == "rotate(book)"
    assert edit.summary == "One of: book, url@2."


def test_each_case_draws_its_variant_from_the_seed_in_equal_shares():
    """Of 1,500 cases each of three variants gets 500, within 5 sd (sd = sqrt(1500 * 2/9) = 18.3); the rest follow."""
    edit = rotate(appended("book"), appended("url"), appended("quote"))
    cases = [pair(f"c{i}", target="bad") for i in range(1500)]

    drawn = [edit.choices(case, 1) for case in cases]

    counts = Counter(choices[0].name for choices in drawn)
    assert all(abs(count - 500) < 92 for count in counts.values())
    assert all({v.name for v in choices} == {"book", "url", "quote"} for choices in drawn)
    assert drawn == [edit.choices(case, 1) for case in cases]
    assert [c[0] for c in drawn] != [edit.choices(case, 2)[0] for case in cases]


def test_a_rotation_of_rotations_holds_all_variants():
    """Nested ones are spread out, so that each variant keeps its share."""
    edit = rotate(rotate(appended("a"), appended("b")), appended("c"))

    assert [v.name for v in edit.variants] == ["a", "b", "c"]


def test_a_plain_edit_is_its_own_choice():
    """There is nothing to draw."""
    edit = appended("book")

    assert edit.choices(pair("c1", target="bad"), 1) == (edit,)


def test_calling_a_rotation_applies_the_first_variant_that_fits():
    """None only if none fits."""
    no = perturbation(bias="authority", expects=Expects.NOT_BETTER)(never)

    for seed in range(5):
        assert "book" in rotate(no, appended("book"))(pair("c1"), Random(seed))["bad"].text
    assert rotate(no, no)(pair("c1"), Random(1)) is None
    assert isinstance(no, Edit)


PROMPT = Prompt((Message("user", "Which is better? {{ answers[0].text }}"),))


def worded(word, **options):
    """Return an edit that appends a word and a drawn number to the first message."""

    def append(prompt, rng):
        first = prompt.messages[0]
        text = f"{first.text} {word}{rng.randrange(10**9)}"
        return replace(prompt, messages=(replace(first, text=text), *prompt.messages[1:]))

    append.__doc__ = f"Append {word}.\n\nMore."
    append.__name__ = word
    return prompt_edit(**{"bias": "judge-prompt", "expects": Expects.SAME} | options)(append)


def test_a_decorated_function_is_an_edit_of_the_prompt_with_its_name():
    """Name and summary are the function's own; calling it rewrites a prompt."""
    edit = worded("please", source="arXiv:1", dose=2)

    assert (edit.name, edit.bias, edit.expects, edit.source) == ("please", "judge-prompt", Expects.SAME, "arXiv:1")
    assert (edit.summary, edit.label, repr(edit)) == ("Append please.", "please@2", "please@2")
    assert "please" in edit(PROMPT, Random(1)).messages[0].text


def test_the_randomness_of_an_edit_of_the_prompt_is_its_seed_its_name_and_the_case():
    """Each case has a wording of its own, the same in every run."""
    edit = worded("please")

    assert edit.apply(PROMPT, pair("c1", target="bad"), 7) == edit.apply(PROMPT, pair("c1", target="bad"), 7)
    assert edit.apply(PROMPT, pair("c1", target="bad"), 7) != edit.apply(PROMPT, pair("c2", target="bad"), 7)
    assert edit.apply(PROMPT, pair("c1", target="bad"), 7) != edit.apply(PROMPT, pair("c1", target="bad"), 8)


def test_an_edit_of_the_prompt_that_changes_nothing_is_an_error():
    """An unchanged prompt would be withstood by every judge."""
    edit = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(lambda prompt, rng: replace(prompt))

    with pytest.raises(EditError, match="returned the prompt unchanged; return None"):
        edit.apply(PROMPT, pair("c1", target="bad"), 0)


def test_an_edit_of_the_bundled_prompts_leaves_any_other_alone():
    """It knows our wording, and None is its answer to another's."""
    edit = worded("please", bundled=True)

    assert edit.apply(PROMPT, pair("c1", target="bad"), 0) is None
    assert edit.apply(replace(PROMPT, bundled=True), pair("c1", target="bad"), 0) is not None


@pytest.mark.parametrize("expects", [Expects.WORSE, Expects.TIE])
def test_an_edit_of_the_prompt_harms_no_answer(expects):
    """What must lose or tie is a case, so such an expectation is refused."""
    with pytest.raises(ConfigError, match="expected SAME, NOT_BETTER or OBSERVE"):
        worded("please", expects=expects)


def test_edits_of_the_prompt_take_turns_among_themselves():
    """A rotation of them gives each case one, a bundled one only to a bundled prompt; edits of cases do not mix in."""
    edit = rotate(worded("please", bundled=True), worded("kindly"), name="words")

    assert isinstance(edit, PromptEdit)
    assert repr(edit) == "rotate(please, kindly, name='words')"
    assert {edit.choices(pair(f"c{i}", target="bad"), 1)[0].name for i in range(40)} == {"please", "kindly"}
    assert all("kindly" in edit(PROMPT, Random(seed)).messages[0].text for seed in range(5))
    with pytest.raises(ConfigError, match="cannot take turns"):
        rotate(worded("please", bias="authority"), appended("book", expects=Expects.SAME))
