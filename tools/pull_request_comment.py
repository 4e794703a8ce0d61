"""
Put a comment of calm on a pull request of GitHub, or replace the one of the last run: `python tools/... FILE`.

`ci/comment/action.yml` runs it. It reads what a runner sets: GITHUB_API_URL, GITHUB_GRAPHQL_URL, GITHUB_REPOSITORY,
GITHUB_TOKEN, GITHUB_OUTPUT, and PULL_REQUEST. The first line of FILE is the mark by which the last comment is found;
only one that the owner of the token wrote is replaced. Where the token may not write, as in a run for a fork, it says
so and ends well: the gate says whether the judge is sound, and not this. Whatever the server answers, it ends in time.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

PAGE, PAGES = 50, 60
"""Comments of one page, and pages that are read: the mark is in one of the first 3,000 comments or in none."""
LONGEST = 65_536
"""Characters that GitHub takes of a comment."""
MOST_BYTES = 4 * LONGEST * PAGE + 1_000_000
"""Bytes of one reply: a page of the longest comments, and what is said of them."""
TIMEOUT_S, DEADLINE_S = 30.0, 120.0
"""Seconds that the server may be silent, and seconds for all of it."""
NO_RIGHT = (401, 403, 404)
"""What GitHub answers where a token may not do something, or may not know of it."""
MARK = re.compile(r"<!-- calm-comment: [A-Za-z0-9_.-]{1,60} -->")


class _Stays(HTTPRedirectHandler):
    """Refuses to be sent elsewhere: the token would go along."""

    def redirect_request(self, *_: object) -> None:
        return None


def called(url: str, method: str = "GET", body: object = None) -> object:
    """Return what the API answers; an HTTPError is its refusal, a ValueError an answer that is not one of GitHub's."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("Content-Type", "application/json")
    with build_opener(_Stays).open(request, timeout=TIMEOUT_S) as reply:  # the address is the runner's own
        read = reply.read(MOST_BYTES + 1)
    if len(read) > MOST_BYTES:
        raise ValueError("the reply is too long")
    return json.loads(read or b"null")


def within(value: object, *names: str) -> object:
    """Return what stands in objects of JSON under these names; None if something else stands there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def owner() -> str:
    """Return the login of the token; GitHub's own token of a job has no right to ask for it but by GraphQL."""
    found = within(called(os.environ["GITHUB_GRAPHQL_URL"], "POST", {"query": "{viewer{login}}"}), "data", "viewer")
    login = within(found, "login")
    if not isinstance(login, str) or not login:
        raise ValueError("the token has no owner")
    return login


def marked(comments: str, mark: str, login: str) -> Iterator[int]:
    """Yield the ids of the comments that a user wrote and that begin with a mark."""
    for page in range(1, PAGES + 1):
        found = called(f"{comments}?per_page={PAGE}&page={page}")
        if not isinstance(found, list):
            raise ValueError("the comments are no list")
        for one in found:
            number, begin = within(one, "id"), str(within(one, "body")).partition("\n")[0].strip()
            if within(one, "user", "login") == login and begin == mark and isinstance(number, int):
                yield number
        if len(found) < PAGE:
            return


def put(text: str) -> str:
    """Replace our comment, or make one, and return what was done; one that somebody else wrote is not ours."""
    base = f"{os.environ['GITHUB_API_URL'].rstrip('/')}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{base}/{int(os.environ['PULL_REQUEST'])}/comments"
    for number in marked(comments, text.partition("\n")[0].strip(), owner()):
        try:
            called(f"{base}/comments/{number}", "PATCH", {"body": text})
        except HTTPError as error:
            if error.code not in NO_RIGHT:
                raise
        else:
            return "updated"
    called(comments, "POST", {"body": text})
    return "created"


def tried(file: str) -> str:
    """Put the comment in a file on the pull request, and return what became of it."""
    try:
        with Path(file).open(encoding="utf-8", newline="") as opened:
            text = opened.read(LONGEST + 1)
        if len(text) > LONGEST or not MARK.fullmatch(text.partition("\n")[0].strip()):
            return "none: the file is no comment of calm"
        return put(text)
    except HTTPError as error:
        right = "it needs the permission pull-requests: write, which a run for a fork never has"
        why = right if error.code in NO_RIGHT else "the next run tries again"
        return f"none: GitHub answered {error.code}; {why}"
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        return f"none: {type(error).__name__}; GitHub could not be reached, or its answer could not be read"


def main(arguments: list[str]) -> int:
    """Put the comment in a file on the pull request, and say what became of it; the status is 0 in any case."""
    if len(arguments) != 1:
        print("expected the file of a comment, which `calm report --format comment` writes", file=sys.stderr)
        return 2
    found = [f"none: GitHub did not answer within {DEADLINE_S:.0f} seconds"]
    asked = Thread(target=lambda: found.append(tried(arguments[0])), daemon=True)  # a server may drip for ever
    asked.start()
    asked.join(DEADLINE_S)
    done = found[-1]
    if done.startswith("none: "):
        print(f"::notice title=calm::There is no comment on the pull request: {done.removeprefix('none: ')}")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"comment={done}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
