"""Arena-like votes, from the import to the figures: every figure equals a count that knows nothing of calm."""

import csv
import json
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import NormalDist, fmean

import pytest

from calm.cases import read_cases
from calm.commands import cli
from calm.core.annotations import gold_of
from tests.commands.test_arena_rows import MODELS
from tests.inside import run_inside
from tests.lanes import slow

QUESTIONS = 60
JUDGES = '''
"""Judges that take the answer of the higher quality, and add something for their own answers and for the first slot."""

import re
from hashlib import sha256
from types import SimpleNamespace

OWN = {"gpt-9": 25, "claude-9": 0, "qwen-9": 0, "llama-9": 3}


def worth(judge, text, slot):
    """Return what a judge finds a text worth."""
    noise = sha256(f"{judge} {text}".encode()).digest()[0] % 21 - 10
    return int(re.search("quality ([0-9]+)", text)[1]) + noise + OWN[judge] * text.startswith(judge) + 4 * (slot == 0)


def winner(judge, first, second):
    """Return 0 or 1, or "tie"."""
    a, b = worth(judge, first, 0), worth(judge, second, 1)
    return "tie" if a == b else int(b > a)


def made(model):
    def judge(case):
        said = winner(model, *(answer.text for answer in case.answers))
        return said if said == "tie" else case.answers[said].id

    judge.name, judge.quick = model, True
    return judge


judges = SimpleNamespace(**{model.partition("-")[0]: made(model) for model in OWN})
'''


def votes(seed=5, numbers=(1, 1, 2, 3, 5), close=0, questions=QUESTIONS):
    """
    Return votes on pairs: (question, (model, text) shown first, (model, text) shown second, winner).

    A model's answer meets those of several others, a third of the models have two answers to a question, a pair has one
    of these `numbers` of votes in either order, and some are of a model with itself. People tend to call a tie what
    differs by less than `close`.
    """
    rng = Random(seed)
    found = []
    for number in range(questions):
        question = f"What is thing {number}?"
        answers = [
            (model, f"{model} take {take} on {number}: quality {rng.randrange(30, 70)}")
            for model in MODELS
            for take in range(1 + (rng.random() < 1 / 3))
        ]
        pairs = list(combinations(answers, 2))
        for a, b in rng.sample(pairs, min(len(pairs), 7)):
            more = int(b[1][-2:]) - int(a[1][-2:])
            better = "tie" if abs(more) < close else "ab"[more > 0]
            for _ in range(rng.choice(numbers)):
                said = rng.choice((better, better, better, "ab", "tie"))
                said = rng.choice(said) if said == "ab" else said
                if rng.random() < 0.5:
                    found.append((question, a, b, said))
                else:
                    found.append((question, b, a, {"a": "b", "b": "a"}.get(said, said)))
    rng.shuffle(found)
    return found


def as_mtbench(folder, given):
    """Write the votes in the format of MT-bench, and return the options that import it."""
    rows = [
        {
            "question_id": question,
            "model_a": a[0],
            "model_b": b[0],
            "winner": {"a": "model_a", "b": "model_b"}.get(said, said),
            **{
                f"conversation_{side}": [
                    {"role": "user", "content": question},
                    {"role": "assistant", "content": one[1]},
                ]
                for side, one in (("a", a), ("b", b))
            },
        }
        for question, a, b, said in given
    ]
    (folder / "votes.json").write_text(json.dumps(rows), "utf-8")
    return ["votes.json", "--format=mtbench"]


def as_table(folder, given):
    """Write the votes as a table with an id for each, and return the options that import it."""
    with (folder / "votes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "prompt", "model_a", "response_a", "model_b", "response_b", "winner"])
        for number, (question, a, b, said) in enumerate(given):
            writer.writerow([number, question, *a, *b, said])
    pairs = ("question=prompt", "answer_a=response_a", "answer_b=response_b", "author_a=model_a", "author_b=model_b")
    return ["votes.csv", *(f"--map={pair}" for pair in pairs), "--map=better=winner"]


def counted(given, winner):
    """Return the figures of each judge, counted from the votes and the judges' rule alone."""
    said: dict[object, Counter] = {}
    for question, a, b, vote in given:
        name = {"a": a, "b": b}.get(vote, "tie")
        said.setdefault((question, frozenset((a, b))), Counter())[name] += 1
    figures = {}
    for judge in MODELS:
        favour = {True: {"own": [], "out": []}, False: {"own": [], "out": []}}
        outcome = Counter()
        equal = []
        for (_, pair), count in said.items():
            own = [one for one in pair if one[0] == judge]
            other = [one for one in pair if one[0] != judge]
            if len(own) != 1:
                continue
            (best, most), total = count.most_common(1)[0], count.total()
            gold = best if 2 * most > total else None

            def share(name, mine=own[0], theirs=other[0]):
                orders = winner(name, mine[1], theirs[1]), winner(name, theirs[1], mine[1])
                return fmean(0.5 if w == "tie" else w == place for place, w in enumerate(orders))

            found = share(judge)
            outcome[gold if gold in (None, "tie") else gold == own[0], found] += 1
            outcome["all", found] += 1
            equal += [2 * found - 1] if gold == "tie" else []
            if gold in (None, "tie"):
                continue
            favour[gold == own[0]]["own"].append(found)
            favour[gold == own[0]]["out"].append(fmean(share(m) for m in MODELS if m not in (judge, other[0][0])))
        total = sum(n for (gold, _), n in outcome.items() if gold == "all")
        recall = [
            outcome[side, float(side)] / (outcome[side, 1.0] + outcome[side, 0.0]) for side in (True, False)
        ]  # of the pairs that the judge decided
        figures[judge] = {
            "own": outcome["all", 1.0] / total,
            "other": outcome["all", 0.0] / total,
            "gap": recall[0] - recall[1],
            "pull": fmean(equal),
            "excess": excess(*(fmean(favour[side][who]) for who in ("own", "out") for side in (True, False))),
        }
    return figures


def gaps(given, winner, rule):
    """Return the gap, and both parities with their n, of each judge, by a rule of votes: from the votes alone."""
    said: dict[object, list] = {}
    for question, a, b, vote in given:
        said.setdefault((question, frozenset((a, b))), []).append({"a": a, "b": b}.get(vote))
    figures = {}
    for judge in MODELS:
        picks, rows = [], []
        for (_, pair), people in said.items():
            own = [one for one in pair if one[0] == judge]
            if len(own) != 1:
                continue
            [mine], [other] = own, pair - {*own}
            orders = {
                (a, b)[w] if (w := winner(judge, a[1], b[1])) != "tie" else None
                for a, b in ((mine, other), (other, mine))
            }
            pick = orders.pop() if len(orders) == 1 else None
            numbers = sorted(((people.count(one), one) for one in (mine, other, None)), key=lambda n: -n[0])
            most = {"majority": len(people) / 2, "plurality": numbers[1][0]}
            gold = people if rule == "each" else [numbers[0][1]] if numbers[0][0] > most[rule] else []
            picks += [pick == mine] if pick else []
            rows += [(label == mine, pick == mine) for label in gold if label and pick]
        right = {side: [took == side for won, took in rows if won == side] for side in (True, False)}
        figures[judge] = {
            "gap": fmean(right[True]) - fmean(right[False]),
            "parity": 2 * fmean(picks) - 1,
            "n_parity": len(picks),
            "parity_labelled": 2 * fmean(took for _, took in rows) - 1,
            "n_parity_labelled": len(rows),
        }
    return figures


def excess(won, lost, out_won, out_lost):
    """Return what a judge gives its own beyond outsiders that are as often right as it is (one noise for both)."""
    normal = NormalDist()
    right = [normal.inv_cdf(out_won), normal.inv_cdf(1 - out_lost)]
    low, high = 0.0, 20.0
    for _ in range(100):
        middle = (low + high) / 2
        reached = fmean(normal.cdf(middle * z) for z in right) >= (won + 1 - lost) / 2
        low, high = (low, middle) if reached else (middle, high)
    fair = normal.cdf(high * right[0]), 1 - normal.cdf(high * right[1])
    return fmean((won - fair[0], lost - fair[1]))


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """A folder with the judges, and what they say."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arena_judges.py").write_text(JUDGES, "utf-8")
    rule: dict[str, object] = {}
    exec(compile(JUDGES, "arena_judges.py", "exec"), rule)
    yield tmp_path, rule["winner"]
    sys.modules.pop("arena_judges", None)


SPECS = [f"arena_judges:judges.{model.partition('-')[0]}" for model in MODELS]


@pytest.mark.parametrize("write", [as_mtbench, as_table], ids=["mtbench", "table"])
def test_figures_of_imported_votes_are_those_of_a_plain_count(arena, write):
    """No two pairs become one: shares, gap and excess of each judge are the counted ones."""
    folder, winner = arena
    given = votes()
    expected = counted(given, winner)

    imported = cli.main(["cases", "import", *write(folder, given), "-o", "cases.jsonl"])
    asked = cli.main(["self-preference", *SPECS, "--cases=cases.jsonl", "-o", "out.json"])

    assert (imported, asked) == (0, 0)
    body = json.loads(Path("out.json").read_text("utf-8"))
    found = {
        row["judge"]: {
            **{name: row["published"][name] for name in ("own", "other", "gap")},
            "excess": row["corrected"]["self_preference_excess"]["value"],
            "pull": row["corrected"]["own_pull"]["value"],
        }
        for row in body["judges"]
    }
    assert {judge: pytest.approx(figures, abs=1e-9) for judge, figures in expected.items()} == found
    assert expected["gpt-9"]["excess"] > 0.15 > 0.05 > expected["qwen-9"]["excess"]


@pytest.mark.parametrize("write", [as_mtbench, slow(as_table)], ids=["mtbench", "table"])
def test_votes_make_a_majority_a_plurality_or_each_a_label(arena, write):
    """One option for the import and for labels: the figures are counted ones; a record gives all of them, unasked."""
    folder, winner = arena
    given = votes(numbers=(1, 2, 4, 5, 7), questions=20)
    option = write(folder, given)
    rules = ("majority", "plurality", "each")
    expected = {rule: gaps(given, winner, rule) for rule in rules}

    for rule in rules:
        cli.main(["cases", "import", *option, f"--votes={rule}", "-o", f"{rule}.jsonl"])
    given = [*SPECS, "--cases=each.jsonl"], ["majority.json", "--votes=plurality"], ["majority.json", "--votes=each"]
    runs = [["self-preference", *words, "-o", f"{rule}.json"] for words, rule in zip(given, rules, strict=True)]

    assert [cli.main(run) for run in runs] == [0, 0, 0]
    for rule in rules:
        body = json.loads(Path(f"{rule}.json").read_text("utf-8"))
        [table] = [part["rows"] for part in body["parts"] if part["name"] == "opportunity"]
        rows = {row["judge"]: row for row in table if row["who"] == "judge"}
        for row in body["judges"]:
            assert row["published"]["gap"] == pytest.approx(expected[rule][row["judge"]]["gap"])
        for judge, figures in expected[rule].items():
            found = {
                n: rows[judge][n]["value"] if isinstance(rows[judge][n], dict) else rows[judge][n] for n in figures
            }
            assert found == pytest.approx(figures)
        for case, labelled in zip(read_cases(f"{rule}.jsonl"), read_cases("each.jsonl"), strict=True):
            assert case.better == gold_of(labelled.annotations.values(), votes=rule).better
    assert len({expected[rule]["gpt-9"]["gap"] for rule in rules}) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["cases", "import", "votes.json", "--format=ifeval", "--votes=each", "-o", "x.jsonl"],
        ["self-preference", *SPECS, "--cases=cases.jsonl", "--votes=each"],
        ["self-preference", "recorded:headlines/deepseek-chat", "--votes=plurality"],
    ],
)
def test_a_rule_without_votes_is_refused(arena, capsys, words):
    """It would do nothing; the message names the option."""
    folder, _ = arena
    cli.main(["cases", "import", *as_mtbench(folder, votes(questions=1)), "-o", "cases.jsonl"])

    assert cli.main(words) == 4
    assert "--votes: expected" in capsys.readouterr().err


def test_the_suite_fails_a_judge_of_imported_votes_that_prefers_its_own(arena):
    """It takes its own answer of those that people call equal; the value is the counted one."""
    folder, winner = arena
    given = votes(close=10)
    cli.main(["cases", "import", *as_mtbench(folder, given), "-o", "cases.jsonl"])
    peers = f"--calm-peers={','.join(SPECS[1:])}"
    command = ["-q", "-p", "no:cacheprovider", "--pyargs", "calm.suites.test_self_preference"]
    options = [f"--calm-judge={SPECS[0]}", "--calm-cases=cases.jsonl", peers, "--calm-results=results.json"]

    done = run_inside(folder, [*command, *options])

    assert done.returncode == 1, done.stdout
    finding = json.loads(Path("results.json").read_text("utf-8"))["findings"][0]
    assert finding["outcome"] == "FAIL"
    assert finding["value"] == pytest.approx(counted(given, winner)["gpt-9"]["pull"], abs=1e-6)


def test_tables_of_verdicts_stand_for_the_judges_that_gave_them(arena):
    """The same figures from a file for each judge, with no judge to ask; the file's name is the author's."""
    folder, winner = arena
    given = votes()
    cli.main(["cases", "import", *as_mtbench(folder, given), "-o", "cases.jsonl"])
    specs = []
    for model in MODELS:
        with Path(f"{model}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["case", "order", "verdict"])
            for case in read_cases("cases.jsonl", task="pairwise"):
                for order in (case.answers, case.answers[::-1]):
                    said = winner(model, *(answer.text for answer in order))
                    verdict = said if said == "tie" else order[said].id
                    writer.writerow([case.id, json.dumps([answer.id for answer in order]), verdict])
        specs.append(f"recorded:{model}.csv")

    statuses = [
        cli.main(["self-preference", *judges, "--cases=cases.jsonl", "-o", out])
        for judges, out in ((specs, "tables.json"), (SPECS, "judges.json"))
    ]

    first, second = (json.loads(Path(name).read_text("utf-8")) for name in ("tables.json", "judges.json"))
    assert statuses == [0, 0]
    assert first["judges"] == second["judges"]
    assert [one["verdicts"] for one in first["judged"]] == [one["verdicts"] for one in second["judged"]]
