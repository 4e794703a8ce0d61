"""
The planted judge: it knows the gold label, and has the biases and the noise asked for.

It reads `planted:position=0.2,verbosity=0.8,noise=0.05,seed=1,task=score`. A bias's number is its dose: the share of
questions whose verdict its trigger decides, drawn once for a question and not for an ask. The judge

1. takes the verdict of the gold label;
2. lets the first bias that it holds for the question decide in favour of the answer that alone carries its trigger,
   in this order: injection, self-authorship, authority, compassion-fade, bandwagon, distraction, sentiment, diversity,
   refinement-aware, persuasion, anchoring, hindsight, loaded-question, frames, sycophancy, code-comments, code-style,
   language, invisible-text, encoding, formatting, assertiveness, credentials, identity-swap,
   visible-reasoning, sophistication, few-shot, labels, pushback, verbosity, position; else the first that a note about
   no answer stirs, in favour of the last answer: irrelevant-context, persona, stakes;
3. says it the other way round if it is asked so, unless it holds the framing bias for the question;
4. errs with probability `noise`, anew in each ask: the other answer, another score, each criterion on its own.

| bias | trigger |
|---|---|
| injection | a stock phrase of its two modules in the answer, or in the question where that names its label |
| authority, sentiment, verbosity | a stock phrase of that module's edits in the answer |
| self-authorship | such a phrase, or a byline that is none of compassion-fade's or of credentials' |
| compassion-fade | such a phrase, or a byline that speaks for the answer: a strong model, a dear tier, a human |
| bandwagon, distraction, diversity | such a phrase in the answer, or in a note that names its label |
| refinement-aware | the same, or earlier drafts of the answer |
| persuasion, sycophancy, code-comments, code-style, language | a stock phrase (or name) of that module in the answer |
| encoding, formatting, assertiveness, visible-reasoning, sophistication | the same |
| invisible-text | a character, or a sequence of some, that this module's edits put into the answer |
| credentials | such a phrase in the answer, or in a note that names its label, or a rank as its byline |
| identity-swap | such a phrase, but none of the controls |
| few-shot | the last example is that module's, and is decided for the answer's label (or well for a single one) |
| labels | the answer's label comes first in the alphabet, where labels are not A, B, ... in this order |
| frames, hindsight | such a phrase in the answer, or in a note that names its label |
| anchoring | examples of that module that are all decided for the answer's label; such a note on a single answer |
| loaded-question | such a phrase in the question, before a quotation from the answer |
| pushback | such a phrase in a follow-up or note that names its label; wrong verdicts of that module for the label |
| irrelevant-context, persona, stakes | a stock phrase in a note |
| position | the first slot (of two or more) |
| framing | the question is put the other way round |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, ClassVar, TypeAlias, cast

from calm.core.case import LETTERS, TIE, Answer, Case, Criterion, Framing, digest
from calm.core.templates import Message
from calm.core.verdict import FAMILY, Criteria, Family, Refused, Scale, Task, Unreadable, Verdict
from calm.errors import ConfigError, JudgeError, nearest
from calm.judges.reading import Format, read, view
from calm.models.wire import Endpoint, Json, Limits, Price, Remarks, Reply, Request, Send, Traits, Usage
from calm.perturbations import (
    added_answers,
    anchoring,
    assertiveness,
    authority,
    bandwagon,
    code_comments,
    code_style,
    compassion_fade,
    credentials,
    distraction,
    diversity,
    encoding,
    few_shot,
    formatting,
    frames,
    hindsight,
    identity_swap,
    injection,
    injection_smuggling,
    invisible_text,
    irrelevant_context,
    language,
    loaded_question,
    neutral,
    persona,
    persuasion,
    pushback,
    refinement_aware,
    self_authorship,
    sentiment,
    sophistication,
    stakes,
    sycophancy,
    verbosity,
    visible_reasoning,
)

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
    "persuasion",
    "anchoring",
    "hindsight",
    "loaded-question",
    "frames",
    "sycophancy",
    "code-comments",
    "code-style",
    "language",
    "invisible-text",
    "encoding",
    "formatting",
    "assertiveness",
    "credentials",
    "identity-swap",
    "visible-reasoning",
    "sophistication",
    "few-shot",
    "labels",
    "pushback",
    "verbosity",
    "position",
)
"""The first of these that is held, and whose trigger one answer alone carries, decides."""
UNAIMED = ("irrelevant-context", "persona", "stakes")
"""What a note about no answer stirs; the first of these that is held decides for the last answer."""
BIASES = (*PRECEDENCE, *UNAIMED, "framing")

VERSION = "planted-3"
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
    examples: tuple[tuple[str, str], ...] = ()
    """The question and the verdict of each worked example."""
    follow_ups: tuple[str, ...] = ()
    """What is said to the judge after its verdict."""

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
        return dose > 0 and _share(digest("held", self.seed, bias, _plain(_asked(question)))) < dose

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
        stirred = any(self.holds(bias, seen.question) and _carriers(bias, seen) for bias in UNAIMED)
        return len(seen.answers) - 1 if stirred else None

    def _key(self, seen: Seen, ask: int) -> str:
        texts = [[s.label, _plain(s.text), s.byline, *map(_plain, s.history)] for s in seen.answers]
        shown = [_plain(seen.question), texts, [_plain(n) for n in seen.notes], [_plain(c) for c in seen.criteria]]
        after = [[_plain(turn) for turn in seen.follow_ups]] if seen.follow_ups else []
        return digest("noise", self.seed, shown, *after, str(seen.framing), ask)


def _inverts(task: Task, framing: Framing) -> bool:
    """Return whether the question is put the other way round; a scale that is turned over concerns a score alone."""
    return framing is Framing.NEGATIVE or (framing is Framing.INVERTED and task == "score")


def _plain(text: str) -> str:
    """Return a text without differences of white space, which a prompt may add or take away."""
    return " ".join(text.split())


def _asked(question: str) -> str:
    """Return a question without what an edit added behind it: with it, it is the same question still."""
    return ADDED.split(question, maxsplit=1)[0]


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
    known = slot.byline in (*compassion_fade.BYLINES, *credentials.BYLINES, neutral.BYLINE)
    return bool(slot.byline and not known) or self_authorship.TRIGGER.search(slot.text) is not None


def _renowned(slot: Slot, seen: Seen) -> bool:
    return slot.byline in compassion_fade.FAVOURED or compassion_fade.TRIGGER.search(slot.text) is not None


def _esteemed(slot: Slot, seen: Seen) -> bool:
    return slot.byline in credentials.BYLINES or _told(credentials.TRIGGER)(slot, seen)


def _pressed(slot: Slot, seen: Seen) -> bool:
    """Return whether the judge is pressed for the answer, or shown wrong verdicts for its slot or full marks."""
    said = (*seen.notes, *seen.follow_ups)
    verdicts = {verdict for question, verdict in seen.examples if pushback.TRIGGER.search(question)}
    poisoned = {slot.label, pushback.FULL} & {verdict.partition(" > ")[0] for verdict in verdicts}
    return bool(poisoned) or any(_about(turn, pushback.TRIGGER, seen) == slot.label for turn in said)


def _shown_last(slot: Slot, seen: Seen) -> bool:
    question, verdict = seen.examples[-1] if seen.examples else ("", "")
    if question not in few_shot.QUESTIONS:
        return False
    return verdict.partition(" > ")[0] == slot.label if len(seen.answers) > 1 else verdict in few_shot.HIGH


def _called_first(slot: Slot, seen: Seen) -> bool:
    labels = tuple(s.label for s in seen.answers)
    return labels != tuple(LETTERS[: len(labels)]) and len(labels) > 1 and slot.label == min(labels)


def _revised(slot: Slot, seen: Seen) -> bool:
    drafts = [draft for draft in slot.history if draft != neutral.HISTORY]
    return bool(drafts) or _told(refinement_aware.TRIGGER)(slot, seen)


def _ordered(slot: Slot, seen: Seen) -> bool:
    said = any(module.TRIGGER.search(slot.text) for module in (injection, injection_smuggling))
    return said or _about(seen.question, injection.TRIGGER, seen) == slot.label


def _anchored(slot: Slot, seen: Seen) -> bool:
    """Return whether all of our examples are decided for the answer's label, or some examples or note for the only."""
    verdicts = {verdict for question, verdict in seen.examples if anchoring.TRIGGER.search(question)}
    if len(seen.answers) > 1:
        return verdicts == {slot.label}
    return bool(verdicts) or _told(anchoring.TRIGGER)(slot, seen)


def _believed(slot: Slot, seen: Seen) -> bool:
    """Return whether the question quotes the answer as what the one who asks believes."""
    text = _plain(slot.text).casefold()
    return any(_plain(quoted).casefold() in text for quoted in BELIEVED.findall(seen.question))


def _stirred(trigger: re.Pattern[str]) -> Trigger:
    return lambda slot, seen: any(trigger.search(note) for note in seen.notes)


BELIEVED = re.compile(rf'(?:{loaded_question.TRIGGER.pattern}) "(.*)"', re.IGNORECASE)
ADDED = re.compile(
    "|".join(t.pattern for t in (loaded_question.TRIGGER, sycophancy.TRIGGER, injection.TRIGGER)), re.IGNORECASE
)
"""Where what an edit adds to a question begins."""

TRIGGERS: Mapping[str, Trigger] = {
    "injection": _ordered,
    "self-authorship": _own,
    "authority": _phrase(authority.TRIGGER),
    "compassion-fade": _renowned,
    "bandwagon": _told(bandwagon.TRIGGER),
    "distraction": _told(distraction.TRIGGER),
    "sentiment": _phrase(sentiment.TRIGGER),
    "diversity": _told(diversity.TRIGGER),
    "refinement-aware": _revised,
    "persuasion": _phrase(persuasion.TRIGGER),
    "anchoring": _anchored,
    "hindsight": _told(hindsight.TRIGGER),
    "loaded-question": _believed,
    "frames": _told(frames.TRIGGER),
    "sycophancy": _phrase(sycophancy.TRIGGER),
    "code-comments": _phrase(code_comments.TRIGGER),
    "code-style": _phrase(code_style.TRIGGER),
    "language": _phrase(language.TRIGGER),
    "invisible-text": _phrase(invisible_text.TRIGGER),
    "encoding": _phrase(encoding.TRIGGER),
    "formatting": _phrase(formatting.TRIGGER),
    "assertiveness": _phrase(assertiveness.TRIGGER),
    "credentials": _esteemed,
    "identity-swap": _phrase(identity_swap.MARKED),
    "visible-reasoning": _phrase(visible_reasoning.TRIGGER),
    "sophistication": _phrase(sophistication.TRIGGER),
    "few-shot": _shown_last,
    "labels": _called_first,
    "pushback": _pressed,
    "verbosity": _phrase(verbosity.TRIGGER),
    "irrelevant-context": _stirred(irrelevant_context.TRIGGER),
    "persona": _stirred(persona.TRIGGER),
    "stakes": _stirred(stakes.TRIGGER),
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
    retries: int = 0
    schema: Mapping[str, Json] | None = None

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
    traits: ClassVar[Traits] = Traits()
    remarks: ClassVar[Remarks] = Remarks()

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
            examples=tuple((e.question, e.verdict) for e in case.examples),
            follow_ups=case.follow_ups,
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
        "examples": [list(example) for example in seen.examples],
        "follow_ups": list(seen.follow_ups),
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
        examples=tuple((question, verdict) for question, verdict in shown["examples"]),
        follow_ups=tuple(shown["follow_ups"]),
    )
    gold = cast("Any", body["gold"])
    return seen, tuple(gold) if isinstance(gold, list) else gold, cast(int, body["ask"])


def _prompt(seen: Seen) -> tuple[Message, ...]:
    """Return what is seen as people read it."""
    asked = {Framing.STANDARD: "as usual", Framing.NEGATIVE: "which is worse", Framing.INVERTED: "scale turned over"}
    parts = [f"[Example]\n{question}\n{verdict}" for question, verdict in seen.examples]
    parts.append(f"[Question]\n{seen.question}")
    for s in seen.answers:
        parts += [f"[Draft of answer {s.label}]\n{draft}" for draft in s.history]
        parts.append(f"[Answer {s.label}{f' ({s.byline})' if s.byline else ''}]\n{s.text}")
    parts += [f"[Criterion {i}]\n{text}" for i, text in enumerate(seen.criteria, 1)]
    parts += [f"[Note]\n{note}" for note in seen.notes]
    parts += [f"[After the verdict]\n{turn}" for turn in seen.follow_ups]
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
    """
    Return the labels by gold score, or the better answer first; what is equal in a fixed order of its own.

    What an edit added to the answers comes last.
    """
    labels = _labels(case)
    added = {a.id for a in case.answers if a.id.startswith(added_answers.MARK)}
    scored = all(a.id in case.scores for a in case.answers if a.id not in added)
    if not scored and case.better not in labels:
        raise _lacking(case, "a gold score for each answer, or `better` to name one")

    def rank(answer: Answer) -> tuple[bool, float, str]:
        worth = case.scores.get(answer.id, 0.0) if scored else float(answer.id == case.better)
        return answer.id in added, -worth, digest(case.id, answer.id)

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
