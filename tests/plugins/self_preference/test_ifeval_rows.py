"""IFEval-like rows, from the import to a page in three commands, with judges in Python of all four shapes."""

import json

import pytest

from calm.commands import cli
from tests.commands.test_ifeval_rows import MODELS, row

JUDGES = '''
"""Judges that see every comma in the texts of others, and none in their own."""

from types import SimpleNamespace


def met(judge, answer, criterion):
    if "no_comma" in criterion.id:
        return "," not in answer.text or answer.text.startswith(judge)
    return len(answer.text.split()) >= 6


def made(model, task):
    def judge(case):
        counts = [sum(met(model, answer, c) for c in case.criteria) for answer in case.answers]
        if task == "pairwise":
            a, b = counts
            return "tie" if a == b else case.answers[int(b > a)].id
        if task == "points":
            return counts[0] / len(case.criteria)
        return {c.id: met(model, case.answers[0], c) for c in case.criteria}

    judge.name, judge.quick, judge.task = model, True, task
    judge.reads = ("question", "answers", "criteria")
    return judge


def three(task):
    return [made(model, task) for model in ("gpt-9", "qwen-9", "llama-9")]


gpt_all, qwen_all, llama_all = three("rubric-all")
gpt_points, qwen_points, llama_points = three("points")
gpt_pairs, qwen_pairs, llama_pairs = three("pairwise")
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the rows, the cases that the first command made of them, and the judges."""
    there = tmp_path_factory.mktemp("rows")
    (there / "rows.jsonl").write_text("".join(json.dumps(row(n)) + "\n" for n in range(24)), "utf-8")
    (there / "comma_judges.py").write_text(JUDGES, "utf-8")
    assert cli.main(["cases", "import", f"{there}/rows.jsonl", "--format=ifeval", "-o", f"{there}/cases.jsonl"]) == 0
    return there


def judged(folder, monkeypatch, shape, *options):
    """Let the judges of a shape judge all answers; return the rows of the tables by name, and their reasons."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    out = folder / f"{shape}.json"
    judges = [f"comma_judges:{name}_{shape}" for name in ("gpt", "qwen", "llama")]
    files = (f"--cases={folder}/cases.jsonl", "-o", str(out))
    assert cli.main(["self-preference", *judges, *files, *options]) in (0, 1)
    body = json.loads(out.read_text("utf-8"))
    return {part["name"]: part for part in body["parts"]}


def lost(model):
    """Return the comparisons that a model loses by the truth: its answer has a comma and the other's has none."""
    comma = {m: {n for n in range(24) if n % step == 0} for step, m in enumerate(MODELS, start=2)}
    return {(n, other) for other in MODELS if other != model for n in comma[model] - comma[other]}


@pytest.mark.parametrize(("shape", "task"), [("all", "rubric-all"), ("points", "points"), ("pairs", "pairwise")])
def test_over_estimation_of_oneself_alone_is_infinite_and_said(folder, monkeypatch, shape, task):
    """Each judge ties all comparisons that it lost, and is right on all others: no ratio, and MIPA by count."""
    found = judged(folder, monkeypatch, shape)

    rows = {line["judge"]: line for line in found["hspp"]["rows"]}
    for model in MODELS:
        assert rows[model]["shape"] == task
        assert rows[model]["hspp_instance_self"] is None
        # its own comma is unseen, so it ties what it lost, and beats whom it tied with
        both = sum(1 for n in range(24) for o in MODELS if o != model and _both(model, o, n))
        assert rows[model]["mipa"] == pytest.approx(1 - (len(lost(model)) + both) / (3 * 24))
    assert "the ratio has no denominator" in found["hspp"]["reason"]
    assert [line["l2t_self"] for line in found["loss_shares"]["rows"]] == [1.0, 1.0, 1.0]


def _both(model, other, number):
    steps = {m: step for step, m in enumerate(MODELS, start=2)}
    return number % steps[model] == 0 and number % steps[other] == 0


def test_without_truth_the_other_judges_are_the_reference(folder, monkeypatch):
    """Nobody knows whether the commas are there, but the others see them: MRA is one less the share of own commas."""
    text = (folder / "cases.jsonl").read_text("utf-8")
    bare = [json.loads(line) for line in text.splitlines()]
    for case in bare:
        for criterion in case["criteria"]:
            criterion.pop("check", None)
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in bare), "utf-8")
    try:
        found = judged(folder, monkeypatch, "all")
    finally:
        (folder / "cases.jsonl").write_text(text, "utf-8")

    rows = {line["judge"]: line for line in found["hspp"]["rows"]}
    assert {line["reference"] for line in rows.values()} == {"the other judges"}
    assert found["hspp"]["reason"].startswith("no answer has a known truth")
    # of 144 verdicts gpt-9 misses its own 12 commas; two others disagree on each other's commas, and a tie is not met
    assert rows["gpt-9"]["mra"] == pytest.approx(1 - (12) / 144)


def test_a_page_comes_from_the_record_with_slices_and_a_committee(folder, monkeypatch):
    """The third command: the axes are the parts of the instructions' names, the lengths are in the record."""
    judged(folder, monkeypatch, "all")

    options = ["--slices=axis,length", "--committee=all", "--report", "page.html"]
    status = cli.main(["self-preference", str(folder / "all.json"), *options, "-o", "again.json"])

    page = (folder / "page.html").read_text("utf-8")
    parts = {part["name"]: part["rows"] for part in json.loads((folder / "again.json").read_text("utf-8"))["parts"]}
    assert status in (0, 1)
    assert {line["slice"] for line in parts["slices"] if line["by"] == "axis"} == {"punctuation", "length_constraints"}
    assert len({line["slice"] for line in parts["slices"] if line["by"] == "length"}) == 2
    # two of three judges see each comma, so the committee is always right
    assert [line["mra_committee"] for line in parts["committee"]] == [1.0, 1.0, 1.0]
    assert "Committees by size" in page
