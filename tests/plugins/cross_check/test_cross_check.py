"""`calm cross-check`: cycles of preferences, and preferences without a higher score, net of a judge's own noise."""

import argparse
import json
import random

import pytest

from calm.cases import read_cases
from calm.core.reasons import in_words
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError, JudgeError
from calm.gate.from_spec import judge_from
from calm.plugins.cross_check import command
from calm.plugins.cross_check.coherence import again, check_order, check_scores

JUDGES = '''
import random
from collections import Counter

from calm.core.case import digest


def _worth(case):
    return {a.id: int(a.text.split()[-1]) for a in case.answers}


def by_worth(case):
    worth = _worth(case)
    return max(worth, key=worth.get)


def round_and_round(case):
    """Prefer 1 to 2, 2 to 3 and 3 to 1."""
    low, high = sorted(_worth(case).items(), key=lambda item: item[1])
    return high[0] if (low[1], high[1]) == (1, 3) else low[0]


def _drawn(case, seen=Counter()):
    """Draw a number that rests on the case and how often it was asked, not on which case is asked first."""
    shown = digest(case.question, [answer.text for answer in case.answers])
    seen[shown] += 1
    return random.Random(f"{shown} {seen[shown]}").random()


def coin(case):
    return case.answers[_drawn(case) < 0.5].id


def erring(case):
    first, second = (a.id for a in case.answers)
    best = by_worth(case)
    return best if _drawn(case) < 0.9 else (second if best == first else first)


def ranking(case):
    worth = _worth(case)
    return sorted(worth, key=worth.get, reverse=True)


def score(case):
    return _worth(case)[case.answers[0].id]


def flat(case):
    return 5


def turned(case):
    return 4 - _worth(case)[case.answers[0].id]


def mute(case):
    return None


def shy(case):
    """Score nothing that is worth 3."""
    return None if _worth(case)[case.answers[0].id] == 3 else score(case)


ranking.task = "listwise"
for one in (score, flat, turned, shy):
    one.task = "score"
for one in (by_worth, round_and_round, coin, erring, ranking, score, flat, turned, mute, shy):
    one.quick = True
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with judges and 120 cases of three answers."""
    (tmp_path / "spinning.py").write_text(JUDGES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "spinning", raising=False)
    rng = random.Random(3)
    rows = []
    for n in range(120):
        ids = rng.sample(["x", "y", "z"], 3)
        answers = [{"id": i, "text": f"The worth is {place}"} for place, i in enumerate(ids, 1)]
        rows.append({"id": f"c{n:03}", "question": f"What is worth most, {n}?", "answers": answers})
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return tmp_path


def calm(*arguments):
    """Run `calm cross-check` in this process."""
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    options = parser.parse_args(["cross-check", *map(str, arguments)])
    return options.run(options)


@pytest.fixture
def engine():
    """An engine that keeps nothing."""
    made = Engine(Store(None, Mode.OFF))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "share", "net"),
    [("by_worth", (0, 0), (0, 0)), ("round_and_round", (1, 1), (1, 1)), ("ranking", (0, 0), (0, 0))],
)
def test_a_judge_without_noise_is_told_exactly(folder, engine, name, share, net):
    """A firm order has no cycle, and one that goes round has nothing else."""
    found = check_order(judge_from(f"spinning:{name}"), read_cases(folder / "cases.jsonl"), engine)

    assert (found.share.value, found.share.value) == share
    assert (found.net.value, found.net.value) == net
    assert found.net.n == 120


def test_the_cycles_of_a_coin_are_noise(folder, engine):
    """A coin makes a cycle in one round of four, and the same one again as often as the other one."""
    found = check_order(judge_from("spinning:coin"), read_cases(folder / "cases.jsonl"), engine, rounds=4)

    assert found.share.low < 0.25 < found.share.high
    assert found.net.low < 0 < found.net.high


def test_a_firm_order_with_noise_has_cycles_and_next_to_none_net_of_it(folder, engine):
    """With noise .1 a round has a cycle with probability .9 * .9 * .1 + .1 * .1 * .9 = .09, and net it is .005."""
    found = check_order(judge_from("spinning:erring"), read_cases(folder / "cases.jsonl"), engine, rounds=4)

    assert found.share.low < 0.09 < found.share.high
    assert found.net.low < 0.005 < found.net.high
    assert found.net.high < 0.05


@pytest.mark.parametrize(("scorer", "no_gap", "lower"), [("score", 0, 0), ("flat", 1, 0), ("turned", 1, 1)])
def test_preferences_are_held_against_scores(folder, engine, scorer, no_gap, lower):
    """A winner without a higher score is told from one with a lower score."""
    cases = read_cases(folder / "cases.jsonl")

    first, second = check_scores(judge_from("spinning:by_worth"), judge_from(f"spinning:{scorer}"), cases, engine)

    assert (first.share.value, first.net.value) == (no_gap, no_gap)
    assert (second.share.value, second.net.value) == (lower, lower)


def test_noise_against_firm_scores_is_next_to_nothing_net_of_it(folder, engine):
    """With noise .1 the lower score is preferred in a tenth of the rounds, and net of noise it is .01."""
    cases = read_cases(folder / "cases.jsonl")

    _, found = check_scores(judge_from("spinning:erring"), judge_from("spinning:score"), cases, engine, rounds=4)

    assert found.share.low < 0.1 < found.share.high
    assert found.net.low < 0.01 < found.net.high


def test_the_command_tells_all_three(folder, capsys):
    """Both judges are asked in one run, and the record holds what each round said."""
    status = calm("spinning:round_and_round", "spinning:score", "--cases=cases.jsonl", "-o=out.json")

    told = capsys.readouterr().out
    body = json.loads((folder / "out.json").read_text("utf-8"))
    assert status == 0
    assert "intransitive (A over B, B over C, C over A): share 1.00 [0.98, 1.00], n=120" in told
    assert "in every round: 120 (c000, c001" in told
    assert [check["check"] for check in body["checks"]] == ["intransitive", "no_gap", "reversed"]
    assert body["checks"][0]["rounds"]["c000"] in ([1, 1], [-1, -1])


def scored_file(folder):
    """Write the cases with gold scores and return their path."""
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        row["scores"] = {a["id"]: 2 + place for place, a in enumerate(row["answers"])}
    path = folder / "scored.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_scores_that_could_not_be_read_are_told_of_their_judge(folder, capsys):
    """Not only that cases are left out: whose verdicts, and how many; of how many cases they are a sample, too."""
    calm("spinning:by_worth", "spinning:shy", "--cases=cases.jsonl", "--sample=60", "-o=out.json")

    told, body = capsys.readouterr().out, json.loads((folder / "out.json").read_text("utf-8"))
    counts = {name: found for check in body["checks"] for name, found in check["unread"].items()}
    gone = counts["spinning:shy"]["unread"]
    assert counts["spinning:by_worth"]["unread"] == 0
    assert 40 < gone < counts["spinning:shy"]["of"] == 240
    assert f"spinning:shy: {gone} of 240 verdicts could not be read" in told
    assert "spinning:by_worth: " not in told
    assert "60 of 120 cases (--sample)" in told
    assert body["cases"] == {"n": 60, "of": 120}


def test_a_planted_judge_goes_by_the_scores_of_the_answers(folder, capsys):
    """Each pair of a case has the gold that its scores say, so a planted judge can be asked about it."""
    scored = scored_file(folder)

    status = calm("planted:noise=0.02", "planted:task=score", f"--cases={scored}", "--cache-file=cache.sqlite")

    told = capsys.readouterr().out
    assert status == 0
    assert "n=120" in told
    assert "left out" not in told


def test_a_cap_is_told_and_kept(folder, capsys):
    """What was not asked makes the run incomplete, and the same command goes on from what was."""
    arguments = ("planted:", f"--cases={scored_file(folder)}", "--sample=20", "--cache-file=cache.sqlite")

    status = calm(*arguments, "--max-calls=30")
    told = capsys.readouterr().out
    again = calm(*arguments)

    assert (status, again) == (1, 0)
    assert "INCOMPLETE: a cap was reached: --max-calls 30" in told
    assert "30 calls" in told
    assert "90 calls, 30 replies from the cache" in capsys.readouterr().out


def test_what_cannot_be_checked_is_said(folder, engine, capsys):
    """Single answers form no cycle, one round tells no noise, and unread verdicts are left out with a count."""
    cases = read_cases(folder / "cases.jsonl")
    mute = check_order(judge_from("spinning:mute"), cases[:3], engine)

    assert (mute.net, in_words(mute.excluded)) == (None, {"fewer than two rounds could be read": 3})
    with pytest.raises(JudgeError, match="12 of its first 12 replies hold no verdict"):
        check_order(judge_from("spinning:mute"), cases, engine)
    with pytest.raises(ConfigError, match="expected a judge of task pairwise or listwise, got task='score'"):
        check_order(judge_from("spinning:score"), cases, engine)
    with pytest.raises(ConfigError, match="--rounds: expected 2 or more"):
        calm("spinning:by_worth", "--cases=cases.jsonl", "--rounds=1")


def test_the_product_of_rounds_is_unbiased():
    """Over many cases the mean is the square of the difference of the two probabilities: (.5 - .2) ** 2 = .09."""
    rng = random.Random(1)
    drawn = [again(rng.choices((1, -1, 0), (0.5, 0.2, 0.3), k=3)) for _ in range(20_000)]

    assert abs(sum(drawn) / len(drawn) - 0.09) < 0.01
