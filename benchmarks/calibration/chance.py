"""Chance as a function of what is asked: the same key gives the same number, whenever it is asked for."""

from __future__ import annotations

from typing import Final

_WHOLE: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15


def mix(word: int) -> int:
    """Return another word of 64 bits that looks drawn: the finaliser of SplitMix64 (Steele, Lea & Flood 2014)."""
    word = (word + _STEP) & _WHOLE
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WHOLE
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WHOLE
    return word ^ (word >> 31)


def unit(word: int) -> float:
    """Return a number in [0, 1) that a word stands for."""
    return (word >> 11) * 2.0**-53
