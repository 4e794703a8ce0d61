"""Problems with five or six asked results each, as cases of any task: the gold is how many results are right."""

from __future__ import annotations

import random
from calendar import isleap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from calm.cases.generate.arithmetic import ARITHMETIC
from calm.cases.generate.ordering import ORDERING
from calm.cases.generate.scores import NAMES, PROBLEMS, RIGHT, Problem, Result, gold, grade_class, number_result
from calm.cases.generate.units import UNITS
from calm.cases.generate.working import Template, balanced, render
from calm.core.checks import verify
from calm.core.classes import SHIPPED
from calm.core.verdict import FAMILY, Family, Task

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
    by_name = {draw.__name__.lstrip("_"): draw for draw in PROBLEMS}
    return tuple(by_name[name] for name in names)


BY_KIND: Final[Mapping[str, tuple[Draw, ...]]] = {
    "arithmetic": _drawn("bill", "recipe", "garden", "numbers", "sale", "travel", "reading"),
    "units": (*_drawn("units"), _compound, _tank),
    "dates": (_deadlines, _spans, _years, _ages, *_drawn("bus", "lessons")),
    "ordering": (_race, _sorted_numbers, _alphabet),
}
"""The problems of each kind; each can be drawn in millions of ways, except a few that are exhausted early."""


_CLOSERS: Final = (
    "Each of these was worked out on its own.",
    "Nothing else is asked for here.",
    "This covers all parts of the question.",
    "The parts stand in the order of the question.",
    "No other step is needed for this.",
)
_CLOSE_PERIOD: Final = 3
"""One pair in this many is a close one: a single result is wrong."""


def shape(task: Task) -> Family:
    """Return the shape of the cases of a task: those of `points` are rubrics, although the verdict is a score."""
    return "rubric" if task == "points" else FAMILY[task]


def case_of(
    problem: Problem, task: Task, rng: random.Random, turn: int, answers: int | None = None
) -> dict[str, object]:
    """Return a case without its id; `turn` is its number among the cases of its kind, a list has so many `answers`."""
    known = {
        "question": problem.question,
        "reference": " ".join(one.sentence.format(one.true) for one in problem.results),
    }
    match shape(task):
        case "pairwise":
            return known | _pair(problem, rng, turn)
        case "score":
            return known | _score(problem, rng, turn)
        case "rubric":
            return known | _rubric(problem, rng, turn)
        case "listwise":
            return known | _list(problem, rng, answers or 3 + turn % 3)
        case "label":
            return known | _label(problem, rng, turn)


def _right(problem: Problem, rng: random.Random, count: int) -> set[int]:
    return set(rng.sample(range(len(problem.results)), count))


def _text(problem: Problem, right: set[int], style: str) -> str:
    said = [one.sentence.format(one.true if n in right else one.wrong) for n, one in enumerate(problem.results)]
    return "\n".join(f"- {sentence}" for sentence in said) if style == "list" else " ".join(said)


def _style(rng: random.Random) -> str:
    return rng.choice(("plain", "plain", "list"))


def _pair(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    close = turn % _CLOSE_PERIOD == 0
    wrong = 1 if close else rng.randint(total // 2, total - 1)
    texts = {
        "good": _text(problem, set(range(total)), _style(rng)),
        "bad": _text(problem, _right(problem, rng, total - wrong), _style(rng)),
    }
    longer = rng.choice(("good", "bad"))
    shorter = "bad" if longer == "good" else "good"
    if len(texts[longer]) <= len(texts[shorter]):
        gap = "\n\n" if texts[longer].startswith("- ") else " "
        texts[longer] += gap + rng.choice(_CLOSERS)
    return {
        "answers": [{"id": name, "text": text} for name, text in texts.items()],
        "better": "good",
        "tags": {"margin": "close" if close else "clear"},
    }


def _score(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    count = RIGHT[total][turn % len(RIGHT[total])]
    text = _text(problem, _right(problem, rng, count), _style(rng))
    return {"answers": [{"id": "only", "text": text}], "scores": {"only": gold(count, total)}, "tags": {}}


def _label(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    wanted = SHIPPED.names[turn % len(SHIPPED.names)]
    count = rng.choice([n for n in range(total + 1) if grade_class(n, total) == wanted])
    text = _text(problem, _right(problem, rng, count), _style(rng))
    return {"answers": [{"id": "only", "text": text}], "label": wanted, "tags": {}}


def _rubric(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    text = _text(problem, _right(problem, rng, RIGHT[total][turn % len(RIGHT[total])]), _style(rng))
    said = [one.sentence.format(one.true).removesuffix(".") for one in problem.results]
    criteria = [
        {
            "id": f"c{number}",
            "text": f'The answer holds the statement "{sentence}".',
            "points": 1,
            "check": {"kind": "contains", "value": sentence},
        }
        for number, sentence in enumerate(said, 1)
    ]
    met = {f"c{n}": verify({"kind": "contains", "value": sentence}, text) for n, sentence in enumerate(said, 1)}
    return {"answers": [{"id": "only", "text": text}], "criteria": criteria, "met": {"only": met}, "tags": {}}


def _list(problem: Problem, rng: random.Random, size: int) -> dict[str, object]:
    total = len(problem.results)
    counts = rng.sample(range(total + 1), size)
    names = [f"w{number}" for number in range(1, len(counts) + 1)]
    return {
        "answers": [
            {"id": name, "text": _text(problem, _right(problem, rng, count), _style(rng))}
            for name, count in zip(names, counts, strict=True)
        ],
        "better": names[counts.index(max(counts))],
        "scores": {name: gold(count, total) for name, count in zip(names, counts, strict=True)},
        "tags": {},
    }


_CLOSE_PAIRS: Final = 3

WORKINGS: Final[Mapping[str, tuple[Template, ...]]] = {
    "arithmetic": ARITHMETIC,
    "units": UNITS,
    "ordering": ORDERING,
}


def pair_of(template: Template, rng: random.Random, turn: int) -> dict[str, object] | None:
    """Return a pair without its id; None where slip and truth happen to be equal."""
    close = turn % _CLOSE_PAIRS == 0
    draft = replace(template(rng, close), close=close)
    if draft.good.result == draft.bad.result:
        return None
    end_first = rng.random() < 0.4
    good, bad = (render(one, rng.choice(("plain", "list", "bold")), end_first) for one in (draft.good, draft.bad))
    good, bad = balanced(draft, good, bad, rng.random() < 0.5)
    return {
        "question": draft.question,
        "answers": [{"id": "good", "text": good}, {"id": "bad", "text": bad}],
        "better": "good",
        "reference": draft.reference,
        "tags": {"margin": "close" if close else "clear"},
    }
