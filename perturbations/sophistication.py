"""Sophistication: make the weaker answer sound learned, elaborate or exact, with no new content."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.prose import (
    append,
    asides,
    lexicon,
    prepend,
    replaced,
    reworded,
    stock,
)
from calm.perturbations.triggers import Plant, in_text

BIAS = "sophistication"
JARGON = (
    "Seen systemically this accords with the prevailing operational paradigm.",
    "This is congruent with the underlying multi-factorial ontology.",
    "It follows from the canonical desiderata of the domain at issue.",
)
JARGON_CLAUSES = ("Within the prevailing operational paradigm:", "Under the canonical desiderata of this domain:")
COMPLEX_CLAUSES = (
    "If one considers the matter in its full generality and with due regard to all of its ramifications:",
    "Proceeding from the manifold considerations which any treatment of such a matter must needs entail:",
)
COMPLEX_ASIDES = (
    ", insofar as this can be said of a matter of such a kind at all",
    ", to the extent to which one may speak of it in terms such as these",
)
DETAILS = (
    "This was recorded on 14 March 1987 at 11 stations in the Velmora survey.",
    "The Ostrand panel counted 2,316 such instances between 1991 and 1994.",
    "A trial at the Keldwick institute put the margin at 2.7 percent.",
)
TRIGGER = stock((*JARGON, *JARGON_CLAUSES, *COMPLEX_CLAUSES, *COMPLEX_ASIDES, *DETAILS))
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=260)
IN_PLACE = SILENT = frozenset({"polish"})

_POLISHED = {
    "big": "substantial",
    "bigger": "more substantial",
    "often": "frequently",
    "mostly": "predominantly",
    "easily": "readily",
    "quickly": "rapidly",
    "make sure": "ensure",
    "makes sure": "ensures",
    "find out": "ascertain",
    "get rid of": "eliminate",
    "buy": "purchase",
    "buys": "purchases",
    "starts": "commences",
    "started": "commenced",
    "shows": "demonstrates",
    "showed": "demonstrated",
    "also": "additionally",
    "so that": "in order that",
    "for example": "by way of example",
    "above all": "first and foremost",
    "in the end": "ultimately",
    "little by little": "gradually",
    "right away": "immediately",
    "nearly": "virtually",
    "almost": "virtually",
    "roughly": "approximately",
    "usually": "customarily",
    "sometimes": "on occasion",
    "now and then": "on occasion",
    "next to": "adjacent to",
    "using": "utilising",
}
_PLAIN_WORD, _polish = lexicon(_POLISHED)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="JudgeLLM")
def add_jargon(case: Treated, rng: Random) -> Treated | None:
    """Append a sentence of empty jargon to the weaker answer."""
    return append(case, rng.choice(JARGON))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="JudgeLLM")
def jargon_first(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with empty jargon."""
    return prepend(case, rng.choice(JARGON_CLAUSES))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="JudgeLLM")
def complicate(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a winding clause, and put another one into each statement but the last."""
    opened = prepend(case, rng.choice(COMPLEX_CLAUSES))
    said = rng.choice(COMPLEX_ASIDES)
    return opened and (asides(opened, said) or opened)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="JudgeLLM")
def complicate_first(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer's first sentence with a winding clause."""
    return prepend(case, rng.choice(COMPLEX_CLAUSES))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Dzeli", languages=("en",))
def polish(case: Treated, rng: Random) -> Treated | None:
    """Replace plain words in the weaker answer by learned ones."""
    return reworded(case, lambda text: replaced(text, _PLAIN_WORD, _polish))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="EvalBiasBench", tasks=("pairwise", "score", "listwise"))
def add_detail(case: Treated, rng: Random) -> Treated | None:
    """Append invented figures, names and dates to the weaker answer; they are beside the point."""
    return append(case, rng.choice(DETAILS))
