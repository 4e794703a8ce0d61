"""Equal opportunity and demographic parity as tables: the counts of each judge, and the figures beside outsiders'."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference import opportunity
from calm.selfpreference.contrasts import DRAWS
from calm.selfpreference.opportunity import NONE, OTHER, SELF, Outcomes
from calm.selfpreference.pairs import AuthorPair
from calm.selfpreference.report.rows import Part, known

VERDICTS, SCORES = "verdicts", "probabilities"
"""What decides a pair: the winner of both orders, or the mean score of the own answer in both."""


def opportunity_parts(
    faced: Mapping[str, Sequence[AuthorPair]],
    families: Mapping[str, str],
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
) -> tuple[Part, ...]:
    """
    Return the counts, and the figures from them, of each judge: by its verdicts and, where it gave them, probabilities.

    `faced` holds the pairs of each judge's own answers. Counts are of pairs, by people's and the judge's choice; the
    recalls and the gap leave out pairs that either left undecided, the parity those that the judge did. Bounds are
    Newcombe's (gap) and Wilson's (parity) where each item gives one pair, else they come from resampling items; each is
    at `level`. Below them is the mean of the same figures over outsiders: judges whose family is neither the
    judge's nor the other author's, each on the pairs that it judged. There are no parts where no judge has such pairs.
    """
    counts: list[dict[str, Json]] = []
    figures: list[dict[str, Json]] = []
    missing: list[str] = []
    state = rng.getstate()
    for judge, pairs in faced.items():
        for by in (VERDICTS, SCORES):
            seen = _judged(pairs, judge, by)
            if not seen:
                continue
            rng.setstate(state)  # the same for every judge, in any order
            gold, said = _outcomes(seen, judge, by)
            found = opportunity.confusion(gold, said)
            counts.append({"judge": judge, "by": by, **_counts(pairs, seen, found)})
            items = [pair.item for pair in seen]
            row, reasons = _figures(gold, said, items, rng, level=level, draws=draws)
            figures += [{"judge": judge, "by": by, "who": "judge", "judges": 1, **row}]
            if (outside := _outside(seen, judge, families, by)) is not None:
                figures += [{"judge": judge, "by": by, "who": "outsiders", **outside}]
            missing += [f"{judge}: {name}: {reason}" for name, reason in reasons.items()]
    if not counts:
        return ()
    return Part("opportunity_counts", tuple(counts)), Part("opportunity", tuple(figures), "; ".join(missing))


def _judged(pairs: Sequence[AuthorPair], judge: str, by: str) -> list[AuthorPair]:
    return [pair for pair in pairs if judge in (pair.said if by == VERDICTS else pair.scores)]


def _outcomes(pairs: Sequence[AuthorPair], judge: str, by: str) -> tuple[Outcomes, Outcomes]:
    """Return the outcome of each pair by people (`NONE` without a label) and by a judge that decided it."""
    gold = np.array([NONE if pair.gold is None else pair.gold for pair in pairs], dtype=np.int8)
    said = [pair.by_verdicts(judge) if by == VERDICTS else pair.by_score(judge) for pair in pairs]
    return gold, np.array(said, dtype=np.int8)


def _counts(pairs: Sequence[AuthorPair], seen: Sequence[AuthorPair], found: opportunity.Confusion) -> dict[str, Json]:
    return {
        "pairs": len(pairs),
        "self_as_self": found.self_as_self,
        "self_as_other": found.self_as_other,
        "other_as_other": found.other_as_other,
        "other_as_self": found.other_as_self,
        "self_as_none": found.self_as_none,
        "other_as_none": found.other_as_none,
        "people_tied": sum(pair.gold == NONE for pair in seen),
        "no_label": sum(pair.gold is None for pair in seen),
        "not_judged": len(pairs) - len(seen),
    }


def _figures(
    gold: Outcomes, said: Outcomes, items: Sequence[str], rng: Random, *, level: float, draws: int
) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the figures of a judge, and why one of them, or its interval, is missing."""
    counts = opportunity.confusion(gold, said)
    n_self, n_other = _classes(counts)
    several = len(set(items)) < len(items)
    reasons: dict[str, str] = {}

    def told(name: str, plain: Callable[[], Estimate], resampled: Callable[[], Estimate]) -> Json:
        value: float | None = None
        try:
            value = plain().value
            found = resampled() if several else plain()
        except EstimateError as error:
            reasons[name] = str(error)
            return None if value is None else {"value": value, "low": None, "high": None}
        return {"value": found.value, "low": found.low, "high": found.high}

    picked = int((said == SELF).sum()), int((said == OTHER).sum())
    gap = told(
        "gap",
        lambda: opportunity.equal_opportunity(counts, level=level).gap,
        lambda: opportunity.opportunity_bootstrap(gold, said, rng, cases=items, level=level, draws=draws),
    )
    parity = told(
        "parity",
        lambda: opportunity.demographic_parity(*picked, level=level),
        lambda: opportunity.parity_bootstrap(said, rng, cases=items, level=level, draws=draws),
    )
    return {
        "recall_self": counts.self_as_self / n_self if n_self else None,
        "n_self": n_self,
        "recall_other": counts.other_as_other / n_other if n_other else None,
        "n_other": n_other,
        "gap": gap,
        "parity": parity,
        "n_parity": sum(picked),
        "interval": "items resampled" if several else "Newcombe, Wilson",
    }, reasons


def _classes(counts: opportunity.Confusion) -> tuple[int, int]:
    """Return how many pairs both decided, by people's choice."""
    return counts.self_as_self + counts.self_as_other, counts.other_as_other + counts.other_as_self


def _outside(seen: Sequence[AuthorPair], judge: str, families: Mapping[str, str], by: str) -> dict[str, Json] | None:
    """Return the mean figures of the outsiders on the same pairs; None without an outsider."""
    own = families[judge]
    values: dict[str, list[float]] = {name: [] for name in ("recall_self", "recall_other", "gap", "parity")}
    used = 0
    for name in dict.fromkeys(name for pair in seen for name in pair.said if families[name] != own):
        theirs = [p for p in _judged(seen, name, by) if families[p.other] not in (own, families[name])]
        used += bool(theirs)
        gold, said = _outcomes(theirs, name, by)
        found = opportunity.confusion(gold, said)
        n_self, n_other = _classes(found)
        if n_self and n_other:
            recalls = found.self_as_self / n_self, found.other_as_other / n_other
            values["recall_self"].append(recalls[0])
            values["recall_other"].append(recalls[1])
            values["gap"].append(recalls[0] - recalls[1])
        if (said != NONE).any():
            picked = int((said == SELF).sum()), int((said == OTHER).sum())
            values["parity"].append(opportunity.demographic_parity(*picked).value)
    if not used:
        return None
    return {"judges": used, **{n: known(fsum(some) / len(some)) if some else None for n, some in values.items()}}
