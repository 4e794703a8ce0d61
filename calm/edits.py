"""Edits: named pure functions that rewrite a case, and what a sound judge does about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import TypeAlias

from calm.case import Case, digest
from calm.errors import ConfigError, EditError, nearest
from calm.verdict import FAMILIES, Family

Rewrite: TypeAlias = Callable[[Case, Random], Case | None]


class Expects(StrEnum):
    """What a sound judge does with the treated answer."""

    SAME = "SAME"
    """The verdict must not change."""
    NOT_BETTER = "NOT_BETTER"
    """The treated answer must not gain."""
    WORSE = "WORSE"
    """The treated answer must lose: a test of sensitivity."""
    TIE = "TIE"
    """The answers must tie, or be preferred symmetrically."""
    OBSERVE = "OBSERVE"
    """Nothing is required; the effect is reported."""


@dataclass(frozen=True)
class Edit:
    """
    A perturbation: a pure function of a case and a source of randomness, with what it is and what it should do.

    Call it as `edit(case, rng)`; None means that it does not apply to the case. `tasks` are the kinds of verdict that
    it serves, `dose` a strength that is part of its name in results, `source` where the idea comes from.
    """

    name: str
    bias: str
    expects: Expects
    rewrite: Rewrite
    source: str = ""
    tasks: tuple[Family, ...] = FAMILIES
    dose: float | None = None
    summary: str = ""
    variants: tuple[Edit, ...] = ()

    def __call__(self, case: Case, rng: Random) -> Case | None:
        """Return the edited case, or None where the edit does not apply."""
        return self.rewrite(case, rng)

    def __repr__(self) -> str:
        if self.variants:
            named = f", name={self.name!r}" if self.name else ""
            return f"rotate({', '.join(v.label for v in self.variants)}{named})"
        return self.label

    @property
    def label(self) -> str:
        """The name as results show it: with the dose, if there is one."""
        return self.name if self.dose is None else f"{self.name}@{self.dose:g}"

    def choices(self, case: Case, seed: int) -> tuple[Edit, ...]:
        """Return the edits to try on a case, the one drawn for it first; more than one only for a rotation."""
        if not self.variants:
            return (self,)
        start = int(digest("rotate", seed, self.bias, self.name, case.id), 16) % len(self.variants)
        return self.variants[start:] + self.variants[:start]

    def apply(self, case: Case, seed: int) -> Case | None:
        """Return the case after this one edit, with randomness drawn from seed, edit and case alone."""
        rng = Random(digest("edit", seed, self.bias, self.label, case.id))
        edited = self.rewrite(case, rng)
        if edited is not None and edited.blind() == case.blind():
            raise EditError(
                f"perturbation {self.label} returned case {case.id} unchanged; return None where it does not apply"
            )
        return edited


def perturbation(
    *,
    bias: str,
    expects: Expects,
    source: str = "",
    tasks: Sequence[Family] = FAMILIES,
    dose: float | None = None,
) -> Callable[[Rewrite], Edit]:
    """
    Turn a function `(case, rng) -> case or None` into a perturbation named like the function.

    Args:
        bias: the name of its bias, in kebab case, as results show it.
        expects: what a sound judge does with the treated answer.
        source: a paper (as `arXiv:...`) or a project that the idea comes from.
        tasks: the kinds of verdict it serves: "pairwise", "score", "rubric", "listwise".
        dose: its strength, where it is one of several; part of its key in results.

    Raises:
        ConfigError: a task that is not known, or a bias that is not in kebab case.
    """
    unknown = [t for t in tasks if t not in FAMILIES]
    if unknown:
        raise ConfigError(f"perturbation of {bias}: unknown task {unknown[0]!r}{nearest(unknown[0], FAMILIES)}")
    if not bias or not all(part.isalnum() and part == part.lower() for part in bias.split("-")):
        raise ConfigError(f"perturbation: expected a bias in kebab case such as 'self-authorship', got {bias!r}")

    def make(rewrite: Rewrite) -> Edit:
        summary = (rewrite.__doc__ or "").strip().partition("\n")[0]
        return Edit(rewrite.__name__, bias, expects, rewrite, source, tuple(tasks), dose, summary)

    return make


def rotate(*edits: Edit, name: str = "") -> Edit:
    """
    Return an edit that gives each case one of several variants, drawn from the seed and the case.

    Where the variant drawn does not apply, or the judge cannot see it, the next one is tried. A bias so costs one arm
    of calls whatever the number of its variants. A `name` tells two rotations of one bias apart in results.

    Raises:
        ConfigError: no variants, or variants that differ in bias, expectation or tasks.
    """
    if not edits:
        raise ConfigError("rotate() expects at least one perturbation")
    for what in ("bias", "expects", "tasks"):
        values = {str(getattr(e, what)) for e in edits}
        if len(values) > 1:
            raise ConfigError(f"rotate(): the variants differ in {what}: {', '.join(sorted(values))}")
    one = edits[0]
    variants = tuple(v for e in edits for v in (e.variants or (e,)))

    def first_that_applies(case: Case, rng: Random) -> Case | None:
        start = rng.randrange(len(variants))
        tried = (v.rewrite(case, rng) for v in variants[start:] + variants[:start])
        return next((edited for edited in tried if edited is not None), None)

    summary = f"One of: {', '.join(v.label for v in variants)}."
    return Edit(name, one.bias, one.expects, first_that_applies, one.source, one.tasks, None, summary, variants)
