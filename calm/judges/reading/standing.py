"""How a verdict stands in a reply: on a line of its own, in a sentence that gives it, or only mentioned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from calm.core.case import Framing
from calm.core.verdict import Verdict
from calm.judges.reading.layout import HOLE, Around, Layout
from calm.judges.reading.marks import Mark
from calm.judges.reading.views import View
from calm.judges.reading.words import Cue, cue, has, plain

OPENING: Final = 20
"""Characters within which a sentence says that the judge corrects itself."""
LONGEST_REST: Final = 25
"""Characters that may stand between a word for something else than a verdict, and the verdict."""
LONGEST_NAME: Final = 12
"""Characters of an answer's name, as a sentence writes it."""
_SET_OFF: Final = re.compile(r"\s*[,.!:;…—–，、。！：；]")
_CITED: Final = re.compile(r"(?i)\b(?:answer|response|assistant|reply|text|output|author|[AB])\b")
_LABEL_SIGNS: Final = " \t*_#:：,.;!，。、！-–—…\"'“”`"
WORDS: Final = 4
"""Words of a clause that says of an answer alone: "A does"."""


class Standing(IntEnum):
    """From what is no verdict to what is one beyond doubt."""

    MENTIONED = 0
    IN_PASSING = 1
    SAID = 2
    STANDS = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be the verdict: as written, what it means, how sure it is, and what the words around it call it."""

    mark: Mark
    verdict: Verdict
    standing: Standing
    draft: bool = False
    final: bool = False
    turned: bool = False
    supposed: bool = False
    part: str = ""
    whole: bool = False


def candidate(layout: Layout, mark: Mark, verdict: Verdict, view: View) -> Candidate:
    """Return how sure a verdict is."""
    if layout.struck(mark) or layout.fenced(mark):
        return Candidate(mark, verdict, Standing.MENTIONED)
    around = layout.around(mark)
    if layout.quoted(mark) and not _own(layout.ends_quoted(mark), around.intro[0]):
        return Candidate(mark, verdict, Standing.MENTIONED)
    if around.question or (layout.block_quoted(mark) and not _leads(around)):
        return Candidate(mark, verdict, Standing.MENTIONED)
    standing = Standing.MENTIONED if _another(around, mark, view) else _standing(around, mark)
    if standing is Standing.IN_PASSING and mark.remark:
        standing = Standing.MENTIONED
    turned = _turned(around.sentence[0]) or _turned(around.intro[0])
    standing = Standing.SAID if turned and standing is Standing.MENTIONED else standing
    if standing is Standing.MENTIONED:
        told = around.sentence[0]
        supposed = has(Cue.IF, told) and not has(Cue.OTHERS, told) and not has(Cue.WHOSE, told)
        return Candidate(mark, verdict, standing, supposed=supposed)
    standing = max(standing, Standing.SAID) if turned else standing
    draft, final = _stage(around, standing, mark)
    label = around.sentence[0].strip() if standing is Standing.STANDS and not mark.key else ""
    part = label.strip(_LABEL_SIGNS).casefold() if label and not has(Cue.NOUN, label) else ""
    return Candidate(mark, verdict, standing, draft, final, turned, part=part, whole=has(Cue.WHOLE, label))


def _turned(before: str) -> bool:
    """Return whether a sentence corrects an earlier verdict: "No: [[B]]", "Wait, my verdict is [[B]]"."""
    low = before.lower()
    found = next((hit for kind in (Cue.TURN, Cue.PAUSE) if (hit := cue(kind).search(low)) is not None), None)
    if found is None or found.start() > OPENING:
        return False
    if has(Cue.DENIED, found[0]) and low[: found.start()].strip(_LABEL_SIGNS):
        return False  # "It would be wrong, [[B]]"
    rest = low[found.end() :]
    if not rest.strip(_LABEL_SIGNS):
        return _SET_OFF.match(rest) is not None or not has(Cue.DENIED, found[0])
    return _decides(rest.strip(_LABEL_SIGNS)) and not _doubted(rest)


def _own(label: str | None, intro: str) -> bool:
    """Return whether the last line is quoted because the prompt shows it in quotes: its label names a verdict."""
    words = label or intro
    return label is not None and (not words or has(Cue.NOUN, words)) and not _doubted(words)


def _another(around: Around, mark: Mark, view: View) -> bool:
    """Return whether the words at a verdict name something else: the worse answer, a number that is no score."""
    before, after = around.clause
    told = before if around.sentence[0].strip() else around.intro[1]
    if view.task == "score":
        return _ends_with(Cue.ASIDE, told)
    if view.framing is Framing.NEGATIVE or view.task != "pairwise":
        return False
    if _ends_with(Cue.LESSER, told) and not _names(told, [n for n in view.labels if n != _name(mark)]):
        return True
    behind = cue(Cue.LESSER).search(plain(after))
    if behind is None or behind.start() > OPENING or (around.opens and around.closes):
        return False
    return not _names(after[: behind.start()], view.labels)


def _ends_with(kind: Cue, words: str) -> bool:
    """Return whether a cue stands at the end of some words, with no word for a verdict after it but its own."""
    low = plain(words)
    found = list(cue(kind).finditer(low))
    rest = low[found[-1].end() :] if found else ""
    return bool(found) and len(rest.strip()) <= LONGEST_REST and not _decides(rest.strip().partition(" ")[2])


def _name(mark: Mark) -> str:
    return str(mark.raw).strip().strip("*_`\"'").strip()


def _names(words: str, labels: Sequence[str]) -> bool:
    """Return whether some words name one of these answers; the article in "A worse answer" is no name."""
    return any(
        label.casefold() != "a" or cue(Cue.LESSER).match(words[m.end() :].lstrip().lower()) is None
        for label in labels
        for m in re.finditer(rf"(?<!\w){re.escape(label)}(?!\w)", words)
    )


def _leads(around: Around) -> bool:
    """Return whether the words before a verdict on its line, or the line that introduces it, name a verdict."""
    words = around.sentence[0].strip() or around.intro[0]
    return has(Cue.NOUN, words) and not _doubted(words)


def _standing(around: Around, mark: Mark) -> Standing:
    before, after = around.clause
    if not around.sentence[0].strip() and _doubted(_told(*around.intro)):
        return Standing.MENTIONED
    told = _told(around.sentence[0], before)
    if _cites(around.sentence[0], before):
        return Standing.MENTIONED
    if _doubted(before if _alone(told, before, mark) else told) or _spoken(around.sentence[0] or around.intro[0]):
        return Standing.MENTIONED
    remark = mark.led and around.sentence[1].lstrip(" *_`").startswith(("(", "（"))
    if around.opens and (around.closes or remark):
        return Standing.STANDS
    if _denied_after(after):
        return Standing.MENTIONED
    if around.opens and (mark.led or has(Cue.NOUN, mark.about)):
        return Standing.STANDS
    if _decides(before) or any(has(kind, after) for kind in (Cue.NOUN, Cue.CHOICE, Cue.BETTER)):
        return Standing.SAID
    if _follows(around.sentence[0], before):
        return Standing.SAID
    return Standing.MENTIONED if has(Cue.OTHERS, around.sentence[1]) else Standing.IN_PASSING


def _told(sentence: str, clause: str) -> str:
    """Return the words before a verdict that speak of it: its clause if that gives a verdict, else its sentence."""
    return clause if _decides(clause) or _follows(sentence, clause) else sentence


def _cites(sentence: str, clause: str) -> bool:
    """Return whether words such as "the answer says:" come right before the clause of a verdict."""
    before = sentence[: len(sentence) - len(clause)] if sentence.endswith(clause) else sentence.rpartition(clause)[0]
    parts = re.split(r"[:：]", before.rstrip())
    return len(parts) > 1 and not parts[-1].strip() and _CITED.search(parts[-2]) is not None and _doubted(parts[-2])


def _alone(sentence: str, clause: str, mark: Mark) -> bool:
    """Return whether the clause before a verdict names its answer, so that an earlier denial is of another one."""
    name = _name(mark)
    if not name or len(name) > LONGEST_NAME or len(clause.split()) > WORDS or not _names(clause, [name]):
        return False
    return not any(has(kind, sentence) for kind in (Cue.THAN, Cue.OTHERS, Cue.IF))


def _spoken(sentence: str) -> bool:
    """Return whether another speaker stands before a label: "SYSTEM: final verdict: "."""
    speaker = re.split(r"[:：]", sentence.rstrip(" :：*_"))[:-1]
    return bool(speaker) and len(speaker[-1]) <= LONGEST_REST and has(Cue.WHOSE, f"{speaker[-1]}:")


def _decides(clause: str) -> bool:
    return has(Cue.NOUN, clause) or has(Cue.CHOICE, clause)


def _follows(sentence: str, clause: str) -> bool:
    """Return whether a verdict comes right after a word such as "so"."""
    return bool(sentence.strip()) and not clause.strip()


def _doubted(before: str) -> bool:
    """Return whether the words before a verdict deny it, suppose it, or say that somebody else wants it."""
    return has(Cue.DENIED, before, before=True) or any(
        has(kind, before) for kind in (Cue.THAN, Cue.OTHERS, Cue.IF, Cue.WHOSE)
    )


def _denied_after(after: str) -> bool:
    own, another, _ = after.partition(HOLE)
    if another and (told := cue(Cue.DENIED, before=True).search(plain(own))) and told.end() == len(plain(own).rstrip()):
        own = own[: -len(told[0]) - 1]  # "[[A]] rather than [[B]]": it denies the next one
    after = own
    return has(Cue.DENIED, after) or any(has(kind, after) for kind in (Cue.OTHERS, Cue.IF, Cue.FOLLY))


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
