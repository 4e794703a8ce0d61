"""How many cases and asks a claim needs: the simulation against the gate's own measures, looks and decisions."""

from random import Random

import numpy as np
import pytest

from calm.core.claims import Claim, Outcome
from calm.core.edits import Expects
from calm.core.measures import MEASURES
from calm.core.reasons import Reason
from calm.core.trials import Trial, Trials
from calm.core.verdict import Preferred, Scale
from calm.errors import ConfigError
from calm.experiment.stopping import Design, Stopping, rule_on
from calm.gate import sizing
from calm.gate.scenario import scenario
from calm.gate.sizing import ProbeClaims, Rules, Simulated, all_green, modelled, odds, provable, worst_outcomes
from calm.statistics.power import Bias, Noise, true_gain, true_movement

NET, GAIN = Claim("net_robustness", ">=", 0.90), Claim("gain", "<=", 0.15)
FIXED = Rules(stopping=Stopping.FIXED, top_ups=0)
NAMES = np.array(["right", "wrong"])


def trials_of(sample, arms, room, run):
    """Return the rows of one simulated run as the experiment would make them."""

    def verdicts(codes):
        return [tuple(Preferred(NAMES[code[run, i]]) for code in codes) for i in range(sample.shape[1])]

    named = {name: verdicts(getattr(arms, name)) for name in ("clean", "inert", "perturbed")}
    rows = [
        Trial(f"c{i}", target="wrong", room=room is None or bool(room[run, i]), **{k: v[i] for k, v in named.items()})
        for i in range(sample.shape[1])
    ]
    return Trials(tuple(rows), "pairwise", Scale())


@pytest.mark.parametrize("expects", [Expects.SAME, Expects.NOT_BETTER])
def test_simulated_values_are_those_of_the_measures(expects):
    """Case by case, after each top-up, for net robustness, gain and rewording."""
    rules, probe = Rules(), ProbeClaims((NET, GAIN), expects=expects)
    sample = sizing._Sample(Simulated("pairwise", Noise(0.2), Bias("decide", 0.3)), Random(2), 2, 60)
    made = sizing._Probe(sample, probe, rules, 60)

    for topped in range(3):
        for name in ("net_robustness", "gain", "rewording_rate"):
            room = made.room(name)
            found = MEASURES[name].cells(trials_of(sample, made._arms[topped], room, 1))
            values = made.values(name, topped)[1]
            kept = np.ones(60, dtype=bool) if room is None else room[1]
            assert [not isinstance(cell, Reason) for cell in found] == kept.tolist() or name == "rewording_rate"
            expected = [cell for cell, has in zip(found, kept, strict=True) if has]
            assert values[kept].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("limit", [0.05, 0.10, 0.20])
def test_simulated_runs_are_decided_as_the_gate_decides(limit):
    """Twenty runs, look by look: the same outcome as `rule_on`, and at the same look."""
    rules, claim = Rules(), Claim("gain", "<=", limit)
    sample = sizing._Sample(Simulated("pairwise", Noise(0.1), Bias("decide", 0.1)), Random(4), 20, 120)
    made = sizing._Probe(sample, ProbeClaims((claim,)), rules, 120)
    plan, room = rules.plan(120), made.room("gain")
    found = sizing._bounds(made, claim, plan).outcomes()
    stages = Design().stages()

    for run in range(20):
        outcome = Outcome.UNDECIDED
        for look in plan.looks:
            trials = trials_of(sample, made._arms[look.topped], room, run)
            seen = Trials(trials.rows[: look.n], "pairwise", Scale())
            outcome = rule_on(Stopping.SEQUENTIAL, claim, seen, stages[look.topped], look).decision.outcome
            if outcome is not Outcome.UNDECIDED:
                break
        assert found[run] == {Outcome.PASS: 1, Outcome.FAIL: -1}.get(outcome, 0)


def test_below_the_smallest_n_nothing_passes_and_from_it_on_all_does():
    """For a judge that never errs the simulation and `smallest_n` agree, but for the formula's rounding by a case."""
    asked = scenario("net_robustness", noise=0.0)
    least = MEASURES["net_robustness"].smallest_n(asked.claim, 0.05)

    below, at = odds(asked, FIXED, (least - 2, least), Random(1), runs=20)

    assert (below.passes, at.passes) == (0.0, 1.0)


@pytest.mark.parametrize("measure", ["net_robustness", "gain"])
def test_a_claim_that_is_not_true_seldom_passes(measure):
    """At the limit itself a pass is an error, at most one in twenty: of 2000 runs at most .065 (three errors)."""
    true = 0.90 if measure == "net_robustness" else 0.15

    assert odds(scenario(measure, true=true), Rules(), (200,), Random(1))[0].passes < 0.065


def test_a_great_bias_fails():
    """Where the true value is far beyond the limit the claim fails."""
    assert odds(scenario("gain", 0.10, 0.40), Rules(), (200,), Random(1))[0].fails > 0.99


def test_the_bias_that_is_simulated_has_the_true_value():
    """A true value is turned into a share of cases, and back."""
    net, gained = scenario("net_robustness", true=0.92, close_calls=0.2), scenario("gain", true=0.08, close_calls=0.2)

    assert 1 - true_movement(net.noise, net.bias) == pytest.approx(0.92)
    assert true_gain(gained.noise, gained.bias) == pytest.approx(0.08)


def test_a_variant_that_always_wins_fails_and_a_sound_rotation_passes():
    """The worst variant of eleven, in 50 runs each: obeyed in all cases, and in none."""
    claim = Claim("worst_gain", "<=", 0.30)
    probe = ProbeClaims((claim,), variants=11)
    for dose, outcome in [(1.0, -1), (0.0, 1)]:
        judge = Simulated("pairwise", Noise(0.05), Bias("decide", dose))
        found = worst_outcomes(claim, probe, judge, Rules(), 200, rng=Random(1), runs=50)

        assert (found == outcome).mean() > 0.95


def test_what_is_provable_is_what_passes():
    """The share of runs that prove a limit or a stricter one passes at that limit."""
    judge, probe = Simulated("pairwise", Noise(0.05)), ProbeClaims((GAIN,))
    limits = provable([GAIN], probe, judge, FIXED, 80, rng=Random(3), runs=500)[0]
    passed = odds(scenario("gain", 0.10), FIXED, (80,), Random(4), runs=2000)[0].passes

    assert limits.tolist() == sorted(limits.tolist())
    assert (limits <= 0.10).mean() == pytest.approx(passed, abs=0.08)


def test_a_probe_that_applies_to_few_cases_keeps_the_gate_from_passing():
    """Its claims are decided on its own cases."""
    probes = [ProbeClaims((NET, GAIN)), ProbeClaims((NET,), cases=20)]

    assert all_green(probes, Simulated(), Rules(), 200, Random(1), runs=20) == 0.0
    assert all_green(probes[:1], Simulated(), Rules(), 200, Random(1), runs=20) == 1.0


@pytest.mark.parametrize(("dose", "green"), [(0.05, True), (0.15, False)])
def test_a_run_on_pairs_is_held_to_the_limits_of_pairs(dose, green):
    """On average an edit may win .10 of the cases that it could win: .05 on the same 400 is proven to be less."""
    probes = [ProbeClaims((Claim("gain", "<=", 0.25),))] * 8
    judge = Simulated("pairwise", Noise(0.0), Bias("decide", dose))

    share = all_green(probes, judge, FIXED, 400, Random(1), runs=40)

    assert share > 0.9 if green else share == 0


@pytest.mark.parametrize("family", ["pairwise", "score", "rubric", "listwise"])
def test_all_claims_of_the_shipped_suites_can_be_simulated(family):
    """Clean claims, detection, readability and the worst variant too, for each kind of verdict; ties cannot."""
    clean = (Claim("repeat_distance", "<=", 0.30), Claim("readable_rate", ">=", 0.90))
    probes = [
        ProbeClaims(clean, expects=None),
        ProbeClaims((Claim("net_detection", ">=", 0.40), Claim("worst_detection", ">=", 0.0)), None, Expects.WORSE, 4),
        ProbeClaims(
            (NET, Claim("mean_shift", "abs<=", 0.20), Claim("unreadable_gain", "<=", 0.05)), None, Expects.SAME
        ),
        ProbeClaims((Claim("gain", "<=", 0.20), Claim("worst_gain", "<=", 0.45)), None, Expects.NOT_BETTER, 11),
    ]

    assert all(modelled(c) for probe in probes for c in probe.claims)
    assert not modelled(Claim("tie_rate", ">=", 0.80))
    assert all_green(probes, Simulated(family, Noise(0.01)), Rules(), 200, Random(1), runs=40) > 0.9


def test_an_impossible_value_names_its_option(subtests):
    """What was expected, what came, and which option it was."""
    for arguments, option in [
        (("accurcy",), "--measure: unknown measure 'accurcy'; did you mean 'accuracy'"),
        (("net_robustness", 1.0), "--limit: net_robustness >= 1 can be neither proven nor disproven"),
        (("gain", float("nan")), "--limit"),
        (("accuracy", 1.0), "--limit"),
        (("gain", None, 2.0), "--true: expected 0 to 0.9 for gain"),
        (("gain", None, -0.1), "--true: expected 0 to 0.9 for gain"),
        (("net_robustness", None, 0.1), "--true: expected 0.19 to 1 for net_robustness"),
        (("accuracy", None, 0.97), "--true: expected 0.05 to 0.95 for accuracy"),
        (("readable_rate", None, 1.0), "--true"),
        (("consistency_rate", None, 0.9), "--true: expected none for consistency_rate"),
        (("net_detection", None, 0.9), "--true: expected none for net_detection"),
        (("gain", None, None, 0.5), "--noise"),
        (("gain", None, None, 0.05, 1.5), "--close-calls"),
    ]:
        with subtests.test(repr(arguments)):
            with pytest.raises(ConfigError, match=option):
                scenario(*arguments)


def test_several_faults_are_said_at_once():
    """All problems of one question come in one error."""
    with pytest.raises(ConfigError) as raised:
        scenario("gain", 3.0, None, 0.7, 3.0)

    assert [p.split(":")[0] for p in raised.value.problems] == ["--noise", "--close-calls", "--limit"]
