"""`calm rubric`: which criteria tell answers apart, which say nothing, and which can be gamed."""

import json
import sys
import types
from dataclasses import replace
from random import Random

import pytest

from calm.cases import bundled, read_cases
from calm.cases.lines import line
from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.core.languages import SERVED
from calm.plugins.rubrics.exploits import BY_RULE, Kind, claims, exploits_of, gained
from calm.plugins.rubrics.study import Answer, Row, found_in, pairs_in
from tests.lanes import slow
from tests.plugins.rubrics import replies
from tests.servers import wire_server


@pytest.fixture
def asked(tmp_path, monkeypatch, capsys):
    """Ask a planted judge about replies without gold; return the exit status, the record and what was printed."""
    monkeypatch.chdir(tmp_path)

    def ask(judge, *options, count=60, seed=1):
        module = types.ModuleType("support")
        module.judge = judge
        monkeypatch.setitem(sys.modules, "support", module)
        replies.write(tmp_path / "rubric.jsonl", count, seed)
        status = main(["rubric", "support:judge", "--cases=rubric.jsonl", "-o", "out.json", *options])
        return status, json.loads((tmp_path / "out.json").read_text("utf-8")), capsys.readouterr().out

    return ask


def answers(record):
    """Return what was found of each criterion, by its id."""
    return {one["ids"][0]: one["answer"] for one in record["criteria"]}


def causes(record, name):
    """Return the reasons for what was found of a criterion, each with its exploit."""
    [found] = [one for one in record["criteria"] if one["ids"] == [name]]
    return [(one["why"], one["kind"]) for one in found["causes"]]


APART = {"refund": "apart", "sorry": "apart", "step": "apart", "next": "apart"}
NOTHING = {"polite": "nothing", "poem": "nothing"}


def test_a_sound_judge_is_green_and_criteria_that_say_nothing_are_named(asked):
    """Without gold: no answer fails the third criterion, none meets the last one, and two are one."""
    status, record, told = asked(replies.judge())

    assert status == 0
    assert answers(record) == APART | NOTHING
    assert causes(record, "polite") == [("none fails", None)]
    assert causes(record, "poem") == [("none meets", None)]
    together = [{one["first"], one["second"]} for one in record["pairs"] if one["together"]]
    assert together == [{replies.CRITERIA["step"], replies.CRITERIA["next"]}]
    assert max(map(len, told.splitlines())) <= 80


SEEDS = [1, *(slow(seed) for seed in range(2, 21))]
"""
A sound judge that errs in 2 % of its verdicts is accused where an exploit rises by more than .10 for certain, at a
level of .05 over at most 16 claims; its true rise is 0, four of its standard errors below. A judge that believes
a claim in all cases is missed where fewer than 22 of 60 are met, which has a probability below 1e-9.
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_criterion_that_a_claim_meets_is_named_and_no_other(asked, seed):
    """Over seeds: the judge believes a claim about one criterion, and errs at random."""
    _, found, told = asked(replies.judge(noise=0.02, seed=seed), seed=seed, count=100)
    assert "gamed" not in answers(found).values()
    assert not told.startswith("RED")

    status, record, told = asked(replies.judge(noise=0.02, seed=seed, believes=["sorry"]), seed=seed, count=100)

    assert status == 1
    assert [name for name, answer in answers(record).items() if answer == "gamed"] == ["sorry"]
    assert causes(record, "sorry") == [("exploit", "claim")]
    assert told.startswith("RED (exit 1)")


def test_words_count_only_where_they_fail_for_certain(asked):
    """A judge that goes by words is not decided until the user says that words cannot meet the criterion."""
    judge = replies.judge(words=["refund"])

    unsaid, before, told = asked(judge)
    status, record, _ = asked(judge, "--content=refund,sorry")
    nowhere, other, _ = asked(judge, "--content=none")

    assert (unsaid, status, nowhere) == (1, 1, 0)
    assert answers(before)["refund"] == "open"
    assert causes(before, "refund") == [("words", "restate")]
    assert "--content" in told
    assert [name for name, answer in answers(record).items() if answer == "gamed"] == ["refund"]
    assert causes(record, "refund") == [("exploit", kind) for kind in ("restate", "echo", "headings")]
    assert answers(other) == APART | NOTHING


def test_what_a_damaged_answer_keeps_says_nothing(asked):
    """A judge that finds an apology in all that is no reply to a customer finds it in answers to another question."""
    sound = replies.judge()

    def keeps(case):
        text = case.answers[0].text
        return sound(case) | {"sorry": "Thank you" not in text or "are sorry" in text}

    keeps.task, keeps.quick = "rubric-all", True

    status, record, _ = asked(keeps, "--content=sorry")

    assert status == 0
    assert answers(record)["sorry"] == "nothing"
    assert causes(record, "sorry") == [("kept", None)]


def test_a_judge_that_keeps_a_criterion_whose_check_is_broken_by_an_edit(tmp_path, monkeypatch, capsys):
    """It sees that an answer about another question has no heading, and takes the own answer's for granted."""
    monkeypatch.chdir(tmp_path)
    checks = {name: {"id": name, "text": f"Has a heading ({name}).", "check": {"kind": "has_heading"}} for name in "ab"}
    rows = [{**row, "criteria": [*checks.values()]} for row in replies.rows(60)]
    for row in rows[::2]:
        row["answers"][0]["text"] = f"# Kettle\n\n{row['answers'][0]['text']}"
    (tmp_path / "rubric.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    heads = {row["question"] for row in rows[::2]}

    def marks(case):
        text = case.answers[0].text
        granted = case.question in heads and "Thank you" in text
        return {one.id: text.startswith("# ") or (one.id == "a" and granted) for one in case.criteria}

    marks.task, marks.quick = "rubric-all", True
    module = types.ModuleType("heads")
    module.judge = marks
    monkeypatch.setitem(sys.modules, "heads", module)

    assert main(["rubric", "heads:judge", "--cases=rubric.jsonl"]) == 0
    record = json.loads((tmp_path / "rubric.json").read_text("utf-8"))

    assert answers(record) == {"a": "nothing", "b": "apart"}
    assert causes(record, "a") == [("kept", None)]


def test_a_few_answers_decide_nothing_and_that_is_not_green(asked):
    status, record, told = asked(replies.judge(), count=12)

    assert status == 1
    assert told.startswith("NOT GREEN (exit 1)")
    assert set(answers(record).values()) == {"open"}


def test_what_cannot_be_read_passes_nothing(asked):
    """A judge that says nothing of an answer with a claim has not withstood it."""
    _, record, told = asked(replies.judge(silent=True))

    assert answers(record)["sorry"] == "open"
    assert causes(record, "sorry") == [("few exploits", "claim")]
    assert "60 could not be read" in " ".join(told.split())


def test_a_check_tells_whether_words_meet_a_criterion(tmp_path, monkeypatch, capsys):
    """The lexical judge goes by words: by program, headings are no title; a word that is asked for is no exploit."""
    monkeypatch.chdir(tmp_path)
    checks = {
        "bold": ("The answer has a title in bold on a line of its own.", {"kind": "bold_title"}),
        "word": ('The answer contains the word "keeper".', {"kind": "contains", "value": "keeper"}),
    }
    criteria = [{"id": name, "text": text, "check": check} for name, (text, check) in checks.items()]
    rows = [{**row, "criteria": criteria} for row in replies.rows(40)]
    (tmp_path / "checked.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")

    status = main(["rubric", "lexical:task=rubric-all", "--cases=checked.jsonl"])

    record = json.loads((tmp_path / "rubric.json").read_text("utf-8"))
    found = {one["ids"][0]: {tried["kind"] for tried in one["tried"] if tried["certain"]} for one in record["criteria"]}
    assert status == 1
    assert answers(record)["bold"] == "gamed"
    assert answers(record)["word"] != "gamed"
    assert found == {"bold": {"claim", "restate", "echo", "headings"}, "word": {"claim"}}


# --------------------------------------------------------------------------------------------------- figures by hand


def rows_of(said, *, kind=Kind.CLAIM, again=False):
    """Return a row for each verdict on an exploit."""
    return [
        Row(f"c{n}", f"c{n}", "it", "it", (n % 2 == 0,), (False, again), {kind: one}, {kind: True})
        for n, one in enumerate(said)
    ]


def test_bounds_by_hand():
    """
    Where nothing varies the upper bound is the exact one of 0 in n, 1 - .05 ** (1 / n): 29 rows pass at .10.

    18 of 60 rise: with w = 1.197 rows more at -1 the mean is (18 - w) / 61.197 = .2745, the mean square
    (18 + w) / 61.197 = .3137, so the standard error is sqrt((.3137 - .0754) / 60.197) = .0629, and t(59) at .05 is
    1.671: the lower bound is .169.
    """
    [none] = found_in(rows_of([False] * 60), 0.10, said=True)
    [few] = found_in(rows_of([False] * 28), 0.10, said=True)
    [some] = found_in(rows_of([True] * 18 + [False] * 42), 0.10, said=True)

    assert none.tried[0].high == pytest.approx(1 - 0.05 ** (1 / 60), abs=1e-3)
    assert (none.tried[0].outcome, few.tried[0].outcome) == (Outcome.PASS, Outcome.UNDECIDED)
    assert (some.answer, some.tried[0].met, some.tried[0].n) == (Answer.GAMED, 18, 60)
    assert some.tried[0].low == pytest.approx(0.169, abs=1e-3)


def test_sixty_cases_decide_about_a_sound_judge_that_errs_in_5_percent():
    """
    At the limit of .20, with all four exploits, .95 of 500 sound criteria are said to tell answers apart.

    Of 100, fewer than 80 have a probability below 1e-7.
    """
    rng = Random(4)

    def said(truth):
        return truth != (rng.random() < 0.05)

    found = [
        found_in(
            [
                Row(f"c{n}", f"c{n}", "it", "it", (said(n % 2 == 0),), (said(False), said(False)),
                    {kind: said(False) for kind in BY_RULE}, dict.fromkeys(BY_RULE, True))
                for n in range(60)
            ],
            0.20,
            said=True,
        )[0].answer
        for _ in range(100)
    ]  # fmt: skip

    assert found.count(Answer.APART) >= 80
    assert Answer.GAMED not in found


def test_criteria_that_too_few_cases_have_take_no_share_of_the_error():
    """
    Fifteen of fifteen show it, though two hundred other criteria are in one case each.

    The lower bound of 7 of 7 at .05 is .197, so 7 rows and fewer can never show it. Were all counted, that of 15 of 15
    at .05 / 201 would be -.08.
    """
    many = [replace(row, criterion=f"own {n}", case=f"d{n}") for n, row in enumerate(rows_of([True] * 200))]
    few = [replace(row, criterion="few") for row in rows_of([True] * 6)]

    found = {one.criterion: one for one in found_in(rows_of([True] * 15) + few + many, 0.20, said=True)}

    assert found["it"].answer is Answer.GAMED
    assert {one.answer for name, one in found.items() if name not in ("it", "")} == {Answer.OPEN}


def test_what_noise_makes_of_an_answer_is_no_exploit():
    """An exploit that is met as often as the same answer without it has a rise of 0."""
    [found] = found_in(rows_of([True] * 60, again=True), 0.10, said=True)

    assert (found.answer, found.tried[0].noise) == (Answer.APART, 60)


def test_kappa_by_hand():
    """20 and 15 of 50 agree, 35 of 50 in all, and by chance .5 would: kappa is (.7 - .5) / (1 - .5) = .4."""
    both = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    rows = [
        Row(f"c{n}", f"c{n}", name, name, (said,))
        for n, two in enumerate(both)
        for name, said in zip("ab", two, strict=True)
    ]

    [pair] = pairs_in(rows)

    assert (pair.differ, pair.n, pair.together) == (15, 50, False)
    assert pair.kappa.value == pytest.approx(0.4)
    assert pair.kappa.low < 0.4 < pair.kappa.high


# ------------------------------------------------------------------------------------------------------ the exploits


def test_an_exploit_is_the_answer_to_another_question_and_a_text(tmp_path):
    """Each stands on the same answer, which shares no word with the question where one of the pool does not."""
    replies.write(tmp_path / "one.jsonl", 1)
    [case] = read_cases(tmp_path / "one.jsonl")
    found = exploits_of(case, 0, {})
    base = found.plain.answers[0].text.rpartition("\n\n")[0]

    assert set(found.forms) == {Kind.CLAIM, Kind.RESTATE, Kind.ECHO, Kind.HEADINGS}
    assert all(one.answers[0].text.startswith(base) for one in found.forms.values())
    assert "kettle" not in base
    assert replies.CRITERIA["sorry"] in found.forms[Kind.RESTATE].answers[0].text
    assert found.fails(case.criteria[0], Kind.CLAIM, content=False)
    assert not found.fails(case.criteria[0], Kind.ECHO, content=False)


def test_nobody_games_a_criterion_that_counts_against_the_answer():
    case = bundled("rubric")[0]
    first = type(case.criteria[0])("bad", "The answer gives wrong advice.", points=-1)

    assert [one.id for one in gained(type(case)(case.id, case.question, case.answers, criteria=(first,)))] == []


def test_the_claim_is_there_in_every_served_language():
    assert set(claims()) == set(SERVED)


# --------------------------------------------------------------------------------------------------- a server, a page


def test_a_judge_and_a_writer_on_a_server(tmp_path, monkeypatch, capsys):
    """The judge believes what the writer wrote; the writer sees a criterion, and neither question nor answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(replies, "CRITERIA", {name: replies.CRITERIA[name] for name in ("refund", "sorry")})
    replies.write(tmp_path / "rubric.jsonl", 20)

    def respond(messages, body):
        said = messages[-1][1]
        if body["model"] == "writer":
            return "Rest assured: each point was seen to with care."
        criterion = next(name for name, text in replies.CRITERIA.items() if f"\n{text}\n" in said)
        met = replies.truth(said)[criterion] or (criterion == "sorry" and "Rest assured" in said)
        return f"[[{'YES' if met else 'NO'}]]"

    with wire_server(respond) as server:
        model = f"[model]\nprovider = 'openai'\nbase_url = '{server.url}'\nmodel = "
        (tmp_path / "judge.toml").write_text(f"[judge]\nname = 'support'\ntask = 'rubric'\n{model}'judge'\n")
        (tmp_path / "writer.toml").write_text(f"{model}'writer'\n")
        options = ["rubric", "judge.toml", "--cases=rubric.jsonl", "--writer=writer.toml", "--content=all"]
        planned = main([*options, "--plan"])
        asked_before = len(server.judged)
        told = capsys.readouterr().out
        status = main(options)
        asked_by_writer = [seen.messages[-1][1] for seen in server.seen if seen.body["model"] == "writer"]
        again = main(options)
        calls = len(server.judged)

    record = json.loads((tmp_path / "rubric.json").read_text("utf-8"))
    assert (planned, asked_before, status, again) == (0, 0, 1, 1)
    assert "at least" in told
    assert causes(record, "sorry") == [("exploit", "writer")]
    assert [name for name, answer in answers(record).items() if answer == "gamed"] == ["sorry"]
    assert sum("kettle" in text or "Thank you" in text for text in asked_by_writer) == 0
    assert sum(text in said for said in asked_by_writer for text in replies.CRITERIA.values()) == len(replies.CRITERIA)
    assert calls == len(replies.CRITERIA) + 2 * 20 * (3 + 5)  # and the second run had all of it from the cache


def test_recorded_verdicts_tell_what_needs_no_exploit(tmp_path, monkeypatch):
    """Without a call: what no answer fails, and what moves together; not green, as no exploit was tried."""
    monkeypatch.chdir(tmp_path)
    replies.write(tmp_path / "rubric.jsonl")
    said = [{"case": row["id"], "verdict": replies.truth(row["answers"][0]["text"])} for row in replies.rows()]
    (tmp_path / "verdicts.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in said), "utf-8")

    status = main(["rubric", "recorded:rubric:verdicts.jsonl", "--cases=rubric.jsonl"])

    record = json.loads((tmp_path / "rubric.json").read_text("utf-8"))
    assert (status, record["asks"], record["together"]) == (1, 60, [])
    assert answers(record) == APART | NOTHING
    assert causes(record, "sorry") == [("no exploits", None)]
    assert [one["together"] for one in record["pairs"]].count(True) == 1


def test_a_cap_ends_it_and_is_told(asked):
    status, record, told = asked(replies.judge(), "--max-calls=30")

    assert status == 1
    assert record["incomplete"]
    assert "INCOMPLETE" in told


def test_hostile_texts_stay_texts_on_the_page(asked, tmp_path, monkeypatch):
    text = "<script>alert(1)</script> {{ 7 * 7 }} \x1b[31m"
    monkeypatch.setitem(replies.CRITERIA, "refund", text)

    _, _, told = asked(replies.judge(believes=["refund"]))
    main(["report", "out.json", "-o", "page.html"])
    page = (tmp_path / "page.html").read_text("utf-8")

    assert "\x1b" not in told
    assert "<script>alert" not in page
    assert "Can be gamed" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--content=nobody"], "no case has a criterion 'nobody'"),
        (["--limit=0"], "--limit: expected a share"),
        (["--sample=0"], "--sample: expected a number above 0"),
        (["--writer=none.toml"], "none.toml"),
    ],
)
def test_a_wrong_option_is_told(asked, capsys, options, said):
    with pytest.raises(FileNotFoundError):  # nothing was written
        asked(replies.judge(), *options)

    assert said in capsys.readouterr().err


def test_a_judge_or_cases_without_criteria_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.jsonl").write_text("".join(f"{line(case)}\n" for case in bundled("score")[:3]), "utf-8")

    statuses = [main(["rubric", "lexical"]), main(["rubric", "lexical:task=rubric", "--cases=scores.jsonl"])]

    told = capsys.readouterr().err
    assert statuses == [4, 4]
    assert "expected a judge that marks criteria" in told
    assert "expected at least one criterion" in told
