"""
Panels of judges: several judges that give one verdict together, and are a judge themselves.

The rules are `majority`, `mean`, and `weighted`, the mean with a weight for each member: `calm.judges.combining` says
what each makes of the verdicts. A member that gives no verdict is left out of that one and counted. Where that is half
of the members or more, the panel gives none either, and says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TypeVar

from calm.core.case import Case, digest
from calm.core.edits import Prompt
from calm.core.names import spelling
from calm.core.reasons import Kind, Reason, because, name, reason_of
from calm.core.verdict import (
    FAMILY,
    RULES,
    NoReply,
    Refused,
    Rule,
    Scale,
    Score,
    Task,
    Unreadable,
    Verdict,
    code,
    readable,
)
from calm.errors import ConfigError, EstimateError, JudgeError
from calm.judges.combining import combined
from calm.judges.prompted import together
from calm.judges.python import judge_of
from calm.judges.wrapper import joint_endpoints, joint_remarks, joint_traits
from calm.models.wire import Endpoint, Json, Judge, Placing, Remarks, Rewordable, Send, Traits
from calm.statistics.agreement import krippendorff_alpha, raw_agreement

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """How often the panel was asked, how often each member (by its place) gave no verdict, and what they said."""

    asked: int = 0
    unread: Counter[int] = field(default_factory=Counter)
    said: Counter[tuple[Hashable | None, ...]] = field(default_factory=Counter)

    def note(self, verdicts: Sequence[Verdict]) -> None:
        """Count the verdicts of all members on one ask, in their order."""
        self.asked += 1
        self.unread.update(place for place, verdict in enumerate(verdicts) if not readable(verdict))
        self.said[tuple(map(_said, verdicts))] += 1


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Several judges of one task and scale with a rule; `weights` has one for each member."""

    members: tuple[Judge, ...]
    rule: Rule
    weights: tuple[float, ...]
    own_name: str = ""
    tally: Tally = field(default_factory=Tally, repr=False)

    @property
    def name(self) -> str:
        """Its own name, or those of its members."""
        return self.own_name or f"panel of {', '.join(member.name for member in self.members)}"

    @property
    def task(self) -> Task:
        """The task of its members."""
        return self.members[0].task

    @property
    def scale(self) -> Scale:
        """The scale of its members, without steps: a mean lies between them."""
        return replace(self.members[0].scale, step=None)

    @property
    def fingerprint(self) -> str | None:
        """Identify its members and the rule; None if a member is unknown."""
        members = [member.fingerprint for member in self.members]
        return None if None in members else digest("panel", self.rule, list(self.weights), members)

    @property
    def traits(self) -> Traits:
        """What all of its members can do."""
        return joint_traits(self.members)

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it: its rule, and what its members say of themselves."""
        stated = [member.about.get("family") for member in self.members]
        families = {spelling(one) if isinstance(one, str) else None for one in stated}
        shown = [{k: v for k, v in m.about.items() if k != "prompt"} for m in self.members]
        known: list[Json] = [{"name": m.name, **about} for m, about in zip(self.members, shown, strict=True)]
        return {
            "family": stated[0] if len(families) == 1 else None,
            "panel": known,
            "parameters": {"rule": self.rule, "weights": list(self.weights), "members": [m.name for m in self.members]},
        }

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The models of all members, each once."""
        return joint_endpoints(self.members)

    @property
    def asks(self) -> Prompt | None:
        """The prompt of its members, where all have the same one."""
        prompts = [member.asks if isinstance(member, Rewordable) else None for member in self.members]
        return prompts[0] if all(prompt == prompts[0] for prompt in prompts) else None

    def with_prompt(self, prompt: Prompt) -> Judge:
        """Return the same panel with another prompt for each member."""
        reworded = [m.with_prompt(prompt) if isinstance(m, Rewordable) else m for m in self.members]
        return replace(self, members=tuple(reworded))

    @property
    def remarks(self) -> Remarks:
        """What its members have to say, which of them gave no verdict, and how far they agree."""
        inside = joint_remarks(self.members)
        return Remarks((*inside.notes, *self._silences()), (*inside.agreement, *self._agreement()), inside.unread)

    def _silences(self) -> Iterator[Reason]:
        for place, count in sorted(self.tally.unread.items()):
            yield because(Kind.PANEL_SILENT, name(self.name), name(self.member(place)), count, self.tally.asked)

    def _agreement(self) -> Iterator[Reason]:
        ratings = [row for row, count in self.tally.said.items() for _ in range(count)]
        numeric, said = FAMILY[self.task] == "score", []
        with suppress(EstimateError):
            if ratings and not numeric:
                said.append(f"{raw_agreement(ratings):.2f} of pairs of verdicts alike")
        with suppress(EstimateError):
            if ratings:
                alpha = krippendorff_alpha(ratings, scale="interval" if numeric else "nominal")
                said.append(f"{alpha:.2f} Krippendorff's alpha")
        if said:
            yield because(Kind.PANEL_AGREES, name(self.name), ", ".join(said))

    def member(self, place: int) -> str:
        """Return what the member at a place, from 0, is called."""
        return called(place, self.members[place])

    def whose(self, endpoint: Endpoint) -> str:
        """Return which members ask an endpoint."""
        theirs = (place for place, one in enumerate(self.members) if _asks(one, endpoint))
        return " and ".join(map(self.member, theirs))

    async def by(self, place: int, work: Awaitable[T]) -> T:
        """
        Return what the work of a member brings.

        Raises:
            JudgeError: it failed; the reason names the member.
        """
        try:
            return await work
        except JudgeError as error:
            raise JudgeError(self._of(place, reason_of(error)), **vars(error)) from error

    def _of(self, place: int, why: Reason) -> Reason:
        return why if why.unmade else because(Kind.MEMBER, name(self.member(place)), why)

    def places(self, case: Case) -> frozenset[str]:
        """Return where its members are shown what their templates have no place for."""
        return frozenset().union(*(m.places(case) for m in self.members if isinstance(m, Placing)))

    def sees(self, case: Case) -> object:
        """Return what its members see."""
        return tuple(member.sees(case) for member in self.members)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict of its members together."""
        return self.combined(await self.verdicts(case, send), case)

    async def verdicts(self, case: Case, send: Send) -> list[Verdict]:
        """Ask all members, take note of what they say, and return it in their order."""
        asked = enumerate(self.members)
        found = await together(*(self.by(place, member.judge(case, send)) for place, member in asked))
        self.tally.note(found)
        return found

    def combined(self, verdicts: Sequence[Verdict], case: Case) -> Verdict:
        """Return what the rule makes of the verdicts of all members, in their order."""
        found = combined(verdicts, case, "majority" if self.rule == "majority" else "mean", weights=self.weights)
        if isinstance(found, NoReply):
            place = next(place for place, verdict in enumerate(verdicts) if isinstance(verdict, NoReply))
            return NoReply(self._of(place, reason_of(found.reason)))
        silent = [(self.member(place), verdict) for place, verdict in enumerate(verdicts) if not readable(verdict)]
        if not isinstance(found, Unreadable | Refused) or not silent:
            return found
        whys = ", ".join(f"{name} ({_why(verdict)})" for name, verdict in silent)
        return replace(found, reason=f"{len(silent)} of {len(verdicts)} members of the panel gave no verdict: {whys}")


def called(place: int, judge: Judge) -> str:
    """Return what the member at a place, from 0, is called: names alone may be the same."""
    return f"member {place + 1} ({judge.name})"


def _asks(judge: Judge, endpoint: Endpoint) -> bool:
    return any(one.identity == endpoint.identity for one in judge.endpoints)


def _why(verdict: Verdict) -> str:
    return verdict.reason if isinstance(verdict, Unreadable | Refused) else "no criterion could be read"


def _said(verdict: Verdict) -> Hashable | None:
    if not readable(verdict):
        return None
    return verdict.value if isinstance(verdict, Score) else str(code(verdict))


def panel(members: Sequence[Judge], rule: str = "majority", weights: Sequence[float] = (), name: str = "") -> Panel:
    """
    Return a panel of judges.

    Raises:
        ConfigError: too few members, one of them twice, members of several tasks, scales or orders, or weights that do
            not fit; every fault is named.
    """
    members = [judge_of(member) for member in members]
    problems: list[str] = []
    if len(members) < 2:
        problems.append(f"members: expected at least 2 judges, got {len(members)}")
    for what, values in (
        ("task", [m.task for m in members]),
        ("scale", [_range(m) for m in members]),
        ("order of answers", ["as given" if m.traits.as_given else "balanced" for m in members]),
    ):
        if len(set(values)) > 1:
            who = (called(place, member) for place, member in enumerate(members))
            named = ", ".join(f"{one}: {value}" for one, value in zip(who, values, strict=True))
            problems.append(f"members: expected judges of one {what}, got {named}")
    counts = Counter((m.name, m.fingerprint) for m in members if m.fingerprint is not None)
    problems += [
        f"members: expected different judges, got {name} {count} times: its replies would be the same ones, and count "
        f"{count} times; leave it out, or give it a weight"
        for (name, _), count in counts.items()
        if count > 1
    ]
    known = [one for one in RULES if one == rule]
    if not known:
        problems.append(f"rule: expected one of {', '.join(RULES)}, got rule={rule!r}")
    if rule == "weighted" and len(weights) != len(members):
        problems.append(f"weights: expected one for each of {len(members)} members, got {len(weights)}")
    if rule != "weighted" and weights:
        problems.append(f"weights: are for rule = 'weighted' only, got rule={rule!r}; take them out")
    if any(not isfinite(w) or w <= 0 for w in weights):
        problems.append(f"weights: expected numbers above 0, got {list(weights)!r}; leave a member without weight out")
    if problems:
        raise ConfigError(problems)
    return Panel(tuple(members), known[0], tuple(weights) or (1.0,) * len(members), name)


def _range(judge: Judge) -> str:
    if judge.scale.classes is not None:
        return repr(judge.scale)
    if FAMILY[judge.task] != "score":
        return "none"
    return f"{judge.scale.low:g} to {judge.scale.high:g}"
