"""What a call costs: the price in judge.toml, else that of a maintained table that works offline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from math import inf
from typing import cast

from calm.core.releases import refuse_other_releases
from calm.models.kept import KEPT
from calm.models.wire import Endpoint, Json, Price, Tier, Usage

SET_PRICE = "give price_usd_per_mtok = { input = ..., output = ... } in the [model] table of judge.toml"
"""How a user states the price of a model."""


@dataclass(frozen=True, slots=True)
class Cost:
    """
    What calls cost: the US dollars that are known of, and the models that answered at a price that is not known.

    Where there is such a model, `usd` is a lower bound.
    """

    usd: float = 0.0
    unpriced: tuple[str, ...] = ()

    def plus(self, other: Cost) -> Cost:
        """Return the sum of two costs."""
        return Cost(self.usd + other.usd, tuple(dict.fromkeys((*self.unpriced, *other.unpriced))))

    def __str__(self) -> str:
        """
        Return it in words; what is not known is never 0.

        >>> print(Cost(0.01234)), print(Cost()), print(Cost(2.5, ("tiny",)))  # doctest: +ELLIPSIS
        0.0123 USD
        no price needed
        >= 2.5000 USD, and the unknown price of tiny: give price_usd_per_mtok = { input = ..., output = ... } in the ...
        (None, None, None)
        """
        if not self.unpriced:
            return f"{dollars(self.usd)} USD" if self.usd else "no price needed"
        unknown = f"unknown price of {', '.join(self.unpriced)}: {SET_PRICE}"
        return f">= {dollars(self.usd)} USD, and the {unknown}" if self.usd else unknown


def dollars(usd: float) -> str:
    """
    Return an amount for people.

    >>> dollars(0.01234), dollars(1234.5), dollars(0.00001), dollars(0)
    ('0.0123', '1,234.50', '<0.0001', '0.0000')
    """
    if 0 < usd < 0.00005:
        return "<0.0001"
    return f"{usd:.4f}" if usd < 10 else f"{usd:,.2f}"


def price_of(endpoint: Endpoint) -> Price | None:
    """Return the price of an endpoint's model; None if neither judge.toml nor the price table has one."""
    return endpoint.price or look_up(endpoint.served_as or endpoint.model)


def look_up(model: str) -> Price | None:
    """Return today's price of a model in the table, or None."""
    refuse_other_releases("genai-prices")
    found = KEPT.once(f"price {model}", _is_price, lambda: _looked_up(model))
    if not isinstance(found, list):
        return None
    (_, *rates), *tiers = cast("list[list[float]]", found)
    source = f"genai-prices {version('genai-prices')}"
    return Price(rates[0], rates[1], source, tuple(Tier(int(above), *more) for above, *more in tiers), *rates[2:])


def _looked_up(model: str) -> tuple[Json, bool]:
    """
    Return the rates of prompts, replies and what a cache reads and writes, for each length from which on they hold.

    The second value is whether they hold all day.
    """
    from genai_prices import Usage as Tokens  # 150 ms that only the first run of a day with a model pays
    from genai_prices import calc_price
    from genai_prices.types import TimeOfDateConstraint

    def at(start: int) -> list[Json]:
        """Return what a million tokens cost in a call with a prompt of more tokens than that."""
        prompt, found = start + 1, list[float]()
        for cached in ({}, {"cache_read_tokens": prompt}, {"cache_write_tokens": prompt}):
            tokens = Tokens(input_tokens=prompt, output_tokens=1, **cached)
            price = calc_price(tokens, model_ref=model, genai_request_timestamp=datetime.now(UTC))
            found.append(round(float(price.input_price) * 1e6 / prompt, 9))
        return [start, found[0], round(float(price.output_price) * 1e6, 9), *found[1:]]

    try:
        found = calc_price(Tokens(), model_ref=model, genai_request_timestamp=datetime.now(UTC))
        rates = found.model_price.input_mtok, found.model_price.output_mtok
        starts = sorted({tier.start for rate in rates for tier in getattr(rate, "tiers", ())})
        prices = found.model.prices
        by_hour = isinstance(prices, list) and any(isinstance(p.constraint, TimeOfDateConstraint) for p in prices)
        return [at(start) for start in (0, *starts)], not by_hour
    except LookupError:
        return None, True


def _is_price(found: Json) -> bool:
    """Return whether this is what `_looked_up` returns of a model: rates of 0 or more, or None."""
    if found is None:
        return True
    rows = found if isinstance(found, list) else []
    sizes = {len(row) if isinstance(row, list) else 0 for row in rows}
    numbers = [one for row in rows if isinstance(row, list) for one in row]
    return sizes == {5} and all(type(one) in (int, float) and 0 <= cast("float", one) < inf for one in numbers)


def cost(price: Price, usage: Usage, worst: Usage | None = None) -> float:
    """
    Return the cost of a call in US dollars. Tokens that the server did not report count as in `worst`, or as none.

    What a cache of prompts gave or took has its own price.

    >>> cost(Price(0.40, 1.60, "judge.toml"), Usage(1000, 100))
    0.00056
    >>> cost(Price(0.40, 1.60, "judge.toml"), Usage(1000, None), Usage(9999, 100))
    0.00056
    >>> cost(Price(4.0, 8.0, "judge.toml", read=0.4, write=5.0), Usage(1000, 0, read=800, written=100))
    0.00122
    """
    most = worst or Usage()
    put = most if usage.input is None else usage
    got = usage.output if usage.output is not None else most.output
    rates = price.of(put.input or 0)
    return round(rates.of_prompt(put.input or 0, put.read, put.written) + (got or 0) * rates.output / 1e6, 12)


def dearest(price: Price, usage: Usage) -> Usage:
    """
    Return a usage of as many tokens that costs the most: a cache of prompts may give the whole prompt, or take it.

    >>> dearest(Price(4.0, 8.0, "judge.toml", read=0.4, write=0.0), Usage(1000, 100))
    Usage(input=1000, output=100, read=0, written=0)
    """
    whole = usage.input or 0
    return max(usage, replace(usage, read=whole), replace(usage, written=whole), key=partial(cost, price))


def tokens_in(characters: int, per_character: float = 0.5) -> int:
    """Return an upper estimate of the tokens of a text; the default is that of code and of rare scripts."""
    return int(characters * per_character) + 1
