"""What is checked before a run asks anything: its options, its prompt, the keys of gate.toml, the baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calm.pytest_plugin.options import (
    batch_least_of,
    batches_of,
    caps_of,
    commanded,
    days_of,
    design_of,
    distributed,
    families_of,
    limits_of,
    lookahead_of,
    looks_ahead_of,
    option,
    place_of,
    run_name_of,
    sample_of,
    seed_of,
)
from calm.pytest_plugin.outputs import output_faults

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.experiment.lookahead import Order
    from calm.models.wire import Judge
    from calm.results.audit import Audit
    from calm.results.gatefile import Gate

NAMED = 3
"""So many errors of a prompt are named, and so many claims or cases that a baseline has and a run does not have."""


@dataclass
class Checks:
    """What was checked before the first question, and what it took to do so."""

    done: bool = False
    refusal: Exception | None = None
    """Why a worker asks nothing: gate.toml or the baseline does not fit."""
    gate: Gate | None = None
    baseline: Audit | None = None


CHECKS: pytest.StashKey[Checks] = pytest.StashKey()


def check_options(config: pytest.Config) -> None:
    """
    Read every option once, so that a wrong one is reported before any call is paid for.

    Raises:
        ConfigError: it names each wrong option, what it takes and what it got.
    """
    from calm.engine.store import Mode
    from calm.engine.thread import FORKED
    from calm.errors import ConfigError, none_of
    from calm.experiment.stopping import Stopping

    problems: list[str] = []
    readers = (
        *(design_of, seed_of, sample_of, caps_of, days_of, lookahead_of, looks_ahead_of, gate_of, baseline_of),
        *(batches_of, batch_least_of, families_of, place_of, run_name_of),
    )
    for reader in readers:
        try:
            reader(config)
        except ConfigError as error:
            problems += error.problems
    choices = {
        "cache": [m.value for m in Mode],
        "undecided": ["fail", "warn"],
        "texts": ["full", "none"],
        "stopping": list(map(str, Stopping)),
    }
    for name, known in choices.items():
        if (said := option(config, name)) not in known:
            problems.append(f"--calm-{name}: {none_of(known, said)}")
    forks = getattr(config.option, "forked", False)
    if forks and (commanded(config) or not distributed(config)):  # else a worker says it, if it has a test of the gate
        problems.append(f"--forked: {FORKED}")
    problems += output_faults(config)
    if not problems:  # it reads what was checked above
        try:
            limits_of(config)
        except ConfigError as error:
            problems += error.problems
    if Path(option(config, "cache-file")).is_dir():
        problems.append(f"--calm-cache-file: expected a file, got the folder {option(config, 'cache-file')!r}")
    if problems:
        raise ConfigError(problems)


def gate_of(config: pytest.Config) -> Gate:
    """Return what gate.toml says, read once."""
    from calm.results.gatefile import Gate, read_gate

    ours = config.stash[CHECKS]
    if ours.gate is None:
        path = option(config, "gate")
        ours.gate = read_gate(Path(path), datetime.now(UTC).date()) if path else Gate()
    return ours.gate


def baseline_of(config: pytest.Config) -> Audit | None:
    """Return the accepted run to compare with, if one was given."""
    from calm.results.baseline import read_baseline

    ours = config.stash[CHECKS]
    if ours.baseline is None and (path := option(config, "baseline")):
        ours.baseline = read_baseline(Path(path))
    return ours.baseline


def prompt_errors(config: pytest.Config, cases: Callable[[Judge], Sequence[Case]]) -> list[str]:
    """Return a line for each of the first errors that the linter finds in the prompt of the run's judge.toml."""
    from calm.core.files import quote
    from calm.core.plugins import hook
    from calm.errors import CalmError

    path = Path(option(config, "judge"))
    if path.suffix != ".toml" or not path.is_file() or (lint := hook("lint")) is None:
        return []
    try:
        found = lint(path, cases)
    except CalmError:  # the run says what is wrong with the file, or the judge has no prompt
        return []
    errors = [one for one in found.findings if one.rule.severity == "error"]
    said = [f"{one.place.file}:{one.place.line}: error: {one.rule.id}: {one.words}" for one in errors[:NAMED]]
    more = f"{len(errors) - NAMED} more errors in the prompt: " if len(errors) > NAMED else ""
    return [*said, f"{more}calm lint {quote(str(path))} shows all"] if said else []


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
    keys = [key for order in orders for key in order.keys]
    if gate.overrides and keys:
        biases = {order.bias for order in orders} | known_biases()
        faults += [f"{option(config, 'gate')}: {fault}" for fault in gate.unknown(keys, biases, whole=whole)]
    if baseline is not None and orders:
        faults += [f"{option(config, 'baseline')}: {fault}" for fault in _of_baseline(baseline, orders)]
    if faults:
        raise ConfigError(faults)


def _of_baseline(baseline: Audit, orders: Sequence[Order]) -> list[str]:
    """Return why nothing of a run can be compared with a baseline."""
    from calm.results.records import family_of

    task = orders[0].setup.judge.task
    if family_of(baseline.judge.task) != orders[0].setup.family:
        return [
            f"it is the baseline of a judge with task = {baseline.judge.task!r}, and this one has {task!r}; "
            "make one with `calm accept`"
        ]
    then, gone, other = _cases_of(baseline, orders)
    if then and len(gone) == len(then):
        return [
            f"none of its {len(then)} cases is in this run, so nothing can be compared; give the cases of the baseline "
            "or make a new baseline of these cases with `calm accept`"
        ]
    if then and len(gone) + len(other) == len(then):
        return [
            f"all its {len(then)} cases have another text in this run under the same id, so nothing can be compared; "
            "give the cases of the baseline, or make a new baseline of these cases with `calm accept`"
        ]
    return []


def _cases_of(baseline: Audit, orders: Sequence[Order]) -> tuple[set[str], list[str], list[str]]:
    """Return the cases of a baseline in claims of these orders, those that are gone, and those with another text."""
    from calm.experiment.pairs import in_order

    made = {key for order in orders for key in order.keys}
    mine = [finding for finding in baseline.findings if finding.key in made]
    then = {trial.case for finding in mine for trial in finding.trials}
    now: dict[str, set[str]] = {}
    for setup in {id(order.setup.cases): order.setup for order in orders}.values():
        shown = in_order(setup.cases, setup.seed, as_given=setup.judge.traits.as_given, memo=setup.memo)
        for case in (*setup.equals, *setup.cases, *shown):
            now.setdefault(case.id, set()).add(case.identity())
    plain = [trial for finding in mine if finding.expects is None for trial in finding.trials]
    other = {trial.case for trial in plain if trial.case in now and trial.hash not in now[trial.case]}
    return then, sorted(then - now.keys()), sorted(other)


def partly(baseline: Audit | None, orders: Sequence[Order]) -> list[str]:
    """Return in a line each which cases of a baseline a run does not have, or has with another text."""
    from calm.errors import few_of

    if baseline is None:
        return []
    then, gone, other = _cases_of(baseline, orders)
    found = []
    if gone:
        verb, them = ("is", "it") if len(gone) == 1 else ("are", "them")
        found.append(
            f"{len(gone)} of the {len(then)} cases of the baseline {verb} not in this run ({few_of(gone, NAMED)}), so "
            f"the run will not be green; the other cases are compared. Add {them} again, or make a new baseline of the "
            "cases as they are now with `calm accept`"
        )
    if other:
        verb = "has" if len(other) == 1 else "have"
        found.append(
            f"{len(other)} of the {len(then)} cases of the baseline {verb} another text in this run "
            f"({few_of(other, NAMED)}) and cannot be compared; if that was on purpose, make a new baseline with "
            "`calm accept`"
        )
    return found


def left_out(baseline: Audit | None, orders: Sequence[Order]) -> str:
    """Return in one line which claims of a baseline the tests that were selected do not make; else nothing."""
    from calm.errors import few_of
    from calm.gate.catalogue import SELF_PREFERENCE
    from calm.results.audit import BASELINE, RUN

    if baseline is None:
        return ""
    made = {key for order in orders for key in order.keys}
    late = (BASELINE, RUN, SELF_PREFERENCE)  # what these claim is known when they run
    mine = [f.key for f in baseline.findings if f.claim is not None and f.bias not in late]
    gone = [key for key in mine if key not in made]
    return (
        f"{len(gone)} of {len(mine)} claims of the baseline are not in this run: {few_of(gone, NAMED)}" if gone else ""
    )
