"""What a call costs: the price in judge.toml, else that of a maintained table that works offline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from calm.core.releases import refuse_other_releases
from calm.models.wire import Endpoint, Price, Tier, Usage

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
    from genai_prices import Usage as Tokens  # 150 ms that only a run with a model pays
    from genai_prices import calc_price

    def at(prompt: int) -> tuple[float, float]:
        """Return what a million tokens cost in a call with a prompt of so many tokens."""
        tokens = Tokens(input_tokens=prompt, output_tokens=1)
        found = calc_price(tokens, model_ref=model, genai_request_timestamp=datetime.now(UTC))
        return float(found.input_price) * 1e6 / prompt, float(found.output_price) * 1e6

    try:
        model_price = calc_price(Tokens(), model_ref=model, genai_request_timestamp=datetime.now(UTC)).model_price
        rates = model_price.input_mtok, model_price.output_mtok
        starts = sorted({tier.start for rate in rates for tier in getattr(rate, "tiers", ())})
        tiers = tuple(Tier(start, *_rounded(at(start + 1))) for start in starts)
        return Price(*_rounded(at(1)), f"genai-prices {version('genai-prices')}", tiers)
    except LookupError:
        return None


def _rounded(rates: tuple[float, float]) -> tuple[float, float]:
    """Return rates without the crumbs of a division."""
    put, got = rates
    return round(put, 9), round(got, 9)


def cost(price: Price, usage: Usage, worst: Usage | None = None) -> float:
    """
    Return the cost of a call in US dollars. Tokens that the server did not report count as in `worst`, or as none.

    >>> cost(Price(0.40, 1.60, "judge.toml"), Usage(1000, 100))
    0.00056
    >>> cost(Price(0.40, 1.60, "judge.toml"), Usage(1000, None), Usage(9999, 100))
    0.00056
    """
    most = worst or Usage()
    put = usage.input if usage.input is not None else most.input
    got = usage.output if usage.output is not None else most.output
    put_rate, got_rate = price.of(put or 0)
    return round(((put or 0) * put_rate + (got or 0) * got_rate) / 1e6, 12)


def tokens_in(characters: int, per_character: float = 0.5) -> int:
    """Return an upper estimate of the tokens of a text; the default is that of code and of rare scripts."""
    return int(characters * per_character) + 1
