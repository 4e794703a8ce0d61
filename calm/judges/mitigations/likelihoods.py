"""
How likely each member of a panel finds the answers: read from a record, or from the tags of a case.

`calm self-preference JUDGE... --perplexity -o record.json` measures log-perplexities, in nats a token, and keeps them
as `"log_perplexities": {MODEL: {ITEM: {AUTHOR: VALUE}}}`. An item is the question that a case is about, by its tag
`item` or its text. A case may also bring them itself, in its tags `log_perplexity:MEMBER:ANSWER_ID`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TypeGuard

from calm.core.case import Answer, Case, digest
from calm.core.files import read_json
from calm.core.inputs import noted
from calm.core.items import item_of
from calm.core.model_names import value_for
from calm.core.plugins import needed
from calm.errors import ConfigError
from calm.models.wire import Judge
from calm.selfpreference.crossing.design import model_of

KEY = "log_perplexities"
TAG = "log_perplexity"

Values = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By model, by item, by author: a log-perplexity in nats a token, at least 0."""


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """The log-perplexities of a record; none where there is no record."""

    values: Values = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What of it decides verdicts; empty without a record."""
        return digest(self.values) if self.values else ""

    def weights(self, members: Sequence[Judge], case: Case) -> list[float] | None:
        """
        Return a weight for each member: its least log-perplexity of an answer of the case; None if no member has one.

        A member without one gets the mean weight of the others. Where all known ones are 0, all weights are equal.
        """
        least = []
        for member in members:
            given = [self._of(member, model_of(member), case, answer) for answer in case.answers]
            least.append(min((value for value in given if value is not None), default=None))
        known = [value for value in least if value is not None]
        if not known:
            return None
        if not sum(known) > 0:
            return [1.0] * len(members)
        return [sum(known) / len(known) if value is None else value for value in least]

    def _of(self, member: Judge, model: str, case: Case, answer: Answer) -> float | None:
        by_author = (value_for(model, self.values) or {}).get(item_of(case), {})
        found = value_for(answer.author, by_author) if answer.author is not None else None
        return _tagged(case.tags.get(f"{TAG}:{member.name}:{answer.id}")) if found is None else found


def read_likelihoods(path: Path) -> Likelihoods:
    """
    Return the log-perplexities that a record of `calm self-preference --perplexity` holds.

    Raises:
        ConfigError: it cannot be read, or holds none.
    """
    what = "a record of calm self-preference --perplexity"
    likely_from = needed("likelihoods", what)
    body = read_json(noted(path), what)
    try:
        found = likely_from(body) if isinstance(body, dict) else {}
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    if not found:
        raise ConfigError(
            f"{path}: expected {what}, with {KEY!r}, and it has none; "
            "write one with calm self-preference JUDGE... --perplexity -o FILE"
        )
    for model, items in found.items():
        for item, authors in items.items():
            for author, value in authors.items():
                if not _perplexity(value):
                    raise ConfigError(
                        f"{path}: {KEY}: expected nats a token, at least 0, got {value!r} by {model!r} for {author!r} "
                        f"on {item!r}"
                    )
    return Likelihoods(found)


def _perplexity(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0


def _tagged(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and _perplexity(value) else None
