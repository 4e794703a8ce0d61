"""
The figures of the publications on data of one's own: those of the commands, beside those of a second implementation.

    python -m benchmarks.own_data                                    # print the table (seconds)
    python -m benchmarks.own_data --write docs/measured/papers.md   # write it between its marks

Three judges in Python write and judge answers to forty questions (`tests/papers/small_runs.py`). The second
implementation asks the judges itself, and computes each figure with loops and the standard library. It imports nothing
of calm. `tests/papers/test_methods.py` asserts that both are equal, and that the page says so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from itertools import combinations, permutations
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from benchmarks.pages import measured, put
from tests.papers import small_runs

K = TypeVar("K")
Signs = Callable[[str, int, str, str], int]
"""By whom, about which question, of which two authors: 1 if the first is the better one, -1 if the second is."""
AUTHORS: Final = small_runs.AUTHORS
NAMES: Final = ("one", "two", "three")
SELF, OTHERS = AUTHORS[0], AUTHORS[1:]
CLOSE: Final = 1e-9
KINDS: Final[Mapping[str, str]] = {
    "pairwise": "of two answers (PWC)",
    "score": "scores from 1 to 5",
    "rubric": "each criterion by itself (SR)",
    "rubric_all": "all criteria at once (AR)",
    "points": "points of all points (DA)",
}


@dataclass(frozen=True, slots=True)
class Own:
    """A figure of the first judge: of which method, in which run, ours in its record, that of the second program."""

    name: str
    method: str
    run: str
    ours: Callable[[Mapping[str, Any]], float]
    second: Callable[[World], float]


def _judges() -> dict[str, Any]:
    """Return how the judges of the small runs see answers."""
    space: dict[str, Any] = {}
    exec(small_runs.JUDGES.partition("for _task in")[0].replace("from calm import Preferred\n", ""), space)
    one = space["Judge"]
    return {"share": space["share"], "worth": lambda name, *of: one(name, "").worth(*of)}


@dataclass(frozen=True)
class World:
    """What the judges say, asked without calm's commands."""

    judges: Mapping[str, Any] = field(default_factory=_judges)

    @cached_property
    def cases(self) -> list[dict[str, Any]]:
        """The questions with their answers."""
        return [small_runs.case(place) for place in range(small_runs.QUESTIONS)]

    def text(self, place: int, author: str) -> str:
        """Return an author's answer to a question."""
        return next(str(a["text"]) for a in self.cases[place]["answers"] if a["author"] == author)

    def met(self, place: int, author: str) -> dict[str, bool]:
        """Return which criteria an answer meets in truth: those that it names."""
        return {name: name in self.text(place, author).split() for name in NAMES}

    def worth(self, judge: str, place: int, author: str) -> float:
        """Return how good a judge finds an answer, in [0, 1]."""
        return float(self.judges["worth"](judge, self.cases[place]["question"], self.text(place, author)))

    def score(self, judge: str, place: int, author: str) -> int:
        """Return the judge's score on a scale from 1 to 5."""
        return 1 + round(4 * self.worth(judge, place, author))

    def marks(self, judge: str, place: int, author: str) -> dict[str, bool]:
        """Return which criteria a judge finds met."""
        text = self.text(place, author)
        return {name: name in text or self.judges["share"](judge, text, name) < 0.3 for name in NAMES}

    def by(self, worth: Callable[[str, int, str], float]) -> Signs:
        """Return the signs of what some worth says of two answers."""
        return lambda judge, place, a, b: _sign(worth(judge, place, a) - worth(judge, place, b))

    @property
    def truth(self) -> Signs:
        """By how many criteria each of two answers meets."""
        return self.by(lambda _, place, author: sum(self.met(place, author).values()))

    @property
    def said(self) -> dict[str, Signs]:
        """What a judge says of two answers, by the kind of its verdicts."""
        marked = self.by(lambda judge, place, author: sum(self.marks(judge, place, author).values()))
        worth = self.by(self.worth)
        return {"pairwise": worth, "points": worth, "rubric": marked, "rubric_all": marked}

    # ------------------------------------------------------------------------------------------------------- scores

    def items(self, figure: str) -> list[float]:
        """Return S, R or G of each question."""
        of = {
            "S": lambda place: [self.score(SELF, place, SELF)],
            "R": lambda place: [self.score(judge, place, SELF) for judge in OTHERS],
            "G": lambda place: [self.score(SELF, place, author) for author in OTHERS],
        }[figure]
        return [fmean(of(place)) for place in range(len(self.cases))]

    def t(self, other: str) -> float:
        """Return the paired t of S against R or G."""
        apart = [a - b for a, b in zip(self.items("S"), self.items(other), strict=True)]
        return fmean(apart) / (stdev(apart) / sqrt(len(apart)))

    # -------------------------------------------------------------------------------------------- equal opportunity

    def recall(self, own: int) -> float:
        """Return how often the judge agrees where people prefer its own answer (1), or the other (-1)."""
        found = [
            self.said["pairwise"](SELF, place, SELF, other) == own
            for place in range(len(self.cases))
            for other in OTHERS
            if self.truth("", place, SELF, other) == own
        ]
        return fmean(found)

    def counted(self, own: int, judged: int) -> int:
        """Return in how many pairs people and the judge prefer its own answer (1), or the other (-1)."""
        return sum(
            self.truth("", place, SELF, other) == own and self.said["pairwise"](SELF, place, SELF, other) == judged
            for place in range(len(self.cases))
            for other in OTHERS
        )

    # ----------------------------------------------------------------------------------------- criteria and comparisons

    def mra(self) -> float:
        """Return the share of marks that are right."""
        return fmean(
            self.marks(SELF, place, author)[name] == self.met(place, author)[name]
            for place in range(len(self.cases))
            for author in AUTHORS
            for name in NAMES
        )

    def mipa(self, kind: str) -> float:
        """Return the share of comparisons with the right sign."""
        return fmean(
            self.said[kind](SELF, place, a, b) == self.truth("", place, a, b)
            for place in range(len(self.cases))
            for a, b in combinations(AUTHORS, 2)
        )

    def by_criterion(self, author: str) -> float:
        """Return which share of an author's failed criteria the judge calls met."""
        return fmean(
            self.marks(SELF, place, author)[name]
            for place in range(len(self.cases))
            for name, met in self.met(place, author).items()
            if not met
        )

    def lost(self, kind: str, author: str) -> list[int]:
        """Return what the judge says of the comparisons that an author lost."""
        return [
            self.said[kind](SELF, place, author, other)
            for place in range(len(self.cases))
            for other in AUTHORS
            if other != author and self.truth("", place, author, other) == -1
        ]

    def by_comparison(self, kind: str, author: str) -> float:
        """Return which share of an author's lost comparisons the judge does not call lost."""
        return fmean(sign > -1 for sign in self.lost(kind, author))

    def kind_by(self, author: str) -> float:
        """Return by how much more of an author's criteria the judge calls met than are met."""
        return fmean(
            self.marks(SELF, place, author)[name] - self.met(place, author)[name]
            for place in range(len(self.cases))
            for name in NAMES
        )

    # ----------------------------------------------------------------------------------------------------- strengths

    def won(self) -> float:
        """Return the share of its own pairs that the judge gives to itself."""
        return fmean(
            self.said["pairwise"](SELF, place, SELF, other) > 0 for place in range(len(self.cases)) for other in OTHERS
        )

    def strength(self) -> float:
        """Return the Bradley-Terry strength by the judges that wrote neither answer, by Zermelo's iteration."""
        wins = dict.fromkeys(permutations(AUTHORS, 2), 0)
        for place in range(len(self.cases)):
            for a, b in combinations(AUTHORS, 2):
                [judge] = set(AUTHORS) - {a, b}
                wins[(a, b) if self.said["pairwise"](judge, place, a, b) > 0 else (b, a)] += 1
        power = dict.fromkeys(AUTHORS, 1.0)
        for _ in range(5000):
            power = {
                a: sum(wins[a, b] for b in AUTHORS if b != a)
                / sum((wins[a, b] + wins[b, a]) / (power[a] + power[b]) for b in AUTHORS if b != a)
                for a in AUTHORS
            }
        return log(power[SELF]) - fmean(map(log, power.values()))

    def peer_rate(self) -> float:
        """Return the win rate by Peer Rank: judges weigh as much as their answers win; none judges its own."""
        rates = {
            (judge, author): fmean(
                self.said["pairwise"](judge, place, author, other) > 0
                for place in range(len(self.cases))
                for other in AUTHORS
                if other not in (author, judge)
            )
            for judge, author in permutations(AUTHORS, 2)
        }
        weights = dict.fromkeys(AUTHORS, 1 / len(AUTHORS))
        for _ in range(5000):
            won = {
                a: sum(weights[j] * rates[j, a] for j in AUTHORS if j != a) / sum(weights[j] for j in AUTHORS if j != a)
                for a in AUTHORS
            }
            weights = {a: won[a] / sum(won.values()) for a in AUTHORS}
        return won[SELF]


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _ratio(of: Callable[[str], float]) -> float:
    return of(SELF) / fmean(map(of, OTHERS))


def _published(name: str) -> Callable[[Mapping[str, Any]], float]:
    return lambda record: float(record["judges"][0]["published"][name])


def _part(part: str, name: str) -> Callable[[Mapping[str, Any]], float]:
    def found(record: Mapping[str, Any]) -> float:
        value = next(one for one in record["parts"] if one["name"] == part)["rows"][0][name]
        return float(value["value"] if isinstance(value, dict) else value)

    return found


def _cell(unit: str) -> Callable[[Mapping[str, Any]], float]:
    """Return what reads the own cell of the first judge from a matrix whose unit has these words."""
    return lambda record: float(next(m for m in record["matrices"] if unit in m["unit"])["values"][0][0])


def _at(of: Callable[[World, K], float], key: K) -> Callable[[World], float]:
    """Return what reads the figure of one key from a world."""
    return lambda world: of(world, key)


def _figures() -> Iterator[Own]:
    spread = "S, R, G: N, mean, SD, t, p and intervals"
    for name, column in (("S", "own"), ("R", "received"), ("G", "given")):
        evaluated = _part("self_evaluation", column), _part("self_evaluation", f"{column}_sd")
        yield Own(f"{name}, mean", spread, "score", evaluated[0], _at(lambda w, n: fmean(w.items(n)), name))
        yield Own(f"{name}, SD", spread, "score", evaluated[1], _at(lambda w, n: stdev(w.items(n)), name))
    for name, column in (("R", "received"), ("G", "given")):
        tested = _published(f"t_{column}")
        yield Own(f"t of S - {name}", "S - R, S - G, R - G: paired t", "score", tested, _at(World.t, name))
    yield Own(
        "Err_SE", "Err_SE", "score", _published("self_enhancement_error"),
        lambda w: fmean(w.items("S")) / fmean(w.items("R")) - 1,
    )  # fmt: skip
    recalls = "both recalls and the gap"
    for name, column, own in (("its own", "self", 1), ("the others", "other", -1)):
        told = _part("opportunity", f"recall_{column}")
        yield Own(f"recall of {name}", recalls, "pairwise", told, _at(World.recall, own))
    for name, column, own in (("its own", "self_as_self", 1), ("the other", "other_as_other", -1)):
        number = _part("opportunity_counts", column)
        yield Own(f"both prefer {name}", "confusion counts", "pairwise", number, _at(lambda w, o: w.counted(o, o), own))
    yield Own("gap", recalls, "pairwise", _published("gap"), lambda w: w.recall(1) - w.recall(-1))
    by_criterion = "MRA, HSPP by criterion (SR)"
    ratio = _part("hspp", "hspp_rubric_self")
    yield Own("MRA", by_criterion, "rubric", _published("mra"), World.mra)
    yield Own("HSPP by criterion", by_criterion, "rubric", ratio, lambda w: _ratio(w.by_criterion))
    for shape, run in (("SR", "rubric"), ("AR", "rubric_all"), ("DA", "points"), ("PWC", "pairwise")):
        method = f"MIPA, HSPP by comparison ({shape})"
        yield Own(f"MIPA ({shape})", method, run, _part("hspp", "mipa"), _at(World.mipa, run))
        yield Own(
            f"HSPP by comparison ({shape})", method, run, _part("hspp", "hspp_instance_self"),
            _at(lambda w, r: _ratio(lambda author: w.by_comparison(r, author)), run),
        )  # fmt: skip
    yield Own(
        "loss to win, own", "loss to win, loss to tie", "rubric", _part("loss_shares", "l2w_self"),
        lambda w: w.lost("rubric", SELF).count(1) / sum(sign > -1 for sign in w.lost("rubric", SELF)),
    )  # fmt: skip
    yield Own(
        "loss to tie, own", "loss to win, loss to tie", "rubric", _part("loss_shares", "l2t_self"),
        lambda w: w.lost("rubric", SELF).count(0) / sum(sign > -1 for sign in w.lost("rubric", SELF)),
    )  # fmt: skip
    yield Own(
        "own minus outsiders", "self minus outsiders (MSD-SP)", "rubric", _part("hspp", "self_minus_outsiders"),
        lambda w: w.kind_by(SELF) - fmean(map(w.kind_by, OTHERS)),
    )  # fmt: skip
    yield Own(
        "own, centred", "centred differences of scores", "rubric", _cell("centred"),
        lambda w: w.kind_by(SELF) - fmean(map(w.kind_by, AUTHORS)),
    )  # fmt: skip
    yield Own("share of its own pairs won", "score of a system from pairs", "pairwise", _cell("won"), World.won)
    yield Own(
        "mean of its own answers", "score of a direct assessment", "points", _cell("mean score"),
        lambda w: fmean(w.worth(SELF, place, SELF) for place in range(len(w.cases))),
    )  # fmt: skip
    strength, rate = _part("ranking", "strength"), _part("ranking", "peer_rate")
    yield Own("strength", "Bradley-Terry strengths", "pairwise", strength, World.strength)
    yield Own("win rate", "Peer Rank of models", "pairwise", rate, World.peer_rate)


FIGURES: Final = tuple(_figures())


def compared(folder: Path) -> list[tuple[Own, float, float]]:
    """Return each figure as the records in a folder have it, and as the second implementation does."""
    records = {run: json.loads((folder / f"{run}.json").read_text("utf-8")) for run in KINDS}
    world = World()
    return [(one, one.ours(records[one.run]), one.second(world)) for one in FIGURES]


def table(found: list[tuple[Own, float, float]]) -> str:
    """Return the figures as Markdown."""
    lines = ["| figure of the first judge | its verdicts | the command's | the second program's | equal |"]
    lines.append("|---|---|---|---|---|")
    for one, ours, second in found:
        equal = "yes" if abs(ours - second) <= CLOSE else "**no**"
        lines.append(f"| {one.name} | {KINDS[one.run]} | {ours:.6f} | {second:.6f} | {equal} |")
    return "\n".join(lines)


def main() -> None:
    """Run the commands, and print or write the table."""
    parser = argparse.ArgumentParser(description="The publications' figures on data of one's own.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page that holds the marks")
    options = parser.parse_args()
    page = options.write and options.write.absolute()
    with TemporaryDirectory() as name, chdir(name):
        small_runs.write_inputs(Path(name))
        for run in KINDS:
            with redirect_stdout(StringIO()):
                small_runs.called(*small_runs.own(run))
        text = table(compared(Path(name)))
    if page is None:
        print(text)
    else:
        put(page, "papers-own", text, measured())


if __name__ == "__main__":
    main()
