"""Which proxy the environment names for a server."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from calm.models.address import host_of, loopback
from calm.models.vault import learn


def proxy_of(url: str) -> str | None:
    """
    Return the proxy that the environment names for a server; what goes to this machine is shown to none.

    NO_PROXY names hosts, also with a port, and domains (`.example.com`, `*.example.com`) and networks (`10.0.0.0/8`).
    """
    host = host_of(url)
    if host is None or loopback(host):
        return None
    from urllib.request import getproxies, proxy_bypass  # takes a moment, and a local server needs none of it

    given, named = urlsplit(url), getproxies()
    if proxy_bypass(host) or _spared(given, host, named.get("no", "")):
        return None
    learn({f"{name}_proxy": url for name, url in named.items()})
    proxy = named.get(given.scheme) or named.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _spared(url: SplitResult, host: str, names: str) -> bool:
    """Return whether a list of names has a server in a form that urllib does not read."""
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    shown, port = f"[{host}]" if ":" in host else host, 443 if url.scheme == "https" else 80
    with suppress(ValueError):  # its port is no number
        port = url.port or port
    plain = ",".join(name.strip().removeprefix("*.") for name in names.split(",") if name.strip() != "*")
    if proxy_bypass_environment(f"{shown}:{port}", {"no": plain}):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in _networks(names))


def _networks(names: str) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    for name in names.split(","):
        try:
            yield ipaddress.ip_network(name.strip(), strict=False)
        except ValueError:  # it names a host
            continue
