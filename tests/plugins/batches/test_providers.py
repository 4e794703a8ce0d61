"""Which providers have a batch API."""

from contextlib import closing
from dataclasses import replace

import pytest

from calm.engine.engine import Batches, Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.models.apis import APIS, MAKERS, OPENAI_CHAT, PROVIDERS
from calm.models.server import Server


def test_another_provider_that_speaks_as_openai_does_has_no_batch_api_that_is_known(monkeypatch):
    """Its users are told before anything is asked; those that calm knows have one."""
    other = replace(OPENAI_CHAT, home="https://api.other.example/v1", key_name="OTHER_API_KEY")
    monkeypatch.setitem(APIS, "other", other)
    server = Server("other", "tiny")

    with pytest.raises(ConfigError, match="knows no batch API of the provider 'other'"):
        server.batching()
    running = Engine(Store(None, Mode.OFF), batches=Batches.WAIT)
    with pytest.raises(ConfigError, match="knows no batch API"), closing(running):
        running.greet(server)
    for provider in PROVIDERS:
        assert APIS[provider] not in MAKERS or Server(provider, "tiny").batching()
