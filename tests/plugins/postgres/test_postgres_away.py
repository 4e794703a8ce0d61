"""A server of a shared record that says nothing, something else, or what a PostgreSQL says that takes nobody in."""

import os
import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from calm.engine.places import VARIABLE
from calm.engine.store import Mode, Store
from calm.errors import ConfigError, StorageError
from calm.plugins.postgres.server import PATIENCE_S, read_address

SECRET = "pass-word-of-nobody"
SOON_S = 0.3


def message(kind, body):
    """Return a message of PostgreSQL's protocol."""
    return kind + (len(body) + 4).to_bytes(4) + body


def refusal(words):
    """Return what a PostgreSQL sends that refuses a connection."""
    return message(b"E", b"SFATAL\0C57P03\0M" + words + b"\0\0")


STATES = ("server_version", b"15.0"), ("in_hot_standby", b"off"), ("default_transaction_read_only", b"off")
READY = (
    message(b"R", bytes(4))
    + b"".join(message(b"S", name.encode() + b"\0" + value + b"\0") for name, value in STATES)
    + message(b"Z", b"I")
)
"""What one sends that takes a connection; whoever says no more keeps its client waiting for the first statement."""


@contextmanager
def speaking(words, *, then=True):
    """Yield the port of a server that answers who connects; `then` it keeps still, or hangs up."""
    held = []

    def answer():
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                client.recv(1024)
                client.sendall(words)
                held.append(client) if then else client.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for client in held:
        client.close()


def opened(port):
    """Open a record there."""
    url = f"postgresql://u:{SECRET}@127.0.0.1:{port}/d?sslmode=disable&patience={SOON_S}"
    return Store(read_address(url, VARIABLE, os.environ), Mode.ON)


@pytest.mark.parametrize(
    ("words", "then", "cause"),
    [
        (b"", True, "nothing answers there"),
        (READY, True, "nothing answers there"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "no PostgreSQL answers there"),
        (refusal(b"the database system is starting up"), False, "the server starts or stops"),
        (refusal(b"sorry, too many clients already"), False, "no free connection"),
        (refusal(b'no pg_hba.conf entry for host "::1", user "u", database "d", no encryption'), False, "without TLS"),
    ],
)
def test_no_run_begins_where_no_record_answers(words, then, cause, tmp_path, monkeypatch):
    """Whether it says nothing, nothing more, or something else: one line says why, in the time that the URL states."""
    monkeypatch.chdir(tmp_path)

    with speaking(words, then=then) as port, pytest.raises(ConfigError, match=cause) as said:
        opened(port)

    assert len(said.value.problems) == len(str(said.value).splitlines()) == 1
    assert SECRET not in str(said.value)
    assert not isinstance(said.value, StorageError) or not said.value.busy


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf", "1e9", ""])
def test_a_patience_is_seconds(text):
    """Of a day at most."""
    with pytest.raises(ConfigError, match="expected seconds above 0"):
        read_address(f"postgresql://u@h/d?patience={text}", VARIABLE, {})


def test_the_patience_is_no_parameter_of_the_connection():
    """libpq would refuse it."""
    found = read_address("postgresql://u@h/d?patience=7&connect_timeout=3", VARIABLE, {})

    assert found.patience_s == 7
    assert "patience" not in found.conninfo
    assert "connect_timeout=3" in found.conninfo
    assert read_address("postgresql://u@h/d", VARIABLE, {}).patience_s == PATIENCE_S
