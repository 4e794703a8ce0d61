"""`calm cache`: show what is in a cache of replies, delete old ones, or export them as JSON Lines."""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import time

from calm.commands import CACHE, DONE, add_command
from calm.errors import ConfigError
from calm.models.vault import hidden
from calm.results.outputs import EXPORT, Output, refuse, written_beside
from calm.results.wording import printable

DAY_S = 86_400
CODE = "(Python code)"
"""Stands for the model of a judge that is a function: its verdicts are kept, and no server answered."""
_MODEL = "coalesce(nullif(json_extract(reply, '$.model'), ''), json_extract(request, '$.body.model'), '')"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cache` with `show`, `prune` and `export`."""
    cache = add_command(commands, "cache", "Show, prune or export a cache of replies.")
    verbs = cache.add_subparsers(required=True, metavar="show|prune|export")
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
    for verb, run in ((show, _show), (prune, _prune), (export, _export)):
        verb.add_argument("--cache-file", default=CACHE, metavar="FILE", help=f"the cache (default {CACHE})")
        verb.set_defaults(run=run)


def _show(options: argparse.Namespace) -> int:
    path = Path(options.cache_file)
    from calm.engine.database import digest

    with _opened(path) as db:
        count, first, last = db.execute("select count(*), min(at), max(at) from reply").fetchone()
        found = digest(db)
        models = db.execute(f"select {_MODEL} as model, count(*) from reply group by model order by 2 desc").fetchall()  # noqa: S608 - a text of ours
    size = sum(f.stat().st_size for f in (path, path.with_name(f"{path.name}-wal")) if f.exists())
    print(f"{printable(str(path))}: {count} replies, {size / 1e6:.1f} MB, sha256 {found}")
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
    path = Path(options.cache_file)
    model = "" if options.model == CODE else options.model
    before = float("inf") if options.days is None else time() - DAY_S * options.days
    with _opened(path) as db:
        done = db.execute(f"delete from reply where at < ? and (? is null or {_MODEL} = ?)", (before, model, model))  # noqa: S608 - a text of ours
        (left,) = db.execute("select count(*) from reply").fetchone()
        with suppress(sqlite3.OperationalError):  # a run that has it open keeps the file at its size
            db.execute("vacuum")
    print(f"{printable(str(path))}: deleted {done.rowcount} replies, kept {left}")
    return DONE


def _export(options: argparse.Namespace) -> int:
    path, out = Path(options.cache_file), Path(options.out)
    count = 0
    with _opened(path) as db:
        refuse([Output("FILE", out, EXPORT)], caches=[path])
        with written_beside(out, EXPORT, private=True) as file:  # as private as the cache itself
            for line in _lines(db):
                file.write(hidden(line).encode("utf-8", "backslashreplace"))
                count += 1
    print(f"wrote {count} replies to {printable(str(out))}")
    return DONE


def _lines(db: sqlite3.Connection) -> Iterator[str]:
    for key, request, reply, at in db.execute("select key, request, reply, at from reply order by rowid"):
        asked = json.loads(request)
        entry = {
            "key": key.hex(),
            "at": _moment(at),
            "prompt": [{"role": role, "text": text} for role, text in asked["prompt"]],
            "body": asked["body"],
            "reply": json.loads(reply),
        }
        yield f"{json.dumps(entry, ensure_ascii=False)}\n"


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """
    Open the file of a cache that is there.

    Raises:
        ConfigError: it is not there, is none of ours, or is damaged; it is left as it was.
    """
    from calm.engine.sqlite import fault, open_file

    db = open_file(path)
    try:
        yield db
    except sqlite3.Error as error:
        raise fault(path, error) from error
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{path}: expected a cache of calm, got a damaged one: {error}; name another file") from error
    finally:
        db.close()


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
