"""
The part of Langfuse's public API that takes and gives scores, on loopback, as its documentation and its SDK have it.

`with langfuse_server() as server:` gives its `url`, the two `keys`, and the `scores` by id: one that comes again with
the same id takes the place of the earlier one. `server.replies` holds answers to give instead, by path.
"""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

LARGEST = 1_048_576
"""Bytes of a request."""
KNOWN = {
    *("id", "traceId", "sessionId", "observationId", "datasetRunId", "name", "value", "comment", "metadata"),
    *("environment", "queueId", "dataType", "configId", "source", "timestamp"),
}
SAID_AT = "2026-01-01T00:00:00.000Z"


@dataclass
class Langfuse:
    """What the server holds."""

    url: str = ""
    keys: tuple[str, str] = ("pk-lf-for-a-test", "sk-lf-for-a-test")
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    replies: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def take(self, score: dict[str, Any]) -> str:
        """Keep a score, or return why not."""
        value, kind = score.get("value"), score.get("dataType", "NUMERIC")
        if unknown := score.keys() - KNOWN:
            return f"unknown fields: {sorted(unknown)}"
        if not isinstance(score.get("name"), str) or not any(score.get(f"{one}Id") for one in ("trace", "session")):
            return "expected a name, and a trace or a session"
        if not isinstance(value, str if kind == "CATEGORICAL" else int | float):
            return f"a value of {kind} cannot be {value!r}"
        if datetime.fromisoformat(score["timestamp"]).tzinfo is None:
            return "expected a timezone offset"
        self.scores[score["id"]] = score
        return ""


@contextmanager
def langfuse_server() -> Iterator[Langfuse]:
    """Run the server while the block lasts."""
    state = Langfuse()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Print nothing."""

        def answer(self, body: bytes = b"") -> tuple[int, object]:
            path = urlsplit(self.path).path
            state.requests.append((self.command, path))
            pair = b64encode(":".join(state.keys).encode()).decode()
            if self.headers.get("Authorization") != f"Basic {pair}":
                return 401, {"message": f"Invalid credentials: {self.headers.get('Authorization')}"}
            if (self.command, path) == ("GET", "/api/public/projects"):
                project = {"id": "p-1", "name": "judges", "organization": {"id": "o-1", "name": "us"}, "metadata": {}}
                return 200, {"data": [project]}
            if (self.command, path) == ("GET", "/api/public/v3/scores"):
                return 200, {"data": [shown(one) for one in state.scores.values()], "meta": {"limit": 100}}
            if (self.command, path) != ("POST", "/api/public/scores"):
                return 404, {"message": "no such endpoint"}
            if len(body) > LARGEST:
                return 413, {"message": "Body exceeded 1mb limit"}
            given = json.loads(body)
            faults = [why for why in map(state.take, given) if why]
            if faults:
                errors = [{"message": why} for why in faults]
                return 207, {"accepted": len(given) - len(faults), "rejected": len(faults), "errors": errors}
            return 202, {"message": "Accepted"}

        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = self.answer(body)
            data = json.dumps(said).encode()
            status, data = state.replies.get(urlsplit(self.path).path, (status, data))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = reply

    def shown(score: dict[str, Any]) -> dict[str, Any]:
        times = dict.fromkeys(("createdAt", "updatedAt"), SAID_AT)
        subject = {"kind": "session", "id": score["sessionId"]}
        kept = {name: said for name, said in score.items() if name != "sessionId"}
        return {**kept, **times, "projectId": "p-1", "source": "API", "environment": "default", "subject": subject}

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
