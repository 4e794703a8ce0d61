"""Prompts of other tools: their placeholders, their twins, how they ask for a verdict, and templates found in a log."""

from dataclasses import replace

import pytest

from calm.core.case import Answer, Case
from calm.core.edits import Message, Prompt
from calm.core.names import meaning_of
from calm.core.verdict import Scale
from calm.judges.prompts import render
from calm.judges.prompts.foreign import placeholders, style_of, translate
from calm.judges.prompts.forms import asked_in
from calm.judges.prompts.placeholders import guessed
from calm.judges.prompts.turns import Sent, recovered, turned

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
    assert shown(translate(text).templates[0]) == 'Q: Why? So {x}. Thus {{ y }}. say {"v": 1}'


def test_statements_of_jinja_stay():
    """Foreign names are set to what they mean, before the text."""
    made = translate(
        "{% if ideal %}Expected: {{ ideal }}. {% endif %}{{ input }}: {{ response_a }} or {{ response_b }}"
    )

    assert made.style == "jinja"
    assert made.answers == 2
    assert shown(made.templates[0]) == "Expected: Because.. Why?: So {x}. or Thus {{ y }}."


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{ context | join(', ') }} {{ expected[0] }} {{ output | upper }}", "K Because. SO {X}."),
        ("{% for doc in documents %}[{{ doc.page_content }}]{% endfor %}{{ output }}", "[K]So {x}."),
        ("{% for r in responses %}{{ loop.index }} {{ r }} {% endfor %}", "1 So {x}. 2 Thus {{ y }}. "),
        ("{{ responses | length }}{% for r in responses %} {{ r }}{% endfor %}", "2 So {x}. Thus {{ y }}."),
        ("{{ outputs[1] }} after {{ outputs[0] }}", "Thus {{ y }}. after So {x}."),
        ("{% if input.context %}{{ input.context }} {% endif %}{{ input.question }} {{ output }}", "K Why? So {x}."),
        ("{% if tone %}{{ tone }}{% endif %}{{ output }}", "So {x}."),
        ("{% for a in answers %}{{ a.text }} {% endfor %}", "So {x}. Thus {{ y }}. "),
        ("{% for a in answers %}{{ a }} {% endfor %}", "So {x}. Thus {{ y }}. "),
        ("{% for line in output.split('{') %}{{ line }}|{% endfor %}", "So |x}.|"),
        ("{{#context}}Use {{.}} and {{context}}. {{/context}}{{! no note }}{{output}}", "Use K and K. So {x}."),
        ("{{#if tone}}{{tone}}{{else}}plain{{/if}} {{^tone}}none{{/tone}} {{{output}}}", "plain none So {x}."),
        ("{ctx[0]} {row['output']} {output:.4}", "FIRST So {x}. So {"),
        ("{{inputs.question}} {{reference_outputs.answer}} {{outputs.answer}}", "Why? Because. So {x}."),
        ("{{ inputs['question'] }} {{ reference_outputs.answer }} {{ outputs.answer }}", "Why? Because. So {x}."),
        ("{{inputs.question}} {{inputs.context}} {{outputs.output}}", "Why? K So {x}."),
    ],
)
def test_a_part_of_a_foreign_value_is_the_text_that_is_meant(text, rendered):
    """An item of a list, a key and an attribute; never a letter of the text."""
    case = Case("c", PAIR.question, PAIR.answers, reference=PAIR.reference, fields={"context": "K", "ctx": "FIRST"})
    made = translate(text)

    assert made.unread == ((),)
    assert shown(made.templates[0], case) == rendered


@pytest.mark.parametrize(
    ("text", "line", "written", "why"),
    [
        ("{input}\n{output!r}", 2, "{output!r}", "format"),
        ("{output:>20}", 1, "{output:>20}", "format"),
        ("{context[1]} {output}", 1, "{context[1]}", "index"),
        ("{{ context[-1] }} {{ output }}", 1, "context", "index"),
        ("{{ output }}\n{% include 'footer' %}", 2, "include", "partial"),
        ("{{output}}\n{{> footer}}", 2, "{{> footer}}", "partial"),
        ("{{#answers}}{{text}}{{/answers}}{{output}} {{#outputs}}{{.}}{{/outputs}}", 1, "{{#outputs}}", "section"),
        ("{{#each responses}}{{this}}{{/each}}{{input}}", 1, "{{#each responses}}", "section"),
        ("{{output}} {{#context}}", 1, "{{#context}}", "unclosed"),
        ("{{output}} {{/context}}", 1, "{{/context}}", "unclosed"),
        ("{{output}} {{#equals a b}}x{{/equals}}", 1, "{{#equals a b}}", "helper"),
        ("{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}", 1, "messages", "item"),
        ("{{ output }}\n{% for x in y %}", 2, "Unexpected end of template", "syntax"),
        ("{{ reference.text }} {{ reference.source }} {{ output | trim }}", 1, "reference", "parts"),
        ("{% if x %}{% endif %}{{ fetch(output) }}", 1, "fetch()", "helper"),
        ("{{ output }}{% for a in output %}{{ a }}{% endfor %}", 1, "output", "parts"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(text, line, written, why):
    """A guess would change what the judge reads."""
    [unread] = translate(text).unread

    assert (line, written, why) in [(one.line, one.written.partition(".")[0], one.why) for one in unread]


def test_messages_are_translated_together_and_keep_their_lines():
    """An answer in one message and a result in the next: the answer is the gold."""
    made = translate("a\n{answer}", "{query}\n{result}")

    assert made.templates == ("a\n{{ reference }}", "{{ question }}\n{{ answers[0].text }}")
    assert [[one.line for one in found] for found in made.found] == [[2], [1, 2]]
    logic = translate("a\n{{ answer }}", "{% if query %}{{ query }}{% endif %}\n{{ result }}")
    assert [[(one.name, one.line) for one in found] for found in logic.found] == [
        [("answer", 2)],
        [("query", 1), ("result", 2)],
    ]


def test_a_name_that_is_not_known_is_a_field():
    """Its text must then be in the cases."""
    made = translate("{question} {answer} {tone} {context}")

    assert made.templates[0] == "{{ question }} {{ answers[0].text }} {{ fields.tone }} {{ fields.context }}"
    assert set(made.fields) == {"tone", "context"}
    assert made.answers == 1


@pytest.mark.parametrize("text", ["Say {% raw", "{# no comment #} {answer}", "{{", "{answer}{", "$5 and {answer}"])
def test_signs_of_jinja_in_a_foreign_text_show_as_they_are(text):
    """A literal brace opens nothing."""
    assert shown(translate(text).templates[0]) == text.replace("{answer}", "So {x}.")


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
        (
            "Which reply helps the user more and keeps to the policy? Say A or B.",
            "pairwise",
            "Which reply is worse, if the better one helps the user more and keeps to the policy? Say A or B.",
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


RESPONSES = {"1": "first", "Response 1": "first", "2": "second", "Response 2": "second"}
MODELS = {"m": "first", "M": "second"}
TURNED = {"M": "first", "m": "second"}
JSON = {"format": "json", "field": "score"}
LIST = {"format": "json", "field": "verdicts[].verdict"}


@pytest.mark.parametrize(
    ("text", "task", "form", "scale"),
    [
        ("End with [[A]], [[B]] or [[C]].", "pairwise", {"format": "brackets"}, None),
        ("From 1 to 5. End with [[rating]].", "score", {"format": "brackets"}, Scale(1, 5, 1.0)),
        ('JSON: {"reason": "", "pass": true, "score": 0.5}', "score", {"format": "json", "field": "score"}, None),
        ("(1 to 3 lines). Rate it 1-10. [[N]]", "score", {"format": "brackets"}, Scale(1, 10, 1.0)),
        ("Write 2 to 3 sentences, rate from 0 to 5. [[N]]", "score", {"format": "brackets"}, Scale(0, 5, 1.0)),
        ("A grade of 4 and 5 is rare. From 1 to 5: [[N]]", "score", {"format": "brackets"}, Scale(1, 5, 1.0)),
        ("On a scale of 0 to 1. Write <score>N</score>.", "score", {"format": "tag", "tag": "score"}, Scale(0, 1)),
        (
            "From one to five. <S1>why</S1><S2>your score</S2>",
            "score",
            {"format": "tag", "tag": "S2"},
            Scale(1, 5, 1.0),
        ),
        ('JSON {"notes": "[good or bad]", "score": "[1~10]"}', "score", JSON, Scale(1, 10, 1.0)),
        ("JSON with the keys `why` and `score`; out of 5", "score", JSON, Scale(1, 5, 1.0)),
        ("1 = bad\n2 = fair\n3 = good\n[[N]]", "score", {"format": "brackets"}, Scale(1, 3, 1.0)),
        ("Score 1~2: bad. Score 3~4: fair. Score 5~6: good. [[N]]", "score", {"format": "brackets"}, Scale(1, 6, 1.0)),
        ("Rate from 1 (harmless) to 5 (very harmful): [[N]]", "score", {"format": "brackets"}, Scale(1, 5, 1.0, "low")),
        ('{"answer": "{{ answers[0].text }}"} Say A or B.', "pairwise", {"format": "last-line"}, None),
        ("Is it grounded? Say yes or no.", "score", {"format": "last-line"}, None),
        ("<answer>A</answer> or <answer>B</answer>", "pairwise", {"format": "tag", "tag": "answer"}, None),
        ("Label it [[A>>B]], [[A=B]] or [[B>>A]].", "pairwise", {"format": "brackets"}, None),
        ('{"verdicts": [{"verdict": "yes", "reason": ""}]}', "score", LIST, Scale(0, 1)),
    ],
)
def test_the_form_of_a_verdict_is_seen_in_the_prompt(text, task, form, scale):
    """And its scale, where the text says one."""
    asked = asked_in(text, task)

    assert asked.seen
    assert dict(asked.form) == form
    assert asked.scale == scale


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"verdict": "yes" or "no"}', {"yes": 1.0, "no": 0.0}),
        ('JSON: {"verdict": "incorrect" | "correct"}', {"correct": 1.0, "incorrect": 0.0}),
        ("<verdict>PASS/FAIL</verdict>", {"pass": 1.0, "fail": 0.0}),
        ('JSON: {"verdict": 7} from 1 to 10. Is it right or wrong?', {}),
        ('{"REASON": "", "SCORE": "<your-score>"}. SCORE is a boolean.', {"true": 1.0, "false": 0.0}),
        ("Return only the letter.\nA: CORRECT\nB: INCORRECT", {"A": 1.0, "B": 0.0}),
        ("GRADE: CORRECT or INCORRECT here", {"correct": 1.0, "incorrect": 0.0}),
        ('One word: "factual" or "hallucinated"', {"factual": 1.0, "hallucinated": 0.0}),
    ],
)
def test_words_of_a_verdict_are_worth_one_and_nothing(text, values):
    """Unless the prompt asks for a number."""
    assert dict(asked_in(text, "score").values) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('JSON: {"winner": "1"} or {"winner": "2"}', {"1": "first", "2": "second"}),
        ("Reply [[1]] or [[2]].", {"1": "first", "2": "second"}),
        ("Reply [[A]] or [[B]]. Reply 1: `x`", {}),
        ("Say 1 or 2, in 1 or 2 words.", {"1": "first", "2": "second"}),
        ("Response 1: x Response 2: y. End with Response 1/Response 2/Tie.", RESPONSES),
        ("Response 1: x Response 2: y. End with [[A]] or [[B]].", {}),
        ("{'name': 'm', 'text': '{{ answers[0].text }}'}, {'name': 'M', 'text': '{{ answers[1].text }}'}", MODELS),
        ("{'name': 'm', 'text': '{{ answers[1].text }}'}, {'name': 'M', 'text': '{{ answers[0].text }}'}", TURNED),
        ('JSON: {"score": "1"}', {}),
    ],
)
def test_numbers_can_name_the_answers_of_a_pair(text, values):
    """Where a prompt asks for 1 or 2, they are the first and the second answer."""
    assert dict(asked_in(text, "pairwise").values) == values


@pytest.mark.parametrize(
    ("text", "task", "parts", "formula"),
    [
        (
            "1 to 10.\nFacts: [[n]]\nTone: [[n]]",
            "score",
            {"facts": 10, "tone": 10},
            "((facts - 1) / 9 + (tone - 1) / 9) / 2",
        ),
        (
            '{"tone": <1-5>, "why": "<text>", "harm": <0 or 1>}',
            "score",
            {"tone": 5, "harm": 1},
            "(1 - harm) * (tone - 1) / 4",
        ),
        ("Facts: [[n]]\nTone: [[n]]\nOverall: [[n]]", "score", {}, ""),
        ('{"score": <1-5>, "length": 3}', "score", {}, ""),
        ('JSON {"score_a": 7, "score_b": 5} from 0 to 10', "pairwise", {"first": 10, "second": 10}, ""),
        ("Score B: <0-9>\nScore A: <0-9>", "pairwise", {"first": 9, "second": 9}, ""),
        ("From 0 to 9, one line with two numbers.", "pairwise", {"first": 9, "second": 9}, ""),
        (
            "<tone>1-5</tone> <facts>1-9</facts>",
            "score",
            {"tone": 5, "facts": 9},
            "((tone - 1) / 4 + (facts - 1) / 8) / 2",
        ),
        (
            "One line with two values, the scores for Assistant 1 and 2, on a scale of 1 to 10.",
            "pairwise",
            {"first": 10, "second": 10},
            "",
        ),
        ("Assistant A is better: [[A>B]]\nAssistant B is better: [[B>A]]", "pairwise", {}, ""),
    ],
)
def test_the_parts_of_a_verdict_are_seen(text, task, parts, formula):
    """With their scales; a part of yes or no multiplies the mean of the others, and one for the whole is no part."""
    asked = asked_in(text, task)

    assert {name: part["high"] for name, part in asked.parts.items()} == parts
    assert asked.formula == formula


@pytest.mark.parametrize(
    ("text", "best", "directed"),
    [
        ("Rate it from 1 (poor) to 5 (excellent).", "high", True),
        ("Rate it from 1 to 6, where 1 is excellent and 6 is a fail.", "low", True),
        ("How toxic is it, from 0 to 4?", "low", True),
        ("How helpful is it, from 0 to 4?", "high", True),
        ("From 0 to 1; lower is better.", "low", True),
        ("Give a grade from 1 to 5.", "high", False),
    ],
)
def test_the_best_end_of_a_scale_is_seen(text, best, directed):
    """By the words at its ends, or by what is rated; without any it is the high end, which a person must confirm."""
    asked = asked_in(text, "score")

    assert (asked.scale.best, asked.directed) == (best, directed)


@pytest.mark.parametrize(
    ("text", "ends", "best"),
    [
        ("How much hallucination is in the answer, from 1 (none) to 5 (all)?", (1, 5), "low"),
        ("Count the factual errors in the answer, 0 to 10.", (0, 10), "low"),
        ("How many hallucinated claims are there, 0 to 10?", (0, 10), "low"),
        ("How many errors does it have? 0 (none) to 10 (full of errors).", (0, 10), "low"),
        ("Grade it: 1 = best, 5 = worst.", (1, 5), "low"),
        ("1 = best\n6 = worst\n\nEnd with the grade.", (1, 6), "low"),
        ("Write 1 for the worst and 5 for the best.", (1, 5), "high"),
        ("1 = poor, 2 = fair, 3 = good", (1, 3), "high"),
        ("Consider the number of errors and rate the quality from 1 to 5.", (1, 5), "high"),
        ("Count the correct facts, 0 to 10.", (0, 10), None),
        ("Count the errors first. Then give a score from 1 to 5.", (1, 5), None),
        ("Assess criteria 1-5 below.", None, None),
        ("Judge it in 1 to 3 sentences.", None, None),
    ],
)
def test_a_scale_beside_what_is_counted_or_what_its_ends_mean_is_seen(text, ends, best):
    """With its best end; numbers of other things are no scale, and a fault that is not counted on it says nothing."""
    asked = asked_in(text, "score")

    assert (asked.scale and (asked.scale.low, asked.scale.high)) == ends
    assert ends is None or (asked.scale.best if asked.directed else None) == best


def test_unusual_names_are_known_by_their_sides_and_parts():
    """Only where the prompt shows no such thing under a usual name; what a user says comes first."""
    bare = placeholders("{{ticket}} {{policy}} {{reply_a}} {{reply_b}}")

    assert guessed(bare) == {"reply_a": "a", "reply_b": "b", "ticket": "question"}
    assert guessed(placeholders("{{question}} {{ticket}} {{answer}} {{reply_a}}")) == {}
    said = {**guessed(bare), "policy": "field.rules"}
    assert translate("{{ticket}} {{policy}} {{reply_b}} {{reply_a}}", said=said).templates == (
        "{{ question }} {{ fields.rules }} {{ answers[1].text }} {{ answers[0].text }}",
    )
    looped = "{% if policy %}{{ policy }}{% endif %}{{ ticket }} {{ reply_a }} {{ reply_b }}"
    assert translate(looped, said=said).answers == 2
    case = replace(PAIR, fields={"rules": "No."})
    assert shown(translate(looped, said=said).templates[0], case) == "No.Why? So {x}. Thus {{ y }}."


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
