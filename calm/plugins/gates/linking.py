"""
The mark of a gate for another judge, from what both judges said of the same cases: `calm migrate`.

A pass mark of a score is linked by equal pass rates (equipercentile linking): the mark at which the new judge passes as
many as the old one did. A mean, and a share of cases that both judges pass or fail themselves, is linked by mean and
spread (linear linking): as many standard deviations of the cases from the mean of all. The spread is that between
cases, without the noise of repeats where both records show it. Bounds come from cases drawn again, with both judges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import atanh, sqrt, tanh
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from calm.core.claims import Claim, Estimate, decide
from calm.errors import FEW, ConfigError, few_of
from calm.plugins.gates.risk import LEVEL, Asked, Bounded
from calm.plugins.gates.study import Rule, chance_of, judged
from calm.plugins.gates.verdicts import Verdicts, refuse_kinds
from calm.results.wording import clipped
from calm.statistics.association import spearman
from calm.statistics.power import uniforms

if TYPE_CHECKING:
    from calm.plugins.gates.risk import Ints

SCHEMA: Final = "calm-migrate/1"
LEAST_ALIKE: Final = 0.5
"""The rank correlation of two judges below which no mark makes them pass the same."""
CLOSE: Final = 0.9999
"""The greatest correlation of which bounds are known."""
MOST_MARKS: Final = 100
"""So many marks are tried, those with the nearest pass rates."""
MOST_DRAWS, LEAST_DRAWS, WORK = 1000, 100, 50_000_000
"""How often the cases are drawn again: fewer times for many cases."""
FEWEST: Final = 5
_LONG: Final = 24


@dataclass(frozen=True, slots=True)
class Ranks:
    """
    The rank correlation of the means of both judges.

    `most` is what noise would make of 1 (1 where a record has no repeats, which show it); `alike` is a share of it.
    """

    value: float
    most: float
    alike: Bounded


@dataclass(frozen=True, slots=True)
class Migration:
    """
    What a gate becomes with another judge.

    `old_mark` and `mark` are the marks of a score (`what` is "pass-mark"), of the mean ("mean"), or of the share that
    passes ("share"); `mark` is None where none exists. `old_rate` and `rate` are the shares of asks that pass, or the
    means of the cases. `differ` is the share of verdicts that differ between the judges, `old_noise` and `noise` that
    between two asks of one judge. `old_risk` and `risk` say how often the gate is red by noise.
    """

    cases: int
    groups: int
    left: int
    what: Literal["pass-mark", "mean", "share"]
    ranks: Ranks
    outcome: str
    old_mark: float
    mark: float | None
    low: float
    high: float
    old_rate: float
    rate: float
    differ: float | None
    old_noise: float | None
    noise: float | None
    old_risk: Bounded | None
    risk: Bounded | None
    rule: Rule | None

    def to_json(self) -> dict[str, object]:
        """Return the record."""
        return {"schema": SCHEMA, "level": LEVEL, **asdict(self)}


def migrate(old: Verdicts, new: Verdicts, rule: Rule) -> Migration:
    """
    Return the gate of a rule for another judge.

    Raises:
        ConfigError: other tasks or cases, too few, a judge that says the same of all, or a mark beyond the old scale.
    """
    old, new = _paired(old, new)
    cases, was = len(old.cases), judged(old, rule)
    ranks = _ranks(old, new)
    claim = Claim("rank_agreement", ">=", LEAST_ALIKE)
    outcome = decide(Estimate(ranks.alike.value, ranks.alike.low, ranks.alike.high, cases, LEVEL), claim).value
    what: Literal["pass-mark", "mean", "share"]
    if rule.kind == "share" and not new.plain:
        what, given = "pass-mark", 1.0 if rule.pass_mark is None else rule.pass_mark
        found, *ends = (new.scale.upright(one) for one in _by_rate(was.asked, new.asked))
        exists, moved = True, replace(rule, pass_mark=found)
        now = new.passing(found)
    else:
        if rule.mark is None:
            raise ConfigError(
                "--pass-at-least: expected the share of cases that must pass, got none: the verdicts of "
                f"{new.name} pass or fail themselves, so no pass mark stands for the old one, but another share does"
            )
        what, given = rule.kind, rule.mark
        now = new.passing(None) if what == "share" else new  # such verdicts pass or fail themselves
        linked = _by_spread(
            was.asked, now.asked, was.scale.upright(given), noisy=old.asked.repeated and new.asked.repeated
        )
        found, *ends = (now.scale.upright(one) for one in linked)
        exists = now.asked.low < linked[0] <= now.asked.high
        moved = replace(rule, mark=found, pass_mark=None)
    exists = exists and outcome != "FAIL"
    share, p, q = what != "mean", was.asked.means, now.asked.means
    return Migration(
        cases=cases,
        groups=old.groups,
        left=len({*old.silent, *new.silent}),
        what=what,
        ranks=ranks,
        outcome=outcome,
        old_mark=given,
        mark=found if exists else None,
        low=min(ends),
        high=max(ends),
        old_rate=was.scale.upright(float(was.asked.means.mean())),
        rate=now.scale.upright(float(now.asked.means.mean())),
        differ=float((p * (1 - q) + q * (1 - p)).mean()) if exists and share else None,
        old_noise=2 * was.asked.within if share and was.asked.repeated else None,
        noise=2 * now.asked.within if share and exists and now.asked.repeated else None,
        old_risk=_risk(was, rule),
        risk=_risk(now, moved) if exists else None,
        rule=moved if exists else None,
    )


def _paired(old: Verdicts, new: Verdicts) -> tuple[Verdicts, Verdicts]:
    refuse_kinds({old.name: old.kind, new.name: new.kind})
    known = {*old.cases, *old.silent}, {*new.cases, *new.silent}
    if known[0] != known[1]:
        alone = [sorted(known[0] - known[1]), sorted(known[1] - known[0])]
        named = [
            f"{len(names)} only in {one.name} ({few_of([clipped(name, _LONG) for name in names], FEW)})"
            for names, one in zip(alone, (old, new), strict=True)
            if names
        ]
        raise ConfigError(
            f"expected the same cases in both records, got {' and '.join(named)}: a mark is carried over by what both "
            "judges said of the same answers. Let the new judge judge all cases of the old record, under the same "
            "names, or take the others out of both; if a column names the cases otherwise, say --map case=COLUMN"
        )
    spoken = set(new.cases)
    order = [name for name in old.cases if name in spoken]
    if len(order) < FEWEST:
        raise ConfigError(f"expected {FEWEST} cases or more with verdicts of both judges, got {len(order)}")
    return old.of(order), new.of(order)


def _ranks(old: Verdicts, new: Verdicts) -> Ranks:
    """Return Spearman's correlation, with bounds by Fisher's z (its variance: Bonett & Wright 2000)."""
    for one in (old, new):
        means = one.asked.means
        if float(np.ptp(means)) < 1e-9:
            raise ConfigError(
                f"{one.name}: expected scores that differ between cases, got {one.scale.upright(means[0]):g} for "
                f"all {len(means)}: such a judge ranks nothing, and no mark of another judge means the same"
            )
    value = spearman(old.asked.means.tolist(), new.asked.means.tolist()).value
    most = 1.0
    if old.asked.repeated and new.asked.repeated:
        most = sqrt(_reliability(old.asked) * _reliability(new.asked)) or 1.0
    z = atanh(max(-CLOSE, min(CLOSE, value)))
    far = NormalDist().inv_cdf(1 - LEVEL) * sqrt((1 + value**2 / 2) / (len(old.cases) - 3))
    alike = (max(-1.0, min(1.0, one / most)) for one in (value, tanh(z - far), tanh(z + far)))
    return Ranks(value, most, Bounded(*alike))


def _reliability(asked: Asked) -> float:
    """Return the share of the variance of the cases' means that is not noise."""
    return max(0.0, 1 - float(asked.errors.mean()) / float(asked.means.var(ddof=1)))


def _by_rate(passed: Asked, asked: Asked) -> tuple[float, float, float]:
    """Return the pass mark with the nearest pass rate."""
    marks, counts = np.unique(asked.values, return_counts=True)
    rates = 1 - (np.cumsum(counts) - counts) / len(asked.values)
    near = marks[np.sort(np.argsort(np.abs(rates - passed.means.mean()), kind="stable")[:MOST_MARKS])]
    table = np.stack([Asked(asked.of, asked.values >= mark - 1e-9, 0.0, 1.0).means for mark in near], axis=1)

    def nearest(cases: Ints) -> float:
        times = np.bincount(cases, minlength=len(table)).astype(float)
        return float(near[np.abs(times @ table - times @ passed.means).argmin()])

    return _bounded(nearest, len(table), len(near), "nearest")


def _by_spread(was: Asked, now: Asked, mark: float, *, noisy: bool) -> tuple[float, float, float]:
    """Return the mean that lies as many standard deviations of the cases from the mean of all."""

    def linked(cases: Ints) -> float:
        means, spreads = [], []
        for one in (was, now):
            drawn = one.means[cases]
            seen = float(drawn.var(ddof=1))
            noise = float(one.errors[cases].mean()) if noisy else 0.0
            means.append(float(drawn.mean()))
            spreads.append(sqrt(max(seen - noise, seen / 1000, 1e-12)))
        return means[1] + spreads[1] / spreads[0] * (mark - means[0])

    return _bounded(linked, len(was.means), 10)


def _bounded(
    linked: Callable[[Ints], float], cases: int, work: int, method: Literal["nearest", "linear"] = "linear"
) -> tuple[float, float, float]:
    """Return a mark and its bounds, by cases that are drawn again as often as the work for each draw permits."""
    rng = Random(0)
    times = min(MOST_DRAWS, max(LEAST_DRAWS, WORK // (cases * work)))
    drawn = [linked((uniforms(rng, (cases,)) * cases).astype(np.int64)) for _ in range(times)]
    low, high = np.quantile(drawn, (LEVEL, 1 - LEVEL), method=method)
    return linked(np.arange(cases)), float(low), float(high)


def _risk(means: Verdicts, rule: Rule) -> Bounded | None:
    if rule.mark is None or not means.asked.repeated:
        return None
    return chance_of(means, rule).bounded(means.scale.upright(rule.mark))
