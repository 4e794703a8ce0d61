"""
Who proposes the next text of a search: several proposers, each in turn as often as its upper confidence bound says.

| proposer | what it proposes |
|---|---|
| `many edits` | all edits in a new order, cut into stacks of so many words, again and again |
| `few edits` | a few edits, each of another family |
| `best-of` | rewrites of the answer by a model, each by itself |

A writer sees the question and the answer, and neither the other answer nor the judge. Its calls count against the caps
of a run as all calls do, and not against the asks of a hunt, which are asks of the judge. A text that may not be used
costs no ask. Each text has a repeat index of its own, and all is written in an order that the seed decides. So a search
that is repeated finds its texts in the cache.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import log, sqrt
from random import Random
from typing import Final, Protocol

from calm.core.case import Case, Treated, digest
from calm.core.edits import Expects
from calm.core.reasons import Reason, in_words, reason_of
from calm.core.validation import Band, Rules
from calm.core.verdict import NoReply
from calm.experiment.pairs import aim
from calm.experiment.setup import Setup
from calm.models.wire import Json, Reply, Request
from calm.perturbations.written import Kind
from calm.plugins.search.arms import SIGN, Arm, Layer, drawn, edited, mixed, weighed
from calm.plugins.search.rewriting import messages_for, text_in
from calm.plugins.search.subjects import AIM, ANSWER, FEW, Place, Subject, fault_in, nothing
from calm.plugins.search.writer import Writer

TRIED: Final = 3
"""Edits are tried on so many cases to see whether they only add words."""
MANY: Final = 240
"""Words of many edits: a dozen stacks hold the whole catalogue, so a marker is found in as many asks."""
HURRIED: Final = 3
"""With few asks, stacks are so many times as large: together they still hold all edits."""
LARGEST: Final = 60
"""Edits that add more words are tried alone, and so are those that do not apply to the first cases."""
PRIOR: Final = {"many edits": 0.6, "few edits": 0.6, "best-of": 1.2}
"""What each proposer is taken for before it was asked: as one text that earned so much."""
EXPLORATION: Final = 0.15
"""The weight of what is not known yet, in upper confidence bounds."""
ATTEMPTS: Final = 8
"""So many stacks are made until one may be asked about."""
AHEAD: Final = 4
"""A writer writes so many texts ahead for each case."""
UNUSABLE: Final = 12
"""After so many texts in a row that may not be used, a writer proposes nothing more in a case."""
PERSUASIVE: Final = replace(AIM, rules=Rules(Band(0.5, 2.5), Band(0, 0.7), Band(0.4), True, "same", True, True))
"""What a writer may do: the same numbers, code, names and final answer."""
_PERSUADE: Final = Kind("persuade", AIM.name, Expects.NOT_BETTER, "Let a writer make the weaker answer win.", nothing)


@dataclass(frozen=True)
class Try:
    """A text to ask about in a subject, what it was made of, and who proposed it."""

    subject: Subject
    text: str
    layers: tuple[Layer, ...] = ()
    proposer: str = ""


class Proposer(Protocol):
    """Proposes texts."""

    @property
    def name(self) -> str:
        """How a record calls it."""
        ...

    def propose(self, subject: Subject) -> Try | None:
        """Return the next text for a subject; None where it has none."""
        ...


class Stacks:
    """Stacks of edits, drawn one by one. All subjects take from one queue, so that together they see all edits."""

    def __init__(self, name: str, stacks: Iterator[tuple[Layer, ...]], seed: int) -> None:
        self.name, self.stacks, self.seed = name, stacks, seed

    def propose(self, subject: Subject) -> Try | None:
        """Return the text of the next stack that may be asked about."""
        for _ in range(ATTEMPTS):
            layers = next(self.stacks, ())
            text = edited(layers, subject.case, subject.place, self.seed)
            if text is not None and subject.place.allows(subject.case, text):
                return Try(subject, text, layers, self.name)
        return None


@dataclass(eq=False)
class _Written:
    """What was written in one case: texts not asked about yet, and how many there were, and not used in a row."""

    ready: deque[str] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    requests: int = 0
    poor: int = 0
    closed: bool = False
    written: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class BestOf:
    """Rewrites of the answer by a model; those of all cases that have none left are written together."""

    name = "best-of"

    def __init__(self, writer: Writer, setup: Setup) -> None:
        """
        Greet the writer's server.

        Raises:
            ConfigError: it does not answer, or a cap in dollars for a model without a price.
        """
        setup.engine.greet(writer.server)
        self.writer, self.setup = writer, setup
        self.of: dict[Subject, _Written] = {}
        self.failed: Counter[Reason] = Counter()

    @property
    def written(self) -> int:
        """How many texts were written."""
        return sum(one.written for one in self.of.values())

    @property
    def refused(self) -> Counter[str]:
        """Why texts were not used."""
        return sum((one.refused for one in self.of.values()), Counter())

    def expect(self, subjects: Iterable[Subject]) -> None:
        """Write for all of some subjects at once, as soon as one of them wants a text."""
        for subject in subjects:
            self.of.setdefault(subject, _Written())

    def propose(self, subject: Subject) -> Try | None:
        """Return the next text for a subject; None where the writer has none."""
        self.expect([subject])
        while not (one := self.of[subject]).ready and not one.closed:
            self._write([other for other, made in self.of.items() if not made.ready and not made.closed])
        return Try(subject, one.ready.popleft(), (), self.name) if one.ready else None

    def _write(self, subjects: Sequence[Subject]) -> None:
        wanted = [subject for subject in subjects for _ in range(AHEAD)]
        requests: list[tuple[Request, int]] = []
        for subject in wanted:
            question = Case(subject.case.id, subject.case.question, (subject.case[subject.case.target],))
            requests.append((self.writer.request(messages_for(_PERSUADE, question)), self.of[subject].requests))
            self.of[subject].requests += 1
        for subject, response in zip(wanted, self.setup.engine.generate(requests), strict=True):
            one = self.of[subject]
            if isinstance(response.reply, NoReply):  # the engine has tried again already; a cap ends the search
                one.closed = True
                reason = reason_of(response.reply.reason)
                if reason.unfinished:
                    subject.stopped = reason
                else:
                    self.failed[reason] += 1
                continue
            one.written += 1
            text, why = _usable(response.reply, subject, one.seen)
            if why:
                one.refused[why] += 1
                one.poor += 1
                one.closed = one.closed or one.poor >= UNUSABLE
            else:
                one.poor = 0
                one.seen.add(text)
                one.ready.append(text)

    def __str__(self) -> str:
        said = [f"{self.writer.name} wrote {self.written} text{'s' * (self.written != 1)}"]
        for title, counts in (("refused", self.refused), ("failed", in_words(self.failed))):
            some = ", ".join(f"{why} {number}" for why, number in sorted(counts.items()))
            said += [f"{title}: {some}"] if some else []
        return "; ".join(said)

    def to_json(self) -> dict[str, Json]:
        """Return the record."""
        return {
            "name": self.writer.name,
            "written": self.written,
            "refused": dict(sorted(self.refused.items())),
            "failed": {**in_words(self.failed)},
        }


def _usable(reply: Reply, subject: Subject, seen: set[str]) -> tuple[str, str]:
    """Return the text of a writer's reply, and why it may not be used, "" if it may."""
    case = subject.case
    text, fault = text_in(reply, case[case.target].text)
    if text is None or fault is not None:
        return "", fault.about if fault is not None else "no text"
    if why := fault_in(PERSUASIVE, case, case.edit(case.target, lambda _: text)):
        return text, why
    if text in seen:
        return text, "written before"
    return text, "" if subject.place.allows(case, text) else "too little kept"


class Bandit:
    """Several proposers, each in turn as often as its upper confidence bound says."""

    def __init__(self, parts: Sequence[Proposer]) -> None:
        self.parts = {part.name: part for part in parts}
        self.asked = dict.fromkeys(self.parts, 1)
        self.earned = {name: PRIOR[name] for name in self.parts}

    def propose(self, subject: Subject) -> Try | None:
        """Return what the best proposer proposes; one that has nothing makes way for the next."""
        names = list(self.parts)
        while names:
            name = self._best(names)
            found = self.parts[name].propose(subject)
            if found is not None:
                self.asked[name] += 1
                return found
            names.remove(name)
        return None

    def expect(self, subjects: Iterable[Subject]) -> None:
        """Learn which subjects there are before the first is asked for."""
        for part in self.parts.values():
            if isinstance(part, BestOf):
                part.expect(subjects)

    def learn(self, one: Try, reward: float) -> None:
        """Give the reward of a text, in [0, 1], to its proposer: 1 for a flip, else how far the answer rose."""
        if one.proposer in self.parts:
            self.earned[one.proposer] += reward

    def _best(self, names: Sequence[str]) -> str:
        """Return the name with the highest upper confidence bound (Auer, Cesa-Bianchi & Fischer 2002)."""
        total = max(2, sum(self.asked[name] for name in names))

        def bound(name: str) -> float:
            asked = self.asked[name]
            return self.earned[name] / asked + EXPLORATION * sqrt(2 * log(total) / asked)

        return max(names, key=bound)


def bandit_for(
    arms: Sequence[Arm], place: Place, setup: Setup, writer: BestOf | None = None, *, asks: int = FEW
) -> Bandit:
    """
    Return who proposes the texts of a search in a place.

    Args:
        arms: the edits; see `arms_for`.
        place: the part of the cases that is edited; a writer rewrites answers alone.
        setup: its cases show which edits only add words and may be used many at once; its seed draws the order of all.
        writer: lets a model write, too.
        asks: how many asks the search may take: with few of them, more edits are used at once.
    """
    seed = setup.seed
    aimed = [one for case in setup.cases[:TRIED] if isinstance(one := aim(case.with_order(), AIM.expects), Treated)]
    small = [arm for one in arms if (arm := weighed(one, aimed, place, seed)) is not None and arm.words <= LARGEST]
    known, adding = {arm.name for arm in small}, [arm for arm in small if arm.adds]
    parts: list[Proposer] = [
        Stacks("many edits", _many(adding, MANY * (HURRIED if asks < FEW else 1), seed), seed),
        Stacks("few edits", _few(small, [arm for arm in arms if arm.name not in known], seed), seed),
    ]
    return Bandit([*parts, *([writer] if writer and place.name == ANSWER else [])])


def _many(arms: Sequence[Arm], words: int, seed: int) -> Iterator[tuple[Layer, ...]]:
    """
    Yield all arms in a new order, cut into stacks of about so many words, again and again.

    Cues go before or behind the text, and a stack ends in a sign, so that a rule about either end of a text meets some.
    """
    signs = [arm for arm in arms if arm.bias == SIGN]
    for turn in count(1) if len(signs) < len(arms) else ():
        rng = Random(digest("heaps", seed, "heap", turn))
        some: list[Layer] = []
        for arm in rng.sample(arms, len(arms)):
            if arm.bias == SIGN:
                continue
            some.append(drawn(arm, rng))
            if sum(layer.arm.words for layer in some) >= words:
                yield (*some, *([Layer(rng.choice(signs))] if signs else []))
                some = []
        if some:
            yield tuple(some)


def _few(arms: Sequence[Arm], alone: Sequence[Arm], seed: int) -> Iterator[tuple[Layer, ...]]:
    """Yield mixes of a few arms, and now and then an arm that is tried alone, as often as there are such arms."""
    rng = Random(digest("mixes", "mix", seed))
    for _ in count():
        single = alone and rng.randrange(len(arms) + len(alone)) < len(alone)
        yield (Layer(rng.choice(alone)),) if single else mixed(arms, rng)
