"""What calls cost: the most that each can use is reserved before it is made, and what it used is settled after it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from calm.core.reasons import NONE, Kind, Reason, because, name, reason_of
from calm.engine.budget import NOTHING, Amount
from calm.engine.calls import ONE, Calls
from calm.engine.servers import Server
from calm.errors import JudgeError
from calm.models.pricing import cost, dearest, dollars
from calm.models.sampling import limited
from calm.models.wire import Endpoint, Reply, Sent, Usage

SMALL: Final = 0.05
"""A cap is large enough where one call can cost no more than this share of it."""


@dataclass(eq=False, slots=True)
class Charge:
    """
    What is reserved for one attempt: tokens of `input` and `output`, US dollars (0 where nobody counts them).

    `size` counts the characters of the body; an attempt by `batch` costs less. `sent` is the body, where that may
    be changed, and `short` what is sent instead: its limit of tokens is `output`. `cap` is why, if it is one.
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

    @property
    def worst(self) -> Amount:
        """The most that the attempt can use."""
        tokens = self.input + self.output
        return Amount(1, tokens, self.usd) if tokens else ONE

    def limit(self, most: int) -> None:
        """Reserve for a reply of so many tokens, or more where the server was seen to report more."""
        price, worst = self.server.price_of(batch=self.batch), self.server.worst(self.size, most)
        self.input, self.output = worst.input or 0, worst.output or 0
        self.usd = cost(price, dearest(price, worst)) if price else 0.0

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


class Charges:
    """Begins attempts within the caps, and counts what came of them."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._ledger = calls, calls.ledger

    async def begin(
        self,
        server: Server,
        endpoint: Endpoint,
        size: int,
        *,
        batch: bool,
        again: bool,
        sent: Sent | None = None,
    ) -> Charge:
        """
        Reserve the most that an attempt can use, and count it; `again` if it is not the first one of its call.

        Where that does not fit a cap on tokens or dollars any more, and the body that is `sent` may be changed, a limit
        that is twice the longest reply so far may still fit: what is left is spent on calls that can hardly need more.

        Raises:
            JudgeError: a cap would be passed, the server was given up, or the run is stopped.
        """
        price = server.price_of(batch=batch)
        if price is None and endpoint.live and self._calls.budget.caps.usd is not None:
            raise JudgeError(because(Kind.CAPPED_UNPRICED, name(endpoint.model)))
        charge = Charge(server, endpoint, size, batch, sent)
        if self._calls.budget.counts or price is not None:
            charge.limit(endpoint.max_tokens)
        while True:
            try:
                if not self._calls.begin_now(charge.worst):
                    async with server.health.waiting():
                        await self._calls.begin(charge.worst)
            except JudgeError as error:
                if not self._lowered(charge, reason_of(error)):
                    raise
            else:
                self._ledger.calls["retried"] += again
                return charge

    def _lowered(self, charge: Charge, cap: Reason) -> bool:
        """Note a cap on tokens or dollars that an attempt would pass; return whether a lower limit may still fit."""
        budget, whole = self._calls.budget, charge.usd
        if cap not in (budget.out_of_tokens, budget.out_of_usd):
            return False
        if charge.shorten(cap):
            return True
        said = any(note.kind is Kind.CAP_TOO_LOW for note in self._ledger.notes)
        if not said and whole > SMALL * (budget.caps.usd or inf):
            self._ledger.note(because(Kind.CAP_TOO_LOW, cap.details[0], name(charge.endpoint.model), dollars(whole)))
        return False

    def answered(self, charge: Charge, reply: Reply) -> None:
        """Count what an answered attempt used; where the server does not say, the most that it can have used."""
        try:
            amount = self._used(charge, reply)
        except BaseException:
            self._calls.end(charge.worst, charge.worst)
            raise
        self._calls.end(charge.worst, amount)

    def failed(self, charge: Charge, error: JudgeError) -> None:
        """Count an attempt without an answer; one that may be billed counts by the most that it can cost."""
        used = ONE
        if error.pending:  # whoever collects its reply counts it; what may be at the server stays reserved
            self._ledger.calls["made"] -= 1
            used = NOTHING if error.again else charge.worst
        elif error.billed:
            used = charge.worst
            self._ledger.usd += charge.usd
            if charge.usd:
                self._ledger.note(because(Kind.MAY_BE_BILLED, name(charge.endpoint.model)))
            elif charge.endpoint.live:
                self._ledger.no_price(charge.endpoint.model)
        self._calls.end(charge.worst, used)

    def _used(self, charge: Charge, reply: Reply) -> Amount:
        used = reply.usage
        ledger, server, model = self._ledger, charge.server, charge.endpoint.model
        price = server.price_of(batch=charge.batch)
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        server.note(used, charge.size, max(_written(reply), charge.output if charge.cuts(reply) else 0))
        pairs = (used.input, charge.input), (used.output, charge.output)
        tokens = sum(reported if reported is not None else most for reported, most in pairs)
        if price is None:
            if charge.endpoint.live:
                ledger.no_price(model)
            return Amount(1, tokens, 0.0)
        if used.input is None or used.output is None:
            ledger.note(because(Kind.NO_USAGE, name(model)))
        dollars = cost(price, used, dearest(price, Usage(charge.input, charge.output)))
        ledger.usd += dollars
        return Amount(1, tokens, dollars)


def _written(reply: Reply) -> int:
    """Return how many tokens a reply has; where the server does not say, the bytes of its text: it has no more."""
    return len(reply.text.encode(errors="replace")) if reply.usage.output is None else reply.usage.output
