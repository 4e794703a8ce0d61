"""How `calm init` reads a table: it takes what the names say, and asks a person, or proposes, what they do not say."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final

from calm.commands.init_asked import answered, at_terminal, say
from calm.core.shell import join
from calm.errors import ConfigError

if TYPE_CHECKING:
    from calm.cases.foreign.records import Table
    from calm.cases.proposed import Guess, Proposal
    from calm.commands.init_prompts import Prompt

_OPTIONS: Final = (
    *("dir", "task", "prompt", "system", "negative", "cases", "map", "value", "placeholder", "best", "name"),
    *("provider", "model", "base_url", "api_key_env", "ci", "force"),
)
"""The options of a proposed command, in their order."""
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class Read:
    """How a table is read: the columns by field, what the words of its gold mean, and a note of what was taken."""

    columns: Mapping[str, str]
    words: Mapping[str, str]
    note: str


def names_in(options: argparse.Namespace) -> list[str]:
    """Return the columns of the cases that the options name, and what `--map` says of them; those that can be read."""
    from calm.cases.foreign.records import load

    said = [word for text in options.map for word in text.split("=", 1)]
    try:
        return [*said, *(load(Path(options.cases)).columns if options.cases else ())]
    except ConfigError:
        return said  # the fault is named where the cases are read


def read_of(options: argparse.Namespace, table: Table, prompt: Prompt | None) -> Read:
    """
    Return how a table is read: as the options say, by its names, and for the rest as a person says.

    Raises:
        ConfigError: an option that does not fit; or, where nobody is there to be asked, the whole command that reads
            the table as it is guessed.
    """
    from calm.cases.foreign.columns import unknown_columns
    from calm.cases.proposed import VERDICT, named_in, proposal
    from calm.core.files import read_text

    mine = named_in(options.map, options.value)
    given = dict(mine.columns)
    if unknown := unknown_columns(given, table):
        raise ConfigError(unknown)
    shown = {} if prompt is None else prompt.shown
    scale = None if prompt is None else prompt.scale
    classes = "label" in (options.task, None if prompt is None else prompt.task)
    text = read_text(Path(options.prompt), "a prompt") if options.prompt else ""
    found = proposal(table, given, mine.values, shown, scale=scale, classes=classes, prompt=text)
    columns = {guess.key: guess.value for guess in found.columns}
    words = {guess.key: guess.value for guess in found.words}
    unsure = [guess for guess in (*found.columns, *found.words) if not guess.known]
    if at_terminal():
        columns |= {key: _column(key, "", table) for key in found.lacking if not _may_lack(key)}
        if not options.yes:
            columns |= {one.key: _column(one.key, one.value, table) for one in found.columns if not one.known}
            words |= {one.key: _meaning(one, {**given, **columns}) for one in found.words if not one.known}
    elif needed := [key for key in found.lacking if not _may_lack(key)]:
        raise ConfigError(_lacking(needed, table, prompt))
    elif unsure and not options.yes:
        command = _command(options, {**given, **columns}, {**mine.values, **words}, prompt)
        raise ConfigError([*_paragraph(found, table).splitlines(), f"  {command}"])
    taken = [f"{column!r} is the {_called(key)}" for key, column in columns.items()]
    taken += [f"{word!r} means {meaning}" for word, meaning in words.items()]
    note = f"read from the table: {', '.join(taken)}" if taken else ""
    whole = {**given, **columns}
    if prompt is not None or options.task or options.model or options.base_url or options.provider:
        whole.pop(VERDICT, None)  # the judge is asked anew
    return Read(whole, {**mine.values, **words}, note)


def _may_lack(key: str) -> bool:
    """Return whether cases can be written without a field, to be filled in later."""
    return key in ("reference", "context") or key.startswith(("field.", "history."))


def _lacking(keys: Sequence[str], table: Table, prompt: Prompt | None) -> str:
    """Return that no column holds what a case needs, or what the prompt shows, and how to name one."""
    shown = {field: name for name, field in ({} if prompt is None else prompt.shown).items()}
    what = " and ".join(f"{{{shown[key]}}}" if key in shown else f"the {_called(key)}" for key in keys)
    options = " ".join(f'--map {key}="COLUMN"' for key in keys)
    return (
        f"no column of {table.name} seems to hold {what}. Say which one does, with its name for COLUMN: {options}; its "
        f"columns are {', '.join(table.columns)}. If none does, add such a column to the file"
    )


def _called(key: str) -> str:
    """Return the name of a field as people say it."""
    if key.startswith("history."):
        turn, _, side = key.removeprefix("history.").partition(".")
        return f"reply {side} of turn {turn}".replace("  ", " ")
    plain = {"better": "better answer", "score": "gold score", "label": "gold class", "verdict": "judge's verdict"}
    return plain.get(key, key.replace("_", " ").replace("field.", "field "))


def _paragraph(found: Proposal, table: Table) -> str:
    """Return in words how a table is read, and that a person must say whether this is right."""
    columns = "; ".join(f"{guess.value!r} is the {_called(guess.key)}" for guess in found.columns)
    words = ", ".join(f"{guess.key!r} ({guess.count}) is {guess.value}" for guess in found.words)
    read = "; ".join(filter(None, [columns, words]))
    return fill(
        f"{table.name}: nothing is written yet. It would be read so: {read}. If that "
        "is right, run the next line, or the same command with --yes; if not, correct the line:",
        _WIDTH - len("calm: "),
    )


def _command(
    options: argparse.Namespace, columns: Mapping[str, str], words: Mapping[str, str], prompt: Prompt | None
) -> str:
    """Return the command line that says all that is guessed."""
    said = {} if prompt is None else prompt.said
    full = {
        "map": [f"{key}={column}" for key, column in columns.items() if key != column],
        "value": [f"{word}={meaning}" for word, meaning in words.items()],
        "placeholder": [f"{name}={meaning}" for name, meaning in said.items()],
    }
    line = ["calm", "init"]
    for name in _OPTIONS:
        value = full.get(name, getattr(options, name))
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            line += [word for one in value for word in (option, one)]
        elif value is True:
            line.append(option)
        elif value not in (None, False) and (name, value) != ("dir", "."):
            line += [option, value]
    return join(line)


def _column(key: str, usual: str, table: Table) -> str:
    """Ask which column holds a field."""
    while True:
        said = answered(f"Which column is the {_called(key)}", usual)
        if said in table.columns:
            return said
        say(f"expected one of: {', '.join(table.columns)}")


def _meaning(guess: Guess, columns: Mapping[str, str]) -> str:
    """Ask what a word of the gold means."""
    from calm.cases.foreign.columns import NOTHING, is_number

    letters = [key[-1] for key in sorted(columns) if key.startswith("answer_")]
    known = f"{', '.join(letters)}, tie or none" if letters else "a number, or none"
    while True:
        said = answered(f"What does {guess.key!r} mean ({guess.count} rows): {known}", guess.value)
        if said == NOTHING or (said in (*letters, "tie") if letters else is_number(said)):
            return said
        say(f"expected {known}, got {said}")
