"""Prompts of other tools: their placeholders, their twins, how they ask for a verdict, and templates found in a log."""

import pytest

from calm.core.case import Answer, Case
from calm.core.foreign_names import meaning_of
from calm.core.templates import Message, Prompt
from calm.core.verdict import Scale
from calm.judges.prompts import render
from calm.judges.prompts.asking import asked_in
from calm.judges.prompts.foreign import placeholders, style_of, translate
from calm.judges.prompts.recovered import Sent, recovered
from calm.judges.prompts.turned import turned

PAIR = Case(
    "c", "Why?", (Answer("a", "So {x}."), Answer("b", "Thus {{ y }}.")), reference="Because.", fields={"context": "K"}
)


def shown(template, case=PAIR, task="pairwise"):
    """Return a template as it is rendered for a case."""
    return render(Prompt((Message("user", template),)), case.with_order(), task, Scale())[0].text


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ('Q: {input} {output_1} {output_2} say {{"v": 1}}', "single"),
        ('Q: {{input}} {{{output_1}}} {{ output_2 }} say {"v": 1}', "double"),
        ('Q: $input ${output_1} $output_2 say {"v": 1}', "dollar"),
        ('Q: <<input>> <<output_1>> <<output_2>> say {"v": 1}', "angle"),
        ('Q: {input} {output_1} {output_2} say {"v": 1}', "single"),
    ],
)
def test_each_style_shows_what_its_own_tool_would(text, style):
    """The texts of a case stand in it as they are, whatever signs they hold."""
    assert style_of(text) == style
    assert shown(translate(text).template) == 'Q: Why? So {x}. Thus {{ y }}. say {"v": 1}'


def test_statements_of_jinja_stay():
    """Foreign names are set to what they mean, before the text."""
    made = translate(
        "{% if ideal %}Expected: {{ ideal }}. {% endif %}{{ input }}: {{ response_a }} or {{ response_b }}"
    )

    assert made.style == "jinja"
    assert made.answers == 2
    assert shown(made.template) == "Expected: Because.. Why?: So {x}. or Thus {{ y }}."


def test_a_name_that_is_not_known_is_a_field():
    """Its text must then be in the cases."""
    made = translate("{question} {answer} {tone} {context}")

    assert made.template == "{{ question }} {{ answers[0].text }} {{ fields.tone }} {{ fields.context }}"
    assert set(made.fields) == {"tone", "context"}
    assert made.answers == 1


@pytest.mark.parametrize("text", ["Say {% raw", "{# no comment #} {answer}", "{{", "{answer}{", "$5 and {answer}"])
def test_signs_of_jinja_in_a_foreign_text_show_as_they_are(text):
    """A literal brace opens nothing."""
    assert shown(translate(text).template) == text.replace("{answer}", "So {x}.")


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("{query} {answer} {result}", ["question", "reference", "answer"]),
        ("{input} {prediction} {prediction_b}", ["question", "first", "second"]),
        ("{instruction} {input} {output}", ["question", None, "answer"]),
        ("{user_query} {candidate_A} {candidate_B}", ["question", "first", "second"]),
        ("{Question} {Reference_Answer}", ["question", "reference"]),
    ],
)
def test_a_name_means_what_it_does_beside_the_others(text, roles):
    """An answer beside a result is the right one, and an input beside an instruction another text."""
    assert [one.role for one in placeholders(text)] == roles


def test_placeholders_know_their_place():
    """A checker can point to them."""
    [first, second] = placeholders("Rate\n{answer}\nby {rubric}")

    assert (first.written, first.line, first.start, first.role) == ("{answer}", 2, 5, "answer")
    assert (second.line, second.role) == (3, "rubric")


@pytest.mark.parametrize("name", ["assistant_1", "AnswerA", "response-1", "model_a_response", "first_answer", "resp1"])
def test_the_first_of_two_answers_has_many_names(name):
    """And the second has the same with another letter or number."""
    assert meaning_of(name) == "first"


@pytest.mark.parametrize(
    ("text", "task", "twin"),
    [
        ("Which answer is better? [[A]] if A is better.", "pairwise", "Which answer is worse? [[A]] if A is worse."),
        (
            "Name the best answer, or [[C]] if neither is better.",
            "pairwise",
            "Name the worse answer, or [[C]] if neither is worse.",
        ),
        ("Say how good the answer is.", "score", "Say how bad the answer is."),
        ("How good is it? 1 = worst, 5 = best.", "score", "How bad is it? 1 = best, 5 = worst."),
    ],
)
def test_plain_sentences_are_turned_round(text, task, twin):
    """The twin asks for the worse answer, or how bad it is."""
    assert turned(text, task).text == twin


@pytest.mark.parametrize(
    ("text", "task", "word"),
    [
        ("Choose the one that answers the question better.", "pairwise", "better"),
        ("Which answer is better? Do not favor length.", "pairwise", "favor"),
        ("How good is it? 10 is excellent.", "score", "excellent"),
        ("Rate the answer from 1 to 5.", "score", ""),
    ],
)
def test_other_sentences_are_left_to_a_person(text, task, word):
    """A twin that is no question would be worse than none."""
    made = turned(text, task)

    assert made.text is None
    assert made.word == word


@pytest.mark.parametrize(
    ("text", "task", "form", "scale"),
    [
        ("End with [[A]], [[B]] or [[C]].", "pairwise", {"format": "brackets"}, None),
        ("From 1 to 5. End with [[rating]].", "score", {"format": "brackets"}, Scale(1, 5, 1.0)),
        ('JSON: {"reason": "", "pass": true, "score": 0.5}', "score", {"format": "json", "field": "score"}, None),
        ("On a scale of 0 to 1. Write <score>N</score>.", "score", {"format": "tag", "tag": "score"}, Scale(0, 1)),
    ],
)
def test_the_form_of_a_verdict_is_seen_in_the_prompt(text, task, form, scale):
    """And its scale, where the text says one."""
    asked = asked_in(text, task)

    assert asked.seen
    assert dict(asked.form) == form
    assert asked.scale == scale


def test_a_prompt_that_shows_no_form_says_so():
    """Then a person must look."""
    assert not asked_in("Which one wins?", "pairwise").seen


def sent(question, answer, reference="r"):
    """Return a prompt in which the reference also stands in the instruction."""
    text = f"Rate it, sir. Q: {question} A: {answer} R: {reference} {{% end"
    return Sent(("user",), (text,), {"question": question, "answers[0].text": answer, "reference": reference})


def test_a_short_text_that_stands_in_the_instruction_too_misleads_nobody():
    """A prompt about another case shows the right template; all are held against it."""
    prompts = [sent("why", "so"), sent("how come", "it", "Rate"), sent("when", "at noon", "yesterday")]

    made = recovered(prompts)

    assert made.whole
    assert made.templates == (
        'Rate it, sir. Q: {{ question }} A: {{ answers[0].text }} R: {{ reference }} {{ "{%" }} end',
    )


def test_prompts_without_the_texts_of_their_cases_have_no_template():
    """Nothing is guessed."""
    assert recovered([Sent(("user",), ("Rate it.",), {"question": "why", "answers[0].text": "so"})]) is None
