"""The accepted run, kept as a file for review."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, floor
from pathlib import Path
from typing import NoReturn, cast

from calm.core.claims import Outcome
from calm.core.files import read_json, record_at
from calm.core.measures import MEASURES
from calm.errors import ConfigError
from calm.experiment.stopping import Stopping
from calm.models.wire import Json
from calm.results import outputs
from calm.results.audit import SCHEMA as RESULTS
from calm.results.audit import Audit, Finding, Run, read
from calm.results.gatefile import WORSENING
from calm.results.outputs import record_kind
from calm.results.records import scale_of, trials_of

SCHEMA = "calm-baseline/2"
CALIBRATION = "calm-calibration/1"
"""A record of `calm calibrate`: a baseline of the agreement with people, and all that was found beside it."""
CALIBRATED = "calibration"
"""Where a calibration holds what is no baseline, and the name of that analysis in an audit."""
OLDER = "calm-baseline/1"
"""Its rows have no inert arm, so nothing that is measured now was measured then."""

_SIGHT = 200
"""Characters at the beginning of a record in which its schema stands."""
_HEAD = ("calm", "judge", "cases", "seed", "repeats", "stopping", "limits", "outcome")


def accept(audit: Audit) -> Audit:
    """
    Return the part of a run that a baseline keeps: its findings with their codes; no text, no figure of the run.

    A FAIL is accepted as a record of today. Findings about an older baseline are left out.

    Raises:
        ConfigError: a test crashed or did not run, or a claim was not decided, and neither xfail nor gate.toml accepted
            it; the message names all tests and keys.
    """
    findings = [f for f in audit.findings if f.measure != WORSENING]
    if audit.stopping == Stopping.ANYTIME:
        raise ConfigError(
            "the run cannot be accepted: with --calm-stopping anytime each claim stops as soon as its own data look "
            "decisive, so a later run would be compared with good luck; accept a run with --calm-stopping fixed"
        )
    problems = [f"the run cannot be accepted: {gap}" for gap in audit.gaps]
    for outcome in (Outcome.INCOMPLETE, Outcome.UNDECIDED):
        keys = sorted(f.key for f in findings if f.outcome is outcome and f.accepted is None)
        if keys:
            problems.append(f"the run cannot be accepted, as these claims are {outcome.value}: {', '.join(keys)}")
    twice = sorted(key for key, count in Counter(f.key for f in findings).items() if count > 1)
    if twice:
        problems.append(f"expected one finding for each key, got several: {', '.join(twice)}")
    if not findings:
        problems.append("expected a run with findings, got none: there is nothing to compare with later")
    elif not problems and not any(f.outcome in (Outcome.PASS, Outcome.FAIL) for f in findings):
        problems.append("expected at least one claim that was decided, got none: nothing was PASS or FAIL")
    if problems:
        raise ConfigError(problems)
    return _record_of(audit, findings)


@dataclass(frozen=True, slots=True)
class Undecided:
    """
    A claim that keeps a run from being accepted, and what would decide it.

    `limit` is the nearest one, to two places, that the data of the run decide, None where the measure goes no further;
    `cases` are about how many its own limit takes, None where that is not known. `n` are the cases that it has.
    """

    key: str
    limit: float | None
    cases: int | None
    n: int


def undecided(audit: Audit) -> tuple[Undecided, ...]:
    """Return the claims that keep a run from being accepted because the data do not suffice, by key."""
    found = (f for f in audit.findings if f.outcome is Outcome.UNDECIDED and f.accepted is None)
    return tuple(Undecided(f.key, _decidable(f), f.needed, f.n) for f in sorted(found, key=lambda one: one.key))


def _decidable(found: Finding) -> float | None:
    if found.claim is None or found.low is None or found.high is None or found.measure not in MEASURES:
        return None
    low, high = MEASURES[found.measure].range
    match found.claim.op:
        case ">=":
            limit = floor(found.low * 100) / 100
            return limit if limit > max(low, 0.0) else None
        case "<=":
            limit = ceil(found.high * 100) / 100
        case "abs<=":
            limit = ceil(max(abs(found.low), abs(found.high)) * 100) / 100
    return limit if limit < high else None


def _record_of(audit: Audit, findings: Sequence[Finding]) -> Audit:
    return replace(
        audit,
        judge=replace(audit.judge, about={}),  # the prompt's own text; its hash stays
        findings=tuple(_kept(f) for f in sorted(findings, key=lambda f: f.key)),
        run=Run(),
        texts=(),
        tests=(),
    )


def _kept(finding: Finding) -> Finding:
    trials = tuple(sorted(finding.trials, key=lambda record: (record.case, record.edit)))
    return replace(finding, node="", cases_to_decide=None, baseline=None, trials=trials)


def write_baseline(audit: Audit, path: Path) -> None:
    """Accept a run and write it, whole or not at all; each case of a finding has a line, so that a diff can be read."""
    outputs.write_whole(path, _lines(accept(audit), {"schema": SCHEMA}), outputs.BASELINE)


def write_calibration(audit: Audit, found: Mapping[str, Json], path: Path) -> None:
    """
    Write what a judge's agreement with people was found to be, whole or not at all; it is a baseline, too.

    A claim that is still undecided is kept: a later run is compared with its rows, and not with its outcome.
    """
    kept = _record_of(audit, audit.findings)
    outputs.write_whole(path, _lines(kept, {"schema": CALIBRATION, CALIBRATED: dict(found)}), outputs.CALIBRATION)


def _lines(accepted: Audit, head: Mapping[str, Json]) -> Iterator[str]:
    body = accepted.to_json()
    yield "{\n"
    for name, value in (*head.items(), *((name, body[name]) for name in _HEAD)):
        yield f' "{name}": {_json(value)},\n'
    yield ' "findings": ['
    findings = body["findings"]
    assert isinstance(findings, list)
    for place, one in enumerate(findings):
        assert isinstance(one, dict)
        trials = one.pop("trials")
        assert isinstance(trials, list)
        rows = "".join(f"{',' * (row > 0)}\n   {_json(trial)}" for row, trial in enumerate(trials))
        yield f'{"," * (place > 0)}\n  {_json(one)[:-1]}, "trials": [{rows}]}}'
    yield "\n ]\n}\n"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True)


def read_record(path: Path) -> Audit:
    """
    Return the audit in a results file, a baseline or a calibration.

    Raises:
        ConfigError: no such file, or none of these; the message says what was expected.
    """
    path = record_at(path)
    with suppress(OSError, UnicodeDecodeError):
        with path.open(encoding="utf-8") as file:
            head = file.read(_SIGHT)
        if any(f'"{schema.partition("/")[0]}/' in head for schema in (SCHEMA, CALIBRATION)):
            return read_baseline(path)
    return read(path)


def read_baseline(path: Path) -> Audit:
    """
    Return the accepted run in a file that `write_baseline` or `write_calibration` wrote.

    Raises:
        ConfigError: no such file, not JSON, another schema, or damaged; the message says what was expected.
    """
    path = record_at(path)
    body = read_json(path, "a baseline, which `calm accept` writes", parse_constant=_no_number)
    schema = body.get("schema") if isinstance(body, dict) else None
    if schema == OLDER:
        raise ConfigError(
            f"{path}: this baseline is of an older version of calm (schema {OLDER!r}), which compared edits with "
            f"repeats of the untouched prompt, not with neutral words: nothing in it compares with a run of today. "
            "Make a new one: run the suite with --calm-stopping=fixed and --calm-results=results.json, read the "
            f"report, and run `calm accept results.json -o {path.name}`"
        )
    if schema not in (SCHEMA, CALIBRATION):
        hint = f": make a baseline of it with `calm accept {path} -o baseline.json`" if schema == RESULTS else ""
        raise ConfigError(
            f"{path}: expected a baseline, which `calm accept` writes, got {record_kind(body, SCHEMA)}{hint}"
        )
    try:
        extras = {CALIBRATED: cast("Mapping[str, Json]", body)[CALIBRATED]} if schema == CALIBRATION else {}
        found = Audit.from_json(
            {**cast("Mapping[str, Json]", body), "schema": RESULTS, "run": {}, "extras": cast("Json", extras)}
        )
        scale = scale_of(found.judge)
        for finding in found.findings:
            trials_of(finding, scale)
    except KeyError as error:
        raise ConfigError(f"{path}: expected {CALIBRATED!r}, which `calm calibrate` writes, got none") from error
    except ConfigError as error:
        raise ConfigError([f"{path}: {problem}" for problem in error.problems]) from error
    twice = [key for key, count in Counter(f.key for f in found.findings).items() if count > 1]
    if twice or not found.findings:
        raise ConfigError(
            f"{path}: expected one finding for each key, got {'several for ' + twice[0] if twice else 'none'}"
        )
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, got {name}")


def recalled(baseline: Audit, audit: Audit) -> Audit:
    """Return a run in which each finding shows what the baseline found."""
    before = {f.key: f for f in baseline.findings}
    return replace(
        audit,
        findings=tuple(
            replace(f, baseline=recalled_of(before[f.key])) if f.key in before else f for f in audit.findings
        ),
    )


def recalled_of(finding: Finding) -> Mapping[str, Json]:
    """Return what a finding of today shows of the same one in the baseline."""
    return {"value": finding.value, "low": finding.low, "high": finding.high, "outcome": finding.outcome.value}
