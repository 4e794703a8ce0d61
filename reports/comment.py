"""
The comment on a pull request: green or red, what got worse, the flips that say most, and the bill.

It begins with a mark that names the gate, so that the next run finds its own comment and replaces it. Every text that
is not calm's own is escaped as in the summary: it makes no markup, link, mention or reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from calm.core.claims import Outcome
from calm.core.texts import CaseTexts
from calm.errors import ConfigError
from calm.results import outputs
from calm.results.audit import RUN, Audit, Finding
from calm.results.changes import line_of, places_of
from calm.results.gatefile import WORSENING
from calm.results.reports.highlights import Highlight, highlight, shown_scale
from calm.results.reports.markdown import COMMENT, code, plain
from calm.results.sentences import sentence
from calm.results.tabular import as_read
from calm.results.troubles import troubles, verdict_of
from calm.results.wording import bill, plan, tested
from calm.results.worsening import since_baseline

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
"""What a gate may be called in the mark."""
MOST_WORSE, MOST_RED, MOST_FLIPS, MOST_GAPS = 10, 8, 3, 5
"""Lines of each part; what is more is counted."""
LINE: Final = 240
"""Characters shown of one text; the rest is cut. Escaped, a character takes at most ten."""
RESERVE: Final = 100
"""Bytes kept free in each part for the line that says how many are left out."""
QUESTION: Final = 120
"""Characters shown of a question."""
PLACES: Final = 3
"""Places of an edit that are shown: turns, passages and steps."""


_ARMS: Final = {
    "clean": "as it is",
    "control": "as it is",
    "inert": "with neutral words",
    "perturbed": "with the edit",
}
"""What was asked, in words."""


def mark(gate: str) -> str:
    """
    Return the first line of the comment of a gate, by which the next run finds it.

    >>> mark("support-judge")
    '<!-- calm-comment: support-judge -->'

    Raises:
        ConfigError: a name with other characters than letters, digits, dots, dashes and underscores.
    """
    if not NAME.fullmatch(gate):
        raise ConfigError(
            f"--name: expected 1 to 60 letters, digits, dots, dashes or underscores as the name of a gate, got {gate!r}"
        )
    return f"{outputs.COMMENT_BEGINS} {gate} -->"


def write(audit: Audit, path: Path, *, gate: str = "gate") -> None:
    """Write the comment; it appears whole or not at all. Raises `ConfigError` as `mark` does."""
    outputs.write_whole(path, [render(audit, gate=gate)], outputs.COMMENT)


def render(audit: Audit, *, gate: str = "gate") -> str:
    """
    Return the comment, in fewer than `COMMENT` bytes whatever the run holds.

    Raises:
        ConfigError: a name that no mark can hold.
    """
    audit, green = as_read(audit), audit.green()
    word, why = verdict_of(audit, green=green)
    head = f"{mark(gate)}\n### calm: {word}: {plain(why, LINE)}\n\n"
    head += f"{plain(since, LINE)}\n\n" if (since := since_baseline(audit, "the baseline")) else ""
    end = f"{plain(tested(audit), LINE)}\n\n{plain(bill(audit), LINE)}\n"
    parts = [
        ("Outcomes that are worse than in the baseline", _worse(audit), MOST_WORSE),
        ("Not proven", _red(audit), MOST_RED),
        ("Why it is not green", (plain(text, LINE) for text in audit.loose_ends), MOST_GAPS),
        ("The verdicts that say most", _flips(audit), MOST_FLIPS),
    ]
    text, room = head, COMMENT - RESERVE - _size(head) - _size(end)
    for part_title, lines, most in parts:
        part = _listed(part_title, list(lines), most, room)
        text, room = f"{text}{part}", room - _size(part)
    return f"{text}{end}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _listed(title: str, found: Sequence[str], most: int, room: int) -> str:
    """Return a list under a title: as many lines as are wanted and fit into so many bytes; the others are counted."""
    begin, kept = f"**{title}**\n\n", 0
    room -= _size(begin) + RESERVE
    for one in found[:most]:
        room -= _size(one) + len("- \n")
        if room < 0:
            break
        kept += 1
    if not kept:
        return ""
    more = [f"and {len(found) - kept} more"] if len(found) > kept else []
    lines = "".join(f"- {one}\n" for one in (*found[:kept], *more))
    return f"{begin}{lines}\n"


def _worse(audit: Audit) -> Iterable[str]:
    """Yield what got worse since the baseline by the evidence, then the claims whose outcome is a worse one."""
    against = [f for f in audit.findings if f.measure == WORSENING]
    for one in (f for f in against if f.red and f.outcome is Outcome.FAIL):
        yield _told(one)
    order = (Outcome.PASS, Outcome.UNDECIDED, Outcome.INCOMPLETE, Outcome.FAIL)
    rank = {outcome.value: place for place, outcome in enumerate(order)}
    for one in audit.findings:
        then = str((one.baseline or {}).get("outcome"))
        if one.measure != WORSENING and one.red and rank[one.outcome.value] > rank.get(then, len(rank)):
            yield f"{code(one.key)} was {then} and is {one.outcome.value}: {plain(sentence(one), LINE)}"


def _red(audit: Audit) -> Iterable[str]:
    """Yield the claims that are not proven, the worst bias first."""
    return (_told(one) for trouble in troubles(audit) for one in trouble.findings if one.measure != WORSENING)


def _told(one: Finding) -> str:
    return f"{one.outcome.value} {code(one.key)}: {plain('; '.join(filter(None, [sentence(one), plan(one)])), LINE)}"


def _flips(audit: Audit) -> list[str]:
    """Return the cases that speak loudest against the judge, in turn of each failed bias, those with texts first."""
    texts = {(one.case, one.hash): one for one in audit.texts}
    scale = shown_scale(audit.judge)
    columns: list[list[tuple[Finding, Highlight]]] = []
    for trouble in troubles(audit):
        if trouble.bias == RUN or trouble.outcome is not Outcome.FAIL:
            continue
        measures = frozenset(one.measure for one in trouble.findings)
        seen = {
            (row.case, row.hash): (one, highlight(row, one, measures, texts.get((row.case, row.hash)), scale))
            for one in trouble.findings
            for row in one.trials
        }
        loud = [(one, said) for one, said in seen.values() if said.tells and said.weight]
        columns.append(sorted(loud, key=_loudest)[:MOST_FLIPS])
    turns = (column[turn] for turn in range(MOST_FLIPS) for column in columns if turn < len(column))
    return [_flip(*pair) for pair in turns][:MOST_FLIPS]


def _loudest(pair: tuple[Finding, Highlight]) -> tuple[object, ...]:
    said = pair[1]
    return said.texts is None, -said.weight, said.case, said.edit


def _flip(one: Finding, said: Highlight) -> str:
    """Return one case in a line: its bias, edit and verdicts, and its question and new words if they are kept."""
    arms = dict(said.arms)
    before = next((name for name in ("clean", "control", "inert") if name in arms), "")
    verdicts = " \N{RIGHTWARDS ARROW} ".join(
        f"{_ARMS[name]}: {plain(', '.join(dict.fromkeys(arms[name])), LINE)}"
        for name in (before, "perturbed")
        if name in arms
    )
    kept = said.texts
    question = f"; asked: {plain(kept.question, QUESTION)}" if kept is not None else ""
    edit = f"; {_edit(kept)}" if kept is not None and (kept.changes or kept.came or kept.went) else ""
    return f"{plain(one.bias, LINE)} ({code(said.edit)}), case {code(said.case)}: {verdicts}{question}{edit}"


def _edit(kept: CaseTexts) -> str:
    """Return what an edit did, by its places where they do not go without saying."""
    if places := places_of(kept):
        return f"the edit: {'; '.join(plain(line_of(place), QUESTION) for place in places[:PLACES])}"
    if kept.came:
        return f"the edit: {plain(kept.came, QUESTION)}"
    return f"the edit took out: {plain(kept.went, QUESTION)}"
