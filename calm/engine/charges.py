"""What calls cost: the most that each can use is reserved before it is made, and what it used is settled after it."""

from __future__ import annotations

from dataclasses import dataclass

from calm.core.reasons import Kind, because, name
from calm.engine.budget import NOTHING, Amount
from calm.engine.calls import ONE, Calls
from calm.engine.servers import Server
from calm.errors import JudgeError
from calm.models.pricing import cost
from calm.models.wire import Endpoint, Usage


@dataclass(eq=False, slots=True)
class Charge:
    """
    What is reserved for one attempt: tokens of `input` and `output`, US dollars (0 where nobody counts them).

    `size` counts the characters of the body; an attempt by `batch` costs less.
    """

    server: Server
    endpoint: Endpoint
    size: int
    batch: bool
    input: int = 0
    output: int = 0
    usd: float = 0.0

    @property
    def worst(self) -> Amount:
        """The most that the attempt can use."""
        tokens = self.input + self.output
        return Amount(1, tokens, self.usd) if tokens else ONE


class Charges:
    """Begins attempts within the caps, and counts what came of them."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._ledger = calls, calls.ledger

    async def begin(self, server: Server, endpoint: Endpoint, size: int, *, batch: bool, again: bool) -> Charge:
        """
        Reserve the most that an attempt can use, and count it; `again` if it is not the first one of its call.

        Raises:
            JudgeError: a cap would be passed, the server was given up, or the run is stopped.
        """
        price = server.price_of(batch=batch)
        if price is None and endpoint.live and self._calls.budget.caps.usd is not None:
            raise JudgeError(because(Kind.CAPPED_UNPRICED, name(endpoint.model)))
        charge = Charge(server, endpoint, size, batch)
        if self._calls.budget.counts or price is not None:
            most = server.worst(size, endpoint.max_tokens)
            charge.input, charge.output = most.input or 0, most.output or 0
            charge.usd = cost(price, most) if price else 0.0
        worst = charge.worst
        if not self._calls.begin_now(worst):
            async with server.health.waiting():
                await self._calls.begin(worst)
        self._ledger.calls["retried"] += again
        return charge

    def answered(self, charge: Charge, used: Usage) -> None:
        """Count what an answered attempt used; where the server does not say, the most that it can have used."""
        try:
            amount = self._used(charge, used)
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

    def _used(self, charge: Charge, used: Usage) -> Amount:
        ledger, server, model = self._ledger, charge.server, charge.endpoint.model
        price, worst = server.price_of(batch=charge.batch), Usage(charge.input, charge.output)
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        server.note(used, charge.size)
        pairs = (used.input, charge.input), (used.output, charge.output)
        tokens = sum(reported if reported is not None else most for reported, most in pairs)
        if price is None:
            if charge.endpoint.live:
                ledger.no_price(model)
            return Amount(1, tokens, 0.0)
        if used.input is None or used.output is None:
            ledger.note(because(Kind.NO_USAGE, name(model)))
        dollars = cost(price, used, worst)
        ledger.usd += dollars
        return Amount(1, tokens, dollars)
