"""How a network is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from calm.errors import ConfigError
from calm.studies.uda.comparisons import FEATURES
from calm.studies.uda.elo import Elo
from calm.studies.uda.weighting import EQUAL, Choice

MAX_HIDDEN = 65_536


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How a network is trained; the defaults are the paper's but for `hidden`, which is 2048, 512, 64 there.

    Attributes:
        hidden: widths of the hidden layers.
        epochs: steps, one an epoch.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        patience: epochs without a better validation loss, after which the learning rate falls.
        factor: what it falls by.
        clip: the longest gradient.
        validation: the share of each judge's comparisons of a pair that validates.
        own: whether the judge's own answer is seen; without it the network is the paper's ablation.
        extra: what is seen beyond the paper's features, of `comparisons.FEATURES`.
        weights: how much each judge counts in the consensus (`weighting`); all alike in the paper.
        seed: of the first parameters and the order of the comparisons.
        batch: comparisons whose features are held at once; it changes round-off and nothing else.
        elo: the rule of the ratings.
    """

    hidden: tuple[int, ...] = (256, 64)
    epochs: int = 80
    learning_rate: float = 1e-4
    weight_decay: float = 4e-3
    patience: int = 3
    factor: float = 0.5
    clip: float = 3.0
    validation: float = 0.3
    own: bool = True
    seed: int = 42
    batch: int = 2048
    elo: Elo = field(default_factory=Elo)
    extra: tuple[str, ...] = ()
    weights: Choice = EQUAL

    def __post_init__(self) -> None:
        problems = [
            f"expected {name} {wanted}, got {name}={value!r}"
            for name, value, wanted, good in (
                ("hidden", self.hidden, f"as whole numbers from 1 to {MAX_HIDDEN}", _sizes(self.hidden)),
                ("epochs", self.epochs, "of 1 or more", self.epochs >= 1),
                ("learning_rate", self.learning_rate, "above 0", 0 < self.learning_rate < inf),
                ("weight_decay", self.weight_decay, "of 0 or more", 0 <= self.weight_decay < inf),
                ("patience", self.patience, "of 0 or more", self.patience >= 0),
                ("factor", self.factor, "between 0 and 1", 0 < self.factor < 1),
                ("clip", self.clip, "above 0", 0 < self.clip < inf),
                ("validation", self.validation, "between 0 and 1", 0 < self.validation < 1),
                ("own", self.own, "as true or false", isinstance(self.own, bool)),
                ("seed", self.seed, "from 0 to 2**32 - 1", 0 <= self.seed < 2**32),
                ("features", self.extra, f"of {', '.join(FEATURES)}", set(self.extra) <= set(FEATURES)),
                ("batch", self.batch, "of 1 or more", self.batch >= 1),
            )
            if not good
        ]
        if problems:
            raise ConfigError(problems)


def _sizes(hidden: tuple[int, ...]) -> bool:
    return bool(hidden) and all(isinstance(size, int) and 1 <= size <= MAX_HIDDEN for size in hidden)
