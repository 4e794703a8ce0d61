"""Arms: edits of the catalogue as a hunt tries them, alone, many at once, or with their words moved elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from random import Random
from typing import Final

from calm.core.case import Treated
from calm.core.edits import Edit, Expects
from calm.core.verdict import Family
from calm.errors import CalmError
from calm.gate.catalogue import find_edit
from calm.strategies.insertions import pieces_between
from calm.strategies.parameters import VARIATIONS, Step, step
from calm.strategies.simplicity import by_simplicity
from calm.strategies.tokens import Piece, rendered, tokens_of
from calm.studies.hunt.cues import MARK, cues
from calm.studies.hunt.places import ANSWER, Place

EXPECTED: Final = (Expects.NOT_BETTER, Expects.SAME)
"""What the edits of a hunt expect: a sound judge must not come to prefer the answer for them."""
CUE: Final = "cue"
"""What the cues are called where edits are named; their families begin so."""
SHORT: Final = 5
"""Cues of fewer tokens go before or behind a text, as it comes; longer ones where they say."""
MIXED: Final = (4, 14)
"""The fewest and the most families in a mix."""
MARKED: Final = f"{CUE}-{MARK}"


@dataclass(frozen=True, slots=True)
class Arm:
    """An edit with its parameters, and the bias that it belongs to."""

    step: Step
    bias: str
    words: int = 12
    """About how many words it adds."""
    adds: bool = True
    """Whether all it does is to add words."""

    @property
    def name(self) -> str:
        """How a test writes it."""
        return str(self.step)


@dataclass(frozen=True, slots=True)
class Layer:
    """
    An arm in a stack, and where its words go.

    `at` is 0 for where the edit itself puts them, 1 for the beginning of the text, 2 for its end, and from 3 on behind
    its first, second, ... sentence.
    """

    arm: Arm
    at: int = 0


def arms_for(family: Family, names: Sequence[str] = (), model: str = "") -> tuple[Arm, ...]:
    """
    Return the edits that a hunt tries, the simplest first within a bias, with each of their parameters.

    Args:
        family: the kind of verdict.
        names: biases or perturbations; none: all.
        model: the name of the judge's model.

    Raises:
        ConfigError: a name that is neither.
    """
    known = [entry for group in by_simplicity(family) for entry in group if entry.edit.expects in EXPECTED]
    biases = {CUE, *(entry.edit.bias for entry in known)}
    wanted = set(names)
    for name in wanted - biases:
        find_edit(name, model)
    found: dict[str, Arm] = {}
    for entry in known:
        if wanted and not wanted & {entry.edit.bias, entry.key, entry.name}:
            continue
        for variation in range(VARIATIONS if entry.takes else 1):
            one = step(entry, variation)
            if one is not None and not one.seed:
                found.setdefault(one.name, Arm(one, entry.edit.bias))
    for name in sorted(wanted - biases):
        own = find_edit(name, model)
        if isinstance(own, Edit) and not any(own.label == arm.step.edit.label for arm in found.values()):
            found[name] = Arm(Step(own, name), own.bias)
    if not wanted or CUE in wanted:
        for edit in cues():
            found[edit.name] = Arm(Step(edit, edit.name), edit.bias)
    return tuple(found.values())


def laid(layers: Sequence[Layer], case: Treated, place: Place, seed: int) -> str | None:
    """
    Return the text of a place after a stack of arms; None where the first one that is wanted does not apply.

    An arm whose edit changes anything else is left out, and so is one that does not apply on what is below it.
    """
    text = place.read(case)
    start = text
    for layer in layers:
        text = _laid(layer, case, place, text or "", seed) or text
    return None if text == start else text


def _laid(layer: Layer, case: Treated, place: Place, text: str, seed: int) -> str | None:
    """Return a text after one more arm; None where it does not apply."""
    native = _edited(layer.arm, case, place, text, seed)
    if native is not None and layer.at == 0:
        return native
    if native is None and place.name == ANSWER:
        return None
    said = _said(layer.arm, case, place, seed) if native is None else _words(pieces_between(text, native))
    if not said:
        return None
    tokens = tokens_of(text)
    return rendered(tokens, [Piece(_gap(tokens, layer.at), 0, said)])


def _edited(arm: Arm, case: Treated, place: Place, text: str, seed: int) -> str | None:
    """Return the text as the edit itself makes it; None where it does not apply, or changes something else."""
    base = replace(case, variants={})
    now = place.write(base, text) if text else base
    try:
        after = arm.step.edit.apply(now, seed + arm.step.seed)
    except CalmError:
        return None
    if after is None:
        return None
    made = place.read(after)
    if place.name == "notes":
        made = " ".join(after.notes[len(base.notes) :])
    if not made or made == text:
        return None
    return made if place.write(base, made).untreated() == replace(after, variants={}).untreated() else None


def _said(arm: Arm, case: Treated, place: Place, seed: int) -> tuple[str, ...]:
    """Return the words that an edit adds to an answer, for another place."""
    from calm.studies.hunt.places import PLACES

    answer = PLACES[ANSWER]
    text = answer.read(case) or ""
    made = _edited(arm, case, answer, text, seed)
    return () if made is None else _words(pieces_between(text, made))


def _words(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return all that was added; nothing where something was taken away."""
    return () if any(piece.removes for piece in pieces) else tuple(t for piece in pieces for t in piece.tokens)


def _gap(tokens: Sequence[str], at: int) -> int:
    """Return the number of the token before which words go."""
    if at in (0, 2):
        return len(tokens)
    if at == 1:
        return 0
    ends = [n + 1 for n, token in enumerate(tokens) if token.strip() in (".", "!", "?")]
    return ends[(at - 3) % len(ends)] if ends else len(tokens)


def weighed(arm: Arm, cases: Sequence[Treated], place: Place, seed: int) -> Arm | None:
    """Return an arm with what it does to the first of some cases where it is allowed; None if it is in none."""
    for case in cases:
        made = laid((Layer(arm),), case, place, seed)
        if made is not None and place.allows(case, made):
            pieces = pieces_between(place.read(case) or "", made)
            adds = not any(piece.removes for piece in pieces)
            return replace(arm, words=sum(len(piece.tokens) for piece in pieces), adds=adds)
    return None


def heaps(arms: Sequence[Arm], words: int, rng: Random) -> Iterator[tuple[Layer, ...]]:
    """
    Yield all arms in a new order, cut into stacks of about so many words.

    Cues go before or behind the text, and a stack ends in a sign, so that a rule about either end of a text meets some.
    """
    marks = [arm for arm in arms if arm.bias == MARKED]
    some: list[Layer] = []
    weight = 0
    for arm in rng.sample(arms, len(arms)):
        if arm.bias == MARKED:
            continue
        some.append(Layer(arm, rng.randrange(2) if arm.words < SHORT and arm.bias.startswith(CUE) else 0))
        weight += arm.words
        if weight >= words:
            yield (*some, *([Layer(rng.choice(marks))] if marks else []))
            some, weight = [], 0
    if some:
        yield tuple(some)


def mixed(arms: Sequence[Arm], rng: Random) -> tuple[Layer, ...]:
    """
    Return a few arms, each of another family, as somebody mixes them who writes to persuade.

    What takes words away comes first, so that it does not take away what the others add; a sign may come last.
    """
    families: dict[str, list[Arm]] = {}
    for arm in arms:
        families.setdefault(arm.bias, []).append(arm)
    marks = families.pop(MARKED, [])
    names = sorted(families)
    chosen = rng.choices(names, [sqrt(len(families[name])) for name in names], k=rng.randint(*MIXED)) if names else []
    some = sorted({rng.choice(families[family]) for family in chosen}, key=lambda arm: (arm.adds, arm.name))
    layers = [Layer(arm, rng.randrange(2) if arm.words < SHORT and arm.bias.startswith(CUE) else 0) for arm in some]
    return (*layers, *([Layer(rng.choice(marks))] if marks and rng.randrange(2) else []))
