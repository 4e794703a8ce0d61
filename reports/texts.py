"""The texts of a case as a report shows them: prompts side by side, replies by verdict, what is too long cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from typing import TypeAlias

from calm.core.texts import GAP, CaseTexts, Exchange
from calm.core.verdict import Code
from calm.results.reports.diff import Comparison, Piece, compare, marked

PAIRS = 3
"""Pairs of prompts shown for each case."""
QUESTION, PROMPT, WHOLE = 300, 4_000, 20_000
"""Characters shown of one such text, and of a prompt in full; the rest is cut, and the report says how much."""
LINES = 6
"""Lines shown on each side of what differs: so a box opens at the first difference, whatever stands before it."""
FOUND, CUT = 12, "\N{HORIZONTAL ELLIPSIS}"
"""Characters of a passage that is found again in a prompt, and the sign at the end of one that was cut."""
MARKUP = 420
"""About how many bytes of markup a case takes, without its texts."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much is shown of a case: characters of a reply, and on each side of what differs between two prompts."""

    context: int
    reply: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text, of which the last `cut` characters (or those in the middle, if there is an `end`) are left out."""

    text: str
    cut: int = 0
    end: str = ""


Messages: TypeAlias = tuple[tuple[str, Text], ...]
"""A prompt: role and text of each turn, cut to what is shown of one in full."""


@dataclass(frozen=True, slots=True)
class Turn:
    """
    One message of a prompt, or of two prompts side by side.

    `alike` are the characters of a message that both share. `marked` is a message without another one beside it, in
    which the words of the edit were found.
    """

    role: str
    text: Text | None = None
    both: Comparison | None = None
    alike: int = 0
    marked: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompts:
    """A prompt, or a clean and a perturbed one side by side. `full` are the arms with their prompts in full."""

    turns: tuple[Turn, ...]
    paired: bool
    alike: bool
    whole: bool
    full: tuple[tuple[str, Messages], ...]


@dataclass(frozen=True, slots=True)
class ReplyGroup:
    """The replies of asks with the same verdict."""

    arm: str
    asks: str
    verdict: str
    replies: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """The texts of a case."""

    question: Text
    gold: Code | None
    reference: Text | None
    prompts: tuple[Prompts, ...]
    more_prompts: int
    said: tuple[ReplyGroup, ...]


def cut(text: str, longest: int, *, end: int = 0) -> Text:
    """Return a text cut to a length, with `end` of its last characters: a verdict is often at the end of a reply."""
    if len(text) <= longest:
        return Text(text)
    return Text(text[: longest - end], len(text) - longest, text[len(text) - end :])


def shown_texts(texts: CaseTexts, arms: Sequence[tuple[str, tuple[str, ...]]], room: Room) -> CaseView:
    """Return what a report shows of a case whose arms ended in these verdicts."""
    pairs = _pairs(texts)
    codes = dict(arms)
    first = "control" if "control" in codes else "clean"
    return CaseView(
        question=cut(texts.question, QUESTION),
        gold=texts.better if texts.gold is None else texts.gold,
        reference=cut(texts.reference, QUESTION) if texts.reference else None,
        prompts=tuple(_prompts(texts, old, new, first, room.context) for old, new in pairs[:PAIRS]),
        more_prompts=max(0, len(pairs) - PAIRS),
        said=(
            *_said(first, texts.clean, codes.get(first, ()), room.reply),
            *_said("perturbed", texts.perturbed, codes.get("perturbed", ()), room.reply),
        ),
    )


def _pairs(texts: CaseTexts) -> list[tuple[str | None, str | None]]:
    """Return the keys of the prompts to set side by side, those that differ first, each pair once."""
    both = texts.clean and texts.perturbed
    asks = zip(texts.clean, texts.perturbed, strict=False) if both else zip_longest(texts.clean, texts.perturbed)
    calls = (call for old, new in asks for call in zip_longest(old or (), new or ()))
    pairs = dict.fromkeys((old.prompt if old else None, new.prompt if new else None) for old, new in calls)
    return sorted(pairs, key=lambda pair: pair[0] == pair[1])


def _prompts(texts: CaseTexts, old: str | None, new: str | None, first: str, context: int) -> Prompts:
    arms = [(first, old), ("perturbed", new)]
    found = [(arm, _turns(texts, key)) for arm, key in arms if key is not None]
    paired = len(found) == 2
    alike = paired and found[0][1] == found[1][1]
    if paired and not alike:
        turns = tuple(_turn(a, b, context) for a, b in zip_longest(found[0][1], found[1][1]))
    else:
        edited = found[0][0] == "perturbed"
        turns = tuple(_alone(role, text, _words(texts) if edited else [], context) for role, text in found[0][1])
    whole = all(map(_is_whole, turns))
    full = tuple((arm, tuple((role, cut(text, WHOLE)) for role, text in said)) for arm, said in found)
    return Prompts(turns, paired and not alike, alike, whole, full[:1] if alike else full)


def _is_whole(turn: Turn) -> bool:
    if turn.marked:
        return all(piece.kind not in ("gap", "cut") for piece in turn.marked)
    return turn.both.whole if turn.both else turn.text is not None and not turn.text.cut


def _alone(role: str, text: str, words: Sequence[str], context: int) -> Turn:
    """Return a message that stands alone: what the edit put in is marked, if it is found."""
    pieces = marked(text, words, context=context, lines=LINES)
    return Turn(role, marked=pieces) if pieces else Turn(role, cut(text, PROMPT))


def _words(texts: CaseTexts) -> list[str]:
    """Return the passages that an edit put in at its places, without those that are too short to be found."""
    came = (part.removesuffix(CUT) for one in texts.changes for part in one.came.split(GAP))
    return [part for part in came if len(part) >= FOUND]


def _turns(texts: CaseTexts, key: str) -> tuple[tuple[str, str], ...]:
    return tuple((turn.get("role", ""), turn.get("text", "")) for turn in texts.prompts.get(key, ()))


def _turn(old: tuple[str, str] | None, new: tuple[str, str] | None, context: int) -> Turn:
    before, after = old[1] if old else "", new[1] if new else ""
    role = " / ".join(dict.fromkeys(turn[0] for turn in (old, new) if turn))
    if before == after:
        return Turn(role, Text(before) if len(before) <= context else None, alike=len(before))
    return Turn(role, both=compare(before, after, context=context, lines=LINES))


def _said(arm: str, asks: Sequence[Sequence[Exchange]], codes: Sequence[str], longest: int) -> list[ReplyGroup]:
    """Return the replies; asks with the same verdict and replies form one group."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, (ask, verdict) in enumerate(zip_longest(asks, codes), 1):
        replies = tuple(exchange.reply for exchange in ask or ())
        groups.setdefault((verdict or "", replies), []).append(number)
    return [
        ReplyGroup(
            arm, ", ".join(map(str, numbers)), verdict, tuple(cut(r, longest, end=longest // 2) for r in replies)
        )
        for (verdict, replies), numbers in groups.items()
    ]


def size_bytes(shown: CaseView) -> int:
    """Return about how many bytes a case takes in the report."""
    sides = [side for p in shown.prompts for t in p.turns if t.both for side in (t.both.old, t.both.new)]
    sides += [t.marked for p in shown.prompts for t in p.turns]
    pieces = [piece.text for side in sides for piece in side]
    texts = [t.text for p in shown.prompts for t in p.turns if t.text]
    texts += [reply for said in shown.said for reply in said.replies]
    texts += [shown.question, *([shown.reference] if shown.reference else [])]
    words = [*pieces, *(t.text + t.end for t in texts), *(said.verdict for said in shown.said)]
    return MARKUP + sum(map(bytes_of, words)) + 30 * len(words)


def bytes_of(text: str) -> int:
    """Return how many bytes a text takes in a page."""
    return len(escape(text).encode("utf-8", "replace"))
