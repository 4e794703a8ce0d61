"""Questions about ranks, dates, places and lists in order. Each template draws names and numbers."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Final

from calm.cases.generate.working import DAYS, Draft, Template, Working, drawn_names
from calm.errors import series


def _ranking(rng: random.Random, close: bool) -> Draft:
    quality, most, least = rng.choice(
        (
            ("taller", "tallest", "shortest"), ("older", "oldest", "youngest"),
            ("faster", "fastest", "slowest"), ("heavier", "heaviest", "lightest"),
        )
    )  # fmt: skip
    names = drawn_names(rng, 4)
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
            f"A table lists 4 {what}: {series(mixed)}. What is the order from the smallest to the largest?",
            f"Someone has noted these 4 {what}: {series(mixed)}. Arrange the numbers in rising order.",
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
    right = DAYS[(today + rest) % 7]
    question = rng.choice(
        (
            f"Today is {DAYS[today]}, and the {event} is due in {days} days. Which day of the week will that be?",
            f"If today is a {DAYS[today]}, on what weekday does the {event} fall that is {days} days away?",
        )
    )
    first = f"Whole weeks do not change the weekday, and {weeks} × 7 = {weeks * 7} of the {days} days are whole weeks."
    good = Working(
        (first, f"This leaves {days} − {weeks * 7} = {rest} days to count on from {DAYS[today]}."),
        f"The {event} is on a {{}}.",
        right,
        f"Counting starts with {DAYS[(today + 1) % 7]} as day 1.",
    )
    if close:
        wrong = DAYS[(today + rest - 1) % 7]
        bad = replace(good, result=wrong, remark=f"Counting starts with {DAYS[today]} as day 1.")
    else:
        wrong = DAYS[(today - rest) % 7]
        bad = Working(
            (first, f"The other {rest} days have to be counted back from {DAYS[today]}, one at a time."),
            good.end,
            wrong,
            "Going backwards is right because the weeks have already moved the date forward.",
        )
    reference = (
        f"{days} days are {weeks} whole weeks and {rest} more days. "
        f"Counting {rest} days on from {DAYS[today]} leads to {right}, so the {event} is on a {right}."
    )
    return Draft(question, good, bad, reference)


def _queue(rng: random.Random, close: bool) -> Draft:
    name = drawn_names(rng, 1)[0]
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
    keeper = drawn_names(rng, 1)[0]
    mixed = rng.sample(words, 5)
    prefix = words[0][:2]
    question = rng.choice(
        (
            f"{keeper} writes the cards {series(mixed)} for a box file. Put these 5 words in alphabetical order.",
            f"In which order do {series(mixed)} stand in the word list that {keeper} keeps from A to Z?",
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
    name = drawn_names(rng, 1)[0]
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
