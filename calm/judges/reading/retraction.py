"""Sentences after a verdict that take it back without a new one, in English: by what they speak of, not by a phrase."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def _retractions() -> re.Pattern[str]:
    """Return the expression for all of `data/retractions.toml`, with each named part in place of its name."""
    table = tomllib.loads(files("calm").joinpath("judges", "data", "retractions.toml").read_text("utf-8"))
    whole = "|".join(f"(?:{one})" for group in table["patterns"].values() for one in group)
    for name, part in reversed(table["parts"].items()):
        whole = whole.replace(f"{{{name}}}", part)
    return re.compile(whole)


def retracts(sentence: str) -> bool:
    """
    Return whether a sentence after a verdict takes it back.

    >>> retracts("That number came from the wrong answer."), retracts("The answer has the wrong year.")
    (True, False)
    """
    return _retractions().search(sentence.lower().replace("’", "'")) is not None
