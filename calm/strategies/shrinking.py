"""
The simplest text that still does what an edited text does.

    a text and its edited copy --pieces_between--> Pieces --simplest--> fewer and plainer Pieces --rendered--> a text

`pieces_between` splits both texts into tokens: what an edit did is so many tokens taken away at a place, and others put
there. `minimal` is the search: what `hypothesis.find` does, with a seed and with examples to start from. `find` takes
no seed without giving up its example database, and stops to shrink after five minutes of a clock, but a search must end
alike whether its judge is fast or slow. So `minimal`, and nothing else, drives the engine below `find`
(`ConjectureRunner`), which is not a public name: see decision 29.

`simplest` shrinks in spaces, one after the other. In each a smaller choice is simpler for a person, and each is made
for what Hypothesis' shrinker does well: it halves integers, deletes from short lists, and lowers single choices.

| space | what is chosen | what becomes simpler |
|---|---|---|
| `Windows` | for each place, a run of the words that were added there | fewer places, fewer words |
| `Chosen` | which parts of a list stay, in order | fewer words; of several edits, fewer edits |
| `Insertions` | places, what is taken away there, and the words that are put there | commoner words, plainer places |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final, Generic, TypeVar

import regex
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.control import BuildContext
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.engine import ConjectureRunner, RunIsComplete
from hypothesis.internal.escalation import InterestingOrigin
from rapidfuzz.distance import Indel

T = TypeVar("T")

_WORD = r"[[\w\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}]]+"
_TOKEN = regex.compile(rf"\s*\n\s*|[^\S\n]*(?:{_WORD}(?:['’]{_WORD})*|\S)|[^\S\n]+", regex.V1)
"""
A line break with the white space around it, a word or another sign with the blanks before it, or blanks alone. A sign
of Chinese and of Japanese script is a token of its own, as these write no blanks. So are the words and the hyphen of a
word with one: either of them may be what moves the judge.
"""
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_CLOSES: Final = ".,;:!?)]}\"'”’…"
"""Signs behind which a word does not stand without a blank."""
_OPENS: Final = "([{“‘"
_GLUES: Final = "([{“‘\"'<*_`~#"
"""Signs behind which the text itself goes on without a blank."""
FILLERS: Final = 3
"""So many of the commonest words may take the place of any other word."""
_TELLING: Final = frozenset(
    (
        *("yes", "no", "not", "never", "none", "nothing", "both", "neither", "better", "worse"),
        *("true", "false", "right", "wrong", "correct", "incorrect"),
        *("ja", "nein", "nicht", "oui", "non", "pas", "si", "sí"),
    )
)
"""Words that may be an answer or turn one round; so may a single letter."""
MOST_PIECES = 40
"""At most so many places of a text are changed at once."""
MOST_TOKENS = 2_000
"""At most so many tokens stand at one place."""
_KEY: Final = b"calm"
_UNSHRUNK: Final = b"calm.secondary"
"""Where the engine keeps examples that are not minimal: what it finds there it shrinks."""
_ONE: Final = InterestingOrigin(ValueError, None, None, (), ())
"""All examples are shrunk as one."""
LONG: Final = 8
"""From so many added words on, words that say nothing are tried in their place: it may be length alone."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens put at a place (before the token of this number), where `removes` tokens of the text are taken away."""

    place: int
    removes: int
    tokens: tuple[str, ...]


def tokens_of(text: str) -> tuple[str, ...]:
    """
    Return the tokens of a text; together they are the text.

    >>> tokens_of("Yes, it's so.")
    ('Yes', ',', " it's", ' so', '.')
    """
    return tuple(_TOKEN.findall(text))


def pieces_of(before: Sequence[str], after: Sequence[str]) -> tuple[Piece, ...]:
    """
    Return what made the tokens of one text those of another, blanks before a token aside.

    >>> pieces_of(tokens_of("It is so."), tokens_of("Surely it is so!"))
    (Piece(place=0, removes=1, tokens=('Surely', ' it')), Piece(place=3, removes=1, tokens=('!',)))
    """
    old, new = [t.strip(" ") for t in before], [t.strip(" ") for t in after]
    found: list[Piece] = []
    for one in Indel.opcodes(old, new):
        a, b, c, d = one.src_start, one.src_end, one.dest_start, one.dest_end
        if one.tag == "equal":
            continue
        last = found[-1] if found else None
        if last is not None and last.place + last.removes == a:  # a removal and what stands in its place
            found[-1] = Piece(last.place, last.removes + b - a, (*last.tokens, *after[c:d]))
        else:
            found.append(Piece(a, b - a, tuple(after[c:d])))
    return tuple(found)


def rendered(tokens: Sequence[str], pieces: Iterable[Piece]) -> str:
    """
    Return a text with pieces in it; of two that take away the same token, the later one takes what is left.

    A blank is put between two tokens that would run together.

    >>> rendered(tokens_of("It is so."), [Piece(4, 0, ("certified",)), Piece(0, 0, ("Well",))])
    'Well It is so. certified'
    """
    text, at, theirs = "", 0, True
    for piece in sorted(pieces, key=lambda p: p.place):
        place = max(at, piece.place)
        for token in tokens[at:place]:
            text, theirs = (text if theirs else _spaced(text, token, _GLUES)) + token, True
        for number, token in enumerate(piece.tokens):
            text = _spaced(text, token, "" if number else None) + token if text else token.lstrip(" ")
        at = min(len(tokens), max(place, piece.place + piece.removes))
        theirs = False
    for token in tokens[at:]:
        text, theirs = (text if theirs else _spaced(text, token, _GLUES)) + token, True
    return text


def _spaced(text: str, token: str, glues: str | None) -> str:
    """
    Return a text, with a blank at its end if a token would run into it.

    `glues` are the signs behind which a word goes on without a blank; "": all but words, None: all but words and the
    ends of sentences.
    """
    left, right = text[-1:], token[:1]
    if not left or left.isspace() or right.isspace() or (_UNSPACED.match(left) and _UNSPACED.match(right)):
        return text
    if glues:
        apart = right.isalnum() and left not in glues
    else:
        ends = _CLOSES if glues is None else ""
        apart = (left.isalnum() or left in ends) and (right.isalnum() or (glues is None and right in _OPENS))
    return f"{text} " if apart else text


def simplest_first(tokens: Iterable[str], common: Counter[str]) -> list[str]:
    """
    Return tokens without doubles, the simplest first: words before other signs, commoner ones before rarer ones.

    Args:
        tokens: the tokens.
        common: how often each word is used, in small letters.
    """

    def key(token: str) -> tuple[bool, int, int, str]:
        word = token.strip()
        return not word[:1].isalnum(), -common[word.lower()], len(word), token

    return sorted(dict.fromkeys(tokens), key=key)


def commonness(texts: Iterable[str]) -> Counter[str]:
    """Return how often each word is used in some texts, in small letters."""
    return Counter(word.lower() for text in texts for word in regex.findall(r"[\w\p{M}]+(?:['’\-][\w\p{M}]+)*", text))


def fillers(common: Counter[str]) -> tuple[str, ...]:
    """
    Return the commonest words, with a blank before each: those that may replace any other word.

    None of them is an answer by itself, or reverses one: what is found with it would be no flaw of the judge.
    """
    silent = (w for w in common if w.isalpha() and len(w) > 1 and w not in _TELLING)
    words = sorted(silent, key=lambda w: (-common[w], len(w), w))
    return tuple(f" {word}" for word in words[:FILLERS])


class Enough(Exception):
    """Raised by a predicate that can tell nothing more: what was found so far is the result."""


class _Runner(ConjectureRunner):
    """The engine without its clock: a slow judge is shrunk as far as a fast one."""

    @property
    def finish_shrinking_deadline(self) -> float | None:
        return None

    @finish_shrinking_deadline.setter
    def finish_shrinking_deadline(self, _value: float | None) -> None:
        pass


def minimal(strategy: st.SearchStrategy[T], holds: Callable[[T], bool], seed: int, known: Iterable[bytes]) -> T | None:
    """
    Return the simplest value found for which a predicate holds; None if it holds for none of the known examples.

    These are tried first, the shortest first, and what holds is shrunk. The result depends on the arguments alone.
    Simpler means fewer choices, then smaller ones.

    Args:
        strategy: lists, tuples, integers from 0 on, and booleans, in any combination, and nothing else.
        holds: the predicate. It says the same of a value each time, and raises nothing but `Enough`.
        seed: decides the order in which simpler ones are tried.
        known: examples, as `encoded` gives them.
    """
    database = InMemoryExampleDatabase()
    for one in known:
        database.save(_UNSHRUNK, one)
    found: dict[tuple[int, ...], T] = {}

    def look(data: ConjectureData) -> None:
        with BuildContext(data, wrapped_test=holds):
            one = data.draw(strategy)
        try:
            held = holds(one)
        except Enough:
            raise RunIsComplete from None
        if held:
            found[tuple(map(int, data.choices))] = one
            data.mark_interesting(_ONE)

    rules = settings(
        database=database,
        phases=[Phase.reuse, Phase.shrink],
        max_examples=100,
        deadline=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    _Runner(look, settings=rules, random=Random(seed), database_key=_KEY).run()
    return found[min(found, key=lambda drawn: (len(drawn), drawn))] if found else None


def encoded(drawn: Sequence[int | bool]) -> bytes:
    """Return what makes the engine draw these choices, as its example database keeps it."""
    return choices_to_bytes(drawn)


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """Some of the parts of a list, in their order."""

    parts: tuple[T, ...]

    @property
    def strategy(self) -> st.SearchStrategy[list[int]]:
        """The numbers of the parts that stay."""
        return st.lists(st.integers(0, max(0, len(self.parts) - 1)), max_size=len(self.parts))

    def of(self, drawn: Sequence[int]) -> tuple[T, ...] | None:
        """Return the parts; None where the numbers do not ascend."""
        if any(a >= b for a, b in pairwise(drawn)):
            return None
        return tuple(self.parts[n] for n in drawn)

    @property
    def whole(self) -> bytes:
        """All parts, encoded."""
        drawn: list[int | bool] = [choice for n in range(len(self.parts)) for choice in (True, n)]
        return encoded([*drawn, False])


@dataclass(frozen=True, slots=True)
class Windows:
    """For each piece a run of its tokens, and whether it takes away what it took away."""

    pieces: tuple[Piece, ...]

    @property
    def strategy(self) -> st.SearchStrategy[tuple[tuple[int, int, int], ...]]:
        """For each piece: how many of its first tokens, of these how many of the last, and whether it cuts."""
        runs = [
            st.tuples(st.integers(0, len(p.tokens)), st.integers(0, len(p.tokens)), st.integers(0, 1))
            for p in self.pieces
        ]
        return st.tuples(*runs)

    def of(self, drawn: Sequence[tuple[int, int, int]]) -> tuple[Piece, ...]:
        """Return the pieces that say or take away something."""
        cut = (
            Piece(p.place, p.removes * removes, p.tokens[max(0, upto - count) : upto])
            for p, (upto, count, removes) in zip(self.pieces, drawn, strict=True)
        )
        return tuple(piece for piece in cut if piece.tokens or piece.removes)

    @property
    def whole(self) -> bytes:
        """All of each piece, encoded."""
        return encoded([n for p in self.pieces for n in (len(p.tokens), len(p.tokens), int(p.removes > 0))])


@dataclass(frozen=True, slots=True)
class Insertions:
    """
    Any tokens of an alphabet at any places of a text.

    Simpler are fewer places, fewer words, earlier words of the alphabet, the end of the text rather than its beginning,
    and the beginning rather than somewhere within.
    """

    tokens: tuple[str, ...]
    alphabet: tuple[str, ...]
    removes: int = 1
    """At most so many tokens of the text are taken away at one place."""

    @property
    def strategy(self) -> st.SearchStrategy[list[tuple[int, int, list[int]]]]:
        """For each piece: its place in order of simplicity, what it takes away, and the numbers of its tokens."""
        token = st.integers(0, len(self.alphabet) - 1)
        one = st.tuples(
            st.integers(0, len(self.tokens)), st.integers(0, self.removes), st.lists(token, max_size=MOST_TOKENS)
        )
        return st.lists(one, max_size=MOST_PIECES)

    def of(self, drawn: Sequence[tuple[int, int, Sequence[int]]]) -> tuple[Piece, ...]:
        """Return the pieces that were drawn."""
        return tuple(
            Piece(order - 1 if order else len(self.tokens), removes, tuple(self.alphabet[n] for n in numbers))
            for order, removes, numbers in drawn
        )

    def encoded(self, pieces: Sequence[Piece]) -> bytes:
        """
        Return what makes Hypothesis draw these pieces.

        A list draws a yes before each of its elements and a no at its end, a tuple its parts in turn, and an integer
        itself.
        """
        number = {token: place for place, token in enumerate(self.alphabet)}
        drawn: list[int | bool] = []
        for piece in pieces:
            drawn += [True, 0 if piece.place == len(self.tokens) else piece.place + 1, piece.removes]
            for token in piece.tokens:
                drawn += [True, number[token]]
            drawn.append(False)
        return encoded([*drawn, False])


def pieces_between(before: str, after: str) -> tuple[Piece, ...]:
    """Return what made one text the other, as far as a hunt can shrink it."""
    pieces = pieces_of(tokens_of(before), tokens_of(after))[:MOST_PIECES]
    return tuple(Piece(p.place, p.removes, p.tokens[:MOST_TOKENS]) for p in pieces)


def insertions_into(before: str, pieces: Sequence[Piece], common: Counter[str]) -> Insertions:
    """
    Return the space of all that is simpler than some pieces in a text.

    Args:
        before: the text as it was.
        pieces: what was put into it.
        common: how often each word is used (`commonness`).
    """
    used = simplest_first([t for piece in pieces for t in piece.tokens], common)
    spare = [one for one in fillers(common) if one not in used]
    return Insertions(tokens_of(before), (*spare, *used) or (" a",), max([1, *(p.removes for p in pieces)]))


def insertions(text: str, edited: str) -> st.SearchStrategy[str]:
    """
    Return a strategy of texts: any of the words that an edit added, at any place, simplest first.

    Args:
        text: the text as it was.
        edited: the same text after an edit.
    """
    space = insertions_into(text, pieces_between(text, edited), Counter())
    return space.strategy.map(lambda drawn: rendered(space.tokens, space.of(drawn)))


def fewest(parts: Sequence[T], holds: Callable[[tuple[T, ...]], bool], seed: int) -> tuple[T, ...]:
    """
    Return the fewest parts of a list for which a predicate holds, as far as Hypothesis shrinks; all if it finds none.

    Args:
        parts: the list, for which it holds.
        holds: the predicate; it says the same of the same parts each time.
        seed: decides the order in which parts are dropped.
    """
    now = tuple(parts)

    def cut(ends: tuple[int, int]) -> tuple[T, ...]:
        upto, count = ends
        return now[max(0, upto - count) : upto]

    run = st.tuples(st.integers(0, len(now)), st.integers(0, len(now)))
    ends = minimal(run, lambda drawn: holds(cut(drawn)), seed, [encoded([len(now), len(now)])])
    space = Chosen(now if ends is None else cut(ends))
    found = minimal(
        space.strategy, lambda drawn: (some := space.of(drawn)) is not None and holds(some), seed, [space.whole]
    )
    return space.parts if found is None else space.of(found) or space.parts


def simplest(
    text: str, pieces: Sequence[Piece], holds: Callable[[str], bool], seed: int, common: Counter[str]
) -> tuple[Piece, ...]:
    """
    Return the simplest pieces in a text for which a predicate holds, as far as Hypothesis shrinks; else those given.

    Args:
        text: the text without the pieces.
        pieces: what is in it now; the predicate holds for the text with them.
        holds: the predicate of the whole text; it says the same of one text each time.
        seed: decides the order in which things are tried.
        common: how often each word is used.
    """
    now, tokens = tuple(pieces), tokens_of(text)

    def fits(some: Sequence[Piece]) -> bool:
        return holds(rendered(tokens, some))

    windows = Windows(now)
    run = minimal(windows.strategy, lambda drawn: fits(windows.of(drawn)), seed, [windows.whole])
    now = windows.of(run) if run is not None else now
    now = _joined(fewest(_words(now), lambda some: fits(_joined(some)), seed))
    space = insertions_into(text, now, common)
    last = minimal(space.strategy, lambda drawn: fits(space.of(drawn)), seed, [space.encoded(now)])
    return space.of(last) if last is not None else now


def by_length(
    text: str, pieces: Sequence[Piece], holds: Callable[[str], bool], seed: int, common: Counter[str]
) -> tuple[Piece, ...]:
    """
    Return the fewest words that say nothing, at the end of a text, where as many of them as were added do as much.

    Nothing where they do not: then it is not length alone. The arguments are those of `simplest`.
    """
    tokens, added = tokens_of(text), sum(len(piece.tokens) for piece in pieces)
    word = next(iter(fillers(common)), " a")

    def filled(count: int) -> tuple[Piece, ...]:
        return (Piece(len(tokens), 0, (word,) * count),)

    def held(count: int) -> bool:
        return count > 0 and holds(rendered(tokens, filled(count)))

    least = minimal(st.integers(0, added), held, seed, [encoded([added])]) if added >= LONG else None
    return filled(least) if least else ()


def _words(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for piece in pieces:
        if piece.removes:
            found.append(Piece(piece.place, piece.removes, ()))
        found += [Piece(piece.place, 0, (token,)) for token in piece.tokens]
    return tuple(found)


def _joined(words: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the pieces of `_words` as they were: one for each place."""
    found: list[Piece] = []
    for word in words:
        if found and found[-1].place == word.place:
            last = found[-1]
            found[-1] = Piece(last.place, last.removes + word.removes, (*last.tokens, *word.tokens))
        else:
            found.append(word)
    return tuple(found)
