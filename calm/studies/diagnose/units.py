"""Units: what a judge said of a case, or of one criterion of a case, in each wording; and how far that is apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from calm.core.trials import Trial, distance
from calm.core.verdict import Criteria, Scale, Score, Verdict, as_written, code, readable
from calm.statistics.dissent import Block
from calm.studies.diagnose.wordings import Kind


@dataclass(frozen=True, slots=True)
class Cell:
    """The verdicts on a unit in one wording, in the order of the asks, of which the `first` ones are of round one."""

    wording: str
    kind: Kind
    verdicts: tuple[Verdict, ...]
    first: int


@dataclass(frozen=True, slots=True)
class Unit:
    """
    A case, or one criterion of a case (`criterion` is its id, `text` its wording; both are empty for a whole case).

    `cells[0]` is the judge's own wording. Units of one `cluster` are about the same question.
    """

    case: str
    cluster: str
    cells: tuple[Cell, ...]
    criterion: str = ""
    text: str = ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts, wording by wording."""
        return tuple(verdict for cell in self.cells for verdict in cell.verdicts)

    @property
    def once(self) -> Unit:
        """The unit with the first ask of each wording: all that a judge that repeats itself says."""
        cells = tuple(Cell(one.wording, one.kind, one.verdicts[:1], 1) for one in self.cells)
        return Unit(self.case, self.cluster, cells, self.criterion, self.text)

    def counts(self, scale: Scale) -> dict[str, int]:
        """Return how often each verdict was given, as the judge writes it, the most frequent one first."""
        found = Counter(_name(verdict, scale) for verdict in self.verdicts)
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def units_of(case: str, cluster: str, cells: Sequence[Cell], criteria: Mapping[str, str]) -> list[Unit]:
    """Return the units of a case: one, or one for each criterion (id to text) that its verdicts are about."""
    if not criteria:
        return [Unit(case, cluster, tuple(cells))]
    return [
        Unit(case, cluster, tuple(Cell(c.wording, c.kind, _only(c.verdicts, name), c.first) for c in cells), name, text)
        for name, text in criteria.items()
    ]


def _only(verdicts: Sequence[Verdict], criterion: str) -> tuple[Verdict, ...]:
    """Return what verdicts say of one criterion; a reply that says nothing of it is one that cannot be read."""
    found = []
    for verdict in verdicts:
        met = verdict.met.get(criterion) if isinstance(verdict, Criteria) else None
        law = (verdict.probabilities or {}) if isinstance(verdict, Criteria) else {}
        found.append(Criteria({criterion: met}, {criterion: law[criterion]} if criterion in law else None))
    return tuple(found)


def dissents(verdicts: Sequence[Verdict], scale: Scale, tolerance: float) -> tuple[bool, ...]:
    """
    Return which verdicts are not the usual one: the most frequent, or for scores the fullest window of the scale.

    The window reaches `tolerance`, a share of the scale, to both sides of its middle.
    """
    if not verdicts:
        return ()
    scores = [one.value for one in verdicts if isinstance(one, Score)]
    if not scores:
        names = [_name(verdict, scale) for verdict in verdicts]
        usual = Counter(names).most_common(1)[0][0]
        return tuple(name != usual for name in names)
    width = 2 * tolerance * (scale.high - scale.low) + 1e-9
    low = max(sorted(scores), key=lambda start: sum(start <= one <= start + width for one in scores))
    return tuple(not (isinstance(one, Score) and low <= one.value <= low + width) for one in verdicts)


def block(unit: Unit, kinds: Sequence[Kind], scale: Scale) -> Block | None:
    """Return the distances of all asks in the wordings of some kinds; None: it was asked in fewer than two of them."""
    import numpy as np

    cells = [cell for cell in unit.cells if cell.kind in kinds and cell.verdicts]
    if len(cells) < 2:
        return None
    said = [verdict for cell in cells for verdict in cell.verdicts]
    row = row_of(unit)
    apart = np.zeros((len(said), len(said)))
    for i, one in enumerate(said):
        for j in range(i):
            apart[i, j] = apart[j, i] = distance(one, said[j], row, scale)
    wordings = tuple(number for number, cell in enumerate(cells) for _ in cell.verdicts)
    return Block(apart, wordings, tuple(int(k >= cell.first) for cell in cells for k in range(len(cell.verdicts))))


def noise(unit: Unit, scale: Scale) -> float | None:
    """
    Return the mean distance of two asks in the same words, in [0, 1]; None if no wording was asked twice.

    Two that cannot be read have no distance.
    """
    row = row_of(unit)
    found = []
    for cell in unit.cells:
        said = cell.verdicts
        pairs = [(a, b) for i, a in enumerate(said) for b in said[:i] if readable(a) or readable(b)]
        if pairs:
            found.append(fsum(distance(a, b, row, scale) for a, b in pairs) / len(pairs))
    return fsum(found) / len(found) if found else None


def row_of(unit: Unit) -> Trial:
    """Return the row by which the distance of two verdicts of a unit is measured."""
    return Trial(unit.case, points={unit.criterion: 1.0} if unit.criterion else {})


def _name(verdict: Verdict, scale: Scale) -> str:
    """Return a verdict as it is counted."""
    if isinstance(verdict, Criteria) and len(verdict.met) == 1:
        met = next(iter(verdict.met.values()))
        return "unread" if met is None else "met" if met else "not met"
    if not readable(verdict):
        return "unread"
    kept = as_written(code(verdict), scale)
    return f"{kept:g}" if isinstance(kept, float) else str(kept)
