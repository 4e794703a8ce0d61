"""Judgments in logs: who judged what, on which scale, and what people said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Final, Literal, TypeAlias

from calm.cases.foreign.records import Table, written
from calm.cases.logs.values import number, texts_in
from calm.cases.logs.values import written as values_written
from calm.core.case import Turn
from calm.core.files import quote
from calm.core.verdict import Scale
from calm.errors import ConfigError

Who: TypeAlias = Literal["judge", "person"]
State: TypeAlias = Literal["said", "unread", "failed"]
"""A verdict was read; a reply came and no verdict was read in it; or the call of the judge failed."""

ANY: Final = "*"
"""The metric of a person's verdict on an answer as a whole: it is gold for each judge."""
PAIR: Final = 2
"""So many answers has a judgment that says which one is better; all others have one."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """
    One verdict. `value` is the verdict as the tool wrote it: a number, a truth value or a word, and of a pair the
    place of the better answer (0 or 1); None unless `state` is "said".

    `context` holds the retrieved texts in their order. `prompt` and `reply` are as they went over the wire, empty where
    the tool keeps none. `passed` and `threshold` are what the tool made of a score. `tools` says that the application
    used tools on the way to its answer, of which neither question nor answer say a word. `row` is the record as it
    stands in the log, for what a user maps. A `person` without a name is "".
    """

    metric: str
    place: str
    question: str
    answers: tuple[str, ...]
    value: object
    state: State = "said"
    item: str = ""
    reference: str | None = None
    context: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    authors: tuple[str, ...] = ()
    who: Who = "judge"
    person: str = ""
    reason: str = ""
    prompt: tuple[Turn, ...] = ()
    reply: str = ""
    model: str = ""
    passed: bool | None = None
    threshold: float | None = None
    limits: tuple[float, float] | None = None
    tools: bool = False
    row: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Log:
    """The judgments of some files of one tool, and how much of what they hold is no judgment, by reason."""

    kind: str
    names: tuple[str, ...]
    judgments: list[Judgment] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def leave(self, why: str) -> None:
        """Count a record of which nothing is taken."""
        self.left[why] += 1


WORDS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("c", "yes", "y", "true", "pass", "passed", "correct", "met", "grounded", "relevant"), 1.0),
    "p": 0.5,
    "partial": 0.5,
    "partially correct": 0.5,
    **dict.fromkeys(("i", "no", "n", "false", "fail", "failed", "incorrect", "unmet", "ungrounded", "irrelevant"), 0.0),
}
"""What words of a verdict mean between 0 and 1, in lower case: those of Inspect, and the plain ones."""
NO_ANSWER: Final = "n"
"""Of Inspect's letters the one for no answer, which its own metrics count as 0."""
_USUAL: Final = ((0.0, 1.0), (1.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
"""The scales that are tried on numbers, in this order."""
_STEPS: Final = (1.0, 0.5, 0.1)
"""The steps that are tried on numbers, in this order."""
_FEWEST: Final = 3
"""Fewer different scores show no step."""
_INSPECT: Final = ("c", "p", "i")
"""Letters of Inspect that other tools use as grades."""
_MOST_WORDS: Final = 8
"""So many words of a verdict a message names."""


@dataclass(frozen=True, slots=True)
class Words:
    """
    What words of verdicts mean: those that a user `explained` (a number on the scale; None: no verdict), and `WORDS`.

    An explained word is meant as it is written; in another case, too, unless the judge `said` two words that differ by
    case alone. The letters of Inspect are known where the judge said no other letter.

    >>> Words({"M": 1.0, "m": 0.0}, ("m", "M")).value("M"), Words({}, ("A", "C")).value("C")
    (1.0, None)
    """

    explained: Mapping[str, float | None]
    said: Collection[str]

    def key(self, value: object) -> str | None:
        """Return the explained word that a value is; None for any other."""
        word = written(value).strip()
        if word in self.explained:
            return word
        near = [one for one in self.explained if one.lower() == word.lower()]
        if len(near) != 1 or sum(one.lower() == word.lower() for one in self.said) > 1:
            return None
        return near[0]

    def nothing(self, value: object) -> bool:
        """Return whether a value is a word that is no verdict."""
        key = self.key(value)
        return key is not None and self.explained[key] is None

    def share(self, value: object) -> float | None:
        """Return the share from 0 to 1 that a plain word means; None for any other value."""
        word = written(value).strip().lower()
        if not isinstance(value, str | bool) or word not in WORDS or self.key(value) is not None:
            return None
        letters = {one.lower() for one in self.said if len(one) == 1 and one.isalpha() and not self.nothing(one)}
        return None if word in _INSPECT and letters - WORDS.keys() else WORDS[word]

    def value(self, value: object) -> float | None:
        """Return the number that a value is, spells, or means as a user explained it; None for any other."""
        key = self.key(value)
        if key is not None:
            return self.explained[key]
        if not isinstance(value, str):
            return number(value)
        try:
            return number(float(value))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Scaled:
    """The values of verdicts on a scale, in their order (None: no verdict), and notes about the scale."""

    scale: Scale
    values: tuple[float | None, ...]
    notes: tuple[str, ...]
    words: Words

    def on(self, value: object) -> float | None:
        """Return the place of a person's verdict on the scale; None for one that has no place on it."""
        held = _placed(value, self.words, self.scale)
        return held if held is not None and self.scale.holds(held) else None


def scaled(judgments: Sequence[Judgment], words: Mapping[str, float | None], scale: Scale | None) -> Scaled:
    """
    Return the values of verdicts, on a given scale or on the one that they show.

    Args:
        judgments: those of one judge, each of one answer.
        words: what a word means, beyond `WORDS`, as a user said: a number on the scale; None: it is no verdict.
        scale: the scale, if a user said which.

    Raises:
        ConfigError: a word without a known value, or a number beyond the scale.
    """
    every = [one.value for one in judgments if one.state == "said"]
    own = Words(words, {written(value).strip() for value in every})
    said = [value for value in every if not own.nothing(value)]
    unknown = Counter(str(value) for value in said if _placed(value, own, Scale(0.0, 1.0)) is None)
    if unknown:
        names = ", ".join(sorted(unknown)[:_MOST_WORDS])
        first = quote(next(iter(sorted(unknown))))
        option = f"--value{'=' if first.startswith('-') else ' '}{first}"
        raise ConfigError(
            f"expected verdicts that are numbers, truth values or words such as yes, pass or C, got {names}; say what "
            f"each means, as in {option}=1, or {option}=none if it is no verdict"
        )
    none = Counter(str(value) for value in every if own.nothing(value))
    named = ", ".join(f"{word!r} ({count})" for word, count in none.most_common(_MOST_WORDS))
    notes = [f"no verdict, so it counts as unreadable: {named}"] if none else []
    if scale is None:
        scale = _shown(judgments, said, own, notes)
    if _low_is_good(judgments):
        scale = replace(scale, best="low")
        notes.append("a low score is the good one, as the log passes scores at or below its threshold")
    values = tuple(_placed(one.value, own, scale) if one.state == "said" else None for one in judgments)
    beyond = sorted({value for value in values if value is not None and not scale.holds(value)})
    if beyond:
        steps = "" if scale.step is None else f" in steps of {scale.step:g}"
        raise ConfigError(
            f"expected scores from {scale.low:g} to {scale.high:g}{steps}, got {beyond[0]:g}; correct it, or "
            "say the scale with --scale LOW..HIGH or LOW..HIGH/STEP"
        )
    if any(isinstance(value, str) and value.strip().lower() == NO_ANSWER for value in said if value == "N"):
        notes.append("N (no answer) counts as I (incorrect), as it does for Inspect")
    return Scaled(scale, values, tuple(notes), own)


def _placed(value: object, own: Words, scale: Scale) -> float | None:
    """
    Return the value of a verdict on a scale; None for an unknown word.

    A number, and a word that the user explained, are on the scale as they are. A known word is a share of the way from
    its low end to its high one.
    """
    share = own.share(value)
    return own.value(value) if share is None else stretched(share, scale)


def stretched(share: float, scale: Scale) -> float:
    """Return what lies a share of the way (0 to 1) from the low end of a scale to its high one."""
    return scale.low + share * (scale.high - scale.low)


def _shown(judgments: Sequence[Judgment], said: Sequence[object], own: Words, notes: list[str]) -> Scale:
    """Return the scale that verdicts show: that of words, the tool's own, or the first usual one that holds numbers."""
    found = [plain for one in said if own.share(one) is None and (plain := own.value(one)) is not None]
    if all(own.key(one) is not None or own.share(one) is not None for one in said):
        wide = Scale(min([0.0, *found]), max([1.0, *found]))
        found = [held for one in said if (held := _placed(one, own, wide)) is not None]
        half = 0.5 if any((value - wide.low) % 1 for value in found) else 1.0
        step = half if all((value - wide.low) % half == 0 for value in (*found, wide.high)) else None
        steps = "" if step is None else f" in steps of {step:g}"
        notes.append(f"the words of its verdicts are read on a scale from {wide.low:g} to {wide.high:g}{steps}")
        return Scale(wide.low, wide.high, step)
    limits = {one.limits for one in judgments if one.limits}
    usual = [*limits, *_USUAL] if len(limits) == 1 else [*_USUAL]
    fitting = next(((low, high) for low, high in usual if all(low <= value <= high for value in found)), None)
    if fitting is None:
        raise ConfigError(
            f"expected scores on a usual scale, such as 0 to 1 or 1 to 10, got scores from {min(found):g} to "
            f"{max(found):g}; say the scale with --scale LOW..HIGH"
        )
    low, high = fitting
    stood = [held for one in said if (held := _placed(one, own, Scale(low, high))) is not None]
    step = _step(stood, low)
    if fitting not in limits or step is not None:
        steps = "" if step is None else f" in steps of {step:g}"
        notes.append(f"its scores fit a scale from {low:g} to {high:g}{steps}; say --scale if it is another one")
    return Scale(low, high, step)


def usual_scale(scores: Sequence[float]) -> Scale:
    """
    Return the first usual scale that holds some scores, in the steps that they show.

    >>> found = usual_scale([0, 1, 0.5])
    >>> found.low, found.high, found.step
    (0.0, 1.0, 0.5)

    Raises:
        ConfigError: none holds them.
    """
    fitting = next((one for one in _USUAL if all(one[0] <= score <= one[1] for score in scores)), None)
    if fitting is None:
        raise ConfigError(
            f"expected scores on a usual scale, such as 0 to 1 or 1 to 10, got scores from {min(scores):g} to "
            f"{max(scores):g}; rescale them, or give a prompt with their scale (--prompt FILE)"
        )
    return Scale(*fitting, _step(scores, fitting[0]))


def _step(scores: Sequence[float], low: float) -> float | None:
    """Return the largest usual step that fits all scores; None for none, and where they are too few to show one."""
    if len(set(scores)) < _FEWEST:
        return None
    return next((step for step in _STEPS if all(Scale(low, max(scores), step).holds(one) for one in scores)), None)


def _low_is_good(judgments: Sequence[Judgment]) -> bool:
    """Return whether the tool passed scores at or below a threshold, and never the other way round."""
    held = [
        (score, one.threshold, one.passed)
        for one in judgments
        if one.passed is not None and one.threshold is not None and (score := number(one.value)) is not None
    ]
    low = all((score <= limit) == passed for score, limit, passed in held)
    high = all((score >= limit) == passed for score, limit, passed in held)
    return bool(held) and low and not high


_TEXTS: Final = ("question", "answer", "reference", "id")


def judged(table: Table, columns: Mapping[str, str]) -> Log:
    """
    Return the verdicts of a judge and of people in a table.

    `columns` holds by field the column of the `question`, the `answer` and the judge's `verdict`, and maybe of what
    people said (`score`), of the `reference`, the `context`, the `id`, and of fields of a user's own (`field.NAME`).
    A record without a verdict gives no judgment; one without a word of people has no label.
    """
    log = Log("a table", (table.name,))
    for record, row in enumerate(table.rows, 1):
        held = {key: values_written(row.get(columns[key])) if key in columns else "" for key in _TEXTS}
        about = Judgment(
            metric=Path(table.name).stem,
            place=f"record {record}",
            question=held["question"],
            answers=(held["answer"],),
            value=row.get(columns["verdict"]),
            item=held["id"],
            reference=held["reference"] or None,
            context=texts_in(row.get(columns["context"])) if "context" in columns else (),
            fields={
                key.removeprefix("field."): values_written(row.get(column))
                for key, column in columns.items()
                if key.startswith("field.")
            },
            row=row,
        )
        if about.value in (None, ""):
            log.leave("a record without a verdict")
            continue
        log.judgments.append(about)
        gold = row.get(columns["score"]) if "score" in columns else None
        if gold not in (None, ""):
            log.judgments.append(replace(about, metric=ANY, who="person", value=gold))
    return log


Seen: TypeAlias = tuple[str, tuple[str, ...]]
"""A question and its answers: what a person and a judge must both have seen."""
Labels: TypeAlias = dict[str, float | str]
"""What people said of a case, by their names."""


def seen(one: Judgment) -> Seen:
    """Return what a judgment is about."""
    return one.question, one.answers


def labels_of(
    people: Sequence[Judgment], judged: Collection[Seen], place: Callable[[Judgment], float | str | None]
) -> tuple[dict[Seen, Labels], list[str]]:
    """
    Return the labels of people by what they are about, and notes on those that are left out.

    People without a name are numbered in each case: annotator-1, annotator-2.

    Args:
        people: their judgments.
        judged: what the judge judged.
        place: the place of a judgment on the judge's scale; None: it has none.
    """
    found: dict[Seen, Labels] = {}
    lost = unjudged = again = 0
    for one in sorted(people, key=lambda one: not one.person):  # names first, so that no number takes one
        value = place(one)
        if value is None:
            lost += 1
        elif seen(one) not in judged:
            unjudged += 1
        else:
            labels = found.setdefault(seen(one), {})
            name = one.person or next(name for n in count(1) if (name := f"annotator-{n}") not in labels)
            again += name in labels
            labels[name] = value
    left = (
        (lost, "have no place on the scale of the judge"),
        (unjudged, "are left out: the judge said nothing of the same answer"),
        (again, "are left out: the same person gave another one later"),
    )
    return found, [f"{number} verdicts of people {why}" for number, why in left if number]
