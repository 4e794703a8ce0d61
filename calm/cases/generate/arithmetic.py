"""Problems about sums, prices, shares and averages. Each template draws names and numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Final

from calm.cases.generate.working import Draft, Template, Working, dec, drawn_names, slipped
from calm.errors import series


def _shopping(rng: random.Random, close: bool) -> Draft:
    name = drawn_names(rng, 1)[0]
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
        wrong = slipped(rng, a + b)
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
    name = drawn_names(rng, 1)[0]
    things = rng.choice((("bread", "cheese", "a melon"), ("soap", "a brush", "a towel"), ("paint", "glue", "tape")))
    prices = [rng.randint(6, 29) for _ in things]
    total = sum(prices)
    rest = 100 - total
    goods = [f"{thing} for {price} euros" for thing, price in zip(things, prices, strict=True)]
    question = rng.choice(
        (
            f"{name} takes {series(goods)} to the till and pays with a 100 euro note. How much change is due?",
            f"With a 100 euro note {name} pays for {series(goods)}. What should come back?",
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
    first = f"The reduction is {percent} percent of {price}, so {price} × {percent} ÷ 100 = {dec(off)} euros."
    good = Working(
        (first, f"Take this from the old price: {price} − {dec(off)} = {dec(new)}."),
        f"The {thing} now has a price of {{}} euros.",
        dec(new),
        f"A buyer saves {dec(off)} euros on the {thing} in this sale.",
    )
    if close:
        wrong = new + 10
        bad = replace(good, steps=(first, f"Take this from the old price: {price} − {dec(off)} = {dec(wrong)}."))
        bad = replace(bad, result=dec(wrong))
    else:
        wrong = Fraction(price - percent)
        bad = Working(
            (
                f"The sign says {percent}, so {percent} euros come off the old price of the {thing}.",
                f"That leaves {price} − {percent} = {dec(wrong)} at the till.",
            ),
            good.end,
            dec(wrong),
            "Percent and euros come to the same thing as long as the price is not too high.",
        )
    reference = (
        f"{percent} percent of {price} euros is {dec(off)} euros. The {thing} therefore has "
        f"a new price of {price} − {dec(off)} = {dec(new)} euros in the sale."
    )
    return Draft(question, good, bad, reference)


def _average(rng: random.Random, close: bool) -> Draft:
    name = drawn_names(rng, 1)[0]
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
    numbers = series([str(value) for value in values])
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
        wrong = slipped(rng, area)
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
    name = drawn_names(rng, 1)[0]
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
        wrong = slipped(rng, a + b) + rng.choice((0, 100))
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
    name, other = drawn_names(rng, 2)
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
        wrong = slipped(rng, rest)
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
