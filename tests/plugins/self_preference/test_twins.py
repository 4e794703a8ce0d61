"""Labelled ties, and twins of `calm answer --twins`: who takes its own of two equal answers is red, and nobody else."""

import json
import re
from contextlib import nullcontext
from dataclasses import replace

import pytest

from calm.cases import read_cases
from calm.cases.lines import line
from calm.cases.shapes import all_pairs
from calm.commands import cli
from calm.core.case import TIE, Answer, Case, Criterion
from calm.core.order import item_of
from calm.experiment.crossing import TWIN_OF, UNIT, Member, arrange
from calm.plugins.search.answering import questions
from calm.plugins.self_preference.record import crossed_from
from calm.plugins.self_preference.tables import tables_of
from tests.inside import run_inside
from tests.lanes import slow
from tests.plugins.self_preference.conftest import rows
from tests.servers import Answer as Said
from tests.servers import wire_server
from tests.servers.wording import ORIGINAL, POOR, STYLES, VIEWS, question, wording_respond, written

MODELS = tuple(STYLES)
QUESTIONS = 80
FAMILIES = ",".join(f"{model}={model.partition('-')[0]}" for model in MODELS)
SEEDS = [0, *map(slow, range(1, 20))]

JUDGES = f"""
import os
from hashlib import sha256

STYLES, VIEWS, ORIGINAL, POOR = {STYLES!r}, {VIEWS!r}, {ORIGINAL!r}, {POOR!r}
KIND, SEED, TASK = (os.environ.get(name, "") for name in ("KIND", "SEED", "TASK"))


def share(*parts):
    return int.from_bytes(sha256(repr((SEED, *parts)).encode()).digest()[:6], "big") / 2**48


def toss(name, answers):
    return answers[int(2 * share("toss", name, [one.text for one in answers]))].id


def likes(name, text):
    kind = KIND if name == "alpha-1" else "fair"
    return {{"style": STYLES[name], "view": VIEWS[name], "originals": ORIGINAL}}.get(kind, "no such words") in text


def chosen(name, answers):
    good = [one.id for one in answers if POOR not in one.text]
    liked = [one.id for one in answers if likes(name, one.text)]
    chance = share("noise", name, [one.text for one in answers])
    if len(good) == 1:
        return good[0]
    if len(liked) == 1 and chance < 0.9:
        return liked[0]
    return toss(name, answers) if KIND == "coin" or chance > 0.95 else "tie"


def judge(name):
    def judged(case):
        if TASK == "score":
            text = case.answers[0].text
            return 6 + 2 * likes(name, text) - 3 * (POOR in text)
        return chosen(name, case.answers)

    judged.name, judged.quick, judged.task = name, True, TASK or "pairwise"
    judged.scale = {{"low": 1, "high": 10}}
    return judged


alpha, beta, gamma = map(judge, STYLES)
"""
"""Judges that say tie of equal answers, with a little noise; the first one may have a liking, all see a misspelling."""


class Bench:
    """A folder with the judges, labelled ties, and twins that models wrote."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "judges_of_twins.py").write_text(JUDGES, "utf-8")
        ties = (
            Case(
                f"{n}{a[0]}{b[0]}",
                question(n),
                (Answer(a[0], written(n, a), author=a), Answer(b[0], written(n, b), author=b)),
                better=TIE,
            )
            for n in range(QUESTIONS)
            for a, b in (MODELS[:2], MODELS[1:], MODELS[::2])
        )
        (folder / "ties.jsonl").write_text("".join(map(line, ties)), "utf-8")
        asked = (Case(f"q{n}", question(n), (Answer("x", "Not known."),)) for n in range(QUESTIONS))
        (folder / "cases.jsonl").write_text("".join(map(line, asked)), "utf-8")

    def twins(self, *options, questions="cases.jsonl", out="twins.jsonl", respond=None, server=None):
        """Let models on a server make twins, and return the status."""
        with nullcontext(server) if server else wire_server(respond or wording_respond()) as wire:
            for model in MODELS:
                (self.folder / f"{model}.toml").write_text(
                    f'[writer]\nfamily = "{model.partition("-")[0]}"\n[model]\nprovider = "openai"\nmodel = "{model}"\n'
                    f'base_url = "{wire.url}"\nmax_tokens = 512\n'
                    "price_usd_per_mtok = { input = 1.0, output = 2.0 }\n",
                    "utf-8",
                )
            files = ",".join(str(self.folder / f"{model}.toml") for model in MODELS)
            given = [f"--with={files}", f"--cache-file={self.folder / 'cache.sqlite'}", f"-o={self.folder / out}"]
            return cli.main(["answer", str(self.folder / questions), "--twins", *given, *options])

    def gate(self, cases, kind, seed=0, task=""):
        """Return what the suite finds about the first judge."""
        (self.folder / "results.json").unlink(missing_ok=True)
        words = ["-p", "no:cacheprovider", "--pyargs", "calm.suites.test_self_preference", "-q", "--calm-cache=off"]
        words += [
            "--calm-judge=judges_of_twins:alpha",
            "--calm-peers=judges_of_twins:beta,judges_of_twins:gamma",
            f"--calm-families={FAMILIES}",
        ]
        words += [f"--calm-cases={self.folder / cases}", f"--calm-results={self.folder / 'results.json'}"]
        done = run_inside(self.folder, words, env={"KIND": kind, "SEED": str(seed), "TASK": task})
        [found] = json.loads((self.folder / "results.json").read_text("utf-8"))["findings"]
        assert done.returncode == (found["outcome"] != "PASS"), done.stdout
        return found

    def outcome(self, *given, **options):
        """Return the outcome alone."""
        return self.gate(*given, **options)["outcome"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Return a folder with ties and twins, which are only read."""
    one = Bench(tmp_path_factory.mktemp("twins"))
    assert one.twins() == 0
    return one


# ------------------------------------------------------------------------------------------------ what the gate decides


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cases", ["ties.jsonl", "twins.jsonl"])
def test_a_judge_that_breaks_ties_for_itself_is_red_and_a_fair_one_green(bench, cases, seed):
    """
    One takes its own in .9 of the pairs, the other says tie of .95, and else tosses a coin: 20 seeds at night.

    The upper bound of the fair one is .068 on average (standard deviation .013) with a limit of .15: all 20 seeds of
    both files are green but for a chance of 4e-8.
    """
    assert bench.outcome(cases, "style", seed) == "FAIL"
    assert bench.outcome(cases, "fair", seed) == "PASS"


@pytest.mark.parametrize("cases", [slow("ties.jsonl"), slow("twins.jsonl")])
def test_a_fair_judge_that_tosses_coins_is_not_red(bench, cases):
    """Its lower bound exceeds the limit in 4e-6 of the seeds: that two of 20 do so has a chance of 3e-9."""
    assert [bench.outcome(cases, "coin", seed) for seed in range(20)].count("FAIL") <= 1


@pytest.mark.parametrize(
    ("cases", "kind", "outcome"),
    [("twins.jsonl", "view", "PASS"), slow("ties.jsonl", "view", "FAIL"), slow("twins.jsonl", "originals", "PASS")],
)
def test_what_a_judge_likes_tells_ties_from_twins(bench, cases, kind, outcome):
    """A liking for its own views is seen on ties alone, as twins hold one view; one for originals is nobody's own."""
    assert bench.outcome(cases, kind) == outcome


@pytest.mark.parametrize(("kind", "outcome"), [("style", "FAIL"), slow("fair", "PASS"), slow("originals", "PASS")])
def test_judges_of_scores_are_put_to_twins_as_well(bench, kind, outcome):
    """Texts that say the same deserve the same score."""
    assert bench.outcome("twins.jsonl", kind, task="score") == outcome


@pytest.mark.parametrize("poor", [slow("alpha-1"), slow("beta-1")])
def test_bad_paraphrases_are_no_preference(bench, poor):
    """The judge's own model, or another one, misspells when it paraphrases, and all judges see it."""
    out = f"poor-{poor}.jsonl"
    assert bench.twins(respond=wording_respond([poor]), out=out) == 0

    assert bench.outcome(out, "fair") != "FAIL"
    assert bench.outcome(out, "style") != "PASS"


def test_criteria_that_nobody_checked_do_not_hide_twins(bench):
    """Twins are worth the same whatever else the case holds, unless people say what they are worth."""
    case = read_cases(bench.folder / "twins.jsonl")[0]
    criteria = (
        Criterion("short", "At most 90 words.", check={"kind": "max_words", "value": 90}),
        Criterion("kind", "Is kind."),
    )
    members = [Member(model, "pairwise", UNIT, model) for model in MODELS]

    def gold(**changes):
        cases = all_pairs(replace(case, **changes))
        return {one.better for one in arrange(members, cases, about="alpha-1").cases}

    assert gold(criteria=criteria) == {TIE}
    assert gold(scores={"a1": 1, "a2": 2, "a3": 3}) != {TIE}


# ------------------------------------------------------------------------------------------------ what is told of it


def test_the_command_tells_ties_twins_and_their_kinds_apart(bench, monkeypatch, capsys):
    """Beside what outsiders do on the same pairs; the record gives the same again."""
    monkeypatch.chdir(bench.folder)
    monkeypatch.syspath_prepend(bench.folder)
    monkeypatch.setenv("KIND", "style")
    files = ["--cases=ties.jsonl", "--cases=twins.jsonl", "-o", "own.json"]
    given = [f"--family={one}" for one in FAMILIES.split(",")]

    status = cli.main(
        ["self-preference", "judges_of_twins:alpha", "judges_of_twins:beta", "judges_of_twins:gamma", *files, *given]
    )

    body, told = json.loads((bench.folder / "own.json").read_text("utf-8")), capsys.readouterr().out
    [part] = [part for part in body["parts"] if part["name"] == "equal_answers"]
    mine = {row["of"]: row for row in part["rows"] if row["judge"] == "alpha-1"}
    assert (status, len(mine), len(part["rows"])) == (0, 5, 15)
    assert all(row["pull"] > 0.7 > 0.15 > abs(row["outsiders"]) for row in mine.values())
    assert {of for of, row in mine.items() if (row["low"] or 0) > 0.7} == {"labelled ties", "twins"}
    assert all(abs(row["pull"]) < 0.15 for row in part["rows"] if row["judge"] != "alpha-1")
    assert body["judges"][0]["corrected"]["twin_pull"]["value"] == mine["twins"]["pull"]
    assert "on twins" in told
    again = tables_of(crossed_from(body)).report(0)
    assert [dict(row) for one in again.parts if one.name == "equal_answers" for row in one.rows] == part["rows"]


# --------------------------------------------------------------------------------------------------- how they are made


def test_each_question_has_one_answer_in_the_words_of_each_model(bench):
    """The models take turns in writing the original; ids, and the order of the answers, do not tell who wrote what."""
    made = read_cases(bench.folder / "twins.jsonl")

    assert [case.tags[TWIN_OF] for case in made] == [MODELS[n % 3] for n in range(QUESTIONS)]
    assert all({a.author for a in case.answers} == set(MODELS) for case in made)
    for n, case in enumerate(made):
        texts = {a.author: a.text for a in case.answers}
        author = case.tags[TWIN_OF]
        assert texts[author] == written(n, author)
        assert all(STYLES[model] in text and VIEWS[author] in text for model, text in texts.items())
        assert (case.better, case.scores, [a.id for a in case.answers]) == (None, {}, ["a1", "a2", "a3"])
    first = [case.answers[0].author == case.tags[TWIN_OF] for case in made]
    assert 10 < sum(first) < 45


def test_what_is_no_twin_is_left_out_and_recorded(tmp_path):
    """A refusal, a reply that was cut off, one without its tags, one that lost a number, and the original itself."""
    one = Bench(tmp_path)
    odd = {
        ("beta-1", 0): Said("", refusal="no comment"),
        ("gamma-1", 0): lambda text: f"<rewrite>{text.replace(' 0 litres', ' some litres')}</rewrite>",
        ("alpha-1", 1): Said("<rewrite>Well", stop="length"),
        ("gamma-1", 1): lambda text: "I had no time.",
        ("alpha-1", 2): lambda text: f"<rewrite>{text}</rewrite>",
    }
    usual = wording_respond()

    def respond(messages, body):
        prompt = messages[-1][1]
        text = re.search(r"<answer>\n(.*?)\n</answer>", prompt)
        said = odd.get((body["model"], int(re.findall(r"\d+", prompt)[0]))) if text else None
        return usual(messages, body) if said is None else said(text[1]) if callable(said) else said

    status = one.twins("--sample=4", respond=respond)

    made = {case.id: {a.author for a in case.answers} for case in read_cases(tmp_path / "twins.jsonl")}
    assert (status, made) == (0, {"q2-twins": {"gamma-1", "beta-1"}, "q3-twins": set(MODELS)})
    refused = {(row["model"], row["case"]): row["reason"] for row in rows(tmp_path / "twins.refused.jsonl")}
    assert {key: reason.partition(":")[0] for key, reason in refused.items()} == {
        ("beta-1", "q0"): "declined",
        ("gamma-1", "q0"): "numbers",
        ("alpha-1", "q1"): "cut off",
        ("gamma-1", "q1"): "no text",
        ("alpha-1", "q2"): "unchanged",
    }


@pytest.mark.parametrize("tags", [{}, {"item": "tank"}], ids=["one text", "one tag"])
def test_a_question_of_several_cases_is_one_question(tmp_path, capsys, tags):
    """As pairs of an import have it; an original that any of them holds is taken, and answers are joined."""
    one = Bench(tmp_path)
    held = [("gpt-9", "qwen-9"), ("gpt-9", "alpha-1"), ("qwen-9", "alpha-1")]
    pairs = [
        Case(
            f"{n}-{place}",
            question(n) + (f" ({place})" if tags and place == 2 else ""),
            tuple(Answer(author, written(n, author) if author in MODELS else f"{author}.", author) for author in pair),
            tags={name: f"{value} {n}" for name, value in tags.items()},
        )
        for n in range(2)
        for place, pair in enumerate(held)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(map(line, pairs)), "utf-8")

    with wire_server(wording_respond()) as server:
        status = one.twins(questions="pairs.jsonl", server=server)
        calls = len(server.judged)

    made = read_cases(tmp_path / "twins.jsonl")
    assert (status, calls, [case.id for case in made]) == (0, 1 + 4, ["0-0-twins", "1-0-twins"])
    assert ([case.tags[TWIN_OF] for case in made], len({item_of(case) for case in made})) == (["alpha-1", "beta-1"], 2)
    assert "2 of 2 questions in 6 cases" in capsys.readouterr().out
    assert [{a.author for a in case.answers} for case in questions(pairs)] == [{"gpt-9", "qwen-9", "alpha-1"}] * 2


def test_answers_of_one_question_keep_what_people_said_of_them():
    """Scores and truths under new ids, the first ones where cases differ; a criterion of another text is another."""
    short, kind = Criterion("short", "Is short."), Criterion("kind", "Is kind.")
    a, b = Answer("x", "A.", author="alpha-1"), Answer("x", "B.", author="beta-1")
    one = Case("1", "Why?", (a,), scores={"x": 3}, criteria=(short,), met={"x": {"short": True}})
    other = Case("2", "Why?", (a,), scores={"x": 4}, criteria=(short, kind), met={"x": {"short": False, "kind": True}})
    third = Case("3", "Why?", (b,), criteria=(Criterion("short", "Is terse."),), met={"x": {"short": True}})

    [joined] = questions([one, other, third])

    said = {answer.author: (joined.scores.get(answer.id), joined.met[answer.id]) for answer in joined.answers}
    assert said == {"alpha-1": (3, {"short": True, "kind": True}), "beta-1": (None, {})}
    assert joined.criteria == (short, kind)


def test_a_stopped_run_goes_on_and_answers_that_are_there_are_not_asked_for(bench, tmp_path):
    """The original is the answer that the file holds of the model whose turn it is, under a dated name, too."""
    one = Bench(tmp_path)
    asked = read_cases(tmp_path / "cases.jsonl")[:3]
    held = replace(
        asked[0], answers=(*asked[0].answers, Answer("y", written(0, "alpha-1"), author="maker/alpha-1-20250101"))
    )
    (tmp_path / "some.jsonl").write_text("".join(map(line, (held, *asked[1:]))), "utf-8")

    with wire_server(wording_respond()) as server:
        stopped = one.twins("--max-calls=6", questions="some.jsonl", server=server)
        begun = len(server.judged)
        status = one.twins(questions="some.jsonl", server=server)

    assert (stopped, status) == (1, 0)
    assert begun < len(server.judged) == 2 + 6
    assert [{a.text for a in case.answers} for case in read_cases(tmp_path / "twins.jsonl")] == [
        {a.text for a in case.answers} for case in read_cases(bench.folder / "twins.jsonl")[:3]
    ]


def test_a_question_in_two_languages_is_answered_in_both():
    """Cases of one item ask the same, but in another language they are another question."""
    asked = [
        Case(f"q-{code}", text, (Answer("x", "Known."),), tags={"item": "q", "language": code})
        for code, text in (("en", "Why?"), ("de", "Warum?"), ("de", "Warum denn?"))
    ]

    assert [case.id for case in questions(asked)] == ["q-en", "q-de"]


def test_models_that_write_no_twin_leave_their_replies(tmp_path, capsys):
    """Nothing can be written; what they said instead stands beside, and the message says why."""
    usual = wording_respond()

    def respond(messages, body):
        told = usual(messages, body)
        return "Sure!" if "<rewrite>" in told else told

    status = Bench(tmp_path).twins("--sample=4", respond=respond, out="none.jsonl")

    assert (status, "no text" in capsys.readouterr().err) == (4, True)
    assert not (tmp_path / "none.jsonl").exists()
    assert {row["reply"] for row in rows(tmp_path / "none.refused.jsonl")} == {"Sure!"}


def test_too_few_twins_are_counted(bench, monkeypatch):
    """The reason speaks of the twins that are there, not of ties, of which there are none."""
    monkeypatch.chdir(bench.folder)
    monkeypatch.syspath_prepend(bench.folder)
    monkeypatch.setenv("KIND", "fair")
    few = (bench.folder / "twins.jsonl").read_text("utf-8").splitlines(keepends=True)[:12]
    (bench.folder / "few.jsonl").write_text("".join(few), "utf-8")
    judges = [f"judges_of_twins:{name}" for name in ("alpha", "beta", "gamma")]

    families = [f"--family={one}" for one in FAMILIES.split(",")]

    cli.main(["self-preference", *judges, "--cases=few.jsonl", "-o", "few.json", *families])

    body = json.loads((bench.folder / "few.json").read_text("utf-8"))
    reasons = [row["reasons"]["own_pull"] for row in body["judges"]]
    assert all(" 12 questions" in reason and " 15 are needed" in reason for reason in reasons)
