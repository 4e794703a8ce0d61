"""The result of a hunt as a record, and in words for a terminal."""

from __future__ import annotations

from calm.core.reasons import in_words
from calm.experiment.setup import Setup
from calm.models.wire import Json
from calm.results.hunts import SCHEMA
from calm.studies.hunt.hunt import FRESH, Bounds, Finding, Hunted


def to_json(found: Hunted, setup: Setup, bounds: Bounds, search: str) -> dict[str, Json]:
    """Return the record of a hunt; nothing in it depends on what was cached, or on how long the judge took."""
    place = found.quarries[0].place.name if found.quarries else ""
    return {
        "schema": SCHEMA,
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "search": search,
        "where": place,
        "seed": setup.seed,
        "budget": bounds.asks,
        "asks": found.asks,
        "level": round(bounds.level, 6),
        "noise": round(found.noise, 4),
        "incomplete": str(found.incomplete),
        "cases": [quarry.id for quarry in found.quarries],
        "excluded": {**in_words(found.excluded)},
        "findings": [_finding(one) for one in found.findings],
    }


def _finding(one: Finding) -> dict[str, Json]:
    quarry, count = one.quarry, len(one.ruling.blocks)
    clean, won = one.wins
    return {
        "case": quarry.id,
        "target": quarry.aim.case.target,
        "confirmed": one.confirmed,
        "question": quarry.aim.case.question,
        "original": quarry.original,
        "text": one.text,
        "added": list(one.words),
        "removed": sum(piece.removes for piece in one.pieces),
        "first": one.first,
        "found_by": one.found_by,
        "edits": [layer.arm.name for layer in one.layers],
        "fresh": {
            "asks": count,
            "clean_wins": clean,
            "wins": won,
            "low": round(one.low, 6),
            "clean": quarry.codes(quarry.original, range(FRESH, FRESH + count)),
            "edited": quarry.codes(one.text, range(FRESH, FRESH + count)),
        },
        "also": list(one.also),
        "also_of": one.tried,
    }
