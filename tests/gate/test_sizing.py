"""How many cases and asks a claim needs, against exact sizes, the published design table and the gate's own rules."""

from random import Random

import pytest

from calm.core.claims import Claim
from calm.core.measures import MEASURES
from calm.errors import ConfigError
from calm.gate.power_text import power_report
from calm.gate.scenario import Repeats, scenario
from calm.gate.sizing import ProbeClaims, all_green, level_of, modelled, odds
from calm.statistics.power import Bias, Design, Noise, gate_power, true_excess, true_gain

NET, GAIN = Claim("net_robustness", ">=", 0.95), Claim("gain", "<=", 0.10)
FIXED_2_2, FIXED_4_2, STAGED = Repeats(2, 2), Repeats(4, 2, topped=False), Repeats(4, 2)


def test_the_odds_agree_with_the_simulation_of_the_gate(subtests):
    """The same shares as `gate_power`, which draws in its own way, within the errors of both."""
    for noise in [0.0, 0.05, 0.15]:
        for repeats in [FIXED_2_2, FIXED_4_2, STAGED]:
            with subtests.test(repr(noise) + repr(repeats)):
                design = Design(
                    n=120, clean=repeats.clean, perturbed=repeats.perturbed, topped=4 if repeats.staged else 2
                )
                expected = gate_power(Noise(noise), Bias(), Random(3), design=design, runs=2000)

                net = odds(scenario("net_robustness", 0.05, 0.0, noise), repeats, (120,), Random(4))[0]
                gain = odds(scenario("gain", 0.10, 0.0, noise), repeats, (120,), Random(5))[0]

                assert net.passes == pytest.approx(expected.net_passes, abs=0.04)
                assert gain.passes == pytest.approx(expected.gain_passes, abs=0.04)


def test_all_probes_together_agree_with_the_simulation_of_the_gate(subtests):
    """So does the probability that twelve probes pass."""
    for repeats in [FIXED_2_2, STAGED]:
        with subtests.test(repr(repeats)):
            noise = Noise(0.02, 0.3)
            design = Design(n=150, clean=repeats.clean, perturbed=repeats.perturbed, topped=4 if repeats.staged else 2)
            expected = gate_power(noise, Bias(), Random(3), design=design, runs=600, probes=12)

            green = all_green([ProbeClaims((NET, GAIN))] * 12, noise, repeats, (150,), Random(4), runs=600)[0]

            assert green == pytest.approx(expected.green, abs=0.08)


def test_the_published_design_table_is_met(subtests):
    """Thirty probes with 4+2 asks and no top-up at n = 200 pass as often as the table of the design says."""
    for noise, green in [(0.05, 0.999), (0.10, 0.795)]:
        with subtests.test(repr(noise)):
            found = all_green([ProbeClaims((NET, GAIN))] * 30, Noise(noise), FIXED_4_2, (200,), Random(1), runs=400)[0]

            assert found == pytest.approx(green, abs=0.07)


def test_below_the_smallest_n_nothing_passes_and_from_it_on_all_does():
    """For a judge that never errs the simulation and `smallest_n` agree, but for the formula's rounding by a case."""
    asked = scenario("net_robustness", 0.05, 0.0, 0.0)
    for repeats in (FIXED_2_2, STAGED):
        least = MEASURES["net_robustness"].smallest_n(asked.claim, level_of(repeats, edited=True))

        below, at = odds(asked, repeats, (least - 2, least), Random(1), runs=20)

        assert (below.passes, at.passes) == (0.0, 1.0)


def test_a_claim_that_is_not_true_seldom_passes():
    """At the limit itself a pass is an error, at most one in twenty."""
    net = odds(scenario("net_robustness", 0.05, 0.05, 0.05), STAGED, (200,), Random(1))[0]
    consistent = odds(scenario("consistency_rate", 0.905, None, 0.05), STAGED, (200,), Random(1))[0]

    assert net.passes < 0.06
    assert consistent.passes < 0.06


def test_a_great_bias_fails():
    """Where the true value is far beyond the limit the claim fails."""
    asked = scenario("gain", 0.10, 0.40, 0.05)

    assert odds(asked, STAGED, (200,), Random(1))[0].fails > 0.99


def test_the_bias_that_is_simulated_has_the_true_value(subtests):
    """A true value is turned into a share of cases, and back."""
    for measure in ["net_robustness", "gain"]:
        with subtests.test(repr(measure)):
            asked = scenario(measure, None, 0.08, 0.05, 0.2)
            truth = true_excess if measure == "net_robustness" else true_gain

            assert truth(asked.noise, asked.bias) == pytest.approx(0.08)


def test_more_clean_asks_help_a_claim_about_repeats():
    """Consistency passes more often with four clean asks than with two, as the design says (.86 against .59)."""
    asked = scenario("consistency_rate", 0.80, None, 0.08)

    two, four = (odds(asked, Repeats(k, 2), (200,), Random(1))[0].passes for k in (2, 4))

    assert two == pytest.approx(0.59, abs=0.05)
    assert four == pytest.approx(0.86, abs=0.05)


def test_a_probe_that_applies_to_few_cases_keeps_the_gate_from_passing():
    """Its claims are decided on its own cases."""
    probes = [ProbeClaims((NET, GAIN)), ProbeClaims((GAIN,), cases=20)]

    assert all_green(probes, Noise(0.0), STAGED, (200,), Random(1), runs=20) == [0.0]
    assert all_green(probes[:1], Noise(0.0), STAGED, (200,), Random(1), runs=20) == [1.0]


def test_all_claims_of_the_shipped_suites_can_be_simulated():
    """Clean claims, detection and readability too; a claim on ties cannot."""
    claims = (
        Claim("consistency_rate", ">=", 0.80),
        Claim("readable_rate", ">=", 0.95),
        Claim("accuracy", ">=", 0.70),
        Claim("repeat_distance", "<=", 0.20),
    )
    probes = [
        ProbeClaims(claims, edited=False),
        ProbeClaims((Claim("net_detection", ">=", 0.60),)),
        ProbeClaims((NET, Claim("mean_shift", "abs<=", 0.10), Claim("unreadable_gain", "<=", 0.05))),
    ]

    assert all(modelled(c) for probe in probes for c in probe.claims)
    assert not modelled(Claim("tie_rate", ">=", 0.80))
    assert all_green(probes, Noise(0.02), STAGED, (200,), Random(1), runs=100)[0] > 0.95


def test_the_report_has_a_row_for_each_number_of_cases():
    """40 to 400 cases; a probability in each cell; the sizes under it, and how it was computed."""
    text = power_report(scenario("net_robustness", None, None))
    rows = [line for line in text.splitlines() if "|" in line][2:]

    assert [int(row.split("|")[0]) for row in rows] == [40, 60, 80, 100, 120, 150, 200, 250, 300, 400]
    assert "all 12 green" in text
    assert "2+2" in text
    assert "4+2 -> 4+4" in text
    assert "Computed by simulation" in text
    assert "seed 0" in text


def test_the_report_is_the_same_each_time():
    """It is seeded."""
    asked = scenario("gain", None, 0.02)

    assert power_report(asked, cases=100, probes=3) == power_report(asked, cases=100, probes=3)


def test_rates_of_one_ask_have_exact_sizes():
    """The saw-tooth: the first n with the power, and the n from which all have it."""
    text = power_report(scenario("accuracy", 0.90, 0.95), cases=100)

    assert "0.80: 179 / 203" in text
    assert "0.90: 239 / 263" in text
    assert "0.95: 298 / 321" in text


def test_a_true_rate_that_is_not_above_its_limit_has_no_size():
    """No number of cases proves what is not so."""
    text = power_report(scenario("readable_rate", 0.95, 0.94), cases=100)

    assert text.count("none: the true rate is not above the limit") == 3


def test_an_impossible_value_names_its_option(subtests):
    """What was expected, what came, and which option it was."""
    for arguments, option in [
        (("accurcy", None, None), "--measure: unknown measure 'accurcy'; did you mean 'accuracy'"),
        (("net_robustness", 0.95, None), "--limit: .* as 0.05 stands for net_robustness >= 0.95, got 0.95"),
        (("gain", float("nan"), None), "--limit"),
        (("accuracy", 1.0, None), "--limit"),
        (("gain", None, 2.0), "--true"),
        (("gain", None, 0.95), "--true: expected at most 0.9 for gain"),
        (("accuracy", None, 0.97), "--true: expected at most 0.95 for accuracy"),
        (("accuracy", None, 0.01), "--true: expected at least 0.05 for accuracy"),
        (("readable_rate", None, 1.0), "--true"),
        (("consistency_rate", None, 0.9), "--true: expected none for consistency_rate"),
        (("gain", None, None, 0.5), "--noise"),
        (("gain", None, None, 0.05, 1.5), "--close-calls"),
    ]:
        with subtests.test(repr(arguments)):
            with pytest.raises(ConfigError, match=option):
                scenario(*arguments)


def test_an_impossible_size_names_its_option(subtests):
    """The same for what the report is asked for."""
    for options, option in [
        ({"probes": 0}, "--probes"),
        ({"cases": 1}, "--cases"),
        ({"cases": 100_000}, "--cases"),
        ({"repeats": "4"}, "--repeats"),
        ({"repeats": "4+x"}, "--repeats"),
        ({"repeats": "0+2"}, "--repeats"),
        ({"repeats": "4+1"}, "--repeats: expected two asks or more in each arm"),
    ]:
        with subtests.test(repr(options)):
            with pytest.raises(ConfigError, match=option):
                power_report(scenario("gain", None, None), **options)


def test_several_faults_are_said_at_once():
    """All problems of one question come in one error."""
    with pytest.raises(ConfigError) as raised:
        scenario("gain", 3.0, 3.0, 0.7, 3.0)

    assert [p.split(":")[0] for p in raised.value.problems] == ["--noise", "--close-calls", "--limit", "--true"]
