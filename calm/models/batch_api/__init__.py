"""
The batch APIs of the providers: many requests are handed in as one batch, answered within a day, at a lower price.

OpenAI takes a file of requests (`/v1/files`, `/v1/batches`), Anthropic a list of them (`/v1/messages/batches`). Both
name each request by a `custom_id`; here that is its key in the cache, in hexadecimal.
"""

from __future__ import annotations

from collections.abc import Callable

from calm.models.address import Address
from calm.models.batch_api.anthropic import AnthropicBatches
from calm.models.batch_api.openai import OpenAIBatches, answer_in, request_line
from calm.models.batch_api.session import BatchSession
from calm.models.transport import Response
from calm.models.wire import Batching, Reply

__all__ = ["answer_in", "batching_of", "request_line"]


def batching_of(address: Address, version: str, read: Callable[[Response], Reply]) -> Batching:
    """
    Return the batch API at an address; nothing is sent before it is used.

    `version` is that of the API, if not the SDK's own. `read` makes a reply of what the live API would have sent.
    """
    session = BatchSession(address, version)
    if address.provider == "anthropic":
        return AnthropicBatches(session, read)
    return OpenAIBatches(session, read, f"/v1{address.path}")
