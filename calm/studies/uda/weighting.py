"""
How much each judge counts in the consensus: all alike, by how far it agrees with the others, or as a file says.

The weights go into the anchor that ratings are trained toward, and into the consensus of a report.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from calm.core.files import read_json
from calm.core.inputs import noted
from calm.errors import ConfigError, nearest
from calm.studies.uda.consensus import correlation
from calm.studies.uda.elo import Floats

EQUAL: Final = "equal"
AGREEMENT: Final = "agreement"
MOST: Final = sys.float_info.max
"""The largest weight: a whole number above it has no place in 64 bits."""
Choice: TypeAlias = "str | tuple[tuple[str, float], ...]"
"""`equal`, `agreement`, or the weight of each judge by name."""


def weights_of(choice: Choice, ratings: Floats, judges: Sequence[str]) -> Floats | None:
    """
    Return the weight of each judge, which sum to 1; None where all count alike.

    By agreement the weight of judge j is max(0, r_j) over the sum of these, r_j the correlation of its ratings with the
    mean of the others' ratings: the item-rest correlation of test theory (Henrysson 1963, Psychometrika 28, 211-218), a
    judge as the item. One step, not a fixed point: repeating it would let the judges that agree most outvote the rest.

    Args:
        choice: how; see `Choice`.
        ratings: ratings before alignment, a row for each judge and a column for each model; smallest n: 2 judges.
        judges: the names of the judges.

    Raises:
        ConfigError: no judge agrees with the others, or the table lacks a judge.
    """
    if choice == EQUAL:
        return None
    if choice == AGREEMENT:
        found = [correlation(row, np.delete(ratings, j, axis=0).mean(axis=0)) or 0.0 for j, row in enumerate(ratings)]
        positive = np.maximum(np.array(found, np.float64), 0.0)
        if not positive.sum() > 0:
            raise ConfigError(
                "expected a judge whose ratings correlate with those of the others, got none: no judge can be "
                "weighed by agreement; use --weights equal, or give a file"
            )
        return np.asarray(positive / positive.sum(), np.float64)
    table = dict(choice) if isinstance(choice, tuple) else {}
    if lacking := [judge for judge in judges if judge not in table]:
        raise ConfigError(
            f"--weights: expected a weight of each judge, got none of {lacking[0]!r}{nearest(lacking[0], table)}; add "
            f"it, or use equal or agreement"
        )
    chosen = np.array([table[judge] for judge in judges], np.float64)
    if not chosen.max() > 0:
        raise ConfigError(f"--weights: expected a weight above 0 of one of {', '.join(judges)}, got none; raise one")
    shares = chosen / chosen.max()  # first, as the sum of huge weights is infinite
    return np.asarray(shares / shares.sum(), np.float64)


def choice_of(said: str) -> Choice:
    """
    Return what `--weights` says: `equal`, `agreement`, or the weights in a JSON file, by judge.

    Raises:
        ConfigError: no such file, or not an object of numbers of 0 or more with one above it.
    """
    if said in (EQUAL, AGREEMENT):
        return said
    path = Path(said)
    what = 'equal, agreement, or a JSON object of a weight for each judge, such as {"judge-1": 2}'
    body = read_json(noted(path), what)
    if not isinstance(body, dict) or not _weights(body) or not any(body.values()):
        raise ConfigError(f"{path}: expected {what}, with weights of 0 or more and one above 0")
    return tuple(sorted((str(judge), float(weight)) for judge, weight in body.items()))


def refuse_strangers(said: str | None, judges: Sequence[str]) -> None:
    """
    Return if a file of weights names judges only; `said` is what `--weights` says, None if it was not given.

    Raises:
        ConfigError: a name that is no judge of the comparisons.
    """
    choice = choice_of(said) if said else EQUAL
    if isinstance(choice, tuple) and (odd := [name for name, _ in choice if name not in judges]):
        others = f" and {len(odd) - 1} more" if odd[1:] else ""
        raise ConfigError(
            f"--weights: {said} names {odd[0]!r}{others}, who is no judge{nearest(odd[0], judges)}; expected "
            f"{', '.join(judges)}"
        )


def name_of(choice: Choice) -> str:
    """Return how judges are weighed, in a word: `equal`, `agreement` or `file`."""
    return choice if isinstance(choice, str) else "file"


def _weights(body: Mapping[object, object]) -> bool:
    """Return whether all values are finite numbers of 0 or more."""
    values = body.values()
    return all(isinstance(w, int | float) and not isinstance(w, bool) and 0 <= w <= MOST for w in values)
