"""Neutral: say only that an answer is an answer, in each place where a cue could stand."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.edits import Edit
from calm.core.languages import language_of_case
from calm.core.markup import in_case
from calm.errors import ConfigError
from calm.experiment.inert import ASIDES, BYLINES, CLOSERS, HISTORIES, NOTES, Stock, stock_of, stocks
from calm.perturbations.cues import named, noted, signed
from calm.perturbations.prose import append, prepend, sentences, stock

BIAS = "neutral"
NOTE, BYLINE, HISTORY = NOTES[0], BYLINES[0], HISTORIES[0]
TRIGGER = stock((*(said for words in stocks().values() for said in words.all), *ASIDES, *NOTES, *HISTORIES))


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_opening(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer by saying that it is a reply."""
    return prepend(case, rng.choice(_stock(case).openers))


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_brief_opening(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer by saying, in half a line, that it is a reply."""
    return prepend(case, rng.choice(_stock(case).brief_openers))


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_brief_closing(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer by saying, in half a line, that it was a reply."""
    return append(case, rng.choice(_stock(case).brief_closers))


def neutral_closing(count: int = 1) -> Edit:
    """Return an edit that appends some sentences to the weaker answer, which say that it is a reply."""
    return _closing(count, block=False)


def neutral_block(count: int = 1) -> Edit:
    """Return an edit that appends a paragraph of some sentences to the weaker answer, which say that it is a reply."""
    return _closing(count, block=True)


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_wrapper(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer by saying that it is a reply, and end it by saying that it was one."""
    opened = prepend(case, rng.choice(_stock(case).openers))
    return opened and append(opened, rng.choice(_stock(case).closers))


def neutral_aside(count: int = 1) -> Edit:
    """Return an edit that puts some sentences between those of the weaker answer, which say that it is a reply."""
    _refuse(count)

    @perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test", dose=count)
    def neutral_aside(case: Treated, rng: Random) -> Treated | None:
        """Put sentences between those of the weaker answer that say that it is a reply."""
        text = case[case.target].text
        starts = _between_sentences(text)
        if not starts:
            return None
        places = sorted(rng.choices(starts, k=count))
        parts, last = [], 0
        for at, said in zip(places, rng.sample(ASIDES, count), strict=True):
            parts += [text[last:at], in_case(text, said), " "]
            last = at
        return case.edit(case.target, lambda _: "".join([*parts, text[last:]]))

    return neutral_aside


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_note(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the weaker answer is an answer."""
    about = named(case)
    return noted(case, f"{about[0].upper()}{about[1:]} {NOTE}.")


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_byline(case: Treated, rng: Random) -> Treated | None:
    """Write beside the label of the weaker answer that it is an answer."""
    return signed(case, {case[case.target].id: BYLINE})


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_bylines(case: Treated, rng: Random) -> Treated | None:
    """Write beside the label of each answer that it is an answer."""
    return signed(case, {answer.id: BYLINE for answer in case.answers})


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def neutral_history(case: Treated, rng: Random) -> Treated | None:
    """Say that the weaker answer had no earlier drafts, where they would be shown."""
    answer = case[case.target]
    if HISTORY in case.history(answer):
        return None
    return case.drafted(answer.id, HISTORY)


def _stock(case: Treated) -> Stock:
    return stock_of(language_of_case(case, case.target))


def _between_sentences(text: str) -> list[int]:
    """Return where the sentences of a text but its first begin, none inside a formula."""
    found, marks, at = [], 0, 0
    for start, _ in sentences(text)[1:]:
        marks += text.count("$$", at, start)
        at = start
        if marks % 2 == 0:
            found.append(start)
    return found


def _refuse(count: int) -> None:
    if not 1 <= count <= len(CLOSERS):
        raise ConfigError(f"{BIAS}: expected from 1 to {len(CLOSERS)} sentences, got count={count!r}")


def _closing(count: int, *, block: bool) -> Edit:
    _refuse(count)

    def rewrite(case: Treated, rng: Random) -> Treated | None:
        """Append several sentences to the weaker answer that say that it is a reply."""
        closers = _stock(case).closers
        return append(case, " ".join(rng.sample(closers, min(count, len(closers)))), block=block)

    rewrite.__name__ = "neutral_block" if block else "neutral_closing"
    return perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test", dose=count)(rewrite)
