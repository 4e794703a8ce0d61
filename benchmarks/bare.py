"""
The floor: the same judgments with nothing around them.

    python benchmarks/bare.py CASES.jsonl CALLS IN_FLIGHT URL CACHE.sqlite RESULTS.json

Renders a prompt, makes a key, looks into SQLite, asks over aiohttp, keeps the reply, reads the verdict and writes all
verdicts as JSON. No retry, no limits, no leases, no caps, no statistics, no report: what a script of an afternoon does.
Each case is asked as it stands four times and in three variants twice, until CALLS are asked.
"""

import asyncio
import hashlib
import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
from jinja2 import Environment

ASKS = (("", 4), (" Please take your time.", 2), (" Thank you for your help.", 2), (" I need this today.", 2))
BATCH = 200
SYSTEM = "You are an impartial judge. Compare two answers, and say which one is better in the form that is asked for."
USER = """Compare two answers to a question and say which one is better.

<question>
{{ question }}
</question>
{%- if reference %}

<reference>
{{ reference }}
</reference>
{%- endif %}
{%- for answer in answers %}

<answer label="{{ "AB"[loop.index0] }}">
{{ answer.text }}
</answer>
{%- endfor %}

Judge by correctness first, then by completeness and clarity. Neither the order of the answers, nor their length, nor
their tone may sway the verdict. Write one short paragraph of reasons, then end with [[A]] if answer A is better, with
[[B]] if answer B is better, with [[C]] if neither is.
"""
VERDICT = re.compile(r"\[\[([ABC])\]\]")


def jobs(cases: Path, calls: int) -> Iterator[tuple[bytes, bytes]]:
    """Give the key and the body of each call."""
    template = Environment(autoescape=False).from_string(USER)  # a prompt is plain text
    made = 0
    with cases.open(encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            for suffix, asks in ASKS:
                for ask in range(1, asks + 1):
                    if made == calls:
                        return
                    made += 1
                    text = template.render(**{"reference": "", **case, "question": case["question"] + suffix})
                    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
                    body = {"model": "stub-judge", "messages": messages, "max_tokens": 64, "temperature": 0, "top_p": 1}
                    sent = json.dumps(body, sort_keys=True).encode()
                    yield hashlib.sha256(sent + b" %d" % ask).digest(), sent


async def judged(work: Iterator[tuple[bytes, bytes]], in_flight: int, url: str, cache: Path) -> dict[bytes, str]:
    """Ask what the cache does not hold, and return all replies by their keys."""
    db = sqlite3.connect(cache, isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=normal")
    db.execute("create table if not exists reply (key blob not null unique, value text not null)")
    replies: dict[bytes, str] = {}
    new: list[tuple[bytes, str]] = []

    def keep() -> None:
        db.execute("begin")
        db.executemany("insert or replace into reply values (?, ?)", new)
        db.execute("commit")
        new.clear()

    headers = {"authorization": "Bearer none", "content-type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def ask() -> None:
            for key, body in work:
                known = db.execute("select value from reply where key = ?", (key,)).fetchone()
                if known is None:
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        replies[key] = json.loads(await response.read())["choices"][0]["message"]["content"]
                    new.append((key, replies[key]))
                    if len(new) >= BATCH:
                        keep()
                else:
                    replies[key] = known[0]

        await asyncio.gather(*(ask() for _ in range(in_flight)))
    keep()
    return replies


def main() -> None:
    """Judge all, and write the verdicts."""
    cases, calls, in_flight, url, cache, results = sys.argv[1:]
    replies = asyncio.run(judged(jobs(Path(cases), int(calls)), int(in_flight), url, Path(cache)))
    found = {key.hex(): VERDICT.search(text) for key, text in replies.items()}
    verdicts = {key: match[1] if match else None for key, match in found.items()}
    Path(results).write_text(json.dumps({"n": len(verdicts), "verdicts": verdicts}), "utf-8")


if __name__ == "__main__":
    main()
