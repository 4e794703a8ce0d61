"""Each set against the bare judge: paired by case, by the padded t, adjusted over all sets and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from calm.statistics.intervals import padded_t
from calm.statistics.multiplicity import benjamini_hochberg
from calm.studies.mitigate.study import LEVEL, MEASURED, Difference, Figures, Study, by_case

MUCH_UNREAD = 0.05
"""Share of clean replies without a verdict above which a remark says so."""


def differences(figures: Sequence[Figures]) -> tuple[Difference, ...]:
    """Return each measure of each set minus that of the bare judge, on the cases that both have."""
    bare, rows = figures[0], []
    for one in figures[1:]:
        for measure, (low, high, _) in MEASURED.items():
            values = _paired(one.values[measure], bare.values[measure])
            if len(values) < 2:
                continue
            interval = padded_t(values, low, high, LEVEL / 2)
            mean = fsum(values) / len(values)
            rows.append((one.tried.label, measure, mean, *interval, len(values), chance(values, low, high)))
    adjusted = benjamini_hochberg([row[-1] for row in rows]) if rows else []
    return tuple(Difference(*row, p) for row, p in zip(rows, adjusted, strict=True))


def _paired(ours: Mapping[tuple[int, str], float], theirs: Mapping[tuple[int, str], float]) -> list[float]:
    """Return one difference for each case, of the probes that both have; a mean above 1 counts as 1 on either side."""
    common = ours.keys() & theirs.keys()
    mine, other = (by_case({key: side[key] for key in common}) for side in (ours, theirs))
    above = [max(0.0, fsum(side.values()) / max(1, len(side)) - 1) for side in (mine, other)]
    return [(mine[case] - above[0]) - (other[case] - above[1]) for case in sorted(mine)]


def chance(values: Sequence[float], low: float, high: float, *, above: bool = False) -> float:
    """
    Return the p-value of a mean of 0 by the padded t: the least level whose interval excludes 0.

    It is two-sided, or with `above` one-sided. Smallest n: 2.

    >>> chance([0.0] * 40, -1, 1), round(chance([1.0] * 40, -1, 1), 6) < 0.001
    (1.0, True)
    """

    def outside(level: float) -> bool:
        bounds = padded_t(values, low, high, level)
        return bounds[0] > 0 or (bounds[1] < 0 and not above)

    least, most = 1e-9, 0.499
    if not outside(most):
        return 1.0
    if outside(least):
        return least
    for _ in range(40):
        middle = (least * most) ** 0.5
        least, most = (least, middle) if outside(middle) else (middle, most)
    return min(1.0, most * (1 if above else 2))


def remarks(study: Study, one: Figures) -> tuple[str, ...]:
    """Return the remarks on a set."""
    said = [words for words, _ in _moves(study, one)]
    noise = next((d for d in study.differences if d.label == one.tried.label and d.measure == "noise"), None)
    if noise is not None and noise.certain:
        said.append(f"{'adds' if noise.value > 0 else 'takes away'} noise ({noise.value:+.3f})")
    unread = one.mean("unread")
    if unread is not None and unread > MUCH_UNREAD:
        said.append(f"{unread:.0%} of the clean replies hold no verdict, so its robustness says little")
    return (*said, *one.notes)


def lowers(study: Study, one: Figures) -> bool:
    """Return whether a set certainly lowers robustness or accuracy."""
    found = (d for d in study.differences if d.label == one.tried.label and d.measure in ("robustness", "accuracy"))
    return any(d.certain and d.value < 0 for d in found)


def losses(study: Study, one: Figures) -> list[str]:
    """Return in words what a set makes worse."""
    return [words for words, worse in _moves(study, one) if worse]


def _moves(study: Study, one: Figures) -> list[tuple[str, bool]]:
    """Return the certain changes of robustness, accuracy and ties by a set, in words, and whether each is worse."""
    found = {d.measure: d for d in study.differences if d.label == one.tried.label}
    said = []
    robust, right, ties = (found.get(m) for m in ("robustness", "accuracy", "ties"))
    for name, moved in (("robustness", robust), ("accuracy", right)):
        if moved is not None and moved.certain:
            worse = moved.value <= 0
            said.append((f"{'lowers' if worse else 'raises'} {name} ({moved.value:+.3f})", worse))
    if ties is not None and ties.certain and ties.value > 0 and (right is None or right.value <= 0):
        said.append((f"only adds ties ({ties.value:+.3f}): no more verdicts are right", True))
    return said
