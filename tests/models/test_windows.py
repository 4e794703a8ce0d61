"""How long a prompt may be: the bound on its tokens, the windows that are known, and what servers say."""

import pytest

from calm.cases import bundled as bundled_cases
from calm.cases import shaped_cases
from calm.models import faults
from calm.models.pricing import SHORTEST, least_tokens, may_exceed, was_cut, window_of

PER_TOKEN = 4.3
"""Characters of English text in a token, on average (calm lint takes 5 to be sure)."""


def test_the_bound_is_a_seventh_too_low_on_the_shipped_cases_with_passages():
    """So the page says; the count of words never exceeds that of tokens as they come on average."""
    cases = shaped_cases("context", "listwise", bundled_cases("listwise"))
    texts = [t for c in cases for t in (c.question, *(a.text for a in c.answers), *(p.text for p in c.context))]

    tokens_a_word = sum(map(len, texts)) / PER_TOKEN / least_tokens(texts)

    assert tokens_a_word == pytest.approx(1.16, abs=0.01)
    assert 1 - 1 / tokens_a_word == pytest.approx(0.14, abs=0.01)


def test_what_is_too_short_to_be_long_is_not_counted():
    """A text of n words has 2 n - 1 characters at least."""
    assert not may_exceed(len("a " * (SHORTEST - 1)))
    assert may_exceed(len("a " * SHORTEST))


@pytest.mark.parametrize(("model", "window"), [("gpt-4o-mini", 128_000), ("no-such-model-1", None)])
def test_the_window_of_a_model_is_known_by_its_name_or_not(model, window):
    """A model that nobody lists has none."""
    assert window_of(model) == window


@pytest.mark.parametrize(
    ("counted", "least", "cut"),
    [(None, 9000, False), (11, 9000, False), (2048, 9000, True), (9000, 9000, False), (12_000, 9000, False)],
)
def test_a_prompt_was_cut_where_fewer_tokens_are_counted_than_it_has(counted, least, cut):
    """A server that says nothing, or a number that is no window, says nothing of a cut."""
    assert was_cut(counted, least) == cut


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "context_length_exceeded", "message": "too many tokens"}),
        (400, {"code": 400, "type": "exceed_context_size_error", "message": "the request is longer", "n_ctx": 4096}),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        (400, {"type": "BadRequestError", "message": "This model's maximum context length is 4096 tokens."}),
        (500, {"message": "the input length exceeds the context length"}),
    ],
    ids=["openai", "llama.cpp", "anthropic", "vllm", "ollama"],
)
def test_servers_say_in_their_own_ways_that_a_prompt_is_too_long(status, error):
    """By a code, or in words."""
    assert faults.too_long(status, {"error": error})


@pytest.mark.parametrize(("status", "said"), [(429, "context length"), (400, "unknown parameter"), (503, "busy")])
def test_other_refusals_are_not_about_length(status, said):
    """Neither a limit of calls nor a wrong parameter is."""
    assert not faults.too_long(status, {"error": {"message": said}})
