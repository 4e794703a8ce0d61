"""Make score cases whose right grade a program knows: word problems with several results, some of them wrong.

The rule of the gold, on the scale 1 to 10, is ``round(1 + 9 * right / total)`` with halves rounded up, where ``total``
is the number of results that the question asks for and ``right`` the number of them that are right. A result is
right when it equals the true value; that an earlier one is wrong neither excuses nor taints it. The hand-written
cases of ``score-1.jsonl`` follow the same formula, with the correct points less half of the false ones for ``right``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from calm.core.classes import SHIPPED

__all__ = ["NAMES", "PROBLEMS", "RIGHT", "Problem", "Result", "gold", "grade_class", "number_result", "time_result"]

NAMES: Final = ("Nina", "Omar", "Lena", "Tariq", "Ida", "Marek", "Sofia", "Jun", "Astrid", "Pavel", "Rosa", "Emil")


@dataclass(frozen=True)
class Result:
    """Hold one asked result: a sentence with ``{}`` in place of the value, and the true and a wrong value."""

    sentence: str
    true: str
    wrong: str


@dataclass(frozen=True)
class Problem:
    """Hold a question with its results in the order of the answer."""

    category: str
    question: str
    results: tuple[Result, ...]


def gold(right: float, total: int) -> int:
    """Return the grade from 1 to 10 for a number of right results of a total; halves are rounded up.

    >>> [gold(right, 6) for right in range(7)]
    [1, 3, 4, 6, 7, 9, 10]
    >>> [gold(right, 5) for right in range(6)]
    [1, 3, 5, 6, 8, 10]
    """
    return max(1, min(10, int(1 + 9 * right / total + 0.5)))


def grade_class(right: float, total: int) -> str:
    """Return the class for a number of right results of a total: all of them, half or more, or fewer.

    >>> [grade_class(right, 4) for right in range(5)]
    ['wrong', 'wrong', 'mixed', 'mixed', 'right']
    """
    wrong, mixed, whole = SHIPPED.names
    return whole if right == total else mixed if 2 * right >= total else wrong


def _off(rng: random.Random, value: int) -> int:
    """Return a positive number that differs from the value as a slip of the pen might."""
    steps = [step for step in (1, 2, 3, 10, 20, -1, -2, -10, -20) if value + step > 0]
    if value >= 100:
        steps += [100, 30, 50]
    return value + rng.choice(steps)


def number_result(rng: random.Random, sentence: str, value: int) -> Result:
    """Hold a number as a result, with one near it as the wrong value."""
    return Result(sentence, f"{value:,}", f"{_off(rng, value):,}")


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24}:{minutes % 60:02d}"


def time_result(rng: random.Random, sentence: str, minutes: int) -> Result:
    """Hold a time of day, in minutes after midnight, as a result, with one near it as the wrong value."""
    return Result(sentence, _clock(minutes), _clock(minutes + rng.choice([-20, -15, -10, -5, 5, 10, 15, 20, 60])))


def _bill(rng: random.Random) -> Problem:
    name = rng.choice(NAMES)
    things = rng.sample(["pens", "notebooks", "candles", "lamps", "baskets", "mugs", "towels", "brushes", "bowls"], 4)
    lines = [(rng.randint(2, 9), thing, rng.randint(2, 12)) for thing in things]
    total = sum(count * price for count, _, price in lines)
    note = next(note for note in (100, 200, 500) if note > total)
    listed = ", ".join(f"{count} {thing} at {price} euros each" for count, thing, price in lines[:-1])
    count, thing, price = lines[-1]
    results = [number_result(rng, f"The {line[1]} cost {{}} euros.", line[0] * line[2]) for line in lines]
    results.append(number_result(rng, f"The whole bill of {name} is {{}} euros.", total))
    results.append(number_result(rng, f"The change from the note of {note} euros is {{}} euros.", note - total))
    return Problem(
        "arithmetic",
        f"{name} buys {listed} and {count} {thing} at {price} euros each, and pays with a note of {note} euros. "
        "What does each kind of thing cost, what is the whole bill and how much change is due?",
        tuple(results),
    )


def _units(rng: random.Random) -> Problem:
    pairs = [
        ("kilometres", "metres", 1000),
        ("hours", "minutes", 60),
        ("kilograms", "grams", 1000),
        ("metres", "centimetres", 100),
        ("days", "hours", 24),
        ("litres", "millilitres", 1000),
        ("weeks", "days", 7),
        ("minutes", "seconds", 60),
        ("dozens", "single pieces", 12),
        ("years", "months", 12),
    ]
    chosen = [(rng.randint(2, 19), *pair) for pair in rng.sample(pairs, 6)]
    asked = "; ".join(f"{count} {big} to {small}" for count, big, small, _ in chosen)
    return Problem(
        "units",
        f"Convert each of these six amounts: {asked}.",
        tuple(
            number_result(rng, f"An amount of {count} {big} is the same as {{}} {small}.", count * factor)
            for count, big, small, factor in chosen
        ),
    )


def _bus(rng: random.Random) -> Problem:
    start = rng.randrange(6 * 60, 17 * 60, 5)
    stops = rng.sample(
        ["the mill", "the town hall", "the harbour", "the old bridge", "the market", "the library", "the park"], 5
    )
    legs = [rng.randint(4, 22) for _ in stops]
    times = [start + sum(legs[: number + 1]) for number in range(len(legs))]
    rides = ", ".join(f"{leg} minutes to {stop}" for leg, stop in zip(legs, stops, strict=True))
    results = [time_result(rng, f"The bus is at {stop} at {{}}.", at) for stop, at in zip(stops, times, strict=True)]
    results.append(number_result(rng, "The whole ride has a length of {} minutes.", sum(legs)))
    return Problem(
        "schedules",
        f"A bus leaves the station at {_clock(start)} and then drives, one leg after the other, {rides}. It does not "
        "wait anywhere. When is it at each stop, and how long is the whole ride?",
        tuple(results),
    )


def _recipe(rng: random.Random) -> Problem:
    people = rng.choice([6, 10, 12, 14, 20, 30])
    foods = rng.sample(["rice", "lentils", "carrots", "onions", "tomatoes", "mushrooms", "spinach", "potatoes"], 5)
    amounts = [rng.randrange(40, 620, 20) for _ in foods]
    listed = ", ".join(f"{amount} grams of {food}" for amount, food in zip(amounts, foods, strict=True))
    return Problem(
        "arithmetic",
        f"A stew for 4 people needs {listed}. How many grams of each are needed for {people} people?",
        tuple(
            number_result(rng, f"The right amount of {food} for {people} people is {{}} grams.", amount * people // 4)
            for amount, food in zip(amounts, foods, strict=True)
        ),
    )


def _garden(rng: random.Random) -> Problem:
    wide, long = rng.randint(6, 18), rng.randint(19, 40)
    fence, seed, bag = rng.randint(3, 15), rng.randint(20, 45), rng.randint(2, 9)
    area, around = wide * long, 2 * (wide + long)
    return Problem(
        "geometry",
        f"A garden is a rectangle of {wide} by {long} metres. A metre of fence costs {fence} euros, a square metre "
        f"needs {seed} grams of seed, and mowing takes {bag} seconds for a square metre. Find the area, the length of "
        "the fence, its price, the amount of seed and the time for mowing.",
        (
            number_result(rng, "The area of the garden is {} square metres.", area),
            number_result(rng, "A fence around all four sides has a length of {} metres.", around),
            number_result(rng, "The price of the whole fence is {} euros.", around * fence),
            number_result(rng, "The lawn needs {} grams of seed in all.", area * seed),
            number_result(rng, "Mowing the whole area takes {} seconds.", area * bag),
        ),
    )


def _numbers(rng: random.Random) -> Problem:
    small, large = rng.randint(6, 19), rng.randint(41, 160)
    return Problem(
        "arithmetic",
        f"Take the numbers {large} and {small}. Give their sum, their difference, their product, the square of the "
        "smaller one, and the whole quotient and the remainder when the larger is divided by the smaller.",
        (
            number_result(rng, f"The sum of {large} and {small} is {{}}.", large + small),
            number_result(rng, "The difference of the two numbers is {}.", large - small),
            number_result(rng, "Their product is {}.", large * small),
            number_result(rng, f"The square of {small}, the smaller one, is {{}}.", small * small),
            number_result(rng, f"When {large} is divided by {small} the whole quotient is {{}}.", large // small),
            number_result(rng, "The remainder of this division is {}.", large % small),
        ),
    )


def _sale(rng: random.Random) -> Problem:
    things = rng.sample(["tent", "bench", "kettle", "desk", "carpet", "bicycle", "armchair", "bookcase", "mirror"], 5)
    rows = [(thing, rng.randrange(60, 900, 20), rng.choice([5, 10, 15, 20, 25, 30, 40])) for thing in things]
    listed = ", ".join(f"the {thing} ({price} euros, {cut} percent off)" for thing, price, cut in rows)
    return Problem(
        "percentages",
        f"A shop lowers its prices: {listed}. What is the new price of each?",
        tuple(
            number_result(
                rng, f"After {cut} percent off, the new price of the {thing} is {{}} euros.", price - price * cut // 100
            )
            for thing, price, cut in rows
        ),
    )


def _travel(rng: random.Random) -> Problem:
    means = rng.sample(
        [("a walker", 4, 6), ("a cyclist", 14, 22), ("a tram", 25, 38), ("a car", 60, 95), ("a train", 110, 190),
         ("a ferry", 24, 40), ("a canoe", 5, 8)],
        5,
    )  # fmt: skip
    rows = [(who, rng.randint(low, high), rng.randint(2, 7)) for who, low, high in means]
    listed = ", ".join(f"{who} at {speed} kilometres an hour for {hours} hours" for who, speed, hours in rows)
    return Problem(
        "distances",
        f"How far does each of these get at a steady speed: {listed}?",
        tuple(
            number_result(rng, f"In {hours} hours the distance for {who} is {{}} kilometres.", speed * hours)
            for who, speed, hours in rows
        ),
    )


def _reading(rng: random.Random) -> Problem:
    name = rng.choice(NAMES)
    days = ["Monday", "Tuesday", "Wednesday", "Thursday"]
    first, more = rng.randint(9, 40), rng.randint(2, 12)
    pages = [first + more * number for number in range(4)]
    book = sum(pages) + rng.randint(30, 250)
    results = [
        number_result(rng, f"The number of pages for {day} is {{}}.", count)
        for day, count in zip(days[1:], pages[1:], strict=True)
    ]
    results.append(number_result(rng, f"From Monday to Thursday {name} has read {{}} pages.", sum(pages)))
    results.append(number_result(rng, f"Of the {book} pages of the book, {{}} are left.", book - sum(pages)))
    return Problem(
        "arithmetic",
        f"{name} reads {first} pages of a book on Monday and on each later day {more} pages more than on the day "
        f"before. The book has {book} pages. How many pages fall on Tuesday, Wednesday and Thursday, how many are read "
        "by Thursday evening, and how many are left?",
        tuple(results),
    )


def _lessons(rng: random.Random) -> Problem:
    start = rng.randrange(8 * 60, 10 * 60, 5)
    talks = rng.sample(["music", "drawing", "history", "chess", "pottery", "botany", "weaving"], 3)
    lengths = [rng.randrange(25, 75, 5) for _ in talks]
    pause = rng.choice([5, 10, 15, 20])
    starts = [start + sum(lengths[:number]) + pause * number for number in range(3)]
    ends = [begin + length for begin, length in zip(starts, lengths, strict=True)]
    listed = ", ".join(f"{talk} ({length} minutes)" for talk, length in zip(talks, lengths, strict=True))
    return Problem(
        "schedules",
        f"A course day begins at {_clock(start)} with these lessons in this order: {listed}. There is a pause of "
        f"{pause} minutes between two lessons. When does each lesson end, and when do the second and third begin?",
        (
            time_result(rng, f"The lesson in {talks[0]}, which is the first, ends at {{}}.", ends[0]),
            time_result(rng, f"After the pause, {talks[1]} begins at {{}}.", starts[1]),
            time_result(rng, f"The lesson in {talks[1]} is over at {{}}.", ends[1]),
            time_result(rng, f"The third lesson, {talks[2]}, begins at {{}}.", starts[2]),
            time_result(rng, f"The course day is over at {{}}, when {talks[2]} ends.", ends[2]),
        ),
    )


PROBLEMS: Final[tuple[Callable[[random.Random], Problem], ...]] = (
    _bill, _units, _bus, _recipe, _garden, _numbers, _sale, _travel, _reading, _lessons
)  # fmt: skip
RIGHT: Final = {5: (2, 1, 3, 2, 4, 3, 1, 2), 6: (2, 4, 1, 3, 2, 4, 3, 4)}
