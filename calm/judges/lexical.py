"""
The built-in judge: it has no model, and measures overlap with the reference, or with the question if there is none.

Its specification is `lexical` or `lexical:task=score`. Overlap is chrF++ (Popović 2017): the F-score of
character n-grams up to 6 and word n-grams up to 2, in which recall counts twice. It is a weak judge, but a real one: it
rewards the words of the reference, and knows nothing of meaning. The better answer has more overlap, and a score is the
overlap on the scale; so is a class, one of those of the bundled cases. A criterion is met if the answer holds at least
two thirds of its words (of those in quotation marks, if there are any). If the criterion says "not" or a similar word,
it is met if the answer does not hold them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from string import punctuation
from typing import ClassVar, Final, cast

from calm.core.case import Answer, Case
from calm.core.classes import SHIPPED
from calm.core.verdict import FAMILY, Criteria, Label, Preferred, Ranking, Scale, Score, Task, Tie, Unreadable, Verdict
from calm.errors import ConfigError, nearest
from calm.models.wire import Endpoint, Json, Remarks, Send, Traits

EQUAL = 1e-9
"""Overlaps that differ by this or less are a tie."""
LEAST_SHARE = Fraction(2, 3)
"""The least share of a criterion's words that an answer which meets it holds."""
CHARACTERS: Final = 6
"""Character n-grams have up to this length."""
WORDS: Final = 2
"""Word n-grams have up to this length; with 0 it would be plain chrF."""

_WORD = re.compile(r"\w+(?:[.,:'’]\w+)*")
_NEGATED = re.compile(r"\b(?:no|not|never|without|avoids?)\b|n['’]t\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“](.+?)[\"”]")
STOP_WORDS = frozenset(
    _WORD.findall(
        "a about all also an and answer any are as at be by can do does for from has have if in is it its must of on "
        "or response should than that the their them then there they this to was were what when which who will with"
    )
)
"""Words that do not say what a criterion asks for."""


@dataclass(frozen=True, slots=True)
class LexicalJudge:
    """A judge that measures n-gram overlap: deterministic, offline, and blind to the order of the answers."""

    task: Task = "pairwise"
    name: str = "lexical"
    traits: ClassVar[Traits] = Traits(quick=True)
    remarks: ClassVar[Remarks] = Remarks()
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()

    @property
    def scale(self) -> Scale:
        """The range of its scores, which are continuous."""
        if self.task == "label":
            return Scale(classes=SHIPPED)
        return Scale(0.0, 1.0) if self.task == "points" else Scale()

    @property
    def fingerprint(self) -> str:
        """What decides its verdicts: the measure, its version, and the task."""
        return f"lexical-1:{self.task}"

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        return {"model": None, "parameters": {"overlap": "chrF++", "task": self.task}}

    def sees(self, case: Case) -> object:
        """Return what of a case can reach its verdict; the question only if there is no reference."""
        texts = tuple((a.id, a.text) for a in case.shown)
        if self._by_criteria:
            return tuple((c.id, c.text, c.points) for c in case.criteria), texts
        return _measured_by(case), texts

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict; `send` is not used."""
        shown = case.shown
        if self.task == "points":
            return _points(case, shown[0])
        if self._by_criteria:
            return Criteria({c.id: covered(c.text, shown[0].text) for c in case.criteria})
        overlaps = {a.id: overlap(_measured_by(case), a.text) for a in shown}
        if self.task == "score":
            scale = self.scale
            return Score(scale.low + overlaps[shown[0].id] * (scale.high - scale.low))
        if self.task == "label":
            place = int(overlaps[shown[0].id] * len(SHIPPED.names))
            return Label(SHIPPED.names[min(place, len(SHIPPED.names) - 1)])
        groups = _ranked(overlaps)
        if self.task == "listwise":
            return Ranking(groups)
        return Tie() if len(groups[0]) > 1 else Preferred(groups[0][0])

    @property
    def _by_criteria(self) -> bool:
        return self.task == "points" or FAMILY[self.task] == "rubric"


@lru_cache(maxsize=1 << 15)
def overlap(reference: str, text: str) -> float:
    """
    Return the chrF++ of a text against a reference, in [0, 1].

    >>> overlap("The sky is blue.", "The sky is blue.")
    1.0
    >>> overlap("The sky is blue.", "The sky is green.") > overlap("The sky is blue.", "No idea.")
    True
    """
    precision = recall = 0.0
    orders = 0
    for ours, theirs in zip(_ngrams(text), _ngrams(reference), strict=True):
        if ours and theirs:
            both = sum(min(count, theirs[one]) for one, count in ours.items() if one in theirs)
            precision += both / ours.total()
            recall += both / theirs.total()
            orders += 1
    if not precision:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return 5 * precision * recall / (4 * precision + recall)


def covered(criterion: str, text: str) -> bool:
    """
    Return whether a text holds enough of a criterion's words; if the criterion forbids them, whether it does not.

    >>> covered('The answer names the "red lamp".', "A lamp, red and old.")
    True
    >>> covered('The answer does not say "red".', "A lamp, red and old.")
    False
    >>> covered("The answer explains photosynthesis.", "Plants grow in the sun.")
    False
    """
    rest = _QUOTED.sub(" ", criterion)
    wanted = _words(" ".join(_QUOTED.findall(criterion))) or _words(_NEGATED.sub(" ", rest))
    holds = len(wanted & _words(text)) >= LEAST_SHARE * len(wanted)
    return holds != (_NEGATED.search(rest) is not None)


def lexical(spec: str) -> LexicalJudge:
    """
    Return the judge of a specification: `lexical`, or `lexical:task=score`.

    Raises:
        ConfigError: an unknown key or task.
    """
    problems: list[str] = []
    name, _, settings = spec.partition(":")
    if name.strip() != "lexical":
        problems.append(f"expected a specification lexical:task=TASK, got {spec!r}")
    task = "pairwise"
    for part in filter(None, (p.strip() for p in settings.split(","))):
        key, equals, value = (p.strip() for p in part.partition("="))
        if not equals:
            problems.append(f"lexical: expected KEY=VALUE, got {part!r}; write as in task=score")
        elif key != "task":
            problems.append(f"lexical: unknown key {key!r}{nearest(key, ['task'])}")
        elif value not in FAMILY:
            problems.append(f"lexical: expected a task, got task={value!r}{nearest(value, FAMILY)}")
        else:
            task = value
    if problems:
        raise ConfigError(problems)
    return LexicalJudge(cast(Task, task))


def _ngrams(text: str) -> Iterator[Counter[str]]:
    words = text.split()
    signs = "".join(words)
    for n in range(1, CHARACTERS + 1):
        yield Counter([signs[i : i + n] for i in range(len(signs) - n + 1)])
    parts = [part for word in words for part in _parts(word)]
    for n in range(1, WORDS + 1):
        yield Counter([" ".join(parts[i : i + n]) for i in range(len(parts) - n + 1)])


def _parts(word: str) -> tuple[str, ...]:
    if len(word) > 1 and word[-1] in punctuation:
        return word[:-1], word[-1]
    return (word[0], word[1:]) if len(word) > 1 and word[0] in punctuation else (word,)


def _measured_by(case: Case) -> str:
    return case.reference if case.reference and case.reference.strip() else case.question


def _ranked(overlaps: Mapping[str, float]) -> tuple[tuple[str, ...], ...]:
    groups: list[list[str]] = []
    last = 0.0
    for answer in sorted(overlaps, key=lambda a: (-overlaps[a], a)):
        if groups and last - overlaps[answer] <= EQUAL:
            groups[-1].append(answer)
        else:
            groups.append([answer])
        last = overlaps[answer]
    return tuple(tuple(group) for group in groups)


def _points(case: Case, answer: Answer) -> Verdict:
    weights: Sequence[float] = [c.points for c in case.criteria]
    total = sum(abs(w) for w in weights)
    earned = sum(abs(c.points) for c in case.criteria if covered(c.text, answer.text) == (c.points > 0))
    return Score(earned / total) if total else Unreadable("the case has no criteria that give points")


def _words(text: str) -> set[str]:
    return {word for word in (found.lower() for found in _WORD.findall(text)) if word not in STOP_WORDS}
