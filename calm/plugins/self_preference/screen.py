"""
What a record of `calm self-preference` says, for a terminal and for its page: sentences, one table, what limits them.

All is read from the record, with tolerance for what is missing. The tables beside it are on the page alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from textwrap import wrap
from typing import Final, TypeAlias

from calm.core.case import Framing
from calm.core.files import quote
from calm.models.wire import Json
from calm.plugins.self_preference.contrasts import SAME
from calm.plugins.self_preference.pairs import TIES
from calm.plugins.self_preference.pairs import TWINS as MADE
from calm.plugins.self_preference.parts import MEAN
from calm.results.parts import aligned, words_of
from calm.results.reports.charts import finite
from calm.results.reports.extras import Section, Table, as_mapping, objects
from calm.results.reports.pages import Page
from calm.results.sentences import capital, of_judge

Row: TypeAlias = Mapping[str, Json]
Figure: TypeAlias = tuple[float, float, float]
"""Value and bounds."""


MORE_PLACES: Final = 3
"""So many more digits a number may take that would else be shown as 0."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of judges: its head, what it is in words, and how a number of it is shown."""

    head: str
    what: str
    factor: float = 1.0
    places: int = 2

    def shown(self, number: float) -> str:
        """Return a number of this column; one that is not 0 is not shown as 0."""
        shown, places = number * self.factor, self.places
        while places < self.places + MORE_PLACES and abs(shown) > SAME and not float(f"{shown:.{places}f}"):
            places += 1
        return f"{shown:z.{places}f}"


PULL, TWINS = PULLS = "own_pull", "twin_pull"
EXCESS, SCORES, OUTSIDER = "self_preference_excess", "score_excess", "excess_over_outsider"
_PULL = Column("pull", "own less others preferred, of 100 equally good pairs", 100, 0)
_TWINS = Column("on twins", "own words less others' preferred, of 100 pairs that say the same", 100, 0)
_EXCESS = Column("excess", "own taken beyond judges of other families, of 100", 100, 0)
_UNREAD_PAIRS = Column("unread", "own pairs with an unreadable order, of 100; they are in no figure", 100, 0)
_UNREAD = Column("unread", "replies without a readable verdict, of 100; they are in no figure", 100, 0)
COLUMNS: Final[Mapping[str, Mapping[str, Column]]] = {
    "pairwise": {
        PULL: _PULL,
        TWINS: _TWINS,
        EXCESS: _EXCESS,
        "unread": _UNREAD_PAIRS,
        "own": Column("own", "own answers that won, of 100 pairs with one", 100, 0),
        "other": Column("other", "others that won", 100, 0),
        "gap": Column("gap", "agrees more often with people who prefer its own, of 100", 100, 0),
        "gap_excess": Column("gap over others'", "gap less that of judges of other families", 100, 0),
    },
    "score": {
        PULL: _PULL,
        TWINS: _TWINS,
        SCORES: Column("excess", "own over others, beyond judges of other families"),
        OUTSIDER: Column("over outsider", "the same beyond the judge of --outsider alone"),
        "unread": _UNREAD,
        "own": Column("own", "mean score of its own"),
        "received": Column("received", "by others"),
        "given": Column("given", "to others"),
        EXCESS: replace(_EXCESS, head="in pairs"),
    },
    "rubric": {
        PULL: _PULL,
        TWINS: _TWINS,
        EXCESS: _EXCESS,
        "unread": _UNREAD,
        "self_preference_ratio": Column("ratio", "over-credit of own answers beyond theirs (1: fair)"),
        "hspp_self_rubric": Column("HSPP", "over-credit as published"),
        "mra": Column("MRA", "criteria judged right"),
    },
}
"""The columns by kind of verdict, those first that are left out last; pulls and the excess make the sentences."""
MOST: Final = 3
"""So many judges, reasons or notes are told by themselves; the rest is counted."""
ASKED: Final = frozenset(
    {
        "equal_answers",
        "opportunity",
        "committee",
        "committee_size",
        "agreement_filter",
        "slices",
        "framing_differences",
        "perplexity",
    }
)
"""The tables that a screen names, as options or data of a special kind asked for them; the rest is counted."""


def headline(body: Mapping[str, Json]) -> str:
    """
    Return who prefers its own answers, by how much, against whom, how surely and on how much; a sentence a line.

    The pull of own answers decides, and that of own words in twins; where a judge has neither, what it takes beyond
    judges of other families is told, and why this may be quality.
    """
    kind, rows = str(body.get("kind")), objects(body.get("judges"))
    found: dict[str, dict[str, Figure]] = {
        name: {} for name in (*PULLS, SCORES if kind == "score" else EXCESS) if kind in COLUMNS
    }
    unknown: dict[str, list[str]] = {}
    for row in rows:
        told = {name: figure for name in found if (figure := _figure(row, name))}
        pulled = {name: figure for name, figure in told.items() if name in PULLS}
        for name, figure in (pulled or told).items():
            found[name][str(row.get("judge"))] = figure
        if not pulled:
            reasons = as_mapping(row.get("reasons"))
            none = reasons.get(PULL, reasons.get(TWINS))
            why = none if told else reasons.get("own", none or "the record does not say why")
            if why:
                unknown.setdefault(str(why), []).append(str(row.get("judge")))
    lines: list[str] = []
    for name, figures in found.items():
        if figures:
            lines += _told(body, kind, name, figures)
    for why, judges in list(unknown.items())[:MOST]:
        lines.append(f"{_subject(judges, len(rows))}: {why}.")
    if len(unknown) > MOST:
        rest = sum(len(judges) for judges in list(unknown.values())[MOST:])
        lines.append(f"Nor is it known of {rest} more judges; the page says why.")
    return "\n".join(lines or ["The record has no figures of a judge."])


def _told(body: Mapping[str, Json], kind: str, name: str, figures: Mapping[str, Figure]) -> Iterator[str]:
    column = COLUMNS[kind][name]
    counts = {str(row.get("judge")): _estimate(row, name).get("n") for row in objects(body.get("judges"))}
    scale = _scale(body)
    unit = scale["high"] - scale["low"] if scale else 1.0
    sure = sorted(
        (judge for judge, (_, low, high) in figures.items() if low > 0 or high < 0), key=lambda j: -figures[j][0]
    )
    for judge in sure[:1]:
        first = figures[judge]
        value, low, high = (number / (unit if name == SCORES else 1) for number in first)
        alike = _outsiders(body, judge, name)
        same = "" if alike is None else f"; other families prefer the same in {column.shown(alike)} more"
        yield f"{of_judge(judge, name, (value, low, high), kind, scale)}, from {counts[judge]} questions{same})."
        for words, alike in (("Likewise", True), ("The other way round", False)):
            if some := {one: figures[one] for one in sure[1:] if (figures[one][0] * first[0] > 0) == alike}:
                yield f"{words} {_each(column, some)}."
    left = {judge: figure for judge, figure in figures.items() if judge not in sure}
    if left:
        values, lows, highs = zip(*left.values(), strict=True)
        who = (
            "any judge"
            if not sure and len(left) == len(objects(body.get("judges")))
            else _names(list(left), len(figures))
        )
        spread = " to ".join(dict.fromkeys(column.shown(end) for end in (min(values), max(values))))
        bounds = f"bounds {column.shown(min(lows))} to {column.shown(max(highs))}"
        yield f"No preference is proven of {who}: {spread}{_unit(column, body)} ({bounds})."


def _outsiders(body: Mapping[str, Json], judge: str, name: str) -> float | None:
    """Return the pull of judges of other families on the same pairs, where the record has it."""
    kind = {PULL: TIES, TWINS: MADE}.get(name)
    rows = [row for row in _parts(body).get("equal_answers", []) if (row.get("judge"), row.get("of")) == (judge, kind)]
    return finite(rows[0].get("outsiders")) if rows else None


def _each(column: Column, figures: Mapping[str, Figure]) -> str:
    told = [(judge, *map(column.shown, figure)) for judge, figure in figures.items()]
    more = f", and {len(told) - MOST} more" if len(told) > MOST else ""
    return ", ".join(f"{judge}: {value} ({low} to {high})" for judge, value, low, high in told[:MOST]) + more


def _names(judges: Sequence[str], of: int) -> str:
    if len(judges) == of > 1:
        return "all judges"
    return ", ".join(judges) if len(judges) <= MOST else f"the {len(judges)} others" if of else f"{len(judges)} judges"


def _subject(judges: Sequence[str], of: int) -> str:
    return capital(_names(judges, of)) if len(judges) > MOST or len(judges) == of else _names(judges, of)


def _unit(column: Column, body: Mapping[str, Json]) -> str:
    return " of 100" if column.factor == 100 else f" {_points(body)}"


def _points(body: Mapping[str, Json]) -> str:
    scale = _scale(body)
    return f"points of {scale['low']:g} to {scale['high']:g}" if scale else "of a scale from 0 to 1"


def _scale(body: Mapping[str, Json]) -> dict[str, float]:
    ends = {name: finite(as_mapping(body.get("scale")).get(name)) for name in ("low", "high")}
    known = {name: end for name, end in ends.items() if end is not None}
    return known if len(known) == len(ends) and known["low"] < known["high"] else {}


def _estimate(row: Row, name: str) -> dict[str, Json]:
    return as_mapping(as_mapping(row.get("corrected")).get(name))


def _figure(row: Row, name: str) -> Figure | None:
    value, low, high = (finite(_estimate(row, name).get(part)) for part in ("value", "low", "high"))
    return None if value is None or low is None or high is None else (value, low, high)


def columns(body: Mapping[str, Json]) -> dict[str, Column]:
    """Return the columns that have a value for some judge, and that of unread replies where there are any."""
    there = {name for row in objects(body.get("judges")) for name in _known(row)}
    return {name: column for name, column in COLUMNS.get(str(body.get("kind")), {}).items() if name in there}


def _known(row: Row) -> Iterator[str]:
    for name, value in as_mapping(row.get("published")).items():
        if finite(value) is not None and (value or name != "unread"):
            yield name
    yield from (name for name in as_mapping(row.get("corrected")) if _figure(row, name))


def _cell(row: Row, name: str, column: Column) -> str:
    if (found := _figure(row, name)) is not None:
        value, low, high = map(column.shown, found)
        return f"{value} [{low}, {high}]"
    plain = finite(as_mapping(row.get("published")).get(name))
    return "-" if plain is None else column.shown(plain)


def cells(body: Mapping[str, Json], shown: Mapping[str, Column], *more: str) -> list[list[str]]:
    """Return the table: its heads, then a row for each judge; `more` are keys of a judge that stand behind its name."""
    rows = [[str(row.get(key, "-")) for key in ("judge", *more)] for row in objects(body.get("judges"))]
    figures = [[_cell(row, name, column) for name, column in shown.items()] for row in objects(body.get("judges"))]
    heads = ["judge", *more, *(column.head for column in shown.values())]
    return [heads, *([*a, *b] for a, b in zip(rows, figures, strict=True))]


def meanings(body: Mapping[str, Json], shown: Mapping[str, Column]) -> list[tuple[str, str]]:
    """Return what each column means, and what its bounds are worth for so many judges."""
    points = {SCORES, OUTSIDER} if body.get("kind") == "score" else set()
    found = [(c.head, f"{c.what}{f', {_points(body)}' * (name in points)}") for name, c in shown.items()]
    judges = objects(body.get("judges"))
    levels = [level for row in judges for name in shown if (level := finite(_estimate(row, name).get("level")))]
    if levels:
        n, level = len(judges), levels[0]
        chance = f"so up to {2 * n * level:.2g} of {n} fair judges look biased by chance"
        found.append(("[bounds]", f"one-sided at {level:.0%}, {chance}"))
    return found


def limits(body: Mapping[str, Json], shown: Mapping[str, Column]) -> list[str]:
    """Return what limits the figures that are shown: what was lost or left out, who is related to the data, reasons."""
    found: list[str] = []
    if lost := as_mapping(body.get("lost")):
        n, of, why = (lost.get(name) for name in ("n", "of", "why"))
        found.append(f"from a part of the data: {n} of {of} verdicts were lost: {why}")
    if body.get("kind") == "score" and "scale" in body and not _scale(body):
        found.append("The judges' scales differ, so that scores are shares of each judge's own.")
    found += left_out(body.get("left_out"))
    found += [str(leak.get("text", "")) for leak in objects(body.get("leaks"))]
    reasons: dict[str, list[str]] = {}
    for row in objects(body.get("judges")):
        for name, column in shown.items():
            why, there = as_mapping(row.get("reasons")).get(name), _cell(row, name, column) != "-"
            if isinstance(why, str) and name not in PULLS and not (name == EXCESS and there):
                missing = "" if there else "none: "
                reasons.setdefault(f"{column.head}: {missing}{why}", []).append(str(row.get("judge")))
    found += [f"{_subject(judges, len(objects(body.get('judges'))))}: {why}" for why, judges in reasons.items()]
    return [text for text in found if text]


MOST_NAMED: Final = 5
"""So many authors whose answers are left out are named; the file holds the counts of all."""


def left_out(counts: Json | Mapping[str, int]) -> list[str]:
    """Return whose answers are in no figure, as one line."""
    if not isinstance(counts, Mapping) or not counts:
        return []
    named = [f"{author} ({count} case{'s' * (count != 1)})" for author, count in list(counts.items())[:MOST_NAMED]]
    more = f" and {len(counts) - MOST_NAMED} more authors" if len(counts) > MOST_NAMED else ""
    return [f"Left out, as their family is stated as unknown: answers of {', '.join(named)}{more}."]


VOTES: Final = {
    "each": "; each vote of a person is a label",
    "plurality": "; the label is what most people say",
    "majority": "; the label is what more than half of the people say",
}


def title(body: Mapping[str, Json]) -> str:
    """Return what was judged: how many questions, of how many, and the kind of verdicts."""
    asked, items = as_mapping(body.get("questions")), body.get("items")
    drawn = f" of {asked.get('of')}" if asked.get("of") != asked.get("n") else ""
    noun = "question" if items == 1 and not drawn else "questions"
    votes = VOTES.get(str(body.get("votes")), "")
    return f"{items}{drawn} {noun}{' (--sample)' if drawn else ''}, {body.get('kind')} verdicts{votes}"


def beside(body: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Return what the tables beside the judges say, by name: agreement, ranking, and what options asked for."""
    parts = _parts(body)
    yield from _together(body, parts.get("ranking", []))
    yield from _framed(body, parts.get("self_evaluation_tests", []))
    likely = {str(row.get("judge")): row.get("own_less_others") for row in parts.get("perplexity", [])}
    known = {
        judge: value for judge, told in likely.items() if (value := finite(as_mapping(told).get("value"))) is not None
    }
    if known:
        each = ", ".join(f"{judge} {value:.2f}" for judge, value in known.items())
        yield "Log-perplexity, own less others'", f"{each} nats a token (below 0: its own are likelier to it)"
    rows = parts.get("self_enhancement", [])
    errors = {str(row.get("judge")): finite(row.get("self_enhancement_error")) for row in rows}
    if errors:
        each = ", ".join(f"{judge} {'-' if error is None else f'{error:+.3f}'}" for judge, error in errors.items())
        yield "CALM's Err_SE, own answers scored by itself / by the others - 1", each
    for name in dict.fromkeys(str(row.get("committee")) for row in parts.get("committee", [])):
        some = [row for row in parts["committee"] if row.get("committee") == name]
        alone, together = (_mean(some, f"hspp_instance_self{end}") for end in ("", "_committee"))
        yield (
            f"{capital(name)} of {len(some)}",
            f"HSPP of comparisons {alone} for its members, {together} for all together",
        )
    for way in dict.fromkeys(str(row.get("by")) for row in parts.get("slices", [])):
        some = [row for row in parts["slices"] if (row.get("by"), row.get("judge")) == (way, "mean")]
        by = sorted(
            (v, str(row.get("slice"))) for row in some if (v := finite(row.get("hspp_rubric_self"))) is not None
        )
        if by:
            (low, least), (high, most) = by[0], by[-1]
            yield f"HSPP by {way}", f"{low:.2f} ({least}) to {high:.2f} ({most})"


def _parts(body: Mapping[str, Json]) -> dict[str, list[dict[str, Json]]]:
    return {str(part.get("name")): objects(part.get("rows")) for part in objects(body.get("parts"))}


def _mean(rows: Sequence[Row], name: str) -> str:
    values = [value for row in rows if (value := finite(row.get(name))) is not None]
    return f"{fmean(values):.2f}" if values else "not known"


def _together(body: Mapping[str, Json], ranked: Sequence[Row]) -> Iterator[tuple[str, str]]:
    panel = as_mapping(body.get("panel"))
    agreed = {name: finite(value) for name, value in as_mapping(panel.get("agreement")).items()}
    if values := [f"{name} {value:.2f}" for name, value in agreed.items() if value is not None]:
        yield "Agreement of the judges", ", ".join(values)
    places = [tuple(finite(row.get(name)) for name in ("rank_mean", "rank_mean_with_own")) for row in ranked]
    known = sorted((place[0], str(row.get("author"))) for place, row in zip(places, ranked, strict=True) if place[0])
    if known:
        moved = sum(one != other for one, other in places)
        own = f"own verdicts change {f'{moved} of {len(ranked)} places' if moved else 'no place'}"
        firsts: dict[str, list[str]] = {}
        for one in objects(panel.get("leave_one_out")):
            firsts.setdefault(str(one.get("best")), []).append(str(one.get("judge")))
        others = [f"{best} is first without {_names(without, 0)}" for best, without in firsts.items()]
        changed = [text for best, text in zip(firsts, others, strict=True) if best != known[0][1]]
        yield "Best authors", "; ".join([", ".join(name for _, name in known[:MOST]), own, *changed])


def _framed(body: Mapping[str, Json], tests: Sequence[Row]) -> Iterator[tuple[str, str]]:
    dimensions = list(dict.fromkeys(str(row["dimension"]) for row in tests if row.get("dimension")))
    if len(dimensions) > 1:
        yield "Dimensions", f"{', '.join(d for d in dimensions if d != MEAN)}; the figures above are of their mean"
    by: dict[str, dict[str, float]] = {}
    for row in tests:
        value = finite(as_mapping(row.get("difference")).get("value"))
        whole = row.get("dimension") in (None, dimensions[-1] if dimensions else None)
        if row.get("figure") == "own minus received" and whole and value is not None:
            by.setdefault(str(row.get("judge")), {})[str(row.get("framing"))] = value
    usual = Framing.STANDARD.value
    both = {
        judge: (told[usual], next(value for framing, value in told.items() if framing != usual))
        for judge, told in by.items()
        if usual in told and len(told) > 1
    }
    if both:
        judge = max(both, key=lambda name: abs(both[name][0] - both[name][1]))
        first, second = both[judge]
        changed = f"own less received changes most for {judge}, {first:.2f} to {second:.2f} {_points(body)}"
        yield "Asked the other way round", changed


def summary(body: Mapping[str, Json], width: int, *, page: str | None = None, record: str | None = None) -> str:
    """
    Return one screen: the sentences, the table, what limits it, and where the rest is and what to do next.

    `page` and `record` are the files that the command writes.
    """
    shown = columns(body)
    lines = aligned(cells(body, shown))
    while len(shown) > 1 and max(map(len, lines)) > width:
        shown.popitem()
        lines = aligned(cells(body, shown))
    keys = "; ".join(f"{head}: {what}" for head, what in meanings(body, shown))
    told = limits(body, shown)
    more = [f"{len(told) - MOST} more notes are on the page."] if len(told) > MOST else []
    where = "with --report FILE.html, or -o FILE.json for the record"
    if page:
        where = f"open {page}"
    elif record:
        where = f"to see it, calm report {quote(record)} -o page.html"
    parts = _parts(body)
    titles = [words_of(name).title for name in parts if name in ASKED]
    tables = f"{len(parts) - len(titles)}{' other' * bool(titles)} tables"
    rest = f"More ({', '.join([*titles, tables])}, heat maps): {where}"
    texts = [" ".join(f"{name}: {text}." for name, text in beside(body)), *told[:MOST], *more, rest, next_step(body)]
    paragraphs = [title(body), *headline(body).splitlines(), "", *lines, f"{keys}.", *texts]
    table = set(lines)
    return "\n".join(
        piece
        for line in paragraphs
        for piece in (
            [line] if line in table or not line else wrap(line, width, break_long_words=False, break_on_hyphens=False)
        )
    )


def next_step(body: Mapping[str, Json]) -> str:
    """Return what to do next, by what is known of the judges."""
    pulls = [
        (str(row.get("judge")), found)
        for row in objects(body.get("judges"))
        for name in PULLS
        if (found := _figure(row, name)) is not None
    ]
    if fond := list(dict.fromkeys(judge for judge, (_, low, _) in pulls if low > 0)):
        return f"Next: let other judges, or a panel, judge the answers of {_names(fond, 0)}."
    if not pulls:
        return (
            "Next: calm answer CASES --with A.toml,B.toml,C.toml --twins -o twins.jsonl, and judge these: 10 questions "
            "at least, 80 decide."
        )
    return "Next: claim own_pull in CI: pytest suites/ --calm-judge=JUDGE.toml --calm-peers=RECORD.json"


def sections(body: Mapping[str, Json]) -> tuple[Section, ...]:
    """Return what stands first on the page: the table of judges, and what its columns mean."""
    shown = columns(body)
    heads, *rows = cells(body, shown, "family")
    if not shown:
        return ()
    table = Table(tuple(map(capital, heads)), tuple(map(tuple, rows)))
    return (
        Section("Each judge", (), table),
        Section("What the columns mean", tuple((capital(head), what) for head, what in meanings(body, shown))),
        Section("All judges together", tuple(beside(body))),
    )


page = Page(
    "calm \N{MIDDLE DOT} whether judges prefer their own answers",
    headline=lambda body: f"{headline(body)}\n{next_step(body)}\n{title(body)}.",
    notes=lambda body: tuple(limits(body, columns(body))),
    sections=sections,
)
