"""`gate.toml`: other limits, waived claims and accepted gaps of a suite, each with a reason and a last day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from math import isfinite
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from calm.core.claims import Claim, Outcome
from calm.core.files import read_toml
from calm.core.measures import MEASURES, TABLE_MEASURES
from calm.core.reasons import Kind, Reason, because, listed
from calm.errors import ClaimError, ConfigError, closest, nearest
from calm.results.audit import BASELINE, RUN, Finding, Limit

Table: TypeAlias = Literal["limit", "waive", "not_tested"]
"""The tables of the file: another limit for a claim, a claim that may fail, something that need not be tested."""

KINDS: Final[tuple[Table, ...]] = get_args(Table)
KEYS: Final[Mapping[Table, tuple[str, ...]]] = {
    "limit": ("key", "limit", "reason", "expires"),
    "waive": ("key", "reason", "expires"),
    "not_tested": ("key", "reason", "expires"),
}
"""The keys of an entry: each is needed."""
ALIKE: Final = 0.8
"""How alike a bias must be to a known one to be taken for a misspelt one."""
WORSENING: Final = "worsening"
"""The measure of findings about a baseline: how much worse a case is than it was. No test claims it."""
POOLED: Final = f"{BASELINE}/{WORSENING}"
"""How the keys of the claims about a baseline begin that have a limit: one measure of all probes together."""
LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    **{name: measure.limits for name, measure in MEASURES.items()},
    **{name: measure.limits for name, measure in TABLE_MEASURES.items()},
    WORSENING: (0.0, 1.0),
}
"""Each measure that an entry may be about, with the open interval in which its limit lies."""


@dataclass(frozen=True, slots=True)
class Override:
    """One entry: what it is about, why it was made, the last day on which it holds, and the limit, if it sets one."""

    kind: Table
    key: str
    reason: str
    expires: date
    limit: float | None = None

    def __str__(self) -> str:
        return f"[[{self.kind}]] {self.key}"

    @property
    def bias(self) -> str:
        """The bias, control or other subject that it is about."""
        return self.key.partition("/")[0]

    @property
    def grounds(self) -> Reason:
        """Why it was accepted, and until when. It was written for reviewers, so a record without texts keeps it."""
        return because(Kind.GATE_FILE, self.expires.isoformat(), self.reason)

    def covers(self, key: str) -> bool:
        """Return whether the key of a finding is meant; a bias alone means all of its findings."""
        return key == self.key or ("/" not in self.key and key.startswith(f"{self.key}/"))


@dataclass(frozen=True, slots=True)
class Gate:
    """What the owners of a suite accepted, in the order of the file."""

    overrides: tuple[Override, ...] = ()

    def limit_for(self, key: str) -> Override | None:
        """Return the entry that sets another limit for a claim."""
        return self._first("limit", key)

    @property
    def limits(self) -> dict[str, float]:
        """The other limits by their keys."""
        return {o.key: o.limit for o in self.overrides if o.kind == "limit" and o.limit is not None}

    def waiver(self, key: str) -> Override | None:
        """Return the entry that lets a claim fail."""
        return self._first("waive", key)

    def accepts_untested(self, key: str) -> Override | None:
        """Return the entry that accepts that a claim, or its whole bias, was not tested."""
        return self._first("not_tested", key)

    def unused(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the entries that match no key of a full run: misspelt, or left over from an earlier test."""
        found = tuple(keys)
        return tuple(str(o) for o in self.overrides if not any(o.covers(key) for key in found))

    def misspelt(self, biases: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """
        Return the entries whose bias is none of those known, but close to one, each with the one that was meant.

        A run of some tests alone cannot tell which other entries mean a claim: they may be about the tests left out.
        """
        known = frozenset(biases)
        unknown = [one for one in self.overrides if one.bias not in known]
        found = [(str(one), closest(one.bias, known, ALIKE)) for one in unknown]
        return tuple((entry, close) for entry, close in found if close)

    def unknown(self, keys: Iterable[str], biases: Iterable[str], *, whole: bool) -> tuple[str, ...]:
        """
        Return what is wrong with entries that mean no claim of a run, as far as that is known before it begins.

        `biases` are the names that a bias can have. Without the `whole` of the claims only a misspelt bias is known to
        be wrong. Claims about all probes are made at the end.
        """
        known, names = tuple(keys), frozenset(biases)
        found = []
        for one in self.overrides:
            if one.bias in (RUN, BASELINE) or any(one.covers(key) for key in known):
                continue
            if one.bias not in names:
                close = (whole and closest(one.key, known, ALIKE)) or closest(one.bias, names, ALIKE)
                found += [f"no claim {one.key}; did you mean {close}?"] if close else []
            elif whole and (mine := [key for key in known if key.partition("/")[0] == one.bias]):
                close = closest(one.key, mine)
                hint = f"did you mean {close}?" if close else f"the claims are {', '.join(sorted(mine))}"
                found.append(f"no claim {one.key}; {hint}")
        return tuple(found)

    def _first(self, kind: Table, key: str) -> Override | None:
        return next((o for o in self.overrides if o.kind == kind and o.covers(key)), None)


def read_gate(path: Path, today: date) -> Gate:
    """
    Return the gate in a file; an entry holds until the end of the day on which it expires.

    Raises:
        ConfigError: the file cannot be read, or entries of it are wrong or have expired; all are named at once.
    """
    body = read_toml(path, "a gate file")
    problems = [f"{path}: unknown table {name!r}{nearest(name, KINDS)}" for name in body if name not in KINDS]
    overrides: list[Override] = []
    for kind in KINDS:
        entries = body.get(kind, [])
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            problems.append(f"{path}: {kind}: expected tables that begin with [[{kind}]], got {_shown(entries)}")
            continue
        for number, entry in enumerate(entries, start=1):
            found = _override(kind, cast("dict[str, object]", entry), today)
            where = f"{path}: [[{kind}]] number {number}"
            if isinstance(found, Override):
                overrides.append(found)
            else:
                problems += [f"{where}{problem}" for problem in found]
    problems += [f"{path}: {problem}" for problem in _twice(overrides)]
    if problems:
        raise ConfigError(problems)
    return Gate(tuple(overrides))


def _override(kind: Table, entry: Mapping[str, object], today: date) -> Override | list[str]:
    key, reason, expires, limit = (entry.get(name) for name in ("key", "reason", "expires", "limit"))
    named = f" ({key})" if isinstance(key, str) and key.isprintable() else ""
    problems = [f"unknown key {name!r}{nearest(name, KEYS[kind])}" for name in entry if name not in KEYS[kind]]
    wrong_key = _key_problem(kind, key)
    problems += [wrong_key] if wrong_key else []
    if not isinstance(reason, str) or not reason.strip():
        got = "none" if reason is None else _shown(reason)
        problems.append(f"reason: expected who accepted this and why, got {got}")
    if type(expires) is not date:  # a time of day is a date, too, for isinstance
        got = "none" if expires is None else str(expires) if isinstance(expires, datetime) else _shown(expires)
        problems.append(f"expires: expected a day without quotes such as {today.year + 1}-01-31, got {got}")
    elif expires < today:
        problems.append(
            f"expires: expired on {expires.isoformat()}; fix the cause, or decide again and set a later day"
        )
    if kind == "limit":
        problems += _limit_problems(key if not wrong_key else None, limit)
    if problems:
        return [f"{named}: {problem}" for problem in problems]
    return Override(
        kind,
        str(key),
        str(reason).strip(),
        cast("date", expires),
        float(cast("float", limit)) if kind == "limit" else None,
    )


def _key_problem(kind: Table, key: object) -> str:
    if key is None:
        return "key: expected the key of a finding such as 'authority/gain', got none"
    if not isinstance(key, str) or not all(key.split("/")) or not key.isprintable() or key != key.strip():
        return f"key: expected bias/measure or bias/measure/perturbation, got {_shown(key)}"
    bias, *rest = key.split("/")
    if bias != bias.lower() or not all(part.isalnum() for part in bias.split("-")):
        return f"key: expected a bias in kebab case such as 'self-authorship', got {bias!r}"
    if not rest:
        return "" if kind == "not_tested" else f"key: expected bias/measure such as '{bias}/gain', got {key!r}"
    if rest[0] not in LIMITS:
        return f"key: no measure is called {rest[0]!r}{nearest(rest[0], LIMITS)}"
    if bias == BASELINE and len(rest) > 1 and rest[1] not in MEASURES:
        return f"key: no measure is called {rest[1]!r}{nearest(rest[1], MEASURES)}"
    if len(rest) > 2 + (rest[0] == WORSENING):
        return f"key: expected bias/measure or bias/measure/perturbation, got {key!r}"
    return ""


def _limit_problems(key: object, limit: object) -> list[str]:
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not isfinite(limit):
        got = "none" if limit is None else _shown(limit)
        return [f"limit: expected a number such as 0.15, got {got}"]
    if not isinstance(key, str):
        return []
    name = key.split("/")[1]
    if name == WORSENING:
        if key.rpartition("/")[0] != POOLED:
            example = f"{POOLED}/net_robustness"
            return [f"limit: of the findings about a baseline only those like {example!r} have one; waive the others"]
        least, most = LIMITS[WORSENING]
        return [] if least < limit < most else [f"limit: expected a number between 0 and 1 for {key}, got {limit:g}"]
    try:
        if name in TABLE_MEASURES:
            _ = TABLE_MEASURES[name] <= limit
            return []
        measure = MEASURES[name]
        _ = measure >= limit if measure.op == ">=" else measure <= limit
    except ClaimError as error:
        return [f"limit: {error}"]
    return []


def _twice(overrides: Iterable[Override]) -> list[str]:
    problems: list[str] = []
    seen: dict[tuple[bool, str], Override] = {}
    for one in overrides:
        slot = one.kind == "not_tested", one.key
        if slot in seen and seen[slot].kind == one.kind:
            problems.append(f"{one}: expected one entry for each key, got two")
        elif slot in seen:
            problems.append(f"{one}: expected either another limit or a waiver, got both")
        seen.setdefault(slot, one)
    return problems


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def gated(gate: Gate, key: str, claim: Claim) -> Claim:
    """
    Return a claim with the limit that gate.toml sets for it.

    Raises:
        ConfigError: the limit has the wrong sign for a claim on both sides.
    """
    override = gate.limit_for(key)
    if override is None or override.limit is None:
        return claim
    if claim.op == "abs<=" and override.limit <= 0:
        raise ConfigError(f"gate.toml: {override}: expected a limit above 0 for {claim}, got {override.limit!r}")
    return replace(claim, limit=override.limit)


def accepted(gate: Gate, found: Finding, stated: Mapping[str, Claim]) -> Finding:
    """Return a finding with what gate.toml says of it: the suite's own limit, or why the finding is accepted."""
    override, claim = gate.limit_for(found.key), stated.get(found.measure)
    if claim is not None and found.claim is not None and claim.limit != found.claim.limit:
        found = replace(found, stated=Limit(claim.op, claim.limit))
        if override is not None:
            reason = listed([found.reason, override.grounds] if found.reason else [override.grounds])
            found = replace(found, reason=reason)
    kinds = {Outcome.FAIL: gate.waiver, Outcome.UNDECIDED: gate.waiver, Outcome.NOT_TESTED: gate.accepts_untested}
    entry = kinds[found.outcome](found.key) if found.outcome in kinds else None
    if entry is None:
        return found
    return replace(found, accepted=str(entry.grounds))


def allowed(gate: Gate, found: Finding) -> Finding:
    """Return a finding about all probes, or about a baseline, with what gate.toml says of it."""
    limit, waiver = gate.limit_for(found.key), gate.waiver(found.key) if found.red else None
    if limit is not None and found.stated is not None:
        found = replace(found, reason=listed([found.reason, limit.grounds] if found.reason else [limit.grounds]))
    return replace(found, accepted=str(waiver.grounds)) if waiver is not None else found
