"""
Verdicts on pairs, from the side of one author: who won, in both orders, by a judge and by outsiders.

Two scored texts are a pair as well: the one with the higher score is preferred.

Outsiders are coded from the same side, whichever judge is in question. A judge without a readable verdict in one order
of a pair is left out of that pair: the rest would measure the position of the answer, not its worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, fsum, nan
from random import Random

import numpy as np

from calm.core.annotations import choices_of
from calm.core.case import TIE
from calm.core.claims import Estimate
from calm.core.measures import LEAST
from calm.core.order import item_of
from calm.core.reasons import Kind, because
from calm.core.verdict import Preferred, Tie, Verdict
from calm.errors import EstimateError
from calm.experiment.crossing import TWIN_OF, Judgment
from calm.plugins.self_preference.contrasts import DRAWS, Floats, Grid
from calm.plugins.self_preference.opportunity import (
    NONE,
    OTHER,
    SELF,
    BothOrders,
    Outcomes,
    both_orders,
    excess_opportunity,
    outcomes_of_scores,
    own_scores,
)
from calm.plugins.self_preference.rubric import MISSING, Ints, RubricTable
from calm.plugins.self_preference.scores import ScoreTable
from calm.plugins.self_preference.skill import (
    STEEPEST,
    Cells,
    Excess,
    beyond,
    enough,
    estimated,
    joined,
    matched,
    skilled,
)

TIES, TWINS = "labelled ties", "twins"
"""The kinds of answers that are known to be equal."""
OWN_TEXT, OTHER_TEXT, NO_TEXT = "twins of its text", "twins of the other's text", "twins of a third text"
"""The kinds of twins: the judge wrote the original, the other author did, or neither."""


@dataclass(frozen=True, slots=True)
class AuthorPair:
    """
    A pair of an author's answer and one of another author, with the verdicts on it.

    `gold` is the true outcome, None where it is not known. `said` holds each judge's outcome in every order, those
    first in which the author's own answer came first; `scores` its score of the own answer, for judges that gave
    probabilities in both orders. `votes` are the outcomes by each of several people. Of twins, `twin_of` is the author
    of the original.
    """

    item: str
    other: str
    gold: int | None
    said: Mapping[str, tuple[int, ...]]
    scores: Mapping[str, float]
    votes: tuple[int, ...] = ()
    twin_of: str | None = None

    def outcome(self, judge: str) -> int:
        """Return who won: by the mean score of both orders, else by the verdicts; `NONE` if there is none."""
        return self.by_score(judge) if judge in self.scores else self.by_verdicts(judge)

    def by_verdicts(self, judge: str) -> int:
        """Return the winner of all orders; `NONE` if there is none."""
        said = set(self.said[judge])
        return said.pop() if len(said) == 1 else NONE

    def by_score(self, judge: str) -> int:
        """Return who has the higher mean score of both orders; `NONE` if neither has."""
        return int(outcomes_of_scores(np.array([self.scores[judge]]))[0])

    def favour(self, judge: str) -> float:
        """Return the share of orders that the own answer won, a tie counting a half."""
        return fsum((one + 1) / 2 for one in self.said[judge]) / len(self.said[judge])


def faced(judged: Sequence[Judgment], author: str) -> list[AuthorPair]:
    """Return the pairs with one answer of an author and one of another; `judged` holds the verdicts of all judges."""
    pairs: dict[tuple[str, frozenset[str]], dict[str, list[tuple[bool, Judgment]]]] = {}
    orders: dict[tuple[str, frozenset[str]], set[str]] = {}
    for one in judged:
        authors = [answer.author for answer in one.case.answers]
        if len(authors) == 2 and authors.count(author) == 1 and None not in authors:
            key = item_of(one.case), frozenset(answer.id for answer in one.case.answers)
            first = one.case.shown[0].author == author
            pairs.setdefault(key, {}).setdefault(one.judge, []).append((not first, one))
            orders.setdefault(key, set()).add(one.case.id)
    found = []
    for key, by_judge in pairs.items():
        case = next(iter(by_judge.values()))[0][1].case
        own = next(answer.id for answer in case.answers if answer.author == author)
        other = next(str(answer.author) for answer in case.answers if answer.author != author)
        said: dict[str, tuple[int, ...]] = {}
        scores: dict[str, float] = {}
        for judge, given in by_judge.items():
            verdicts = [one.verdict for _, one in sorted(given, key=lambda g: g[0])]
            if len(verdicts) < len(orders[key]) or not all(isinstance(v, Preferred | Tie) for v in verdicts):
                continue
            said[judge] = tuple(_side(v.answer if isinstance(v, Preferred) else None, own) for v in verdicts)
            if len(verdicts) == 2 and (score := _score(verdicts, case.answers, own)) is not None:
                scores[judge] = score
        gold = None if case.better is None else _side(case.better, own)
        votes = choices_of(case.annotations.values(), [answer.id for answer in case.answers])
        sides = tuple(_side(vote, own) for vote in votes)
        found.append(AuthorPair(key[0], other, gold, said, scores, sides, case.tags.get(TWIN_OF)))
    return found


def by_vote(pairs: Sequence[AuthorPair]) -> list[AuthorPair]:
    """Return a pair for each vote on one, with it as gold; a pair without votes once, as it is."""
    return [replace(pair, gold=gold) for pair in pairs for gold in pair.votes or (pair.gold,)]


def outcomes(pairs: Sequence[AuthorPair], judge: str) -> tuple[Outcomes, Outcomes, tuple[str, ...]]:
    """Return gold and judged outcome, and the item, of the pairs on which a judge gave a verdict."""
    seen = [pair for pair in pairs if judge in pair.said]
    gold = np.array([NONE if pair.gold is None else pair.gold for pair in seen], dtype=np.int8)
    return gold, np.array([pair.outcome(judge) for pair in seen], dtype=np.int8), tuple(pair.item for pair in seen)


def orders_of(pairs: Sequence[AuthorPair], judge: str) -> BothOrders:
    """
    Return the wins of either side in both orders, with the exact sign test, over the pairs asked in both.

    Raises `EstimateError` where no pair was.
    """
    said = [pair.said[judge] for pair in pairs if len(pair.said.get(judge, ())) == 2]
    first, second = (np.array([one[place] for one in said], dtype=np.int8) for place in range(2))
    return both_orders(first, second)


def gap_excess(
    pairs: Sequence[AuthorPair],
    judge: str,
    families: Mapping[str, str],
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
) -> Estimate:
    """
    Return a judge's equal-opportunity gap minus that of outsiders on the same pairs, in [-2, 2].

    `pairs` are those of the judge's own answers. An outsider has a family that is neither the judge's nor the other
    author's; pairs with a relative of the judge are left out. Items are resampled whole.

    Raises `EstimateError` where there is no outsider, or a class of pairs is empty, also in a resampled set.
    """
    seen = [pair for pair in pairs if judge in pair.said and families[pair.other] != families[judge]]
    others = dict.fromkeys(name for pair in seen for name in pair.said if families[name] != families[judge])
    usable = {name: [name in p.said and families[p.other] != families[name] for p in seen] for name in others}
    outsiders = [name for name, fit in usable.items() if any(fit)]
    if not outsiders:
        raise EstimateError(
            f"expected a judge outside the family of {judge!r} on pairs of its answers and those of a third family, "
            "got none; add judges or generators of other families"
        )
    gold, said, items = outcomes(seen, judge)
    rows = [[p.outcome(name) if name in p.said else NONE for p in seen] for name in outsiders]
    return excess_opportunity(
        gold,
        said,
        np.array(rows, dtype=np.int8),
        rng,
        cases=items,
        usable=np.array([usable[name] for name in outsiders]),
        level=level,
        draws=draws,
        names=outsiders,
    )


def pair_excess(pairs: Sequence[AuthorPair], judge: str, families: Mapping[str, str], *, level: float = 0.05) -> Excess:
    """
    Return how much more often a judge prefers its own answer than a fair judge would, in [-1, 1].

    `pairs` are those of the judge's own answers. A preference counts 1 or 0, a tie and a split between orders a half.
    An outsider has a family that is neither the judge's nor the other author's. Pairs whose better answer is known are
    balanced: those that the own answer won and those that it lost weigh the same (see `skill`). Where none is known,
    all pairs weigh the same and what is measured is quality and preference together. Items are the unit.

    Raises `EstimateError` where no pair was judged by the judge and an outsider, or with truth: outsiders of one family
    alone, too few items that the own answer won or lost, a judge that decides no pair, or outsiders that cannot tell
    the better answer.
    """
    found = [one for one in _contests(pairs, judge, families) if one.outsiders]
    items = len({one.item for one in found})
    if items < 2:
        raise EstimateError(
            f"expected pairs of an answer of {judge!r} and one of another family, judged by it and by a judge related "
            f"to neither, for at least 2 items, got {items}; add judges or generators of other families"
        )
    if all(one.gold is None for one in found):
        cells = _cells([found])
        plain = estimated(cells, lambda r: beyond(r[..., :1], r[..., 1:]), level, (1.0,))
        return Excess(plain, (plain,))
    return _balanced(found, judge, families, level)


@dataclass(frozen=True, slots=True)
class _Contest:
    item: str
    gold: int | None
    whose: str | None
    judge: float
    outside: float
    outsiders: tuple[str, ...]


def _contests(pairs: Sequence[AuthorPair], judge: str, families: Mapping[str, str]) -> list[_Contest]:
    found = []
    for pair in pairs:
        related = families[judge], families[pair.other]
        outsiders = tuple(name for name in pair.said if families[name] not in related)
        if judge in pair.said and related[0] != related[1]:
            outside = fsum(pair.favour(name) for name in outsiders) / len(outsiders) if outsiders else nan
            whose = {None: None, judge: OWN_TEXT, pair.other: OTHER_TEXT}.get(pair.twin_of, NO_TEXT)
            found.append(_Contest(pair.item, pair.gold, whose, pair.favour(judge), outside, outsiders))
    return found


def _balanced(found: Sequence[_Contest], judge: str, families: Mapping[str, str], level: float) -> Excess:
    known = [one for one in found if one.gold in (SELF, OTHER)]
    excluded = {
        because(Kind.NO_GOLD): sum(one.gold is None for one in found),
        because(Kind.TRULY_EQUAL): sum(one.gold == NONE for one in found),
    }
    cells = _cells([[one for one in known if one.gold == side] for side in (SELF, OTHER)])
    enough(cells)
    outsiders = dict.fromkeys(name for one in known for name in one.outsiders)
    if len({families[name] for name in outsiders}) < 2:
        raise EstimateError(because(Kind.ONE_OUTSIDER, ", ".join(outsiders)))
    if all(one.judge == 0.5 for one in known):
        raise EstimateError(because(Kind.NEVER_DECIDES, judge))
    skilled(cells, _outsiders_right, level, (nan, nan, 1.0, 0.0))
    least = cells.least()

    def at_its_skill(rates: Floats) -> Floats:
        right = matched(_right(rates[..., 2:]), _right(rates[..., :2]).mean(axis=-1), least)
        return beyond(rates[..., :2], _right(right))

    readings = [estimated(cells, value, level) for value in (_as_outsiders, at_its_skill)]
    readings = [replace(one, excluded={r: n for r, n in excluded.items() if n}) for one in readings]
    rates = cells.rates()
    return joined(readings, (float(_right(rates[:2]).mean()), float(_outsiders_right(rates))))


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """
    Pairs of an own answer and another one on which the truth is the same, each value of shape [pairs].

    `item` is the number of the pair's item, `judge` the favour of the own answer by the judge in question, from 0 to 1,
    and `outside` the mean one by judges related to neither author, NaN for none.
    """

    item: Ints
    judge: Floats
    outside: Floats

    def beside_outsiders(self) -> Side:
        """Return the pairs that an outsider judged."""
        seen = ~np.isnan(self.outside)
        return Side(self.item[seen], self.judge[seen], self.outside[seen])


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """
    The pairs of an own answer whose truth is known, by what a fair judge does with them.

    `equal` holds groups of pairs without a known difference, each with the same weight: one of pairs and of
    scores; two of criteria, those that both answers pass and those that both fail. `lost` are pairs that the own answer
    truly lost.
    """

    equal: tuple[Side, ...]
    lost: Side
    twins: Mapping[str, Side] = field(default_factory=dict)
    """Pairs of an own wording and another author's of one text, by whose the original is."""


def known(pairs: Sequence[AuthorPair], judge: str, families: Mapping[str, str]) -> Known:
    """
    Return the pairs of a judge's own answers whose truth is known; they are equal where the gold label or scores are.

    Pairs with a relative of the judge are left out. Twins have groups of their own.
    """
    found = _contests(pairs, judge, families)
    number = {item: place for place, item in enumerate(dict.fromkeys(one.item for one in found))}

    def side(gold: int, whose: str | None = None) -> Side:
        chosen = [one for one in found if one.gold == gold and one.whose == whose]
        favours = np.array([(one.judge, one.outside) for one in chosen], dtype=np.float64).reshape(-1, 2)
        return Side(np.array([number[one.item] for one in chosen], dtype=np.int64), favours[:, 0], favours[:, 1])

    return Known((side(NONE),), side(OTHER), {whose: side(NONE, whose) for whose in (OWN_TEXT, OTHER_TEXT, NO_TEXT)})


@dataclass(frozen=True, slots=True)
class Pull:
    """
    The pull of own answers, and that of the same answers on outsiders, None where they judged too few questions.

    `fair` is what a fair judge may have as well, and is taken off the lower bound.
    """

    estimate: Estimate
    outsiders: Estimate | None
    fair: float


def pull_of_twins(twins: Mapping[str, Side], *, level: float = 0.05) -> Pull:
    """
    Return how many more pairs of twins a judge's own wording wins than loses, in [-1, 1] (see `pull_of_own`).

    The two groups with an original count together, or not at all, and weigh the same: so a liking for originals, or for
    paraphrases, cancels. Nobody says that two wordings are equally good. So outsiders count on both sides, and a fair
    judge may see what they see up to `STEEPEST` times as sharply.

    Raises `EstimateError` for fewer than `LEAST` items in a group, or with an outsider in it.
    """
    seen = {whose: side.beside_outsiders() for whose, side in twins.items()}
    has, all_ = ({whose: len(np.unique(side.item)) for whose, side in of.items()} for of in (seen, twins))
    chosen = [NO_TEXT] if has.get(NO_TEXT, 0) >= LEAST else []
    if min(has.get(OWN_TEXT, 0), has.get(OTHER_TEXT, 0)) >= LEAST:
        chosen += [OWN_TEXT, OTHER_TEXT]
    if not chosen:
        total = len(np.unique(np.concatenate([side.item for side in twins.values()]))) if twins else 0
        if not total:
            raise EstimateError(because(Kind.FEW_EQUAL, total, LEAST))
        most = max(all_.get(NO_TEXT, 0), min(all_.get(OWN_TEXT, 0), all_.get(OTHER_TEXT, 0)))
        if most >= LEAST or not any(has.values()):
            raise EstimateError(because(Kind.TWINS_ALONE))
        needed = ceil(total * LEAST / most) if most else total + 2 * LEAST
        raise EstimateError(because(Kind.FEW_TWINS, total, needed))
    return pull_of_own([seen[whose] for whose in chosen], level=level, twins=True)


def pull_of_own(groups: Sequence[Side], *, level: float = 0.05, twins: bool = False) -> Pull:
    """
    Return how many more pairs a judge's own answer wins than loses, in [-1, 1], each group weighing the same.

    `groups` hold pairs of own answers that a fair judge gives to either side equally often (`Known.equal`). A tie and a
    split between orders count 0. Two one-sided bounds at `level`; items are the unit.

    What those who labelled call equal may not be. What outsiders take as well, on the same pairs, is no
    self-preference: so their pull, if it is above 0, is taken off the lower bound. Two answers that pass, or fail, a
    criterion may do so by unequal margins, and so may `twins`: so with several groups, and of twins, their pull, if it
    is below 0, is taken off the upper bound, too.

    Raises `EstimateError` for fewer than `LEAST` items in a group.
    """
    from scipy.special import ndtr, ndtri

    k, mine = len(groups), _counted([(one.item, one.judge) for one in groups])
    if min(mine.items()) < LEAST:
        raise EstimateError(because(Kind.FEW_EQUAL, min(mine.items()), LEAST))
    pull = estimated(mine, _pull, level, (1.0,) * k)
    theirs = _counted([(one.item, one.outside) for one in groups])
    outsiders = estimated(theirs, _pull, level, (1.0,) * k) if min(theirs.items()) >= LEAST else None
    also = outsiders.value if outsiders is not None else 0.0
    fair = max(also, 0.0)
    if twins:
        fair = 2 * float(ndtr(STEEPEST * ndtri((1 + fair) / 2))) - 1
    high = pull.high - min(also, 0.0) * (twins or k > 1)
    return Pull(replace(pull, low=max(pull.low - fair, -1.0), high=min(high, 1.0)), outsiders, fair)


def kinds_of(found: Known) -> dict[str, Callable[..., Pull]]:
    """Return what gives the pull by kind of equal answers, at a `level`."""
    return {TIES: partial(pull_of_own, found.equal), TWINS: partial(pull_of_twins, found.twins)}


def pulls(found: Known, *, level: float = 0.05) -> dict[str, Pull]:
    """
    Return the pull by kind of equal answers (`TIES`, `TWINS`), each at its share of `level`.

    Raises `EstimateError` where no kind has enough questions.
    """
    kinds = kinds_of(found)
    few: dict[str, EstimateError] = {}
    for kind, pull in kinds.items():
        try:
            pull(level=level)
        except EstimateError as error:
            few[kind] = error
    if len(few) == len(kinds):
        raise few[TWINS if any(side.item.size for side in found.twins.values()) else TIES]
    enough = kinds.keys() - few.keys()
    return {kind: pull(level=level / len(enough)) for kind, pull in kinds.items() if kind in enough}


def pull_on(kind: str, found: Known, *, level: float = 0.05) -> Pull:
    """
    Return the pull on equal answers of a kind.

    Raises `EstimateError` for too few: why is what `pulls` says where no kind has enough questions.
    """
    try:
        return kinds_of(found)[kind](level=level)
    except EstimateError:
        pulls(found, level=level)
        raise


def _counted(groups: Sequence[tuple[Ints, Floats]]) -> Cells:
    size = max((int(item.max()) for item, _ in groups if item.size), default=0) + 1
    there = [(item[~np.isnan(favour)], favour[~np.isnan(favour)]) for item, favour in groups]
    hits = np.stack([np.bincount(item, favour, size) for item, favour in there]).astype(np.float64)
    chances = np.stack([np.bincount(item, minlength=size) for item, _ in there]).astype(np.float64)
    used = chances.any(axis=0)
    return Cells(hits[:, used], chances[:, used], len(groups))


def _pull(rates: Floats) -> Floats:
    return np.asarray(2 * rates.mean(axis=-1) - 1, dtype=np.float64)


def _as_outsiders(rates: Floats) -> Floats:
    return beyond(rates[..., :2], rates[..., 2:])


def _outsiders_right(rates: Floats) -> Floats:
    return np.asarray(_right(rates[..., 2:]).mean(axis=-1), dtype=np.float64)


def _right(own: Floats) -> Floats:
    """Return shares for the own answer [..., (won, lost)] as shares that are right, or the other way round."""
    return np.stack([own[..., 0], 1 - own[..., 1]], axis=-1)


def _cells(strata: Sequence[Sequence[_Contest]]) -> Cells:
    items = {item: place for place, item in enumerate(dict.fromkeys(c.item for part in strata for c in part))}
    hits = np.zeros((2 * len(strata), len(items)))
    chances = np.zeros_like(hits)
    for place, part in enumerate(strata):
        for one in part:
            column = items[one.item]
            for row, favour in ((place, one.judge), (len(strata) + place, one.outside)):
                hits[row, column] += favour
                chances[row, column] += 1
    return Cells(hits, chances, len(strata))


def faced_by_scores(table: ScoreTable, author: str, twins: Mapping[str, str] | None = None) -> list[AuthorPair]:
    """
    Return each text of an author beside each text of another on the same item, as every judge's scores rank the two.

    The text with the higher score is preferred, equal scores are a tie; `table.truth` says in the same way which is the
    better one. A judge that did not score both texts of a pair is not in it. Where the texts of an item are twins,
    `twins` says who wrote the original.
    """
    grid = table.grid
    own = grid.columns(author, "self")[0]
    found = []
    for column, other in enumerate(grid.generators):
        if column == own:
            continue
        signs = np.sign(table.scores[:, own] - table.scores[:, column])
        gold = None if table.truth is None else np.sign(table.truth[own] - table.truth[column])
        for place, item in enumerate(table.items):
            known = np.flatnonzero(~np.isnan(signs[:, place]))
            said = {grid.judges[row]: (int(signs[row, place]),) for row in known}
            better = None if gold is None or np.isnan(gold[place]) else int(gold[place])
            found.append(AuthorPair(item, other, better, said, {}, twin_of=(twins or {}).get(item)))
    return found


def known_by_criteria(table: RubricTable, judge: str) -> Known:
    """
    Return each criterion of a judge's answers beside the same one of another's, where both truths are known.

    A judge that credits one of the two prefers it; a criterion of negative points is credited where it is not met.

    Raises `EstimateError` where the judge wrote nothing.
    """
    grid, good = table.grid, table.points > 0
    row, own = grid.row(judge), grid.columns(judge, "self")[0]
    right, credited = ((marks == 1) == good for marks in (table.truth, table.verdicts))
    told, read = table.truth != MISSING, table.verdicts != MISSING
    families = np.array([grid.families[name] for name in grid.judges])
    parts: list[list[tuple[Ints, Floats, Floats]]] = [[], [], []]
    for column, other in enumerate(grid.generators):
        if grid.families[other] == grid.families[judge]:
            continue
        seen = read[:, own] & read[:, column]
        favour = np.where(seen, (1.0 + credited[:, own] - credited[:, column]) / 2, nan)
        outside = favour[(families != grid.families[judge]) & (families != grid.families[other])]
        count = (~np.isnan(outside)).sum(axis=0)
        mean = np.where(count > 0, np.nansum(outside, axis=0) / np.maximum(count, 1), nan)
        there = seen[row] & told[own] & told[column]
        same = right[own] == right[column]
        for part, chosen in zip(parts, (same & right[own], same & ~right[own], right[column] & ~same), strict=True):
            at = there & chosen
            part.append((table.instance[at], favour[row, at], mean[at]))
    empty = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    passed, failed, lost = (Side(*map(np.concatenate, zip(empty, *part, strict=True))) for part in parts)
    return Known((passed, failed), lost)


def wins(judged: Sequence[Judgment]) -> dict[tuple[str, str], float]:
    """Return the share of pairs that an author's answers won, by judge and author; a tie is half a win for both."""
    won: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        if not isinstance(one.verdict, Preferred | Tie):
            continue
        chosen = one.verdict.answer if isinstance(one.verdict, Preferred) else None
        for answer in one.case.answers:
            if answer.author is not None:
                value = 0.5 if chosen is None else float(chosen == answer.id)
                won.setdefault((one.judge, answer.author), []).append(value)
    return {key: fsum(values) / len(values) for key, values in won.items()}


def win_rates(judged: Sequence[Judgment], grid: Grid) -> Floats:
    """Return `wins` as a table, NaN where a judge gave no verdict on an author's pairs."""
    found = wins(judged)
    return np.array([[found.get((j, g), np.nan) for g in grid.generators] for j in grid.judges], dtype=np.float64)


def grid_of(judged: Sequence[Judgment], families: Mapping[str, str]) -> Grid:
    """Return the judges and the authors of verdicts on pairs, in their order of appearance."""
    authors = tuple(dict.fromkeys(a.author for one in judged for a in one.case.answers if a.author is not None))
    return Grid(tuple(dict.fromkeys(one.judge for one in judged)), authors, families)


def _side(answer: str | None, own: str) -> int:
    if answer is None or answer == TIE:
        return NONE
    return SELF if answer == own else OTHER


def _score(verdicts: Sequence[Verdict], answers: Sequence[object], own: str) -> float | None:
    ids = [str(getattr(answer, "id", "")) for answer in answers]
    other = next(name for name in ids if name != own)
    logs = []
    for verdict in verdicts:
        known = verdict.probabilities if isinstance(verdict, Preferred | Tie) else None
        if known is None or not known.get(own, 0.0) + known.get(other, 0.0) > 0:
            return None
        with np.errstate(divide="ignore"):
            logs.append(np.log(np.array([[known.get(own, 0.0), known.get(other, 0.0)]])))
    return float(own_scores(*logs)[0])
