"""`calm calibrate`: what the labels of people say of a judge, told to a person and written as a record."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from calm.commands import cli
from calm.errors import ConfigError
from calm.results.baseline import read_baseline

SCHEMA = Path(__file__).parents[3] / "calm/results/data/calm-calibration-1.schema.json"
JUDGES = '''
import time
from pathlib import Path

from calm import Preferred, Score
from calm.core.case import digest


def _coin(*parts):
    return int(digest(*parts)[:8], 16) / 16**8


def _true(case):
    return float(case.answers[0].text.split()[-1])


def reader(case):
    """Reads in the answer which criteria it meets."""
    return {one.id: one.id in case.answers[0].text for one in case.criteria}


def flat(case):
    """Every case gets the same score."""
    return 6


def high(case):
    """What is good is told, everything else is called good, too."""
    return max(7.0, _true(case))


def shifted(case):
    """Two points too high."""
    return min(10.0, _true(case) + 2)


def mute(case):
    return None


def first(case):
    """Always the first slot."""
    return case.slots[0]


def skilled(case):
    """Right in four of five."""
    good = max(case.answers, key=lambda a: int(a.text.split()[-1])).id
    other = next(a.id for a in case.answers if a.id != good)
    return good if _coin("skilled", case.id) < 0.8 else other


def sure(case):
    """Right in all cases of which it is sure, six in ten, and in half of the others."""
    good = max(case.answers, key=lambda a: int(a.text.split()[-1])).id
    other = next(a.id for a in case.answers if a.id != good)
    known = _coin("known", case.id) < 0.6
    p = 0.98 if known else 0.6
    said = good if known or _coin("luck", case.id) < 0.5 else other
    rest = other if said == good else good
    return Preferred(said, {said: p, rest: 1 - p})


def slow(case):
    time.sleep(0.02)
    return skilled(case)


for one in (flat, high, shifted):
    one.task = "score"
reader.task, reader.reads = "rubric-all", ("question", "answers", "criteria")
for one in (flat, high, shifted, mute, first, skilled, sure, reader):
    one.quick = True
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with judges, 120 labelled pairs, 300 others and 120 scored answers."""
    (tmp_path / "people.py").write_text(JUDGES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "people", raising=False)
    rng = random.Random(3)
    pairs = []
    for n in range(420):
        worth = rng.sample(range(1, 9), 2)
        answers = [{"id": i, "text": f"The worth is {w}"} for i, w in zip("ab", worth, strict=True)]
        kind = rng.choice(["easy", "hard"])
        row = {"id": f"p{n:03}", "question": f"Which is worth more, {n}?", "answers": answers, "tags": {"kind": kind}}
        pairs.append(row | {"better": "a" if worth[0] > worth[1] else "b"})
    write(tmp_path / "pairs.jsonl", pairs[:120])
    write(tmp_path / "others.jsonl", [{k: v for k, v in row.items() if k != "better"} for row in pairs[120:]])
    scored = []
    for n in range(120):
        score = rng.choice([2, 3, 4, 5, 8, 9])
        scored.append(
            {
                "id": f"s{n:03}",
                "question": f"How much is it worth, {n}?",
                "answers": [{"id": "only", "text": f"The worth is {score}"}],
                "scores": {"only": score},
            }
        )
    write(tmp_path / "scores.jsonl", scored)
    return tmp_path


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def calm(*arguments):
    """Run `calm calibrate` in this process."""
    return cli.main(["calibrate", *map(str, arguments)])


def record(name="calibration.json"):
    return json.loads(Path(name).read_text("utf-8"))


def failed(body):
    return {found["measure"] for found in body["findings"] if found["outcome"] == "FAIL"}


def kinds(body):
    return {one["kind"] for one in body["calibration"]["remarks"]}


def test_a_judge_that_gives_every_case_the_same_score_is_told_so(folder, capsys):
    """Its agreement is that of a constant, a mapping cannot help it, and the words say so."""
    assert calm("people:flat", "--cases", "scores.jsonl", "--repeats", 3) == 0

    said = capsys.readouterr().out
    assert kinds(record()) >= {"same-word", "off-as-a-constant", "same-asks"}
    assert "weighted_kappa" in failed(record())
    assert "the judge says '6' in 100% of its verdicts" in said
    assert "nothing shows that it does better than that" in said
    assert "accuracy counts scores within 0.5 of the label, the share above scores within 1.125 of it" in said
    fit = record()["calibration"]["fit"]
    assert {one["name"]: one["value"]["value"] for one in fit["candidates"]}["isotonic"] > 1.5


def test_a_judge_that_is_right_on_the_easy_class_only_is_told_so(folder, capsys):
    """It calls all that is bad good: right above the mark, wrong below it."""
    assert calm("people:high", "--cases", "scores.jsonl", "--pass", 6) == 0

    body = record()
    assert "one-class" in kinds(body)
    rows = {row["name"]: row["right"] for row in body["calibration"]["classes"]}
    assert rows == {"fail": 0.0, "pass": 1.0}
    said = capsys.readouterr().out
    assert "its agreement comes from the easy kind" in said
    assert "accuracy counts scores within 0.5 of the label, the share above scores on the same side of 6" in said


def test_a_judge_of_pairs_that_takes_the_first_slot_is_told_so(folder, capsys):
    """Half of the better answers stand first, and these are the easy class."""
    assert calm("people:first", "--cases", "pairs.jsonl") == 0

    body = record()
    assert kinds(body) >= {"same-word", "as-a-constant", "one-class"}
    assert "kappa" in failed(body)
    assert body["calibration"]["confusion"]["gold"] == ["first", "second"]
    counts = body["calibration"]["confusion"]["counts"]
    assert [row[1] for row in counts] == [0.0, 0.0]
    assert sum(map(sum, counts)) == 120


def test_a_shift_is_found_and_better_on_cases_that_did_not_fit_it(folder, capsys):
    """A judge that is two points too high is mapped two points down, out of fold too, and a person can apply it."""
    calm("people:shifted", "--cases", "scores.jsonl")

    fit = record()["calibration"]["fit"]
    found = {one["name"]: one for one in fit["candidates"]}
    assert fit["best"] in ("shift", "linear", "isotonic")
    assert found["shift"]["fitted"]["add"] == pytest.approx(-2, abs=0.3)
    assert found["linear"]["value"]["value"] < 0.3 < found["raw"]["value"]["value"]
    assert found["linear"]["better"]["low"] > 1
    said = capsys.readouterr().out
    assert f"x - {-found['shift']['fitted']['add']:.4g}\n" in said
    knots = found["isotonic"]["fitted"]
    first, last = (f"{knots['knots'][k]:.4g} -> {knots['gold'][k]:.4g}" for k in (0, -1))
    assert first in said
    assert last in said


def test_a_noisy_judge_is_corrected_and_the_record_fits_its_schema(folder, capsys):
    """The corrected win rate holds the truth; the record says how many labels decide, and which to add."""
    assert calm("people:skilled", "--cases", "pairs.jsonl", "--unlabelled", "others.jsonl", "--limit", 0.78) == 0

    body = record()
    jsonschema.validate(body, json.loads(SCHEMA.read_text("utf-8")))
    found = body["calibration"]["corrected"]["found"]
    truth = [json.loads(line) for line in Path("others.jsonl").read_text("utf-8").splitlines()]
    won = [int(a["text"].split()[-1]) > int(b["text"].split()[-1]) for a, b in (row["answers"] for row in truth)]
    assert found["corrected"]["low"] < sum(won) / len(won) < found["corrected"]["high"]
    assert 0 < found["power"] < 1
    assert [b["limit"] for b in body["calibration"]["budgets"]] == [0.7, 0.78, 0.8, 0.9]
    assert len(body["calibration"]["next"]) == 10
    assert "a fresh set of about" in capsys.readouterr().out


def test_labels_that_are_no_random_sample_are_said_to_be_none(folder, capsys):
    """Labelled are the cases that the first answer won, as far as there are 80; nothing is said of a random draw."""
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    picked = sorted(rows, key=lambda row: row["better"] != "a")[:80]
    write(Path("picked.jsonl"), picked)

    assert calm("people:skilled", "--cases", "picked.jsonl", "--unlabelled", "others.jsonl", "-o", "picked.json") == 0
    assert "- the labelled cases are not drawn like the others" in capsys.readouterr().out
    assert calm("people:skilled", "--cases", "pairs.jsonl", "--unlabelled", "others.jsonl", "-o", "drawn.json") == 0
    assert "holds if the labelled cases are drawn like the others" in capsys.readouterr().out

    picked, drawn = record("picked.json"), record("drawn.json")
    jsonschema.validate(picked, json.loads(SCHEMA.read_text("utf-8")))
    assert "labels-not-drawn" in kinds(picked)
    assert "labels-not-drawn" not in kinds(drawn)
    draw = picked["calibration"]["corrected"]["draw"]
    assert draw["p"] <= 0.01 < drawn["calibration"]["corrected"]["draw"]["p"]
    assert draw["labelled"] > draw["unlabelled"] + 0.1


def test_a_judge_that_knows_what_it_knows_may_decide_that_alone(folder):
    """Six in ten cases, with no error among them, by its probabilities; of the others it is wrong in half."""
    calm("people:sure", "--cases", "pairs.jsonl", "--repeats", 1)

    found = record()["calibration"]
    assert found["source"] == "probabilities"
    assert 0.5 < found["alone"]["share"] < 0.7
    assert found["alone"]["found"]["chosen"]["errors"] == 0
    assert found["alone"]["found"]["chosen"]["bound"] <= 0.05
    assert [round(b["confidence"], 2) for b in found["reliability"]["bins"]] == [0.6, 0.98]


def rubrics(labelled):
    """Write cases of which c0 is met in 90 % and c1 in 10 %; `labelled` says which of them have a label."""
    rng = random.Random(41)
    known, others = [], []
    for n in range(400):
        met = {"c0": rng.random() < 0.9, "c1": rng.random() < 0.1}
        text = " ".join(["Words", *(name for name, value in met.items() if value)])
        row = {"id": f"r{n:03}", "question": f"Write, {n}?", "answers": [{"id": "only", "text": text}]}
        row["criteria"] = [{"id": "c0", "text": "easy"}, {"id": "c1", "text": "hard"}]
        if n < 80:
            known.append(row | {"met": {"only": {name: met[name] for name in labelled(n)}}})
        else:
            others.append(row)
    write(Path("rubrics.jsonl"), known)
    write(Path("open.jsonl"), others)


def test_a_mean_over_criteria_is_about_those_that_people_labelled(folder, capsys):
    """c1 has no label, so the share is that of c0 on both sides, and the words say so."""
    rubrics(lambda n: ("c0",))

    arguments = ("people:reader", "--cases", "rubrics.jsonl", "--unlabelled", "open.jsonl", "--repeats", 3)
    assert calm(*arguments) == 0

    body, said = record(), capsys.readouterr().out
    jsonschema.validate(body, json.loads(SCHEMA.read_text("utf-8")))
    found = body["calibration"]["corrected"]["found"]["corrected"]
    assert found["low"] < 0.9 < found["high"]
    assert body["calibration"]["partly"] == {"kept": ["c0"], "left": ["c1"]}
    assert "about c0 only, not about c1" in said


def test_criteria_that_cannot_be_compared_give_no_figure(folder, capsys):
    """Each case has a label of one of two criteria: who labelled chose which, so nothing follows, and that is said."""
    rubrics(lambda n: ("c0",) if n % 2 else ("c1",))

    arguments = ("people:reader", "--cases", "rubrics.jsonl", "--unlabelled", "open.jsonl", "--repeats", 3)
    assert calm(*arguments) == 0

    body, said = record(), capsys.readouterr().out
    jsonschema.validate(body, json.loads(SCHEMA.read_text("utf-8")))
    assert (body["calibration"]["corrected"], body["calibration"]["alone"]) == (None, None)
    assert said.count("criteria without a label (such as c0, c1)") == 2


def test_the_same_command_writes_the_same_record(folder):
    """Nothing in it depends on a clock, on the order of the file, or on the cache."""
    arguments = ("people:skilled", "--cases", "pairs.jsonl", "--unlabelled", "others.jsonl")
    calm(*arguments, "-o", "one.json")
    lines = Path("pairs.jsonl").read_text("utf-8").splitlines()
    Path("pairs.jsonl").write_text("\n".join(reversed(lines)) + "\n", "utf-8")
    calm(*arguments, "-o", "two.json", "--cache-file", "other.sqlite")

    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()


def test_the_record_is_a_baseline(folder):
    """It is read as one, and says which judge, prompt and cases it is bound to."""
    calm("people:skilled", "--cases", "pairs.jsonl")

    found = read_baseline(Path("calibration.json"))
    assert found.judge.fingerprint == record()["judge"]["fingerprint"]
    assert found.cases["sha256"]
    assert {f.bias for f in found.findings} == {"agreement"}
    assert found.extras["calibration"]["agreement"]["n"] == 120


def test_chosen_cases_are_in_no_share(folder):
    """Cases that were labelled because they were hard say nothing of the share over all cases."""
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    for row in rows[:40]:
        row["tags"]["drawn"] = "chosen"
    write(Path("pairs.jsonl"), rows)

    calm("people:skilled", "--cases", "pairs.jsonl")

    found, findings = record()["calibration"], record()["findings"]
    assert found["agreement"]["n"] == 80
    assert found["labelled"] == 120
    assert sum(map(sum, found["confusion"]["counts"])) == 120
    assert {len(one["trials"]) for one in findings} == {80}

    write(Path("pairs.jsonl"), rows[40:])
    calm("people:skilled", "--cases", "pairs.jsonl", "-o", "drawn.json")

    alone = record("drawn.json")["findings"]
    assert [one.get("value") for one in findings] == [one.get("value") for one in alone]
    assert [one.get("references") for one in findings] == [one.get("references") for one in alone]


def test_a_slip_in_the_tag_of_chosen_cases_is_refused(folder, capsys):
    """A case with the tag "choosen" would count as one that was drawn at random."""
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    for row in rows[:3]:
        row["tags"]["drawn"] = "choosen"
    write(Path("pairs.jsonl"), rows)

    assert calm("people:skilled", "--cases", "pairs.jsonl") == 4

    said = capsys.readouterr()
    assert "tags.drawn: expected 'chosen', got 'choosen' in case 'p000' and in 2 more" in said.err
    assert not Path("calibration.json").exists()


def test_chosen_cases_alone_are_refused(folder, capsys):
    """No share follows from cases that were all picked."""
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    write(Path("pairs.jsonl"), [row | {"tags": {"drawn": "chosen"}} for row in rows])

    assert calm("people:skilled", "--cases", "pairs.jsonl") == 4
    assert "expected labelled cases that were drawn at random, got 120 that all have" in capsys.readouterr().err


def test_cases_on_which_people_are_divided_are_counted_as_such(folder, capsys):
    """They have labels and no gold: they are not unlabelled, and no mean is taken over them."""
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    for row in rows[:3]:
        del row["better"]
        row["labels"] = {"ann": "a", "ben": "b"}
    write(Path("pairs.jsonl"), rows)

    assert calm("people:skilled", "--cases", "pairs.jsonl") == 0

    said, found = capsys.readouterr().out, record()
    jsonschema.validate(found, json.loads(SCHEMA.read_text("utf-8")))
    assert "117 labelled cases, 3 cases on which people are divided, 0 cases without labels" in said
    assert (found["calibration"]["labelled"], found["calibration"]["divided"]) == (117, 3)
    assert found["calibration"]["unlabelled"] == 0
    assert found["calibration"]["corrected"] is None


def test_bounds_are_shown_within_the_range_of_their_measure(folder, capsys):
    """On six cases of five clusters, one of them right, the interval of a share reaches below 0; no share does."""
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text("utf-8").splitlines()[:6]]
    rows = [row | {"tags": {"cluster": str(n % 5)}} for n, row in enumerate(rows)]
    write(Path("scores.jsonl"), [row | {"scores": {"only": 2 if n else 6}} for n, row in enumerate(rows)])

    assert calm("people:flat", "--cases", "scores.jsonl") == 0

    said = capsys.readouterr().out
    accuracy = next(one for one in record()["findings"] if one["measure"] == "accuracy")
    assert accuracy["low"] == 0.0
    shown = next(line for line in said.splitlines() if line.strip().startswith("accuracy"))
    low, high = map(float, shown.partition("[")[2].partition("]")[0].split(","))
    assert 0 <= low <= high <= 1


def test_help_names_recorded_judges_and_the_defaults(capsys):
    """What the guide begins with is in the help, and so is what the options do by default."""
    with pytest.raises(SystemExit):
        calm("--help")

    said = " ".join(capsys.readouterr().out.split())
    assert "recorded:SET/MODEL" in said
    assert "(default calibration.json)" in said
    assert "an eighth of a scale without steps" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("people:skilled",), "labels of people (labels, better, scores or met), got none"),
        (
            ("people:skilled", "--cases", "others.jsonl"),
            "expected cases with labels of people (better, or labels), got none in 300",
        ),
        (("people:skilled", "--cases", "pairs.jsonl", "--unlabelled", "pairs.jsonl"), "counted twice"),
        (("people:skilled", "--cases", "pairs.jsonl", "--error", 1.5), "--error: expected a share between 0 and 1"),
        (("people:skilled", "--cases", "pairs.jsonl", "--limit", 0), "--limit: expected a share between 0 and 1"),
        (("people:skilled", "--cases", "pairs.jsonl", "--within", 1), "--within: expected a judge of scores"),
        (("people:skilled", "--cases", "pairs.jsonl", "--of", "c"), "--of: expected an answer id or an author"),
        (("people:skilled", "--cases", "pairs.jsonl", "--repeats", 0), "--repeats: expected 1 or more"),
        (
            ("people:skilled", "--cases", "pairs.jsonl", "-o", "pairs.jsonl"),
            "-o: expected a file other than the inputs",
        ),
        (
            ("people:flat", "--cases", "scores.jsonl", "--pass", 1),
            "--pass: expected a score above 1 and at most 10, got 1",
        ),
        (("people:flat", "--cases", "scores.jsonl", "--pass", 12), "a score above 1 and at most 10, got 12"),
        (("people:flat", "--cases", "scores.jsonl", "--pass", 5, "--within", 1), "expected one of them, got both"),
    ],
)
def test_a_wrong_wish_is_one_paragraph(folder, capsys, arguments, expected):
    """The option, what was expected, what came; nothing is asked and nothing written."""
    assert calm(*arguments) == 4

    said = capsys.readouterr()
    assert expected in said.err
    assert not Path("calibration.json").exists()
    assert not said.out


def test_gold_that_is_not_on_the_scale_is_refused(folder, capsys):
    """A label of 85 on a scale to 10 is another scale; the case is named."""
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text("utf-8").splitlines()]
    rows[3]["scores"]["only"] = 85
    write(Path("scores.jsonl"), rows)

    assert calm("people:flat", "--cases", "scores.jsonl") == 4
    assert "from 1 to 10, got 85 in case 's003'" in capsys.readouterr().err


@pytest.mark.parametrize("count", [1, 2, 19])
def test_few_labels_are_said(folder, capsys, count):
    """One label gives no interval, and fewer than twenty no mapping."""
    rows = Path("pairs.jsonl").read_text("utf-8").splitlines()[:count]
    Path("pairs.jsonl").write_text("\n".join(rows), "utf-8")

    assert calm("people:skilled", "--cases", "pairs.jsonl", "--unlabelled", "others.jsonl") == 0

    body = record()
    assert "few-labels" in kinds(body)
    assert body["calibration"]["fit"] is None
    assert (body["calibration"]["agreement"] is None) == (count == 1)
    assert (body["calibration"]["corrected"] is None) == (count == 1)


def test_labels_that_are_all_the_same_are_said(folder):
    """Nothing tells a good judge from one that always says so."""
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text("utf-8").splitlines()]
    write(Path("scores.jsonl"), [row | {"scores": {"only": 8}} for row in rows])

    assert calm("people:high", "--cases", "scores.jsonl") == 0
    assert "one-gold" in kinds(record())


def test_a_judge_without_a_readable_reply_writes_nothing(folder, capsys):
    """No verdict, no calibration: it says what came instead."""
    assert calm("people:mute", "--cases", "pairs.jsonl") in (1, 4)

    said = capsys.readouterr()
    assert "verdict" in said.out + said.err
    assert "Traceback" not in said.err
    assert not Path("calibration.json").exists()


def test_hostile_names_are_shown_as_they_are(folder, capsys):
    """An escape character in a tag reaches no terminal, a long name no table."""
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    for n, row in enumerate(rows):
        row["tags"] = {"\x1b[31m<script>": f"{'x' * 500}\n{n % 2}", "unique": str(n)}
    write(Path("pairs.jsonl"), rows)

    assert calm("people:skilled", "--cases", "pairs.jsonl") == 0

    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) < 250
    slices = record()["calibration"]["slices"]
    assert Counter(row["tag"] for row in slices["rows"]) == {"\x1b[31m<script>": 2}


def test_a_cap_in_the_middle_writes_nothing_and_a_second_run_goes_on(folder, capsys):
    """What was answered is kept; the record is written when all is there."""
    assert calm("people:skilled", "--cases", "pairs.jsonl", "--repeats", 1, "--max-calls", 50) == 1
    said = capsys.readouterr().out
    assert "incomplete: a cap was reached" in said
    assert not Path("calibration.json").exists()
    assert "share right >= 0.80: INCOMPLETE: data are missing" in said
    assert "decided by these labels" not in said
    assert "may decide" not in said
    assert "use the judge" not in said

    assert calm("people:skilled", "--cases", "pairs.jsonl", "--repeats", 1) == 0
    assert Path("calibration.json").exists()


def test_a_plan_makes_no_call(folder, capsys):
    """It counts the asks and writes nothing."""
    assert calm("people:skilled", "--cases", "pairs.jsonl", "--plan") == 0
    assert "360" in capsys.readouterr().out
    assert not Path("calibration.json").exists()
    assert not Path(".calm").exists()


def test_sudden_death_leaves_nothing_half_written(folder):
    """A process that is killed leaves an older record as it was, and no other file in its place."""
    calm("people:skilled", "--cases", "pairs.jsonl")
    before = Path("calibration.json").read_bytes()
    command = [sys.executable, "-m", "calm", "calibrate", "people:slow", "--cases", "pairs.jsonl"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[3])])}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert Path("calibration.json").read_bytes() == before
    assert calm("people:skilled", "--cases", "pairs.jsonl") == 0


def gate(judge, *arguments):
    """Run the suite `agreement` against the calibration, in a process of its own; return its status and its words."""
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--pyargs", "calm.suites.test_agreement"]
    options = ["--calm-cases=pairs.jsonl", "--calm-repeats=3+1", "--calm-baseline=calibration.json"]
    options.append("--calm-results=gate.json")
    done = subprocess.run(
        [*command, f"--calm-judge={judge}", *options, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), str(Path(__file__).parents[3])])},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def outcomes():
    """Return the outcome of each finding of the last gate."""
    return {one["key"]: one["outcome"] for one in record("gate.json")["findings"]}


def test_a_later_run_is_held_against_it(folder):
    """The same judge is not worse; another one is, and is told that the calibration is not of it."""
    calm("people:skilled", "--cases", "pairs.jsonl")

    (same, said), was = gate("people:skilled"), outcomes()
    (worse, told), now = gate("people:first"), outcomes()

    assert (same, worse) == (0, 1)
    assert "the calibration is of another judge" not in said
    assert "the calibration is of another judge, prompt or model than this run" in told
    assert "FAIL" not in was.values()
    assert now["agreement/worsening/kappa"] == "FAIL"


def test_the_figures_of_agreement_stand_first(folder, capsys):
    """What the suite claims and observes, each beside what a constant predictor reaches."""
    calm("people:skilled", "--cases", "pairs.jsonl")

    said = capsys.readouterr().out
    assert said.index("kappa") < said.index("people (rows)")
    kappa = next(line for line in said.splitlines() if line.strip().startswith("kappa"))
    assert kappa.split()[-3:] == ["PASS", ">=", "0.4"]
    assert {f["measure"] for f in record()["findings"]} >= {"kappa", "gwet_ac", "balanced_accuracy"}


def test_a_damaged_record_is_refused(folder):
    """A calibration without its calibration is none."""
    calm("people:skilled", "--cases", "pairs.jsonl")
    body = record()
    del body["calibration"]
    Path("calibration.json").write_text(json.dumps(body), "utf-8")

    with pytest.raises(ConfigError, match="expected 'calibration', which `calm calibrate` writes"):
        read_baseline(Path("calibration.json"))


def test_two_processes_share_a_cache_and_a_place(folder):
    """Both end well, and what stands there is whole."""
    command = [sys.executable, "-m", "calm", "calibrate", "people:skilled", "--cases", "pairs.jsonl"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[3])])}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]

    assert [process.wait() for process in both] == [0, 0]
    assert record()["calibration"]["agreement"]["n"] == 120
    assert not list(Path().glob(".calm-*.tmp"))


LONG = "with as many words as a reply has that somebody wrote"


def right(found):
    """Return how many verdicts are those of the people."""
    table = found["confusion"]
    named = zip(table["gold"], table["counts"], strict=True)
    return sum(count for gold, row in named for said, count in zip(table["said"], row, strict=True) if gold == said)


def results(columns, rows):
    """Write a table of results."""
    lines = [",".join(map(str, row)) for row in (columns, *rows)]
    Path("results.csv").write_text("\n".join(lines), "utf-8")


def test_a_table_of_results_is_calibrated_in_one_command(folder):
    """Its columns are known by their names, its words by the names of the answers; rows without a label count, too."""
    rows = [
        (
            f"T-{n}",
            f"Which of them? {n}",
            f"Reply {n} one {LONG}",
            f"Reply {n} two {LONG}",
            said,
            gold if n < 60 else "",
        )
        for n in range(90)
        for gold in ["AB"[n % 2]]
        for said in [gold if n % 5 else "BA"[n % 2]]
    ]
    results(("ticket", "question", "reply A", "reply B", "judge", "human"), rows)

    assert calm("results.csv") == 0

    found = record()["calibration"]
    assert (found["labelled"], found["unlabelled"]) == (60, 30)
    assert right(found) == sum(row[-2] == row[-1] for row in rows[:60]) < 60
    assert sorted(path.name for path in folder.glob("calibration*")) == ["calibration.json"]


@pytest.mark.parametrize("twice", ["verdict=human", "answer_a=reply B", "question=reply A"])
def test_a_column_that_is_two_fields_is_refused(folder, twice):
    """A verdict that is its own gold agrees with it always, which proves nothing; the other fields alike."""
    rows = [(f"Which? {n}", f"One {n} {LONG}", f"Two {n} {LONG}", "AB"[n % 2], "AB"[n % 2]) for n in range(60)]
    results(("question", "reply A", "reply B", "judge", "human"), rows)
    usual = {
        "question": "question",
        "answer_a": "reply A",
        "answer_b": "reply B",
        "better": "human",
        "verdict": "judge",
    }
    key, _, column = twice.partition("=")
    maps = [word for pair in {**usual, key: column}.items() for word in ("--map", "=".join(pair))]

    assert calm("results.csv", *maps) == 4
    assert not list(folder.glob("calibration*"))


@pytest.mark.parametrize(("good", "bad", "high"), [("pass", "fail", 1.0), (5, 1, 5.0)])
def test_a_table_of_scores_or_words_is_calibrated(folder, good, bad, high):
    """One answer in a row: words are 1 and 0, and of two values a score is right if it is the very one."""
    rows = [(f"Question {n}?", f"Reply {n}.", good if n % 5 else bad, good if n % 4 else bad) for n in range(80)]
    results(("input", "output", "verdict", "label"), rows)

    assert calm("results.csv") == 0

    found = record()["calibration"]
    assert record()["judge"]["scale"]["high"] == high
    assert right(found) == sum(row[2] == row[3] for row in rows) < 80


@pytest.mark.parametrize(
    ("table", "arguments", "expected"),
    [
        ("question,answer_a,answer_b,human\nq,x,y,A\n", (), "expected one column of what the judge said, got none"),
        ("question,answer_a,answer_b,judge,human\nq,x,y,Z,A\n", (), "expected a, b or tie, got 'Z'"),
        ("question,answer_a,answer_b,judge,human\nq,x,y,A,A\nq,x,y,B,A\n", (), "2 records on 1 of them"),
        ("question,answer_a,answer_b,judge,human\nq,x,y,A,\n", (), "expected records with a gold label, got none"),
        ("input,output,verdict,label\nq,r,meh,1\nq2,r2,3,4\n", (), "expected words whose meaning is known, got meh"),
        ("question,answer_a,answer_b,judge\n", (), "expected at least one record"),
        ("question,answer_a,answer_b,judge\nq,x,y,A\n", ("--map", "better=humman"), "a column of results.csv"),
        ("question,answer_a,answer_b,judge\nq,x,y,A\n", ("--map", "better"), "--map: expected FIELD=COLUMN"),
        ("question,answer_a,answer_b,judge\nq,x,y,A\n", ("--scale", "5"), "--scale: expected LOW..HIGH"),
        ("question,answer_a,answer_b,judge\nq,x,y,A\n", ("--cases", "pairs.jsonl"), "--cases: expected a table"),
        (None, ("--map", "better=human"), "expected a table of results as the judge"),
    ],
)
def test_a_table_that_is_none_of_results_is_one_paragraph(folder, capsys, table, arguments, expected):
    """What was expected and what came; nothing is written."""
    Path("results.csv").write_text(table or "", "utf-8")

    status = calm("people:skilled" if table is None else "results.csv", *arguments)

    assert (status, "calm: " in (said := capsys.readouterr().err)) == (4, True)
    assert expected in said
    assert not Path("calibration.json").exists()
