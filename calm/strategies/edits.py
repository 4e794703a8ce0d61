"""`edits()` and `stacks()`: edits of the catalogue with their parameters drawn, to be called with a case."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hypothesis import assume, currently_in_test_context, note
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from calm.core.case import Case, Treated
from calm.core.edits import Edit, Expects
from calm.core.validation import fault_in
from calm.core.verdict import Family
from calm.errors import ConfigError, nearest
from calm.experiment.aim import aim
from calm.gate.catalogue import Entry, find_edit
from calm.results.reports.texts import differences
from calm.strategies.parameters import VARIATIONS, Step, step
from calm.strategies.running import running
from calm.strategies.simplicity import by_simplicity, known_biases, texts_of

AROUND: Final = 60
"""Characters that are shown on either side of what an edit changed."""
HARMLESS: Final = (Expects.SAME, Expects.NOT_BETTER, Expects.OBSERVE)
"""What edits of a stack expect: they leave alone which answer is the better one."""


@dataclass(frozen=True, repr=False)
class Change:
    """
    What `edits` and `stacks` draw: one edit or several, each applied to the result of the one before.

    Call it with a case, `edit(case)`, to get the edited case. Which answer is treated is chosen as a probe chooses it
    without a pilot: the better one where the edit expects WORSE, else the worst. Where an edit does not apply to the
    case, the example is rejected by `hypothesis.assume`; `apply` returns None there. For the final example of
    Hypothesis, a call prints what it changed.
    """

    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        return " + ".join(map(str, self.steps))

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits, the first one first."""
        return tuple(one.edit for one in self.steps)

    def __call__(self, case: Case) -> Treated:
        """Return the edited case, or reject the example where an edit does not apply."""
        edited = self.apply(case)
        assume(edited is not None)
        assert edited is not None
        if currently_in_test_context():
            _tell(self, case, edited)
        return edited

    def apply(self, case: Case) -> Treated | None:
        """Return the edited case; None where an edit does not apply."""
        aimed = case if isinstance(case, Treated) else aim(case.with_order(), self.edits[0].expects)
        if not isinstance(aimed, Treated):
            return None
        now = aimed
        for place, one in enumerate(self.steps):
            # a text that the case brings for a later edit would take the place of what the earlier ones made
            edited = one.edit.apply(replace(now, variants={}) if place else now, one.seed)
            if edited is None or fault_in(one.edit, now, edited):
                return None
            now = replace(edited, variants=aimed.variants)
        return now


def _tell(change: Change, before: Case, after: Case) -> None:
    """Have Hypothesis show what a change does, beside the example that it ends with."""
    old, new = dict(texts_of(before)), dict(texts_of(after))
    places = [place for place in {**old, **new} if old.get(place, "") != new.get(place, "")]
    for place in places:
        note(f"{change}: {place}: {differences(old.get(place, ''), new.get(place, ''), context=AROUND)}")
    if not places:
        note(f"{change}: the order or the framing: {', '.join(after.slots)}; {after.framing}")


def edits(
    *, expects: Expects | None = None, bias: str | None = None, names: Collection[str] = ()
) -> SearchStrategy[Change]:
    """
    Return a strategy for the edits that serve the task of the run's judge; edits of its prompt are left out.

    Parameters (a dose, a number of times, the name of a model) are drawn, too. It shrinks to the edit that changes
    least, with the smallest parameters: first to the bias that has the simplest edit, then to the simplest in it.

    Args:
        expects: only edits that expect this of a sound judge.
        bias: only those of one bias, as `calm perturb --list` shows it.
        names: only these: `cite_book`, `authority.cite_book`, `expand@3`, or `package.module:name` for one of your own.

    Raises:
        ConfigError: an unknown bias or name, or no edit is left.
    """
    return _step(_Wanted.of(expects, bias, names, whose="edits()")).map(lambda one: Change((one,)))


def stacks(
    max_size: int = 3, *, expects: Expects | None = None, bias: str | None = None, names: Collection[str] = ()
) -> SearchStrategy[Change]:
    """
    Return a strategy for stacks of 1 to `max_size` different edits, applied in turn; it shrinks to fewer, simpler
    edits.

    The arguments are those of `edits`. Edits that expect WORSE or TIE are left out: they change what is right.

    Raises:
        ConfigError: as `edits` does, or a size below 1.
    """
    if max_size < 1:
        raise ConfigError(f"stacks(): expected a max_size of at least 1, got {max_size!r}")
    return _stack(_Wanted.of(expects, bias, names, whose="stacks()", harmless=True), max_size)


@st.composite
def _stack(draw: DrawFn, wanted: _Wanted, most: int) -> Change:
    steps = draw(st.lists(_step(wanted), min_size=1, max_size=most, unique_by=lambda one: one.edit.name))
    return Change(tuple(steps))


@st.composite
def _step(draw: DrawFn, wanted: _Wanted) -> Step:
    groups = wanted.groups(running().family)
    group = groups[draw(st.integers(0, len(groups) - 1))]
    found = step(group[draw(st.integers(0, len(group) - 1))], draw(st.integers(0, VARIATIONS - 1)))
    assume(found is not None)
    assert found is not None
    return found


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which edits are drawn; `own` are those that were named with an argument or by their module."""

    whose: str
    expects: Expects | None
    bias: str | None
    names: frozenset[str]
    own: tuple[Entry, ...]
    harmless: bool

    @classmethod
    def of(
        cls, expects: Expects | None, bias: str | None, names: Collection[str], *, whose: str, harmless: bool = False
    ) -> _Wanted:
        by_simplicity(running().family)  # now, and not in the first draw: Hypothesis minds slow ones
        if isinstance(names, str):
            raise ConfigError(f'{whose}: expected names in a list, got {names!r}; write names=["{names}"]')
        if bias is not None and bias not in (known := known_biases()):
            raise ConfigError(f"{whose}: there is no bias {bias!r}{nearest(bias, known)}")
        if expects is not None and expects not in tuple(Expects):
            raise ConfigError(f"{whose}: expected one of {', '.join(Expects)}, got expects={expects!r}")
        own = tuple(_entry(name) for name in names if "@" in name or ":" in name)
        plain = frozenset(names) - {entry.name for entry in own}
        for name in plain:
            find_edit(name.partition("@")[0], "judge-model") if name else None
        return cls(whose, expects, bias, plain, own, harmless)

    def groups(self, family: Family) -> Sequence[Sequence[Entry]]:
        """Return the edits for a kind of verdict by bias, the simplest first."""
        found = [tuple(e for e in group if self._takes(e)) for group in by_simplicity(family)]
        found.append(tuple(e for e in self.own if family in e.edit.tasks and self._fits(e)))
        kept = [group for group in found if group]
        if not kept:
            raise ConfigError(
                f"{self.whose}: no edit of a {family} case fits these arguments; `calm perturb --list` shows all"
            )
        return kept

    def _takes(self, entry: Entry) -> bool:
        named = entry.key in self.names or entry.name in self.names or not (self.names or self.own)
        return named and self._fits(entry)

    def _fits(self, entry: Entry) -> bool:
        edit = entry.edit
        fits = self.expects in (None, edit.expects) and self.bias in (None, edit.bias)
        return fits and (edit.expects in HARMLESS or not self.harmless)


def _entry(name: str) -> Entry:
    """Return an edit that was named with an argument, or by its module, as an entry of its own."""
    return _Own("", name, find_edit(name, running().model))


@dataclass(frozen=True, slots=True)
class _Own(Entry):
    @property
    def key(self) -> str:
        return self.name
