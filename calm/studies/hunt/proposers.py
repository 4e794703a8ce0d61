"""
The searches of a hunt: who proposes the next texts to ask about.

| search | what it proposes |
|---|---|
| `bandit` | many edits at once, several, one, and rewrites, as confidence bounds say; then Hypothesis generates |
| `ucb` | single edits, as upper confidence bounds say |
| `random` | stacks of one to five edits at random |
| `best-of`, `hill-climb`, `tree` | what a writer makes (`calm.studies.hunt.writers`) |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf, log, sqrt
from random import Random
from typing import Final, Protocol

from calm.core.case import Treated, digest
from calm.errors import ConfigError
from calm.experiment.aim import aim
from calm.experiment.setup import Setup
from calm.studies.attack.attack import AIM
from calm.studies.hunt.arms import Arm, Layer, heaps, laid, mixed, weighed
from calm.studies.hunt.bounds import FEW
from calm.studies.hunt.places import Place
from calm.studies.hunt.quarry import Quarry

WRITING: Final = ("best-of", "hill-climb", "tree")
"""The searches in which a model writes."""
SEARCHES: Final = ("bandit", "ucb", "random", *WRITING)
TRIED: Final = 3
"""Edits are tried on so many cases to see whether they only add words."""
HEAP: Final = 240
"""Words in a heap: a dozen heaps hold the whole catalogue, so a marker is found in as many asks."""
PILE: Final = 50
"""Words in a pile: for judges that a heap would put off."""
HURRIED: Final = 3
"""With few asks, heaps and piles are so many times as large: together they still hold all edits."""
LARGEST: Final = 60
"""Edits that add more words are tried alone."""
PRIOR: Final = {"heap": 0.6, "mix": 0.6, "best-of": 1.2, "pile": 0.4, "edit": 0.2}
UNKNOWN: Final = 0.4
"""What a bandit takes each proposer for before it has asked: as one text that earned so much."""
EXPLORATION: Final = 0.15
"""The weight of what is not known yet, in upper confidence bounds."""
ATTEMPTS: Final = 8
"""So many stacks are made until one may be asked about."""
STACK: Final = 5
"""The most edits of a random stack."""


@dataclass(frozen=True)
class Try:
    """A text to ask about in a quarry, what it was made of, and who proposed it."""

    quarry: Quarry
    text: str
    layers: tuple[Layer, ...] = ()
    proposer: str = ""


class Proposer(Protocol):
    """Proposes texts, and learns what came of them."""

    @property
    def name(self) -> str:
        """How a record calls it."""
        ...

    def propose(self, quarry: Quarry) -> Try | None:
        """Return the next text for a quarry; None where it has none."""
        ...

    def told(self, one: Try, reward: float) -> None:
        """Learn what a text earned, in [0, 1]: 1 for a flip, else how far the answer rose."""
        ...


@dataclass
class Counts:
    """Pulls and rewards by name."""

    pulls: dict[str, int] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, reward: float) -> None:
        """Count one pull."""
        self.pulls[name] = self.pulls.get(name, 0) + 1
        self.rewards[name] = self.rewards.get(name, 0.0) + reward

    def mean(self, name: str) -> float:
        """Return the mean reward of a name; 0 before its first pull."""
        return self.rewards.get(name, 0.0) / max(1, self.pulls.get(name, 0))

    def best(self, names: Sequence[str]) -> str:
        """Return the name with the highest upper confidence bound (Auer, Cesa-Bianchi & Fischer 2002)."""
        total = sum(self.pulls.get(name, 0) for name in names)

        def bound(name: str) -> float:
            pulls = self.pulls.get(name, 0)
            return inf if not pulls else self.mean(name) + EXPLORATION * sqrt(2 * log(max(2, total)) / pulls)

        return max(names, key=bound)


class Singles:
    """Single edits: the family first, then the edit in it, both by their upper confidence bounds."""

    name = "edit"

    def __init__(self, arms: Sequence[Arm], seed: int) -> None:
        self.seed, self.families, self.edits = seed, Counts(), Counts()
        self.by_bias: dict[str, list[Arm]] = {}
        for arm in sorted(arms, key=lambda a: digest("arm", seed, a.name)):
            self.by_bias.setdefault(arm.bias, []).append(arm)
        self.tried: set[tuple[str, str]] = set()

    def propose(self, quarry: Quarry) -> Try | None:
        """Return the text of one edit that was not tried on the quarry; those proposed count as pulled at once."""
        fresh = {
            bias: names
            for bias, arms in self.by_bias.items()
            if (names := [a.name for a in arms if (quarry.id, a.name) not in self.tried])
        }
        while fresh:
            bias = self.families.best(list(fresh))
            name = self.edits.best(fresh[bias])
            fresh[bias].remove(name)
            if not fresh[bias]:
                del fresh[bias]
            self.tried.add((quarry.id, name))
            arm = next(a for a in self.by_bias[bias] if a.name == name)
            text = laid((Layer(arm),), quarry.aim.case, quarry.place, self.seed)
            if text is None or not quarry.place.allows(quarry.aim.case, text):
                continue
            self.families.add(bias, 0.0)
            self.edits.add(name, 0.0)
            return Try(quarry, text, (Layer(arm),), self.name)
        return None

    def told(self, one: Try, reward: float) -> None:
        """Give the reward to the edit and to its family."""
        arm = one.layers[0].arm
        self.families.rewards[arm.bias] += reward
        self.edits.rewards[arm.name] += reward


class Heaps:
    """Stacks of many edits: all edits in a new order, cut into stacks of one size, again and again."""

    def __init__(self, name: str, arms: Sequence[Arm], size: int, seed: int) -> None:
        self.name, self.arms, self.size, self.seed = name, arms, size, seed
        self.stacks = self._stacks()

    def propose(self, quarry: Quarry) -> Try | None:
        """Return the text of the next stack. All quarries take from one queue, so that together they see all edits."""
        for _ in range(ATTEMPTS):
            layers = next(self.stacks, ())
            if not layers:
                return None
            text = laid(layers, quarry.aim.case, quarry.place, self.seed)
            if text is not None and quarry.place.allows(quarry.aim.case, text):
                return Try(quarry, text, layers, self.name)
        return None

    def told(self, one: Try, reward: float) -> None:
        """Learn nothing: the next stack is another one."""

    def _stacks(self) -> Iterator[tuple[Layer, ...]]:
        for turn in count(1) if self.arms else ():
            rng = Random(digest("heaps", self.seed, self.name, turn))
            yield from heaps(self.arms, self.size, rng)


class Mixes:
    """Stacks drawn one by one: of a few edits each."""

    def __init__(self, name: str, draw: Callable[[Random], tuple[Layer, ...]], seed: int) -> None:
        self.name, self.draw, self.seed = name, draw, seed
        self.rng = Random(digest("mixes", name, seed))

    def propose(self, quarry: Quarry) -> Try | None:
        """Return the text of the next stack that may be asked about."""
        for _ in range(ATTEMPTS):
            layers = self.draw(self.rng)
            text = laid(layers, quarry.aim.case, quarry.place, self.seed)
            if text is not None and quarry.place.allows(quarry.aim.case, text):
                return Try(quarry, text, layers, self.name)
        return None

    def told(self, one: Try, reward: float) -> None:
        """Learn nothing."""


class Bandit:
    """Several proposers, each in turn as often as its upper confidence bound says."""

    name = "bandit"

    def __init__(self, parts: Sequence[Proposer]) -> None:
        self.parts, self.counts = {part.name: part for part in parts}, Counts()
        for name in self.parts:
            self.counts.add(name, PRIOR.get(name, UNKNOWN))

    def propose(self, quarry: Quarry) -> Try | None:
        """Return what the best proposer proposes; one that has nothing makes way for the next."""
        names = list(self.parts)
        while names:
            name = self.counts.best(names)
            found = self.parts[name].propose(quarry)
            if found is not None:
                self.counts.add(name, 0.0)
                return found
            names.remove(name)
        return None

    def told(self, one: Try, reward: float) -> None:
        """Give the reward to the proposer, and let it learn."""
        self.counts.rewards[one.proposer] += reward
        self.parts[one.proposer].told(one, reward)


def proposer_for(
    search: str, arms: Sequence[Arm], place: Place, setup: Setup, writers: Sequence[Proposer] = (), *, asks: int = FEW
) -> Proposer:
    """
    Return who proposes texts in a search by name.

    Args:
        search: one of `SEARCHES`.
        arms: the edits; see `arms_for`.
        place: the part of the cases that is edited.
        setup: its cases show which edits only add words and may be used many at once; its seed draws the order of all.
        writers: proposers that let a model write, by the names in `WRITING`.
        asks: how many asks the hunt may take: with few of them, more edits are used at once.

    Raises:
        ConfigError: the search needs a writer, and there is none of its name.
    """
    if search in WRITING:
        found = [writer for writer in writers if writer.name == search]
        if not found:
            raise ConfigError(f"--search {search}: expected --with WRITER.toml, got none")
        return found[0]
    seed = setup.seed
    if search == "ucb":
        return Singles(arms, seed)
    if search == "random":
        return Mixes(
            "stack", lambda rng: tuple(map(Layer, rng.sample(arms, min(len(arms), rng.randint(1, STACK))))), seed
        )
    aimed = [one for case in setup.cases[:TRIED] if isinstance(one := aim(case.with_order(), AIM.expects), Treated)]
    small = [arm for one in arms if (arm := weighed(one, aimed, place, seed)) is not None and arm.words <= LARGEST]
    adding = [arm for arm in small if arm.adds]
    more = HURRIED if asks < FEW else 1
    stacks = Heaps("heap", adding, HEAP * more, seed), Heaps("pile", adding, PILE * more, seed)
    return Bandit([*stacks, Mixes("mix", lambda rng: mixed(small, rng), seed), Singles(arms, seed), *writers])
