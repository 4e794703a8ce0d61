"""A table of verdicts as a judge: what it says is what the judge says, and what it does not say is not tested."""

import asyncio
import csv
import json
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from calm import Answer, Case, Criterion
from calm.cases.lines import line
from calm.commands import cli
from calm.core.case import Framing
from calm.core.verdict import Criteria, Preferred, Ranking, Score, Tie, Unreadable
from calm.errors import ConfigError, JudgeError
from calm.gate.from_spec import cases_from, judge_from
from tests.inside import offered

PAIR = Case("one", "Why?", (Answer("good", "So."), Answer("bad", "Thus.")), better="good")
SINGLE = Case("one", "Why?", (Answer("only", "So."),))
CRITERIA = (Criterion("c1", "It is short."), Criterion("c2", "It is polite."))
RUBRIC = replace(SINGLE, criteria=CRITERIA)
LIST = Case("one", "Why?", (Answer("x", "So."), Answer("y", "Thus."), Answer("z", "Hence.")))


@dataclass(frozen=True)
class Ask:
    """A send that is not used: it says which ask it is."""

    ask: int = 1


def said(judge, case, ask=1):
    """Return the verdict of a judge on a case."""
    return asyncio.run(judge.judge(case, Ask(ask)))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(rows, name="v.csv"):
    """Write rows as a table, and return the specification of its file."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if name.endswith(("json", "jsonl")):
        Path(name).write_text(json.dumps(rows) if name.endswith("json") else "\n".join(map(json.dumps, rows)), "utf-8")
    elif name.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), name)
    else:
        with Path(name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t" if name.endswith("tsv") else ",")
            writer.writerow(columns)
            writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return name


def judge_on(spec, *cases):
    """Return the judge of a specification with its cases, which are read from a file."""
    Path("cases.jsonl").write_text("".join(map(line, cases)), "utf-8")
    judge = judge_from(spec)
    return judge, cases_from(["cases.jsonl"], judge)


def faults(spec, *cases):
    """Return what is wrong with a table."""
    with pytest.raises(ConfigError) as caught:
        judge_on(spec, *cases)
    return caught.value.problems


# ------------------------------------------------------------------------------------------------- what a record says


@pytest.mark.parametrize(
    ("task", "case", "row", "verdict"),
    [
        ("pairwise", PAIR, {"verdict": "bad"}, Preferred("bad")),
        ("pairwise", PAIR, {"verdict": "tie"}, Tie()),
        ("pairwise", PAIR, {"verdict": ""}, Unreadable),
        ("pairwise", PAIR, {"reply": "Both are brief. [[B]]"}, Preferred("bad")),
        ("pairwise", PAIR, {"reply": "Well."}, Unreadable),
        ("score", SINGLE, {"verdict": "7.5"}, Score(7.5)),
        ("score", SINGLE, {"reply": "[[7]]"}, Score(7.0)),
        ("points", RUBRIC, {"verdict": "0.25"}, Score(0.25)),
        ("points", RUBRIC, {"reply": "[[1/2]]"}, Score(0.5)),
        ("rubric", RUBRIC, {"verdict": '{"c1": true, "c2": null}'}, Criteria({"c1": True, "c2": None})),
        ("rubric-all", RUBRIC, {"verdict": '{"c1": true, "c2": false}'}, Criteria({"c1": True, "c2": False})),
        ("rubric-all", RUBRIC, {"reply": "1: [[yes]]\n2: [[no]]"}, Criteria({"c1": True, "c2": False})),
        ("listwise", LIST, {"verdict": "z > x = y"}, Ranking((("z",), ("x", "y")))),
        ("listwise", LIST, {"verdict": '["z", ["x", "y"]]'}, Ranking((("z",), ("x", "y")))),
        ("listwise", LIST, {"reply": "[[B > C > A]]"}, Ranking((("y",), ("z",), ("x",)))),
    ],
)
def test_a_record_of_every_task_says_its_verdict(task, case, row, verdict):
    """A verdict as it is meant, or a reply as the judge wrote it; an empty one is unreadable, not lost."""
    judge, (read,) = judge_on(f"recorded:{task}:{table([{'case': 'one', **row}])}", case)

    found = said(judge, read)

    assert isinstance(found, verdict) if isinstance(verdict, type) else found == verdict


def test_criteria_may_have_a_record_each():
    """Verdicts and replies on one criterion are put together; an empty one leaves that criterion unread."""
    rows = [
        {"case": "one", "criterion": "c1", "reply": "Yes, it is. [[yes]]", "repeat": 1},
        {"case": "one", "criterion": "c2", "verdict": "no", "repeat": 1},
        {"case": "one", "criterion": "c2", "verdict": "", "repeat": 2},
        {"case": "one", "criterion": "c1", "verdict": "met", "repeat": 2},
    ]
    judge, (case,) = judge_on(f"recorded:rubric:{table(rows)}", RUBRIC)

    assert said(judge, case) == Criteria({"c1": True, "c2": False})
    assert said(judge, case, 2) == Criteria({"c1": True, "c2": None})


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.json", "v.jsonl", "v.parquet"])
def test_a_table_says_the_same_however_it_is_written(name):
    """Numbers stay numbers where the file has some."""
    rows = [{"case": "one", "repeat": 1, "verdict": 7.0}, {"case": "one", "repeat": 2, "verdict": 8.0}]

    judge, (case,) = judge_on(f"recorded:score:{table(rows, name)}", SINGLE)

    assert [said(judge, case, ask) for ask in (0, 1, 2)] == [Score(7.0), Score(7.0), Score(8.0)]


@pytest.mark.parametrize("order", ["bad,good", "2,1", " bad , good ", '["bad", "good"]', "[2, 1]"])
def test_an_order_is_read_by_ids_or_numbers(order):
    """A reply names slots, so the order decides whom it means; the case is asked in an order that is on record."""
    judge, (case,) = judge_on(f"recorded:{table([{'case': 'one', 'order': order, 'reply': '[[A]]'}])}", PAIR)

    shown = judge.traits.recorded.judged(case)

    assert shown.slots == ("bad", "good")
    assert said(judge, shown) == Preferred("bad")
    assert (judge.traits.recorded.held(case), judge.traits.recorded.held(shown)) == (0, 1)


def test_a_reply_to_a_question_put_the_other_way_round_is_mapped_back():
    """Who is named as the worse answer lost; how bad becomes how good. A verdict says what is meant already."""
    rows = [{"case": "one", "framing": "negative", "reply": "[[A]]"}, {"case": "one", "verdict": "good"}]
    judge, (case,) = judge_on(f"recorded:{table(rows)}", PAIR)
    assert said(judge, case.present(framing=Framing.NEGATIVE)) == Preferred("bad")

    rows = [
        {"case": "one", "framing": "negative", "reply": "[[2]]"},
        {"case": "one", "framing": "inverted", "verdict": 4},
    ]
    judge, (case,) = judge_on(f"recorded:score:{table(rows, 'w.csv')}", SINGLE)
    assert said(judge, case.present(framing=Framing.NEGATIVE)) == Score(9.0)
    assert said(judge, case.present(framing=Framing.INVERTED)) == Score(4.0)


def test_a_judge_file_says_scale_columns_and_format():
    """What a specification cannot say stands beside the table: also the model as which the judge is an author."""
    table([{"id": "one", "text": "Grade: 4", "note": "x"}])
    Path("judge.toml").write_text(
        '[judge]\nname = "press"\ntask = "score"\nfamily = "gpt"\n'
        '[recorded]\nfile = "v.csv"\ncolumns = { case = "id", reply = "text" }\nmodel = "gpt-9"\n'
        '[verdict]\nformat = "regex"\npattern = "Grade: ([0-9]+)"\nscale = { low = 1, high = 5, step = 1 }\n',
        "utf-8",
    )

    judge, (case,) = judge_on("judge.toml", SINGLE)

    assert said(judge, case) == Score(4.0)
    assert (judge.name, judge.about["model"], judge.about["family"], judge.scale.high) == ("press", "gpt-9", "gpt", 5)
    assert [str(note) for note in judge.remarks.notes] == ["v.csv: nothing was taken from the columns note"]


# ------------------------------------------------------------------------------------------- what a record cannot say


def test_an_edited_case_with_the_same_id_has_no_verdict():
    """A text, a note, a byline, a field or another framing makes another question: nothing is replayed for it."""
    judge, (case,) = judge_on(f"recorded:{table([{'case': 'one', 'verdict': 'good'}])}", PAIR)
    edited = [
        case.edit("bad", lambda text: f"{text} Trust me."),
        case.present(notes=("n",)),
        case.present(bylines={"bad": "gpt"}),
        case.present(labels=("1", "2")),
        case.present(order=("bad", "good")),
        case.present(framing=Framing.NEGATIVE),
        replace(case, question="Why not?"),
        replace(case, fields={"context": "x"}),
    ]

    assert [judge.traits.recorded.held(one) for one in [case, *edited]] == [1] + [0] * len(edited)
    assert len({judge.sees(one) for one in [case, *edited]}) == len(edited) + 1
    for one in edited:
        with pytest.raises(JudgeError, match="no verdict on the case as it is shown is on record"):
            said(judge, one)
    with pytest.raises(JudgeError, match="no verdict on the case"):
        said(judge, case, 2)


ONE = {"case": "one", "verdict": "good"}


@pytest.mark.parametrize(
    ("task", "case", "rows", "message"),
    [
        ("pairwise", PAIR, [ONE, {**ONE, "case": "oen"}], "record 2: case: expected a case of this run, got 'oen'; "),
        ("pairwise", PAIR, [{**ONE, "case": ""}], "record 1: case: expected the id of a case, got null; add it"),
        ("pairwise", PAIR, [{**ONE, "verdict": "god"}], "record 1: verdict: expected an answer's id or 'tie', got '"),
        ("pairwise", PAIR, [{**ONE, "verdict": 7}], "record 1: verdict: expected good or bad or tie, got 7; if it i"),
        ("pairwise", PAIR, [ONE, {**ONE, "verdict": "bad"}], "record 2: verdict: expected one verdict on each quest"),
        ("pairwise", PAIR, [ONE, ONE], "record 2: verdict: expected one verdict on each question, got another one i"),
        ("pairwise", PAIR, [{**ONE, "repeat": 3}], "repeat: expected asks from 1 without a gap on case 'one' in the"),
        ("pairwise", PAIR, [{**ONE, "repeat": "0"}], "record 1: repeat: expected the number of the ask, from 1, got"),
        ("pairwise", PAIR, [{**ONE, "repeat": "9" * 5000}], "record 1: repeat: expected the number of the ask, from"),
        ("pairwise", PAIR, [{**ONE, "order": "good"}], "record 1: order: expected each answer of the case once (goo"),
        ("pairwise", PAIR, [{**ONE, "order": "[[1"}], "record 1: order: expected the answers by slot, such as good,"),
        ("pairwise", PAIR, [{**ONE, "framing": "rude"}], "record 1: framing: expected one of standard, negative, in"),
        ("pairwise", PAIR, [{**ONE, "reply": "[[A]]"}], "record 1: reply: expected a verdict or a reply, got both; "),
        ("pairwise", PAIR, [{**ONE, "edit": "cite_book"}], "record 1: edit: expected verdicts on cases as they are,"),
        ("pairwise", PAIR, [{**ONE, "criterion": "c1"}], "record 1: criterion: expected none, as the task has no cr"),
        ("pairwise", PAIR, [{"id": "one", "verdict": "x"}], "expected a column case that names the cases, got id, v"),
        ("pairwise", PAIR, [{"case": "one"}], "expected a column verdict (or reply) that holds what the judge said,"),
        ("score", SINGLE, [{**ONE, "verdict": 70}], "record 1: verdict: expected a number from 1 to 10, got 70.0 of"),
        ("score", SINGLE, [{**ONE, "verdict": "nan"}], "record 1: verdict: expected a number, got 'nan'; a reply go"),
        ("rubric", RUBRIC, [{**ONE, "verdict": "yes"}], "record 1: verdict: expected criteria such as {"),
        ("rubric", RUBRIC, [{**ONE, "verdict": '{"c1": true}'}], "record 1: verdict: expected true, false or null f"),
        ("rubric", RUBRIC, [{**ONE, "criterion": "c3"}], "record 1: criterion: expected a criterion of the case (c1"),
        ("rubric", RUBRIC, [{**ONE, "criterion": "c1", "verdict": "yes"}], "record 1: criterion: expected a record "),
        ("rubric", RUBRIC, [{"case": "one", "reply": "[[yes]]"}], "record 1: reply: expected a reply on one criteri"),
        ("listwise", LIST, [{**ONE, "verdict": "x > y"}], "record 1: verdict: expected each answer's id once (x, y,"),
    ],
)  # fmt: skip
def test_a_fault_of_the_table_is_named_with_file_and_record(task, case, rows, message):
    """Nothing is used of a table with a fault: a verdict that is left out would change every figure in silence."""
    problems = faults(f"recorded:{task}:{table(rows, 'v.json')}", case)

    assert problems[0].startswith(f"v.json: {message}")


def test_all_faults_are_told_and_many_are_counted():
    """A thousand records about another file's cases are twenty lines and a number."""
    problems = faults(f"recorded:{table([{'case': f'c{n}', 'verdict': 'good'} for n in range(1000)])}", PAIR)

    assert len(problems) == 22
    assert problems[-2:] == ("v.csv: and 980 more; fix these first", "v.csv: nothing in it is used")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('[model]\nprovider = "openai"\nmodel = "m"\n', "expected [recorded] without [model], got both"),
        ('[verdict]\nformat = "logprobs"\n', "[verdict] format: expected a format of texts, got logprobs"),
        ("[mitigation]\n", "unknown table [mitigation]"),
    ],
)
def test_a_judge_file_with_what_cannot_be_replayed_is_refused(lines, message):
    """There is no model to ask."""
    table([ONE])
    Path("j.toml").write_text(f'[judge]\nname = "j"\ntask = "pairwise"\n[recorded]\nfile = "v.csv"\n{lines}', "utf-8")

    assert message in " ".join(faults("j.toml", PAIR))


@pytest.mark.parametrize("command", offered("attack", "cross-check"))
def test_a_command_that_makes_new_questions_refuses_a_table(command, capsys):
    """It would find that nothing is on record, case by case."""
    Path("cases.jsonl").write_text(line(PAIR), "utf-8")

    status = cli.main([command, f"recorded:{table([ONE])}", "--cases=cases.jsonl"])

    assert status == 4
    assert "its verdicts were given beforehand, on the cases as they are" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ which file


@pytest.mark.parametrize(
    "name",
    ["headlines/v.csv", "ifeval/gpt.v1/v.csv", "a:b/v.csv", "C:\\verdicts\\v.csv", "score/v.csv", "x/pairwise:v.csv"],
)
@pytest.mark.parametrize("task", ["", "pairwise:"])
def test_a_path_is_not_taken_for_a_set_that_ships_with_calm(name, task):
    """What ends as a table does is a file."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)

    judge, (case,) = judge_on(f"recorded:{task}{table([ONE], name)}", PAIR)

    assert said(judge, case) == Preferred("good")


def test_a_set_that_ships_with_calm_keeps_its_name():
    """Also where a folder of that name is here."""
    Path("pandalm").mkdir()

    assert judge_from("recorded:pandalm/gpt-3.5").task == "pairwise"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("recorded:none.csv", "none.csv: there is no such file"),
        ("recorded:v.xlsx", "or recorded:FILE, with a name that ends in .json, .jsonl, .ndjson, .csv, .tsv, .parquet"),
        ("recorded:", "expected recorded:SET/MODEL"),
        ("recorded:scores:v.csv", "no such file"),
    ],
)
def test_a_table_that_is_not_there_is_named(spec, message):
    """The message says what a specification looks like."""
    with pytest.raises(ConfigError, match=message.replace("(", "\\(")):
        judge_from(spec)


# ------------------------------------------------------------------------------------------------------- whole runs


def run(*options, suites=("consistency", "position", "framing", "sensitivity", "authority")):
    """Run suites of the gate; return the status, the findings by bias, measure and name, and the output."""
    names = [f"calm.suites.test_{name}" for name in suites]
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--pyargs", *names]
    given = ["--calm-cases=cases.jsonl", "--calm-results=results.json", "--calm-stopping=fixed"]
    done = subprocess.run([*command, *given, *options], capture_output=True, text=True, timeout=300, check=False)
    body = json.loads(Path("results.json").read_text("utf-8")) if Path("results.json").exists() else {"findings": []}
    found = {(f["bias"], f["measure"], f["perturbation"]): f for f in body["findings"]}
    return done.returncode, found, done.stdout + done.stderr


def pairs(count=120):
    """Return pairs, the better answer first in half of them."""
    made = [replace(PAIR, id=f"p{n}", question=f"Why {n}?") for n in range(count)]
    return [replace(one, answers=one.answers[::-1]) if n % 2 else one for n, one in enumerate(made)]


def sayings(cases, *, repeats=2, orders=2, seed=1):
    """
    Return records of a judge that errs in one ask of ten, and falls for the first slot in one case of five.

    A judge of one order saw the answers in an order of chance.
    """
    rng = Random(seed)
    rows = []
    for case in cases:
        ids = [answer.id for answer in case.answers]
        turned = [ids, ids[::-1]] if orders == 2 else [rng.sample(ids, 2)]
        swayed = rng.random() < 0.2
        for order in turned:
            for repeat in range(1, repeats + 1):
                verdict = order[0] if swayed else case.better if rng.random() < 0.9 else "bad"
                rows.append({"case": case.id, "order": ",".join(order), "repeat": repeat, "verdict": verdict})
    return rows


def test_figures_of_a_table_are_those_of_a_plain_count():
    """Accuracy, consistency, what a swap moves beyond repeats: each is the mean over cases that the table says."""
    cases = pairs()
    Path("cases.jsonl").write_text("".join(map(line, cases)), "utf-8")
    rows = sayings(cases)

    _, found, told = run(f"--calm-judge=recorded:{table(rows)}")

    heard: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        heard.setdefault((row["case"], row["order"]), []).append(row["verdict"])
    listed = {case.id: heard[case.id, ",".join(a.id for a in case.answers)] for case in cases}
    turned = {case.id: heard[case.id, ",".join(a.id for a in case.answers[::-1])] for case in cases}
    accuracy = fmean(verdict == "good" for verdicts in listed.values() for verdict in verdicts)
    agreed = fmean(a == b for verdicts in listed.values() for a, b in combinations(verdicts, 2))
    noise = {c: fmean(one != other for one, other in (listed[c], turned[c])) for c in listed}
    moved = fmean(fmean(x != y for x, y in product(listed[c], turned[c])) - noise[c] for c in listed)
    wins = [1 if row["order"].startswith(row["verdict"]) else -1 for row in rows]
    values = {key: finding["value"] for key, finding in found.items() if finding["value"] is not None}
    assert values == {
        ("sensitivity", "accuracy", None): pytest.approx(accuracy, abs=1e-6),
        ("consistency", "consistency_rate", None): pytest.approx(agreed, abs=1e-6),
        ("consistency", "readable_rate", None): 1.0,
        ("position", "net_robustness", "swap"): pytest.approx(1 - moved, abs=1e-6),
        ("position", "slot_pull", "swap"): pytest.approx(fmean(wins), abs=1e-6),
    }
    assert "is compared with its own repeats, not with neutral words" in told
    assert found["authority", "gain", None]["outcome"] == "NOT_TESTED"
    assert "no verdict on the case as it is shown is on record" in told


def test_an_order_or_a_repeat_that_nobody_recorded_is_not_tested():
    """One verdict a case, in an order of chance: accuracy is tested on all, the swap and the repeats on none."""
    cases = pairs()
    Path("cases.jsonl").write_text("".join(map(line, cases)), "utf-8")
    rows = sayings(cases, repeats=1, orders=1)

    _, found, told = run(f"--calm-judge=recorded:{table(rows)}")

    outcomes = {key: finding["outcome"] for key, finding in found.items()}
    assert found["sensitivity", "accuracy", None]["value"] == pytest.approx(
        fmean(row["verdict"] == "good" for row in rows), abs=1e-6
    )
    assert found["sensitivity", "accuracy", None]["n"] == len(cases)
    assert {outcomes[key] for key in outcomes if key[0] in ("position", "framing", "authority")} == {"NOT_TESTED"}
    assert outcomes["consistency", "consistency_rate", None] == "NOT_TESTED"
    assert outcomes["consistency", "readable_rate", None] == "PASS"
    assert "consistency_rate needs 2+0 asks a case" in told


def test_cases_with_fewer_verdicts_than_others_are_left_out_of_what_needs_more():
    """A case that was asked once has an accuracy and no consistency; one that was never asked has neither."""
    cases = pairs()
    Path("cases.jsonl").write_text("".join(map(line, cases)), "utf-8")
    rows = sayings(cases[:90], repeats=2, orders=1) + sayings(cases[90:110], repeats=1, orders=1)

    _, found, _ = run(f"--calm-judge=recorded:{table(rows)}", "--calm-repeats=4+4")

    accuracy, consistency = found["sensitivity", "accuracy", None], found["consistency", "consistency_rate", None]
    assert (accuracy["n"], consistency["n"]) == (110, 90)
    assert consistency["excluded"] == {
        "no verdict on the case as it is shown is on record": 10,
        "it was asked once": 20,
    }


def test_an_order_that_was_asked_once_has_no_floor():
    """Whichever of the two it is: the pull of a slot needs none, and what the order moves beyond repeats does."""
    cases = pairs()
    Path("cases.jsonl").write_text("".join(map(line, cases)), "utf-8")
    rows = sayings(cases)
    once = {(case.id, ",".join(a.id for a in case.answers[:: (-1) ** n])) for n, case in enumerate(cases[:20])}
    rows = [row for row in rows if row["repeat"] == 1 or (row["case"], row["order"]) not in once]

    _, found, _ = run(f"--calm-judge=recorded:{table(rows)}", "--calm-stopping=fixed")

    net, pull = found["position", "net_robustness", "swap"], found["position", "slot_pull", "swap"]
    assert (net["n"], pull["n"]) == (100, 120)
    assert net["excluded"] == {
        "neutral words were not asked about, so the edit cannot be distinguished from any rewording": 20
    }


def test_a_table_with_a_fault_ends_the_run_before_anything_is_asked():
    """The status is 4, and no record of a run is written."""
    Path("cases.jsonl").write_text("".join(map(line, pairs(20))), "utf-8")

    status, found, told = run(f"--calm-judge=recorded:{table([{'case': 'p1', 'verdict': 'worst'}])}")

    assert (status, found) == (4, {})
    assert "v.csv: record 1: verdict: expected an answer's id or 'tie', got 'worst'" in told


def test_a_panel_of_tables_answers_what_all_of_them_hold():
    """Three tables by majority: a question that one of them lacks is none of the panel's."""
    cases = pairs()
    Path("cases.jsonl").write_text("".join(map(line, cases)), "utf-8")
    parts = [sayings(cases[: 120 - 10 * n], repeats=1, seed=n) for n in range(3)]
    names = [table(rows, f"m{n}.csv") for n, rows in enumerate(parts)]

    _, found, _ = run(f"--calm-judge=panel:{'+'.join(f'recorded:{name}' for name in names)}")

    listed = {case.id: ",".join(answer.id for answer in case.answers) for case in cases}
    first = [{row["case"]: row["verdict"] for row in rows if row["order"] == listed[row["case"]]} for rows in parts]
    right = fmean(sum(said[case] == "good" for said in first) > 1 for case in first[2])
    accuracy = found["sensitivity", "accuracy", None]
    assert (accuracy["n"], accuracy["value"]) == (100, pytest.approx(right, abs=1e-6))
