"""Keeps the tests on this machine, and the slow lane out of an ordinary run."""

import socket
from ipaddress import ip_address
from pathlib import Path

import pytest

POWER = Path(__file__).parent / "power"

pytest_plugins = ["pytester"]


def pytest_ignore_collect(collection_path, config):
    """Leave `tests/power` out unless it is asked for by name."""
    named = any("power" in str(arg) for arg in config.args)
    return True if collection_path == POWER and not named else None


@pytest.fixture(autouse=True, scope="session")
def loopback_only():
    """Refuse any connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0]
            if host != "localhost" and not ip_address(host).is_loopback:
                raise AssertionError(f"a test tried to reach {host}: tests talk to loopback only")
        return connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield
