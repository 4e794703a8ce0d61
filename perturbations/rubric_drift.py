"""
Rubric drift: reword the criteria, which mean the same as before.

A program verifies some criteria, so it knows what they mean, and can say that in other words or in more detail. Any
other criterion only gets an opening that fits every criterion. For the order of criteria see
`calm.perturbations.judge_prompt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from string import Formatter

from calm import Expects, Treated, perturbation
from calm.core.case import Criterion
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "rubric-drift"
PARAPHRASES: Mapping[str, str] = {
    "contains": 'A reader of the answer comes across "{value}" as whole words.',
    "contains_all": "A reader of the answer comes across each of these as whole words: {values}.",
    "mentions_at_least": 'Whoever counts "{value}" in the answer arrives at {times} or a higher number.',
    "avoids": 'A reader of the answer never comes across "{value}" as whole words.',
    "starts_with": 'The opening words of the answer are "{value}".',
    "ends_with": 'The closing words of the answer are "{value}".',
    "max_words": "Whoever counts the words of the answer arrives at {value} or a lower number.",
    "min_words": "Whoever counts the words of the answer arrives at {value} or a higher number.",
    "max_sentences": "Whoever counts the sentences of the answer arrives at {value} or a lower number.",
    "exact_sentences": "Whoever counts the sentences of the answer arrives at {value}, no more and no less.",
    "exact_paragraphs": "Whoever counts the paragraphs of the answer arrives at {value}, no more and no less.",
    "exact_bullets": "Whoever counts the bullet points of the answer arrives at {value}, no more and no less.",
    "numbered_list": "The numbered items of the answer run from 1 to {value}, no more and no less.",
    "has_heading": "One line of the answer or more is a heading as Markdown writes it.",
    "bold_title": "One line of the answer or more is bold from end to end, as a title is.",
    "has_code_block": "One part of the answer or more is fenced off as a block of code.",
    "has_quotation": "One phrase of the answer or more is set in double quotation marks.",
    "has_digits": "One number of the answer or more is written in digits.",
    "no_digits": "A reader of the answer never comes across a number written in digits.",
    "no_commas": "A reader of the answer never comes across a comma.",
    "no_exclamation": "A reader of the answer never comes across an exclamation mark.",
    "all_lowercase": "A reader of the answer never comes across a capital letter.",
}
"""What each kind of check asks for, in other words than a rubric would use first."""
WHOLE_WORDS = "Letter case does not matter here, and a part of a longer word does not count."
COUNTED = "Whatever stands in a block of code is left out of this count."
PRESENCE = "One is enough for this, wherever in the answer it stands."
ABSENCE = "A single one anywhere in the answer is enough to fail this."
DETAILS: Mapping[str, str] = {
    **dict.fromkeys(("contains", "contains_all", "mentions_at_least", "avoids"), WHOLE_WORDS),
    **dict.fromkeys(("exact_bullets", "numbered_list"), COUNTED),
    **dict.fromkeys(("has_heading", "bold_title", "has_code_block", "has_quotation", "has_digits"), PRESENCE),
    **dict.fromkeys(("no_commas", "no_exclamation", "no_digits", "all_lowercase"), ABSENCE),
}
"""What each kind of check counts, as `calm.core.checks` defines it."""
FRAMES = (
    "The point to look at here is the following one.",
    "This is one of the points that the answer is held against.",
    "Read the answer with this one point in mind.",
)
ON_CRITERIA = frozenset({"paraphrase_criteria", "detail_criteria", "frame_criteria"})


def _found(template: str) -> str:
    return "[^\n]+?".join(re.escape(words) for words, *_ in Formatter().parse(template))


TRIGGER = re.compile(
    "|".join([*map(_found, PARAPHRASES.values()), *map(re.escape, (*dict.fromkeys(DETAILS.values()), *FRAMES))]),
    re.IGNORECASE,
)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2602.13576", tasks=("rubric",))
def paraphrase_criteria(case: Treated, rng: Random) -> Treated | None:
    """Say the criteria that a program can verify in other words."""
    return _reworded(case, _paraphrased)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2602.13576", tasks=("rubric",))
def detail_criteria(case: Treated, rng: Random) -> Treated | None:
    """Say in more detail what counts for the criteria that a program can verify."""
    return _reworded(case, _detailed)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2602.13576", tasks=("rubric",))
def frame_criteria(case: Treated, rng: Random) -> Treated | None:
    """Put a sentence that fits any criterion before each criterion."""
    frame = rng.choice(FRAMES)
    return _reworded(case, lambda one: f"{frame} {one.text}")


def _reworded(case: Treated, word: Callable[[Criterion], str]) -> Treated | None:
    """Return the case with each criterion worded anew that was not yet; None if none is."""
    if any(TRIGGER.search(one.text) for one in case.criteria):
        return None
    criteria = tuple(replace(one, text=word(one)) for one in case.criteria)
    return None if criteria == case.criteria else replace(case, criteria=criteria)


def _paraphrased(one: Criterion) -> str:
    check = one.check or {}
    template = PARAPHRASES.get(str(check.get("kind")))
    if template is None:
        return one.text
    value = check.get("value", "")
    values = ", ".join(f'"{each}"' for each in value) if isinstance(value, list) else ""
    return template.format(value=value, values=values, times=check.get("times", 1))


def _detailed(one: Criterion) -> str:
    detail = DETAILS.get(str((one.check or {}).get("kind")))
    return one.text if detail is None else f"{one.text} {detail}"


def _refined(slot: Slot, seen: Seen) -> bool:
    return any(TRIGGER.search(text) for text in seen.criteria)


PLANTED = Plant(
    BIAS, Trigger("a criterion in one of the refined wordings", _refined), precedence=283, effect=Effect.TAKE_FOR_MET
)
