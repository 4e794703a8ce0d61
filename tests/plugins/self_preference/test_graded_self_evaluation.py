"""`calm self-preference` for judges of scores, asked in several wordings over real HTTP: every figure by hand."""

import json
import re
from hashlib import sha256

import numpy as np
import pytest
from scipy.stats import ttest_rel

from calm.cases.lines import line
from calm.commands import cli
from calm.core.case import Answer, Case
from tests.servers import wire_server

MODELS = ("alpha-1", "beta-1", "gamma-1")
ITEMS = 12
DIMENSIONS = ("clarity", "depth")


def raw(model, asked, author, item):
    """Return what a model says, from 1 to 5: any number will do, as long as each is known."""
    return 1 + sha256(f"{model}/{asked}/{author}/{item}".encode()).digest()[0] % 5


def respond(messages, body):
    """Answer a prompt such as `good: text 3 of alpha-1`."""
    asked, _, text = messages[-1][1].partition(": ")
    item, author = text.split()[3], text.split()[5]
    return f"[[{raw(str(body['model']), asked, author, int(item))}]]"


@pytest.fixture
def studio(tmp_path):
    """Return a folder with answers and a judge.toml for each model of a server."""
    cases = [
        Case(f"c{i}", f"question {i}", tuple(Answer(m, f"text {i} of {m}", author=m) for m in MODELS))
        for i in range(ITEMS)
    ]
    single = [Case(f"{c.id}-{a.id}", c.question, (a,), tags={"item": c.id}) for c in cases for a in c.answers]
    (tmp_path / "answers.jsonl").write_text("".join(map(line, single)), "utf-8")
    with wire_server(respond) as server:
        for model in MODELS:
            (tmp_path / f"{model}.toml").write_text(
                f'[judge]\nname = "{model}"\ntask = "score"\nfamily = "{model[:-2]}"\n'
                f'[model]\nprovider = "openai"\nmodel = "{model}"\nbase_url = "{server.url}"\n'
                '[prompt]\nuser = "good: {{ question }} {{ answers[0].text }} 1 to 5, [[3]]"\n'
                'negative_user = "bad: {{ question }} {{ answers[0].text }} 1 to 5, [[3]]"\n'
                '[verdict]\nformat = "brackets"\nscale = { low = 1, high = 5, step = 1 }\n',
                "utf-8",
            )
        yield tmp_path


def run(folder, *options):
    """Run the command; return its status and its record."""
    judges = [str(folder / f"{model}.toml") for model in MODELS]
    given = [
        "--cases",
        str(folder / "answers.jsonl"),
        "-o",
        str(folder / "out.json"),
        f"--cache-file={folder / 'cache.sqlite'}",
        *options,
    ]
    status = cli.main(["self-preference", *judges, *given])
    out = folder / "out.json"
    return status, json.loads(out.read_text("utf-8")) if out.exists() else {}


def shares(asked, *, turned=False):
    """Return all scores [judge, author, item], the high end good."""
    found = [[[raw(j, asked, g, i) for i in range(ITEMS)] for g in MODELS] for j in MODELS]
    points = np.array(found, dtype=float)
    return 6 - points if turned else points


def test_both_framings_are_in_one_run(studio, capsys):
    """The scores of the twin are turned back; the figures of both, and their paired difference, are those of scipy."""
    status, body = run(studio, "--framings=both", f"--report={studio / 'out.html'}")

    parts = {part["name"]: part["rows"] for part in body["parts"]}
    good, bad = shares("good"), shares("bad", turned=True)
    assert status == 0
    for framing, values in (("standard", good), ("negative", bad)):
        [row] = [r for r in parts["self_evaluation"] if (r["judge"], r["framing"]) == ("alpha-1", framing)]
        received, given = values[1:, 0].mean(axis=0), values[0, 1:].mean(axis=0)
        assert [row["own"], row["received"], row["given"]] == pytest.approx(
            [values[0, 0].mean(), received.mean(), given.mean()]
        )
        tests = {
            r["figure"]: r for r in parts["self_evaluation_tests"] if (r["judge"], r["framing"]) == ("alpha-1", framing)
        }
        assert tests["received minus given"]["t"] == pytest.approx(ttest_rel(received, given).statistic)
    [row] = [r for r in parts["framing_differences"] if (r["judge"], r["figure"]) == ("alpha-1", "own")]
    assert row["difference"]["value"] == pytest.approx((good - bad)[0, 0].mean())
    assert row["t"] == pytest.approx(ttest_rel(good[0, 0], bad[0, 0]).statistic)
    told, page = capsys.readouterr().out, (studio / "out.html").read_text("utf-8")
    assert "what the framing changes" in told
    assert "what the framing changes" in page
    assert cli.main(["self-preference", str(studio / "out.json"), "-o", str(studio / "again.json")]) == 0
    assert json.loads((studio / "again.json").read_text("utf-8"))["parts"] == body["parts"]
    asked = {(one["model"], one["framing"]): len(one["verdicts"]) for one in body["judged"]}
    assert asked == {(m, f): 3 * ITEMS for m in MODELS for f in ("standard", "negative")}


def test_a_judge_without_a_twin_is_refused(studio, capsys):
    """The message names the key that is missing."""
    path = studio / "beta-1.toml"
    path.write_text(
        path.read_text("utf-8").replace(
            'negative_user = "bad: {{ question }} {{ answers[0].text }} 1 to 5, [[3]]"\n', ""
        ),
        "utf-8",
    )

    status, _ = run(studio, "--framings=both")

    assert status == 4
    assert "--framings both: beta-1 has no inverted twin; give it negative_user" in capsys.readouterr().err


def prompts(folder, *names):
    """Write a prompt for each dimension, and its twin; return the options that name them."""
    told = []
    for name in names:
        for ending in ("", "-bad"):
            text = f"{name}{ending}: {{{{ question }}}} {{{{ answers[0].text }}}} 1 to 5, [[3]]"
            (folder / f"{name}{ending}.txt").write_text(text, "utf-8")
        told.append(f"--dimension={name}={folder / f'{name}.txt'},{folder / f'{name}-bad.txt'}")
    return told


def test_each_dimension_has_its_rows_and_all_have_a_mean(studio, capsys):
    """Two dimensions in both framings: means, tests and framing differences are those of numpy and scipy."""
    status, body = run(studio, "--framings=both", f"--report={studio / 'out.html'}", *prompts(studio, *DIMENSIONS))

    parts = {part["name"]: part["rows"] for part in body["parts"]}
    values = {(d, "standard"): shares(d) for d in DIMENSIONS}
    values |= {(d, "negative"): shares(f"{d}-bad", turned=True) for d in DIMENSIONS}
    for framing in ("standard", "negative"):
        values["mean", framing] = np.mean([values[d, framing] for d in DIMENSIONS], axis=0)
    assert status == 0
    rows = {(r["judge"], r["dimension"], r["framing"]): r for r in parts["self_evaluation"]}
    assert set(rows) == {(m, *key) for m in MODELS for key in values}
    for (dimension, framing), points in values.items():
        row = rows["alpha-1", dimension, framing]
        own, received, given = points[0, 0], points[1:, 0].mean(axis=0), points[0, 1:].mean(axis=0)
        expected = [own.mean(), own.std(ddof=1), received.mean(), given.mean()]
        assert [row[n] for n in ("own", "own_sd", "received", "given")] == pytest.approx(expected)
        tests = {
            r["figure"]: r
            for r in parts["self_evaluation_tests"]
            if (r["judge"], r["dimension"], r["framing"]) == ("alpha-1", dimension, framing)
        }
        assert tests["own minus received"]["t"] == pytest.approx(ttest_rel(own, received).statistic)
        assert tests["own minus given"]["p"] == pytest.approx(ttest_rel(own, given).pvalue)
    changed = {(r["dimension"], r["figure"]): r for r in parts["framing_differences"] if r["judge"] == "alpha-1"}
    good, bad = (values["mean", framing][0, 0] for framing in ("standard", "negative"))
    assert changed["mean", "own"]["t"] == pytest.approx(ttest_rel(good, bad).statistic)
    alpha = body["judges"][0]
    assert alpha["published"]["own"] == pytest.approx(good.mean())
    assert body["scale"] == {"low": 1, "high": 5}
    asked = {(one["model"], one["dimension"], one["framing"]): len(one["verdicts"]) for one in body["judged"]}
    assert asked == {(m, d, f): 3 * ITEMS for m in MODELS for d in DIMENSIONS for f in ("standard", "negative")}
    told, page = capsys.readouterr().out, (studio / "out.html").read_text("utf-8")
    assert all(name in text for name in DIMENSIONS for text in (told, page))
    assert "Asked how bad" in told
    assert cli.main(["self-preference", str(studio / "out.json"), "-o", str(studio / "again.json")]) == 0
    again = json.loads((studio / "again.json").read_text("utf-8"))
    assert (again["parts"], again["judges"]) == (body["parts"], body["judges"])


def test_a_plan_counts_the_calls_of_all_dimensions(studio, capsys):
    """Three judges, three answers to each question, two dimensions, one framing; nothing is asked."""
    clarity, depth = (given.partition(",")[0] for given in prompts(studio, *DIMENSIONS))

    status, body = run(studio, clarity, depth, "--plan")

    assert (status, body) == (0, {})
    told = capsys.readouterr().out
    for row in (f"{model}, {dimension}" for model in MODELS for dimension in DIMENSIONS):
        assert re.search(rf"^{row} +{3 * ITEMS} +{3 * ITEMS} ", told, re.MULTILINE)
    calls = 3 * ITEMS * 6 + len(MODELS)  # one first call to each model
    assert re.search(rf"^total +{calls} ", told, re.MULTILINE)


def test_what_no_dimension_can_be_made_of_is_refused(studio, capsys, subtests):
    """Each message names the dimension and what to give; nothing is asked."""
    (clarity,) = prompts(studio, "clarity")
    alone = clarity.partition(",")[0]
    (studio / "blind.txt").write_text("Was {{ question }} easy? 1 to 5, [[3]]", "utf-8")
    pairs = studio / "pairs.toml"
    text = (studio / "alpha-1.toml").read_text("utf-8").partition("[prompt]")[0]
    pairs.write_text(text.replace("score", "pairwise"), "utf-8")
    files = ["--cases", str(studio / "answers.jsonl")]
    for judge, options, message in [
        ("alpha-1.toml", ["--dimension=clarity=none.txt"], "--dimension clarity: none.txt: cannot be read"),
        ("alpha-1.toml", [alone, alone], "--dimension: 'clarity' is named twice"),
        ("alpha-1.toml", ["--dimension=clarity"], "--dimension: expected NAME=PROMPT[,NEGATIVE_PROMPT], got 'clarity'"),
        ("alpha-1.toml", [alone.replace("clarity=", "mean=", 1)], "'mean' stands for the mean over all dimensions"),
        ("alpha-1.toml", [clarity], "--dimension clarity: only --framings both asks"),
        ("alpha-1.toml", [alone, "--framings=both"], "dimension 'clarity' has no inverted twin"),
        ("alpha-1.toml", [f"--dimension=ease={studio / 'blind.txt'}"], "--dimension ease: the prompt shows no answers"),
        ("pairs.toml", [alone], "--dimension: expected judges with task = 'score', got alpha-1 (pairwise)"),
        ("planted:task=score", [alone], "has no prompt to change, as it is recorded or code"),
        ("recorded:headlines/sonar-reasoning-pro", [alone], "has no prompt to change, as it is recorded or code"),
    ]:
        with subtests.test(message):
            name = str(studio / judge) if judge.endswith(".toml") else judge
            assert cli.main(["self-preference", name, *files, *options]) == 4
            assert message in capsys.readouterr().err
