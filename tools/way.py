"""
What is counted of calm by running it: its commands with their options, and the way of a probe and of an ask.

    PYTHONPATH=FOLDER python tools/way.py commands
    PYTHONPATH=FOLDER python tools/way.py probe

It prints JSON, and uses nothing of calm but its command line, its fixtures and its public names: `tools/house.py` runs
it with the calm of any checkout.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

JUDGE: Final = '[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "tiny"\nbase_url = "{}"\n'
SUITE: Final = """
import way
from calm import Expects, gain, net_robustness, perturbation

@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite(case, rng):
    return case.edit(case.target, lambda text: f"{text} (A book)")

def test_it(probe):
    way.WAY.begin()
    with way.WAY.followed():
        assert probe(cite).proves(gain <= 0.10, net_robustness >= 0.90)
"""
SAID: Final = {"message": {"role": "assistant", "content": "[[A]]"}, "finish_reason": "stop", "index": 0}


class Server(BaseHTTPRequestHandler):
    """Answers each request that the first answer is better, as the API of OpenAI would."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        usage = {"prompt_tokens": 9, "completion_tokens": 3}
        body = json.dumps({"id": "x", "model": "tiny", "choices": [SAID], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Way:
    """
    Which functions of calm one probe enters in the thread of its test, and which objects one ask meets in all threads.

    An ask begins where a function of the engine with a name such as `ask` is entered from outside, and ends where the
    first bytes are sent to the server. `objects` are the classes of `calm/engine` and `calm/models` whose methods run
    in between.
    """

    def __init__(self) -> None:
        self.home, self.port = Path(), 0
        self.stays: list[str] = []
        self.names: set[str] = set()
        self.objects: set[str] = set()
        self.asking = self.sent = False
        self.begun = 0

    def begin(self) -> None:
        """Fail the first time: a test that cannot be looked at beforehand asks in its own thread."""
        self.begun += 1
        if self.begun == 1:
            raise RuntimeError("not now")

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow what this thread enters in the block."""
        sys.setprofile(self.step)
        try:
            yield
        finally:
            sys.setprofile(None)

    def step(self, frame: FrameType, event: str, called: Any) -> None:
        """Note a call in the thread of the test."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(self.home)):
            where = Path(code.co_filename).relative_to(self.home).as_posix()
            if code.co_name not in ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>"):
                if f"{where}:{code.co_qualname}" not in self.names and self.stays[-1:] != [where]:
                    self.stays.append(where)
                self.names.add(f"{where}:{code.co_qualname}")
        self.ask(frame, event, called)

    def ask(self, frame: FrameType, event: str, called: Any) -> None:
        """Note a call in any thread while the first ask is on its way."""
        code, above = frame.f_code, frame.f_back
        if not self.asking and event == "call" and "/engine/" in code.co_filename and code.co_name.startswith("ask"):
            self.asking = above is not None and "/engine/" not in above.f_code.co_filename
        if not self.asking or self.sent:
            return
        if event == "call" and code.co_varnames[:1] == ("self",) and code.co_argcount:
            kind = type(frame.f_locals.get("self"))
            if kind.__module__.startswith(("calm.engine", "calm.models")):
                self.objects.add(kind.__qualname__)
        elif event == "c_call" and getattr(called, "__name__", "") in ("send", "sendmsg", "sendall"):
            whose = getattr(called, "__self__", None)
            with suppress(OSError):
                self.sent = isinstance(whose, socket.socket) and whose.getpeername()[1:2] == (self.port,)

    @property
    def figures(self) -> Mapping[str, str]:
        """The rows for the table."""
        files = {*self.stays}
        rooms = {one.partition("calm/")[2].partition("/")[0] if "calm/" in one else one.split("/")[0] for one in files}
        entered = f"{len(rooms)}, {len(files)}, {len(self.stays) - len(files)}, {len(self.names)}"
        met = ", ".join(sorted(self.objects))
        return {
            "a probe to its finding: rooms, modules, returns, functions": entered,
            "objects between an ask and the wire": f"{len(self.objects)}: {met}" if self.sent else "nothing was sent",
        }


WAY: Final = Way()


def probe() -> Mapping[str, str]:
    """Run one probe of a judge behind a server on this machine, and return its figures."""
    import pytest

    import calm

    WAY.home = Path(calm.__file__).resolve().parent.parent
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    WAY.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.setprofile(WAY.ask)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "judge.toml").write_text(JUDGE.format(f"http://127.0.0.1:{WAY.port}/v1"), "utf-8")
        Path(folder, "test_way.py").write_text(SUITE, "utf-8")
        words = [
            "-q",
            "-p",
            "no:cacheprovider",
            f"--rootdir={folder}",
            "-c",
            f"{folder}/judge.toml",
            "--calm-cache=off",
        ]
        with redirect_stdout(sys.stderr):
            pytest.main([*words, f"--calm-judge={folder}/judge.toml", "--calm-sample=30", f"{folder}/test_way.py"])
    return WAY.figures


def _parsers(found: list[argparse.ArgumentParser]) -> None:
    def parse(parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        found.append(parser)
        raise SystemExit

    argparse.ArgumentParser.parse_known_args = parse  # type: ignore[method-assign, assignment]  # in a process of its own


def commands() -> list[tuple[tuple[str, ...], int, bool]]:
    """Return each command: its words, how many options it has, and whether `calm --help` lists it before any "more"."""
    found: list[argparse.ArgumentParser] = []
    _parsers(found)

    def parser(*words: str) -> argparse.ArgumentParser:
        sys.argv = ["calm", *words]
        with suppress(SystemExit):
            runpy.run_module("calm", run_name="__main__")
        one = found[-1]
        for word in words[:-1]:
            one = verbs(one)[word]
        return one

    def verbs(one: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
        return next((a.choices for a in one._actions if isinstance(a, argparse._SubParsersAction)), {})

    def leaves(*words: str) -> Iterator[tuple[tuple[str, ...], int]]:
        one = parser(*words, "--help")
        for verb in verbs(one):
            yield from leaves(*words, verb)
        if not verbs(one):
            shown = [a for a in one._actions if a.option_strings and a.help != argparse.SUPPRESS and a.dest != "help"]
            yield words, len(shown)

    first = re.split("(?im)^more", parser("--version").format_help())[0]
    return [(words, n, re.search(rf"(?m)^ +{words[0]}\b", first) is not None) for words, n in leaves()]


if __name__ == "__main__":
    sys.path.pop(0)  # this folder has modules with the names of others
    sys.modules["way"] = sys.modules["__main__"]
    print(json.dumps({"commands": commands, "probe": probe}[sys.argv[1]]()))
