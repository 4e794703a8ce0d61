"""What a text that a case holds ready for an edit may change, by its name in `Case.variants`."""

from __future__ import annotations

from collections.abc import Mapping

from calm.core.validation import Band, Rules

_TONED = Rules(Band(0.6, 2.5), Band(0, 0.7), Band(0.5), True, "same", True, True)

RULES: Mapping[str, Rules] = {
    "lengthen": Rules(Band(1.25, 4.0), Band(0, 0.6), Band(0.7), True, "kept", True, True),
    "expand": Rules(Band(1.2, 4.0), Band(0, 0.6), Band(0.7), True, "kept", True, True),
    "cheerful": _TONED,
    "sad": _TONED,
    "angry": _TONED,
    "fearful": _TONED,
    "fallacy": Rules(Band(0.4, 2.0), Band(0, 0.7), Band(0.3), False, "any", True, True),
    "polish": Rules(Band(0.75, 1.35), Band(0, 0.6), Band(0.5), True, "same", True, True),
    "paraphrase": Rules(Band(0.6, 1.6), Band(0, 0.85), Band(0.15), True, "same", True, True),
    "translate": Rules(Band(0.25, 3.0), Band(0.3, 1.0), None, False, "digits", True, False),
    "plant_error": Rules(Band(0.6, 1.5), Band(0, 0.4), Band(0.6), False, "any", False, False),
    "neutral": Rules(Band(0.75, 1.35), Band(0, 0.7), Band(0.4), True, "same", True, True),
}
"""By name; `translate_de` goes by `translate`."""


def rules_for(name: str) -> Rules | None:
    """Return the rules for the ready-made texts of a name, or None if it has none of its own."""
    return RULES.get(name) or (RULES["translate"] if name.startswith("translate_") else None)
