"""Panels: several judges give one verdict, and the panel is a judge like any other."""

import asyncio
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from calm.core.case import Answer, Case, Criterion
from calm.core.reasons import Kind, Said, because, reason_of
from calm.core.verdict import NoReply, Preferred, Refused, Score, Unreadable
from calm.errors import ConfigError, JudgeError
from calm.gate.from_spec import judge_from
from calm.judges.panel import panel
from calm.judges.python import PythonJudge

PAIR = Case("c1", "Which?", (Answer("x", "one"), Answer("y", "two")))
ONE = Case("c2", "How good?", (Answer("x", "one"),), criteria=(Criterion("a", "A."), Criterion("b", "B.")))
LIST = Case("c3", "Rank.", (Answer("x", "one"), Answer("y", "two"), Answer("z", "three")))


@dataclass(frozen=True)
class Ask:
    """A send that is not used: it says which ask it is."""

    ask: int = 1


def says(verdict, task="pairwise", name="judge", **attributes):
    """Return a judge that always says the same."""

    def judge(case):
        return verdict

    judge.task, judge.quick, judge.name = task, True, name
    judge.fingerprint = attributes.pop("fingerprint", repr(verdict))
    for key, value in attributes.items():
        setattr(judge, key, value)
    return PythonJudge(judge)


def said(verdicts, case, rule="majority", weights=(), task="pairwise"):
    """Return the verdict of a panel whose members say these things."""
    members = [says(verdict, task, f"m{place}") for place, verdict in enumerate(verdicts)]
    return asyncio.run(panel(members, rule, weights).judge(case, Ask()))


X, Y = Preferred("A"), Preferred("B")
"""What a member says of the slots of `PAIR`: the answer x is in the first one."""


def test_the_law_is_told_the_rule_and_the_weights():
    """Two that hardly prefer x against one that is sure of y: the majority takes x, the mean y."""
    hardly = Preferred("A", {"A": 0.51, "B": 0.49, "tie": 0.0})
    sure = Preferred("B", {"A": 0.0, "B": 1.0, "tie": 0.0})

    assert said([hardly, hardly, sure], PAIR) == Preferred("x")
    assert said([hardly, hardly, sure], PAIR, "mean").answer == "y"
    assert said([hardly, hardly, sure], PAIR, "weighted", (30, 30, 0.1)).answer == "x"


def test_an_unreadable_minority_is_left_out_counted_and_noted():
    """The others decide; the run is told who was silent, and how often."""
    one = panel([says(X, name="a"), says(X, name="b"), says(Unreadable("mumbles"), name="c")])

    found = [asyncio.run(one.judge(PAIR, Ask())) for _ in range(3)]

    assert found == [Preferred("x")] * 3
    (note,) = one.remarks.notes
    assert note == because(Kind.PANEL_SILENT, "panel of a, b, c", "member 3 (c)", 3, 3)


def test_a_panel_tells_how_far_its_members_agree():
    """Two who say the same and one who says otherwise: one of three pairs of verdicts is alike."""
    one = panel([says("A", name="a"), says("A", name="b", fingerprint="b"), says("B", name="c")])
    assert one.remarks.agreement == ()

    for ask in (1, 2, 3):
        asyncio.run(one.judge(PAIR, Ask(ask)))

    (told,) = one.remarks.agreement
    assert str(told).startswith("panel panel of a, b, c: its members agree: 0.33 of pairs of verdicts alike")
    assert not told.quotes


def test_half_of_the_members_silent_silences_the_panel():
    """The reason names them; only if all declined has the panel declined."""
    verdict = said([X, Unreadable("mumbles")], PAIR)

    assert isinstance(verdict, Unreadable)
    assert "member 2 (m1)" in verdict.reason
    assert isinstance(said([Refused("no"), Refused("never")], PAIR), Refused)
    assert isinstance(said([Refused("no"), Unreadable("mumbles")], PAIR), Unreadable)


def test_a_member_without_a_reply_leaves_no_verdict():
    """A transport failure is no data, whoever else answered; the reason names the member, but not where a cap came."""
    capped = because(Kind.CAPPED, "5 calls")

    lost = said([X, X, NoReply("cut")], PAIR)

    assert lost == NoReply(because(Kind.MEMBER, "member 3 (m2)", because(Kind.SAID, Said("cut"))))
    assert said([X, X, NoReply(capped)], PAIR) == NoReply(capped)


def test_a_failing_member_is_named_by_its_number_and_keeps_what_the_error_says():
    """Two members may have one name; whether the call may be made again is still known."""
    failing = JudgeError("answered 503", again=True, after_s=2.0, silent=True)

    async def fails(case, send):
        raise failing

    members = [says(X), says(Y)]
    whole = panel(members)
    lost = replace(whole, members=(members[0], SimpleNamespace(name="judge", judge=fails)))

    with pytest.raises(JudgeError) as raised:
        asyncio.run(lost.verdicts(PAIR, Ask()))

    assert reason_of(raised.value).kind is Kind.MEMBER
    assert reason_of(raised.value).details[0] == "member 2 (judge)"
    assert vars(raised.value) == vars(failing)


def test_a_panel_is_identified_by_its_members_and_rule():
    """Another member, order or rule is another panel; one that is not known makes the panel unknown."""
    a, b, stranger = says(X), says(Y), says(X, fingerprint=None)
    known = {panel([a, b]).fingerprint, panel([b, a]).fingerprint, panel([a, b], "mean").fingerprint}

    assert len(known) == 3
    assert panel([a, stranger]).fingerprint is None
    assert panel([a, b]).sees(PAIR) == (a.sees(PAIR), b.sees(PAIR))


def test_a_panel_that_cannot_be_is_refused(subtests):
    """Each fault says what was expected and what came."""
    for members, rule, weights, message in [
        ([says(X)], "majority", (), "members: expected at least 2 judges, got 1"),
        (
            [says(X), says(Score(1), "score")],
            "majority",
            (),
            "expected judges of one task, got member 1 (judge): pairwise",
        ),
        (
            [says(Score(1), "score", scale={"low": 1, "high": 5}), says(Score(1), "score")],
            "mean",
            (),
            "expected judges of one scale, got member 1 (judge): 1 to 5, member 2 (judge): 1 to 10",
        ),
        ([says(X, name="j"), says(X, name="j")], "mean", (), "expected different judges, got j 2 times"),
        ([says(X), says(Y)], "median", (), "rule: expected one of majority, mean, weighted, got rule='median'"),
        ([says(X), says(Y)], "weighted", (1,), "weights: expected one for each of 2 members, got 1"),
        ([says(X), says(Y)], "mean", (1, 1), "weights: are for rule = 'weighted' only"),
        ([says(X), says(Y)], "weighted", (1, math.nan), "weights: expected numbers above 0"),
    ]:
        with subtests.test(members=members, rule=rule, weights=weights, message=message):
            with pytest.raises(ConfigError) as raised:
                panel(members, rule, weights)

            assert message in str(raised.value)


def write(folder, name, body):
    """Write a file and return its path as text."""
    (folder / name).write_text(body, "utf-8")
    return str(folder / name)


JUDGE = (
    '[judge]\nname = "{}"\ntask = "{}"\n'
    '[model]\nprovider = "openai"\nmodel = "tiny-{}"\nbase_url = "http://127.0.0.1:9/v1"\n'
)


def test_a_file_describes_a_panel(tmp_path):
    """Members are files beside it; the endpoints are those of all members."""
    for name in "ab":
        write(tmp_path, f"{name}.toml", JUDGE.format(name, "score", name))
    path = write(
        tmp_path,
        "panel.toml",
        '[judge]\nname = "poll"\n[panel]\nmembers = ["a.toml", "b.toml"]\nrule = "weighted"\nweights = [2, 1]\n',
    )

    found = judge_from(path)

    assert (found.name, found.task, found.rule, found.weights) == ("poll", "score", "weighted", (2.0, 1.0))
    assert [e.model for e in found.endpoints] == ["tiny-a", "tiny-b"]
    assert [m["model"] for m in found.about["panel"]] == ["tiny-a", "tiny-b"]


def test_every_fault_of_a_panel_file_is_told(tmp_path):
    """Also those of its members' files."""
    write(tmp_path, "a.toml", '[judge]\nname = "a"\n')
    write(tmp_path, "p.toml", '[panel]\nmembers = ["a.toml"]\n')
    path = write(
        tmp_path, "panel.toml", '[panel]\nmembers = ["a.toml", "gone.toml", "p.toml"]\nrul = "mean"\n[model]\nx = 1\n'
    )

    with pytest.raises(ConfigError) as raised:
        judge_from(path)

    text = str(raised.value)
    assert "expected [judge] and [panel] alone, got a table [model]" in text
    assert "[panel] rul: unknown key; did you mean 'rule'?" in text
    assert "a.toml: [judge] task: missing" in text
    assert "gone.toml: there is no such file" in text
    assert "expected judges, got the panel 'p.toml'" in text


def test_a_specification_names_a_panel():
    """Judges of any kind, joined by plus signs."""
    found = judge_from("panel:planted:position=0.2+lexical+planted:noise=0.1")

    assert [m.name.partition(":")[0] for m in found.members] == ["planted", "lexical", "planted"]
    assert found.task == "pairwise"
    with pytest.raises(ConfigError, match=r"panel:lexical: members: expected at least 2 judges, got 1"):
        judge_from("panel:lexical")
