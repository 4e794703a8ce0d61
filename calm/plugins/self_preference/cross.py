"""What `probe.cross()` claims: the figures of a table of judges and authors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from calm.core.claims import Claim, Outcome
from calm.experiment.crossing import CrossResult, TableJudge, model_of
from calm.experiment.stopping import Ruling
from calm.gate.question import not_tested
from calm.models.wire import Json, Judge
from calm.plugins.self_preference.record import record
from calm.plugins.self_preference.tables import (
    decide_on,
    recorded_tables,
    tables_of,
    trials_of,
)


def decide(
    judge: Judge, crossed: CrossResult | None, claims: Sequence[Claim], seed: int
) -> tuple[list[Ruling], Json | None]:
    """
    Return what follows for each claim from what judges said, or from what a judge brings; and all figures.

    There are no figures where nothing could be estimated.

    Raises:
        EstimateError: there are no such tables.
    """
    trials = None if crossed is None else trials_of(crossed)
    if crossed is not None and crossed.missing:
        return not_tested(claims, (), crossed.missing, Outcome.INCOMPLETE), None
    tables = recorded_tables(cast("TableJudge", judge)) if crossed is None else tables_of(crossed)
    model = model_of(judge)
    found = [Ruling(decide_on(tables, model, claim, seed), trials) for claim in claims]
    # the mean scores of a judge and of others tell something also where the excess lacks data
    if tables.scores is None and all(one.decision.estimate is None for one in found):
        return found, None
    figures = tables.report(seed, leaking=crossed.crossing.leaks if crossed else ())
    return found, record(figures, tables, crossed, seed)
