"""Edits: named pure functions that rewrite a case, or a judge's prompt (messages whose texts are templates)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from typing import Literal, TypeAlias, TypeVar, get_args

from calm.core.case import Case, Framing, Treated, digest, repr_of
from calm.core.images import Image
from calm.core.languages import NAMES
from calm.core.ready_made import BY_NAME, Held, Own, held_for
from calm.core.reasons import Kind, Reason, because
from calm.core.validation import Rules
from calm.core.verdict import FAMILIES, Family, Scale
from calm.errors import ConfigError, EditError, nearest

Form: TypeAlias = Literal["brackets", "json", "last-line", "tag", "regex", "logprobs", "noul", "choice", "score"]
"""How a prompt asks for its verdict: the `[verdict] format` of judge.toml."""

FORMS: tuple[Form, ...] = get_args(Form)
QUESTIONS: tuple[Form, ...] = ("noul", "choice", "score")
"""The forms of a decision model, which writes no text: each is a type of its questions."""

Notes: TypeAlias = Literal["question", "end", "refuse"]
"""Where a prompt shows a note that its templates have no place for: `[prompt] notes` of judge.toml."""

NOTES: tuple[Notes, ...] = get_args(Notes)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a prompt: its text, and the images in it, each behind so many characters of the text."""

    role: str
    text: str
    images: tuple[tuple[int, Image], ...] = ()

    __repr__ = repr_of

    @property
    def parts(self) -> list[str | Image]:
        """Its texts and images in their order, without blank texts."""
        found: list[str | Image] = []
        begin = 0
        for end, image in self.images:
            found += [self.text[begin:end], image]
            begin = end
        return [part for part in (*found, self.text[begin:]) if isinstance(part, Image) or part.strip()]

    @property
    def shown(self) -> str:
        """Its text, with a word in the place of each image."""
        if not self.images:
            return self.text
        return "\n".join(part.shown if isinstance(part, Image) else part for part in self.parts)


Messages: TypeAlias = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """
    A judge's prompt: messages whose texts are Jinja2 templates, and its framing-inverted twins.

    `negative` asks how bad an answer is, which one is worse, whether it fails; `inverted` asks for a score on the
    scale turned over. `bundled` marks our own templates, in which everything untrusted is neutralised. `notes` says
    where a user's own prompt shows what its templates have no place for ("refuse": nowhere). `form`, `scale` and
    `values` (labels to scores) say how the prompt asks for the verdict; where they are empty, the judge's own settings
    do. `beside` are further questions that a decision model is asked in the same call; nobody reads their answers.
    """

    messages: Messages
    negative: Messages | None = None
    inverted: Messages | None = None
    bundled: bool = False
    notes: Notes = "question"
    form: Form | None = None
    scale: Scale | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    beside: tuple[str, ...] = ()

    def sha256(self) -> str:
        """Return the digest of all templates."""
        sets = [
            None if one is None else [[m.role, m.text] for m in one]
            for one in (self.messages, self.negative, self.inverted)
        ]
        return digest("prompt", self.bundled, *sets, *(() if self.bundled else (self.notes,)), *self.beside)

    def framed(self, framing: Framing) -> Messages:
        """Return the templates for a framing; the standard ones where the twin is missing."""
        if framing is Framing.STANDARD:
            return self.messages
        twin = {Framing.NEGATIVE: self.negative, Framing.INVERTED: self.inverted}.get(framing)
        return self.messages if twin is None else twin

    def each(self, change: Callable[[Messages], Messages]) -> Prompt:
        """Return a copy in which the messages of every framing went through `change`."""
        return replace(
            self,
            messages=change(self.messages),
            negative=None if self.negative is None else change(self.negative),
            inverted=None if self.inverted is None else change(self.inverted),
        )


Rewrite: TypeAlias = Callable[[Treated, Random], Treated | None]
Reword: TypeAlias = Callable[[Prompt, Random], Prompt | None]


class Expects(StrEnum):
    """What a sound judge does with the treated answer."""

    SAME = "SAME"
    """The verdict must not change."""
    NOT_BETTER = "NOT_BETTER"
    """The treated answer must not gain."""
    WORSE = "WORSE"
    """The treated answer must lose: a test of sensitivity."""
    TIE = "TIE"
    """The answers must tie, or be preferred symmetrically."""
    OBSERVE = "OBSERVE"
    """Nothing is required; the effect is reported."""


class _Labelled:
    """How an edit of cases and one of prompts are named."""

    name: str
    dose: float | None
    expects: Expects
    in_place: bool

    @property
    def copies(self) -> bool:
        """Whether it harms a copy of one of several answers, and the original stands beside that in the prompt."""
        return self.expects is Expects.WORSE and not self.in_place

    @property
    def label(self) -> str:
        """The name as results show it: with the dose, if there is one."""
        return self.name if self.dose is None else f"{self.name}@{self.dose:g}"


@dataclass(frozen=True)
class Edit(_Labelled):
    """
    A perturbation: a pure function of a case and a source of randomness, with what it is and what it should do.

    Call it as `edit(case, rng)`; None means that it does not apply to the case. `tasks` are the kinds of verdict that
    it serves, `dose` a strength that is part of its name in results, `source` where the idea comes from. `rules` say
    what it may change of an answer's text (None: what its expectation allows). An `attack` speaks to the judge.
    A text that a case holds for it goes before what it would make; `own` says which texts, and how they are shown.
    `languages` are the codes of those in which it works; where it is None, what it adds to a text says so. `in_place`
    harms the better of two answers by what both rest on, so there is no harmed copy of it: the pair as it was is asked.
    One that `needs_text` asks the judge to write something before its verdict: a decision model writes none.
    """

    name: str
    bias: str
    expects: Expects
    rewrite: Rewrite
    source: str = ""
    tasks: tuple[Family, ...] = FAMILIES
    dose: float | None = None
    summary: str = ""
    variants: tuple[Edit, ...] = ()
    rules: Rules | None = None
    attack: bool = False
    own: Own = BY_NAME
    languages: tuple[str, ...] | None = None
    in_place: bool = False
    needs_text: bool = False
    lacking: Kind = Kind.APPLIES_NOT
    """Why it does not apply where it returns None."""

    def __call__(self, case: Treated, rng: Random) -> Treated | None:
        """Return the edited case, by the case's own text if it has a usable one; None where the edit does not apply."""
        text = self.own_text(case)
        if text is not None:
            return self._put(self._aimed(case) or case, text.text)
        return None if self.own.only and not self.variants else self.rewrite(case, rng)

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of the texts in `Case.variants` that it shows; a rotation leaves that to its variants."""
        return () if self.variants else self.own.names or (self.label,)

    def held(self, case: Treated) -> tuple[Held, ...]:
        """Return the texts that a case holds for this edit, each with why it cannot be shown, if so."""
        if not case.variants:
            return ()
        if self.variants:
            found = {(one.name, one.answer): one for v in self.variants for one in v.held(case)}
            usable = {(one.name, one.answer): one for v in self.variants for one in v.held(case) if one.usable}
            return tuple((found | usable).values())
        aimed = self._aimed(case) or case.treat(None)
        return held_for(aimed, self.takes, self._put, keeps_truth=self.expects is not Expects.WORSE)

    def own_text(self, case: Treated) -> Held | None:
        """Return the text of the case that this edit shows; of several that are usable, one that the case decides."""
        usable = [one for one in self.held(case) if one.usable]
        if not usable or self.variants:
            return None
        return usable[int(digest("own", self.label, case.id), 16) % len(usable)]

    def base(self, case: Treated) -> Treated:
        """Return what the case is compared with after this edit: itself, or what the edit says of its own text."""
        text = self.own_text(case) if self.own.base is not None else None
        return case if text is None or self.own.base is None else self.own.base(case, text.text)

    def within(self, cases: Sequence[Case]) -> Edit:
        """Return a rotation without the variants that only show texts of which these cases hold none."""
        names = {name for case in cases for name in case.variants} if any(v.own.only for v in self.variants) else set()
        kept = tuple(v for v in self.variants if not v.own.only or names.intersection(v.takes))
        return self if len(kept) in (0, len(self.variants)) else _rotation(self, kept)

    def _aimed(self, case: Treated) -> Treated | None:
        return case if self.own.aim is None else self.own.aim(case)

    def _put(self, case: Treated, text: str) -> Treated | None:
        if self.own.put is not None:
            return self.own.put(case, text)
        if self.expects is Expects.WORSE:
            return case.damage(case.target, lambda _: text)
        return case.edit(case.target, lambda _: text)

    def unfit(self, case: Treated) -> Reason:
        """Return why it does not apply to a case."""
        if self.lacking is not Kind.NOT_DRAWN:
            return because(self.lacking)
        from calm.core.drawing import undrawn

        return because(Kind.NOT_DRAWN, undrawn(case.images or case[case.target].images))

    def __repr__(self) -> str:
        return _shown(self)

    def choices(self, case: Treated, seed: int) -> tuple[Edit, ...]:
        """Return the edits to try on a case, the one drawn for it first; more than one only for a rotation."""
        if not self.variants:
            return (self,)
        holds = {v.label for v in self.variants if case.variants and v.own_text(case) is not None}
        drawn = _turned(tuple(v for v in self.variants if v.label in holds or not v.own.only), self, case, seed)
        return tuple(sorted(drawn, key=lambda v: v.label not in holds))  # the case's own texts first

    def apply(self, case: Treated, seed: int) -> Treated | None:
        """Return the case after this one edit, with randomness drawn from seed, edit and case alone."""
        edited = self(case, _drawn(self, case, seed))
        _refuse_other(f"perturbation {self.label}", edited, Treated, "case.edit(case.target, change)")
        if edited is not None and edited.equals(case):
            raise EditError(
                f"perturbation {self.label} returned case {case.id} unchanged; return None where it does not apply"
            )
        return edited


@dataclass(frozen=True)
class PromptEdit(_Labelled):
    """
    A perturbation of the judge's own prompt: what an `Edit` is to a case, this is to the templates of a judge.

    Call it as `edit(prompt, rng)`; None means that it does not apply to the prompt. A `bundled` one knows the wording
    of our own prompts, and applies to no other.
    """

    name: str
    bias: str
    expects: Expects
    rewrite: Reword
    source: str = ""
    tasks: tuple[Family, ...] = FAMILIES
    dose: float | None = None
    summary: str = ""
    bundled: bool = False
    variants: tuple[PromptEdit, ...] = ()

    def __call__(self, prompt: Prompt, rng: Random) -> Prompt | None:
        """Return the edited prompt, or None where the edit does not apply."""
        foreign = self.bundled and not self.variants and not prompt.bundled
        return None if foreign else self.rewrite(prompt, rng)

    def __repr__(self) -> str:
        return _shown(self)

    def choices(self, case: Treated, seed: int) -> tuple[PromptEdit, ...]:
        """Return the edits to try for a case, the one drawn for it first; more than one only for a rotation."""
        return _turned(self.variants, self, case, seed) or (self,)

    def apply(self, prompt: Prompt, case: Case, seed: int) -> Prompt | None:
        """Return the prompt that a case is judged by, with randomness drawn from seed, edit and case alone."""
        edited = self(prompt, _drawn(self, case, seed))
        _refuse_other(f"prompt edit {self.label}", edited, Prompt, "prompt.each(change)")
        if edited == prompt:
            raise EditError(
                f"prompt edit {self.label} returned the prompt unchanged; return None where it does not apply"
            )
        return edited


AnyEdit: TypeAlias = Edit | PromptEdit
E = TypeVar("E", Edit, PromptEdit)
T = TypeVar("T")


def _shown(edit: AnyEdit) -> str:
    if not edit.variants:
        return edit.label
    named = f", name={edit.name!r}" if edit.name else ""
    return f"rotate({', '.join(v.label for v in edit.variants)}{named})"


def _turned(variants: tuple[E, ...], edit: AnyEdit, case: Treated, seed: int) -> tuple[E, ...]:
    if not variants:
        return ()
    start = int(digest("rotate", seed, edit.bias, edit.name, case.id), 16) % len(variants)
    return variants[start:] + variants[:start]


def _refuse_other(whose: str, edited: object, kind: type, how: str) -> None:
    """Refuse what is neither None nor of the kind that an edit returns."""
    if edited is not None and not isinstance(edited, kind):
        wanted = f"a {'prompt' if kind is Prompt else 'treated case'} or None"
        raise EditError(
            f"{whose}: expected {wanted}, got {type(edited).__name__}; return a changed copy, as {how} does"
        )


def _drawn(edit: AnyEdit, case: Case, seed: int) -> Random:
    return Random(digest("edit", seed, edit.bias, edit.label, case.id))


def perturbation(
    *,
    bias: str,
    expects: Expects,
    source: str = "",
    tasks: Sequence[Family] = FAMILIES,
    dose: float | None = None,
    rules: Rules | None = None,
    attack: bool = False,
    own: Own = BY_NAME,
    languages: Sequence[str] | None = None,
    in_place: bool = False,
    needs_text: bool = False,
    lacking: Kind = Kind.APPLIES_NOT,
) -> Callable[[Rewrite], Edit]:
    """
    Turn a function `(case, rng) -> case or None` into a perturbation named like the function.

    Args:
        bias: the name of its bias, in kebab case, as results show it.
        expects: what a sound judge does with the treated answer.
        source: a paper (as `arXiv:...`) or a project that the idea comes from.
        tasks: the kinds of verdict it serves: "pairwise", "score", "rubric", "listwise", "label".
        dose: its strength, where it is one of several; part of its key in results.
        rules: what it may change of an answer's text, where that is not what its expectation allows.
        attack: whether it speaks to the judge, as an injection does: a row of `calm mitigate --grid`.
        own: which texts of a case it shows before what it would make (`Case.variants`), where not those of its name.
        languages: the codes of the languages in which it works, such as ("en",) for one that looks for English words;
            on a case in another language it is NOT_TESTED. None: calm looks at what it adds. An edit that adds English
            words to a text in another language is NOT_TESTED there, unless it is an attack.
        in_place: whether it expects WORSE and harms the better of two answers by what both rest on (`unfounded`).
        needs_text: whether it asks the judge to write before its verdict; it is NOT_TESTED on a judge that writes none.
        lacking: why it does not apply where it returns None.

    Raises:
        ConfigError: a task or a language that is not known, or a bias that is not in kebab case.
    """
    if unknown := [one for one in languages or () if one not in NAMES]:
        raise ConfigError(
            f"perturbation of {bias}: unknown language {unknown[0]!r}{nearest(unknown[0], NAMES)}; give codes: ('de',)"
        )
    _refuse(f"perturbation of {bias}", "perturbation", bias, tasks)

    def make(rewrite: Rewrite) -> Edit:
        summary = _summary(rewrite)
        made = rewrite.__name__, bias, expects, rewrite, source, tuple(tasks), dose, summary
        spoken = None if languages is None else tuple(languages)
        return Edit(
            *made,
            rules=rules,
            attack=attack,
            own=own,
            languages=spoken,
            in_place=in_place,
            needs_text=needs_text,
            lacking=lacking,
        )

    return make


def prompt_edit(
    *,
    bias: str,
    expects: Expects,
    source: str = "",
    tasks: Sequence[Family] = FAMILIES,
    dose: float | None = None,
    bundled: bool = False,
) -> Callable[[Reword], PromptEdit]:
    """
    Turn a function `(prompt, rng) -> prompt or None` into a perturbation of the judge's prompt, named like it.

    Args:
        bias: the name of its bias, in kebab case, as results show it.
        expects: what a sound judge does: SAME, NOT_BETTER or OBSERVE, as it harms no answer.
        source: a paper (as `arXiv:...`) or a project that the idea comes from.
        tasks: the kinds of verdict it serves.
        dose: its strength, where it is one of several; part of its key in results.
        bundled: whether it knows the wording of the bundled prompts, and applies to no other.

    Raises:
        ConfigError: a task that is not known, a bias that is not in kebab case, or an expectation that it cannot have.
    """
    _refuse(f"prompt edit of {bias}", "prompt edit", bias, tasks)
    if expects in (Expects.WORSE, Expects.TIE):
        raise ConfigError(f"prompt edit of {bias}: expected SAME, NOT_BETTER or OBSERVE, got expects={expects}")

    def make(rewrite: Reword) -> PromptEdit:
        summary = _summary(rewrite)
        return PromptEdit(rewrite.__name__, bias, expects, rewrite, source, tuple(tasks), dose, summary, bundled)

    return make


def _refuse(whose: str, kind: str, bias: str, tasks: Sequence[Family]) -> None:
    unknown = [t for t in tasks if t not in FAMILIES]
    if unknown:
        raise ConfigError(f"{whose}: unknown task {unknown[0]!r}{nearest(unknown[0], FAMILIES)}")
    if not bias or not all(part.isalnum() and part == part.lower() for part in bias.split("-")):
        raise ConfigError(f"{kind}: expected a bias in kebab case such as 'self-authorship', got {bias!r}")


def _summary(rewrite: Callable[..., object]) -> str:
    return (rewrite.__doc__ or "").strip().partition("\n")[0]


def rotate(*edits: E, name: str = "") -> E:
    """
    Return an edit that gives each case one of several variants, drawn from the seed and the case.

    Where the variant drawn does not apply, or the judge cannot see it, the next one is tried. A bias thus costs one arm
    of calls, however many variants it has. A `name` distinguishes two rotations of one bias in results.

    Raises:
        ConfigError: no variants, variants that differ in bias, expectation or tasks, two of one name, or edits of cases
            among those of prompts.
    """
    if not edits:
        raise ConfigError("rotate() expects at least one perturbation")
    one = edits[0]
    if any(type(e) is not type(one) for e in edits):
        raise ConfigError("rotate(): edits of the case and edits of the prompt cannot take turns; probe each by itself")
    for what in ("bias", "expects", "tasks", "copies"):
        values = {str(getattr(e, what)) for e in edits}
        if len(values) > 1:
            raise ConfigError(f"rotate(): the variants differ in {what}: {', '.join(sorted(values))}")
    variants = tuple(v for e in edits for v in (e.variants or (e,)))
    called: dict[str, E] = {}
    for variant in variants:
        if called.setdefault(variant.label, variant) is not variant:
            raise ConfigError(
                f"rotate(): two variants are called {variant.label!r}, and results could not tell them apart; "
                "rename one, by dataclasses.replace(edit, name=...)"
            )
    return _rotation(replace(one, name=name, dose=None), variants)


def _rotation(one: E, variants: tuple[E, ...]) -> E:
    summary = f"One of: {', '.join(v.label for v in variants)}."
    return replace(one, rewrite=_first_of(variants), summary=summary, variants=variants)


def _first_of(variants: Sequence[Callable[[T, Random], T | None]]) -> Callable[[T, Random], T | None]:
    def first_that_applies(whole: T, rng: Random) -> T | None:
        start = rng.randrange(len(variants))
        tried = (variant(whole, rng) for variant in (*variants[start:], *variants[:start]))
        return next((edited for edited in tried if edited is not None), None)

    return first_that_applies


FEW, MOST_VALUES = 3, 21
"""A scale with so many values is listed: two have no order but two, and more would drown the task."""

_NUMBER = r"(?:(?:score|rating|grade)[ \t]+)?\[?(?P<value>-?\d+(?:\.\d+)?)\]?[ \t]*[:.)=\u2013-](?!\d)"
_VALUE = re.compile(rf"^[ \t]*(?P<item>(?:[-*][ \t]+)?{_NUMBER})", re.I)
_HEADED = re.compile(rf"^[^\n]*?:[ \t]+(?P<item>{_NUMBER})", re.I)
"""A line that begins with a value; a header with the first value behind it."""

_OF_SCORES = re.compile(r"\b(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|scales?|grad(?:e|es|ed|ing)|marks?)\b", re.I)
_FROM = re.compile(r"from\b|between\b", re.I)
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")

LIST, SCORED, BOUNDED, BARE = range(4)
"""How surely a place shows the scale: a whole list, a range in a sentence of scores, "from 1 to 5", a mere "1-5"."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place of a text that may show the scale: how surely it does, and its parts (start, end) in the text."""

    sure: int
    parts: tuple[tuple[int, int], ...]


def ordered(values: Sequence[T], turn: int) -> list[T]:
    """
    Return values in the order of a turn: 0 is their own, 1 the reverse, and each other one is drawn.

    >>> ordered([1, 2, 3], 1)
    [3, 2, 1]
    """
    if turn < 2:
        return list(values) if turn == 0 else list(reversed(values))
    rng = Random(digest("score-options", turn))
    return rng.sample(list(values), k=len(values))


def permuted(prompt: Prompt, turn: int, scale: Scale) -> Prompt:
    """Return a prompt that shows its scale in the order of a turn; the same one where it shows none."""
    if turn == 0:
        return prompt
    asked = prompt.scale or scale
    step = asked.step or (1.0 if prompt.form == "logprobs" else None)
    return prompt.each(lambda messages: _scale_turned(messages, turn, asked, step))


def _scale_turned(messages: Sequence[Message], turn: int, scale: Scale, step: float | None) -> tuple[Message, ...]:
    """Return messages with one place turned: the surest, and the first of equally sure ones that stand for scores."""
    found = [(n, place) for n, m in enumerate(messages) for place in _places(m.text, scale, step)]
    surest = [(n, place) for n, place in found if place.sure == min(other.sure for _, other in found)]
    if not surest or (len(surest) > 1 and surest[0][1].sure in (LIST, BARE)):
        return tuple(messages)
    at, place = surest[0]
    text = _replaced(messages[at].text, place, turn, scale, step)
    return tuple(Message(m.role, text) if n == at else m for n, m in enumerate(messages))


def _places(text: str, scale: Scale, step: float | None) -> list[_Place]:
    ranges = [_Place(_sure(text, found), (found.span(),)) for found in _range(scale).finditer(text)]
    return _lists(text, scale, step) + ranges


def _sure(text: str, found: re.Match[str]) -> int:
    """Return how surely a range is that of the scale, by the sentence that it stands in."""
    start = max((end.end() for end in _SENTENCE_ENDS.finditer(text, 0, found.start())), default=0)
    end = _SENTENCE_ENDS.search(text, found.end())
    if _OF_SCORES.search(text[start : end.start() if end else len(text)]):
        return SCORED
    return BOUNDED if _FROM.match(found["before"]) else BARE


def _replaced(text: str, place: _Place, turn: int, scale: Scale, step: float | None) -> str:
    if place.sure == LIST:
        new = ordered([text[start:end] for start, end in place.parts], turn)
    else:
        found = _range(scale).match(text, place.parts[0][0])
        new = [_instead(found, turn, scale, step)] if found else []
    for (start, end), part in reversed(list(zip(place.parts, new, strict=True))):
        text = text[:start] + part + text[end:]
    return text


def _lists(text: str, scale: Scale, step: float | None) -> list[_Place]:
    """Return the lists that hold the whole scale; those with blank lines between values only if there is no other."""
    for apart in (False, True):
        found = []
        for run in _runs(text, apart=apart):
            # the first line may be a sentence that merely looks like a header with a value
            whole = next((items for items in (run, run[1:]) if _whole([value for value, _ in items], scale, step)), [])
            if whole:
                found.append(_Place(LIST, tuple(span for _, span in whole)))
        if found:
            return found
    return []


def _runs(text: str, *, apart: bool) -> list[list[tuple[float, tuple[int, int]]]]:
    """Return each run of lines with a value, as values and their spans; an indented line goes with that before it."""
    runs: list[list[tuple[float, tuple[int, int]]]] = [[]]
    at = 0
    for line in text.split("\n"):
        item = _VALUE.match(line)
        headed = None if item else _HEADED.match(line)
        run = runs[-1]
        if item:
            run.append((float(item["value"]), (at + item.start("item"), at + len(line))))
        elif run and line[:1] in (" ", "\t") and line.strip():
            value, (start, _) = run[-1]
            run[-1] = (value, (start, at + len(line)))
        elif headed:
            runs.append([(float(headed["value"]), (at + headed.start("item"), at + len(line)))])
        elif line.strip() or not apart:
            runs.append([])
        at += len(line) + 1
    return [run for run in runs if run]


def _whole(values: Sequence[float], scale: Scale, step: float | None) -> bool:
    """Return whether values are each step of a scale once; without steps, each whole number."""
    size = step or 1.0
    count = round((scale.high - scale.low) / size) + 1
    if not FEW <= len(values) == count:
        return False
    return all(abs(value - scale.low - size * n) < 1e-6 for n, value in enumerate(sorted(values)))


def _range(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of the range of a scale, in words of a template or in numbers."""
    low, high = (
        rf"(?:\{{\{{[-+]?\s*scale\.{end}\s*[-+]?\}}\}}|(?<![\d.]){re.escape(f'{value:g}')}(?![\d]|\.\d))"
        for end, value in (("low", scale.low), ("high", scale.high))
    )
    before = r"(?P<before>(?:\b(?:from|between|of)\s+)?)"
    return re.compile(rf"{before}(?P<low>{low})\s*(?:to|and|-|\u2013)\s*(?P<high>{high})")


def _instead(found: re.Match[str], turn: int, scale: Scale, step: float | None) -> str:
    if step is None:
        return f"{found['before']}{found['high']} to {found['low']}" if turn == 1 else found[0]
    count = round((scale.high - scale.low) / step) + 1
    values = ordered([f"{scale.low + step * place:g}" for place in range(count)], turn)
    return f"(one of {', '.join(values)})"
