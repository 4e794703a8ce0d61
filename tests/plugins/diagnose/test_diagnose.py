"""
`calm diagnose`: planted judges are named for what was planted, and a sound one for nothing.

How often it errs over many seeds: `tests/power/test_diagnose.py`. The seeds here are fixed.
"""

import json

import pytest

from calm.core.verdict import Criteria, Preferred, Ranking, Refused, Scale, Score, Unreadable, code
from calm.errors import ConfigError
from calm.gate.from_spec import judge_from
from calm.judges.python import PythonJudge
from calm.plugins.diagnose.asking import Design, Paraphrases, dissents, read_paraphrases, wordings_of
from calm.plugins.diagnose.naming import Limits
from calm.plugins.diagnose.report import in_words, to_json
from calm.results.reports.pages import render
from calm.results.tabular import SILENT
from tests.plugins.diagnose.unsure import (
    PAIRS,
    RUBRICS,
    SCORES,
    VAGUE,
    Lots,
    diagnosed,
    names,
    of_pairs,
    of_rubrics,
    of_scores,
)
from tests.servers import wire_server

HARD = 10


@pytest.mark.parametrize(("make", "cases"), [(of_pairs, PAIRS), (of_scores, SCORES)])
def test_ten_unsure_cases_are_named_and_no_other(make, cases):
    found = diagnosed(make(cases[:HARD], seed=1), cases[:40])

    assert names(found, "case") == {case.id for case in cases[:HARD]}
    assert all(one.causes == ("noise",) for one in found.found.named)


def test_unsure_cases_and_a_vague_criterion_are_told_apart():
    """The cases that have the vague criterion are not ambiguous, and the criteria of unsure cases not vague."""
    found = diagnosed(of_rubrics(RUBRICS[:5], vague=[VAGUE], seed=2), RUBRICS[:40])

    assert names(found, "case") == {case.id for case in RUBRICS[:5]}
    assert names(found, "criterion") == {VAGUE}


def test_a_criterion_that_turns_on_its_wording_is_named_for_it():
    found = diagnosed(of_rubrics(worded=[VAGUE], seed=3), RUBRICS[:30])

    assert names(found, "criterion") == {VAGUE}
    assert found.found.named[0].causes == ("criterion",)
    assert found.found.named[0].parts["criterion"] > 0.2
    assert not names(found, "case")


@pytest.mark.parametrize(("make", "cases"), [(of_pairs, PAIRS), (of_scores, SCORES), (of_rubrics, RUBRICS)])
def test_nothing_of_a_sound_judge_is_named(make, cases):
    found = diagnosed(make(noise=0.05, seed=4), cases[:30])

    assert not found.found.named
    noise = found.parts[0].estimate
    assert noise.low <= 2 * 0.05 * 0.95 <= noise.high or make is of_scores


def test_verdicts_that_cannot_be_read_are_counted_and_give_no_figure():
    """Of a judge that is never read nothing is known, and no 0; two asks without a verdict do not agree."""
    lots, silent = Lots(5), {case.question for case in PAIRS[:20]}

    def mute(case):
        return Refused("no")

    def half(case):
        return Refused("no") if case.question in silent else case.slots[lots.errs(0.3, case.question)]

    mute.quick = half.quick = True
    none, some = (diagnosed(PythonJudge(one, "tests:silent"), PAIRS[:40]) for one in (mute, half))

    counted = to_json(none)["unread"]["base"]
    assert counted["count"] == counted["of"] == none.asked.asked
    assert {part.estimate for part in none.parts} == {None}
    assert SILENT in in_words(none)
    refused = [len(unit.verdicts) for unit in some.asked.units if "!refused" in map(code, unit.verdicts)]
    assert (len(refused), some.unread["base"].count) == (20, sum(refused))
    assert some.parts[0].estimate.n == 20


def test_a_written_paraphrase_goes_before_the_frames():
    """A judge that calls a criterion unmet in other words is found by the one that a person wrote, too."""
    own = Paraphrases(criteria={VAGUE: (f"Count the bullets. {VAGUE}",)})
    judge = of_rubrics(worded=[VAGUE])
    made = wordings_of(judge, RUBRICS, own, prompts=0, criteria=2, seed=0)
    case = next(case for case in RUBRICS if any(one.text == VAGUE for one in case.criteria))
    place = [one.text for one in case.criteria].index(VAGUE)

    assert [one.shown(case).criteria[place].text for one in made] == [
        VAGUE,
        f"Count the bullets. {VAGUE}",
        f"Find out whether this is so: {VAGUE}",
    ]
    with pytest.raises(ConfigError, match="no case has the criterion 'x'"):
        wordings_of(judge, RUBRICS, Paraphrases(criteria={"x": ("y",)}), prompts=0, criteria=1, seed=0)
    with pytest.raises(ConfigError, match="no prompt that calm can reword"):
        wordings_of(judge, RUBRICS, Paraphrases(prompt=({"x": "y"},)), prompts=1, criteria=1, seed=0)


JUDGE = """
[judge]
name = "tiny"
task = "pairwise"
[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
"""


def prompted(folder, url):
    (folder / "judge.toml").write_text(JUDGE.format(url=url))
    return judge_from(str(folder / "judge.toml"), {"OPENAI_API_KEY": "k"})


def test_a_verdict_that_turns_on_the_prompt_is_named_for_it(tmp_path):
    """A model that changes its mind on three cases if it is made an examiner, editor or teacher, and errs a little."""
    hard = [case.question for case in PAIRS[:3]]
    asked = {}

    def respond(messages, body):
        text = "\n".join(said for _, said in messages)
        case = next(case for case in PAIRS[:20] if case.question in text)
        good = text.index(case[case.better].text.strip()[:60])
        bad = text.index(next(a.text for a in case.answers if a.id != case.better).strip()[:60])
        asked[text] = asked.get(text, 0) + 1
        wrong = case.question in hard and "You are a" in text.split("judge")[0]
        if asked[text] == 2 and case is PAIRS[5]:  # a little noise, so that the judge does not seem to repeat itself
            wrong = True
        return "[[A]]" if (good < bad) != wrong else "[[B]]"

    with wire_server(respond) as server:
        found = diagnosed(prompted(tmp_path, server.url), PAIRS[:20])

    assert names(found, "case") == {case.id for case in PAIRS[:3]}
    assert {one.causes for one in found.found.named} == {("prompt",)}
    assert found.parts[1].estimate.value > 0.02


def test_a_judge_that_repeats_itself_is_not_asked_again_and_needs_other_wordings(tmp_path):
    """Each prompt has one reply for ever: four wordings are four asks, however often they are repeated."""

    def respond(messages, body):
        text = "\n".join(said for _, said in messages)
        return "[[A]]" if sum(text.encode()) % 3 else "[[B]]"

    with wire_server(respond) as server:
        found = diagnosed(prompted(tmp_path, server.url), PAIRS[:15])
        asks = len(server.seen)

    assert found.asked.frozen
    assert not found.found.named
    assert asks <= 15 * 4 * 2 + 1
    assert "--wordings" in in_words(found)


def test_a_passage_that_the_prompt_does_not_hold_is_refused(tmp_path):
    with wire_server(lambda messages, body: "[[A]]") as server:
        judge = prompted(tmp_path, server.url)
    with pytest.raises(ConfigError, match="holds no such passage: 'nowhere'"):
        wordings_of(judge, PAIRS, Paraphrases(prompt=({"nowhere": "x"},)), prompts=1, criteria=0, seed=0)
    own = Paraphrases(prompt=({"Compare two answers": "Hold two answers against each other"},))
    made = wordings_of(judge, PAIRS, own, prompts=2, criteria=0, seed=0)
    assert [one.name for one in made] == ["as it is", "paraphrase 1", "rephrase"]


def test_the_usual_verdict_is_the_most_frequent_or_the_fullest_window():
    scale = Scale(1, 10)
    scores = [Score(v) for v in (7.0, 8.0, 7.5, 2.0)]

    assert dissents(scores, scale, 0.1) == (False, False, False, True)
    assert dissents([*scores, Unreadable("")], scale, 0.1)[-1]
    assert dissents([Preferred("a"), Preferred("b"), Preferred("a")], scale, 0.1) == (False, True, False)
    assert dissents([Ranking((("a",), ("b",)))] * 2, scale, 0.1) == (False, False)
    assert dissents([Criteria({"c": True}), Criteria({"c": None})], scale, 0) == (False, True)
    assert dissents([], scale, 0.1) == ()


def test_asks_are_shared_among_the_wordings():
    assert Design.over(1, 32) == Design(8, 32)
    assert Design.over(4, 32) == Design(2, 8)
    assert Design.over(6, 32) == Design(2, 6)
    assert Design.over(4, 2) == Design(2, 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "expected a file of paraphrases"),
        ("[]", "expected an object"),
        ("{}", "no paraphrase"),
        ('{"criterions": {}}', "unknown field 'criterions'"),
        ('{"criteria": {"a": "b"}}', "criteria: expected"),
        ('{"prompt": {"a": "b"}}', "prompt: expected"),
        ('{"prompt": [{"a": " "}]}', "prompt: expected"),
    ],
)
def test_a_file_that_holds_no_paraphrases_says_why(tmp_path, text, told):
    file = tmp_path / "own.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_paraphrases(file)
    with pytest.raises(ConfigError, match="there is no such file"):
        read_paraphrases(tmp_path / "none.json")


def test_the_record_holds_what_is_shown():
    found = diagnosed(of_pairs(PAIRS[:2], seed=6), PAIRS[:20], limits=Limits(wrong=0.05))
    body = json.loads(json.dumps(to_json(found), allow_nan=False))
    text = in_words(found)

    assert {one["name"] for one in body["named"]} == {case.id for case in PAIRS[:2]}
    for one in body["named"]:
        assert f"case {one['name']}: the same words get different verdicts" in text
        assert one["low"] <= one["rate"] <= one["high"]
        assert sum(one["counts"][""].values()) == one["asks"] == 32
        assert one["question"]
        assert len(one["answers"]) == 2


def test_a_page_of_too_few_asks_says_so_first():
    """Not that nothing is named: no case could be; the advice stands whole, and what hostile names say is text."""
    note = "a case was asked up to 4 times; about 12 are needed before one case alone can be named " * 3
    body = {
        "schema": "calm-diagnose/1",
        "judge": "<b>judge",
        "cases": {"n": 4, "of": 9},
        "asks_a_case": {"most": 4, "needed": 12},
        "parts": {"noise": None, "<i>new": None},
        "named": [],
        "notes": [note],
    }

    page = render(body, "the record")
    enough = render({**body, "asks_a_case": {"most": 12, "needed": 12}}, "the record")

    assert "Too few asks to name a case" in page
    assert "Nothing is named" not in page
    assert note in page
    assert "Two asks in the same words differ by" in page
    assert "<b>judge" not in page
    assert "<i>new" not in page
    assert "Nothing is named" in enough


def test_a_page_shows_each_name_with_its_texts():
    """Whole, and with the reason in words."""
    one = {
        "what": "case",
        "name": "c1",
        "causes": ["prompt"],
        "dissents": 5,
        "asks": 12,
        "rate": 0.42,
        "low": 0.2,
        "high": 0.7,
        "counts": {"": {"good": 7, "bad": 5}},
        "question": "How " * 100,
        "answers": {"good": "<u>So."},
    }

    page = render({"schema": "calm-diagnose/1", "judge": "j", "named": [one]}, "the record")

    assert "the verdict turns on the wording of the prompt" in page
    assert "good 7, bad 5" in page
    assert "How " * 100 in page
    assert "&lt;u&gt;So." in page
