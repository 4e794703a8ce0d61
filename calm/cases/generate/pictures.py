"""
Draw pictures, each with a question whose answer the drawing knows: charts, shapes and scenes.

Pictures come in twos. Both have the same question and the same two answers; of each the other answer is true. So no
rule that reads texts alone is right in more than half of the cases, and a picture in the place of its twin turns the
verdict.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import cos, pi, sin
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from calm.core.case import Answer, Case, Criterion
from calm.core.drawing import letters, pillow
from calm.core.images import Image as Picture
from calm.errors import ConfigError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["CRITERION", "KINDS", "SIZE", "Canvas", "picture_cases", "png_of"]

SIZE: Final = (320, 240)
COLOURS: Final[Mapping[str, tuple[int, int, int]]] = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "grey": (150, 150, 150),
    "red": (214, 39, 40),
    "blue": (31, 90, 200),
    "green": (44, 140, 44),
    "yellow": (250, 210, 30),
    "orange": (255, 127, 14),
    "purple": (130, 60, 170),
    "brown": (125, 75, 45),
    "pink": (245, 150, 190),
    "sky": (200, 228, 250),
    "grass": (170, 215, 130),
    "wood": (222, 184, 135),
    "cream": (250, 240, 215),
}
INK: Final[Mapping[str, int]] = {name: place for place, name in enumerate(COLOURS)}
BRIGHT: Final = ("red", "blue", "green", "yellow", "orange", "purple", "brown", "pink")
CRITERION: Final = Criterion("shown", "The answer says what the picture shows.")
NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
PLACES: Final = ("Velmora", "Ostrane", "Quillby", "Brenholt", "Corvane", "Elskirk", "Hallvik", "Ingleth", "Norvelle")
"""Names of no place that we know of."""


class Canvas:
    """A picture of few colours, which are drawn by name."""

    def __init__(self) -> None:
        image, draw, _ = pillow()
        self.image: Image = image.new("P", SIZE, INK["white"])
        self.image.putpalette([part for colour in COLOURS.values() for part in colour])
        self._draw = draw.Draw(self.image)

    def box(self, x: float, y: float, w: float, h: float, colour: str) -> None:
        """Draw a filled rectangle by its upper left corner."""
        self._draw.rectangle((x, y, x + w, y + h), INK[colour], INK["black"])

    def disc(self, x: float, y: float, r: float, colour: str) -> None:
        """Draw a filled circle by its middle."""
        self._draw.ellipse((x - r, y - r, x + r, y + r), INK[colour], INK["black"])

    def area(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Draw a filled polygon."""
        self._draw.polygon(points, INK[colour], INK["black"])

    def line(self, points: Sequence[tuple[float, float]], colour: str = "black", width: int = 2) -> None:
        """Draw a line through points."""
        self._draw.line(points, INK[colour], width)

    def slice(self, start: float, end: float, colour: str) -> None:
        """Draw a slice of a pie in the middle of the picture, by its angles in degrees."""
        self._draw.pieslice((70, 35, 250, 215), start, end, INK[colour], INK["black"])

    def write(self, x: float, y: float, text: str) -> None:
        """Write a text with its upper middle at a place."""
        mask = letters(text, 2)
        self.image.paste(INK["black"], (round(x - mask.width / 2), round(y)), mask)


class Twins(NamedTuple):
    """A question, how an answer says a thing (`{}`), and two such things: each is true of one picture of a pair."""

    question: str
    answer: str
    two: Sequence[str]


Pair = tuple[Canvas, Canvas]
"""Where twins are drawn: of the first picture the first of two things is true."""
Make = Callable[[Random, Pair], Twins]
_TRIES: Final = 100


def picture_cases(count: int, seed: int, prefix: str) -> Iterator[Case]:
    """
    Return an iterator over so many cases about pictures, the same for a seed, each with a right and a wrong answer.

    Twins follow each other, so the count is even; a smaller one gives the beginning of a larger one. The tag `twin` of
    a case names the one about whose picture its wrong answer is right.

    Raises:
        ConfigError: Pillow is not installed, or there are not so many pictures that differ.
    """
    rng = Random(f"pictures/{seed}")
    makes = [(kind, make) for row in zip(*KINDS.values(), strict=True) for kind, make in zip(KINDS, row, strict=True)]
    known: set[tuple[str, bytes]] = set()
    for number in range(0, count, 2):
        kind, make = makes[number // 2 % len(makes)]
        twins, pair = _new(make, rng, known)
        texts = [text[0].upper() + text[1:] for text in map(twins.answer.format, twins.two)]
        names = [f"{prefix}-{number + place:03d}" for place in (1, 2)]
        tags = {"category": "pictures", "kind": kind, "template": make.__name__.strip("_")}
        for place, ids in enumerate((("good", "bad"), ("bad", "good"))):  # the texts are in one order
            yield Case(
                names[place],
                twins.question,
                tuple(map(Answer, ids, texts)),
                better="good",
                criteria=(CRITERION,),
                met={"good": {CRITERION.id: True}, "bad": {CRITERION.id: False}},
                scores={"good": 10.0, "bad": 1.0},
                tags={**tags, "twin": names[1 - place]},
                images=(Picture(png_of(pair[place].image), f"{names[place]}.png"),),
            )


def _new(make: Make, rng: Random, known: set[tuple[str, bytes]]) -> tuple[Twins, Pair]:
    """Return twins, of whose pictures none was drawn for the same question before."""
    for _ in range(_TRIES):
        pair = Canvas(), Canvas()
        twins = make(rng, pair)
        marks = {(twins.question, canvas.image.tobytes()) for canvas in pair}
        if not marks & known:
            known.update(marks)
            return twins, pair
    raise ConfigError("--count: expected fewer, got more than there are pictures that differ; take a smaller one")


def png_of(picture: Image) -> bytes:
    """Return a picture as a file of the PNG format, with four bits for each dot."""
    stream = io.BytesIO()
    picture.save(stream, "PNG", bits=4, optimize=True)
    return stream.getvalue()


_Thing = TypeVar("_Thing")


def _row(others: Sequence[_Thing], place: int, one: _Thing) -> list[_Thing]:
    """Return things in a row, with one of them, or one more, at a place."""
    rest = [other for other in others if other != one]
    return [*rest[:place], one, *rest[place:]]


def _colour_of(what: str, two: Sequence[str]) -> Twins:
    return Twins(f"What colour is the {what}?", f"The {what} is {{}}.", two)


def _around(x: float, y: float, r: float, angle: float) -> tuple[float, float]:
    """Return a point of a circle by its angle from the top, clockwise."""
    return x + r * sin(angle), y - r * cos(angle)


# ---------------------------------------------------------------------------------------------------------- charts

FRUIT: Final = ("plums", "pears", "figs", "limes", "dates", "nuts", "kiwis")
PEOPLE: Final = ("Ada", "Bela", "Cleo", "Enzo", "Fay", "Hana", "Ivo", "Kofi", "Mina", "Otto")
RIVERS: Final = ("Arlow", "Bettle", "Corin", "Dunnet", "Esker", "Ferrin")


def _bars(rng: Random, pair: Pair) -> Twins:
    names, place, end = rng.sample(FRUIT, 4), rng.choice(PLACES), rng.choice(("most", "least"))
    sold = rng.sample(range(4, 9), 3)
    here = 10 if end == "most" else 2
    two = rng.sample(names, 2)
    for canvas, said in zip(pair, two, strict=True):
        _columns(canvas, names, _row(sold, names.index(said), here), place)
    return Twins(f"Which fruit was sold {end} at the market of {place}?", f"{{}} were sold {end}.", two)


def _values(rng: Random, pair: Pair) -> Twins:
    names, place, numbers = rng.sample(PEOPLE, 4), rng.choice(PLACES), rng.sample(range(11, 60), 5)
    asked = rng.randrange(4)
    two = [*map(str, numbers[3:])]
    for canvas, said in zip(pair, two, strict=True):
        counts = _row(numbers[:3], asked, int(said))
        _columns(canvas, names, [count / 6 for count in counts], place, [str(count) for count in counts])
    return Twins(f"How many cups did {names[asked]} sell in {place}?", f"{names[asked]} sold {{}} cups.", two)


def _columns(
    canvas: Canvas, names: Sequence[str], heights: Sequence[float], title: str, labels: Sequence[str] = ("",) * 4
) -> None:
    canvas.write(160, 4, title)
    for place, (name, height, label) in enumerate(zip(names, heights, labels, strict=True)):
        x, top = 45 + 77 * place, 205 - 15 * height
        canvas.box(x - 22, top, 44, 205 - top, BRIGHT[place])
        canvas.write(x, 212, name)
        canvas.write(x, top - 24, label)
    canvas.line([(10, 205), (310, 205)])


def _line(rng: Random, pair: Pair) -> Twins:
    first, place, end = rng.randrange(8), rng.choice(PLACES), rng.choice(("highest", "lowest"))
    months, levels = MONTHS[first : first + 5], rng.choices(range(4, 8), k=5)
    two = rng.sample(months, 2)
    for canvas, said in zip(pair, two, strict=True):
        here = 10 if end == "highest" else 1
        points = [(40 + 60 * at, 205 - 16 * (here if m == said else levels[at])) for at, m in enumerate(months)]
        canvas.write(160, 4, place)
        canvas.line([(15, 30), (15, 205), (310, 205)])
        canvas.line(points, "blue", 4)
        for (x, y), month in zip(points, months, strict=True):
            canvas.disc(x, y, 5, "blue")
            canvas.write(x, 212, month)
    return Twins(f"In which month was the lake of {place} {end}?", f"It was {end} in {{}}.", two)


def _pie(rng: Random, pair: Pair) -> Twins:
    colours, place, end = rng.sample(BRIGHT, 4), rng.choice(PLACES), rng.choice(("largest", "smallest"))
    share, turn = 0.46 if end == "largest" else 0.1, rng.randrange(360)
    two = rng.sample(colours, 2)
    for canvas, said in zip(pair, two, strict=True):
        canvas.write(160, 4, place)
        angle = float(turn)
        for colour in colours:
            size = 360 * (share if colour == said else (1 - share) / 3)
            canvas.slice(angle, angle + size, colour)
            angle += size
    return Twins(f"Which colour has the {end} part of the circle of {place}?", f"The {end} part is {{}}.", two)


def _rivers(rng: Random, pair: Pair) -> Twins:
    names, wanted = rng.sample(RIVERS, 4), rng.randrange(4)
    rank, lengths = ("longest", "second longest", "second shortest", "shortest")[wanted], [10, 7.5, 5, 2.5]
    others = rng.sample([length for length in lengths if length != lengths[wanted]], 3)
    asked = f"{', '.join(names[:3])} and {names[3]}"
    two = rng.sample(names, 2)
    for canvas, said in zip(pair, two, strict=True):
        shown = _row(others, names.index(said), lengths[wanted])
        for place, (name, length) in enumerate(zip(names, shown, strict=True)):
            canvas.write(45, 14 + 55 * place, name)
            canvas.box(90, 12 + 55 * place, 21 * length, 30, "blue")
    return Twins(f"Which of the rivers {asked} is the {rank}?", f"The {rank} is the {{}}.", two)


# ---------------------------------------------------------------------------------------------------------- shapes


Shape = Callable[[Canvas, float, float, float, str], None]


def _square(canvas: Canvas, x: float, y: float, r: float, colour: str) -> None:
    canvas.box(x - r, y - r, 2 * r, 2 * r, colour)


def _polygon(corners: int, inner: float = 1.0) -> Shape:
    """Return what draws a polygon of so many corners on a circle, every second one on a smaller circle."""

    def draw(canvas: Canvas, x: float, y: float, r: float, colour: str) -> None:
        radii = [1.15 * r * (inner if at % 2 else 1) for at in range(corners)]
        canvas.area([_around(x, y, size, 2 * pi * at / corners) for at, size in enumerate(radii)], colour)

    return draw


SHAPES: Final[Mapping[str, Shape]] = {
    "circle": Canvas.disc,
    "square": _square,
    "triangle": _polygon(3),
    "star": _polygon(10, 0.45),
    "hexagon": _polygon(6),
}
CORNERS: Final = {"upper left": (80, 60), "upper right": (240, 60), "lower left": (80, 180), "lower right": (240, 180)}
PLACED: Final = ("first", "second", "third", "fourth", "fifth")


def _count(rng: Random, pair: Pair) -> Twins:
    shape, colour = rng.choice(tuple(SHAPES)), rng.choice(BRIGHT)
    cells = rng.sample([*product(range(40, 281, 80), range(40, 201, 80))], 12)
    beside = [(s, c) for s in SHAPES for c in BRIGHT if (s == shape) != (c == colour)]
    others = rng.choices(beside, k=12)
    two = rng.sample(NUMBERS[2:8], 2)
    for canvas, said in zip(pair, two, strict=True):
        for place, (x, y) in enumerate(cells[:11]):
            what, shade = (shape, colour) if place < NUMBERS.index(said) else others[place]
            SHAPES[what](canvas, x, y, 26, shade)
    return Twins(f"How many {colour} {shape}s are in the picture?", f"The picture has {{}} {colour} {shape}s.", two)


def _corner(rng: Random, pair: Pair) -> Twins:
    corner, names, colours = rng.choice(tuple(CORNERS)), rng.sample(tuple(SHAPES), 4), rng.sample(BRIGHT, 4)
    two = rng.sample(names, 2)
    for canvas, said in zip(pair, two, strict=True):
        shapes = _row(names, [*CORNERS].index(corner), said)
        for shape, (x, y), colour in zip(shapes, CORNERS.values(), colours, strict=True):
            SHAPES[shape](canvas, x, y, 42, colour)
    return Twins(f"Which shape is in the {corner} corner?", f"The {{}} is in the {corner} corner.", two)


def _colour(rng: Random, pair: Pair) -> Twins:
    names, colours = rng.sample(tuple(SHAPES), 3), rng.sample(BRIGHT, 3)
    asked = rng.choice(names)
    two = rng.sample(colours, 2)
    for canvas, said in zip(pair, two, strict=True):
        for place, colour in enumerate(_row(colours, names.index(asked), said)):
            SHAPES[names[place]](canvas, 60 + 100 * place, 90 + 60 * (place % 2), 42, colour)
    return _colour_of(asked, two)


def _size(rng: Random, pair: Pair) -> Twins:
    end, shape, colours = rng.choice(("largest", "smallest")), rng.choice(tuple(SHAPES)), rng.sample(BRIGHT, 4)
    sizes = rng.sample((24, 27, 30), 3)
    two = rng.sample(colours, 2)
    for canvas, said in zip(pair, two, strict=True):
        radii = _row(sizes, colours.index(said), 50 if end == "largest" else 12)
        for (x, y), r, colour in zip(CORNERS.values(), radii, colours, strict=True):
            SHAPES[shape](canvas, x, y, r, colour)
    return _colour_of(f"{end} {shape}", two)


def _order(rng: Random, pair: Pair) -> Twins:
    at, shape, colours = rng.randrange(5), rng.choice(tuple(SHAPES)), rng.sample(BRIGHT, 5)
    side = rng.choice(("left", "right"))
    two = rng.sample(colours, 2)
    for canvas, said in zip(pair, two, strict=True):
        row = _row(colours, at, said)
        for place, colour in enumerate(row if side == "left" else row[::-1]):
            SHAPES[shape](canvas, 36 + 62 * place, 120, 24, colour)
    return _colour_of(f"{PLACED[at]} {shape} from the {side}", two)


# ---------------------------------------------------------------------------------------------------------- scenes


def _house(rng: Random, pair: Pair) -> Twins:
    parts = ("door", "roof", "wall")
    part, colours = rng.choice(parts), rng.sample(BRIGHT, 3)
    two = rng.sample(colours, 2)
    for canvas, said in zip(pair, two, strict=True):
        door, roof, wall = _row(colours, parts.index(part), said)
        _ground(canvas)
        canvas.box(90, 110, 140, 90, wall)
        canvas.area([(70, 110), (160, 40), (250, 110)], roof)
        canvas.box(145, 145, 34, 55, door)
        for x in (102, 192):
            canvas.box(x, 130, 26, 26, "white")
    return _colour_of(f"{part} of the house", two)


def _ground(canvas: Canvas) -> None:
    canvas.box(0, 0, 320, 200, "sky")
    canvas.box(0, 200, 320, 40, "grass")
    canvas.disc(282, 38, 22, "yellow")


THINGS: Final = ("cup", "ball", "book", "lamp", "plant")


def _thing(canvas: Canvas, name: str, x: float, y: float) -> None:
    """Draw a thing by the middle of its foot."""
    match name:
        case "cup":
            canvas.disc(x + 18, y - 18, 10, "white")
            canvas.box(x - 17, y - 36, 34, 36, "red")
        case "ball":
            canvas.disc(x, y - 20, 20, "orange")
        case "book":
            canvas.box(x - 28, y - 16, 56, 16, "blue")
            canvas.box(x - 24, y - 11, 52, 7, "white")
        case "lamp":
            canvas.box(x - 3, y - 34, 6, 34, "black")
            canvas.area([(x - 24, y - 26), (x - 12, y - 50), (x + 12, y - 50), (x + 24, y - 26)], "yellow")
        case "plant":
            canvas.disc(x, y - 40, 18, "green")
            canvas.area([(x - 16, y - 26), (x + 16, y - 26), (x + 10, y), (x - 10, y)], "brown")


def _table(rng: Random, pair: Pair) -> Twins:
    spots = {"on": (160, 120), "under": (160, 215), "to the left of": (40, 215), "to the right of": (282, 215)}
    where, names = rng.choice([*spots]), rng.sample(THINGS, 4)
    two = rng.sample(names, 2)
    for canvas, said in zip(pair, two, strict=True):
        canvas.box(0, 0, 320, 215, "cream")
        canvas.box(0, 215, 320, 25, "wood")
        for x in (84, 224):
            canvas.box(x, 132, 12, 83, "brown")
        canvas.box(74, 120, 172, 12, "brown")
        for name, (x, y) in zip(_row(names, [*spots].index(where), said), spots.values(), strict=True):
            _thing(canvas, name, x, y)
    return Twins(f"What stands {where} the table?", f"The {{}} stands {where} the table.", two)


HOURS: Final = (*NUMBERS[1:], "ten", "eleven", "twelve")


def _clock(rng: Random, pair: Pair) -> Twins:
    place, frame = rng.choice(PLACES), rng.choice(BRIGHT)
    two = rng.sample(HOURS[:-1], 2)
    for canvas, said in zip(pair, two, strict=True):
        canvas.box(0, 0, 320, 240, "cream")
        canvas.disc(160, 120, 105, frame)
        canvas.disc(160, 120, 92, "white")
        for at in range(12):
            canvas.line([_around(160, 120, r, pi * at / 6) for r in (80, 90)], width=3)
        canvas.line([(160, 120), (160, 48)], width=4)
        canvas.line([(160, 120), _around(160, 120, 45, pi * (HOURS.index(said) + 1) / 6)], width=9)
    return Twins(f"What time does the {frame} clock at the station of {place} show?", "It shows {} o'clock.", two)


def _trees(rng: Random, pair: Pair) -> Twins:
    crown, spots = rng.choice(("green", "orange", "yellow", "red")), rng.sample(range(28, 293, 44), 7)
    two = rng.sample(NUMBERS[2:8], 2)
    for canvas, said in zip(pair, two, strict=True):
        _ground(canvas)
        for place, x in enumerate(sorted(spots[: NUMBERS.index(said)])):
            y = 205 + 12 * (place % 2)
            canvas.box(x - 5, y - 50, 10, 50, "brown")
            canvas.disc(x, y - 62, 20, crown)
    return Twins(f"How many {crown} trees stand in the field?", "{} trees stand in the field.", two)


def _boats(rng: Random, pair: Pair) -> Twins:
    colours, at = rng.sample(BRIGHT, 3), rng.randrange(3)
    which = ("on the left", "in the middle", "on the right")[at]
    two = rng.sample(colours, 2)
    for canvas, said in zip(pair, two, strict=True):
        canvas.box(0, 0, 320, 150, "sky")
        canvas.box(0, 150, 320, 90, "blue")
        for x, colour in zip((60, 160, 260), _row(colours, at, said), strict=True):
            canvas.area([(x - 36, 160), (x + 36, 160), (x + 22, 184), (x - 22, 184)], "brown")
            canvas.area([(x + 2, 60), (x + 34, 150), (x + 2, 150)], colour)
            canvas.line([(x, 55), (x, 160)], width=4)
    return _colour_of(f"sail of the boat {which}", two)


KINDS: Final[Mapping[str, Sequence[Make]]] = {
    "chart": (_bars, _values, _line, _pie, _rivers),
    "shapes": (_count, _corner, _colour, _size, _order),
    "scene": (_house, _table, _clock, _trees, _boats),
}
