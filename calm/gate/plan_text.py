"""A plan, and a fit into a budget, as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import ceil

from calm.experiment.stopping import Stopping
from calm.gate import sizing
from calm.gate.fit import ENOUGH, Fit, PlanBudget
from calm.gate.plan import CLEAN, INERT, PILOT, Survey
from calm.gate.prices import CHARACTERS, Assumptions, Figure, Plan
from calm.gate.requests import Source
from calm.gate.resolution import NOISE
from calm.models.pricing import SET_PRICE, Cost, dollars

LEAST, EXPECTED = "least", "expected"
"""The rows of a plan that say what it takes where claims are decided early."""
DEAREST = 10
"""So many rows of a plan are shown, those with the most calls; the others are summed up in one row."""
_ARMS = {PILOT: "first look", CLEAN: "cases as they are", INERT: "cases with neutral words"}
"""What is asked for all probes together, in words."""


def render(found: Survey, plan: Plan, assumptions: Assumptions = Assumptions(), *, whole: bool = False) -> str:
    """Return a plan as text: its dearest rows, or with `whole` all of them and each test that is not asked."""
    design = plan.design
    topped = any(row.staged for row in found.rows)
    asks = f"{design} asks" + (", undecided claims topped up" if topped else "")
    early = "" if found.settings.stopping is Stopping.FIXED else ", stopping early"
    seed = found.settings.seed
    cases = f"{plan.cases} cases" if plan.cases >= found.there else f"{plan.cases} of {found.there} cases"
    head = f"{found.judge} ({found.task}): {cases}, {asks}{early}, seed {seed}. Nothing was asked."
    names = (
        "" if plan.exact else "at most",
        "cases",
        "calls",
        "tokens in",
        "tokens out",
        "USD",
        "USD by batch",
        "time",
    )
    rows: list[tuple[str, ...]] = [names]
    dearest = sorted(plan.lines, key=lambda line: -line.most.calls)[: None if whole else DEAREST]
    shown = [line for line in plan.lines if line in dearest]
    rows += [_cells(_ARMS.get(line.name, line.name), line.cases, line.most, True) for line in shown]
    if others := [line for line in plan.lines if line not in dearest]:
        rest = reduce(Figure.plus, (line.most for line in others))
        rows.append(_cells(f"{len(others)} other rows (-v)", None, rest, True))
    rows.append(_cells("total", None, plan.most, plan.exact, at_least=bool(found.floors)))
    for name, figure in ((LEAST, plan.least), (EXPECTED, plan.expected)):
        if figure is not None and not plan.exact:
            rows.append(_cells(name, None, figure, True, at_least=bool(found.floors)))
    if not any(source.live for source in found.sources):  # no tokens, no price
        rows = [(*row[:3], row[-1]) for row in rows]
    elif not any(source.live and source.price for source in found.sources):
        rows = [(*row[:5], row[-1]) for row in rows]
    elif all(source.batch_share is None for source in found.sources):
        rows = [(*row[:6], row[-1]) for row in rows]
    text = [head, "", *_aligned(rows)]
    if not plan.exact:
        text += ["", *_three_figures(plan)]
    if found.skipped:
        named = [f"not asked: {name} ({reason})" for name, reason in found.skipped if whole or not name[:1].isdigit()]
        left = len(found.skipped) - len(named)
        text += ["", *named, *(["not asked: the tests beyond the default gate (-v)"] if left else [])]
    if found.floors:
        text += ["", *(f"at least: {node} {why}; what it asks after that is not counted" for node, why in found.floors)]
    return "\n".join([*text, "", *_assumed(found, plan, assumptions)])


def _three_figures(plan: Plan) -> list[str]:
    lines = ["total: all cases, every top-up, and each variant of a rotation decided on by itself"]
    if plan.least is not None:
        lines += [
            f"{LEAST}: the best case",
            f"{EXPECTED}: a sound judge that errs in {100 * NOISE:g} % of its asks, in one simulated run of this seed",
        ]
    return lines


def _cells(name: str, cases: int | None, figure: Figure, exact: bool, *, at_least: bool = False) -> tuple[str, ...]:
    def shown(value: float, text: str) -> str:
        if at_least:
            return f"at least {text}"
        return text if exact or not value else f"up to {text}"

    return (
        name,
        "" if cases is None else str(cases),
        shown(figure.calls, f"{figure.calls:,}"),
        f"{figure.input:,}",
        f"{figure.output:,}",
        _usd(figure.cost, shown),
        _usd(figure.batch, shown),
        duration(figure.seconds),
    )


def _usd(cost: Cost, shown: Callable[[float, str], str]) -> str:
    """Return a cost for a column of dollars; what is known is a part where a price is not."""
    text = shown(cost.usd, dollars(cost.usd))
    if not cost.unpriced:
        return text
    return "unknown" if not cost.usd else f"{text} + unknown" if text.startswith("up to") else f">= {dollars(cost.usd)}"


def duration(seconds: float) -> str:
    """
    Return a time for people.

    >>> duration(0), duration(42.2), duration(600), duration(9000)
    ('0 s', '43 s', '10.0 min', '2.5 h')
    """
    if seconds < 90:
        return f"{ceil(seconds)} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    return lines


def _assumed(found: Survey, plan: Plan, assumptions: Assumptions) -> list[str]:
    lines = ["each call is counted once, in the first row that needs it, and as if nothing were cached"]
    lines += _kept(plan)
    for source in found.sources:
        if source.live:
            lines += _about(source, assumptions)
        elif source.free:
            lines.append(f"{source.name}: no model, so no tokens, no cost and no time to speak of")
        else:
            lines.append(
                f"{source.name}: Python code, tokens and cost are not known here; "
                f"assumes {assumptions.call_seconds:g} s a call, {source.limits.concurrency} at a time"
            )
    return [*lines, *(f"assumes for {text}" for text in found.assumed)]


def _kept(plan: Plan) -> list[str]:
    """Return what the caches of prompts of the providers may save; nothing where it is nothing, or not known."""
    name, figure = ("total", plan.most) if plan.exact or plan.expected is None else (EXPECTED, plan.expected)
    if figure.saved <= 0 or not figure.input:
        return []
    return [
        "prompt caching: calls begin with the same text; the provider's cache may give up to "
        f"{figure.kept / figure.input:.0%} of the tokens in of the row {name!r}, and save up to "
        f"{dollars(figure.saved)} USD; the table counts no such saving"
    ]


def _about(source: Source, assumptions: Assumptions) -> list[str]:
    limits, written = source.limits, min(assumptions.output_tokens, source.max_tokens)
    pace = [f"{limits.concurrency} at a time"]
    pace += [f"{limits.rpm} requests a minute"] if limits.rpm else []
    pace += [f"{limits.tpm} tokens a minute"] if limits.tpm else []
    price = source.price
    cost = f"unknown price: {SET_PRICE}"
    if price is not None:
        cost = f"{price.input:g} USD a million tokens in, {price.output:g} out ({price.source})"
    return [
        f"{source.name}: {cost}",
        f"{source.name}: assumes {CHARACTERS} characters a token, {written} tokens a reply, "
        f"{assumptions.call_seconds:g} s a call, {', '.join(pace)}",
    ]


def render_fit(one: Fit, budget: PlanBudget, noise: float) -> str:
    """Return a fit as text, without the command line."""
    amounts = {"USD": budget.usd, "minutes": budget.minutes, "calls": budget.calls}
    allowed = " and ".join(f"{amount:g} {unit}" for unit, amount in amounts.items() if amount is not None)
    figure = one.plan.expected or one.plan.most
    cost = [] if figure.cost.unpriced else [str(figure.cost)]
    takes = ", ".join([f"{figure.calls} calls expected", *cost, duration(figure.seconds)])
    takes += "" if one.plan.exact else f"; at most {one.plan.most.calls}, but the budget ends the run"
    limits = " and ".join(one.limited_by)
    lines = [f"within {allowed}: {one.sample} cases, {one.design} asks ({takes}); what allows no more: {limits}"]
    lines.append(
        f"a sound judge that errs in {noise:g} of asks passes this gate with probability {one.green:.2f}, and "
        f"{one.at_most:.2f} with all cases ({sizing.JOINT_RUNS} simulated runs of a judge with two verdicts, "
        f"seed {sizing.SEED}; assumes that every case has room to gain)"
    )
    if one.left_out:
        lines.append(f"not in the simulation: claims about {', '.join(one.left_out)}")
    if not one.enough:
        lines.append(f"nothing with a probability of {ENOUGH:.2f} or more fits; what limits it: {limits}")
    return "\n".join(lines)
