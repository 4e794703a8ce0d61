"""Make pairwise cases whose better answer a program knows: arithmetic, units and ordering.

Every case comes from a template of ours: it draws names and numbers, works the problem out, and words one answer with
the right working and one with a plausible slip. A clear pair has a wrong method, a close pair one slip at the end.
The functions are pure: the same count and seed give the same cases.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

__all__ = [
    "ARITHMETIC", "ORDERING", "UNITS", "Draft", "Template", "arithmetic_pairs", "balanced", "better_first",
    "ordering_pairs", "render", "unit_pairs",
]  # fmt: skip

_NAMES: Final = (
    "Ada", "Bela", "Cleo", "Dina", "Enzo", "Fay", "Gus", "Hana", "Ivo", "Jana", "Kofi", "Lars", "Mina", "Noor",
    "Otto", "Pia", "Remy", "Suri", "Timo", "Uma", "Vito", "Wim", "Yara", "Zeno",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MIN_WORDS: Final = 25
_CLOSE_AT: Final = (0, 3)
_CLOSE_PERIOD: Final = 7


@dataclass(frozen=True)
class Working:
    """Hold one answer in parts: its working, sentence by sentence, and its conclusion with ``{}`` for the result."""

    steps: tuple[str, ...]
    end: str
    result: str
    remark: str


@dataclass(frozen=True)
class Draft:
    """Hold a drawn problem: both answers in parts, a model answer, and whether the pair is a close one."""

    question: str
    good: Working
    bad: Working
    reference: str
    close: bool = False


Template = Callable[[random.Random, bool], Draft]


def better_first(case_id: str) -> bool:
    """Tell whether the better answer of a case stands first in the file: a hash of the id decides."""
    return int(hashlib.sha256(f"better-first:{case_id}".encode()).hexdigest(), 16) % 2 == 0


def arithmetic_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make word problems about sums, prices, shares and averages, each with a right and a wrong working."""
    return [_case("ari", "arithmetic", n, draft) for n, draft in enumerate(_drafts(ARITHMETIC, count, seed), 1)]


def unit_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make conversions of length, mass, time, speed, area and temperature, each with a right and a wrong working."""
    return [_case("uni", "units", n, draft) for n, draft in enumerate(_drafts(UNITS, count, seed), 1)]


def ordering_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make questions about ranks, dates, places and lists in order, each with a right and a wrong working."""
    return [_case("ord", "ordering", n, draft) for n, draft in enumerate(_drafts(ORDERING, count, seed), 1)]


def _case(prefix: str, category: str, number: int, draft: tuple[Draft, str, str]) -> dict[str, object]:
    problem, good, bad = draft
    case_id = f"{prefix}-{number:03}"
    answers = [{"id": "good", "text": good}, {"id": "bad", "text": bad}]
    return {
        "id": case_id,
        "question": problem.question,
        "answers": answers if better_first(case_id) else answers[::-1],
        "better": "good",
        "reference": problem.reference,
        "tags": {"category": category, "margin": "close" if problem.close else "clear"},
    }


def _drafts(templates: Sequence[Template], count: int, seed: int) -> list[tuple[Draft, str, str]]:
    """Draw distinct problems, template by template, with the texts of both answers; length and markup are balanced."""
    rng = random.Random(seed)
    longer = [n % 2 == 0 for n in range(count)]
    styles = [("plain", "plain", "list", "bold", "list", "bold")[n % 6] for n in range(count)]
    marked = [("good", "bad", "both")[n // 2 % 3] for n in range(count)]
    for plan in (longer, styles, marked):
        rng.shuffle(plan)
    made: list[tuple[Draft, str, str]] = []
    seen: set[str] = set()
    while len(made) < count:
        n = len(made)
        close = n % _CLOSE_PERIOD in _CLOSE_AT
        draft = replace(templates[n % len(templates)](rng, close), close=close)
        if draft.question in seen or draft.good.result == draft.bad.result:
            continue
        seen.add(draft.question)
        end_first = rng.random() < 0.4
        good, bad = (
            render(working, styles[n] if marked[n] in (side, "both") else "plain", end_first)
            for side, working in (("good", draft.good), ("bad", draft.bad))
        )
        made.append((draft, *balanced(draft, good, bad, longer[n])))
    return made


def render(working: Working, style: str, end_first: bool) -> str:
    """Write an answer as prose, as prose with a bold result, or as a list of steps."""
    end = working.end.format(f"**{working.result}**" if style == "bold" else working.result)
    if style == "list":
        steps = "\n".join(f"- {step}" for step in working.steps)
        return f"{end}\n\n{steps}" if end_first else f"{steps}\n\n{end}"
    return " ".join((end, *working.steps) if end_first else (*working.steps, end))


def balanced(draft: Draft, good: str, bad: str, good_longer: bool) -> tuple[str, str]:
    """Add a closing remark to the answer that is to be the longer one, and to any that is too short."""
    if len(good.split()) < _MIN_WORDS or (good_longer and len(good) <= len(bad)):
        good = _join(good, draft.good.remark)
    if len(bad.split()) < _MIN_WORDS or (not good_longer and len(bad) <= len(good)):
        bad = _join(bad, draft.bad.remark)
    return good, bad


def _join(text: str, remark: str) -> str:
    return f"{text}\n\n{remark}" if text.splitlines()[-1].startswith("- ") else f"{text} {remark}"


def _num(value: int | Fraction) -> str:
    """Write a number without needless zeros; it must have a finite decimal form."""
    return f"{float(value):.10f}".rstrip("0").rstrip(".")


def _names(rng: random.Random, count: int) -> list[str]:
    return rng.sample(_NAMES, count)


def _slip(rng: random.Random, value: int) -> int:
    """Change a number as a forgotten or doubled carry would."""
    return value + rng.choice((10, -10) if value > 20 else (1, 2))


def _listed(items: Sequence[str]) -> str:
    return ", ".join(items[:-1]) + " and " + items[-1]


# Arithmetic.


def _shopping(rng: random.Random, close: bool) -> Draft:
    name = _names(rng, 1)[0]
    first, second = rng.choice(
        (("notebooks", "pens"), ("plates", "cups"), ("rose bushes", "bags of soil"), ("tickets", "programs"))
    )
    n, m, p, q = rng.randint(3, 9), rng.randint(3, 9), rng.randint(12, 29), rng.randint(4, 11)
    a, b = n * p, m * q
    question = rng.choice(
        (
            f"{name} buys {n} {first} at {p} coins each and {m} {second} at {q} coins each. What is the total price?",
            f"A shop sells {first} for {p} coins apiece and {second} for {q} coins apiece. "
            f"How much do {n} {first} and {m} {second} cost {name} together?",
        )
    )
    steps = (f"The {first} cost {n} × {p} = {a} coins.", f"For the {second} one pays {m} × {q} = {b} coins.")
    good = Working(
        (*steps, f"Adding both parts gives {a} + {b} = {a + b}."),
        f"The total price for {name} is {{}} coins.",
        str(a + b),
        f"The {first} alone make up {a} coins of that sum.",
    )
    if close:
        wrong = _slip(rng, a + b)
        bad = replace(good, steps=(*steps, f"Adding both parts gives {a} + {b} = {wrong}."), result=str(wrong))
    else:
        wrong = (n + m) * p
        bad = Working(
            (
                f"There are {n} + {m} = {n + m} things in the basket, counting {first} and {second}.",
                f"Every one of them costs {p} coins, so we need {n + m} × {p} = {wrong}.",
            ),
            f"The total price for {name} is {{}} coins.",
            str(wrong),
            f"A single multiplication is enough here, because the {first} set the price for all.",
        )
    reference = (
        f"{n} {first} at {p} coins cost {a} coins, and {m} {second} at {q} coins cost {b} coins. "
        f"{a} + {b} = {a + b}, so {name} pays {a + b} coins in all."
    )
    return Draft(question, good, bad, reference)


def _change(rng: random.Random, close: bool) -> Draft:
    name = _names(rng, 1)[0]
    things = rng.choice((("bread", "cheese", "a melon"), ("soap", "a brush", "a towel"), ("paint", "glue", "tape")))
    prices = [rng.randint(6, 29) for _ in things]
    total = sum(prices)
    rest = 100 - total
    goods = [f"{thing} for {price} euros" for thing, price in zip(things, prices, strict=True)]
    question = rng.choice(
        (
            f"{name} takes {_listed(goods)} to the till and pays with a 100 euro note. How much change is due?",
            f"With a 100 euro note {name} pays for {_listed(goods)}. What should come back?",
        )
    )
    added = " + ".join(str(price) for price in prices)
    good = Working(
        (f"First add up the bill: {added} = {total} euros.", f"Then take it from the note: 100 − {total} = {rest}."),
        f"{name} has to get {{}} euros back at the till.",
        str(rest),
        f"You can check this, since {rest} + {total} = 100.",
    )
    if close:
        wrong = rest + 10
        bad = Working(
            (good.steps[0], f"Then take it from the note: 100 − {total} = {wrong}."),
            good.end, str(wrong), f"The bill itself is {total} euros and the note covers it with ease.",
        )  # fmt: skip
    else:
        two = prices[0] + prices[1]
        wrong = 100 - two
        bad = Working(
            (
                f"First add up the bill: {prices[0]} + {prices[1]} = {two} euros.",
                f"Then take it from the note: 100 − {two} = {wrong}.",
            ),
            good.end,
            str(wrong),
            f"The price of {things[2]} is part of the bill already and need not be added a second time.",
        )
    reference = (
        f"The bill comes to {added} = {total} euros. Since 100 − {total} = {rest}, {name} has to get {rest} euros back."
    )
    return Draft(question, good, bad, reference)


def _discount(rng: random.Random, close: bool) -> Draft:
    thing = rng.choice(("coat", "desk lamp", "tent", "bicycle helmet", "carpet", "radio", "suitcase", "blanket"))
    price, percent = rng.choice((60, 80, 120, 140, 160, 180, 220, 240)), rng.choice((5, 15, 20, 25, 30, 35, 40))
    off = Fraction(price * percent, 100)
    new = price - off
    question = rng.choice(
        (
            f"A {thing} costs {price} euros and is now sold at {percent} percent off. What is the new price?",
            f"In a sale the price of a {thing} drops by {percent} percent from {price} euros. What does it cost now?",
        )
    )
    first = f"The reduction is {percent} percent of {price}, so {price} × {percent} ÷ 100 = {_num(off)} euros."
    good = Working(
        (first, f"Take this from the old price: {price} − {_num(off)} = {_num(new)}."),
        f"The {thing} now has a price of {{}} euros.",
        _num(new),
        f"A buyer saves {_num(off)} euros on the {thing} in this sale.",
    )
    if close:
        wrong = new + 10
        bad = replace(good, steps=(first, f"Take this from the old price: {price} − {_num(off)} = {_num(wrong)}."))
        bad = replace(bad, result=_num(wrong))
    else:
        wrong = Fraction(price - percent)
        bad = Working(
            (
                f"The sign says {percent}, so {percent} euros come off the old price of the {thing}.",
                f"That leaves {price} − {percent} = {_num(wrong)} at the till.",
            ),
            good.end,
            _num(wrong),
            "Percent and euros come to the same thing as long as the price is not too high.",
        )
    reference = (
        f"{percent} percent of {price} euros is {_num(off)} euros. The {thing} therefore has "
        f"a new price of {price} − {_num(off)} = {_num(new)} euros in the sale."
    )
    return Draft(question, good, bad, reference)


def _average(rng: random.Random, close: bool) -> Draft:
    name = _names(rng, 1)[0]
    what, unit, verb = rng.choice(
        (
            ("walks", "kilometers", "walked"), ("jars of jam", "spoons of sugar", "used"),
            ("days of reading", "pages", "read"), ("mornings", "eggs", "collected"),
        )
    )  # fmt: skip
    size = rng.choice((4, 5))
    values = [rng.randint(8, 30) for _ in range(size)]
    values[-1] += -sum(values) % size
    total = sum(values)
    mean = total // size
    numbers = _listed([str(value) for value in values])
    question = rng.choice(
        (
            f"On {size} {what} {name} {verb} {numbers} {unit}. What is the average?",
            f"{name} {verb} {numbers} {unit} on {size} {what}. How many {unit} is that on average?",
        )
        if what != "jars of jam"
        else (f"For {size} {what} {name} {verb} {numbers} {unit}. What is the average per jar?",)
    )
    added = " + ".join(str(value) for value in values)
    good = Working(
        (f"The sum of all values is {added} = {total}.", f"There are {size} of them, and {total} ÷ {size} = {mean}."),
        f"On average {name} {verb} {{}} {unit}, which is the mean of the {size} values.",
        str(mean),
        f"The mean lies between the smallest value, {min(values)}, and the largest, {max(values)}.",
    )
    if close:
        wrong = mean + rng.choice((1, 2))
        bad = replace(
            good,
            steps=(good.steps[0], f"There are {size} of them, and {total} ÷ {size} = {wrong}."),
            result=str(wrong),
        )
    else:
        wrong = (min(values) + max(values) + 1) // 2
        bad = Working(
            (
                f"Only the extremes count here, which are {min(values)} and {max(values)}.",
                "The point halfway between the smallest and the largest value gives the answer.",
            ),
            f"On average {name} {verb} {{}} {unit}, as a look at both ends tells.",
            str(wrong),
            f"The other {size - 2} values lie in between, so they have no effect on the mean at all.",
        )
    reference = (
        f"All values add up to {total}. Divided by {size}, the number of values, this gives {total} ÷ {size} = {mean}, "
        f"so {name} {verb} {mean} {unit} on average."
    )
    return Draft(question, good, bad, reference)


def _sharing(rng: random.Random, close: bool) -> Draft:
    item, box = rng.choice((("apples", "crate"), ("eggs", "carton"), ("candles", "box"), ("tulip bulbs", "tray")))
    per = rng.choice((6, 7, 8, 9, 12))
    full, rest = rng.randint(9, 24), rng.randint(2, per - 2)
    total = full * per + rest
    plural = box + ("es" if box == "box" else "s")
    question = rng.choice(
        (
            f"{total} {item} are packed with {per} in each {box}. How many {plural} get full, and what is left?",
            f"One {box} holds {per} {item}. How many {plural} can be filled from {total} {item}, and how many remain?",
        )
    )
    first = f"Count how often {per} goes into {total}: {full} × {per} = {full * per}, and one more {box} would not fit."
    good = Working(
        (first, f"What is left over is {total} − {full * per} = {rest}."),
        f"{full} {plural} are full, and the number of {item} that remain is {{}}.",
        str(rest),
        f"To fill another {box} you would need {per - rest} more.",
    )
    if close:
        wrong = rest + 1 if rest + 1 < per else rest - 1
        bad = replace(good, steps=(first, f"What is left over is {total} − {full * per} = {wrong}."), result=str(wrong))
        bad = replace(bad, remark=f"They can be kept for the next {box}, which has room for {per}.")
    else:
        bad = Working(
            (
                f"Count how often {per} goes into {total}: it is a little more than {full}.",
                f"A part of a {box} counts as a whole one, so round up to {full + 1}.",
            ),
            f"{full + 1} {plural} are full, and the number of {item} that remain is {{}}.",
            "0",
            f"Rounding up makes sure that every one of the {item} is in a full {box}.",
        )
    reference = (
        f"Because {full} × {per} = {full * per} and {total} − {full * per} = {rest}, "
        f"{full} {plural} are full, and {rest} {item} remain at the end."
    )
    return Draft(question, good, bad, reference)


def _garden(rng: random.Random, close: bool) -> Draft:
    place = rng.choice(("garden", "playground", "paddock", "parking lot", "chicken run", "courtyard"))
    long, wide = rng.randint(14, 39), rng.randint(6, 13)
    area, around = long * wide, 2 * (long + wide)
    question = rng.choice(
        (
            f"A rectangular {place} is {long} meters long and {wide} meters wide. "
            "How long is the fence around it, and what is its area?",
            f"How much fence does a rectangular {place} of {long} by {wide} meters need, and how large is it?",
        )
    )
    good = Working(
        (
            f"The fence runs along all four sides, so it is 2 × {long + wide} = {around} meters long.",
            f"The area is the product of both sides, {long} × {wide} = {area}.",
        ),
        f"For the {place} you need {around} meters of fence, and its area is {{}} square meters.",
        str(area),
        f"The number {long + wide} is the sum of length and width.",
    )
    if close:
        wrong = _slip(rng, area)
        bad = replace(
            good,
            steps=(good.steps[0], f"The area is the product of both sides, {long} × {wide} = {wrong}."),
            result=str(wrong),
        )
    else:
        bad = Working(
            (
                f"The fence is the product of both sides, {long} × {wide} = {area} meters.",
                f"The area is what lies inside the four sides, 2 × {long + wide} = {around}.",
            ),
            f"For the {place} you need {area} meters of fence, and its area is {{}} square meters.",
            str(around),
            "The fence has the larger number, because it must enclose everything that is inside.",
        )
    reference = (
        f"Along its four sides the {place} needs 2 × {long + wide} = {around} meters of fence. "
        f"Length times width gives {long} × {wide} = {area}, so its area is {area} square meters."
    )
    return Draft(question, good, bad, reference)


def _travel(rng: random.Random, close: bool) -> Draft:
    name = _names(rng, 1)[0]
    first, second, vehicle = rng.choice(
        (("on country roads", "on the motorway", "drives"), ("through hills", "across the plain", "rides a motorbike"))
    )
    v, t, w, u = rng.randint(41, 69), rng.randint(2, 4), rng.randint(73, 98), rng.randint(5, 6)
    a, b = v * t, w * u
    question = rng.choice(
        (
            f"{name} {vehicle} {t} hours {first} at {v} km per hour and then {u} hours {second} at {w} km per hour. "
            "How long is the whole way?",
            f"How far does {name} get who {vehicle} {first} for {t} hours at {v} km per hour, "
            f"followed by {u} hours {second} at {w} km per hour?",
        )
    )
    steps = (f"The part {first} is {v} × {t} = {a} km long.", f"The part {second} is {w} × {u} = {b} km long.")
    good = Working(
        (*steps, f"Both parts make {a} + {b} = {a + b}."),
        f"The whole way of {name} is {{}} km.",
        str(a + b),
        f"It takes {t} + {u} = {t + u} hours without breaks.",
    )
    if close:
        wrong = _slip(rng, a + b) + rng.choice((0, 100))
        bad = replace(good, steps=(*steps, f"Both parts make {a} + {b} = {wrong}."), result=str(wrong))
    else:
        wrong = (v + w) * (t + u)
        bad = Working(
            (
                f"The speeds add up to {v} + {w} = {v + w} km per hour.",
                f"The hours add up to {t} + {u} = {t + u}, and {v + w} × {t + u} = {wrong}.",
            ),
            f"The whole way of {name} is {{}} km.",
            str(wrong),
            "Adding the speeds first saves a step and does not change the distance.",
        )
    reference = (
        f"{t} hours at {v} km per hour are {a} km, and {u} hours at {w} km per hour are {b} km. "
        f"{name} covers {a} + {b} = {a + b} km on the whole way."
    )
    return Draft(question, good, bad, reference)


def _chain(rng: random.Random, close: bool) -> Draft:
    name, other = _names(rng, 2)
    item = rng.choice(("stamps", "marbles", "shells", "postcards", "buttons", "coins", "acorns", "stickers"))
    start, gift, given = rng.randint(18, 49), rng.randint(11, 29), rng.randint(12, 17)
    total = start + gift
    doubled = 2 * total
    rest = doubled - given
    question = rng.choice(
        (
            f"{name} has {start} {item} and finds {gift} more, then doubles the collection in a trade and gives "
            f"{given} to {other}. How many {item} are left?",
            f"To {start} {item} {name} adds {gift}. A trade doubles them all, and then {other} is given {given}. "
            f"How many does {name} keep?",
        )
    )
    steps = (f"With the new {item} there are {start} + {gift} = {total}.", f"Doubling makes 2 × {total} = {doubled}.")
    good = Working(
        (*steps, f"After the gift to {other} this leaves {doubled} − {given} = {rest}."),
        f"In the end {name} has {{}} {item}.",
        str(rest),
        f"The gift comes last, so those {given} are not doubled.",
    )
    if close:
        wrong = _slip(rng, rest)
        bad = replace(
            good,
            steps=(*steps, f"After the gift to {other} this leaves {doubled} − {given} = {wrong}."),
            result=str(wrong),
        )
    else:
        wrong = start + 2 * gift - given
        bad = Working(
            (
                f"The {item} that were found are doubled, 2 × {gift} = {2 * gift}, and the old ones stay as they are.",
                f"That is {start} + {2 * gift} = {start + 2 * gift}, less {given} for {other}.",
            ),
            f"In the end {name} has {{}} {item}.",
            str(wrong),
            "A trade can only double what is new, so the first heap does not change.",
        )
    reference = (
        f"{name} first has {start} + {gift} = {total} {item}, and 2 × {total} = {doubled} after the trade. "
        f"Giving away {given} leaves {doubled} − {given} = {rest} {item}."
    )
    return Draft(question, good, bad, reference)


ARITHMETIC: Final[tuple[Template, ...]] = (
    _shopping, _change, _discount, _average, _sharing, _garden, _travel, _chain,
)  # fmt: skip


# Units.


def _speed(rng: random.Random, close: bool) -> Draft:
    thing = rng.choice(("tram", "racing pigeon", "delivery van", "motorboat", "greyhound", "school bus"))
    value = 18 * rng.randint(2, 5)
    right = value * 10 // 36
    question = rng.choice(
        (
            f"A {thing} moves at {value} kilometers per hour. How many meters per second is that?",
            f"Express the speed of a {thing}, {value} kilometers per hour, in meters per second.",
        )
    )
    factor = "One kilometer has 1000 meters and one hour has 3600 seconds, so the speed is divided by 3.6."
    good = Working(
        (factor, f"The calculation is {value} ÷ 3.6 = {right}."),
        f"The {thing} covers {{}} meters per second.",
        str(right),
        f"Over a full minute this adds up to {right} × 60 = {right * 60} meters.",
    )
    if close:
        wrong = Fraction(right) + rng.choice((2, 3, -2))
        bad = replace(good, steps=(factor, f"The calculation is {value} ÷ 3.6 = {_num(wrong)}."), result=_num(wrong))
        bad = replace(bad, remark="The smaller number is due to the much shorter span of time.")
    else:
        wrong = Fraction(value * 36, 10)
        bad = Working(
            (
                "One kilometer has 1000 meters and one hour has 3600 seconds, so the speed is multiplied by 3.6.",
                f"The calculation is {value} × 3.6 = {_num(wrong)}.",
            ),
            good.end,
            _num(wrong),
            "Meters are smaller than kilometers, and that is why the number has to grow here.",
        )
    reference = (
        f"To get meters per second, kilometers per hour are divided by 3.6. Since {value} ÷ 3.6 = {right}, "
        f"the {thing} covers {right} meters per second."
    )
    return Draft(question, good, bad, reference)


def _minutes(rng: random.Random, close: bool) -> Draft:
    event = rng.choice(("film", "train ride", "chess match", "opera", "night shift", "hike", "repair", "rehearsal"))
    hours, minutes = rng.randint(2, 7), rng.randint(11, 58)
    full = hours * 60
    total = full + minutes
    question = rng.choice(
        (
            f"A {hours} hour {minutes} minute {event}: how many minutes is it in total?",
            f"The {event} took {hours} hours and {minutes} minutes. Give that time in minutes only.",
        )
    )
    first = f"Each hour has 60 minutes, so the full hours make {hours} × 60 = {full} minutes."
    good = Working(
        (first, f"The rest is added to them: {full} + {minutes} = {total}."),
        f"The {event} has a length of {{}} minutes.",
        str(total),
        f"The {minutes} minutes are simply added, since they are in the right unit already.",
    )
    if close:
        wrong = total + rng.choice((10, -10))
        bad = replace(good, steps=(first, f"The rest is added to them: {full} + {minutes} = {wrong}."))
        bad = replace(bad, result=str(wrong))
    else:
        wrong = hours * 100 + minutes
        bad = Working(
            (
                f"Each hour counts as 100 minutes, so the full hours make {hours} × 100 = {hours * 100} minutes.",
                f"The rest is added to them: {hours * 100} + {minutes} = {wrong}.",
            ),
            good.end,
            str(wrong),
            f"With {minutes} minutes one can simply write both numbers side by side to get there.",
        )
    reference = (
        f"{hours} hours are {hours} × 60 = {full} minutes, as each hour has 60. "
        f"With the other {minutes} minutes the {event} has {full} + {minutes} = {total} minutes."
    )
    return Draft(question, good, bad, reference)


def _mass(rng: random.Random, close: bool) -> Draft:
    stuff, pack = rng.choice(
        (("rice", "bags"), ("coffee", "packs"), ("nails", "boxes"), ("birdseed", "bags"), ("honey", "jars"))
    )
    count, grams = rng.randint(5, 9), rng.choice((250, 350, 450, 650, 750, 850))
    total = count * grams
    right = Fraction(total, 1000)
    question = rng.choice(
        (
            f"What do {count} {pack} of {stuff} with {grams} grams each weigh in kilograms?",
            f"A store orders {count} {pack} of {stuff}, {grams} grams in each. How many kilograms is that?",
        )
    )
    first = f"All {pack} together weigh {count} × {grams} = {total} grams."
    good = Working(
        (first, f"One kilogram has 1000 grams, and {total} ÷ 1000 = {_num(right)}."),
        f"The {count} {pack} of {stuff} have a mass of {{}} kilograms.",
        _num(right),
        f"A single one of the {pack} has {_num(Fraction(grams, 1000))} kilograms.",
    )
    if close:
        wrong = right + rng.choice((Fraction(1, 2), Fraction(1), Fraction(-1, 2)))
        bad = replace(good, steps=(first, f"One kilogram has 1000 grams, and {total} ÷ 1000 = {_num(wrong)}."))
        bad = replace(bad, result=_num(wrong))
    else:
        wrong = Fraction(total, 100)
        bad = Working(
            (first, f"One kilogram has 100 grams, and {total} ÷ 100 = {_num(wrong)}."),
            good.end,
            _num(wrong),
            "The factor of 100 is the same as that between a meter and a centimeter.",
        )
    reference = (
        f"Since {count} × {grams} = {total} grams and a kilogram has 1000 grams, "
        f"the {count} {pack} of {stuff} weigh {total} ÷ 1000 = {_num(right)} kilograms."
    )
    return Draft(question, good, bad, reference)


def _glasses(rng: random.Random, close: bool) -> Draft:
    vessel, drink = rng.choice(
        (("jug", "lemonade"), ("canister", "water"), ("pot", "tea"), ("barrel", "cider"), ("pitcher", "milk"))
    )
    glass = rng.choice((125, 150, 200, 250, 300))
    liters = Fraction(glass * rng.choice((20, 24, 30, 32, 36, 40, 44)), 1000)
    milli = int(liters * 1000)
    right = milli // glass
    question = rng.choice(
        (
            f"A {vessel} holds {_num(liters)} liters of {drink}. How many glasses of {glass} milliliters does it fill?",
            f"How many servings of {glass} milliliters can be poured from {_num(liters)} liters of {drink} "
            f"in a {vessel}?",
        )
    )
    first = f"A liter has 1000 milliliters, so the {vessel} contains {_num(liters)} × 1000 = {milli} milliliters."
    good = Working(
        (first, f"Divide this by the size of one glass: {milli} ÷ {glass} = {right}."),
        f"The {drink} is enough for {{}} glasses.",
        str(right),
        f"Two of these glasses hold {2 * glass} milliliters together.",
    )
    if close:
        wrong = right + rng.choice((2, 4, -2))
        bad = replace(good, steps=(first, f"Divide this by the size of one glass: {milli} ÷ {glass} = {wrong}."))
        bad = replace(bad, result=str(wrong))
    else:
        wrong = 10 * right
        bad = Working(
            (
                f"A liter has 10000 milliliters, so the {vessel} contains {milli * 10} milliliters.",
                f"Divide this by the size of one glass: {milli * 10} ÷ {glass} = {wrong}.",
            ),
            good.end,
            str(wrong),
            "Milliliters are so tiny that ten thousand of them are needed to make up one liter.",
        )
    reference = (
        f"{_num(liters)} liters are {milli} milliliters, because a liter has 1000. "
        f"With {milli} ÷ {glass} = {right}, the {vessel} of {drink} is enough for {right} glasses."
    )
    return Draft(question, good, bad, reference)


def _feet(rng: random.Random, close: bool) -> Draft:
    thing = rng.choice(("plank", "door", "sail", "bookcase", "canoe", "curtain", "mattress", "ski"))
    feet, inches = rng.randint(4, 9), rng.randint(2, 11)
    total = feet * 12 + inches
    right = total * Fraction(254, 100)
    question = rng.choice(
        (
            f"A {thing} is {feet} feet {inches} inches long. What is that in centimeters, at 2.54 per inch?",
            f"Convert the length of a {thing}, {feet} feet and {inches} inches, to centimeters (1 inch is 2.54).",
        )
    )
    first = f"A foot has 12 inches, so the {thing} measures {feet} × 12 + {inches} = {total} inches."
    good = Working(
        (first, f"Each inch is 2.54 centimeters, and {total} × 2.54 = {_num(right)}."),
        f"The {thing} is {{}} centimeters long.",
        _num(right),
        f"The {feet} full feet alone are {feet * 12} inches of it.",
    )
    if close:
        wrong = right + rng.choice((10, -10))
        bad = replace(good, steps=(first, f"Each inch is 2.54 centimeters, and {total} × 2.54 = {_num(wrong)}."))
        bad = replace(bad, result=_num(wrong))
    else:
        ten = feet * 10 + inches
        wrong = ten * Fraction(254, 100)
        bad = Working(
            (
                f"A foot has 10 inches, so the {thing} measures {feet} × 10 + {inches} = {ten} inches.",
                f"Each inch is 2.54 centimeters, and {ten} × 2.54 = {_num(wrong)}.",
            ),
            good.end,
            _num(wrong),
            "Feet and inches follow the decimal system, just like meters and decimeters do.",
        )
    reference = (
        f"With 12 inches to the foot, {feet} feet {inches} inches are {total} inches. "
        f"The {thing} is {total} × 2.54 = {_num(right)} centimeters long."
    )
    return Draft(question, good, bad, reference)


def _fahrenheit(rng: random.Random, close: bool) -> Draft:
    place = rng.choice(("greenhouse", "sauna corridor", "wine cellar", "bakery", "swimming hall", "attic", "stable"))
    celsius = 5 * rng.randint(2, 9)
    middle = celsius * 9 // 5
    right = middle + 32
    question = rng.choice(
        (
            f"In a {place} it is {celsius} degrees Celsius. What does a Fahrenheit thermometer show?",
            f"Convert the temperature of a {place}, {celsius} degrees Celsius, to degrees Fahrenheit.",
        )
    )
    first = f"The Celsius value is multiplied by 9 and divided by 5: {celsius} × 9 ÷ 5 = {middle}."
    good = Working(
        (first, f"After that 32 is added, so {middle} + 32 = {right}."),
        f"In the {place} it is {{}} degrees Fahrenheit.",
        str(right),
        "Water freezes at 32 on this scale, which explains the number that is added.",
    )
    if close:
        wrong = right + rng.choice((10, -10))
        bad = replace(good, steps=(first, f"After that 32 is added, so {middle} + 32 = {wrong}."), result=str(wrong))
    else:
        wrong = middle
        bad = Working(
            (
                f"The Celsius value is multiplied by 9 and divided by 5: {celsius} × 9 ÷ 5 = {middle}.",
                "No further step is needed, because both scales begin at the same zero point.",
            ),
            good.end,
            str(wrong),
            "A Fahrenheit value is always 9 ÷ 5 times the Celsius value, in winter as in summer.",
        )
    reference = (
        f"Multiplying by 9 and dividing by 5 gives {celsius} × 9 ÷ 5 = {middle}, and adding 32 gives {right}. "
        f"It is {right} degrees Fahrenheit in the {place}."
    )
    return Draft(question, good, bad, reference)


def _tiles(rng: random.Random, close: bool) -> Draft:
    room = rng.choice(("bathroom floor", "kitchen wall", "terrace", "balcony", "hallway", "shower wall"))
    area, side = rng.randint(3, 14), rng.choice((10, 20))
    whole, tile = area * 10000, side * side
    right = whole // tile
    question = rng.choice(
        (
            f"A {room} of {area} square meters gets square tiles with sides of {side} centimeters. "
            "How many tiles are needed without gaps?",
            f"How many square tiles of {side} by {side} centimeters cover a {room} of {area} square meters exactly?",
        )
    )
    second = f"One tile covers {side} × {side} = {tile} square centimeters"
    first = f"A square meter has 10000 square centimeters, so the {room} has {area} × 10000 = {whole} of them."
    good = Working(
        (first, f"{second}, and {whole} ÷ {tile} = {right}."),
        f"The number of tiles for the {room} is {{}}.",
        str(right),
        f"For each square meter you need {10000 // tile} tiles.",
    )
    if close:
        wrong = right + rng.choice((10, 20, -10))
        bad = replace(good, steps=(first, f"{second}, and {whole} ÷ {tile} = {wrong}."), result=str(wrong))
        bad = replace(bad, remark="It is wise to buy a few more in case of breakage.")
    else:
        wrong = area * 100 // side
        bad = Working(
            (
                f"A square meter has 100 square centimeters, so the {room} has {area} × 100 = {area * 100} of them.",
                f"One tile covers {side} square centimeters, and {area * 100} ÷ {side} = {wrong}.",
            ),
            good.end,
            str(wrong),
            "The factor of 100 is the one that everyone knows from meters and centimeters.",
        )
    reference = (
        f"The {room} has {area} × 10000 = {whole} square centimeters and one tile covers {tile}. "
        f"That makes {whole} ÷ {tile} = {right} tiles."
    )
    return Draft(question, good, bad, reference)


def _map(rng: random.Random, close: bool) -> Draft:
    start, goal = rng.sample(("mill", "chapel", "ford", "lookout", "quarry", "inn", "boathouse", "dam"), 2)
    scale, length = rng.choice((20000, 25000, 40000, 50000)), rng.randint(3, 17)
    centi = scale * length
    right = Fraction(centi, 100000)
    question = rng.choice(
        (
            f"On a map with the scale 1 : {scale} the {start} and the {goal} are {length} centimeters apart. "
            "How many kilometers is that in nature?",
            f"A map at 1 : {scale} shows {length} centimeters between {start} and {goal}. "
            "What is the real distance in kilometers?",
        )
    )
    first = f"Each centimeter stands for {scale} centimeters, so the way is {length} × {scale} = {centi} centimeters."
    good = Working(
        (first, f"A kilometer has 100000 centimeters, and {centi} ÷ 100000 = {_num(right)}."),
        f"The {start} and the {goal} are {{}} kilometers apart.",
        _num(right),
        f"On this map 1 centimeter is {_num(Fraction(scale, 100000))} kilometers.",
    )
    if close:
        wrong = right + rng.choice((Fraction(1, 2), Fraction(1)))
        bad = replace(good, steps=(first, f"A kilometer has 100000 centimeters, and {centi} ÷ 100000 = {_num(wrong)}."))
        bad = replace(bad, result=_num(wrong))
    else:
        wrong = right * 10
        bad = Working(
            (first, f"A kilometer has 10000 centimeters, and {centi} ÷ 10000 = {_num(wrong)}."),
            good.end,
            _num(wrong),
            "A kilometer has 100 meters, and each of them has 100 centimeters.",
        )
    reference = (
        f"{length} centimeters at 1 : {scale} are {length} × {scale} = {centi} centimeters in nature. "
        f"As a kilometer has 100000 of them, the {start} and the {goal} are {_num(right)} kilometers apart."
    )
    return Draft(question, good, bad, reference)


UNITS: Final[tuple[Template, ...]] = (_speed, _minutes, _mass, _glasses, _feet, _fahrenheit, _tiles, _map)


# Ordering.


def _ranking(rng: random.Random, close: bool) -> Draft:
    quality, most, least = rng.choice(
        (
            ("taller", "tallest", "shortest"), ("older", "oldest", "youngest"),
            ("faster", "fastest", "slowest"), ("heavier", "heaviest", "lightest"),
        )
    )  # fmt: skip
    names = _names(rng, 4)
    clues = [f"{a} is {quality} than {b}" for a, b in itertools.pairwise(names)]
    shuffled = rng.sample(clues, len(clues))
    question = rng.choice(
        (
            f"{shuffled[0]}, {shuffled[1]}, and {shuffled[2]}. List the 4 from the {most} to the {least}.",
            f"Put 4 friends in order, the {most} first: {shuffled[0]}, {shuffled[1]}, and {shuffled[2]}.",
        )
    )
    good = Working(
        (f"Link the 3 clues end to end: {clues[0]}, {clues[1]}, and {clues[2]}.",),
        f"From the {most} to the {least} the order is {{}}.",
        ", ".join(names),
        f"{names[0]} is therefore the {most} and {names[3]} the {least} of all 4.",
    )
    if close:
        wrong = [names[0], names[2], names[1], names[3]]
        bad = replace(
            good, result=", ".join(wrong), remark=f"At the far ends are {names[0]} and {names[3]}, as the clues say."
        )
    else:
        wrong = names[::-1]
        bad = Working(
            (f"The name that stands second in a clue has more of it, so {wrong[0]} must come before {wrong[1]}.",),
            good.end,
            ", ".join(wrong),
            f"{wrong[0]} is therefore the {most} and {wrong[3]} the {least} of all 4.",
        )
    reference = (
        f"{clues[0]}, {clues[1]}, and {clues[2]}. "
        f"Joined together, these 3 clues give the order {', '.join(names)} from the {most} to the {least}."
    )
    return Draft(question, good, bad, reference)


def _decimals(rng: random.Random, close: bool) -> Draft:
    what = rng.choice(("bolt widths", "sample masses", "screw lengths", "trail lengths", "doses"))
    lead, digit = rng.randint(0, 4), rng.randint(2, 6)
    values = [
        f"{lead}.{digit}0{rng.randint(1, 9)}",
        f"{lead}.{digit}{rng.randint(1, 4)}",
        f"{lead}.{digit}{rng.randint(5, 9)}",
        f"{lead}.{digit + 2}",
    ]
    mixed = rng.sample(values, 4)
    question = rng.choice(
        (
            f"A table lists 4 {what}: {_listed(mixed)}. What is the order from the smallest to the largest?",
            f"Someone has noted these 4 {what}: {_listed(mixed)}. Arrange the numbers in rising order.",
        )
    )
    good = Working(
        (
            "Compare the digits after the point one place at a time, starting with the tenths.",
            f"{values[3]} has the most tenths and {values[0]} has 0 hundredths.",
        ),
        "In rising order the numbers are {}.",
        ", ".join(values),
        "It can help to write a 0 at the end of the shorter numbers.",
    )
    if close:
        wrong = [values[0], values[2], values[1], values[3]]
        bad = replace(good, result=", ".join(wrong))
    else:
        wrong = [values[3], values[1], values[2], values[0]]
        bad = Working(
            (
                "Read the digits after the point as a whole number and compare these numbers.",
                f"{values[0]} has the most digits, so it is the largest, and {values[3]} has the fewest.",
            ),
            good.end,
            ", ".join(wrong),
            "A longer number is always the larger one, just as it is with whole numbers.",
        )
    reference = (
        f"The tenths are compared first and then the hundredths. This gives {', '.join(values)} in rising order, "
        f"because {values[0]} has 0 hundredths and {values[3]} the most tenths."
    )
    return Draft(question, good, bad, reference)


def _weekday(rng: random.Random, close: bool) -> Draft:
    event = rng.choice(("parcel", "dentist visit", "rent payment", "exam", "delivery of hay", "choir concert", "race"))
    today, days = rng.randrange(7), rng.choice([day for day in range(16, 60) if day % 7 in (2, 3, 4, 5)])
    weeks, rest = divmod(days, 7)
    right = _DAYS[(today + rest) % 7]
    question = rng.choice(
        (
            f"Today is {_DAYS[today]}, and the {event} is due in {days} days. Which day of the week will that be?",
            f"If today is a {_DAYS[today]}, on what weekday does the {event} fall that is {days} days away?",
        )
    )
    first = f"Whole weeks do not change the weekday, and {weeks} × 7 = {weeks * 7} of the {days} days are whole weeks."
    good = Working(
        (first, f"This leaves {days} − {weeks * 7} = {rest} days to count on from {_DAYS[today]}."),
        f"The {event} is on a {{}}.",
        right,
        f"Counting starts with {_DAYS[(today + 1) % 7]} as day 1.",
    )
    if close:
        wrong = _DAYS[(today + rest - 1) % 7]
        bad = replace(good, result=wrong, remark=f"Counting starts with {_DAYS[today]} as day 1.")
    else:
        wrong = _DAYS[(today - rest) % 7]
        bad = Working(
            (first, f"The other {rest} days have to be counted back from {_DAYS[today]}, one at a time."),
            good.end,
            wrong,
            "Going backwards is right because the weeks have already moved the date forward.",
        )
    reference = (
        f"{days} days are {weeks} whole weeks and {rest} more days. "
        f"Counting {rest} days on from {_DAYS[today]} leads to {right}, so the {event} is on a {right}."
    )
    return Draft(question, good, bad, reference)


def _queue(rng: random.Random, close: bool) -> Draft:
    name = _names(rng, 1)[0]
    place = rng.choice(("ticket window", "ice cream van", "ski lift", "post office", "water pump", "stage door"))
    total, front = rng.randint(21, 48), rng.randint(5, 17)
    behind = total - front
    back = behind + 1
    question = rng.choice(
        (
            f"At the {place} {total} people stand in line, and {name} is number {front} from the front. "
            f"How many stand behind {name}, and which number is {name} from the back?",
            f"{name} is number {front} in a line of {total} people at the {place}. "
            "How many people come after, and what is the place counted from the back?",
        )
    )
    first = f"Behind {name} there are all who come after number {front}, which is {total} − {front} = {behind} people."
    good = Working(
        (first, f"From the back {name} comes right after them, so {behind} + 1 = {back}."),
        f"There are {behind} people behind, and counted from the back {name} is number {{}}.",
        str(back),
        f"As a check, {front} + {back} is one more than {total}, since {name} is counted twice.",
    )
    if close:
        bad = replace(
            good,
            steps=(first, f"From the back {name} has the same number as those people, so {behind}."),
            result=str(behind),
            remark=f"As a check, {front} + {behind} = {total}, which is everyone at the {place}.",
        )
    else:
        bad = Working(
            (
                f"Behind {name} there are as many people as in front, so {front} − 1 = {front - 1} people.",
                f"From the back {name} then has the number {front}, the same as from the front.",
            ),
            f"There are {front - 1} people behind, and counted from the back {name} is number {{}}.",
            str(front),
            "A line looks the same from both ends, so its total length does not matter.",
        )
    reference = (
        f"{total} − {front} = {behind} people are behind {name}. Counted from the back, {name} comes "
        f"right after these {behind} people and is number {back} at the {place}."
    )
    return Draft(question, good, bad, reference)


def _timeline(rng: random.Random, close: bool) -> Draft:
    town = rng.choice(("Arlen", "Brisk", "Colmar Bay", "Dunmore Hill", "Elmstad", "Ferrow", "Gault", "Hollin"))
    things = rng.sample(("bridge", "school", "theater", "harbor", "station", "hospital", "windmill", "market hall"), 4)
    start = rng.randint(1705, 1760)
    gaps = [rng.randint(7, 44) for _ in range(3)]
    years = [start, start + gaps[0], start + gaps[0] + gaps[1], start + sum(gaps)]
    a, b, c, d = things
    question = rng.choice(
        (
            f"In {town} the {a} was built in {years[0]}, the {b} {gaps[0]} years later. The {c} came {gaps[1]} years "
            f"after the {b}, and the {d} {gaps[2]} years after the {c}. When was the {d} built?",
            f"The {a} of {town} is from {years[0]}. {gaps[0]} years passed until the {b} was built, {gaps[1]} more "
            f"until the {c}, and another {gaps[2]} until the {d}. From what year is the {d}?",
        )
    )
    first = f"The {b} is from {years[0]} + {gaps[0]} = {years[1]}."
    second = f"The {c} came next, in {years[1]} + {gaps[1]} = {years[2]}."
    good = Working(
        (first, second, f"For the last step take {years[2]} + {gaps[2]} = {years[3]}."),
        f"The {d} of {town} was built in {{}}.",
        str(years[3]),
        f"So the {a} is the oldest of the 4 buildings and the {d} the youngest.",
    )
    if close:
        wrong = years[3] + rng.choice((10, -10))
        bad = replace(good, steps=(first, second, f"For the last step take {years[2]} + {gaps[2]} = {wrong}."))
        bad = replace(bad, result=str(wrong))
    else:
        wrong = years[0] + gaps[2]
        bad = Working(
            (
                f"All of the gaps are counted from the {a}, which is from {years[0]}.",
                f"The {d} came {gaps[2]} years after that, so {years[0]} + {gaps[2]} = {wrong}.",
            ),
            good.end,
            str(wrong),
            f"The years of the {b} and the {c} do not matter, because nobody asked for them.",
        )
    reference = (
        f"The {b} was built in {years[1]} and the {c} in {years[2]}. "
        f"{gaps[2]} years after the {c}, in {years[2]} + {gaps[2]} = {years[3]}, came the {d} of {town}."
    )
    return Draft(question, good, bad, reference)


_STEMS: Final = (
    ("card", "cargo", "carpet", "carrot", "cart"),
    ("plain", "planet", "plank", "plant", "plate"),
    ("stable", "staff", "stair", "stamp", "star"),
    ("harbor", "harness", "harp", "harvest", "hat"),
    ("marble", "march", "margin", "market", "mask"),
    ("pearl", "pebble", "pedal", "pelican", "pencil"),
    ("grain", "grape", "grass", "gravel", "gravy"),
    ("brick", "bridge", "brief", "bright", "brim"),
)


def _alphabet(rng: random.Random, close: bool) -> Draft:
    words = list(rng.choice(_STEMS))
    keeper = _names(rng, 1)[0]
    mixed = rng.sample(words, 5)
    prefix = words[0][:2]
    question = rng.choice(
        (
            f"{keeper} writes the cards {_listed(mixed)} for a box file. Put these 5 words in alphabetical order.",
            f"In which order do {_listed(mixed)} stand in the word list that {keeper} keeps from A to Z?",
        )
    )
    good = Working(
        (
            f"All 5 words begin with {prefix}, so the letters from number 3 on decide.",
            f"The first difference in each pair of neighbors puts {words[0]} at the top and {words[4]} at the end.",
        ),
        "The alphabetical order is {}.",
        ", ".join(words),
        "The length of a word does not matter as long as the letters differ.",
    )
    if close:
        at = rng.randrange(1, 3)
        wrong = words.copy()
        wrong[at], wrong[at + 1] = wrong[at + 1], wrong[at]
        bad = replace(good, result=", ".join(wrong))
    else:
        wrong = sorted(words, key=lambda word: (word[-1], word))
        bad = Working(
            (
                f"All 5 words begin with {prefix}, so the beginning cannot help to tell them apart.",
                f"What decides is the last letter of a word, which puts {wrong[0]} at the top.",
            ),
            good.end,
            ", ".join(wrong),
            "Where 2 words end in the same letter, their order is a matter of taste.",
        )
    reference = (
        f"As every word begins with {prefix}, the letters from number 3 on have to be compared. "
        f"In alphabetical order the 5 words are {', '.join(words)}."
    )
    return Draft(question, good, bad, reference)


def _shelf(rng: random.Random, close: bool) -> Draft:
    what, items = rng.choice(
        (
            ("books", ("atlas", "novel", "diary", "cookbook", "dictionary", "songbook")),
            ("jars", ("honey jar", "mustard jar", "pepper jar", "cumin jar", "salt jar", "ginger jar")),
            ("flags", ("red flag", "green flag", "white flag", "yellow flag", "black flag", "blue flag")),
        )
    )
    a, b, c, d = rng.sample(items, 4)
    question = rng.choice(
        (
            f"Four {what} are in a row. The {a} is at the far left, the {b} is directly right of it, "
            f"and the {c} is left of the {d}. What is the order from left to right?",
            f"In a row of 4 {what} the {c} is left of the {d}, the {a} is first from the left, "
            f"and next to it on the right is the {b}. Give the order from left to right.",
        )
    )
    places = f"Places 3 and 4 remain, and as the {c} is left of the {d}, it takes place "
    good = Working(
        (f"Place 1 goes to the {a} and place 2 to the {b}, since that is right beside it.", f"{places}3."),
        "From left to right the order is {}.",
        ", ".join((a, b, c, d)),
        "No other order fits all of the clues.",
    )
    if close:
        bad = replace(good, steps=(good.steps[0], f"{places}4."), result=", ".join((a, b, d, c)))
    else:
        bad = Working(
            (
                f"The {c} is left of the {d}, so these two have to start the row on places 1 and 2.",
                f"The {b} follows on place 3, and the {a} is at the far end on place 4.",
            ),
            good.end,
            ", ".join((c, d, b, a)),
            "The far left of a row is its end, as seen from behind.",
        )
    reference = (
        f"The {a} is first and the {b} right beside it is second. "
        f"Because the {c} is left of the {d}, they take places 3 and 4, so the order is {a}, {b}, {c}, {d}."
    )
    return Draft(question, good, bad, reference)


def _pages(rng: random.Random, close: bool) -> Draft:
    name = _names(rng, 1)[0]
    text = rng.choice(("manual", "novel", "script", "logbook", "field guide", "hymn book", "cookbook", "report"))
    first, last, per = rng.randint(23, 89), 0, rng.choice((2, 3, 4))
    last = first + per * rng.randint(12, 30) - 1
    count = last - first + 1
    question = rng.choice(
        (
            f"{name} copies pages {first} to {last} of a {text}, both included, and does {per} pages per minute. "
            "How many pages are there, and how long does it take?",
            f"From page {first} through page {last} of a {text} {name} scans everything at {per} pages per minute. "
            "Give the number of pages and the minutes needed.",
        )
    )
    step = f"Both ends count, so there are {last} − {first} + 1 = {count} pages."
    good = Working(
        (step, f"At {per} pages per minute this takes {count} ÷ {per} = {count // per} minutes."),
        f"The part of the {text} has {{}}.",
        f"{count} pages and needs {count // per} minutes",
        f"Without the 1 that is added, page {first} would be missing.",
    )
    if close:
        wrong = count // per + rng.choice((1, 2))
        bad = replace(
            good,
            steps=(step, f"At {per} pages per minute this takes {count} ÷ {per} = {wrong} minutes."),
            result=f"{count} pages and needs {wrong} minutes",
        )
    else:
        wrong = (count - 1) * per
        bad = Working(
            (
                f"Take the difference of the page numbers, so there are {last} − {first} = {count - 1} pages.",
                f"At {per} pages per minute this takes {count - 1} × {per} = {wrong} minutes.",
            ),
            good.end,
            f"{count - 1} pages and needs {wrong} minutes",
            f"The page {first} itself is where the work begins, so it need not be counted.",
        )
    reference = (
        f"As both ends count, {last} − {first} + 1 = {count} pages are copied. With {per} pages per minute, "
        f"{count} ÷ {per} = {count // per}, so {name} needs {count // per} minutes."
    )
    return Draft(question, good, bad, reference)


ORDERING: Final[tuple[Template, ...]] = (
    _ranking, _decimals, _weekday, _queue, _timeline, _alphabet, _shelf, _pages,
)  # fmt: skip
