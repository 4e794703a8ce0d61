"""
The planted judge: it knows the gold label, and has the biases and the noise asked for.

It reads `planted:position=0.2,verbosity=0.8,noise=0.05,seed=1,task=score`. A bias's number is its dose: the share of
questions whose verdict its trigger decides, drawn once for a question and not for an ask. The judge

1. takes the verdict of the gold label;
2. lets the first bias that it holds for the question decide in favour of the answer that alone carries its trigger,
   in this order: injection, self-authorship, authority, compassion-fade, bandwagon, distraction, sentiment, diversity,
   refinement-aware, verbosity, position;
3. says it the other way round if it is asked so, unless it holds the framing bias for the question;
4. errs with probability `noise`, anew in each ask: the other answer, another score, each criterion on its own.

| bias | trigger |
|---|---|
| injection, authority, sentiment, verbosity | a stock phrase of that module's edits in the answer |
| self-authorship | such a phrase, or a byline that is none of compassion-fade's |
| compassion-fade | such a phrase, or a byline that speaks for the answer: a strong model, a dear tier, a human |
| bandwagon, distraction, diversity | such a phrase in the answer, or in a note that names its label |
| refinement-aware | the same, or earlier drafts of the answer |
| position | the first slot (of two or more) |
| framing | the question is put the other way round |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, TypeAlias, cast

from calm.case import TIE, Answer, Case, Criterion, Framing, digest
from calm.errors import ConfigError, JudgeError, nearest
from calm.perturbations import (
    authority,
    bandwagon,
    compassion_fade,
    distraction,
    diversity,
    injection,
    refinement_aware,
    self_authorship,
    sentiment,
    verbosity,
)
from calm.reading import Format, read, view
from calm.verdict import FAMILY, Criteria, Family, Refused, Scale, Task, Unreadable, Verdict
from calm.wire import Endpoint, Json, Limits, Message, Price, Reply, Request, Send, Usage

PRECEDENCE = (
    "injection",
    "self-authorship",
    "authority",
    "compassion-fade",
    "bandwagon",
    "distraction",
    "sentiment",
    "diversity",
    "refinement-aware",
    "verbosity",
    "position",
)
"""The first of these that is held, and whose trigger one answer alone carries, decides."""
BIASES = (*PRECEDENCE, "framing")

VERSION = "planted-2"
"""Part of the cache key: it changes whenever the same question would get another reply."""

Gold: TypeAlias = str | float | tuple[bool, ...] | tuple[str, ...]
"""
What is true of what is seen: the label of the better slot or "tie" (pairwise), the score with its high end good
(score), the truth of each criterion seen (rubric, rubric-all, points), the labels from best to worst (listwise).
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """An answer as it is shown: the label of its slot, its text, the name beside the label, and its earlier drafts."""

    label: str
    text: str
    byline: str = ""
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What the judge sees in one ask. `criteria` are texts; `points` their weights (empty: one point each)."""

    family: Family
    question: str
    answers: tuple[Slot, ...]
    notes: tuple[str, ...] = ()
    framing: Framing = Framing.STANDARD
    criteria: tuple[str, ...] = ()
    points: tuple[float, ...] = ()
    scale: Scale = field(default_factory=Scale)

    @property
    def weights(self) -> tuple[float, ...]:
        """The points of each criterion."""
        return self.points or (1.0,) * len(self.criteria)


Trigger: TypeAlias = Callable[[Slot, Seen], bool]
"""Whether an answer carries what a bias reacts to."""


@dataclass(frozen=True, slots=True)
class Mind:
    """
    The planted judgement: a pure function of what is seen, the gold label and the repeat index.

    `doses` are pairs of a bias and its share of questions, `noise` the probability of an error in an ask.
    """

    task: Task = "pairwise"
    seed: int = 0
    noise: float = 0.0
    doses: tuple[tuple[str, float], ...] = ()
    scale: Scale = field(default_factory=Scale)

    def holds(self, bias: str, question: str) -> bool:
        """Return whether a bias decides this question, whatever the ask and the answers."""
        dose = dict(self.doses).get(bias, 0.0)
        return dose > 0 and _share(digest("held", self.seed, bias, _plain(question))) < dose

    def reply(self, seen: Seen, gold: Gold, ask: int) -> str:
        """
        Return the reply to one ask, as text in the bundled `brackets` format.

        Raises:
            JudgeError: `seen` belongs to a task of another kind.
        """
        if seen.family != FAMILY[self.task]:
            raise JudgeError(f"planted: expected a question for task={self.task}, got family={seen.family!r}")
        turned = _inverts(self.task, seen.framing) and not self.holds("framing", seen.question)
        rng = Random(self._key(seen, ask))
        return SAY[self.task](Ask(seen, gold, self._decided(seen), turned, self.noise, rng))

    def _decided(self, seen: Seen) -> int | None:
        """Return the place of the answer that a bias decides for, None where gold decides."""
        for bias in PRECEDENCE:
            if self.holds(bias, seen.question):
                carriers = _carriers(bias, seen)
                if len(carriers) == 1:
                    return carriers[0]
        return None

    def _key(self, seen: Seen, ask: int) -> str:
        texts = [[s.label, _plain(s.text), s.byline, *map(_plain, s.history)] for s in seen.answers]
        shown = [_plain(seen.question), texts, [_plain(n) for n in seen.notes], [_plain(c) for c in seen.criteria]]
        return digest("noise", self.seed, shown, str(seen.framing), ask)


def _inverts(task: Task, framing: Framing) -> bool:
    """Return whether the question is put the other way round; a scale that is turned over concerns a score alone."""
    return framing is Framing.NEGATIVE or (framing is Framing.INVERTED and task == "score")


def _plain(text: str) -> str:
    """Return a text without differences of white space, which a prompt may add or take away."""
    return " ".join(text.split())


def _share(hexadecimal: str) -> float:
    return int(hexadecimal[:13], 16) / 16**13


# -------------------------------------------------------------------------------------------------------- the triggers


def _carriers(bias: str, seen: Seen) -> list[int]:
    """Return the places of the answers that carry a bias's trigger."""
    if bias == "position":
        return [0] if len(seen.answers) > 1 else []
    found = TRIGGERS[bias]
    return [place for place, slot in enumerate(seen.answers) if found(slot, seen)]


def _phrase(trigger: re.Pattern[str]) -> Trigger:
    """Return whether a stock phrase stands in the answer."""
    return lambda slot, seen: trigger.search(slot.text) is not None


def _told(trigger: re.Pattern[str]) -> Trigger:
    """Return whether a stock phrase stands in the answer, or in a note about it."""

    def found(slot: Slot, seen: Seen) -> bool:
        return trigger.search(slot.text) is not None or any(_about(n, trigger, seen) == slot.label for n in seen.notes)

    return found


def _about(note: str, trigger: re.Pattern[str], seen: Seen) -> str | None:
    """Return the label that a note with a stock phrase is about: the only answer's, or the one label that it names."""
    cue = trigger.search(note)
    if cue is None:
        return None
    if len(seen.answers) == 1:
        return seen.answers[0].label
    # what stands before the phrase may hold an "A" that is no label, so there a label needs its noun
    after = _labels_in(note[cue.end() :], seen, r"(?<!\w)")
    named = after or _labels_in(note[: cue.end()], seen, r"\b[Aa]nswer ")
    return named[0] if len(named) == 1 else None


def _labels_in(text: str, seen: Seen, before: str) -> list[str]:
    return [s.label for s in seen.answers if re.search(rf"{before}{re.escape(s.label)}(?!\w)", text)]


def _own(slot: Slot, seen: Seen) -> bool:
    known = slot.byline in compassion_fade.BYLINES
    return bool(slot.byline and not known) or self_authorship.TRIGGER.search(slot.text) is not None


def _renowned(slot: Slot, seen: Seen) -> bool:
    return slot.byline in compassion_fade.FAVOURED or compassion_fade.TRIGGER.search(slot.text) is not None


def _revised(slot: Slot, seen: Seen) -> bool:
    return bool(slot.history) or _told(refinement_aware.TRIGGER)(slot, seen)


TRIGGERS: Mapping[str, Trigger] = {
    "injection": _phrase(injection.TRIGGER),
    "self-authorship": _own,
    "authority": _phrase(authority.TRIGGER),
    "compassion-fade": _renowned,
    "bandwagon": _told(bandwagon.TRIGGER),
    "distraction": _told(distraction.TRIGGER),
    "sentiment": _phrase(sentiment.TRIGGER),
    "diversity": _told(diversity.TRIGGER),
    "refinement-aware": _revised,
    "verbosity": _phrase(verbosity.TRIGGER),
}


# --------------------------------------------------------------------------------------------------------- the replies


@dataclass(frozen=True, slots=True)
class Ask:
    """One ask to answer: `winner` is the place that a bias decides for, `turned` whether to say the opposite."""

    seen: Seen
    gold: Gold
    winner: int | None
    turned: bool
    noise: float
    rng: Random

    def errs(self) -> bool:
        """Draw whether the judge errs."""
        return self.rng.random() < self.noise


def _say_slot(ask: Ask) -> str:
    labels = [s.label for s in ask.seen.answers]
    said = cast(str, ask.gold) if ask.winner is None else labels[ask.winner]
    if ask.turned and said != TIE:
        said = next(label for label in labels if label != said)
    if ask.errs():
        said = ask.rng.choice([label for label in labels if label != said])
    if said == TIE:
        said = TIE if "C" in labels else "C"
    return f"I compared the answers point by point. [[{said}]]"


def _say_score(ask: Ask) -> str:
    scale = ask.seen.scale
    value = min(max(cast(float, ask.gold), scale.low), scale.high) if ask.winner is None else scale.high
    if ask.turned != (scale.best == "low"):
        value = scale.turned(value)
    if ask.errs():
        value = ask.rng.choice([step for step in _steps(scale) if abs(step - value) > 1e-9])
    return f"I weighed what the answer does well and what it lacks. [[{_number(value)}]]"


def _say_order(ask: Ask) -> str:
    order = list(cast("tuple[str, ...]", ask.gold))
    if ask.winner is not None:
        best = ask.seen.answers[ask.winner].label
        order = [best, *(label for label in order if label != best)]
    if ask.turned:
        order.reverse()
    if ask.errs():
        order = _shuffled(order, ask.rng)
    return f"I compared each answer with the others. [[{' > '.join(order)}]]"


def _say_points(ask: Ask) -> str:
    weights = ask.seen.weights
    total = sum(abs(w) for w in weights)
    points = sum(abs(w) for met, w in zip(_truths(ask), weights, strict=True) if met == (w > 0))
    return f"I added up the points. [[{_number(total - points if ask.turned else points)}/{_number(total)}]]"


def _say_criterion(ask: Ask) -> str:
    return f"I held the answer against the criterion. {_words(ask)[0]}"


def _say_criteria(ask: Ask) -> str:
    return "\n".join(["I went through the criteria.", *(f"{i}: {word}" for i, word in enumerate(_words(ask), 1))])


SAY: Mapping[Task, Callable[[Ask], str]] = {
    "pairwise": _say_slot,
    "score": _say_score,
    "points": _say_points,
    "rubric": _say_criterion,
    "rubric-all": _say_criteria,
    "listwise": _say_order,
}


def _words(ask: Ask) -> list[str]:
    return ["[[YES]]" if truth != ask.turned else "[[NO]]" for truth in _truths(ask)]


def _truths(ask: Ask) -> list[bool]:
    """Return for each criterion what the judge takes for true; a bias takes what serves the answer."""
    gold = cast("tuple[bool, ...]", ask.gold)
    latent = gold if ask.winner is None else tuple(w > 0 for w in ask.seen.weights)
    return [truth != ask.errs() for truth in latent]


def _steps(scale: Scale) -> list[float]:
    """Return the values that a score in error is drawn from: whole steps, or the two ends of a narrow scale."""
    span = scale.high - scale.low
    step = scale.step or min(1.0, span)
    return [scale.low + i * step for i in range(int(span / step + 1e-9) + 1)]


def _shuffled(order: list[str], rng: Random) -> list[str]:
    """Return a uniform draw from the other orders."""
    while (drawn := rng.sample(order, len(order))) == order:
        pass
    return drawn


def _number(value: float) -> str:
    return f"{value:.10g}"


# ----------------------------------------------------------------------------------------------------------- the judge


@dataclass(frozen=True, slots=True)
class Within:
    """The endpoint of a planted judge: its mind, in this process. The body holds all that the reply depends on."""

    mind: Mind
    identity: str
    model: str = "planted"
    served_as: str | None = None
    live: bool = False
    limits: Limits = field(default_factory=lambda: Limits(concurrency=64))
    price: Price | None = None
    max_tokens: int = 256

    async def call(self, body: Mapping[str, Json]) -> Reply:
        """Return the reply that the mind gives to what the body says it sees."""
        return Reply(self.mind.reply(*unpacked(body)), model=self.model, usage=Usage(0, 0))

    async def greet(self) -> Reply:
        """Return an empty reply that names the model."""
        return Reply("", model=self.model)


@dataclass(frozen=True, slots=True)
class Planted:
    """A judge with a planted mind. A case without the gold label that its task needs is a `JudgeError`."""

    mind: Mind
    name: str = "planted"
    endpoint: Within = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "endpoint", Within(self.mind, self.fingerprint))

    @property
    def task(self) -> Task:
        """What it is asked to do."""
        return self.mind.task

    @property
    def scale(self) -> Scale:
        """The range of its scores."""
        return self.mind.scale

    @property
    def fingerprint(self) -> str:
        """All that decides its verdicts, in one order whatever the order of the specification."""
        return (
            f"{VERSION}:{digest(asdict(self.mind))[:16]}:{','.join(f'{k}={v}' for k, v in self._parameters().items())}"
        )

    @property
    def as_given(self) -> bool:
        """Whether it wants the answers in the case's own order."""
        return False

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        return {"model": "planted", "parameters": self._parameters()}

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The one endpoint, which is local."""
        return (self.endpoint,)

    def _parameters(self) -> dict[str, Json]:
        return {**dict(self.mind.doses), "noise": self.mind.noise, "seed": self.mind.seed, "task": self.mind.task}

    def sees(self, case: Case) -> Seen:
        """Return what of a case can reach its verdict."""
        return self._seen(case, case.criteria if FAMILY[self.task] == "rubric" or self.task == "points" else ())

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the verdict on a case: one call, or one for each criterion of a rubric.

        Raises:
            JudgeError: the case lacks the gold label that the task needs.
        """
        if self.task != "rubric":
            return await self._ask(case, None, send)
        if not case.criteria:
            raise _lacking(case, "at least one criterion")
        met: dict[str, bool | None] = {}
        for criterion in case.criteria:
            verdict = await self._ask(case, criterion, send)
            if not isinstance(verdict, Criteria | Unreadable | Refused):
                return verdict
            met[criterion.id] = verdict.met[criterion.id] if isinstance(verdict, Criteria) else None
        return Criteria(met)

    async def _ask(self, case: Case, criterion: Criterion | None, send: Send) -> Verdict:
        seen = self.sees(case) if criterion is None else self._seen(case, (criterion,))
        body = packed(seen, gold_of(case, self.mind, criterion), send.ask)
        reply = await send(Request(self.endpoint, _prompt(seen), body))
        return read(reply, Format(), view(case, self.task, self.scale, criterion))

    def _seen(self, case: Case, criteria: Sequence[Criterion]) -> Seen:
        shown = zip(case.slot_labels, case.shown, strict=True)
        return Seen(
            family=FAMILY[self.task],
            question=case.question,
            answers=tuple(Slot(label, a.text, case.bylines.get(a.id, ""), a.history) for label, a in shown),
            notes=case.notes,
            framing=case.framing,
            criteria=tuple(c.text for c in criteria),
            points=tuple(c.points for c in criteria),
            scale=self.scale,
        )


def packed(seen: Seen, gold: Gold, ask: int) -> dict[str, Json]:
    """Return what the reply depends on as JSON."""
    shown: dict[str, Json] = {
        "family": seen.family,
        "question": seen.question,
        "answers": [[slot.label, slot.text, slot.byline, list(slot.history)] for slot in seen.answers],
        "notes": list(seen.notes),
        "framing": str(seen.framing),
        "criteria": list(seen.criteria),
        "points": list(seen.points),
        "scale": [seen.scale.low, seen.scale.high, seen.scale.step, seen.scale.best],
    }
    return {"seen": shown, "gold": list(gold) if isinstance(gold, tuple) else gold, "ask": ask}


def unpacked(body: Mapping[str, Json]) -> tuple[Seen, Gold, int]:
    """Return what `packed` was given."""
    shown = cast("dict[str, Any]", body["seen"])
    low, high, step, best = shown["scale"]
    seen = Seen(
        family=shown["family"],
        question=shown["question"],
        answers=tuple(Slot(label, text, byline, tuple(drafts)) for label, text, byline, drafts in shown["answers"]),
        notes=tuple(shown["notes"]),
        framing=Framing(shown["framing"]),
        criteria=tuple(shown["criteria"]),
        points=tuple(shown["points"]),
        scale=Scale(low, high, step, best),
    )
    gold = cast("Any", body["gold"])
    return seen, tuple(gold) if isinstance(gold, list) else gold, cast(int, body["ask"])


def _prompt(seen: Seen) -> tuple[Message, ...]:
    """Return what is seen as people read it."""
    asked = {Framing.STANDARD: "as usual", Framing.NEGATIVE: "which is worse", Framing.INVERTED: "scale turned over"}
    parts = [f"[Question]\n{seen.question}"]
    for s in seen.answers:
        parts += [f"[Draft of answer {s.label}]\n{draft}" for draft in s.history]
        parts.append(f"[Answer {s.label}{f' ({s.byline})' if s.byline else ''}]\n{s.text}")
    parts += [f"[Criterion {i}]\n{text}" for i, text in enumerate(seen.criteria, 1)]
    parts += [f"[Note]\n{note}" for note in seen.notes]
    system = f"A planted judge is asked for a {seen.family} verdict ({asked[seen.framing]})."
    return (Message("system", system), Message("user", "\n\n".join(parts)))


# ------------------------------------------------------------------------------------------------------ the gold label


def gold_of(case: Case, mind: Mind, criterion: Criterion | None = None) -> Gold:
    """
    Return what is true of a case, as the mind needs it for its task.

    Raises:
        JudgeError: the case does not hold it.
    """
    match mind.task:
        case "pairwise":
            return _better_label(case)
        case "score":
            answer = case.shown[0]
            if answer.id not in case.scores:
                raise _lacking(case, f"a gold score for answer {answer.id!r}")
            return float(min(max(case.scores[answer.id], mind.scale.low), mind.scale.high))
        case "listwise":
            return _ranked_labels(case)
        case _:
            return _met(case, case.criteria if criterion is None else (criterion,))


def _lacking(case: Case, what: str) -> JudgeError:
    return JudgeError(f"planted: case {case.id}: expected {what}, got none; a planted judge goes by the gold label")


def _labels(case: Case) -> dict[str, str]:
    return {a.id: label for label, a in zip(case.slot_labels, case.shown, strict=True)}


def _better_label(case: Case) -> str:
    labels = _labels(case)
    if case.better == TIE:
        return TIE
    if case.better not in labels:
        raise _lacking(case, f"`better` to name one of its answers ({', '.join(labels)}) or 'tie'")
    return labels[case.better]


def _ranked_labels(case: Case) -> tuple[str, ...]:
    """Return the labels by gold score, or the better answer first; what is equal in a fixed order of its own."""
    labels = _labels(case)
    scored = all(a.id in case.scores for a in case.answers)
    if not scored and case.better not in labels:
        raise _lacking(case, "a gold score for each answer, or `better` to name one")

    def rank(answer: Answer) -> tuple[float, str]:
        return -case.scores[answer.id] if scored else -(answer.id == case.better), digest(case.id, answer.id)

    return tuple(labels[a.id] for a in sorted(case.answers, key=rank))


def _met(case: Case, criteria: Sequence[Criterion]) -> tuple[bool, ...]:
    answer = case.shown[0]
    met = case.met.get(answer.id, {})
    for criterion in criteria:
        if criterion.id not in met:
            raise _lacking(case, f"`met` to say of answer {answer.id!r} whether it meets {criterion.id!r}")
    if not criteria:
        raise _lacking(case, "at least one criterion")
    return tuple(met[c.id] for c in criteria)


# --------------------------------------------------------------------------------------------------- the specification


def planted(spec: str) -> Planted:
    """
    Return the judge of a specification such as `planted:position=0.2,noise=0.05,seed=1,task=score`.

    Raises:
        ConfigError: all that is wrong with it.
    """
    problems: list[str] = []
    given: dict[str, str] = {}
    name, _, settings = spec.partition(":")
    if name.strip() != "planted":
        problems.append(f"expected a specification planted:KEY=VALUE,..., got {spec!r}")
    for part in filter(None, (p.strip() for p in settings.split(","))):
        key, equals, value = (p.strip() for p in part.partition("="))
        if not equals:
            problems.append(f"planted: expected KEY=VALUE, got {part!r}; write as in position=0.2")
        elif key not in (*BIASES, "noise", "seed", "task"):
            problems.append(f"planted: unknown key {key!r}{nearest(key, (*BIASES, 'noise', 'seed', 'task'))}")
        elif key in given:
            problems.append(f"planted: expected each key once, got {key!r} twice; keep one of them")
        else:
            given[key] = value
    task = given.get("task", "pairwise")
    if task not in FAMILY:
        problems.append(f"planted: expected a task, got task={task!r}{nearest(task, FAMILY)}")
    shares = {key: _fraction(key, given[key], problems) for key in (*BIASES, "noise") if key in given}
    seed = _whole(given.get("seed", "0"), problems)
    if problems:
        raise ConfigError(problems)
    scale = Scale(0.0, 1.0) if task == "points" else Scale()
    noise = shares.pop("noise", 0.0)
    return Planted(Mind(cast(Task, task), seed, noise, tuple(sorted(shares.items())), scale))


def _fraction(key: str, text: str, problems: list[str]) -> float:
    number = float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) else None
    if number is None or not 0 <= number <= 1:
        problems.append(f"planted: expected {key} to be a number from 0 to 1, got {key}={text!r}; it is a share")
        return 0.0
    return number


def _whole(text: str, problems: list[str]) -> int:
    if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        problems.append(f"planted: expected seed to be a whole number, got seed={text!r}; write as in seed=1")
        return 0
    return int(text)
