"""
The judges: what each says, as a function of the case, the arm and a drawn word. Nothing in them knows an edit.

A judge of pairs has for each case the probability that it prefers the answer that gold calls worse, and that it ties.
A judge of scores has a quality for each case and errs around it; a judge of rubrics knows what is met and errs by
criterion. What an edit does to a judge is a `Bias`, the same for all three; how a server behaves is a `Course`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import exp
from random import Random
from statistics import NormalDist
from typing import Final, Literal

from benchmarks.calibration.chance import mix, unit
from benchmarks.calibration.harness import Gate, Law, Prompt
from calm.core.case import TIE, Case, Treated, digest
from calm.core.checks import words
from calm.core.edits import Expects
from calm.core.trials import CUED, PLAIN
from calm.core.verdict import Criteria, Preferred, Scale, Score, Tie, Unreadable, Verdict
from calm.experiment.pairs import aim

SURE: Final = 0.97
"""How often a judge that is decided by an edit says so, unless it never errs."""
REACH: Final = 0.35
"""How far up the scale a score goes that an edit decides."""
HARM: Final = 0.5
"""How far down the scale a harmed answer is."""

Ties = Literal["tie", "first", "coin", "text"]
"""What a judge does with two equal answers: it says tie, takes the first slot, tosses a coin, or likes one text."""
TIES: Final[tuple[Ties, ...]] = ("tie", "first", "coin", "text")

_TIE: Final = Tie()
_SILENT: Final = Unreadable("nothing was said")


@cache
def preferred(answer: str) -> Preferred:
    """Return the one verdict for an answer."""
    return Preferred(answer)


@cache
def score(value: float) -> Score:
    """Return the one verdict with a score."""
    return Score(value)


@cache
def criteria(met: tuple[tuple[str, bool], ...]) -> Criteria:
    """Return the one verdict on criteria."""
    return Criteria(dict(met))


@dataclass(frozen=True, slots=True)
class Bias:
    """
    What edits do to a judge.

    `everywhere` is the share of cases that each edit decides, drawn anew for each probe unless `same_cases`; `probes`
    and `variants` replace it by name. `silences`: in this share of cases an edit makes its reply unreadable. `rejects`:
    it turns against whatever carries a manipulation. `length`: it sees nothing but length. `equal` says what edits do
    between two equal answers; None: they decide as many of these as of those with a wrong one.
    """

    everywhere: float = 0.0
    probes: Mapping[str, float] = field(default_factory=dict)
    variants: Mapping[tuple[str, str], float] = field(default_factory=dict)
    same_cases: bool = False
    silences: float = 0.0
    rejects: bool = False
    length: bool = False
    equal: Bias | None = None

    def share(self, prompt: Prompt) -> float:
        """Return the share of cases, or of equal pairs, that the edit of a prompt decides."""
        if prompt.equal is not None and self.equal is not None:
            return self.equal.share(prompt)
        by_variant = self.variants.get((prompt.probe, prompt.variant))
        return self.probes.get(prompt.probe, self.everywhere) if by_variant is None else by_variant


@dataclass(frozen=True, slots=True)
class Course:
    """
    How a judge behaves while it is asked.

    `turns`: the share of prompts, other than the clean one, that turn its verdict over whatever they say. `drift`: how
    much its error rate has grown by the end of the run. `swapped`: the share of cases on which the model that takes
    over in the middle of the run says something else. `unread`: the share of replies without a verdict.
    """

    turns: float = 0.0
    drift: float = 0.0
    swapped: float = 0.0
    unread: float = 0.0


@dataclass(frozen=True, slots=True)
class Manner:
    """
    How a judge errs beside chance, and what it does with equal answers.

    Cases with one number in `clusters` are about one question and judged alike; so are equal pairs with one in
    `equals`.
    """

    bias: Bias = field(default_factory=Bias)
    course: Course = field(default_factory=Course)
    clusters: Sequence[int] | None = None
    equals: Sequence[int] | None = None
    ties: Ties = "text"


_PLAIN: Final = Manner()
_OF_EQUALS: Final = 1 << 32
"""Where the numbers of questions about equal pairs begin."""


class _Judge:
    """What laws of all tasks share: which cases an edit decides, and what time does."""

    def __init__(self, n: int, seed: int, manner: Manner) -> None:
        self.bias, self.course = manner.bias, manner.course
        self.clusters = range(n) if manner.clusters is None else manner.clusters
        self.equals, self.ties = manner.equals, manner.ties
        self._seed = mix(seed ^ 0x5EED)
        self._held: dict[tuple[int, str, str], bool] = {}

    def decided(self, prompt: Prompt) -> bool:
        """Return whether the edit decides the case; cases of one question are decided together."""
        bias = self.bias.equal if prompt.equal is not None and self.bias.equal is not None else self.bias
        by_variant = prompt.variant if (prompt.probe, prompt.variant) in bias.variants else ""
        return self._holds("" if self.bias.same_cases else prompt.probe, by_variant, prompt, self.bias.share(prompt))

    def question(self, prompt: Prompt) -> int:
        """Return the number of the question that a prompt is about."""
        if prompt.equal is None:
            return self.clusters[prompt.case]
        return _OF_EQUALS + (prompt.equal if self.equals is None else self.equals[prompt.equal])

    def silenced(self, prompt: Prompt, word: int) -> bool:
        """Return whether the reply is unreadable, whatever is asked or by the edit."""
        if self.course.unread and unit(mix(word ^ 0x517E)) < self.course.unread:
            return True
        return self._holds("silent", prompt.probe, prompt, self.bias.silences)

    def _holds(self, what: str, more: str, prompt: Prompt, share: float) -> bool:
        if share <= 0 or not (prompt.cued or prompt.arm == "edited") or prompt.expects == Expects.WORSE:
            return False
        key = self.question(prompt), what, more
        found = self._held.get(key)
        if found is None:
            word = mix(self._seed ^ mix(int(digest("held", what, more)[:16], 16) ^ mix(key[0])))
            found = self._held[key] = unit(word) < share
        return found

    def turned(self, prompt: Prompt, word: int) -> bool:
        """Return whether the wording of a prompt turns the verdict over."""
        return prompt.arm != "clean" and unit(mix(word ^ 0x7E57)) < self.course.turns

    def other_model(self, prompt: Prompt, time: float) -> bool:
        """Return whether the model that is asked by now says something else on this case."""
        if not self.course.swapped or time < 0.5:
            return False
        return unit(mix(self._seed ^ mix(self.question(prompt) + 0xA110))) < self.course.swapped

    def rejects(self, prompt: Prompt) -> bool:
        """Return whether the prompt carries what the judge turns against."""
        return self.bias.rejects and prompt.expects == Expects.NOT_BETTER


@dataclass(frozen=True, slots=True)
class Pairs:
    """
    For each case the probability of the wrong answer, of a tie, and of preferring a harmed copy to its original.

    `sure` is the probability of the edited answer where an edit decides, `slips` that of something else than the judge
    does with two equal answers, for each equal pair.
    """

    wrong: tuple[float, ...]
    tie: tuple[float, ...]
    missed: tuple[float, ...]
    sure: float = SURE
    slips: tuple[float, ...] = ()


class PairJudge(_Judge):
    """A judge of pairs."""

    def __init__(self, cases: Sequence[Case], pairs: Pairs, seed: int, manner: Manner = _PLAIN) -> None:
        super().__init__(len(cases), seed, manner)
        self.pairs = pairs
        self._treated = [treated(case) for case in cases]

    def verdict(self, prompt: Prompt, word: int, time: float) -> Verdict:
        """Return the verdict on a prompt."""
        if prompt.equal is not None:
            return self._of_equals(prompt, word, time)
        worse, other = self._answers(prompt)
        if self.silenced(prompt, word):
            return _SILENT
        if self.bias.length:
            return preferred(longer(prompt, worse, other))
        chance, tie = self._law(prompt)
        if self.other_model(prompt, time):
            chance = max(0.0, 1 - chance - tie)
        if self.course.drift:
            chance += self.course.drift * time * (1 - chance - tie)
        u = unit(word)
        if self.turned(prompt, word):
            worse, other = other, worse
        if u < chance:
            return preferred(worse)
        return _TIE if u < chance + tie else preferred(other)

    def _of_equals(self, prompt: Prompt, word: int, time: float) -> Verdict:
        """Return the verdict on two equal answers."""
        one, other = prompt.ids
        if self.silenced(prompt, word):
            return _SILENT
        if self.bias.length:
            return preferred(longer(prompt, one, other))
        question = self.question(prompt)
        slip = self.pairs.slips[question - _OF_EQUALS]
        ties: Ties = self.ties
        if prompt.cued and self.decided(prompt):
            one, other, slip, ties = CUED, PLAIN, 1 - self.pairs.sure, "first"
        elif prompt.cued and self.rejects(prompt):
            one, other, slip, ties = PLAIN, CUED, min(0.02, slip), "first"
        elif ties == "text" and (unit(mix(self._seed ^ mix(question + 0x7E47))) < 0.5) == prompt.turned:
            one, other = other, one
        slip += self.course.drift * time * (1 - slip)
        if self.other_model(prompt, time) != self.turned(prompt, word):
            one, other = other, one
        slips = unit(word) < slip
        if ties == "coin" or (ties == "tie" and slips):
            return preferred(one if unit(mix(word ^ 0xC017)) < 0.5 else other)
        return _TIE if ties == "tie" else preferred(other if slips else one)

    def _law(self, prompt: Prompt) -> tuple[float, float]:
        """Return the probability of the worse answer, and of a tie."""
        place = self.clusters[prompt.case]
        if prompt.expects == Expects.WORSE:
            return self.pairs.missed[place], 0.0
        if self.decided(prompt):
            return self.pairs.sure, 0.0
        if self.rejects(prompt):
            return min(0.02, self.pairs.wrong[place]), 0.0
        return self.pairs.wrong[place], self.pairs.tie[place]

    def _answers(self, prompt: Prompt) -> tuple[str, str]:
        worse = prompt.damaged if prompt.expects == Expects.WORSE else None
        worse = self._treated[prompt.case] if worse is None else worse
        one, other = prompt.ids
        return worse, other if one == worse else one


def treated(case: Case) -> str:
    """Return the answer that edits treat: the worse one by gold, or one that is drawn where gold says tie."""
    aimed = aim(case, Expects.NOT_BETTER)
    assert isinstance(aimed, Treated), "gold tells, or says tie"
    return aimed.treatment.target or ""


def longer(prompt: Prompt, one: str, other: str) -> str:
    """Return the answer with more words; the other one if they have as many."""
    lengths = {a.id: words(a.text) for a in prompt.shown.answers}
    return one if lengths[one] > lengths[other] else other


@dataclass(frozen=True, slots=True)
class Scores:
    """
    For each case a quality, the spread around it, and how often an ask is anything on the scale.

    `off`: how often, case by case, an ask is two points off, up or down.
    """

    quality: tuple[float, ...]
    spread: tuple[float, ...]
    anything: tuple[float, ...]
    off: tuple[float, ...]


_NORMAL: Final = NormalDist()


class ScoreJudge(_Judge):
    """A judge of single answers that gives whole points."""

    def __init__(self, scale: Scale, scores: Scores, seed: int, manner: Manner = _PLAIN) -> None:
        super().__init__(len(scores.quality), seed, manner)
        self.scale, self.scores = scale, scores

    def verdict(self, prompt: Prompt, word: int, time: float) -> Verdict:
        """Return the verdict on a prompt."""
        low, high = self.scale.low, self.scale.high
        span, place = high - low, self.clusters[prompt.case]
        if self.silenced(prompt, word):
            return _SILENT
        if self.bias.length:
            return score(round(low + span * min(1.0, words(prompt.shown.answers[0].text) / 200)))
        if unit(mix(word ^ 0xA)) < self.scores.anything[place] + self.course.drift * time:
            return score(low + int(unit(word) * (span + 1)))
        x = self.scores.quality[place]
        if prompt.expects == Expects.WORSE:
            x -= HARM * span
        elif self.decided(prompt):
            x += REACH * span
        elif self.rejects(prompt):
            x -= 2
        if self.other_model(prompt, time):
            x += 3 if x < (low + high) / 2 else -3
        if self.turned(prompt, word):
            x += 2 if unit(mix(word ^ 0xD1CE)) < 0.5 else -2
        if spread := self.scores.spread[place]:
            x += spread * _NORMAL.inv_cdf(max(unit(word), 1e-12))
        if off := self.scores.off[place]:
            jump = unit(mix(word ^ 0xB))
            x += 2 if jump < off / 2 else -2 if jump < off else 0
        return score(float(min(high, max(low, round(x)))))


class RubricJudge(_Judge):
    """A judge of rubrics: it knows what is met, and errs on each criterion with a probability of the case."""

    def __init__(self, cases: Sequence[Case], wrong: Sequence[float], seed: int, manner: Manner = _PLAIN) -> None:
        super().__init__(len(cases), seed, manner)
        self.wrong = wrong
        self._cases = [(tuple(c.points.items()), dict(c.met.get(c.answers[0].id, {}))) for c in cases]

    def verdict(self, prompt: Prompt, word: int, time: float) -> Verdict:
        """Return the verdict on a prompt."""
        points, truth = self._cases[prompt.case]
        if self.silenced(prompt, word):
            return _SILENT
        place = self.clusters[prompt.case]
        chance = self.wrong[place]
        chance += self.course.drift * time * (1 - chance)
        decided, rejects = self.decided(prompt), self.rejects(prompt)
        other = self.other_model(prompt, time)
        met = []
        for name, weight in points:
            word = mix(word)
            good = truth.get(name, True)
            if decided:
                good = weight > 0
            elif prompt.expects == Expects.WORSE and name == prompt.hit:
                good = weight < 0
            elif rejects:
                good = good and weight < 0
            wrong = (unit(word) < chance) != (other != self.turned(prompt, word))
            met.append((name, good != wrong))
        return criteria(tuple(met))


# ------------------------------------------------------------------------------------------------- sound judges

Draw = Callable[[Random, int], list[float]]
"""Error rates of n cases."""


def noise(rate: float) -> Draw:
    """Return a judge that errs in every ask with one probability."""
    return lambda _random, n: [rate] * n


def close_calls(random: Random, n: int) -> list[float]:
    """Return 30 % close calls, U(.2, .8), and else .03."""
    return [random.uniform(0.2, 0.8) if random.random() < 0.3 else 0.03 for _ in range(n)]


def coins(random: Random, n: int) -> list[float]:
    """Return 5 % coins, and else .04."""
    return [0.5 if random.random() < 0.05 else 0.04 for _ in range(n)]


def beta(random: Random, n: int) -> list[float]:
    """Return error rates of Beta(.4, 3.6): many near 0, a tenth on average."""
    return [random.betavariate(0.4, 3.6) for _ in range(n)]


STEEP: Final = 2.0
"""How steeply a judge's error rate rises with the difficulty of a case, in logits for one standard deviation."""


@cache
def able(accuracy: float) -> float:
    """Return the ability of a judge that is right so often, over cases of standard normal difficulty."""
    hard = [_NORMAL.inv_cdf((k + 0.5) / 1000) for k in range(1000)]
    low, high = -4.0, 8.0
    for _ in range(50):
        middle = (low + high) / 2
        right = sum(1 / (1 + exp(-STEEP * (middle - b))) for b in hard) / len(hard)
        low, high = (middle, high) if right < accuracy else (low, middle)
    return low


def items(accuracy: float) -> Draw:
    """Return a judge of item response theory: it errs by the difficulty of each case (Rasch, one slope)."""

    def draw(random: Random, n: int) -> list[float]:
        return [1 / (1 + exp(STEEP * (able(accuracy) - random.gauss(0, 1)))) for _ in range(n)]

    return draw


def topics(random: Random, n: int) -> list[float]:
    """Return error rates of 20 topics that nobody declared, Beta(.4, 5.6) each: a fifteenth on average."""
    rates = [random.betavariate(0.4, 5.6) for _ in range(20)]
    return [random.choice(rates) for _ in range(n)]


SOUND: Final[Mapping[str, Draw]] = {
    "noise 0": noise(0.0),
    "noise .05": noise(0.05),
    "noise .10": noise(0.10),
    "30 % close calls": close_calls,
    "5 % coins": coins,
    "beta": beta,
}
HARD: Final[Mapping[str, Draw]] = {
    "IRT .84": items(0.84), "IRT .90": items(0.90), "IRT .95": items(0.95), "20 topics": topics,
}  # fmt: skip
"""Sound judges whose errors go by the case: by its difficulty, or by its topic."""
FROZEN: Final[Mapping[str, Draw]] = {"frozen errors .026": noise(0.026), "frozen errors .053": noise(0.053)}
"""Errors of a prompt, whatever it says, with which inert words move 5 and 10 % of the verdicts: 2 v (1 - v)."""
_DRAWN: Final[Mapping[str, Draw]] = {**SOUND, **HARD, **FROZEN}
CLEAR: Final[Mapping[str, float]] = {"30 % close calls": 0.03, "5 % coins": 0.04, **dict.fromkeys(HARD, 0.04)}
"""
How often a judge with hard cases misses a harmed copy: which of two answers is better may be a close call, whether one
was harmed is none. Other judges miss it as often as they err.
"""
TIED: Final = 0.40
"""Share of cases that are honestly tied where a row says so."""


def tied(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the cases with a gold tie in 40 % of them."""
    return tuple(
        replace(case, better=TIE) if unit(mix(int(digest("tied", case.id)[:16], 16))) < TIED else case for case in cases
    )


def one_answer(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return cases of a user's own with the good answer alone, without gold."""
    return tuple(
        replace(
            case,
            id=f"own-{case.id}",
            answers=tuple(answer for answer in case.answers if answer.id == case.better),
            better=None,
            scores={},
            variants={},
            annotations={},
        ).present(order=())
        for case in cases
    )


def pairs_of(
    name: str,
    cases: Sequence[Case],
    seed: int,
    *,
    equals: int = 0,
    wrong_gold: float = 0.0,
    stubborn: float | None = None,
) -> Pairs:
    """
    Return the law of a sound judge of pairs, as one of `SOUND` errs, drawn anew for each seed.

    On a tied case it says tie with .9. `wrong_gold`: in this share of cases gold is wrong and the judge is right.
    `stubborn`: on this share of cases it errs with .95, whenever it is asked, and on the others with .04. With so many
    `equals`, or pairs of equal answers, it does something else than it does with these as often as it errs.
    """
    random = Random(digest("pairs", name, seed))
    wrong = _DRAWN[name](random, len(cases))
    missed = [CLEAR[name]] * len(cases) if name in CLEAR else _DRAWN[name](random, len(cases))
    tie = [0.0] * len(cases)
    for place, case in enumerate(cases):
        if stubborn is not None:
            wrong[place] = 0.95 if random.random() < stubborn else 0.04
        if random.random() < wrong_gold:
            wrong[place] = 1 - wrong[place]
        if case.better == TIE:
            tie[place], wrong[place] = 0.9, 0.05
    slips = tuple(_DRAWN[name](Random(digest("equals", name, seed)), equals))
    return Pairs(tuple(wrong), tuple(tie), tuple(missed), 1.0 if name == "noise 0" else SURE, slips)


def scores_of(name: str, seed: int, cases: Sequence[Case], scale: Scale) -> Scores:
    """
    Return the law of a sound judge of scores, drawn anew for each seed: the better the gold score, the better.

    Qualities are uniform over the scale unless the name says otherwise: "ceiling" (80 % at 9 or 10 of 10), "lumpy" (1,
    3 or 5 of 5), "wide" (each ask is off by a point). A judge with one rate of noise says anything on the scale that
    often; one with hard cases is two points off.
    """
    random, n = Random(digest("scores", name, seed)), len(cases)
    none = (0.0,) * n

    def as_gold(drawn: Sequence[float]) -> tuple[float, ...]:
        by_gold = sorted(range(n), key=lambda i: (sum(cases[i].scores.values()), random.random()))
        return tuple(quality for _, quality in sorted(zip(by_gold, sorted(drawn), strict=True)))

    if name == "ceiling":
        quality = [random.uniform(8.6, 10.4) if random.random() < 0.8 else random.uniform(2, 8.4) for _ in range(n)]
        return Scores(as_gold(quality), (0.6,) * n, none, none)
    if name == "lumpy":
        quality = random.choices([1.0, 3.0, 5.0], [0.2, 0.3, 0.5], k=n)
        return Scores(as_gold(quality), none, none, (0.16,) * n)
    quality = [random.uniform(scale.low, scale.high) for _ in range(n)]
    if name == "wide":
        return Scores(as_gold(quality), (1.0,) * n, none, none)
    rates = tuple(SOUND[name](random, n))
    return Scores(as_gold(quality), none, *((rates, none) if name.startswith("noise") else (none, rates)))


def rubric_of(name: str, seed: int, n: int) -> list[float]:
    """Return the error rates of a sound judge of rubrics, by case, drawn anew for each seed."""
    return SOUND[name](Random(digest("rubric", name, seed)), n)


def sound(gate: Gate, name: str, seed: int, manner: Manner = _PLAIN, *, wrong_gold: float = 0.0) -> Law:
    """Return a judge for the task of a gate that errs as its name says, with what its edits and its server do."""
    n = len(gate.cases)
    if gate.task == "pairwise":
        drawn = pairs_of(name, gate.cases, seed, equals=len(gate.equals), wrong_gold=wrong_gold)
        return PairJudge(gate.cases, drawn, seed, manner)
    if gate.task == "score":
        return ScoreJudge(gate.scale, scores_of(name, seed, gate.cases, gate.scale), seed, manner)
    return RubricJudge(gate.cases, rubric_of(name, seed, n), seed, manner)
