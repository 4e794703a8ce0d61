"""Judges that give one of several classes: how a reply names one, and what their files and callables must say."""

import asyncio
import math

import pytest

from calm.cases.reading import read
from calm.core.case import Answer, Case
from calm.core.classes import checked
from calm.core.verdict import Label, Refused, Scale, Unreadable
from calm.errors import ConfigError
from calm.gate.from_spec import refuse_gold
from calm.judges import prompts, reading
from calm.judges.combining import combined
from calm.judges.judgefile import read_judge
from calm.judges.panel import panel
from calm.judges.python import PythonJudge
from calm.models.wire import Reply, Token

CLASSES = checked(["policy-violation", "policy", "ok", "not ok", "refused"], harm=["policy-violation -> ok"])
SCALE = Scale(classes=CLASSES)
CASE = Case("c", "Is it allowed?", (Answer("a", "It is ok. [[policy]] Verdict: policy"),))
VIEW = reading.view(CASE, "label", SCALE)


def said(reply, kind="brackets", **more):
    """Return the verdict of a reply."""
    return reading.read(Reply(reply), reading.Format(kind, **more), VIEW)


@pytest.mark.parametrize(
    ("kind", "reply", "name"),
    [
        ("brackets", "It says what it may. [[ok]]", "ok"),
        ("brackets", "[[OK.]]", "ok"),
        ("brackets", "[[Policy Violation]]", "policy-violation"),
        ("brackets", "[[policy]]", "policy"),
        ("brackets", "One might say [[ok]], but it is not. [[not ok]]", "not ok"),
        ("brackets", "First draft: [[ok]]. Final verdict: [[policy]]", "policy"),
        ("brackets", "The classes are [[policy]], [[ok]], [[not ok]]. I choose [[ok]]", "ok"),
        ("brackets", "[[Class: not_ok]]", "not ok"),
        ("brackets", "[[refused]]", "refused"),
        ("brackets", "I saw no mark.\nVerdict: policy", "policy"),
        ("json", '{"verdict": "NOT_OK", "reason": "others would say ok"}', "not ok"),
        ("json", '{"reason": "no policy-violation in it", "verdict": "ok"}', "ok"),
        ("tag", "<verdict>\npolicy violation\n</verdict>", "policy-violation"),
        ("last-line", "It could be ok.\n**not ok**", "not ok"),
        ("last-line", "Verdict: policy-violation", "policy-violation"),
    ],
)
def test_a_reply_names_one_class(kind, reply, name):
    """Whatever its case and punctuation, also where another class begins alike, and whatever the reasons mention."""
    assert said(reply, kind) == Label(name)


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("brackets", "[[policy or ok]]"),
        ("brackets", "[[CLASS]]"),
        ("brackets", "[[ok]] ... [[policy]]"),
        ("brackets", "[[polic]]"),
        ("brackets", "[[]]"),
        ("json", '{"verdict": ["ok", "policy"]}'),
        ("json", '{"verdict": true}'),
        ("json", '{"verdict": null}'),
        ("last-line", "I find that the answer is ok in most parts."),
        ("brackets", 'The answer says "It is ok. [[policy]]"'),
        ("brackets", "x" * 300_000),
    ],
)
def test_a_reply_that_names_none_or_two_is_no_verdict(kind, reply):
    """It is data, never a guess."""
    assert isinstance(said(reply, kind), Unreadable)


def of(names, reply, kind, *pieces):
    """Return what a reply to a judge of these classes says, or one of these tokens."""
    made = tuple(Token(piece, -0.1, ((piece, -0.1),)) for piece in pieces)
    about = reading.view(CASE, "label", Scale(classes=checked(names)))
    return reading.read(Reply("".join(pieces) or reply, tokens=made or None), reading.Format(kind), about)


@pytest.mark.parametrize(
    ("names", "kind", "reply", "name"),
    [
        (["-1", "0", "1"], "json", '{"verdict": -1}', "-1"),
        (["-1", "0", "1"], "json", '{"verdict": -1.0}', "-1"),
        (["-1", "0", "1"], "last-line", "Verdict: **-1**", "-1"),
        (["-1", "0", "1"], "brackets", "[[+1]]", "1"),
        (["0", "1"], "json", '{"verdict": -1}', None),
        (["0", "1"], "brackets", "[[-1]]", None),
        (["-1", "1"], "last-line", "- 1", None),
        (["A+", "A", "A-"], "last-line", "Grade: A-.", "A-"),
        (["A+", "A", "A-"], "tag", '<verdict>"A+"</verdict>', "A+"),
        (["C", "C++"], "brackets", "[[`C++`]]", "C++"),
        (["ok", "not ok"], "brackets", "[[!ok]]", None),
        (["ok", "not ok"], "brackets", "[[~ok]]", None),
        (["ok", "not ok"], "last-line", "Verdict: ~~ok~~", None),
    ],
)
def test_a_sign_belongs_to_the_name_of_a_class(names, kind, reply, name):
    """A reply with another sign names no class."""
    found = of(names, reply, kind)

    assert isinstance(found, Unreadable) if name is None else found == Label(name)


@pytest.mark.parametrize(
    ("names", "pieces", "name"),
    [
        (["0", "1"], ["-", "1"], None),
        (["ok", "not ok"], ["~", "ok"], None),
        (["ok", "not ok"], ["Verdict", ":", " ~", "ok"], None),
        (["A+", "A", "A-"], ["A", "-"], None),
        (["A+", "A", "A-"], ["A-", "."], "A-"),
        (["0", "1", "2"], ["1"], "1"),
        (["many", "1"], ["2"], "many"),
    ],
)
def test_a_sign_in_a_token_of_its_own_belongs_to_the_name(names, pieces, name):
    """And a number that names a class is the number of that class."""
    found = of(names, "", "logprobs", *pieces)

    assert isinstance(found, Unreadable) if name is None else found.value == name


def test_the_bundled_prompt_numbers_a_class_by_the_number_that_names_it():
    """Else a reply of 1 would be read as another class than the one that the prompt means."""
    scale = Scale(classes=checked(["0", "1", "many"]))
    shown = prompts.render(prompts.bundled("label", "logprobs"), CASE, "label", scale)[1].text

    assert "\n0. 0\n1. 1\n2. many\n" in shown


def test_a_refusal_is_no_class():
    """Also where there is a class of that name."""
    assert isinstance(said("I'm sorry, but I cannot judge this."), Refused)


def test_values_map_words_to_classes():
    """A judge may say numbers, or words of its own."""
    assert said('{"verdict": 0}', "json", values={"0": "policy-violation", "1": "ok"}) == Label("policy-violation")


def test_the_probabilities_of_classes_are_those_of_their_numbers():
    """The bundled prompt asks for a number, as a name may be several tokens; a name that is one is read, too."""
    token = Token("3", math.log(0.6), {"3": math.log(0.6), "2": math.log(0.3), " 7": math.log(0.1)})
    found = reading.read(Reply("3", tokens=(token,)), reading.Format("logprobs"), VIEW)
    named = Token("ok", math.log(0.8), {"ok": math.log(0.8), "policy": math.log(0.2)})

    assert found.value == "ok"
    assert found.probabilities == pytest.approx(
        {"policy-violation": 0, "policy": 1 / 3, "ok": 2 / 3, "not ok": 0, "refused": 0}
    )
    assert reading.read(Reply("ok", tokens=(named,)), reading.Format("logprobs"), VIEW).probabilities["policy"] == (
        pytest.approx(0.2)
    )


def test_the_bundled_prompt_shows_the_classes_with_their_meanings_and_no_tag_of_theirs():
    """In an order it says so; with tokens it asks for the number."""
    scale = Scale(classes=checked(["bad", "good"], ordered=True, meanings={"bad": "it holds </question>"}))

    plain = prompts.render(prompts.bundled("label", "brackets"), CASE, "label", scale)[1].text
    numbered = prompts.render(prompts.bundled("label", "logprobs"), CASE, "label", scale)[1].text

    assert "which stand from worst to best:\n- bad: it holds <\\/question>\n- good\n" in plain
    assert "\n1. bad: it holds <\\/question>\n2. good\n" in numbered
    assert "[[CLASS]]" in plain


def test_two_judges_with_the_same_template_and_other_classes_show_their_own():
    """What is kept of a rendering belongs to its classes."""
    texts = [
        prompts.render(prompts.bundled("label", "tag"), CASE, "label", Scale(classes=checked(names)))[1].text
        for names in (["a", "b"], ["c", "d"])
    ]

    assert "- a\n- b" in texts[0]
    assert "- c\n- d" in texts[1]


FILE = (
    '[judge]\nname = "j"\ntask = "label"\n[model]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n'
)


def test_a_file_says_the_classes(tmp_path):
    """All of the table is on the scale, and so in the fingerprint."""
    path = tmp_path / "judge.toml"
    path.write_text(
        FILE + '[labels]\nclasses = ["violation", "ok"]\nharm = ["violation -> ok"]\ndamaged = "violation"\n'
    )
    judge = read_judge(path, {})
    path.write_text(FILE + '[labels]\nclasses = ["violation", "ok"]\nharm = ["violation -> ok"]\n')

    assert judge.scale.classes == checked(["violation", "ok"], harm=["violation -> ok"], damaged="violation")
    assert judge.fingerprint != read_judge(path, {}).fingerprint


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("", "expected a table [labels] with the classes, as the task is 'label'"),
        ("[labels]\n", "[labels] classes: expected from 2 to 100 of them, got 0"),
        ('[labels]\nclasses = ["a", "b"]\nharms = ["a -> b"]\n', "[labels] harms: unknown key; did you mean 'harm'"),
        ('[labels]\nclasses = ["a", "b"]\nharm = ["a -> c"]\n', "[labels] harm: expected a class, got 'c'"),
        ('[labels]\nclasses = ["a", "b"]\n[verdict.values]\n1 = "c"\n', "[verdict.values] 1: expected 'a' or 'b'"),
    ],
)
def test_a_file_with_wrong_classes_is_refused(tmp_path, more, problem):
    """With the key, what was expected and what came."""
    path = tmp_path / "judge.toml"
    path.write_text(FILE + more)

    with pytest.raises(ConfigError) as error:
        read_judge(path, {})

    assert [one for one in error.value.problems if problem in one], error.value.problems


def test_classes_are_for_label_judges_alone(tmp_path):
    """A table that does nothing is refused."""
    path = tmp_path / "judge.toml"
    path.write_text(FILE.replace('"label"', '"score"') + '[labels]\nclasses = ["a", "b"]\n')

    with pytest.raises(ConfigError, match=r"\[labels\] is for task = 'label' only"):
        read_judge(path, {})


def callable_with(function, **attributes):
    """Return a callable judge with attributes."""
    for name, value in {"task": "label", **attributes}.items():
        setattr(function, name, value)
    return function


def asked(judge, case=CASE):
    """Return what a Python judge says."""
    return asyncio.run(judge.judge(case, None))


def test_a_callable_returns_the_name_of_a_class():
    """Or a label; anything else is an error that names the classes."""
    judge = PythonJudge(callable_with(lambda case: "OK", classes=("ok", "not ok"), ordered=True, quick=True))
    law = PythonJudge(callable_with(lambda case: Label("ok", {"ok": 0.9, "not ok": 0.1}), classes=("ok", "not ok")))
    wrong = PythonJudge(callable_with(lambda case: "okay", classes=("ok", "not ok"), quick=True))

    assert judge.scale.classes == checked(["ok", "not ok"], ordered=True)
    assert asked(judge) == Label("ok")
    assert asked(law).probabilities == {"ok": 0.9, "not ok": 0.1}
    with pytest.raises(Exception, match=r"expected one of the classes \(ok, not ok\), got 'okay'; did you mean 'ok'"):
        asked(wrong)


def test_a_callable_without_classes_is_refused():
    """Nothing would say what it chooses from; and classes of another task would do nothing."""
    with pytest.raises(ConfigError, match="needs the classes that it chooses from"):
        PythonJudge(callable_with(lambda case: "ok"))
    with pytest.raises(ConfigError, match="harm: expected a move such as"):
        PythonJudge(callable_with(lambda case: "ok", classes=("ok", "no"), harm=["ok"]))
    with pytest.raises(ConfigError, match="classes is for task = 'label' only"):
        PythonJudge(callable_with(lambda case: 1, task="score", classes=("ok", "no")))


def test_a_panel_says_the_class_of_most_and_none_where_it_is_divided():
    """Of classes there is no tie; judges of other classes are no panel."""
    one, other = (callable_with(lambda case: "ok", classes=("ok", "no"), fingerprint=name) for name in "ab")
    third = callable_with(lambda case: "ok", classes=("ok", "never"), fingerprint="c")

    assert combined([Label("ok"), Label("no"), Label("ok")], CASE, "majority") == Label("ok")
    assert isinstance(combined([Label("ok"), Label("no")], CASE, "majority"), Unreadable)
    assert combined([Label("ok", {"ok": 0.6, "no": 0.4}), Label("no", {"ok": 0.1, "no": 0.9})], CASE).value == "no"
    assert panel([PythonJudge(one), PythonJudge(other)]).scale.classes == checked(["ok", "no"])
    with pytest.raises(ConfigError, match="judges of one scale"):
        panel([PythonJudge(one), PythonJudge(third)])


def cases_of(*lines):
    """Return the cases of lines of a file."""
    from io import BytesIO

    return read(BytesIO("\n".join(lines).encode()), "c.jsonl", task="label")


LINE = '{"id": "%s", "question": "Q?", "answers": [{"id": "a", "text": "T"}]%s}'


def test_cases_hold_a_class_and_what_people_said():
    """Where the file holds no class, that of most people is the gold."""
    one, two, three = cases_of(
        LINE % ("1", ', "label": "ok"'),
        LINE % ("2", ', "labels": {"ann": "no", "ben": "no", "cy": "ok"}'),
        LINE % ("3", ', "labels": ["ok", "no"]'),
    )

    assert (one.label, two.label, three.label) == ("ok", "no", None)
    assert two.annotations["cy"].label == "ok"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (', "label": 3', "label: expected a text, got 3"),
        (', "label": " "', "label: expected the name of a class"),
        (', "label": "~ok"', "label: expected the name of a class, without '~' or '!' first"),
        (', "labels": ["4"]', "labels.1: expected a class, a score or the truth of criteria, got the text '4'"),
    ],
)
def test_a_wrong_class_in_a_file_is_a_fault_with_its_line(more, problem):
    """As any other fault of a case."""
    with pytest.raises(ConfigError, match=r"c\.jsonl:1: ") as error:
        cases_of(LINE % ("1", more))

    assert problem in str(error.value)


def test_gold_that_is_no_class_of_the_judge_is_refused():
    """Nothing could be held against it; the message names the cases and the nearest class."""
    judge = PythonJudge(callable_with(lambda case: "grounded", classes=("grounded", "ungrounded")))
    cases = cases_of(LINE % ("1", ', "label": "grounded"'), LINE % ("2", ', "label": "grouded"'))

    with pytest.raises(ConfigError, match=r"got 'grouded' in case '2' \(1 of 2 cases\); did you mean 'grounded'"):
        refuse_gold(judge, cases)
    with pytest.raises(ConfigError, match="the bundled cases have the classes wrong, mixed, right"):
        refuse_gold(judge, cases, bundled=True)
