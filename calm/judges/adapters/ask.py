"""One ask of another tool's judge: its requests as calm's, and the replies as the JSON that its client expects."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from contextvars import Context, copy_context
from urllib.parse import urlsplit

from calm.core.reasons import NONE
from calm.errors import JudgeError
from calm.judges.adapters.models import Models, prompt_of
from calm.judges.reading import key_twice
from calm.models.server import APIS, Server
from calm.models.wire import Json, Reply, Request, Send

REFUSED = 400
"""The status of what has no reply: no SDK tries it again, and the judge's own error is not looked at."""


class Ask:
    """
    The requests of one ask.

    `error` is the first one of `send`; after it nothing more is asked. `replies` counts what was answered, of which
    `declined` are refusals and `empty` hold neither a text nor a call. `twice` is why one of them leaves in doubt what
    it says: its JSON, or that of a call, has a key twice. `elsewhere` names the hosts of other requests.
    """

    def __init__(self, send: Send, models: Models) -> None:
        self._send, self._models = send, models
        self.loop = asyncio.get_running_loop()
        self.context: Context = copy_context()
        self.error: JudgeError | None = None
        self.replies = self.declined = self.empty = 0
        self.twice = NONE
        self.refusal = ""
        self.elsewhere: dict[str, None] = {}
        self._sent: Counter[tuple[Server, str]] = Counter()

    def passes(self, url: str) -> bool:
        """Return that a request which is not to a model may go on its way, and note its host."""
        self.elsewhere.setdefault(urlsplit(url).netloc)
        return True

    async def reply(
        self, url: str, headers: Mapping[str, str], content: bytes, *, once: bool
    ) -> tuple[int, dict[str, Json]]:
        """Return the status and the JSON of the reply to a request of the judge."""
        try:
            if self.error is not None:
                raise self.error
            body = _body(content)
            server = self._models.of(url, headers, body)
            asked = body.pop("n", None)  # so many replies in one: calm's are asked for one by one
            count = asked if isinstance(asked, int) and asked > 1 else 1
            replies = [await self._one(server, body, once) for _ in range(count)]
        except JudgeError as error:
            self.error = self.error or error
            return REFUSED, {"error": {"message": f"calm: {error}", "type": "invalid_request_error", "code": None}}
        written = [APIS[server.provider].written(reply) for reply in replies]
        return 200, _joined(written)

    async def _one(self, server: Server, body: dict[str, Json], once: bool) -> Reply:
        key = server, json.dumps(body, sort_keys=True)
        occurrence = self._sent[key]
        self._sent[key] += 1
        reply = await self._send(Request(server, prompt_of(body), body, once, occurrence))
        self.replies += 1
        self.empty += not (reply.text.strip() or reply.calls or reply.refusal)
        said = (reply.text, *(arguments for _, arguments in reply.calls))
        self.twice = self.twice or next(filter(None, map(key_twice, said)), NONE)
        if reply.refusal is not None:
            self.declined += 1
            self.refusal = reply.refusal
        return reply


def _body(content: bytes) -> dict[str, Json]:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise JudgeError(f"expected a request with a JSON object, got {content[:80]!r}", fatal=True)
    if body.get("stream"):
        raise JudgeError(
            "the judge asks for its replies piece by piece (stream=True), which calm cannot keep; set stream=False "
            "in its model",
            fatal=True,
        )
    return body


def _joined(written: list[dict[str, Json]]) -> dict[str, Json]:
    """Return several replies as one: the choices of all of them, and the sum of their usage."""
    first, *others = written
    choices, usage = first.get("choices"), first.get("usage")
    for other in others:
        more, used = other.get("choices"), other.get("usage")
        if isinstance(choices, list) and isinstance(more, list):
            choices += [{**one, "index": len(choices)} for one in more if isinstance(one, dict)]
        if isinstance(usage, dict) and isinstance(used, dict):
            for name, value in used.items():
                if isinstance(value, int) and isinstance(old := usage.get(name), int):
                    usage[name] = old + value
    return first
