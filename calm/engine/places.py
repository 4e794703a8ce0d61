"""Where replies are kept: a file of this machine, or a server that several machines share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from calm.engine.database import Database, Inspected
from calm.engine.postgres.address import SCHEMES, VARIABLE, RecordAddress, read_address
from calm.engine.postgres.server import PostgresRecord
from calm.engine.sqlite import SqliteFile
from calm.errors import ConfigError

URLS: Final = tuple(f"{scheme}://" for scheme in SCHEMES)


def place(
    file: str | None, url: str | None, environment: Mapping[str, str], *, option: str, usual: str
) -> Path | RecordAddress:
    """
    Return where replies are kept: what an option names, else what the environment names, else the `usual` file.

    `option` is the name of the option of the URL.

    Raises:
        ConfigError: both options are given, or what is no URL.
    """
    if file and url:
        other = option.replace("-url", "-file")
        raise ConfigError(f"{other} and {option}: expected one place for the replies, got {file!r} and a URL")
    if url:
        return read_address(url, option, environment)
    if not file and (found := environment.get(VARIABLE)):
        return read_address(found, VARIABLE, environment)
    return Path(file or usual)


def files(kept_in: Path | RecordAddress) -> list[Path]:
    """Return the files of this machine that a place is."""
    return [kept_in] if isinstance(kept_in, Path) else []


def named(text: str, option: str) -> Path | RecordAddress:
    """
    Return the place that a person names: a URL is a server, anything else a file.

    Raises:
        ConfigError: a URL that is none of a server, or holds a password.
    """
    return read_address(text, option, os.environ) if text.startswith(URLS) else Path(text)


def opened(kept_in: Path | RecordAddress) -> Database:
    """
    Open a place for replies, which is made if it is not there.

    Raises:
        ConfigError: it cannot be opened, or is none of ours.
    """
    return SqliteFile(kept_in) if isinstance(kept_in, Path) else PostgresRecord(kept_in)


def inspected(kept_in: Path | RecordAddress) -> Inspected:
    """
    Open a place for replies that is there, to look at it.

    Raises:
        ConfigError: it is not there, is none of ours, or is damaged; it is left as it was.
    """
    return SqliteFile.to_inspect(kept_in) if isinstance(kept_in, Path) else PostgresRecord(kept_in, make=False)
