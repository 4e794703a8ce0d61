"""
Put a comment of calm on a pull request of GitHub, or replace the one of the last run: `python tools/... FILE`.

`action.yml` runs it. It reads what a runner sets: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_OUTPUT, and
PULL_REQUEST. The first line of FILE is the mark by which the last comment is found. Where the token may not write, as
in a run for a fork, it says so and ends well: the gate says whether the judge is sound, and not this.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PAGE, PAGES = 100, 30
"""Comments of one page, and pages that are read: the mark is in one of the first 3,000 comments or in none."""
TIMEOUT_S = 30.0
NO_RIGHT = (401, 403, 404)
"""What GitHub answers where a token may not do something, or may not know of it."""


def called(path: str, method: str = "GET", body: object = None) -> object:
    """Return what the API answers; an HTTPError is its refusal."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{os.environ['GITHUB_API_URL'].rstrip('/')}{path}", data, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=TIMEOUT_S) as reply:  # the address is the runner's own
        return json.loads(reply.read() or b"null")


def marked(comments: str, mark: str) -> Iterator[int]:
    """Yield the ids of the comments that begin with a mark."""
    for page in range(1, PAGES + 1):
        found = called(f"{comments}?per_page={PAGE}&page={page}")
        if not isinstance(found, list):
            return
        for one in found:
            if str(one.get("body", "")).partition("\n")[0].strip() == mark:
                yield int(one["id"])
        if len(found) < PAGE:
            return


def put(text: str) -> str:
    """Replace our comment, or make one, and return what was done; one that somebody else wrote is not ours."""
    base = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{base}/{int(os.environ['PULL_REQUEST'])}/comments"
    for number in marked(comments, text.partition("\n")[0].strip()):
        try:
            called(f"{base}/comments/{number}", "PATCH", {"body": text})
        except HTTPError as error:
            if error.code not in NO_RIGHT:
                raise
        else:
            return "updated"
    called(comments, "POST", {"body": text})
    return "created"


def main(arguments: list[str]) -> int:
    """Put the comment in a file on the pull request, and say what became of it; the status is 0 in any case."""
    if len(arguments) != 1:
        print("expected the file of a comment, which `calm report --format comment` writes", file=sys.stderr)
        return 2
    try:
        done = put(Path(arguments[0]).read_text("utf-8"))
    except HTTPError as error:
        right = "it needs the permission pull-requests: write, which a run for a fork never has"
        why = right if error.code in NO_RIGHT else "the next run tries again"
        done = f"none: GitHub answered {error.code}; {why}"
        print(f"::notice title=calm::There is no comment on the pull request: {done.removeprefix('none: ')}")
    except (OSError, HTTPException, ValueError) as error:
        done = f"none: {type(error).__name__}"
        print("::notice title=calm::There is no comment on the pull request: GitHub could not be reached")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"comment={done}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
