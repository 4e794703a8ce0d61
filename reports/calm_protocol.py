"""CALM's figures of one judge as people read them: lines for a terminal, tables for the report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from calm.errors import ConfigError
from calm.results.audit import Audit
from calm.results.calm_protocol import BiasFigures, CalmProtocol, Ratio, Share, calm_protocol
from calm.results.parts import aligned
from calm.results.reports.extras import Table
from calm.results.tabular import Unread
from calm.results.wording import unnamed

HEADING = "CALM's protocol: RR and CR with 95% intervals, accuracy before and after"
LACKING = "-"
PLACES = 3
"""The paper prints rates in three digits."""
HEAD = ("bias", "RR", "CR", "Acc", "Acc_hack", "n")
SIDES = "{} is the mean of its sides: {}"
UNREAD = "unread replies, clean + edited"
"""What is counted: replies that were unreadable or refused, before the edit and after it."""
NOTICED = "fallacy-oversight: a high RR means that broken steps went unnoticed; noticed, net: {}"


@dataclass(frozen=True, slots=True)
class ProtocolView:
    """The parts of the report: the table of biases, the edits that took turns, figures by name, and remarks."""

    table: Table
    variants: Table | None
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def decimal(value: float | None, *, sign: bool = False) -> str:
    """
    Return a rate or an error in three digits, a dash for none.

    >>> decimal(0.9), decimal(-0.0001), decimal(0.25, sign=True), decimal(None)
    ('0.900', '0.000', '+0.250', '-')
    """
    if value is None:
        return LACKING
    shown = round(value, PLACES) + 0.0
    return f"{shown:+.{PLACES}f}" if sign and shown else f"{shown:.{PLACES}f}"


def rate(share: Share | None) -> str:
    """
    Return a rate with its 95% interval.

    >>> rate(Share(0.9, 0.699, 0.972, 20)), rate(None)
    ('0.900 [0.70, 0.97]', '-')
    """
    return LACKING if share is None else f"{decimal(share.value)} [{share.low:.2f}, {share.high:.2f}]"


def told(audit: Audit) -> list[str]:
    """Return the lines of a run for a terminal; none of a run that has no such figures."""
    found = calm_protocol(audit)
    return [] if found is None else lines_of(found)


def unbroken(share: Share | None) -> str:
    """Return a rate for a page: no line breaks inside of its interval."""
    return rate(share).replace(", ", ",\N{NO-BREAK SPACE}")


def lines_of(found: CalmProtocol) -> list[str]:
    """Return the figures for a terminal, in columns that 80 characters hold, then a line for each figure of its own."""
    rows = [_cells(one) for one in found.biases if one.unread]
    told = [f"{name}: {value}" for name, value in _facts(found)]
    return [HEADING, *aligned([HEAD, *rows]), *told, *_notes(found)]


def view_of(audit: Audit) -> ProtocolView | None:
    """Return the figures for the report; None of a run that has no such figures, or whose record is damaged."""
    found = None
    with suppress(ConfigError):  # it costs this part, not the report
        found = calm_protocol(audit)
    if found is None:
        return None
    rated = (f"{name} [95%]" for name in ("RR", "CR", "Acc", "Acc_hack"))
    heads = ("Bias", *rated, "Questions", "Unread clean", "Unread edited")
    rows = tuple(
        (
            one.bias,
            *map(unbroken, (one.robustness_rate, one.consistency_rate, one.accuracy, one.accuracy_hacked)),
            str(one.robustness_rate.n) if one.robustness_rate else LACKING,
            *(str(one.unread.get(arm, LACKING)) for arm in ("clean", "perturbed")),
        )
        for one in found.biases
        if one.unread
    )
    apart = tuple(
        (one.bias, name, unbroken(share), str(share.n))
        for one in found.biases
        for name, share in (*(one.sides.items()), *(one.variants.items()))
    )
    return ProtocolView(
        Table(heads, rows),
        Table(("Bias", "Edit", "RR [95%]", "Questions"), apart) if apart else None,
        tuple(_facts(found)),
        tuple(_notes(found)),
    )


def _cells(one: BiasFigures) -> tuple[str, ...]:
    right = [decimal(share.value if share else None) for share in (one.accuracy, one.accuracy_hacked)]
    n = str(one.robustness_rate.n) if one.robustness_rate else LACKING
    return one.bias, rate(one.robustness_rate), rate(one.consistency_rate), *right, n


def _facts(found: CalmProtocol) -> list[tuple[str, str]]:
    """Return the figures that are of no single bias of pairs, by name."""
    facts = [(UNREAD, _unread(found))]
    if found.consistency_rate:
        facts.append(("CR of all cases", f"{rate(found.consistency_rate)}, n={found.consistency_rate.n}"))
    if found.intensity:
        kinds = [f"{kind} {decimal(value)}" for kind, value in found.intensity.items() if kind != "all"]
        facts.append(("BIS (CR - mean RR)", f"{decimal(found.intensity['all'])} ({', '.join(kinds)})"))
    if found.reasoning:
        told = ratio(found.reasoning, ("Acc_ori", "Acc_CoT", "AIR"))
        facts.append(("chain-of-thought", told))
    if found.refinement:
        facts.append(("refinement-aware", ratio(found.refinement, ("mean score", "with the history", "Err_RA"))))
    if found.enhancement:
        facts.append(("self-enhancement", ratio(found.enhancement, ("by others", "by itself", "Err_SE"))))
    return facts


def _unread(found: CalmProtocol) -> str:
    """Return the replies without a verdict: of all biases, and of each that has some."""
    none = Unread(0, 0)
    counts = {one.bias: [one.unread.get(arm, none) for arm in ("clean", "perturbed")] for one in found.biases}
    total = [Unread(sum(a.count for a in arm), sum(a.of for a in arm)) for arm in zip(*counts.values(), strict=True)]
    apart = [f"{bias} {c.count} + {p.count}" for bias, (c, p) in counts.items() if c.count or p.count]
    return f"{total[0]} + {total[1]}" + (f" ({', '.join(apart)})" if apart else "")


def ratio(found: Ratio, names: tuple[str, str, str]) -> str:
    """
    Return two means and what they come to; `names` are theirs and that of the figure.

    >>> ratio(Ratio(8.0, 6.0, -0.25, 1 / 3, 20), ("mean score", "with the history", "Err_RA"))
    'mean score 8.000, with the history 6.000: Err_RA -0.250 (preprint 0.333), n=20'
    """
    before, after, name = names
    old = "" if found.absolute is None else f" (preprint {decimal(found.absolute)})"
    n = "" if found.n is None else f", n={found.n}"
    means = f"{before} {decimal(found.before)}, {after} {decimal(found.after)}"
    return f"{means}: {name} {decimal(found.value, sign=True)}{old}{n}"


def _notes(found: CalmProtocol) -> list[str]:
    notes = [SIDES.format(f"{one.bias}: RR", _sides(one)) for one in found.biases if one.sides]
    notes += [NOTICED.format(decimal(one.detection)) for one in found.biases if one.detection is not None]
    missing: dict[str, list[str]] = {}
    for one in found.biases:
        if one.reason and not one.robustness_rate:
            missing.setdefault(str(unnamed(one.reason)), []).append(one.bias)
    return [*notes, *(f"without figures: {', '.join(names)} ({reason})" for reason, names in missing.items())]


def _sides(one: BiasFigures) -> str:
    shown: Sequence[str] = [f"{name} {decimal(share.value)}" for name, share in one.sides.items()]
    return ", ".join(shown)
