"""Rows as an arena publishes them, from the import to the page: three commands, every count made here by hand."""

import csv
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from calm.cases import read_cases
from calm.commands.cli import main
from tests.commands.test_imported_votes import JUDGES, MODELS, SPECS

HOUSE = ("koala-13b", "dolly-v2", "oasst-pythia")
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


def counts(polled, judge, said):
    """Return the counts of a judge's own pairs with an author that is a judge; `said` is its verdict on two texts."""
    found = Counter()
    for (_, sides), votes in polled.items():
        texts = dict(sides)
        if judge not in texts or not set(texts) <= set(MODELS):
            continue
        [other] = set(texts) - {judge}
        gold, orders = majority(votes), ((judge, other), (other, judge))
        picks = {w if (w := said(judge, *(texts[n] for n in order))) == "tie" else order[w] for order in orders}
        pick = {judge: "self", other: "other"}.get(picks.pop() if len(picks) == 1 else "tie", "none")
        found["pairs"] += 1
        if gold in (None, "tie"):
            found["people_tied" if gold else "no_label"] += 1
        else:
            found[f"{'self' if gold == judge else 'other'}_as_{pick}"] += 1
        found["picked_self"] += pick == "self"
        found["picked"] += pick != "none"
    return found


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """A folder with an arena's rows, Python judges and tables of what the same judges said; the rows and the rule."""
    folder, rule = tmp_path_factory.mktemp("arena"), {}
    votes = arena_rows()
    (folder / "votes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in votes), "utf-8")
    (folder / "arena_judges.py").write_text(JUDGES, "utf-8")
    exec(compile(JUDGES, "arena_judges.py", "exec"), rule)
    first = {}
    for row in votes:
        texts = {row[f"model_{x}"]: row[f"conversation_{x}"][1]["content"] for x in "ab"}
        first.setdefault((row["conversation_a"][0]["content"], frozenset(texts)), (row["question_id"], texts))
    for model in MODELS:
        with (folder / f"{model}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["case", "order", "verdict"])
            for name, texts in first.values():
                for order in (list(texts), list(texts)[::-1]):
                    won = rule["winner"](model, *(texts[author] for author in order))
                    writer.writerow([name, ",".join(order), won if won == "tie" else order[won]])
    return folder, votes, rule["winner"]


def test_the_import_counts_the_votes_of_an_arena(arena, monkeypatch, capsys):
    """One case a pair: its votes, in either order and by anybody, its majority; both kinds of tie are ties."""
    folder, votes, _ = arena
    monkeypatch.chdir(folder)
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


@pytest.mark.parametrize("judges", [SPECS, [f"recorded:{model}.csv" for model in MODELS]], ids=["python", "tables"])
def test_three_commands_go_from_rows_to_a_page(arena, monkeypatch, capsys, judges):
    """The counts, gap and parity of each judge are those of a plain count, in record and page; unknown ones are out."""
    folder, votes, winner = arena
    monkeypatch.chdir(folder)
    polled = polls(votes)
    asked = ["self-preference", *judges, "--cases", "pairs.jsonl", "-o", "r.json"]

    main(["cases", "import", "votes.jsonl", "--format=mtbench", "--map=id=question_id", "-o", "pairs.jsonl"])
    refused = main(asked)
    said = capsys.readouterr()
    status = main([*asked, "--family", "*=unknown", "--report", "r.html"])

    assert (refused, status) == (4, 0)
    names, pairs = ", ".join(sorted(HOUSE)), ",".join(f"{name}={name}" for name in sorted(HOUSE))
    assert f"got none for {names}; add --family {pairs}" in said.err
    assert "--family '*=unknown'" in said.err
    body = json.loads(Path("r.json").read_text("utf-8"))
    assert set(body["left_out"]) == set(HOUSE)
    tables = {part["name"]: part["rows"] for part in body["parts"]}
    page = re.sub(r"\s+", " ", Path("r.html").read_text("utf-8"))
    assert [row["judge"] for row in tables["opportunity_counts"]] == list(MODELS)
    for row in tables["opportunity_counts"]:
        expected = counts(polled, row["judge"], winner)
        names = [n for n in row if n not in ("judge", "by", "not_judged")]
        assert {n: row[n] for n in names} == {n: expected[n] for n in names}
        [figures] = [f for f in tables["opportunity"] if f["judge"] == row["judge"] and f["who"] == "judge"]
        right = [row[f"{s}_as_{s}"] / (row[f"{s}_as_self"] + row[f"{s}_as_other"]) for s in ("self", "other")]
        assert figures["gap"]["value"] == pytest.approx(right[0] - right[1])
        assert figures["parity"]["value"] == pytest.approx(2 * expected["picked_self"] / expected["picked"] - 1)
    assert "Equal opportunity and demographic parity" in page
    assert "own &gt; other" in page
