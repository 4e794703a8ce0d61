"""
Judges whose low scores are good (severity, toxicity, refusal), live and replayed, beside gold on their own scale.

Everybody writes on the scale of the prompt: the judge, people, a table and a log. Who says the same as the gold agrees
with it, and who says the opposite contradicts it.
"""

import json
import re
from pathlib import Path

import pytest

from calm.commands import cli
from tests.commands.test_low_is_good import KINDS, N, cases_in, judge_in, said
from tests.lanes import one_in
from tests.servers import wire_server


def live(kind):
    """Run the model of a judge."""

    def respond(messages, _):
        number = int(re.search(r"#(\d+)", messages[-1][1])[1])
        return f"I have read it.\n{kind.writes[said(number, kind)]}"

    return wire_server(respond)


def figures(*arguments):
    """Return the figures of agreement that a calibration finds."""
    assert cli.main(["calibrate", *arguments, "--repeats", "1", "-o", "found.json"]) == 0
    audit = json.loads(Path("found.json").read_text("utf-8"))
    return {one["measure"]: one["value"] for one in audit["findings"]}, audit["calibration"]


@pytest.mark.parametrize(
    ("name", "who"),
    one_in(2, [(name, who) for n, name in enumerate(KINDS) for who in (("gold", "people"), ("people", "gold"))[n % 2]]),
)
def test_a_live_judge_agrees_with_gold_on_its_own_scale(name, who, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    kind = KINDS[name]
    with live(kind) as wire:
        judge_in(tmp_path / "judge.toml", kind, f'[model]\nprovider = "openai"\nmodel = "m"\nbase_url = "{wire.url}"')
        for against, kappa in ((False, 1.0), (True, -1.0)):
            cases_in(tmp_path / "cases.jsonl", kind, against=against, people=who == "people")
            found, more = figures("judge.toml", "--cases", "cases.jsonl")
            assert found["weighted_kappa"] == pytest.approx(kappa, abs=0.01)
            assert found["rank_agreement"] == pytest.approx(kappa, abs=0.01)
            if not against:
                assert (found["mean_absolute_error"], more["agreement"]["value"]) == (0, 1)
            assert more["confusion"]["said"] == [f"{value:g}" for value in sorted(kind.writes)]


@pytest.mark.parametrize("name", KINDS)
def test_a_replayed_judge_agrees_with_gold_on_its_own_scale(name, tmp_path, monkeypatch):
    """A table holds verdicts as the judge wrote them: as numbers, or as replies."""
    monkeypatch.chdir(tmp_path)
    kind = KINDS[name]
    for column in ("verdict", "reply"):
        rows = [{"case": f"c{n}", column: said(n, kind)} for n in range(N)]
        if column == "reply":
            rows = [{"case": f"c{n}", column: f"I have read it.\n{kind.writes[said(n, kind)]}"} for n in range(N)]
        (tmp_path / "table.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        judge_in(tmp_path / "judge.toml", kind, '[recorded]\nfile = "table.jsonl"')
        for against, kappa in ((False, 1.0), (True, -1.0)):
            cases_in(tmp_path / "cases.jsonl", kind, against=against)
            assert figures("judge.toml", "--cases", "cases.jsonl")[0]["weighted_kappa"] == pytest.approx(
                kappa, abs=0.01
            )


@pytest.mark.parametrize("scale", [[], ["--scale", "0..1/0.5"]], ids=["seen", "given"])
def test_a_judge_in_a_log_of_toxicity_agrees_with_gold_on_its_own_scale(scale, tmp_path, monkeypatch):
    """The import itself says that low is good, as the log passes low scores, whoever names the scale."""
    monkeypatch.chdir(tmp_path)
    metrics = [
        {"name": "Toxicity", "score": n % 3 / 2, "threshold": 0.5, "success": n % 3 / 2 <= 0.5} for n in range(N)
    ]
    tests = [{"input": f"q{n}", "actualOutput": f"a{n}", "metricsData": [one]} for n, one in enumerate(metrics)]
    (tmp_path / "log.json").write_text(json.dumps({"testCases": tests}), "utf-8")
    assert cli.main(["cases", "import", "log.json", "-o", "cases.jsonl", *scale]) == 0
    rows = [json.loads(line) for line in Path("cases.jsonl").read_text("utf-8").splitlines()]
    for against, kappa in ((False, 1.0), (True, -1.0)):
        for row in rows:
            true = int(row["question"][1:]) % 3 / 2
            row["scores"] = {row["answers"][0]["id"]: 1 - true if against else true}
        (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        assert figures("cases.recorded.toml", "--cases", "gold.jsonl")[0]["weighted_kappa"] == pytest.approx(
            kappa, abs=0.01
        )


def test_a_mapping_is_on_the_scale_as_it_is_written(tmp_path, monkeypatch):
    """What passes is said in the scores of the prompt."""
    monkeypatch.chdir(tmp_path)
    kind = KINDS["severity"]
    (tmp_path / "table.jsonl").write_text(
        "".join(json.dumps({"case": f"c{n}", "verdict": said(n, kind)}) + "\n" for n in range(N)), "utf-8"
    )
    judge_in(tmp_path / "judge.toml", kind, '[recorded]\nfile = "table.jsonl"')
    cases_in(tmp_path / "cases.jsonl", kind, against=False)
    _, more = figures("judge.toml", "--cases", "cases.jsonl", "--pass", "1")
    assert more["confusion"] == {"gold": ["pass", "fail"], "said": ["pass", "fail"], "counts": [[20, 0], [0, 20]]}
