"""Decide criteria that a program can verify, and break one of them on purpose.

A check is a mapping such as ``{"kind": "max_words", "value": 40}``. Everything here is a pure function of its
arguments. The units are counted exactly as follows.

* A *word* is a run of characters without white space that holds at least one letter or digit ("well-known" is one).
* A *code block* is the lines from a line that begins with three backticks to the next such line; one that is never
  closed is no code block. The lines of code blocks are no bullets, numbered items, headings, titles or sentences.
* A *bullet* is a line that begins, after optional white space, with ``-``, ``*`` or ``•``, then white space and more.
* A *numbered item* is a line that begins, after optional white space, with a number, ``.`` or ``)``, and white space.
* A *heading* is a line that begins with one to six ``#``, then white space and more.
* A *sentence* is a piece of one line, without its bullet or number, up to ``.``, ``!`` or ``?`` (and the quotation
  marks or brackets that close there) before white space or the line's end; a last piece without such a mark counts
  too, and a piece without a word does not. So a heading is a sentence, and so is each half of "at 5 p. m. sharp".
* A *paragraph* is a run of lines that are not blank; a list or heading between blank lines is one.
* A *phrase* is found as whole words, in any letter case, with any white space between its words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from calm.errors import closest

__all__ = ["KINDS", "Kind", "problem", "verify", "violate", "words"]

_BULLET: Final = re.compile(r"^\s*[-*•]\s+(?=\S)")
_ITEM: Final = re.compile(r"^(\s*)(\d+)([.)]\s+)(?=\S)")
_HEADING: Final = re.compile(r"^#{1,6}\s+(?=\S)")
_BOLD_LINE: Final = re.compile(r"^\s*(\*\*|__)(?=[^\s*_])(.*[^\s*_])\1\s*$")
_SENTENCE_END: Final = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)")
_QUOTED: Final = re.compile(r"\"(?=\S)([^\"\n]*\w[^\"\n]*)(?<=\S)\"|“([^“”\n]*\w[^“”\n]*)”")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_STAND_INS: Final = ("thing", "item", "object", "piece", "matter")
_NEUTRAL: Final = (
    "There is a little more to say about this.",
    "The rest follows the same plain pattern.",
    "Most of it is easy to see from the lines above.",
    "A few small details are left for later.",
    "Nothing in this part changes what was said before.",
    "The order of these remarks is not important.",
    "Some readers may want to take their time here.",
    "Every remark stands on its own and can be read alone.",
    "It is a simple matter when it is taken slowly.",
    "The general picture stays the same throughout.",
    "A short pause at this place does no harm.",
    "This remark only rounds off the text.",
    "The wording could be shorter without any loss.",
    "What has been said so far is the main part.",
    "The remaining lines add only a little colour.",
)

Verify = Callable[[str, Mapping[str, object]], bool]
Violate = Callable[[str, Mapping[str, object], random.Random], Iterator[str]]


@dataclass(frozen=True)
class Kind:
    """Hold what one kind of check means: its parameters (name to ``str``, ``int`` or ``list``) and its description."""

    parameters: Mapping[str, type]
    description: str
    holds: Verify
    breaks: Violate


# ---------------------------------------------------------------------------------------------------- units of text


def _flags(lines: list[str]) -> list[bool]:
    fences = [number for number, line in enumerate(lines) if line.startswith("```")]
    inside = [False] * len(lines)
    for first, last in zip(fences[::2], fences[1::2], strict=False):
        inside[first : last + 1] = [True] * (last + 1 - first)
    return inside


def _prose(text: str) -> list[tuple[int, str]]:
    lines = text.split("\n")
    return [(number, line) for number, (line, code) in enumerate(zip(lines, _flags(lines), strict=True)) if not code]


def words(text: str) -> int:
    """Return how many words a text has; marks alone are none."""
    return sum(chunk[0].isalnum() or any(map(str.isalnum, chunk)) for chunk in text.split())


def _bare(line: str) -> str:
    return _ITEM.sub("", _BULLET.sub("", line))


def _sentences(text: str) -> int:
    return sum(words(piece) > 0 for _, line in _prose(text) for piece in _SENTENCE_END.split(_bare(line)))


def _paragraphs(text: str) -> list[str]:
    return [part.strip("\n") for part in re.split(r"\n(?:[^\S\n]*\n)+", text) if part.strip()]


def _numbers(text: str) -> list[int]:
    return [int(match[2]) for _, line in _prose(text) if (match := _ITEM.match(line))]


def _bullets(text: str) -> list[int]:
    return [number for number, line in _prose(text) if _BULLET.match(line) and not re.fullmatch(r"\s*[-*•\s]+", line)]


def _phrase(value: str) -> re.Pattern[str]:
    inner = r"\s+".join(re.escape(part) for part in value.split())
    return re.compile(rf"(?<!\w){inner}(?!\w)", re.IGNORECASE)


def _string(check: Mapping[str, object], name: str = "value") -> str:
    return str(check[name])


def _integer(check: Mapping[str, object], name: str = "value") -> int:
    value = check[name]
    return value if isinstance(value, int) else 0


def _strings(check: Mapping[str, object]) -> list[str]:
    value = check["value"]
    return [str(one) for one in value] if isinstance(value, list) else []


# ------------------------------------------------------------------------------------------------- edits that break


def _in_case(text: str, addition: str) -> str:
    """Lower the addition where the text has no capital letter, so that it breaks nothing else."""
    return addition.lower() if text == text.lower() else addition


def _after_word(text: str, rng: random.Random) -> Iterator[int]:
    """Yield the places after a prose word that another word follows on the same line, in random order."""
    lines = text.split("\n")
    code = _flags(lines)
    places: list[int] = []
    start = 0
    for number, line in enumerate(lines):
        if not code[number] and not _HEADING.match(line) and not _BOLD_LINE.match(line):
            skip = len(line) - len(_bare(line))
            places += [start + m.end() for m in re.finditer(r"[^\W\d_](?= [^\W\d_])", line) if m.start() >= skip]
        start += len(line) + 1
    rng.shuffle(places)
    yield from places


def _insert(addition: str) -> Violate:
    def edit(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
        for place in _after_word(text, rng):
            yield text[:place] + addition + text[place:]
        yield text.rstrip() + addition

    return edit


def _replace(text: str, value: str, rng: random.Random, leave: int = 0) -> Iterator[str]:
    """Replace all but ``leave`` occurrences of the phrase, at random, by a neutral noun."""
    pattern = _phrase(value)
    found = list(pattern.finditer(text))
    gone = sorted(rng.sample(range(len(found)), max(0, len(found) - leave)), reverse=True)
    for word in rng.sample(_STAND_INS, len(_STAND_INS)):
        edited = text
        for index in gone:
            match = found[index]
            stand_in = f"{word}s" if re.search(r"[^\Ws]s$", match[0]) else word
            stand_in = stand_in.capitalize() if match[0][:1].isupper() else stand_in
            edited = edited[: match.start()] + stand_in + edited[match.end() :]
        yield edited


def _break_contains_all(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    values = _strings(check)
    for value in rng.sample(values, len(values)):
        yield from _replace(text, value, rng)


def _break_avoids(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    lines = text.split("\n")
    addition = _in_case(text, f" (see also {_string(check)})")
    for number, line in rng.sample(prose := _prose(text), len(prose)):
        if words(line) and not _HEADING.match(line) and not _BOLD_LINE.match(line):
            stop = re.search(r"[.!?]*\s*$", line)
            cut = stop.start() if stop else len(line)
            yield "\n".join([*lines[:number], line[:cut] + addition + line[cut:], *lines[number + 1 :]])
    yield (text.rstrip() + addition).strip()


def _break_start(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    yield _in_case(text, rng.choice(["Well now: ", "To begin: ", "Here it is: "])) + text.lstrip()


def _break_end(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    yield text.rstrip() + rng.choice([" (so far)", " (for now)", " (in brief)"])


def _pad(text: str, rng: random.Random) -> Iterator[str]:
    """Yield the text with one, two, three ... more neutral sentences, up to some 4,000 words."""
    for _ in range(30):
        for sentence in rng.sample(_NEUTRAL, len(_NEUTRAL)):
            text = text.rstrip() + ("\n\n" if text.rstrip().endswith("```") else " ") + _in_case(text, sentence)
            yield text


def _break_max_words(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    for padded in _pad(text, rng):
        if words(padded) > _integer(check):
            yield padded
            return


def _break_max_sentences(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    for padded in _pad(text, rng):
        if _sentences(padded) > _integer(check):
            yield padded
            return


def _break_exact_sentences(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    yield next(_pad(text, rng))


def _break_min_words(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    left = _integer(check) - 1
    if left < 1:
        return
    for match in re.finditer(r"\S+", text):
        left -= any(character.isalnum() for character in match[0])
        if left == 0:
            yield text[: match.end()].rstrip(",;:.!?") + "."
            return


def _break_bullets(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    lines = text.split("\n")
    for gone in rng.sample(places := _bullets(text), len(places)):
        yield "\n".join(lines[:gone] + lines[gone + 1 :])


def _break_numbered(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    lines = text.split("\n")
    places = [number for number, line in _prose(text) if _ITEM.match(line)]
    for gone in rng.sample(places, len(places)):
        kept = list(lines)
        for place in places:
            if place > gone:
                kept[place] = _ITEM.sub(lambda m: f"{m[1]}{int(m[2]) - 1}{m[3]}", kept[place])
        yield "\n".join(kept[:gone] + kept[gone + 1 :])


def _break_lower(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    places = [m.start() for m in re.finditer(r"(?<!\w)[^\W\d_]", text) if m[0].upper() != m[0]]
    for place in rng.sample(places, len(places)):
        yield text[:place] + text[place].upper() + text[place + 1 :]


def _break_has_digits(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    for word in ("several", "some"):
        yield "\n".join(
            line[: len(line) - len(_bare(line))] + re.sub(r"\d+", word, _NUMBER.sub(word, _bare(line)))
            for line in text.split("\n")
        )


def _break_paragraphs(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    gaps = list(re.finditer(r"(?<=\S)\n(?:[^\S\n]*\n)+(?=\S)", text))
    for gap in rng.sample(gaps, len(gaps)):
        yield text[: gap.start()] + "\n" + text[gap.end() :]
    ends = list(re.finditer(r"(?<=[.!?]) (?=\S)", text))
    for end in rng.sample(ends, len(ends)):
        yield text[: end.start()] + "\n\n" + text[end.end() :]


def _break_heading(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    lines = text.split("\n")
    for number, line in _prose(text):
        bare = line
        while _HEADING.match(bare):
            bare = _HEADING.sub("", bare)
        lines[number] = bare
    yield "\n".join(lines)


def _break_bold(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    lines = text.split("\n")
    for number, line in _prose(text):
        bare = line
        while match := _BOLD_LINE.match(bare):
            bare = match[2]
        lines[number] = bare
    yield "\n".join(lines)


def _break_code(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    yield "\n".join(line for line in text.split("\n") if not line.startswith("```"))


def _break_exclamation(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    stops = [m.start() for m in re.finditer(r"(?<=\w)\.(?=\s|$)", text)]
    for stop in rng.sample(stops, len(stops)):
        if not _ITEM.match(text[text.rfind("\n", 0, stop) + 1 : stop + 3]):
            yield text[:stop] + "!" + text[stop + 1 :]
    yield text.rstrip() + "!"


def _break_quotation(text: str, check: Mapping[str, object], rng: random.Random) -> Iterator[str]:
    yield _QUOTED.sub(lambda m: m[1] or m[2] or "", text)
    yield re.sub(r"[\"“”]", "", text)


# ----------------------------------------------------------------------------------------------------------- the kinds


def _digits(text: str) -> bool:
    return any(character.isdigit() for line in text.split("\n") for character in _bare(line))


def _has_code(text: str) -> bool:
    lines = text.split("\n")
    return any(code and not line.startswith("```") for line, code in zip(lines, _flags(lines), strict=True))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


_NONE: Final[Mapping[str, type]] = MappingProxyType({})
_TEXT: Final[Mapping[str, type]] = MappingProxyType({"value": str})
_COUNT: Final[Mapping[str, type]] = MappingProxyType({"value": int})

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "contains": Kind(
            _TEXT,
            "the phrase occurs",
            lambda t, c: bool(_phrase(_string(c)).search(t)),
            lambda text, check, rng: _replace(text, _string(check), rng),
        ),
        "contains_all": Kind(
            MappingProxyType({"value": list}),
            "each of the phrases occurs",
            lambda t, c: all(_phrase(value).search(t) for value in _strings(c)),
            _break_contains_all,
        ),
        "mentions_at_least": Kind(
            MappingProxyType({"value": str, "times": int}),
            "the phrase occurs at least this many times",
            lambda text, check: len(_phrase(_string(check)).findall(text)) >= _integer(check, "times"),
            lambda text, check, rng: _replace(text, _string(check), rng, leave=_integer(check, "times") - 1),
        ),
        "avoids": Kind(
            _TEXT, "the phrase does not occur", lambda t, c: not _phrase(_string(c)).search(t), _break_avoids
        ),
        "starts_with": Kind(
            _TEXT,
            "the text begins with the phrase, letter case and outer white space aside",
            lambda t, c: _folded(t).startswith(_folded(_string(c))),
            _break_start,
        ),
        "ends_with": Kind(
            _TEXT,
            "the text ends with the phrase, letter case and outer white space aside",
            lambda t, c: _folded(t).endswith(_folded(_string(c))),
            _break_end,
        ),
        "max_words": Kind(_COUNT, "at most this many words", lambda t, c: words(t) <= _integer(c), _break_max_words),
        "min_words": Kind(_COUNT, "at least this many words", lambda t, c: words(t) >= _integer(c), _break_min_words),
        "max_sentences": Kind(
            _COUNT, "at most this many sentences", lambda t, c: _sentences(t) <= _integer(c), _break_max_sentences
        ),
        "exact_sentences": Kind(
            _COUNT, "exactly this many sentences", lambda t, c: _sentences(t) == _integer(c), _break_exact_sentences
        ),
        "exact_paragraphs": Kind(
            _COUNT,
            "exactly this many paragraphs",
            lambda t, c: len(_paragraphs(t)) == _integer(c),
            _break_paragraphs,
        ),
        "exact_bullets": Kind(
            _COUNT, "exactly so many bullets", lambda t, c: len(_bullets(t)) == _integer(c), _break_bullets
        ),
        "numbered_list": Kind(
            _COUNT,
            "exactly so many numbered items, numbered 1, 2, 3 ... in this order",
            lambda t, c: _numbers(t) == list(range(1, _integer(c) + 1)),
            _break_numbered,
        ),
        "has_heading": Kind(
            _NONE, "a heading", lambda t, c: any(_HEADING.match(line) for _, line in _prose(t)), _break_heading
        ),
        "bold_title": Kind(
            _NONE,
            "a line that is bold from end to end (** or __), in any place",
            lambda t, c: any(_BOLD_LINE.match(line) for _, line in _prose(t)),
            _break_bold,
        ),
        "has_code_block": Kind(_NONE, "a code block of at least one line", lambda t, c: _has_code(t), _break_code),
        "has_quotation": Kind(
            _NONE,
            "a pair of double quotation marks close around at least one letter or digit on one line",
            lambda t, c: bool(_QUOTED.search(t)),
            _break_quotation,
        ),
        "has_digits": Kind(
            _NONE, "a digit, other than in the number of an item", lambda t, c: _digits(t), _break_has_digits
        ),
        "no_digits": Kind(
            _NONE,
            "no digit, other than in the number of an item",
            lambda t, c: not _digits(t),
            _insert(" (see part 2)"),
        ),
        "no_commas": Kind(_NONE, "no comma", lambda t, c: "," not in t, _insert(",")),
        "no_exclamation": Kind(_NONE, "no exclamation mark", lambda t, c: "!" not in t, _break_exclamation),
        "all_lowercase": Kind(_NONE, "no capital letter", lambda t, c: t == t.lower(), _break_lower),
    }
)


# ------------------------------------------------------------------------------------------------------ the functions


def _fault(kind: str, name: str, wanted: type, value: object) -> str | None:
    if wanted is int and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        return f"check {kind!r}: parameter {name!r} must be a whole number of at least 1, not {value!r}"
    if wanted is str and (not isinstance(value, str) or not value.strip()):
        return f"check {kind!r}: parameter {name!r} must be a text that is not blank, not {value!r}"
    if wanted is list and not (
        isinstance(value, list) and value and all(isinstance(one, str) and one.strip() for one in value)
    ):
        return f"check {kind!r}: parameter {name!r} must be a list of texts that are not blank, not {value!r}"
    return None


def problem(check: Mapping[str, object]) -> str | None:
    """Return what is wrong with a check, or None for one that :func:`verify` accepts.

    The message names the kind, the parameter and the nearest known name; it is the message of the error that the
    other functions raise.

    >>> problem({"kind": "max_words", "value": 40}) is None
    True
    >>> problem({"kind": "max_word", "value": 40})
    "unknown check kind 'max_word'; did you mean 'max_words'?"
    >>> problem({"kind": "max_words", "vaule": 40})
    "check 'max_words' has no parameter 'vaule'; did you mean 'value'?"
    """
    if "kind" not in check:
        return "a check needs a 'kind'"
    kind = check["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        close = closest(str(kind), KINDS)
        return f"unknown check kind {kind!r}" + (f"; did you mean {close!r}?" if close else "")
    wanted = KINDS[kind].parameters
    for name in check:
        if name != "kind" and name not in wanted:
            close = closest(str(name), wanted)
            return f"check {kind!r} has no parameter {name!r}" + (f"; did you mean {close!r}?" if close else "")
    for name, sort in wanted.items():
        if name not in check:
            return f"check {kind!r} lacks the parameter {name!r}"
        if fault := _fault(kind, name, sort, check[name]):
            return fault
    return None


def _kind(check: Mapping[str, object]) -> Kind:
    if message := problem(check):
        raise ValueError(message)
    return KINDS[str(check["kind"])]


def verify(check: Mapping[str, object], text: str) -> bool:
    """Return whether the text meets the check.

    Raises ValueError, with the message of :func:`problem`, for a check that is not well formed.

    >>> verify({"kind": "exact_bullets", "value": 2}, "Bring:\\n- bread\\n- salt")
    True
    >>> verify({"kind": "contains", "value": "lamp"}, "Two lamps stood there.")
    False
    >>> verify({"kind": "mentions_at_least", "value": "lamp", "times": 2}, "A lamp, the Lamp.")
    True
    """
    return _kind(check).holds(text, check)


def violate(check: Mapping[str, object], text: str, rng: random.Random) -> str | None:
    """Edit a text that meets the check as little as possible so that it does not meet it any more.

    None when the text does not meet the check now, or when no edit of its kind breaks it. The edit is made for this
    check alone: verify the other checks of the text again. Equal arguments and an
    equal state of ``rng`` give an equal text.

    >>> violate({"kind": "no_commas"}, "Rain falls.", random.Random(1))
    'Rain, falls.'
    >>> violate({"kind": "has_heading"}, "# Rain\\nIt falls.", random.Random(1))
    'Rain\\nIt falls.'
    >>> violate({"kind": "no_commas"}, "Rain, snow.", random.Random(1)) is None
    True
    """
    kind = _kind(check)
    if not kind.holds(text, check):
        return None
    return next((edited for edited in kind.breaks(text, check, rng) if not kind.holds(edited, check)), None)
