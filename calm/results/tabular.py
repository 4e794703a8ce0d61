"""
An audit as tables: a row for each finding, for each case, and for each flip. `reports/tables.py` has that of trials.

A table is columns with their kinds, and rows. Data frames and files are made of it, so that both hold the same.
`unread` counts the replies that hold no verdict, for each table of figures.

The words of a diagnosis are here, too: what moves the verdicts of a judge, and why something is named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from calm.core.measures import MEASURES, flip
from calm.core.texts import CaseTexts, Exchange
from calm.core.trials import Trials, same
from calm.core.verdict import CLASS, Code, Family, Scale, Verdict, as_written, code
from calm.models.secrets import hidden
from calm.results.audit import RUN, Audit, Finding, TrialRecord
from calm.results.pairing import ROWS_OF, probes_of, widest
from calm.results.records import family_of, scale_of, trial_of
from calm.results.sentences import sentence

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = dict[str, Cell]
Kind: TypeAlias = Literal["string", "outcome", "bool", "int32", "int64", "double"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an audit: its name, the kind of each column, and its rows in the order of the record."""

    name: str
    columns: Mapping[str, Kind]
    rows: Callable[[Audit], Iterator[Row]]

    @property
    def form(self) -> str:
        """What a file says of itself that holds this table."""
        return f"calm-{self.name}/1"


def whole(cell: Cell) -> Cell:
    """Return a text that an encoding can hold, and without a known credential: half a character becomes an escape."""
    return hidden(cell).encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(cell, str) else cell


def verdict_text(said: Code) -> str:
    """
    Return the code of a verdict as one text: criteria and rankings as JSON, a class as its name.

    >>> verdict_text("good"), verdict_text(7.0), verdict_text([["a"], ["b"]]), verdict_text("~grounded")
    ('good', '7.0', '[["a"], ["b"]]', 'grounded')
    """
    return said.removeprefix(CLASS) if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def groups(audit: Audit) -> list[list[Finding]]:
    """Return the findings by the trials that they rest on."""
    found: list[list[Finding]] = []
    for one in audit.findings:
        if not one.trials:
            continue
        mates = (g for g in found if _probe(g[0]) == _probe(one) and g[0].trials == one.trials)
        group = next(mates, None)
        if group is None:
            found.append([one])
        else:
            group.append(one)
    return found


def _probe(one: Finding) -> tuple[str | None, ...]:
    return one.bias, one.perturbation, one.against, one.task, one.expects


# replies without a verdict


ARMS: Final[Mapping[str, str]] = {"clean": "clean", "inert": "inert", "perturbed": "edited"}
"""The arms, and how people call them; clean replies are those that an edit is compared with."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Of the replies of an arm, `of` in number, how many were unreadable or refused: `count`."""

    count: int
    of: int

    def __str__(self) -> str:
        return f"{self.count:,} of {self.of:,}"


def unread(records: Iterable[TrialRecord]) -> dict[str, Unread]:
    """Return the replies without a verdict in each arm that was asked. A call that failed is no reply."""
    counts, sizes = Counter[str](), Counter[str]()
    for record in records:
        for arm, said in zip(ARMS, (record.control or record.clean, record.inert, record.perturbed), strict=True):
            for one in said:  # there are many: no function is called for each
                if isinstance(one, dict):
                    counts[arm] += [*one.values()].count(None) == len(one)
                else:
                    counts[arm] += one in ("!unreadable", "!refused")
                sizes[arm] += one != "!no-reply"
    return {arm: Unread(counts[arm], sizes[arm]) for arm in ARMS if sizes[arm]}


def unread_in(finding: Finding, audit: Audit) -> dict[str, Unread]:
    """Return the same of a finding, of a claim about all probes together that of the rows of each."""
    if finding.bias != RUN or finding.measure not in ROWS_OF:
        return unread(finding.trials)
    probes = probes_of(audit.findings, finding.measure)
    return unread(record for probe in probes for record in widest(audit.findings, probe).trials)


def unread_of(audit: Audit) -> dict[str, Unread]:
    """Return the same of a whole run; findings on the same rows count them once."""
    return unread(record for group in groups(audit) for record in group[0].trials)


def as_read(audit: Audit) -> Audit:
    """Return a run as tables and reports show it: a figure of an arm in which no reply could be read is none."""
    found = tuple(map(finding_as_read, audit.findings))
    return audit if found == audit.findings else replace(audit, findings=found)


def finding_as_read(finding: Finding) -> Finding:
    """Return a finding without figures that rest on no readable reply."""
    if not mute(finding):
        return finding
    bare = replace(finding, value=None, low=None, high=None, robustness_rate=None)
    return replace(bare, cases_to_decide=None, flips={}, acknowledged={})


def mute(finding: Finding) -> bool:
    """Return whether no reply of an arm could be read, so that its figure says nothing, unless it counts just that."""
    known = MEASURES.get(finding.measure)
    if not finding.trials or (known is not None and known.about_silence):
        return False
    return any(one.count == one.of for one in unread(finding.trials).values())


def unread_words(found: Mapping[str, Unread]) -> str:
    """
    Return such counts in words; nothing where all was read.

    >>> unread_words({"clean": Unread(0, 120), "perturbed": Unread(7, 60)})
    '7 of 60 edited replies hold no verdict'
    """
    told = [f"{one} {ARMS[arm]}" for arm, one in found.items() if one.count]
    return f"{', '.join(told)} replies hold no verdict" if told else ""


# findings


def _findings(audit: Audit) -> Iterator[Row]:
    for one in as_read(audit).findings:
        before = one.baseline or {}
        then = before.get("value")
        lacking = unread(one.trials)
        yield {
            "key": one.key,
            "node": one.node,
            "bias": one.bias,
            "perturbation": one.perturbation,
            "against": one.against,
            "expects": one.expects,
            "dose": one.dose,
            "summary": one.summary,
            "sentence": sentence(one),
            "task": one.task,
            "measure": one.measure,
            "op": one.claim.op if one.claim else None,
            "limit": one.claim.limit if one.claim else None,
            "stated": one.stated.limit if one.stated else None,
            "outcome": one.outcome.value,
            "red": one.red,
            "accepted": one.accepted,
            "reason": str(one.reason) or None,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "level": one.level,
            "n": one.n,
            "lost": one.lost,
            "excluded": sum(one.excluded.values()),
            **{f"unread_{arm}": lacking[arm].count if arm in lacking else None for arm in ARMS},
            "robustness_rate": one.robustness_rate,
            "consistency_rate": one.consistency_rate,
            "toward": one.flips.get("toward"),
            "away": one.flips.get("away"),
            "other": one.flips.get("other"),
            "inert_moved": one.control.moved if one.control else None,
            "inert_gain": one.control.gain if one.control else None,
            "cases_to_decide": one.cases_to_decide,
            "channel": one.channel or None,
            "asserted": one.asserted,
            "asks": one.asks,
            "baseline_value": float(then) if isinstance(then, int | float) else None,
            "baseline_outcome": str(before["outcome"]) if "outcome" in before else None,
        }


FINDINGS: Final = Table(
    "findings",
    {
        "key": "string",
        "node": "string",
        "bias": "string",
        "perturbation": "string",
        "against": "string",
        "expects": "string",
        "dose": "double",
        "summary": "string",
        "sentence": "string",
        "task": "string",
        "measure": "string",
        "op": "string",
        "limit": "double",
        "stated": "double",
        "outcome": "outcome",
        "red": "bool",
        "accepted": "string",
        "reason": "string",
        "value": "double",
        "low": "double",
        "high": "double",
        "level": "double",
        "n": "int64",
        "lost": "int64",
        "excluded": "int64",
        "unread_clean": "int64",
        "unread_inert": "int64",
        "unread_perturbed": "int64",
        "robustness_rate": "double",
        "consistency_rate": "double",
        "toward": "int64",
        "away": "int64",
        "other": "int64",
        "inert_moved": "double",
        "inert_gain": "double",
        "cases_to_decide": "int64",
        "channel": "string",
        "asserted": "bool",
        "asks": "string",
        "baseline_value": "double",
        "baseline_outcome": "string",
    },
    _findings,
)


# flips


def _flips(audit: Audit) -> Iterator[Row]:
    texts = {(t.case, t.hash): t for t in audit.texts}
    found: dict[tuple[object, ...], tuple[Row, list[str]]] = {}
    for group in groups(audit):
        one, family = group[0], family_of(group[0].task)
        if one.expects is None or family is None:
            continue
        scale = _scale(audit, family)
        if scale is None:
            continue
        trials = Trials((), family, scale)
        for record in one.trials:
            row = trial_of(one.key, record)
            way = flip(row, trials)
            if way is None:
                continue
            identity = (*_probe(one), record.case, record.edit, record.hash)
            if identity not in found:
                modes = (_most_frequent(arm) if arm else None for arm in (row.clean, row.perturbed))
                said = [None if one is None else verdict_text(as_written(code(one), scale)) for one in modes]
                found[identity] = _flip(one, record, way, said, texts.get((record.case, record.hash))), []
            found[identity][1].extend(f.key for f in group)
    for line, keys in found.values():
        yield {"keys": " ".join(dict.fromkeys(keys)), **line}


def _scale(audit: Audit, family: Family) -> Scale | None:
    if audit.judge.scale:
        return scale_of(audit.judge)
    return Scale() if family in ("pairwise", "listwise") else None


def _flip(one: Finding, record: TrialRecord, way: str, said: Sequence[str | None], texts: CaseTexts | None) -> Row:
    answers = texts.answers if texts else {}
    treated = record.target or record.damaged or ""
    before, after = answers.get("clean") or answers.get("control") or {}, answers.get("perturbed") or {}
    return {
        "bias": one.bias,
        "perturbation": one.perturbation,
        "against": one.against,
        "expects": one.expects,
        "task": one.task,
        "case": record.case,
        "cluster": record.cluster or record.case,
        "edit": record.edit,
        "hash": record.hash,
        "target": record.target,
        "way": way,
        "before": said[0],
        "after": said[1],
        "question": texts.question if texts else None,
        "came": texts.came or None if texts else None,
        "went": texts.went or None if texts else None,
        "answer_before": before.get(treated),
        "answer_after": after.get(treated),
        "reply_before": _reply(texts.clean) if texts else None,
        "reply_after": _reply(texts.perturbed) if texts else None,
    }


def _most_frequent(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=lambda v: sum(same(v, other) for other in verdicts))


def _reply(asks: Sequence[Sequence[Exchange]]) -> str | None:
    return asks[0][-1].reply if asks and asks[0] else None


FLIPS: Final = Table(
    "flips",
    {
        "keys": "string",
        "bias": "string",
        "perturbation": "string",
        "against": "string",
        "expects": "string",
        "task": "string",
        "case": "string",
        "cluster": "string",
        "edit": "string",
        "hash": "string",
        "target": "string",
        "way": "string",
        "before": "string",
        "after": "string",
        "question": "string",
        "came": "string",
        "went": "string",
        "answer_before": "string",
        "answer_after": "string",
        "reply_before": "string",
        "reply_after": "string",
    },
    _flips,
)


# cases


def _cases(audit: Audit) -> Iterator[Row]:
    known: dict[str, TrialRecord] = {}
    golds: dict[str, str] = {}
    shown: dict[str, set[tuple[object, ...]]] = {}
    clean: dict[str, Counter[str]] = {}
    scale = scale_of(audit.judge) if audit.judge.scale else Scale()
    for one in audit.findings:
        for record in one.trials:
            known.setdefault(record.case, record)
            shown.setdefault(record.case, set()).add((*_probe(one), record.edit, record.hash))
            if record.better is not None:
                golds.setdefault(record.case, verdict_text(record.better))
            if record.clean:
                written = (verdict_text(as_written(one, scale)) for one in record.clean)
                clean.setdefault(record.case, Counter()).update(written)
    ways = {case: Counter[str]() for case in known}
    for line in _flips(audit):
        ways[str(line["case"])][str(line["way"])] += 1
    texts = {t.case: t for t in reversed(audit.texts)}
    for case, record in known.items():
        said, told = clean.get(case), texts.get(case)
        yield {
            "case": case,
            "cluster": record.cluster or case,
            "better": golds.get(case, told.better if told else None),
            "clean": said.most_common(1)[0][0] if said else None,
            "rows": len(shown[case]),
            "flips": ways[case].total(),
            "toward": ways[case]["toward"],
            "away": ways[case]["away"],
            "other": ways[case]["other"],
            "question": told.question if told else None,
            "reference": told.reference if told else None,
        }


CASES: Final = Table(
    "cases",
    {
        "case": "string",
        "cluster": "string",
        "better": "string",
        "clean": "string",
        "rows": "int64",
        "flips": "int64",
        "toward": "int64",
        "away": "int64",
        "other": "int64",
        "question": "string",
        "reference": "string",
    },
    _cases,
)


WORDS: Final[Mapping[str, str]] = {
    "noise": "two asks in the same words differ by",
    "prompt": "another wording of the prompt adds",
    "criterion": "another wording of the criteria adds",
}
"""What is measured, by its source."""
CAUSES: Final[Mapping[str, str]] = {
    "noise": "the same words get different verdicts",
    "prompt": "the verdict turns on the wording of the prompt",
    "criterion": "the verdict turns on the wording of the criterion",
}
"""Why a case or a criterion is named, by its source."""
UNASKED: Final[Mapping[str, str]] = {
    "noise": "no case was asked twice in the same words",
    "prompt": "there is no prompt that calm can reword, or no wording of it was asked twice",
    "criterion": "the judge is shown no criteria, or no wording of them was asked twice",
}
"""Why a source has no figure."""
SILENT: Final = "-: no reply in these words could be read"
"""The same where it was asked."""
UNREAD: Final = "verdicts that could not be read"
KINDS: Final[Mapping[str, str]] = {"prompt": " in other prompts", "criterion": " in other criteria"}
"""Where a reply stood, by the kind of its wording."""


def silent(source: str, unread: Mapping[str, Unread]) -> bool:
    """Return whether no reply in the judge's own words could be read, or none in those of a source."""
    asked = [one for kind in ("base", source) if (one := unread.get(kind)) and one.of]
    return any(one.count == one.of for one in asked)


def unread_in_words(unread: Mapping[str, Unread]) -> str:
    """
    Return how many verdicts could not be read, by the kind of wording.

    >>> unread_in_words({"base": Unread(1, 80), "prompt": Unread(0, 160)})
    '1 of 80, 0 of 160 in other prompts'
    """
    return ", ".join(f"{one}{KINDS.get(kind, '')}" for kind, one in unread.items())


def title_of(named: int, most: int, needed: int) -> str:
    """
    Return a diagnosis in a line: how much is named, or that no case could be, as each was asked too few times.

    >>> title_of(0, 4, 12), title_of(0, 32, 12), title_of(1, 32, 12)
    ('Too few asks to name a case', 'Nothing is named', '1 case or criterion named')
    """
    if named:
        return f"{named} {'case or criterion' if named == 1 else 'cases and criteria'} named"
    return "Too few asks to name a case" if most < needed else "Nothing is named"


def count_in_words(cases: int, criteria: int) -> str:
    """
    Return how much was tested.

    >>> count_in_words(1, 0), count_in_words(20, 3)
    ('1 case', '20 cases and 3 criteria')
    """
    shown = f"{cases} {'case' if cases == 1 else 'cases'}"
    return f"{shown} and {criteria} {'criterion' if criteria == 1 else 'criteria'}" if criteria else shown


def rule_in_words(rate: float, wrong: float) -> str:
    """Return for what a case or a criterion is named, and how many of the names are wrong."""
    return (
        f"another verdict than usual in more than {rate:.0%} of asks; on average at most {wrong:.0%} of the names "
        f"are wrong"
    )
