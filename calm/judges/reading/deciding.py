"""Which of the verdicts in a reply is the judge's: one beyond doubt, or none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Score, Unreadable, Verdict
from calm.judges.reading.layout import Layout
from calm.judges.reading.marks import MAX_MARKS, Mark, short
from calm.judges.reading.quotations import quoted
from calm.judges.reading.retraction import retracts
from calm.judges.reading.standing import OPENING, Candidate, Standing, candidate
from calm.judges.reading.views import View
from calm.judges.reading.words import Cue, cue, has, one_of, plain

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
_SET_OFF: Final = re.compile(r"\s*(?:[,.!?:;…—–，、。！：；]|-\s|\Z)")
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
    if one is pool[-1] and tail.strip() and _gives_up(tail):
        later = [c for c in found if c.mark.start > one.mark.start and c.standing > Standing.MENTIONED]
        if not later or _differ(later) > 1 or isinstance(later[-1].verdict, Unreadable):
            return because(Kind.VERDICT_TAKEN_BACK, *_place(layout, one))
        return later[-1].mark
    if late := _later(found, one):
        return because(Kind.VERDICTS_DIFFER, *_place(layout, one), *_place(layout, late))
    return one.mark


def _later(found: Sequence[Candidate], one: Candidate) -> Candidate | None:
    """Return another verdict that stands in a sentence after the last one that counts, and that nothing doubts."""
    after = (c for c in found if c.mark.start > one.mark.start and c.standing is Standing.IN_PASSING)
    return next((c for c in after if not isinstance(c.verdict, Unreadable) and _meaning(c) != _meaning(one)), None)


def _supposed(layout: Layout, found: Sequence[Candidate], one: Candidate) -> Candidate | None:
    """Return another verdict that the judge supposes in the line in which it gives one."""
    line = layout.bounds(one.mark.start)
    near = (c for c in found if c.supposed and layout.bounds(c.mark.start) == line and _meaning(c) != _meaning(one))
    return next(near, None)


def _pool(layout: Layout, found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that count: those that stand or are said, else those in passing."""
    listed = _listed(layout, found)
    alive = [c for c in found if c.standing > Standing.MENTIONED and id(c) not in listed]
    counted = [c for c in alive if c.standing >= Standing.SAID]
    if not any(c.standing is Standing.STANDS for c in counted):
        return alive
    return counted


def _listed(layout: Layout, found: Sequence[Candidate]) -> set[int]:
    """Return the candidates that are a list of what may be said: three in a row that differ, with little between."""
    groups: list[list[Candidate]] = []
    for one in found:
        gap = layout.page[groups[-1][-1].mark.stop : one.mark.start] if groups else "\n\n"
        near = len(gap) <= 60 and not re.search(r"\n\s*\n|[.。!?]\s", gap) and not _corrects(gap)
        if near and not one.mark.key:
            groups[-1].append(one)
        else:
            groups.append([one])
    return {id(c) for group in groups if _differ(group) >= 3 and not group[-1].whole for c in group}


def _joined(layout: Layout, found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates; of two that an "or" joins, both are mentioned if one is."""
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
    """Return the verdict of several that stand: the last, if the others are drafts, parts or taken back."""
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
    """Return whether the judge corrects itself between two verdicts, or in the sentence of the later one."""
    if later.turned:
        return True
    between = layout.page[earlier.mark.stop : later.mark.start]
    return any(_takes_back(part) or (later.final and _pauses(part)) for part in (between[:TAIL], between[-TAIL:]))


def _pauses(text: str) -> bool:
    """Return whether a sentence of a text begins with "Wait," or the like; in "Wait times" nobody pauses."""
    return any(
        (hit := cue(Cue.PAUSE).match(low)) is not None and _SET_OFF.match(low, hit.end()) is not None
        for low in (
            sentence[1].lower() + text[sentence.end() : sentence.end() + 1] for sentence in _SENTENCE.finditer(text)
        )
    )


def _corrects(gap: str) -> bool:
    return any(has(kind, gap) for kind in (Cue.TURN, Cue.PAUSE, Cue.TAKEN_BACK))


def _gives_up(tail: str) -> bool:
    """Return whether what follows the last verdict takes it back, doubts it, or says that it is for something else."""
    return _takes_back(tail) or _pauses(tail) or any(map(retracts, _SENTENCE.findall(tail)))


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
    """Return a verdict as written, its line, and how it stands."""
    where = "on its own" if one.standing is Standing.STANDS else "in a sentence"
    return Said(short(one.mark.raw)), layout.line(one.mark.start), where
