"""What `calm power` says of sizes of cases, and of values that cannot be."""

import pytest

from calm.errors import ConfigError
from calm.gate.scenario import ABOUT, scenario
from calm.plugins.power.command import in_words, power_report


def test_the_report_has_a_row_for_each_number_of_cases():
    """40 to 400 cases; a probability in each cell; the sizes under it, and how it was computed."""
    text = power_report(scenario("net_robustness"), probes=2)
    rows = [line for line in text.splitlines() if "|" in line][2:]

    assert [int(row.split("|")[0]) for row in rows] == [40, 60, 80, 100, 120, 150, 200, 250, 300, 400]
    for said in (
        "all 2 green",
        "2+1 asks, no top-up",
        "2+1 asks, topped up",
        "Computed by simulation",
        "seed 0",
        "it says: ",
    ):
        assert said in text


@pytest.mark.parametrize("measure", list(ABOUT))
def test_the_report_says_what_the_limit_means(measure):
    """Each claim that can be sized has words, whatever its resolution."""
    assert len(in_words(scenario(measure))) > 20


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


def test_an_impossible_size_names_its_option(subtests):
    """The same for what the report is asked for."""
    for options, option in [
        ({"probes": 0}, "--probes"),
        ({"cases": 1}, "--cases"),
        ({"cases": 100_000}, "--cases"),
        ({"repeats": "4"}, "--repeats"),
        ({"repeats": "4+x"}, "--repeats"),
        ({"repeats": "0+2"}, "--repeats"),
        ({"repeats": "1+1"}, "--repeats: expected two clean asks or more"),
    ]:
        with subtests.test(repr(options)):
            with pytest.raises(ConfigError, match=option):
                power_report(scenario("gain"), **options)
