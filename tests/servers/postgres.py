"""
A real PostgreSQL in a folder of its own: Debian's programs, a free port of this machine, and no sync of the disk.

The server refuses to run as root, so root gives it to the user `nobody`. It ends with the process that started it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

import psycopg
import pytest

USER, PASSWORD = "calm", "pass-word-of-calm"
QUICK = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    "autovacuum": "off",
    "max_connections": "60",
    "logging_collector": "off",
}


GUARD = """
while kill -0 "$1" 2>/dev/null; do sleep 1; done
head -1 "$2/data/postmaster.pid" 2>/dev/null | xargs -r kill -QUIT
rm -rf "$2"
"""
"""Ends the server of a process that was killed before it could."""


def programs():
    """Return the folder of the server's programs; the newest version, if there are several."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    path = found[-1] if found else shutil.which("initdb")
    if path is None:
        pytest.fail("these tests need PostgreSQL: apt-get install --no-install-recommends postgresql", pytrace=False)
    return Path(path).parent


class Server:
    """
    A server that can be stopped, killed and started again; `port` stays the same.

    In a `network`, it runs in the place of its servers, listens on its address, and takes encrypted connections alone.
    """

    def __init__(self, folder, network=None, **settings):
        self.folder, self._bin = Path(folder), programs()
        self.host = network.host if network else "127.0.0.1"
        self.data, self.port = self.folder / "data", free_port()
        self._as = []
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self.run("initdb", "-D", self.data, "-U", USER, "--pwfile", secret, "-A", "scram-sha-256", "-E", "UTF8",
                 "--locale=C", "--no-sync")  # fmt: skip
        certified(self.folder, *([network.host] if network else []))
        if network and network.reached_from:
            with (self.data / "pg_hba.conf").open("a") as rules:
                rules.write(f"hostssl all all {network.reached_from} scram-sha-256\n")
            self._as = [*network.within, *self._as]
            settings["listen_addresses"] = network.host
        owner = self.data.stat()
        key = self.folder / "server.key"
        os.chown(key, owner.st_uid, owner.st_gid)
        key.chmod(0o600)
        tls = {
            name: str(self.folder / f"server.{end}")
            for name, end in (("ssl_cert_file", "crt"), ("ssl_key_file", "key"))
        }
        self.settings = {
            **tls,
            "ssl": "on",
            **QUICK,
            "unix_socket_directories": str(self.folder),
            "port": str(self.port),
            **settings,
        }

    def run(self, program, *arguments):
        """Run one of the programs, and wait for it."""
        command = [*self._as, str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, cwd="/",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + self.log

    @property
    def log(self):
        """What the server said."""
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    def start(self):
        """Start it, and wait until it answers."""
        options = " ".join(f"-c {name}='{value}'" for name, value in self.settings.items())
        self.run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-o", options, "-w", "-t", "60", "start")
        return self

    def stop(self, mode="immediate"):
        """Stop it; `immediate` is as if its machine had crashed."""
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    @property
    def processes(self):
        """The numbers of its processes, the first one first."""
        first = (self.data / "postmaster.pid").read_text().split()[0]
        found = subprocess.run(["pgrep", "-P", first], check=False, capture_output=True, text=True)
        return [int(first), *map(int, found.stdout.split())]

    def signal(self, number):
        """Send a signal to all of its processes."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def url(self, schema="calm", *, user=USER, host=None, port=None, database="postgres", **parameters):
        """Return a URL of it, without a password."""
        more = "".join(f"&{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}@{host or self.host}:{port or self.port}/{database}?schema={schema}{more}"

    def connected(self, **given):
        """Return a connection of a person who looks at the tables."""
        usual = {"host": str(self.folder), "port": self.port, "user": USER, "password": PASSWORD, "dbname": "postgres"}
        return psycopg.connect(**{**usual, **given}, autocommit=True)


@contextmanager
def running(network=None, **settings):
    """Yield a server that runs, in a folder of its own; nothing is left of it."""
    folder = tempfile.mkdtemp(prefix="calm-pg-", dir="/tmp")
    server, guard = (
        None,
        subprocess.Popen(["sh", "-c", GUARD, "guard", str(os.getpid()), folder], start_new_session=True),
    )
    try:
        server = Server(folder, network, **settings).start()
        yield server
    finally:
        if server is not None:
            with suppress(AssertionError):
                server.stop()
        guard.kill()
        guard.wait()
        shutil.rmtree(folder, ignore_errors=True)


def free_port():
    """Return a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Relay:
    """
    A port that passes everything on to a server, and can lose a connection at the worst moment.

    With `cut` set to "before" or "after", the next connection that commits is lost: before the server hears of it, or
    after it did it and before the client hears so.
    """

    def __init__(self, port):
        self._port, self.cut, self.cuts = port, None, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                mute, heard = threading.Event(), threading.Event()
                threading.Thread(target=self._up, args=(client, server, mute, heard), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server, mute, heard), daemon=True).start()

    def _up(self, client, server, mute, heard):
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if self.cut and b"commit\0" in data:
                    how, self.cut = self.cut, None
                    self.cuts += 1
                    mute.set()
                    if how == "after":
                        server.sendall(data)
                        client.settimeout(0.2)
                        with suppress(TimeoutError):  # what makes it answer may come by itself
                            server.sendall(client.recv(1 << 16))
                        heard.wait(10)
                    break
                server.sendall(data)
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    @staticmethod
    def _down(client, server, mute, heard):
        with suppress(OSError):
            while (data := server.recv(1 << 16)) and not mute.is_set():
                client.sendall(data)
        heard.set()

    def close(self):
        """Take no more connections."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # whoever waits for one hears of it
        self._listening.close()


class Line:
    """
    A line to a server, which listens on a socket of another network if need be. While it is `silent`, it takes
    connections and data, and passes nothing on: nobody is told.
    """

    def __init__(self, server, listening):
        self.silent = threading.Event()
        self._to, self._listening = str(server.folder / f".s.PGSQL.{server.port}"), listening
        self.port = listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client):
        server = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            self._wait()
            server.connect(self._to)
            threading.Thread(target=self._pass_on, args=(server, client), daemon=True).start()
            self._pass_on(client, server)
        _hang_up(client, server)

    def _pass_on(self, one, other):
        with suppress(OSError):
            while data := one.recv(1 << 16):
                self._wait()
                other.sendall(data)
        _hang_up(one, other)

    def _wait(self):
        while self.silent.is_set():
            sleep(0.05)

    def close(self):
        """Take no more connections."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def _hang_up(*ends):
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def certified(folder, *hosts):
    """
    Make an authority, a certificate that it signed, and another authority; return their folder.

    The certificate is for `localhost`, and for more `hosts`, names or addresses.
    """
    for name in ("root", "other"):
        _openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")  # fmt: skip
    _openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
             "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")  # fmt: skip
    names = [
        "DNS:localhost",
        *(f"{'IP' if host[0].isdigit() else 'DNS'}:{host}" for host in hosts if host != "localhost"),
    ]
    (folder / "names").write_text(f"subjectAltName={','.join(names)}")
    _openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "root.crt", "-CAkey", "root.key", "-CAcreateserial",
             "-days", "2", "-extfile", "names", "-out", "server.crt")  # fmt: skip
    return folder


def _openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
