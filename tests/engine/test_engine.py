"""The engine: one call for equal questions, hard caps, whole errors, and what it remembers."""

import _thread
import asyncio
import json
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random

import pytest

from calm.core.reasons import Kind, Said, because, reason_of
from calm.core.verdict import NoReply, Preferred, Score, Tie, Unreadable
from calm.engine.engine import Engine
from calm.engine.money import Caps, Money
from calm.engine.store import Mode, Store
from calm.errors import ConfigError, JudgeError
from calm.judges.python import PythonJudge
from calm.judges.wrapper import JointRecord
from calm.models.pacing import REFUSALS, Health
from calm.models.wire import Limits, Message, Price, Reply, Request, Traits, Usage
from tests.lanes import slow
from tests.planted import Asking, Local, Planted, engine, pair, pairs, usage
from tests.servers import Answer, wire_server


def verdicts(running, judge, questions):
    return [asked.verdict for asked in running.ask(judge, questions)]


def once(cases, ask=1):
    return [(case, ask) for case in cases]


def test_verdicts_come_in_the_order_of_the_questions():
    """Whichever reply arrives first."""
    judge = Planted(lambda case, ask: Score(float(case.id[1:]) + ask / 10))

    with engine() as running:
        found = verdicts(running, judge, [(case, ask) for case in pairs(20) for ask in (2, 1)])

    assert found == [Score(n + ask / 10) for n in range(20) for ask in (2, 1)]


def test_equal_questions_are_one_call():
    """Of 50 equal asks at once one is made, and all get its reply."""
    server = Local()

    with engine() as running:
        found = verdicts(running, Asking(server), [(pair("c1"), 1)] * 50)
        again = verdicts(running, Asking(server), [(pair("c1"), 1)])

    assert found + again == [Preferred("good")] * 51
    assert len(server.begun) == 1


def test_equal_calls_of_different_judges_are_one_call():
    """Two judges that send the same to the same server share the flight; the key is the request."""
    server = Local()
    gate = threading.Barrier(2)
    found = []

    with engine() as running:

        def work(name):
            gate.wait(timeout=30)
            found.extend(verdicts(running, Asking(server, fingerprint=name), once(pairs(10))))

        threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert found == [Preferred("good")] * 20
    assert len(server.begun) == 10
    assert running.ledger.calls["made"] == 10


def test_repeats_are_calls_of_their_own():
    """The ask index is part of the question: four repeats are four calls."""
    server = Local(lambda body, number: Reply(f"answer {number}", model="m-1"))

    with engine() as running:
        found = verdicts(running, Asking(server), [(pair("c1"), ask) for ask in (0, 1, 2, 3)])

    assert len({v.answer for v in found}) == 4


def test_what_the_experiment_knows_makes_no_new_question():
    """The target is in neither the key nor the case that the judge is given."""
    judge = Planted(lambda case, ask: Preferred(type(case).__name__))
    cases = [pair("c1"), pair("c1", target="bad").untreated(), pair("c1", target="good").untreated()]

    with engine() as running:
        found = verdicts(running, judge, once(cases))

    assert found == [Preferred("Case")] * 3
    assert len(judge.asked) == 1


def test_a_second_run_on_the_same_file_calls_nothing(tmp_path):
    """The replies of the first are used, and the keys of the calls are the same."""
    server, path = Local(), tmp_path / "cache.sqlite"
    with engine(path, Mode.ON) as running:
        running.greet(server)
        first = running.ask(Asking(server), once(pairs(5)))

    with engine(path, Mode.ON) as running:
        running.greet(server)
        second = running.ask(Asking(server), once(pairs(5)))

    assert second == first
    assert len(server.begun) == 5
    assert (running.ledger.calls["made"], running.ledger.calls["cached"]) == (1, 5)  # the greeting is always live


def test_another_served_model_is_another_question(tmp_path):
    """Replies of the model that served before are not reused, and the run says so."""
    path = tmp_path / "cache.sqlite"
    old = Local()
    with engine(path, Mode.ON) as running:
        running.greet(old)
        running.ask(Asking(old), once(pairs(3)))
    new = Local(lambda body, number: Reply("bad", model="m-2"), hello=Reply("ready", model="m-2"))

    with engine(path, Mode.ON) as running:
        running.greet(new)
        found = verdicts(running, Asking(new), once(pairs(3)))

    assert found == [Preferred("bad")] * 3
    assert len(running.notes) == 1
    assert "'m-2' now and was by 'm-1': earlier replies are not reused" in str(running.notes[0])


@pytest.mark.parametrize("cap", [0, 1, 37])
def test_the_cap_on_calls_is_exact(cap):
    """Of 100 asks at once exactly so many are made, and the others say that a cap was reached."""
    server = Local()

    with engine(caps=Caps(calls=cap)) as running:
        found = verdicts(running, Asking(server), once(pairs(100)))

    capped = [v for v in found if isinstance(v, NoReply)]
    assert len(server.begun) == running.ledger.calls["made"] == cap
    assert len(capped) == 100 - cap
    assert all(v.reason == because(Kind.CAPPED, f"--calm-max-calls {cap}") for v in capped)


@pytest.mark.parametrize("cap", [0, 7])
def test_the_cap_counts_the_asks_of_a_callable(cap):
    """An ask of a judge without an endpoint is one call."""
    judge = Planted(lambda case, ask: Tie())

    with engine(caps=Caps(calls=cap)) as running:
        found = verdicts(running, judge, once(pairs(30)))

    assert len(judge.asked) == running.ledger.calls["made"] == cap
    assert found.count(Tie()) == cap


def sending(server, *, after=None):
    """Return a callable judge that makes one call through `send`."""

    async def judge(case, send):
        reply = await send(Request(server, (Message("user", case.question),), {"q": case.question}))
        if after is not None:
            await after()
        return "A" if reply.text == "good" else "B"

    return PythonJudge(judge)


@pytest.mark.parametrize("cap", [0, 1, 5, 100])
def test_the_cap_counts_the_calls_of_a_callable_that_sends(cap):
    """Its calls, not its asks: with 20 asks at once the cap is exact, and nothing is counted twice."""
    server = Local(live=False)

    with engine(caps=Caps(calls=cap)) as running:
        found = verdicts(running, sending(server), once(pairs(20)))

    made = min(cap, 20)
    assert len(server.begun) == running.ledger.calls["made"] == made
    assert found.count(Preferred("good")) == made


def test_what_a_callable_finds_in_the_cache_counts_against_no_cap(tmp_path):
    """A cap of no calls lets a replayed callable run."""
    server, path = Local(live=False), tmp_path / "cache.sqlite"
    with engine(path, Mode.ON) as running:
        running.ask(sending(server), once(pairs(20)))

    with engine(path, Mode.ON, caps=Caps(calls=0)) as running:
        found = verdicts(running, sending(server), once(pairs(20)))

    assert found == [Preferred("good")] * 20
    assert running.ledger.calls["made"] == 0


def test_failed_calls_of_a_callable_are_counted_once():
    """A call that failed was made; the ask around it is no second one."""
    server = Local(lambda body, number: JudgeError("down"), live=False)

    with engine() as running:
        verdicts(running, sending(server), once(pairs(10)))

    assert running.ledger.calls["made"] == len(server.begun) == 10


@pytest.mark.parametrize(("seed", "cap"), [(1, 0.0), (2, 0.001), (3, 0.05), (4, 0.2)])
def test_the_cap_in_dollars_is_never_exceeded(seed, cap):
    """The most that a call can cost is taken out before it is made: whatever 100 calls at once cost, the cap holds."""
    rng = Random(seed)
    costs = []

    def answer(body, number):
        tokens = usage(len(body["text"]) // 3, rng.randrange(101))
        costs.append((tokens.input * 10 + tokens.output * 20) / 1e6)
        return Reply("good", model="m-1", usage=tokens)

    server = Local(answer, price=Price(10.0, 20.0, "test"), max_tokens=100)

    with engine(caps=Caps(usd=cap)) as running:
        found = verdicts(running, Asking(server), once(pairs(100)))

    capped = sum(isinstance(v, NoReply) for v in found)
    assert sum(costs) <= cap
    assert running.ledger.usd == pytest.approx(sum(costs))
    assert running.money.spent().usd == pytest.approx(running.ledger.usd)
    assert capped == 100 - len(server.begun)
    assert all(f"--calm-max-usd {cap:g}" in str(v.reason) for v in found if isinstance(v, NoReply))


def dear(rng, costs):
    """Return a server whose calls may cost .27 USD each, and cost .01 to .05."""

    def answer(body, number):
        tokens = usage(0, rng.randrange(100, 500))
        costs.append(tokens.output * 100 / 1e6)
        return Reply("good", model="m-1", usage=tokens)

    return Local(answer, price=Price(10.0, 100.0, "test"), max_tokens=2700, limits=Limits(concurrency=32))


def test_a_cap_in_dollars_is_spent_before_it_is_reached():
    """With 32 calls in flight, 8.6 of 10 USD are reserved at a time: a call waits for what others leave of theirs."""
    costs = []
    server = dear(Random(5), costs)

    with engine(caps=Caps(usd=10.0)) as running:
        found = verdicts(running, Asking(server), once(pairs(1000)))

    assert 10.0 - 0.28 < sum(costs) <= 10.0
    assert sum(isinstance(v, NoReply) for v in found) == 1000 - len(server.begun)
    assert running.ledger.usd == pytest.approx(sum(costs))


def test_two_processes_share_a_cap_and_spend_it(tmp_path):
    """Each waits also for what the other has reserved."""
    path, costs = tmp_path / "cache.sqlite", []
    server = dear(Random(6), costs)
    stores = [Store(path, Mode.ON, run="shared") for _ in range(2)]
    engines = [Engine(store, money=Money(Caps(usd=10.0), store.account)) for store in stores]
    halves = [once(pairs(400)), once(pairs(400), ask=2)]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one, half: verdicts(one, Asking(server), half), engines, halves))
    spent = engines[0].money.spent().usd
    for one in engines:
        one.close()

    assert 10.0 - 2 * 0.28 < sum(costs) <= 10.0
    assert spent == pytest.approx(sum(costs))
    assert sum(isinstance(v, NoReply) for half in found for v in half) == 800 - len(server.begun)


def test_a_call_that_waits_for_money_ends_with_the_run():
    """A stop, and the end of the minutes, reach also who waits for what other calls have reserved."""
    begun = threading.Event()

    class Hanging(Local):
        async def call(self, body):
            begun.set()
            await asyncio.sleep(3600)

    server = Hanging(price=Price(10.0, 100.0, "test"), max_tokens=1000, limits=Limits(concurrency=8))
    with engine(caps=Caps(usd=0.15, minutes=0.01), grace_s=0.1) as running:
        found = verdicts(running, Asking(server), once(pairs(8)))

    assert begun.is_set()
    assert {v.reason.kind for v in found} == {Kind.CAPPED}


def test_money_that_was_not_used_is_given_back():
    """One call at a time may use the cap to the end: worst .0024, real .0001 a call, so a cap of .0033 lasts for 10."""
    server = Local(
        lambda body, number: Reply("good", model="m-1", usage=Usage(0, 5)),
        price=Price(10.0, 20.0, "test"),
        max_tokens=100,
        limits=Limits(concurrency=1),
    )

    with engine(caps=Caps(usd=0.0034)) as running:
        found = verdicts(running, Asking(server), once(pairs(10)))

    assert found == [Preferred("good")] * 10
    assert running.ledger.usd == pytest.approx(10 * 5 * 20 / 1e6)


def test_a_failed_call_gives_its_reserve_back():
    """What failed cost nothing that is known of."""
    server = Local(lambda body, number: JudgeError("down"), price=Price(10.0, 20.0, "test"))

    with engine(caps=Caps(usd=1.0)) as running:
        running.ask(Asking(server), once(pairs(10)))

    assert running.money.spent().usd == pytest.approx(running.ledger.usd)


def test_a_fatal_error_stops_the_storm():
    """With four calls in flight, at most those four are made; all other asks get the reason, and so do later ones."""
    server = Local(lambda body, number: JudgeError("the key was refused", fatal=True), limits=Limits(concurrency=4))

    with engine() as running:
        found = verdicts(running, Asking(server), once(pairs(100)))
        later = verdicts(running, Asking(server), once(pairs(100), 2))

    assert 1 <= len(server.begun) <= 4
    assert set(found + later) == {NoReply("the key was refused")}
    assert running.broken == reason_of("the key was refused")


def forbidden(number):
    return JudgeError("a firewall forbids it", unproven=True)


def test_a_call_that_is_refused_by_itself_does_not_retire_its_server():
    """Of 300 calls, a tenth is refused for good: these are lost, and all others are answered."""
    for error in (forbidden(0), JudgeError("no such route")):
        server = Local(lambda body, number, error=error: error if number % 10 == 0 else Reply("good", model="m-1"))

        with engine() as running:
            found = verdicts(running, Asking(server), once(pairs(300)))

        assert found.count(Preferred("good")) == 270
        assert len(server.begun) == 300
        assert running.broken is None


def test_a_server_that_forbids_the_first_call_is_given_up_at_once():
    """Before the first answer nothing tells a key that may do nothing from a text that is forbidden."""
    server = Local(lambda body, number: forbidden(number), limits=Limits(concurrency=4))

    with engine() as running:
        verdicts(running, Asking(server), once(pairs(100)))

    assert 1 <= len(server.begun) <= 4
    assert running.broken == reason_of("a firewall forbids it")


def test_a_server_that_refuses_every_call_in_a_row_is_given_up():
    """After 20 answers nothing is answered any more: so many refusals in a row as are named, and those in flight."""
    limits = Limits(concurrency=8)
    server = Local(
        lambda body, number: Reply("good", model="m-1") if number <= 20 else JudgeError("no such route"), limits=limits
    )

    with engine() as running:
        found = verdicts(running, Asking(server), once(pairs(300)))

    most = REFUSALS * Health(limits).enough
    assert found.count(Preferred("good")) == 20
    assert 20 + most <= len(server.begun) <= 20 + most + limits.concurrency
    assert running.broken is not None
    assert running.broken.kind is Kind.SERVER_LOST


def test_an_error_that_is_not_fatal_loses_one_call():
    """The others go on."""
    server = Local(lambda body, number: JudgeError("too slow") if number % 5 == 0 else Reply("good", model="m-1"))

    with engine() as running:
        found = verdicts(running, Asking(server), once(pairs(50)))

    assert found.count(NoReply("too slow")) == 10
    assert found.count(Preferred("good")) == 40
    assert (running.broken, running.ledger.calls["failed"]) == (None, 10)


def test_what_a_cap_stops_was_not_made_and_did_not_fail():
    """The two are counted apart: five calls are made, of which one fails, and 45 are not."""
    server = Local(lambda body, number: JudgeError("too slow") if number == 2 else Reply("good", model="m-1"))

    with engine(caps=Caps(calls=5)) as running:
        verdicts(running, Asking(server), once(pairs(50)))

    assert running.ledger.calls == {"made": 5, "failed": 1, "unmade": 45, "retried": 0}


def test_verdicts_of_a_record_are_no_calls():
    """Nobody is asked; they are counted apart."""
    judge = Planted(lambda case, ask: Tie(), traits=Traits(recorded=JointRecord(())))

    with engine() as running:
        verdicts(running, judge, once(pairs(5)))

    assert +running.ledger.calls == {"recorded": 5}


def test_no_reply_is_asked_again():
    """What failed is not kept: the next ask calls again, and its reply is kept."""
    server = Local(lambda body, number: JudgeError("down") if number <= 3 else Reply("good", model="m-1"))
    cases = once(pairs(3))

    with engine() as running:
        first = verdicts(running, Asking(server), cases)
        second = verdicts(running, Asking(server), cases)
        third = verdicts(running, Asking(server), cases)

    assert first == [NoReply("down")] * 3
    assert second == third == [Preferred("good")] * 3
    assert len(server.begun) == 6


def test_a_model_that_changes_during_the_run_breaks_it():
    """The reply of another model is no verdict, is not kept, and no further call is made."""
    server = Local(
        lambda body, number: Reply("good", model="m-1" if number <= 10 else "m-2"), limits=Limits(concurrency=1)
    )

    with engine() as running:
        running.greet(server)
        found = verdicts(running, Asking(server), once(pairs(30)))

    assert found.count(Preferred("good")) == 10
    assert sum(isinstance(v, NoReply) for v in found) == 20
    assert len(server.begun) == 11
    assert "was served by 'm-1' when the run began and answers as 'm-2' now" in str(running.broken)


def test_what_was_answered_stands_when_the_run_is_broken(tmp_path):
    """Replies from the cache need no model."""
    path = tmp_path / "cache.sqlite"
    server = Local(lambda body, number: JudgeError("refused", fatal=True) if number > 5 else Reply("good"))
    with engine(path, Mode.ON) as running:
        running.ask(Asking(server), once(pairs(5)))
        running.ask(Asking(server), once(pairs(1), 2))
        assert running.broken

        found = verdicts(running, Asking(server, fingerprint="another"), once(pairs(5)))

    assert found == [Preferred("good")] * 5


def test_greeting_refuses_the_wrong_model():
    """`served_as` names the one that replies must come from."""
    server = Local(served_as="m-9")

    with engine() as running, pytest.raises(ConfigError, match=r"'m' is served by 'm-1', but judge\.toml says"):
        running.greet(server)


def test_greeting_a_server_that_is_down_is_an_error_of_configuration():
    """Before anything is asked, with the server's own words."""
    with engine() as running, pytest.raises(ConfigError, match="nobody is there"):
        running.greet(Local(hello=JudgeError("nobody is there")))


def test_greeting_is_a_call():
    """Counted and capped; a cap of none is an error that says so. An endpoint is greeted once."""
    server = Local(hello=Reply("ready", model="m-1", usage=Usage(7, 1)))

    with engine(caps=Caps(calls=1)) as running:
        running.greet(server)
        running.greet(server)
    with engine(caps=Caps(calls=0)) as capped, pytest.raises(ConfigError, match="allow more"):
        capped.greet(server)

    assert running.ledger.calls["made"] == 1
    assert running.ledger.tokens == {"input": 7, "output": 1}
    assert running.served == {"local": "m-1"}


def test_a_cap_in_dollars_needs_a_price():
    """A model without one cannot be capped."""
    server = Local(model="an-unknown-model-of-nobody")

    with engine(caps=Caps(usd=1.0)) as running, pytest.raises(ConfigError, match="no price is known for the model"):
        running.greet(server)


def test_a_server_that_knows_only_some_prompts_is_asked_without_a_greeting():
    """With `greeting = false` nothing but the questions is sent; a note says what was not checked."""
    server = Local(hello=JudgeError("this prompt is not known"), greeting=False)

    with engine() as running:
        running.greet(server)
        made = running.ledger.calls["made"]
        found = verdicts(running, Asking(server), once(pairs(5)))

    assert made == 0
    assert found == [Preferred("good")] * 5
    assert [note.kind for note in running.notes] == [Kind.NOT_GREETED]


def test_a_greeting_that_fails_says_how_to_do_without_it():
    """The user did not write that prompt, so the error says what it was and how to switch it off."""
    with engine() as running, pytest.raises(ConfigError, match=r"this was the greeting.*greeting = false"):
        running.greet(Local(hello=JudgeError("this prompt is not known")))
    for error in (JudgeError("check the key", fatal=True), JudgeError("nobody is there", silent=True)):
        with engine() as running, pytest.raises(ConfigError) as refused:  # no other prompt helps without a key
            running.greet(Local(hello=error))

        assert str(refused.value) == str(error)


def test_without_a_greeting_a_change_of_model_is_noticed_all_the_same():
    """The first reply, or the user, says which model it is; a reply of another one retires the server."""
    for server, kind in (
        (Local(lambda body, number: Reply("good", model="m-1" if number <= 5 else "m-2")), Kind.OTHER_MODEL),
        (Local(lambda body, number: Reply("good", model="m-2"), served_as="m-1"), Kind.NOT_SERVED_AS),
    ):
        server.greeting = False
        with engine() as running:
            running.greet(server)
            verdicts(running, Asking(server), once(pairs(100)))

        assert running.broken is not None
        assert running.broken.kind is kind


def test_an_endpoint_that_is_not_live_is_not_greeted():
    """Recorded judges need no server."""
    with engine() as running:
        running.greet(Local(live=False, hello=JudgeError("not there")))

    assert running.ledger.calls["made"] == 0


def test_replay_without_a_history_is_an_error_of_configuration(tmp_path):
    """The cache must know which model served."""
    path = tmp_path / "cache.sqlite"
    Store(path, Mode.ON).close()

    with engine(path, Mode.REPLAY) as running, pytest.raises(ConfigError, match="holds no run of the model 'm'"):
        running.greet(Local())


def test_replay_makes_no_call(tmp_path):
    """What is in the cache is answered; a miss has no reply and says why."""
    server, path = Local(), tmp_path / "cache.sqlite"
    with engine(path, Mode.ON) as running:
        running.greet(server)
        running.ask(Asking(server), once(pairs(3)))
    silent = Local(lambda body, number: JudgeError("called"), hello=JudgeError("called"))

    with engine(path, Mode.REPLAY) as running:
        running.greet(silent)
        found = verdicts(running, Asking(silent), once(pairs(4)))

    assert found[:3] == [Preferred("good")] * 3
    assert found[3].reason == because(Kind.CALL_NOT_CACHED)
    assert silent.begun == []
    assert running.ledger.calls["made"] == 0


def test_refresh_asks_once_more_and_once_only(tmp_path):
    """A refreshed run calls everything again, and shares its own replies."""
    server, path = Local(), tmp_path / "cache.sqlite"
    with engine(path, Mode.ON) as running:
        running.ask(Asking(server), once(pairs(3)))

    with engine(path, Mode.REFRESH) as running:
        running.ask(Asking(server), once(pairs(3)))
        running.ask(Asking(server, fingerprint="another"), once(pairs(3)))

    assert len(server.begun) == 6


@pytest.mark.parametrize(("fingerprint", "asked"), [("planted-1", 4), (None, 8)])
def test_a_callable_is_kept_only_if_it_has_a_fingerprint(tmp_path, fingerprint, asked):
    """It may have changed since the last run; within a run an equal question is asked once."""
    path = tmp_path / "cache.sqlite"
    said = [Preferred("good"), Tie(), Score(2.5), Unreadable("odd")]
    judge = Planted(lambda case, ask: said[int(case.id[1:])], fingerprint=fingerprint)
    found = []

    for _ in range(2):
        with engine(path, Mode.ON) as running:
            found.append(verdicts(running, judge, once(pairs(4))))
            found.append(verdicts(running, judge, once(pairs(4))))

    assert all(f == said for f in found)
    assert len(judge.asked) == asked


def test_a_callable_that_changed_is_asked_again(tmp_path):
    """Another fingerprint is another judge."""
    path = tmp_path / "cache.sqlite"
    with engine(path, Mode.ON) as running:
        running.ask(Planted(lambda case, ask: Tie()), once(pairs(2)))

        found = verdicts(running, Planted(lambda case, ask: Score(3.0), fingerprint="planted-2"), once(pairs(2)))

    assert found == [Score(3.0)] * 2


def test_a_callable_without_a_fingerprint_cannot_be_replayed(tmp_path):
    """Nor one whose verdict is not there: no reply, with the reason."""
    path = tmp_path / "cache.sqlite"
    Store(path, Mode.ON).close()
    judge = Planted(lambda case, ask: Tie(), fingerprint=None)

    with engine(path, Mode.REPLAY) as running:
        found = verdicts(running, judge, once(pairs(1)))

    assert found == [NoReply(because(Kind.VERDICT_NOT_CACHED, "planted"))]
    assert judge.asked == []


def test_judges_without_a_fingerprint_are_kept_apart():
    """Also if one is made where another was in memory before."""
    with engine() as running:
        for number in range(50):
            judge = Planted(lambda case, ask, number=number: Score(float(number)), fingerprint=None)

            assert verdicts(running, judge, once(pairs(1))) == [Score(float(number))]


def test_an_error_of_the_judge_itself_is_not_hidden():
    """Only `JudgeError` stands for a call that failed; a fault in the program surfaces where it was asked."""

    def rule(case, ask):
        raise ZeroDivisionError("a fault of the program")

    with engine() as running, pytest.raises(ZeroDivisionError, match="a fault of the program"):
        running.ask(Planted(rule), once(pairs(3)))


def test_no_more_calls_are_in_flight_than_allowed():
    """An endpoint's own limit holds, over all judges and asks."""
    now, most = [0], [0]

    class Counting(Local):
        async def call(self, body):
            now[0] += 1
            most[0] = max(most[0], now[0])
            reply = await super().call(body)
            now[0] -= 1
            return reply

    server = Counting(limits=Limits(concurrency=3))

    with engine() as running:
        running.ask(Asking(server), once(pairs(40)))

    assert most == [3]


def flaky(answer, *, fails=1, error=None):
    """Return a rule of a server that fails the first attempts at each body."""
    tried = Counter()
    failure = error or JudgeError("busy", again=True)

    def respond(body, number):
        tried[body["text"]] += 1
        return failure if tried[body["text"]] <= fails else answer

    return respond


def test_the_ledger_adds_up():
    """Calls, retries and tokens of what was made; the price where one is known."""
    reply = Reply("good", model="m-1", usage=Usage(100, 10))
    server = Local(flaky(reply, fails=2), price=Price(1.0, 5.0, "test"), limits=Limits(concurrency=2))

    with engine(first_wait_s=0.001) as running:
        running.ask(Asking(server), once(pairs(10)))
        running.ask(Asking(server, fingerprint="another"), once(pairs(4)))

    ledger = running.ledger
    assert ledger.calls == {"made": 30, "cached": 4, "retried": 20}
    assert ledger.tokens == {"input": 1000, "output": 100}
    assert ledger.usd == pytest.approx(10 * (100 * 1.0 + 10 * 5.0) / 1e6)
    assert str(ledger.cost) == "0.0015 USD"


def test_a_reply_says_how_often_its_call_was_tried_again(tmp_path):
    """Also when it comes from the cache."""
    server = Local(flaky(Reply("good", model="m-1"), fails=3))

    with engine(tmp_path / "cache.sqlite", Mode.ON, first_wait_s=0.001) as running:
        asked = running.ask(Asking(server), once(pairs(1)))[0]
        found = running.store.get(asked.calls[0])

    assert (found.text, found.retries) == ("good", 3)


@pytest.mark.parametrize("cap", [1, 5, 20])
def test_the_cap_counts_every_attempt(cap):
    """A server that only fails gets no more requests than the cap allows, and the figures say how many it got."""
    server = Local(lambda body, number: JudgeError("boom", again=True, limited=True))

    with engine(caps=Caps(calls=cap), first_wait_s=0.001) as running:
        found = verdicts(running, Asking(server), once(pairs(30)))

    assert len(server.begun) == running.ledger.calls["made"] == cap
    assert all(v.reason.kind is Kind.CAPPED for v in found)


def test_a_call_is_tried_seven_times_and_all_are_counted():
    """Also those of a call that failed in the end; what it says is how often it was tried."""
    server = Local(lambda body, number: JudgeError("boom", again=True, limited=True))

    with engine(first_wait_s=0.001) as running:
        found = verdicts(running, Asking(server), once(pairs(2)))

    assert found == [NoReply(because(Kind.TRIED, because(Kind.SAID, Said("boom")), 7))] * 2
    assert running.ledger.calls == {"made": 14, "retried": 12, "failed": 2}
    assert running.broken is None


def test_greeting_is_tried_four_times():
    """A run that cannot begin does not wait for long, and each attempt is a call."""
    server = Local(hello=JudgeError("boom", again=True))

    with engine(first_wait_s=0.001) as running, pytest.raises(ConfigError, match=r"boom \(tried 4 times\)"):
        running.greet(server)

    assert running.ledger.calls == {"made": 4, "retried": 3}


@pytest.mark.parametrize(
    "error",
    [JudgeError("no"), JudgeError("no", again=True, after_s=121.0), JudgeError("no", again=True, after_s=float("inf"))],
    ids=["refused", "two-minutes", "for-ever"],
)
def test_what_another_try_cannot_fix_is_not_tried_again(error):
    """A call that was refused, and a server that asks for a long wait."""
    server = Local(lambda body, number: error)

    with engine() as running:
        found = verdicts(running, Asking(server), once(pairs(1)))

    assert found == [NoReply("no")]
    assert len(server.begun) == 1


def test_a_call_that_waits_holds_no_place():
    """With one place, another call is made while the first one waits to be tried again."""
    order = []
    server = Local(limits=Limits(concurrency=1))

    def answer(body, number):
        order.append(body["text"].splitlines()[0])
        return JudgeError("busy", again=True, after_s=0.3) if number == 1 else Reply("good", model="m-1")

    server.answer = answer

    with engine() as running:
        found = verdicts(running, Asking(server), once(pairs(3)))

    assert found == [Preferred("good")] * 3
    assert sorted(order[:3]) == ["What is c000?", "What is c001?", "What is c002?"]
    assert order[3:] == order[:1]


def test_failures_at_random_are_no_outage(tmp_path):
    """With one attempt in ten failing, all 600 calls are answered and kept, once each."""
    rng = Random(7)
    kinds = [JudgeError("slow down", again=True, limited=True), JudgeError("boom", again=True)]
    server = Local(
        lambda body, number: rng.choice(kinds) if rng.random() < 0.1 else Reply(f"good {number}", model="m-1")
    )

    with engine(tmp_path / "cache.sqlite", Mode.ON, first_wait_s=0.001) as running:
        asked = running.ask(Asking(server), once(pairs(600)))
        keys = [key for a in asked for key in a.calls]
        kept = {running.store.get(key).text for key in keys}

    assert len(set(keys)) == len(kept) == 600
    assert {f"{a.verdict.answer}" for a in asked} == kept
    assert running.broken is None
    assert running.ledger.calls["made"] == len(server.begun) == 600 + running.ledger.calls["retried"]


DOWN = {
    "cut": JudgeError("the connection broke", again=True),
    "hanging": JudgeError("too late", again=True, billed=True),
    "refusing": JudgeError("status 400"),
}


@pytest.mark.parametrize("kind", DOWN)
def test_a_server_that_is_lost_is_given_up(kind):
    """After a few rounds no further call is made, by this ask or later ones; calls that wait fail at once."""
    server = Local(lambda body, number: Reply("good", model="m-1") if number <= 50 else DOWN[kind])

    with engine(first_wait_s=0.001) as running:
        found = verdicts(running, Asking(server), once(pairs(1000)))
        begun = len(server.begun)
        later = verdicts(running, Asking(server), once(pairs(1000), 2))

    assert found.count(Preferred("good")) == 50
    assert begun == len(server.begun) <= 50 + 8 * 32
    assert str(running.broken).startswith("the server of 'm' stopped answering: ")
    assert f"failed, the last one with: {DOWN[kind]}; no more calls are made to it" in str(running.broken)
    assert set(later) == {NoReply(running.broken)}


def test_what_was_answered_is_kept_when_the_server_is_lost(tmp_path):
    """The message says how to go on, and a new run asks only for the rest."""
    path = tmp_path / "cache.sqlite"
    server = Local(lambda body, number: Reply("good", model="m-1") if number <= 20 else DOWN["cut"])
    with engine(path, Mode.ON, first_wait_s=0.001) as running:
        verdicts(running, Asking(server), once(pairs(100)))
    well = Local()

    with engine(path, Mode.ON) as again:
        found = verdicts(again, Asking(well), once(pairs(100)))

    assert str(running.broken).endswith(
        "fix it and run again; what was answered is kept, and the new run goes on there"
    )
    assert found == [Preferred("good")] * 100
    assert len(well.begun) == 80 + (20 - again.ledger.calls["cached"])


def test_a_short_outage_is_waited_out():
    """A server that is down for a moment is not stormed, and all calls are answered when it is back."""
    server = Local(lambda body, number: DOWN["cut"] if 100 < number <= 150 else Reply("good", model="m-1"))

    with engine(first_wait_s=0.05) as running:
        found = verdicts(running, Asking(server), once(pairs(400)))

    assert found == [Preferred("good")] * 400
    assert running.broken is None
    assert len(server.begun) == 450


def test_a_limit_of_rate_alone_is_no_outage():
    """A server that asks for fewer calls is there; a call still ends after its tries."""
    server = Local(lambda body, number: JudgeError("slow down", again=True, limited=True))

    with engine(first_wait_s=0.001) as running:
        found = verdicts(running, Asking(server), once(pairs(60)))

    assert running.broken is None
    assert set(found) == {NoReply(because(Kind.TRIED, because(Kind.SAID, Said("slow down")), 7))}


def test_one_lost_server_does_not_stop_another():
    """Each server is judged by its own failures."""
    lost = Local(lambda body, number: DOWN["cut"], identity="lost")

    with engine(first_wait_s=0.001) as running:
        verdicts(running, Asking(lost), once(pairs(50)))
        found = verdicts(running, Asking(Local(), fingerprint="well"), once(pairs(50)))

    assert running.broken
    assert found == [Preferred("good")] * 50


def test_calls_that_wait_for_a_rate_limit_fail_at_once():
    """What waits for its turn a minute later ends when the server is lost."""
    server = Local(
        lambda body, number: JudgeError("the key was refused", fatal=True), limits=Limits(concurrency=4, rpm=2)
    )

    with engine() as running:
        found = verdicts(running, Asking(server), once(pairs(100)))

    assert set(found) == {NoReply("the key was refused")}
    assert len(server.begun) <= 2


@pytest.mark.parametrize("reported", [Usage(), Usage(5, None), Usage(None, 5)], ids=["nothing", "input", "output"])
def test_the_cap_in_dollars_holds_without_usage(reported):
    """Where the server does not say what a call took, the most that it can have taken counts, and a note says so."""
    server = Local(
        lambda body, number: Reply("good", model="m-1", usage=reported), price=Price(10.0, 20.0, "test"), max_tokens=100
    )

    with engine(caps=Caps(usd=0.01)) as running:
        found = verdicts(running, Asking(server), once(pairs(100)))

    answered = found.count(Preferred("good"))
    assert 0 < answered == len(server.begun) < 20
    assert 0 < running.ledger.usd <= 0.01
    assert running.money.spent().usd == pytest.approx(running.ledger.usd)
    assert {note.kind for note in running.notes} == {Kind.NO_USAGE, Kind.CAP_TOO_LOW}


def test_a_server_that_reports_more_than_a_token_a_character_is_learnt_from():
    """After the first reply no call is made that could pass the cap, however much the server reports."""
    server = Local(
        lambda body, number: Reply("good", model="m-1", usage=Usage(3 * len(body["text"]), 300)),
        price=Price(100.0, 100.0, "test"),
        limits=Limits(concurrency=1),
    )

    with engine(caps=Caps(usd=0.5)) as running:
        verdicts(running, Asking(server), once(pairs(100)))

    assert 0.4 < running.ledger.usd <= 0.5


@pytest.mark.parametrize(("billed", "kept"), [(True, True), (False, False)])
def test_a_call_that_timed_out_may_have_been_billed(billed, kept):
    """Its dollars stay taken; those of a call that did not get there are given back."""
    server = Local(lambda body, number: JudgeError("late", billed=billed), price=Price(10.0, 20.0, "test"))

    with engine(caps=Caps(usd=1.0)) as running:
        running.ask(Asking(server), once(pairs(3)))

    assert (running.ledger.usd > 3 * 100 * 20 / 1e6) == kept
    assert (running.ledger.usd == 0) != kept
    assert running.money.spent().usd == pytest.approx(running.ledger.usd)
    assert running.notes == [because(Kind.MAY_BE_BILLED, "m")] * kept


def test_greeting_fits_the_cap_in_dollars():
    """A first call that could pass the cap is not made."""
    server = Local(price=Price(10.0, 20.0, "test"), hello=JudgeError("called"))

    with engine(caps=Caps(usd=0.001)) as running, pytest.raises(ConfigError, match="the first live call did not fit"):
        running.greet(server)


def test_a_model_without_a_price_is_said_to_have_none():
    """Nought dollars would be a lie."""
    with engine() as running:
        running.ask(Asking(Local(model="an-unknown-model-of-nobody")), once(pairs(1)))

    assert str(running.ledger.cost).startswith("unknown price of an-unknown-model-of-nobody: give price_usd_per_mtok")


def test_a_failed_call_that_may_be_billed_is_not_free_where_the_price_is_unknown():
    """It was never answered, so no reply said what it used; still it is not nought dollars. One never billed is."""
    for billed, price in ((True, None), (False, None), (True, Price(0.0, 0.0, "test"))):
        lost = partial(Local, lambda body, number, b=billed: JudgeError("late", billed=b), model="nobody-s-model")
        server = lost() if price is None else lost(price=price)
        with engine() as running:
            running.ask(Asking(server), once(pairs(1)))

        assert running.ledger.unpriced == ["nobody-s-model"] * (billed and price is None)


def test_what_is_known_of_a_cost_is_a_lower_bound():
    """One model has a price and the other has none."""
    known = Local(lambda body, number: Reply("good", model="m-1", usage=Usage(100, 10)), price=Price(1.0, 5.0, "test"))

    with engine() as running:
        running.ask(Asking(known), once(pairs(100)))
        other = Local(identity="other", model="nobody-s-model")
        running.ask(Asking(other, fingerprint="another"), once(pairs(1)))

    assert str(running.ledger.cost).startswith(">= 0.0150 USD, and the unknown price of nobody-s-model: give")


def test_a_cap_in_dollars_does_not_let_a_callable_send_to_a_model_without_a_price():
    """Nobody greets what a callable sends to, so the call itself is not made."""
    server = Local(model="nobody-s-model")
    judge = sending(server)

    with engine(caps=Caps(usd=1.0)) as running:
        lost = {str(v.reason) for v in verdicts(running, judge, once(pairs(3)))}

    assert server.begun == []
    assert len(lost) == 1
    assert "no price is known for the model nobody-s-model: --calm-max-usd cannot hold" in lost.pop()


def test_a_cap_in_dollars_says_that_it_does_not_see_what_code_spends():
    """A callable may call a model by itself: the run goes on, and its notes say what stops it."""
    with engine(caps=Caps(usd=1.0)) as running, engine() as uncapped:
        for one in (running, uncapped):
            one.admit(PythonJudge(lambda case: case.better))

    assert [note.kind for note in running.notes] == [Kind.CAP_SEES_NO_CODE]
    assert "--calm-max-calls stops it" in str(running.notes[0])
    assert uncapped.notes == []


def test_an_interrupt_stops_the_calls():
    """Ctrl-C during an ask reaches the caller, begins no further call, and leaves the engine usable."""
    released = threading.Event()

    class Slow(Local):
        async def call(self, body):
            self.begun.append(body)
            if not released.is_set():
                if len(self.begun) == 3:
                    _thread.interrupt_main()
                await asyncio.sleep(3600)
            return Reply("good", model="m-1")

    server = Slow(limits=Limits(concurrency=3))

    with engine(grace_s=0.2) as running:
        with pytest.raises(KeyboardInterrupt):
            running.ask(Asking(server), once(pairs(50)))
        begun = len(server.begun)
        released.set()
        other = verdicts(running, Asking(server), once([pair("other")]))
        again = verdicts(running, Asking(server), once(pairs(2)))

    assert begun == 3
    assert other + again == [Preferred("good")] * 3
    assert len(server.begun) == 6


def test_closing_ends_what_is_under_way():
    """Nothing is left running, and closing twice does no harm."""
    begun = threading.Event()

    class Hanging(Local):
        async def call(self, body):
            begun.set()
            await asyncio.sleep(3600)

    errors = []

    def work(running):
        try:
            running.ask(Asking(Hanging()), once(pairs(2)))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the thread must end
            errors.append(error)

    with engine() as running:
        thread = threading.Thread(target=work, args=(running,))
        thread.start()
        assert begun.wait(timeout=30)
        running.close()
        thread.join(timeout=30)

    assert not thread.is_alive()
    assert len(errors) == 1


GATE = """
[judge]
name = "lost"
task = "pairwise"

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
max_tokens = 50
timeout_s = 1
"""


@pytest.mark.parametrize(
    "fault", [Answer(fault="cut"), slow(Answer(status=500)), slow(Answer(fault="hang"))], ids=["cut", "500", "hang"]
)
def test_a_gate_whose_server_is_lost_ends_and_reports(tmp_path, fault):
    """The whole gate over HTTP: it ends soon, is red and incomplete, says why once, and writes its results."""
    with wire_server(lambda *_: "[[A]]" if len(wire.seen) <= 200 else fault) as wire:
        (tmp_path / "judge.toml").write_text(GATE.format(url=wire.url))
        options = ("--calm-judge=judge.toml", "--calm-sample=20", "--calm-results=r.json", "--calm-report=r.html")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--pyargs", "calm.suites", "-q", "--tb=no", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        requests = len(wire.seen)
    results = json.loads((tmp_path / "r.json").read_text("utf-8"))
    run = results["run"]

    assert done.returncode == 1, done.stdout + done.stderr
    assert "INCOMPLETE" in {f["outcome"] for f in results["findings"]}
    assert "PASS" not in {f["outcome"] for f in results["findings"][-5:]}
    assert "the server of 'tiny' stopped answering" in f"{done.stdout}{json.dumps(run)}"
    assert run["calls"]["made"] == requests <= 200 + 8 * 32
    assert (tmp_path / "r.html").stat().st_size > 0
