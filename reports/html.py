"""
The report for people: one self-contained HTML file that runs nothing of what was judged and asks nothing of anyone.

Here an audit becomes what the templates show; all markup is in `templates/`. Every text passes `visible` on its way
out, and Jinja's escaping after that.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import groupby, zip_longest
from math import ceil, floor
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from calm.audit import SCHEMA, Audit, Finding, write_whole
from calm.claims import Outcome, decimals
from calm.reports.telling import Telling, span_of, telling
from calm.reports.texts import Messages, Room, Shown, Text, bytes_of, cut, shown_texts, size_bytes
from calm.texts import CaseTexts
from calm.wording import claim, headline, untested, value

CASES = 20
"""Cases shown for each probe, the most telling first."""
BUDGET, FRAME, PER_FINDING, PER_CASE = 1_480_000, 35_000, 2_400, 250
"""
About how many bytes a report may have, and how many of them are taken before there is any text: by itself, by each
finding, by the line of each case listed. Cases beyond the budget are shown by their verdicts alone.
"""
WHOLE_BUDGET = 250_000
"""Bytes of prompts shown whole."""
ROOMS = (Room(1_500, 1_200), Room(400, 1_200), Room(120, 600), Room(60, 160))
"""How much is shown of each case: the most for which the budget lasts."""
WHOLE, FACT, REASON = 20_000, 20_000, 1_000
"""Characters shown of one such text; the rest is cut, and the report says how much."""

ORDER = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED, Outcome.PASS, Outcome.OBSERVED, Outcome.NOT_TESTED)
"""Outcomes by how soon they should be read."""

WORDS: Mapping[Outcome, str] = {
    Outcome.PASS: "Passed",
    Outcome.FAIL: "Failed",
    Outcome.UNDECIDED: "Undecided",
    Outcome.INCOMPLETE: "Incomplete",
    Outcome.NOT_TESTED: "Not tested",
    Outcome.OBSERVED: "Observed",
}

MEANING: Mapping[Outcome, str] = {
    Outcome.PASS: "Every claim that decides the gate is proven by the data.",
    Outcome.FAIL: "The data prove that at least one claim does not hold.",
    Outcome.UNDECIDED: "No claim that is still open is disproven, but the data are too few to prove each of them.",
    Outcome.INCOMPLETE: "Data are missing, so that this run proves nothing as a whole.",
}

EXPECTED: Mapping[str | None, str] = {
    "SAME": "the verdict must not change",
    "NOT_BETTER": "the treated answer must not gain",
    "WORSE": "the treated answer, which was harmed, must lose",
    "TIE": "the answers must tie, or be preferred symmetrically",
    "OBSERVE": "nothing is required; the effect is reported",
    None: "asked again, the judge must say the same",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """An interval on the common axis, in units of its drawing."""

    low: float
    value: float
    high: float
    limits: tuple[float, ...]
    beyond: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """The common axis of all intervals: the range that it shows, and where its ticks stand."""

    low: float
    high: float

    WIDTH = 220.0
    MARGIN = 6.0

    def at(self, x: float) -> float:
        """Return where a value stands, in units of the drawing; one beyond the axis stands at its end."""
        share = (min(self.high, max(self.low, x)) - self.low) / (self.high - self.low)
        return round(self.MARGIN + share * (self.WIDTH - 2 * self.MARGIN), 1)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """The positions of the ticks with their labels."""
        step = 0.25 if self.high - self.low <= 1 else 0.5
        first, last = ceil(self.low / step), floor(self.high / step)
        values = [i * step for i in range(first, last + 1)]
        return tuple((self.at(x), f"{x:g}".replace("-", "\N{MINUS SIGN}")) for x in values)


@dataclass(frozen=True, slots=True)
class Row:
    """A finding as the table and its section show it."""

    finding: Finding
    anchor: str
    claim: str
    measured: str
    sentence: str
    reason: Text
    flips: str
    excluded: tuple[tuple[str, int], ...]
    plot: Plot | None
    cost: str


@dataclass(frozen=True, slots=True)
class Probe:
    """The findings that were decided from the same trials."""

    anchor: str
    bias: str
    perturbation: str | None
    against: str | None
    summary: str
    expected: str
    asks: str
    channel: str
    node: str
    rows: tuple[Row, ...]
    cases: tuple[Telling, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    total: int = 0
    speaking: int = 0


@dataclass(frozen=True, slots=True)
class Bias:
    """The findings about one bias, as a group of the table."""

    name: str
    rows: tuple[Row, ...]


def write(audit: Audit, path: Path) -> None:
    """Write the report; it appears whole or not at all."""
    write_whole(path, [render(audit)])


def render(audit: Audit) -> str:
    """Return the report as one HTML document."""
    axis = _axis(audit.findings)
    rows = tuple(
        _row(finding, anchor, axis, audit)
        for finding, anchor in zip(audit.findings, _anchors("f", [f.key for f in audit.findings]), strict=True)
    )
    probes, whole = _with_texts(_probes(audit, rows))
    pages = environment()
    script = pages.get_template("report.js").render()
    return pages.get_template("report.html.jinja").render(
        audit=audit,
        headline=headline(audit),
        meaning=_meaning(audit),
        counts=[(o, len(audit.of(o))) for o in ORDER if audit.of(o)],
        words=WORDS,
        outcomes=ORDER,
        run=_run_figures(audit),
        judge=_judge_facts(audit),
        about=_about(audit),
        biases=_biases(rows),
        untested=_untested(audit, rows),
        axis=axis,
        probes=probes,
        whole=whole,
        limit=CASES,
        schema=SCHEMA,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


@cache
def environment() -> Environment:
    """Return the templates of all pages: escaped, and with what cannot be seen made visible."""
    pages = Environment(
        loader=PackageLoader("calm.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["whole"] = lambda text: cut(text, WHOLE)
    pages.filters["runs"] = lambda codes: [(code, len(list(group))) for code, group in groupby(codes)]
    return pages


def _shown_value(value: object) -> object:
    return visible(value) if type(value) is str else value  # markup of a macro, a kind of str, was made visible in it


_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """
    Return a text with its control, bidirectional and hidden characters as symbols that can be seen and do nothing.

    >>> visible("a\\x00b\\x1b[31m \\u202egnp.exe")
    'a␀b␛[31m ⟨U+202E⟩gnp.exe'
    """
    return _HIDDEN.sub(_symbol, text)


def _symbol(found: re.Match[str]) -> str:
    number = ord(found.group())
    if number < 0x20:
        return chr(0x2400 + number)
    return "\N{SYMBOL FOR DELETE}" if number == 0x7F else f"⟨U+{number:04X}⟩"


def _anchors(prefix: str, names: Sequence[str]) -> list[str]:
    """Return an id for each name: the same in every report, but for names that differ in signs alone."""
    taken: set[str] = set()
    found = []
    for name in names:
        slug = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:80]
        stem = anchor = f"{prefix}-{slug or 'x'}"
        number = 1
        while anchor in taken:
            number += 1
            anchor = f"{stem}-{number}"
        taken.add(anchor)
        found.append(anchor)
    return found


# The table


def _axis(findings: Iterable[Finding]) -> Axis:
    values = [0.0, 1.0]
    for one in findings:
        limit = one.claim.limit if one.claim else 0.0
        values += [x for x in (one.low, one.value, one.high, limit) if x is not None]
        if one.claim and one.claim.op == "abs<=":
            values.append(-limit)
    low, high = max(-1.0, min(values)), min(1.0, max(values))
    return Axis(floor(low * 4) / 4, ceil(high * 4) / 4)


def _plot(one: Finding, axis: Axis) -> Plot | None:
    if one.low is None or one.value is None or one.high is None:
        return None
    ends = axis.at(axis.low), axis.at(axis.high)
    limits: list[float] = []
    beyond: list[tuple[float, float]] = []
    if one.claim:
        right = axis.at(one.claim.limit)
        left = axis.at(-one.claim.limit)
        match one.claim.op:
            case ">=":
                limits, beyond = [right], [(ends[0], right - ends[0])]
            case "<=":
                limits, beyond = [right], [(right, ends[1] - right)]
            case "abs<=":
                limits, beyond = [left, right], [(ends[0], left - ends[0]), (right, ends[1] - right)]
    rounded = tuple((x, round(width, 1)) for x, width in beyond)
    return Plot(axis.at(one.low), axis.at(one.value), axis.at(one.high), tuple(limits), rounded)


def _row(one: Finding, anchor: str, axis: Axis, audit: Audit) -> Row:
    moved = one.flips
    return Row(
        finding=one,
        anchor=anchor,
        claim=claim(one),
        measured=value(one) if one.value is not None else "",
        sentence=_sentence(one),
        reason=cut(one.reason, REASON),
        flips=" / ".join(str(moved.get(way, 0)) for way in ("toward", "away", "other")) if moved else "",
        excluded=tuple(sorted(one.excluded.items(), key=lambda item: (-item[1], item[0]))),
        plot=_plot(one, axis),
        cost=", ".join(f"{name} {figure:g}" for name, figure in audit.run.per_finding.get(one.key, {}).items()),
    )


def _sentence(one: Finding) -> str:
    """Return the decision in a sentence."""
    if one.value is None or one.claim is None:
        told = {
            Outcome.OBSERVED: f"Measured {value(one)} without a limit: nothing is decided by it.",
            Outcome.NOT_TESTED: "The claim could not be asked.",
            Outcome.INCOMPLETE: "The data are not complete.",
        }
        return told.get(one.outcome, "There is no estimate.")
    limit = decimals(one.claim.limit)
    edge = f"\N{PLUS-MINUS SIGN}{limit}" if one.claim.op == "abs<=" else limit
    measured = f"Measured {value(one)} on {one.n} case{'s' * (one.n != 1)}"
    match one.outcome:
        case Outcome.PASS:
            return f"{measured}: the whole interval keeps to the limit {edge}, so the claim is proven."
        case Outcome.FAIL:
            return f"{measured}: the whole interval lies beyond the limit {edge}, so the claim is disproven."
        case Outcome.UNDECIDED:
            more = f" If the measured value were the true one, about {one.cases_to_decide} cases would decide."
            return f"{measured}: too few to tell on which side of {edge} it is.{more if one.cases_to_decide else ''}"
        case _:
            return f"{measured}, but the data are not complete, so that nothing is decided."


def _biases(rows: Sequence[Row]) -> tuple[Bias, ...]:
    """Return the table's groups, those that need attention first; what was not tested has a section of its own."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.finding.outcome is not Outcome.NOT_TESTED:
            groups.setdefault(row.finding.bias, []).append(row)
    urgent = sorted(groups.items(), key=lambda item: (min(_urgency(r.finding) for r in item[1]), item[0]))
    return tuple(Bias(name, tuple(found)) for name, found in urgent)


def _urgency(one: Finding) -> int:
    return ORDER.index(one.outcome) if one.red or one.outcome not in ORDER[:3] else ORDER.index(Outcome.PASS)


def _untested(audit: Audit, rows: Sequence[Row]) -> tuple[tuple[str, Text, tuple[Row, ...]], ...]:
    """Return what was not tested, each with its reason and the findings that say so."""
    without = [row for row in rows if row.finding.outcome is Outcome.NOT_TESTED]
    found = []
    for name, reason in untested(audit).items():
        of = tuple(r for r in without if name in (r.finding.bias, f"{r.finding.bias}/{r.finding.perturbation}"))
        found.append((name, cut(reason, REASON), of))
    return tuple(found)


# The head


def _meaning(audit: Audit) -> str:
    accepted = sum(f.accepted is not None for f in audit.findings)
    if not audit.findings:
        return "Nothing was asked, so that nothing is proven."
    if audit.outcome is Outcome.INCOMPLETE and not any(f.red for f in audit.findings):
        return "No claim was proven."
    told = MEANING[audit.outcome]
    were = "finding was" if accepted == 1 else "findings were"
    return f"{told} {accepted} {were} accepted beforehand, for the reason given there." if accepted else told


def _judge_facts(audit: Audit) -> list[tuple[str, str]]:
    judge = audit.judge
    facts = [
        ("Task", judge.task),
        ("Model", judge.model or "not stated"),
        ("Served by", judge.served or "not stated"),
        ("Prompt SHA-256", judge.prompt_sha256 or "no prompt"),
        ("Fingerprint", judge.fingerprint or "unknown: nothing of it may be cached"),
        ("Scale", _pairs_in_words(judge.scale) or "none"),
        ("Parameters", _pairs_in_words(judge.parameters) or "none stated"),
        ("Cases", _pairs_in_words({k: v for k, v in audit.cases.items() if k != "sha256"}) or "none"),
        ("Cases SHA-256", str(audit.cases.get("sha256", "not stated"))),
        ("Seed", str(audit.seed)),
        ("Asks a case", _asks(audit.repeats)),
    ]
    return [(name, cut(text, REASON).text) for name, text in facts]


def _run_figures(audit: Audit) -> list[tuple[str, str]]:
    run = audit.run
    made, cached = run.calls.get("made", 0), run.calls.get("cached", 0)
    share = f" ({cached / (made + cached):.0%} replayed)" if made + cached else ""
    calls = ", ".join(f"{count:,} {name}" for name, count in run.calls.items())
    return [
        ("Started", f"{run.started} UTC" if run.started else "not recorded"),
        ("Took", _time(run.seconds)),
        ("Calls", f"{calls}{share}" if calls else "none"),
        ("Tokens", ", ".join(f"{count:,} {name}" for name, count in run.tokens.items()) or "none counted"),
        ("Cost", _cost(run.usd)),
    ]


def _cost(usd: float | None) -> str:
    if usd is None:
        return "price unknown"
    return f"US$ {usd:,.2f}" if usd >= 0.01 else f"US$ {usd:.4f}" if usd > 0 else "no cost"


def _time(seconds: float) -> str:
    """
    Return a duration in words.

    >>> _time(3.25), _time(252), _time(7260)
    ('3.2 s', '4 min 12 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _asks(repeats: str) -> str:
    """
    Return a design of asks in words.

    >>> _asks("4+2"), _asks("4"), _asks("")
    ('4 clean, 2 perturbed', '4', '')
    """
    found = re.fullmatch(r"(\d+)\+(\d+)", repeats)
    return f"{found[1]} clean, {found[2]} perturbed" if found else repeats


def _about(audit: Audit) -> list[tuple[str, Text]]:
    """Return what the judge says of itself and is not in the facts: its prompt templates, above all."""
    known = {"model", "served", "prompt_sha256", "parameters", "scale", "task", "name"}
    return [(name, cut(text, FACT)) for name, text in _flat(audit.judge.about) if name.split(".")[0] not in known]


def _flat(data: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, one in data.items():
        if isinstance(one, dict):
            yield from _flat(one, f"{prefix}{name}.")
        elif one is not None:
            yield f"{prefix}{name}", one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, indent=1)


def _pairs_in_words(data: Mapping[str, object]) -> str:
    def word(one: object) -> str:
        if isinstance(one, float):
            return f"{one:g}"
        return one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)

    return ", ".join(f"{name} {word(one)}" for name, one in data.items() if one is not None)


# Probes and their cases


def _probes(audit: Audit, rows: Sequence[Row]) -> tuple[Probe, ...]:
    """Return the findings by the trials that they rest on, in the order of the table."""
    groups: dict[tuple[str, str | None, str | None], list[Row]] = {}
    for row in (row for bias in _biases(rows) for row in bias.rows):
        one = row.finding
        groups.setdefault((one.bias, one.perturbation, one.against), []).append(row)
    names = ["/".join(part for part in key if part) for key in groups]
    texts = {(t.case, t.hash): t for t in audit.texts}
    span = span_of(audit.judge.scale)
    return tuple(
        _probe(tuple(found), anchor, texts, span)
        for found, anchor in zip(groups.values(), _anchors("p", names), strict=True)
    )


def _probe(rows: tuple[Row, ...], anchor: str, texts: Mapping[tuple[str, str], CaseTexts], span: float) -> Probe:
    one = rows[0].finding
    measures = frozenset(row.finding.measure for row in rows)
    trials = {(t.case, t.hash): t for row in reversed(rows) for t in row.finding.trials}
    cases = [telling(trial, one, measures, texts.get(key), span) for key, trial in trials.items()]
    shown = sorted(cases, key=lambda t: (not t.tells, -t.weight, t.texts is None, t.case))
    listed = [t for t in shown if t.tells or t.texts][:CASES]
    return Probe(
        anchor=anchor,
        bias=one.bias,
        perturbation=one.perturbation,
        against=one.against,
        summary=one.summary,
        expected=EXPECTED.get(one.expects, one.expects or ""),
        asks=_asks(one.asks),
        channel=one.channel,
        node=one.node,
        rows=rows,
        cases=tuple(listed),
        counts=tuple(Counter(t.word for t in shown).most_common()),
        total=len(trials),
        speaking=sum(t.tells for t in cases),
    )


# Texts


def _with_texts(probes: tuple[Probe, ...]) -> tuple[tuple[Probe, ...], dict[Messages, str]]:
    """
    Return the probes with the texts of their cases, and the prompts that stand whole with their ids.

    Where the budget does not last for all, each probe's first case comes first, then each probe's second.
    """
    ranks = zip_longest(*([(i, j) for j in range(len(probe.cases))] for i, probe in enumerate(probes)))
    places = [place for rank in ranks for place in rank if place]
    budget = BUDGET - FRAME - PER_FINDING * sum(len(p.rows) for p in probes) - PER_CASE * len(places)
    for room in ROOMS:
        shown, left = _within_budget(probes, places, room, max(0, budget))
        if len(shown) == sum(probes[i].cases[j].texts is not None for i, j in places):
            break
    filled = tuple(
        replace(probe, cases=tuple(replace(one, shown=shown.get((i, j))) for j, one in enumerate(probe.cases)))
        for i, probe in enumerate(probes)
    )
    return filled, _whole(shown.values(), min(WHOLE_BUDGET, left))


def _within_budget(
    probes: Sequence[Probe], places: Iterable[tuple[int, int]], room: Room, budget: int
) -> tuple[dict[tuple[int, int], Shown], int]:
    """Return the cases whose texts the budget lasts for, by their places, and what is left of it."""
    left = budget
    shown: dict[tuple[int, int], Shown] = {}
    for i, j in places:
        texts = probes[i].cases[j].texts
        if texts is None:
            continue
        made = shown_texts(texts, probes[i].cases[j].arms, room)
        size = size_bytes(made)
        if size <= left:
            left -= size
            shown[i, j] = made
    return shown, left


def _whole(shown: Iterable[Shown], budget: int) -> dict[Messages, str]:
    """Return, once each, the prompts that are shown in part and can stand whole within the budget."""
    found: dict[Messages, str] = {}
    parts = (prompts for one in shown for prompts in one.prompts if not prompts.whole)
    for messages in (messages for prompts in parts for _, messages in prompts.full):
        size = sum(bytes_of(text[:WHOLE]) for _, text in messages)
        if messages not in found and size <= budget:
            budget -= size
            found[messages] = f"w-{len(found) + 1}"
    return found
