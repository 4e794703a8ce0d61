"""
Propose how a table is read: which column is which field of a case, and what the words of its gold mean.

What a name says by itself is `known`. All else is a guess from the names, from what the columns hold, and from what a
prompt shows: a person must see it before it is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from calm.cases.foreign.columns import NOTHING, Columns, columns_from, is_field, is_number, leans
from calm.cases.foreign.records import Table, written
from calm.cases.foreign.texts import PREFERRED
from calm.cases.logs.judgments import WORDS, stretched
from calm.core.case import TIE
from calm.core.names import (
    OF_ANSWER,
    OF_QUESTION,
    SIDES,
    Role,
    apart,
    meaning_of,
    parts,
    plain_name,
)
from calm.core.verdict import Scale

VERDICT: Final = "verdict"
"""What the column of a judge's own verdicts is mapped to, beside the fields of a case."""
FIELDS: Final[Mapping[Role, str]] = {
    "question": "question",
    "answer": "answer",
    "first": "answer_a",
    "second": "answer_b",
    "reference": "reference",
    "context": "context",
    "rubric": "field.rubric",
}
"""The field of a case that each thing is which a foreign name stands for."""
_BETTER: Final = ("better", "winner", "preferred", "preference", "chosen", "label", "human_preference", "verdict")
_GOLD: Final = (
    *("gold_label", "human_label", "gold_class", "class", "classification", "label", "category"),
    *("score", "rating", "human_score", "human_rating", "gold_score", "grade"),
)
"""Names of a column that holds what people said of the only answer, the surest first."""
OF_JUDGE: Final = frozenset(("verdict", "judge", "judged", "judgement", "judgment", "predicted", "llm", "auto"))
"""Parts of the name of a column that holds what a judge said."""
_OF_GOLD: Final = frozenset(
    (
        *(
            "gold",
            "human",
            "expert",
            "annotator",
            "rater",
            "label",
            "truth",
            "manual",
            "qa",
            "pick",
            "picked",
            "winner",
        ),
        *("preferred", "preference", "better", "best", "choice", "chosen", "score", "rating", "grade", "stars"),
    )
)
_OF_ID: Final = frozenset(("id", "nr", "no", "number", "uuid", "key"))
_MARK: Final = re.compile(r"(?=\D*\d)\S{1,40}")
_TIES: Final = frozenset(("tie", "tied", "same", "both", "equal", "draw", "neither", "none", "no preference", "="))
_FIRST: Final = {key: place for place, key in enumerate(("id", "question", "answer", "answer_a", "answer_b"))}
_LAST: Final = ("better", "score", "label", VERDICT)
"""Fields that are named first, and last."""
_SHARES: Final[Mapping[str, float]] = {
    **WORDS,
    **dict.fromkeys(("good", "right", "accept", "accepted", "helpful", "safe", "acceptable", "positive"), 1.0),
    **dict.fromkeys(("bad", "wrong", "reject", "rejected", "unhelpful", "unsafe", "unacceptable", "negative"), 0.0),
}
"""Where plain words for a verdict stand between the worst (0) and the best (1)."""
_LOW: Final = re.compile(r"un|in|im|not?\b|non|mis|bad|poor|wrong|low|weak|never|terrible|useless|reject")
_MIDDLE: Final = re.compile(r"part|some|mixed|medium|middle|fair|ok|average|acceptable|unsure|neutral")
_NO_VERDICT: Final = frozenset(
    (
        *("n/a", "na", "not applicable", "unsure", "not sure", "unknown", "unclear", "undecided", "cannot tell"),
        *("can't tell", "cannot determine", "skip", "skipped", "error", "invalid"),
    )
)
"""Words that are most likely no verdict."""
_ASKING: Final = ("context", "field.")
"""Fields that can stand for the question of a prompt that shows none."""
_PROSE: Final = 20
"""A column whose values have so many characters on average holds texts, and no words."""
_STEM: Final = 4
"""So many letters a longer word has in common with its other forms, as violates has with violation."""
_MOST_WORDS: Final = 12
"""A column of more different words holds no gold."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A field with its column, or a word of the gold in `count` records with its meaning: a letter, "tie", a number."""

    key: str
    value: str
    known: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    How a table is read: its columns by field, the words of its gold, and the fields that no column seems to hold.

    What a user has said already is not in it, nor a column that has the name of its field.
    """

    columns: tuple[Guess, ...]
    words: tuple[Guess, ...]
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column, the parts of its name, and its values as texts, without blank ones."""

    name: str
    values: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return parts(self.name)

    @property
    def bare(self) -> str:
        """Its name as it is looked up, without what stands in brackets."""
        return plain_name(re.sub(r"[(\[].*?[)\]]", "", self.name).strip() or self.name)

    @property
    def prose(self) -> bool:
        return bool(self.values) and sum(map(len, self.values)) / len(self.values) >= _PROSE

    @property
    def words(self) -> Counter[str]:
        """Its values and how often each comes, if they are few words or numbers; else nothing."""
        found = Counter(self.values)
        return Counter() if self.prose or len(found) > _MOST_WORDS else found

    @property
    def numeric(self) -> bool:
        return bool(self.values) and all(is_number(value) for value in self.values)

    @property
    def marks(self) -> bool:
        """Whether it holds no question but marks of records, such as T-001: different words that have a digit each."""
        several = len({*self.values}) == len(self.values) > 1
        return several and not self.numeric and all(_MARK.fullmatch(value.strip()) for value in self.values)

    def has(self, words: Iterable[str]) -> bool:
        """Return whether a part of its name is one of some words."""
        return not {*words}.isdisjoint(self.parts)


@dataclass(slots=True)
class _Found:
    """The columns by field as far as they are known, the guesses beyond what a user said, and the columns left."""

    columns: dict[str, _Column]
    left: list[_Column]
    guesses: list[Guess] = field(default_factory=list)

    @property
    def several(self) -> bool:
        return "answer_b" in self.columns

    @property
    def answered(self) -> bool:
        return not {"answer", "answer_a", "answer_b"}.isdisjoint(self.columns)

    @property
    def texts(self) -> list[_Column]:
        return [one for one in self.left if one.prose]

    def take(self, key: str, fitting: Iterable[_Column], *, known: bool = False) -> None:
        """Give a field the first column that fits, if it has none; marks of records are no question."""
        fitting = (one for one in fitting if key != "question" or not one.marks)
        column = None if key in self.columns else next(fitting, None)
        if column is not None:
            self.columns[key] = column
            self.left = [one for one in self.left if one is not column]
            if key != column.name or key == VERDICT:
                self.guesses.append(Guess(key, column.name, known))


def named_in(maps: Sequence[str], values: Sequence[str]) -> Columns:
    """
    Return what a user says of a table, of which a column may hold the verdicts of a judge.

    Raises:
        ConfigError: as of `columns_from`.
    """
    judged = [text for text in maps if text.startswith(f"{VERDICT}=")]
    said = columns_from([text for text in maps if text not in judged], values)
    return replace(said, columns={**said.columns, **dict(text.split("=", 1) for text in judged)})


def proposal(
    table: Table,
    columns: Mapping[str, str],
    words: Mapping[str, str],
    shown: Mapping[str, str],
    *,
    scale: Scale | None = None,
    classes: bool = False,
    prompt: str = "",
) -> Proposal:
    """
    Return how a table is read.

    Args:
        table: its records.
        columns: the columns by field that a user has named.
        words: what the words of the gold mean, as far as a user has said.
        shown: the fields by name of the placeholder of a prompt that shows them, such as `{"reply_a": "answer_a"}`.
        scale: the scale of the judge's scores; None: words are placed from 0 to 1 on it.
        classes: whether the words of the gold are classes, so that none of them means a number.
        prompt: its text; a column of yes and no that is named for something in it can be the gold.
    """
    every = {name: _column(table, name) for name in table.columns}
    own = {name: name for name in table.columns if is_field(name) and name != "label"} | dict(columns)
    taken = {part for column in own.values() for part in (column, column.partition(".")[0])}
    held = {key: every.get(column, _Column(column)) for key, column in own.items()}
    found = _Found(held, [one for name, one in every.items() if name not in taken])
    _by_name(found, shown)
    lacking: list[str] = []
    if not any(isinstance(value, list | dict) for row in table.rows for value in row.values()):
        _by_form(found, shown, len(table.rows))
        if "question" not in found.columns and shown and "question" not in shown.values():
            about = _ASKING if {*shown.values()} != {"answer"} else ("answer",)
            asked = next((key for key in shown.values() if key in found.columns and key.startswith(about)), None)
            if asked is not None:  # what the answer is about, such as the document of a summary, or itself
                found.columns["question"] = found.columns[asked]
                found.guesses.append(Guess("question", found.columns[asked].name))
        lacking += [key for key in ("question", *shown.values()) if key not in found.columns]
        lacking += [] if found.answered or lacking else ["answer"]
    _gold(found, classes=classes, prompt=prompt.lower())
    guesses = sorted(found.guesses, key=lambda one: (one.key in _LAST, _FIRST.get(one.key, len(_FIRST))))
    return Proposal(tuple(guesses), tuple(_words(found, words, scale)), tuple(dict.fromkeys(lacking)))


def _column(table: Table, name: str) -> _Column:
    return _Column(name, tuple(text for row in table.rows if (text := written(row.get(name))).strip()))


def _by_name(found: _Found, shown: Mapping[str, str]) -> None:
    """Take the columns whose names say by themselves what they hold: those of a prompt, and the usual ones."""
    for name, key in shown.items():
        found.take(key, [one for one in found.left if plain_name(one.name) == plain_name(name)], known=True)
    for name, key in shown.items():
        if meaning_of(name) == "rubric":  # `criteria` for the placeholder `rubric`
            found.take(key, [one for one in found.left if meaning_of(one.bare) == "rubric"], known=True)
    chosen = [one for name in PREFERRED for one in found.texts if one.name == name]
    if len(chosen) == len(PREFERRED) and not found.answered:
        found.take("answer_a", chosen[:1], known=True)
        found.take("answer_b", chosen[1:], known=True)
    usual: dict[str, list[_Column]] = {}
    for one in found.left:
        role = meaning_of(one.bare)
        if role is not None and role in FIELDS:
            usual.setdefault(FIELDS[role], []).append(one)
    if "answer_b" in usual or found.several:
        usual.pop("answer", None)
    for key, some in usual.items():
        texts = [one for one in some if not one.words] or some
        if len(texts) == 1 and not (key == "answer" and found.answered):
            found.take(key, texts, known=True)
    for side in "ab":  # the models that wrote the answers
        if f"answer_{side}" in found.columns:
            found.take(f"author_{side}", [one for one in found.left if one.bare == f"model_{side}"], known=True)


def _by_form(found: _Found, shown: Mapping[str, str], records: int) -> None:
    ids = [one for one in found.left if one.has(_OF_ID) or one.name.strip().endswith("#")]
    found.take("id", [one for one in ids if not one.prose and len({*one.values}) == records], known=True)
    for name, key in shown.items():  # `KB article (policy)` for the placeholder `policy`
        fitting = [one for one in found.left if {*parts(name)} <= {*one.parts}]
        found.take(key, fitting if len(fitting) == 1 else ())
    if not found.answered and "answer" not in shown.values():
        two = "answer_b" in shown.values() and len(found.texts) > 2 - ("question" in found.columns)
        first, second = _pair(found.texts, found.left, two=two) or ((), ())
        found.take("answer_a", first)
        found.take("answer_b", second)
    asking = [one for one in found.texts if not one.has(OF_ANSWER)]
    found.take("question", [*(one for one in asking if one.has(OF_QUESTION)), *asking])
    if not found.answered and "answer_b" not in shown.values():
        found.take("answer", [*(one for one in found.texts if one.has(OF_ANSWER)), *found.texts])
    found.take("id", [one for one in found.left if one.marks and one.has(OF_QUESTION)], known=True)
    for key in shown.values():
        found.take(key, found.texts)


def _pair(texts: list[_Column], left: list[_Column], *, two: bool) -> tuple[tuple[_Column], tuple[_Column]] | None:
    """Return two columns of answers: their names differ in a side, are words of the gold, or differ in one part."""
    sided = [
        pair
        for one, other in combinations(texts, 2)
        for pair in ((one, other), (other, one))
        if apart(*(one.name for one in pair)) in SIDES
    ]
    voted = {plain_name(word) for one in left for word in one.words}
    named = [one for one in texts if plain_name(one.name) in voted]
    alike = [
        pair
        for pair in combinations(texts, 2)
        if apart(*(one.name for one in pair)) and all(one.has(OF_ANSWER) for one in pair)
    ]
    some = [*sided, *combinations(named, 2), *alike, *(combinations(texts[-2:], 2) if two else ())]
    return ((some[0][0],), (some[0][1],)) if some else None


def _gold(found: _Found, *, classes: bool, prompt: str) -> None:
    worded = [one for one in found.left if one.words or one.numeric]
    if found.several:
        exact = [one for name in _BETTER for one in worded if one.bare == name]
        found.take("better", exact, known=True)
        found.take("better", [one for one in worded if one.has(_OF_GOLD)])
        answers = _answers(found)
        named = [one for one in worded if one.words and all(_tied(word) or _named(word, answers) for word in one.words)]
        found.take("better", named)
        return
    judged = [one for one in worded if one.has(OF_JUDGE)]
    people = [one for one in worded if one not in judged]
    exact = [one for name in _GOLD for one in people if one.bare == name]
    gold = [*exact, *(one for one in people if one.has(_OF_GOLD))]
    truths = [
        one for one in people if one.words and all(_share(word) is not None or word in "01" for word in one.words)
    ]
    gold += [one for one in truths if any(len(part) > _STEM and part[:_STEM].lower() in prompt for part in one.parts)]
    if gold and not {"score", "label"} & found.columns.keys():
        one = gold[0]
        scored = not classes and (one.numeric or bool(judged) or all(_share(word) is not None for word in one.words))
        found.take("score" if scored else "label", [one], known=one in exact)
    if found.answered:
        found.take(VERDICT, judged, known=True)


def _words(found: _Found, given: Mapping[str, str], scale: Scale | None) -> Iterator[Guess]:
    """Yield what each word of the gold means, but for those that a user has explained or that need no explanation."""
    if found.several:
        words = found.columns["better"].words if "better" in found.columns else Counter()
        yield from _sides(found, Counter({word: words[word] for word in words if word not in given}))
        return
    columns = [found.columns[key] for key in ("score", VERDICT) if key in found.columns]
    if VERDICT in found.columns and "score" not in found.columns:
        return
    for word, count in sum((one.words for one in columns), Counter[str]()).items():
        if word in given or is_number(word):
            continue
        if word.strip().lower() in _NO_VERDICT:
            yield Guess(word, NOTHING, count=count)
            continue
        share = _share(word)
        known = share is not None
        if share is None:
            share = 0.0 if _LOW.match(word.lower()) else 0.5 if _MIDDLE.search(word.lower()) else 1.0
        yield Guess(word, f"{stretched(share, scale or Scale(0.0, 1.0)):g}", known, count)


def _share(word: str) -> float | None:
    return _SHARES.get(word.strip().lower())


def _sides(found: _Found, words: Counter[str]) -> Iterator[Guess]:
    """Yield which answer each word names: by its letter, by the column of the answer, by its side, or by its order."""
    if leans(words, {}) and not words.keys() <= {"1", "2"}:
        return  # the import reads them
    answers = _answers(found)
    authors = {name for key, one in found.columns.items() if key.startswith("author_") for name in one.values}
    said = {word: _named(word, answers) for word in words if word.strip().lower() not in (*answers, TIE)}
    said = {word: letter for word, letter in said.items() if word not in authors}
    if not set(filter(is_number, words)) <= {"1", "2"}:  # 0 and 1 may be places, or who won
        said = {word: None if is_number(word) else letter for word, letter in said.items()}
    free = [letter for letter in answers if letter not in (*said.values(), *(word.strip().lower() for word in words))]
    strange = [word for word, letter in said.items() if letter is None and not _settled(word)]
    if len(strange) > len(free):  # some name no answer, and nobody can say which: the import refuses them
        said = {word: letter for word, letter in said.items() if word not in strange}
    for word in sorted(said, key=lambda word: (_tied(word), word)):
        letter = said[word]
        if word.strip().lower() in _NO_VERDICT:
            yield Guess(word, NOTHING, count=words[word])
        elif letter is None and _tied(word):
            yield Guess(word, TIE, known=True, count=words[word])
        elif letter is not None:
            yield Guess(word, letter, known=True, count=words[word])
        else:
            yield Guess(word, free.pop(0), count=words[word])


def _answers(found: _Found) -> dict[str, _Column]:
    return {key[-1]: one for key, one in found.columns.items() if re.fullmatch("answer_[a-z]", key)}


def _settled(word: str) -> bool:
    return _tied(word) or word.strip().lower() in _NO_VERDICT


def _tied(word: str) -> bool:
    return word.strip().lower() in _TIES or not {TIE, "tied", "both", "neither", "equal", "draw"}.isdisjoint(
        parts(word)
    )


def _named(word: str, answers: Mapping[str, _Column]) -> str | None:
    """Return the letter of the answer that a word names; None if it names none, or several."""
    exact = [letter for letter, one in answers.items() if plain_name(one.name) == plain_name(word)]
    exact = [letter for letter in exact if answers[letter].name == word] or exact
    if len(exact) == 1:
        return exact[0]
    own = {
        letter: {*one.parts}.difference(*(other.parts for key, other in answers.items() if key != letter))
        for letter, one in answers.items()
    }
    near = [letter for letter, some in own.items() if some & {*parts(word)}]
    if len(near) == 1:
        return near[0]
    role = meaning_of(word)
    sides = [letter for letter, place in (("a", 0), ("b", 1)) if any(pair[place] in parts(word) for pair in SIDES[:4])]
    if role in ("first", "second"):
        return "a" if role == "first" else "b"
    return sides[0] if len(sides) == 1 else None
