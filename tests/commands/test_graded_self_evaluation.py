"""`calm self-preference` for judges of scores, asked in several wordings over real HTTP: every figure by hand."""

import json
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
