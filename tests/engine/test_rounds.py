"""The order of questions: by round, within a round by a lot drawn from the seed, and together for all who gather."""

import _thread
import threading
from collections import Counter
from contextlib import suppress
from itertools import groupby, permutations
from time import monotonic, sleep

import pytest
from scipy.stats import binom

from calm.core.edits import Expects, perturbation
from calm.core.measures import net_robustness
from calm.engine import asks
from calm.engine.queue import GUEST
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.models.pacing import in_round
from calm.models.wire import Limits, Traits
from tests.planted import Asking, Local, Planted, engine, fair, pairs, setup

ONE_BY_ONE = Traits(concurrency=1)


def order_of(cases, **options):
    """Return the ids in the order in which a judge is asked, one at a time."""
    judge = Planted(fair, traits=ONE_BY_ONE)
    with engine(**options) as running:
        running.ask(judge, [(case, 1) for case in cases])
    return [case.id for case, _ in judge.asked]


def test_the_seed_draws_the_order():
    """The same for the same seed, whoever asks in which order; another one for another seed."""
    cases = pairs(60)

    drawn = order_of(cases, seed=3)

    assert order_of(cases[::-1], seed=3) == drawn
    assert order_of(cases, seed=4) != drawn
    assert drawn not in (sorted(drawn), sorted(drawn)[::-1])


def test_the_questions_about_a_case_go_together():
    """Whoever asks, in one call or in several, and as often as they are asked: each case is a block."""
    judge, until = Planted(fair, traits=ONE_BY_ONE), threading.Event()
    cases = pairs(30)
    edited = [case.edit("bad", lambda text: f"{text} (Nature, 2021)") for case in cases]
    with engine(seed=3) as running:
        guest = held(running, until=until)
        first = asking(running, judge, [(case, ask) for ask in (1, 2) for case in cases], 1)
        wait_for(lambda: running.pending >= 60)
        second = asking(running, judge, [(case, 1) for case in edited[::-1]], 1)
        wait_for(lambda: running.pending >= 90)
        until.set()
        for thread in (guest, first, second):
            thread.join()

    blocks = [(name, len(list(block))) for name, block in groupby(case.id for case, _ in judge.asked)]
    assert sorted(blocks) == [(case.id, 3) for case in cases]
    assert [name for name, _ in blocks] == order_of(cases, seed=3)  # more questions about a case do not move it


@perturbation(bias="citing", expects=Expects.NOT_BETTER)
def cite(case, rng):
    """Cite a source in the weaker answer."""
    return case.edit(case.target, lambda text: f"{text} (Nature, 2021)")


FALSE_ALARM = 1e-6
"""How probable it is, over seeds, that a fair draw fails the test below."""


def test_no_arm_of_a_probe_is_first_by_rule():
    """In a block all orders of two clean asks, one inert and one edited ask are as likely: 12 can be told apart."""
    judge, until, cases = Planted(fair, traits=ONE_BY_ONE), threading.Event(), pairs(600)
    with setup(judge, cases, design=Design(2, 1), seed=5) as given:
        guest = held(given.engine, until=until)
        probe = threading.Thread(target=run, args=(given, cite, []), kwargs={"observed": [net_robustness]})
        probe.start()
        wait_for(lambda: given.engine.pending >= 4 * len(cases))
        until.set()
        for thread in (guest, probe):
            thread.join()
    as_they_are = {case.id: {a.text for a in case.answers} for case in cases}

    def arm(case):
        if any("Nature" in a.text for a in case.answers):
            return "edited"
        return "clean" if {a.text for a in case.answers} == as_they_are[case.id] else "inert"

    asked = [(case.id, arm(case)) for case, ask in judge.asked if ask]
    found = Counter(tuple(kind for _, kind in block) for _, block in groupby(asked, key=lambda one: one[0]))
    orders = set(permutations(("clean", "clean", "inert", "edited")))
    share = FALSE_ALARM / len(orders) / 2
    low, high = binom.ppf(share, len(cases), 1 / len(orders)), binom.isf(share, len(cases), 1 / len(orders))

    assert set(found) == orders
    assert found.total() == len(cases)
    assert all(low <= count <= high for count in found.values()), found
    assert low > 10
    assert high < 100  # so the bounds say something


def test_a_place_in_the_order_costs_the_same_however_many_wait(monkeypatch):
    """Two draws for each question that was not asked before, at 100 cases and at 400."""
    draws = Counter()

    def counted(*given, **named):
        draws["all"] += 1
        return blake2b(*given, **named)

    blake2b = asks.blake2b
    monkeypatch.setattr(asks, "blake2b", counted)
    judge = Planted(fair)
    with engine() as running:
        found = []
        for count in (100, 400, 400):
            draws.clear()
            running.ask(judge, [(case, 1) for case in pairs(count)])
            found.append(draws["all"])

    assert found == [200, 600, 0]


@pytest.mark.parametrize("fingerprint", [None, "known"])
def test_the_judge_that_came_first_changes_no_lot(fingerprint):
    """Names and fingerprints tell judges apart, not the order in which they came."""
    found = []
    for step in (1, -1):
        server = Local(limits=Limits(concurrency=1))
        judges = [Asking(server, fingerprint=fingerprint and f"{fingerprint} {name}", name=name) for name in "ab"]
        first, second = [(judges[0], c, 1) for c in pairs(20)], [(judges[1], c, 1) for c in pairs(40)[20:]]
        with engine() as running:
            running.ask_each([*first, *second][::step])
        found.append([body["text"] for body in server.begun])

    assert found[0] == found[1]


def wait_for(sign):
    """Wait until a sign is there, for half a minute at most."""
    until = monotonic() + 30
    while not sign() and monotonic() < until:
        sleep(0.001)


def held(running, *, until):
    """Hold what is measured until a guest in a thread of its own is let go on; return that thread."""

    def come():
        until.wait(timeout=30)
        guest.arrived()

    with running.gathering() as gathering:
        guest = gathering.guest()
    thread = threading.Thread(target=come)
    thread.start()
    return thread


def asking(running, judge, questions, number, guest=None):
    """Ask in a thread of its own, in a round."""

    def ask():
        GUEST.set(guest)
        with in_round(number):
            running.ask(judge, questions)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_earlier_rounds_go_first():
    """Whatever came first, and whatever its lot."""
    judge, until = Planted(fair, traits=ONE_BY_ONE), threading.Event()
    with engine() as running:
        guest = held(running, until=until)
        threads = []
        for number in (3, 1, 2):
            threads.append(asking(running, judge, [(case, number) for case in pairs(30)], number))
            wait_for(lambda: running.pending >= 30 * len(threads))
        until.set()
        for thread in (guest, *threads):
            thread.join()

    assert [ask for _, ask in judge.asked] == [1] * 30 + [2] * 30 + [3] * 30


def test_who_wants_a_question_in_an_earlier_round_has_it_asked_there():
    """What was prefetched for a later look is asked with the look that wants it, once."""
    judge, until = Planted(fair, traits=ONE_BY_ONE), threading.Event()
    cases = pairs(45)
    with engine() as running:
        guest = held(running, until=until)
        with in_round(2):
            running.prefetch([(judge, case, 1) for case in cases[:40]])
        wait_for(lambda: running.pending >= 40)
        thread = asking(running, judge, [(case, 1) for case in cases[30:]], 1)
        wait_for(lambda: running.pending >= 45)
        until.set()
        thread.join()
        guest.join()
        running.ask(judge, [(case, 1) for case in cases])
        wait_for(lambda: running.pending == 0)
        assert running.pending == 0

    assert {case.id for case, _ in judge.asked[:15]} == {case.id for case in cases[30:]}
    assert len(judge.asked) == 45


def test_those_who_gather_begin_together():
    """No first look is asked before all are there; pilots are, and who asks nothing is not waited for."""
    judge, cases = Planted(fair), pairs(20)
    with engine() as running:
        with running.gathering() as gathering:
            guests = [gathering.guest() for _ in range(3)]
            first = asking(running, judge, [(case, 1) for case in cases], 1, guests[0])
            asking(running, judge, [(case, 0) for case in cases], 1, guests[1]).join()
            wait_for(lambda: running.pending >= 20)
            assert [ask for _, ask in judge.asked] == [0] * 20
        guests[2].arrived()
        guests[2].arrived()  # it counts once
        running.ask(judge, [])
        assert len(judge.asked) == 20
        asking(running, judge, [(case, 2) for case in cases], 1, guests[1]).join()
        first.join()

    assert sorted(ask for _, ask in judge.asked[20:]) == [1] * 20 + [2] * 20


def test_an_error_among_those_who_gather_ends_the_wait():
    """Whoever asks afterwards is answered."""
    judge = Planted(fair)
    with engine() as running:
        with suppress(ZeroDivisionError), running.gathering() as gathering:
            gathering.guest()
            raise ZeroDivisionError

        assert len(running.ask(judge, [(case, 1) for case in pairs(5)])) == 5


def test_an_interrupt_ends_the_wait():
    """Ctrl-C while all is held: nothing of it is asked, and the engine can be used again."""
    judge = Planted(fair)
    with engine() as running:
        with running.gathering() as gathering:
            gathering.guest()
        threading.Timer(0.5, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            running.ask(judge, [(case, 1) for case in pairs(30)])
        asked = len(judge.asked)

        found = running.ask(judge, [(case, 2) for case in pairs(5)])

    assert asked == 0
    assert [one.verdict for one in found] == [fair(case, 2) for case in pairs(5)]
