"""AutoCalibrate: criteria from labelled cases, chosen by how well verdicts by them agree with the labels."""

import re
from dataclasses import replace

import pytest

from calm.cases.lines import line
from calm.core.case import Answer, Case, Criterion
from calm.core.verdict import Criteria, Preferred, Scale, Score
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.gate.prices import Assumptions, Tally
from calm.gate.requests import RequestFinder
from calm.plugins.mitigate.autocalibrate import correlation
from calm.plugins.mitigate.mitigation import NotApplicable
from calm.plugins.mitigate.mitigations import mitigated
from tests.judges.judging import judge_at, system, user
from tests.servers import wire_server

STEPS = Scale(1, 10, 1.0)
SCORED = [Case(f"s{n}", f"Question {n}?", (Answer("a", "w " * n),), scores={"a": float(n)}) for n in range(1, 10)]
NEW = [Case(name, f"Say {name}.", (Answer("a", "w " * 3),)) for name in ("one", "two")]
PAIRS = [
    Case(f"p{n}", f"Question {n}?", (Answer("x", f"good {n}"), Answer("y", f"bad {n}")), better="x") for n in range(8)
]
CRITERIA = (Criterion("k1", "It is short."), Criterion("k2", "It is right."))
RUBRICS = [
    Case(
        f"r{n}",
        f"Question {n}?",
        (Answer("a", word),),
        criteria=CRITERIA,
        met={"a": {"k1": True, "k2": word == "good"}},
    )
    for n, word in enumerate(["good", "bad"] * 4)
]


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    """Return what writes labelled cases into the present folder."""
    monkeypatch.chdir(tmp_path)

    def write(cases):
        (tmp_path / "labelled.jsonl").write_text("".join(f"{line(case)}\n" for case in cases), "utf-8")
        return "autocalibrate:labelled.jsonl"

    return write


def model(judged, drafts=("shortness", "roughness", "nothing"), refined=("length", "depth")):
    """Return a model: its drafts go by how many cases it is shown, its refinements come in turn."""
    turns = iter(refined)

    def respond(messages, _):
        told, text = system(messages), user(messages)
        if "Write down the criteria" in told:
            return drafts[(4, 6, 8).index(text.count("The experts' judgment"))]
        return next(turns) if "Change the criteria" in told else judged(text)

    return respond


def by_length(text):
    """Score by the criteria: wrong by shortness, near the label by roughness, right by length; without any, 5."""
    answer = re.search(r"<answer[^>]*>\n(.*?)</answer>", text, re.DOTALL)
    n = len(answer[1].split()) if answer else 0  # no answer: a greeting
    values = {"shortness": 10 - n, "roughness": 10 if n > 5 else 1, "length": n}
    return f"[[{next((value for name, value in values.items() if name in text), 5)}]]"


def asked(respond, mitigation, cases, task="score", asks=(1, 2), **settings):
    """Return the verdicts of a calibrated judge by an engine, the prompts that its server got, and the judgments."""
    with wire_server(respond) as wire:
        judge = mitigated(judge_at(wire.url, task, **settings), [mitigation])
        engine = Engine(Store(None, Mode.ON))
        try:
            found = [engine.ask(judge, [(case, ask)])[0] for case in cases for ask in asks]
        finally:
            engine.close()
        prompts = [seen.messages for seen in wire.seen]
    return judge, found, [one for one in prompts if "<question>" in user(one)]  # all but the greeting


def test_the_best_criteria_are_found_refined_and_judged_by(labelled):
    """Without criteria the model says 5; with those that came of a refinement it says how long the answer is."""
    _, found, seen = asked(model(by_length), labelled(SCORED), NEW, scale=STEPS)

    assert [one.verdict for one in found] == [Score(3.0)] * 4
    shown = [user(one) for one in seen if "Say one." in user(one)]
    assert all("length" in text and "Judge by criteria" in text for text in shown)


def test_a_refinement_that_makes_it_worse_is_not_taken(labelled):
    """The best of all drafts and refinements counts, not the last one."""
    _, found, _ = asked(model(by_length, refined=("shortness", "shortness")), labelled(SCORED), NEW[:1], scale=STEPS)

    assert {one.verdict for one in found} == {Score(1.0)}  # by roughness, whose correlation is the highest


def test_calibration_is_paid_once_and_planned_so(labelled):
    """Three drafts and two refinements, each with nine labelled cases: 50 calls once, and one for each ask."""
    judge, found, seen = asked(model(by_length), labelled(SCORED), NEW, scale=STEPS)

    sources = []
    prompts = [prompt for _, prompt in RequestFinder(judge, sources, [], {}).prompts(NEW)]
    planned = Tally(sources, Assumptions()).rendered((prompt, ask) for prompt in prompts for ask in (1, 2))

    assert planned.calls == len(seen) == 50 + 4
    assert [len(one.calls) for one in found] == [1, 1, 1, 1]
    assert [len(set(one.once)) for one in found] == [50, 3, 3, 3]  # the drafts say that the rest is known


def test_pairs_are_calibrated_by_who_should_win(labelled):
    """Labels are balanced over the slots; a draft that is always right needs no refinement."""

    def judged(text):
        first = text.index("good") < text.index("bad")
        return "[[A]]" if ("quality" in text) == first else "[[B]]"

    respond = model(judged, ("worth", "quality", "sound"), ("no", "no"))
    new = Case("new", "Which?", (Answer("x", "good"), Answer("y", "bad")))
    _, found, seen = asked(respond, labelled(PAIRS), [new], "pairwise", asks=(1,))

    assert found[0].verdict == Preferred("x")
    assert sum("Change the criteria" in system(one) for one in seen) == 1
    assert {"A is better", "B is better"} <= set(re.findall(r"judgment: (.*)", user(seen[0])))


def test_criteria_are_calibrated_by_what_is_met(labelled):
    """A lenient model becomes as strict as the labels."""

    def judged(text):
        return "[[NO]]" if "strict" in text and "right" in text and "bad" in text else "[[YES]]"

    respond = model(judged, ("mild", "strict", "soft"), ("mild", "mild"))
    new = Case("new", "Do it.", (Answer("a", "bad"),), criteria=CRITERIA)
    _, found, _ = asked(respond, labelled(RUBRICS), [new], "rubric", asks=(1,))

    assert found[0].verdict == Criteria({"k1": True, "k2": False})


def test_a_labelled_case_is_no_evidence(labelled):
    """The run is told how many of its cases the criteria came from."""
    judge, _, _ = asked(model(by_length), labelled(SCORED), [*SCORED[:2], *NEW], scale=STEPS)

    assert any("2 of the cases are among those of labelled.jsonl" in str(note) for note in judge.remarks.notes)


def test_other_labels_are_another_judge(labelled):
    """The labelled file is a part of the fingerprint."""
    one = mitigated(judge_at(task="score", scale=STEPS), [labelled(SCORED)]).fingerprint
    two = mitigated(judge_at(task="score", scale=STEPS), [labelled(SCORED[1:])]).fingerprint

    assert one != two


def test_the_correlation_is_that_of_mid_ranks():
    """By hand: ranks 2 2 2 5 5 5 beside 1 to 6 give the root of 13.5 / 17.5."""
    pairs = list(zip((1.0, 1, 1, 10, 10, 10), (1.0, 2, 4, 6, 7, 9), strict=True))

    assert correlation(pairs) == pytest.approx((13.5 / 17.5) ** 0.5)
    assert correlation([*pairs, (None, 3.0)]) == pytest.approx((13.5 / 17.5) ** 0.5)
    assert correlation([(1.0, 1.0), (1.0, 2.0)]) == -1.0


def test_what_cannot_be_calibrated_is_told(labelled, subtests):
    """No file, too few labels, labels all alike, or a task that needs none."""
    for cases, task, told in [
        (SCORED[:5], "score", "at least 6 labelled cases, with labels that differ, in labelled.jsonl; got 5 of 5"),
        ([Case(c.id, c.question, c.answers) for c in SCORED], "score", "got 0 of 9"),
        (
            [replace(c, scores={"a": c.scores["a"] * 100}) for c in SCORED],
            "score",
            r"scale from 1 to 10 in labelled.jsonl; got 100 in case 's1' \(9 of 9",
        ),
    ]:
        with subtests.test(told), pytest.raises(ConfigError, match=told):
            mitigated(judge_at(task=task, scale=STEPS), [labelled(cases)])
    with pytest.raises(ConfigError, match="expected a file after 'autocalibrate:'"):
        mitigated(judge_at(task="score"), ["autocalibrate"])
    with pytest.raises(NotApplicable, match="counts the criteria of the case itself"):
        mitigated(judge_at(task="points"), [labelled(RUBRICS)])
