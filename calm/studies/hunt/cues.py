"""
Cues: single words, phrases, passages, signs and layouts that a judge may have a rule about, beside the edits.

The catalogue writes whole sentences, as an answer would. A judge may go by one word that none of them has. So a hunt
also tries what advisers on style, sellers, scholars, chat models and attackers put into a text.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from random import Random
from typing import Final

from calm.core.case import Treated
from calm.core.edits import Edit, Expects

MARK: Final = "mark"
"""The family of the signs; a heap of edits ends in one of them."""


def cues() -> list[Edit]:
    """Return the cues as edits that put them before or behind the treated answer, in families of their kind."""
    data = tomllib.loads(files("calm.studies.hunt").joinpath("data", "cues.toml").read_text("utf-8"))
    found = [_cue(f" {word}", family) for family, words in data["words"].items() for word in words]
    found += [_cue(text, "layout") for text in data["layout"]["forms"]]
    found += [_cue(text, "closing") for text in data["after"]["closings"]]
    found += [_cue(text, "opening", before=True) for text in data["before"]["openings"]]
    return found + [_cue(mark, MARK) for mark in data["signs"]["marks"]]


def _cue(said: str, family: str, *, before: bool = False) -> Edit:
    def beside(case: Treated, rng: Random) -> Treated | None:
        return case.edit(case.target, lambda text: f"{said}{text}" if before else f"{text}{said}")

    about = f"Put it {'before' if before else 'behind'} the treated answer."
    return Edit(f"cue {said.strip()!r}", f"cue-{family}", Expects.NOT_BETTER, beside, "own", summary=about)
