"""Passage ids: give the passages each other's ids, there and wherever an answer cites them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Passage
from calm.core.markup import without_code
from calm.core.validation import Rules
from calm.perturbations.passage_order import out_of_order
from calm.perturbations.prose import NEVER
from calm.perturbations.retrieved import cited, recited
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "passage-ids"
TRIGGER = NEVER
OTHER_IDS = Rules(code=True, difference="any")
"""An id may be a number, and an answer that cites nothing stays as it is."""
_NOUNS = (
    *("passag", "pasaj", "document", "dokument", "source", "quelle", "fuente", "fonte", "context", "kontext"),
    *("snippet", "chunk", "excerpt", "extract", "extrait", "estratto", "auszug", "fragment", "evidence", "citation"),
    *("quote", "reference", "result", "file", "paragraph", "документ", "источник", "фрагмент", "文档", "文件"),
    *("段落", "来源", "资料", "上下文", "文書", "資料", "出典", "문서", "출처", "doc", "ref"),
)
"""How words begin that make a number behind them that of a passage; a short one is whole, but for an "s"."""
_WHOLE = 3
_JOINT = r"(?:[\s,;&/+–—-]|\b(?:and|or|to|und|oder|bis|et|ou|y|o|e|en|of|и)\b)+"
_POINTED = (
    r"[\s:.#№*_(\[【\"'-]{0,4}(?:(?:no|nr|num(?:ber)?|id)\b[\s.:#]*)?"
    rf"(\d{{1,9}}(?:{_JOINT}\d{{1,9}})*)(?!\d)"
)
"""The numbers behind such a word, in a text in small letters: "passage 2", "documents 1 and 2", "source #2"."""
_BRACKET = re.compile(r"([\[(（【{<])([^\[\](){}（）【】<>\n]{1,80})[\])）】}>]")
_ONLY = re.compile(r"(?:[\d\s,;&/#^:†–—-]|\b(?:and|or|to|see|cf|no|nr|p|n)\b\.?)+", re.IGNORECASE)
"""What holds numbers and nothing that they could count."""
_NUMBER = re.compile(r"(?<![\d.,])\d{1,9}(?!\d|[.,]\d)")
_RANGE = re.compile(r"(?<!\d)(\d{1,9})\s*[–—-]\s*(\d{1,9})(?!\d)")
_RAISED = re.compile(r"[⁰¹²³⁴-⁹]{1,9}")
_CITING = re.compile(r"[^\W\d_]{4}|[.,;:!?)\]\"”’]")
"""What ends before a raised number that cites; a unit such as km² is shorter."""
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_WIDE = "\u2e80"
"""From this letter on words stand without spaces."""
_LAST = re.compile(r"\d{1,9}$")
_WORD = re.compile(r"\w+")
IN_PLACE = SILENT = ON_EACH = frozenset({"turn_ids"})


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing", rules=OTHER_IDS)
def turn_ids(case: Treated, rng: Random) -> Treated | None:
    """Give each passage the id of one of the others, and let the answers cite it by that."""
    ids = [passage.id for passage in case.context]
    if len(ids) < 2 or _named_elsewhere(case, ids):
        return None
    by = rng.randrange(1, len(ids))
    names = dict(zip(ids, [*ids[by:], *ids[:by]], strict=True))
    context = tuple(Passage(names[passage.id], passage.text) for passage in case.context)
    answers = tuple(replace(answer, text=recited(answer.text, names)) for answer in case.answers)
    return replace(case, context=context, answers=answers)


def _named_elsewhere(case: Treated, ids: Sequence[str]) -> bool:
    """Return whether a passage is cited where this edit changes nothing, or named otherwise than in square brackets."""
    beside = [case.question, case.reference or "", *(criterion.text for criterion in case.criteria)]
    beside += [passage.text for passage in case.context]
    beside += [draft for answer in case.answers for draft in case.history(answer)]
    answers = [recited(answer.text, dict.fromkeys(ids, "")) for answer in case.answers]
    bare = "\n".join(map(without_code, beside))
    worded = {one for one in ids if not one.isdecimal()}  # a number may be any number
    return (
        bool(cited(bare, ids))
        or _worded("\n".join((*beside, *answers)), worded)
        or _numbered("\n".join((bare, *map(without_code, answers))), _numbers(ids))
    )


def _worded(text: str, ids: Collection[str]) -> bool:
    """Return whether any id stands in a text, with no letter or digit right before or behind it."""
    words = set(_WORD.findall(text))
    likely = {one for one in ids if words.issuperset(_WORD.findall(one))}
    forms = {_WORD.sub(lambda _: r"\w+", re.escape(one)) for one in likely}  # those of most lists of ids are alike
    return any(
        found[1] in likely for form in forms for found in re.finditer(rf"(?<!\w)(?=({form})(?!\w))", text, re.DOTALL)
    )


def _numbers(ids: Iterable[str]) -> frozenset[int]:
    """Return the numbers that ids are, or end in: a "passage 2" may be the one with the id "p2"."""
    return frozenset(int(last[0]) for one in ids if (last := _LAST.search(one)))


def _numbered(text: str, numbers: Collection[int]) -> bool:
    """Return whether a text without code names a passage by a number, in any form but a list in square brackets."""
    if not numbers:
        return False
    low = text.lower()
    pointed = (one[1] for noun in _NOUNS if noun in low for one in _behind(noun).finditer(low))
    raised = (
        int(one[0].translate(_LOWERED))
        for one in _RAISED.finditer(text)
        if (before := _CITING.search(text, max(0, one.start() - 4), one.start())) and before.end() == one.start()
    )
    bracketed = (one[2] for one in _BRACKET.finditer(low) if one[1] in "[【" or _ONLY.fullmatch(one[2]))
    return (
        any(_any_of(one, numbers) for one in pointed)
        or any(one in numbers for one in raised)
        or any(_any_of(inside, numbers) for inside in bracketed)
    )


@cache
def _behind(noun: str) -> re.Pattern[str]:
    """Return what finds the numbers behind a noun, which begins a word but where words stand without spaces."""
    rest = "s?" if len(noun) <= _WHOLE and noun.isascii() else r"[^\W\d_]{0,5}(?<!ed)(?<!ing)"
    begins = rf"(?<![^\W\d_]{noun})" if noun < _WIDE else ""
    return re.compile(f"{noun}{begins}{rest}{_POINTED}")


def _any_of(inside: str, numbers: Collection[int]) -> bool:
    """Return whether a text holds one of some numbers, or a range of numbers that reaches them."""
    return any(int(one) in numbers for one in _NUMBER.findall(inside)) or any(
        int(first) <= max(numbers) and int(last) >= min(numbers) for first, last in _RANGE.findall(inside)
    )


def _renamed(slot: Slot, seen: Seen) -> bool:
    ids = [passage.id for passage in seen.context]
    return len(ids) > 1 and not out_of_order(ids) and ids[0] > ids[-1]


PLANTED = Plant(
    BIAS,
    Trigger("passages whose ids are in their order, but do not begin with the first", _renamed),
    effect=Effect.LAST_WINS,
)
