"""A diagnosis: of a judge that was asked, or of the record of a run; as JSON, and in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from calm.core.case import Case
from calm.core.reasons import in_words as reasons_in_words
from calm.core.verdict import Criteria, Scale, Verdict, readable
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.plugins.diagnose.asking import BASE, PROMPTS, Asked, Cell, Unit, repeats_itself, units_of
from calm.plugins.diagnose.naming import Found, Limits, Named, Part, named, split
from calm.plugins.diagnose.sources import kept_in
from calm.results.audit import Audit
from calm.results.parts import cell
from calm.results.records import family_of
from calm.results.reports.extras import Section, Table, as_list, as_mapping
from calm.results.reports.pages import Page
from calm.results.sentences import capital
from calm.results.study_provenance import numbers, plain, plain_fields
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
from calm.results.wording import clipped
from calm.statistics.dissent import least_asks


def recorded(audit: Audit, cases: Mapping[str, Case]) -> Asked:
    """
    Return what a run asked of each case as it is, and with its judge's prompt in other words.

    The clean asks of the probes without an edit are repeats. The suite `judge-prompt` asks about other wordings, if it
    was run. `cases` gives the criteria their texts; a criterion of a case that is not among them has a name of its own.

    Raises:
        ConfigError: the record is damaged, or no case was asked twice.
    """
    if family_of(audit.judge.task) is None:
        raise ConfigError(f"the record: expected a task that calm knows, got task={audit.judge.task!r}")
    cells: dict[str, dict[str, tuple[Verdict, ...]]] = {}
    clusters: dict[str, str] = {}
    wordings = {BASE, *(edit.label for edit in PROMPTS)}
    for (case, wording, _), (row, verdicts) in kept_in(audit).items():
        if wording in wordings:
            cells.setdefault(case, {}).setdefault(wording, verdicts)  # as it is; its swap comes later
            clusters[case] = row.cluster
    units: list[Unit] = []
    for name, said in sorted(cells.items()):
        found = [Cell(BASE, "base", said[BASE], len(said[BASE]))]
        found += [Cell(label, "prompt", told, len(told)) for label, told in sorted(said.items()) if label != BASE]
        texts = {one.id: one.text for one in cases[name].criteria} if name in cases else {}
        met = dict.fromkeys(one for v in said[BASE] if isinstance(v, Criteria) for one in v.met)
        criteria = {one: texts.get(one, f"{one} of case {name}") for one in met}
        units += units_of(name, clusters[name], found, criteria)
    if not any(len(unit.verdicts) > 1 for unit in units):
        raise ConfigError(
            "the record holds no case that was asked twice; run the gate with --calm-repeats=20+1 and "
            "suites/test_consistency.py, or diagnose the judge itself"
        )
    asked = sum(len(told) for said in cells.values() for told in said.values())
    return Asked(tuple(units), tuple(units), repeats_itself(units), asked)


SCHEMA: Final = "calm-diagnose/1"
SHOWN: Final = 160
"""So many characters of a text are shown in a terminal."""
KEPT: Final = 600
"""So many are kept in a record."""
FROZEN: Final = (
    "no repeat ever differed, so each wording counts as one ask: of a judge that repeats itself, only other wordings "
    "show noise (--wordings)"
)


@dataclass(frozen=True, slots=True)
class About:
    """Whose verdicts are diagnosed: the judge, of how many cases they are a sample, and the cases by id."""

    judge: str
    task: str
    scale: Scale
    of: int
    texts: Mapping[str, Case]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found, and what it rests on."""

    about: About
    asked: Asked
    parts: tuple[Part, ...]
    found: Found
    limits: Limits
    seed: int

    @property
    def cases(self) -> int:
        """How many cases have verdicts."""
        return len({unit.case for unit in self.asked.units})

    @property
    def wordings(self) -> tuple[str, ...]:
        """The names of the wordings in which they were asked."""
        return tuple(dict.fromkeys(cell.wording for unit in self.asked.units for cell in unit.cells))

    @property
    def unread(self) -> dict[str, Unread]:
        """The verdicts that could not be read, by the kind of wording: of a rubric, each criterion counts."""
        cells = [cell for unit in self.asked.units for cell in unit.cells]
        kinds = dict.fromkeys(cell.kind for cell in cells)
        said = {kind: [verdict for cell in cells if cell.kind == kind for verdict in cell.verdicts] for kind in kinds}
        return {kind: Unread(sum(not readable(v) for v in told), len(told)) for kind, told in said.items()}

    @property
    def most_asks(self) -> int:
        """How often the case that was asked most was asked; of a judge that repeats itself, in how many wordings."""
        units = self.asked.units
        return max((len(unit.once.cells if self.asked.frozen else unit.verdicts) for unit in units), default=0)

    @property
    def needed(self) -> int:
        """How many asks it takes before one case alone can be named."""
        tests = self.found.cases + self.found.criteria
        return least_asks(self.limits.rate, self.limits.wrong / tests) if tests else 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before the names."""
        notes = [FROZEN] if self.asked.frozen else []
        if not self.found.named and self.most_asks < self.needed:
            notes.append(
                f"a case was asked up to {self.most_asks} times; about {self.needed} are needed before one case alone "
                "can be named"
            )
        return tuple(notes)


def diagnosis(about: About, asked: Asked, limits: Limits, seed: int) -> Diagnosis:
    """Return what the verdicts of a judge show; the parts rest on the first asks, which all cases have."""
    found = named(asked.first, asked.units, about.scale, limits, frozen=asked.frozen, seed=seed)
    return Diagnosis(about, asked, split(asked.first, about.scale), found, limits, seed)


def _few(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def in_words(one: Diagnosis) -> str:
    """Return a diagnosis for a terminal."""
    asked, found = one.asked, one.found
    taken = f"{one.cases} of {one.about.of} cases (--sample)" if one.cases < one.about.of else _few(one.cases, "case")
    lines = [f"{one.about.judge} ({one.about.task}): {taken}, {_few(len(one.wordings), 'wording')}, {asked.asked} asks"]
    lines += [f"  {WORDS[part.source]:38} {_mean(part, one.unread)}" for part in one.parts]
    lines.append(f"  {UNREAD:38} {unread_in_words(one.unread)}")
    if asked.incomplete:
        lines.append(f"  INCOMPLETE: {asked.incomplete}")
    lines += [f"note: {note}" for note in one.notes]
    lines.append(
        f"named: {len(found.named)}; tested: {count_in_words(found.cases, found.criteria)}, for "
        f"{rule_in_words(one.limits.rate, one.limits.wrong)}"
    )
    for name in found.named:
        lines += ["", *_named(name, one.about.texts)]
    return "\n".join(lines)


def _mean(part: Part, unread: Mapping[str, Unread]) -> str:
    if part.estimate is None and silent(part.source, unread):
        return SILENT
    if part.estimate is None:
        return f"not known: {UNASKED[part.source]}"
    found = part.estimate
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}], n={found.n}"


def _named(one: Named, texts: Mapping[str, Case]) -> list[str]:
    title = f"vague criterion: {clipped(one.name, SHOWN)!r}" if one.what == "criterion" else f"case {one.name}"
    parts = ", ".join(f"{source} {value:+.2f}" for source, value in one.parts.items() if value is not None)
    lines = [
        f"{title}: {'; '.join(CAUSES[cause] for cause in one.causes)}",
        f"  another verdict than usual in {one.dissents:.3g} of {one.asks} asks: {one.rate:.2f} "
        f"[{one.low:.2f}, {one.high:.2f}], p={one.p:.2g}; {parts}",
    ]
    if one.what == "criterion":
        shown = ", ".join(one.cases[:5]) + (" ..." if len(one.cases) > 5 else "")
        lines.append(f"  in {_few(len(one.cases), 'case')}: {shown}")
        return lines
    for criterion, counts in one.counts.items():
        said = ", ".join(f"{verdict} {number}" for verdict, number in counts.items())
        lines.append(f"  {clipped(criterion, SHOWN) + ': ' if criterion else 'said: '}{said}")
    case = texts.get(one.name)
    if case is not None:
        lines.append(f"  question: {clipped(' '.join(case.question.split()), SHOWN)}")
        lines += [f"  answer {answer.id}: {clipped(' '.join(answer.text.split()), SHOWN)}" for answer in case.shown]
    return lines


def to_json(one: Diagnosis, *, spent: Json = None) -> dict[str, Json]:
    """Return a diagnosis as its record; `spent` is what it cost, in words."""
    return {
        "schema": SCHEMA,
        "judge": one.about.judge,
        "task": one.about.task,
        "seed": one.seed,
        "cases": {"n": one.cases, "of": one.about.of},
        "wordings": list(one.wordings),
        "asks": one.asked.asked,
        "asks_a_case": {"most": one.most_asks, "needed": one.needed},
        "lost": {**reasons_in_words(one.asked.lost)},
        "incomplete": str(one.asked.incomplete),
        "repeats_itself": one.asked.frozen,
        "limits": asdict(one.limits),
        "parts": _parts(one.parts),
        "unread": plain(one.unread),
        "tested": {"cases": one.found.cases, "criteria": one.found.criteria},
        "named": [_record(name, one.about.texts) for name in one.found.named],
        "notes": list(one.notes),
        "spent": spent,
    }


def _parts(parts: Sequence[Part]) -> dict[str, Json]:
    return {part.source: numbers(part.estimate) for part in parts}


def _record(one: Named, texts: Mapping[str, Case]) -> Json:
    case = texts.get(one.name) if one.what == "case" else None
    return {
        **plain_fields(one),
        "rate": round(one.rate, 6),
        "p": one.p,
        "p_wording": dict(one.p_wording.items()),
        "bounds": _parts(one.bounds),
        "question": None if case is None else case.question[:KEPT],
        "answers": {} if case is None else {answer.id: answer.text[:KEPT] for answer in case.shown},
    }


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
    found = [_section_of(one) for one in named[:MOST]]
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


def _section_of(one: Mapping[str, Json]) -> Section:
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
