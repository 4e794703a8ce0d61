"""Findings in words: the same sentences in the terminal and in every report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from shutil import get_terminal_size
from textwrap import fill, wrap
from typing import Any, TextIO

from calm.core.claims import Claim, Estimate, Outcome, decide, decimals
from calm.core.measures import MEASURES
from calm.core.people import CONSTANT, PERSON
from calm.core.reasons import Kind, Reason, because, in_words, shared
from calm.models.pricing import dollars
from calm.models.secrets import hidden
from calm.results.audit import AGREEMENT, CONTROLS, RUN, Audit, Finding, Limit, Run
from calm.results.records import family_of
from calm.results.sentences import NAMED, ends, unmeasured

CALLS = {
    "recorded": "verdicts read from the record",
    "made": "calls",
    "retried": "of them repeats after a failure",
    "cached": "replies from the cache",
    "failed": "failed",
}
ALWAYS = {"made"}
"""Counts of calls that are shown even where they are 0."""
ON_SCALE = frozenset(
    {
        "net_robustness",
        "gain",
        "lift",
        "mean_shift",
        "repeat_distance",
        "scale_use",
        "rewording_rate",
        "worst_gain",
        "worst_robustness",
        "mean_error",
        "mean_absolute_error",
    }
)
"""Measures that are shares of the scale where a verdict is a score."""
MOST_PLACES = 6
"""So many digits of a bound are shown at most."""
COMMAND = "  "
"""What a line begins with that is a command to copy."""
FEW_POINTS = 5
"""A scale with fewer points than this is shown with two decimals."""
_TEXTS = {"text-": "in the answer", "each-text-": "in every answer"}
_PLACES = {
    "question": "after the question",
    "end": "at the end of the last message",
    "text": "before the text of the answer",
}
_FLOORS = {
    "note": "in a note",
    "label": "beside the label",
    "history": "before the answer, as an earlier draft",
    "turn": "in the conversation",
    "passage": "in the passages",
    "step": "in the run",
    "rewrite": "a neutral rewrite of the answer",
}


_COLONS = re.compile(r"^(\s*)::", re.MULTILINE)
_BRACKETS = re.compile(r"##((?:vso)?\[)")

_PARTS = {"gain": "edits of the worse answer", "pull": "edits between equal answers", "lift": "edits of the answer"}
"""What the claim of a measure is about, where a bias was tested but for this."""
NO_RESULT = "without a result"
_STANDINGS: Mapping[str, Outcome | None] = {
    "failed": Outcome.FAIL,
    NO_RESULT: Outcome.INCOMPLETE,
    "undecided": Outcome.UNDECIDED,
    "accepted": None,
    "passed": Outcome.PASS,
    "only observed": Outcome.OBSERVED,
    "not tested": Outcome.NOT_TESTED,
}
"""How a bias can end, the worst first."""
AT_LIMIT = "it is near its limit, so more cases will hardly decide it"
TOO_MANY = 10
"""Times the cases of a run from which on asking more is no advice."""
_COUNTED = {"false_fail_gain": "are right answers"}
PLAN = "a new run with about {} would decide it"
NEEDED = "nothing is wrong, but about {} are needed to prove it"
"""
How many cases decide an undecided claim, and one whose every case is right.

To add cases until it passes is no test, but by the anytime rule.
"""


def printable(text: str, keep: str = "") -> str:
    """
    Return text that is safe on a terminal: control characters become visible escapes, except those in `keep`.

    No known credential is in it, and no command that a CI service would read from the output of a job.

    >>> printable("red \\x1b[31m alert"), printable("::set-output name=a::b")
    ('red \\\\x1b[31m alert', '\\\\x3a:set-output name=a::b')
    """
    shown = hidden(text)
    plain = "".join(c if c in keep or c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
    return obeyed_by_none(plain)


def fitted(text: str, stream: TextIO) -> str:
    """
    Return a text whose lines end between words where a terminal shows it; elsewhere the text as it is.

    A line that begins with two spaces stays whole, as it is a command to copy, and so does the row of a table; deeper
    lines keep their indent.
    """
    if not stream.isatty():
        return text
    width = get_terminal_size().columns
    indents = [line[: len(line) - len(line.lstrip(" "))] for line in text.splitlines()]
    return "\n".join(
        line
        if indent == COMMAND or "  " in line.strip()
        else fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        for line, indent in zip(text.splitlines(), indents, strict=True)
    )


def clipped(text: str, most: int) -> str:
    """
    Return a text, or its beginning with three dots, in at most so many characters.

    >>> clipped("short", 10), clipped("rather longer", 10)
    ('short', 'rather ...')
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def obeyed_by_none(text: str) -> str:
    """
    Return a text whose lines are no commands to a CI service: `::name ...`, or `##[name]` and `##vso[name]` anywhere.

    >>> obeyed_by_none("  ::error::x"), obeyed_by_none("a ##[group]b"), obeyed_by_none("a::b")
    ('  \\\\x3a:error::x', 'a #\\\\x23[group]b', 'a::b')
    """
    return _BRACKETS.sub(r"#\\x23\1", _COLONS.sub(r"\1\\x3a:", text))


def untested_by_reason(audit: Audit) -> list[tuple[str, str, int]]:
    """
    Return what was not tested, as names, the reason that they share, and how many they are.

    Variants by themselves have no reason.
    """
    missing = untested(audit)
    by_reason: dict[Reason, list[str]] = {}
    alone = {name for name, reason in missing.items() if reason.has(Kind.VARIANT)} - set(audit.biases)
    for name, reason in missing.items():
        if name not in alone:
            by_reason.setdefault(shared(unnamed(reason)), []).append(name)
    named = [(_named(names), str(reason), len(names)) for reason, names in by_reason.items()]
    if alone:
        told = f"{len(alone)} variants by themselves" if len(alone) > 1 else "1 variant by itself"
        named.append((told, "", len(alone)))
    return named


def _named(names: Iterable[str]) -> str:
    """
    Return biases and parts of biases in words.

    >>> _named(["framing", "position/swap", "bandwagon/gain", "formatting/gain", "run/gain"])
    'framing; position (swap); bandwagon, formatting, all probes together (edits of the worse answer)'
    """
    parts: dict[str, list[str]] = {}
    for name in names:
        bias, _, part = name.partition("/")
        parts.setdefault(_PARTS.get(part, part.replace("_", " ")), []).append(NAMED.get(bias, bias))
    return "; ".join(f"{', '.join(of)}{f' ({part})' if part else ''}" for part, of in parts.items())


def tested(audit: Audit) -> str:
    """Return how many biases and controls ended how, each counted once by its worst claim, and what was not tested."""
    parts = [f"tests: {part} selected"] if (part := selected(audit)) else []
    for what, of in (("biases", audit.biases), ("controls", [c for c in CONTROLS if _standing(audit, c)])):
        ends = Counter(_standing(audit, bias) for bias in of)
        if counts := ", ".join(f"{ends[word]} {word}" for word in _STANDINGS if ends[word]):
            parts.append(f"{what}: {counts}")
    missing = untested(audit)
    whole = [name for name in missing if "/" not in name and _standing(audit, name) in ("", "not tested")]
    partly = {name.partition("/")[0] for name in missing if "/" in name} - {RUN}
    if whole and all(f.outcome is Outcome.NOT_TESTED for f in audit.findings):  # why is all that there is to say
        parts += [f"not tested: {names} ({reason})" for names, reason, _ in untested_by_reason(audit)]
    elif whole:
        parts.append(f"not tested: {', '.join(NAMED.get(name, name) for name in whole)}")
    parts += [f"{len(partly)} tested in part"] if partly else []
    return "; ".join(parts) or "tested: nothing"


def _standing(audit: Audit, bias: str) -> str:
    of = [f for f in audit.findings if f.bias == bias]
    red = {f.outcome for f in of if f.red}
    if any(f.accepted is not None for f in of) and not red:
        return "accepted"
    if of and bias in CONTROLS and not red and not audit.settled(bias):
        return "not tested" if all(f.outcome is Outcome.NOT_TESTED for f in of) else NO_RESULT
    ends = red or {f.outcome for f in of} & {Outcome.PASS, Outcome.OBSERVED, Outcome.NOT_TESTED}
    return next((word for word, end in _STANDINGS.items() if end in ends), "")


def selected(audit: Audit) -> str:
    """Return which part of the gate was run, such as "3 of 22 tests" or "3 tests"; empty if all of it was."""
    note = next((note for note in audit.run.notes if note.kind is Kind.SELECTED), None)
    return "" if note is None else f"{' of '.join(map(str, note.details))} test{'s' * (note.details[-1] != 1)}"


def unnamed(reason: Reason) -> Reason:
    """
    Return why something was not tested, without the name of its edit, which is shown beside it.

    >>> str(unnamed(because(Kind.OTHER_TASK, "ended_well", "rubric", "pairwise")))
    "serves rubric; the judge's task is pairwise"
    """
    if reason.kind is Kind.VARIANT and reason.details and isinstance(inner := reason.details[0], Reason):
        return unnamed(inner) if inner.kind is Kind.OTHER_TASK else reason
    return because(Kind.SERVES, *reason.details[1:]) if reason.kind is Kind.OTHER_TASK else reason


def untested(audit: Audit) -> dict[str, Reason]:
    """
    Return what was not tested and why: whole biases by their name, single probes as `bias/perturbation`.

    What could only be observed was not tested either.

    Single variants of a rotation come last: the reason of the rotation says more about its bias.
    """
    return {name: findings[0].reason for name, findings in untested_findings(audit).items()}


def untested_findings(audit: Audit) -> dict[str, list[Finding]]:
    """Return the findings that say so, by the same names."""
    found: dict[str, list[Finding]] = {}
    observed = [
        f for f in audit.of(Outcome.OBSERVED) if f.reason.kind in (Kind.NO_TRUTH, Kind.FEW_EQUAL, Kind.FEW_TWINS)
    ]
    for finding in sorted((*audit.of(Outcome.NOT_TESTED), *observed), key=lambda f: f.single):
        if finding.bias == AGREEMENT and finding.reason.has(Kind.FEW_PEOPLE):
            continue  # few cases have the labels of several people, and nobody misses them
        whole = not audit.tested(finding.bias)
        name = finding.bias if whole else f"{finding.bias}/{finding.perturbation or finding.measure}"
        found.setdefault(name, []).append(finding)
    return found


def figures(finding: Finding) -> str:
    """Return the figures behind the sentence of a finding in one line: its claim, what was measured, and beside it."""
    if unmeasured(finding):
        return printable(claim(finding))
    parts = [f"{claim(finding)}: measured {measured(finding)}, n={cases(finding)}", plan(finding), flip_words(finding)]
    rates = (("RR", finding.robustness_rate), ("CR", finding.consistency_rate))
    parts.append(", ".join(f"{name} {rate:.2f}" for name, rate in rates if rate is not None))
    parts += [beside_others(finding), control(finding)]
    if stood := places(finding):
        parts.append(f"the edit is {stood}")
    parts += [own_texts(finding), str(finding.reason)]
    return printable("; ".join(filter(None, parts)))


def plan(finding: Finding) -> str:
    """Return how many cases decide an undecided claim, or nothing."""
    if finding.outcome is not Outcome.UNDECIDED or not finding.cases_to_decide:
        return ""
    if finding.cases_to_decide > TOO_MANY * finding.n:
        return AT_LIMIT
    perfect = finding.claim is not None and finding.claim.op == ">=" and finding.value == ends(finding)[1]
    cases = f"{finding.needed:,} cases{' like these' * bool(finding.of)}"
    part = f", as {finding.n} of {finding.of} {_COUNTED.get(finding.measure, 'count here')}" if finding.of else ""
    return (NEEDED if perfect else PLAN).format(cases) + part


def claim(finding: Finding) -> str:
    """Return the claim of a finding, or the name of a measure that was only observed."""
    if finding.claim is None:
        return finding.measure
    words = str(Claim(finding.measure, finding.claim.op, finding.claim.limit))
    return f"{words} (the suite states {decimals(finding.stated.limit)})" if finding.stated else words


def value(finding: Finding) -> str:
    """
    Return value and interval, each clipped to what is possible: a measured rate may lie beyond its range.

    A bound that misses the limit has as many digits as show it.
    """
    if finding.value is None or finding.low is None or finding.high is None:
        return "nothing"
    return _interval((finding.value, finding.low, finding.high), ends(finding), finding.claim)


def measured(finding: Finding) -> str:
    """Return value and interval, with the value in points where the judge gives a score."""
    told = points(finding)
    return f"{value(finding)} ({told})" if told else value(finding)


def cases(finding: Finding) -> str:
    """Return from how many cases the figures of a finding are, and of how many where replies were lost."""
    return f"{finding.n} of {finding.n + finding.lost}: {finding.lost} lost" if finding.lost else str(finding.n)


def points(finding: Finding) -> str:
    """
    Return a value in points of the judge's scale; nothing where it is no part of a scale.

    A gain of .07 on a scale from 1 to 10 is "0.6 points on 1-10"; a net robustness of .93 is as far from 1.
    """
    if (found := _on_scale(finding)) is None:
        return ""
    share, low, high = found
    scale = f"{low:g}-{high:g}" if low >= 0 else f"{low:g} to {high:g}"
    return f"{share * (high - low):z.{_point_places(high - low)}f} points on {scale}"


def in_points(finding: Finding) -> str:
    """
    Return the same beside a share: how many points more or less, and of how many; "+0.6 of 9" on a scale from 1 to 10.

    A distance, such as that of a net robustness from 1, has no sign.
    """
    if (found := _on_scale(finding)) is None:
        return ""
    share, low, high = found
    sign = "+" if MEASURES[finding.measure].range[0] < 0 and not MEASURES[finding.measure].flipped else ""
    return f"{share * (high - low):{sign}z.{_point_places(high - low)}f} of {high - low:g}"


def _on_scale(finding: Finding) -> tuple[float, float, float] | None:
    low, high = (finding.scale.get(end) for end in ("low", "high"))
    if finding.value is None or low is None or high is None or finding.measure not in ON_SCALE:
        return None
    if high - low == 1:  # the share says the same
        return None
    share = 1 - finding.value if MEASURES[finding.measure].flipped else finding.value
    return _clipped(share), low, high


def _point_places(span: float) -> int:
    return 1 if span >= FEW_POINTS else 2


def control(finding: Finding) -> str:
    """
    Return what neutral words in the place of the edit did, or nothing if they were not asked about.

    A share below 0 is chance: they moved less than asking again did.
    """
    found = finding.control
    if found is None:
        return ""
    given = "" if found.gain is None else f", gained {_clipped(found.gain):z.2f}"
    return f"neutral words moved {max(0.0, _clipped(found.moved)):.2f}{given}"


def beside_others(finding: Finding) -> str:
    """
    Return what a constant predictor reaches of a measure of agreement, and what a second person does, or nothing.

    An old record, or another measure, has neither.
    """
    names = {CONSTANT: "always the same verdict", PERSON: "another person"}
    told = [
        f"{who} would reach {_clipped(finding.references[name]):z.2f}"
        for name, who in names.items()
        if name in finding.references
    ]
    return ", ".join(told)


def own_texts(finding: Finding) -> str:
    """Return in how many cases a text was shown that they hold themselves, and why others were not; else nothing."""
    if not finding.own and not finding.unused:
        return ""
    shown = f"{finding.own} of {len({row.case for row in finding.trials})} cases had their own ready-made text"
    left = [f"{count}: {reason}" for reason, count in sorted(in_words(finding.unused).items(), key=lambda one: -one[1])]
    more = sum(finding.unused.values())
    return f"{shown}; {more} such texts were not shown ({'; '.join(left)})" if left else shown


def floor(finding: Finding) -> str:
    """
    Return where the neutral words of a finding were, and about how many.

    `text-5, text-15` of a record is "in the answer, about 5 or 15 words".
    """
    names = finding.control.floor.split(", ") if finding.control is not None else []
    places = [_in_texts(names, prefix, where) for prefix, where in _TEXTS.items()]
    return "; ".join([*filter(None, places), *(_FLOORS[name] for name in names if name in _FLOORS)])


def places(finding: Finding) -> str:
    """Return where calm put what the judge's own prompt has no place for, or nothing."""
    found = {place for row in finding.trials for place in row.places}
    named = [words for place, words in _PLACES.items() if place in found]
    return f"{' or '.join(named)}, as the prompt has no place for it" if named else ""


def _in_texts(names: Iterable[str], prefix: str, where: str) -> str:
    sizes = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    lengths = sorted(int(size) for size in sizes if size.isdecimal() and len(size) < 5)
    return f"{where}, about {' or '.join(map(str, lengths))} words" if lengths else ""


def _interval(numbers: tuple[float, float, float], ends: tuple[float, float], of: Limit | None = None) -> str:
    """
    Return a value with its bounds, to two places, or to more where a bound that misses the limit would look like it.

    >>> _interval((-0.001, -0.25, 1.2), (-1.0, 1.0)), _interval((1, 0.9492, 1), (0.0, 1.0), Limit(">=", 0.95))
    ('0.00 [-0.25, 1.00]', '1.00 [0.949, 1.00]')
    """
    middle, low, high = (max(ends[0], min(ends[1], number)) for number in numbers)
    return f"{middle:z.2f} [{_bound(low, of)}, {_bound(high, of)}]"


def _bound(number: float, of: Limit | None) -> str:
    places = 2
    if of is not None and _misses(number, of):
        while places < MOST_PLACES and not _misses(round(number, places), of):
            places += 1
    return f"{number:z.{places}f}"


def _misses(number: float, of: Limit) -> bool:
    alone = Estimate(number, number, number, 1, 0.0)
    return decide(alone, Claim("", of.op, of.limit)) is Outcome.FAIL


def _clipped(number: float, top: float = 1.0) -> float:
    return max(-1.0, min(top, number))


def flip_words(finding: Finding) -> str:
    """Return the number and direction of flips in words, or nothing where a flip means nothing."""
    toward, away, other = (finding.flips.get(way, 0) for way in ("toward", "away", "other"))
    if not (toward or away or other):
        return ""
    up, down = ways(finding)
    words = f"changed verdicts: {toward} {up}, {away} {down}"
    words = f"{words}, {other} otherwise" if other else words
    words += reasons_words(finding)
    rows = len(finding.trials)
    return f"{words}, of {rows} rows" if rows > len({row.case for row in finding.trials}) else words


def reasons_words(finding: Finding) -> str:
    """Return in how many flips the judge's reason names the cue, or nothing for a judge that gives none."""
    told = finding.acknowledged
    if not told:
        return ""
    before = f" ({told['before']} of those without the edit do, too)" if told.get("before") else ""
    return f"; the judge's reasons mention the edit in {told['named']} of {told['reasons']} changed verdicts{before}"


def ways(finding: Finding) -> tuple[str, str]:
    """
    Return what a flip toward the treated answer is called, and one away from it.

    A score goes up or down, a class in a bad direction or its reverse. An edit that treats no answer, such as another
    order, can help the weaker one.
    """
    if finding.bias == "position":
        return "in favour of the answer shown first", "against it"
    if family_of(finding.task) in ("score", "rubric"):
        return "up", "down"
    if family_of(finding.task) == "label":
        return "in a bad direction", "in its reverse"
    alone = not {"answer", "label", "drafts", "note"}.intersection(finding.channel.split(", "))
    whom = "worse" if finding.expects == "SAME" and alone and finding.channel else "edited"
    return f"in favour of the {whom} answer", "against it"


def limit(finding: Finding) -> str:
    """Return the limit as a number, with its sign on both sides where it has two."""
    if finding.claim is None:
        return ""
    sign = "\N{PLUS-MINUS SIGN}" if finding.claim.op == "abs<=" else ""
    return f"{sign}{decimals(finding.claim.limit)}"


def lines(text: str, width: int) -> list[str]:
    """
    Return text as lines that are safe on a terminal: a reason may quote a judge or a server.

    Lines break between words; with `width` 0, as in a log, the text stays whole.
    """
    shown = printable(text)
    if width <= 20:
        return [shown]
    return wrap(shown, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def bill(audit: Audit) -> str:
    """Return what a run asked and what it cost, in one line; an old record may not count its calls."""
    judge = f"judge {audit.judge.name} ({audit.judge.task}), {cases_asked(audit)}"
    return "; ".join([judge, *_used(audit.run)])


def bill_alone(judge: Mapping[str, Any], cases: Mapping[str, Any], run: Run) -> str:
    """Return the same of a run that asked a judge without a probe, from what a record would say of both."""
    return "; ".join([f"judge {judge['name']} ({judge['task']}), {_counted(cases)}", *_used(run)])


def _used(run: Run) -> list[str]:
    return [counted_calls(run.calls) if run.calls.keys() >= ALWAYS else "calls not recorded", cost(run)]


def counted_calls(calls: Mapping[str, int], names: Iterable[str] = CALLS) -> str:
    """
    Return how many calls of which kind there were; where verdicts were read from a record, only those kinds.

    >>> counted_calls({"made": 5, "cached": 2}), counted_calls({"made": 0, "cached": 0, "recorded": 3})
    ('5 calls, 2 replies from the cache', '3 verdicts read from the record')
    """
    always = () if calls.get("recorded") else ALWAYS
    counted = ", ".join(f"{calls.get(name, 0):,} {CALLS[name]}" for name in names if calls.get(name) or name in always)
    return f"1 call{counted.removeprefix('1 calls')}" if counted.startswith("1 calls") else counted


def cases_asked(audit: Audit) -> str:
    """Return how many cases were asked, and of how many they are a sample: "200 of 300 cases (--calm-sample)"."""
    return _counted(audit.cases)


def _counted(cases: Mapping[str, Any]) -> str:
    count, there = cases.get("n", 0), cases.get("of")
    if isinstance(count, int) and isinstance(there, int) and there > count:
        return f"{count:,} of {there:,} cases (--calm-sample)"
    return f"{count:,} cases" if isinstance(count, int) else f"{count} cases"


def cost(run: Run) -> str:
    """Return what a run cost; what is not known is never 0."""
    if run.cost is None or (run.cost.unpriced and not run.cost.usd):
        return "price not known"
    return f">= {dollars(run.cost.usd)} USD" if run.cost.unpriced else str(run.cost)
