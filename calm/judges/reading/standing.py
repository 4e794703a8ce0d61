"""How a verdict stands in a reply: on a line of its own, in a sentence that gives it, or only mentioned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from calm.core.verdict import Verdict
from calm.judges.reading.layout import HOLE, Around, Layout
from calm.judges.reading.marks import Mark
from calm.judges.reading.words import Cue, cue, has, plain

OPENING: Final = 20
"""Characters within which a sentence says that the judge corrects itself."""


class Standing(IntEnum):
    """From what is no verdict to what is one beyond doubt."""

    MENTIONED = 0
    IN_PASSING = 1
    SAID = 2
    STANDS = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be the verdict: as written, what it means, how it stands, and what the words about it call it."""

    mark: Mark
    verdict: Verdict
    standing: Standing
    draft: bool = False
    final: bool = False
    turned: bool = False
    supposed: bool = False


def candidate(layout: Layout, mark: Mark, verdict: Verdict) -> Candidate:
    """Return how a verdict stands."""
    if layout.struck(mark) or layout.quoted(mark) or layout.fenced(mark):
        return Candidate(mark, verdict, Standing.MENTIONED)
    around = layout.around(mark)
    if around.question or (layout.block_quoted(mark) and not _leads(around)):
        return Candidate(mark, verdict, Standing.MENTIONED)
    standing = _standing(around, mark)
    if standing is Standing.IN_PASSING and mark.remark:
        standing = Standing.MENTIONED
    if standing is Standing.MENTIONED:
        supposed = has(Cue.IF, around.sentence[0]) and not has(Cue.OTHERS, around.sentence[0])
        return Candidate(mark, verdict, standing, supposed=supposed)
    draft, final = _stage(around, standing, mark)
    turn = cue(Cue.TURN).search(plain(around.sentence[0]))
    turned = turn is not None and turn.start() <= OPENING
    return Candidate(mark, verdict, standing, draft, final, turned)


def _leads(around: Around) -> bool:
    """Return whether the words before a verdict on its line, or the line that introduces it, name a verdict."""
    words = around.sentence[0].strip() or around.intro[0]
    return has(Cue.NOUN, words) and not _doubted(words)


def _standing(around: Around, mark: Mark) -> Standing:
    before, after = around.clause
    if not around.sentence[0].strip() and _doubted(_told(*around.intro)):
        return Standing.MENTIONED
    told = _told(around.sentence[0], before)
    if _doubted(told):
        return Standing.MENTIONED
    if around.opens and around.closes:
        return Standing.STANDS
    if _denied_after(after):
        return Standing.MENTIONED
    if around.opens and has(Cue.NOUN, mark.about):
        return Standing.STANDS
    if _decides(before) or has(Cue.NOUN, after) or has(Cue.CHOICE, after) or _follows(around.sentence[0], before):
        return Standing.SAID
    return Standing.MENTIONED if has(Cue.OTHERS, around.sentence[1]) else Standing.IN_PASSING


def _told(sentence: str, clause: str) -> str:
    """Return the words before a verdict that speak of it: its clause if that gives a verdict, else its sentence."""
    return clause if _decides(clause) or _follows(sentence, clause) else sentence


def _decides(clause: str) -> bool:
    return has(Cue.NOUN, clause) or has(Cue.CHOICE, clause)


def _follows(sentence: str, clause: str) -> bool:
    """Return whether a verdict comes right after a word such as "so"."""
    return bool(sentence.strip()) and not clause.strip()


def _doubted(before: str) -> bool:
    """Return whether the words before a verdict deny it, suppose it, or say that somebody else wants it."""
    return has(Cue.DENIED, before, before=True) or any(has(kind, before) for kind in (Cue.THAN, Cue.OTHERS, Cue.IF))


def _denied_after(after: str) -> bool:
    own, another, _ = after.partition(HOLE)
    if another and (told := cue(Cue.DENIED, before=True).search(plain(own))) and told.end() == len(plain(own).rstrip()):
        own = own[: -len(told[0]) - 1]  # "[[A]] rather than [[B]]": it denies the next one
    after = own
    return has(Cue.DENIED, after) or has(Cue.OTHERS, after) or has(Cue.IF, after)


def _stage(around: Around, standing: Standing, mark: Mark) -> tuple[bool, bool]:
    """Return whether a verdict is called a draft, and whether it is called final: by the nearest words that do."""
    places = [f"{around.clause[0]} {'' if around.closes else around.clause[1]} {mark.about}", around.sentence[0]]
    if standing is Standing.STANDS:
        places += [around.intro[0], around.section]
    for words in places:
        final, draft = has(Cue.FINAL, words), has(Cue.DRAFT, words)
        if final or draft:
            return draft and not final, final
    return False, False
