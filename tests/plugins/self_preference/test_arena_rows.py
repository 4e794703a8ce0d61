"""Rows as an arena publishes them, from the import to the page: three commands, every count made here by hand."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from calm.commands.cli import main
from tests.commands.test_arena_rows import HOUSE, MODELS, arena_rows, majority, polls
from tests.lanes import slow
from tests.plugins.self_preference.test_imported_votes import JUDGES, SPECS


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


@pytest.mark.parametrize(
    "judges", [slow(SPECS, id="python"), pytest.param([f"recorded:{model}.csv" for model in MODELS], id="tables")]
)
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
