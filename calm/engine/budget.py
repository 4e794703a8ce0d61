"""The caps of a run, and the budget that keeps it within them: each call is paid for before it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import Final, Protocol

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

    def plus(self, other: Amount) -> Amount:
        """Return the sum of two amounts."""
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def minus(self, other: Amount) -> Amount:
        """Return what is left of this one without another."""
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)

    def within(self, limits: Amount) -> bool:
        """Return whether it is within limits."""
        return self.calls <= limits.calls and self.tokens <= limits.tokens and self.usd <= limits.usd


NOTHING: Final = Amount()


class Grant(StrEnum):
    """What an account says to who wants to reserve an amount."""

    GIVEN = "given"
    LATER = "later"
    """It does not fit beside what calls under way have reserved; they may use less."""
    NEVER = "never"
    """It does not fit beside what was used."""


class Account(Protocol):
    """
    Counts what calls use. The most that a call can use is reserved first; each step is done whole or not at all.

    One that is `remote` takes its time: what several calls want is reserved in one step.
    """

    @property
    def remote(self) -> bool:
        """Whether a server keeps it."""

    def reserve(self, worsts: Sequence[Amount], limits: Amount) -> list[Grant]:
        """Reserve each amount for which the sum stays within limits; while one waits, none after it goes before it."""

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used."""

    def spent(self) -> Amount:
        """Return the sum of what was used and what is reserved."""


@dataclass
class LocalAccount:
    """The account of one process: what was `used`, and what is `held` in reserve."""

    used: Amount = NOTHING
    held: Amount = NOTHING
    under_way: int = 0

    @property
    def remote(self) -> bool:
        """It is not."""
        return False

    def reserve(self, worsts: Sequence[Amount], limits: Amount) -> list[Grant]:
        """Reserve each amount for which the sum stays within limits."""
        return [self._reserve(worst, limits) for worst in worsts]

    def _reserve(self, worst: Amount, limits: Amount) -> Grant:
        if not self.spent().plus(worst).within(limits):
            hope = self.under_way and self.used.plus(worst).within(limits)
            return Grant.LATER if hope else Grant.NEVER
        self.held = self.held.plus(worst)
        self.under_way += 1
        return Grant.GIVEN

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used."""
        self.under_way -= 1
        self.held = self.held.minus(worst) if self.under_way else NOTHING  # no crumbs of rounding are left
        self.used = self.used.plus(used)

    def spent(self) -> Amount:
        """Return the sum of what was used and what is reserved."""
        return self.used.plus(self.held)


class Budget:
    """
    What is left of the caps.

    The most that a call can use is reserved before the call is made. What it did not use is free again after it. A call
    that does not fit waits while calls under way may still use less than they have reserved: so a cap stops a run only
    when one more call could pass it. `started` is the time, in seconds of `clock`, from which `minutes` count.
    """

    def __init__(
        self,
        caps: Caps,
        account: Account | None = None,
        started: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.caps, self._account, self._clock = caps, account or LocalAccount(), clock
        self.started = clock() if started is None else started
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
    def remote(self) -> bool:
        """Whether a server counts it: it takes its time."""
        return self._counts and self._account.remote

    @property
    def seconds_left(self) -> float | None:
        """For how many seconds new calls may still begin; None: there is no limit."""
        if self.caps.minutes is None:
            return None
        return 60 * self.caps.minutes - (self._clock() - self.started)

    @property
    def out_of_time(self) -> Reason:
        """The reason why a call is not made, or is given up, when the minutes are over."""
        return because(Kind.CAPPED, f"--calm-max-minutes {self.caps.minutes:g}")

    @property
    def out_of_tokens(self) -> Reason:
        """The reason why a call is not made that would pass the cap on tokens."""
        return because(Kind.CAPPED, f"--calm-max-tokens {self.caps.tokens}")

    @property
    def out_of_usd(self) -> Reason:
        """The reason why a call is not made that would pass the cap in dollars."""
        return because(Kind.CAPPED, f"--calm-max-usd {self.caps.usd or 0:g}")

    def reserve(self, worst: Amount) -> bool:
        """
        Reserve the most that a call can use; return False if that may fit when calls under way have ended.

        Raises:
            JudgeError: a cap would be passed; its reason is of the kind `CAPPED` and names the option.
        """
        if not self._counts and self.caps.minutes is None:
            return True
        found = self.reserve_all([worst])[0]
        if isinstance(found, JudgeError):
            raise found
        return found

    def reserve_all(self, worsts: Sequence[Amount]) -> list[bool | JudgeError]:
        """Do the same for several amounts in their order, and return the errors."""
        left = self.seconds_left
        if left is not None and left <= 0:
            return [JudgeError(self.out_of_time) for _ in worsts]
        if not self._counts:
            return [True] * len(worsts)
        grants = self._account.reserve(worsts, self._limits)
        return [
            JudgeError(self._passed(worst)) if grant is Grant.NEVER else grant is Grant.GIVEN
            for worst, grant in zip(worsts, grants, strict=True)
        ]

    def spent(self) -> Amount:
        """Return what was used or is reserved; it is counted only where there is a cap on it."""
        return self._account.spent()

    def settle(self, worst: Amount, used: Amount) -> None:
        """Note what a call used of what was reserved for it."""
        if self._counts:
            self._account.settle(worst, used)

    def _passed(self, worst: Amount) -> Reason:
        """Return the reason why an amount is not reserved: the cap that it would pass."""
        after, caps = self._account.spent().plus(worst), self.caps
        if caps.calls is not None and after.calls > caps.calls:
            return because(Kind.CAPPED, f"--calm-max-calls {caps.calls}")
        if caps.tokens is not None and after.tokens > caps.tokens:
            return self.out_of_tokens
        return self.out_of_usd
