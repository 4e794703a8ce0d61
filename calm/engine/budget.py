"""The caps of a run, and the budget that keeps it within them: each call is paid for before it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from calm.core.reasons import Kind, Reason, because
from calm.errors import JudgeError


@dataclass(frozen=True, slots=True)
class Caps:
    """Hard limits of one run; None: no limit. `tokens` counts those of prompts and replies together."""

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


class Account(Protocol):
    """Counts what calls use. Each amount is added in one step, or not at all if the sum would pass a limit."""

    def spend(self, amount: Amount, limits: Amount | None) -> bool:
        """Add an amount and return true, or return false if the sum would pass a limit; a negative one is a refund."""

    def spent(self) -> Amount:
        """Return the sum."""


@dataclass
class LocalAccount:
    """The account of one process."""

    sum: Amount = field(default_factory=Amount)

    def spend(self, amount: Amount, limits: Amount | None) -> bool:
        """Add an amount and return true, or return false if the sum would pass a limit; a negative one is a refund."""
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


class Budget:
    """
    What is left of the caps.

    The most that a call can use is reserved before the call is made. What it did not use is refunded after it.
    `started` is the monotonic time, in seconds, from which `minutes` count.
    """

    def __init__(self, caps: Caps, account: Account | None = None, started: float | None = None) -> None:
        self.caps, self._account = caps, account or LocalAccount()
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
        """For how many seconds new calls may still begin; None: there is no limit."""
        if self.caps.minutes is None:
            return None
        return 60 * self.caps.minutes - (monotonic() - self.started)

    @property
    def out_of_time(self) -> Reason:
        """The reason why a call is not made, or is given up, when the minutes are over."""
        return because(Kind.CAPPED, f"--calm-max-minutes {self.caps.minutes:g}")

    def reserve(self, worst: Amount) -> None:
        """
        Reserve the most that a call can use.

        Raises:
            JudgeError: a cap would be passed; its reason is of the kind `CAPPED` and names the option.
        """
        left = self.seconds_left
        if left is not None and left <= 0:
            raise JudgeError(self.out_of_time)
        if self._counts and not self._account.spend(worst, self._limits):
            raise JudgeError(because(Kind.CAPPED, self._passed(worst)))

    def spent(self) -> Amount:
        """Return what was reserved and not refunded; it is counted only where there is a cap on it."""
        return self._account.spent()

    def settle(self, worst: Amount, used: Amount) -> None:
        """Refund what was reserved and not used."""
        if self._counts:
            unused = Amount(used.calls - worst.calls, used.tokens - worst.tokens, used.usd - worst.usd)
            self._account.spend(unused, None)

    def _passed(self, worst: Amount) -> str:
        """Return the option of the cap that an amount would pass."""
        now, caps = self._account.spent(), self.caps
        if caps.calls is not None and now.calls + worst.calls > caps.calls:
            return f"--calm-max-calls {caps.calls}"
        if caps.tokens is not None and now.tokens + worst.tokens > caps.tokens:
            return f"--calm-max-tokens {caps.tokens}"
        return f"--calm-max-usd {caps.usd:g}"
