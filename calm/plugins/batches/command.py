"""`calm batch`: batches that a run handed in to a provider, and files of requests for any other engine."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import IO, TYPE_CHECKING, cast

from calm.commands import CASES, CONFIGURATION, DONE, JUDGES, REFUSED, add_cache, add_command, cache_files, cache_of
from calm.commands.audit import gate
from calm.core.files import MOST_BYTES
from calm.errors import ConfigError, Interruption
from calm.results.outputs import REQUESTS, Output, refuse, written_beside
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.models.server import Server
    from calm.models.wire import BatchableEndpoint, Json
    from calm.plugins.batches.later import LaterBatches, Standing
    from calm.plugins.batches.records import BatchRow

RECORD = "the record of batches"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `batch` with `status`, `collect`, `cancel`, `write` and `read`."""
    batch = add_command(
        commands,
        "batch",
        "Show, collect or cancel batches of a run. They are made by --calm-batch. Files can take their place.",
    )
    verbs = batch.add_subparsers(required=True, metavar="status|collect|cancel|write|read")
    status = add_command(
        verbs,
        "status",
        "Show the batches that are not over, and how far their servers are. Nothing changes.",
        "calm batch status",
    )
    collect = add_command(
        verbs,
        "collect",
        "Take the replies of all batches that are over into the cache, where the next run finds them.",
        "calm batch collect --wait",
    )
    collect.add_argument("--wait", action="store_true", help="wait for the batches that are not over")
    cancel = add_command(
        verbs,
        "cancel",
        "Cancel batches. What was answered by then is billed: `calm batch collect` takes it. Calls that are held for a "
        "file are forgotten.",
        "calm batch cancel --all",
    )
    cancel.add_argument("batch", nargs="*", metavar="BATCH", help="batches by the names that `calm batch status` shows")
    cancel.add_argument("--all", action="store_true", help="all batches that are not over")
    write = add_command(
        verbs,
        "write",
        "Write the calls that a run would make next to a file in OpenAI's batch format, which vLLM and other engines "
        "read. With JUDGE, run all suites first, and make no call but the first one. Without it, write what a run with "
        "--calm-batch-hold has left. Options of pytest may follow after --.",
        "calm batch write judge.toml -o requests.jsonl",
    )
    write.add_argument("judge", nargs="?", metavar="JUDGE", help=JUDGES)
    write.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    write.add_argument("-o", "--out", required=True, metavar="FILE.jsonl", help="the file to write")
    read = add_command(
        verbs,
        "read",
        "Take the replies of an engine into the cache, from a file in OpenAI's batch output format. Then run the same "
        "command again: it writes the calls of the next wave, or has all that it needs.",
        "calm batch read replies.jsonl",
    )
    read.add_argument("replies", nargs="+", metavar="FILE.jsonl", help="files of replies; lines may be in any order")
    for verb in (status, collect, cancel):
        verb.add_argument("--judge", metavar="JUDGE", help="the judge whose servers are asked, if they need other keys")
    for verb, run in ((status, _status), (collect, _collect), (cancel, _cancel), (write, _write), (read, _read)):
        add_cache(verb, "the cache")
        verb.set_defaults(run=run)


def _status(options: argparse.Namespace) -> int:
    with _opened(options, asks=True) as later:
        standings = asyncio.run(later.states())
    for standing in standings:
        print(printable(_standing(standing)))
    if not standings:
        print("no batch is under way, and nothing is held for a file")
    return DONE


def _collect(options: argparse.Namespace) -> int:
    with _opened(options, asks=True) as later:
        standings = asyncio.run(later.collect(wait=options.wait))
        ledger, faults = later.ledger, later.faults
    for standing in standings:
        print(printable(_standing(standing)))
    for why, count in faults.items():
        print(printable(f"  {count} without a reply: {why}"))
    left = [standing for standing in standings if not standing.done]
    if not standings:
        print("no batch is under way")
        return DONE
    print(f"collected {ledger.calls['made']} replies, {ledger.cost}; run the same command as before to go on")
    return REFUSED if left else DONE


def _cancel(options: argparse.Namespace) -> int:
    wanted: Sequence[str] = options.batch
    if bool(wanted) == options.all:
        raise ConfigError("calm batch cancel: expected the names of batches, or --all; `calm batch status` shows them")
    with _opened(options, asks=True) as later:
        known = {name for row in later.open_rows() for name in (row.id, row.remote) if name}
        if missing := [name for name in wanted if name not in known]:
            raise ConfigError(f"calm batch cancel: no batch that is not over is called {missing[0]!r}")
        standings = asyncio.run(later.cancel(lambda row: options.all or bool({row.id, row.remote} & set(wanted))))
    for standing in standings:
        done = "another process sees to it: end that one first" if standing.held else standing.why or "cancelled"
        print(printable(f"{_name(standing.row)}: {done}"))
    return REFUSED if any(not standing.done for standing in standings) else DONE


def _write(options: argparse.Namespace) -> int:
    out, started = Path(options.out), 0.0
    refuse([Output("-o", out, REQUESTS)], caches=cache_files(options))
    if options.judge is not None:
        started = time()
        given = [f"--calm-cases={file}" for file in options.cases]
        places = {"--calm-cache-file": options.cache_file, "--calm-cache-url": options.cache_url}
        kept = [f"{name}={place}" for name, place in places.items() if place]
        status = gate(
            options.judge,
            None,
            ["--calm-batch-hold", *kept, *given, *options.pytest],
        )
        if status not in (DONE, REFUSED):
            return CONFIGURATION
    elif options.cases or options.pytest:
        raise ConfigError("calm batch write: expected JUDGE with --cases and options of pytest, got none")
    with _opened(options) as later:
        if next(later.requests(started), None) is None:
            print(
                "no call is left to make: the run has all its replies"
                if options.judge
                else "no call is held for a file"
            )
            return DONE
        with written_beside(out, REQUESTS, private=True) as file:
            count = 0
            for line in later.requests(started):
                file.write(line)
                count += 1
    print(f"wrote {count} requests to {printable(str(out))}; let an engine answer them, then `calm batch read`")
    return DONE


def _read(options: argparse.Namespace) -> int:
    status = DONE
    with _opened(options) as later:
        for name in options.replies:
            path = Path(name)
            try:
                with path.open("rb") as file:
                    taken = later.read(_lines(file, path))
            except OSError as error:
                raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
            print(printable(f"{path}: {taken.kept} replies kept"))
            for why, count in taken.faults.items():
                print(printable(f"  {count} failed: {why}; they stay to be written again"))
            if taken.unknown:
                print(f"  {taken.unknown} lines are about no call that is held: they were read before, or are not ours")
            status = status if taken.kept and not taken.failed else REFUSED
        left = sum(1 for _ in later.requests())
    print(
        f"{left} calls are still held" if left else "all calls that were held have replies; run the same command again"
    )
    return status


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    while line := file.readline(MOST_BYTES + 1):
        if len(line) > MOST_BYTES:
            raise ConfigError(f"{path}: a line is longer than {MOST_BYTES} bytes; is it a file of replies?")
        yield line


@contextmanager
def _opened(options: argparse.Namespace, *, asks: bool = False) -> Iterator[LaterBatches]:
    """
    Open the record of batches in a cache that is there; `asks` says whether their servers are asked.

    Raises:
        ConfigError: it is not there, is none of ours, or is damaged.
    """
    from calm.engine.store import Mode, Store
    from calm.plugins.batches.later import LaterBatches

    place = cache_of(options)
    if isinstance(place, Path) and not place.is_file():
        raise ConfigError(f"{place}: there is no cache; name another file with --cache-file")
    endpoints = _trusted(options.judge) if asks else _keyless
    store = Store(place, Mode.ON)
    try:
        yield LaterBatches(store, endpoints)
    except KeyboardInterrupt:
        raise Interruption("interrupted: the batches go on; run the same command again") from None
    finally:
        store.close()


def _keyless(model: Mapping[str, Json]) -> Server:
    """Return the server of a record, which is not to be called."""
    from calm.judges.judgefile.judge import endpoint_of

    return endpoint_of(model, None, RECORD)


def _trusted(judge: str | None) -> Callable[[Mapping[str, Json]], BatchableEndpoint]:
    """
    Return what finds the server of a record, with its keys.

    A record may be anybody's, and must not choose which variable goes to which address: so a server that wants one and
    is not the provider's own is taken from a judge alone.
    """
    from calm.gate.from_spec import judge_from
    from calm.judges.judgefile.judge import endpoint_of
    from calm.models.apis import APIS
    from calm.models.wire import Batchable

    known = [one for one in judge_from(judge).endpoints if isinstance(one, Batchable)] if judge else []

    def found(model: Mapping[str, Json]) -> BatchableEndpoint:
        for endpoint in known:
            if dict(endpoint.reached_by) == dict(model):
                return cast("BatchableEndpoint", endpoint)
        wanted = [*_names(model.get("headers_env")), *_names(model.get("query_env"))]
        usual = APIS[_keyless(model).provider].key_name
        key = model.get("api_key_env")
        own = model.get("base_url") is None
        if wanted or (key is not None and not (own and key == usual)):
            names = ", ".join([*wanted, *([str(key)] if key else [])])
            raise ConfigError(
                f"{RECORD} names a server that wants the variables {names}: name the judge whose server it is with "
                "--judge judge.toml"
            )
        return endpoint_of(model, os.environ, RECORD)

    return found


def _names(table: Json) -> list[str]:
    return [str(value) for value in table.values()] if isinstance(table, dict) else []


def _standing(standing: Standing) -> str:
    """Return how a batch stands, in one line."""
    from calm.plugins.batches.records import State

    row, state = standing.row, standing.state
    model = row.model["model"]
    begun = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    head = f"{_name(row)}: {row.total} calls to {model}, begun {begun}"
    if standing.done:
        bill = row.bill
        return f"{head}: collected, {bill.answered} answered, {bill.failed} failed, {bill.usd:.4f} USD"
    if standing.why:
        return f"{head}: {standing.why}"
    if standing.held:
        return f"{head}: another process waits for it"
    if state is not None:
        return f"{head}: {'over, to be collected' if state.over else f'{state.done} of {row.total} answered'}"
    words = {
        State.HELD: "held for a file: `calm batch write -o FILE`",
        State.SENDING: "being handed in",
        State.OPEN: "not handed in",
    }
    return f"{head}: {words.get(row.state, row.state.value)}"


def _name(row: BatchRow) -> str:
    return row.remote or row.id
