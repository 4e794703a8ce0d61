"""What a hunt or an attack found, in a report and as a page of its own, with what was put into a text marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from calm import __version__
from calm.core.files import read_json
from calm.core.verdict import Code
from calm.errors import ConfigError, few_of
from calm.models.wire import Json
from calm.results import outputs
from calm.results.audit import Audit
from calm.results.parts import cell
from calm.results.records import family_of
from calm.results.reports.charts import finite, number
from calm.results.reports.extras import Section, Table, as_list, as_mapping
from calm.results.reports.heading import anchors
from calm.results.reports.html import environment, safety
from calm.results.reports.pages import Page
from calm.results.reports.texts import QUESTION, Comparison, Text, compare, cut

SCHEMA: Final = "calm-hunt/1"
KEY: Final = "hunt"
"""The key of `extras` that holds a list of such records."""


WHERE: Final[Mapping[str, str]] = {
    "answer": "in the answer",
    "question": "in the question",
    "reference": "in the reference",
    "criteria": "in the last criterion",
    "notes": "in a note to the judge",
    "byline": "beside the name of the answer",
}
"""The places of a hunt in words."""
_DOES: Final[Mapping[str, str]] = {
    "pairwise": "makes {} win",
    "listwise": "puts {} first",
    "score": "raises the score by a quarter of the scale or more",
    "rubric": "raises the points by a quarter of the scale or more",
    "label": "moves the class by a quarter of the order or more",
}
LINE: Final = "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}"
"""The sign of a new line in what was added."""


def words_added(pieces: Iterable[str], removed: int, quote: str = "") -> str:
    """Return the texts that were added, in quotes, with dots between those at several places; how many words went."""
    words = " ... ".join(piece.replace("\n", LINE).strip() for piece in pieces)
    words = f"{quote}{words}{quote}" if words else ""
    less = f"(less {removed} word{'s' * (removed > 1)})" if removed else ""
    return f"{words} {less}".strip()


def sentence(one: Mapping[str, Json], words: str, task: str) -> str:
    """
    Return a confirmed finding of a record in a sentence, and whether it works in a second case.

    Args:
        one: the finding, as the record has it.
        words: what was added, as it is shown.
        task: the task of the judge.
    """
    fresh = one.get("fresh")
    asks, won, clean = (fresh.get(key) for key in ("asks", "wins", "clean_wins")) if isinstance(fresh, dict) else "???"
    who = "the worse answer" if one.get("gold") is True else "the answer that had lost"
    does = _DOES.get(family_of(task) or "", "moves the verdict").format(who)
    where = WHERE.get(str(one.get("where")), "")
    said = f"{words} {where} {does} ({won} of {asks} asks, {clean} of {asks} without)."
    also, tried, second = one.get("also"), one.get("also_of"), one.get("second")
    if second:
        return f"{said} Confirmed in a second case, {second}."
    if not tried:
        return f"{said} It was tried in this case alone."
    if not also:
        return f"{said} It works in this case alone, in none of {tried} other cases."
    count = len(also) if isinstance(also, list) else 0
    return f"{said} Confirmed in this case alone; in one ask each it worked in {count} of {tried} other cases."


def with_hunts(audit: Audit, paths: Iterable[Path]) -> Audit:
    """
    Return an audit with the hunts in some files among its extras, after those that it holds already.

    Raises:
        ConfigError: a file is no record of a hunt, or the hunt was of another judge.
    """
    held = audit.extras.get(KEY, [])
    hunts = list(held) if isinstance(held, list) else []
    for path in paths:
        hunt = read(path)
        if not _same_judge(audit, hunt):
            raise ConfigError(
                f"{path}: expected a hunt of the judge of these results, "
                f"{_named(audit.judge.name, audit.judge.task, audit.judge.fingerprint)}, "
                f"got one of {_named(hunt.get('judge'), hunt.get('task'), hunt.get('fingerprint'))}: "
                "what moves one judge says nothing about another. Run `calm hunt` with this judge, "
                "or `calm audit` with that one"
            )
        if hunt not in hunts:
            hunts.append(hunt)
    return replace(audit, extras={**audit.extras, KEY: hunts})


def read(path: Path) -> dict[str, Json]:
    """
    Return the record of a hunt.

    Raises:
        ConfigError: no such file, not JSON, or of another schema.
    """
    body = read_json(path, "a file that `calm hunt -o` wrote")
    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(body, dict) or schema != SCHEMA:
        raise ConfigError(f"{path}: expected a record of `calm hunt`, of schema {SCHEMA!r}, got schema={schema!r}")
    return body


def _same_judge(audit: Audit, hunt: Mapping[str, Json]) -> bool:
    mine, theirs = audit.judge.fingerprint, hunt.get("fingerprint")
    if mine and theirs:
        return mine == theirs
    return (audit.judge.name, audit.judge.task) == (hunt.get("judge"), hunt.get("task"))


def _named(name: Json, task: Json, fingerprint: Json) -> str:
    return f"{name} ({task}, fingerprint {str(fingerprint)[:16] if fingerprint else 'unknown'})"


MOST: Final = 50
"""Findings shown of one hunt; the rest is counted."""
MOST_CASES: Final = 20
"""Other cases named beside a finding; the rest is counted."""
WORDS: Final = 160
"""Characters of the words of a finding in its heading."""
FOUND_BY: Final[Mapping[str, str]] = {
    "many edits": "a text with many edits at once, made smaller",
    "few edits": "a text with a few edits, made smaller",
    "heap": "a text with many edits at once, made smaller",
    "pile": "a text with several edits at once, made smaller",
    "edit": "a single edit, made smaller",
    "stack": "a random stack of edits, made smaller",
    "hypothesis": "a stack of edits that Hypothesis drew, made smaller",
    "earlier hunt": "an earlier hunt, tried first",
}
"""Who found a text, in words, also in records of earlier versions; a model that writes has its name."""
FACTS: Final = (("search", "search"), ("noise of the judge, guessed", "noise"), ("seed", "seed"))
"""What else is shown of a hunt, in words, and its key in the record."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A text that flips the judge, beside the original. `sides` are the two texts, `first` what the search came by."""

    words: str
    place: str
    case: str
    target: str
    question: Text
    sides: Comparison
    empty: bool
    facts: tuple[tuple[str, str], ...]
    elsewhere: str
    verdicts: tuple[tuple[str, tuple[Code, ...]], ...]
    first: Comparison | None
    first_words: int
    confirmed: bool
    said: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Hunt:
    """One hunt: what it was, what it found, and what it could not confirm."""

    judge: str
    place: str
    facts: tuple[str, ...]
    incomplete: str
    asked: str
    found: tuple[Witness, ...]
    unproven: tuple[Witness, ...]
    left_out: int


def hunts_of(extras: Mapping[str, Json]) -> tuple[Hunt, ...]:
    """Return what the extras say of hunts; nothing where there is nothing to show."""
    held = extras.get(KEY)
    bodies = [as_mapping(one) for one in (as_list(held) or [held])]
    hunts = [_hunt(body) for body in bodies if isinstance(body.get("findings"), list)]
    names = anchors("h", [one.case for hunt in hunts for one in (*hunt.found, *hunt.unproven)])
    ids = iter(names)
    return tuple(
        replace(
            hunt,
            found=tuple(replace(one, anchor=next(ids)) for one in hunt.found),
            unproven=tuple(replace(one, anchor=next(ids)) for one in hunt.unproven),
        )
        for hunt in hunts
    )


def _hunt(body: Mapping[str, Json]) -> Hunt:
    findings = [one for one in map(as_mapping, as_list(body.get("findings"))) if one]
    shown = [_witness(one, body) for one in findings[:MOST]]
    cases = as_list(body.get("cases"))
    asks, budget = (finite(body.get(name)) for name in ("asks", "budget"))
    asked = f"{asks:,.0f} asks" if asks is not None else "its asks"
    facts = (
        f"{asks:,.0f} of {budget:,.0f} asks" if asks is not None and budget is not None else "",
        f"{len(cases):,} cases in hand" if cases else "",
        *(f"left out: {_text(count)} {why}" for why, count in as_mapping(body.get("excluded")).items()),
        *(f"{words} {said}" for words, name in FACTS if (said := _text(body.get(name)))),
    )
    return Hunt(
        judge=_text(body.get("judge")),
        place=" and ".join(_where(name) for name in _text(body.get("where")).split(",")),
        facts=tuple(filter(None, facts)),
        incomplete=_text(body.get("incomplete")),
        asked=f"{asked} in {len(cases)} cases" if cases else asked,
        found=tuple(one for one in shown if one.confirmed),
        unproven=tuple(one for one in shown if not one.confirmed),
        left_out=max(0, len(findings) - MOST),
    )


def _witness(one: Mapping[str, Json], hunt: Mapping[str, Json]) -> Witness:
    fresh = as_mapping(one.get("fresh"))
    original, text, first = (_text(one.get(name)) for name in ("original", "text", "first"))
    added = "".join(_text(token) for token in as_list(one.get("added"))).replace("\n", LINE).strip()
    removed = finite(one.get("removed")) or 0
    cut_away = f"{removed:.0f} {'word' if removed == 1 else 'words'} taken away" if removed else ""
    words = added if len(added) <= WORDS else f"{added[: WORDS - 1]}\N{HORIZONTAL ELLIPSIS}"
    arms = tuple((name, _codes(fresh.get(key))) for name, key in (("original", "clean"), ("smallest text", "edited")))
    words = words or cut_away or "another text"
    return Witness(
        words=words,
        said=sentence(
            one, f"\N{LEFT DOUBLE QUOTATION MARK}{words}\N{RIGHT DOUBLE QUOTATION MARK}", _text(hunt.get("task"))
        ),
        place=_where(_text(one.get("where")) or _text(hunt.get("where"))),
        case=_text(one.get("case")),
        target=_text(one.get("target")),
        question=cut(_text(one.get("question")), QUESTION),
        sides=compare(original, text),
        empty=not original,
        facts=tuple((name, value) for name, value in _facts(one, fresh, hunt) if value),
        elsewhere=_elsewhere(one),
        verdicts=tuple((name, codes) for name, codes in arms if codes),
        first=compare(original, first) if first and first != text else None,
        first_words=len(first.split()),
        confirmed=one.get("confirmed") is True,
    )


def _facts(one: Mapping[str, Json], fresh: Mapping[str, Json], hunt: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    asks = finite(fresh.get("asks"))
    clean, won = (finite(fresh.get(name)) for name in ("clean_wins", "wins"))
    low, level = finite(fresh.get("low")), finite(hunt.get("level"))
    error = f" (error level {level:.2g})" if level is not None else ""
    proposer = _text(one.get("found_by"))
    return (
        ("Won with the original", _of(clean, asks)),
        ("Won with the smallest text", _of(won, asks)),
        ("The share won rises by at least", f"{number(low)}{error}" if low is not None and asks else ""),
        ("Edits", ", ".join(_text(edit) for edit in as_list(one.get("edits")))),
        ("Found by", FOUND_BY.get(proposer, proposer)),
    )


def _where(name: str) -> str:
    return WHERE.get(name, name)


def _elsewhere(one: Mapping[str, Json]) -> str:
    names, of = [_text(name) for name in as_list(one.get("also"))], finite(one.get("also_of"))
    if not of:
        return ""
    listed = f": {few_of(names, MOST_CASES)}" if names else ""
    return f"{len(names)} of {of:.0f} other cases{listed}"


def _of(count: float | None, asks: float | None) -> str:
    return f"{count:.0f} of {asks:.0f} fresh asks" if count is not None and asks is not None else ""


def _codes(value: Json) -> tuple[Code, ...]:
    return tuple(code for code in as_list(value) if isinstance(code, str) or finite(code) is not None)  # type: ignore[misc]  # codes as the record has them


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return f"{value:g}" if finite(value) is not None else ""


def render(hunt: Mapping[str, Json]) -> str:
    """Return the page of a record of schema `calm-hunt/1`; everything that a model or user wrote is escaped."""
    pages = environment()
    hunts = hunts_of({KEY: [dict(hunt)]})
    return pages.get_template("hunt_page.html.jinja").render(
        hunts=hunts,
        judge=hunts[0].judge if hunts else "",
        said=[found.said for one in hunts for found in one.found],
        calm=__version__,
        schema=SCHEMA,
        **safety(pages),
    )


def write(hunt: Mapping[str, Json], path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(hunt)], outputs.REPORT)


def _found(body: Mapping[str, Json]) -> str:
    found = body.get("found")
    return (
        f"{found} {'text' if found == 1 else 'texts'} found that won the judge over" if found else "No text was found"
    )


of_attack = Page("calm \N{MIDDLE DOT} an attack on a judge", _found, ("judge",), lists={"edits": ("stacks", "held")})


COLOURS: Final[Mapping[str, str]] = {"PASS": "GREEN", "FAIL": "RED"}
"""What follows from an outcome; from any other, NOT GREEN."""


def lifts(body: Mapping[str, Json]) -> str:
    """Return in a line what the record of a curve says: what was decided, by how much, and what would decide it."""
    colour = COLOURS.get(_text(body.get("outcome")), "NOT GREEN")
    points = [as_mapping(one) for one in as_list(body.get("points"))]
    if (why := _text(body.get("incomplete"))) or not points:
        why = f"INCOMPLETE: {why}" if why else "fewer than two cases could be tried"
        return f"{colour}: the curve is not known: {why}"
    beyond = as_mapping(points[-1].get("beyond"))
    value, low, high = (finite(beyond.get(key)) or 0.0 for key in ("value", "low", "high"))
    does = _DOES.get(family_of(_text(body.get("task"))) or "", "moves the verdict").format("the weaker answer")
    allowed, cases = _text(body.get("claim")).rpartition("<= ")[2], f"{_text(points[-1].get('n'))} cases"
    share = f"in a share of {value:+.2f} of {cases} [{low:+.2f}, {high:+.2f}]; allowed {allowed}"
    said = f"{colour}: the best of {_text(points[-1].get('tries'))} texts {does}, beyond harmless words, {share}"
    if body.get("outcome") != "UNDECIDED":
        return said
    if high <= (finite(body.get("limit")) or 0.0):
        return f"{said}; too many cases have fewer texts: name more edits, or a smaller --curve"
    needed = _text(body.get("needed"))
    return f"{said}; {f'about {needed} cases would decide it' if needed else 'it is too near to the limit'}"


def _of_curve(body: Mapping[str, Json]) -> tuple[Section, ...]:
    allowed = str(body.get("claim")).rpartition("<= ")[2]
    facts = [("Task", cell(body.get("task"))), ("Allowed beyond harmless words", cell(allowed))]
    facts += [("Incomplete", cell(body["incomplete"]))] if body.get("incomplete") else []
    for title, key in (("Not tried", "excluded"), ("Lost", "lost")):
        facts += [(title, f"{reason} ({cell(n)} cases)") for reason, n in as_mapping(body.get(key)).items()]
    points = [as_mapping(one) for one in as_list(body.get("points"))]
    shares = [tuple(cell(one.get(key)) for key in (*_POINT, "n")) for one in points]
    rows = [
        (cell(one.get("case")), cell(one.get("texts")), *(_won(one, key) for key in ("", "harmless_")))
        for one in map(as_mapping, as_list(body.get("cases")))
    ]
    return (
        Section("", (*facts, ("Seed", cell(body.get("seed"))))),
        Section(
            "Share of cases in which the best of so many texts", (), Table((*_POINT.values(), "Cases"), tuple(shares))
        ),
        Section("Cases", (), Table(("Case", "Texts", "Texts that won", "Harmless texts that won"), tuple(rows))),
    )


def _won(one: Mapping[str, Json], key: str) -> str:
    again = as_list(one.get(f"{key}again"))
    held = f"; {again.count(1)} of {len(again)} fresh asks" if again else ""
    return f"{cell(one.get(f'{key}won'))}{held}"


_POINT: Final[Mapping[str, str]] = {
    "tries": "Texts",
    "found": "Wins once",
    "lifted": "Wins again",
    "harmless": "Harmless",
    "beyond": "Beyond harmless words",
}
"""The columns of a point, as the terminal has them."""

of_curve = Page("calm \N{MIDDLE DOT} what the best of so many texts reaches", lifts, sections=_of_curve)
