"""What `calm power` asks about: a claim, the noise of the judge that it is about, and the judge's true value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calm.core.claims import Claim
from calm.core.edits import Expects
from calm.core.measures import MEASURES
from calm.errors import ClaimError, ConfigError, nearest
from calm.results.audit import RUN
from calm.statistics.power import Bias, Noise, true_consistency, true_gain, true_movement

POOLED = 12
"""Probes of a run, where nothing says how many there are."""


@dataclass(frozen=True, slots=True)
class _About:
    """The limit that the shipped suites state for a measure, a good judge's value, and what the edit expects."""

    limit: float
    true: float
    expects: Expects | None = None


_NET = _About(0.90, 1.0, Expects.SAME)
_GAIN = _About(0.15, 0.0, Expects.NOT_BETTER)
ABOUT: Mapping[str, _About] = {
    "net_robustness": _NET,
    "gain": _GAIN,
    "worst_gain": _About(0.30, 0.0, Expects.NOT_BETTER),
    "worst_robustness": _About(0.70, 1.0, Expects.SAME),
    f"{RUN}/net_robustness": _About(0.95, 1.0, Expects.SAME),
    f"{RUN}/gain": _About(0.05, 0.0, Expects.NOT_BETTER),
    "net_detection": _About(0.60, 0.90, Expects.WORSE),
    "consistency_rate": _About(0.75, 0.905),
    "accuracy": _About(0.70, 0.95),
    "readable_rate": _About(0.95, 0.99),
}
"""The claims that can be sized, by the name of their measure; those of a whole run have the name of their key."""
_BY_NOISE = ("consistency_rate", "net_detection")
"""Measures whose true value the noise decides."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    A claim, the noise of the judge that it is about, and the bias that gives the judge its true value.

    `probes`: over how many probes the claim is pooled. `value_of` names a measure whose simulated values stand for
    those of the claim's own.
    """

    claim: Claim
    true: float
    noise: Noise
    bias: Bias
    expects: Expects | None
    probes: int = 1
    value_of: str = ""


def scenario(
    measure: str,
    limit: float | None = None,
    true: float | None = None,
    noise: float = 0.05,
    close_calls: float = 0.0,
    *,
    probes: int = POOLED,
) -> Scenario:
    """
    Return the scenario that the options of `calm power` name; limit and true value are as the claim states them.

    Raises:
        ConfigError: values that cannot be, each with its option.

    >>> scenario("net_robustness").claim, scenario("run/gain", 0.03).claim
    (net_robustness >= 0.90, gain <= 0.03)
    """
    if measure not in ABOUT:
        raise ConfigError(f"--measure: unknown measure {measure!r}{nearest(measure, ABOUT)}")
    about, name, problems = ABOUT[measure], measure.removeprefix(f"{RUN}/"), []
    if not 0 <= noise < 0.5:
        problems.append(f"--noise: expected a share of wrong asks from 0 to below 0.5, got {noise!r}")
    if not 0 <= close_calls <= 1:
        problems.append(f"--close-calls: expected a share of cases from 0 to 1, got {close_calls!r}")
    given = Noise(noise, close_calls)
    if name in _BY_NOISE:
        if true is not None:
            said = "--noise and --close-calls decide it"
            problems.append(f"--true: expected none for {name}, as {said}, got {true!r}")
        true = None if problems else true_consistency(given) if name == "consistency_rate" else 1 - 2 * _mean(given)
    claim = _claim(name, about.limit if limit is None else limit, problems)
    true = about.true if true is None else true
    bias = _bias(name, true, given, problems) if not problems else Bias()
    if problems or claim is None:
        raise ConfigError(problems)
    pooled = probes if measure != name else 1
    if name == "readable_rate":  # a reply is unreadable by chance, whatever the case
        return Scenario(claim, true, Noise(1 - true), Bias(), None, value_of="accuracy")
    return Scenario(claim, true, given, bias, about.expects, pooled)


def _claim(name: str, limit: float, problems: list[str]) -> Claim | None:
    """Return the claim with a limit, or note what is wrong with the limit."""
    measure = MEASURES[name]
    try:
        return measure >= limit if measure.op == ">=" else measure <= limit
    except ClaimError as error:
        problems.append(f"--limit: {error}")
        return None


def _bias(name: str, true: float, noise: Noise, problems: list[str]) -> Bias:
    """Return the share of cases to be decided for the treated (or the wrong) answer that gives the true value."""
    if name in _BY_NOISE:
        return Bias()
    if name == "readable_rate":
        if not 0.5 < true < 1:
            problems.append(f"--true: expected a rate above 0.5 and below 1 for readable_rate, got {true!r}")
        return Bias()
    whole = Bias("decide", 1.0)
    kind = MEASURES[name].worst_of or name
    most = true_movement(noise, whole) if kind == "net_robustness" else true_gain(noise, whole)
    best = 0.0 if kind == "gain" else 1.0 if kind == "net_robustness" else 1 - _mean(noise)
    away = true - best if kind == "gain" else best - true
    if not -1e-12 <= away <= most + 1e-12:
        low, high = sorted((best, best + most if kind == "gain" else best - most))
        problems.append(f"--true: expected {low:.3g} to {high:.3g} for {name}, as the noise allows, got {true!r}")
        return Bias()
    return Bias("decide", max(0.0, min(1.0, away / most)) if most else 0.0)


def _mean(noise: Noise) -> float:
    """Return the share of asks that err."""
    return noise.close / 2 + (1 - noise.close) * noise.rate
