"""What is wrong with a run and is known before its first question: its prompt, the keys of gate.toml, the baseline."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from calm.pytest_plugin.options import option

if TYPE_CHECKING:
    import pytest

    from calm.experiment.lookahead import Order
    from calm.results.audit import Audit
    from calm.results.gatefile import Gate

NAMED = 3
"""So many errors of a prompt are named, and so many claims that a baseline has and a run does not make."""


def prompt_errors(config: pytest.Config) -> list[str]:
    """Return a line for each of the first errors that the linter finds in the prompt of the run's judge.toml."""
    from calm.errors import CalmError
    from calm.judges.lint import lint, subjects_of
    from calm.pytest_plugin.session import cases_of

    path = Path(option(config, "judge"))
    if path.suffix != ".toml" or not path.is_file():
        return []
    try:
        found = lint(subjects_of(path, partial(cases_of, config)))
    except CalmError:  # the run says what is wrong with the file, or the judge has no prompt
        return []
    errors = [one for one in found.findings if one.rule.severity == "error"]
    said = [f"{one.place.file}:{one.place.line}: error: {one.rule.id}: {one.words}" for one in errors[:NAMED]]
    more = f"{len(errors) - NAMED} more errors in the prompt: " if len(errors) > NAMED else ""
    return [*said, f"{more}calm lint {shlex.quote(str(path))} shows all"] if said else []


def refuse_what_fits_not(
    config: pytest.Config, orders: Sequence[Order], gate: Gate, baseline: Audit | None, *, whole: bool
) -> None:
    """
    Refuse a gate.toml or a baseline that does not fit what the tests of a run will ask.

    `whole` says whether these orders are all that the whole gate claims.

    Raises:
        ConfigError: one line for each fault.
    """
    from calm.errors import ConfigError
    from calm.gate.catalogue import known_biases

    faults: list[str] = []
    keys = [order.key(one) for order in orders for one in _measures(order)]
    if gate.overrides and keys:
        biases = {order.bias for order in orders} | known_biases()
        faults += [f"{option(config, 'gate')}: {fault}" for fault in gate.unknown(keys, biases, whole=whole)]
    if baseline is not None and orders:
        faults += [f"{option(config, 'baseline')}: {fault}" for fault in _of_baseline(baseline, orders)]
    if faults:
        raise ConfigError(faults)


def _measures(order: Order) -> list[str]:
    return [*(claim.measure for claim in order.claims), *(measure.name for measure in order.observed)]


def _of_baseline(baseline: Audit, orders: Sequence[Order]) -> list[str]:
    """Return why nothing of a run can be compared with a baseline."""
    from calm.results.records import family_of

    task = orders[0].setup.judge.task
    if family_of(baseline.judge.task) != orders[0].setup.family:
        return [
            f"it is the baseline of a judge with task = {baseline.judge.task!r}, and this one has {task!r}; "
            "make one with `calm accept`"
        ]
    then = {trial.case for finding in baseline.findings for trial in finding.trials}
    if then and then.isdisjoint(case.id for order in orders for case in (*order.setup.cases, *order.setup.equals)):
        return ["none of its cases is in this run; give its cases, or make a new baseline with `calm accept`"]
    return []


def left_out(baseline: Audit | None, orders: Sequence[Order]) -> str:
    """Return in one line which claims of a baseline the tests that were selected do not make; else nothing."""
    from calm.gate.catalogue import SELF_PREFERENCE
    from calm.results.audit import BASELINE, RUN

    if baseline is None:
        return ""
    made = {order.key(one) for order in orders for one in _measures(order)}
    late = (BASELINE, RUN, SELF_PREFERENCE)  # what these claim is known when they run
    mine = [f.key for f in baseline.findings if f.claim is not None and f.bias not in late]
    gone = [key for key in mine if key not in made]
    more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
    which = f"{', '.join(gone[:NAMED])}{more}"
    return f"{len(gone)} of {len(mine)} claims of the baseline are not in this run: {which}" if gone else ""
