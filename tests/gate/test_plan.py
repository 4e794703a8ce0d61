"""What a run takes, before it runs: the same asks and calls as the experiment makes, without any call."""

from collections import Counter
from dataclasses import replace
from datetime import date
from functools import partial

import pytest

from calm.core.case import Answer
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import (
    gain,
    net_detection,
    net_robustness,
    readable_rate,
    self_preference_excess,
    slot_pull,
    worst_gain,
)
from calm.core.verdict import Preferred, Ranking
from calm.errors import ClaimError, ConfigError
from calm.experiment.lookahead import NeedsData
from calm.experiment.run import run
from calm.experiment.stopping import Design, Stopping
from calm.gate import rehearsal
from calm.gate.plan import PlanSettings, survey
from calm.gate.prices import Assumptions, Tally, plan_of
from calm.gate.rehearsal import STEP, PlanBudget, fit, render, render_fit
from calm.gate.requests import CallSize, Source, StandIn
from calm.models.wire import Limits, Price
from calm.results.gatefile import Gate, Override
from tests.planted import Asking, Local, Planted, fair, pair, pairs, setup, single, traced

CHEAP = Price(1.0, 2.0, "a test")
NO_GOLD = {"better": None}


def edit(rewrite, expects=Expects.SAME, **options):
    """Make a perturbation of a lambda."""
    rewrite.__name__ = options.pop("name", "edit")
    return perturbation(**{"bias": "authority", "expects": expects} | options)(rewrite)


cite = edit(lambda case, rng: case.edit(case.target, lambda t: f"{t} (A Book)"), Expects.NOT_BETTER, name="cite")
praise = edit(lambda case, rng: case.edit(case.target, lambda t: f"{t} Well."), Expects.NOT_BETTER, name="praise")
note = edit(lambda case, rng: case.present(notes=("Read both.",)), name="note")
other_note = edit(lambda case, rng: case.present(notes=("Read both well.",)), name="other_note")
harm = edit(lambda case, rng: case.damage(case.target, lambda t: f"{t} not short"), Expects.WORSE, name="harm")
twins = edit(
    lambda case, rng: replace(case, answers=(case.answers[0], Answer("copy", case.answers[0].text))).present(order=()),
    Expects.TIE,
    name="twins",
)
never = edit(lambda case, rng: None, Expects.NOT_BETTER, name="never")
of_the_first = edit(
    lambda case, rng: case.edit("good", lambda t: f"{t} (A Book)") if case.target == "good" else None,
    Expects.NOT_BETTER,
    name="of_the_first",
)


def planned(judge, cases, *asks, design=Design(), assumptions=Assumptions(), **settings):
    """Return the survey of some probes and the plan, with what a judge that never moves takes."""
    chosen = PlanSettings(design=design, **settings)
    found = survey(traced(judge, cases, *asks, every_variant=chosen.every_variant), judge, cases, chosen)
    return found, rehearsal.planned(found, assumptions)


def lines(plan):
    """Return the lines of a plan by name."""
    return {line.name: line for line in plan.lines}


def asking(**server):
    """Return a judge with an endpoint of its own, which finds "good" the better answer, and the endpoint."""
    local = Local(**{"price": CHEAP} | server)
    return Asking(local), local


PROBES = {
    "clean": (None, None, [readable_rate >= 0.95]),
    "aimed": (cite, None, [gain <= 0.10, net_robustness >= 0.95]),
    "unaimed": (note, None, [net_robustness >= 0.95]),
    "damage": (harm, None, [net_detection >= 0.60]),
    "tie": (twins, None, [abs(slot_pull) <= 0.20]),
    "control": (note, other_note, [net_robustness >= 0.95]),
}


@pytest.mark.parametrize("design", [Design(), Design(3, 3), Design(1, 2)], ids=str)
@pytest.mark.parametrize("cases", [12, 120])
def test_the_least_of_a_plan_is_exactly_what_a_judge_that_never_moves_takes(subtests, design, cases):
    """The calls of one probe are the engine's: few cases are never topped up, many are done at an early look."""
    for name, (changed, control, claims) in PROBES.items():
        with subtests.test(name):
            judge, server = asking()
            ask = partial(proven, changed, control, claims)
            _, plan = planned(judge, pairs(cases), ask, design=design)

            with setup(judge, pairs(cases), design=design) as ready:
                ready.engine.greet(*judge.endpoints)
                run(ready, changed, claims, against=control)
                made = ready.engine.ledger.calls["made"]

            assert plan.least.calls == made == len(server.begun) + 1
            assert max(plan.least.calls, plan.expected.calls) <= plan.most.calls
            assert max(plan.least.usd, plan.expected.usd) <= plan.most.usd + 1e-9


def test_the_least_of_a_rotation_counts_the_screening_of_its_variants():
    """Each variant is acquitted by rows of its own, and the plan knows which."""
    rotation, claims = rotate(cite, praise), [gain <= 0.15, worst_gain <= 0.30]
    judge, _ = asking()
    _, plan = planned(judge, pairs(150), lambda p: p(rotation).proves(*claims))

    with setup(judge, pairs(150)) as ready:
        ready.engine.greet(*judge.endpoints)
        run(ready, rotation, claims)
        made = ready.engine.ledger.calls["made"]

    assert plan.least.calls == made <= plan.expected.calls <= plan.most.calls


def proven(changed, control, claims, probe):
    """Claim of an edit, against a control."""
    return probe(changed, against=control).proves(*claims)


def test_a_plan_asks_nobody():
    """Planning makes no call, not even the first live one."""
    judge, server = asking(hello=RuntimeError("nobody is here"), answer=lambda body, number: RuntimeError("nor here"))

    _, plan = planned(judge, pairs(5), lambda p: p(cite).proves(gain <= 0.10))

    assert server.begun == []
    assert lines(plan)["first live call"].most.calls == 1


def test_the_clean_arm_and_the_pilot_are_counted_once():
    """Two probes share their pilot and their clean arm, and each has its perturbed asks."""
    judge = Planted(fair)
    _, plan = planned(
        judge,
        pairs(100),
        lambda p: p(cite).proves(gain <= 0.10),
        lambda p: p(praise).proves(gain <= 0.10),
        lambda p: p().proves(readable_rate >= 0.95),
        design=Design(2, 2),
    )

    found = {name: line.most.asks for name, line in lines(plan).items()}

    assert found == {
        "pilot": 100,
        "clean arm": 800,  # the probe without an edit is topped up twice
        "inert arm": 800,  # the two edits differ in length, and so do their inert words
        "authority/cite": 400,
        "authority/praise": 400,
        "consistency": 0,
    }


def test_one_edit_in_two_tests_is_asked_once():
    """The second test finds the replies of the first."""
    judge, _ = asking()
    twice = [lambda p: p(cite).proves(gain <= 0.10), lambda p: p(cite).proves(net_robustness >= 0.95)]

    _, plan = planned(judge, pairs(100), *twice, design=Design(2, 2))

    assert [line.most.calls for line in plan.lines if line.name == "authority/cite"] == [400, 0]


@pytest.mark.parametrize(("cases", "most"), [(10, 20), (100, 400)])
def test_a_top_up_is_said_to_be_possible(cases, most):
    """A row is "up to" what comes after all top-ups, and so are shared arms; ten cases prove nothing, however asked."""
    _, plan = planned(Planted(fair), pairs(cases), lambda p: p(cite).proves(gain <= 0.10), design=Design(4, 2))

    row = lines(plan)["authority/cite"]

    assert (row.most.asks, row.exact) == (most, False)
    assert not lines(plan)["clean arm"].exact


def test_claims_that_are_only_allowed_are_not_topped_up():
    """`.observe` takes what it takes; `.allows` may take less, as it stops early."""
    asks = [lambda p: p(cite).allows(gain <= 0.10), lambda p: p(praise).observe(gain)]

    _, plan = planned(Planted(fair), pairs(10), *asks, design=Design(4, 2))

    assert [lines(plan)[f"authority/{name}"].exact for name in ("cite", "praise")] == [False, True]
    assert [lines(plan)[f"authority/{name}"].most.asks for name in ("cite", "praise")] == [20, 20]


def test_what_looks_at_an_observed_value_cannot_be_planned_further():
    """A test that wants a number before it goes on ends its trace there."""

    def dose(probe):
        assert probe(cite).observe(gain)[gain].value < 2

    with pytest.raises(NeedsData, match="reads the value of gain"):
        planned(Planted(fair), pairs(4), dose, design=Design(2, 2))


def test_what_follows_a_claim_is_an_upper_bound():
    """A claim that does not hold ends its test, so that what it asks after that may not be asked."""

    def two(probe):
        assert probe(cite).allows(gain <= 0.10)
        assert probe(praise).observe(gain)

    _, plan = planned(Planted(fair), pairs(4), two, design=Design(2, 2), stopping=Stopping.FIXED)

    assert lines(plan)["authority/cite"].exact
    assert not lines(plan)["authority/praise"].exact


def test_pairs_without_gold_are_not_planned_to_be_asked_about_a_gain():
    """Nothing is asked of them but what a cue does between equal answers, and the plan gives the reason."""
    judge, cases = Planted(lambda case, ask: Preferred("good")), pairs(8, **NO_GOLD)
    found, plan = planned(judge, cases, lambda p: p(cite).proves(gain <= 0.10), design=Design(2, 2))

    with setup(judge, cases, design=Design(2, 2)) as ready:
        [ruling] = run(ready, cite, [gain <= 0.10]).rulings
        made = ready.engine.ledger.calls["made"]

    assert (made, plan.least.calls) == (0, 0)
    assert "authority/cite" not in lines(plan)
    assert dict(found.skipped) == {"authority/cite": "no gold label (8 cases)"}
    assert str(ruling.decision.reason) == "no gold label"


def test_rankings_without_gold_make_a_row_open():
    """Which answer is treated depends on the pilot, so the plan is an upper bound, and says what it assumes."""
    answers = tuple(Answer(i, f"It is {i}.") for i in ("good", "bad", "worse"))
    cases = tuple(pair(f"c{i}", answers=answers, **NO_GOLD) for i in range(8))
    judge = Planted(lambda case, ask: Ranking((("good",), ("bad",), ("worse",))), task="listwise")
    found, plan = planned(judge, cases, lambda p: p(of_the_first).proves(gain <= 0.10), design=Design(2, 2))

    with setup(judge, cases, design=Design(2, 2)) as ready:
        run(ready, of_the_first, [gain <= 0.10])
        made = ready.engine.ledger.calls["made"]

    assert made == 8  # the pilots: the winner "good" is never the treated one
    assert made < plan.most.calls
    assert not lines(plan)["authority/of_the_first"].exact
    assert not lines(plan)["clean arm"].exact
    assert "assumes for cases without a gold label" in render(found, plan)


def test_a_ranking_judge_is_planned_by_its_possible_pilots():
    """With three answers the pilot decides which is treated: an upper bound again."""
    answers = tuple(Answer(i, f"It is {i}.") for i in ("a", "b", "c"))
    cases = tuple(pair(f"c{i}", answers=answers, better=None) for i in range(4))
    judge = Planted(lambda case, ask: Ranking((("a",), ("b",), ("c",))), task="listwise")
    _, plan = planned(judge, cases, lambda p: p(cite).proves(gain <= 0.10), design=Design(2, 2))

    with setup(judge, cases, design=Design(2, 2)) as ready:
        run(ready, cite, [gain <= 0.10])
        made = ready.engine.ledger.calls["made"]

    assert made <= plan.most.calls
    assert not plan.exact


def test_a_probe_that_asks_nothing_is_named_with_its_reason():
    """An edit for other tasks, claims for other verdicts, an edit that never applies."""
    of_scores = replace(note, tasks=("score",))
    found, plan = planned(
        Planted(fair),
        pairs(4),
        lambda p: p(of_scores).proves(net_robustness >= 0.95),
        lambda p: p(cite).proves(score=[gain <= 0.05]),
        lambda p: p(never).proves(gain <= 0.10),
        design=Design(2, 2),
    )

    reasons = dict(found.skipped)

    assert reasons["authority/note"] == "it serves score; the judge's task is pairwise"
    assert reasons["authority/cite"] == "nothing is claimed for pairwise verdicts"
    assert reasons["authority/never"] == "does not apply (4 cases)"
    assert plan.lines == ()


def test_a_cross_that_is_only_observed_is_planned_too():
    """Its reason is that of the data, not that nothing is claimed."""
    found, _ = planned(Planted(fair), pairs(4), lambda p: p.cross().observe(self_preference_excess))

    [(name, reason)] = found.skipped

    assert name == "consistency"
    assert "nothing is claimed" not in reason


def test_a_claim_is_planned_with_the_limit_of_the_gate():
    """What gate.toml sets is what the run will claim, so that the simulation of a fit uses it."""
    override = Override("limit", "authority/gain/cite", "known", date(2999, 1, 1), 0.25)

    [entry] = traced(Planted(fair), pairs(4), lambda p: p(cite).proves(gain <= 0.10), gate=Gate(overrides=(override,)))

    assert entry.order.claims == (gain <= 0.25,)


def test_a_claim_that_says_nothing_is_refused_as_in_a_run():
    """The plan ends with the same error."""
    with pytest.raises(ClaimError, match="says nothing about it"):
        planned(Planted(fair), pairs(4), lambda p: p(harm).proves(gain <= 0.10))


def test_each_variant_is_asked_if_the_run_does_so():
    """`every_variant` adds a row for each variant of a rotation, without top-up."""
    rotation = rotate(cite, praise)

    _, plan = planned(
        Planted(fair), pairs(100), lambda p: p(rotation).proves(gain <= 0.10), design=Design(4, 2), every_variant=True
    )

    found = lines(plan)
    assert found["authority"].most.asks >= 400
    assert 0 < found["authority/cite"].most.asks <= 200
    assert 0 < found["authority/praise"].most.asks <= 200


@pytest.mark.parametrize("count", [20, 60])
def test_a_plan_of_every_variant_makes_nothing_twice(count):
    """It looks at each case three times, and at each variant by itself too: edits and prompts are made once each."""
    edited, rendered = Counter(), Counter()

    def counting(name, place):
        def rewrite(case, rng):
            edited[name, case.id, case.target, tuple(a.text for a in case.answers), case.notes] += 1
            return case.edit(case.target, lambda text: f"{text} ({name}, page {place})")

        return edit(rewrite, Expects.NOT_BETTER, name=name)

    class Counted(Asking):
        async def judge(self, case, send):
            rendered[tuple(a.text for a in case.shown), case.notes, case.question] += 1
            return await super().judge(case, send)

    rotation = rotate(*(counting(f"cite_{place}", place) for place in range(6)))
    judge = Counted(Local(price=CHEAP))

    def probe(p):
        return p(rotation).proves(gain <= 0.10, worst_gain <= 0.30)

    _, plan = planned(judge, pairs(count), probe, probe, every_variant=True)

    assert plan.most.asks > 6 * count
    assert sum(edited.values()) >= 6 * count
    assert max(edited.values()) == 1  # of the same variant and the same words
    assert max(rendered.values()) == 1


def test_a_probe_with_cases_of_its_own_is_not_sampled():
    """The sample is taken of the run's cases alone."""
    own = pairs(7)
    _, plan = planned(
        Planted(fair), pairs(20), lambda p: p(cite, cases=own).proves(gain <= 0.10), design=Design(2, 2), sample=5
    )

    assert lines(plan)["authority/cite"].cases == 7


def test_a_run_that_stops_early_is_up_to(subtests):
    """Whatever is claimed may end sooner; the e-process is never topped up."""
    for stopping, most in [(Stopping.SEQUENTIAL, 400), (Stopping.ANYTIME, 200)]:
        with subtests.test(repr(stopping)):
            found, plan = planned(
                Planted(fair),
                pairs(100),
                lambda p: p(cite).proves(gain <= 0.10),
                design=Design(4, 2),
                stopping=stopping,
            )

            assert not lines(plan)["authority/cite"].exact
            assert not lines(plan)["clean arm"].exact
            assert lines(plan)["authority/cite"].most.asks == most
            assert "stopping early" in render(found, plan)


def test_tokens_and_cost_follow_from_the_prompts():
    """Four characters a token, an assumed reply, the judge's own price."""
    judge, _ = asking(max_tokens=1000)
    _, plan = planned(
        judge,
        (pair("x"),),
        lambda p: p().observe(readable_rate),
        design=Design(2, 2),
        assumptions=Assumptions(50),
    )
    text = "\n".join(["What is x?", "The answer to x is four.", "The answer to x is five."])

    clean = lines(plan)["clean arm"].most

    assert clean.input == 2 * -(-len(text) // 4)
    assert clean.output == 2 * 50
    assert clean.usd == pytest.approx((clean.input * 1.0 + clean.output * 2.0) / 1e6)


def test_a_reply_is_no_longer_than_the_model_may_answer():
    """`max_tokens` below the assumption counts."""
    judge, _ = asking(max_tokens=16)

    _, plan = planned(judge, (pair("x"),), lambda p: p().observe(readable_rate))

    assert lines(plan)["clean arm"].most.output == 2 * 16


def test_an_unknown_price_is_said():
    """A model that nobody knows has no cost, and a budget in dollars is refused."""
    judge, _ = asking(price=None, model="no-such-model-1")
    found, plan = planned(judge, pairs(4), lambda p: p(cite).proves(gain <= 0.10))

    text = render(found, plan)

    assert plan.most.usd is None
    assert "no-such-model-1: unknown price: give price_usd_per_mtok" in text
    with pytest.raises(ConfigError, match=r"--max-usd: no price is known for the model 'no-such-model-1'"):
        fit(found, PlanBudget(usd=5), 0.05, [Design()])


def test_time_follows_from_the_limits(subtests):
    """Calls in flight, requests a minute and tokens a minute: the tightest decides."""
    for limits, seconds in [
        (Limits(concurrency=10), 3.0 * 4),
        (Limits(concurrency=40, rpm=20), 60 * 40 / 20),
        (Limits(40, None, 30), None),
    ]:
        with subtests.test(repr(limits)):
            judge, _ = asking(limits=limits)
            _, plan = planned(
                judge,
                pairs(10),
                lambda p: p().observe(readable_rate),
                design=Design(4, 2),
                assumptions=Assumptions(call_seconds=3.0),
            )

            clean = lines(plan)["clean arm"].most

            assert clean.calls == 40
            assert clean.seconds == pytest.approx(seconds) if seconds else clean.seconds > 60 * 40 * 12 / 30


def test_a_smaller_sample_is_planned_as_if_it_had_been_asked_for():
    """What a survey of all cases says of the first n is what a survey of n cases says."""
    judge, _ = asking()
    asks = [lambda p: p(cite).proves(gain <= 0.10), lambda p: p(harm).proves(net_detection >= 0.60)]
    whole, _ = planned(judge, pairs(20), *asks)

    _, small = planned(judge, pairs(20), *asks, sample=7)

    assert plan_of(whole, 7, Design()).most == small.most


def test_the_largest_sample_within_a_budget_fits_and_a_larger_one_does_not():
    """What it is expected to take is within the money, and a twentieth more of the cases is not."""
    judge, _ = asking()
    found, plan = planned(judge, pairs(200), lambda p: p(cite).proves(gain <= 0.15, net_robustness >= 0.90))
    budget = PlanBudget(usd=rehearsal.expected(found, plan).usd * 0.7)

    one = fit(found, budget, 0.02, [Design()])

    more = plan_of(found, one.sample + one.sample // STEP + 1, Design())
    assert rehearsal.expected(found, one.plan).usd <= budget.usd < rehearsal.expected(found, more).usd
    assert one.limited_by == ("money",)
    assert one.enough


def test_what_keeps_a_budget_from_being_enough_is_named(subtests):
    """Time, money, or the number of cases."""
    for budget, cases, limited_by in [
        (PlanBudget(minutes=0.05), 100, ("time",)),
        (PlanBudget(usd=0.001), 100, ("money",)),
        (PlanBudget(calls=10), 100, ("calls",)),
        (PlanBudget(usd=50.0), 30, ("number of cases",)),
        (PlanBudget(usd=0.001), 30, ("money", "number of cases")),
    ]:
        with subtests.test(repr(budget)):
            judge, _ = asking(limits=Limits(concurrency=4))
            found, _ = planned(judge, pairs(cases), lambda p: p(cite).proves(gain <= 0.15, net_robustness >= 0.90))

            one = fit(found, budget, 0.02, [Design(4, 2)])

            assert not one.enough
            assert one.limited_by == limited_by
            assert f"what limits it: {' and '.join(limited_by)}" in render_fit(one, budget, 0.02)


def test_the_better_of_two_designs_is_taken():
    """Where only the cheaper design reaches enough cases, it is chosen; where both do, the first."""
    judge, _ = asking()
    found, plan = planned(judge, pairs(200), lambda p: p(cite).proves(gain <= 0.15, net_robustness >= 0.90))
    designs = [Design(4, 2), Design(2, 2)]

    tight = fit(found, PlanBudget(usd=rehearsal.expected(found, plan).usd * 0.25), 0.0, designs)
    loose = fit(found, PlanBudget(usd=plan.most.usd), 0.0, designs)

    assert str(tight.design) == "2+2"
    assert str(loose.design) == "4+2"


def test_a_gate_that_noise_makes_undecided_is_not_enough():
    """A judge that errs often passes too seldom, whatever the money."""
    judge, _ = asking()
    found, _ = planned(judge, pairs(70), lambda p: p(cite).proves(gain <= 0.15, net_robustness >= 0.90))

    quiet, noisy = (fit(found, PlanBudget(usd=100), noise, [Design(4, 2)]) for noise in (0.02, 0.45))

    assert quiet.enough
    assert not noisy.enough


def test_the_stand_in_says_of_the_judge_what_it_is():
    """Suites may look at the judge; only its verdicts are not to be had."""
    judge = Planted(fair, about={"model": "m-9"})

    stand_in = StandIn(judge)

    assert (stand_in.name, stand_in.task, stand_in.about["model"]) == (judge.name, "pairwise", "m-9")
    assert stand_in.endpoints == ()
    assert stand_in.sees(single("x")) == judge.sees(single("x"))


def test_a_cache_of_prompts_saves_at_most_what_all_calls_but_the_first_begin_with():
    """The first one writes it, at a higher price; what is too short for the model saves nothing."""
    price = Price(4.0, 8.0, "a test", read=0.4, write=5.0)
    calls = [CallSize(f"k{n}", 12_000, 0, beginnings=(("rubric", 8_000), (f"case {n // 2}", 10_000))) for n in range(4)]

    found = {}
    for least in (1024, 2048, 4096, 0):
        source = Source("m", Limits(), price, 100, live=True, free=False, cached_from=least)
        found[least] = Tally([source], Assumptions()).figure(calls, 4)

    assert {least: figure.kept for least, figure in found.items()} == {
        1024: 2500 + 2000 + 2500,
        2048: 2500 + 2500,
        4096: 0,
        0: 0,
    }
    assert found[1024].saved == pytest.approx((7000 * 3.6 - (2500 + 500) * 1.0) / 1e6)
    assert found[1024].cost == found[0].cost
    assert found[0].saved == found[4096].saved == 0
