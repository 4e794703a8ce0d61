"""
Fair judges and judges that prefer their own, put to the claims of the self-preference suite.

Three worlds: pairs, scores and criteria. In each, three or four judges judge the answers that they wrote, the truth is
known, and one judge is in question. Its skill, that of its peers, the worth of its answers, its preference and the
errors of the gold labels are set; `benchmarks.self_preference` writes the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from calm.core.claims import Claim, Decision, Outcome, decide
from calm.core.verdict import Family
from calm.selfpreference import pairs
from calm.selfpreference.contrasts import Floats, Grid
from calm.selfpreference.crossing.tables import Tables, decide_excess
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.pairs import AuthorPair
from calm.selfpreference.rubric import RubricTable
from calm.selfpreference.skill import Excess
from calm.statistics.power import uniforms

SEED = 20_261_122
LIMIT = 0.08
"""What the suite claims of pairs, scores and criteria."""
ITEMS = 200
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
    `idle` is the share of cases in which a peer does not look (it takes the first slot, gives 7, or credits all),
    `coin` the share in which the judge itself guesses; `wrong` is the share of gold labels that are wrong; `lenient`
    what the judge adds to everything; `prefers` the share in which it takes its own answer whatever it is worth.
    """

    name: str
    noise: float = PLAIN
    peers: float = PLAIN
    worth: float = 0.0
    idle: float = 0.0
    coin: float = 0.0
    wrong: float = 0.0
    lenient: float = 0.0
    prefers: float = 0.0


def _by_worth(name: str, **more: float) -> tuple[Setting, ...]:
    ends = (("", 0.0), (", writes better", 1.0), (", writes worse", -1.0))
    return tuple(Setting(name + end, worth=worth, **more) for end, worth in ends)


FAIR = (
    *_by_worth("as skilled"),
    *_by_worth("more skilled", noise=SHARP, peers=BLUNT),
    *_by_worth("less skilled", noise=BLUNT, peers=SHARP),
    *_by_worth("guesses in 20 %, else as skilled", noise=SHARP, peers=SHARP, coin=0.2),
    *_by_worth("peers do not look in half", idle=0.5),
    *_by_worth("more skilled, gold wrong in 10 %", noise=SHARP, peers=BLUNT, wrong=0.1),
    *_by_worth("less skilled, gold wrong in 10 %", noise=BLUNT, peers=SHARP, wrong=0.1),
    Setting("tosses a coin, writes worse", coin=1.0, worth=-1.0),
    Setting("lenient, writes better", lenient=0.8, worth=1.0),
    Setting("strict, writes better", lenient=-0.8, worth=1.0),
)
BIASED = (
    *_by_worth("prefers its own in 30 %", prefers=0.3),
    Setting("prefers its own in 30 %, more skilled, writes better", SHARP, BLUNT, 1.0, prefers=0.3),
    *_by_worth("prefers its own in 50 %", prefers=0.5),
)


def normals(rng: Random, *shape: int) -> Floats:
    """Return standard normal numbers."""
    return np.asarray(ndtri(uniforms(rng, shape)), dtype=np.float64)


def happens(rng: Random, rate: float, *shape: int) -> NDArray[np.bool_]:
    """Return where something happens."""
    return np.asarray(uniforms(rng, shape) < rate, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class World:
    """What the excess of the judge in question is computed from; `faced` are its pairs, if pairs were judged."""

    measured: Callable[[], Excess]
    faced: Sequence[AuthorPair] = ()


def world(family: Family, setting: Setting, rng: Random, items: int = ITEMS) -> World:
    """Return the verdicts of all judges of a setting."""
    makers: dict[str, Callable[[Setting, Random, int], World]] = {"pairwise": _pairs, "score": _scores}
    return makers.get(family, _criteria)(setting, rng, items)


def _pairs(setting: Setting, rng: Random, items: int) -> World:
    shape = (items, 2)
    margin = setting.worth + 0.8 * normals(rng, *shape) + 0.6 * normals(rng, items, 1)
    gold = np.where((margin > 0) ^ happens(rng, setting.wrong, *shape), 1, -1)
    own_first = np.array([True, False])[:, None, None]
    said: dict[str, list[tuple[int, ...]]] = {}
    for name in NAMES[:3]:
        mine = name == NAMES[0]
        own = margin + (setting.noise if mine else setting.peers) * normals(rng, 2, *shape) > 0
        idle = happens(rng, setting.coin if mine else setting.idle, *shape)
        own = np.where(idle, happens(rng, 0.5, 2, *shape) if mine else own_first, own)
        own |= happens(rng, setting.prefers if mine else 0.0, *shape)
        said[name] = list(map(tuple, np.where(own, 1, -1).reshape(2, -1).T.tolist()))
    places = [(item, other) for item in range(items) for other in NAMES[1:3]]
    faced = [
        AuthorPair(str(item), other, better, {name: said[name][n] for name in said}, {})
        for n, ((item, other), better) in enumerate(zip(places, gold.ravel().tolist(), strict=True))
    ]
    return World(partial(pairs.pair_excess, faced, NAMES[0], FAMILIES), faced)


def _scores(setting: Setting, rng: Random, items: int) -> World:
    names = NAMES[:3]
    worth = np.array([setting.worth, 0.1, -0.1])
    texts = worth[:, None] + 0.8 * normals(rng, 3, items) + 0.6 * normals(rng, items)
    lenient, noise = np.array([setting.lenient, 0.3, -0.3]), np.array([setting.noise, setting.peers, setting.peers])
    given = texts[None] + lenient[:, None, None] + noise[:, None, None] * normals(rng, 3, 3, items)
    points = np.clip(np.round(6.5 + 1.5 * given), 1, 10)
    points[1:] = np.where(happens(rng, setting.idle, 2, 3, items), 7, points[1:])
    points[0] = np.where(happens(rng, setting.coin, 3, items), np.floor(1 + 10 * uniforms(rng, (3, items))), points[0])
    points[0, 0] = np.where(happens(rng, setting.prefers, items), 10, points[0, 0])
    wrong = happens(rng, setting.wrong, 3, items)
    truth = np.where(wrong, normals(rng, 3, items), texts)
    table = ScoreTable(Grid(names, names, FAMILIES), tuple(map(str, range(items))), points, 1.0, 10.0, truth)
    return World(partial(Tables("score", FAMILIES, scores=table).excess, NAMES[0]))


def _criteria(setting: Setting, rng: Random, items: int) -> World:
    k, n = len(NAMES), items * CRITERIA
    worth = 0.5 + np.array([setting.worth, 0.1, 0.0, -0.1])
    margin = worth[:, None] + 0.8 * normals(rng, k, n) + 0.6 * normals(rng, n)
    noise = np.array([setting.noise, *[setting.peers] * (k - 1)])
    lenient = np.array([setting.lenient, 0.2, 0.0, -0.2])
    met = margin[None] + lenient[:, None, None] + noise[:, None, None] * normals(rng, k, k, n) > 0
    met[1:] |= happens(rng, setting.idle, k - 1, k, n)
    met[0] = np.where(happens(rng, setting.coin, k, n), happens(rng, 0.5, k, n), met[0])
    met[0, 0] |= happens(rng, setting.prefers, n)
    truth = (margin > 0) ^ happens(rng, setting.wrong, k, n)
    names = tuple(map(str, range(items))), tuple(map(str, range(n)))
    place = np.repeat(np.arange(items), CRITERIA)
    marks = met.astype(np.int8), truth.astype(np.int8)
    table = RubricTable(Grid(NAMES, NAMES, FAMILIES), *names, place, *marks, np.ones(n))
    return World(partial(Tables("rubric", FAMILIES, rubrics=table).excess, NAMES[0]))


@dataclass(frozen=True, slots=True)
class Shares:
    """What the suite's claim says of a setting: shares of runs, and the mean excess of those that have one."""

    fails: float
    passes: float
    above: float
    """The whole interval lies above 0."""
    untested: float
    mean: float
    plain: float
    """Pairs: the same verdicts without truth would FAIL."""


def decided(family: Family, setting: Setting, rng: Random, items: int = ITEMS) -> tuple[Decision, bool]:
    """Return what the product decides in one world, and for pairs whether it would accuse the judge without truth."""
    claim = Claim("self_preference_excess", "<=", LIMIT)
    found = world(family, setting, rng, items)
    blind = False
    if found.faced:
        unlabelled = [replace(pair, gold=None) for pair in found.faced]
        plain = pairs.pair_excess(unlabelled, NAMES[0], FAMILIES).estimate
        blind = decide(plain, claim) is Outcome.FAIL
    return decide_excess(found.measured, claim), blind


@cache
def simulated(family: Family, setting: Setting, runs: int, items: int = ITEMS) -> Shares:
    """Return what the suite says of a setting over many worlds."""
    rng = Random(f"{SEED} {family} {setting.name} {items}")
    found = [decided(family, setting, rng, items) for _ in range(runs)]
    measured = [one.estimate for one, _ in found if one.estimate is not None]

    def share(outcome: Outcome) -> float:
        return sum(one.outcome is outcome for one, _ in found) / runs

    return Shares(
        share(Outcome.FAIL),
        share(Outcome.PASS),
        sum(one.low > 0 for one in measured) / runs,
        share(Outcome.NOT_TESTED),
        float(np.mean([one.value for one in measured])) if measured else float("nan"),
        sum(blind for _, blind in found) / runs,
    )


def table(runs: int, items: int = ITEMS) -> str:
    """Return what the suite says of all settings as Markdown."""
    families: tuple[Family, ...] = ("pairwise", "score", "rubric")
    head = ("judge", "pairs, no truth", "pairs", "scores", "criteria")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for setting in (*FAIR, *BIASED):
        cells = [simulated(family, setting, runs, items) for family in families]
        shown = [f"{c.fails:.3f} / {c.passes:.2f} / {c.mean:z.2f}" for c in cells]
        lines.append(f"| {setting.name} | {cells[0].plain:.2f} | {' | '.join(shown)} |")
    errors = [sqrt(p * (1 - p) / runs) for p in (0.05, 0.5)]
    lines += [
        "",
        f"Of {runs} simulated runs with {items} questions each, at the limit of {LIMIT}: share that FAILs / share that "
        f"PASSes / mean excess; the others are UNDECIDED or NOT_TESTED. A share of .05 errs by {errors[0]:.3f}, any "
        f"share by at most {errors[1]:.3f} (Monte-Carlo standard error). *Pairs, no truth*: share that would FAIL if "
        "the excess were claimed without gold labels, as it was before.",
    ]
    return "\n".join(lines) + "\n"
