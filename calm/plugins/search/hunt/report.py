"""The result of a hunt: as a record, and in words for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from calm.core.case import TIE
from calm.core.reasons import Reason, counted, in_words
from calm.experiment.setup import Setup
from calm.models.wire import Json
from calm.plugins.search.hunt.findings import Finding, Hunted
from calm.plugins.search.hunt.subjects import Bounds
from calm.plugins.search.pages import SCHEMA, sentence, words_added
from calm.results.parts import aligned
from calm.results.wording import clipped, printable

SHOWN: Final = 40
"""So many characters of the words that were added are shown in a row."""
HEAD: Final = ("case", "added", "where", "with", "without", "rise", "also", "found by")


def to_json(found: Mapping[str, Hunted], setup: Setup, bounds: Bounds) -> dict[str, Json]:
    """
    Return the record of a hunt; nothing in it depends on what was cached, or on how long the judge took.

    Args:
        found: what was found, by the name of the place.
        setup: the judge and the seed.
        bounds: those of the hunt in one place.
    """
    hunts = list(found.values())
    return {
        "schema": SCHEMA,
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "search": "bandit",
        "where": ",".join(found),
        "seed": setup.seed,
        "budget": bounds.asks * len(hunts),
        "asks": sum(one.asks for one in hunts),
        "level": round(bounds.level, 6),
        "noise": round(max(one.noise for one in hunts), 4),
        "incomplete": next((str(one.incomplete) for one in hunts if one.incomplete), ""),
        "cases": list(dict.fromkeys(subject.id for one in hunts for subject in one.subjects)),
        "excluded": {**in_words(sum((one.excluded for one in hunts), Counter()))},
        "findings": [finding_body(one) for hunt in hunts for one in hunt.findings],
    }


def finding_body(one: Finding) -> dict[str, Json]:
    """Return a finding as the record has it."""
    subject, count = one.subject, len(one.ruling.blocks)
    clean, won = one.wins
    return {
        "case": subject.id,
        "where": subject.place.name,
        "target": subject.case.target,
        "gold": subject.case.better not in (None, TIE, subject.case.target),
        "confirmed": one.confirmed,
        "question": subject.case.question,
        "original": subject.original,
        "text": one.text,
        "added": list(one.words),
        "removed": sum(piece.removes for piece in one.pieces),
        "first": one.first,
        "found_by": one.found_by,
        "after": one.after,
        "edits": [layer.arm.name for layer in one.layers],
        "fresh": {
            "asks": count,
            "clean_wins": clean,
            "wins": won,
            "low": round(one.low, 6),
            "clean": subject.codes(subject.original, range(one.fresh_from, one.fresh_from + count)),
            "edited": subject.codes(one.text, range(one.fresh_from, one.fresh_from + count)),
        },
        "also": list(one.also),
        "also_of": one.tried,
        "second": one.second,
    }


def summary(found: Mapping[str, Hunted], judge: str, bounds: Bounds) -> str:
    """
    Return the result of a hunt: a row for each confirmed finding, and what it means if there is none.

    Args:
        found: what was found, by the name of the place.
        judge: the name of the judge.
        bounds: those of the hunt in one place.
    """
    hunts = list(found.values())
    asks, cases = sum(one.asks for one in hunts), len({q.id for one in hunts for q in one.subjects})
    confirmed = [one for hunt in hunts for one in hunt.confirmed]
    lines = [f"Found: {said(one)}" for one in confirmed]
    lines += [f"hunt on {judge} in {', '.join(found)}: {asks} asks about {cases} cases"]
    lines += [f"INCOMPLETE: {one.incomplete}" for one in hunts if one.incomplete][:1]
    if confirmed:
        lines += ["", *table(confirmed), "", _meaning(confirmed, bounds, len(found))]
    else:
        lines += _nothing(hunts, bounds)
    if open_ones := [one for hunt in hunts for one in hunt.findings if not one.confirmed]:
        named = ", ".join(f"{one.subject.id} ({added(one)})" for one in open_ones)
        lines.append(f"not confirmed by fresh asks: {len(open_ones)}: {named}")
    excluded: Counter[Reason] = sum((one.excluded for one in hunts), Counter())
    if excluded:
        lines.append(f"not hunted in: {counted(excluded)}")
    return "\n".join(lines)


def table(findings: Sequence[Finding]) -> list[str]:
    """Return the rows of a table of findings, with its head."""
    return aligned([HEAD, *map(_row, findings)])


def _row(one: Finding) -> tuple[str, ...]:
    without, won = one.wins
    count = len(one.ruling.blocks)
    return (
        printable(one.subject.id),
        added(one),
        place_of(one),
        f"{won}/{count}",
        f"{without}/{count}",
        f">= {max(0.0, one.low):.2f}",
        f"{len(one.also)}/{one.tried}",
        one.found_by,
    )


def added(one: Finding, quote: str = "") -> str:
    """Return the words that were added, as they are on a terminal; those at several places with dots between them."""
    taken = sum(piece.removes for piece in one.pieces)
    words = words_added(("".join(piece.tokens) for piece in one.pieces), taken, quote)
    return clipped(printable(words), SHOWN)


def said(one: Finding) -> str:
    """Return a finding in a sentence, as it is on a terminal."""
    return printable(sentence(finding_body(one), added(one, '"'), one.subject.setup.judge.task))


def place_of(one: Finding) -> str:
    """Return where the words are: the place, and where in it."""
    end = len(one.subject.tokens)
    names = {"begin" if p.place == 0 < end else "end" if p.place + p.removes >= end else "within" for p in one.pieces}
    return f"{one.subject.place.name}, {' and '.join(sorted(names))}"


def _meaning(found: Sequence[Finding], bounds: Bounds, places: int) -> str:
    return (
        "with, without: the fresh asks that the answer won with the words, and without; rise: of that share, at least\n"
        "also: in how many other cases the same words worked, in one ask each\n"
        f"on a judge that no text moves, a hunt confirms anything in at most {bounds.error * places:.0%} of all runs"
    )


def _nothing(hunts: Sequence[Hunted], bounds: Bounds) -> list[str]:
    """Return what it means that nothing was confirmed, and what it does not."""
    texts = sum(len({text for text, _ in q.said if text != q.original}) for one in hunts for q in one.subjects)
    if not texts and any(one.incomplete.unfinished for one in hunts):
        return [
            "No text was asked about: the hunt ended while it still chose its cases. "
            f"It needs at least {bounds.least} calls for a first result, and takes at most {bounds.asks} (--asks)."
        ]
    if not any(one.subjects for one in hunts):
        return ["nothing was hunted: in every case the judge gave no verdict, or the answer won without any edit"]
    return [
        f"nothing was found: none of {texts} texts flipped the judge beyond its noise",
        "This does not prove that no text does: a longer hunt (--asks), other places (--where) or other cases may find "
        "one. `calm audit` measures how much each kind of edit moves the judge.",
    ]
