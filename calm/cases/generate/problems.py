"""Draw problems with five or six asked results each: dates, ordering and compound units, on wide ranges of numbers."""

from __future__ import annotations

import random
from calendar import isleap
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from calm.cases.generate.scores import NAMES, PROBLEMS, Problem, Result, number_result

__all__ = ["BY_KIND", "Draw"]

Draw = Callable[[random.Random], Problem]

_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WORDS: Final = (
    "acorn", "anchor", "apron", "arch", "attic", "badge", "bakery", "barrel", "basin", "beacon", "bellows", "berry",
    "bobbin", "bonnet", "bottle", "bramble", "bucket", "button", "cabin", "candle", "canvas", "cellar", "chapel",
    "cherry", "chimney", "cobbler", "compass", "copper", "cradle", "cricket", "curtain", "daisy", "dapple", "donkey",
    "drawer", "easel", "ember", "engine", "falcon", "feather", "fennel", "ferry", "fiddle", "flannel", "furrow",
    "gable", "garnet", "ginger", "goblet", "gravel", "hammer", "hamlet", "hazel", "hedge", "hinge", "hollow", "ivory",
    "jacket", "jasmine", "kernel", "kettle", "ladder", "lantern", "lattice", "lentil", "lichen", "linen", "locket",
    "magnet", "maple", "marble", "meadow", "mitten", "mortar", "mustard", "napkin", "needle", "nettle", "nutmeg",
    "orchard", "oyster", "paddle", "parcel", "pebble", "pepper", "pillow", "plaster", "pocket", "pulley", "quarry",
    "quiver", "rafter", "ribbon", "saddle", "saffron", "shutter", "sickle", "spindle", "tallow", "thimble", "timber",
    "trellis", "tunnel", "turnip", "valley", "velvet", "walnut", "whistle", "willow", "yarrow",
)  # fmt: skip


def _day(value: date) -> str:
    return f"{value.day} {_MONTHS[value.month - 1]} {value.year}"


def _date_result(rng: random.Random, sentence: str, value: date) -> Result:
    return Result(sentence, _day(value), _day(value + timedelta(days=rng.choice((-31, -7, -2, -1, 1, 2, 7, 31)))))


def _choice_result(rng: random.Random, sentence: str, true: str, others: Sequence[str]) -> Result:
    return Result(sentence, true, rng.choice([other for other in others if other != true]))


def _weekday_result(rng: random.Random, sentence: str, value: date) -> Result:
    return _choice_result(rng, sentence, _DAYS[value.weekday()], _DAYS)


def _some_day(rng: random.Random) -> date:
    return date(1950, 1, 1) + timedelta(days=rng.randrange(50_000))


# Dates.


def _deadlines(rng: random.Random) -> Problem:
    name, start = rng.choice(NAMES), _some_day(rng)
    what = rng.choice(("a lease", "a loan", "a work contract", "a course contract", "a repair order"))
    first, second, weeks = rng.randint(17, 95), rng.randint(17, 95), rng.randint(6, 40)
    one, two = start + timedelta(days=first), start + timedelta(days=first + second)
    last = start + timedelta(weeks=weeks)
    return Problem(
        "dates",
        f"{name} signs {what} on {_DAYS[start.weekday()]}, {_day(start)}. The first payment is due {first} days later, "
        f"the second {second} days after the first, and a meeting is held {weeks} weeks after the signing. "
        "On which date and weekday is each payment due, and on which date is the meeting?",
        (
            _date_result(rng, "The first payment is due on {}.", one),
            _weekday_result(rng, "The weekday of the first payment is {}.", one),
            _date_result(rng, "The second payment is due on {}.", two),
            _weekday_result(rng, "The weekday of the second payment is {}.", two),
            _date_result(rng, "The meeting is held on {}.", last),
        ),
    )


def _spans(rng: random.Random) -> Problem:
    thing = rng.choice(("an exhibition", "a building site", "a sea voyage", "a garden show", "a road closure"))
    start, days = _some_day(rng), rng.randint(25, 700)
    end = start + timedelta(days=days)
    middle = start + timedelta(days=100)
    return Problem(
        "dates",
        f"Of {thing}, {_DAYS[start.weekday()]}, {_day(start)} is the first day and {_day(end)} the last. How many days "
        "lie between the two dates (the last minus the first), how many whole weeks is that and how many days over, "
        "what weekday is the last day, and which date is 100 days after the first?",
        (
            number_result(rng, "The number of days from the first to the last is {}.", days),
            number_result(rng, "The number of whole weeks in that time is {}.", days // 7),
            _choice_result(rng, "The number of days over is {}.", str(days % 7), [str(number) for number in range(7)]),
            _weekday_result(rng, "The weekday of the last day is {}.", end),
            _date_result(rng, "The date 100 days after the first is {}.", middle),
        ),
    )


def _years(rng: random.Random) -> Problem:
    day = _some_day(rng)
    first, last = date(day.year, 1, 1), date(day.year, 12, 31)
    return Problem(
        "dates",
        f"The day {_day(day)} is a {_DAYS[day.weekday()]}. Which number does this day have in its year (with 1 January "
        "as number 1), how many days of the year come after it, how many days has the year, what weekday is 1 January "
        "of that year, and what weekday is 31 December?",
        (
            number_result(rng, "In its year this day has the number {}.", (day - first).days + 1),
            number_result(rng, "The number of days that come after it is {}.", (last - day).days),
            _choice_result(
                rng, f"The number of days in {day.year} is {{}}.", str(365 + isleap(day.year)), ("365", "366")
            ),
            _weekday_result(rng, f"The weekday of 1 January {day.year} is {{}}.", first),
            _weekday_result(rng, f"The weekday of 31 December {day.year} is {{}}.", last),
        ),
    )


def _ages(rng: random.Random) -> Problem:
    names = rng.sample(NAMES, 4)
    today = _some_day(rng)
    born = [today - timedelta(days=days) for days in rng.sample(range(2_000, 32_000), 4)]
    if any((day.month, day.day) == (2, 29) for day in born):  # when such a person is a year older is a matter of law
        return _ages(rng)
    ages = [today.year - day.year - ((today.month, today.day) < (day.month, day.day)) for day in born]
    eldest = names[born.index(min(born))]
    listed = "; ".join(f"{name} on {_day(day)}" for name, day in zip(names, born, strict=True))
    return Problem(
        "dates",
        f"Four people have these dates of birth: {listed}. How old is each of them on {_day(today)}, in full years, "
        "and who is the eldest?",
        (
            *(
                number_result(rng, f"The age of {name} in full years is {{}}.", age)
                for name, age in zip(names, ages, strict=True)
            ),
            _choice_result(rng, "The eldest of the four is {}.", eldest, names),
        ),
    )


# Ordering.


def _race(rng: random.Random) -> Problem:
    names = rng.sample(NAMES, 6)
    kind = rng.choice(("running race", "swimming race", "rowing race", "sledge race", "ski race", "bicycle race"))
    times = rng.sample(range(1_000, 6_000), 6)
    order = [name for _, name in sorted(zip(times, names, strict=True))]
    listed = ", ".join(f"{name} {time // 60}:{time % 60:02d}" for name, time in zip(names, times, strict=True))
    places = ("first", "second", "third", "fourth", "last")
    return Problem(
        "ordering",
        f"The times of a {kind}, in minutes and seconds, are: {listed}. The shortest time wins. Who comes first, "
        "second, third, fourth and last, and how many seconds lie between the first and the last?",
        (
            *(
                _choice_result(rng, f"The person who comes {place} is {{}}.", who, names)
                for place, who in zip(places, [*order[:4], order[5]], strict=True)
            ),
            number_result(rng, "The number of seconds between the first and the last is {}.", max(times) - min(times)),
        ),
    )


def _sorted_numbers(rng: random.Random) -> Problem:
    what = rng.choice(("house numbers", "page numbers", "weights in grams", "heights in metres", "prices in coins"))
    values = rng.sample(range(11, 990), 7)
    ranked = sorted(values)
    texts = [str(value) for value in values]
    listed = ", ".join(texts)
    return Problem(
        "ordering",
        f"These seven {what} are given: {listed}. Put them in rising order. Which is the second, the third, the middle "
        "one, the fifth and the sixth, and how far apart are the smallest and the largest?",
        (
            *(
                _choice_result(rng, f"In rising order the {place} is {{}}.", str(ranked[at]), texts)
                for at, place in enumerate(("second", "third", "middle one", "fifth", "sixth"), 1)
            ),
            number_result(rng, "The distance of the smallest from the largest is {}.", ranked[-1] - ranked[0]),
        ),
    )


def _alphabet(rng: random.Random) -> Problem:
    words = rng.sample(_WORDS, 7)
    ranked = sorted(words)
    return Problem(
        "ordering",
        f"Put these seven words in alphabetical order: {', '.join(words)}. Which of them is the first, the second, "
        "the middle one, the sixth and the last?",
        tuple(
            _choice_result(rng, f"In alphabetical order the {place} is {{}}.", ranked[at], words)
            for at, place in ((0, "first"), (1, "second"), (3, "middle one"), (5, "sixth"), (6, "last"))
        ),
    )


# Units.


def _compound(rng: random.Random) -> Problem:
    units = (
        ("hours", "minutes", 60), ("kilograms", "grams", 1000), ("metres", "centimetres", 100), ("weeks", "days", 7),
        ("kilometres", "metres", 1000), ("feet", "inches", 12), ("minutes", "seconds", 60), ("days", "hours", 24),
        ("litres", "millilitres", 1000), ("years", "months", 12), ("dozens", "single pieces", 12),
    )  # fmt: skip
    rows = [
        (rng.randint(2, 49), big, rng.randrange(1, factor), small, factor)
        for big, small, factor in rng.sample(units, 6)
    ]
    listed = "; ".join(f"{count} {big} and {rest} {small} in {small}" for count, big, rest, small, _ in rows)
    return Problem(
        "units",
        f"Write each of these six amounts in the smaller unit alone: {listed}.",
        tuple(
            number_result(rng, f"An amount of {count} {big} and {rest} {small} is {{}} {small}.", count * factor + rest)
            for count, big, rest, small, factor in rows
        ),
    )


def _tank(rng: random.Random) -> Problem:
    long, wide, deep = rng.randint(41, 190), rng.randint(31, 90), rng.randint(21, 80)
    flow = rng.randint(2, 9)
    volume = long * wide * deep
    return Problem(
        "units",
        f"A tank is {long} cm long, {wide} cm wide and {deep} cm deep. What is its volume in cubic centimetres, how "
        "many whole litres is that (1 litre is 1,000 cubic centimetres), what are length, width and depth in "
        f"millimetres, and how many millilitres flow in within {flow} minutes at 1 litre a minute?",
        (
            number_result(rng, "The volume of the tank is {} cubic centimetres.", volume),
            number_result(rng, "The number of whole litres in it is {}.", volume // 1000),
            number_result(rng, "The length is {} millimetres.", long * 10),
            number_result(rng, "The width is {} millimetres.", wide * 10),
            number_result(rng, "The depth is {} millimetres.", deep * 10),
            number_result(rng, f"Within {flow} minutes the amount that flows in is {{}} millilitres.", flow * 1000),
        ),
    )


def _drawn(*names: str) -> tuple[Draw, ...]:
    """Return those of the shipped problems that have these names."""
    by_name = {draw.__name__.lstrip("_"): draw for draw in PROBLEMS}
    return tuple(by_name[name] for name in names)


BY_KIND: Final[Mapping[str, tuple[Draw, ...]]] = {
    "arithmetic": _drawn("bill", "recipe", "garden", "numbers", "sale", "travel", "reading"),
    "units": (*_drawn("units"), _compound, _tank),
    "dates": (_deadlines, _spans, _years, _ages, *_drawn("bus", "lessons")),
    "ordering": (_race, _sorted_numbers, _alphabet),
}
"""The problems of each kind; each can be drawn in millions of ways, except a few that are exhausted early."""
