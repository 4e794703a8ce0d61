"""Conversions of length, mass, time, speed, area and temperature. Each template draws names and numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Final

from calm.cases.generate.working import Draft, Template, Working, dec


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
        bad = replace(good, steps=(factor, f"The calculation is {value} ÷ 3.6 = {dec(wrong)}."), result=dec(wrong))
        bad = replace(bad, remark="The smaller number is due to the much shorter span of time.")
    else:
        wrong = Fraction(value * 36, 10)
        bad = Working(
            (
                "One kilometer has 1000 meters and one hour has 3600 seconds, so the speed is multiplied by 3.6.",
                f"The calculation is {value} × 3.6 = {dec(wrong)}.",
            ),
            good.end,
            dec(wrong),
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
        (first, f"One kilogram has 1000 grams, and {total} ÷ 1000 = {dec(right)}."),
        f"The {count} {pack} of {stuff} have a mass of {{}} kilograms.",
        dec(right),
        f"A single one of the {pack} has {dec(Fraction(grams, 1000))} kilograms.",
    )
    if close:
        wrong = right + rng.choice((Fraction(1, 2), Fraction(1), Fraction(-1, 2)))
        bad = replace(good, steps=(first, f"One kilogram has 1000 grams, and {total} ÷ 1000 = {dec(wrong)}."))
        bad = replace(bad, result=dec(wrong))
    else:
        wrong = Fraction(total, 100)
        bad = Working(
            (first, f"One kilogram has 100 grams, and {total} ÷ 100 = {dec(wrong)}."),
            good.end,
            dec(wrong),
            "The factor of 100 is the same as that between a meter and a centimeter.",
        )
    reference = (
        f"Since {count} × {grams} = {total} grams and a kilogram has 1000 grams, "
        f"the {count} {pack} of {stuff} weigh {total} ÷ 1000 = {dec(right)} kilograms."
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
            f"A {vessel} holds {dec(liters)} liters of {drink}. How many glasses of {glass} milliliters does it fill?",
            f"How many servings of {glass} milliliters can be poured from {dec(liters)} liters of {drink} "
            f"in a {vessel}?",
        )
    )
    first = f"A liter has 1000 milliliters, so the {vessel} contains {dec(liters)} × 1000 = {milli} milliliters."
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
        f"{dec(liters)} liters are {milli} milliliters, because a liter has 1000. "
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
        (first, f"Each inch is 2.54 centimeters, and {total} × 2.54 = {dec(right)}."),
        f"The {thing} is {{}} centimeters long.",
        dec(right),
        f"The {feet} full feet alone are {feet * 12} inches of it.",
    )
    if close:
        wrong = right + rng.choice((10, -10))
        bad = replace(good, steps=(first, f"Each inch is 2.54 centimeters, and {total} × 2.54 = {dec(wrong)}."))
        bad = replace(bad, result=dec(wrong))
    else:
        ten = feet * 10 + inches
        wrong = ten * Fraction(254, 100)
        bad = Working(
            (
                f"A foot has 10 inches, so the {thing} measures {feet} × 10 + {inches} = {ten} inches.",
                f"Each inch is 2.54 centimeters, and {ten} × 2.54 = {dec(wrong)}.",
            ),
            good.end,
            dec(wrong),
            "Feet and inches follow the decimal system, just like meters and decimeters do.",
        )
    reference = (
        f"With 12 inches to the foot, {feet} feet {inches} inches are {total} inches. "
        f"The {thing} is {total} × 2.54 = {dec(right)} centimeters long."
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
        (first, f"A kilometer has 100000 centimeters, and {centi} ÷ 100000 = {dec(right)}."),
        f"The {start} and the {goal} are {{}} kilometers apart.",
        dec(right),
        f"On this map 1 centimeter is {dec(Fraction(scale, 100000))} kilometers.",
    )
    if close:
        wrong = right + rng.choice((Fraction(1, 2), Fraction(1)))
        bad = replace(good, steps=(first, f"A kilometer has 100000 centimeters, and {centi} ÷ 100000 = {dec(wrong)}."))
        bad = replace(bad, result=dec(wrong))
    else:
        wrong = right * 10
        bad = Working(
            (first, f"A kilometer has 10000 centimeters, and {centi} ÷ 10000 = {dec(wrong)}."),
            good.end,
            dec(wrong),
            "A kilometer has 100 meters, and each of them has 100 centimeters.",
        )
    reference = (
        f"{length} centimeters at 1 : {scale} are {length} × {scale} = {centi} centimeters in nature. "
        f"As a kilometer has 100000 of them, the {start} and the {goal} are {dec(right)} kilometers apart."
    )
    return Draft(question, good, bad, reference)


UNITS: Final[tuple[Template, ...]] = (_speed, _minutes, _mass, _glasses, _feet, _fahrenheit, _tiles, _map)
