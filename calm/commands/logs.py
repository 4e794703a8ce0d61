"""The options that read a log of another tool, and the files that come of it: cases, and a recorded judge."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from calm.core.verdict import Scale
from calm.errors import ConfigError, nearest
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from calm.cases.logs import Gathered, Log, Wanted

KINDS = ("promptfoo", "deepeval", "inspect", "mlflow", "langfuse", "otel")
_NAME: Final = 3
"""A name of more words is a rubric."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the cases, the verdicts and the recorded judge of a log go."""

    cases: Path
    verdicts: Path
    judge: Path

    @classmethod
    def beside(cls, out: Path) -> Places:
        """Return the places beside a file of cases, with names that begin as its own does."""
        stem = out.name.removesuffix(".jsonl")
        return cls(out, out.with_name(f"{stem}.verdicts.jsonl"), out.with_name(f"{stem}.recorded.toml"))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about a log, without those that name files."""
    parser.add_argument(
        "--from", dest="kind", choices=KINDS, metavar="KIND", help=f"the tool that wrote the log: {', '.join(KINDS)}"
    )
    parser.add_argument("--metric", metavar="NAME", help="of a log with several judges, the one that is meant")
    parser.add_argument(
        "--gold", metavar="NAME", help="of a log: the name under which people gave verdicts, if it is another one"
    )
    parser.add_argument(
        "--scale",
        metavar="LOW..HIGH",
        help="of a log: the scale of the scores, such as 1..5, or 0..1/0.1 with its step",
    )


def asked_for(options: argparse.Namespace) -> bool:
    """Return whether an option about a log is given."""
    return any(value is not None for value in (options.kind, options.metric, options.gold, options.scale))


def wanted_from(options: argparse.Namespace) -> Wanted:
    """
    Return what the options ask of a log.

    Raises:
        ConfigError: one line for each that cannot be read.
    """
    from calm.cases.foreign.columns import NOTHING
    from calm.cases.logs import Wanted
    from calm.cases.logs.gathering import MAPPED

    faults: list[str] = []
    columns: dict[str, str] = {}
    for text in options.map:
        field, equals, path = text.partition("=")
        known = field in MAPPED or field.removeprefix("field.").removeprefix("tag.") not in ("", field)
        if not (field and equals and path):
            faults.append(f"--map: expected FIELD=PATH, got {text!r}")
        elif not known:
            wanted = f"{', '.join(MAPPED)}, field.NAME or tag.NAME"
            faults.append(f"--map: expected {wanted} for a log, got {field!r}{nearest(field, MAPPED)}")
        columns[field] = path
    words: dict[str, float | None] = {}
    spelled: dict[str, str] = {}
    for text in options.value:
        name, equals, value = text.rpartition("=")
        word, number = name.strip(), _number(value)
        if not (word and equals) or (number is None and value != NOTHING):
            faults.append(f"--value: expected WORD=NUMBER for a log, or WORD=none for what is no verdict, got {text!r}")
        elif word in words:
            faults.append(f"--value: expected each word once, got {spelled[word]!r} and {name!r}; keep one")
        else:
            words[word], spelled[word] = number, name
    scale = None
    try:
        scale = None if options.scale is None else scale_in(options.scale)
    except ConfigError as error:
        faults += error.problems
    if faults:
        raise ConfigError(faults)
    return Wanted(options.metric, options.gold, words, scale, columns)


def directed(found: Gathered, judge: str, best: Literal["high", "low"] | None = None) -> Gathered:
    """
    Return what a log holds with the best end of its scale: as a person says, else low if a judge is named for a fault.

    A note says so, and how to change it in the file `judge`. What the log itself says, by its thresholds or in its
    prompt, comes first, and a long name is a rubric, which a good answer meets.
    """
    from calm.judges.prompts.direction import direction_of

    if found.task != "score":
        return found
    if best is not None:
        return replace(found, scale=replace(found.scale, best=best))
    first = next((ask.judgment for ask in found.asks), None)
    prompt = "" if first is None else "\n".join(turn.text for turn in first.prompt)
    fault = direction_of("", found.scale, names=[found.metric]).fault
    passes = any(ask.judgment.passed is not None and ask.judgment.threshold is not None for ask in found.asks)
    if (
        passes
        or not fault
        or len(re.findall(r"[^\W_]+", fault)) > _NAME
        or direction_of(prompt, found.scale).best == "high"
    ):
        return found
    note = (
        f'the judge is named for a fault, "{fault}", so {judge} says best = "low": a low score, or a no, is the good '
        'one. If the high one is good, write best = "high"'
    )
    return replace(found, scale=replace(found.scale, best="low"), notes=(*found.notes, note))


def scale_in(text: str) -> Scale:
    """
    Return the scale of `LOW..HIGH` or `LOW..HIGH/STEP`.

    Raises:
        ConfigError: anything else.
    """
    ends, slash, step = text.partition("/")
    low, _, high = ends.partition("..")
    found = _number(low), _number(high), _number(step) if slash else None
    if found[0] is not None and found[1] is not None and found[0] < found[1] and (not slash or (found[2] or 0) > 0):
        scale = Scale(found[0], found[1], found[2])
        if scale.holds(scale.high):
            return scale
    raise ConfigError(f"--scale: expected LOW..HIGH, such as 1..5, or LOW..HIGH/STEP, got {text!r}")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def taken(places: Sequence[Path], force: bool, inputs: Sequence[Path]) -> bool:
    """
    Return whether a file must not be written, and say which.

    Raises:
        ConfigError: one would take the place of a file that is read, or cannot be written.
    """
    from calm.results.outputs import CASES, Output, refuse

    refuse([Output(path.name, path, CASES, force=True) for path in places], inputs=inputs)
    there = [path for path in places if path.exists()]
    if there and not force:
        names = ", ".join(printable(str(path)) for path in there)
        verb = "exists" if len(there) == 1 else "exist"
        print(f"calm: {names} {verb} already; overwrite with --force", file=sys.stderr)
        return True
    return False


def write_log(found: Gathered, log: Log, places: Places, *, force: bool) -> None:
    """Write the cases, the verdicts and the judge that replays them, or none of them."""
    from calm.cases.lines import line
    from calm.commands.file_set import put
    from calm.judges.recorded.kept import recorded_toml, verdict_lines
    from calm.results.outputs import VERDICTS

    files = {
        places.cases: "".join(line(case) for case in found.cases),
        places.verdicts: "".join(verdict_lines(found)),
        places.judge: recorded_toml(found, places.verdicts.name, log.kind, places.cases.name),
    }
    put(files, VERDICTS, judges=[places.judge], force=force)


def say_log(found: Gathered, log: Log, places: Places) -> None:
    """Print what came of a log."""
    gold = sum(1 for case in found.cases if case.better or case.scores)
    repeats = max((ask.repeat for ask in found.asks), default=1)
    scale = f" from {found.scale.low:g} to {found.scale.high:g}" if found.task == "score" else ""
    _say(f"read {', '.join(log.names)}: results of {log.kind}, {len(log.judgments)} verdicts")
    written = " on the scale of the judge, as written" if gold and found.task == "score" else ""
    _say(f"wrote {places.cases}: {len(found.cases)} cases, {gold} with gold{written}")
    _say(
        f"wrote {places.verdicts} and {places.judge}: the judge {found.metric} (task {found.task}{scale}), "
        f"{len(found.asks)} verdicts, at most {repeats} on a case"
    )
    for note in found.notes:
        _say(f"note: {note}")


def _say(text: str) -> None:
    print(fitted(printable(text), sys.stdout))
