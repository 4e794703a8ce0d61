"""A search that stacks edits of the catalogue until the verdict flips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.core.case import Case, Treated, digest
from calm.core.edits import AnyEdit, Edit, Expects
from calm.errors import ConfigError
from calm.experiment.aim import aim
from calm.experiment.setup import Setup
from calm.gate.catalogue import Entry, entries, find_edit
from calm.strategies.simplest import fewest
from calm.studies.attack.asks import STACK, climbed, fault_in, tried
from calm.studies.attack.attack import AIM, AttackedCase, Search
from calm.studies.attack.shrinking import Winning
from calm.studies.threads import side_by_side

LOOKS: Final = 2
"""To drop edits that are not needed, at most so many asks are made for each edit of a stack."""


@dataclass(frozen=True, slots=True)
class Group:
    """Edits of which a stack takes one: those of a bias, or a single one."""

    name: str
    edits: tuple[Edit, ...]


def groups_for(names: Sequence[str], model: str = "") -> list[Group]:
    """
    Return the edits of a stack by bias or by name; without names, one group for each bias.

    Args:
        names: biases (`authority`) and perturbations (`authority.cite_book`, `expand@3`, `package.module:name`).
        model: the name of the judge's model in edits that name it.

    Raises:
        ConfigError: a name is unknown, or its edit does not expect NOT_BETTER.
    """
    known = [(entry, entry.edit) for entry in entries() if _stacks(entry.edit)]
    by_bias: dict[str, list[Edit]] = {}
    for entry, edit in known:
        by_bias.setdefault(edit.bias, []).append(_of_model(entry, edit, model))
    if not names:
        return [Group(bias, tuple(edits)) for bias, edits in sorted(by_bias.items())]
    groups: list[Group] = []
    problems: list[str] = []
    for name in dict.fromkeys(names):
        if name in by_bias:
            groups.append(Group(name, tuple(by_bias[name])))
            continue
        try:
            edit = find_edit(name, model)
        except ConfigError as error:
            problems += [f"--edits: {problem}" for problem in error.problems]
            continue
        if not isinstance(edit, Edit) or not _stacks(edit):
            what = "of the prompt" if not isinstance(edit, Edit) else f"that expects {edit.expects}"
            problems.append(f"--edits: {name}: expected an edit of a case that expects NOT_BETTER, got one {what}")
            continue
        groups.append(Group(edit.label or name, edit.variants or (edit,)))
    if problems:
        raise ConfigError(problems)
    return groups


def _stacks(edit: AnyEdit) -> bool:
    return isinstance(edit, Edit) and edit.expects is Expects.NOT_BETTER


def _of_model(entry: Entry, edit: AnyEdit, model: str) -> Edit:
    found = find_edit(entry.key, model) if entry.takes == ("model",) and model else edit
    assert isinstance(found, Edit), "edits of cases alone are stacked"
    return found


def stack(groups: Sequence[Group]) -> Search:
    """
    Return a search that stacks edits, one of each group, until the verdict flips.

    Groups, and the edits within one, come in an order drawn for each case. An edit stays on the stack unless the answer
    does worse with it. Only edits of the treated answer's text are used. When the verdict has flipped, edits that are
    not needed for it are taken off again.
    """

    def search(setup: Setup, sought: Sequence[AttackedCase]) -> None:
        queues = {one: _drawn(groups, one.aim.source.id, setup.seed) for one in sought}
        while True:
            tries: list[tuple[AttackedCase, Treated, Edit]] = []
            for one in sought:
                step = _next(queues[one], one, setup.seed) if one.going else None
                if step is not None:
                    tries.append((one, *step))
            if not tries:
                break
            verdicts = tried(setup, [(one, case) for one, case, _ in tries])
            for (one, case, edit), verdict in zip(tries, verdicts, strict=True):
                if one.found is not None or climbed(setup, one, case, verdict):
                    one.edits = (*one.edits, edit)
        high = [one for one in sought if len(one.edits) > 1 and one.found is not None and not one.lost]
        side_by_side(setup.engine, lambda one: _prune(setup, one), high)

    return search


def steps(groups: Sequence[Group], cases: Sequence[Case], seed: int) -> int:
    """Return how many edits apply to the clean answers of all cases, one of each group."""
    count = 0
    for case in cases:
        aimed = aim(case, AIM.expects)
        if isinstance(aimed, Treated):
            laid = ((_laid(edit, aimed, aimed, seed) for edit in group.edits) for group in groups)
            count += sum(any(isinstance(one, Treated) for one in group) for group in laid)
    return count


def _drawn(groups: Sequence[Group], case: str, seed: int) -> list[Group]:
    """Return the groups in the order of a case, the last one first, with their edits in its order."""
    ordered = sorted(groups, key=lambda g: digest("stack", seed, case, g.name), reverse=True)
    return [Group(g.name, tuple(sorted(g.edits, key=lambda e: digest("stack", seed, case, e.label)))) for g in ordered]


def _next(queue: list[Group], one: AttackedCase, seed: int) -> tuple[Treated, Edit] | None:
    """Return the case with one more edit on the stack, from the first group that has one that applies."""
    while queue:
        for edit in queue.pop().edits:
            laid = _laid(edit, one.case, one.aim.case, seed)
            if isinstance(laid, Treated):
                return laid, edit
            one.refused[laid] += 1
    return None


def _laid(edit: Edit, case: Treated, original: Treated, seed: int) -> Treated | str:
    """Return a case with one more edit on its stack, or why the edit cannot be used."""
    bare = replace(case, variants={})  # a ready-made text would take the place of the whole stack
    edited = edit.apply(bare, seed)
    if edited is None:
        return "does not apply"
    after = replace(edited, variants=case.variants)
    treated = original.target
    if after != case.edit(treated, lambda _: after[treated].text):
        return "changes more than the answer's text"
    return fault_in(edit, case, after) or fault_in(STACK, original, after) or after


def _prune(setup: Setup, one: AttackedCase) -> None:
    """Reduce a stack to the fewest edits that win, as far as a shrinker finds with its asks."""
    wins = Winning(setup, one, LOOKS * len(one.edits))

    def built(edits: tuple[Edit, ...]) -> Treated | None:
        return _rebuilt(edits, one.aim.case, setup.seed)

    edits = fewest(one.edits, lambda some: (case := built(some)) is not None and wins(case), setup.seed)
    if edits != one.edits:
        one.edits, one.found = edits, built(edits)


def _rebuilt(edits: Sequence[Edit], original: Treated, seed: int) -> Treated | None:
    case = original
    for edit in edits:
        laid = _laid(edit, case, original, seed)
        if isinstance(laid, str):
            return None
        case = laid
    return case if edits else None
