"""writer.toml -> a server that writes: its `[model]` table is that of judge.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.core.templates import Message
from calm.errors import ConfigError, nearest
from calm.judges.judgefile.keys import KEYS, OF_WRITER
from calm.judges.judgefile.model import server_of
from calm.judges.judgefile.tables import Table, dict_of, read_document, shown
from calm.models.server import Server, wrong_settings
from calm.models.wire import Request

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
    return _read(path, read_document(path), env)


def read_author(path: Path, env: Mapping[str, str]) -> Writer:
    """
    Return the model of a writer.toml or of a judge.toml, as a writer: a judge's file gives its model and family.

    Raises:
        ConfigError: one line for each fault, with file, key, what was expected and what came.
    """
    document = read_document(path)
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
    for table in (writer, model):
        table.unknown()
    if problems:
        raise ConfigError(problems)
    return Writer(own_name or server.model, server, family)
