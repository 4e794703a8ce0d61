"""
Fair judges and judges that prefer their own, put to the claim of the self-preference suite.

    python -m benchmarks.fair_judges                                                # print the table (five minutes)
    python -m benchmarks.fair_judges --write docs/measured/self-preference.md    # write it between its marks

Four worlds: pairs, scores, criteria, and twins, which are pairs of one text in two wordings. In each, three or four
judges judge the answers that they wrote, the truth is known (but of twins), and one judge is in question. Its skill,
that of its peers, what these miss or share a taste for, the worth of its answers, its preference and the errors of the
gold labels are set.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import sqrt
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.pages import measured, put
from calm.core.claims import Claim, Decision, Outcome, decide
from calm.plugins.self_preference import pairs
from calm.plugins.self_preference.contrasts import Floats, Grid
from calm.plugins.self_preference.pairs import AuthorPair, Known
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.rubric import RubricTable
from calm.plugins.self_preference.scores import ScoreTable
from calm.plugins.self_preference.skill import Excess
from calm.plugins.self_preference.tables import decide_pull
from calm.statistics.power import uniforms

SEED = 20_261_122
LIMITS = {"pairwise": 0.15, "twins": 0.15, "score": 0.15, "rubric": 0.08}
"""What the suite claims of `own_pull`."""
ITEMS = 200
BAND = 0.3
"""Two answers whose worth differs by less than this are equal; a standard deviation of the difference is 1."""
WORDING = 0.5
"""The standard deviation of the difference in worth of two wordings of one text."""
CRITERIA = 2
NAMES = ("judge", "b", "c", "d")
FAMILIES = {name: name for name in NAMES}
SHARP, PLAIN, BLUNT = 0.3, 0.7, 1.6
"""The noise of a judge, in standard deviations of the worth of answers about that of their item."""


@dataclass(frozen=True, slots=True)
class Setting:
    """
    A judge in question and its world.

    `noise` and `peers` are the noise of the judge and of its peers; `worth` is how much better its own answers are;
    `unseen` is how much of a second quality the answers differ in, which only the judge sees, and `worth` is then of
    this one; `taste` is how much worse all peers find the judge's answers than they are; `idle` is the share of cases
    in which a peer does not look (it takes the first slot, gives 7, or credits all), `coin` the share in which the
    judge itself guesses; `wrong` is the share of gold labels that are wrong, `blur` the noise of all of them; `lenient`
    what the judge adds to everything; `prefers` the share in which it takes its own answer whatever it is worth.

    Of pairs and twins alone: `equals` is what the judge says of two equal answers ("" looks for a difference as ever),
    and `breaks` the share of them in which it takes its own instead. Of twins alone: `originals` is how much better the
    judge, and nobody else, finds an original than a paraphrase.
    """

    name: str
    noise: float = PLAIN
    peers: float = PLAIN
    worth: float = 0.0
    unseen: float = 0.0
    taste: float = 0.0
    idle: float = 0.0
    coin: float = 0.0
    wrong: float = 0.0
    blur: float = 0.0
    lenient: float = 0.0
    prefers: float = 0.0
    equals: str = ""
    breaks: float = 0.0
    originals: float = 0.0


def _by_worth(name: str, noise: float = PLAIN, peers: float = PLAIN, *, prefers: float = 0.0) -> tuple[Setting, ...]:
    ends = (("", 0.0), (", writes better", 1.0), (", writes worse", -1.0))
    return tuple(Setting(name + end, noise, peers, worth, prefers=prefers) for end, worth in ends)


UNSEEN = Setting("sees a quality that its peers miss, writes better in it", 1.0, worth=1.0, unseen=0.8)
"""A fair judge that an excess over its peers accuses."""
TASTE = tuple(Setting(f"peers share a taste against its style, {weight:g}", taste=weight) for weight in (0.3, 0.6))
"""And another one."""
FAIR = (
    UNSEEN,
    *TASTE,
    Setting("says tie of equal answers", equals="tie"),
    Setting("tosses a coin over equal answers", equals="coin"),
)
SKILLED = (
    *_by_worth("as skilled"),
    *_by_worth("more skilled", noise=SHARP, peers=BLUNT),
    *_by_worth("less skilled", noise=BLUNT, peers=SHARP),
    Setting("peers do not look in half, writes better", idle=0.5, worth=1.0),
    Setting("more skilled, gold wrong in 10 %, writes better", SHARP, BLUNT, 1.0, wrong=0.1),
    Setting("labels err as much as judges, writes better", blur=PLAIN, worth=1.0),
    Setting("tosses a coin, writes worse", coin=1.0, worth=-1.0),
    Setting("lenient, writes better", lenient=0.8, worth=1.0),
    Setting("strict, writes better", lenient=-0.8, worth=1.0),
)
"""Fair judges of different skill, and labels that err."""
MISLED = Setting("labels err, and miss with its peers what it sees", worth=1.0, unseen=0.8, blur=PLAIN)
"""A fair judge that nothing here tells from one that prefers its own: equal answers of it are not equal."""
BREAKS = tuple(
    Setting(f"takes its own of {share:.0%} of equal answers, else {name}", equals=kind, breaks=share)
    for kind, name in (("tie", "says tie"), ("coin", "tosses a coin"))
    for share in (1.0, 0.6, 0.3)
)
BIASED = (
    *_by_worth("prefers its own in 30 %", prefers=0.3)[:2],
    *_by_worth("prefers its own in 50 %", prefers=0.5)[:2],
    Setting("prefers its own in 90 %", prefers=0.9),
)


ORIGINALS = Setting("likes originals", originals=1.0)
"""A fair judge of twins: it has no wording of its own in mind."""


ALL = (*FAIR, *SKILLED, MISLED, *BREAKS, *BIASED, ORIGINALS)


def normals(rng: Random, *shape: int) -> Floats:
    """Return standard normal numbers."""
    return np.asarray(ndtri(uniforms(rng, shape)), dtype=np.float64)


def happens(rng: Random, rate: float, *shape: int) -> NDArray[np.bool_]:
    """Return where something happens."""
    return np.asarray(uniforms(rng, shape) < rate, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class World:
    """The pairs of the judge in question whose truth is known, and its excess over its peers."""

    known: Callable[[], Known]
    excess: Callable[[], Excess]


def world(family: str, setting: Setting, rng: Random, items: int = ITEMS, *, equal: bool = True) -> World:
    """Return the verdicts of all judges of a setting; without `equal`, no two answers have an equal gold label."""
    makers: dict[str, Callable[[Setting, Random, int, bool], World]]
    makers = {"pairwise": _pairs, "score": _scores, "twins": _twins}
    return makers.get(family, _criteria)(setting, rng, items, equal)


def _worths(setting: Setting) -> tuple[float, float]:
    """Return how much better own answers are in what all judges see, and in what only the judge in question sees."""
    return (0.0, setting.worth) if setting.unseen else (setting.worth, 0.0)


def _pairs(setting: Setting, rng: Random, items: int, equal: bool) -> World:
    shape = (items, 2)
    open_, hidden = _worths(setting)
    seen = open_ + 0.8 * normals(rng, *shape) + 0.6 * normals(rng, items, 1)
    margin = seen + hidden + setting.unseen * normals(rng, *shape)
    told = margin + setting.blur * normals(rng, *shape)
    gold = np.where(equal & (abs(told) < BAND), 0, np.where(told > 0, 1, -1))
    other = np.where(gold == 0, np.where(told > 0, 1, -1), -gold)
    gold = np.where(happens(rng, setting.wrong, *shape), other, gold)
    return _world(_said(setting, rng, margin, seen), gold, [None] * items)


def _twins(setting: Setting, rng: Random, items: int, equal: bool) -> World:
    """Return pairs of wordings of one text, of which three models take turns to write the original."""
    open_, hidden = _worths(setting)
    seen = open_ + WORDING * normals(rng, items, 2)
    margin = seen + hidden + WORDING * setting.unseen * normals(rng, items, 2)
    turn = np.arange(items)[:, None] % 3
    original = np.where(turn == 0, 1, np.where(turn == np.array([1, 2]), -1, 0))
    gold = np.zeros((items, 2), dtype=np.int64)
    said = _said(setting, rng, margin + setting.originals * original, seen)
    return _world(said, gold, [NAMES[n % 3] for n in range(items)])


def _said(setting: Setting, rng: Random, margin: Floats, seen: Floats) -> dict[str, list[tuple[int, ...]]]:
    """Return what all judges say of pairs, [items, 2], of the judge's answer and one of b, or of c."""
    shape, alike = margin.shape, abs(margin) < BAND
    said: dict[str, list[tuple[int, ...]]] = {}
    for name in NAMES[:3]:
        mine = name == NAMES[0]
        view, noise = (margin, setting.noise) if mine else (seen - setting.taste, setting.peers)
        own = np.where(view + noise * normals(rng, 2, *shape) > 0, 1, -1)
        toss = np.where(happens(rng, 0.5, 2, *shape), 1, -1)
        if mine:
            own = np.where(happens(rng, setting.coin, *shape), toss, own)
            if setting.equals:
                own = np.where(alike, toss if setting.equals == "coin" else 0, own)
            own = np.where(alike & happens(rng, setting.breaks, *shape), 1, own)
            own = np.where(happens(rng, setting.prefers, *shape), 1, own)
        else:
            own = np.where(happens(rng, setting.idle, *shape), np.array([1, -1])[:, None, None], own)
        said[name] = list(map(tuple, own.reshape(2, -1).T.tolist()))
    return said


def _world(said: dict[str, list[tuple[int, ...]]], gold: NDArray[np.int64], by: Sequence[str | None]) -> World:
    places = [(item, other) for item in range(len(by)) for other in NAMES[1:3]]
    faced = [
        AuthorPair(str(item), other, better, {name: said[name][n] for name in said}, {}, twin_of=by[item])
        for n, ((item, other), better) in enumerate(zip(places, gold.ravel().tolist(), strict=True))
    ]
    return World(partial(pairs.known, faced, NAMES[0], FAMILIES), partial(pairs.pair_excess, faced, NAMES[0], FAMILIES))


def _scores(setting: Setting, rng: Random, items: int, equal: bool) -> World:
    names = NAMES[:3]
    open_, hidden = _worths(setting)
    seen = np.array([open_, 0.1, -0.1])[:, None] + 0.8 * normals(rng, 3, items) + 0.6 * normals(rng, items)
    texts = seen + np.array([hidden, 0.0, 0.0])[:, None] + setting.unseen * normals(rng, 3, items)
    views = np.stack([texts, seen, seen])
    views[1:, 0] -= setting.taste
    lenient, noise = np.array([setting.lenient, 0.3, -0.3]), np.array([setting.noise, setting.peers, setting.peers])
    given = views + lenient[:, None, None] + noise[:, None, None] * normals(rng, 3, 3, items)
    points = _points(given)
    points[1:] = np.where(happens(rng, setting.idle, 2, 3, items), 7, points[1:])
    points[0] = np.where(happens(rng, setting.coin, 3, items), np.floor(1 + 10 * uniforms(rng, (3, items))), points[0])
    points[0, 0] = np.where(happens(rng, setting.prefers, items), 10, points[0, 0])
    told = texts + setting.blur * normals(rng, 3, items)
    told = np.where(happens(rng, setting.wrong, 3, items), normals(rng, 3, items), told)
    truth = _points(told) if equal else told
    table = ScoreTable(Grid(names, names, FAMILIES), tuple(map(str, range(items))), points, 1.0, 10.0, truth)
    found = Tables("score", FAMILIES, scores=table)
    return World(partial(found.known, NAMES[0]), partial(found.excess, NAMES[0]))


def _points(worth: Floats) -> Floats:
    """Return the worth of texts as points from 1 to 10."""
    return np.asarray(np.clip(np.round(6.5 + 1.5 * worth), 1, 10), dtype=np.float64)


def _criteria(setting: Setting, rng: Random, items: int, equal: bool) -> World:
    k, n = len(NAMES), items * CRITERIA
    open_, hidden = _worths(setting)
    seen = 0.5 + np.array([open_, 0.1, 0.0, -0.1])[:, None] + 0.8 * normals(rng, k, n) + 0.6 * normals(rng, n)
    margin = seen + np.array([hidden, 0.0, 0.0, 0.0])[:, None] + setting.unseen * normals(rng, k, n)
    views = np.stack([margin, seen, seen, seen])
    views[1:, 0] -= setting.taste
    noise = np.array([setting.noise, *[setting.peers] * (k - 1)])
    lenient = np.array([setting.lenient, 0.2, 0.0, -0.2])
    met = views + lenient[:, None, None] + noise[:, None, None] * normals(rng, k, k, n) > 0
    met[1:] |= happens(rng, setting.idle, k - 1, k, n)
    met[0] = np.where(happens(rng, setting.coin, k, n), happens(rng, 0.5, k, n), met[0])
    met[0, 0] |= happens(rng, setting.prefers, n)
    truth = (margin + setting.blur * normals(rng, k, n) > 0) ^ happens(rng, setting.wrong, k, n)
    names = tuple(map(str, range(items))), tuple(map(str, range(n)))
    place = np.repeat(np.arange(items), CRITERIA)
    marks = met.astype(np.int8), truth.astype(np.int8)
    table = RubricTable(Grid(NAMES, NAMES, FAMILIES), *names, place, *marks, np.ones(n))
    found = Tables("rubric", FAMILIES, rubrics=table)
    return World(partial(found.known, NAMES[0]), partial(found.excess, NAMES[0]))


@dataclass(frozen=True, slots=True)
class Shares:
    """What the suite's claim says of a setting: shares of runs; in the others the excess is OBSERVED, or nothing."""

    fails: float
    undecided: float
    passes: float


def decided(family: str, setting: Setting, rng: Random, items: int = ITEMS, *, equal: bool = True) -> Decision:
    """Return what the product decides in one world."""
    found = world(family, setting, rng, items, equal=equal)
    return decide_pull(found.known, found.excess, Claim("own_pull", "<=", LIMITS[family]))


@cache
def simulated(family: str, setting: Setting, runs: int, items: int = ITEMS, *, equal: bool = True) -> Shares:
    """Return what the suite says of a setting over many worlds."""
    rng = Random(f"{SEED} {family} {setting.name} {items}")
    found = [decided(family, setting, rng, items, equal=equal).outcome for _ in range(runs)]
    return Shares(*(found.count(outcome) / runs for outcome in (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)))


@cache
def accused(setting: Setting, runs: int, items: int = ITEMS) -> float:
    """Return the share of worlds of pairs in which a claim on the excess would FAIL, as the suite once decided it."""
    rng = Random(f"{SEED} excess {setting.name} {items}")
    claim = Claim("self_preference_excess", "<=", 0.08)
    found = [world("pairwise", setting, rng, items).excess().estimate for _ in range(runs)]
    return sum(decide(one, claim) is Outcome.FAIL for one in found) / runs


COLUMNS: Sequence[tuple[str, str, bool]] = (
    ("pairs", "pairwise", True),
    ("twins", "twins", True),
    ("pairs, none equal", "pairwise", False),
    ("scores", "score", True),
    ("criteria", "rubric", True),
)


def table(runs: int, items: int = ITEMS) -> str:
    """Return what the suite says of all settings as Markdown."""
    head = ("judge", "excess", *(name for name, _, _ in COLUMNS))
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for setting in ALL:
        shown = ["-" if setting in (*SKILLED, ORIGINALS) else f"{accused(setting, runs, items):.2f}"]
        for _, family, equal in COLUMNS:
            where = ("twins",) if setting.originals else ("pairwise", "twins") if setting.equals else LIMITS
            if (setting in SKILLED and not equal) or family not in where:
                shown.append("-")
                continue
            cell = simulated(family, setting, runs, items, equal=equal)
            shown.append(f"{cell.fails:.3f} / {cell.undecided:.2f} / {cell.passes:.2f}")
        lines.append(f"| {setting.name} | {' | '.join(shown)} |")
    errors = [sqrt(p * (1 - p) / runs) for p in (0.05, 0.5)]
    lines += [
        "",
        f"Of {runs} simulated runs with {items} questions each: share that FAILs / is UNDECIDED / PASSes "
        f"`own_pull <= {LIMITS['pairwise']}` (criteria: {LIMITS['rubric']}); in the others the excess is OBSERVED. "
        "*Excess*: share of the runs with pairs in which `self_preference_excess <= 0.08` would FAIL, which the suite "
        f"claimed before. A share of .05 errs by {errors[0]:.3f}, any share by at most {errors[1]:.3f} (Monte-Carlo "
        "standard error).",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it between its marks in a page."""
    parser = argparse.ArgumentParser(description="Fair judges and others, put to the claim on self-preference.")
    parser.add_argument("--runs", type=int, default=200, help="simulated runs of every cell")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page that holds the marks")
    options = parser.parse_args(arguments)
    text = table(options.runs)
    if options.write is None:
        print(text, end="")
        return
    put(options.write, "self-preference-limits", text, measured())


if __name__ == "__main__":
    main()
