"""Phrases: what edits say in the language of a case, where it is another one than English."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random

from calm import Treated
from calm.core.languages import ENGLISH, language_of_case

MODEL = "{model}"
"""Stands in a phrase for the name of the judge's own model."""

Phrases = Mapping[str, Mapping[str, tuple[str, ...]]]


@cache
def _phrases() -> Mapping[str, Phrases]:
    """Return the phrases by language, bias and edit."""
    text = files("calm.perturbations").joinpath("data", "phrases.toml").read_text("utf-8")
    return {
        code: {bias: {edit: tuple(said) for edit, said in edits.items()} for bias, edits in biases.items()}
        for code, biases in tomllib.loads(text).items()
    }


def ways(case: Treated, bias: str, edit: str, english: Sequence[str]) -> Sequence[str]:
    """Return what an edit may say to the treated answer in the language of its case, or else `english`."""
    language = language_of_case(case, case.target)
    if language == ENGLISH:
        return english
    return _phrases().get(language, {}).get(bias, {}).get(edit, ()) or english


def said(case: Treated, rng: Random, bias: str, edit: str, english: Sequence[str]) -> str:
    """Return what an edit says, drawn from the `ways` to say it."""
    return rng.choice(ways(case, bias, edit, english))


def foreign(bias: str) -> Iterator[str]:
    """Yield all phrases of a bias in other languages than English; of one that names a model, its longest part."""
    for biases in _phrases().values():
        for several in biases.get(bias, {}).values():
            yield from (max(phrase.split(MODEL), key=len).strip() for phrase in several)


def spoken() -> tuple[str, ...]:
    """Return the codes of the languages that have phrases."""
    return (ENGLISH, *_phrases())
