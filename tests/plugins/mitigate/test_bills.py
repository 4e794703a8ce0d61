"""Panels that answer, read or weigh besides: their bill is what the servers counted, and their plan is no less."""

import re
from contextlib import contextmanager

import pytest

from tests.plugins.mitigate.judging import member, share
from tests.plugins.mitigate.test_command import POSITION, calm, rows, study
from tests.servers import Answer, wire_server

PRICES = {"judge": (1.0, 2.0), "b": (10.0, 20.0), "c": (100.0, 200.0)}
JUDGE = """
[judge]
name = "{name}"
task = "{task}"
{more}

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
max_tokens = 64
price_usd_per_mtok = {{ input = {price[0]}, output = {price[1]} }}
"""
FEW = ("--sample=5", "--repeats=2+2")
PANELS = ("peer-rank:b.toml+c.toml", "discussion:b.toml", "perplexity-panel:b.toml+c.toml")


def likely(name):
    """Return what a model finds likely: each text by its own lot."""
    return lambda text: -0.1 - 3 * share(name, text)


@contextmanager
def members(folder, task="pairwise", more=None, **responds):
    """Write three judges, each with a price and before a server of its own; their models have one name."""
    responds = {name: responds.get(name) or member(name, likely(name)) for name in PRICES}
    with wire_server(responds["judge"]) as one, wire_server(responds["b"]) as two, wire_server(responds["c"]) as three:
        wires = dict(zip(PRICES, (one, two, three), strict=True))
        for name, wire in wires.items():
            about = {"name": name, "task": task, "more": (more or {}).get(name, "")}
            (folder / f"{name}.toml").write_text(JUDGE.format(url=wire.url, price=PRICES[name], **about))
        yield wires


def counted(wires):
    """Return the calls, the tokens and the dollars that the servers counted, without the greetings."""
    calls, tokens, dollars = 0, [0, 0], 0.0
    for name, wire in wires.items():
        for seen in wire.judged:
            put, got = wire.respond(seen.messages, dict(seen.body)).usage
            tokens = [tokens[0] + put, tokens[1] + got]
            dollars += (put * PRICES[name][0] + got * PRICES[name][1]) / 1e6
            calls += 1
    return calls, tuple(tokens), dollars


def number(text):
    """Return a number as it is shown."""
    return float(text.replace(",", ""))


@pytest.mark.parametrize("tried", PANELS)
def test_the_bill_is_what_the_servers_counted(tmp_path, tried):
    """Calls, tokens and dollars, each member by the price of its file; the plan names no fewer calls, and no less."""
    with members(tmp_path) as wires:
        planned = calm(tmp_path, "judge.toml", f"--try={tried}", *FEW, "--plan", *POSITION)
        asked = sum(len(wire.seen) for wire in wires.values())
        done = calm(tmp_path, "judge.toml", f"--try={tried}", *FEW, *POSITION)
        calls, tokens, dollars = counted(wires)
        greeted = [len(wire.seen) - len(wire.judged) for wire in wires.values()]

    assert (asked, greeted) == (0, [1, 1, int("c.toml" in tried)])
    [(made, usd, *told)] = re.findall(
        r"took ([\d,]+) calls.*?, ([\d.]+) USD; ([\d,]+) tokens in, (.*) out", done.stdout
    )
    greetings = sum(greeted)  # each is told to take 11 tokens and 7
    assert number(made) == calls + greetings
    assert tuple(map(number, told)) == (tokens[0] + 11 * greetings, tokens[1] + 7 * greetings)
    paid = sum((11 * put + 7 * got) / 1e6 for (put, got), one in zip(PRICES.values(), greeted, strict=True) if one)
    assert float(usd) == pytest.approx(dollars + paid, abs=6e-5)
    # the set takes all that was asked: of the judge alone it asks the same
    assert rows(tmp_path)[tried]["usd"] == pytest.approx(dollars)
    plan = " ".join(planned.stdout.split())
    [(most, likely, most_usd)] = re.findall(r"together.*?: ([\d,]+) calls(?: .*? ([\d,]+)\))?, ([\d.]+) USD", plan)
    assert not likely or number(likely) < number(most)
    assert number(most) >= calls + greetings
    assert float(most_usd) >= dollars


def test_what_is_asked_once_in_a_run_is_not_among_the_calls_of_a_verdict(tmp_path):
    """Three members: three answers and nine reviews for a question; one call to find out, and one for each answer."""
    with members(tmp_path) as wires:
        calm(tmp_path, "judge.toml", f"--try={PANELS[0]},{PANELS[2]}", *FEW, *POSITION)
        seen = [(name, one) for name, wire in wires.items() for one in wire.judged]

    found = rows(tmp_path)
    assert [found[name]["calls_per_verdict"] for name in ("none", PANELS[0], PANELS[2])] == [1, 3, 3]
    answered = [one.messages[-1][1] for _, one in seen if "Answer the question" in one.messages[0][1]]
    reviews = [one for _, one in seen if " says: 0." in one.messages[-1][1]]
    texts = {one.messages[-1][1] for _, one in seen if "prompt_logprobs" in one.body}
    assert len(answered) == 3 * len(set(answered))
    assert len(reviews) == 9 * len(set(answered))
    assert sum("prompt_logprobs" in one.body for _, one in seen) == 3 * len(texts)


def test_a_member_that_is_down_leaves_its_panels_out(tmp_path):
    """The reason names it, the other sets end, and the figures of the judge alone stand."""
    with members(tmp_path, b=lambda turns, body: Answer(status=400, message="out of order")):
        done = calm(tmp_path, "judge.toml", f"--try={','.join(PANELS)},swap", *FEW, *POSITION)

    left = {one["set"]: one["reason"] for one in study(tmp_path)["not_applicable"]}
    assert left.keys() == set(PANELS), done.stderr
    assert all("member 2 (b)" in why and "out of order" in why for why in left.values())
    assert rows(tmp_path).keys() == {"none", "swap"}


def test_a_cap_in_the_middle_is_kept_and_calls_a_verdict_are_those_of_verdicts(tmp_path):
    """Asks that the cap ended take no calls: they are no verdicts that cost nothing."""
    with members(tmp_path) as wires:
        done = calm(tmp_path, "judge.toml", f"--try={PANELS[2]}", *FEW, "--max-calls=120", *POSITION)
        made = sum(len(wire.seen) for wire in wires.values())

    found = rows(tmp_path)[PANELS[2]]
    assert done.returncode == 1, done.stderr
    assert (found["outcome"], found["calls_per_verdict"]) == ("INCOMPLETE", 3)
    assert made <= 120


def test_judges_of_other_scales_are_refused_before_anything_is_asked(tmp_path):
    """Five of ten is no five of a hundred; each member is named with its scale."""
    scales = {"judge": "[verdict.scale]\nlow = 1\nhigh = 10", "b": "[verdict.scale]\nlow = 0\nhigh = 100"}
    with members(tmp_path, "score", scales) as wires:
        done = calm(tmp_path, "judge.toml", f"--try={PANELS[1]}", *FEW, *POSITION)

    assert done.returncode == 4
    assert "member 1 (judge): 1 to 10, member 2 (b): 0 to 100" in done.stderr
    assert not any(wire.seen for wire in wires.values())


def test_a_discussion_without_agreement_takes_all_that_its_plan_says(tmp_path):
    """Each keeps to its own: two calls, and two more for each of three exchanges; the run says that they differ."""
    says = {"judge": lambda turns: "A", "b": lambda turns: "B"}
    with members(tmp_path, **{name: member(name, says=one) for name, one in says.items()}) as wires:
        planned = calm(tmp_path, "judge.toml", f"--try={PANELS[1]}", *FEW, "--plan", *POSITION)
        done = calm(tmp_path, "judge.toml", f"--try={PANELS[1]}", *FEW, *POSITION)
        made = sum(len(wire.seen) for wire in wires.values())

    found = rows(tmp_path)[PANELS[1]]
    assert f"{PANELS[1]}: {made} calls" in planned.stdout
    assert (found["calls_per_verdict"], found["ties"]) == (8, 1)
    assert re.search(r"of (\d+) asks the two agreed at once in 0, after an exchange in 0, and never in \1", done.stdout)


def test_replies_without_a_text_are_no_answers_and_no_verdicts(tmp_path):
    """A mute member is left out of the verdict, has no share of the wins, and ends a discussion without a verdict."""

    def mute(turns, body):
        return member("b", likely("b"))(turns, body) if "prompt_logprobs" in body else Answer("", usage=(9, 0))

    with members(tmp_path, b=mute):
        done = calm(tmp_path, "judge.toml", f"--try={','.join(PANELS)}", *FEW, *POSITION)

    found = rows(tmp_path)
    assert found[PANELS[0]]["unread_clean"] == found[PANELS[2]]["unread_clean"] == 0, done.stderr
    assert found[PANELS[1]]["unread_clean"] > 0
    assert all("member 2 (b) gave no verdict" in found[name]["remarks"] for name in PANELS)
