"""Commands that call models: their caps, their cache, and what they spent."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import add_cache, cache_files, cache_of
from calm.errors import ConfigError, Interruption

if TYPE_CHECKING:
    from calm.engine.engine import Engine
    from calm.engine.money import Caps
    from calm.results.outputs import Output

CONTINUE = "run the same command again to continue: the replies so far are kept"
"""The advice of a command that could not ask everything."""


def add_caps(parser: argparse.ArgumentParser) -> None:
    """Add the hard caps, and the cache from which a later run continues."""
    add_limits(parser)
    add_cache(parser)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the hard caps."""
    parser.add_argument("--max-calls", type=int, metavar="N", help="make at most N calls")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="use at most N tokens, in prompts and replies")
    parser.add_argument("--max-usd", type=float, metavar="X", help="spend at most X US dollars")
    parser.add_argument("--max-minutes", type=float, metavar="M", help="begin no call after M minutes")


def caps_of(options: argparse.Namespace) -> Caps:
    """Return the hard caps that the options of a command set."""
    from calm.engine.money import Caps

    return Caps(options.max_calls, options.max_tokens, options.max_usd, options.max_minutes, option="--max-")


def impossible(options: argparse.Namespace) -> list[str]:
    """Return a line for each cap or sample that is not above 0."""
    problems: list[str] = []
    for name in ("max_calls", "max_tokens", "sample"):
        value = getattr(options, name, None)
        if value is not None and value < 1:
            problems.append(f"--{name.replace('_', '-')}: expected a number above 0, got {value}")
    for name in ("max_usd", "max_minutes"):
        value = getattr(options, name)
        if value is not None and not 0 < value < float("inf"):
            problems.append(f"--{name.replace('_', '-')}: expected an amount above 0, got {value!r}")
    return problems


def refuse_impossible(options: argparse.Namespace) -> None:
    """
    Refuse caps and samples that are not above 0.

    Raises:
        ConfigError: one line for each such option.
    """
    if problems := impossible(options):
        raise ConfigError(problems)


def sampled(count: int, there: int, what: str = "cases") -> str:
    """
    Return how many cases a command takes, and of how many they are a sample.

    >>> sampled(200, 300), sampled(3, 3, "questions"), sampled(1, 1)
    ('200 of 300 cases (--sample)', '3 questions', '1 case')
    """
    if count < there:
        return f"{count} of {there} {what} (--sample)"
    return f"{count} {what.removesuffix('s') if count == 1 else what}"


@contextmanager
def opened_engine(
    options: argparse.Namespace, *written: Output, oldest: float = 0.0, series: str = ""
) -> Iterator[Engine]:
    """
    Open an engine with the caps and the cache of a command, and close it at the end.

    Replies from before the time `oldest` (seconds since the epoch) are not used, nor those of another `series`.

    Raises:
        ConfigError: what the command is to write must not, or cannot, be written.
    """
    from calm.core.files import inputs
    from calm.engine.engine import Engine
    from calm.engine.store import Mode, Store
    from calm.results.outputs import refuse

    refuse(written, inputs=inputs(), caches=cache_files(options))
    store = Store(cache_of(options), Mode.ON, oldest=oldest, series=series)
    engine = Engine(store, caps=caps_of(options))
    with closing(engine):
        yield engine


@contextmanager
def closing(engine: Engine) -> Iterator[None]:
    """Close an engine at the end of the block; where that is interrupted, say what was made and where it is kept."""
    from calm.engine.store import Mode
    from calm.results.codes import interrupted

    try:
        yield
    except KeyboardInterrupt:
        place = "" if engine.store.mode is Mode.OFF else str(engine.store.place)
        raise Interruption(interrupted(engine.ledger.calls["made"], place)) from None
    finally:
        engine.close()


def bill(engine: Engine) -> str:
    """Return how many calls were made, how many repeated a failed one, what came from the cache, and the cost."""
    from calm.results.wording import counted_calls

    calls = counted_calls(engine.ledger.calls, ("recorded", "made", "retried", "cached"))
    notes = "".join(f"; {note}" for note in engine.notes)
    return f"{calls}, {engine.ledger.cost}{notes}"


def stays(engine: Engine, path: Path) -> bool:
    """Return whether a file of an earlier run is to stay, and say so: nothing was answered that could replace it."""
    from calm.results import outputs
    from calm.results.wording import printable

    if said := outputs.stays(path, answered=bool(engine.ledger.answers)):
        print(printable(said))
    return bool(said)
