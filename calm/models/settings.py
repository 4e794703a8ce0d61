"""What can be wrong with the settings of a server before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from calm.models.address import loopback
from calm.models.literals import literal_secrets
from calm.models.sampling import effort_of, fixed_claude, takes_one, takes_sampling, thinks, unknown_effort
from calm.models.server import Server

SCHEMES: Final = ("http", "https")
"""How an address of a server can begin."""


def wrong_settings(server: Server) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the settings of a server, as (key of judge.toml, problem)."""
    yield from _url_faults(server)
    yield from literal_secrets(server)
    for name, value in (*server.headers.items(), *server.secrets.headers.items(), ("api_key_env", server.secrets.key)):
        if value and not (value.isascii() and value.isprintable()):
            key = name if name == "api_key_env" else "headers" if name in server.headers else "headers_env"
            yield key, f"the value of {name!r} has a line break or a character that no header may hold"
    model = server.served_as or server.model
    yield from _sampling_faults(server, model)
    if server.logprobs and (server.provider == "anthropic" or not takes_sampling(model, server.extra_body)):
        yield (
            "format",
            f"'logprobs' needs log-probabilities, and the model {model!r} of the provider "
            f"{server.provider!r} gives none; choose another format",
        )


def _sampling_faults(server: Server, model: str) -> Iterator[tuple[str, str]]:
    """Give what a model is sure to refuse; a temperature that it does not take is left out, and said."""
    if known := unknown_effort(model, server.extra_body):
        effort = effort_of(server.extra_body)
        yield (
            "extra_body",
            f"the model {model!r} does not reason at the effort {effort!r}; expected {', '.join(known)}",
        )
    if fixed_claude(model) is not False or server.temperature is None:
        return
    if thinks(server.extra_body) and server.temperature != 1:
        yield (
            "temperature",
            f"expected 1 or none, as {model!r} takes no other one while it thinks (extra_body.thinking)",
        )
    if takes_one(model) and "top_p" in server.extra_body:
        yield "temperature", f"the model {model!r} takes temperature or top_p, not both; leave one out"


def _url_faults(server: Server) -> Iterator[tuple[str, str]]:
    if server.base_url is None:
        return
    try:
        url = urlsplit(server.base_url)
        host, _ = url.hostname, url.port
    except ValueError:
        url, host = urlsplit(""), None
    if url.scheme not in SCHEMES or not host or any(c.isspace() for c in server.base_url):
        bare = re.fullmatch(r"(localhost|[\d.]+|[\w.-]+)(?::\d+)?(?:/[\w./-]*)?", server.base_url)
        scheme = "https" if bare and re.search("[a-z]", bare[1]) and bare[1] != "localhost" else "http"
        head = f"did you mean {scheme}://{server.base_url}?" if bare else "correct it"
        yield (
            "base_url",
            f"expected an address such as 'http://127.0.0.1:8000/v1', got {_shown_url(server.base_url)}; {head}",
        )
        return
    if url.username is not None or url.password is not None:
        yield "base_url", "expected an address without a name and password in it; use api_key_env or headers_env"
        return
    if url.query or url.fragment:
        yield "base_url", "expected an address without '?' and '#'; write its parameters as query = { name = 'value' }"
    if url.scheme == "http" and not loopback(host) and server.secrets.values:
        yield (
            "base_url",
            f"a key or header from a variable goes over plain http to this machine only, not to {host!r}; "
            "use https, or reach the server through a tunnel to 127.0.0.1",
        )


def _shown_url(url: str) -> str:
    return "one that cannot be shown, as it may hold a password" if "@" in url else repr(url)
