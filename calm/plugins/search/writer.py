"""writer.toml -> a server that writes, and its replies that are no texts: why, and where they are recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from calm.core.edits import Message
from calm.core.files import read_toml
from calm.core.validation import Fault
from calm.core.verdict import Refused, Scale
from calm.engine.engine import Engine
from calm.errors import ConfigError, nearest
from calm.judges import reading
from calm.judges.judgefile.parts import server_of
from calm.judges.judgefile.tables import KEYS, OF_WRITER, Table, dict_of, shown
from calm.judges.reading import Format, View
from calm.models.apis import MUTE
from calm.models.server import Server, wrong_settings
from calm.models.wire import Reply, Request
from calm.results.outputs import UNUSED, write_whole

TABLES: Final = ("writer", "model")
ASK: Final = 1
"""The repeat index of a text that is written once."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that rewrites answers; `family` says for which judges it is not an independent writer."""

    name: str
    server: Server
    family: str | None = None

    def request(self, messages: tuple[Message, ...]) -> Request:
        """Return the request that sends some messages to the model."""
        return Request(self.server, messages, self.server.body(messages))


def read_writer(path: Path, env: Mapping[str, str]) -> Writer:
    """
    Return the writer that a writer.toml describes, with the keys that `env` holds.

    Raises:
        ConfigError: one line for each fault, with file, key, what was expected and what came.
    """
    return _read(path, read_toml(path, "a writer.toml"), env)


def read_author(path: Path, env: Mapping[str, str]) -> Writer:
    """
    Return the model of a writer.toml or of a judge.toml, as a writer: a judge's file gives its model and family.

    Raises:
        ConfigError: one line for each fault, with file, key, what was expected and what came.
    """
    document = read_toml(path, "a writer.toml")
    judge = document.get("judge")
    if isinstance(judge, dict):
        family = {"family": judge["family"]} if "family" in judge else {}
        document = {"writer": family, "model": document.get("model", {})}
    return _read(path, document, env)


def _read(path: Path, document: Mapping[str, object], env: Mapping[str, str]) -> Writer:
    problems: list[str] = []
    for name, value in document.items():
        if name not in TABLES:
            problems.append(f"{path}: unknown table [{name}]{nearest(name, TABLES)}")
        elif not isinstance(value, dict):
            problems.append(f"{path}: expected a table [{name}], got {shown(name, value)}")
    writer, model = (
        Table(path, name, dict_of(document.get(name)), problems, KEYS.get(name, OF_WRITER)) for name in TABLES
    )
    own_name, family = writer.line("name"), writer.line("family")
    server = server_of(model, env, None, logprobs=False)
    for key, problem in wrong_settings(server):
        model.say(key, problem)
    if server.provider in MUTE:
        model.say("provider", "expected a model that writes, got a decision model")
    for table in (writer, model):
        table.unknown()
    if problems:
        raise ConfigError(problems)
    return Writer(own_name or server.model, server, family)


SCALE = Scale()
_VIEW = View("score", ("A",), ("one",), SCALE)


def declined(reply: Reply) -> Fault | None:
    """Return what a reply says where it declines to answer; None if it does not decline."""
    found = reading.read(reply, Format("tag", tag="verdict"), _VIEW)
    return Fault("declined", found.reason) if isinstance(found, Refused) else None


def fault_of(reply: Reply) -> Fault | None:
    """Return why a reply is no text: it was refused, or cut off; None for any other."""
    if reply.refusal or reply.stop == "refusal":
        return declined(reply) or Fault("declined")
    if reply.stop == "length":
        words = "expected a whole reply, got one that reached max_tokens; raise it in the model's file"
        return Fault("cut off", words)
    return None


def beside(out: Path) -> Path:
    """Return where the unused replies of a file of cases are recorded: `cases.jsonl` has `cases.refused.jsonl`."""
    return out.with_name(f"{out.stem}.refused.jsonl")


def record(out: Path, unused: Sequence[Mapping[str, str]]) -> None:
    """
    Write the unused replies of a file of cases, and replace an older record even where there are none.

    Raises:
        ConfigError: the file cannot be written.
    """
    path = beside(out)
    if unused or path.exists():
        write_whole(path, (f"{json.dumps(one, ensure_ascii=False)}\n" for one in unused), UNUSED)


def counted(faults: Iterable[Fault]) -> str:
    """Return how often each kind of fault occurs, the most frequent first."""
    return ", ".join(f"{about} {n}" for about, n in Counter(fault.about for fault in faults).most_common())


A = TypeVar("A")
B = TypeVar("B")

MOST_THREADS: Final = 32
"""The most items that are worked on at once: as many as a server takes calls by default."""


def side_by_side(engine: Engine, work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """
    Return what work makes of each item, many at a time and in their order.

    Ctrl-C begins no further item and stops the engine, so that those under way end with what they have.

    Args:
        engine: what the work asks by.
        work: asks and computes; it touches nothing that another item's work does.
        items: what is worked on.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(len(items), MOST_THREADS), thread_name_prefix="calm-study") as threads:
        try:
            return list(threads.map(work, items))
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            engine.stop()
            raise
