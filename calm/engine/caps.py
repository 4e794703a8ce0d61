"""Hard caps on what a run may use: taken out before a call is made, so that no call is one too many."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from calm.errors import JudgeError

CAPPED = "a cap was reached"
"""How the reason of a `NoReply` begins when it is the user's own cap that was reached."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Hard limits of one run; None: none. `tokens` are those of prompts and replies together."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Amount:
    """What calls use: how many, their tokens, their cost in US dollars."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


class Till(Protocol):
    """Where what was taken is kept: it adds an amount if the sum stays within limits, all at once or not at all."""

    def spend(self, amount: Amount, limits: Amount | None) -> bool:
        """Add an amount (a negative one gives back), unless the sum would pass a limit."""

    def spent(self) -> Amount:
        """Return the sum."""


@dataclass
class Pocket:
    """The till of one process."""

    sum: Amount = field(default_factory=Amount)

    def spend(self, amount: Amount, limits: Amount | None) -> bool:
        """Add an amount (a negative one gives back), unless the sum would pass a limit."""
        now = self.sum
        after = Amount(now.calls + amount.calls, now.tokens + amount.tokens, now.usd + amount.usd)
        if limits is not None and not within(after, limits):
            return False
        self.sum = after
        return True

    def spent(self) -> Amount:
        """Return the sum."""
        return self.sum


def within(sum_: Amount, limits: Amount) -> bool:
    """Return whether a sum is within limits."""
    return sum_.calls <= limits.calls and sum_.tokens <= limits.tokens and sum_.usd <= limits.usd


class Purse:
    """
    What is left of the caps.

    The most that a call can use is taken before it is made, and what it did not use is given back after it. `started`
    is the monotonic time from which `minutes` count.
    """

    def __init__(self, caps: Caps, till: Till | None = None, started: float | None = None) -> None:
        self.caps, self._till = caps, till or Pocket()
        self.started = monotonic() if started is None else started
        most = float("inf")
        self._limits = Amount(
            caps.calls if caps.calls is not None else 2**62,
            caps.tokens if caps.tokens is not None else 2**62,
            caps.usd if caps.usd is not None else most,
        )
        self._counts = caps.calls is not None or caps.tokens is not None or caps.usd is not None

    @property
    def counts(self) -> bool:
        """Whether there is a cap on what calls use."""
        return self._counts

    @property
    def seconds_left(self) -> float | None:
        """How long calls may still be begun; None: there is no limit."""
        if self.caps.minutes is None:
            return None
        return 60 * self.caps.minutes - (monotonic() - self.started)

    def take(self, worst: Amount) -> None:
        """
        Take what a call can use at most.

        Raises:
            JudgeError: a cap would be passed; the message begins with `CAPPED` and names its option.
        """
        left = self.seconds_left
        if left is not None and left <= 0:
            raise JudgeError(f"{CAPPED}: --calm-max-minutes {self.caps.minutes:g}")
        if self._counts and not self._till.spend(worst, self._limits):
            raise JudgeError(f"{CAPPED}: {self._named(worst)}")

    def spent(self) -> Amount:
        """Return what was taken and not given back; nothing where there is no cap to keep it for."""
        return self._till.spent()

    def settle(self, worst: Amount, used: Amount) -> None:
        """Give back what was taken and not used."""
        if self._counts:
            back = Amount(used.calls - worst.calls, used.tokens - worst.tokens, used.usd - worst.usd)
            self._till.spend(back, None)

    def _named(self, worst: Amount) -> str:
        now, caps = self._till.spent(), self.caps
        if caps.calls is not None and now.calls + worst.calls > caps.calls:
            return f"--calm-max-calls {caps.calls}"
        if caps.tokens is not None and now.tokens + worst.tokens > caps.tokens:
            return f"--calm-max-tokens {caps.tokens}"
        return f"--calm-max-usd {caps.usd:g}"
