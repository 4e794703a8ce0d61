"""What calls cost a run: its caps, what is reserved before each call, what it used, and what was spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Final

from calm.core.reasons import NONE, Kind, Reason, because, name, reason_of
from calm.engine.accounts import NOTHING, Account, Amount, Grant, LocalAccount
from calm.engine.journal import LATER, LOOK_S, NOT_KEPT, Journal, Later, Line
from calm.engine.servers import Server
from calm.errors import JudgeError, StorageError
from calm.models.pricing import Cost, cost, dearest, dollars
from calm.models.sampling import limited
from calm.models.wire import Endpoint, Reply, Sent, Usage

STOPPED: Final = because(Kind.STOPPED)
ONE: Final = Amount(1)


OF_PYTEST: Final = "--calm-max-"
"""How the options of the caps begin in pytest."""


@dataclass(frozen=True, slots=True)
class Caps:
    """
    Hard limits of one run; None: no limit. `tokens` counts those of prompts and replies together.

    `option` is how the names of their options begin where they were given: for pytest, or for a command of calm.
    """

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    minutes: float | None = None
    option: str = field(default=OF_PYTEST, compare=False)


KEY_BYTES: Final = 12
"""So many bytes of a key tell it from all others of a run."""


@dataclass(frozen=True, slots=True)
class Keys:
    """
    Which calls a process found in the cache and which it made, by the first bytes of their keys.

    A process of a run with several of them also finds what another one has made. Only together they tell how many
    calls the cache saved.
    """

    found: set[bytes] = field(default_factory=set)
    answered: set[bytes] = field(default_factory=set)

    def packed(self) -> tuple[bytes, bytes]:
        """Return both, as bytes."""
        return b"".join(self.found), b"".join(self.answered)


def saved(packed: Iterable[tuple[bytes, bytes]]) -> int:
    """Return how many calls the processes of one run found in the cache that none of them had made."""

    def keys(data: bytes) -> set[bytes]:
        return {data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)}

    found: set[bytes] = set()
    answered: set[bytes] = set()
    for one, other in packed:
        found |= keys(one)
        answered |= keys(other)
    return len(found - answered)


@dataclass
class Ledger:
    """
    What a process has used so far.

    `calls` counts by kind: `made` attempts, failed and repeated ones included; `retried` attempts; calls that were
    `cached`; asks and requests that `failed`, and those `unmade`, as a cap was reached or the run ended before; and
    verdicts that were `recorded` beforehand, for which nobody was asked. `answers` counts the asks and requests that
    were answered. `tokens` counts `input` and `output`. `usd` is the cost in US dollars, as far as prices are known;
    `unpriced` are the models that were called at a price that is not. `notes` are what a reader of the run should know.
    """

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    usd: float = 0.0
    unpriced: list[str] = field(default_factory=list)
    keys: Keys | None = None
    notes: list[Reason] = field(default_factory=list)

    def found(self, key: bytes) -> None:
        """Count a call whose reply the cache holds."""
        self.calls["cached"] += 1
        if self.keys is not None:
            self.keys.found.add(key[:KEY_BYTES])

    def answered(self, key: bytes) -> None:
        """Note a call that this process made."""
        if self.keys is not None:
            self.keys.answered.add(key[:KEY_BYTES])

    @property
    def cost(self) -> Cost:
        """The cost so far."""
        return Cost(self.usd, tuple(self.unpriced))

    def no_price(self, model: str) -> None:
        """Note that a model was called whose price is not known, once."""
        if model not in self.unpriced:
            self.unpriced.append(model)

    def note(self, note: Reason) -> None:
        """Add a note, once."""
        if note not in self.notes:
            self.notes.append(note)


SMALL: Final = 0.05
"""A cap is large enough where one call can cost no more than this share of it."""


@dataclass(eq=False, slots=True)
class Charge:
    """
    What is reserved for one attempt: tokens of `input` and `output`, US dollars (0 where nobody counts them).

    `size` counts the characters of the body; an attempt by `batch` costs less. `sent` is the body, where that may
    be changed, and `short` what is sent instead: its limit of tokens is `output`. `cap` is why, if it is one.
    `worst` is the most that the attempt can use.
    """

    server: Server
    endpoint: Endpoint
    size: int
    batch: bool
    sent: Sent | None = None
    input: int = 0
    output: int = 0
    usd: float = 0.0
    short: Sent | None = None
    cap: Reason = NONE
    worst: Amount = ONE

    def limit(self, most: int) -> None:
        """Reserve for a reply of so many tokens, or more where the server was seen to report more."""
        price, worst = self.server.price_of(batch=self.batch), self.server.worst(self.size, most)
        self.input, self.output = worst.input or 0, worst.output or 0
        self.usd = cost(price, dearest(price, worst)) if price else 0.0
        tokens = self.input + self.output
        self.worst = Amount(1, tokens, self.usd) if tokens else ONE

    def shorten(self, cap: Reason) -> bool:
        """Take a limit of tokens that is well above all replies so far; return False if there is none that is lower."""
        most = self.server.short
        if self.sent is None or self.short is not None or most is None:
            return False
        most = self.server.worst(self.size, most).output or most
        self.short, self.cap = limited(self.sent, most), cap
        if self.short is not None:
            self.limit(most)
        return self.short is not None

    def cuts(self, reply: Reply) -> bool:
        """Return whether a reply ends at the lower limit: it is not the one that was asked for."""
        return self.short is not None and (reply.stop == "length" or _written(reply) >= self.output)


class Money:
    """
    What a process spends, and what is left of the caps.

    The most that a call can use is reserved before the call is made. What it did not use is free again after it. A call
    that does not fit waits while calls under way may still use less than they have reserved: so a cap stops a run only
    when one more call could pass it. Who came first goes first. `started` is the time, in seconds of `clock`, from
    which `minutes` count. `ledger` has what was used; `under_way` counts the calls that began and have not ended.
    """

    def __init__(
        self,
        caps: Caps | None = None,
        account: Account | None = None,
        started: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.caps, self.ledger = caps or Caps(), Ledger()
        self.account, self._clock = account or LocalAccount(), clock
        self.started = clock() if started is None else started
        calls, tokens, usd = self.caps.calls, self.caps.tokens, self.caps.usd
        most = 2**62
        self._limits = Amount(
            most if calls is None else calls, most if tokens is None else tokens, inf if usd is None else usd
        )
        self.counts = (calls, tokens, usd) != (None, None, None)
        """Whether there is a cap on what calls use."""
        self._free = not self.counts and self.caps.minutes is None
        self.stopping = False
        self.under_way = 0
        self.grace_s = 0.0

    def open(self, journal: Journal, grace_s: float, over: Callable[[], bool]) -> None:
        """
        Let calls begin, in the loop of a journal.

        Calls may go on for `grace_s` seconds after the minutes are over; `over` says whether a signal has come.
        """
        self._journal, self.grace_s, self._over = journal, grace_s, over
        self._line = Line[Amount, bool](journal, self._reserved, unwanted=self._unwanted, again_s=LOOK_S)

    async def begin(
        self, server: Server, endpoint: Endpoint, size: int, *, batch: bool, again: bool, sent: Sent | None = None
    ) -> Charge:
        """
        Reserve the most that an attempt can use, and count it; `again` if it is not the first one of its call.

        Where that does not fit a cap on tokens or dollars any more, and the body that is `sent` may be changed, a limit
        that is twice the longest reply so far may still fit: what is left is spent on calls that can hardly need more.

        Raises:
            JudgeError: a cap would be passed, the server was given up, or the run is stopped.
        """
        price = server.price_of(batch=batch)
        if price is None and endpoint.live and self.caps.usd is not None:
            raise JudgeError(because(Kind.CAPPED_UNPRICED, name(endpoint.model), self.caps.option))
        charge = Charge(server, endpoint, size, batch, sent)
        if self.counts or price is not None:
            charge.limit(endpoint.max_tokens)
        while True:
            try:
                if not self.begin_now(charge.worst):
                    async with server.health.waiting():
                        await self.wait(charge.worst)
            except JudgeError as error:
                if not self._lowered(charge, reason_of(error)):
                    raise
            else:
                self.ledger.calls["retried"] += again
                return charge

    def begin_now(self, worst: Amount) -> bool:
        """
        Count a call and reserve the most that it can use; return False if it has to wait.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        if not self._free and (self.remote or self._line.waiting):
            return False
        self.check()
        if not self._free:
            try:
                (found,) = self._reserved([worst])
            except StorageError as error:
                if self._journal.patient(error):
                    return False
                raise self._journal.broken(error) from error
            if isinstance(found, JudgeError):
                raise found
            if found is not True:
                return False
        self._count()
        return True

    async def wait(self, worst: Amount) -> None:
        """
        Do the same, and wait until there is room.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        await self._line.wait(worst)
        try:
            self.check()
        except JudgeError:
            self._unwanted(worst, True)
            raise
        self._count()

    def _count(self) -> None:
        self._journal.served()
        self.ledger.calls["made"] += 1
        self.under_way += 1

    def _unwanted(self, worst: Amount, _: bool) -> None:
        self._settle(worst, NOTHING)

    def _reserved(self, worsts: Sequence[Amount]) -> Sequence[bool | JudgeError | Later]:
        """Reserve amounts in their order; return True for each, why it cannot be, or `LATER`."""
        try:
            self.check()
        except JudgeError as error:
            return [error] * len(worsts)
        if (left := self.seconds_left) is not None and left <= 0:
            return [JudgeError(self.out_of_time) for _ in worsts]
        if not self.counts:
            return [True] * len(worsts)
        grants = self.account.reserve(worsts, self._limits)
        return [
            True if grant is Grant.GIVEN else LATER if grant is Grant.LATER else JudgeError(self._passed(worst))
            for worst, grant in zip(worsts, grants, strict=True)
        ]

    def _passed(self, worst: Amount) -> Reason:
        """Return the reason why an amount is not reserved: the cap that it would pass."""
        after, caps = self.account.spent().plus(worst), self.caps
        if caps.calls is not None and after.calls > caps.calls:
            return because(Kind.CAPPED, f"{caps.option}calls {caps.calls}")
        if caps.tokens is not None and after.tokens > caps.tokens:
            return self.out_of_tokens
        return self.out_of_usd

    def _lowered(self, charge: Charge, cap: Reason) -> bool:
        """Note a cap on tokens or dollars that an attempt would pass; return whether a lower limit may still fit."""
        whole = charge.usd
        if cap not in (self.out_of_tokens, self.out_of_usd):
            return False
        if charge.shorten(cap):
            return True
        said = any(note.kind is Kind.CAP_TOO_LOW for note in self.ledger.notes)
        if not said and whole > SMALL * (self.caps.usd or inf):
            self.ledger.note(because(Kind.CAP_TOO_LOW, cap.details[0], name(charge.endpoint.model), dollars(whole)))
        return False

    def answered(self, charge: Charge, reply: Reply) -> None:
        """Count what an answered attempt used; where the server does not say, the most that it can have used."""
        amount = charge.worst
        try:
            amount = self._used(charge, reply)
        finally:
            self.end(charge.worst, amount)

    def failed(self, charge: Charge, error: JudgeError) -> None:
        """Count an attempt without an answer; one that may be billed counts by the most that it can cost."""
        used = ONE
        if error.pending:  # whoever collects its reply counts it; what may be at the server stays reserved
            self.ledger.calls["made"] -= 1
            used = NOTHING if error.again else charge.worst
        elif error.billed:
            used = charge.worst
            self.ledger.usd += charge.usd
            if charge.usd:
                self.ledger.note(because(Kind.MAY_BE_BILLED, name(charge.endpoint.model)))
            elif charge.endpoint.live and charge.server.price_of(batch=charge.batch) is None:
                self.ledger.no_price(charge.endpoint.model)
        self.end(charge.worst, used)

    def _used(self, charge: Charge, reply: Reply) -> Amount:
        used, ledger, server = reply.usage, self.ledger, charge.server
        price = server.price_of(batch=charge.batch)
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        server.note(used, charge.size, max(_written(reply), charge.output if charge.cuts(reply) else 0))
        tokens = charge.input if used.input is None else used.input
        tokens += charge.output if used.output is None else used.output
        if price is None:
            if charge.endpoint.live:
                ledger.no_price(charge.endpoint.model)
            return Amount(1, tokens, 0.0)
        if used.input is None or used.output is None:
            ledger.note(because(Kind.NO_USAGE, name(charge.endpoint.model)))
        dollars = cost(price, used, dearest(price, Usage(charge.input, charge.output)))
        ledger.usd += dollars
        return Amount(1, tokens, dollars)

    def end(self, worst: Amount, used: Amount) -> None:
        """Note what a call used; the rest of what was reserved is free again."""
        self.under_way -= 1
        self._settle(worst, used)
        if self._line.waiting:
            self._line.go()

    def _settle(self, worst: Amount, used: Amount) -> None:
        if self.counts:
            try:
                self.account.settle(worst, used)
            except StorageError as error:  # the amount stays reserved, so the cap holds
                if not self._journal.patient(error):
                    self._journal.broken(error)

    def spent(self) -> Amount:
        """Return what was used or is reserved; it is counted only where there is a cap on it."""
        return self.account.spent()

    def check(self) -> None:
        """Raise a `JudgeError` if the run is stopped."""
        if self._journal.fault:
            raise JudgeError(NOT_KEPT, fatal=True)
        if self.stopping or self._over():
            raise JudgeError(STOPPED, fatal=True)

    @property
    def remote(self) -> bool:
        """Whether a server counts it: it takes its time."""
        return self.counts and self.account.remote

    @property
    def seconds_left(self) -> float | None:
        """For how many seconds new calls may still begin; None: there is no limit."""
        if self.caps.minutes is None:
            return None
        return 60 * self.caps.minutes - (self._clock() - self.started)

    @property
    def longest_s(self) -> float | None:
        """For how many seconds a call may last, so that the cap in minutes holds; None: there is no such cap."""
        left_s = self.seconds_left
        return None if left_s is None else max(0.0, left_s) + self.grace_s

    @property
    def out_of_time(self) -> Reason:
        """The reason why a call is not made, or is given up, when the minutes are over."""
        return because(Kind.CAPPED, f"{self.caps.option}minutes {self.caps.minutes:g}")

    @property
    def out_of_tokens(self) -> Reason:
        """The reason why a call is not made that would pass the cap on tokens."""
        return because(Kind.CAPPED, f"{self.caps.option}tokens {self.caps.tokens}")

    @property
    def out_of_usd(self) -> Reason:
        """The reason why a call is not made that would pass the cap in dollars."""
        return because(Kind.CAPPED, f"{self.caps.option}usd {self.caps.usd or 0:g}")


def _written(reply: Reply) -> int:
    """Return how many tokens a reply has; where the server does not say, the bytes of its text: it has no more."""
    return len(reply.text.encode(errors="replace")) if reply.usage.output is None else reply.usage.output
