"""Which proxy the environment names for a server."""

from __future__ import annotations

from urllib.parse import urlsplit

from calm.models.address import host_of, loopback
from calm.models.vault import learn


def proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a server; what goes to this machine is shown to none."""
    host = host_of(url)
    if host is None or loopback(host):
        return None
    from urllib.request import getproxies, proxy_bypass  # takes a moment, and a local server needs none of it

    if proxy_bypass(host):
        return None
    named = getproxies()
    learn({f"{name}_proxy": url for name, url in named.items()})
    proxy = named.get(urlsplit(url).scheme) or named.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
