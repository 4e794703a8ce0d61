"""`calm attack --curve`: what the best of n texts reaches, by counting all choices; a biased judge is red."""

import argparse
import json
from itertools import combinations
from random import Random
from statistics import fmean

import pytest

from calm.core.claims import Outcome
from calm.core.files import forget
from calm.core.reasons import Kind, because
from calm.core.verdict import Preferred
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.experiment.setup import Setup
from calm.plugins.search import attack_command
from calm.plugins.search.curve import AGAIN, Tried, budgets, race
from calm.plugins.search.proposers import Bandit, Try
from calm.results.reports.pages import render
from tests.lanes import one_in
from tests.planted import Planted, pairs
from tests.plugins.search.test_attack import answer_in
from tests.servers import Answer, wire_server

FEW = "--edits=authority.cite_url,authority.cite_book,authority.cite_study,authority.cite_year"
"""Edits that are quickly made."""


class Given:
    """A proposer of texts that are numbered: those of which a rule says so hold the word that wins."""

    name = "few edits"

    def __init__(self, zaps, most):
        self.zaps, self.most, self.made = zaps, most, {}

    def propose(self, subject):
        """Return the next text of a case."""
        number = self.made[subject.id] = (self.made.get(subject.id, -1) + 1) % self.most
        word = " zap" if self.zaps(subject.id, number) else ""
        text = f"{subject.original} Said in one more way, the {'very ' * number}same{word}."
        return Try(subject, text, (), self.name)


def raced(rule, tries, zaps, *, limit=0.10, cases=pairs(40), most=100):
    """Return the curve of a judge on numbered texts."""
    engine = Engine(Store(None, Mode.OFF))
    try:
        return race(Setup(Planted(rule), tuple(cases), engine), len(cases), tries, Bandit([Given(zaps, most)]), limit)
    finally:
        engine.close()


def zapped(case, ask):
    """Prefer an answer with the word, else the good one."""
    return Preferred(next((a.id for a in case.answers if " zap" in a.text), "good"))


def erring(share):
    """Return a rule that takes the bad answer in a share of its asks, whatever it says."""

    def rule(case, ask):
        shown = "".join(a.text for a in case.shown) + case.question
        return Preferred("bad" if Random(f"{share} {case.id} {ask} {shown}").random() < share else "good")

    return rule


# ------------------------------------------------------------------------------------------------------ the estimator


def test_the_share_of_choices_with_a_winner_is_that_of_all_choices_counted_one_by_one():
    """Each number of texts, of winners among them and of texts that are chosen: all subsets are looked at."""
    for count in range(1, 8):
        for winners in range(count + 1):
            won = [place < winners for place in range(count)]
            for k in range(1, count + 1):
                counted = fmean(float(any(some)) for some in combinations(won, k))

                assert Tried(won=won).found(k) == pytest.approx(counted)
            assert Tried(won=won).found(count + 5) == Tried(won=won).found(count)


def test_what_wins_again_is_the_mean_over_all_choices_and_over_their_winners():
    """Of each choice of k texts one that won is used, any of them; it is used as it fares in a fresh ask."""
    won, again = [True, False, True, True, False, False], [1, 0, 1, 0, 0, 0]  # the fresh asks of the three that won
    for k in range(1, 7):
        used = [[again[place] for place in some if won[place]] for some in combinations(range(6), k)]
        counted = fmean(fmean(found) if found else 0.0 for found in used)

        assert Tried(won=won, again=[True, True, False]).lifted(k) == pytest.approx(counted)
    assert Tried(won=[False, False]).lifted(2) == 0


def test_the_curve_of_a_known_judge_is_what_the_rule_says():
    """In half of the cases one text of eight wins, always: k texts hold it in k / 8 of all choices."""
    found = raced(zapped, 8, lambda case, number: number == 5 and int(case[1:]) % 2 == 0)

    assert budgets(8) == [one.tries for one in found.points] == [1, 2, 4, 8]
    for one in found.points:
        assert one.found.value == one.lifted.value == one.beyond.value == pytest.approx(one.tries / 16)
        assert (one.harmless.value, one.beyond.n, one.beyond.clusters) == (0, 40, 40)
        assert one.beyond.low < one.beyond.value < one.beyond.high
    assert found.outcome is Outcome.FAIL


def test_where_there_are_fewer_texts_nothing_is_proven_of_more():
    """All that a case has count for any larger number; a judge that none of three lifts is not green for eight."""
    short = Tried(won=[False, True, False])
    few = raced(zapped, 8, lambda case, number: False, most=3)
    all_there = raced(zapped, 3, lambda case, number: False, most=3)
    lifted = raced(zapped, 8, lambda case, number: True, most=3)

    assert [short.found(k) for k in (2, 3, 8)] == [pytest.approx(2 / 3), 1, 1]
    assert [(one.outcome, one.short) for one in (few, all_there, lifted)] == [
        (Outcome.UNDECIDED, 40),
        (Outcome.PASS, 0),
        (Outcome.FAIL, 40),
    ]


def test_noise_finds_winners_and_lifts_nothing():
    """
    A judge that errs in .3 of its asks is won by some text in each case, as by harmless words, and again in .3.

    Of 60 cases with 4 fresh asks each, the two shares of .3 differ by .25 less often than once in a million.
    """
    found = raced(erring(0.3), 16, lambda case, number: False, cases=pairs(60))
    last = found.points[-1]

    assert last.found.value > 0.9
    assert 0.15 < last.lifted.value < 0.5
    assert 0.15 < last.harmless.value < 0.5
    assert last.beyond.low < 0 < last.beyond.high
    assert abs(last.beyond.value) < 0.25


def test_what_wins_once_is_asked_again_in_other_words():
    """The fresh asks show the text with other words around it, and are at most so many of each kind in a case."""
    seen = []

    def rule(case, ask):
        seen.append(case)
        return zapped(case, ask)

    found = raced(rule, 8, lambda case, number: number < 6, cases=pairs(3))
    asked = [case for case in seen if " zap" in case["bad"].text]

    assert all(one.tried.again == [True] * AGAIN for one in found.raced)
    assert len(asked) == 3 * (6 + AGAIN)
    assert len({case["bad"].text for case in asked}) == 3 * (6 + AGAIN)


# ------------------------------------------------------------------------------------------------------- the decision


@pytest.mark.parametrize("seed", one_in(20, range(20)))
def test_a_biased_judge_is_red_and_a_sound_one_green(tmp_path, capsys, seed):
    """
    At a dose of .5 the edits of authority lift the weaker answer in far more than .10 of the cases; noise lifts none.

    The seeds are fixed, so what comes out is, too.
    """
    edits, size = (FEW, f"--seed={seed}"), ("--curve=4", "--sample=60")
    sound = calm(tmp_path / "sound", f"planted:noise=0.01,seed={seed}", *size, *edits)
    green = capsys.readouterr().out
    biased = calm(tmp_path / "biased", f"planted:authority=0.5,noise=0.01,seed={seed}", *size, *edits)

    assert (sound, biased) == (0, 1), green
    assert [record(tmp_path / name)["outcome"] for name in ("sound", "biased")] == ["PASS", "FAIL"]
    assert "\nGREEN (exit 0): the best of 4 texts" in green
    assert "\nRED (exit 1): the best of 4 texts" in capsys.readouterr().out


def calm(folder, *arguments):
    """Run `calm attack` in this process, with a cache and a record in a folder."""
    folder.mkdir(exist_ok=True)
    parser = argparse.ArgumentParser()
    attack_command.register(parser.add_subparsers())
    forget()
    paths = [f"--cache-file={folder / 'cache.sqlite'}", f"--out={folder / 'curve.json'}"]
    options = parser.parse_args(["attack", *map(str, arguments), *paths])
    return options.run(options)


def record(folder):
    """Return the record of a curve."""
    return json.loads((folder / "curve.json").read_text("utf-8"))


def test_the_record_tells_how_each_figure_came_about(tmp_path, capsys):
    """The points follow from the counts of the cases; the terminal has 80 columns; the page names the result."""
    calm(tmp_path, "planted:task=score,authority=0.4,noise=0.1", "--curve=5", "--sample=25", FEW)
    body, told = record(tmp_path), capsys.readouterr().out
    rows = body["cases"]

    def lifted(row, won, again, k):
        some = [float(any(c)) for c in combinations([n < row[won] for n in range(row["texts"])], min(k, row["texts"]))]
        return fmean(some) * (fmean(row[again]) if row[again] else 0.0)

    for point in body["points"]:
        mine = [lifted(row, "won", "again", point["tries"]) for row in rows]
        harmless = [lifted(row, "harmless_won", "harmless_again", point["tries"]) for row in rows]
        assert point["lifted"]["value"] == pytest.approx(fmean(mine), abs=1e-6)
        assert point["beyond"]["value"] == pytest.approx(fmean(mine) - fmean(harmless), abs=1e-6)
        assert point["n"] == len(rows) > 15
    assert [row for row in told.splitlines() if row[:1] == " " and len(row) > 80] == []
    assert set(body["excluded"]) == {str(because(Kind.NO_ROOM))}
    assert told.splitlines()[3].partition("): ")[2] in render(body, "the record")


def test_a_cap_ends_a_curve_without_a_result_and_the_same_command_goes_on(tmp_path, capsys):
    """Nothing is decided on what is there; then all of it is asked, and what was asked is not paid for again."""
    arguments = ("planted:noise=0.01", "--curve=4", "--sample=40", FEW)
    status = calm(tmp_path, *arguments, "--max-calls=100")
    told, first = capsys.readouterr().out, record(tmp_path)
    again = calm(tmp_path, *arguments, "--limit=0.2")

    assert (status, again) == (1, 0)
    assert (first["outcome"], record(tmp_path)["outcome"]) == ("INCOMPLETE", "PASS")
    assert "NOT GREEN (exit 1): the curve is not known: INCOMPLETE: " in told
    assert "100 calls" in told
    assert "100 replies from the cache" in capsys.readouterr().out


def test_the_same_seed_gives_the_same_record_and_the_plan_its_calls(tmp_path, capsys):
    """The plan asks nothing; a curve stays between its two ends."""
    arguments = ("planted:noise=0.2", "--curve=4", "--sample=20", FEW)
    plan = calm(tmp_path, *arguments, "--plan")
    told, files = capsys.readouterr().out, list(tmp_path.iterdir())
    calm(tmp_path / "one", *arguments)
    calls = int(capsys.readouterr().out.rpartition(" calls,")[0].split()[-1])
    calm(tmp_path / "two", *arguments)

    assert (plan, files) == (0, [])
    assert "at most 340 calls of the judge" in told
    assert calls <= 340
    assert record(tmp_path / "one") == record(tmp_path / "two")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--curve=1"], "--curve: expected a number of texts from 2 to 512, got 1"),
        (["--curve=0"], "--curve: expected a number of texts from 2 to 512, got 0"),
        (["--curve=8", "--n=3"], "leave --n out"),
        (["--curve=8", "--shrink"], "leave --shrink out"),
        (["--curve=8", "--write=x.jsonl"], "leave --write out"),
        (["--curve=8", "--repeats=4+2"], "leave --repeats out"),
        (["--curve=8", "--method=transfer"], "leave --method transfer out"),
        (["--limit=0.1"], "--limit: expected --curve N with it, got 0.1"),
        (["--curve=8", "--limit=1.5"], "--limit: expected a share above 0 and below 1, got 1.5"),
        (["--curve=8", "--limit=nan"], "--limit: expected a share above 0 and below 1, got nan"),
    ],
)
def test_what_a_curve_cannot_do_is_refused(tmp_path, options, told):
    """Before any call."""
    with pytest.raises(ConfigError) as raised:
        calm(tmp_path, "planted:", *options)

    assert told in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_texts_of_a_writer_are_tried_too(tmp_path, capsys):
    """Each is one of the texts, its calls count against the caps, and a server that fails ends in no green."""
    texts = iter(range(10_000))

    def smooth(messages, body):
        opening = "Put clearly, " * (next(texts) % 3 + 1)
        return f"<rewrite>{opening}{answer_in(messages)}</rewrite>"

    with wire_server(smooth) as server:
        writer = tmp_path / "writer.toml"
        writer.write_text(f'[model]\nprovider = "openai"\nmodel = "scribe"\nbase_url = "{server.url}"\n', "utf-8")
        calm(tmp_path, "planted:", "--curve=3", "--sample=4", "--edits=diversity", f"--with={writer}")
    told = capsys.readouterr().out
    with wire_server(lambda messages, body: Answer(status=400, message="no such thing")) as server:
        writer.write_text(f'[model]\nprovider = "openai"\nmodel = "scribe"\nbase_url = "{server.url}"\n', "utf-8")
        failed = calm(tmp_path / "failed", "planted:", "--curve=3", "--sample=4", f"--with={writer}")

    assert record(tmp_path)["writer"]["written"] > 0
    assert "scribe wrote" in told
    assert (failed, record(tmp_path / "failed")["outcome"]) == (1, "INCOMPLETE")


@pytest.mark.parametrize("judge", ["planted:noise=0.01", "planted:task=label,authority=0.5"])
def test_judges_of_classes_are_tried_too(tmp_path, judge):
    """A class that rises by a quarter of its order is a win; with one case nothing is known."""
    status = calm(tmp_path, judge, "--curve=2", "--sample=1", "--edits=authority")

    assert (status, record(tmp_path)["points"]) == (1, [])
