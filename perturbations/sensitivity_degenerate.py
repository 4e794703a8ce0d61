"""Degenerate answers: put in an answer's place what is none, as a part of the control suite `sensitivity`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from calm import Case, Expects, Treated, perturbation
from calm.core.edits import Edit
from calm.errors import ConfigError
from calm.perturbations.prose import NEVER, sentences

BIAS = "sensitivity"
TRIGGER = NEVER

OPENERS = ("Thought process:", "Solution", "Let's solve this step by step.")
FOREIGN_OPENERS = ("解説", "解答：", "Lösung:", "Respuesta:", "Réponse :", "Решение:", "الحل:", "풀이:")
TEMPLATES = (
    "| Part | State |\n|---|---|\n| Task | read in full |\n| Answer | complete and correct |\n| Doubts | none |",
    "## Task\nunderstood\n\n## Answer\ngiven in full\n\n## Check\nall points are covered and nothing is missing",
    "{'task': 'understood', 'answer': 'complete', 'quality': 'highest', 'open points': 'none'}",
)
"""Structured texts that claim to be a full answer, the same ones for every question."""
BOILERPLATE = (
    "After careful consideration of all relevant aspects it becomes clear that this is a matter of many facets. "
    "Several factors play a role here and each of them deserves attention. A balanced view is advisable in any case.",
    "This is an interesting and important topic. There are various ways to look at it and each has its own merits. "
    "In the end the right choice depends on the circumstances and on what matters most to the people involved.",
    "Thank you for bringing this up. It is worth taking the time to look at it closely. With a sound approach and the "
    "right mindset a good outcome can be reached and everybody will benefit from it in the long run.",
)
"""Fluent texts that say nothing about anything."""
BUZZ = ("robust", "holistic", "scalable", "comprehensive", "seamless", "actionable", "dynamic", "strategic")
REFUSALS = (
    "I am sorry but I cannot help with this request.",
    "I'm unable to answer that. Please ask somebody who is qualified to do so.",
    "As a language model I cannot give an answer to this question.",
)
CONTINUATIONS = (
    "Please also say what a beginner should keep in mind. Write in plain words and keep it short. Thank you for your "
    "help with this.",
    "And while we are at it I have one more question about the same thing. Could you explain where it comes from and "
    "who uses it? An example would be nice to have.",
    "I have been asking myself this for a while and nobody could tell me. My teacher brought it up the other day and "
    "I would like to know it before our next lesson.",
)
"""What whoever asked could have written next: words of theirs and no answer."""
NESTED = (
    ("Name the three primary colours of paint.", "Red, yellow and blue."),
    ("Translate 'good morning' into Spanish.", "Buenos días."),
    ("Write one sentence about a cat.", "The cat sleeps on the warm window sill."),
)
"""An instruction that stands beside the question, and what it asks for."""

_KEYWORD = re.compile(r"[^\W\d_]{4,}")
_MOST_KEYWORDS = 12
_LEAST_CONTENT = 12
"""A text of fewer letters and digits is too short to be somebody else's answer."""
_TRIED = 6
"""How many answers of other cases are looked at for the one that shares the fewest words with the question."""


@perturbation(bias=BIAS, expects=Expects.WORSE, source="RobustJudge")
def empty_answer(case: Treated, rng: Random) -> Treated | None:
    """Delete the whole answer, so that it is empty."""
    return _put(case, "")


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2507.08794")
def single_symbol(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by a single punctuation mark."""
    return _put(case, rng.choice(":.,"))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2507.08794")
def reasoning_opener(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by the opening words of a solution."""
    return _put(case, rng.choice(OPENERS))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2507.08794")
def foreign_opener(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by the word "solution" or "answer" in another language."""
    return _put(case, rng.choice(FOREIGN_OPENERS))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2410.07137")
def null_template(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by a structured text that claims to be complete, the same for every question."""
    return _put(case, rng.choice(TEMPLATES))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="f4t1i")
def boilerplate(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by fluent text that would fit any question."""
    return _put(case, rng.choice(BOILERPLATE))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="f4t1i")
def stuff_keywords(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by words of the question and the criteria, each after a buzzword."""
    asked = " ".join([case.question, *(criterion.text for criterion in case.criteria)])
    words = list(dict.fromkeys(word.lower() for word in _KEYWORD.findall(asked)))
    if len(words) < 2:
        return None
    drawn = rng.sample(words, min(len(words), _MOST_KEYWORDS))
    return _put(case, f"{', '.join(f'{rng.choice(BUZZ)} {word}' for word in drawn)}.")


@perturbation(bias=BIAS, expects=Expects.WORSE, source="content-free baseline")
def echo_question(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by a repeat of the question."""
    return _put(case, case.question)


@perturbation(bias=BIAS, expects=Expects.WORSE, source="EvalBiasBench")
def continue_question(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by a continuation of the question."""
    return _put(case, rng.choice(CONTINUATIONS))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="EvalBiasBench")
def follow_nested(case: Treated, rng: Random) -> Treated | None:
    """Add an unrelated instruction to the question, and replace the answer by what that instruction asks for."""
    instruction, reply = rng.choice(NESTED)
    damaged = _put(case, reply)
    beside = f"(The page also shows this line, which is not part of the question: {instruction})"
    return damaged and replace(damaged, question=f"{case.question}\n\n{beside}")


@perturbation(bias=BIAS, expects=Expects.WORSE, source="promptfoo")
def refuse(case: Treated, rng: Random) -> Treated | None:
    """Replace the answer by a refusal."""
    return _put(case, rng.choice(REFUSALS))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2507.08794")
def truncate(case: Treated, rng: Random) -> Treated | None:
    """Cut the answer off after its first sentence, or halfway through its only one."""
    text = case[case.target].text
    ends = [end for _, end in sentences(text)[:2]]
    words = [word.end() for word in re.finditer(r"\S+", text)]
    if len(ends) < 2 and len(words) < 4:
        return None
    cut = ends[0] if len(ends) == 2 else words[len(words) // 2 - 1]
    return _put(case, text[:cut])


def off_topic(cases: Sequence[Case]) -> Edit:
    """
    Return an edit that puts the answer to another question in place of the answer.

    Raises:
        ConfigError: fewer than two of the cases hold a text that could stand in for an answer.
    """
    pool = () if isinstance(cases, str) else _pool(cases)
    if len({source.question for source in pool}) < 2:
        raise ConfigError(
            "off_topic: expected cases with two questions or more whose answers could stand in for others, "
            f"got texts={len(pool)}; give it the fixture `cases`"
        )

    @perturbation(bias=BIAS, expects=Expects.WORSE, source="LLMBar")
    def off_topic(case: Treated, rng: Random) -> Treated | None:
        """Replace the answer by the answer to another question that shares few words with this one."""
        asked = _words(case.question)
        drawn = rng.sample(pool, min(len(pool), _TRIED))
        others = [source for source in drawn if source.question != case.question]
        return _put(case, min(others, key=lambda source: len(asked & source.words)).text) if others else None

    return off_topic


@dataclass(frozen=True, slots=True)
class _Source:
    """An answer that may stand in for others, the question that it was given to, and the words of that."""

    question: str
    words: frozenset[str]
    text: str


def _pool(cases: Sequence[Case]) -> tuple[_Source, ...]:
    """Return the first answer with content of each case, in an order that is not the file's."""
    found = []
    for case in sorted(cases, key=lambda one: one.id):
        texts = sorted(a.text for a in case.answers if sum(map(str.isalnum, a.text)) >= _LEAST_CONTENT)
        found += [_Source(case.question, _words(case.question), text) for text in texts[:1]]
    return tuple(found)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _KEYWORD.findall(text))


def _put(case: Treated, text: str) -> Treated | None:
    """Return the case with a text in place of the treated answer's, damaged by it."""
    return case.damage(case.target, lambda _: text)
