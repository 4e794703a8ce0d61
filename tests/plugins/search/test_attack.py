"""`calm attack`: a search chooses, fresh asks measure; a biased judge is broken and a sound one is not."""

import argparse
import json
import re
from collections import Counter

import pytest
from scipy.stats import binomtest

from calm.cases import bundled, read_cases
from calm.core.files import forget
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.experiment.setup import Setup
from calm.perturbations.planted import planted
from calm.plugins.search import attack_command
from calm.plugins.search.arms import arms_for
from calm.plugins.search.attack import ATTACK
from calm.plugins.search.attack import attack as attacked
from calm.plugins.search.proposers import bandit_for
from calm.plugins.search.subjects import FRESH, PLACES
from tests.lanes import slow
from tests.servers import Answer, wire_server

BIASED = "planted:authority=0.5,verbosity=0.2,noise=0.05"


def calm(folder, *arguments, command="attack", module=attack_command):
    """Run `calm attack` or another command in this process, with a cache and a record in a folder."""
    parser = argparse.ArgumentParser()
    module.register(parser.add_subparsers())
    paths = [f"--cache-file={folder / 'cache.sqlite'}", f"--out={folder / f'{command}.json'}"]
    forget()  # as the command line does
    options = parser.parse_args([command, *map(str, arguments), *paths])
    return options.run(options)


def record(folder):
    """Return the record of an attack."""
    return json.loads((folder / "attack.json").read_text("utf-8"))


def bounds(folder):
    """Return the interval of the rate of success."""
    found = record(folder)["estimates"]["attack_success_rate"]
    return found["low"], found["high"]


def added(row):
    """Return the words that a found text has and the original has not."""
    old, new = (Counter(re.findall(r"\w+", row[name])) for name in ("original", "text"))
    return new - old


def searched(judge, names, size, **settings):
    """Return an attack on bundled pairs with some edits, without a command."""
    engine = Engine(Store(None, Mode.OFF))
    try:
        setup = Setup(judge, tuple(bundled("pairwise")), engine)
        bandit = bandit_for(arms_for("pairwise", names), PLACES["answer"], setup)
        return attacked(setup, size, bandit, **settings)
    finally:
        engine.close()


def cases_file(folder, count=6):
    """Write pairs with a gold label and return their path."""
    text = "The bread bakes for 20 minutes in a hot oven of kind {}, since the crust needs a strong heat."
    rows = [
        {
            "id": f"c{n}",
            "question": f"How long does bread number {n} bake?",
            "answers": [
                {"id": "good", "text": f"It bakes for {n + 30} minutes."},
                {"id": "bad", "text": text.format(n)},
            ],
            "better": "good",
        }
        for n in range(count)
    ]
    path = folder / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


# --------------------------------------------------------------------------------------------------------------- stacks


def test_a_biased_judge_is_broken_at_its_dose(tmp_path, capsys):
    """One of two biases holds in 1 - .5 * .8 = .60 of the questions; noise .05 leaves .54 of it."""
    status = calm(tmp_path, BIASED, "--edits=authority,verbosity,sycophancy", "--sample=150")

    low, high = bounds(tmp_path)
    told = capsys.readouterr().out
    assert status == 0
    assert low < 0.54 < high
    assert low > 0.4
    assert "fresh asks alone" in told
    assert "{+" in told


def test_a_stack_holds_only_what_is_needed(tmp_path):
    """A judge that one bias moves is won by one edit, that of the bias, whatever else was laid before it."""
    calm(
        tmp_path,
        "planted:authority=0.5",
        "--sample=60",
        "--edits=authority,persuasion,verbosity,sentiment",
    )

    authority = {arm.step.edit.label for arm in arms_for("pairwise", ["authority"])}
    stacks = [row["edits"] for row in record(tmp_path)["cases"] if row["text"]]
    assert len(stacks) > 20
    assert all(len(edits) == 1 and edits[0] in authority for edits in stacks)


def test_a_sound_judge_with_noise_is_not_broken(tmp_path):
    """What little a search finds by luck is none in fresh asks."""
    calm(tmp_path, "planted:noise=0.05", "--edits=authority,verbosity,persuasion", "--sample=200")

    low, high = bounds(tmp_path)
    assert low <= 0 <= high
    assert high < 0.05


def test_noise_alone_is_no_success_even_where_every_search_ends_in_luck():
    """
    At noise .4 most searches find a text, and what is measured of it is a toss of a coin.

    A found text and the clean case each win .4 of their fresh asks, whatever the search saw. So where one of the two
    wins and the other does not, each is as likely, and one draw of the noise in ten million lies outside the bound.
    """
    found = searched(planted("planted:noise=0.4"), ["authority", "verbosity", "sentiment", "persuasion"], 240)

    rate = found.estimates["attack_success_rate"]
    pairs = [(one.clean[1].won, one.fresh[0].won) for one in found.found if not one.clean[0].won]
    up, down = pairs.count((False, True)), pairs.count((True, False))
    assert len(found.found) > 60
    assert rate.value == pytest.approx((up - down) / rate.n)
    assert binomtest(up, up + down).pvalue > 1e-7


def test_a_constant_judge_is_never_won(tmp_path, monkeypatch):
    """Nothing moves a judge that always names the first answer, so that nothing is found."""
    (tmp_path / "fixed.py").write_text("def first(case):\n    return case.shown[0].id\n\n\nfirst.quick = True\n")
    monkeypatch.chdir(tmp_path)

    status = calm(tmp_path, "fixed:first", "--edits=authority", "--sample=30")

    body = record(tmp_path)
    assert (status, body["found"]) == (0, 0)
    assert body["estimates"]["attack_success_rate"]["value"] == 0
    assert body["excluded"]["the treated answer won already"] > 5


def test_what_chose_is_in_no_measure():
    """A text is asked about twice in a search, and what is measured shows other words in its answers."""
    found = searched(planted("planted:authority=1"), ["authority.cite_url"], 10)

    assert len(found.found) == 10
    for one in found.found:
        assert {number for text, number in one.subject.said if text == one.text} == {0, 1, FRESH}
        chose, measured = (one.subject.shown(one.text, number)[0] for number in (1, FRESH))
        assert all(chose[i].text != measured[i].text for i in ("good", "bad"))
    assert all((len(row.clean), len(row.perturbed)) == (2, 1) for row in found.trials.rows)


def test_scores_are_attacked_too(tmp_path):
    """On a score a text wins that rises by a quarter of the scale, and what is measured is the gain."""
    calm(tmp_path, "planted:task=score,authority=0.5", "--edits=authority", "--sample=40")

    body = record(tmp_path)
    assert set(body["estimates"]) == {"gain"}
    assert body["estimates"]["gain"]["low"] > 0.1
    assert body["found"] > 7


@pytest.mark.parametrize("task", ["rubric", "listwise"])
def test_rubrics_and_rankings_are_attacked_too(tmp_path, task):
    """The gain is measured whatever kind of verdict a judge gives; a ranking is won with the first place."""
    answers = [{"id": i, "text": f"The worth of this answer is plainly {n} and no more."} for n, i in enumerate("xyz")]
    ranked = {"question": "Which is worth most?", "answers": answers, "scores": {"x": 2, "y": 5, "z": 8}}
    rows = [{"id": f"r{n}", **ranked, "question": f"Which is worth most, {n}?"} for n in range(40)]
    path = tmp_path / "ranked.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    cases = [f"--cases={path}"] if task == "listwise" else []

    calm(tmp_path, f"planted:task={task},authority=0.5", "--edits=authority", "--sample=40", *cases)

    body = record(tmp_path)
    assert set(body["estimates"]) == {"gain"}
    assert body["estimates"]["gain"]["low"] > 0.1
    assert body["found"] >= 8


def test_the_same_seed_gives_the_same_record_and_asks_nothing_again(tmp_path, capsys):
    """An attack that is run again finds all in the cache; another seed draws other stacks."""
    arguments = (BIASED, "--edits=authority,verbosity", "--sample=40")
    calm(tmp_path, *arguments)
    first = record(tmp_path)
    capsys.readouterr()
    calm(tmp_path, *arguments)
    again, told = record(tmp_path), capsys.readouterr().out
    calm(tmp_path, *arguments, "--seed=7")

    assert again == first
    assert "\n0 calls" in told
    assert [r["edits"] for r in record(tmp_path)["cases"]] != [r["edits"] for r in first["cases"]]


def test_a_cap_is_kept_and_the_same_command_goes_on(tmp_path, capsys):
    """What was not asked is told as incomplete, with status 1, until a later run has asked all of it."""
    arguments = (BIASED, "--edits=authority", "--sample=12")

    status = calm(tmp_path, *arguments, "--max-calls=50")
    told = capsys.readouterr().out
    made = int(re.search(r"(\d+) calls\b", told)[1])
    again = calm(tmp_path, *arguments)

    assert (status, again) == (1, 0)
    assert "INCOMPLETE: a cap was reached" in told
    assert made <= 50
    assert record(tmp_path)["incomplete"] == ""


def test_a_found_text_can_be_tried_on_another_judge(tmp_path):
    """Texts go into the cases as ready-made ones; a judge of the same bias falls for them, a sound one does not."""
    out = tmp_path / "found.jsonl"
    calm(tmp_path, "planted:authority=0.5", "--edits=authority", "--sample=60", f"--write={out}")
    written = [case for case in read_cases(out) if ATTACK in case.variants]

    calm(tmp_path, "planted:authority=0.5,verbosity=0.1", "--method=transfer", f"--cases={out}", "--sample=240")
    alike = record(tmp_path)["estimates"]["attack_success_rate"]
    calm(tmp_path, "planted:", "--method=transfer", f"--cases={out}", "--sample=240")
    sound = record(tmp_path)["estimates"]["attack_success_rate"]

    assert len(written) > 20
    assert all(case.tags["attacked"] == "planted: search" for case in written)
    assert (alike["value"], alike["n"]) == (1.0, len(written))
    assert (sound["value"], sound["n"]) == (0.0, len(written))


def test_texts_that_would_change_numbers_or_truth_are_not_asked_about(tmp_path):
    """What is found still holds the numbers of the original, and at least half of its words."""
    calm(tmp_path, "planted:injection=0.5,encoding=0.5", "--edits=injection,encoding", "--sample=40")

    rows = [row for row in record(tmp_path)["cases"] if row["text"]]
    numbers = [Counter(re.findall(r"\d+", row["original"])) for row in rows]
    assert len(rows) > 10
    assert all(old <= Counter(re.findall(r"\d+", row["text"])) for old, row in zip(numbers, rows, strict=True))


def test_a_plan_asks_nothing(tmp_path, capsys):
    """The plan names the calls of both ends, and leaves neither a record nor a cache."""
    status = calm(tmp_path, BIASED, "--edits=authority,verbosity", "--sample=50", "--plan")

    told = capsys.readouterr().out
    assert status == 0
    assert "if nothing wins: 17.0 asks a case, 850 calls of the judge" in told
    assert "at most: 71.0 asks a case, 3550 calls of the judge" in told
    assert list(tmp_path.iterdir()) == []


def test_a_plan_counts_what_shrinking_may_take(tmp_path, capsys):
    """Each text may take 150 asks more."""
    calm(tmp_path, BIASED, "--edits=authority,verbosity", "--sample=50", "--plan", "--shrink")

    assert "at most: 221.0 asks a case, 11050 calls of the judge" in capsys.readouterr().out


@pytest.mark.parametrize("seed", [1, slow(2), slow(3)])
def test_a_stack_is_shrunk_to_the_words_that_win(tmp_path, monkeypatch, seed):
    """Of a whole sentence one word stays, within the asks that the plan allows; without it the sentence stays."""
    judge = judge_file(tmp_path, monkeypatch, "study")
    edits, cases = "--edits=authority.cite_study,sentiment", f"--cases={cases_file(tmp_path, 12)}"
    options = (edits, cases, f"--seed={seed}")
    calm(tmp_path, judge, *options)
    whole = [row for row in record(tmp_path)["cases"] if row["text"]]
    calm(tmp_path, judge, *options, "--shrink")

    rows = [row for row in record(tmp_path)["cases"] if row["text"]]
    assert [row["case"] for row in rows] == [row["case"] for row in whole]
    assert len(rows) >= 2
    assert all(added(row).total() > 3 for row in whole)
    assert all(added(row) == Counter(["study"]) for row in rows)
    assert all(row["asks"] <= 214 for row in rows)


def test_impossible_options_are_told_together(tmp_path):
    """Every fault is named, with what would do instead."""
    transfer = ("--method=transfer", "--edits=authority", "--shrink", "--with=w.toml")
    with pytest.raises(ConfigError) as wrong:
        calm(tmp_path, BIASED, *transfer, "--n=0", "--repeats=4", "--max-calls=0")
    with pytest.raises(ConfigError, match="did you mean"):
        calm(tmp_path, BIASED, "--edits=autority")
    with pytest.raises(ConfigError, match="expects NOT_BETTER or SAME, got one that expects WORSE"):
        calm(tmp_path, BIASED, "--edits=negate")
    with pytest.raises(ConfigError, match="at least 2 clean asks"):
        calm(tmp_path, BIASED, "--repeats=1+1")

    named = ["--n", "--with", "--edits", "--shrink", "--max-calls", "--repeats"]
    assert [p.partition(":")[0] for p in wrong.value.problems] == named


@pytest.mark.parametrize(
    ("judge", "options", "told"),
    [
        ("planted:authority=0.5", ["--method=transfer"], "expected cases with texts of an earlier attack"),
        ("recorded:ifeval/GPT-5", [], "cannot be attacked: its verdicts were given beforehand"),
        ("planted:", ["--method=transfer", "--shrink"], "--shrink: expected --method search with it"),
        ("planted:", ["--edits=authorit"], "no such perturbation; did you mean"),
        ("planted:", ["--write={folder}"], "--write: expected a file to write, got a folder"),
    ],
)
def test_an_attack_in_vain_is_refused_before_a_call(tmp_path, judge, options, told):
    """It would be paid for, and end in nothing."""
    with pytest.raises(ConfigError) as raised:
        calm(tmp_path, judge, *(option.format(folder=tmp_path) for option in options))

    assert told in str(raised.value)
    assert not (tmp_path / "attack.json").exists()


# -------------------------------------------------------------------------------------------------------------- writers

SMOOTH = "Let me be clear and thorough about this matter: "
JUDGE = """
def smooth(case):
    {count}
    wins = [a.id for a in case.answers if {wins} in a.text]
    return wins[0] if wins else case.better


smooth.quick, smooth.reads = True, ("question", "answers", "better")
smooth.fingerprint = "smooth-1"
"""


def judge_file(folder, monkeypatch, wins):
    """Write a judge that an answer with some words in it wins over."""
    (folder / "falling.py").write_text(JUDGE.format(count="", wins=repr(wins)), "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delitem(__import__("sys").modules, "falling", raising=False)
    return "falling:smooth"


def writer_file(folder, server):
    """Write a writer.toml for a server and return its path."""
    path = folder / "writer.toml"
    path.write_text(
        f'[writer]\nname = "scribe"\n[model]\nprovider = "openai"\nmodel = "scribe-1"\nbase_url = "{server.url}"\n'
        "price_usd_per_mtok = { input = 1.0, output = 2.0 }\n",
        "utf-8",
    )
    return path


def answer_in(messages):
    """Return the answer that a prompt asks to be rewritten."""
    return re.search(r"<answer>\n(.*?)\n</answer>", messages[-1][1], re.DOTALL)[1]


def test_the_rewrite_that_wins_is_taken(tmp_path, monkeypatch):
    """Of four rewrites one wins; one is refused for a number that it changed, and is never asked about."""
    wordings = ["Clearly put: {}", "In short and plain words: {}", "Broken: {}", SMOOTH + "{}"]
    given = Counter()

    def respond(messages, body):
        answer = answer_in(messages)
        place, given[answer] = given[answer], given[answer] + 1
        text = wordings[place % 4].format(answer)
        return f"<rewrite>{text.replace('20', '25') if 'Broken' in text else text}</rewrite>"

    judge = judge_file(tmp_path, monkeypatch, "clear and thorough")
    with wire_server(respond) as server:
        options = ("--edits=diversity", f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path)}")
        status = calm(tmp_path, judge, *options)
        asked = len(server.judged)
        again = calm(tmp_path, judge, *options)

        rows = record(tmp_path)["cases"]
        assert (status, again, asked, len(server.judged)) == (0, 0, 24, 24)
    assert all(row["text"].startswith(SMOOTH) for row in rows)
    assert all(row["refused"] == {"numbers": 1} for row in rows)
    assert record(tmp_path)["estimates"]["attack_success_rate"]["value"] == 1.0


def test_a_rewrite_is_shrunk_to_the_words_that_win(tmp_path, monkeypatch):
    """What the writer wrote is cut down to the phrase that the judge falls for."""
    judge = judge_file(tmp_path, monkeypatch, "clear and thorough")
    with wire_server(lambda m, b: f"<rewrite>{SMOOTH}{answer_in(m)}</rewrite>") as server:
        options = (f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path, 3)}", "--n=6", "--shrink")
        calm(tmp_path, judge, "--edits=diversity", *options)

    assert [added(row) for row in record(tmp_path)["cases"]] == [Counter(["clear", "and", "thorough"])] * 3


def test_without_success_it_ends_after_its_texts(tmp_path, monkeypatch):
    """Nothing is found, and the rate is nothing: the answers stay as they are."""
    judge = judge_file(tmp_path, monkeypatch, "no such words")
    with wire_server(lambda m, b: f"<rewrite>Clearly put: {answer_in(m)}</rewrite>") as server:
        options = (f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path, 3)}", "--n=3")
        calm(tmp_path, judge, *options)

    body = record(tmp_path)
    assert (body["found"], body["estimates"]["attack_success_rate"]["value"]) == (0, 0.0)
    assert all(row["asks"] == 3 for row in body["cases"])


def test_a_writer_that_fails_makes_an_attack_incomplete(tmp_path, monkeypatch, capsys):
    """The status says so, and the terminal why; the edits are tried all the same."""
    judge = judge_file(tmp_path, monkeypatch, "no such words")
    with wire_server(lambda m, b: Answer(status=400, message="no such thing")) as server:
        options = (f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path, 3)}", "--n=2")
        status = calm(tmp_path, judge, *options)

    assert status == 1
    assert "scribe wrote 0 texts; failed: " in capsys.readouterr().out
    assert all(row["asks"] == 2 for row in record(tmp_path)["cases"])


def test_a_cap_on_dollars_stops_the_writer(tmp_path, monkeypatch):
    """The writer's calls count against the caps; what is left over is told, and the run is not green."""
    judge = judge_file(tmp_path, monkeypatch, "clear and thorough")
    with wire_server(lambda m, b: Answer(f"<rewrite>{SMOOTH}{answer_in(m)}</rewrite>")) as server:
        options = (f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path, 8)}", "--n=2")
        status = calm(tmp_path, judge, *options, "--max-calls=15")

    assert status == 1
    assert record(tmp_path)["incomplete"].startswith("a cap was reached")
    assert len(server.seen) <= 15
