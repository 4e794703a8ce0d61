"""
A server of batches in a process of its own, which outlives those that ask it.

    python -m tests.servers.batching planted:authority=0.6,seed=1 --conduct '{"takes_s": 0.5}'

It writes its URL in one line and serves until its input ends. GET /told has its counts, POST /finish ends all batches.
"""

import argparse
import json
import sys

from calm.cases import bundled
from tests.servers import Respond, Turns
from tests.servers.batching import Conduct, batch_server
from tests.servers.planted import planted_respond


def constant(text: str) -> Respond:
    """Return what a server answers that always says the same."""

    def respond(messages: Turns, body: dict[str, object]) -> str:
        return text

    return respond


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.batching")
    parser.add_argument("judge", help="planted:..., or the text of every reply")
    parser.add_argument("--conduct", type=json.loads, default={})
    parser.add_argument("--task", default="pairwise")
    given = parser.parse_args()
    planted = given.judge.startswith("planted:")
    respond = planted_respond(given.judge, bundled(given.task)) if planted else constant(given.judge)
    fails = {int(status): share for status, share in given.conduct.pop("fails", {}).items()}
    with batch_server(respond, conduct=Conduct(**given.conduct, fails=fails)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
