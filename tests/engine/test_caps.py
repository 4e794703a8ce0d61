"""A cap in dollars is spent but for one small call, and never passed, where a reply may be far longer than they are."""

import pytest

import calm.engine.engine
from calm.core.reasons import Kind, because
from calm.core.verdict import NoReply, Preferred
from calm.engine.engine import Engine
from calm.engine.money import Caps, Money
from calm.engine.signals import Signals
from calm.engine.store import Mode, Store
from calm.models.wire import Limits, Message, Price, Reply, Request, Usage
from tests.planted import Asking, Local, engine, pairs

PRICE = Price(0.15, 0.60, "test")
CAP = 0.02


class Limited(Asking):
    """A judge whose requests say how long a reply may be."""

    async def judge(self, case, send):
        """Send one request and read the reply."""
        body = {"text": case.question, "max_tokens": self.server.max_tokens}
        reply = await send(Request(self.server, (Message("user", case.question),), body))
        return Preferred(reply.text)


def asked(running, server, count):
    """Return the verdicts of a judge on so many cases."""
    return [one.verdict for one in running.ask(Limited(server), [(case, 0) for case in pairs(count)])]


@pytest.mark.parametrize("reports", [True, False], ids=["usage", "no-usage"])
def test_a_cap_is_spent_and_not_passed(reports):
    """One call could cost an eighth of the cap, and costs a hundredth of that."""
    used = Usage(30, 40) if reports else Usage()
    server = Local(lambda body, number: Reply("good", model="m-1", usage=used), price=PRICE, max_tokens=4096)

    with engine(caps=Caps(usd=CAP)) as running:
        asked(running, server, 2000)

    assert 0.95 * CAP <= running.ledger.usd <= CAP
    assert running.money.spent().usd == pytest.approx(running.ledger.usd)
    assert running.notes == [because(Kind.NO_USAGE, "m")] * (not reports)


def test_processes_together_spend_a_cap_and_do_not_pass_it(tmp_path):
    """Two engines share an account; each has seen only its own replies."""
    used = Usage(30, 40)
    server = Local(lambda body, number: Reply("good", model="m-1", usage=used), price=PRICE, max_tokens=4096)
    stores = [Store(tmp_path / "cache.sqlite", Mode.ON, run="one") for _ in range(2)]
    engines = [Engine(store, money=Money(Caps(usd=CAP), store.account)) for store in stores]
    try:
        asked(engines[0], server, 100)
        asked(engines[1], server, 2000)

        assert 0.95 * CAP <= sum(one.ledger.usd for one in engines) <= CAP
    finally:
        for one in engines:
            one.close()


def test_a_reply_that_a_lower_limit_cuts_is_no_reply():
    """It is billed, and not taken for the judge's; the limit of the next call is longer."""
    long = 400

    def answer(body, number):
        limit = body["max_tokens"]
        if limit == 4096:
            return Reply("good", model="m-1", usage=Usage(300, 4))
        return Reply("cut" if limit < long else "good", model="m-1", usage=Usage(300, min(long, limit)))

    server = Local(answer, price=PRICE, max_tokens=4096, limits=Limits(concurrency=1))
    with engine(caps=Caps(usd=CAP)) as running:
        found = asked(running, server, 500)

    limits = [body["max_tokens"] for body in server.begun]
    assert {64, 128, 256} < set(limits)
    assert max(limit for limit in limits if limit < 4096) >= long
    assert Preferred("cut") not in found
    assert {one.reason for one in found if isinstance(one, NoReply)} == {because(Kind.CAPPED, "--calm-max-usd 0.02")}
    assert running.ledger.usd <= CAP


def test_a_call_that_no_limit_makes_fit_is_named():
    """Nothing is known of the replies, so the most that a call can cost is said, and nothing is asked."""
    server = Local(price=Price(10.0, 20.0, "test"), max_tokens=4096)

    with engine(caps=Caps(usd=CAP)) as running:
        asked(running, server, 10)

    assert server.begun == []
    assert [note.kind for note in running.notes] == [Kind.CAP_TOO_LOW]


def test_no_call_begins_after_the_run_is_over(tmp_path, monkeypatch):
    """Another process of the run says so by a file, at once: this one asks nothing from then on."""
    over, signals = tmp_path / "over", Signals()  # not those of this process, which would end with them
    monkeypatch.setattr(calm.engine.engine, "SIGNALS", signals)
    begun: list[int] = []

    def answer(body, number):
        if number == 20:
            over.touch()
            begun.append(len(server.begun))
        return Reply("good", model="m-1")

    server = Local(answer)
    signals.share(over)
    with engine() as running:
        found = asked(running, server, 500)

    assert begun == [len(server.begun)]
    assert found.count(Preferred("good")) == len(server.begun) < 500
    assert {one.reason.kind for one in found if isinstance(one, NoReply)} == {Kind.STOPPED}
