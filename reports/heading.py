"""
The head of a report: what it means, who was judged by what, what it cost, what changed since the baseline.

A finding as a report's table and its section show it, and the order in which findings should be read, are here, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from calm.core.claims import Claim, Outcome
from calm.core.measures import MEASURES
from calm.core.reasons import Reason, in_words, shared
from calm.results.audit import AGREEMENT, BASELINE, RUN, Audit, Finding, Run
from calm.results.compare import RANK
from calm.results.gatefile import WORSENING
from calm.results.records import family_of
from calm.results.reports.charts import Axis, Plot, axis_of, finite, number, plot_of
from calm.results.reports.texts import Text, cut
from calm.results.sentences import allows, capital, resolution, sentence, unmeasured
from calm.results.tabular import ARMS, unread_in, unread_words
from calm.results.wording import (
    CALLS,
    beside_others,
    cases_asked,
    claim,
    control,
    cost,
    floor,
    in_points,
    own_texts,
    places,
    points,
    untested_findings,
    value,
)
from calm.results.worsening import since_baseline

SLUG = 80
"""Characters of a name that an id is made of."""
REASON = 1_000
"""Characters shown of a reason; the rest is cut, and the report says how much."""

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


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding as the table and its section show it; `group` numbers its bias."""

    finding: Finding
    anchor: str
    claim: str
    measured: str
    points: str
    control: str
    others: str
    floor: str
    places: str
    sentence: str
    means: str
    decided: str
    reason: Text
    flips: str
    unread: str
    silent: str
    excluded: tuple[tuple[str, int], ...]
    own: str
    plot: Plot | None
    cost: str

    @property
    def alone(self) -> bool:
        """Whether it is about one variant of a rotation and decides nothing: such rows stand in the table alone."""
        return self.finding.single and not self.finding.red


@dataclass(frozen=True, slots=True)
class Bias:
    """The findings about one bias, as a group of the table."""

    name: str
    rows: tuple[FindingRow, ...]

    @property
    def alone(self) -> int:
        """How many of its rows are about one variant and decide nothing."""
        return sum(row.alone for row in self.rows)


def anchors(prefix: str, names: Sequence[str]) -> list[str]:
    """Return an id for each name: the same in every report, but for names that differ in signs alone."""
    taken: set[str] = set()
    found = []
    for name in names:
        slug = re.sub(r"[^a-z0-9_]+", "-", name[:SLUG].lower()).strip("-")[:SLUG]
        stem = anchor = f"{prefix}-{slug or 'x'}"
        number = 1
        while anchor in taken:
            number += 1
            anchor = f"{stem}-{number}"
        taken.add(anchor)
        found.append(anchor)
    return found


def claim_in_words(one: Finding) -> str:
    """Return a claim with the signs that people write, or the name of a measure that was only observed."""
    return claim(one).replace("<=", "\N{LESS-THAN OR EQUAL TO}").replace(">=", "\N{GREATER-THAN OR EQUAL TO}")


def measured(one: Finding) -> str:
    """
    Return value and interval, each clipped to what is possible; nothing where nothing is known.

    The numbers are those of `calm.results.wording.value`, with the signs that people write.
    """
    return "" if unmeasured(one) else _signed(value(one))


def _signed(numbers: str) -> str:
    return numbers.replace("-", "\N{MINUS SIGN}")


def _points(one: Finding) -> str:
    share, on, scale = points(one).partition(" points on ")
    return f"{_signed(share)}{on}{scale}"


def rows_of(audit: Audit) -> tuple[FindingRow, ...]:
    """Return the findings of a run in words and numbers, in their order."""
    axis = axis_of(audit.findings)
    named = zip(audit.findings, anchors("f", [f.key for f in audit.findings]), strict=True)
    return tuple(_row_of(finding, anchor, axis, audit) for finding, anchor in named)


def _row_of(one: Finding, anchor: str, axis: Axis, audit: Audit) -> FindingRow:
    moved = one.flips
    counts = unread_in(one, audit)
    figures = audit.run.per_finding.get(one.key, {})
    return FindingRow(
        finding=one,
        anchor=anchor,
        claim=claim_in_words(one),
        measured=measured(one),
        points=_signed(in_points(one)),
        control=_signed(control(one)),
        others=beside_others(one),
        floor=floor(one),
        places=places(one),
        sentence=sentence(one),
        means="" if one.claim is None else capital(allows(Claim(one.measure, one.claim.op, one.claim.limit), one.task)),
        decided=_decided(one),
        reason=cut(str(one.reason), REASON),
        flips=" / ".join(str(moved.get(way, 0)) for way in ("toward", "away", "other")) if moved else "",
        unread=" / ".join(str(counts[arm].count) if arm in counts else "-" for arm in ARMS) if counts else "",
        silent=unread_words(counts),
        excluded=tuple(sorted(in_words(one.excluded).items(), key=lambda item: (-item[1], item[0]))),
        own=own_texts(one),
        plot=plot_of(one, axis),
        cost=", ".join(f"{name} {figure:g}" for name, figure in figures.items()),
    )


def _decided(one: Finding) -> str:
    if one.claim is None:
        return "There is no limit: nothing is decided by it." if one.outcome is Outcome.OBSERVED else ""
    more = f" About {one.needed:,} cases would tell." if one.needed else ""
    words = {
        Outcome.PASS: "The whole interval keeps to the limit: this is proven.",
        Outcome.FAIL: "The whole interval is beyond the limit: this is disproven.",
        Outcome.UNDECIDED: f"The interval has the limit inside it: too few data to tell.{more}",
        Outcome.INCOMPLETE: "Replies are missing, so nothing is decided.",
        Outcome.NOT_TESTED: "This was not asked.",
        Outcome.OBSERVED: "This was only observed: nothing is decided by it.",
    }
    return words[one.outcome]


def biases_of(rows: Sequence[FindingRow]) -> tuple[Bias, ...]:
    """
    Return the table's groups, all probes together first, then those that need attention.

    What was not tested has a section of its own.
    """
    groups: dict[str, list[FindingRow]] = {}
    for row in rows:
        if row.finding.outcome is not Outcome.NOT_TESTED:
            groups.setdefault(row.finding.bias, []).append(row)
    urgent = sorted(
        groups.items(), key=lambda item: (item[0] != RUN, min(_urgency(r.finding) for r in item[1]), item[0])
    )
    return tuple(Bias(name, tuple(sorted(found, key=lambda r: resolution(r.finding)))) for name, found in urgent)


def parted(groups: Sequence[Bias]) -> tuple[tuple[FindingRow, ...], tuple[FindingRow, ...]]:
    """
    Return the rows to read at once, and those that can wait.

    At once: claims about all probes or all cases, what is not proven, and what was accepted. The rest passed or was
    only observed.
    """
    at_once: list[FindingRow] = []
    later: list[FindingRow] = []
    for row in (row for bias in groups for row in bias.rows):
        one = row.finding
        total = one.bias in (RUN, AGREEMENT) and one.claim is not None
        (at_once if total or one.red or one.accepted is not None else later).append(row)
    at_once.sort(key=lambda row: (row.finding.bias != RUN, ORDER.index(row.finding.outcome)))
    return tuple(at_once), tuple(later)


def outcomes_of(rows: Sequence[FindingRow]) -> list[tuple[Outcome, int]]:
    """Return how many rows have each outcome, the most urgent first."""
    counts = Counter(row.finding.outcome for row in rows)
    return [(outcome, counts[outcome]) for outcome in ORDER if counts[outcome]]


def _urgency(one: Finding) -> int:
    return ORDER.index(one.outcome) if one.red or one.outcome not in ORDER[:3] else ORDER.index(Outcome.PASS)


def untested_of(audit: Audit, rows: Sequence[FindingRow]) -> tuple[tuple[str, Text, tuple[FindingRow, ...]], ...]:
    """Return what was not tested, each with its reason and the findings that say so."""
    by_key = {row.finding.key: row for row in rows if row.finding.outcome is Outcome.NOT_TESTED}
    return tuple(
        (name, cut(str(findings[0].reason), REASON), tuple(by_key[f.key] for f in findings if f.key in by_key))
        for name, findings in untested_findings(audit).items()
    )


FACT = 20_000
"""Characters shown of one such text; the rest is cut, and the report says how much."""
SCALED = ("score", "rubric", "label")
"""Kinds of verdict that are places on a scale."""
MOST_LINES = 30
"""Lines of a list in the head; the rest is counted."""

_HIDDEN = "unmade"
"""Asks of all probes that a cap or an end of the run left out; calls that probes share count several times in it."""

MEANING: Mapping[Outcome, str] = {
    Outcome.PASS: "Every claim that decides the gate is proven by the data.",
    Outcome.FAIL: "The data prove that at least one claim does not hold.",
    Outcome.UNDECIDED: "Nothing is proven wrong, but there are too few data to call the judge sound.",
    Outcome.INCOMPLETE: "Replies are missing, so this run proves nothing as a whole.",
}


@dataclass(frozen=True, slots=True)
class Since:
    """
    What changed since the accepted baseline: claims that got worse, that got better, and how many did neither.

    `said` is the same in a sentence. A change is a row, the outcome before and now, and by how much the value moved.
    """

    said: str
    worse: tuple[tuple[FindingRow, str, str], ...]
    better: tuple[tuple[FindingRow, str, str], ...]
    same: int
    decided: tuple[FindingRow, ...]


@dataclass(frozen=True, slots=True)
class Gaps:
    """What an unfinished run did not measure: claims by the reason that they share, and how many more there are."""

    reasons: tuple[tuple[Text, tuple[FindingRow, ...]], ...]
    claims: int
    more: int


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Why a run is not whole; tests that decided nothing, each with what became of it and why, and how many more."""

    why: tuple[Text, ...]
    tests: tuple[tuple[str, str, Text], ...]
    more: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: for machines, and in words, in UTC."""

    stamp: str
    words: str


def meaning_of(audit: Audit) -> str:
    """Return what the outcome means, in a sentence or two."""
    accepted = sum(f.accepted is not None for f in audit.findings)
    if not audit.findings and not audit.gaps:
        return "Nothing was asked, so that nothing is proven."
    if audit.gaps:
        return MEANING[audit.outcome] if audit.outcome is Outcome.FAIL else MEANING[Outcome.INCOMPLETE]
    if audit.outcome is Outcome.INCOMPLETE and not any(f.red for f in audit.findings):
        return "No claim was proven."
    if audit.outcome is Outcome.INCOMPLETE and all(f.measure == WORSENING for f in audit.findings if f.red):
        return "Nothing is proven wrong, but this run can be compared with its baseline only in part."
    meaning = MEANING[audit.outcome]
    were = "finding was" if accepted == 1 else "findings were"
    return f"{meaning} {accepted} {were} accepted beforehand, for the reason given there." if accepted else meaning


def since_of(audit: Audit, rows: Sequence[FindingRow]) -> Since | None:
    """Return what changed since the baseline; None where there was none."""
    known = [row for row in rows if row.finding.baseline and row.finding.measure in MEASURES]
    decided = tuple(
        r for r in rows if r.finding.measure not in MEASURES and (r.finding.red or r.finding.bias == BASELINE)
    )
    if not known and not decided:
        return None
    worse: list[tuple[FindingRow, str, str]] = []
    better: list[tuple[FindingRow, str, str]] = []
    for row in known:
        now, then = _rank(row.finding.outcome.value), _rank(str((row.finding.baseline or {}).get("outcome", "")))
        if now is not None and then is not None and now != then:
            (worse if now < then else better).append((row, *_change(row.finding)))
    return Since(
        since_baseline(audit, "the baseline"),
        tuple(worse),
        tuple(better),
        len(known) - len(worse) - len(better),
        decided,
    )


def _rank(outcome: str) -> int | None:
    return next((place for place, known in enumerate(RANK) if known.value == outcome), None)


def _change(one: Finding) -> tuple[str, str]:
    before = one.baseline or {}
    then = next((word for o, word in WORDS.items() if o.value == before.get("outcome")), "unknown").lower()
    old = finite(before.get("value"))
    values = ""
    if old is not None and one.value is not None:
        values = f"{number(old)} \N{RIGHTWARDS ARROW} {number(one.value)}"
    return f"{then} \N{RIGHTWARDS ARROW} {WORDS[one.outcome].lower()}", values


def missing_of(rows: Sequence[FindingRow]) -> Gaps | None:
    """Return what is missing in a run that was not finished, by reason; None where nothing is."""
    groups: dict[Reason, list[FindingRow]] = {}
    for row in rows:
        if row.finding.outcome is Outcome.INCOMPLETE and row.finding.accepted is None:
            groups.setdefault(shared(row.finding.reason), []).append(row)
    if not groups:
        return None
    told = (found[0].finding.reason if len(found) == 1 else common for common, found in groups.items())
    words = (str(reason) or "the data are not complete" for reason in told)
    lines = [(cut(why, REASON), tuple(found)) for why, found in zip(words, groups.values(), strict=True)]
    return Gaps(tuple(lines[:MOST_LINES]), sum(map(len, groups.values())), max(0, len(lines) - MOST_LINES))


def unfinished_of(audit: Audit) -> Unfinished | None:
    """Return why a run is not whole: tests that crashed or did not run, and faults of the run; None where it is."""
    if not audit.gaps:
        return None
    lost = [one for one in audit.tests if one.lost]
    lines = tuple((one.node, one.state.value, cut(str(one.reason), REASON)) for one in lost[:MOST_LINES])
    return Unfinished(tuple(cut(str(gap), REASON) for gap in audit.gaps), lines, max(0, len(lost) - MOST_LINES))


def moment(stamp: str) -> Moment | None:
    """
    Return a recorded time in words; None for what is no time.

    >>> moment("2026-05-04T09:12:45+00:00")
    Moment(stamp='2026-05-04T09:12:45Z', words='4 May 2026, 09:12 UTC')
    """
    try:
        found = datetime.fromisoformat(stamp)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return Moment(f"{found:%Y-%m-%dT%H:%M:%SZ}", f"{found.day} {found:%B %Y, %H:%M} UTC")


def kicker_of(audit: Audit) -> list[str]:
    """Return in a few words which judge was asked about what, for the line under its name."""
    judge = audit.judge
    served = judge.served or judge.model
    return [
        cut(text, REASON).text
        for text in (judge.task, served if served != judge.name else "", cases_asked(audit))
        if text
    ]


def first_facts(audit: Audit) -> list[tuple[str, str]]:
    """Return the facts that a reader wants first: judge, prompt, cases, cost."""
    judge, run = audit.judge, audit.run
    prompt = judge.about.get("prompt")
    bundled = prompt.get("bundled") if isinstance(prompt, dict) else None
    hashed = f"SHA-256 {judge.prompt_sha256[:12]}\N{HORIZONTAL ELLIPSIS}" if judge.prompt_sha256 else "none"
    facts = [
        ("Judge", f"{judge.name} ({judge.task})"),
        ("Model", judge.served or judge.model or "not stated"),
        ("Prompt", f"bundled: {bundled}, {hashed}" if isinstance(bundled, str) else hashed),
        ("Cases", cases_asked(audit).replace(" cases", "", 1)),
        ("Gold", _gold(audit)),
        ("Calls", _calls(run)),
        ("Cost", cost(run)),
        ("Took", _time(run.seconds)),
    ]
    return [(name, cut(text, REASON).text) for name, text in facts]


def _calls(run: Run) -> str:
    made, cached, read = (run.calls.get(name, 0) for name in ("made", "cached", "recorded"))
    told = f"{made:,} made, {cached:,} from the cache"
    both = [told] if made or cached or not read else []
    return ", ".join([*both, *([f"{read:,} {CALLS['recorded']}"] if read else [])])


def _gold(audit: Audit) -> str:
    labelled, people = audit.cases.get("gold"), audit.cases.get("people")
    if not isinstance(labelled, int):
        return "not stated"
    who = f", {people} people labelled them" if isinstance(people, int) and people else ""
    return f"{labelled:,} of {cases_asked(audit).split()[0]} cases{who}" if labelled else "none"


def judge_facts(audit: Audit) -> list[tuple[str, str]]:
    """Return who was judged, and by which data."""
    judge = audit.judge
    about = {name: value for name, value in audit.cases.items() if name not in ("n", "of", "sha256", "gold", "people")}
    facts = [
        ("Task", judge.task),
        ("Model", judge.model or "not stated"),
        ("Served by", judge.served or "not stated"),
        ("Prompt SHA-256", judge.prompt_sha256 or "no prompt"),
        ("Fingerprint", judge.fingerprint or "unknown: nothing of it may be cached"),
        *([("Scale", _pairs_in_words(judge.scale))] if judge.scale and family_of(judge.task) in SCALED else []),
        ("Parameters", _pairs_in_words(judge.parameters) or "none stated"),
        ("Cases", ", ".join(filter(None, (cases_asked(audit), _pairs_in_words(about))))),
        ("Cases SHA-256", str(audit.cases.get("sha256", "not stated"))),
        ("Seed", str(audit.seed)),
        ("Asks a case", asks_in_words(audit.repeats)),
    ]
    return [(name, cut(text, REASON).text) for name, text in facts]


def run_figures(audit: Audit) -> list[tuple[str, str]]:
    """Return what the run did and cost."""
    run = audit.run
    made, cached = run.calls.get("made", 0), run.calls.get("cached", 0)
    share = f" ({cached / (made + cached):.0%} replayed)" if made + cached else ""
    named = {name: count for name, count in run.calls.items() if (count or name != "recorded") and name != _HIDDEN}
    calls = ", ".join(f"{count:,} {CALLS['recorded'] if name == 'recorded' else name}" for name, count in named.items())
    return [
        *([] if moment(run.started) else [("Started", run.started or "not recorded")]),
        ("Took", _time(run.seconds)),
        ("Calls", f"{calls}{share}" if calls else "none"),
        ("Tokens", ", ".join(f"{count:,} {name}" for name, count in run.tokens.items()) or "none counted"),
        ("Cost", cost(run)),
    ]


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


def asks_in_words(repeats: str) -> str:
    """
    Return a design of asks in words.

    >>> asks_in_words("4+2"), asks_in_words("4"), asks_in_words("")
    ('4 clean, 2 perturbed', '4', '')
    """
    found = re.fullmatch(r"(\d+)\+(\d+)", repeats)
    return f"{found[1]} clean, {found[2]} perturbed" if found else repeats


def about_of(audit: Audit) -> list[tuple[str, Text]]:
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
