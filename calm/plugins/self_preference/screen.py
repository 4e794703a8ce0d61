"""
What a record of `calm self-preference` says, for a terminal and for its page: sentences, one table, what limits them.

All is read from the record, with tolerance for what is missing. The tables beside it are on the page alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from calm.results.reports.extras import Section, Table, as_list, as_mapping, objects
from calm.results.reports.pages import Page
from calm.results.sentences import capital, of_judge

Row: TypeAlias = Mapping[str, Json]
Figure: TypeAlias = tuple[float, ...]
"""A value, and its bounds if it has some; empty where a record has no such numbers."""
MORE_PLACES: Final = 3
"""So many more digits a number may take that would else be shown as 0."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of judges: its head, what it is in words, and how a number of it is shown."""

    head: str
    what: str
    factor: float = 100
    places: int = 0

    def shown(self, number: float) -> str:
        """Return a number of this column; one that is not 0 is not shown as 0."""
        shown, places = number * self.factor, self.places
        while places < self.places + MORE_PLACES and abs(shown) > SAME and not float(f"{shown:.{places}f}"):
            places += 1
        return f"{shown:z.{places}f}"


PULL, TWINS = PULLS = "own_pull", "twin_pull"
EXCESS, SCORES, OUTSIDER = "self_preference_excess", "score_excess", "excess_over_outsider"
_FIRST: Final = {
    PULL: Column("pull", "own less others preferred, of 100 equally good pairs"),
    TWINS: Column("on twins", "own words less others' preferred, of 100 pairs that say the same"),
}
_EXCESS = Column("excess", "own taken beyond judges of other families, of 100")
_UNREAD = Column("unread", "replies without a readable verdict, of 100; they are in no figure")
COLUMNS: Final[Mapping[str, Mapping[str, Column]]] = {
    "pairwise": {
        **_FIRST,
        EXCESS: _EXCESS,
        "unread": Column("unread", "own pairs with an unreadable order, of 100; they are in no figure"),
        "own": Column("own", "own answers that won, of 100 pairs with one"),
        "other": Column("other", "others that won"),
        "gap": Column("gap", "agrees more often with people who prefer its own, of 100"),
        "gap_excess": Column("gap over others'", "gap less that of judges of other families"),
    },
    "score": {
        **_FIRST,
        SCORES: Column("excess", "own over others, beyond judges of other families", 1, 2),
        OUTSIDER: Column("over outsider", "the same beyond the judge of --outsider alone", 1, 2),
        "unread": _UNREAD,
        "own": Column("own", "mean score of its own", 1, 2),
        "received": Column("received", "by others", 1, 2),
        "given": Column("given", "to others", 1, 2),
        EXCESS: replace(_EXCESS, head="in pairs"),
    },
    "rubric": {
        **_FIRST,
        EXCESS: _EXCESS,
        "unread": _UNREAD,
        "self_preference_ratio": Column("ratio", "over-credit of own answers beyond theirs (1: fair)", 1, 2),
        "hspp_self_rubric": Column("HSPP", "over-credit as published", 1, 2),
        "mra": Column("MRA", "criteria judged right", 1, 2),
    },
}
"""The columns by kind of verdict, those first that are left out last; pulls and the excess make the sentences."""
MOST: Final = 3
"""So many judges, reasons or notes are told by themselves; the rest is counted."""
_BY_OPTION: Final = ("committee", "committee_size", "agreement_filter", "slices", "framing_differences", "perplexity")
ASKED: Final = ("equal_answers", "opportunity", *_BY_OPTION)
"""The tables that a screen names, as options or data of a special kind asked for them; the rest is counted."""


def numbers(node: Json | Row, *names: str) -> Figure:
    """Return the numbers that an object holds under names; nothing unless all of them are there."""
    held = node if isinstance(node, Mapping) else {}
    found = tuple(value for name in names if (value := finite(held.get(name))) is not None)
    return found if len(found) == len(names) else ()


def figure(row: Row, name: str) -> Figure:
    """Return a figure of a judge: a corrected one with its bounds, else a published one."""
    said = as_mapping(row.get("corrected")).get(name)
    return numbers(said, "value", "low", "high") or numbers(row.get("published"), name)


def scale_of(body: Row) -> dict[str, float]:
    """Return the ends of the scale that all judges share; empty where they share none."""
    ends = numbers(body.get("scale"), "low", "high")
    return dict(zip(("low", "high"), ends, strict=True)) if ends and ends[0] < ends[1] else {}


def headline(body: Row) -> str:
    """
    Return who prefers its own answers, by how much, against whom, how surely and on how much; a sentence a line.

    The pull of own answers decides, and that of own words in twins; where a judge has neither, what it takes beyond
    judges of other families is told, and why this may be quality.
    """
    kind, rows = str(body.get("kind")), objects(body.get("judges"))
    names = (*PULLS, SCORES if kind == "score" else EXCESS) if kind in COLUMNS else ()
    found: dict[str, dict[str, Figure]] = {name: {} for name in names}
    unknown: list[tuple[str, str]] = []
    for row in rows:
        judge, reasons = str(row.get("judge")), as_mapping(row.get("reasons"))
        told = {name: one for name in names if len(one := figure(row, name)) > 1}
        pulled = {name: one for name, one in told.items() if name in PULLS}
        for name, one in (pulled or told).items():
            found[name][judge] = one
        none = reasons.get(PULL, reasons.get(TWINS))
        if (why := none if told else reasons.get("own", none or "the record does not say why")) and not pulled:
            unknown.append((judge, str(why)))
    lines = [line for name, figures in found.items() if figures for line in _told(body, kind, name, figures)]
    grouped = _by_reason(unknown, len(rows))
    lines += [f"{why}." for why in list(grouped)[:MOST]]
    if rest := sum(list(grouped.values())[MOST:]):
        lines.append(f"Nor is it known of {rest} more judges; the page says why.")
    return "\n".join(lines or ["The record has no figures of a judge."])


def _told(body: Row, kind: str, name: str, figures: Mapping[str, Figure]) -> Iterator[str]:
    column, scale, rows = COLUMNS[kind][name], scale_of(body), objects(body.get("judges"))
    unit = scale["high"] - scale["low"] if scale and name == SCORES else 1.0
    left = {judge: one for judge, one in figures.items() if one[1] <= 0 <= one[2]}
    sure = sorted(figures.keys() - left.keys(), key=lambda judge: (-figures[judge][0], list(figures).index(judge)))
    for judge in sure[:1]:
        value, low, high = (number / unit for number in figures[judge])
        [n, *_] = [_corrected(row, name).get("n") for row in rows if str(row.get("judge")) == judge][::-1]
        equal = [row for row in _parts(body).get("equal_answers", []) if row.get("judge") == judge]
        alike = [numbers(row, "outsiders") for row in equal if row.get("of") == {PULL: TIES, TWINS: MADE}.get(name)]
        same = "".join(f"; other families prefer the same in {column.shown(*one)} more" for one in alike[:1] if one)
        yield f"{of_judge(judge, name, (value, low, high), kind, scale)}, from {n} questions{same})."
        for words, same_side in (("Likewise", True), ("The other way round", False)):
            some = [one for one in sure[1:] if (figures[one][0] * figures[judge][0] > 0) == same_side]
            told = ["{}: {} ({} to {})".format(one, *map(column.shown, figures[one])) for one in some[:MOST]]
            more = f", and {len(some) - MOST} more" if len(some) > MOST else ""
            if told:
                yield f"{words} {', '.join(told)}{more}."
    if left:
        values, lows, highs = zip(*left.values(), strict=True)
        who = "any judge" if len(left) == len(rows) else _names(list(left), len(figures))
        spread = " to ".join(dict.fromkeys(column.shown(end) for end in (min(values), max(values))))
        bounds = f"bounds {column.shown(min(lows))} to {column.shown(max(highs))}"
        of = " of 100" if column.factor == 100 else f" {_points(body)}"
        yield f"No preference is proven of {who}: {spread}{of} ({bounds})."


def _names(judges: Sequence[str], of: int) -> str:
    if len(judges) == of > 1:
        return "all judges"
    return ", ".join(judges) if len(judges) <= MOST else f"the {len(judges)} others" if of else f"{len(judges)} judges"


def _by_reason(said: Iterable[tuple[str, str]], of: int) -> dict[str, int]:
    """Return each reason once, after the judges that it is about, and how many these are."""
    whose: dict[str, list[str]] = {}
    for judge, why in said:
        whose.setdefault(why, []).append(judge)
    names = {why: _names(judges, of) for why, judges in whose.items()}
    whole = {why: len(judges) > MOST or len(judges) == of for why, judges in whose.items()}
    return {f"{capital(names[why]) if whole[why] else names[why]}: {why}": len(who) for why, who in whose.items()}


def _points(body: Row) -> str:
    return "points of {low:g} to {high:g}".format(**scale) if (scale := scale_of(body)) else "of a scale from 0 to 1"


def _corrected(row: Row, name: str) -> dict[str, Json]:
    return as_mapping(as_mapping(row.get("corrected")).get(name))


def _parts(body: Row) -> dict[str, list[dict[str, Json]]]:
    return {str(part.get("name")): objects(part.get("rows")) for part in objects(body.get("parts"))}


def columns(body: Row) -> dict[str, Column]:
    """Return the columns that have a value for some judge, and that of unread replies where there are any."""
    rows, known = objects(body.get("judges")), COLUMNS.get(str(body.get("kind")), {})
    there = {name: [one for row in rows if (one := figure(row, name))] for name in known}
    return {name: known[name] for name, some in there.items() if (any(map(any, some)) if name == "unread" else some)}


def cells(body: Row, shown: Mapping[str, Column], *more: str) -> list[list[str]]:
    """Return the table: its heads, then a row for each judge; `more` are keys of a judge that stand behind its name."""
    table = [["judge", *more, *(column.head for column in shown.values())]]
    for row in objects(body.get("judges")):
        table.append([str(row.get(key, "-")) for key in ("judge", *more)])
        for name, column in shown.items():
            value, *bounds = [column.shown(number) for number in figure(row, name)] or ["-"]
            table[-1].append(f"{value} [{', '.join(bounds)}]" if bounds else value)
    return table


def meanings(body: Row, shown: Mapping[str, Column]) -> list[tuple[str, str]]:
    """Return what each column means, and what its bounds are worth for so many judges."""
    points = {SCORES, OUTSIDER} if body.get("kind") == "score" else set()
    found = [(c.head, f"{c.what}{f', {_points(body)}' * (name in points)}") for name, c in shown.items()]
    judges = objects(body.get("judges"))
    levels = [level for row in judges for name in shown for level in numbers(_corrected(row, name), "level") if level]
    if levels:
        n, level = len(judges), levels[0]
        chance = f"so up to {2 * n * level:.2g} of {n} fair judges look biased by chance"
        found.append(("[bounds]", f"one-sided at {level:.0%}, {chance}"))
    return found


def limits(body: Row, shown: Mapping[str, Column]) -> list[str]:
    """Return what limits the figures that are shown: what was lost or left out, who is related to the data, reasons."""
    found, rows = [], objects(body.get("judges"))
    if lost := as_mapping(body.get("lost")):
        n, of, why = (lost.get(name) for name in ("n", "of", "why"))
        found.append(f"from a part of the data: {n} of {of} verdicts were lost: {why}")
    if body.get("kind") == "score" and "scale" in body and not scale_of(body):
        found.append("The judges' scales differ, so that scores are shares of each judge's own.")
    found += [*_by_reason(_alone(body), len(rows)), *left_out(body.get("left_out"))]
    found += [str(leak.get("text", "")) for leak in objects(body.get("leaks"))]
    reasons: list[tuple[str, str]] = []
    for row in rows:
        for name, column in shown.items():
            why, there = as_mapping(row.get("reasons")).get(name), figure(row, name)
            if isinstance(why, str) and name not in PULLS and not (name == EXCESS and there):
                reasons.append((str(row.get("judge")), f"{column.head}: {'' if there else 'none: '}{why}"))
    return [text for text in (*found, *_by_reason(reasons, len(rows))) if text]


def _alone(body: Row) -> Iterator[tuple[str, str]]:
    """Return what to add for a judge of whose pairs one family of judges, or none, is related to neither author."""
    of = {str(row.get("judge")): str(row.get("family")) for row in objects(body.get("judges"))}
    written = [name for one in objects(body.get("matrices"))[:1] for name in as_list(one.get("generators"))]
    authors = {str(as_mapping(body.get("families")).get(str(name))) for name in written}
    for judge in filter(written.__contains__, of):
        outside = {one for one in of.values() if one != of[judge] and authors - {one, of[judge]}}
        if not outside:
            yield judge, "no other family of judges to compare with; add a judge of one more family."
        elif len(outside) == 1:
            why = "whose dislikes look like preference; add a judge of one more family."
            yield judge, f"one other family of judges alone to compare with, {why}"


MOST_NAMED: Final = 5
"""So many authors whose answers are left out are named; the file holds the counts of all."""


def left_out(counts: Json | Mapping[str, int]) -> list[str]:
    """Return whose answers are in no figure, as one line."""
    known = counts if isinstance(counts, Mapping) else {}
    named = [f"{author} ({count} case{'s' * (count != 1)})" for author, count in list(known.items())[:MOST_NAMED]]
    more = f" and {len(known) - MOST_NAMED} more authors" if len(known) > MOST_NAMED else ""
    return [f"Left out, as their family is stated as unknown: answers of {', '.join(named)}{more}."] if named else []


VOTES: Final = {
    "each": "; each vote of a person is a label",
    "plurality": "; the label is what most people say",
    "majority": "; the label is what more than half of the people say",
}


def title(body: Row) -> str:
    """Return what was judged: how many questions, of how many, and the kind of verdicts."""
    asked, items = as_mapping(body.get("questions")), body.get("items")
    drawn = f" of {asked.get('of')}" if asked.get("of") != asked.get("n") else ""
    noun = "question" if items == 1 and not drawn else "questions"
    sampled = " (--sample)" if drawn else ""
    return f"{items}{drawn} {noun}{sampled}, {body.get('kind')} verdicts{VOTES.get(str(body.get('votes')), '')}"


def beside(body: Row) -> Iterator[tuple[str, str]]:
    """Return what the tables beside the judges say, by name: agreement, ranking, and what options asked for."""
    parts, panel = _parts(body), as_mapping(body.get("panel"))
    agreed = as_mapping(panel.get("agreement"))
    if values := [f"{name} {value:.2f}" for name in agreed for value in numbers(agreed, name)]:
        yield "Agreement of the judges", ", ".join(values)
    yield from _ranked(parts.get("ranking", []), objects(panel.get("leave_one_out")))
    yield from _framed(body, parts.get("self_evaluation_tests", []))
    likely = {
        str(row.get("judge")): numbers(row.get("own_less_others"), "value") for row in parts.get("perplexity", [])
    }
    if each := ", ".join(f"{judge} {value:.2f}" for judge, told in likely.items() for value in told):
        yield "Log-perplexity, own less others'", f"{each} nats a token (below 0: its own are likelier to it)"
    errors = {str(row.get("judge")): row.get("self_enhancement_error") for row in parts.get("self_enhancement", [])}
    if errors:
        told = {judge: "-" if (error := finite(said)) is None else f"{error:+.3f}" for judge, said in errors.items()}
        each = ", ".join(f"{judge} {error}" for judge, error in told.items())
        yield "CALM's Err_SE, own answers scored by itself / by the others - 1", each
    for name in dict.fromkeys(str(row.get("committee")) for row in parts.get("committee", [])):
        some = [row for row in parts["committee"] if row.get("committee") == name]
        ends = "hspp_instance_self", "hspp_instance_self_committee"
        means = ([value for row in some for value in numbers(row, end)] for end in ends)
        alone, together = (f"{fmean(values):.2f}" if values else "not known" for values in means)
        yield (
            f"{capital(name)} of {len(some)}",
            f"HSPP of comparisons {alone} for its members, {together} for all together",
        )
    for way in dict.fromkeys(str(row.get("by")) for row in parts.get("slices", [])):
        some = [row for row in parts["slices"] if (row.get("by"), row.get("judge")) == (way, "mean")]
        if by := sorted((value, str(row.get("slice"))) for row in some for value in numbers(row, "hspp_rubric_self")):
            yield f"HSPP by {way}", "{:.2f} ({}) to {:.2f} ({})".format(*by[0], *by[-1])


def _ranked(ranked: Sequence[Row], without: Sequence[Row]) -> Iterator[tuple[str, str]]:
    known = sorted((*place, str(row.get("author"))) for row in ranked if any(place := numbers(row, "rank_mean")))
    if known:
        best = [str(name) for _, name in known[:MOST]]
        moved = sum(numbers(row, "rank_mean") != numbers(row, "rank_mean_with_own") for row in ranked)
        own = f"own verdicts change {f'{moved} of {len(ranked)} places' if moved else 'no place'}"
        firsts: dict[str, list[str]] = {}
        for one in without:
            firsts.setdefault(str(one.get("best")), []).append(str(one.get("judge")))
        changed = [f"{one} is first without {_names(who, 0)}" for one, who in firsts.items() if one != best[0]]
        yield "Best authors", "; ".join([", ".join(best), own, *changed])


def _framed(body: Row, tests: Sequence[Row]) -> Iterator[tuple[str, str]]:
    dimensions = list(dict.fromkeys(str(row["dimension"]) for row in tests if row.get("dimension")))
    if len(dimensions) > 1:
        yield "Dimensions", f"{', '.join(d for d in dimensions if d != MEAN)}; the figures above are of their mean"
    by: dict[str, dict[str, float]] = {}
    for row in tests:
        if row.get("figure") == "own minus received" and row.get("dimension") in (None, *dimensions[-1:]):
            for value in numbers(row.get("difference"), "value"):
                by.setdefault(str(row.get("judge")), {})[str(row.get("framing"))] = value
    usual = Framing.STANDARD.value
    both = {judge: (told.pop(usual), *told.values()) for judge, told in by.items() if usual in told and len(told) > 1}
    if both:
        judge = max(both, key=lambda name: abs(both[name][0] - both[name][1]))
        first, second, *_ = both[judge]
        changed = f"own less received changes most for {judge}, {first:.2f} to {second:.2f} {_points(body)}"
        yield "Asked the other way round", changed


def summary(body: Row, width: int, *, page: str | None = None, record: str | None = None) -> str:
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
    told, parts = limits(body, shown), _parts(body)
    more = [f"{len(told) - MOST} more notes are on the page."] if len(told) > MOST else []
    titles = [words_of(name).title for name in parts if name in ASKED]
    tables = f"{len(parts) - len(titles)}{' other' * bool(titles)} tables"
    where = "with --report FILE.html, or -o FILE.json for the record"
    if page:
        where = f"open {page}"
    elif record:
        where = f"to see it, calm report {quote(record)} -o page.html"
    rest = f"More ({', '.join([*titles, tables])}, heat maps): {where}"
    aside = " ".join(f"{name}: {text}." for name, text in beside(body))
    above = [title(body), *headline(body).splitlines()]
    below = [f"{keys}.", aside, *told[:MOST], *more, rest, next_step(body)]
    fitted = partial(wrap, width=width, break_long_words=False, break_on_hyphens=False)
    top, end = ([line for one in texts for line in fitted(one) or [one]] for texts in (above, below))
    return "\n".join([*top, "", *lines, *end])


def next_step(body: Row) -> str:
    """Return what to do next, by what is known of the judges."""
    rows = objects(body.get("judges"))
    pulls = [(str(row.get("judge")), one) for row in rows for name in PULLS if len(one := figure(row, name)) > 1]
    if fond := list(dict.fromkeys(judge for judge, (_, low, _) in pulls if low > 0)):
        return f"Next: let other judges, or a panel, judge the answers of {_names(fond, 0)}."
    if not pulls:
        return (
            "Next: calm answer CASES --with A.toml,B.toml,C.toml --twins -o twins.jsonl, and judge these: 10 questions "
            "at least; 90 decide of a judge that calls four in five a tie."
        )
    return "Next: claim own_pull in CI: pytest suites/ --calm-judge=JUDGE.toml --calm-peers=RECORD.json"


def sections(body: Row) -> tuple[Section, ...]:
    """Return what stands first on the page: the table of judges, and what its columns mean."""
    if not (shown := columns(body)):
        return ()
    heads, *rows = cells(body, shown, "family")
    return (
        Section("Each judge", (), Table(tuple(map(capital, heads)), tuple(map(tuple, rows)))),
        Section("What the columns mean", tuple((capital(head), what) for head, what in meanings(body, shown))),
        Section("All judges together", tuple(beside(body))),
    )


page = Page(
    "calm \N{MIDDLE DOT} whether judges prefer their own answers",
    headline=lambda body: f"{headline(body)}\n{next_step(body)}\n{title(body)}.",
    notes=lambda body: tuple(limits(body, columns(body))),
    sections=sections,
)
