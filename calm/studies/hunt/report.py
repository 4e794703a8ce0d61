"""The record of a hunt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from calm.core.case import TIE
from calm.core.reasons import in_words
from calm.experiment.setup import Setup
from calm.models.wire import Json
from calm.results.hunts import SCHEMA
from calm.studies.hunt.bounds import Bounds
from calm.studies.hunt.findings import Finding, Hunted


def to_json(found: Mapping[str, Hunted], setup: Setup, bounds: Bounds, search: str) -> dict[str, Json]:
    """
    Return the record of a hunt; nothing in it depends on what was cached, or on how long the judge took.

    Args:
        found: what was found, by the name of the place.
        setup: the judge and the seed.
        bounds: those of the hunt in one place.
        search: the name of the search.
    """
    hunts = list(found.values())
    return {
        "schema": SCHEMA,
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "search": search,
        "where": ",".join(found),
        "seed": setup.seed,
        "budget": bounds.asks * len(hunts),
        "asks": sum(one.asks for one in hunts),
        "level": round(bounds.level, 6),
        "noise": round(max(one.noise for one in hunts), 4),
        "incomplete": next((str(one.incomplete) for one in hunts if one.incomplete), ""),
        "cases": list(dict.fromkeys(quarry.id for one in hunts for quarry in one.quarries)),
        "excluded": {**in_words(sum((one.excluded for one in hunts), Counter()))},
        "findings": [finding_body(one) for hunt in hunts for one in hunt.findings],
    }


def finding_body(one: Finding) -> dict[str, Json]:
    """Return a finding as the record has it."""
    quarry, count = one.quarry, len(one.ruling.blocks)
    clean, won = one.wins
    return {
        "case": quarry.id,
        "where": quarry.place.name,
        "target": quarry.aim.case.target,
        "gold": quarry.aim.case.better not in (None, TIE, quarry.aim.case.target),
        "confirmed": one.confirmed,
        "question": quarry.aim.case.question,
        "original": quarry.original,
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
            "clean": quarry.codes(quarry.original, range(one.fresh_from, one.fresh_from + count)),
            "edited": quarry.codes(one.text, range(one.fresh_from, one.fresh_from + count)),
        },
        "also": list(one.also),
        "also_of": one.tried,
        "second": one.second,
    }
