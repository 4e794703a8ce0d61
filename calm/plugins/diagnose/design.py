"""What the next call is best spent on: the sources of variance of a judge's verdicts, and the error of designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod, sqrt
from random import Random
from textwrap import fill
from typing import Final

import numpy as np

from calm.core.case import digest
from calm.core.claims import Claim, Estimate, Outcome, decide
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json
from calm.plugins.diagnose.sources import Answers
from calm.results.parts import aligned, cell
from calm.results.reports.extras import Section, Table, as_list, as_mapping, objects
from calm.results.reports.pages import Page
from calm.results.study_provenance import numbers, plain_fields
from calm.statistics.components import (
    CASE,
    JUDGE,
    ORDER,
    ORDERS,
    TINY,
    WORDING,
    Asks,
    Components,
    Effect,
    components,
    errors,
)
from calm.statistics.drift import Floats

SCHEMA: Final = "calm-design/1"
REPEAT: Final = "repeat"
THESE, NEW = "these cases", "new cases"
SURE: Final = 0.80
"""In so many of the resamples the advice must be the same, or two are given."""
ENOUGH: Final = 0.005
"""Below this standard error of one ask a case, no call more is advised: half a point in a hundred."""
WIDTH: Final = 79
WORTH: Final = 0.95
"""What leaves more than this share of the standard error is not worth its trouble."""
MANY: Final = 32
"""So many repeats are tried against another level of a source."""
ENDLESS: Final = 10**9
PLURAL: Final[Mapping[str, str]] = {WORDING: "wordings", ORDER: "orders", REPEAT: "repeats", JUDGE: "judges"}


@dataclass(frozen=True, slots=True)
class Row:
    """A design and the standard error of its mean, over the cases asked and over all cases of the kind."""

    asks: Asks
    these: Estimate | None
    new: Estimate


@dataclass(frozen=True, slots=True)
class Advice:
    """
    What the next call is best spent on, for a mean over `scope`.

    `sources` holds the best source, which is the easiest one unless another leaves a smaller error by `WORTH`. If it is
    best in fewer than `SURE` of the resamples, other likely ones follow. `shares` says in how many each is best.
    `beats` is the number of repeats that narrow the figure less: 0 none, None any number. `before` and `after` are the
    standard errors. Without a source no call more is worth it, or nothing is known (`after` is None).
    """

    scope: str
    sources: tuple[str, ...]
    shares: Mapping[str, float]
    beats: int | None
    before: float
    after: float | None


@dataclass(frozen=True, slots=True)
class Designed:
    """All that was found: the figure, what it varies by, the designs by cost, and advice."""

    answers: Answers
    found: Components
    cases: int
    rows: tuple[Row, ...]
    advice: tuple[Advice, ...]
    claims: tuple[tuple[Claim, Estimate | None, Outcome], ...]

    @property
    def incomplete(self) -> bool:
        """Whether replies are missing, or a claim is not proven."""
        return bool(self.answers.incomplete) or any(outcome is not Outcome.PASS for _, _, outcome in self.claims)


def designed(answers: Answers, *, cases: int | None, most: int, limits: Mapping[str, float], seed: int) -> Designed:
    """
    Return the designs of up to `most` asks of a case for a mean over so many cases (None: as many as were asked).

    Raises:
        ConfigError: the verdicts are on too few cases.
    """
    asked = len({one.levels[0] for one in answers.said})
    found = components(answers.said, answers.clusters, Random(digest("design", seed)))
    over = cases or asked
    advice = (_advice(found, over, cases=False), _advice(found, over, cases=True))
    claims = []
    for source, limit in limits.items():
        claim, measured = Claim(f"{source}_sd", "<=", limit), spread(found, () if source == REPEAT else (source,))
        claims.append((claim, measured, Outcome.NOT_TESTED if measured is None else decide(measured, claim)))
    return Designed(answers, found, over, _rows(found, over, most), advice, tuple(claims))


def spread(found: Components, effect: Effect) -> Estimate | None:
    """Return the standard deviation of an effect, with one-sided bounds; None: it was not asked about."""
    if effect in found.left:
        one = Estimate(0.0, 0.0, sqrt(min(found.left[effect][1], 1.0)), found.levels[CASE], LEVEL)
    elif effect in found.values:
        draws = found.draws[:, list(found.values).index(effect)]
        one = _estimate(sqrt(max(found.values[effect], 0.0)), draws.clip(0.0, 1.0) ** 0.5, found.levels[CASE])
    else:
        return None
    return one if one.high**2 > TINY else replace(one, high=sqrt(found.unseen))  # nothing differs, in so few cases


def _estimate(value: float, draws: Floats, n: int) -> Estimate:
    low, high = np.quantile(draws, [LEVEL, 1 - LEVEL])
    return Estimate(value, min(float(low), value), max(float(high), value), n, LEVEL)


def _open(found: Components) -> dict[str, int]:
    """Return the sources of which a case can be asked in more levels, the easiest first, and in how many at most."""
    most = {ORDER: ORDERS, WORDING: MANY, JUDGE: found.levels.get(JUDGE, 1)}
    kept = {source: number for source, number in most.items() if source in found.levels}
    return {REPEAT: MANY, **kept} if found.repeated else kept


def _asks(cases: int, levels: Mapping[str, int]) -> Asks:
    return Asks(cases, **{PLURAL[source]: number for source, number in levels.items()})


def _rows(found: Components, cases: int, most: int) -> tuple[Row, ...]:
    ways = _open(found)
    sizes = [range(1, (number if source == JUDGE else min(most, number)) + 1) for source, number in ways.items()]
    plans = [_asks(cases, dict(zip(ways, levels, strict=True))) for levels in product(*sizes)]
    plans = [one for one in plans if one.each // one.judges in (1, 2, 4, 8) and one.each <= max(most, one.judges)]
    wordings = found.levels.get(WORDING, 1)
    if any(WORDING in effect and CASE not in effect for effect in found.values):
        dealt = [replace(one, dealt=wordings) for one in plans if one.wordings < wordings and one.repeats == 1]
        plans += [one for one in dealt if one.each <= ORDERS]
    plans.append(Asks(2 * cases))
    made = []
    for asks in plans:
        these, new = (_estimate(*errors(found, asks, cases=one), asks.cases) for one in (False, True))
        made.append(Row(asks, these if asks.cases == cases else None, new))
    return tuple(sorted(made, key=lambda row: (row.asks.calls, inf if row.these is None else row.these.value)))


def _advice(found: Components, over: int, *, cases: bool) -> Advice:
    tried = {source: _asks(over, {source: 2}) for source in _open(found)}
    if cases and tried:
        tried[CASE] = Asks(2 * over)
    before = errors(found, Asks(over), cases=cases)[0]
    made = {source: errors(found, asks, cases=cases) for source, asks in tried.items()}
    scope = NEW if cases else THESE
    if not made:
        return Advice(scope, (), {}, 0, before, None)
    names = list(made)  # the easiest to ask first
    values, draws = np.array([made[one][0] for one in names]), np.array([made[one][1] for one in names])
    chosen = (WORTH * draws <= draws.min(axis=0)).argmax(axis=0)
    shares = {source: float((chosen == place).mean()) for place, source in enumerate(names)}
    best = names[int((WORTH * values <= values.min()).argmax())]
    after = made[best][0]
    if before < ENOUGH or after > WORTH * before:
        return Advice(scope, (), shares, 0, before, after)
    rest = sorted((one for one in names if one != best and shares[one] >= 1 - SURE), key=lambda one: -shares[one])
    others = rest if shares[best] < SURE else []
    beats: int | None = 0
    if best != REPEAT and REPEAT in tried:
        again = {k: errors(found, Asks(over, repeats=k), cases=cases)[0] for k in (*range(2, MANY + 1), ENDLESS)}
        beats = None if again[ENDLESS] >= after else max([0, *(k for k, error in again.items() if error >= after)])
    return Advice(scope, (best, *others), shares, beats, before, after)


PAIRED: Final = 2
"""What so many sources add together is shown, even if it is not told from 0; what more of them add is in the record."""
SPREADS: Final = ("what differs", "sd of the verdict [low, high]", "share")
COUNTED: Final = (
    "Each bound, low and high, holds with 95 % by itself. Not told from 0: low is 0. Such a source counts as 0, but "
    "cases count as measured. Case with order: the order matters more in some cases than in others; so with others."
)
LEGEND: Final = (
    "* the smallest error for so many calls, in its column. A 95 % interval is the mean plus or minus twice the error. "
    "These cases: the mean over the cases that are asked, as in a gate; where a number of cases stands, so many are "
    "asked instead. New cases: the mean over all cases of their kind{}. Wordings are a sample of all that say the "
    "same; orders and judges are no sample. One order: drawn by lot for each case."
)
CUT: Final = " (bounds are in the record, -o FILE)"
COLOURS: Final = {Outcome.PASS.value: "GREEN (exit 0)", Outcome.FAIL.value: "RED (exit 1)"}
NOT_GREEN: Final = "NOT GREEN (exit 1)"


def to_json(one: Designed, *, spent: Json = None) -> dict[str, Json]:
    """Return what was found as its record; `spent` is what it cost, in words."""
    found, answers = one.found, one.answers
    effects = {**found.values, **{effect: value for effect, (value, _) in found.left.items()}}
    total = sum(max(value, 0.0) for value in found.values.values())
    return {
        "schema": SCHEMA,
        "judges": list(answers.judges),
        "task": answers.family,
        "figure": answers.figure,
        "mean": round(found.mean, 6),
        "cases": {"n": found.levels[CASE], "over": one.cases},
        "levels": dict(found.levels),
        "repeated": found.repeated,
        "repeats_itself": answers.frozen,
        "crossed": len({one.levels for one in answers.said}) == prod(found.levels.values()),
        "asks": answers.asked,
        "unread": answers.unread,
        "lost": {str(reason): count for reason, count in answers.lost.items()},
        "incomplete": str(answers.incomplete),
        "sources": [
            {
                "sources": list(effect),
                "variance": round(value, 9),
                "sd": numbers(spread(found, effect)),
                "share": round(max(value, 0.0) / total, 6) if total and effect in found.values else 0.0,
                "told_from_0": effect in found.values,
            }
            for effect, value in effects.items()
        ],
        "designs": [
            {
                **plain_fields(row.asks),
                "dealt": row.asks.dealt or None,
                "calls": row.asks.calls,
                "these_cases": numbers(row.these),
                "new_cases": numbers(row.new),
            }
            for row in one.rows
        ],
        "advice": [
            {
                "for": advice.scope,
                "sources": list(advice.sources),
                "best_in": {source: round(share, 3) for source, share in advice.shares.items()},
                "beats_repeats": advice.beats,
                "before": round(advice.before, 6),
                "after": None if advice.after is None else round(advice.after, 6),
            }
            for advice in one.advice
        ],
        "claims": [
            {"claim": str(claim), "outcome": outcome.value, "sd": numbers(measured)}
            for claim, measured, outcome in one.claims
        ],
        "spent": spent,
    }


def in_words(body: Mapping[str, Json]) -> str:
    """Return what a record says, for a terminal."""
    judges = ", ".join(map(str, as_list(body.get("judges"))))
    about = [f"{judges}: {body.get('figure')}: {_number(body.get('mean')):.3f}", _asked(body), *_incomplete(body)]
    about += [f"note: {note}" for note in notes(body)]
    heads, rows, legend = _designs(body)
    claimed = [*_headline(body), *_claims(body)]
    lines = [fill(said, WIDTH) for said in (*claimed, *([""] if claimed else []), *sentences(body), "", *about)]
    lines += ["", *aligned([SPREADS, *_spreads(body)]), fill(COUNTED, WIDTH), ""]
    lines += [f"standard error of the mean over {_over(body)}", *aligned([heads, *rows]), fill(legend, WIDTH)]
    return "\n".join([*lines, fill(cell(body.get("spent")), WIDTH)])


def sentences(body: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the advice of a record in sentences: for the cases that are asked, and for all of their kind."""
    advice, rows = objects(body.get("advice")), objects(body.get("designs"))
    found = [_advised(one) for one in advice]
    once = [row for row in rows if row.get("calls") == row.get("cases") and row.get("these_cases")]
    plain = {bool(row.get("dealt")): row for row in reversed(once)}
    if len(plain) == 2 and advice and advice[0].get("sources"):
        before, after = (_number(as_mapping(plain[dealt].get("these_cases")).get("value")) for dealt in (False, True))
        if after < WORTH * before:
            deal = f"At no more calls: deal {cell(plain[True].get('dealt'))} wordings out, one to each case in turn."
            found.insert(1, f"{deal} The standard error falls from {before:.3f} to {after:.3f}.")
    return tuple(found)


def _advised(one: Mapping[str, Json]) -> str:
    names, best = list(map(str, as_list(one.get("sources")))), as_mapping(one.get("best_in"))
    before, after = _number(one.get("before")), _number(one.get("after"))
    scope, beats = one.get("for"), one.get("beats_repeats")
    if one.get("after") is None:
        known = "what a second ask of a case is best spent on is not known"
        return f"For {scope}, {known}; with one the standard error is {before:.3f}."
    if not names:
        error = f"the standard error is {before:.3f}, and the best second one makes it {after:.3f}"
        return f"For {scope}, one ask of each is enough: {error}."
    begin = "For new cases like these, spend it on" if scope == NEW else "Spend the next call of a case on"
    sources = " or ".join("the other order" if name == ORDER else f"another {name}" for name in names)
    counts = " and ".join(f"{100 * _number(best.get(name)):.0f}" for name in names)
    resamples = f"(best in {counts} of 100 resamples)"
    if len(names) > 1:
        return f"{begin} {sources}: these data do not tell which narrows the figure more {resamples}."
    if beats == 0:
        return f"{begin} {sources}: as far as these data tell, nothing else narrows the figure much more."
    more = "any number of repeats" if beats is None else f"{cell(beats)} repeats"
    return f"{begin} {sources}: it narrows the figure more than {more} {resamples}."


def _asked(body: Mapping[str, Json]) -> str:
    """
    Return what was crossed, and how many asks that took.

    >>> _asked({"levels": {"case": 30, "wording": 4, "order": 2}, "asks": 240, "unread": 1})
    '30 cases x 4 wordings x 2 orders; 240 asks, 1 of them not read'
    >>> _asked({"levels": {"case": 30, "wording": 4}, "asks": 90, "unread": 0, "crossed": False})
    '30 cases x 4 wordings, not each in all; 90 asks, 0 of them not read'
    """
    names = {CASE: "cases", **PLURAL}
    levels = [f"{cell(number)} {names.get(name, name)}" for name, number in as_mapping(body.get("levels")).items()]
    all_of = ", not each in all" if body.get("crossed") is False else ""
    return f"{' x '.join(levels)}{all_of}; {cell(body.get('asks'))} asks, {cell(body.get('unread'))} of them not read"


def _over(body: Mapping[str, Json]) -> str:
    return f"{cell(as_mapping(body.get('cases')).get('over'))} cases"


def _incomplete(body: Mapping[str, Json]) -> list[str]:
    why = body.get("incomplete")
    return [f"INCOMPLETE: {why}"] if why else []


def notes(body: Mapping[str, Json]) -> tuple[str, ...]:
    """Return what a reader should know: what was not asked, what chance put below 0, and of whom the figure is."""
    levels = as_mapping(body.get("levels"))
    both = (WORDING, ORDER) if body.get("task") == "pairwise" else (WORDING,)
    found = [f"asked in one {source}: what another one adds is not known" for source in both if source not in levels]
    if not any(_number(row.get("variance")) for row in objects(body.get("sources"))):
        found.append("all verdicts are equal: nothing differs, so nothing can be split")
    if body.get("repeats_itself"):
        found.append("no repeat ever differed: of a judge that repeats itself, repeats buy nothing")
    elif not body.get("repeated"):
        found.append("nothing was asked twice alike, so what repeats add stands together with the rest")
    return tuple(found)


def _spreads(body: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    alone = REPEAT if body.get("repeated") else f"{REPEAT} and the rest"
    for row in objects(body.get("sources")):
        counts, sources, size = row.get("told_from_0"), as_list(row.get("sources")), as_mapping(row.get("sd"))
        told = [f"{_number(row.get('share')):.0%}"] if _number(row.get("share")) else []
        told += [] if _number(size.get("low")) else ["not told from 0"]
        if counts or len(sources) <= PAIRED:
            yield " with ".join(map(str, sources)) or alone, _interval(size), ", ".join(told)


def _designs(body: Mapping[str, Json]) -> tuple[list[str], list[list[str]], str]:
    """Return the heads and rows of the table of designs, and how to read it."""
    levels, designs = as_mapping(body.get("levels")), objects(body.get("designs"))
    kept = [name for name in (WORDING, ORDER, JUDGE) if name in levels] + [REPEAT] * bool(body.get("repeated"))
    least: dict[tuple[str, float], float] = {}
    for column, row in product(("these_cases", "new_cases"), designs):
        if one := as_mapping(row.get(column)):
            calls = column, _number(row.get("calls"))
            least[calls] = min(least.get(calls, inf), _number(one.get("value")))

    def starred(row: Mapping[str, Json], column: str) -> str:
        one = as_mapping(row.get(column))
        best = one and _number(one.get("value")) <= least[column, _number(row.get("calls"))]
        return f"{'*' if best else ' '}{_interval(one) if one else cell(row.get('cases')) + ' cases'}"

    found = []
    for row in designs:  # by calls, the smallest error for so many first
        counts = [cell(row.get(PLURAL[name])) for name in kept]
        if row.get("dealt") and WORDING in kept:
            counts[kept.index(WORDING)] += f" of {cell(row.get('dealt'))}"
        found.append([cell(row.get("calls")), *counts, starred(row, "these_cases"), starred(row, "new_cases")])
    heads = ["calls", *(PLURAL[name] for name in kept), f" {THESE}", f" {NEW}"]
    if sum(max(map(len, column)) + 2 for column in zip(heads, *found, strict=True)) <= WIDTH + 2:
        return heads, found, LEGEND.format("")
    return heads, [[*row[:-1], row[-1].partition(" [")[0]] for row in found], LEGEND.format(CUT)


def _headline(body: Mapping[str, Json]) -> list[str]:
    outcomes = [str(claim.get("outcome")) for claim in objects(body.get("claims"))]
    if not outcomes:
        return [f"{NOT_GREEN}: replies are missing"] if body.get("incomplete") else []
    proven = sum(one == Outcome.PASS.value for one in outcomes)
    worst = Outcome.FAIL.value if Outcome.FAIL.value in outcomes else Outcome.PASS.value
    whole = proven == len(outcomes) and not body.get("incomplete")
    colour = COLOURS[worst] if whole or worst == Outcome.FAIL.value else NOT_GREEN
    return [f"{colour}: {proven} of {len(outcomes)} limits {'is' if proven == 1 else 'are'} proven"]


def _claims(body: Mapping[str, Json]) -> Iterator[str]:
    for claim in objects(body.get("claims")):
        said = f"{claim.get('outcome')}: {claim.get('claim')}, {_interval(claim.get('sd'))}"
        if claim.get("outcome") == Outcome.UNDECIDED.value:
            more = " and wordings (--wordings)" if str(claim.get("claim")).startswith(WORDING) else ""
            said += f"; more cases (--sample){more} narrow the bounds"
        yield said


def _interval(value: Json) -> str:
    found = as_mapping(value)
    if not found:
        return "not asked"
    middle, low, high = (_number(found.get(name)) for name in ("value", "low", "high"))
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _sections(body: Mapping[str, Json]) -> tuple[Section, ...]:
    facts = [("Limits", text) for text in _headline(body)]
    facts += zip(("Also", "And"), sentences(body)[1:], strict=False)
    facts += [("Figure", f"{body.get('figure')}: {cell(body.get('mean'))}"), ("Asked", _asked(body))]
    facts += [("Claim", text) for text in _claims(body)]
    facts += [("Cost", cell(body.get("spent")))] if body.get("spent") else []
    heads, rows, legend = _designs(body)
    title = f"Standard error of the mean over {_over(body)}"
    return (
        Section("", tuple(facts)),
        Section("What the verdicts vary by", (("Read it so", COUNTED),), Table(SPREADS, tuple(_spreads(body)))),
        Section(title, (("Read it so", legend),), Table(tuple(heads), tuple(map(tuple, rows)))),
    )


page = Page(
    "calm \N{MIDDLE DOT} what the next call is best spent on",
    lambda body: next(iter(sentences(body)), ""),
    notes=lambda body: (*_incomplete(body), *notes(body)),
    sections=_sections,
)
