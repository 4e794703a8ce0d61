"""Published verdicts that ship with calm: counted by hand from the tables, and found the same by the gate."""

import asyncio
import csv
import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from statistics import fmean

import pytest

from calm.cases import read_cases
from calm.commands import cli
from calm.core.measures import MEASURES
from calm.core.verdict import Preferred, Score, Tie, Unreadable
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError, JudgeError
from calm.experiment.pairs import clusters_of
from calm.experiment.run import run
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design
from calm.gate.from_spec import cases_from, judge_from, recall
from calm.judges.panel import panel
from calm.judges.recorded.published import NO_TEXT, PUBLISHED, judges_of, published_cases
from calm.perturbations.position import swap

DATA = Path(__file__).parents[2] / "calm" / "judges" / "data"
SIX = (
    "claude-3-haiku-20240307",
    "claude-3-sonnet-20240229",
    "gpt-3.5-turbo-0125",
    "gpt-3.5-turbo-1106",
    "gpt-4-0125-preview",
    "gpt-4-0613",
)


@dataclass(frozen=True)
class Ask:
    """A send that is not used: it says which ask it is."""

    ask: int = 1


def lines(name):
    """Return the lines of a shipped table, with nothing of calm's own code."""
    with gzip.open(DATA / f"{name}-1.csv.gz", "rt", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def said(judge, case, ask=1):
    """Return the verdict of a judge on a case."""
    return asyncio.run(judge.judge(case, Ask(ask)))


def with_cases(spec):
    """Return a judge and the cases that it brings."""
    judge = judge_from(spec)
    return judge, cases_from([], judge)


def turned(spec):
    """Return a judge and its cases, each of which lists its answers the other way round."""
    judge = judge_from(spec)
    cases = [replace(case, answers=case.answers[::-1]) for case in judge.record.own]
    recall(judge, cases)
    return judge, cases


def result(spec, edit, *names, repeats=3, listed=with_cases):
    """Return the estimates of some measures on all cases of a judge, by their names."""
    judge, cases = listed(spec)
    engine = Engine(Store(None, Mode.OFF))
    try:
        setup = Setup(judge, tuple(cases), engine, design=Design(repeats, repeats))
        found = run(setup, edit, [], observed=[MEASURES[name] for name in names])
    finally:
        engine.close()
    return {ruling.decision.measure: ruling.decision for ruling in found.rulings}


def audit(spec, tmp_path, *suites, options=()):
    """Return the output and the results of some suites on a judge, in a process of its own."""
    out = tmp_path / f"{re.sub('[^a-z0-9]', '-', spec.lower())}.json"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(f"suites/test_{one}.py" for one in suites)]
    given = [f"--calm-judge={spec}", f"--calm-results={out}", "--calm-cache=off", "-v", *options]
    ran = subprocess.run([*command, *given], capture_output=True, text=True, check=False)
    return ran.stdout, json.loads(out.read_text("utf-8"))


# --------------------------------------------------------------------------------------------------- what is shipped


@pytest.mark.parametrize(
    ("name", "judges", "cases", "clusters"),
    [("position", 6, 168, 33), ("scores", 18, 7052, 1763), ("llmbar", 47, 419, 419), ("pandalm", 2, 999, 999)],
)
def test_every_set_is_there_whole(name, judges, cases, clusters):
    """As many judges, cases and independent questions as the sources hold; ids say that no text is here."""
    found = published_cases(name)

    assert len(judges_of(name)) == judges
    assert len(found) == len({case.id for case in found}) == cases
    assert len(set(clusters_of(found).values())) == clusters
    assert all(NO_TEXT in text for case in found for text in (case.question, *(one.text for one in case.answers)))


def test_the_tables_are_small_and_name_their_source_and_licence():
    """Well below a megabyte together; a page beside each says whose verdicts they are, and what was left out."""
    assert sum((DATA / f"{name}-1.csv.gz").stat().st_size for name in PUBLISHED) < 400_000
    for name in PUBLISHED:
        page = (DATA / f"{name}-1.md").read_text("utf-8")
        assert all(word in page for word in ("Source:", "Licence: facts only", "Left out:", "ids in place of texts"))


def test_a_judge_that_is_not_there_names_those_that_are(subtests):
    """A typo is an error with the nearest name."""
    for spec, message in [
        ("recorded:position", "known: claude-3-haiku"),
        ("recorded:position/gpt-4-0631", "did you mean 'gpt-4-0613'"),
        ("recorded:lmbar/GPT-4/CoT", "did you mean 'llmbar'"),
        ("recorded:scores/gpt-5.4/bas", "did you mean 'gpt-5.4/base'"),
    ]:
        with subtests.test(spec=spec), pytest.raises(ConfigError, match=message):
            judge_from(spec)


# ---------------------------------------------------------------------------------------- the verdicts, mark by mark


@pytest.mark.parametrize("name", SIX)
def test_every_verdict_on_order_is_that_of_the_table(name):
    """168 pairs, two orders, three repeats: 1,008 verdicts of each judge."""
    judge, cases = with_cases(f"recorded:position/{name}")
    by_pair = {(c.tags["benchmark"], c.tags["number"], *(a.id for a in c.answers)): c for c in cases}
    count = 0
    for row in lines("position"):
        case = by_pair[row["benchmark"], row["item"], row["a"], row["b"]]
        for place, mark in enumerate(row[name]):
            order = (row["a"], row["b"]) if place < 3 else (row["b"], row["a"])
            verdict = said(judge, case.present(order=order), place % 3 + 1)
            wanted = {"1": Preferred(order[0]), "2": Preferred(order[1]), "t": Tie()}.get(mark)
            assert verdict == wanted or (wanted is None and isinstance(verdict, Unreadable))
            count += 1
    assert count == 1008


def test_every_score_is_that_of_the_table():
    """Eight scores of each of four answers; a call that failed is no ask."""
    judge, cases = with_cases("recorded:scores/gpt-5.4-nano/base")
    wanted = {"-": None, "A": Score(10.0), **{str(n): Score(float(n)) for n in range(1, 10)}}
    by_answer = {(c.tags["subset"], c.tags["number"], c.tags["answer"]): c for c in cases}
    short = 0
    for row in lines("scores"):
        marks = row["gpt-5.4-nano/base"]
        for number in range(4 if marks else 0):
            case = by_answer.pop((row["subset"], row["item"], str(number)))
            given = [wanted[mark] for mark in marks[8 * number : 8 * number + 8] if wanted[mark]]
            short += len(given) < 8
            assert judge.record.verdicts(case) == given
    with pytest.raises(JudgeError):
        said(judge, cases[0], 9)
    assert not by_answer
    assert short > 0


def test_gold_is_the_label_and_the_majority_of_people():
    """LLMBar has one label a pair; of PandaLM what two of three people say."""
    by_item = {case.tags["number"]: case for case in published_cases("pandalm")}
    for row in lines("pandalm"):
        votes = Counter(row["people"]).most_common(1)[0][0]
        said = [one.better for one in by_item[row["item"]].annotations.values()]
        assert said == [{"1": "response_1", "2": "response_2", "t": "tie"}[mark] for mark in row["people"]]
        assert by_item[row["item"]].better == {"1": "response_1", "2": "response_2", "t": "tie"}[votes]
    labels = {(case.tags["subset"], case.tags["number"]): case.better for case in published_cases("llmbar")}
    assert labels == {(row["subset"], row["item"]): f"output_{row['gold']}" for row in lines("llmbar")}


# -------------------------------------------------------------------------------- figures, by hand and by the product


def apart(marks):
    """Return how often two of some marks differ."""
    return fmean(x != y for x, y in combinations(marks, 2))


@pytest.mark.parametrize("name", SIX)
def test_position_bias_is_what_a_count_of_flips_says(name):
    """Raw flips, these beyond repeats in both orders, the pull of the first slot, agreement of repeats: to 1e-12."""
    pull = {"1": 1, "2": -1, "t": 0, ".": 0}
    flips, nets, pulls, agreeing = [], [], [], []
    for row in lines("position"):
        one, other = row[name][:3], row[name][3:]
        as_listed = [{"1": "2", "2": "1"}.get(mark, mark) for mark in other]
        flips.append(fmean(x != y for x, y in product(one, as_listed)))
        nets.append(flips[-1] - (apart(one) + apart(other)) / 2)
        pulls.append(fmean(pull[mark] for mark in one + other))
        agreeing.append(1 - apart(one))

    raw = result(f"recorded:position/{name}", swap, "robustness_rate")
    net = result(f"recorded:position/{name}", swap, "slot_pull", "net_robustness")
    steady = result(f"recorded:position/{name}", None, "consistency_rate")

    for found, counted in [
        (raw["robustness_rate"], [1 - flip for flip in flips]),
        (net["net_robustness"], [1 - flip for flip in nets]),
        (net["slot_pull"], pulls),
        (steady["consistency_rate"], agreeing),
    ]:
        assert found.estimate.value == pytest.approx(fmean(counted), abs=1e-12)
        assert found.estimate.n == len(counted) == 168


@pytest.mark.parametrize("name", SIX)
def test_position_bias_does_not_hang_on_the_order_in_which_a_case_lists_its_answers(name):
    """The same table, with the two answers of each case listed the other way round: the same values and bounds."""
    names = "slot_pull", "net_robustness", "robustness_rate"
    one, other = (result(f"recorded:position/{name}", swap, *names, listed=listed) for listed in (with_cases, turned))

    for measure in names:
        found, again = one[measure].estimate, other[measure].estimate
        assert (found.value, found.low, found.high) == pytest.approx((again.value, again.low, again.high), abs=1e-12)
        assert found.n == again.n == 168


@pytest.mark.parametrize("spec", ["GPT-4/Vanilla", "ChatGPT-0301/CoT", "Falcon/Vanilla"])
def test_accuracy_and_pull_on_gold_pairs_are_what_a_count_says(spec):
    """419 pairs: the share right in the listed order, and how much more often the first slot wins."""
    right, pull = [], []
    for row in lines("llmbar"):
        one, other = row[spec]
        right.append(one == row["gold"])
        favour = {".": 0.5}
        pull.append(favour.get(one, float(one == "1")) - favour.get(other, float(other == "1")))

    assert result(f"recorded:llmbar/{spec}", None, "accuracy", repeats=1)["accuracy"].estimate.value == pytest.approx(
        fmean(right), abs=1e-12
    )
    found = result(f"recorded:llmbar/{spec}", swap, "gain", "slot_pull", repeats=1)
    assert found["gain"].estimate.value == pytest.approx(fmean(pull), abs=1e-12)
    assert found["slot_pull"].estimate.value == pytest.approx(fmean(pull), abs=1e-12)


# --------------------------------------------------------------------------------------------------- as a user does


def test_the_suites_that_a_set_serves_are_decided_and_the_others_say_why(tmp_path, subtests):
    """Net of repeats where there are repeats; no verdict was recorded of what an edit shows."""
    served = ("position", "consistency", "sensitivity", "authority")
    for spec, tested, untested in [
        ("position/gpt-4-0613", {"net_robustness", "slot_pull", "consistency_rate", "readable_rate"}, {"accuracy"}),
        ("scores/gpt-5.4-mini/base", {"repeat_distance", "readable_rate"}, {"net_detection", "gain"}),
        ("llmbar/GPT-4/Vanilla", {"slot_pull", "accuracy", "readable_rate"}, {"net_robustness", "consistency_rate"}),
        ("pandalm/gpt-3.5", {"accuracy", "readable_rate"}, {"net_robustness", "consistency_rate"}),
    ]:
        with subtests.test(spec=spec):
            _, results = audit(f"recorded:{spec}", tmp_path, *served)
            decided = {f["measure"] for f in results["findings"] if f["outcome"] in ("PASS", "FAIL", "UNDECIDED")}
            left = [f for f in results["findings"] if f["outcome"] == "NOT_TESTED"]
            assert decided == tested
            assert untested <= {f["measure"] for f in left}
            assert all(f["reason"] for f in left)


def test_a_stand_in_that_an_edit_turned_into_another_has_no_verdict():
    """An edit of a number makes `answer 0` to `answer 1`: the verdict on that one is not a verdict on the edit."""
    judge, cases = with_cases("recorded:scores/gpt-5.4/base")
    one, other = cases[:2]

    edited = replace(one, answers=other.answers)

    assert judge.record.held(one) == judge.record.held(other) == 8
    assert judge.record.held(edited) == 0


def test_try_shows_ids_and_says_that_there_are_no_texts(capsys):
    """Plainly, where a text would be shown."""
    assert cli.main(["try", "recorded:position/gpt-4-0613", "--case", "mtbench-82-claude-v1"]) == 0

    assert f"case mtbench-82-claude-v1: mtbench 82 {NO_TEXT}" in capsys.readouterr().out


def test_a_panel_of_published_judges_is_asked_about_the_cases_that_both_have():
    """Two runs that hold other items: what both hold."""
    both = panel([judge_from("recorded:llmbar/GPT-4/Vanilla"), judge_from("recorded:llmbar/GPT-4/CoT")])
    runs = panel([judge_from(f"recorded:scores/gpt-5.4/{run}") for run in ("base", "cal-high")])

    assert len(cases_from([], both)) == 419
    found = cases_from([], runs)
    assert 0 < len(found) < min(len(with_cases(f"recorded:scores/gpt-5.4/{run}")[1]) for run in ("base", "cal-high"))
    assert all(runs.traits.recorded.held(case) for case in found[:50])


def test_two_prompts_of_a_judge_compare_case_by_case(tmp_path, capsys):
    """A prompt that rates each answer by itself, and one that sees both: the pulls, and how much one has moved."""
    for spec in ("recorded:llmbar/ChatGPT/Vanilla_NoRules", "recorded:llmbar/ChatGPT/Rating"):
        audit(spec, tmp_path, "position", options=["--calm-stopping=fixed", "--calm-sample=419"])
    old, new = sorted(tmp_path.glob("*.json"), reverse=True)
    capsys.readouterr()

    cli.main(["compare", str(old), str(new)])

    shown = capsys.readouterr().out
    pulls = []
    for spec in ("ChatGPT/Vanilla_NoRules", "ChatGPT/Rating"):
        table = [row[spec] for row in lines("llmbar")]
        pulls.append(fmean((one == "1") - (other == "1") for one, other in table))
    assert f"{pulls[0]:.2f} -> {pulls[1]:.2f}  {pulls[1] - pulls[0]:+.2f} [" in shown


# ------------------------------------------------------------------------------------------------------ a user's texts


def bring(tmp_path, records, *options):
    """Import records as texts of published verdicts; return the status and the cases that were written."""
    file, out = tmp_path / "mine.json", tmp_path / "cases.jsonl"
    file.write_text(json.dumps(records), "utf-8")
    status = cli.main(["cases", "import", str(file), "-o", str(out), "--force", *options])
    return status, read_cases(out) if out.exists() else []


LLMBAR = ("--format", "llmbar", "--verdicts", "llmbar")
PAIR = ("--map", "question=q", "--map", "answer_a=a", "--map", "answer_b=b")


def of_llmbar(count):
    """Return records as LLMBar's own files hold them, with the labels of the subset Natural."""
    gold = [int(row["gold"]) for row in lines("llmbar") if row["subset"] == "Natural"][:count]
    return [
        {"input": f"Do {n}.", "output_1": f"Yes {n}.", "output_2": f"No {n}.", "label": g} for n, g in enumerate(gold)
    ]


def test_the_texts_of_llmbar_are_known_by_their_place(tmp_path, capsys):
    """A file of one subset, as it is published: ids and gold stay, the texts are the user's, and the judge judges."""
    status, cases = bring(tmp_path, of_llmbar(30), *LLMBAR, "--subset=Natural")

    assert status == 0
    assert [case.id for case in cases] == [f"Natural-{n}" for n in range(30)]
    assert cases[7].question == "Do 7."
    assert cases[7].answers[1].text == "No 7."
    assert "389 of 419 cases got no texts and are left out" in capsys.readouterr().out
    judge = judge_from("recorded:llmbar/GPT-4/Vanilla")
    given = cases_from([str(tmp_path / "cases.jsonl")], judge)
    bare, own = with_cases("recorded:llmbar/GPT-4/Vanilla")
    alike = {case.id: case for case in own}
    assert [said(judge, case) for case in given] == [said(bare, alike[case.id]) for case in given]


def test_the_texts_of_scored_answers_are_known_by_their_item(tmp_path):
    """One record of RewardBench 2 holds four answers: the chosen one first."""
    record = {"id": "282", "prompt": "So?", "chosen": ["Yes."], "rejected": ["No.", "Perhaps.", "Never."]}
    letters = {"a": "chosen.0", "b": "rejected.0", "c": "rejected.1", "d": "rejected.2"}
    maps = [f"--map=answer_{letter}={column}" for letter, column in letters.items()]

    status, cases = bring(tmp_path, [record], "--verdicts=scores", "--map=question=prompt", *maps)

    assert status == 0
    assert [(case.id, case.answers[0].text) for case in cases] == [
        ("Factuality-282-0", "Yes."),
        ("Factuality-282-1", "No."),
        ("Factuality-282-2", "Perhaps."),
        ("Factuality-282-3", "Never."),
    ]


def test_the_texts_of_a_pair_are_known_by_id_or_by_authors(tmp_path):
    """In whichever order the record lists the two authors."""
    record = {"id": "82", "q": "So?", "a": "Of V.", "b": "Of C.", "x": "vicuna-13b-v1.3", "y": "claude-v1"}
    authors = ("--map=author_a=x", "--map=author_b=y")

    _, cases = bring(tmp_path, [record], "--verdicts=position", *PAIR, *authors)

    assert [(case.id, [(a.id, a.text) for a in case.answers]) for case in cases] == [
        ("mtbench-82-claude-v1", [("claude-v1", "Of C."), ("vicuna-13b-v1.3", "Of V.")])
    ]


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        ([{"id": "82", "q": "So?", "a": "1", "b": "2"}], ("--verdicts=position", *PAIR), "is in 4 pairs"),
        ([{"id": "x", "q": "So?", "a": "1", "b": "2"}], ("--verdicts=pandalm", *PAIR), "got none of them in 1 records"),
        (
            [{"id": "0", "q": "So?", "a": "1"}],
            ("--verdicts=pandalm", "--map=question=q", "--map=answer=a"),
            "2 answers",
        ),
        (of_llmbar(3), LLMBAR, "is in several subsets"),
        (
            [{**one, "label": 3 - one["label"]} for one in of_llmbar(3)],
            (*LLMBAR, "--subset=Natural"),
            "the right file?",
        ),
        (of_llmbar(3), (*LLMBAR, "--subset=Neutral"), "expected one of GPTInst"),
        (of_llmbar(3), ("--format=llmbar", "--subset=Natural"), "expected --verdicts SET beside it"),
        (of_llmbar(3), ("--format=llmbar", "--verdicts=lmbar"), "did you mean 'llmbar'"),
    ],
)
def test_what_are_not_the_texts_is_told_with_what_to_do(tmp_path, capsys, records, options, message):
    """Nothing is written, and one paragraph says why."""
    status, cases = bring(tmp_path, records, *options)

    assert status == 4
    assert cases == []
    assert message in capsys.readouterr().err


def test_cases_of_another_set_are_refused(tmp_path):
    """Not one case in common: nothing could be replayed."""
    bring(tmp_path, of_llmbar(3), *LLMBAR, "--subset=Natural")

    with pytest.raises(ConfigError, match="calm cases import --verdicts position"):
        cases_from([str(tmp_path / "cases.jsonl")], judge_from("recorded:position/gpt-4-0613"))
