"""From questions to a verdict on each judge: `calm answer`, `calm self-preference` and the suite, over real HTTP."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from calm.cases import bundled, read_cases
from calm.cases.lines import line
from calm.core.case import digest
from calm.core.checks import verify
from calm.engine.store import Mode
from calm.experiment.crossing import FAMILIES_TAG
from calm.judges.judgefile import read_judge
from calm.plugins.mitigate.mitigations import mitigated
from calm.plugins.self_preference.record import crossed_from
from calm.plugins.self_preference.tables import tables_of
from calm.results.reports.pages import render
from tests.inside import run_inside
from tests.lanes import slow
from tests.planted import engine
from tests.plugins.self_preference.conftest import rows
from tests.servers import Answer
from tests.servers.authors import FAMILIES, MARKS, authors_respond, written

MANY = 150
EXCESS, PULL = "self_preference_excess", "own_pull"


def suite(studio, judge, *options, cases="answers.jsonl", peers=None):
    """Run the suite on a judge with the others as its peers; return its output and its findings by measure."""
    others = [path for path in studio.judges if path != judge] if peers is None else peers
    results = studio.folder / "results.json"
    results.unlink(missing_ok=True)
    command = ["-p", "no:cacheprovider", "--pyargs", "calm.suites.test_self_preference"]
    given = [f"--calm-judge={judge}", f"--calm-cases={studio.folder / cases}", f"--calm-results={results}", "-q"]
    given += [f"--calm-peers={','.join(map(str, others))}"] if others else []
    given += [f"--calm-cache-file={studio.folder / 'cache.sqlite'}", *options]
    done = run_inside(studio.folder, [*command, *given])
    body = json.loads(results.read_text("utf-8")) if results.exists() else {"findings": []}
    return done.stdout, {f["measure"]: f for f in body["findings"]}, body


# ------------------------------------------------------------------------------------------------------- calm answer


def test_each_model_answers_each_question_under_blind_ids(studio, capsys):
    """Authors and families stand in the file; ids and places tell nothing of them; truth is computed."""
    one = studio(count=40)

    answered = read_cases(one.answer())

    assert (one.status, len(answered), len(one.server.judged)) == (0, 40, 120)
    assert all({a.author for a in case.answers} == set(MARKS) for case in answered)
    assert all([a.id for a in case.answers] == ["a1", "a2", "a3"] for case in answered)
    first = [case.answers[0].author for case in answered]
    assert all(5 <= first.count(model) <= 25 for model in MARKS)
    assert json.loads(answered[0].tags[FAMILIES_TAG]) == FAMILIES
    for case in answered:
        assert case.better is None
        for a in case.answers:
            assert case.met[a.id] == {c.id: verify(c.check, a.text) for c in case.criteria}
    assert "alpha-1  alpha   40" in capsys.readouterr().out


def test_what_is_no_answer_is_recorded_and_not_used(studio):
    """A refusal, an empty reply and one that was cut off: the reason and the reply stand beside the answers."""
    cases = {case.question: case for case in bundled("rubric")}

    def respond(messages, body):
        case, model = cases[messages[-1][1]], str(body["model"])
        odd = {
            ("alpha-1", "rubric-001"): Answer("", refusal="no comment"),
            ("beta-1", "rubric-001"): Answer(" \n"),
            ("gamma-1", "rubric-002"): Answer("A long sto", stop="length"),
        }
        return odd.get((model, case.id), written(case, model))

    one = studio(count=3, respond=respond)

    out = one.answer()

    answered = {case.id: {a.author for a in case.answers} for case in read_cases(out)}
    assert answered == {"rubric-001": {"gamma-1"}, "rubric-002": {"alpha-1", "beta-1"}, "rubric-003": set(MARKS)}
    failed = {(f["case"], f["model"]): f for f in rows(one.folder / "answers.refused.jsonl")}
    assert {key: f["reason"].partition(":")[0] for key, f in failed.items()} == {
        ("rubric-001", "alpha-1"): "declined",
        ("rubric-001", "beta-1"): "empty",
        ("rubric-002", "gamma-1"): "cut off",
    }
    assert failed["rubric-002", "gamma-1"]["reply"] == "A long sto"


def test_a_stopped_run_goes_on_where_it_was(studio, capsys):
    """With a cap the status is 1; the same command again asks only what is missing, and ends in the same file."""
    one = studio(count=10)
    out = one.answer("--max-calls=20")
    begun, calls = one.status, len(one.server.judged)
    assert "run the same command again to continue" in capsys.readouterr().out

    one.answer()

    assert (begun, one.status) == (1, 0)
    assert calls < 30
    assert len(one.server.judged) == 30
    whole = digest(out.read_text("utf-8"))
    one.answer("--cache-file", one.folder / "other.sqlite")
    assert digest(out.read_text("utf-8")) == whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('family = "alpha"\n', ""), "the family of 'alpha-1' is not known; name it with"),
        (lambda text: text.replace("alpha-1", "beta-1"), "--with: expected different models, got 'beta-1' twice"),
        (lambda text: text.replace("provider", "provide"), "alpha-1.toml: [model] provide: unknown key"),
    ],
)
def test_models_that_do_not_fit_are_refused_before_a_call(studio, capsys, change, message):
    """The fault says what was expected."""
    one = studio(count=2)
    path = one.folder / "alpha-1.toml"
    path.write_text(change(path.read_text("utf-8")), "utf-8")

    one.answer()

    assert one.status == 4
    assert message in capsys.readouterr().err
    assert one.server.seen == []


def test_more_answers_than_a_case_can_hold_are_refused_before_a_call(studio, capsys):
    """Nobody could read the file: those of all cases about a question count."""
    one = studio(count=1)
    answers = [{"id": f"{n}", "text": f"Text {n}.", "author": f"author {n}"} for n in range(24)]
    lines = [{"id": f"{n}", "question": "Why?", "answers": answers[12 * n :][:12]} for n in range(2)]
    (one.folder / "cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")

    one.answer()

    assert (one.status, one.server.seen) == (4, [])
    assert "case '0': expected at most 26 answers to a question, got 27" in capsys.readouterr().err


def test_answers_do_not_take_the_place_of_the_cases(studio, capsys):
    """With a sample all other questions would be gone; nor is a folder asked for in vain."""
    one = studio(count=3)
    cases = one.folder / "cases.jsonl"
    before = cases.read_text("utf-8")

    for out in (cases, one.folder):
        one.answer("-o", out, "--sample=1")
        assert one.status == 4

    told = capsys.readouterr().err
    assert "-o: expected a file other than the inputs of the run" in told
    assert "-o: expected a file to write, got a folder" in told
    assert cases.read_text("utf-8") == before
    assert one.server.seen == []


def test_an_answer_of_the_same_model_under_a_dated_name_is_replaced(studio):
    """Two answers of one author to one question would be two verdicts in one cell."""
    one = studio(count=2)
    cases = [
        replace(c, answers=(replace(c.answers[0], author="maker/alpha-1-20250101"),))
        for c in read_cases(one.folder / "cases.jsonl")
    ]
    (one.folder / "cases.jsonl").write_text("".join(line(case) for case in cases), "utf-8")

    out = one.answer()

    assert all(sorted(a["author"] for a in row["answers"]) == ["alpha-1", "beta-1", "gamma-1"] for row in rows(out))


# -------------------------------------------------------------------------------------- calm self-preference, the suite


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """A studio in which one model is fond of its own answers, its answers, and what the command recorded and told."""
    from contextlib import redirect_stdout
    from io import StringIO

    from tests.plugins.self_preference.conftest import Studio, judge_file, questions
    from tests.servers import wire_server

    folder = tmp_path_factory.mktemp("crossed")
    cases = questions(folder, MANY)
    with wire_server(authors_respond(cases, fond={"alpha-1": 0.85})) as server:
        for model in MARKS:
            judge_file(folder, model, server, "rubric-all")
        one = Studio(folder, server)
        one.answer()
        told = StringIO()
        with redirect_stdout(told):
            options = (f"--cases={folder / 'answers.jsonl'}", "-o", folder / "cross.json")
            cache = f"--cache-file={folder / 'cache.sqlite'}"
            page = f"--report={folder / 'cross.html'}"
            status = one.calm("self-preference", *one.judges, *options, "--perplexity", cache, page)
        yield one, json.loads((folder / "cross.json").read_text("utf-8")), told.getvalue(), status


def test_every_judge_is_put_to_every_author(crossed):
    """The fond one stands out in the corrected figures, the lenient ones do not; the terminal shows a row each."""
    _, body, told, status = crossed
    ratios = {row["judge"]: row["corrected"]["self_preference_ratio"] for row in body["judges"]}

    assert status == 0
    assert ratios["alpha-1"]["low"] > 1.25
    assert all(ratios[model]["low"] < 1 < ratios[model]["high"] < 1.25 for model in ("beta-1", "gamma-1"))
    pull = body["judges"][0]["corrected"][PULL]
    assert shown(told, "alpha-1")["ratio"].startswith(f"{ratios['alpha-1']['value']:.2f} [")
    assert shown(told, "alpha-1")["pull"].startswith(f"{100 * pull['value']:.0f} [")
    assert "alpha-1 prefers its own" in told
    assert len(told.splitlines()) <= 26
    assert body["panel"]["agreement"]["raw"] > 0.8
    assert body["families"] == FAMILIES


def test_every_figure_can_be_computed_again_from_the_record(crossed):
    """The command takes the record in the place of the judges, asks nobody, and writes the same bytes."""
    one, _, _, _ = crossed
    asked = len(one.server.judged)

    status = one.calm("self-preference", one.folder / "cross.json", "-o", one.folder / "again.json")

    assert status == 0
    assert (one.folder / "again.json").read_bytes() == (one.folder / "cross.json").read_bytes()
    assert len(one.server.judged) == asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--sample", "3", "--perplexity"],
            "--sample, --perplexity: has no effect on cross.json, which holds its verdicts",
        ),
        (["lexical"], "a record holds all of its judges, so it stands alone"),
        (["-o", "cross.json"], "cross.json"),
    ],
)
def test_what_makes_no_sense_for_a_record_is_refused(crossed, monkeypatch, capsys, options, message):
    """An option that would ask, a second judge, and writing over the record itself."""
    one, _, _, _ = crossed
    monkeypatch.chdir(one.folder)
    before = (one.folder / "cross.json").read_bytes()

    assert one.calm("self-preference", "cross.json", *options) == 4

    assert message in capsys.readouterr().err
    assert (one.folder / "cross.json").read_bytes() == before


def test_perplexity_comes_from_the_servers_prompt_log_probabilities(crossed):
    """Each judge finds its own answers likelier: its own answers lie at negative differences."""
    one, body, told, _ = crossed

    curves = body["curves"]

    assert set(curves) == set(MARKS)
    assert sum(b["n"] for b in curves["alpha-1"]["own"]) == 2 * MANY
    assert all(b["difference"] < -1 for b in curves["alpha-1"]["own"] if b["n"])
    planted = {author: 0.5 if author == "alpha-1" else 2.0 for author in MARKS}
    items = {case["item"] for case in body["cases"].values()}
    assert body["log_perplexities"]["alpha-1"] == dict.fromkeys(items, planted)
    [row] = [
        r for part in body["parts"] if part["name"] == "perplexity" for r in part["rows"] if r["judge"] == "alpha-1"
    ]
    assert (row["items"], row["own"], row["others"], row["own_less_others"]["value"]) == (MANY, 0.5, 2.0, -1.5)
    assert "alpha-1 -1.50" in told
    page = (one.folder / "cross.html").read_text("utf-8")
    points = sum(bool(b["n"]) for curve in curves.values() for bins in curve.values() for b in bins)
    assert page.count('<line class="bar l') == points


def test_a_panel_finds_how_likely_answers_are_in_the_cache(crossed):
    """
    Of its own answer, planted at 0.5 for it and at 2 for the others, alpha-1 weighs a quarter as much as they do.

    Nothing is asked again but whether each server can say it at all.
    """
    one, _, _, _ = crossed
    case = read_cases(one.folder / "answers.jsonl")[0]
    own = replace(case, answers=tuple(a for a in case.answers if a.author == "alpha-1"), met={})
    first, *others = [str(path) for path in one.judges]
    panel = f"perplexity-panel:{'+'.join(others)}"
    judge = mitigated(read_judge(Path(first), {}), [panel], lambda path: read_judge(Path(path), {}))
    with engine(one.folder / "cache.sqlite", Mode.ON) as running:
        running.admit(judge)
        before = len(one.server.judged)
        running.ask(judge, [(own, 1)])
        asked = ["prompt_logprobs" in seen.body for seen in one.server.judged[before:]]

    assert asked.count(True) == len(one.judges)
    assert re.findall(r"\) ([\d.]+)", str(judge.remarks.agreement[-1])) == ["0.11", "0.44", "0.44"]


def test_the_suite_fails_the_fond_judge_and_passes_the_fair_ones(crossed):
    """Through `pytest`, with the other judges as peers; what was asked before is not asked again."""
    one, body, _, _ = crossed
    before = len(one.server.judged)

    failed, bad, results = suite(one, one.judges[0])
    passed, good, _ = suite(one, one.judges[1])

    assert {name: f["outcome"] for name, f in bad.items()} == {PULL: "FAIL"}, failed
    assert {name: f["outcome"] for name, f in good.items()} == {PULL: "PASS"}, passed
    assert len(one.server.judged) == before
    pull = next(row for row in body["judges"] if row["judge"] == "alpha-1")["corrected"][PULL]
    assert bad[PULL]["value"] == pytest.approx(pull["value"], abs=1e-6)
    assert bad[PULL]["key"] == f"self-preference/{PULL}"
    assert len(bad[PULL]["trials"]) == 3 * MANY
    assert results["extras"]["self_preference"]["schema"] == "calm-self-preference/1"
    assert f"FAIL {PULL} <= 0.08: " in failed


def test_peers_may_be_a_record(crossed):
    """Their verdicts are taken from the file: only the judge itself is asked."""
    one, _, _, _ = crossed
    seen = len(one.server.seen)

    output, found, _ = suite(one, one.judges[1], peers=[one.folder / "cross.json"])

    assert {f["outcome"] for f in found.values()} == {"PASS"}, output
    assert {s.body["model"] for s in one.server.seen[seen:]} == {"beta-1"}


def test_a_record_of_other_answers_is_no_peer(crossed):
    """Nothing is said of these answers; it was left out without a word."""
    one, body, _, _ = crossed
    other = one.folder / "other.json"
    judged = [{**m, "verdicts": {f"x{k}": v for k, v in m["verdicts"].items()}} for m in body["judged"]]
    other.write_text(json.dumps({**body, "judged": judged}), "utf-8")

    output, found, _ = suite(one, one.judges[1], peers=[other])

    assert {f["outcome"] for f in found.values()} == {"NOT_TESTED"}, output
    assert all("alpha-1" in str(f["reason"]) for f in found.values()), found


def test_a_plan_counts_each_answer_and_judge_once(crossed):
    """Of the judge and of its peers; nothing is asked."""
    one, _, _, _ = crossed
    seen = len(one.server.seen)

    planned, _, _ = suite(one, one.judges[0], "--calm-plan")

    for name in ("self-preference ", "self-preference: beta-1", "self-preference: gamma-1"):
        line = next(text for text in planned.splitlines() if text.startswith(name))
        assert line.removeprefix(name).split()[:2] == ["450", "450"]
    assert len(one.server.seen) == seen


def test_limits_waivers_and_a_baseline_hold_for_it_as_for_any_claim(crossed):
    """gate.toml moves the limit; `calm accept` keeps the run, and the next one is held against it."""
    one, _, _, _ = crossed
    gate = one.folder / "gate.toml"
    gate.write_text(
        f'[[limit]]\nkey = "self-preference/{PULL}"\nlimit = 0.9\nreason = "known"\nexpires = 2099-01-01\n', "utf-8"
    )
    waiver = one.folder / "waiver.toml"
    waiver.write_text(gate.read_text("utf-8").replace("limit]]", "waive]]").replace("limit = 0.9\n", ""), "utf-8")

    waived, kept, _ = suite(one, one.judges[0], f"--calm-gate={waiver}")
    output, found, _ = suite(one, one.judges[0], f"--calm-gate={gate}", "--calm-stopping=fixed")
    accepted = one.calm("accept", one.folder / "results.json", "-o", one.folder / "baseline.json")
    again, _, _ = suite(one, one.judges[0], f"--calm-gate={gate}", f"--calm-baseline={one.folder / 'baseline.json'}")

    assert (kept[PULL]["outcome"], bool(kept[PULL]["accepted"])) == ("FAIL", True), waived
    assert found[PULL]["outcome"] == "PASS", output
    assert accepted == 0
    assert "is in the baseline and not in this run" not in again


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cases": "cases.jsonl"}, "the cases name no authors"),
        ({"peers": []}, "there is no other judge to compare with"),
    ],
)
def test_it_is_not_tested_where_the_data_do_not_allow_it(crossed, options, why):
    """The reason says what to do; no call is made."""
    one, _, _, _ = crossed
    seen = len(one.server.judged)

    output, found, _ = suite(one, one.judges[0], **options)

    assert {f["outcome"] for f in found.values()} == {"NOT_TESTED"}, output
    assert why in found[PULL]["reason"]
    assert len(one.server.judged) == seen


def test_a_judge_that_wrote_nothing_is_not_tested(crossed):
    """It is no author; a model of another name is another model."""
    one, _, _, _ = crossed
    path = one.folder / "delta.toml"
    text = (one.folder / "beta-1.toml").read_text("utf-8")
    path.write_text(text.replace("beta-1", "delta-1").replace('"beta"', '"delta"'), "utf-8")

    output, found, _ = suite(one, str(path))

    assert "the judge's model 'delta-1' wrote none of the answers" in found[PULL]["reason"], output


def test_a_cap_leaves_it_incomplete(crossed):
    """What is unfinished is never decided."""
    one, _, _, _ = crossed

    output, found, _ = suite(one, one.judges[0], "--calm-cache=off", "--calm-max-calls=100")

    assert {f["outcome"] for f in found.values()} == {"INCOMPLETE"}, output


def test_wrong_peers_are_told_before_a_call(crossed):
    """A file that is none, and a judge of another kind of verdict."""
    one, _, _, _ = crossed
    other = one.folder / "score.toml"
    other.write_text((one.folder / "beta-1.toml").read_text("utf-8").replace("rubric-all", "score"), "utf-8")

    output, _, _ = suite(one, one.judges[0], peers=[one.folder / "gone.toml", other, one.folder / "cases.jsonl"])

    assert "--calm-peers:" in output
    assert "gone.toml: " in output
    assert "expected verdicts of the judge's kind (rubric), got task='score'; leave it out" in output


@pytest.mark.parametrize("task", ["score", slow("pairwise")])
def test_scores_and_pairs_have_an_excess(studio, task):
    """Two points more on a scale of ten for its own, or half of its pairs: found; fair ones are not accused."""
    one = studio(task=task, count=MANY, alpha_1=0.5)
    one.answer()
    cross = one.folder / "cross.json"
    options = (f"--cases={one.folder / 'answers.jsonl'}", "-o", cross, f"--cache-file={one.folder / 'cache.sqlite'}")

    status = one.calm("self-preference", *one.judges, *options)

    body = json.loads(cross.read_text("utf-8"))
    excess = {row["judge"]: row["corrected"][EXCESS] for row in body["judges"]}
    assert status == 0
    assert excess["alpha-1"]["low"] > 0.08
    assert all(excess[m]["low"] < 0 < excess[m]["high"] <= 0.10 for m in ("beta-1", "gamma-1"))
    assert sum(excess["alpha-1"]["excluded"].values()) > 0  # pairs that are truly equal
    if task == "score":  # CALM divides scores, which begin at 1, and not shares of the scale
        told = body["judges"][0]["published"]
        own, others = (told[name] for name in ("own", "received"))
        assert body["scale"] == {"low": 1, "high": 10}
        assert body["judged"][0]["scale"] == {"low": 1, "high": 10}
        assert told["self_enhancement_error"] == pytest.approx(own / others - 1, abs=1e-6)
    again = json.loads(json.dumps(tables_of(crossed_from(body)).report(0).to_json()))
    assert again["judges"] == body["judges"]


def test_without_truth_the_excess_is_observed_and_nothing_is_claimed(studio):
    """Nobody is accused of preferring what may be better; the reason says so, and what would make it a claim."""
    one = studio(task="pairwise", count=40, alpha_1=0.5)
    cases = [replace(c, criteria=(), met={}, scores={}, better=None) for c in read_cases(one.answer())]
    (one.folder / "unlabelled.jsonl").write_text("".join(line(case) for case in cases), "utf-8")

    output, found, _ = suite(one, one.judges[0], cases="unlabelled.jsonl")

    assert found[EXCESS]["outcome"] == "OBSERVED", output
    assert found[EXCESS]["claim"] is None
    assert found[EXCESS]["low"] > 0.08
    assert found[EXCESS]["reason_code"] == {"kind": "no-truth", "details": []}
    assert "with gold labels it is claimed" in output + found[EXCESS]["reason"]


def test_a_server_without_log_probabilities_is_asked_no_more(studio, capsys):
    """Three answers tell: the other calls would be paid for nothing; the plan says what they would be."""
    respond = authors_respond(bundled("rubric")[:10])

    def silent(messages, body):
        return "ok" if "prompt_logprobs" in body else respond(messages, body)

    one = studio(count=10, respond=silent)
    out = one.answer()
    options = (f"--cases={out}", f"--cache-file={one.folder / 'cache.sqlite'}", "--perplexity")

    planned = one.calm("self-preference", *one.judges, *options, "--plan")
    status = one.calm("self-preference", *one.judges, *options)

    told = capsys.readouterr().out
    asked = [seen for seen in one.server.seen if "prompt_logprobs" in seen.body]
    assert (planned, status, len(asked)) == (0, 0, 3 * len(MARKS))
    assert "at most 30 each (alpha-1, beta-1, gamma-1)" in told
    assert "no perplexity of alpha-1: its server gives no log-probabilities" in told


def test_a_neutral_judge_stands_beside_the_others(studio, capsys):
    """The excess over it alone; of other verdicts than scores there is none, nor of a judge that is not there."""
    one = studio(task="score", count=40, alpha_1=0.5)
    out = one.answer()
    options = (f"--cases={out}", f"--cache-file={one.folder / 'cache.sqlite'}")

    done = one.calm("self-preference", *one.judges, *options, "--outsider=gamma-1")
    refused = one.calm("self-preference", *one.judges, *options, "--outsider=gamma")
    rubric = one.calm("self-preference", "recorded:ifeval/GPT-5", "--outsider=Qwen-4B")

    told = capsys.readouterr()
    assert (done, refused, rubric) == (0, 4, 4)
    assert "over outsider" in told.out
    assert "--outsider: expected the model of one of the judges, got 'gamma'; did you mean 'gamma-1'?" in told.err
    assert "--outsider: expected judges with task = 'score', got judges of rubric verdicts" in told.err


# ---------------------------------------------------------------------------------------- counts that may not vanish


def shown(told, judge):
    """Return the cells of a judge's row in the table of the terminal, by the name of their column."""
    lines = told.splitlines()
    head, row = (next(text for text in lines if text.startswith(f"{first} ")) for first in ("judge", judge))
    return dict(zip(re.split(" {2,}", head), re.split(" {2,}", row), strict=True))


def put(one, *options, cases=None):
    """Put all judges of a studio to the answers; return the status and the record."""
    cross = one.folder / "cross.json"
    cross.unlink(missing_ok=True)
    file = cases or one.folder / "answers.jsonl"
    given = (f"--cases={file}", "-o", cross, f"--cache-file={one.folder / 'cache.sqlite'}")
    status = one.calm("self-preference", *one.judges, *given, *options)
    return status, json.loads(cross.read_text("utf-8")) if cross.exists() else {}


def refusing(count, refuses):
    """Return the answers of a server of which a judge does not judge what `refuses(model, prompt)` says."""
    respond = authors_respond(bundled("rubric")[:count])

    def answer(messages, body):
        model, prompt = str(body["model"]), messages[-1][1]
        return "I would rather not say." if "<answer" in prompt and refuses(model, prompt) else respond(messages, body)

    return answer


@pytest.mark.parametrize("task", ["score", "rubric-all"])
def test_verdicts_that_could_not_be_read_do_not_vanish(studio, capsys, task):
    """On single answers as on pairs: one judge refuses its own answers, another one all; both are told with shares."""

    def refuses(model, prompt):
        return model == "gamma-1" or (model == "beta-1" and MARKS["beta-1"] in prompt)

    one = studio(task=task, count=40, respond=refusing(40, refuses))
    one.answer()
    capsys.readouterr()

    _, body = put(one)

    told, rows_of = capsys.readouterr().out, {row["judge"]: row for row in body["judges"]}
    unread = {judge: (row["published"]["unread"], row["published"]["unread_own"]) for judge, row in rows_of.items()}
    assert unread == {
        "alpha-1": (0, 0),
        "beta-1": (pytest.approx(1 / 3), 1),
        "gamma-1": (1, 1),
    }
    assert [shown(told, judge)["unread"] for judge in rows_of] == ["0", "33", "100"]
    assert "gamma-1 gave no verdict that could be read" in told
    again = json.loads(json.dumps(tables_of(crossed_from(body)).report(0).to_json()))
    assert again["judges"] == body["judges"]


@pytest.mark.parametrize(("task", "figure"), [("score", "score_excess"), ("rubric-all", "overestimation_excess")])
def test_a_judge_with_too_little_data_does_not_take_the_figures_of_the_others(studio, capsys, task, figure):
    """It answers on four questions alone: it has no figure and the reason, and the others go without it."""
    kept = [case.question for case in bundled("rubric")[:4]]

    def refuses(model, prompt):
        return model == "gamma-1" and not any(question in prompt for question in kept)

    one = studio(task=task, count=60, respond=refusing(60, refuses))
    one.answer()

    _, body = put(one)

    rows_of = {row["judge"]: row for row in body["judges"]}
    assert set(rows_of["alpha-1"]["corrected"]) >= {figure}
    assert set(rows_of["beta-1"]["corrected"]) >= {figure}
    assert figure not in rows_of["gamma-1"]["corrected"]
    assert rows_of["gamma-1"]["reasons"][figure]
    left = {reason for judge in ("alpha-1", "beta-1") for reason in rows_of[judge]["corrected"][figure]["excluded"]}
    assert left == {"gamma-1 is not compared with: it gave too few verdicts for an interval"}
    if task == "score":
        assert "gamma-1: excess: none: too few verdicts of 'gamma-1'" in " ".join(capsys.readouterr().out.split())
        assert "gamma-1 is not compared with: it gave too few verdicts for an interval (4)" in render(body, "x.json")


def with_people(one):
    """Add an answer by people to each question of the answers, and return the file."""
    found = []
    for case in read_cases(one.answer()):
        answer = replace(case.answers[0], id="h1", text=f"{case.reference} By hand.", author="human")
        met = {**case.met, "h1": {c.id: verify(c.check, answer.text) for c in case.criteria}}
        tags = {key: value for key, value in case.tags.items() if key != FAMILIES_TAG}
        found.append(replace(case, answers=(*case.answers, answer), met=met, tags=tags))
    path = one.folder / "people.jsonl"
    path.write_text("".join(line(case) for case in found), "utf-8")
    return path


def test_an_author_that_is_no_judge_needs_no_file_of_a_judge(studio, capsys):
    """A family in words, in a file, or unknown; without one the message has the option to add."""
    one = studio(task="score", count=40)
    people = with_people(one)
    toml, table = one.folder / "families.toml", one.folder / "families.csv"
    toml.write_text('[families]\nhuman = "human"\n"someone-else" = "other"\n', "utf-8")
    table.write_text("name,family\nhuman,human\n", "utf-8")
    capsys.readouterr()

    missing, _ = put(one, cases=people)
    refused = capsys.readouterr().err
    bodies = [
        put(one, given, cases=people) for given in ("--family=human=human", f"--families={toml}", f"--families={table}")
    ]
    told = capsys.readouterr().out
    status, without = put(one, "--family=human=unknown", cases=people)
    left = capsys.readouterr().out
    planned = one.calm("self-preference", *one.judges, f"--cases={people}", "--family=human=unknown", "--plan")

    assert missing == 4
    assert "add --family human=human" in refused
    assert "--family '*=unknown'" in refused
    assert [status for status, _ in bodies] == [0, 0, 0]
    assert all(body == bodies[0][1] for _, body in bodies)
    assert bodies[0][1]["families"] == FAMILIES | {"human": "human"}
    assert bodies[0][1]["left_out"] == {}
    assert "Left out" not in told
    assert (status, without["left_out"], without["families"]) == (0, {"human": 40}, FAMILIES)
    assert "human" not in without["matrices"][0]["generators"]
    assert "Left out, as their family is stated as unknown: answers of human (40 cases)" in " ".join(left.split())
    assert planned == 0
    assert "answers of human (40 cases)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--family=hunan=human"],
            "--family: expected the name of an author or a judge, got 'hunan'; did you mean 'human'",
        ),
        (["--family=human"], "--family: expected NAME=FAMILY or a file that ends in .toml or .csv, got 'human'"),
        (["--family=human="], "--family: expected NAME=FAMILY"),
        (["--families=gone.csv"], "gone.csv: expected a file of families"),
        (["--families={folder}/head.csv"], "head.csv:1: expected the columns name,family, got who,what"),
        (["--families={folder}/row.csv"], "row.csv:3: expected a name and its family, got 'human'"),
        (["--families={folder}/form.toml"], "form.toml: expected lines such as"),
        (["--families={folder}/broken.toml"], "broken.toml: line 1: "),
        (["--family=human=human,alpha-1=unknown"], "--family: 'alpha-1' is a judge of unknown family"),
    ],
)
def test_a_family_that_says_nothing_is_refused_before_a_call(studio, capsys, given, message):
    """A typing error would leave the author out, or give it the wrong relatives."""
    one = studio(task="score", count=12)
    people = with_people(one)
    for name, text in {
        "head.csv": "who,what\na,b\n",
        "row.csv": "name,family\na,b\nhuman\n",
        "form.toml": "human = 3\n",
        "broken.toml": "human = \n",
    }.items():
        (one.folder / name).write_text(text, "utf-8")
    judged = len(one.server.judged)
    capsys.readouterr()

    status, _ = put(one, *(text.format(folder=one.folder) for text in given), cases=people)

    assert status == 4
    assert message in capsys.readouterr().err
    assert len(one.server.judged) == judged


def test_the_suite_takes_families_of_authors_that_are_no_judges(studio):
    """Without the option its reason names it; with it the figure is there."""
    one = studio(task="score", count=80)
    people = with_people(one)
    (one.folder / "families.csv").write_text("name,family\nhuman,human\n", "utf-8")

    _, without, _ = suite(one, one.judges[0], cases=people.name)
    output, found, _ = suite(one, one.judges[0], f"--calm-families={one.folder / 'families.csv'}", cases=people.name)
    wrong, _, _ = suite(one, one.judges[0], "--calm-families=human", cases=people.name)

    assert without[PULL]["outcome"] == "NOT_TESTED"
    assert "add --calm-families human=human" in without[PULL]["reason"]
    assert found[PULL]["n"] > 0, output
    assert "--calm-families: expected NAME=FAMILY" in wrong


def test_a_sample_of_the_questions_is_told(studio, capsys):
    """How many there were stands beside how many were asked about."""
    one = studio(task="score", count=40)
    one.answer()

    _, body = put(one, "--sample=30")

    assert "30 of 40 questions (--sample), score verdicts" in capsys.readouterr().out
    assert body["questions"] == {"n": 30, "of": 40}
