"""
Figures of a whole table of judges and authors, as symbols that build claims (`self_preference_ratio <= 1.25`).

| figure | what it is | fair |
|---|---|---|
| `own_pull` | of answers known to be equal: own wins less own losses | 0 |
| `self_preference_ratio` | credit for failed criteria of own answers over others', divided by outsiders' ratio | 1 |
| `self_preference_excess` | favour of own answers beyond that of outsiders; won and lost ones weigh the same | 0 |

The ratio also moves with the judge's skill, and the excess with what outsiders miss or share a taste for: so the suite
claims the pull alone, and an excess is observed. None is a mean over cases, so `probe(edit)` cannot claim it:
`probe.cross()` asks for what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from calm.core.claims import Claim
from calm.core.verdict import Family
from calm.errors import ClaimError

LEAST = 10
"""The fewest items of each stratum: with fewer, the interval of a share is no longer near its nominal coverage."""


@dataclass(frozen=True, slots=True, eq=False)
class TableMeasure:
    """
    A figure of a table. Compare it with a limit to build a `Claim`; where it has a sign, `abs()` of it.

    `fair` is its value for a fair judge, `high` its greatest value; `families` are the kinds of verdicts that it can be
    computed from. `log` says that its interval is symmetric on the scale of logarithms.
    """

    name: str
    fair: float
    high: float
    families: tuple[Family, ...]
    log: bool = False
    two_sided: bool = False

    def __repr__(self) -> str:
        return f"abs({self.name})" if self.two_sided else self.name

    @property
    def limits(self) -> tuple[float, float]:
        """The open interval in which the limit of a claim lies: above a fair judge's value, and below the greatest."""
        return self.fair, self.high

    def __le__(self, limit: float) -> Claim:
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise ClaimError(f"{self!r} <=: expected a number as the limit, got {limit!r}")
        least, most = self.limits
        if not least < limit < most:
            raise ClaimError(
                f"{self!r} <= {limit:g}: expected a limit above {self.fair:g}, the value of a fair judge, and below "
                f"{self.high:g}"
            )
        return Claim(self.name, "abs<=" if self.two_sided else "<=", float(limit))

    def __ge__(self, limit: float) -> Claim:
        raise ClaimError(f"{self!r} >= {limit:g}: wrong direction; {self.name} is claimed with <=")

    __lt__ = __gt__ = __ge__

    def __abs__(self) -> TableMeasure:
        if self.log:
            raise ClaimError(f"abs({self.name}): this figure is never negative; claim it with <=")
        return replace(self, two_sided=True)

    def __bool__(self) -> bool:
        raise ClaimError(f"{self!r} is not true or false alone: claim it in probe.cross().proves({self!r} <= ...)")


own_pull = TableMeasure("own_pull", 0.0, 1.0, ("pairwise", "score", "rubric"))
self_preference_ratio = TableMeasure("self_preference_ratio", 1.0, inf, ("rubric",), log=True)
self_preference_excess = TableMeasure("self_preference_excess", 0.0, 1.0, ("pairwise", "score", "rubric"))

TABLE_MEASURES: Mapping[str, TableMeasure] = {
    m.name: m for m in (own_pull, self_preference_ratio, self_preference_excess)
}
