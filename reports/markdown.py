"""
The summary of an audit in Markdown, for a job's summary page; the comment on a pull request; the card in a notebook.

It always fits its limit: what needs attention comes first, and the rest is counted. Every text that is not calm's own
is escaped character by character, so that it makes no markup, link, mention or reference.

`render_comment` is the comment on a pull request: what got worse, the flips that say most, and the bill. It begins
with a mark that names the gate, so that the next run finds its own comment and replaces it. `card` is the card of a run
in a notebook: whether the gate is green, what is wrong, and what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.core.claims import Outcome
from calm.core.texts import CaseTexts
from calm.errors import ConfigError
from calm.models.secrets import hidden
from calm.results import outputs
from calm.results.audit import BASELINE, CONTROLS, RUN, Audit, Finding
from calm.results.gatefile import WORSENING
from calm.results.parts import line_of, places_of
from calm.results.reports.charts import finite
from calm.results.reports.exports import text
from calm.results.reports.html import environment, visible
from calm.results.reports.probes import Highlight, highlight, shown_scale
from calm.results.sentences import capital, name_of, resolution, sentence, unmeasured
from calm.results.steps import next_step, steps_of, troubles, verdict_of
from calm.results.tabular import ARMS, as_read, unread
from calm.results.wording import bill, cases, claim, control, flip_words, measured, plan, tested, untested_by_reason
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
    return f"{code(one.key)}<br>{code(claim(one))}"


def _measured(one: Finding) -> str:
    return "-" if unmeasured(one) else measured(one)


def _why(one: Finding) -> str:
    needed = plan(one)
    accepted = f"accepted: {one.accepted}" if one.accepted else ""
    return "; ".join(part for part in (accepted, needed, flip_words(one), control(one), str(one.reason)) if part)


def _troubles(audit: Audit) -> Iterable[tuple[str, ...]]:
    for one in troubles(audit):
        if one.bias not in (RUN, BASELINE):
            commands = (code(step.command) for step in steps_of(audit, one) if step.command)
            yield one.outcome.value, plain(f"{one.bias}: {sentence(one.lead)}", CELL), "<br>".join(commands)


def _then_and_now(found: Sequence[Finding]) -> Iterable[tuple[str, ...]]:
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


NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
"""What a gate may be called in the mark."""
MOST_WORSE, MOST_RED, MOST_FLIPS, MOST_GAPS = 10, 8, 3, 5
"""Lines of each part; what is more is counted."""
LINE: Final = 240
"""Characters shown of one text; the rest is cut. Escaped, a character takes at most ten."""
COMMENT_RESERVE: Final = 100
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


def write_comment(audit: Audit, path: Path, *, gate: str = "gate") -> None:
    """Write the comment; it appears whole or not at all. Raises `ConfigError` as `mark` does."""
    outputs.write_whole(path, [render_comment(audit, gate=gate)], outputs.COMMENT)


def render_comment(audit: Audit, *, gate: str = "gate") -> str:
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
    text, room = head, COMMENT - COMMENT_RESERVE - _size(head) - _size(end)
    for part_title, lines, most in parts:
        part = _listed(part_title, list(lines), most, room)
        text, room = f"{text}{part}", room - _size(part)
    return f"{text}{end}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _listed(title: str, found: Sequence[str], most: int, room: int) -> str:
    begin, kept = f"**{title}**\n\n", 0
    room -= _size(begin) + COMMENT_RESERVE
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
    return (_told(one) for trouble in troubles(audit) for one in trouble.findings if one.measure != WORSENING)


def _told(one: Finding) -> str:
    return f"{one.outcome.value} {code(one.key)}: {plain('; '.join(filter(None, [sentence(one), plan(one)])), LINE)}"


def _flips(audit: Audit) -> list[str]:
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
    if places := places_of(kept):
        return f"the edit: {'; '.join(plain(line_of(place), QUESTION) for place in places[:PLACES])}"
    if kept.came:
        return f"the edit: {plain(kept.came, QUESTION)}"
    return f"the edit took out: {plain(kept.went, QUESTION)}"


MOST: Final = 6
"""So many biases are on a card; the others are counted."""
CARD_LINE: Final = 500
"""Characters of a text on a card; the rest is cut."""
COLORS: Final = {"GREEN": "#1a7f45", "RED": "#c0261c"}
"""The colours of the first word, which read on light and dark pages; any other word has `OPEN`."""
OPEN: Final = "#a86400"


def card(audit: Audit, results: str = "") -> str:
    """
    Return the card as HTML, without scripts, links or anything that is loaded; all texts are escaped.

    Args:
        audit: the run.
        results: its file, for the command that keeps a green run as the baseline; empty: none is named.
    """
    word, why, lines, more, step, command = _parts(audit, results)
    return (
        environment()
        .get_template("card.html.jinja")
        .render(
            color=COLORS.get(word, OPEN),
            word=word,
            why=why,
            lines=lines,
            more=more,
            next=step,
            command=command,
            bill=text(bill(audit)),
        )
    )


def card_markdown(audit: Audit, results: str = "") -> str:
    """Return the same as Markdown; see `html`."""
    word, why, lines, more, step, command = _parts(audit, results)
    listed = [f"- **{outcome}** {plain(name, CARD_LINE)}: {plain(said, CARD_LINE)}" for name, outcome, said in lines]
    listed += [f"- and {more} more"] if more else []
    following = [f"Next: {plain(step, CARD_LINE)}", *([code(command)] if command else [])] if step else []
    parts = [f"**{word}**: {plain(why, CARD_LINE)}", "\n".join(listed), *following, plain(bill(audit), CARD_LINE)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _parts(audit: Audit, results: str) -> tuple[str, str, list[tuple[str, str, str]], int, str, str]:
    audit, green = as_read(audit), audit.green()
    (word, why), wrong = verdict_of(audit, green=green), troubles(audit)
    lines = [(text(name_of(one.bias)), one.outcome.value, text(sentence(one.lead))) for one in wrong[:MOST]]
    step = next_step(audit, results, green=green)
    what, command = (text(capital(step.what)), text(step.command)) if step else ("", "")
    return word, text(why), lines, max(0, len(wrong) - MOST), what, command
