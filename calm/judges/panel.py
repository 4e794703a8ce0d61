"""
Panels of judges: several judges that give one verdict together, and are a judge themselves.

| rule | pairs | scores | criteria | rankings |
|---|---|---|---|---|
| `majority` | more votes for than against; else a tie | the median | met if more than half say so | by mean rank |
| `mean` | mean favour above or below a half | the mean | met if the mean is above a half | by mean rank |
| `weighted` | the same, each member with its weight | the weighted mean | the same | by weighted mean rank |

`mean` and `weighted` use the probabilities of members that give them. A member that gives no verdict is left out of
that verdict and counted; where that is half of the members or more, the panel gives none either, and says why. A member
that got no reply at all leaves the panel without one: that is no data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, isfinite
from statistics import median
from typing import Final, Literal, TypeAlias, get_args

from calm.core.case import Case, digest
from calm.core.templates import Prompt
from calm.core.verdict import (
    FAMILY,
    Criteria,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Task,
    Tie,
    Unreadable,
    Verdict,
    code,
    readable,
)
from calm.errors import ConfigError
from calm.judges.delegating import joint_endpoints, joint_remarks, joint_traits
from calm.judges.prompted import together
from calm.models.wire import Endpoint, Json, Judge, Remarks, Rewordable, Send, Traits

Rule: TypeAlias = Literal["majority", "mean", "weighted"]
RULES: Final[tuple[Rule, ...]] = get_args(Rule)
EVEN: Final = 1e-9
"""Means that differ by less are equal: they are sums of a few decimal numbers."""


@dataclass(slots=True)
class Tally:
    """How often the panel was asked, how often each member (by its place) gave no verdict, and what they said."""

    asked: int = 0
    unread: Counter[int] = field(default_factory=Counter)
    said: Counter[tuple[Hashable | None, ...]] = field(default_factory=Counter)


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
        families = {member.about.get("family") for member in self.members}
        shown = [{k: v for k, v in m.about.items() if k != "prompt"} for m in self.members]
        known: list[Json] = [{"name": m.name, **about} for m, about in zip(self.members, shown, strict=True)]
        return {
            "family": families.pop() if len(families) == 1 else None,
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
        return Remarks((*inside.notes, *self._silences()), (*inside.agreement, *self._agreement()))

    def _silences(self) -> Iterator[str]:
        for place, count in sorted(self.tally.unread.items()):
            yield (
                f"panel {self.name}: {self.members[place].name} gave no verdict in {count} of {self.tally.asked} asks; "
                "the panel went without it"
            )

    def _agreement(self) -> Iterator[str]:
        """How far its members agree in what they said so far; nothing before two of them said anything."""
        from calm.selfpreference.panels import agreements  # numpy: only a run of a panel pays for it

        ratings = [row for row, count in self.tally.said.items() for _ in range(count)]
        found = agreements(ratings, numeric=FAMILY[self.task] == "score") if ratings else {}
        names = {"raw": "of pairs of verdicts alike", "alpha": "Krippendorff's alpha"}
        said = [f"{value:.2f} {names[name]}" for name, value in found.items() if name in names and value is not None]
        if said:
            yield f"panel {self.name}: its members agree: {', '.join(said)}"

    def sees(self, case: Case) -> object:
        """Return what its members see."""
        return tuple(member.sees(case) for member in self.members)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict of its members together."""
        verdicts = await together(*(member.judge(case, send) for member in self.members))
        self.tally.asked += 1
        self.tally.unread.update(place for place, verdict in enumerate(verdicts) if not readable(verdict))
        self.tally.said[tuple(map(_said, verdicts))] += 1
        return self.combined(verdicts, case)

    def combined(self, verdicts: Sequence[Verdict], case: Case) -> Verdict:
        """Return what the rule makes of the verdicts of all members, in their order."""
        lost = next((verdict for verdict in verdicts if isinstance(verdict, NoReply)), None)
        if lost is not None:
            return lost
        silent = [(m, v) for m, v in zip(self.members, verdicts, strict=True) if not readable(v)]
        if 2 * len(silent) >= len(verdicts):
            return self._none(silent)
        said = [(v, w) for v, w in zip(verdicts, self.weights, strict=True) if readable(v)]
        match FAMILY[self.task]:
            case "pairwise":
                return self._preference(said, case)
            case "score":
                return self._score(said)
            case "rubric":
                return self._criteria(said, case)
            case "listwise":
                return _ranking(said, case)

    def _none(self, silent: Sequence[tuple[Judge, Verdict]]) -> Verdict:
        whys = ", ".join(f"{member.name} ({getattr(verdict, 'reason', 'nothing read')})" for member, verdict in silent)
        reason = f"{len(silent)} of {len(self.members)} members of the panel gave no verdict: {whys}"
        return Refused(reason) if all(isinstance(v, Refused) for _, v in silent) else Unreadable(reason)

    def _preference(self, said: Sequence[tuple[Verdict, float]], case: Case) -> Verdict:
        first, second = (answer.id for answer in case.answers)
        vote = self.rule == "majority"
        favour = _mean([(_favour(v, first, probable=not vote), 1.0 if vote else w) for v, w in said])
        if abs(favour - 0.5) < EVEN:
            return Tie()
        return Preferred(first if favour > 0.5 else second)

    def _score(self, said: Sequence[tuple[Verdict, float]]) -> Verdict:
        values = [(v.value, w) for v, w in said if isinstance(v, Score)]
        if self.rule == "majority":
            return Score(float(median(value for value, _ in values)))
        scale = self.scale
        return Score(min(scale.high, max(scale.low, _mean(values))))

    def _criteria(self, said: Sequence[tuple[Verdict, float]], case: Case) -> Verdict:
        met: dict[str, bool | None] = {}
        for criterion in case.criteria:
            votes = [
                (_met(v, criterion.id, probable=self.rule != "majority"), 1.0 if self.rule == "majority" else w)
                for v, w in said
                if isinstance(v, Criteria) and v.met.get(criterion.id) is not None
            ]
            # as with whole verdicts: what half of the members could not read, the panel did not read
            met[criterion.id] = _mean(votes) > 0.5 + EVEN if 2 * len(votes) > len(self.members) else None
        return Criteria(met)


def _said(verdict: Verdict) -> Hashable | None:
    """Return a verdict as a category, a score as a number; None for one that could not be read."""
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
    problems: list[str] = []
    if len(members) < 2:
        problems.append(f"members: expected at least 2 judges, got {len(members)}")
    for what, values in (
        ("task", [m.task for m in members]),
        ("scale", [_range(m) for m in members]),
        ("order of answers", ["as given" if m.traits.as_given else "balanced" for m in members]),
    ):
        if len(set(values)) > 1:
            told = ", ".join(f"{m.name}: {v}" for m, v in zip(members, values, strict=True))
            problems.append(f"members: expected judges of one {what}, got {told}")
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
    if FAMILY[judge.task] != "score":
        return "none"
    return f"{judge.scale.low:g} to {judge.scale.high:g}"


def _favour(verdict: Verdict, answer: str, *, probable: bool) -> float:
    """Return the favour of an answer: from probabilities where they are wanted and known, a tie's going to both."""
    known = getattr(verdict, "probabilities", None)
    if probable and known:
        return float(known.get(answer, 0.0) + known.get("tie", 0.0) / 2)
    return float(verdict.answer == answer) if isinstance(verdict, Preferred) else 0.5


def _met(verdict: Criteria, criterion: str, *, probable: bool) -> float:
    known = verdict.probabilities or {}
    return known[criterion] if probable and criterion in known else float(bool(verdict.met[criterion]))


def _ranking(said: Sequence[tuple[Verdict, float]], case: Case) -> Verdict:
    """Return the answers by their mean place, ties having the middle of their places."""
    places: dict[str, list[tuple[float, float]]] = {answer.id: [] for answer in case.answers}
    for verdict, weight in said:
        if not isinstance(verdict, Ranking):
            continue
        before = 0
        for group in verdict.order:
            for answer in group:
                places[answer].append((before + (len(group) + 1) / 2, weight))
            before += len(group)
    ranks = {answer: round(_mean(found), 9) for answer, found in places.items()}
    return Ranking(tuple(tuple(a for a in ranks if ranks[a] == rank) for rank in sorted(set(ranks.values()))))


def _mean(values: Sequence[tuple[float, float]]) -> float:
    return fsum(value * weight for value, weight in values) / fsum(weight for _, weight in values)
