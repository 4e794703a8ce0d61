"""How verdicts stand in a reply, and which of them is the judge's: one beyond doubt, or none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

from calm.core.case import Framing
from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Scale, Score, Tie, Unreadable, Verdict
from calm.judges.reading.layout import HOLE, QUOTES, TERMINAL, Around, Layout, quoted
from calm.judges.reading.marks import MAX_MARKS, Cue, Mark, View, cue, has, one_of, plain, retracts, short

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
    words = label or intro
    return label is not None and (not words or has(Cue.NOUN, words)) and not _doubted(words)


def _another(around: Around, mark: Mark, view: View) -> bool:
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
    low = plain(words)
    found = list(cue(kind).finditer(low))
    rest = low[found[-1].end() :] if found else ""
    return bool(found) and len(rest.strip()) <= LONGEST_REST and not _decides(rest.strip().partition(" ")[2])


def _name(mark: Mark) -> str:
    return str(mark.raw).strip().strip("*_`\"'").strip()


def _names(words: str, labels: Sequence[str]) -> bool:
    return any(
        label.casefold() != "a" or cue(Cue.LESSER).match(words[m.end() :].lstrip().lower()) is None
        for label in labels
        for m in re.finditer(rf"(?<!\w){re.escape(label)}(?!\w)", words)
    )


def _leads(around: Around) -> bool:
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
    return clause if _decides(clause) or _follows(sentence, clause) else sentence


def _cites(sentence: str, clause: str) -> bool:
    before = sentence[: len(sentence) - len(clause)] if sentence.endswith(clause) else sentence.rpartition(clause)[0]
    parts = re.split(r"[:：]", before.rstrip())
    return len(parts) > 1 and not parts[-1].strip() and _CITED.search(parts[-2]) is not None and _doubted(parts[-2])


def _alone(sentence: str, clause: str, mark: Mark) -> bool:
    name = _name(mark)
    if not name or len(name) > LONGEST_NAME or len(clause.split()) > WORDS or not _names(clause, [name]):
        return False
    return not any(has(kind, sentence) for kind in (Cue.THAN, Cue.OTHERS, Cue.IF))


def _spoken(sentence: str) -> bool:
    speaker = re.split(r"[:：]", sentence.rstrip(" :：*_"))[:-1]
    return bool(speaker) and len(speaker[-1]) <= LONGEST_REST and has(Cue.WHOSE, f"{speaker[-1]}:")


def _decides(clause: str) -> bool:
    return has(Cue.NOUN, clause) or has(Cue.CHOICE, clause)


def _follows(sentence: str, clause: str) -> bool:
    return bool(sentence.strip()) and not clause.strip()


def _doubted(before: str) -> bool:
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
    places = [f"{around.clause[0]} {'' if around.closes else around.clause[1]} {mark.about}", around.sentence[0]]
    if standing is Standing.STANDS:
        places += [around.intro[0], around.section]
    for words in places:
        final, draft = has(Cue.FINAL, words), has(Cue.DRAFT, words)
        if final or draft:
            return draft and not final, final
    return False, False


Means: TypeAlias = Callable[[object], Verdict]
TAIL: Final = 2_000
"""Characters after a verdict, and between two of them, in which a word that takes it back is looked for."""
PARTS: Final = 2
"""With so many verdicts on parts of an answer, one on the whole of it is recognised."""
DOUBTS: Final = (Cue.DENIED, Cue.TAKEN_BACK, Cue.REVISED)
"""What a clause that speaks of the judge's own verdict says to take it back."""
_CLAUSE: Final = re.compile(rf"[,;:()—]|\s(?:that|which|{one_of('joint')})\s")
SHORT: Final = 40
"""Characters of a sentence such as "Wait, that is wrong", which is of the verdict before it."""
LONGEST_OR: Final = 60
"""Characters between two verdicts that may begin with "or"."""
_AND: Final = re.compile(r"\W*(?:and|und|et|y|e|и|와|と|和)\W*")
_BETWEEN: Final = re.compile(r"\b(?:between|zwischen|entre|tra|fra|между)\W*\Z", re.IGNORECASE)
_OR: Final = re.compile(rf"[\s,、]*(?:{one_of('or')})[\s,、]*", re.IGNORECASE)
_SET_OFF_OR_END: Final = re.compile(r"\s*(?:[,.!?:;…—–，、。！：；]|-\s|\Z)")
_SENTENCE: Final = re.compile(r"(?:\A|[.!?。！？\n])[\s*_#>\"'“(–—-]*([^\n.!?。！？]{1,300})")


def decide(
    page: Layout | str,
    marks: Sequence[Mark],
    means: Means,
    view: View,
    least: Standing = Standing.MENTIONED,
) -> Mark | Reason | None:
    """
    Return the mark that is the judge's verdict, why it is unclear which, or None if there is none.

    `means` says what a mark means; two marks that mean the same are one verdict. With `least`, a verdict must have this
    standing, and nothing beside it may be another one.
    """
    if not marks:
        return None
    layout = Layout(page, marks) if isinstance(page, str) else page
    found = [
        candidate(layout, mark, means(mark.raw), view)
        for mark in marks[-MAX_MARKS:]
        if not quoted(layout.text, mark, view.judged)
    ]
    found = _joined(layout, found)
    if least > Standing.MENTIONED:
        alive = [c for c in found if c.standing > Standing.MENTIONED]
        if _differ(alive) > 1 or all(c.standing < least for c in alive):
            return None
    return _chosen(layout, found)


def _chosen(layout: Layout, found: Sequence[Candidate]) -> Mark | Reason | None:
    pool = _pool(layout, found)
    if not pool:
        return because(Kind.VERDICT_MENTIONED, *_place(layout, found[-1])[:2]) if found else None
    one = _settled(layout, pool)
    if isinstance(one, Reason):
        return one
    if one.standing < Standing.STANDS and (other := _supposed(layout, found, one)):
        return because(Kind.VERDICTS_DIFFER, *_place(layout, one), *_place(layout, other))
    if one.draft:
        return because(Kind.VERDICT_DRAFT, *_place(layout, one))
    tail = layout.page[one.mark.stop : one.mark.stop + TAIL]
    if (
        one is pool[-1]
        and tail.strip()
        and (_takes_back(tail) or _pauses(tail) or any(map(retracts, _SENTENCE.findall(tail))))
    ):
        later = [c for c in found if c.mark.start > one.mark.start and c.standing > Standing.MENTIONED]
        if not later or _differ(later) > 1 or isinstance(later[-1].verdict, Unreadable):
            return because(Kind.VERDICT_TAKEN_BACK, *_place(layout, one))
        return later[-1].mark
    if late := _later(found, one):
        return because(Kind.VERDICTS_DIFFER, *_place(layout, one), *_place(layout, late))
    return one.mark


def _later(found: Sequence[Candidate], one: Candidate) -> Candidate | None:
    after = (c for c in found if c.mark.start > one.mark.start and c.standing is Standing.IN_PASSING)
    return next((c for c in after if not isinstance(c.verdict, Unreadable) and _meaning(c) != _meaning(one)), None)


def _supposed(layout: Layout, found: Sequence[Candidate], one: Candidate) -> Candidate | None:
    line = layout.bounds(one.mark.start)
    near = (c for c in found if c.supposed and layout.bounds(c.mark.start) == line and _meaning(c) != _meaning(one))
    return next(near, None)


def _pool(layout: Layout, found: Sequence[Candidate]) -> list[Candidate]:
    listed = _listed(layout, found)
    alive = [c for c in found if c.standing > Standing.MENTIONED and id(c) not in listed]
    counted = [c for c in alive if c.standing >= Standing.SAID]
    if not any(c.standing is Standing.STANDS for c in counted):
        return alive
    return counted


def _listed(layout: Layout, found: Sequence[Candidate]) -> set[int]:
    groups: list[list[Candidate]] = []
    for one in found:
        gap = layout.page[groups[-1][-1].mark.stop : one.mark.start] if groups else "\n\n"
        near = (
            len(gap) <= 60
            and not re.search(r"\n\s*\n|[.。!?]\s", gap)
            and not any(has(kind, gap) for kind in (Cue.TURN, Cue.PAUSE, Cue.TAKEN_BACK))
        )
        if near and not one.mark.key:
            groups[-1].append(one)
        else:
            groups.append([one])
    return {id(c) for group in groups if _differ(group) >= 3 and not group[-1].whole for c in group}


def _joined(layout: Layout, found: Sequence[Candidate]) -> list[Candidate]:
    made = list(found)
    for at in range(1, len(made)):
        left, right = made[at - 1], made[at]
        gap = layout.page[left.mark.stop : right.mark.start]
        between = _AND.fullmatch(gap) is not None and _BETWEEN.search(
            layout.page[max(0, left.mark.start - 40) : left.mark.start]
        )
        if between and _meaning(left) != _meaning(right):
            made[at - 1 : at + 1] = [replace(one, standing=Standing.MENTIONED) for one in (left, right)]
            continue
        joined = _OR.match(gap) if len(gap) <= LONGEST_OR and "\n" not in gap else None
        if len({left.standing > 0, right.standing > 0}) == 2 and joined and _meaning(left) != _meaning(right):
            made[at - 1 : at + 1] = [replace(one, standing=Standing.MENTIONED) for one in (left, right)]
    return made


def _differ(group: Sequence[Candidate]) -> int:
    kinds: list[object] = []
    for one in group:
        if _meaning(one) not in kinds:
            kinds.append(_meaning(one))
    return len(kinds)


def _meaning(one: Candidate) -> object:
    return str(one.mark.raw) if isinstance(one.verdict, Unreadable) else one.verdict


def _settled(layout: Layout, pool: Sequence[Candidate]) -> Candidate | Reason:
    last = pool[-1]
    rivals = [c for c in pool if _meaning(c) != _meaning(last)]
    if not rivals:
        if (
            isinstance(last.verdict, Score)
            and not any(c.whole for c in pool)
            and len({c.part for c in pool} - {""}) > 1
        ):
            return because(Kind.VERDICT_PARTS, *_place(layout, pool[0])[:2], *_place(layout, last)[:2])
        kept = [c for c in pool if not c.draft]
        return kept[-1] if kept else last
    agreed = [c for c in pool if _meaning(c) == _meaning(last)]
    after = next(c for c in pool if c.mark.start > rivals[-1].mark.start)
    if not all(c.draft for c in agreed):
        if all(c.draft for c in rivals):
            return next(c for c in reversed(agreed) if not c.draft)
        open_ = [c for c in rivals if not c.draft]
        if any(c.final for c in agreed) and not any(c.final or c.standing is Standing.STANDS for c in open_):
            return last
        if last.whole and all(c.part for c in open_) and sum(c.part != "" for c in pool) >= PARTS:
            return last
        if _turns(layout, open_[-1], after):
            return last
    rival = rivals[-1]
    first, second = sorted((rival, last), key=lambda c: c.mark.start)
    return because(Kind.VERDICTS_DIFFER, *_place(layout, first), *_place(layout, second))


def _turns(layout: Layout, earlier: Candidate, later: Candidate) -> bool:
    if later.turned:
        return True
    between = layout.page[earlier.mark.stop : later.mark.start]
    return any(_takes_back(part) or (later.final and _pauses(part)) for part in (between[:TAIL], between[-TAIL:]))


def _pauses(text: str) -> bool:
    return any(
        (hit := cue(Cue.PAUSE).match(low)) is not None and _SET_OFF_OR_END.match(low, hit.end()) is not None
        for low in (
            sentence[1].lower() + text[sentence.end() : sentence.end() + 1] for sentence in _SENTENCE.finditer(text)
        )
    )


def _takes_back(text: str) -> bool:
    """
    Return whether a sentence of a text takes back the verdict before it.

    The words that do must begin it, or follow "Wait," or the like, or a clause of it must speak of the verdict.
    """
    for sentence in _SENTENCE.finditer(text):
        low = plain(sentence[1])
        paused = any(cue(kind).search(sentence[1].lower(), 0, OPENING) for kind in (Cue.PAUSE, Cue.TURN))
        hit = cue(Cue.TAKEN_BACK).search(low)
        if hit is not None and (hit.start() <= OPENING or paused):
            return True
        if paused and (has(Cue.REVISED, low) or (_pauses(low) and len(low) <= SHORT and has(Cue.DENIED, low))):
            return True
        if any(has(Cue.OWN, part) and any(has(kind, part) for kind in DOUBTS) for part in _CLAUSE.split(low)):
            return True
    return False


def _place(layout: Layout, one: Candidate) -> tuple[Said, int, str]:
    where = "on its own" if one.standing is Standing.STANDS else "in a sentence"
    return Said(short(one.mark.raw)), layout.line(one.mark.start), where


LONGEST_LINE: Final = 120
"""Characters of a line that is remembered."""
_MAY_LABEL: Final = re.compile(r"^[ \t]*(?:#|\*\*|__)|[:：][ \t*]*$", re.MULTILINE)
"""A line that may say what follows it: a heading, a bold line, or one that ends in a colon."""
_FENCES: Final = ("```", "~~~")
_SIGNS: Final = frozenset("".join(sign for pair in QUOTES for sign in pair)) | {">", "<"}
"""Signs in a line whose meaning the rest of the reply can change."""
_NO_SCALE: Final = Scale()


def stands_alone(text: str, mark: Mark, view: View) -> bool:
    """
    Return whether the only verdict of a reply is beyond doubt at first sight: `decide` would return it.

    False says nothing: such a verdict needs the second look.
    """
    if mark.key or mark.stop > mark.end or text[mark.stop :].strip() or type(mark.raw) is not str:
        return False
    start = text.rfind("\n", 0, mark.start) + 1
    before, said = text[start : mark.start], text[mark.start : mark.stop]
    if len(before) + len(said) > LONGEST_LINE or "\n" in said or not _SIGNS.isdisjoint(before):
        return False
    above = text[:start].rstrip()
    if above and (above[-1] not in TERMINAL or _MAY_LABEL.search(above)):
        return False
    if any(fence in text for fence in _FENCES) or quoted(text, mark, view.judged):
        return False
    if view.task == "pairwise" and has(Cue.BETTER, before):
        return False  # it may praise the other answer
    if not before.strip() and not mark.about:
        return True
    end = len(before) + len(said)
    shifted = Mark(len(before), end, mark.raw, about=mark.about, remark=mark.remark)
    return _line_decides(before + said, shifted, View(view.task, view.labels, (), _NO_SCALE, framing=view.framing))


@lru_cache(maxsize=1024)
def _line_decides(line: str, mark: Mark, view: View) -> bool:
    return decide(line, [mark], lambda _: Tie(), view) == mark
