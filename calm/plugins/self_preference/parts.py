"""
The tables beside the rows of self-preference.

| part | a row for each |
|---|---|
| `equal_answers` | judge and kind of equal answers: its pull on its own beside that of outsiders |
| `judge_pairs` | two judges: how far they agree |
| `ranking`, `transitivity` | author: its places in several rankings; judge: the circles of authors |
| `perplexity`, `perplexity_curves` | judge: how likely its model finds own and other answers, and who wins by that |
| `opportunity_counts`, `opportunity` | judge: the counts of its own pairs, and its figures beside outsiders' |
| `self_evaluation` | judge, dimension and framing: N, and mean and standard deviation of S, R and G |
| `self_evaluation_tests` | the same and S - R, S - G, R - G: mean difference, t, df, p, Holm's p, interval |
| `self_enhancement` | judge: CALM's error, and the two mean scores that it divides |
| `framing_differences` | judge, dimension and figure: standard framing less the other one, over the same items |
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from math import fsum, sqrt
from operator import eq
from random import Random
from statistics import stdev
from typing import Final

import numpy as np

from calm.core.annotations import Votes
from calm.core.case import Framing
from calm.core.claims import Estimate
from calm.errors import EstimateError
from calm.experiment.crossing import AS_EVER, Wording
from calm.models.wire import Json
from calm.plugins.self_preference import opportunity
from calm.plugins.self_preference.contrasts import DRAWS, Floats, mean_known
from calm.plugins.self_preference.opportunity import (
    NONE,
    OTHER,
    SELF,
    Outcomes,
)
from calm.plugins.self_preference.overestimation import Evidence
from calm.plugins.self_preference.pairs import (
    TIES,
    TWINS,
    AuthorPair,
    Known,
    by_vote,
    kinds_of,
    pull_of_own,
)
from calm.plugins.self_preference.panels import (
    Peers,
    Placed,
    Tournament,
    circular,
    peer_ranks,
    ranks,
    strengths,
    tournament,
    transitive,
)
from calm.plugins.self_preference.perplexity import Curves, LogPerplexities
from calm.plugins.self_preference.scores import (
    Comparison,
    ScoreTable,
    SelfEvaluation,
    averaged,
    compared,
    evaluated,
    item_means,
    p_holm,
)
from calm.statistics.agreement import cohen_kappa, icc
from calm.statistics.intervals import student_quantile

ROUND_OFF = 12
"""Decimals of a rate in a record: beyond them there is nothing but the round-off of its sums."""


@dataclass(frozen=True, slots=True)
class Part:
    """
    A table beside the rows, such as the counts behind a figure: `name` in the record, and its rows, by column.

    `reason` says why it has no rows, or what limits it. `x` names the column of the rows that a chart puts on its
    horizontal axis, and `lines` those that it draws; without `x` there is no chart.
    """

    name: str
    rows: tuple[Mapping[str, Json], ...]
    reason: str = ""
    x: str = ""
    lines: tuple[str, ...] = ()


def known(value: float) -> float | None:
    """Return a number, None for NaN."""
    return None if np.isnan(value) else round(float(value), ROUND_OFF)


def equal_parts(own: Mapping[str, Known], *, level: float = 0.05) -> tuple[Part, ...]:
    """
    Return the table `equal_answers`: a row for each judge and kind of equal pairs of its own that has enough questions.

    `own` holds the known pairs of each judge. A kind of twins alone has no bounds: it also shows what the judge thinks
    of originals. There is no table without a row.
    """
    rows: list[dict[str, Json]] = []
    for judge, found in own.items():
        kinds = kinds_of(found) | {whose: partial(pull_of_own, [side]) for whose, side in found.twins.items()}
        for of, pull in kinds.items():
            with suppress(EstimateError):
                one = pull(level=level)
                low, high = (one.estimate.low, one.estimate.high) if of in (TIES, TWINS) else (None, None)
                theirs = None if one.outsiders is None else one.outsiders.value
                told: dict[str, Json] = {"n": one.estimate.n, "pull": one.estimate.value, "outsiders": theirs}
                rows.append({"judge": judge, "of": of, **told, "low": low, "high": high})
    return (Part("equal_answers", tuple(rows)),) if rows else ()


def judge_pairs(
    ratings: Sequence[Sequence[Hashable | None]], judges: Sequence[str], *, numeric: bool = False
) -> tuple[Part, ...]:
    """
    Return the table `judge_pairs`: a row for each two judges, those first that agree least; nothing for one judge.

    Args:
        ratings: a row for each answer, pair or criterion, a place for each judge; None is no verdict.
        judges: their names.
        numeric: whether the ratings are scores: agreement is then ICC(2,1) and Pearson's r, else Cohen's kappa.
    """
    columns = list(zip(*ratings, strict=True))
    rows: list[tuple[float, dict[str, Json]]] = []
    for (a, first), (b, second) in combinations(enumerate(judges), 2):
        both = [(x, y) for x, y in zip(columns[a], columns[b], strict=True) if x is not None and y is not None]
        figures: dict[str, Json] = {"n": len(both)}
        left, right = [x for x, _ in both], [y for _, y in both]
        figures["raw"] = sum(map(eq, left, right)) / len(both) if both else None
        told = _of_scores(left, right) if numeric else {"kappa": None}
        with suppress(EstimateError):
            told |= (
                {} if numeric else {"kappa": cohen_kappa(left, right, categories=list(dict.fromkeys((*left, *right))))}
            )
        by = told["icc" if numeric else "kappa"]
        lowest = by if by is not None else figures["raw"]
        order = lowest if isinstance(lowest, float) else 2.0
        rows.append((order, {"judge": first, "other_judge": second, **figures, **told}))
    if not rows:
        return ()
    rows.sort(key=lambda row: row[0])
    return (Part("judge_pairs", tuple(row for _, row in rows)),)


def _of_scores(first: Sequence[Hashable], second: Sequence[Hashable]) -> dict[str, float | None]:
    one, other = ([float(str(value)) for value in side] for side in (first, second))
    found: dict[str, float | None] = {"icc": None, "r": None}
    with suppress(EstimateError):
        found["icc"] = icc(list(zip(one, other, strict=True)))
    if len(one) > 1 and len(set(one)) > 1 and len(set(other)) > 1:
        found["r"] = statistics.correlation(one, other)
    return found


def ranking(evidence: Evidence, foreign: Floats, every: Floats, *, level: float = 0.05) -> tuple[Part, ...]:
    """
    Return the tables `ranking`, a row for each author, and `transitivity`, a row for each judge.

    Args:
        evidence: what the judges said, as signs of comparisons.
        foreign: mean score, or share of pairs won, [judges, generators] without a judge's verdicts on its own answers.
        every: the same of all verdicts.
        level: of each one-sided bound of a strength.
    """
    found = tournament(evidence.said.signs, evidence.grid)
    circles = _circles(evidence, found)
    return (_ranked(evidence, found, foreign, every, level), *([Part("transitivity", circles)] if circles else []))


def _ranked(evidence: Evidence, found: Tournament, foreign: Floats, every: Floats, level: float) -> Part:
    names = evidence.grid.generators
    missing: list[str] = []
    placed: dict[str, Placed] = {}
    try:
        placed = strengths(found, evidence.said.signs, level=level)
    except EstimateError as error:
        missing.append(f"strength: {error}")
    peers: dict[bool, Peers] = {}
    for own, way in ((False, "weight"), (True, "weight with own")):
        try:
            peers[own] = peer_ranks(found, own=own)
        except EstimateError as error:
            missing.append(f"{way}: {error}")
            continue
        if not peers[own].weights.converged:
            missing.append(f"{way}: no fixed point in {peers[own].weights.rounds} rounds, so all weigh the same")
    means = [[None if np.isnan(v) else float(v) for v in mean_known(table, 0)] for table in (foreign, every)]
    values = {
        "mean": means[0],
        "mean_with_own": means[1],
        "strength": [placed[name].value if name in placed else None for name in names],
        "peer_rate": [peers[False].rates[name] if False in peers else None for name in names],
    }
    places = {name: ranks(of) for name, of in values.items()}
    rows: list[dict[str, Json]] = []
    for at, name in enumerate(names):
        row: dict[str, Json] = {"author": name}
        row |= {way: values[way][at] for way in ("mean", "mean_with_own")}
        row["strength"] = asdict(placed[name]) if name in placed else None
        row |= {"peer_rate": values["peer_rate"][at], "weight": _weight(peers.get(False), name)}
        row["weight_with_own"] = _weight(peers.get(True), name)
        rows.append(row | {f"rank_{way}": place[at] for way, place in places.items()})
    return Part("ranking", tuple(rows), "; ".join(missing))


def _weight(peers: Peers | None, name: str) -> float | None:
    if peers is None or name not in peers.members:
        return None
    return peers.weights.values[peers.members.index(name)]


def _circles(evidence: Evidence, found: Tournament) -> tuple[dict[str, Json], ...]:
    """
    Return the circles of each judge that compared three authors or more.

    A score ranks the answers of one question, so only judges of pairs can go in a circle there.
    """
    rows: list[dict[str, Json]] = []
    for row, judge in enumerate(evidence.grid.judges):
        authors = int(found.met[row].any(axis=1).sum())
        if authors < 3:
            continue
        some, strict, zeta = transitive(found, judge)
        about: dict[str, Json] = {"judge": judge, "authors": authors}
        if evidence.said.scores is None:
            within, n = circular(evidence.said.signs[row])
            about |= {"circular_in_items": within / n if n else None, "n_in_items": n}
        rows.append(
            about | {"circular_of_authors": some / strict if strict else None, "n_of_authors": strict, "zeta": zeta}
        )
    return tuple(rows)


def perplexity_parts(likely: LogPerplexities, curves: Mapping[str, Curves], *, level: float = 0.05) -> tuple[Part, ...]:
    """
    Return a table of the log-perplexities of own answers against others', and one of win rates; those with rows.

    Args:
        likely: log-perplexities in nats a token, by judge, item and author.
        curves: win rates by difference in log-perplexity, by judge.
        level: of each bound of the difference.
    """
    found = [row for judge, by_item in likely.items() if (row := _against(judge, by_item, level))]
    bins = [row for judge, one in curves.items() for row in _bins(judge, one)]
    parts = Part("perplexity", tuple(found)), Part("perplexity_curves", tuple(bins))
    return tuple(part for part in parts if part.rows)


def _against(judge: str, by_item: Mapping[str, Mapping[str, float]], level: float) -> dict[str, Json]:
    own: list[float] = []
    others: list[float] = []
    for values in by_item.values():
        theirs = [value for author, value in values.items() if author != judge]
        if judge in values and theirs:
            own.append(values[judge])
            others.append(fsum(theirs) / len(theirs))
    if not own:
        return {}
    n, differences = len(own), [a - b for a, b in zip(own, others, strict=True)]
    middle = fsum(differences) / n
    spread = stdev(differences) if n > 1 else 0.0
    half = student_quantile(n - 1, 1 - level) * spread / sqrt(n) if spread else None
    return {
        "judge": judge,
        "items": n,
        "own": fsum(own) / n,
        "others": fsum(others) / n,
        "own_less_others": {
            "value": middle,
            "low": None if half is None else middle - half,
            "high": None if half is None else middle + half,
        },
    }


def _bins(judge: str, curves: Curves) -> list[dict[str, Json]]:
    lines = {"judge_wins": curves.judge, "people_wins": curves.human}
    split = {"own_wins": curves.own, "others_wins": curves.others}
    rows = []
    for place, one in enumerate(curves.judge):
        cells = {name: bins[place] for name, bins in (lines | split).items()}
        rates: dict[str, Json] = {
            name: None if b.rate is None else {"value": b.rate, "low": b.rate_low, "high": b.rate_high}
            for name, b in cells.items()
        }
        edges: dict[str, Json] = {"judge": judge, "difference_from": one.low, "difference_to": one.high, "n": one.n}
        rows.append({**edges, "n_people": curves.human[place].n, **rates})
    return rows


VERDICTS, SCORES = "verdicts", "probabilities"
"""What decides a pair: the winner of both orders, or the mean score of the own answer in both."""


def opportunity_parts(
    faced: Mapping[str, Sequence[AuthorPair]],
    families: Mapping[str, str],
    rng: Random,
    *,
    votes: Votes | None = None,
    level: float = 0.05,
    draws: int = DRAWS,
) -> tuple[Part, ...]:
    """
    Return the counts, and the figures from them, of each judge: by its verdicts and, where it gave them, probabilities.

    `faced` holds the pairs of each judge's own answers. Counts are of pairs, by people's and the judge's choice; the
    recalls, the gap and `parity_labelled` leave out pairs that either left undecided, `parity` those that the judge
    did. Bounds are Newcombe's (gap) and Wilson's (parity) where each item gives one pair, else they come from
    resampling items; each is at `level`. Below them is the mean of the same figures over outsiders: judges whose family
    is neither the judge's nor the other author's, each on the pairs that it judged. There are no parts where no judge
    has such pairs.

    `votes` is the rule that the user chose, which the rows name. With `each` the counts and what comes from them are of
    votes; `parity`, which needs no label, is always of pairs.
    """
    rule: dict[str, Json] = {"votes": votes} if votes else {}
    labelled = by_vote if votes == "each" else list
    counts: list[dict[str, Json]] = []
    figures: list[dict[str, Json]] = []
    missing: list[str] = []
    state = rng.getstate()
    for judge, pairs in faced.items():
        for by in (VERDICTS, SCORES):
            seen = _judged(pairs, judge, by)
            if not seen:
                continue
            rng.setstate(state)  # the same for every judge, in any order
            voted = labelled(seen)
            found = opportunity.confusion(*_outcomes(voted, judge, by))
            about: dict[str, Json] = {"judge": judge, "by": by, **rule}
            counts.append({**about, **_counts(labelled(pairs), voted, found)})
            row, reasons = _figures(voted, seen, judge, by, rng, level=level, draws=draws)
            figures += [{**about, "who": "judge", "judges": 1, **row}]
            if (outside := _outside(seen, judge, families, by, labelled)) is not None:
                figures += [{**about, "who": "outsiders", **outside}]
            missing += [f"{judge}: {name}: {reason}" for name, reason in reasons.items()]
    if not counts:
        return ()
    return Part("opportunity_counts", tuple(counts)), Part("opportunity", tuple(figures), "; ".join(missing))


def _judged(pairs: Sequence[AuthorPair], judge: str, by: str) -> list[AuthorPair]:
    return [pair for pair in pairs if judge in (pair.said if by == VERDICTS else pair.scores)]


def _outcomes(pairs: Sequence[AuthorPair], judge: str, by: str) -> tuple[Outcomes, Outcomes]:
    gold = np.array([NONE if pair.gold is None else pair.gold for pair in pairs], dtype=np.int8)
    said = [pair.by_verdicts(judge) if by == VERDICTS else pair.by_score(judge) for pair in pairs]
    return gold, np.array(said, dtype=np.int8)


def _counts(pairs: Sequence[AuthorPair], seen: Sequence[AuthorPair], found: opportunity.Confusion) -> dict[str, Json]:
    return {
        "pairs": len(pairs),
        "self_as_self": found.self_as_self,
        "self_as_other": found.self_as_other,
        "other_as_other": found.other_as_other,
        "other_as_self": found.other_as_self,
        "self_as_none": found.self_as_none,
        "other_as_none": found.other_as_none,
        "people_tied": sum(pair.gold == NONE and pair.twin_of is None for pair in seen),
        "no_label": sum(pair.gold is None or (pair.gold == NONE and pair.twin_of is not None) for pair in seen),
        "not_judged": len(pairs) - len(seen),
    }


def _figures(
    voted: Sequence[AuthorPair],
    pairs: Sequence[AuthorPair],
    judge: str,
    by: str,
    rng: Random,
    *,
    level: float,
    draws: int,
) -> tuple[dict[str, Json], dict[str, str]]:
    gold, said = _outcomes(voted, judge, by)
    counts = opportunity.confusion(gold, said)
    n_self, n_other = _classes(counts)
    items = [pair.item for pair in voted]
    several = len(set(items)) < len(items)
    reasons: dict[str, str] = {}

    def told(name: str, plain: Callable[[], Estimate], resampled: Callable[[], Estimate]) -> Json:
        value: float | None = None
        try:
            value = plain().value
            found = resampled() if several else plain()
        except EstimateError as error:
            reasons[name] = str(error)
            return None if value is None else {"value": value, "low": None, "high": None}
        return {"value": found.value, "low": found.low, "high": found.high}

    def parity(name: str, some: Sequence[AuthorPair]) -> Json:
        among, there = _outcomes(some, judge, by)[1], [pair.item for pair in some]
        picked = int((among == SELF).sum()), int((among == OTHER).sum())
        return told(
            name,
            lambda: opportunity.demographic_parity(*picked, level=level),
            lambda: opportunity.parity_bootstrap(among, rng, cases=there, level=level, draws=draws),
        )

    gap = told(
        "gap",
        lambda: opportunity.equal_opportunity(counts, level=level).gap,
        lambda: opportunity.opportunity_bootstrap(gold, said, rng, cases=items, level=level, draws=draws),
    )
    return {
        "recall_self": counts.self_as_self / n_self if n_self else None,
        "n_self": n_self,
        "recall_other": counts.other_as_other / n_other if n_other else None,
        "n_other": n_other,
        "gap": gap,
        "parity": parity("parity", pairs),
        "n_parity": int((_outcomes(pairs, judge, by)[1] != NONE).sum()),
        "parity_labelled": parity("parity_labelled", [pair for pair in voted if pair.gold]) if counts.n else None,
        "n_parity_labelled": counts.n,
        "interval": "items resampled" if several else "Newcombe, Wilson",
    }, reasons


def _classes(counts: opportunity.Confusion) -> tuple[int, int]:
    return counts.self_as_self + counts.self_as_other, counts.other_as_other + counts.other_as_self


def _outside(
    seen: Sequence[AuthorPair],
    judge: str,
    families: Mapping[str, str],
    by: str,
    labelled: Callable[[Sequence[AuthorPair]], list[AuthorPair]],
) -> dict[str, Json] | None:
    own = families[judge]
    names = "recall_self", "recall_other", "gap", "parity", "parity_labelled"
    values: dict[str, list[float]] = {name: [] for name in names}
    used = 0
    for name in dict.fromkeys(name for pair in seen for name in pair.said if families[name] != own):
        theirs = [p for p in _judged(seen, name, by) if families[p.other] not in (own, families[name])]
        used += bool(theirs)
        gold, said = _outcomes(labelled(theirs), name, by)
        found = opportunity.confusion(gold, said)
        n_self, n_other = _classes(found)
        if n_self and n_other:
            recalls = found.self_as_self / n_self, found.other_as_other / n_other
            values["recall_self"].append(recalls[0])
            values["recall_other"].append(recalls[1])
            values["gap"].append(recalls[0] - recalls[1])
        for figure, among in (("parity", _outcomes(theirs, name, by)[1]), ("parity_labelled", said[gold != NONE])):
            if (among != NONE).any():
                picked = int((among == SELF).sum()), int((among == OTHER).sum())
                values[figure].append(opportunity.demographic_parity(*picked).value)
    if not used:
        return None
    return {"judges": used, **{n: known(fsum(some) / len(some)) if some else None for n, some in values.items()}}


MEAN: Final = "mean"
"""What stands for a dimension where scores are the mean over all of them."""


def evaluation_parts(table: ScoreTable, worded: Mapping[Wording, ScoreTable]) -> tuple[Part, ...]:
    """
    Return the parts of a table of scores, and of those of each wording in which they were asked.

    Without `worded` the table is that of the usual wording. Several dimensions also have their mean, by framing.
    """
    tables = with_means(worded or {AS_EVER: table})
    found = {wording: evaluated(one, one.grid.judges) for wording, one in tables.items()}
    means: list[dict[str, Json]] = []
    tests: list[dict[str, Json]] = []
    for wording, by_judge in found.items():
        said = [one for one in by_judge.values() if isinstance(one, SelfEvaluation)]
        means += [_means(one, wording) for one in said]
        tests += _tests(said, wording)
    missing = {why: None for by_judge in found.values() for why in by_judge.values() if isinstance(why, str)}
    parts = [Part("self_evaluation", tuple(means), "; ".join(missing)), Part("self_evaluation_tests", tuple(tests))]
    changed = [row for standard, other in framed(tables) for row in _changed(tables, standard, other)]
    return (*parts, Part("framing_differences", tuple(changed))) if changed else tuple(parts)


def with_means(tables: Mapping[Wording, ScoreTable]) -> dict[Wording, ScoreTable]:
    """Return tables by wording with the mean over the dimensions of each framing, where there are several."""
    found = dict(tables)
    for framing in dict.fromkeys(wording.framing for wording in tables):
        some = [table for wording, table in tables.items() if wording.framing is framing]
        if len(some) > 1:
            found[Wording(MEAN, framing)] = averaged(some)
    return found


def framed(tables: Mapping[Wording, ScoreTable]) -> list[tuple[Wording, Wording]]:
    """Return each wording in the standard framing with the same in another one."""
    return [
        (one, other)
        for one in tables
        for other in tables
        if one.framing is Framing.STANDARD and other.framing is not one.framing and one.dimension == other.dimension
    ]


def _named(judge: str, wording: Wording) -> dict[str, Json]:
    dimension: dict[str, Json] = {"dimension": wording.dimension} if wording.dimension else {}
    return {"judge": judge, **dimension, "framing": wording.framing.value}


def _means(one: SelfEvaluation, wording: Wording) -> dict[str, Json]:
    row = _named(one.judge, wording) | {"n": one.n}
    for name, spread in (("own", one.own), ("received", one.received), ("given", one.given)):
        row |= {name: None if spread is None else spread.mean, f"{name}_sd": None if spread is None else spread.sd}
    return row


def _tests(said: Sequence[SelfEvaluation], wording: Wording) -> list[dict[str, Json]]:
    found: dict[tuple[str, str], dict[str, Json]] = {}
    for name in ("own_minus_received", "own_minus_given", "received_minus_given"):
        adjusted = p_holm(said, name)
        for one in said:
            if (test := getattr(one, name)) is not None:
                row = _named(one.judge, wording) | {"figure": name.replace("_", " ")} | _test(test)
                found[one.judge, name] = row | {"p_holm": adjusted.get(one.judge)}
    return [row for judge in dict.fromkeys(one.judge for one in said) for (of, _), row in found.items() if of == judge]


def _test(test: Comparison) -> dict[str, Json]:
    return {
        "difference": {"value": test.mean, "low": test.low, "high": test.high},
        "sd": test.sd,
        "t": test.t,
        "df": test.df,
        "p": test.p,
    }


def _changed(tables: Mapping[Wording, ScoreTable], standard: Wording, other: Wording) -> list[dict[str, Json]]:
    first, second = (tables[wording] for wording in (standard, other))
    rows: list[dict[str, Json]] = []
    for judge in first.grid.judges:
        try:
            whole = [item_means(table, judge) for table in (first, second)]
        except EstimateError:  # its reason stands beside the means
            continue
        places = [table.items for table in (first, second)]
        shared = [item for item in places[0] if item in set(places[1])]
        at = [[{item: i for i, item in enumerate(items)}[item] for item in shared] for items in places]
        values = [
            {
                "own": m.own[i],
                "received": m.received[i],
                "given": m.given[i],
                "own minus received": (m.own - m.received)[i],
                "own minus given": (m.own - m.given)[i],
            }
            for m, i in zip(whole, at, strict=True)
        ]
        span = first.high - first.low
        for name in values[0]:
            wide = 2 * span if " minus " in name else span
            test = compared(values[0][name] - values[1][name], wide)
            if test is not None:
                dimension: dict[str, Json] = {"dimension": standard.dimension} if standard.dimension else {}
                named: dict[str, Json] = {"judge": judge, **dimension, "figure": name}
                framings: dict[str, Json] = {"framings": f"{standard.framing.value} - {other.framing.value}"}
                rows.append({**named, **framings, "n": test.df + 1, **_test(test)})
    return rows
