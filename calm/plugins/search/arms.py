"""
Arms: edits of the catalogue as a search tries them, several at once, and cues beside them.

The catalogue writes whole sentences, as an answer would. A judge may go by one word that none of them has. So a search
also tries cues: single words, phrases, passages, signs and layouts that advisers on style, sellers, scholars, chat
models and attackers put into a text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from math import sqrt
from random import Random
from typing import Final

from calm.core.case import Treated
from calm.core.edits import Edit, Expects
from calm.core.verdict import Family
from calm.errors import CalmError
from calm.gate.catalogue import find_edit
from calm.plugins.search.subjects import ANSWER, EXPECTED, PLACES, Place
from calm.strategies.edits import VARIATIONS, Step, by_simplicity, step
from calm.strategies.shrinking import Piece, pieces_between, rendered, tokens_of

CUE: Final = "cue"
"""What the cues are called where edits are named; their families begin so."""
SIGN: Final = f"{CUE}-mark"
"""The family of the signs; a mix may end in one of them."""
SHORT: Final = 5
"""Cues of fewer tokens go before or behind a text, as it comes; longer ones where they say."""
MIXED: Final = (4, 14)
"""The fewest and the most families in a mix."""


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
    """An arm in a stack; its words go where the edit itself puts them, or to the beginning of the text (`before`)."""

    arm: Arm
    before: bool = False


def arms_for(family: Family, names: Sequence[str] = (), model: str = "") -> tuple[Arm, ...]:
    """
    Return the edits that a search tries, the simplest first within a bias, with each of their parameters.

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


def cues() -> list[Edit]:
    """Return the cues as edits that put them before or behind the treated answer, in families of their kind."""
    data = tomllib.loads(files("calm.plugins.search").joinpath("data", "cues.toml").read_text("utf-8"))
    found = [_cue(f" {word}", family) for family, words in data["words"].items() for word in words]
    found += [_cue(text, "layout") for text in data["layout"]["forms"]]
    found += [_cue(text, "closing") for text in data["after"]["closings"]]
    found += [_cue(text, "opening", before=True) for text in data["before"]["openings"]]
    return found + [_cue(mark, "mark") for mark in data["signs"]["marks"]]


def _cue(said: str, family: str, *, before: bool = False) -> Edit:
    def beside(case: Treated, rng: Random) -> Treated | None:
        return case.edit(case.target, lambda text: f"{said}{text}" if before else f"{text}{said}")

    about = f"Put it {'before' if before else 'behind'} the treated answer."
    return Edit(f"cue {said.strip()!r}", f"{CUE}-{family}", Expects.NOT_BETTER, beside, "own", summary=about)


def edited(layers: Sequence[Layer], case: Treated, place: Place, seed: int) -> str | None:
    """
    Return the text of a place after a stack of arms; None where they change nothing.

    An arm whose edit changes anything else is left out, and so is one that does not apply on what is below it.
    """
    start = place.read(case)
    text = start
    for layer in layers:
        text = _with(layer, case, place, text or "", seed) or text
    return None if text == start else text


def _with(layer: Layer, case: Treated, place: Place, text: str, seed: int) -> str | None:
    """Return a text after one more arm; None where it does not apply. Another place gets the words for an answer."""
    own = _alone(layer.arm, case, place, text, seed)
    if own is not None and not layer.before:
        return own
    if own is not None:
        said = _words(pieces_between(text, own))
    elif place.name != ANSWER:
        answer = PLACES[ANSWER].read(case) or ""
        made = _alone(layer.arm, case, PLACES[ANSWER], answer, seed)
        said = () if made is None else _words(pieces_between(answer, made))
    else:
        return None
    tokens = tokens_of(text)
    return rendered(tokens, [Piece(0 if layer.before else len(tokens), 0, said)]) if said else None


def _alone(arm: Arm, case: Treated, place: Place, text: str, seed: int) -> str | None:
    """Return the text as the edit itself makes it; None where it does not apply, or changes something else."""
    base = replace(case, variants={})
    try:
        after = arm.step.edit.apply(place.write(base, text) if text else base, seed + arm.step.seed)
    except CalmError:
        return None
    if after is None:
        return None
    made = " ".join(after.notes[len(base.notes) :]) if place.name == "notes" else place.read(after)
    if not made or made == text:
        return None
    return made if place.write(base, made).untreated() == replace(after, variants={}).untreated() else None


def _words(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return all that was added; nothing where something was taken away."""
    return () if any(piece.removes for piece in pieces) else tuple(t for piece in pieces for t in piece.tokens)


def weighed(arm: Arm, cases: Sequence[Treated], place: Place, seed: int) -> Arm | None:
    """Return an arm with what it does to the first of some cases where it is allowed; None if it is in none."""
    for case in cases:
        made = edited((Layer(arm),), case, place, seed)
        if made is not None and place.allows(case, made):
            pieces = pieces_between(place.read(case) or "", made)
            adds = not any(piece.removes for piece in pieces)
            return replace(arm, words=sum(len(piece.tokens) for piece in pieces), adds=adds)
    return None


def mixed(arms: Sequence[Arm], rng: Random) -> tuple[Layer, ...]:
    """
    Return a few arms, each of another family, as somebody mixes them who writes to persuade.

    What takes words away comes first, so that it does not take away what the others add; a sign may come last.
    """
    families: dict[str, list[Arm]] = {}
    for arm in arms:
        families.setdefault(arm.bias, []).append(arm)
    signs = families.pop(SIGN, [])
    names = sorted(families)
    chosen = rng.choices(names, [sqrt(len(families[name])) for name in names], k=rng.randint(*MIXED)) if names else []
    some = sorted({rng.choice(families[family]) for family in chosen}, key=lambda arm: (arm.adds, arm.name))
    layers = [drawn(arm, rng) for arm in some]
    return (*layers, *([Layer(rng.choice(signs))] if signs and rng.randrange(2) else []))


def drawn(arm: Arm, rng: Random) -> Layer:
    """Return an arm as a part of a stack: a short cue goes before or behind the text, as it comes."""
    return Layer(arm, arm.words < SHORT and arm.bias.startswith(CUE) and rng.randrange(2) == 1)
