"""
The batch APIs of the providers: many requests are handed in as one batch, answered within a day, at a lower price.

OpenAI takes a file of requests (`/v1/files`, `/v1/batches`), Anthropic a list of them (`/v1/messages/batches`). Both
name each request by a `custom_id`; here that is its key in the cache, in hexadecimal.
"""

from __future__ import annotations

from calm.models.batch_api.anthropic import AnthropicBatches
from calm.models.batch_api.openai import OpenAIBatches, answer_in, request_line
from calm.models.batch_api.session import BatchSession
from calm.models.server import Server
from calm.models.wire import Batching

__all__ = ["answer_in", "batching_of", "request_line"]


def batching_of(server: Server) -> Batching:
    """Return the batch API of a server; nothing is sent before it is used."""
    session = BatchSession(server.address, server.version)
    if server.provider == "anthropic":
        return AnthropicBatches(session, server.read)
    return OpenAIBatches(session, server.read, f"/v1{server.address.path}")
