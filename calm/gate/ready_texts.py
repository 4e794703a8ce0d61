"""Ready-made texts before a run: in how many cases the edits of a suite will show one, and why others will not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from calm.core.case import Case, Treated
from calm.core.edits import Edit
from calm.core.reasons import NONE, Kind, Reason, because
from calm.core.verdict import Family
from calm.experiment.aim import aim, aims_by_pilot
from calm.experiment.pairs import barred


@dataclass(frozen=True, slots=True)
class TextsOutlook:
    """
    What edits will show: of `cases` that hold a text for them, in how many one is `shown`.

    `open` counts further ones where that hangs on the answer that the judge's pilot finds weaker. `unused` counts texts
    that are shown in no case, by reason; of several that are usable a case is shown one or more, as often as it is
    asked.
    """

    cases: int = 0
    shown: int = 0
    open: int = 0
    unused: Mapping[Reason, int] = field(default_factory=dict)

    def __add__(self, other: TextsOutlook) -> TextsOutlook:
        """Return both together."""
        unused = Counter(self.unused) + Counter(other.unused)
        return TextsOutlook(self.cases + other.cases, self.shown + other.shown, self.open + other.open, unused)


def texts_outlook(edits: Sequence[Edit], cases: Sequence[Case], family: Family) -> TextsOutlook:
    """Return what will be shown of the texts that cases hold for edits, which take turns or are asked by themselves."""
    names = {name for edit in edits for variant in edit.variants or (edit,) for name in variant.takes}
    holding = [case for case in cases if names & case.variants.keys()]
    serving = [edit for edit in edits if family in edit.tasks]
    shown = unsure = 0
    unused: Counter[Reason] = Counter()
    for case in holding:
        why: dict[tuple[str, str], Reason] = {}
        bars = {edit: barred(case, family, edit) for edit in serving}
        sure = [_in_each(edit, case, why) for edit, bar in bars.items() if not bar]
        shown += any(all(each) for each in sure)
        unsure += any(any(each) for each in sure) and not any(all(each) for each in sure)
        unused.update(reason for reason in why.values() if reason)
        if not serving:
            serves = because(Kind.OWN_TASKS, ", ".join(edits[0].tasks), family)
            unused[serves] += _count(case, names)
        elif not sure:
            unused[next(iter(bars.values()))] += _count(case, names)
    return TextsOutlook(len(holding), shown, unsure, unused)


def _count(case: Case, names: Set[str]) -> int:
    """Return how many texts with one of some names a case holds."""
    return sum(len(texts) for name, texts in case.variants.items() if name in names)


def _in_each(edit: Edit, case: Case, why: dict[tuple[str, str], Reason]) -> list[bool]:
    """
    Return for each answer that an edit may treat whether a text is shown there.

    `why` gets the reason why a text is shown nowhere, by its name and answer; `NONE` where it is shown.
    """
    shown: list[bool] = []
    for treated in _targets(edit, case):
        held = edit.held(treated)
        shown.append(any(one.usable for one in held))
        for one in held:
            key = one.name, one.answer
            why[key] = one.why if why.get(key, one.why) else NONE
    return shown


def _targets(edit: Edit, case: Case) -> list[Treated]:
    """Return the case as an edit may get it: with the answer that it treats, or with each that a pilot could choose."""
    if aims_by_pilot(case, edit.expects):
        return [case.treat(answer.id) for answer in case.answers]
    found = aim(case, edit.expects)
    return [found] if isinstance(found, Treated) else []
