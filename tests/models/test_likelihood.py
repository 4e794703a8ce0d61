"""How likely a model finds a text: its tokens among those of a chat, and their mean log-probability."""

import doctest
from math import log

import pytest

from calm.core.edits import Message
from calm.errors import EstimateError
from calm.models import likelihood
from calm.models.likelihood import likelihood_request, likelihood_server, log_perplexity, text_logprobs
from calm.models.server import Server
from calm.models.wire import Token


def test_the_examples_hold():
    """Those in the docstrings are known values."""
    assert doctest.testmod(likelihood).failed == 0


def test_log_perplexity_is_minus_the_mean_logarithm():
    """Two tokens of 1/2 and 1/8: the geometric mean is 1/4."""
    assert log_perplexity([log(1 / 2), log(1 / 8)]) == pytest.approx(log(4))


def test_what_is_no_log_probability_is_refused(subtests):
    """No tokens, a probability, and what is not finite."""
    for logprobs in [[], [0.5], [float("nan")], [float("-inf")]]:
        with subtests.test(logprobs=logprobs), pytest.raises(EstimateError):
            log_perplexity(logprobs)


def test_the_tokens_of_a_text_are_found_at_its_last_place(subtests):
    """Also where the question quotes it, and whatever the template puts behind it."""
    for tokens, text, expected in [
        (["<u>", "What", "?", "<a>", " It", " is", "."], "It is.", [-4.0, -5.0, -6.0]),
        (["It is.", "<a>", "It is", ".", "<end>"], "It is.", [-2.0, -3.0]),
        (["a", "b"], "c", []),
        (["a", "b"], " ", []),
    ]:
        with subtests.test(tokens=tokens, text=text, expected=expected):
            found = text_logprobs([Token(token, -float(n)) for n, token in enumerate(tokens)], text)

            assert found == expected


def test_only_a_compatible_server_is_asked(subtests):
    """OpenAI's own server and the other APIs have no such parameter, so no call finds that out."""
    for server, fits in [
        (Server("openai", "m", base_url="http://127.0.0.1:9/v1"), True),
        (Server("openai", "gpt-4.1-mini"), False),
        (Server("openai-responses", "m", base_url="http://127.0.0.1:9/v1"), False),
        (Server("anthropic", "m", base_url="http://127.0.0.1:9/v1"), False),
    ]:
        with subtests.test(server=server.identity):
            assert (likelihood_server(server) is not None) is fits


def test_a_request_generates_one_token_whatever_the_judge_may_write():
    """It is reserved and planned as such, and its body is the one that the cache knows."""
    server = likelihood_server(Server("openai", "m", base_url="http://127.0.0.1:9/v1", extra_body={"max_tokens": 50}))

    request = likelihood_request(server, (Message("user", "Why?"),), "So.")

    assert request.endpoint.max_tokens == request.body["max_tokens"] == 1
    assert request.body["messages"][-1] == {"role": "assistant", "content": "So."}
    assert {"prompt_logprobs", "add_generation_prompt", "continue_final_message"} <= request.body.keys()
