"""The page of a record of `calm diagnose`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from calm.models.wire import Json
from calm.results.parts import cell
from calm.results.reports.extras import Section, Table, as_list, as_mapping
from calm.results.reports.pages import Page
from calm.results.sentences import capital
from calm.results.tabular import (
    CAUSES,
    SILENT,
    UNASKED,
    UNREAD,
    WORDS,
    Unread,
    count_in_words,
    rule_in_words,
    silent,
    title_of,
    unread_in_words,
)

MOST: Final = 100
"""Names that are shown one by one; of the others the page says how many."""


def headline(body: Mapping[str, Json]) -> str:
    """Return the diagnosis in a line."""
    asks = as_mapping(body.get("asks_a_case"))
    return title_of(len(as_list(body.get("named"))), _count(asks.get("most")), _count(asks.get("needed")))


def notes(body: Mapping[str, Json]) -> tuple[str, ...]:
    """Return what a reader should know before the names, whole: an end that came too early, and the notes."""
    incomplete = body.get("incomplete")
    return tuple(map(str, [*([f"INCOMPLETE: {incomplete}"] if incomplete else []), *as_list(body.get("notes"))]))


def sections(body: Mapping[str, Json]) -> tuple[Section, ...]:
    """Return the parts of the page."""
    named = [as_mapping(one) for one in as_list(body.get("named"))]
    left = max(0, len(named) - MOST)
    parts = Section("What moves its verdicts", (), Table(("What", "Distance, 0 to 1", "Cases"), tuple(_moves(body))))
    found = [_named(one) for one in named[:MOST]]
    if left:
        found.append(Section("More names", (("Left out here", f"{left}, which are in the record"),)))
    return (Section("", tuple(_facts(body))), parts, *found)


def _facts(body: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    cases, tested = as_mapping(body.get("cases")), as_mapping(body.get("tested"))
    limits, asks = as_mapping(body.get("limits")), as_mapping(body.get("asks_a_case"))
    n, of = _count(cases.get("n")), _count(cases.get("of"))
    yield "Task", cell(body.get("task"))
    yield "Cases", f"{n:,} of {of:,} (--sample)" if n < of else f"{n:,}"
    yield "Asks", cell(body.get("asks"))
    if asks:
        yield "Asks of a case", f"up to {cell(asks.get('most'))}; a name takes about {cell(asks.get('needed'))}"
    if unread := unread_of(body):
        yield UNREAD.capitalize(), unread_in_words(unread)
    yield "Wordings", cell(body.get("wordings"))
    yield "Tested", count_in_words(_count(tested.get("cases")), _count(tested.get("criteria")))
    rate, wrong = limits.get("rate"), limits.get("wrong")
    if isinstance(rate, int | float) and isinstance(wrong, int | float):
        yield "Named is", rule_in_words(rate, wrong)
    for reason, count in as_mapping(body.get("lost")).items():
        yield "Lost", f"{cell(count)}: {reason}"
    yield "Seed", cell(body.get("seed"))
    if body.get("spent"):
        yield "Cost", cell(body.get("spent"))


def unread_of(body: Mapping[str, Json]) -> dict[str, Unread]:
    """Return the verdicts of a record that could not be read, by the kind of wording; an older record has none."""
    kinds = {kind: as_mapping(one) for kind, one in as_mapping(body.get("unread")).items()}
    return {kind: Unread(_count(one.get("count")), _count(one.get("of"))) for kind, one in kinds.items()}


def _moves(body: Mapping[str, Json]) -> Iterator[tuple[str, ...]]:
    parts = as_mapping(body.get("parts"))
    for source in (*WORDS, *(name for name in parts if name not in WORDS)):
        found = as_mapping(parts.get(source))
        words = capital(WORDS.get(source, source))
        if found:
            yield words, cell(found), cell(found.get("n"))
        elif silent(source, unread_of(body)):
            yield words, SILENT, "0"
        else:
            yield words, f"not known: {UNASKED.get(source, 'it was not asked')}", "0"


def _named(one: Mapping[str, Json]) -> Section:
    criterion = one.get("what") == "criterion"
    rows = [("Why", "; ".join(CAUSES.get(str(cause), str(cause)) for cause in as_list(one.get("causes"))))]
    rate = cell({"value": one.get("rate"), "low": one.get("low"), "high": one.get("high")})
    rows.append(("Other verdicts than usual", f"{cell(one.get('dissents'))} of {cell(one.get('asks'))} asks: {rate}"))
    for what, counts in as_mapping(one.get("counts")).items() if not criterion else ():
        said = ", ".join(f"{verdict} {cell(number)}" for verdict, number in as_mapping(counts).items())
        rows.append((f"Said of: {what}" if what else "Said", said))
    if criterion:
        rows.append(("In cases", cell(one.get("cases"))))
    if one.get("question"):
        rows.append(("Question", cell(one.get("question"))))
    rows += [(f"Answer {name}", cell(text)) for name, text in as_mapping(one.get("answers")).items()]
    title = f"{'Vague criterion' if criterion else 'Case'}: {cell(one.get('name'))}"
    return Section(title, (), Table(("Part", "What was found"), tuple(rows)))


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


page = Page(
    "calm \N{MIDDLE DOT} where a judge is unsure",
    headline,
    notes=notes,
    sections=sections,
)
