"""Edits of the judge's prompt: what they do to any prompt, and that a verdict on a bundled one is read right."""

import asyncio
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from calm.cases import bundled as bundled_cases
from calm.cases import sample as sample_of
from calm.core.case import Answer as Text
from calm.core.case import Case, Criterion
from calm.core.edits import FORMS, Message, Prompt, PromptEdit
from calm.core.verdict import FAMILY, Scale
from calm.errors import ConfigError
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled, check, render
from calm.judges.reading import Format
from calm.models.server import Server
from calm.perturbations import bundled_prompt, judge_prompt
from calm.perturbations.judge_prompt import paraphrase, reorder_criteria
from calm.suites import test_judge_prompt as suite
from tests.each import each
from tests.lanes import one_in
from tests.servers import wire_server
from tests.servers.planted import planted_respond

ANY = {name: e for name, e in vars(judge_prompt).items() if isinstance(e, PromptEdit)}
OURS = {name: e for name, e in vars(bundled_prompt).items() if isinstance(e, PromptEdit)}
TASKS = ("pairwise", "score", "rubric", "rubric-all", "points", "listwise")
PAIR = Case("c1", "Which?", (Text("a", "text of a"), Text("b", "text of b")))


def prompt_of(*texts, **options):
    """Return a prompt of these texts: one of the user's, or system and user."""
    roles = ("user",) if len(texts) == 1 else ("system", "user")
    return Prompt(tuple(map(Message, roles, texts)), **options)


def shown(edit, *texts, seed=1):
    """Return what a pairwise judge is sent after an edit, as (role, text)."""
    edited = edit(prompt_of(*texts), Random(seed))
    return [(m.role, m.text) for m in render(edited, PAIR, "pairwise", Scale())]


def asked_as(task, form):
    """Return a bundled prompt as its judge asks it."""
    return replace(bundled(task, form), form=form, scale=Scale())


@each("edit", [*ANY.values(), *OURS.values()], ids=lambda e: e.name)
def test_an_edit_says_what_it_is(edit):
    """Each names its source and bias, says in a sentence what it does, and is in the suite."""
    rotated = {v.name for e in suite.ALONE for v in getattr(e, "variants", ())}

    assert edit.source
    assert edit.bias == "judge-prompt"
    assert edit.summary.endswith(".")
    assert edit.name in rotated | {"offer_unclear", "forbid_ties", "verdict_key_first", "reasons_key_first"}
    assert edit.bundled == (edit.name in OURS)


@each("edit", ANY.values(), ids=lambda e: e.name)
@each(
    "texts",
    [
        ("Be fair.", "{{ question }}\nA: {{ answers[0].text }}\nB: {{ answers[1].text }}\n"),
        ("{{ question }} {{ answers[0].text }} {{ answers[1].text }}",),
        ("Be fair.\r\nBe kind.\r\n", "{{ question }}\r\n{{ answers[0].text }}"),
        ("Be fair.\nBe kind.", "{{ question }}\r\n{{ answers[0].text }}"),
        ("{%- set x = 1 -%}", "{%- for a in answers -%} {{ a.text }} {%- endfor -%}"),
    ],
)
def test_any_prompt_is_rewritten_into_one_that_renders(edit, texts):
    """What the judge is told stays, line ends of one kind stay so, and the twin is reworded with it."""
    prompt = prompt_of(*texts, negative=prompt_of(*texts).messages)
    edited = edit(prompt, Random(3))
    if edited is None:
        assert edit.name == "system_as_user"
        assert len(texts) == 1
        return

    assert check(edited, "pairwise") == []
    assert edited.messages != prompt.messages
    assert edited.negative == edited.messages
    said = " ".join(text for _, text in shown(edit, *texts, seed=3))
    assert all(part in said for part in ("text of a", *(["Be fair."] if "Be fair." in texts[0] else [])))


def test_a_sentence_goes_where_its_edit_says():
    """Before the first message, behind the first or the last of the user, with an empty line between."""
    texts = ("Judge.", "{{ question }}\n")

    assert shown(judge_prompt.append_sentence, *texts)[1][1].startswith("Which?\n\nT")
    assert shown(judge_prompt.append_sentence, *texts)[1][1].endswith(".\n")
    assert shown(judge_prompt.prepend_sentence, *texts)[0][1].endswith(".\n\nJudge.")
    assert shown(judge_prompt.forbid_bias, *texts)[0][1].startswith("Judge.\n\n")
    assert shown(judge_prompt.give_persona, *texts)[0][1].startswith("You are a")
    assert shown(judge_prompt.reason_first, *texts)[1][1] == f"Which?\n\n{judge_prompt.REASONS}\n"
    assert shown(judge_prompt.system_as_user, *texts) == [("user", "Judge.\n\nWhich?\n")]


def test_a_tag_that_strips_white_space_does_not_glue_a_sentence_to_the_text():
    """The empty line is then an expression, which no tag strips."""
    stripping = "{%- if true -%} {{ question }} {%- endif -%}"

    assert shown(judge_prompt.append_sentence, stripping)[0][1].startswith("Which?\n\nT")
    assert shown(judge_prompt.prepend_sentence, stripping)[0][1].endswith(".\n\nWhich?")


def test_a_prompt_that_cannot_be_merged_is_left_alone():
    """No system message, blocks that can stand only once, and a verdict that has to be the first token."""
    blocks = ("{% block a %}Judge.{% endblock %}", "{{ question }}")

    assert judge_prompt.system_as_user(prompt_of("{{ question }}"), Random(1)) is None
    assert judge_prompt.system_as_user(prompt_of(*blocks), Random(1)) is None
    assert judge_prompt.reason_first(prompt_of("{{ question }}", form="logprobs"), Random(1)) is None


def test_a_paraphrase_is_what_a_writer_made_of_the_passages():
    """Passages that are found change, in every framing; where none is found, the edit does not apply."""
    edit = paraphrase({"Which is better?": "Which one do you prefer?"})

    assert shown(edit, "Which is better? {{ question }}") == [("user", "Which one do you prefer? Which?")]
    assert edit(prompt_of("Judge {{ question }}"), Random(1)) is None
    assert (edit.name, edit.bundled) == ("paraphrase", False)


@each("passages", [{}, {"{{ question }}": "it"}, {"Judge.": "{% if x %}"}, {" ": "x"}])
def test_a_paraphrase_may_not_lose_a_tag_of_the_template(passages):
    """Passages are plain words, on both sides."""
    with pytest.raises(ConfigError, match="passages of plain words"):
        paraphrase(passages)


def test_the_criteria_of_a_rubric_begin_elsewhere():
    """All are there, each with its truth; of a single one there is no other order."""
    criteria = tuple(Criterion(f"k{n}", f"criterion {n}") for n in range(3))
    case = Case("c", "Q", (Text("a", "x"),), criteria=criteria, met={"a": {c.id: True for c in criteria}})

    edited = reorder_criteria(case, Random(1))

    assert edited.criteria[0] != criteria[0]
    assert sorted(c.id for c in edited.criteria) == ["k0", "k1", "k2"]
    assert edited.met == case.met
    assert reorder_criteria(replace(case, criteria=criteria[:1]), Random(1)) is None


@pytest.mark.parametrize(("task", "form"), one_in(4, product(TASKS, FORMS)))
def test_an_edit_of_a_bundled_prompt_renders_or_does_not_apply(task, form):
    """Whatever task and form, an edited prompt is sound, and shows all that is to be judged."""
    for name, edit in OURS.items():
        edited = edit(asked_as(task, form), Random(1))
        if edited is None:
            continue

        assert check(edited, task, edited.scale) == [], name
        answers = tuple(Text(f"a{n}", f"text {n}") for n in range({"pairwise": 2, "listwise": 3}.get(task, 1)))
        case = Case("c", "Why is it so?", answers, criteria=(Criterion("k", "It is so."),)).present(notes=("A note.",))
        said = "\n".join(m.text for m in render(edited, case, task, edited.scale, case.criteria[0]))
        told = ["Why is it so?", "A note.", *(a.text for a in answers)]
        told += ["It is so."] if FAMILY[task] == "rubric" or task == "points" else []
        assert [text for text in told if said.count(text) != 1] == [], name


APPLIES = {
    ("pairwise", "brackets"): 14,
    ("score", "brackets"): 20,
    ("rubric", "brackets"): 13,
    ("pairwise", "json"): 16,
    ("pairwise", "logprobs"): 9,
}


@each(("task", "form"), APPLIES)
def test_enough_edits_apply_to_a_bundled_prompt(task, form):
    """The count is kept, so that a change of the bundled wording which hides it from an edit is noticed."""
    found = [e for e in OURS.values() if FAMILY[task] in e.tasks and e(asked_as(task, form), Random(1)) is not None]

    assert len(found) == APPLIES[task, form]


@each("form", [f for f in FORMS if f != "logprobs"])
@each("task", ["pairwise", "score", "rubric"])
def test_nothing_english_is_left_in_a_german_prompt(task, form):
    """Each sentence is translated, whatever the form."""
    edited = bundled_prompt.in_german(asked_as(task, form), Random(1))
    answers = tuple(Text(name, f"Antwort {name}") for name in "xy"[: 2 if task == "pairwise" else 1])
    case = Case("c", "Frage?", answers)

    said = " ".join(m.text for m in render(edited, case, task, Scale(), Criterion("k", "Kriterium."))).split()

    assert {"the", "if", "is", "answer", "with", "for", "of", "better"} & {w.strip(":,.") for w in said} == set()


class Direct:
    """`send` without an engine."""

    ask = 1

    async def __call__(self, request):
        """Send a request to its endpoint."""
        return await request.endpoint.call(request.body)


@pytest.mark.parametrize(
    ("task", "form"),
    one_in(2, product(["pairwise", "score", "rubric"], ["brackets", "json", "tag", "last-line"][::-1])),
)
def test_a_sound_judge_gives_the_same_verdict_on_each_edited_prompt(task, form):
    """A judge that understands what it is asked, and answers as asked, is read as without the edit."""
    cases = [case.balanced("test") for case in sample_of(bundled_cases(task), 3, 0)]
    cases = [c.present(order=c.order or tuple(a.id for a in c.answers)) for c in cases]
    with wire_server(planted_respond(f"planted:noise=0,task={task}", cases)) as wire:
        server = Server("openai", "tiny", base_url=wire.url, retries=0)
        judge = PromptedJudge("j", task, Scale(), bundled(task, form), Format(form), server)

        async def verdicts(asked):
            return list(await asyncio.gather(*(asked.judge(case, Direct()) for case in cases)))

        clean = asyncio.run(verdicts(judge))
        edited = {
            name: asyncio.run(verdicts(judge.with_prompt(changed)))
            for name, edit in {**ANY, **OURS}.items()
            if task in edit.tasks and (changed := edit(judge.asks, Random(2))) is not None
        }

    assert len(edited) > 15
    assert {name: found for name, found in edited.items() if found != clean} == {}
