"""Rows as an arena publishes them, in one command: every count made here by hand."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random

from calm.cases import read_cases
from calm.commands.cli import main

MODELS = ("gpt-9", "claude-9", "qwen-9", "llama-9")
HOUSE = ("house-13b", "acme-chat", "our-tune")
"""Authors whose family nobody knows."""
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
SWAPPED = {"model_a": "model_b", "model_b": "model_a"}


def arena_rows(questions=24, seed=7):
    """Return votes as an arena publishes them: some pairs have several, in either order, and ids are of the vote."""
    rng, found = Random(seed), []
    for number in range(questions):
        texts = {name: f"{name} on {number}: quality {rng.randrange(30, 70)}" for name in (*MODELS, *HOUSE)}
        pairs = [*rng.sample(list(combinations(MODELS, 2)), 4), (rng.choice(MODELS), rng.choice(HOUSE))]
        for a, b in pairs:
            better = "model_a" if texts[a][-2:] > texts[b][-2:] else "model_b"
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                winner, turned = rng.choice((better, better, better, rng.choice(WINNERS))), rng.random() < 0.4
                first, second = (b, a) if turned else (a, b)
                said = {
                    f"conversation_{side}": [
                        {"role": "user", "content": f"What is thing {number}?"},
                        {"role": "assistant", "content": texts[name]},
                    ]
                    for side, name in (("a", first), ("b", second))
                }
                found.append(
                    {
                        "question_id": f"{len(found):032x}",
                        "model_a": first,
                        "model_b": second,
                        "winner": SWAPPED.get(winner, winner) if turned else winner,
                        "judge": f"arena_user_{rng.randrange(50)}",
                        **said,
                        "turn": 1,
                        "anony": True,
                        "language": rng.choice(("English", "Deutsch", "unknown")),
                        "tstamp": 1682351591.1 + len(found),
                        "openai_moderation": {"flagged": False},
                        "toxic_chat_tag": {"roberta-large": {"flagged": False}},
                    }
                )
    rng.shuffle(found)
    return found


def polls(votes):
    """Return the votes on each pair of texts by author, "tie" for both kinds of tie."""
    found = {}
    for row in votes:
        sides = {row[f"model_{x}"]: row[f"conversation_{x}"][1]["content"] for x in "ab"}
        won = row.get(row["winner"], "tie")
        key = row["conversation_a"][0]["content"], frozenset(sides.items())
        found.setdefault(key, Counter())[won] += 1
    return found


def majority(votes):
    """Return what more than half of the votes say, if anything."""
    [(name, most)] = votes.most_common(1)
    return name if 2 * most > votes.total() else None


def test_the_import_counts_the_votes_of_an_arena(tmp_path, monkeypatch, capsys):
    """One case a pair: its votes, in either order and by anybody, its majority; both kinds of tie are ties."""
    monkeypatch.chdir(tmp_path)
    votes = arena_rows()
    Path("votes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in votes), "utf-8")
    polled = polls(votes)

    status = main(["cases", "import", "votes.jsonl", "--format=mtbench", "--map=id=question_id", "-o", "pairs.jsonl"])

    cases = read_cases("pairs.jsonl", task="pairwise")
    found = {
        (case.question, frozenset((a.author, a.text) for a in case.answers)): (
            case.better,
            {name: int(n) for name, n in (part.rsplit(": ", 1) for part in case.tags["votes"].split(", "))},
        )
        for case in cases
    }
    assert status == 0
    assert len(cases) == len(polled) < len(votes)
    assert {row["winner"] for row in votes} == set(WINNERS)
    assert f"{len(cases)} cases of {len(votes)} records" in capsys.readouterr().out
    for key, count in polled.items():
        better, tallied = found[key]
        assert better == majority(count)
        assert tallied == dict(count)


def test_an_id_of_two_pairs_is_refused(tmp_path, monkeypatch, capsys):
    """MT-bench numbers its questions, not its pairs: nothing is imported; without an id each pair has its own."""
    monkeypatch.chdir(tmp_path)
    votes = [{**row, "question_id": 81} for row in arena_rows(1)]
    Path("votes.json").write_text(json.dumps(votes), "utf-8")
    asked = ["cases", "import", "votes.json", "--format=mtbench", "-o", "pairs.jsonl"]

    status = main([*asked, "--map=id=question_id"])
    said = capsys.readouterr().err
    without = main(asked)

    assert (status, without) == (4, 0)
    assert "question_id: expected an id of one pair, got '81' of another one, too (record 1)" in said
