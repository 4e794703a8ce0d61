"""
What is wrong with a judge, by bias and the worst first: the data of every headline.

A trouble is a bias with a claim that is not proven. Its effect is told by one finding, its lead, in a few words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.claims import Outcome
from calm.core.measures import MEASURES
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN, Audit, Finding
from calm.results.meaning import Resolution, percent, resolution
from calm.results.records import family_of
from calm.results.wording import in_points, selected, unmeasured

ORDER: Final = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)
"""The outcomes of a trouble, the worst first."""
MOST_NAMED: Final = 4
"""So many troubles are named in a headline; the others are counted."""
_LEADS: Final = ("pull", "gain", "mean_shift", "lift", "net_detection", "net_robustness")
"""Of the claims of one probe that failed, the one that says most comes first."""
_LEADS_OF_SAME: Final = ("pull", "net_robustness", "mean_shift", "gain")
"""The same where no change is allowed, whichever way it goes."""


@dataclass(frozen=True, slots=True)
class Effect:
    """
    What a finding measured, in words: `who` did what (`verb`) to what share, and of what.

    "Authority" "wins" "56 %" "of the cases that it could win". `points` is the share in points of a scale: "+0.8 of 9".
    Without `who`, the verb begins with its own subject.
    """

    who: str
    verb: str
    share: str
    of: str
    points: str = ""

    @property
    def sentence(self) -> str:
        """The effect in a sentence without its subject."""
        points = f" ({self.points})" if self.points else ""
        words = " ".join(filter(None, (self.verb, f"{self.share}{points}".strip(), self.of)))
        return f"{words[:1].upper()}{words[1:]}."

    def brief(self, *, after: Effect | None = None) -> str:
        """Return the effect in a few words, without its verb where the effect before it has the same."""
        told = f"{self.share} ({self.points})" if self.points else self.share
        same = after is not None and after.verb == self.verb and told
        return " ".join(filter(None, (self.who, "" if same else self.verb, told)))


@dataclass(frozen=True, slots=True)
class Trouble:
    """A bias with claims that are not proven: its worst outcome, those findings, and the one that tells the effect."""

    bias: str
    outcome: Outcome
    lead: Finding
    findings: tuple[Finding, ...]

    @property
    def effect(self) -> Effect | None:
        """What the lead measured; None where nothing was."""
        return effect_of(self.lead)


def troubles(audit: Audit) -> tuple[Trouble, ...]:
    """Return what is wrong, by bias: first what failed, in each part what lies furthest beyond its limit first."""
    red = [one for one in audit.findings if one.red]
    groups: dict[str, list[Finding]] = {}
    for one in red:
        groups.setdefault(one.bias, []).append(one)
    found = [_trouble(bias, of) for bias, of in groups.items()]
    return tuple(sorted(found, key=_place))


def _trouble(bias: str, findings: Sequence[Finding]) -> Trouble:
    worst = min(ORDER.index(one.outcome) for one in findings)
    ordered = tuple(sorted(findings, key=lambda one: (ORDER.index(one.outcome), *_telling(one))))
    return Trouble(bias, ORDER[worst], ordered[0], ordered)


def _telling(one: Finding) -> tuple[object, ...]:
    """Return what findings of one bias are sorted by: a whole probe before a variant, then by what says most."""
    leads = _LEADS_OF_SAME if one.expects == "SAME" else _LEADS
    lead = leads.index(one.measure) if one.measure in leads else len(leads)
    return resolution(one) is Resolution.VARIANT, one.value is None, lead, -(excess(one) or 0.0), one.key


def _place(one: Trouble) -> tuple[object, ...]:
    last = (AGREEMENT, RUN).index(one.bias) + 1 if one.bias in (AGREEMENT, RUN) else 0
    return ORDER.index(one.outcome), one.bias == RUN, -(excess(one.lead) or 0.0), last, one.bias


def excess(found: Finding) -> float | None:
    """
    Return how far the estimate of a claim lies beyond its limit, as a share of the room that it has there.

    0: at the limit, or on its right side. 1: as far as the measure goes. None: there is no estimate or no limit, or the
    measure is none of one run. For `gain <= 0.10` the room is 0.90, as a gain goes up to 1; a gain of 0.55 is an excess
    of a half.
    """
    if found.claim is None or found.value is None or found.measure not in MEASURES:
        return None
    low, high = MEASURES[found.measure].range
    limit, value = found.claim.limit, found.value
    match found.claim.op:
        case ">=":
            beyond, room = limit - value, limit - low
        case "<=":
            beyond, room = value - limit, high - limit
        case "abs<=":
            beyond, room = abs(value) - limit, max(abs(low), abs(high)) - limit
    return min(1.0, max(0.0, beyond / room)) if room > 0 else float(beyond > 0)


def in_a_line(audit: Audit) -> str:
    """
    Return what is wrong in one line: "Authority wins 56 %, verbosity 32 %"; of a green run, that nothing is.

    Only what failed is told with its effect. What is undecided or incomplete is named where nothing failed.
    """
    found = troubles(audit)
    failed = [one for one in found if one.outcome is Outcome.FAIL]
    if failed:
        named = [one for one in failed if one.bias != RUN] or failed
        return _listed(named)
    open_ones = [one for one in found if one.bias not in (RUN, BASELINE)] or list(found)
    if open_ones:
        word = "Undecided" if open_ones[0].outcome is Outcome.UNDECIDED else "Incomplete"
        names = [name_of(one.bias) for one in open_ones[:MOST_NAMED]]
        more = f" and {len(open_ones) - MOST_NAMED} more" if len(open_ones) > MOST_NAMED else ""
        return f"{word}: {', '.join(names)}{more}"
    if audit.gaps:
        return "The run is not whole"
    if not audit.of(Outcome.PASS):
        return "Nothing was proven"
    part = selected(audit)
    return f"No bias beyond the limits in {part}" if part else "No bias beyond the limits"


def _listed(found: Sequence[Trouble]) -> str:
    parts, last = [], None
    for one in found[:MOST_NAMED]:
        effect = one.effect
        parts.append(effect.brief(after=last) if effect is not None else f"{name_of(one.bias)} failed")
        last = effect
    text = ", ".join(parts)
    more = len(found) - MOST_NAMED
    text += f" and {more} more" if more > 0 else ""
    return f"{text[:1].upper()}{text[1:]}"


def name_of(bias: str) -> str:
    """
    Return how a sentence names a bias.

    >>> name_of("compassion-fade"), name_of("run")
    ('compassion fade', 'all probes together')
    """
    return {RUN: "all probes together", BASELINE: "the baseline"}.get(bias, bias.replace("-", " "))


_COULD_WIN: Final = "of the cases that it could win"
_OF_EQUALS: Final = "more of the pairs of equally good answers than it {}"
_BY_BIAS: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "gain": (("wins", _COULD_WIN), ("loses", _COULD_WIN)),
    "pull": (("wins", _OF_EQUALS.format("loses")), ("loses", _OF_EQUALS.format("wins"))),
    "net_robustness": (
        ("moves", "of the verdicts beyond what inert words move"),
        ("moves", "fewer of the verdicts than inert words move"),
    ),
    "unreadable_gain": (("makes", "more of the replies unreadable"), ("makes", "fewer of the replies unreadable")),
    "own_pull": (("takes", "more of equally good answers for itself than it leaves to others"), ("takes", "fewer")),
    "self_preference_excess": (
        ("gives", "more to the judge's own answers than their worth"),
        ("gives", "less to the judge's own answers than their worth"),
    ),
}
"""
What an edit does with a value above 0 and with one below: a verb, and of what. Of a robustness, 1 minus it is meant.
"""
_ON_A_SCALE: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "gain": (("adds", "of the scale"), ("takes", "of the scale")),
    "mean_shift": (("adds", "of the scale"), ("takes", "of the scale")),
    "lift": (("adds", "of the scale"), ("takes", "of the scale")),
    "net_robustness": (
        ("moves scores by", "of the scale beyond what inert words do"),
        ("moves scores by", "of the scale less than inert words do"),
    ),
}
_IN_A_DIRECTION: Final = (
    ("moves", "of the verdicts in a bad direction"),
    ("moves", "of the verdicts in the reverse of a bad direction"),
)
_OF_CLASSES: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "gain": _IN_A_DIRECTION,
    "mean_shift": _IN_A_DIRECTION,
    "lift": _IN_A_DIRECTION,
}
_OF_SAME: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "gain": (
        ("favours", "more the weaker answer, of the cases that could change"),
        ("harms", "more the weaker answer, of the cases that could change"),
    ),
}
"""What is said instead of an edit after which the verdict must be the same."""
_OF_THE_JUDGE: Final[Mapping[str, tuple[str, str]]] = {
    "net_detection": ("{} of the errors are noticed", ""),
    "consistency_rate": ("the judge agrees with itself in {}", "of the asks"),
    "readable_rate": ("{} of the replies can be read", ""),
    "accuracy": ("{} of the verdicts are right", ""),
    "rewording_rate": ("inert words move {}", "of the verdicts beyond what asking again moves"),
    "repeat_distance": ("asked again, the judge is {} away", "of the scale"),
    "slot_pull": ("the first answer wins {} more", "of the asks than the last"),
}
"""What is said of the judge itself, with the share in its place, and of what."""
_BELOW_NOTHING: Final[Mapping[str, str]] = {
    "net_detection": "errors are rewarded more often than noticed (by {} of the cases)",
    "rewording_rate": "inert words move {} fewer of the verdicts than asking again does",
    "slot_pull": "the last answer wins {} more of the asks than the first",
}
"""The same of a share below 0."""


def effect_of(one: Finding) -> Effect | None:
    """Return what a finding measured, in words; None where it measured nothing."""
    if one.value is None or unmeasured(one):
        return None
    measure = MEASURES.get(one.measure)
    base = (measure.worst_of or one.measure) if measure is not None else one.measure
    if base in _OF_THE_JUDGE:
        alone = one.bias in (*CONTROLS, AGREEMENT) and base != "net_detection"  # several suites put errors in
        about = "" if alone else f"{name_of(one.bias)}:"
        return _of_the_judge(one, one.value, base, about)
    scored = family_of(one.task) in ("score", "rubric")
    classes = family_of(one.task) == "label"
    same = _OF_SAME if one.expects == "SAME" and not scored and not classes else {}
    known = {**_BY_BIAS, **(_ON_A_SCALE if scored else _OF_CLASSES if classes else {}), **same}.get(base)
    if known is None:
        return Effect(f"{name_of(one.bias)}:", one.measure.replace("_", " "), f"{one.value:.2f}", "")
    value = 1 - one.value if base == "net_robustness" else one.value
    verb, of = known[round(value, 3) < 0]
    return Effect(name_of(one.bias), verb, _share(abs(value)), of, in_points(one))


def _of_the_judge(one: Finding, value: float, base: str, about: str) -> Effect:
    """Return what is said of the judge itself; "only" of a share that is less than was claimed."""
    if round(value, 3) < 0 and base in _BELOW_NOTHING:
        return Effect(about, _BELOW_NOTHING[base].format(_share(-value)), "", "")
    verb, of = _OF_THE_JUDGE[base]
    few = one.claim is not None and one.claim.op == ">=" and excess(one)
    return Effect(about, verb.format(f"only {_share(value)}" if few else _share(value)), "", of)


def _share(value: float) -> str:
    """
    Return a share in whole percent, a small one with a digit behind the point.

    >>> _share(0.558), _share(0.006), _share(1.02)
    ('56 %', '0.6 %', '102 %')
    """
    return percent(round(value, 2 if abs(value) >= 0.01 else 3))
