"""
Panels: several judges instead of one (arXiv:2404.18796).

`calm.judges.panel` makes the verdict of several members. In `perplexity-panel` a member weighs less if its perplexity
of the answers is low, as judges prefer what they find likely (arXiv:2410.21819): `likelihoods` has the perplexities. A
committee is a panel of judges of different families.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from calm.core.case import Case
from calm.core.model_names import spelling
from calm.core.reasons import Kind, Reason, because, name
from calm.core.verdict import Rule, Verdict
from calm.errors import ConfigError
from calm.judges.mitigations.likelihoods import Likelihoods, read_likelihoods
from calm.judges.mitigations.mitigation import (
    EVERY,
    Ask,
    MitigatedJudge,
    Mitigation,
    Notes,
    Reader,
    judges_argument,
    path_argument,
)
from calm.judges.panel import Panel, called, panel
from calm.models.wire import Judge, Send

LEAST = 1e-12
"""The least weight: a member decides alone if all others are silent, so its weight cannot be 0."""

Weigh = Callable[[Panel, Case, Send], Awaitable[Sequence[float]]]
"""Returns the weight of each member of a panel for a case."""


def with_first(whole: Panel, inner: Judge) -> Panel:
    """Return the panel with another first member: a test may have changed the prompt of the judge inside."""
    return replace(whole, members=(inner, *whole.members[1:]))


def panel_judge(
    whole: Panel, label: str, key: str, ask: Ask, *, may_end: bool = False, said: Notes | None = None
) -> Judge:
    """Return a mitigation that asks a panel; the first member is the judge inside."""
    judge, *others = whole.members

    def shown(inner: Judge, case: Case) -> object:
        return with_first(whole, inner).sees(case)

    return MitigatedJudge(judge, label, key, ask, shown, tuple(others), whole, may_end, said)


def plain_panel(judge: Judge, label: str, others: tuple[Judge, ...], rule: Rule) -> Judge:
    """Return a panel of a judge and others, by a rule."""
    whole = panel((judge, *others), rule, name=judge.name)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        return await with_first(whole, inner).judge(case, send)

    return panel_judge(whole, label, f"panel {rule}", ask)


def weighted_panel(
    judge: Judge, label: str, others: tuple[Judge, ...], key: str, weigh: Weigh, *, said: Notes | None = None
) -> Judge:
    """Return a panel whose members have the weights that `weigh` returns for each case."""
    whole = panel((judge, *others), "weighted", [1.0] * (len(others) + 1), judge.name)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        now = with_first(whole, inner)
        found = await now.verdicts(case, send)
        weights = await weigh(now, case, send)
        return replace(now, weights=tuple(max(w, LEAST) for w in weights)).combined(found, case)

    return panel_judge(whole, label, key, ask, said=said)


def _panel(judge: Judge, argument: str, reader: Reader, *, name: str, rule: Rule) -> Judge:
    return plain_panel(judge, f"{name}:{argument}", judges_argument(name, argument, judge, reader), rule)


@dataclass(slots=True)
class _Weighing:
    """How many asks of a perplexity panel there were, and in how many no member had a log-perplexity."""

    name: str
    likely: Likelihoods
    asked: int = 0
    plain: int = 0

    def remarks(self) -> Iterator[Reason]:
        """Say that verdicts were the plain mean."""
        if self.plain:
            yield because(Kind.PANEL_UNWEIGHED, name(self.name), self.plain, self.asked)

    async def weigh(self, whole: Panel, case: Case, _: Send) -> list[float]:
        """Return the weight of each member."""
        found = self.likely.weights(whole.members, case)
        self.asked += 1
        self.plain += found is None
        return found or [1.0] * len(whole.members)


def _perplexity_panel(judge: Judge, argument: str, reader: Reader) -> Judge:
    parts = [part.strip() for part in argument.split("+")]
    records = [part for part in parts if part.endswith(".json")]
    if len(records) > 1:
        raise ConfigError(f"mitigations: 'perplexity-panel' expects one record (.json), got {', '.join(records)}")
    named = "+".join(part for part in parts if part not in records)
    others = judges_argument("perplexity-panel", named, judge, reader)
    likely = read_likelihoods(path_argument("perplexity-panel", records[0], reader)) if records else Likelihoods()
    work = _Weighing(judge.name, likely)
    key = f"perplexity-panel{likely.key and ' '}{likely.key}"
    return weighted_panel(judge, f"perplexity-panel:{argument}", others, key, work.weigh, said=work.remarks)


def _committee(judge: Judge, argument: str, reader: Reader) -> Judge:
    others = judges_argument("committee", argument, judge, reader)
    members = (judge, *others)
    families = [spelling(str(m.about.get("family") or "")) for m in members]
    pairs = enumerate(zip(members, families, strict=True))
    unknown = [called(place, member) for place, (member, family) in pairs if not family]
    if unknown:
        names = ", ".join(unknown)
        raise ConfigError(f"mitigations: 'committee' needs the [judge] family of each judge, and {names} has none")
    if len(set(families)) < len(families):
        raise ConfigError(f"mitigations: 'committee' expects judges of different families, got {', '.join(families)}")
    return plain_panel(judge, f"committee:{argument}", others, "majority")


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
        "the mean of several judges; a judge weighs less if it finds the answers likely",
        EVERY,
        "one for each member",
        "arXiv:2410.21819",
        _perplexity_panel,
        "b.toml+c.toml+record.json",
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
