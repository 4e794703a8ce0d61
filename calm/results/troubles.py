"""
What is wrong with a judge, by bias and the worst first: the data of every headline.

A trouble is a bias with a claim that is not proven. Its effect is told by one finding, its lead, in a few words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.claims import Outcome
from calm.core.measures import MEASURES
from calm.core.reasons import Kind
from calm.errors import few_of
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN, Audit, Finding
from calm.results.endings import State
from calm.results.gatefile import WORSENING
from calm.results.sentences import base, name_of
from calm.results.wording import selected

ORDER: Final = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)
"""The outcomes of a trouble, the worst first."""
MOST_NAMED: Final = 4
"""So many troubles are named in a headline; the others are counted."""
_LEADS: Final = ("slot_pull", "own_pull", "pull", "gain", "mean_shift", "lift"), ("net_detection",)
"""Of the claims of one bias those that say most: first those that name a direction; of these, the furthest beyond."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A bias with claims that are not proven: its worst outcome, those findings, and the one that says most."""

    bias: str
    outcome: Outcome
    lead: Finding
    findings: tuple[Finding, ...]


def troubles(audit: Audit) -> tuple[Trouble, ...]:
    """Return what is wrong, by bias: first what failed, in each part what lies furthest beyond its limit first."""
    red = [one for one in audit.findings if one.red]
    groups: dict[str, list[Finding]] = {}
    for one in red:
        groups.setdefault(one.bias, []).append(one)
    found = [trouble_of(bias, of) for bias, of in groups.items()]
    return tuple(sorted(found, key=_place))


def trouble_of(bias: str, findings: Sequence[Finding]) -> Trouble:
    """Return what is wrong by some red findings of one bias."""
    worst = min(ORDER.index(one.outcome) for one in findings)
    ordered = tuple(sorted(findings, key=lambda one: (ORDER.index(one.outcome), *_telling(one))))
    return Trouble(bias, ORDER[worst], ordered[0], ordered)


def proven(audit: Audit) -> list[Finding]:
    """Return of each bias the finding that passed and says most, those nearest to their limit first."""
    passed = sorted((f for f in audit.findings if f.outcome is Outcome.PASS), key=_telling)
    last = (*CONTROLS, AGREEMENT, RUN)
    return sorted({f.bias: f for f in reversed(passed)}.values(), key=lambda f: (f.bias in last, -_beyond(f), f.key))


def _telling(one: Finding) -> tuple[object, ...]:
    """
    Return what findings of one bias are sorted by: those that name a direction first, then the furthest beyond.

    Of a baseline those come first that say what cannot be compared at all.
    """
    rank = next((place for place, names in enumerate(_LEADS) if base(one.measure) in names), len(_LEADS))
    return (one.value is None) is not (one.bias == BASELINE), rank, -_beyond(one), one.key


def _place(one: Trouble) -> tuple[object, ...]:
    last = (AGREEMENT, RUN).index(one.bias) + 1 if one.bias in (AGREEMENT, RUN) else 0
    return ORDER.index(one.outcome), one.bias == RUN, -_beyond(one.lead), last, one.bias


def excess(found: Finding) -> float | None:
    """
    Return how far the estimate of a claim lies beyond its limit, as a share of the room that it has there, in [0, 1].

    0: at the limit, or on its right side. 1: as far as the measure goes. None: there is no estimate or no limit, or the
    measure is none of one run. For `gain <= 0.10` the room is 0.90, as a gain goes up to 1; a gain of 0.55 is an excess
    of a half.
    """
    if found.claim is None or found.value is None or found.measure not in MEASURES:
        return None
    return min(1.0, max(0.0, _beyond(found)))


def _beyond(found: Finding) -> float:
    """Return the same of any finding, below 0 where it is within its limit; -1 where nothing is known."""
    if found.claim is None or found.value is None or found.measure not in MEASURES:
        return -1.0
    low, high = MEASURES[found.measure].range
    limit, value = found.claim.limit, found.value
    match found.claim.op:
        case ">=":
            beyond, room = limit - value, limit - low
        case "<=":
            beyond, room = value - limit, high - limit
        case "abs<=":
            beyond, room = abs(value) - limit, max(abs(low), abs(high)) - limit
    return beyond / room if room > 0 else float(beyond > 0)


def verdict_of(audit: Audit, *, green: bool) -> tuple[str, str]:
    """
    Return GREEN, RED (something failed) or NOT GREEN, and why in a few words.

    `green` is whether the gate is green, which an option may decide.
    """
    claims = [f for f in audit.findings if f.outcome not in (Outcome.OBSERVED, Outcome.NOT_TESTED)]
    counts = {outcome: sum(f.red and f.outcome is outcome for f in claims) for outcome in ORDER}
    failed, incomplete, undecided = (counts[outcome] for outcome in ORDER)
    apart = sum(f.red and f.outcome is Outcome.INCOMPLETE and f.measure == WORSENING for f in claims)
    incomplete -= apart
    of = f"of {len(claims)} claim{'s' * (len(claims) != 1)}"
    if failed:
        named = [name_of(one.bias) for one in troubles(audit) if one.outcome is Outcome.FAIL and one.bias != RUN]
        who = f": {few_of(named, MOST_NAMED)}" if named else ""
        return ("GREEN" if green else "RED"), f"{failed} {of} fail{'s' * (failed == 1)}{who}"
    if green:
        held = sum(f.outcome is Outcome.PASS for f in claims)
        accepted = sum(f.accepted is not None for f in claims)
        part, skipped = selected(audit), sum(one.reason.has(Kind.SKIPPED) for one in audit.tests)
        chosen = f" of {part}" if part else ""
        parts = [f"every claim{chosen} holds" if held == len(claims) else f"{held} {of}{chosen} hold"]
        parts += [f"but {skipped} test{'s' * (skipped != 1)} skipped"] if skipped else []
        fitted = [note.details[0] for note in audit.run.notes if note.kind is Kind.AT_RESOLUTION]
        parts += [f"with limits for {cases} cases" for cases in fitted]
        parts += [f"{undecided} undecided (only a warning)"] if undecided else []
        parts += [f"{accepted} accepted (gate.toml or xfail)"] if accepted else []
        parts += [f"but this replay cannot ask: {', '.join(audit.unasked)}"] if audit.unasked else []
        return "GREEN", ", ".join(parts)
    if audit.cut_short:
        decided = sum(one.state is State.DECIDED for one in audit.tests)
        return "NOT GREEN", f"the run was interrupted when {decided} of {len(audit.tests)} tests had decided something"
    if audit.gaps:
        return "NOT GREEN", f"the run is not whole: {audit.gaps[0]}"
    if (cap := _cap(audit)) is not None:
        held = sum(f.outcome is Outcome.PASS for f in claims)
        ends = ((held, "hold"), (undecided, "need more data"), (incomplete, "not asked in full"))
        return "NOT GREEN", f"a cap ({cap}) stopped the run: {of} {', '.join(f'{n} {end}' for n, end in ends if n)}"
    if incomplete or undecided or apart:
        lacking = f"{incomplete} {of} lack{'s' * (incomplete == 1)} replies" if incomplete else ""
        few = f"{undecided}{'' if lacking else f' {of}'} need{'s' * (undecided == 1)} more data" if undecided else ""
        part = "the baseline can be compared only in part" if apart else ""
        open_ones = ", ".join(filter(None, (lacking, few, part)))
        named = [name_of(one.bias) for one in troubles(audit) if one.bias != RUN and _beyond(one.lead) > 0]
        if undecided and named:
            return "NOT GREEN", f"suspicious, but not proven: {', '.join(named[:MOST_NAMED])} ({open_ones})"
        return "NOT GREEN", f"nothing is proven wrong, but {open_ones}"
    return "NOT GREEN", next(iter(audit.loose_ends), "no claim was made")


def _cap(audit: Audit) -> object | None:
    """Return the cap that stopped a run, such as "--calm-max-calls 700"; None where none did."""
    found = (f.reason.of(Kind.CAPPED) for f in audit.findings if f.red and f.outcome is Outcome.INCOMPLETE)
    return next((reason.details[0] for reason in found if reason is not None), None)
