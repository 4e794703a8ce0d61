"""
How likely a model finds a text that it need not have written: the log-probabilities of its tokens, from its own server.

A compatible server of the kind of vLLM gives, with `prompt_logprobs`, a log-probability for each token of a chat: here
of some messages, then of the text as the model's own turn. The OpenAI and Anthropic servers and llama.cpp's give none
for tokens that the model did not generate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum, isfinite

from calm.core.edits import Message
from calm.errors import EstimateError
from calm.models.server import Server
from calm.models.wire import Endpoint, Json, Request, Token


def likelihood_server(endpoint: Endpoint) -> Server | None:
    """Return a server as it is asked how likely a text is; None where it cannot say so, as is known without a call."""
    fits = isinstance(endpoint, Server) and endpoint.provider == "openai" and not endpoint.own
    return replace(endpoint, max_tokens=1) if fits and isinstance(endpoint, Server) else None


def likelihood_request(server: Server, messages: Sequence[Message], text: str) -> Request:
    """Return the request that asks how likely a text is after some messages; it generates one token."""
    said = (*messages, Message("assistant", text))
    body = {k: v for k, v in server.body(said).items() if k != "max_completion_tokens"}
    more: dict[str, Json] = {
        "max_tokens": 1,
        "prompt_logprobs": 0,
        "add_generation_prompt": False,
        "continue_final_message": True,
    }
    return Request(server, said, {**body, **more})


def text_logprobs(tokens: Sequence[Token], text: str) -> list[float]:
    """
    Return the log-probabilities of the tokens that hold a text, the last time that it stands in theirs.

    A token that holds its beginning or end together with other text counts. Nothing if the text is not there.

    >>> text_logprobs([Token("Q", -9.0), Token("A", -1.0), Token("B.", -2.0), Token("<end>", -3.0)], "AB.")
    [-1.0, -2.0]
    """
    whole = "".join(token.text for token in tokens)
    wanted = text.strip()
    start = whole.rfind(wanted) if wanted else -1
    if start < 0:
        return []
    end, place, found = start + len(wanted), 0, []
    for token in tokens:
        if place < end and place + len(token.text) > start:
            found.append(min(token.logprob, 0.0))
        place += len(token.text)
    return found


def log_perplexity(logprobs: Sequence[float]) -> float:
    """
    Return the log-perplexity of a text in nats a token: minus the mean natural log-probability of its tokens.

    `logprobs` are those of the text's own tokens, each given what stands before it; leave out the prompt's tokens and a
    first token without a probability. At least 0.

    Raises `EstimateError` for no tokens, or a log-probability that is above 0 or not finite.

    >>> log_perplexity([-1.0, -3.0])
    2.0
    """
    if not logprobs:
        raise EstimateError("expected the log-probability of at least one token, got none")
    wrong = [p for p in logprobs if not isfinite(p) or p > 1e-6]
    if wrong:
        raise EstimateError(f"expected log-probabilities of 0 or less, got {wrong[0]!r}; is it a probability?")
    return max(0.0, -fsum(logprobs) / len(logprobs))
