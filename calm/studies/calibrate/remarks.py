"""What a reader of a calibration must know before its figures: reasons, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum
from typing import Final

from calm.core.reasons import Kind, Reason, because, name
from calm.studies.calibrate.estimates import Corrected
from calm.studies.calibrate.fitting import CONSTANT, FEWEST, RAW, Fit
from calm.studies.calibrate.items import FIRST, MET, NOT_MET, REPEATS, SECOND, Item, Label
from calm.studies.calibrate.tables import Row, Slices

SAME: Final = 0.95
"""Share of verdicts from which on they count as all the same."""
UNREAD: Final = 0.05
"""Share of unread replies that is worth a word."""


def remarks(
    items: Sequence[Item],
    named: Callable[[Label], str],
    *,
    fit: Fit | None,
    classes: Sequence[Row],
    slices: Slices,
    source: str | None,
    passing: bool,
    corrected: Corrected | None,
) -> tuple[Reason, ...]:
    """Return why the agreement of a judge says less than it seems to; nothing where it says what it seems to."""
    known = [item for item in items if item.gold is not None]
    questions = len({item.cluster for item in known})
    found = []
    if corrected is not None and corrected.draw.differs:
        one = corrected.draw
        found.append(because(Kind.LABELS_NOT_DRAWN, *(round(x, 6) for x in (one.labelled, one.unlabelled, one.p))))
    if questions < FEWEST:
        found.append(because(Kind.FEW_LABELS, questions, FEWEST))
    gold = Counter(named(item.gold) for item in known if item.gold is not None)
    if len(gold) == 1:
        found.append(because(Kind.ONE_GOLD, name(next(iter(gold)))))
    found += _same_word(known, named, gold)
    if fit is not None:
        found += _as_constant(fit, known, passing=passing)
    found += _one_class(classes)
    found += _weak_slice(slices)
    said = [one for item in known for one in item.said]
    unread = sum(one is None for one in said) / len(said)
    if unread > UNREAD:
        found.append(because(Kind.UNREAD_SHARE, round(unread, 6)))
    if source == REPEATS and not any(item.spread for item in items):
        found.append(because(Kind.SAME_ASKS))
    return tuple(found)


def _same_word(known: Sequence[Item], named: Callable[[Label], str], gold: Counter[str]) -> list[Reason]:
    said = Counter(named(one) for item in known for one in item.said if one is not None)
    if not said:
        return []
    word, count = said.most_common(1)[0]
    share, of_gold = count / said.total(), gold[word] / gold.total()
    if share < SAME or of_gold >= SAME:
        return []
    return [because(Kind.SAME_WORD, name(word), round(share, 6), round(of_gold, 6))]


def _as_constant(fit: Fit, known: Sequence[Item], *, passing: bool) -> list[Reason]:
    """Return that nothing shows the judge to be better than a constant answer."""
    constant, raw = fit.of(CONSTANT), fit.of(RAW)
    value = constant.fitted.get("value")
    if constant.better is None or constant.better.high < 0 or not isinstance(value, int | float):
        return []
    mine, other = round(raw.value.value, 6), round(constant.value.value, 6)
    if fit.measure != "accuracy":
        return [because(Kind.OFF_AS_A_CONSTANT, mine, float(value), other)]
    word = ("pass" if value > 0 else "fail") if passing else _word(value, known)
    return [because(Kind.AS_A_CONSTANT, mine, word, other)]


def _word(value: float, known: Sequence[Item]) -> str:
    """Return the class at a place of the line: of pairs, or of criteria."""
    names = {1.0: MET, -1.0: NOT_MET} if any(i.gold in (MET, NOT_MET) for i in known) else {1.0: FIRST, -1.0: SECOND}
    return names.get(float(value), "tie")


def _one_class(classes: Sequence[Row]) -> list[Reason]:
    """Return that the judge is right on one gold label only: below a half on another, and surely worse there."""
    if len(classes) < 2:
        return []
    strong, weak = max(classes, key=lambda row: row.low), min(classes, key=lambda row: row.high)
    if weak.high >= strong.low or weak.right >= 0.5:
        return []
    details = round(strong.right, 6), name(strong.name), round(weak.right, 6), name(weak.name)
    return [because(Kind.ONE_CLASS, *details)]


def _weak_slice(slices: Slices) -> list[Reason]:
    """Return the slice on which the judge is worst, if it is surely worse there than elsewhere."""
    weak = [row for row in slices.rows if row.differs and row.rest is not None and row.right < row.rest]
    if not weak:
        return []
    row = min(weak, key=lambda one: one.right)
    rest = fsum([row.rest or 0.0])
    return [because(Kind.WEAK_SLICE, round(row.right, 6), name(row.tag), name(row.name), round(rest, 6))]
