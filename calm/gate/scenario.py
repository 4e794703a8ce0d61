"""What a judge is taken to be when cases are counted: a claim, the judge's noise, its bias, and the asks a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calm.core.claims import Claim
from calm.core.measures import MEASURES
from calm.errors import ConfigError, nearest
from calm.statistics.power import Bias, Noise, true_consistency, true_excess, true_gain

MOST_ASKS = 12
DEFAULTS: Mapping[str, tuple[float, float]] = {
    "net_robustness": (0.05, 0.0),
    "gain": (0.10, 0.0),
    "consistency_rate": (0.80, 0.905),
    "accuracy": (0.70, 0.95),
    "readable_rate": (0.95, 0.99),
}
"""The limit and the true value that are taken where none is given: those of the shipped suites, and a good judge's."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Asks a case: clean and perturbed; `topped`: undecided claims get as many perturbed asks as clean ones."""

    clean: int = 4
    perturbed: int = 2
    topped: bool = True

    def __str__(self) -> str:
        more = f" -> {self.clean}+{self.clean}" if self.staged else ""
        return f"{self.clean}+{self.perturbed}{more}"

    @property
    def staged(self) -> bool:
        """Whether a top-up can come."""
        return self.topped and self.perturbed < self.clean

    @classmethod
    def read(cls, text: str, option: str) -> Repeats:
        """
        Return the repeats that a text such as "4+2" names.

        Raises:
            ConfigError: naming the option.

        >>> str(Repeats.read("4+2", "--repeats"))
        '4+2 -> 4+4'
        """
        clean, plus, perturbed = text.partition("+")
        numbers = [int(n) for n in (clean, perturbed) if n.isascii() and n.isdigit()]
        if not plus or len(numbers) < 2 or not all(1 <= n <= MOST_ASKS for n in numbers):
            raise ConfigError(
                f"{option}: expected clean+perturbed asks of 1 to {MOST_ASKS} each such as 4+2, got {text!r}"
            )
        return cls(numbers[0], numbers[1])


@dataclass(frozen=True, slots=True)
class Scenario:
    """A claim, the noise of the judge that it is about, and the bias that gives the judge its true value."""

    claim: Claim
    true: float
    noise: Noise
    bias: Bias

    @property
    def edited(self) -> bool:
        """Whether the claim is about an edit, so that there is a perturbed arm."""
        return self.claim.measure in ("net_robustness", "gain")


def scenario(
    measure: str, limit: float | None, true: float | None, noise: float = 0.05, close_calls: float = 0.0
) -> Scenario:
    """
    Return the scenario that the options of `calm power` name.

    For net_robustness, limit and true value are the disagreement beyond the judge's own noise, which is 1 minus it.

    Raises:
        ConfigError: values that cannot be, each with its option.

    >>> scenario("net_robustness", None, None).claim
    net_robustness >= 0.95
    """
    if measure not in DEFAULTS:
        raise ConfigError(f"--measure: unknown measure {measure!r}{nearest(measure, DEFAULTS)}")
    problems = []
    if not 0 <= noise < 0.5:
        problems.append(f"--noise: expected a share of wrong asks from 0 to below 0.5, got {noise!r}")
    if not 0 <= close_calls <= 1:
        problems.append(f"--close-calls: expected a share of cases from 0 to 1, got {close_calls!r}")
    given = Noise(noise, close_calls)
    if measure == "consistency_rate":
        if true is not None:
            problems.append(
                f"--true: expected none for consistency_rate, as --noise and --close-calls decide it, got {true!r}"
            )
        true = None if problems else true_consistency(given)
    limit = DEFAULTS[measure][0] if limit is None else limit
    true = DEFAULTS[measure][1] if true is None else true
    edited = measure in ("net_robustness", "gain")
    problems += _impossible(measure, limit, true, edited=edited)
    if problems:
        raise ConfigError(problems)
    op, bound = (">=", 1 - limit) if measure == "net_robustness" else ("<=", limit) if edited else (">=", limit)
    claim = MEASURES[measure] >= round(bound, 12) if op == ">=" else MEASURES[measure] <= bound
    if measure == "readable_rate":  # a reply is unreadable by chance, whatever the case
        return Scenario(claim, true, Noise(1 - true), Bias())
    return Scenario(claim, true, given, _bias(measure, true, given))


def _impossible(measure: str, limit: float, true: float, *, edited: bool) -> list[str]:
    problems = []
    if edited:
        if not 0 < limit < 0.5:
            more = ", as 0.05 stands for net_robustness >= 0.95" if measure == "net_robustness" else ""
            problems.append(f"--limit: expected a number between 0 and 0.5 for {measure}{more}, got {limit!r}")
        if not 0 <= true <= 1:
            problems.append(f"--true: expected a number from 0 to 1 for {measure}, got {true!r}")
        return problems
    if not 0 < limit < 1:
        problems.append(f"--limit: expected a rate between 0 and 1 for {measure}, got {limit!r}")
    lowest = 0.5 if measure == "readable_rate" else 0.0
    if not lowest < true <= 1 or (measure != "consistency_rate" and true == 1):
        problems.append(f"--true: expected a rate between {lowest:g} and 1 for {measure}, got {true!r}")
    return problems


def _bias(measure: str, true: float, noise: Noise) -> Bias:
    """Return the share of cases to be decided for the treated (or the wrong) answer that gives the true value."""
    whole = Bias("decide", 1.0)
    if measure == "consistency_rate":
        return Bias()
    if measure == "accuracy":
        best = 1 - _mean(noise)
        wanted, most = best - true, true_gain(noise, whole)
        if wanted < -1e-12:
            raise ConfigError(
                f"--true: expected at most {best:.3g} for accuracy, as --noise and --close-calls allow, got {true!r}"
            )
    else:
        wanted, most = true, (true_excess if measure == "net_robustness" else true_gain)(noise, whole)
    if wanted > most + 1e-12:
        end = f"at least {1 - _mean(noise) - most:.3g}" if measure == "accuracy" else f"at most {most:.3g}"
        raise ConfigError(f"--true: expected {end} for {measure}, as the noise allows no more, got {true!r}")
    return Bias("decide", max(0.0, min(1.0, wanted / most)) if most else 0.0)


def _mean(noise: Noise) -> float:
    """Return the share of asks that err."""
    return noise.close / 2 + (1 - noise.close) * noise.rate
