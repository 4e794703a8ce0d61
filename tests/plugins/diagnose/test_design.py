"""
`calm design`: what is planted is what the next call is spent on, by asking and from saved runs.

The seeds are fixed. How often it is right over 20 of them is in the slow lane.
"""

import json
from collections import Counter
from dataclasses import replace

import pytest

from calm.commands.cli import main
from calm.core.verdict import Refused
from calm.errors import ConfigError
from calm.judges.python import PythonJudge
from calm.plugins.diagnose.design import REPEAT, sentences, spread, to_json
from calm.plugins.diagnose.sources import figure_of, recorded
from calm.results.reports.pages import render
from calm.statistics.components import CASE, JUDGE, ORDER, WORDING
from tests.lanes import slow
from tests.plugins.diagnose.varying import PAIRS, SCORES, answers_of, designed_of, of_pairs, of_scores
from tests.reports.planted_audit import finding, sample, trial
from tests.servers import wire_server
from tests.suites.gate import run_gate

PLANTED = {
    WORDING: {"case": 0.1, "wording": 0.1, "repeat": 0.08},
    REPEAT: {"case": 0.1, "repeat": 0.15},
}


@pytest.mark.parametrize("seeds", [range(1), slow(range(20))])
@pytest.mark.parametrize("source", [WORDING, REPEAT, ORDER])
def test_the_next_call_goes_where_the_variance_was_planted(source, seeds, capsys):
    """And what was planted lies within its bounds, which hold with 90 %: in at least 12 of 20 seeds each."""
    said, hits = Counter(), Counter()
    for seed in seeds:
        if source == ORDER:
            found = designed_of(of_pairs(noise=0.1, first=0.3, seed=seed), cases=PAIRS[:40], seed=seed)
        else:
            found = designed_of(of_scores(seed=seed, **PLANTED[source]), cases=SCORES[:40], seed=seed)
            for name in (CASE, WORDING, REPEAT):
                size = spread(found.found, () if name == REPEAT else (name,))
                hits[name] += size.low <= PLANTED[source].get(name, 0.0) <= size.high
        said[found.advice[0].sources] += 1

    if len(seeds) > 1:
        with capsys.disabled():
            print(f"\n{source}: {dict(said)}; within the bounds: {dict(hits)} of {len(seeds)}")
    assert said[(source,)] >= 0.8 * len(seeds)
    assert source == ORDER or min(hits.values()) >= 0.6 * len(seeds)


def test_a_wording_is_worth_more_than_repeats_and_a_few_dealt_out_more_than_one():
    found = designed_of(of_scores(seed=1, **PLANTED[WORDING]), cases=SCORES[:30], over=100)
    by = {
        (row.asks.each, row.asks.wordings, row.asks.repeats, bool(row.asks.dealt)): row.these
        for row in found.rows
        if row.these
    }

    assert by[2, 2, 1, False].value < by[4, 1, 4, False].value < by[1, 1, 1, False].value
    assert by[1, 1, 1, True].value < 0.6 * by[1, 1, 1, False].value
    assert found.advice[0].beats is None
    assert "any number of repeats" in sentences(to_json(found))[0]
    assert [row.asks.calls for row in found.rows] == sorted(row.asks.calls for row in found.rows)


def test_several_judges_are_a_source_and_a_panel_is_its_members(tmp_path, monkeypatch):
    """Three judges that differ by a fifth of the scale: another judge narrows the mean over the three most."""
    judges = [of_scores(case=0.1, repeat=0.05, judge=0.2, seed=seed) for seed in (1, 2, 3)]
    found = designed_of(*judges, cases=SCORES[:20], wordings=0)

    assert found.found.levels == {"case": 20, "judge": 3}
    assert found.advice[0].sources == (JUDGE,)
    all_three = min(row.these.value for row in found.rows if row.asks.judges == 3)
    assert all_three < 0.02 < spread(found.found, (JUDGE,)).value

    for name, noise in (("varying_much", 0.3), ("varying_little", 0.05)):
        (tmp_path / f"{name}.py").write_text(
            f"from tests.plugins.diagnose.varying import of_pairs\njudge = of_pairs(noise={noise}).function\n"
        )
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            [
                "design",
                "panel:varying_much:judge+varying_little:judge",
                "--sample=6",
                "--wordings=0",
                "-o",
                "found.json",
            ]
        )
        == 0
    )
    assert len(json.loads((tmp_path / "found.json").read_text())["judges"]) == 2


def test_repeats_of_a_judge_that_repeats_itself_are_worth_nothing():
    found = designed_of(of_scores(case=0.1, repeat=0.2, seed=2, frozen=True), cases=SCORES[:30])
    body = to_json(found)
    repeats = {row.asks.repeats: row.these.value for row in found.rows if row.these and row.asks.wordings == 1}

    assert body["repeats_itself"]
    assert found.found.values[()] == pytest.approx(0.0, abs=1e-12)
    assert repeats[4] == pytest.approx(repeats[1])
    assert found.advice[0].sources == (WORDING,)


def test_nothing_is_advised_where_nothing_differs_or_nothing_was_asked_twice():
    sound = designed_of(PythonJudge(_sound, "tests:sound"), cases=PAIRS[:10])
    once = designed_of(of_scores(repeat=0.1), cases=SCORES[:10], wordings=0, repeats=1)

    assert [advice.sources for advice in (*sound.advice, *once.advice)] == [()] * 4
    assert sound.advice[0].after == 0.0
    assert [advice.after for advice in once.advice] == [None, None]
    assert all("not known" in said for said in sentences(to_json(once)))


def test_cases_without_a_difference_prove_no_small_one():
    """Of ten cases: in one of four the judge may differ, and all ten agree in one of 20 such samples."""
    limits = {"wording": 0.05, "order": 0.05, "repeat": 0.05}
    found = designed_of(PythonJudge(_sound, "tests:sound"), cases=PAIRS[:10], limits=limits)

    assert [outcome.value for *_, outcome in found.claims] == ["UNDECIDED"] * 3


def _sound(case):
    good = {one.question: one[one.better].text for one in PAIRS}[case.question]
    return next(answer.id for answer in case.shown if good in answer.text)


_sound.task, _sound.quick = "pairwise", True


def test_a_cap_that_leaves_too_few_cases_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["design", "planted:noise=0.3", "--max-calls=50"]) == 4

    said = capsys.readouterr().err
    assert "a cap was reached" in said
    assert "50 calls" in said


def test_verdicts_that_cannot_be_read_are_left_out_and_counted():
    """A third of the cases is refused in one wording: these cells are missing, and no zeros."""
    refused = {case.question for case in PAIRS[:10]}

    def judge(case):
        plain = all(
            answer.text in {a.text for a in one.answers}
            for one in PAIRS
            if one.question == case.question
            for answer in case.shown
        )
        return Refused("no") if plain and case.question in refused else _sound(case)

    judge.task, judge.quick = "pairwise", True
    answers = answers_of([PythonJudge(judge, "tests:refuses")], PAIRS[:30])

    assert answers.unread == 10 * 2 * 2
    assert len(answers.said) == answers.asked - answers.unread
    assert {one.value for one in answers.said} == {1.0}


def test_the_order_is_that_of_the_answer_whose_favour_is_measured():
    """A judge that takes the first slot: the favour of the better answer is 1 where it stands first, in each case."""

    def first(case):
        return case.shown[0].id

    first.task, first.quick = "pairwise", True
    answers = answers_of([PythonJudge(first, "tests:first")], PAIRS[:10])

    assert {(one.levels[2], one.value) for one in answers.said} == {("first", 1.0), ("last", 0.0)}
    assert figure_of("pairwise", [True]) != figure_of("pairwise", [False]) != figure_of("pairwise", [True, False])


JUDGE_FILE = """
[judge]
name = "tiny"
task = "pairwise"
[model]
provider = "openai"
model = "tiny"
api_key_env = "TINY_KEY"
base_url = "{url}"
"""


def test_other_wordings_of_a_prompt_are_asked_in_both_orders(tmp_path, monkeypatch, capsys):
    """A model that is wrong on six of twelve cases if it is asked in other words than its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TINY_KEY", "k")
    hard = {case.question for case in PAIRS[:12:2]}

    def respond(messages, body):
        text = "\n".join(said for _, said in messages)
        case = next(case for case in PAIRS[:12] if case.question in text)
        good = text.index(case[case.better].text.strip()[:60])
        bad = text.index(next(a.text for a in case.answers if a.id != case.better).strip()[:60])
        wrong = case.question in hard and "You are a" in text.split("judge")[0]
        return "[[A]]" if (good < bad) != wrong else "[[B]]"

    from calm.cases.lines import line

    (tmp_path / "cases.jsonl").write_text("".join(f"{line(case)}\n" for case in PAIRS[:12]))
    with wire_server(respond, api_key="k") as server:
        named = JUDGE_FILE.format(url=server.url).replace("task =", 'cases = "cases.jsonl"\ntask =')
        (tmp_path / "judge.toml").write_text(named)
        assert main(["design", "judge.toml", "--plan"]) == 0
        assert "at most 193 calls" in capsys.readouterr().out
        assert not server.judged
        assert main(["design", "judge.toml", "--cases=cases.jsonl", "-o", "found.json"]) == 0
        told = capsys.readouterr()
        asked = len(server.judged)
    body = json.loads((tmp_path / "found.json").read_text())

    assert asked == 192
    assert body["levels"] == {"case": 12, "wording": 4, "order": 2}
    assert "another wording" in told.out.splitlines()[0]
    assert "at most 193 calls" in told.err
    assert max(map(len, told.out.splitlines())) <= 80


@pytest.mark.parametrize("runs", [("one",), slow(("one", "two"))], ids=len)
def test_a_saved_run_is_read_without_a_call_and_two_are_two_judges(runs, tmp_path, monkeypatch, capsys):
    """Clean asks are repeats, the swap is the other order, neutral words are wordings."""
    monkeypatch.chdir(tmp_path)
    suites = ("--pyargs", "calm.suites.test_consistency", "calm.suites.test_position")
    for name in runs:
        run_gate(f"planted:noise={0.4 if name == 'one' else 0.05}", tmp_path, "--calm-sample=30", what=suites)
        (tmp_path / "results.json").rename(f"{name}.json")

    (tmp_path / "one.json").rename(tmp_path / "results.json")
    assert main(["design", ".", *(f"{name}.json" for name in runs[1:]), "-o", "found.json"]) == 0
    assert "no call was made" in capsys.readouterr().out
    body = json.loads((tmp_path / "found.json").read_text())

    several = {"judge": 2} if len(runs) > 1 else {}
    assert body["levels"] == {"case": 30, "wording": 2, "order": 2, **several}
    assert body["repeated"]
    assert body["judges"] == ["planted", "planted (2)"][: len(runs)]
    assert [["judge"]] * len(several) == [row["sources"] for row in body["sources"] if row["sources"] == ["judge"]]
    assert all(row["told_from_0"] for row in body["sources"] if row["sources"] == ["judge"])


def test_each_arm_of_a_record_is_what_it_was_asked_as():
    """The longest clean arm, the swap, other prompts and neutral words count; an edit that says something does not."""
    order = {"order": ("good", "bad")}

    def rows(**changes):
        return tuple(replace(trial(f"c{n}", ()), better="good", **changes) for n in range(5))

    said = {"clean": ("good", "bad"), "perturbed": ("good",), "inert": ("bad",), "floor": "each-text-5"}
    swapped = {**said, **order, "edit": "swap", "slots": (("bad", "good"),)}
    plain = {"bias": "consistency", "expects": None}
    findings = [
        finding(**plain, trials=rows(clean=("good",) * 3, **order)),
        finding(**plain, trials=rows(clean=("bad",), **order)),
        finding(bias="position", perturbation="swap", expects="SAME", trials=rows(**swapped)),
        finding(bias="judge-prompt", expects="SAME", trials=rows(edit="rephrase", perturbed=("tie",))),
        finding(bias="authority", trials=rows(edit="cite_book", perturbed=("bad",), inert=("bad",), floor="text-5")),
    ]
    judge = replace(sample().judge, scale={"low": 1, "high": 10})

    def read(*kept):
        return recorded([replace(sample(), judge=judge, findings=kept)])

    found = read(*findings)

    assert Counter((one.value, *one.levels[1:3]) for one in found.said) == {
        (1.0, "as it is", "first"): 15,
        (1.0, "as it is", "last"): 5,
        (0.5, "rephrase", "first"): 5,
        (0.0, "neutral words, each-text-5", "first"): 5,
    }
    assert read(*findings[:2]).asked == 15
    with pytest.raises(ConfigError, match="no case that was asked as it is"):
        read(*findings[2:])


def test_a_claim_decides_the_exit_status(tmp_path, monkeypatch, capsys):
    """Noise 0.3 has a standard deviation of .46: below .6 is proven, below .2 disproven, and a pair has no judges."""
    monkeypatch.chdir(tmp_path)
    run = ["design", "planted:noise=0.3", "--sample=8"]
    outcomes = {}
    for limit in ("repeat=0.6", "repeat=0.2", "judge=0.1"):
        status = main([*run, f"--limit={limit}", "--json"])
        outcomes[limit] = status, json.loads(capsys.readouterr().out)["claims"][0]["outcome"]

    assert outcomes == {"repeat=0.6": (0, "PASS"), "repeat=0.2": (1, "FAIL"), "judge=0.1": (1, "NOT_TESTED")}


def test_a_cap_leaves_it_incomplete(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["design", "planted:noise=0.3", "--max-calls=200"]) == 1
    assert "INCOMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--repeats=0"], "--repeats: expected a number from 1 to 8"),
        (["--wordings=99"], "--wordings: expected a number from 0 to 12"),
        (["--most=0"], "--most: expected a number from 1 to 8"),
        (["--over=0"], "--over: expected a number of cases above 0"),
        (["--sample=4"], "at least 5 cases, got 4"),
        (["--limit=words=1"], "--limit: expected one of wording"),
        (["--limit=wording=nan"], "--limit: expected one of wording"),
        (["--limit=order=0.1", "--limit=order=0.2"], "got 'order=0.2'"),
        (["other.json"], "either judges to ask or results"),
        (["planted:task=score"], "expected judges of one known task"),
        (["planted:noise=0.3"], "expected each judge once"),
        (["planted:noise=0.3,task=score"], "expected judges of one known task"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, monkeypatch, capsys, given, told):
    monkeypatch.chdir(tmp_path)
    assert main(["design", "planted:noise=0.3", *given]) == 4
    assert told in " ".join(capsys.readouterr().err.split())


def test_records_that_do_not_serve_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.json").write_text('{"schema": "x"}')
    for given in (["other.json"], ["nowhere.json"], ["other.json", "--plan"], ["other.json", "other.json"]):
        assert main(["design", *given]) == 4
    assert "each run once" in capsys.readouterr().err


def test_the_page_holds_what_the_record_says():
    """And a record that somebody else wrote is text: nothing of it is taken for markup, nothing missing breaks it."""
    body = json.loads(json.dumps(to_json(designed_of(of_scores(case=0.1, wording=0.1), cases=SCORES[:20]))))
    page = render(body, "the record")
    hostile = {
        "schema": "calm-design/1",
        "judges": ["<b>j"],
        "figure": "<i>x",
        "advice": [{"for": "<u>", "sources": [3]}],
    }

    assert "another wording" in page
    assert all(str(row["calls"]) in page for row in body["designs"])
    for broken in (hostile, {"schema": "calm-design/1"}, {**body, "designs": [{"calls": "x"}, 3], "sources": [None]}):
        assert "<b>j" not in render(broken, "the record")
        assert "<i>x" not in render(broken, "the record")
