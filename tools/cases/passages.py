"""
Make cases whose answers rest on passages, with gold by construction.

Every institution, product and place is invented, so no model knows the answer without the passages. One passage of a
case says the figure that is asked for, and the condition under which it holds. The good answer says both and cites that
passage by its id. The near one cites another passage, or leaves out the condition. The far one says a figure and a
remark that no passage has. The functions are pure: the same count gives the same cases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Final

from calm.cases.generate.scores import gold

__all__ = ["CRITERIA", "MOST", "NEAR", "TEMPLATES", "Template", "passage_cases", "says"]

PLACES: Final = (
    *("Velmora", "Ostrane", "Quillby", "Brenholt", "Ysselby", "Corvane", "Dunmarrow", "Elskirk", "Fennardy"),
    *("Garrowmere", "Hallvik", "Ingleth", "Jorvane", "Kestermoor", "Lindrath", "Marrowby", "Norvelle", "Oxmere"),
    *("Pellworthy", "Quorley", "Ravenmoss", "Silverack", "Thornevale", "Umberlow", "Vossley", "Wendrick", "Yarlow"),
)
"""Names of no place that we know of."""
EACH: Final = 17
"""So many cases are made of each template, each about another place."""
FEWEST, MOST_PASSAGES = 3, 8
NEAR: Final = ("cites another passage", "leaves out the condition")
"""How a near answer falls short, by turns."""
CRITERIA: Final = (
    ("figure", "The answer gives the figure that the passages give."),
    ("condition", "The answer names the condition under which the figure holds."),
    ("citation", "The answer cites, in brackets, the passage that gives the figure."),
)
FILLERS: Final = (
    "That is all that was asked for.",
    "Nothing more has to be known for this.",
    "This is the whole of the reply.",
)
"""What is true of every answer: it keeps the good ones from being the longer ones."""


@dataclass(frozen=True)
class Template:
    """
    A subject with several wordings of each part.

    `{place}` is a name, `{value}` the figure, `{when}` its condition, `{other}` a figure that no passage has, `{cite}`
    the citation with a blank before it. `beside` are passages that say other things about the same place.
    """

    name: str
    questions: tuple[str, ...]
    carriers: tuple[str, ...]
    answers: tuple[str, ...]
    bare: tuple[str, ...]
    invented: tuple[str, ...]
    unit: str
    figures: tuple[int, ...]
    conditions: tuple[str, ...]
    beside: tuple[str, ...]


def passage_cases(count: int) -> list[dict[str, object]]:
    """
    Make cases with three to eight passages and three answers each.

    Raises:
        ValueError: a count above `MOST`, or a case in which another passage than its own has the figure.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"expected a count from 1 to {MOST}, got count={count}")
    size = len(TEMPLATES)
    return [_case(number, TEMPLATES[number % size], number // size) for number in range(count)]


def _case(number: int, template: Template, turn: int) -> dict[str, object]:
    draw = Random(f"passages-1/{template.name}/{turn}")
    shift = TEMPLATES.index(template) * 5
    place = PLACES[(turn + shift) % len(PLACES)]
    right, wrong = draw.sample(template.figures, 2)
    value, other = f"{right} {template.unit}", f"{wrong} {template.unit}"
    said = {"place": place, "value": value, "when": draw.choice(template.conditions), "other": other}
    carrier = draw.choice(template.carriers).format(**said)
    size = FEWEST + (number + turn) % (MOST_PASSAGES - FEWEST + 1)
    texts = [text.format(**said) for text in draw.sample(template.beside, size - 1)]
    if any(says(text, figure) for figure in (value, other) for text in texts) or says(carrier, other):
        raise ValueError(f"{template.name}: expected one passage with {value} and none with {other}")
    at = (number * 7 + turn) % size
    passages = [*texts[:at], carrier, *texts[at:]]
    ids = [f"p{place_of}" for place_of in range(1, size + 1)]
    others = [one for one in ids if one != ids[at]]
    near = NEAR[(number + turn) % len(NEAR)]
    full, bare = draw.choice(template.answers), draw.choice(template.bare)
    cites, elsewhere = f" [{ids[at]}]", f" [{draw.choice(others)}]"
    written = {
        "good": full.format(**said, cite=cites),
        "near": full.format(**said, cite=elsewhere) if near == NEAR[0] else bare.format(**said, cite=cites),
        "far": draw.choice(template.invented).format(**said, cite=draw.choice(("", elsewhere))),
    }
    met = {
        "good": dict.fromkeys(("figure", "condition", "citation"), True),
        "near": {"figure": True, "condition": near != NEAR[1], "citation": near != NEAR[0]},
        "far": dict.fromkeys(("figure", "condition", "citation"), False),
    }
    order = draw.sample(sorted(written), 3)
    return {
        "id": f"passages-{number + 1:03}",
        "question": template.questions[turn % len(template.questions)].format(**said),
        "answers": [{"id": one, "text": _filled(written[one], draw)} for one in order],
        "better": "good",
        "scores": {one: gold(sum(met[one].values()), len(CRITERIA)) for one in sorted(written)},
        "criteria": [{"id": name, "text": text} for name, text in CRITERIA],
        "met": {one: met[one] for one in sorted(written)},
        "context": [{"id": one, "text": text} for one, text in zip(ids, passages, strict=True)],
        "tags": {
            "category": "passages",
            "template": template.name,
            "carries": ids[at],
            "figure": value,
            "condition": said["when"],
            "near": near,
        },
    }


def says(text: str, figure: str) -> bool:
    """Return whether a text has a figure; 18 days are not 8 days."""
    return re.search(rf"(?<!\d){re.escape(figure)}", text) is not None


def _filled(text: str, draw: Random) -> str:
    return f"{text} {draw.choice(FILLERS)}" if draw.random() < 0.5 else text


TEMPLATES: Final = (
    Template(
        "library-bike",
        (
            "How long may a cargo bike of the {place} Town Library be kept?",
            "For how long does the {place} Town Library lend its cargo bikes?",
        ),
        (
            "A cargo bike may be kept for {value} {when}. It has to come back clean.",
            "Cargo bikes are lent for {value} {when}; the key is at the front desk.",
        ),
        ("A cargo bike may be kept for {value} {when}{cite}.", "It is lent for {value} {when}{cite}."),
        ("A cargo bike may be kept for {value}{cite}.", "It is lent for {value}{cite}."),
        (
            "A cargo bike may be kept for {other}, and one call makes that twice as long{cite}.",
            "It is lent for {other}, longer for families with a letter of the school{cite}.",
        ),
        "days",
        (6, 9, 11, 13, 16, 18, 23),
        ("if the borrower has a resident card", "if nobody else has asked for it"),
        (
            "The {place} Town Library opens at noon on Tuesdays and closes when the market does.",
            "Films may be kept for a week. A film that comes back late costs half a crown.",
            "The reading room is on the upper floor of the {place} Town Library, beside the map cabinet.",
            "Whoever loses a library card gets a new one for two crowns at the front desk.",
            "Telescopes of the library are lent on Fridays only, after a short lesson.",
            "A group that wants to meet in the cellar hall asks the caretaker a month before.",
            "Maps older than a century do not leave the building, but they may be photographed.",
            "The {place} Town Library was built beside the old corn store and shares its courtyard.",
        ),
    ),
    Template(
        "museum-night",
        (
            "What does the night tour of the {place} Clock Museum cost?",
            "How much is a ticket for the night tour of the {place} Clock Museum?",
        ),
        (
            "The night tour costs {value} {when}. It begins under the tower.",
            "Visitors pay {value} for the night tour {when}, and bring their own lamp.",
        ),
        ("The night tour costs {value} {when}{cite}.", "One pays {value} for the night tour {when}{cite}."),
        ("The night tour costs {value}{cite}.", "One pays {value} for the night tour{cite}."),
        (
            "The night tour costs {other}, a cup of tea on the roof included{cite}.",
            "One pays {other} for the night tour, and students go in at half the price{cite}.",
        ),
        "crowns",
        (14, 17, 19, 22, 26, 29, 31),
        ("if the ticket is bought a week ahead", "on evenings before a working day"),
        (
            "The {place} Clock Museum shows water clocks on the ground floor and tower clocks above.",
            "A ticket for the day costs eight crowns; children under six pay nothing.",
            "Bags stay in the wardrobe. Umbrellas may be taken along in dry weather only.",
            "The oldest clock of the {place} Clock Museum has no hands and strikes a wooden bell.",
            "On the first Sunday of a month a watchmaker repairs visitors' clocks in the hall.",
            "The museum shop closes an hour before the museum does.",
            "Photographs are allowed without a flash, but not in the room of the sun dials.",
            "The lift of the {place} Clock Museum reaches all floors except the tower.",
        ),
    ),
    Template(
        "pump-pressure",
        (
            "To what pressure may the {place} garden pump be set?",
            "What is the highest pressure for the {place} garden pump?",
        ),
        (
            "The {place} garden pump may be set to {value} {when}.",
            "Set the pressure to {value} at most {when}; the dial clicks at each mark.",
        ),
        ("It may be set to {value} {when}{cite}.", "The highest pressure is {value} {when}{cite}."),
        ("It may be set to {value}{cite}.", "The highest pressure is {value}{cite}."),
        (
            "It may be set to {other}, which the safety valve was tested for{cite}.",
            "The highest pressure is {other}, a little less with a worn hose{cite}.",
        ),
        "bar",
        (3, 4, 6, 7, 8, 9, 11),
        ("when the blue filter is fitted", "while the pump stands on level ground"),
        (
            "Empty the {place} garden pump before the first frost and store it upright.",
            "The motor stops by itself when the tank has run dry. It starts again after a rest.",
            "Clean the inlet sieve with a soft brush; hot water would bend it.",
            "The cable of the {place} garden pump is as long as two tall men and must not be joined to another.",
            "A low hum during the first minute is normal and comes from the second wheel.",
            "Order the seals as a set; a single seal does not keep tight beside worn ones.",
            "Rain water may be pumped, sea water may not.",
            "The red lamp shows that the lid of the {place} garden pump is open.",
        ),
    ),
    Template(
        "ferry-cars",
        (
            "How long before departure must a car be at the {place} ferry?",
            "When does a car have to be at the pier of the {place} ferry?",
        ),
        (
            "Cars must be at the pier {value} before departure {when}.",
            "A car has to stand in its lane {value} before the ferry leaves {when}. Engines are off by then.",
        ),
        ("A car must be there {value} before departure {when}{cite}.", "It is {value} before departure {when}{cite}."),
        ("A car must be there {value} before departure{cite}.", "It is {value} before departure{cite}."),
        (
            "A car must be there {other} before departure, or its place goes to a lorry{cite}.",
            "It is {other} before departure, since the crew weighs each car first{cite}.",
        ),
        "minutes",
        (25, 35, 40, 45, 50, 55, 70),
        ("if it has a trailer", "on the days of the boat fair"),
        (
            "The {place} ferry crosses the sound four times a day, and twice on Sundays.",
            "People on foot go on board by the small bridge until the bell has rung twice.",
            "Dogs stay on the upper deck of the {place} ferry and wear a lead.",
            "Hot meals are served until the lighthouse comes into sight.",
            "In a storm the {place} ferry turns back to the old harbour, and tickets stay valid.",
            "Bicycles are tied to the rail beside the life boats by the crew.",
            "A ticket may be given back until the evening before, for a fee of one crown.",
            "Lorries with more than three axles book by telephone only.",
        ),
    ),
    Template(
        "lamp-returns",
        (
            "Within what time can a lamp be sent back to the {place} Lamp Works?",
            "How long does the {place} Lamp Works take lamps back?",
        ),
        (
            "The {place} Lamp Works takes a lamp back within {value} {when}.",
            "Lamps can be sent back within {value} {when}. The works pays for the parcel.",
        ),
        ("A lamp can be sent back within {value} {when}{cite}.", "It takes lamps back within {value} {when}{cite}."),
        ("A lamp can be sent back within {value}{cite}.", "It takes lamps back within {value}{cite}."),
        (
            "A lamp can be sent back within {other}, and the works calls for it at the door{cite}.",
            "It takes lamps back within {other}, for a voucher in place of money{cite}.",
        ),
        "days",
        (12, 15, 19, 24, 28, 33, 42),
        ("if the seal on its box is whole", "if the bulb has never been changed"),
        (
            "Each lamp of the {place} Lamp Works comes with a bulb and a cloth.",
            "Glass shades are blown by hand, so small bubbles are no fault.",
            "The works repairs lamps of its own make for as long as parts last.",
            "Parcels of the {place} Lamp Works leave on Mondays and Thursdays.",
            "A lamp for the garden needs the green cable, which is sold by the metre.",
            "Visitors may watch the glass blowers from the gallery on weekday mornings.",
            "The {place} Lamp Works sells no candles and no oil.",
            "A dimmer of another maker can make the lamp hum.",
        ),
    ),
    Template(
        "study-leave",
        (
            "How much study leave do people at the {place} Glassworks get in a year?",
            "How many days of study leave does the {place} Glassworks give?",
        ),
        (
            "People at the {place} Glassworks get {value} of study leave a year {when}.",
            "Study leave is {value} a year {when}. It does not add up over the years.",
        ),
        ("They get {value} of study leave {when}{cite}.", "Study leave is {value} a year {when}{cite}."),
        ("They get {value} of study leave{cite}.", "Study leave is {value} a year{cite}."),
        (
            "They get {other} of study leave, and the glassworks pays for the books{cite}.",
            "Study leave is {other} a year, which may be sold for money in winter{cite}.",
        ),
        "days",
        (4, 6, 8, 9, 11, 13, 17),
        ("once they have worked there for two years", "if the course ends with an examination"),
        (
            "The {place} Glassworks closes for the last week of the year.",
            "Whoever moves house gets a day off and may borrow the company van.",
            "Overtime is noted in the blue book and given back within the season.",
            "The canteen of the {place} Glassworks serves soup from eleven on.",
            "A sick note is needed from the third day on, and goes to the office by the gate.",
            "Work shoes are paid by the glassworks, gloves are handed out each morning.",
            "People who come by bicycle find a dry stand behind furnace two of the {place} Glassworks.",
            "Holidays are planned in February, and furnace crews choose first.",
        ),
    ),
    Template(
        "archive-upload",
        (
            "How many files can be sent to the {place} Archive at once?",
            "What is the largest number of files in one upload to the {place} Archive?",
        ),
        (
            "One upload to the {place} Archive takes {value} {when}.",
            "Up to {value} can be sent at once {when}. A list of what arrived comes by mail.",
        ),
        ("One upload takes {value} {when}{cite}.", "Up to {value} can be sent at once {when}{cite}."),
        ("One upload takes {value}{cite}.", "Up to {value} can be sent at once{cite}."),
        (
            "One upload takes {other}, and the rest waits in line overnight{cite}.",
            "Up to {other} can be sent at once, and packed folders count as one{cite}.",
        ),
        "files",
        (40, 60, 75, 90, 120, 150, 250),
        ("if all of them are pictures", "when the sender is signed in as a member"),
        (
            "The {place} Archive keeps letters, plans and recordings of the valley.",
            "A file name may hold letters, digits and the underscore, and nothing else.",
            "Sound is kept without loss; a smaller copy is made for listening.",
            "Members of the {place} Archive see a record on the day it arrives, others after a month.",
            "Records about living people are closed until the family agrees.",
            "The search of the {place} Archive reads old handwriting, with some mistakes.",
            "A record that was sent twice is kept once, with both senders named.",
            "Volunteers describe what is seen in a picture every second Wednesday.",
        ),
    ),
    Template(
        "plant-food",
        (
            "How much {place} Plant Food goes into a can of water?",
            "What amount of {place} Plant Food does a can of water need?",
        ),
        (
            "Put {value} of {place} Plant Food into a can of water {when}.",
            "A can of water needs {value} {when}. Stir until no grain is left.",
        ),
        ("A can of water needs {value} {when}{cite}.", "It is {value} for a can of water {when}{cite}."),
        ("A can of water needs {value}{cite}.", "It is {value} for a can of water{cite}."),
        (
            "A can of water needs {other}, after which the leaves should be rinsed{cite}.",
            "It is {other} for a can of water, and some sugar makes it work sooner{cite}.",
        ),
        "grams",
        (12, 14, 16, 18, 21, 24, 27),
        ("for plants that stand in pots", "in the months with an r in their name"),
        (
            "Keep {place} Plant Food dry and away from feed.",
            "The bag can be closed again; press the air out before.",
            "Herbs that are eaten raw get no plant food in their last week.",
            "{place} Plant Food is made of seaweed, bone and ash.",
            "Seedlings are too young for it. Wait for the fourth leaf.",
            "Brown tips of leaves are a sign of too much food or too little light.",
            "{place} Plant Food loses its strength two summers after the bag was opened.",
            "Spilt grains are swept up and put on the compost.",
        ),
    ),
    Template(
        "roof-grant",
        (
            "How much does the {place} Fund pay towards the repair of a roof?",
            "What is the grant of the {place} Fund for a roof repair?",
        ),
        (
            "The {place} Fund pays {value} towards the repair of a roof {when}.",
            "For a roof the grant is {value} {when}. It is paid after the work is seen.",
        ),
        ("The fund pays {value} {when}{cite}.", "The grant for a roof is {value} {when}{cite}."),
        ("The fund pays {value}{cite}.", "The grant for a roof is {value}{cite}."),
        (
            "The fund pays {other}, half of it before the work begins{cite}.",
            "The grant for a roof is {other}, and slate earns a tenth more{cite}.",
        ),
        "crowns",
        (450, 520, 640, 780, 860, 930, 1150),
        ("if the house is older than the railway", "where two builders have made an offer"),
        (
            "The {place} Fund was founded by three millers and helps people repair their houses.",
            "Windows are paid for only where they look onto the square.",
            "Forms are filled in by hand and brought to the mill office before the harvest.",
            "The board of the {place} Fund meets in the evening of each new moon.",
            "A family can get one grant in three years.",
            "Work that has begun before the answer of the board gets no money.",
            "The {place} Fund also lends ladders and a crane.",
            "Builders need not come from the valley, but they have to be insured.",
        ),
    ),
    Template(
        "railway-bicycle",
        (
            "What does it cost to take a bicycle on the {place} Valley Railway?",
            "How much is a bicycle ticket on the {place} Valley Railway?",
        ),
        (
            "A bicycle travels on the {place} Valley Railway for {value} {when}.",
            "The bicycle ticket costs {value} {when}, and is sold by the guard.",
        ),
        ("Taking a bicycle costs {value} {when}{cite}.", "The bicycle ticket is {value} {when}{cite}."),
        ("Taking a bicycle costs {value}{cite}.", "The bicycle ticket is {value}{cite}."),
        (
            "Taking a bicycle costs {other}, and a folded one goes in the rack for that{cite}.",
            "The bicycle ticket is {other}, and it is good for the way back, too{cite}.",
        ),
        "pence",
        (35, 45, 60, 65, 80, 85, 95),
        ("outside the market days", "if there is room in the last coach"),
        (
            "The {place} Valley Railway runs from the quarry to the lake in under an hour.",
            "On Saturdays a steam engine pulls the noon train.",
            "Children travel free up to the height of the ticket counter.",
            "The waiting room of {place} station is heated from October on.",
            "Lost things are kept in the signal box for a season.",
            "A whistle before the tunnel tells people to close the windows.",
            "The {place} Valley Railway sells no seats; whoever comes first sits.",
            "Parcels up to the weight of a calf are taken by the morning train.",
        ),
    ),
    Template(
        "camp-stay",
        (
            "How long may guests stay at the {place} camp site?",
            "What is the longest stay at the {place} camp site?",
        ),
        (
            "Guests may stay at the {place} camp site for {value} {when}.",
            "The longest stay is {value} {when}. After that the grass needs a rest.",
        ),
        ("Guests may stay for {value} {when}{cite}.", "The longest stay is {value} {when}{cite}."),
        ("Guests may stay for {value}{cite}.", "The longest stay is {value}{cite}."),
        (
            "Guests may stay for {other}, longer with a word from the warden{cite}.",
            "The longest stay is {other}, and the last of them is free{cite}.",
        ),
        "nights",
        (4, 5, 8, 9, 12, 16, 18),
        ("while the orchard is in bloom", "if they come without a car"),
        (
            "The {place} camp site lies between the river and an orchard.",
            "Fires are allowed in the stone ring, and only with wood from the warden.",
            "Warm water runs in the mornings; the cold tap is never closed.",
            "The shop beside the {place} camp site sells bread, rope and matches.",
            "Music ends when the owl house lights its lamp.",
            "Tents are put up a good arm's length from the hedge.",
            "The river at the {place} camp site is shallow in summer and strong in spring.",
            "Rubbish goes home with those who brought it.",
        ),
    ),
    Template(
        "mixer-guarantee",
        (
            "How long is the motor of the {place} dough mixer guaranteed?",
            "For what time does the maker stand for the motor of the {place} dough mixer?",
        ),
        (
            "The motor of the {place} dough mixer is guaranteed for {value} {when}.",
            "We stand for the motor for {value} {when}. Brushes wear and are not part of it.",
        ),
        ("The motor is guaranteed for {value} {when}{cite}.", "The guarantee is {value} {when}{cite}."),
        ("The motor is guaranteed for {value}{cite}.", "The guarantee is {value}{cite}."),
        (
            "The motor is guaranteed for {other}, and so are the bowl and the hook{cite}.",
            "The guarantee is {other}, and begins anew with each repair{cite}.",
        ),
        "months",
        (15, 20, 27, 30, 32, 40, 54),
        ("if the mixer was registered by card", "in kitchens that are not a bakery"),
        (
            "The {place} dough mixer kneads heavy dough at the first speed only.",
            "Wash the bowl by hand. The hook may go into the machine.",
            "The lid must click before the motor turns.",
            "A cover for the {place} dough mixer comes in grey and in red.",
            "Let the motor rest as long as it has run.",
            "Spare bowls fit all mixers of the house since the second model.",
            "The {place} dough mixer stands on four feet of rubber, which can be turned.",
            "Flour on the vents is brushed away once a week.",
        ),
    ),
)
MOST: Final = EACH * len(TEMPLATES)
"""So many cases can be made: more would repeat a place."""
