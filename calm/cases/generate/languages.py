"""The same small problems in several languages: numbers are drawn once, and each language words and writes them."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Final

from calm.cases.generate.scores import gold
from calm.cases.generate.working import better_first
from calm.core.case import digest
from calm.core.languages import UNSPACED
from calm.core.order import ITEM, LANGUAGE

__all__ = ["PARTS", "Item", "Wording", "drawn", "languages", "pair_of", "single_of", "texts_of", "wording"]

PARTS: Final = 3
"""Problems of an item, each of another kind."""
_CLOSE_PERIOD: Final = 3
"""One pair in this many is a close one: a single result is wrong."""
_RIGHT: Final = (3, 1, 2, 0)
"""How many results of an only answer are right, one item after the other."""
_GROUPED: Final = 10_000
"""From this number on thousands are set apart: some languages leave the smaller ones whole."""
_FOLDED: Final = 3
"""The digits of a group."""


class Kind(Enum):
    """How a value is written."""

    PLAIN = "plain"
    """A count or a year, without groups of thousands."""
    NUMBER = "number"
    MONEY = "money"
    SHARE = "share"
    NAME = "name"
    """The place of a name in the list of a language."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value and how it is written."""

    kind: Kind
    value: Fraction

    def at(self, value: Fraction | int) -> Value:
        """Return another value that is written in the same way."""
        return Value(self.kind, Fraction(value))


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: the name of its wording, what is given, and the right and a wrong result."""

    wording: str
    given: Mapping[str, Value]
    true: Value
    wrong: Value


@dataclass(frozen=True, slots=True)
class Item:
    """What a case asks in any language. `wrong` are the problems that the worse answer of a pair gets wrong."""

    number: int
    problems: tuple[Problem, ...]
    wrong: frozenset[int]
    listed: bool
    """Whether question and answers are numbered lists."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a language writes numbers, and what it says."""

    code: str
    decimal: str
    group: str
    percent: str
    money: str
    names: tuple[str, ...]
    said: Mapping[str, tuple[str, str]]

    def write(self, value: Value) -> str:
        """Return a value as the language writes it."""
        match value.kind:
            case Kind.NAME:
                return self.names[int(value.value)]
            case Kind.PLAIN:
                return str(int(value.value))
            case Kind.MONEY:
                return self.money.format(self.number(value.value, places=2))
            case Kind.SHARE:
                return self.percent.format(self.number(value.value))
            case Kind.NUMBER:
                return self.number(value.value)

    def number(self, value: Fraction, places: int | None = None) -> str:
        """Return a number that has a finite decimal form; without `places`, with as many as it needs."""
        text = f"{float(value):.{4 if places is None else places}f}"
        whole, _, rest = text.partition(".")
        rest = rest.rstrip("0") if places is None else rest
        if int(whole) >= _GROUPED:
            whole = self.group.join(_groups(whole, lakh=self.code == "hi"))
        return f"{whole}{self.decimal}{rest}" if rest else whole


def _groups(digits: str, *, lakh: bool) -> list[str]:
    """
    Return the digits in groups: of three, or in India three behind groups of two.

    >>> _groups("120500", lakh=False), _groups("120500", lakh=True)
    (['120', '500'], ['1', '20', '500'])
    """
    head, tail = digits[:-_FOLDED], [digits[-_FOLDED:]]
    size = 2 if lakh else _FOLDED
    while head:
        head, tail = head[:-size], [head[-size:], *tail]
    return tail


@cache
def _wordings() -> Mapping[str, Wording]:
    text = files("calm").joinpath("cases", "generate", "data", "languages.toml").read_text("utf-8")
    found = {}
    for code, row in tomllib.loads(text).items():
        plain = {key: row.pop(key) for key in ("decimal", "group", "percent", "money")}
        names = tuple(row.pop("names"))
        said = {kind: (asked, answered) for kind, (asked, answered) in row.items()}
        found[code] = Wording(code, **plain, names=names, said=said)
    return found


def languages() -> tuple[str, ...]:
    """Return the codes of the languages, English first."""
    return tuple(_wordings())


def wording(code: str) -> Wording:
    """Return how a language words and writes; a `KeyError` for one that has no words here."""
    return _wordings()[code]


# ------------------------------------------------------------------------------------------------------- problems


def _plain(value: int) -> Value:
    return Value(Kind.PLAIN, Fraction(value))


def _number(value: Fraction | int) -> Value:
    return Value(Kind.NUMBER, Fraction(value))


def _money(value: Fraction | int) -> Value:
    return Value(Kind.MONEY, Fraction(value))


def _name(place: int) -> Value:
    return Value(Kind.NAME, Fraction(place))


def _price(rng: random.Random) -> Problem:
    count, each = rng.randint(5, 10), Fraction(rng.randint(6, 60), 4)
    total = _money(count * each)
    return Problem("price", {"p": _money(each), "n": _plain(count)}, total, total.at(total.value + rng.choice((-1, 1))))


def _percentage(rng: random.Random) -> Problem:
    share, whole = rng.choice((15, 20, 25, 30, 35, 40, 45, 60, 70, 75)), 20 * rng.randint(4, 49)
    true = _number(Fraction(share * whole, 100))
    given = {"k": Value(Kind.SHARE, Fraction(share)), "x": _number(whole)}
    return Problem("percentage", given, true, true.at(true.value + rng.choice((-3, -2, 2, 4, 10))))


def _larger(rng: random.Random) -> Problem:
    whole, tenths = rng.randint(2, 90), rng.randint(2, 9)
    hundredths = rng.choice([n for n in range(11, 99) if n % 10])
    pair = [_number(whole + Fraction(tenths, 10)), _number(whole + Fraction(hundredths, 100))]
    rng.shuffle(pair)
    low, high = sorted(pair, key=lambda one: one.value)
    return Problem("larger", {"a": pair[0], "b": pair[1]}, high, low)


def _metres(rng: random.Random) -> Problem:
    length = Fraction(rng.randint(40, 500), 4)
    metres = _number(1000 * length)
    return Problem("metres", {"x": _number(length)}, metres, metres.at(metres.value / 10))


def _oldest(rng: random.Random) -> Problem:
    ages, who = rng.sample(range(20, 80), 3), rng.sample(range(6), 3)
    first, second, _ = (who[ages.index(age)] for age in sorted(ages, reverse=True))
    given = {label: _name(place) for label, place in zip("ABC", who, strict=True)}
    given |= {label: _plain(age) for label, age in zip("abc", ages, strict=True)}
    return Problem("oldest", given, _name(first), _name(second))


def _years(rng: random.Random) -> Problem:
    first, second = rng.randint(1700, 1890), rng.randint(1901, 1999)
    between = _plain(second - first)
    given = {"a": _plain(first), "b": _plain(second)}
    return Problem("years", given, between, between.at(between.value + rng.choice((-10, -1, 1, 10))))


def _change(rng: random.Random) -> Problem:
    price, paid = Fraction(rng.randint(41, 190), 4), rng.choice((50, 100))
    back = _money(paid - price)
    return Problem("change", {"p": _money(price), "q": _money(paid)}, back, back.at(back.value + 1))


def _travel(rng: random.Random) -> Problem:
    speed, hours = 5 * rng.randint(8, 40), rng.randint(5, 9)
    way = _number(speed * hours)
    given = {"v": _plain(speed), "n": _plain(hours)}
    return Problem("travel", given, way, way.at(way.value + rng.choice((-speed, speed, 10))))


def _mean(rng: random.Random) -> Problem:
    values = rng.sample(range(10, 90), 3)
    values[2] += -sum(values) % 3
    mean = _number(sum(values) // 3)
    given = {label: _plain(value) for label, value in zip("abc", values, strict=True)}
    return Problem("mean", given, mean, mean.at(mean.value + rng.choice((-2, 1, 2, 3))))


_DRAWS: Final[Sequence[Callable[[random.Random], Problem]]] = (
    *(_price, _percentage, _larger, _metres, _oldest),
    *(_years, _change, _travel, _mean),
)


def drawn(seed: int) -> Iterator[Item]:
    """Yield items without end, the same for a seed; a first part of them does not depend on how many are taken."""
    rng = random.Random(int(digest("languages", seed), 16))
    number = 0
    while True:
        number += 1
        problems = tuple(draw(rng) for draw in rng.sample(_DRAWS, PARTS))
        wrong = 1 if number % _CLOSE_PERIOD == 0 else rng.randint(2, PARTS)
        yield Item(number, problems, frozenset(rng.sample(range(PARTS), wrong)), listed=rng.random() < 0.5)


# --------------------------------------------------------------------------------------------------------- cases


def texts_of(item: Item, code: str, wrong: frozenset[int]) -> tuple[str, str]:
    """Return the question of an item in a language, and an answer that gets some of its problems wrong."""
    words = wording(code)
    asked, answered = [], []
    for place, problem in enumerate(item.problems):
        question, answer = words.said[problem.wording]
        given = {name: words.write(value) for name, value in problem.given.items()}
        result = words.write(problem.wrong if place in wrong else problem.true)
        asked.append(question.format(**given))
        answered.append(answer.format(**given, r=result))
    return _joined(asked, item, code), _joined(answered, item, code)


def _joined(sentences: Sequence[str], item: Item, code: str) -> str:
    if item.listed:
        return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
    return ("" if code in UNSPACED else " ").join(sentence[:1].upper() + sentence[1:] for sentence in sentences)


def pair_of(item: Item, code: str, identity: str, name: str) -> dict[str, object]:
    """Return an item as a pair in a language, with the grade of each answer."""
    question, good = texts_of(item, code, frozenset())
    _, bad = texts_of(item, code, item.wrong)
    answers = [{"id": "good", "text": good}, {"id": "bad", "text": bad}]
    right = PARTS - len(item.wrong)
    return {
        "id": identity,
        "question": question,
        "answers": answers if better_first(name) else answers[::-1],
        "better": "good",
        "scores": {"good": gold(PARTS, PARTS), "bad": gold(right, PARTS)},
        "tags": _tags(code, name) | {"margin": "close" if len(item.wrong) == 1 else "clear"},
    }


def single_of(item: Item, code: str, identity: str, name: str) -> dict[str, object]:
    """Return an item as one answer with its grade in a language."""
    right = _RIGHT[item.number % len(_RIGHT)]
    question, text = texts_of(item, code, frozenset(range(PARTS - right)))
    return {
        "id": identity,
        "question": question,
        "answers": [{"id": "only", "text": text}],
        "scores": {"only": gold(right, PARTS)},
        "tags": _tags(code, name),
    }


def _tags(code: str, name: str) -> dict[str, str]:
    return {"category": "languages", LANGUAGE: code, ITEM: name}
