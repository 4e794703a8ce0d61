"""
Panels: several judges instead of one (arXiv:2404.18796).

How members form a verdict, and what is said of one that is never read, is `calm.judges.panel`. `perplexity-panel`
weighs a member less where its own perplexity of the answers is low, as judges prefer what they find likely
(arXiv:2410.21819): the case's tags hold it, as `log_perplexity:MEMBER:ANSWER_ID`. A committee is a panel of judges of
different families.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite

from calm.core.case import Case
from calm.core.verdict import Verdict
from calm.errors import ConfigError
from calm.judges.mitigations.mitigation import EVERY, Ask, Mitigated, Mitigation, Reader, others_of
from calm.judges.panel import Panel, Rule, panel
from calm.models.wire import Judge, Send

TAG = "log_perplexity"
LEAST = 1e-12
"""A weight is never 0: where the others are silent, who has none decides."""

Weigh = Callable[[Sequence[Judge], Case, Send], Awaitable[Sequence[float]]]
"""How members weigh, for a case."""


def weights_of(members: Sequence[Judge], case: Case) -> list[float]:
    """
    Return weights that fall where a member finds an answer of the case likely: its least log-perplexity.

    A member of which nothing is known has the mean weight of the others; all are equal if nothing is known.
    """
    least = []
    for member in members:
        given = [_number(case.tags.get(f"{TAG}:{member.name}:{answer.id}")) for answer in case.answers]
        known = [value for value in given if value is not None]
        least.append(min(known) if known else None)
    told = [value for value in least if value is not None]
    if not told or not sum(told) > 0:
        return [1.0] * len(members)
    return [sum(told) / len(told) if value is None else value for value in least]


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


def led_by(whole: Panel, inner: Judge) -> Panel:
    """Return a panel with another first member: the judge inside a mitigation, whose prompt may be another by now."""
    return replace(whole, members=(inner, *whole.members[1:]))


def formed(whole: Panel, label: str, key: str, ask: Ask, *, may_end: bool = False) -> Judge:
    """Return a judge that asks a panel; its first member is the judge inside."""
    judge, *others = whole.members

    def shown(inner: Judge, case: Case) -> object:
        return led_by(whole, inner).sees(case)

    return Mitigated(judge, label, key, ask, shown, tuple(others), whole, may_end)


def around(judge: Judge, label: str, others: tuple[Judge, ...], rule: Rule) -> Judge:
    """Return a panel of a judge and others."""
    whole = panel((judge, *others), rule, name=judge.name)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        return await led_by(whole, inner).judge(case, send)

    return formed(whole, label, f"panel {rule}", ask)


def weighted(judge: Judge, label: str, others: tuple[Judge, ...], key: str, weigh: Weigh) -> Judge:
    """Return a panel whose members weigh what `weigh` says of each case."""
    whole = panel((judge, *others), "weighted", [1.0] * (len(others) + 1), judge.name)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        now = led_by(whole, inner)
        found = await now.verdicts(case, send)
        weights = await weigh(now.members, case, send)
        return replace(now, weights=tuple(max(w, LEAST) for w in weights)).combined(found, case)

    return formed(whole, label, key, ask)


def _panel(judge: Judge, argument: str, reader: Reader, *, name: str, rule: Rule) -> Judge:
    return around(judge, f"{name}:{argument}", others_of(name, argument, judge, reader), rule)


def _perplexity_panel(judge: Judge, argument: str, reader: Reader) -> Judge:
    others = others_of("perplexity-panel", argument, judge, reader)

    async def weigh(members: Sequence[Judge], case: Case, _: Send) -> list[float]:
        return weights_of(members, case)

    return weighted(judge, f"perplexity-panel:{argument}", others, "perplexity-panel", weigh)


def _committee(judge: Judge, argument: str, reader: Reader) -> Judge:
    others = others_of("committee", argument, judge, reader)
    members = (judge, *others)
    families = [str(m.about.get("family") or "") for m in members]
    unknown = [m.name for m, family in zip(members, families, strict=True) if not family]
    if unknown:
        told = ", ".join(unknown)
        raise ConfigError(
            f"mitigations: 'committee' expects the family of each judge ([judge] family), not known of {told}"
        )
    if len(set(families)) < len(families):
        raise ConfigError(f"mitigations: 'committee' expects judges of different families, got {', '.join(families)}")
    return around(judge, f"committee:{argument}", others, "majority")


MITIGATIONS = (
    Mitigation(
        "panel",
        "ask several judges; the majority decides (scores: the median)",
        EVERY,
        "one for each member",
        "arXiv:2404.18796",
        partial(_panel, name="panel", rule="majority"),
        "b.toml+c.toml",
    ),
    Mitigation(
        "panel-mean",
        "ask several judges and take the mean",
        EVERY,
        "one for each member",
        "arXiv:2404.18796",
        partial(_panel, name="panel-mean", rule="mean"),
        "b.toml+c.toml",
    ),
    Mitigation(
        "perplexity-panel",
        "the mean of several judges, each weighing less where it finds the answers likely",
        EVERY,
        "one for each member",
        "arXiv:2410.21819",
        _perplexity_panel,
        "b.toml+c.toml",
    ),
    Mitigation(
        "committee",
        "a panel of judges of different families, as an attack is made for one",
        EVERY,
        "one for each member",
        "arXiv:2404.18796",
        _committee,
        "b.toml+c.toml",
    ),
)
