"""Replies that are kept are read in bulk: with the verdicts, the counts and the faults of asking one by one."""

from dataclasses import dataclass, replace

import pytest

from calm.core.reasons import Kind, reason_of
from calm.core.verdict import Preferred, Unreadable
from calm.engine.asks import PlainQuestion
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import JudgeError
from calm.gate.from_spec import judge_from
from calm.judges.prompted import PromptedJudge
from tests.planted import pairs
from tests.servers import Answer, wire_server

JUDGE = """[judge]
name = "served"
task = "pairwise"
[model]
provider = "openai"
model = "a-model-of-nobody"
base_url = "{url}"
"""


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Return a server, and a judge that asks it."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with wire_server(lambda turns, body: "It is so. [[A]]") as server:
        (tmp_path / "judge.toml").write_text(JUDGE.format(url=server.url), "utf-8")
        yield server, judge_from(str(tmp_path / "judge.toml"))


def ask(tmp_path, judge, count, mode=Mode.ON, question=PlainQuestion):
    """Return what an engine of its own finds, and what it counted."""
    engine = Engine(Store(tmp_path / "cache.sqlite", mode))
    try:
        engine.admit(judge)
        found = engine.ask_each([question(judge, case, 1) for case in pairs(count)])
        return [one.verdict for one in found], dict(engine.ledger.calls), engine.ledger.answers
    finally:
        engine.close()


def test_they_are_read_and_counted_without_a_call(served, tmp_path):
    """More of them than are read at once."""
    server, judge = served
    cold, made, answers = ask(tmp_path, judge, 600)
    calls = len(server.judged)

    warm, counted, again = ask(tmp_path, judge, 600)
    replayed, _, _ = ask(tmp_path, judge, 600, Mode.REPLAY)

    assert warm == replayed == cold
    assert (calls, len(server.judged)) == (600, 600)
    assert (made["made"], counted["cached"], answers, again) == (601, 600, 600, 600)


def test_what_is_asked_anew_is_not_read(served, tmp_path):
    """With `refresh`, each call is made again."""
    server, judge = served
    ask(tmp_path, judge, 30)

    ask(tmp_path, judge, 30, Mode.REFRESH)

    assert len(server.judged) == 60


@dataclass(frozen=True, slots=True, eq=False)
class Contrary(PromptedJudge):
    """A judge that says the opposite of what its replies say."""

    async def judge(self, case, send):
        found = await PromptedJudge.judge(self, case, send)
        return Preferred(next(a.id for a in case.answers if a.id != found.answer))


def test_a_judge_that_changes_another_one_is_asked_itself(served, tmp_path):
    """Its requests are those of the other, and its verdicts are not."""
    _, judge = served
    taken = {name: getattr(judge, name) for name in ("name", "task", "scale", "prompt", "form", "server")}
    contrary = Contrary(**taken)

    cold, _, _ = ask(tmp_path, contrary, 20)
    warm, _, _ = ask(tmp_path, contrary, 20)
    usual, _, _ = ask(tmp_path, judge, 20)

    assert warm == cold
    assert all(mine != its for mine, its in zip(warm, usual, strict=True))


def test_a_judge_that_cannot_be_read_ends_the_run_also_where_its_replies_are_kept(served, tmp_path):
    """Also if the question that shows it is the last one."""
    server, judge = served
    server.respond = lambda turns, body: Answer("I have no opinion on this.")
    unread, _, _ = ask(tmp_path, judge, 12, question=lambda *about: about)  # no question about a case as it is

    with pytest.raises(JudgeError) as caught:
        ask(tmp_path, judge, 12)

    assert all(isinstance(one, Unreadable) for one in unread)
    assert reason_of(caught.value).kind is Kind.JUDGE_UNREAD
    assert len(server.judged) == 12


def test_a_prompt_that_a_server_cut_is_no_verdict_also_where_its_reply_is_kept(served, tmp_path):
    """The server counted fewer tokens than the prompt has words."""
    server, judge = served
    server.respond = lambda turns, body: Answer("It is so. [[A]]", usage=(600, 7))
    case = pairs(1)[0]
    long = replace(case, question="word " * 3000)
    verdicts = []
    for _ in range(2):
        engine = Engine(Store(tmp_path / "cache.sqlite", Mode.ON))
        engine.admit(judge)
        (one,) = engine.ask_each([(judge, long, 1)])
        engine.close()
        verdicts.append(one.verdict)

    assert [reason_of(one.reason).kind for one in verdicts] == [Kind.PROMPT_CUT, Kind.PROMPT_CUT]
    assert len(server.judged) == 1
