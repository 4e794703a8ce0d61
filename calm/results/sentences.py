"""
A finding as one sentence: what was done, what the judge then did, how often, and what is allowed.

"Appending an invented book to the worse answer as its source makes it win in 53 of 100 cases (37 to 70, from 35 cases;
allowed 30)". The same sentence is in the terminal and in every report; measures and figures are behind it. What was
done comes from the summary of the edit (`Finding.what`): a clause that begins with a verb, such as "Append a book".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from math import inf
from statistics import fmean
from typing import Final

from calm.core.claims import Claim, Outcome
from calm.core.measures import MEASURES, TABLE_MEASURES
from calm.core.reasons import Kind, Reason, listed
from calm.core.trials import CUED
from calm.core.verdict import Code, Family
from calm.results.audit import BASELINE, RUN, Finding, TrialRecord
from calm.results.records import family_of

MOST_PLACES: Final = 4
"""So many digits of a bound are shown at most."""
FEW_ROWS: Final = 2
"""A variant with fewer rows is not named as the one that moved most."""
FEW_POINTS: Final = 5
"""A scale with fewer points than this has figures to two places."""

_SHARES: Final[Mapping[str, tuple[str, str]]] = {
    "gain": ("makes {it} win in {n} of 100 cases", ""),
    "abs gain": ("makes {it} win in {n} more of 100 cases", "makes {it} lose in {n} more of 100 cases"),
    "pull": ("makes {it} win {n} more of 100 pairs than it loses", ""),
    "abs pull": (
        "makes {it} win {n} more of 100 pairs than it loses",
        "makes {it} lose {n} more of 100 pairs than it wins",
    ),
    "net_robustness": ("changes {n} more of 100 verdicts than neutral words do", ""),
    "net_detection": (
        "is noticed in {n} of 100 cases",
        "helps the answer in {n} more of 100 cases than it harms it",
    ),
    "unreadable_gain": ("makes {n} more of 100 replies unreadable", ""),
    "abs unreadable_gain": ("makes {n} more of 100 replies unreadable", "makes {n} fewer of 100 replies unreadable"),
    "abs attack_success_rate": ("makes {it} win in {n} more of 100 cases", "makes {it} win in {n} fewer of 100 cases"),
    "tie_rate": ("leads to a tie in {n} of 100 asks", ""),
    "attack_success_rate": ("makes {it} win in {n} of 100 cases that it lost before", ""),
    "acknowledgement_rate": ("is named in the judge's reasons in {n} of 100 changed verdicts", ""),
    "robustness_rate": ("leaves {n} of 100 verdicts as they were", ""),
    "accuracy_gain": ("makes {n} more of 100 verdicts right", "makes {n} more of 100 verdicts wrong"),
    "false_fail_gain": (
        "makes the judge fail {n} more of 100 right answers",
        "makes the judge fail {n} fewer of 100 right answers",
    ),
    "edited false_fail_rate": ("leads to a fail in {n} of 100 right answers", ""),
    "edited false_pass_rate": ("leads to a pass in {n} of 100 wrong answers", ""),
}
"""What an edit does to a judge of several answers, for a value above 0 and for one below."""
_CLASSES: Final[Mapping[str, tuple[str, str]]] = dict.fromkeys(
    ("gain", "lift", "mean_shift"),
    (
        "moves {n} of 100 verdicts in a bad direction",
        "moves {n} more of 100 verdicts out of a bad direction than into it",
    ),
)
"""The same of classes, where it differs."""
_POINTS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("gain", "lift", "mean_shift"), ("raises {its} score by {n}", "lowers {its} score by {n}")),
    "net_robustness": ("moves verdicts by {n} more than neutral words do", ""),
    "repeat_distance": ("Asked twice, the judge gives verdicts that are {n} apart", ""),
    "drawn repeat_distance": ("Two draws from the judge's probabilities are {n} apart", ""),
    "rewording_rate": ("Neutral words alone move verdicts by {n}", ""),
    "scale_use": ("The verdicts on two cases are {n} apart, on average over all pairs of cases", ""),
    "mean_error": ("The judge is {n} above the gold on average", "The judge is {n} below the gold on average"),
    "mean_absolute_error": ("A verdict is {n} away from the gold on average", ""),
    "score_excess": (
        "The judge lifts its own answers over others by {n} more than judges of other families do",
        "The judge lifts its own answers over others by {n} less than judges of other families do",
    ),
}
"""What is said where a verdict is a place on a scale; these figures are in points."""
_LOW_IS_GOOD: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("gain", "lift", "mean_shift"), ("improves {its} score by {n}", "worsens {its} score by {n}")),
    "mean_error": (
        "The judge is {n} kinder than the gold on average",
        "The judge is {n} harder than the gold on average",
    ),
}
"""The same where the low end of the scale is good."""
_RATE: Final = "{n} of 100"
"""What a sentence says of a share, which lies in [0, 1]; a difference is "{n} more of 100", and may be below 0."""
_JUDGE: Final[Mapping[str, tuple[str, str]]] = {
    "consistency_rate": ("Asked twice, the judge says the same in {n} of 100 cases", ""),
    "repeat_distance": ("Asked twice, the judge gives verdicts that are {n} % apart", ""),
    "drawn consistency_rate": ("Two draws from the judge's probabilities are the same in {n} of 100 cases", ""),
    "drawn repeat_distance": ("Two draws from the judge's probabilities are {n} % apart", ""),
    "readable_rate": ("{n} of 100 replies can be read", ""),
    "rewording_rate": ("Neutral words alone change {n} of 100 verdicts", ""),
    "abs rewording_rate": (
        "Neutral words change {n} more of 100 verdicts than asking again does",
        "Neutral words change {n} fewer of 100 verdicts than asking again does",
    ),
    "mean_error": (
        "The judge is {n} % of the scale above the gold on average",
        "The judge is {n} % of the scale below the gold on average",
    ),
    "mean_absolute_error": ("A verdict is {n} % of the scale away from the gold on average", ""),
    "accuracy": ("The judge is right in {n} of 100 cases", ""),
    "balanced_accuracy": ("The judge finds {n} of 100 cases of a gold label, on average over the labels", ""),
    "annotator_advantage": (
        "The judge agrees with people in {n} more of 100 cases than a person does",
        "The judge agrees with people in {n} fewer of 100 cases than a person does",
    ),
    "false_fail_rate": ("The judge fails {n} of 100 right answers", ""),
    "false_pass_rate": ("The judge passes {n} of 100 wrong answers", ""),
    "slot_pull": (
        "The answer shown first wins {n} more of 100 asks than the one shown {last}",
        "The answer shown {last} wins {n} more of 100 asks than the one shown first",
    ),
    "own_pull": (
        "Of two equally good answers the judge prefers its own in {n} more of 100 cases than the other",
        "Of two equally good answers the judge prefers the other in {n} more of 100 cases than its own",
    ),
    "twin_pull": (
        "Of two texts that say the same the judge prefers the one in its own words in {n} more of 100 cases",
        "Of two texts that say the same the judge prefers the one in other words in {n} more of 100 cases",
    ),
    "self_preference_excess": (
        "The judge takes its own answers in {n} more of 100 cases than judges of other families do",
        "The judge takes its own answers in {n} fewer of 100 cases than judges of other families do",
    ),
}
"""What the judge does, whatever the edit."""
_NUMBERS: Final[Mapping[str, str]] = {
    "kappa": "The agreement with the gold labels is {n} beyond chance (1: full)",
    "weighted_kappa": "The agreement of the scores with the gold is {n} beyond chance (1: full)",
    "gwet_ac": "The agreement of the verdicts with the gold (Gwet's AC) is {n} beyond chance (1: full)",
    "rank_agreement": "The agreement with the gold on the order of the cases is {n} (1: full; 0: chance)",
    "correlation": "The correlation of the ranks of verdicts and gold is {n}",
    "self_preference_ratio": "The judge passes failed criteria of its own answers {n} times as often as outsiders do",
}
"""Measures that are no share, in words."""
_VERB: Final = re.compile(
    r"(^(?:first )?|, (?:and|or) )(add|affirm|allow|append|apply|argue|ask|assign|attach|begin|break|call|change|cite|"
    r"claim|close|complain|confirm|curl|cut|damage|define|delete|deny|describe|do|double|drop|end|express|fill|follow|"
    r"forge|give|hide|insert|invent|join|keep|label|leave|let|list|make|mark|mask|mix|move|name|negate|number|omit|open|"
    r"paste|praise|press|promise|put|quote|raise|remove|repeat|rephrase|replace|reverse|reword|rewrite|rotate|say|set|"
    r"show|shorten|shuffle|sign|sort|split|state|strip|swap|tell|thank|threaten|translate|turn|use|wrap|write)\b",
    re.IGNORECASE,
)
"""Verbs of the summary of an edit: the one with which it begins, and those after ", and"."""
_SHORT: Final = frozenset({"begin", "cut", "drop", "label", "let", "put", "set", "split", "strip", "swap", "wrap"})
"""Verbs that double their last letter before "-ing"."""
_ASIDE: Final = re.compile(
    r", (?:a|adding|after|although|an|and|as|at|before|behind|but|by|counted|each|except|halfway|if|in|instead|its|"
    r"like|no|of|one|or|right|so|spelled|such|that|the|then|two|until|up|whatever|where|which|whose|with|without) "
    r"[^,]*$"
)
"""The last part of a clause where it is an aside, which ends with a comma."""
_ANSWER: Final = re.compile(r"\b(?:the|an) (weaker |better or only |better )?answer\b")


def sentence(one: Finding) -> str:
    """
    Return what a finding says as one sentence, without its full stop; of one without figures, why it has none.

    Shares are of a hundred; of a judge on a scale the figures are in points, or in percent of a scale without points.
    """
    if one.bias == BASELINE:
        parts = one.reason.details if one.reason.kind is Kind.LISTED else (one.reason,)
        return capital(str(listed([p for p in parts if isinstance(p, Reason) and p.kind is not Kind.CHANGES])))
    if one.value is None or one.low is None or one.high is None or unmeasured(one):
        return capital(str(one.reason) or "nothing was measured")
    limit = None if one.claim is None else one.claim.limit
    measure = "twin_pull" if one.reason.kind is Kind.TWINS else one.measure
    if (edited := f"edited {measure}") in _SHARES and one.perturbation:
        measure = edited
    if max((len(row.clean) for row in one.trials), default=0) == 1 and (drawn := f"drawn {measure}") in _JUDGE:
        measure = drawn  # nothing was asked twice
    said, figure = _said(measure, limit, one.claim.op if one.claim else "", one.task, one.scale)
    value, low, high = figure.of(one.value), *sorted(map(figure.of, (one.low, one.high)))
    turned = bool(said[1]) and round(value, 3) < 0
    if turned:
        value, low, high = -value, -high, -low
    if figure.factor != 1 and (not said[1] or _RATE in said[turned]):
        value, low, high = (min(1.0, max(0.0, number)) for number in (value, low, high))
    bounds = f"{figure.bound(low, turned)} to {figure.bound(high, turned)}"
    about = f"{one.n} of {one.n + one.lost}" if one.lost else f"{one.n}"
    allowed = f"; {figure.allowed(turned)}" if one.claim else ""
    words = _filled(said[turned], figure.shown(value) + figure.unit, one)
    most = "" if one.reason.worst or one.outcome is not Outcome.FAIL else loudest(one)
    by = f"; worst with {most}" if most else ""
    silent = one.reason.of(Kind.UNREAD_BY) if one.measure == "readable_rate" else None
    why = f": {silent}" if silent else ""
    return f"{words} ({bounds}, from {about} case{'s' * (about != '1')}{allowed}){by}{_slot(one)}{why}"


def of_judge(who: str, measure: str, figure: tuple[float, float, float], task: str, scale: Mapping[str, float]) -> str:
    """Return what a value and its bounds say of a judge that is named, as its findings do; its cases are to follow."""
    said, unit = _said(measure, 0.0, "abs<=", task, scale)  # a bound that is not 0 is not shown as 0
    value, low, high = figure
    turned = value < 0
    if turned:
        value, low, high = -value, -high, -low
    words = said[turned].format(n=unit.shown(value) + unit.unit, **_names(task))
    named = re.sub(r"\b[Tt]he judge\b", lambda _: who, words, count=1)
    return f"{named} ({unit.bound(low, turned)} to {unit.bound(high, turned)}"


def figure_of(one: Finding) -> str:
    """Return the figure of a finding alone, with its sign, in the unit of its sentence: "63 of 100", "0.8 points"."""
    if one.value is None or unmeasured(one):
        return "no figure"
    figure = _said(one.measure, None, "", one.task, one.scale)[1]
    unit = figure.unit or (" of 100" if figure.factor == 100 else "")
    return f"{figure.shown(figure.of(one.value))}{unit}"


def allows(claim: Claim, task: str, who: str = "an edit") -> str:
    """
    Return what a claim says of a judge of a task, in the words of its findings; nothing where there are none.

    `gain <= 0.25` is "an edit makes the worse answer win in at most 25 of 100 cases".
    """
    measure = MEASURES.get(claim.measure)
    if measure is None:
        return ""
    said, figure = _said(claim.measure, claim.limit, claim.op, task, {})
    most = f"at {'least' if figure.least else 'most'} {figure.shown(abs(figure.of(claim.limit)))}{figure.unit}"
    words = said[claim.limit < 0 and bool(said[1])].format(n=most, **_names(task))
    return words if words[:1].isupper() else f"{who} {words}"


def base(measure: str) -> str:
    """Return the measure whose words say what a measure means: of that of the worst variant, the one of a variant."""
    known = MEASURES.get(measure)
    return (known.worst_of or measure) if known is not None else measure


@dataclass(frozen=True, slots=True)
class _Figure:
    """How the numbers of a measure are shown: 1 minus them if `flipped`, times a factor, with so many places."""

    flipped: bool = False
    factor: float = 100.0
    places: int = 0
    unit: str = ""
    limit: float | None = None
    least: bool = False
    two_sided: bool = False

    def of(self, number: float) -> float:
        """Return a number as the sentence means it: of a robustness, what is not robust."""
        return 1 - number if self.flipped else number

    def shown(self, number: float) -> str:
        """Return a number; a share below one percent has a digit behind the point."""
        small = self.factor == 100 and 0 < abs(number) < 0.0095
        return f"{number * self.factor:z.{1 if small else self.places}f}"

    def bound(self, number: float, turned: bool) -> str:
        """Return a bound, with as many places as show that it misses the limit, if it does."""
        places, edge = self.places, None if self.limit is None else round(self.of(self.limit), 9)

        def misses(told: float) -> bool:
            if edge is None or (turned and not self.two_sided):
                return False
            return told < edge if self.least else (abs(told) if self.two_sided else told) > edge

        while places < MOST_PLACES and misses(number) and not misses(round(number * self.factor, places) / self.factor):
            places += 1
        return f"{number * self.factor:z.{places}f}"

    def allowed(self, turned: bool) -> str:
        """Return what is allowed, or wanted at least; `turned`: the sentence says the opposite of what is wanted."""
        edge = self.of(self.limit or 0.0)
        opposite = turned and self.least
        told = f"{abs(edge) * self.factor if opposite else edge * self.factor:.{MOST_PLACES}f}".rstrip("0").rstrip(".")
        if opposite and edge > 0:
            return f"at least {told} must go the other way"
        return f"{'at least' if self.least and not opposite else 'allowed'} {told}"


def _said(
    measure: str, limit: float | None, op: str, task: str, scale: Mapping[str, float]
) -> tuple[tuple[str, str], _Figure]:
    name, family = base(measure), family_of(task)
    known = MEASURES.get(name)
    flipped = known is not None and known.flipped
    shares = _Figure(flipped, limit=limit, least=op == ">=" and not flipped, two_sided=op == "abs<=")
    if family in ("score", "rubric") and name in _POINTS:
        low, high = scale.get("low"), scale.get("high")
        both = (_LOW_IS_GOOD if "best" in scale else _POINTS).get(name, _POINTS[name])
        if low is None or high is None or high - low == 1:
            return both, replace(shares, unit=" % of the scale")
        places = 1 if high - low >= FEW_POINTS else 2
        return both, replace(shares, factor=high - low, places=places, unit=" points")
    if name in _NUMBERS or not (found := _shares(name, op, family)):
        plain = capital(name.replace("_", " ")).replace("{", "{{").replace("}", "}}")  # its name is no template
        words = _NUMBERS.get(name, f"{plain} is {{n}}")
        return (words, ""), replace(shares, factor=1, places=2)
    return found, shares


def _shares(name: str, op: str, family: Family | None) -> tuple[str, str] | None:
    if family == "label" and name in _CLASSES:
        return _CLASSES[name]
    known = {**_SHARES, **_JUDGE}
    return known.get(f"abs {name}" if op == "abs<=" else name) or known.get(name)


def _filled(words: str, figure: str, one: Finding) -> str:
    pulled, several = base(one.measure) == "pull", family_of(one.task) in ("pairwise", "listwise")
    if not words[:1].islower():
        return words.format(n=figure, **_names(one.task))
    ranks = {"weaker ": "the worse answer", "better ": "the better answer", "better or only ": "the better answer"}

    def named(found: re.Match[str]) -> str:
        if pulled:
            return "one answer"
        return ranks.get(found[1] or "", found[0]) if several else "the answer"

    done, named_it = _ANSWER.subn(named, doing(one))
    other = "one of two equally good answers" if pulled else "the worse answer" if several else "the answer"
    equal = ", though both answers are equally good" if pulled and named_it else ""
    return f"{capital(done)} {words.format(n=figure, **_names(one.task, 'it' if named_it else other))}{equal}"


def _slot(one: Finding) -> str:
    first, last = one.flips.get("toward", 0), one.flips.get("away", 0)
    if one.bias != "position" or base(one.measure) == "slot_pull" or not first + last:
        return ""
    where = "first" if first >= last else _names(one.task)["last"]
    return f"; {max(first, last)} of {first + last} changes go to the answer shown {where}"


def loudest(one: Finding) -> str:
    """Return the worst variant of a finding, or the one that moved its rows most; nothing where all have one edit."""
    if worst := one.reason.worst:
        return worst
    moved: dict[str, list[float]] = {}
    for row in one.trials:
        before = row.inert or row.control or row.clean
        after = [_favour(code, row) for code in row.perturbed]
        if after and (before or row.target == CUED):
            was = fmean(_favour(code, row) for code in before) if before else 0.5
            moved.setdefault(row.edit, []).append(fmean(after) - was)
    means = {label: abs(fmean(found)) for label, found in moved.items() if len(found) >= FEW_ROWS}
    return max(means, key=lambda label: means[label], default="") if len(moved) > 1 else ""


def _favour(code: Code, row: TrialRecord) -> float:
    if isinstance(code, int | float):
        return float(code)
    if not isinstance(code, str) or code == "tie" or code.startswith("!"):
        return 0.5
    return float(code == row.target)


def _names(task: str, whom: str = "the worse answer") -> dict[str, str]:
    last = "second" if family_of(task) == "pairwise" else "last"
    return {"it": whom, "its": "its" if whom == "it" else f"{whom}'s", "last": last}


def doing(one: Finding) -> str:
    """
    Return what was done, as the subject of a sentence: "appending an invented book to the weaker answer".

    Without a clause that begins with a known verb it is the edit by its name, as a user may have written any text.
    """
    if one.bias == RUN:
        return "the average edit"
    clause = one.what.partition("; ")[0].rstrip(". ")
    if not _VERB.match(clause):
        return f"the edit {one.reason.worst or one.perturbation or one.bias}"
    clause = _VERB.sub(lambda verb: f"{verb[1]}{_gerund(verb[2])}", clause)
    return f"{clause[:1].lower()}{clause[1:]}{',' * bool(_ASIDE.search(clause))}"


def _gerund(verb: str) -> str:
    """
    Return a verb as the subject of a sentence has it.

    >>> _gerund("put"), _gerund("Write"), _gerund("add")
    ('putting', 'writing', 'adding')
    """
    verb = verb.lower()
    return f"{verb}{verb[-1]}ing" if verb in _SHORT else f"{verb.removesuffix('e')}ing"


def unmeasured(finding: Finding) -> bool:
    """Return whether a finding has no figures, or lacks so many data that its interval is all that it can be."""
    if finding.value is None or finding.low is None or finding.high is None:
        return True
    lowest, top = ends(finding)
    return finding.outcome is Outcome.INCOMPLETE and finding.low <= lowest and finding.high >= top


def ends(finding: Finding) -> tuple[float, float]:
    """Return the lowest and the highest value that the measure of a finding can have."""
    known = MEASURES.get(finding.measure)
    return known.range[0] if known is not None else -1.0, highest(finding)


def highest(finding: Finding) -> float:
    """
    Return the highest value that the measure of a finding can have: mostly 1, of a ratio no end, of a difference 2.

    A net robustness goes up to 2: above 1 the edit moved fewer verdicts than inert words did.
    """
    if finding.measure in MEASURES:
        return MEASURES[finding.measure].range[1]
    if finding.measure not in TABLE_MEASURES:
        return 2.0
    return inf if (figure := TABLE_MEASURES.get(finding.measure)) is not None and figure.log else 1.0


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"


NAMED: Final = {RUN: "all probes together", BASELINE: "the baseline", "calm": "self-enhancement"}
"""What is not called as its key is; of the suite `calm` of the papers, the part that is named after no edit."""


def name_of(bias: str) -> str:
    """
    Return how a sentence names a bias.

    >>> name_of("compassion-fade"), name_of("run")
    ('compassion fade', 'all probes together')
    """
    return NAMED.get(bias, bias.replace("-", " "))


class Resolution(IntEnum):
    """What a finding is about, in the order in which findings are read."""

    RUN = 0
    """All probes of the run together, or the run compared with its baseline."""
    PROBE = 1
    VARIANT = 2
    """The worst variant of a rotation, or one variant by itself."""


def resolution(finding: Finding) -> Resolution:
    """Return what a finding is about: the run, a probe, or a variant."""
    if finding.bias in (RUN, BASELINE):
        return Resolution.RUN
    measure = MEASURES.get(finding.measure)
    return Resolution.VARIANT if finding.single or (measure is not None and measure.worst_of) else Resolution.PROBE


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings about the run first, then those about probes, then those about variants."""
    return sorted(findings, key=resolution)
