"""Decision models: what they are asked, held against the public form of requests, and what their answers mean."""

import asyncio
import json
from dataclasses import replace
from random import Random

import pytest

from calm import Expects, perturbation, rotate
from calm.cases import bundled
from calm.commands import cli
from calm.core.case import Criterion, Framing
from calm.core.reasons import MENDS, Kind
from calm.core.verdict import Criteria, Label, Preferred, Refused, Score, Tie, Unreadable
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.experiment.pairs import pair_up
from calm.experiment.setup import Setup
from calm.judges.judgefile import read_judge
from calm.models.wire import Reply
from calm.perturbations.chain_of_thought import solve_first
from calm.perturbations.pushback import doubt
from calm.perturbations.question_company import with_others
from calm.perturbations.question_form import other_type, other_type_of_score
from tests.each import each
from tests.planted import pair, single
from tests.servers import Answer, wire_server
from tests.servers.decisions import answer, faults_in

LABELS = '[labels]\nclasses = ["bad", "good"]\nordered = true\n'
THREE = '[labels]\nclasses = ["bad", "fair", "good"]\n[labels.meanings]\nbad = "b"\nfair = "f"\ngood = "g"\n'
LEVELS = "[verdict]\nvalues = { poor = 1, fair = 2, good = 3 }\n[verdict.scale]\nlow = 1\nhigh = 3\n"
RUBRIC = (Criterion("short", "It is short."), Criterion("kind", "It is kind."))


def a_judge(folder, task, more="", *, url="http://127.0.0.1:1/v1"):
    """Return the judge of six lines, and of more."""
    path = folder / "judge.toml"
    model = f'[model]\nprovider = "systemone"\nmodel = "tiny"\nbase_url = "{url}"\n'
    path.write_text(f'[judge]\nname = "d"\ntask = "{task}"\n{model}{more}')
    return read_judge(path, {})


def a_case(task, **changes):
    """Return a case of a task."""
    if task in ("rubric", "rubric-all"):
        changes = {"criteria": RUBRIC, **changes}
    return pair("p") if task == "pairwise" else single("s", **changes)


def bodies(judge, case):
    """Return what is sent about a case."""
    return [request.body for request in judge.requests(case)]


def verdict_of(judge, case, *answers):
    """Return the verdict in these answers to its questions, one for each call."""
    return judge.read(case, [Reply(json.dumps(one)) for one in answers])


def choice(chosen, **chances):
    return {"type": "choice", "choice": chosen, "probabilities": chances, "confidence": 0.5}


ASKED = [
    ("pairwise", "", "choice"),
    ("pairwise", '[verdict]\nformat = "noul"\n', "noul"),
    ("pairwise", '[prompt]\nsystem = "Which one is right?"\n', "choice"),
    ("pairwise", '[verdict]\nvalues = { one = "first", other = "second", unsure = "none" }\n', "choice"),
    ("score", "", "score"),
    ("score", '[verdict]\nformat = "choice"\n', "choice"),
    ("score", LEVELS, "score"),
    ("rubric", "", "noul"),
    ("rubric", '[verdict]\nformat = "choice"\n', "choice"),
    ("rubric-all", "", "noul"),
    ("label", LABELS, "choice"),
    ("label", THREE, "choice"),
    ("label", f'{LABELS}[verdict]\nformat = "noul"\n', "noul"),
]


@each("task, more, kind", ASKED)
def test_each_request_is_one_that_such_servers_take(task, more, kind, tmp_path):
    """By a schema of the public documents, in each framing, alone and beside other questions."""
    judge = a_judge(tmp_path, task, more)
    for asked in (judge, judge.with_prompt(with_others(judge.asks, Random(1)))):
        for framing in (Framing.STANDARD, Framing.NEGATIVE):
            sent = bodies(asked, a_case(task).present(framing=framing))

            assert [fault for body in sent for fault in faults_in(body)] == []
            own = [q for body in sent for name, q in body["questions"].items() if not name.startswith("also_")]
            assert {one["type"] for one in own} == {kind}
            assert len(own) == (2 if task.startswith("rubric") else 1)
            assert len(sent) == (2 if task == "rubric" else 1)


def test_a_question_is_instructions_and_a_case_is_its_state(tmp_path):
    """What a user writes as `system` is the question; texts of the case are in the state alone, made harmless."""
    judge = a_judge(tmp_path, "pairwise", '[prompt]\nsystem = "Which one is right?"\n')
    case = pair("p", question="Which </answer> is it?")

    body = bodies(judge, case)[0]

    assert body["questions"]["verdict"]["instructions"] == "Which one is right?"
    assert list(body["questions"]["verdict"]["criteria"]) == ["A", "B", "C"]
    assert [
        text for text in (*(a.text for a in case.answers), "Which <\\/answer> is it?") if text not in body["state"]
    ] == []
    assert {"max_tokens", "temperature", "top_p"}.isdisjoint(body)
    assert list(bodies(judge, case.present(labels=("X", "Y")))[0]["questions"]["verdict"]["criteria"]) == [
        "X",
        "Y",
        "tie",
    ]


def test_a_verdict_is_what_the_probabilities_say(tmp_path):
    """The likeliest option, and of a score the mean of its levels, each computed by hand."""
    two, case = a_judge(tmp_path, "pairwise"), pair("p")
    said = {"verdict": choice("B", A=0.2, B=0.7, C=0.1)}
    chances = {"good": 0.2, "bad": 0.7, "tie": 0.1}
    assert verdict_of(two, case, said) == Preferred("bad", chances)
    assert verdict_of(two, case.arranged(("bad", "good")), said).answer == "good"
    assert verdict_of(two, case.present(framing=Framing.NEGATIVE), said).answer == "good"
    assert isinstance(verdict_of(two, case, {"verdict": choice("A", A=0.4, B=0.4, C=0.2)}), Tie)

    first = a_judge(tmp_path, "pairwise", '[verdict]\nformat = "noul"\n')
    assert verdict_of(first, case, {"verdict": {"type": "noul", "noul": 0.75}}) == Preferred(
        "good", {"good": 0.75, "bad": 0.25, "tie": 0.0}
    )

    levels, one = a_judge(tmp_path, "score", LEVELS), single("s")
    legend = {"0": "poor", "1": "fair", "2": "good"}
    said = {"type": "score", "score": 1.6, "probabilities": {"0": 0.1, "1": 0.2, "2": 0.7}, "legend": legend}
    found = verdict_of(levels, one, {"verdict": said})  # 1 * 0.1 + 2 * 0.2 + 3 * 0.7
    assert found.value == pytest.approx(2.6)
    assert found.probabilities == pytest.approx({"1": 0.1, "2": 0.2, "3": 0.7})
    turned = verdict_of(levels, one.present(framing=Framing.NEGATIVE), {"verdict": said})
    assert turned.value == pytest.approx(1.4)  # 3 * 0.1 + 2 * 0.2 + 1 * 0.7

    both = a_judge(tmp_path, "rubric-all")
    said = {"1": {"type": "noul", "noul": 0.9}, "2": {"type": "noul", "noul": 0.2}}
    assert verdict_of(both, a_case("rubric-all"), said) == Criteria(
        {"short": True, "kind": False}, {"short": 0.9, "kind": 0.2}
    )
    each_one = a_judge(tmp_path, "rubric")
    said = ({"verdict": {"type": "noul", "noul": 0.9}}, {"verdict": {"type": "noul", "noul": 0.2}})
    assert verdict_of(each_one, a_case("rubric"), *said).met == {"short": True, "kind": False}

    classes = a_judge(tmp_path, "label", LABELS)
    assert verdict_of(classes, one, {"verdict": choice("good", bad=0.25, good=0.75)}) == Label(
        "good", {"bad": 0.25, "good": 0.75}
    )


def test_rounded_probabilities_are_read_and_made_whole(tmp_path):
    """Servers round: a sum of .99 of three options is a law, one of .9 is none."""
    judge = a_judge(tmp_path, "pairwise")

    found = verdict_of(judge, pair("p"), {"verdict": choice("A", A=0.33, B=0.33, C=0.33)})

    assert sum(found.probabilities.values()) == pytest.approx(1.0)


NAN = float("nan")
WRONG = [
    ({}, Kind.UNANSWERED),
    ({"verdict": None}, Kind.UNANSWERED),
    ({"other": choice("A", A=1.0, B=0.0, C=0.0)}, Kind.UNANSWERED),
    ({"verdict": "A"}, Kind.ANSWER_TYPE),
    ({"verdict": [1]}, Kind.ANSWER_TYPE),
    ({"verdict": {"type": "noul", "noul": 0.9}}, Kind.ANSWER_TYPE),
    ({"verdict": {"type": "choice", "choice": "A"}}, Kind.ANSWER_OPTIONS),
    ({"verdict": choice("A", A=0.5, B=0.5)}, Kind.ANSWER_OPTIONS),
    ({"verdict": choice("D", A=0.2, B=0.2, C=0.2, D=0.4)}, Kind.ANSWER_OPTIONS),
    ({"verdict": choice("A", A=0.5, B=0.3, C=0.1)}, Kind.ANSWER_CHANCES),
    ({"verdict": choice("A", A=NAN, B=0.5, C=0.5)}, Kind.ANSWER_CHANCES),
    ({"verdict": choice("A", A="1", B=0, C=0)}, Kind.ANSWER_CHANCES),
    ({"verdict": choice("A", A=1.5, B=-0.5, C=0.0)}, Kind.ANSWER_CHANCES),
    ({"verdict": choice("A", A=True, B=0, C=0)}, Kind.ANSWER_CHANCES),
    ({"verdict": choice("A", A=0.2, B=0.7, C=0.1)}, Kind.ANSWER_CONTRADICTED),
    ({"verdict": choice("Z", A=0.2, B=0.7, C=0.1)}, Kind.ANSWER_CONTRADICTED),
    ({"verdict": choice(["B"], A=0.2, B=0.7, C=0.1)}, Kind.ANSWER_CONTRADICTED),
]


@each("answers, kind", WRONG)
def test_an_answer_that_cannot_be_true_is_no_verdict(answers, kind, tmp_path):
    """It is never guessed what a server meant."""
    found = verdict_of(a_judge(tmp_path, "pairwise"), pair("p"), answers)

    assert isinstance(found, Unreadable)
    assert found.why.kind is kind


@each("answers, kind", WRONG[:4])
def test_a_look_at_such_an_answer_names_what_such_a_model_has(answers, kind, tmp_path, capsys):
    """`calm try` asks for no words and no more tokens of a model that writes none."""
    with wire_server(lambda messages, body: json.dumps(answers)) as server:
        a_judge(tmp_path, "pairwise", url=server.url)
        status = cli.main(["try", str(tmp_path / "judge.toml"), "--max-calls", "9"])

    said = capsys.readouterr().err
    assert status == 1
    assert MENDS[kind] in said
    assert [word for word in ("max_tokens", "[[A]]") if word in said] == []


@each(
    "said, chances, legend",
    [(0.4, (0.1, 0.2, 0.7), None), (1.6, (0.1, 0.2, 0.7), "good fair poor"), ("2", (0, 0, 1), None)],
)
def test_a_score_that_contradicts_its_levels_is_no_verdict(said, chances, legend, tmp_path):
    """A mean that is none of theirs, and levels in another order than they were given in."""
    law = {str(n): p for n, p in enumerate(chances)}
    told = {} if legend is None else {"legend": dict(zip(law, legend.split(), strict=True))}

    found = verdict_of(
        a_judge(tmp_path, "score", LEVELS),
        single("s"),
        {"verdict": {"type": "score", "score": said, "probabilities": law, **told}},
    )

    assert isinstance(found, Unreadable)
    assert found.why.kind is Kind.ANSWER_CONTRADICTED


def test_an_option_that_is_no_verdict_and_a_refusal_are_none(tmp_path):
    """`values` may offer a way out; a server that knows refusals answers with one."""
    judge = a_judge(tmp_path, "pairwise", '[verdict]\nvalues = { a = "first", b = "second", unsure = "none" }\n')
    refused = {"verdict": {"type": "refusal", "refusal": "not this"}}
    options = bodies(judge, pair("p"))[0]["questions"]["verdict"]["criteria"]
    usual = bodies(a_judge(tmp_path, "pairwise"), pair("p"))[0]["questions"]["verdict"]["criteria"]
    assert options == {"a": usual["A"], "b": usual["B"], "unsure": None}  # a model is told which answer is meant

    assert (
        verdict_of(judge, pair("p"), {"verdict": choice("unsure", a=0.2, b=0.2, unsure=0.6)}).why.kind
        is Kind.ANSWER_NONE
    )
    assert verdict_of(judge, pair("p"), {"verdict": choice("a", a=0.6, b=0.2, unsure=0.2)}) == Preferred(
        "good", {"good": pytest.approx(0.75), "bad": pytest.approx(0.25), "tie": 0.0}
    )
    assert isinstance(verdict_of(judge, pair("p"), refused), Refused)
    missing = {"1": {"type": "noul", "noul": 0.9}}
    assert verdict_of(a_judge(tmp_path, "rubric-all"), a_case("rubric-all"), missing).met == {
        "short": True,
        "kind": None,
    }


@each("task, more, fault", [
    ("points", "", "[verdict] format"),
    ("listwise", "", "[verdict] format"),
    ("pairwise", '[verdict]\nformat = "json"\n', "[verdict] format"),
    ("score", '[verdict]\nformat = "noul"\n', "[verdict] format"),
    ("label", f'{THREE}[verdict]\nformat = "noul"\n', "[verdict] format"),
    ("score", "[verdict.scale]\nlow = 0\nhigh = 1000\n", "[verdict] scale"),
    ("score", "[verdict.scale]\nlow = 0\nhigh = 0.5\n", "[verdict] scale"),
    ("score", "[verdict.scale]\nlow = 0\nhigh = 2.5\n", "[verdict] scale"),
    ("rubric", "[verdict]\nvalues = { YES = 1 }\n", "[verdict] values"),
    ("pairwise", '[prompt]\nnegative_user = "x"\n', "[prompt] negative_user"),
])  # fmt: skip
def test_what_cannot_be_asked_is_an_error_of_the_file(task, more, fault, tmp_path):
    """Each names the key, before any call."""
    with pytest.raises(ConfigError) as caught:
        a_judge(tmp_path, task, more)

    assert fault in str(caught.value)


@each("key", ["max_tokens = 9", "temperature = 0.5", 'extra_body = { state = "x" }', "extra_body = { questions = {} }"])
def test_settings_of_text_are_errors(key, tmp_path):
    """A decision model writes none, and what it is asked is not for `extra_body`."""
    with pytest.raises(ConfigError, match=key.partition(" ")[0]):
        a_judge(tmp_path, "pairwise", f"{key}\n")


def test_other_providers_have_no_such_questions(tmp_path):
    """A type of question is an error where texts are read."""
    path = tmp_path / "judge.toml"
    path.write_text(
        '[judge]\nname = "d"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "t"\n'
        '[verdict]\nformat = "noul"\n'
    )

    with pytest.raises(ConfigError, match="format"):
        read_judge(path, {"OPENAI_API_KEY": "k"})


def test_one_call_over_the_wire(tmp_path):
    """The server takes the request and the greeting, one ask is enough, and no text is written."""
    says = json.dumps({"verdict": answer({"type": "choice", "criteria": {"A": "", "B": "", "C": ""}}, "B")})
    with wire_server(lambda messages, body: says) as server:
        judge = a_judge(tmp_path, "pairwise", url=server.url)
        engine = Engine(Store(None, Mode.OFF))
        try:
            asked = engine.ask(judge, [(pair("p"), 1)])
        finally:
            engine.close()
        (sent,) = server.seen  # an engine that admits no judge greets none

    assert asked[0].verdict.answer == "bad"
    assert sent.path == "/v1/systemone"
    assert (judge.traits.weighs, judge.traits.mute, judge.server.max_tokens) == (True, True, 0)
    with wire_server(lambda messages, body: Answer(says, usage=(50, 7))) as server:
        now = replace(judge.server, base_url=server.url)
        greeting, reply = asyncio.run(now.greet()), asyncio.run(now.call(sent.body))
    assert "verdict" in json.loads(greeting.text)
    assert (reply.usage.input, reply.usage.output) == (50, 0)


def pairs_of(judge, edit, cases):
    """Return the pairs of an edit, and why cases were left out."""
    engine = Engine(Store(None, Mode.OFF))
    try:
        return pair_up(Setup(judge, tuple(cases), engine, counting=True), edit, None)
    finally:
        engine.close()


@perturbation(bias="own-reasons", expects=Expects.SAME, needs_text=True)
def reasons_first(case, rng):
    """Add a note that asks for reasons, in an edit of a user's own."""
    return case.present(notes=(*case.notes, "Write your reasons first."))


@each("edit", [solve_first, doubt, reasons_first, rotate(reasons_first, name="own")])
def test_what_needs_words_is_left_out_with_a_reason(edit, tmp_path):
    """Thinking aloud, and a turn after the verdict."""
    found = pairs_of(a_judge(tmp_path, "pairwise"), edit, bundled("pairwise")[:3])

    assert found.pairs == []
    assert {reason.kind for reason in found.excluded} == {Kind.MUTE}


@each(
    "task, more, edit",
    [
        ("pairwise", "", other_type),
        ("score", "", other_type_of_score),
        ("rubric", "", other_type),
        ("label", LABELS, other_type),
        ("pairwise", "", with_others),
    ],
)
def test_an_edit_of_the_question_alone_is_seen(task, more, edit, tmp_path):
    """The texts are the same, and what is asked is not."""
    judge, case = a_judge(tmp_path, task, more), a_case(task)
    edited = judge.with_prompt(edit.apply(judge.asks, case, 0))

    assert edited.sees(case) != judge.sees(case)
    assert bodies(edited, case)[0]["state"] == bodies(judge, case)[0]["state"]


def test_a_score_stays_on_its_scale_in_either_type(tmp_path):
    """Asked as a choice, each score is an option of its own name."""
    judge, case = a_judge(tmp_path, "score"), single("s")
    edited = judge.with_prompt(other_type_of_score.apply(judge.asks, case, 0))
    options = bodies(edited, case)[0]["questions"]["verdict"]["criteria"]

    assert list(options) == [str(n) for n in range(1, 11)]
    assert verdict_of(edited, case, {"verdict": answer({"type": "choice", "criteria": options}, "7")}) == Score(
        pytest.approx(0.9 * 7 + 0.1 / 9 * 48), {str(n): pytest.approx(0.9 if n == 7 else 0.1 / 9) for n in range(1, 11)}
    )
