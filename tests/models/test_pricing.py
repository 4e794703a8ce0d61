"""The price of a call is that of its own length: a long prompt may cost more for each token, a short one does not."""

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price

from calm.models.pricing import cost, look_up
from calm.models.wire import Price, Tier, Usage

TIERED = Price(1.0, 10.0, "test", (Tier(200_000, 2.0, 15.0), Tier(500_000, 4.0, 30.0)))


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-2.5-pro", "gpt-4o-mini"])
@pytest.mark.parametrize("prompt", [1, 800, 200_000, 200_001, 900_000])
def test_a_call_costs_what_the_table_says_for_its_length(model, prompt):
    """Also models that charge more for all tokens of a long prompt."""
    table = calc_price(Tokens(input_tokens=prompt, output_tokens=200), model_ref=model).total_price

    assert cost(look_up(model), Usage(prompt, 200)) == pytest.approx(float(table), rel=1e-9)


def test_a_model_with_a_price_for_long_prompts_has_a_lower_one_for_short_ones():
    """The table has such models; a judge's prompt is short."""
    price = look_up("gemini-2.5-pro")

    assert price.tiers
    above = price.of(price.tiers[0].above + 1)
    assert (price.input, price.output) < (above.input, above.output)


@pytest.mark.parametrize(
    ("prompt", "rates"),
    [(0, (1.0, 10.0)), (200_000, (1.0, 10.0)), (200_001, (2.0, 15.0)), (500_000, (2.0, 15.0)), (10**9, (4.0, 30.0))],
)
def test_the_highest_tier_that_a_prompt_passes_is_its_price(prompt, rates):
    """Exactly at the limit the lower one holds."""
    found = TIERED.of(prompt)
    assert (found.input, found.output) == rates


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-4o-mini", "gpt-5.6", "mistral-large-latest"])
@pytest.mark.parametrize("prompt", [2_000, 300_000])
def test_what_a_cache_of_prompts_gives_and_takes_has_the_price_of_the_table(model, prompt):
    """Also where the table has no such price: it is that of other tokens."""
    read, written = prompt // 2, prompt // 4
    tokens = Tokens(input_tokens=prompt, output_tokens=200, cache_read_tokens=read, cache_write_tokens=written)
    table = calc_price(tokens, model_ref=model).total_price

    assert cost(look_up(model), Usage(prompt, 200, read, written)) == pytest.approx(float(table), rel=1e-9)


def test_a_model_that_is_not_in_the_table_has_no_price():
    """It is not guessed."""
    assert look_up("a-model-of-nobody") is None
