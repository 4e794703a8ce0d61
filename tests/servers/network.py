"""
A network of its own: one namespace for the servers, one for each machine, and a bridge that cables lead to.

A machine sees only its own processes and its own network, and has an address that the servers know it by. Its cable can
be pulled, its interface be switched off, and all that runs on it be killed. Nothing of this touches the network of the
computer that the test runs on. Where the kernel gives no network, `network` says why, and the machines share loopback.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

import pytest

RANGE = IPv4Network("10.213.7.0/24")
APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--")
NAMESPACES = Path("/run/netns")
GUARD = """
while kill -0 "$1" 2>/dev/null; do sleep 1; done
for name in $(ip netns list | grep -o "^$2[^ ]*"); do
  ip netns pids "$name" | xargs -r kill -KILL
  ip netns del "$name"
done
"""
"""Takes the network of a process away that was killed before it could."""


@dataclass
class Place:
    """Where the processes of a machine run: `within` is the command that starts a program there."""

    within: tuple[str, ...]
    address: str
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, command: list[str], **options: object) -> subprocess.Popen[str]:
        """Start a program on the machine; what it writes is read as one text."""
        process = subprocess.Popen(
            [*self.within, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, **options,
        )  # fmt: skip
        self._started.append(process)
        return process

    def kill(self) -> None:
        """Kill all processes of the machine, at once."""
        for process in self._started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._started:
            process.communicate(timeout=60)


@dataclass
class Machine(Place):
    """A machine with a network of its own, behind a cable of the network of the servers."""

    space: str = ""
    hub: str = ""
    cable: str = ""

    def kill(self) -> None:
        """Kill all processes of the machine, whatever session they are in."""
        while found := _ip("netns", "pids", self.space).split():
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        super().kill()

    @contextmanager
    def unplugged(self) -> Iterator[None]:
        """Pull the cable out: what the machine sends goes nowhere, and it is not told."""
        _ip("-n", self.hub, "link", "set", "dev", self.cable, "down")
        try:
            yield
        finally:
            _ip("-n", self.hub, "link", "set", "dev", self.cable, "up")

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Switch the interface off: the machine knows that it reaches nobody."""
        _ip("-n", self.space, "link", "set", "eth0", "down")
        try:
            yield
        finally:
            _ip("-n", self.space, "link", "set", "eth0", "up")


class Loopback:
    """No network: what all share where the kernel gives none; `why` says so."""

    host, reached_from = "localhost", None
    within: tuple[str, ...] = ()

    def __init__(self, why: str) -> None:
        self.why = why

    def machine(self, _name: str) -> Place:
        """Return a machine that sees no processes of others, where the kernel allows at least that."""
        return Place(APART if _allowed(*APART, "true") is None else (), "127.0.0.1")

    def listening(self) -> socket.socket:
        """Return a socket that takes connections of the machines."""
        return socket.create_server(("127.0.0.1", 0))


class Network:
    """A bridge in a namespace of its own; servers listen on its address, and machines are joined to it."""

    why = ""

    def __init__(self, prefix: str) -> None:
        self._prefix, self._hub = prefix, f"{prefix}-hub"
        self._hosts = RANGE.hosts()
        self.host, self.reached_from = str(next(self._hosts)), str(RANGE)
        self.within = ("ip", "netns", "exec", self._hub)
        _ip("netns", "add", self._hub)
        for words in (
            "link set lo up",
            "link add bridge type bridge",
            f"addr add {self.host}/{RANGE.prefixlen} dev bridge",
            "link set bridge up",
        ):
            _ip("-n", self._hub, *words.split())

    def machine(self, name: str) -> Machine:
        """Return a new machine, joined to the bridge by a cable of its own."""
        space, address = f"{self._prefix}-{name}", str(next(self._hosts))
        _ip("netns", "add", space)
        _ip("-n", self._hub, *f"link add name {name} type veth peer name eth0 netns {space}".split())
        _ip("-n", self._hub, *f"link set dev {name} master bridge up".split())
        for words in ("link set lo up", f"addr add {address}/{RANGE.prefixlen} dev eth0", "link set eth0 up"):
            _ip("-n", space, *words.split())
        return Machine(("ip", "netns", "exec", space, *APART), address, space=space, hub=self._hub, cable=name)

    def listening(self) -> socket.socket:
        """Return a socket that takes connections of the machines; this process need not be where it listens."""
        with ThreadPoolExecutor(1) as aside:  # a thread may be in another network than its process
            return aside.submit(self._listens).result()

    def _listens(self) -> socket.socket:
        with (NAMESPACES / self._hub).open() as space:
            if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), 0):
                raise OSError(ctypes.get_errno(), "the network cannot be entered")
        return socket.create_server((self.host, 0))


@contextmanager
def network() -> Iterator[Network | Loopback]:
    """Yield a network; nothing is left of it. Where the kernel refuses one, yield loopback, and say why."""
    for program, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        if shutil.which(program) is None:
            pytest.fail(f"these tests need {program}: apt-get install {package}", pytrace=False)
    prefix = f"calm-{os.getpid()}"
    if why := _refusal(prefix):
        print(f"no network of its own, so all machines share loopback: {why}")
        yield Loopback(why)
        return
    guard = subprocess.Popen(["sh", "-c", GUARD, "guard", str(os.getpid()), prefix], start_new_session=True)
    try:
        yield Network(prefix)
    finally:
        guard.kill()
        guard.wait()
        _remove(prefix)


def _refusal(prefix: str) -> str | None:
    """Return why this kernel, or this user, gets no network; None: it does."""
    try:
        Network(prefix).machine("probe")
        return _allowed("ip", "netns", "exec", f"{prefix}-probe", *APART, "true")
    except AssertionError as error:
        return str(error)
    finally:
        _remove(prefix)


def _allowed(*command: str) -> str | None:
    """Return why a program cannot be run; None: it can."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip() or f"{command[0]} ended with {done.returncode}"


def _remove(prefix: str) -> None:
    """End all processes of a network, and take it away."""
    for line in _ip("netns", "list").splitlines():
        name = line.split()[0]
        if name.startswith(f"{prefix}-"):
            for pid in _ip("netns", "pids", name).split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            _ip("netns", "del", name)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr.strip()}"
    return done.stdout
