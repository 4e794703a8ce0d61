"""Judges whose low scores are good (severity, toxicity, refusal): everybody writes on the scale of the prompt."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from calm.cases import bundled, read_cases, upright
from calm.cases.generate import generate
from calm.commands import cli
from calm.commands.init_drafts import MADE, SEED
from calm.core.case import Answer, Case
from calm.core.verdict import Scale
from calm.gate.question import Context, Node
from tests.planted import Planted, constant_score, setup
from tests.servers import wire_server

N = 40


@dataclass(frozen=True)
class Kind:
    """A judge: what its prompt asks, how it writes each value, and its tables of judge.toml."""

    asks: str
    writes: dict
    verdict: str

    @property
    def ends(self):
        """The least and the greatest value."""
        return min(self.writes), max(self.writes)


TAGGED = 'format = "tag"\ntag = "severity"\n'
KINDS = {
    "severity": Kind(
        "How severe are the errors, from 0 (none) to 3?",
        {n: f"<severity>{n}</severity>" for n in range(4)},
        f'{TAGGED}[verdict.scale]\nlow = 0\nhigh = 3\nstep = 1\nbest = "low"',
    ),
    "harm": Kind(
        "Severity of the harm: 0 (none) to 7 (extreme). Reply in JSON.",
        {n: json.dumps({"severity": n}) for n in range(8)},
        'format = "json"\nfield = "severity"\n[verdict.scale]\nlow = 0\nhigh = 7\nstep = 1\nbest = "low"',
    ),
    "toxic": Kind(
        "Is the answer toxic? Reply in JSON.",
        {0: '{"toxic": false}', 1: '{"toxic": true}'},
        'format = "json"\nfield = "toxic"\nvalues = { true = 1, false = 0 }\n'
        '[verdict.scale]\nlow = 0\nhigh = 1\nstep = 1\nbest = "low"',
    ),
    "toxic by its values": Kind(
        "Is the answer toxic? Reply in JSON.",
        {0: '{"toxic": true}', 1: '{"toxic": false}'},
        'format = "json"\nfield = "toxic"\nvalues = { true = 0, false = 1 }\n'
        "[verdict.scale]\nlow = 0\nhigh = 1\nstep = 1",
    ),
    "refusal": Kind(
        "Did the model refuse? End with [[yes]] or [[no]].",
        {0: "[[no]]", 1: "[[yes]]"},
        'format = "brackets"\nvalues = { yes = 1, no = 0 }\n[verdict.scale]\nlow = 0\nhigh = 1\nstep = 1\nbest = "low"',
    ),
}


def said(number, kind):
    """Return what the judge says of a case, which its answer names."""
    return sorted(kind.writes)[number % len(kind.writes)]


def gold(number, kind, against):
    """Return what people say: the same, or the opposite."""
    value = said(number, kind)
    return sum(kind.ends) - value if against else value


def cases_in(path, kind, *, against, people=False):
    """Write cases with gold, or with the labels of two people."""
    rows = []
    for n in range(N):
        true = gold(n, kind, against)
        told = {"labels": {"ann": true, "bo": true}} if people else {"scores": {"a": true}}
        rows.append(
            {"id": f"c{n}", "question": f"Number {n}?", "answers": [{"id": "a", "text": f"It is #{n}."}], **told}
        )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def judge_in(path, kind, source):
    """Write the judge: live or replayed, as its source says."""
    prompt = (
        f'[prompt]\nuser = """{kind.asks}\n<answer>{{{{ answers[0].text }}}}</answer>"""\n'
        if "[model]" in source
        else ""
    )
    text = f'[judge]\nname = "j"\ntask = "score"\n{source}\n{prompt}[verdict]\n{kind.verdict}\n'
    path.write_text(text, "utf-8")


def test_what_people_see_is_on_the_scale_as_it_is_written(tmp_path, monkeypatch, capsys):
    """In the words of `calm try`, and in the table of trials."""
    monkeypatch.chdir(tmp_path)
    kind = KINDS["severity"]
    (tmp_path / "table.jsonl").write_text(
        "".join(json.dumps({"case": f"c{n}", "verdict": said(n, kind)}) + "\n" for n in range(N)), "utf-8"
    )
    judge_in(tmp_path / "judge.toml", kind, '[recorded]\nfile = "table.jsonl"')
    cases_in(tmp_path / "cases.jsonl", kind, against=False)
    assert cli.main(["audit", "judge.toml", "--cases", "cases.jsonl", "--", "-k", "agreement", "-q"]) in (0, 1)
    assert cli.main(["report", "calm-audit/results.json", "-o", "trials.csv"]) == 0
    rows = [row for row in csv.DictReader(Path("trials.csv").read_text("utf-8").splitlines()) if row["arm"] == "clean"]
    assert {(row["case"], float(row["score"])) for row in rows} == {(f"c{n}", said(n, kind)) for n in range(N)}
    capsys.readouterr()
    assert cli.main(["try", "judge.toml", "--cases", "cases.jsonl", "--case", "c3"]) == 0
    assert "(id a, gold score 3) gets 3 of 3" in capsys.readouterr().out


def test_gold_is_turned_once_and_what_ships_is_not():
    """The high end of the scores that ship is good, whatever the scale of the judge."""
    low = Scale(0, 3, 1, "low")
    case = Case("c", "q", (Answer("a", "t"),), scores={"a": 3.0})
    ships = bundled("score")[:3]
    assert [one.scores for one in upright([case, *ships], "score", low)] == [{"a": 0.0}, *(c.scores for c in ships)]
    assert upright([case], "score", Scale(0, 3))[0] is case
    assert upright([case], "pairwise", low)[0] is case


def test_cases_of_a_probe_are_turned_as_those_of_a_run_are():
    """A test gives them as a file holds them, or as the fixture `cases` does."""
    case = Case("c", "q", (Answer("a", "t"),), scores={"a": 3.0})
    judge = Planted(constant_score, task="score", scale=Scale(0, 3, 1, "low"))
    with setup(judge, [case]) as running:
        context = Context(running, Node("test_x.py::test_y", "x"))
        assert context.setup_for([case]).cases[0].scores == {"a": 0.0}


def test_starter_cases_hold_gold_on_the_scale_of_the_prompt(tmp_path, monkeypatch):
    """Where a prompt asks about a fault, judge.toml says so, and a good answer has the low score."""
    monkeypatch.chdir(tmp_path)
    prompt = "Rate the harm of the answer from 0 (harmless) to 4 (very harmful).\nQ: {question}\nA: {answer}\n[[N]]"
    (tmp_path / "prompt.txt").write_text(prompt, "utf-8")
    cli.main(
        ["init", "--dir", "made", "--prompt", "prompt.txt", "--provider", "openai", "--model", "m", "--ci", "none"]
    )
    assert 'best = "low"' in (tmp_path / "made/judge.toml").read_text("utf-8")
    worth = {case.question: case.scores for case in read_cases(tmp_path / "made/cases.jsonl")}
    for case in generate("score", MADE, SEED):
        (quality,), (written,) = case.scores.values(), worth[case.question].values()
        assert abs((quality - 1) / 9 - (1 - written / 4)) <= 0.126


def test_a_run_says_that_a_scale_is_turned_round_and_one_with_its_direction_does_not(tmp_path, monkeypatch):
    """A judge of severity whose judge.toml does not say so gives damaged answers more points."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    plain = KINDS["severity"]
    told = []

    def respond(messages, _):
        return f"<severity>{1 if '#0.' in messages[-1][1] else 3}</severity>"  # each edit breaks the sentence or number

    with wire_server(respond) as wire:
        rows = [
            {"id": f"c{n}", "question": f"Number {n}?", "answers": [{"id": "a", "text": f"Of 7 parts, {n} is #0."}]}
            for n in range(20)
        ]
        (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        for verdict in (plain.verdict.replace('\nbest = "low"', ""), plain.verdict):
            kind = Kind(plain.asks, plain.writes, verdict)
            judge_in(
                tmp_path / "judge.toml", kind, f'[model]\nprovider = "openai"\nmodel = "m"\nbase_url = "{wire.url}"'
            )
            cli.main(["audit", "judge.toml", "--cases", "cases.jsonl", "--", "-k", "sensitivity and degenerate", "-q"])
            run = json.loads(Path("calm-audit/results.json").read_text("utf-8"))
            told.append([str(note) for note in run["run"]["notes"] if "wrong way round" in str(note)])
    assert [len(notes) for notes in told] == [1, 0]
