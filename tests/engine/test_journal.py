"""What is written together, asked ahead and remembered: the same answers as one by one, in fewer steps."""

import asyncio
from dataclasses import fields, replace

import pytest

from calm.core.case import Answer, Case, Criterion, Example, Presentation, Treatment
from calm.core.edits import Expects, perturbation
from calm.core.measures import net_robustness
from calm.engine.journal import Journal
from calm.engine.store import Entry, Mode, Store, request_text
from calm.experiment.run import Design, Setup, run
from calm.experiment.stopping import Stopping
from calm.models.wire import Message, Reply
from tests.planted import Planted, chance, engine, fair, pairs


def entry(number, text="reply"):
    return Entry(number.to_bytes(32), request_text((Message("user", "x"),), {"n": number}), Reply(f"{text} {number}"))


def noisy(case, ask):
    """Give the other answer in about a tenth of the asks."""
    verdict = fair(case, ask)
    other = next(a.id for a in case.answers if a.id != verdict.answer)
    return replace(verdict, answer=other) if chance(case.id, case.question, ask).random() < 0.1 else verdict


@perturbation(bias="load", expects=Expects.SAME, source="own")
def please(case, rng):
    """Add a word to the question."""
    return replace(case, question=f"{case.question} Please.")


def test_a_reply_is_told_when_it_is_committed(tmp_path):
    """Many replies at once come back each to its own asker, and another reader finds them all."""
    path = tmp_path / "cache.sqlite"
    store = Store(path, Mode.ON)

    async def work():
        journal = Journal(store)
        return await asyncio.gather(*(journal.record(entry(n)) for n in range(100)))

    told = asyncio.run(work())
    reader = Store(path, Mode.REPLAY)

    assert [r.text for r in told] == [f"reply {n}" for n in range(100)]
    assert all(reader.get(n.to_bytes(32)) == told[n] for n in range(100))
    reader.close()
    store.close()


def test_a_reply_that_nobody_waits_for_is_kept(tmp_path):
    """A call that was called off after its answer came is committed all the same."""
    store = Store(tmp_path / "cache.sqlite", Mode.ON)

    async def work():
        journal = Journal(store)
        waiting = asyncio.ensure_future(journal.record(entry(1)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        journal.commit()

    asyncio.run(work())

    assert store.get((1).to_bytes(32)).text == "reply 1"
    store.close()


def test_the_first_reply_stands(tmp_path):
    """Where a reply is there already, the one that came second is told the first."""
    path = tmp_path / "cache.sqlite"
    one, two = Store(path, Mode.ON), Store(path, Mode.ON)
    one.put_all([entry(1, "first")])

    standing = two.put_all([entry(1, "second"), entry(2, "second")])

    assert [r.text for r in standing] == ["first 1", "second 2"]
    one.close()
    two.close()


def test_of_two_processes_one_gets_each_lease(tmp_path):
    """Leases claimed together are given to one owner only, and all are free again when it is gone."""
    path = tmp_path / "cache.sqlite"
    keys = [n.to_bytes(32) for n in range(50)]
    one, two = Store(path, Mode.ON), Store(path, Mode.ON)

    first, second = one.claim_all(keys[:30]), two.claim_all(keys)
    one.close()
    again = two.claim_all(keys)

    assert (first, second) == ([True] * 30, [False] * 30 + [True] * 20)
    assert again == [True] * 50
    two.close()


def test_who_waits_for_another_process_is_told_its_reply(tmp_path):
    """A reply that another process commits reaches whoever waits for it."""
    path = tmp_path / "cache.sqlite"
    one, two = Store(path, Mode.ON), Store(path, Mode.ON)

    async def work():
        journal = Journal(two)
        waiting = asyncio.ensure_future(journal.elsewhere((1).to_bytes(32)))
        await asyncio.sleep(0)
        one.put_all([entry(1)])
        return await waiting

    assert asyncio.run(work()).text == "reply 1"
    one.close()
    two.close()


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_looks_ahead_change_no_decision(ahead):
    """Questions that are asked while a look is decided change neither the finding nor how many asks it rests on."""
    found = []
    for looks_ahead in (0, ahead):
        judge = Planted(noisy)
        with engine() as running:
            setup = Setup(judge, tuple(pairs(200)), running, 0, Design(), Stopping.LOOKS, looks_ahead)
            found.append((run(setup, please, [net_robustness >= 0.80]), len(judge.asked)))

    (plain, asked), (other, more) = found
    assert [d.decision for d in other.decided] == [d.decision for d in plain.decided]
    assert [d.trials for d in other.decided] == [d.trials for d in plain.decided]
    assert other.asked == plain.asked <= asked <= more


def test_what_is_taken_back_is_not_asked():
    """Of questions that nobody wants any more only those are asked that were begun."""
    judge = Planted(fair)
    cases = pairs(300)
    with engine() as running:
        prefetch = running.prefetch([(judge, case, 1) for case in cases])
        running.withdraw(prefetch)
        running.ask(judge, [(cases[0], 2)])

    assert len(judge.asked) < 300


def test_what_was_foreseen_is_asked_once():
    """Who asks for what was foreseen gets its answer, and the judge is asked once."""
    judge = Planted(fair)
    cases = pairs(40)
    with engine() as running:
        running.prefetch([(judge, case, 1) for case in cases])
        found = running.ask(judge, [(case, 1) for case in cases])

    assert [a.verdict for a in found] == [fair(case, 1) for case in cases]
    assert len(judge.asked) == 40


def test_the_content_of_a_case_names_every_field():
    """Two cases that differ in any field differ in their content."""
    base = Case("c", "q", (Answer("a", "x"), Answer("b", "y")))
    changes = {
        "id": "d",
        "question": "r",
        "answers": (Answer("a", "x", "who", ("draft",)), Answer("b", "y")),
        "better": "a",
        "reference": "ref",
        "criteria": (Criterion("c1", "t", 2.0, {"kind": "x"}),),
        "met": {"a": {"c1": True}},
        "scores": {"a": 1.0},
        "fields": {"f": "v"},
        "variants": {"v": {"a": "t"}},
        "tags": {"t": "v"},
        "order": ("b", "a"),
        "labels": ("1", "2"),
        "bylines": {"a": "Ann"},
        "notes": ("n",),
        "examples": (Example("q", ("a",), "A"),),
        "framing": "negative",
        "follow_ups": ("sure?",),
    }
    shown = {f.name for f in fields(Presentation)}
    never_shown = {f.name for f in fields(Treatment)}

    assert {f.name for f in fields(Case)} - {"presentation"} | shown == changes.keys()
    assert base.content().keys() == changes.keys() | never_shown
    for name, value in changes.items():
        other = base.present(**{name: value}) if name in shown else replace(base, **{name: value})
        assert other.content() != base.content()
