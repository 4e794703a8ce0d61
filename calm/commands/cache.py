"""`calm cache`: show what is in a cache of replies, delete old ones, export them as JSON Lines, or copy them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from calm.commands import DONE, add_cache, add_command, cache_files, cache_of
from calm.commands.terminal import end_of_progress, progress_line
from calm.errors import ConfigError, StorageError
from calm.models.secrets import hidden
from calm.results.outputs import EXPORT, Output, refuse, written_beside
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.engine.database import Inspected, RecordAddress
    from calm.engine.places import Copied

DAY_S = 86_400
BY_HAND = 100_000
"""After so many replies a copy says how far it is, where no terminal shows it."""
CODE = "(Python code)"
"""Stands for the model of a judge that is a function: its verdicts are kept, and no server answered."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cache` with `show`, `prune`, `export` and `copy`."""
    cache = add_command(commands, "cache", "Show, prune, export or copy a cache of replies.")
    verbs = cache.add_subparsers(required=True, metavar="show|prune|export|copy")
    show = add_command(
        verbs,
        "show",
        "Show how many replies a cache holds, from which models, how old they are, and their common digest. "
        "The file stays as it is.",
        "calm cache show",
    )
    prune = add_command(
        verbs,
        "prune",
        "Delete old replies, or those of one model, from a cache. A later run asks, and pays, for them again.",
        "calm cache prune --days 30",
    )
    prune.add_argument("--days", type=float, metavar="N", help="delete replies that are older than N days")
    prune.add_argument("--model", metavar="M", help="delete replies of this model, as `calm cache show` names it")
    export = add_command(
        verbs,
        "export",
        "Write all prompts and replies as JSON Lines. Only the owner of the new file may read it.",
        "calm cache export replies.jsonl",
    )
    export.add_argument("out", metavar="FILE.jsonl", help="the file to write; it must not exist yet")
    copied = add_command(
        verbs,
        "copy",
        "Copy the replies of one cache to another: from a file to a server, or back. What is there stays, and damaged "
        "replies are left out. It may be broken off and run again.",
        "calm cache copy .calm/cache.sqlite postgresql://ci@db.example.com/judges",
    )
    place = "a file, or a server as postgresql://user@host/database"
    copied.add_argument("source", metavar="FROM", help=place)
    copied.add_argument("target", metavar="TO", help=place)
    copied.set_defaults(run=_copy)
    for verb, run in ((show, _show), (prune, _prune), (export, _export)):
        add_cache(verb, "the cache")
        verb.set_defaults(run=run)


def _show(options: argparse.Namespace) -> int:
    from calm.engine.database import digest

    place = cache_of(options)
    with _opened(place) as record:
        with record.reading() as db:
            count, first, last = db.execute("select count(*), min(at), max(at) from reply").fetchone()
            found = digest(db)
            models = db.execute(
                f"select {record.model} as model, count(*) from reply group by 1 order by 2 desc"  # noqa: S608 - a text of ours
            ).fetchall()
        size = record.size()
    print(f"{printable(str(place))}: {count} replies, {size / 1e6:.1f} MB, sha256 {found}")
    if count:
        print(f"oldest {_day(first)}, newest {_day(last)}")
    for model, replies in models:
        print(f"  {replies:>8}  {printable(model) or CODE}")
    return DONE


def _prune(options: argparse.Namespace) -> int:
    if options.days is None and options.model is None:
        raise ConfigError("calm cache prune: expected --days N or --model M, or both; to delete all, remove the file")
    if options.days is not None and not 0 <= options.days < float("inf"):
        raise ConfigError(f"--days: expected a number of days of at least 0, got {options.days:g}")
    place = cache_of(options)
    before = float("inf") if options.days is None else time() - DAY_S * options.days
    with _opened(place) as record:
        condition = "at < ?"
        values: list[str | float] = [before]
        if options.model is not None:
            condition = f"{condition} and {record.model} = ?"
            values.append("" if options.model == CODE else options.model)
        with record.writing() as db:
            deleted = db.execute(f"delete from reply where {condition}", values).rowcount  # noqa: S608 - a text of ours
            (left,) = db.execute("select count(*) from reply").fetchone()
        record.shrink()
    print(f"{printable(str(place))}: deleted {deleted} replies, kept {left}")
    return DONE


def _export(options: argparse.Namespace) -> int:
    place, out = cache_of(options), Path(options.out)
    count = 0
    with _opened(place) as record:
        refuse([Output("FILE", out, EXPORT)], caches=cache_files(options))
        with written_beside(out, EXPORT, private=True) as file:  # as private as the cache itself
            for line in _lines(record):
                file.write(hidden(line).encode("utf-8", "backslashreplace"))
                count += 1
    print(f"wrote {count} replies to {printable(str(out))}")
    return DONE


def _copy(options: argparse.Namespace) -> int:
    from calm.engine.places import copy, named, opened

    source, target = (named(text, name) for text, name in ((options.source, "FROM"), (options.target, "TO")))
    if source == target:
        raise ConfigError("calm cache copy: expected two places, got one twice")
    with _opened(source) as here, closing(opened(target)) as there:
        try:
            found = copy(here, there, _progress)
        finally:
            end_of_progress()
    way = f"{printable(str(source))} to {printable(str(target))}"
    print(f"{way}: copied {_replies(found.new)}, {found.there} were there before")
    if found.damaged:
        print(f"left {_replies(found.damaged)} that are damaged: a run asks again")
    if found.batched:
        print(
            f"{found.batched} calls stand in batches of {printable(str(source))}, and stay there: `calm batch status` "
            "shows them. A run with the copy would pay for them a second time. Collect them first, then copy again."
        )
    return DONE


def _lines(record: Inspected) -> Iterator[str]:
    from calm.engine.database import DAMAGED
    from calm.engine.store import prompt_in

    for key, request, reply, at in _rows(record):
        try:
            asked = json.loads(request)
            entry = {
                "key": key.hex(),
                "at": _time(at).isoformat(timespec="seconds"),
                "prompt": [{"role": m.role, "text": m.text} for m in prompt_in(asked)],
                "body": asked["body"],
                "reply": json.loads(reply),
            }
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise StorageError(DAMAGED) from error
        yield f"{json.dumps(entry, ensure_ascii=False)}\n"


def _rows(record: Inspected) -> Iterator[tuple[bytes, str, str, float]]:
    from calm.engine.database import BY

    after = b""
    while True:
        with record.reading() as db:
            page = "select key, request, reply, at from reply where key > ? order by key limit ?"
            rows = db.execute(page, (after, BY)).fetchall()
        if not rows:
            return
        yield from rows
        after = rows[-1][0]


@contextmanager
def _opened(place: Path | RecordAddress) -> Iterator[Inspected]:
    """
    Open a cache that is there.

    Raises:
        ConfigError: it is not there, is none of ours, or is damaged; it is left as it was.
    """
    from calm.engine.places import inspected

    with closing(inspected(place)) as record:
        try:
            yield record
        except (ValueError, KeyError) as error:
            if isinstance(error, ConfigError):
                raise
            said = f"expected a cache of calm, got a damaged one: {error}; name another file"
            raise ConfigError(f"{place}: {said}") from error


def _progress(found: Copied) -> None:
    looked_at = found.new + found.there + found.damaged
    progress_line(f"{looked_at} replies", worth=looked_at % BY_HAND == 0)


def _replies(count: int) -> str:
    return f"{count} {'reply' if count == 1 else 'replies'}"


def _day(at: float) -> str:
    return f"{_time(at):%Y-%m-%d}"


def _time(at: float) -> datetime:
    from calm.engine.database import DAMAGED

    try:
        return datetime.fromtimestamp(at, UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise StorageError(DAMAGED) from error
