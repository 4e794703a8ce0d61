"""
Answer a file of requests on a Ray cluster: each is sent to a server, and each reply becomes a line.

    python answer_on_ray.py requests.jsonl replies.jsonl --server http://127.0.0.1:8000

Both files are in OpenAI's batch format. Run it again, and it asks for what replies.jsonl does not hold yet. A request
that fails becomes a line with an error; `--again` asks for those anew. A key comes from the environment of the workers,
by the name of its variable (`--key-variable`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import ray

BUSY = (408, 409, 429, 500, 502, 503, 504, 529)
"""Statuses that another try may change."""


class Ask:
    """An actor that sends the requests of its rows, many at a time."""

    def __init__(self, server: str, at_once: int, tries: int, timeout_s: float, key_variable: str | None) -> None:
        self.server, self.tries = server.rstrip("/"), tries
        self.gate = asyncio.Semaphore(at_once)
        self.timeout = aiohttp.ClientTimeout(total=timeout_s)
        self.headers = {"Authorization": f"Bearer {os.environ[key_variable]}"} if key_variable else {}

    async def __call__(self, rows: dict[str, Any]) -> AsyncIterator[dict[str, list[str]]]:
        """Return the reply to each request, as soon as it is there."""
        connector = aiohttp.TCPConnector(limit=0)  # the gate is the limit
        async with aiohttp.ClientSession(headers=self.headers, timeout=self.timeout, connector=connector) as session:
            for reply in asyncio.as_completed([self.answer(session, str(line)) for line in rows["text"]]):
                yield {"line": [await reply]}

    async def answer(self, session: aiohttp.ClientSession, line: str) -> str:
        """Send the request of one line, again if the server is busy, and return the line of its reply."""
        request = json.loads(line)
        reply: dict[str, Any] = {"id": f"ray-{request['custom_id']}", "custom_id": request["custom_id"]}
        told: dict[str, Any] = {}
        async with self.gate:
            for number in range(self.tries):
                wait_s = min(0.5 * 2**number, 30.0)
                try:
                    async with session.post(self.server + request["url"], json=request["body"]) as response:
                        text, identity = await response.text(), response.headers.get("x-request-id", "")
                        status, after = response.status, response.headers.get("Retry-After", "")
                    body = json.loads(text)
                    told = {"response": {"status_code": status, "request_id": identity, "body": body}, "error": None}
                    if status not in BUSY:
                        break
                    wait_s = float(after) if after.replace(".", "", 1).isdigit() else wait_s
                except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                    told = {"response": None, "error": {"code": "no_reply", "message": f"{error!r}"[:500]}}
                if number + 1 < self.tries:
                    await asyncio.sleep(wait_s)
        return json.dumps(reply | told)


def failed(reply: dict[str, Any]) -> bool:
    """Return whether a line holds no reply of a model."""
    return bool(reply["error"]) or reply["response"]["status_code"] != 200


def kept(replies: Path, again: bool) -> set[str]:
    """Return whose replies are there; drop a last line that a sudden end has cut and, if `again`, all that failed."""
    if not replies.exists():
        return set()
    there, rest = set(), replies.with_name(f"{replies.name}.part")
    with replies.open("rb") as file, rest.open("wb") as sound:
        for line in file:
            if not line.endswith(b"\n"):
                break
            reply = json.loads(line)
            if not (again and failed(reply)):
                there.add(reply["custom_id"])
                sound.write(line)
    rest.replace(replies)
    return there


def main() -> None:
    """Read the arguments, ask, and write each reply as it comes."""
    parser = argparse.ArgumentParser(description="Answer a file of requests on a Ray cluster.")
    parser.add_argument("requests", type=Path, help="requests in OpenAI's batch format; all nodes must see the file")
    parser.add_argument("replies", type=Path, help="where the replies are appended")
    parser.add_argument("--server", required=True, help="the address before /v1/..., as http://127.0.0.1:8000")
    parser.add_argument("--key-variable", help="the environment variable that holds the key of the server")
    parser.add_argument("--actors", type=int, default=2, help="processes that send requests")
    parser.add_argument("--at-once", type=int, default=64, help="requests on their way, in each actor")
    parser.add_argument("--tries", type=int, default=6, help="how often a request is sent at most")
    parser.add_argument("--timeout-s", type=float, default=600.0, help="how long a reply may take")
    parser.add_argument("--again", action="store_true", help="ask anew for requests that failed")
    given = parser.parse_args()

    there = kept(given.replies, given.again)
    known = ray.put(there)
    ask = {"server": given.server, "at_once": given.at_once, "tries": given.tries, "timeout_s": given.timeout_s}
    replies = (
        ray.data.read_text(str(given.requests.resolve()), drop_empty_lines=True)
        .filter(lambda row: json.loads(row["text"])["custom_id"] not in ray.get(known))
        .repartition(target_num_rows_per_block=given.at_once)  # so little is lost when the run dies
        .map_batches(
            Ask,
            fn_constructor_kwargs=ask | {"key_variable": given.key_variable},
            batch_size=None,
            num_cpus=0.1,  # they wait, so leave the processors to what reads the file
            compute=ray.data.ActorPoolStrategy(size=given.actors),
        )
    )
    errors = asked = 0
    with given.replies.open("a", encoding="utf-8") as file:
        for row in replies.iter_rows():
            file.write(f"{row['line']}\n")
            file.flush()
            asked += 1
            errors += failed(json.loads(row["line"]))
    print(f"{len(there)} replies were there; {asked} asked, {errors} of them failed: {given.replies}")


if __name__ == "__main__":
    main()
