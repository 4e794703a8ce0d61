"""
The summary of an audit in Markdown, for a job's summary page or a comment on a pull request.

It always fits its limit: what needs attention comes first, and the rest is counted. Every text that is not calm's own
is escaped character by character, so that it makes no markup, link, mention or reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from calm.core.claims import Outcome
from calm.errors import ConfigError
from calm.models.secrets import hidden
from calm.results import outputs
from calm.results.audit import BASELINE, CONTROLS, RUN, Audit, Finding
from calm.results.meaning import resolution
from calm.results.reports.charts import finite
from calm.results.reports.html import visible
from calm.results.sentences import sentence, unmeasured
from calm.results.steps import steps_of
from calm.results.tabular import ARMS, as_read, unread
from calm.results.troubles import troubles, verdict_of
from calm.results.wording import (
    bill,
    cases,
    claim,
    control,
    flip_words,
    measured,
    plan,
    tested,
    untested_by_reason,
)
from calm.results.worsening import since_baseline

SUMMARY = 1_048_576
"""Bytes that GitHub takes of a step's summary."""
COMMENT = 65_536
"""Characters that GitHub takes of a comment; a limit counts bytes, of which there are no fewer."""
SMALLEST = 2_000
"""The fewest bytes that a summary needs."""
CELL, HEAD = 300, 600
"""Characters shown of one text in a table, and above it; the rest is cut."""
RESERVE = 200
"""Bytes kept free for the line that says how much is left out."""

ORDER = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED, Outcome.PASS, Outcome.OBSERVED, Outcome.NOT_TESTED)
_SIGNS = re.compile(
    r"""[^A-Za-z0-9 .,:;()=%'"!?/\-\u0080-\U0010ffff]|:(?! |$)|(?<=www)\.|(?<=gh)-(?=\d)|[!%](?=[\w"])"""
    "|[0-9a-f]{6}(?=[0-9a-f])",
    re.IGNORECASE,
)
"""Signs that could become markup, or, where a text has them, a link; and what a commit's name could begin with."""
_STOP = "&#8203;"
"""A space without width. GitHub and GitLab look for mentions and references after the markup is made."""
_LINKS = "@#:.-!%$&~^"
"""Signs at which they find one."""
_KEY = re.compile(r"[A-Za-z0-9_/.,:=+@^()<> \-]+")


@dataclass(frozen=True, slots=True)
class _Table:
    """A part of the summary: a heading, the head of its table, and its rows, the most urgent first."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False


def write(audit: Audit, path: Path, *, limit: int = SUMMARY) -> None:
    """Write the summary; it appears whole or not at all."""
    outputs.write_whole(path, [render(audit, limit=limit)], outputs.SUMMARY)


def render(audit: Audit, *, limit: int = SUMMARY) -> str:
    """
    Return the summary in at most `limit` bytes of UTF-8.

    Raises:
        ConfigError: the limit is too small for the first lines.
    """
    if limit < SMALLEST:
        raise ConfigError(f"expected a limit of at least {SMALLEST} bytes for a summary, got limit={limit}")
    audit, page = as_read(audit), _Page(limit - RESERVE)
    word, why = verdict_of(audit, green=audit.green())
    page.add(f"# calm: {word}\n\n**{word}: {plain(why, HEAD)}.** {plain(tested(audit), HEAD)}\n\n")
    page.each((f"{plain(text, CELL)}\n\n" for text in [since_baseline(audit, "the baseline")] if text), "lines")
    page.each((f"- {plain(text, CELL)}\n" for text in audit.loose_ends), "reasons")
    page.each((f"- Note: {plain(str(note), CELL)}\n" for note in audit.run.notes), "notes")
    for table in _tables(audit):
        page.table(table)
    page.add(f"\n{plain(bill(audit), CELL)}\n")
    page.add("".join(f"\n- {name}: {text}" for name, text in _provenance(audit)) + "\n")
    return page.text


class _Page:
    """Text that grows as long as it fits, and counts what did not."""

    def __init__(self, room: int) -> None:
        self.room, self.text = room, ""

    def add(self, text: str) -> bool:
        """Add a text if it fits."""
        size = len(text.encode("utf-8", "replace"))
        if size > self.room:
            return False
        self.room -= size
        self.text += text
        return True

    def each(self, lines: Iterable[str], what: str) -> None:
        """Add as many lines as fit, and count the others."""
        found = list(lines)
        fitted = next((i for i, line in enumerate(found) if not self._fits(line) or not self.add(line)), len(found))
        if fitted < len(found):
            self._force(f"- {len(found) - fitted} more {what} are left out here.\n")
        if found:
            self.add("\n")

    def table(self, table: _Table) -> None:
        """Add a table with as many of its rows as fit."""
        if not table.rows:
            return
        begin, end = ("<details><summary>", "</summary>\n\n") if table.folded else ("## ", "\n\n")
        close = "\n</details>\n\n" if table.folded else "\n"
        head = f"{begin}{table.title}{end}{_row(table.head)}|{' --- |' * len(table.head)}\n"
        self.room -= len(close)
        if not self._fits(head) or not self.add(head):
            self.room += len(close)
            self._force(f"{table.title}: {len(table.rows)} are left out here.\n\n")
            return
        rows = [_row(cells) for cells in table.rows]
        fitted = next((i for i, line in enumerate(rows) if not self._fits(line) or not self.add(line)), len(rows))
        self.text += close
        if fitted < len(rows):
            self._force(f"{len(rows) - fitted} more are left out here.\n\n")

    def _fits(self, text: str) -> bool:
        return len(text.encode("utf-8", "replace")) + RESERVE <= self.room

    def _force(self, text: str) -> None:
        """Add a short line of our own, for which room was kept."""
        self.text += text
        self.room -= len(text)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _tables(audit: Audit) -> tuple[_Table, ...]:
    found = sorted(audit.findings, key=lambda f: (not f.red, resolution(f), ORDER.index(f.outcome), f.key))
    head = ("claim", "outcome", "measured", "n", "why")
    alike = [f for f in found if f.bias == RUN]
    lost = tuple((code(one.node), one.state.value, plain(str(one.reason), CELL)) for one in audit.tests if one.lost)
    return (
        _Table("Tests that decided nothing", ("test", "what became of it", "why"), lost),
        _Table("What is wrong, and what to do next", ("outcome", "what happened", "next"), tuple(_troubles(audit))),
        _Table("All probes together", head, _rows(alike, lambda f: f.outcome is not Outcome.NOT_TESTED)),
        _Table("Not green", head, _rows(found, lambda f: f.red and f.bias != RUN)),
        _Table("Accepted", head, _rows(found, lambda f: f.accepted is not None)),
        _Table("Changed since the baseline", ("claim", "then", "now"), tuple(_then_and_now(found))),
        _Table(
            "Not tested",
            ("what", "why"),
            tuple((plain(names, CELL), plain(why, CELL)) for names, why, _ in untested_by_reason(audit)),
        ),
        _Table("All claims by bias", ("bias", *(o.value for o in ORDER)), tuple(_by_bias(audit))),
        _Table(
            "Every claim",
            (
                "claim",
                "outcome",
                "measured",
                "neutral words",
                "n",
                "unread: clean / neutral / edited",
                "flips",
                "RR",
                "CR",
            ),
            tuple(_full(f) for f in found),
            folded=True,
        ),
    )


def _rows(found: Sequence[Finding], wanted: Callable[[Finding], bool]) -> tuple[tuple[str, ...], ...]:
    return tuple((_named(f), f.outcome.value, _measured(f), cases(f), plain(_why(f), CELL)) for f in found if wanted(f))


def _named(one: Finding) -> str:
    """Return the key of a finding with its claim."""
    return f"{code(one.key)}<br>{code(claim(one))}"


def _measured(one: Finding) -> str:
    return "-" if unmeasured(one) else measured(one)


def _why(one: Finding) -> str:
    needed = plan(one)
    accepted = f"accepted: {one.accepted}" if one.accepted else ""
    return "; ".join(part for part in (accepted, needed, flip_words(one), control(one), str(one.reason)) if part)


def _troubles(audit: Audit) -> Iterable[tuple[str, ...]]:
    """Yield what is not proven by bias, the worst first: a sentence, and the commands that may help."""
    for one in troubles(audit):
        if one.bias not in (RUN, BASELINE):
            commands = (code(step.command) for step in steps_of(audit, one) if step.command)
            yield one.outcome.value, plain(f"{one.bias}: {sentence(one.lead)}", CELL), "<br>".join(commands)


def _then_and_now(found: Sequence[Finding]) -> Iterable[tuple[str, ...]]:
    """Yield the findings whose outcome differs from the baseline's."""
    for one in found:
        then = one.baseline or {}
        if then.get("outcome") not in (None, one.outcome.value):
            was = f"{then['outcome']} {_number(then.get('value'))}"
            yield code(one.key), plain(was, CELL), f"{one.outcome.value} {_number(one.value)}"


def _number(number: object) -> str:
    known = finite(number)
    return "" if known is None else f"{known:z.2f}"


def _by_bias(audit: Audit) -> Iterable[tuple[str, ...]]:
    for bias in sorted({f.bias for f in audit.findings}, key=lambda name: (name != RUN, name in CONTROLS, name)):
        mine = [f for f in audit.findings if f.bias == bias]
        counts = (sum(f.outcome is o for f in mine) for o in ORDER)
        name = f"{bias} (control)" if bias in CONTROLS else bias
        yield (plain(name, CELL), *(str(count) if count else "" for count in counts))


def _full(one: Finding) -> tuple[str, ...]:
    moved = one.flips
    flips = " / ".join(str(moved.get(way, 0)) for way in ("toward", "away", "other")) if moved else ""
    silent = unread(one.trials)
    rates = _number(one.robustness_rate), _number(one.consistency_rate)
    return (
        _named(one),
        one.outcome.value,
        _measured(one),
        control(one).removeprefix("neutral words "),
        cases(one),
        " / ".join(str(silent[arm].count) if arm in silent else "-" for arm in ARMS) if silent else "",
        flips,
        *rates,
    )


def _provenance(audit: Audit) -> Iterable[tuple[str, str]]:
    judge = audit.judge
    facts = (
        ("model", judge.model),
        ("served by", judge.served),
        ("prompt SHA-256", judge.prompt_sha256),
        ("cases SHA-256", audit.cases.get("sha256")),
        ("seed", audit.seed),
        ("calm", audit.calm),
    )
    return ((name, code(str(fact))) for name, fact in facts if fact is not None)


def plain(text: str, longest: int) -> str:
    """
    Return a text as one line of Markdown without markup.

    >>> plain("<b>|</b> @all", 100)
    '&#60;b&#62;&#124;&#60;/b&#62; &#64;&#8203;all'
    """
    line = hidden(" ".join(visible(text).split()))  # no credential is found again in what the signs become
    cut = line if len(line) <= longest else f"{line[: longest - 3]}..."
    return _SIGNS.sub(_entity, cut)


def code(text: str) -> str:
    """
    Return a name as code: in backticks where that is safe, else escaped.

    >>> code("authority/gain"), code("a|`b`")
    ('`authority/gain`', '<code>a&#124;&#96;b&#96;</code>')
    """
    if len(text) <= CELL and text == text.strip() and _KEY.fullmatch(text):
        return f"`{text}`"
    return f"<code>{plain(text, CELL)}</code>"


def _entity(found: re.Match[str]) -> str:
    sign = found.group()
    if len(sign) > 1:
        return f"{sign}{_STOP}"
    return f"&#{ord(sign)};{_STOP if sign in _LINKS else ''}"
