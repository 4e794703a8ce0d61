"""Drawing: words in pictures and small copies, by Pillow, which is only imported where something is drawn."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from io import BytesIO
from textwrap import wrap
from types import ModuleType
from typing import TYPE_CHECKING, Final

from calm.core.images import Image
from calm.errors import ConfigError

if TYPE_CHECKING:
    from PIL.Image import Image as Dots
    from PIL.ImageFont import ImageFont

BLANK: Final = Image(
    b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAPAAAAC0AQAAAACC55xFAAAAKklEQVR42u3JoQEAAAgDoOn/P+sHVgtUanLpaK211lprrbXWWmuttX7vBSCc"
        "AmealztwAAAAAElFTkSuQmCC"
    ),
    "blank.png",
)
"""A white picture."""
MARGIN: Final = 6
LEAST_WIDTH: Final = 240
"""A strip is so wide at least, in dots, whatever the picture."""
MOST_SIDE: Final = 1568
"""Dots of a side of what is drawn: models make a larger picture smaller before they look."""
DARK: Final = 128
"""From here on a dot is white."""
MOST_DOTS: Final = 25_000_000
"""A picture of more dots is not unpacked: a file of 10 KB can hold so many that they take a GB. A photo has fewer."""
MOST_SMALL: Final = 6000
"""Bytes of a small copy."""
_SIDES: Final = (160, 80)


def pillow() -> tuple[ModuleType, ModuleType, ModuleType]:
    """
    Return the modules `Image`, `ImageDraw` and `ImageFont` of Pillow.

    Raises:
        ConfigError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise ConfigError("Pillow draws pictures, and it is not installed: pip install 'pillow>=11'") from error
    return Image, ImageDraw, ImageFont


def undrawn(pictures: Sequence[Image]) -> str:
    """Return why nothing was drawn into the first of some pictures: there is none, Pillow is missing, or it is odd."""
    try:
        pillow()
    except ConfigError:
        return "no-pillow" if pictures else "no-image"
    return "no-picture" if pictures else "no-image"


@lru_cache(maxsize=512)
def letters(text: str, times: int = 1) -> Dots:
    """Return a line of text as dots, in letters so many times as large as the smallest."""
    image, draw, _ = pillow()
    _, _, width, height = _font().getbbox(text or " ")
    mask = image.new("1", (width, height))
    draw.Draw(mask).text((0, 0), text, fill=1, font=_font())
    found: Dots = mask.resize((width * times, height * times), image.Resampling.NEAREST)
    return found


@cache
def _font() -> ImageFont:
    """Return letters made of dots, the same on every machine."""
    font: ImageFont = pillow()[2].load_default_imagefont()
    return font


@lru_cache(maxsize=256)
def _strip(text: str, width: int) -> Dots:
    """Return a white strip so wide that shows a text in black."""
    times = max(2, min(4, width // 160))
    wide = (width - 2 * MARGIN) // letters("n", times).width
    lines = [letters(line, times) for line in wrap(text, max(1, wide))]
    strip: Dots = pillow()[0].new("1", (width, 2 * MARGIN + sum(line.height for line in lines)), 1)
    top = MARGIN
    for line in lines:
        strip.paste(0, (MARGIN, top), line)
        top += line.height
    return strip


def _opened(picture: Image, side: int = MOST_SIDE) -> Dots | None:
    """
    Return the dots of a picture, upright and on white; None without Pillow, of a broken one, or of too many dots.

    Of a large JPEG some dots are left out, so that the shorter side still has as many as are asked for.
    """
    try:
        image, _, _ = pillow()
    except ConfigError:
        return None
    from PIL.ImageOps import exif_transpose

    try:
        with image.open(BytesIO(picture.data)) as opened:
            opened.draft("RGB", (side, side))
            if opened.width * opened.height > MOST_DOTS:
                return None
            upright = exif_transpose(opened)
            found: Dots = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError):  # as the readers of formats raise them
        return None
    if found.mode == "RGBA":
        found, glass = image.new("RGB", found.size, "white"), found
        found.paste(glass, mask=glass)
    return found


@lru_cache(maxsize=256)
def small(picture: Image) -> str:
    """Return a small copy of a picture as a data URL, for people; itself where it is small. "" if it has none."""
    if len(picture.data) <= MOST_SMALL:
        return picture.url
    copy = _opened(picture, _SIDES[0])
    if copy is None:
        return ""
    for side in _SIDES:
        packed = BytesIO()
        copy.thumbnail((side, side))
        copy.save(packed, "JPEG", quality=60)
        if packed.tell() <= MOST_SMALL:
            return f"data:image/jpeg;base64,{b64encode(packed.getvalue()).decode('ascii')}"
    return ""


@lru_cache(maxsize=64)
def below(picture: Image, text: str) -> Image | None:
    """
    Return a picture with a strip below it that says a text; None where it cannot be drawn.

    That is so without Pillow, where the bytes are no picture, of too many dots or bytes, and of other letters than
    those of Western Europe. A JPEG stays one, with a few dots changed by its coding; anything else becomes a PNG, of
    its first frame. A large one is made smaller.
    """
    above = _opened(picture)
    if above is None or not _drawable(text):
        return None
    image, _, _ = pillow()
    above.thumbnail((MOST_SIDE, MOST_SIDE))
    strip = _strip(text, max(above.width, LEAST_WIDTH))
    whole = image.new("RGB", (strip.width, above.height + strip.height), "white")
    whole.paste(above, (0, 0))
    whole.paste(strip.convert("RGB"), (0, above.height))
    stream = BytesIO()
    if picture.media_type == "image/jpeg":
        whole.save(stream, "JPEG", quality=95)
    else:
        colours = whole.getcolors(256)
        small = whole if colours is None else whole.quantize(len(colours), dither=image.Dither.NONE)
        small.save(stream, "PNG", optimize=True)
    with suppress(ConfigError):  # too many bytes
        return Image(stream.getvalue(), f'{picture.name}, below: "{text}"')
    return None


@lru_cache(maxsize=1024)
def says_below(picture: Image, text: str) -> bool:
    """Return whether the strip below a picture says a text, as `below` draws it, dot by dot."""
    whole = _opened(picture)
    if whole is None or whole.width < LEAST_WIDTH or not _drawable(text):
        return False
    from PIL import ImageChops

    strip = _strip(text, whole.width).convert("L")
    foot = whole.convert("L").crop((0, whole.height - strip.height, whole.width, whole.height))
    return ImageChops.difference(foot.point(lambda dot: 255 * (dot >= DARK)), strip).getbbox() is None


def _drawable(text: str) -> bool:
    """Return whether there are letters for a text."""
    return text.encode("latin-1", "ignore").decode("latin-1") == text
