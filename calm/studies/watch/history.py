"""The file of all runs: JSON Lines, each with a checksum that covers all lines before it, replaced as a whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, cast

from calm.core.files import MOST_BYTES, json_of, refuse_large, unopened
from calm.core.verdict import FAMILY
from calm.errors import ConfigError
from calm.models.secrets import hidden
from calm.models.wire import Json
from calm.results.outputs import WATCHED, write_whole
from calm.studies.watch.alarm import Promise
from calm.studies.watch.anchors import Anchor
from calm.studies.watch.asking import verdict_in

SCHEMA: Final = "calm-watch-history/1"
_MARK: Final = ',"sum":"'
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Reference:
    """Whom a part of a history is about, how often each anchor is asked in a run, and what its alarms promise."""

    judge: str
    fingerprint: str | None
    task: str
    asks: int
    promise: Promise
    about: Mapping[str, Json] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Run:
    """
    One run: its number in the file, when it was made (ISO 8601), and the verdicts on each anchor, in their order.

    A verdict is kept as its code in JSON; an ask without a reply is not there. `served` names the model behind each
    endpoint, `alarm` says whether the run raised one.
    """

    number: int
    at: str
    anchors: tuple[Anchor, ...]
    verdicts: tuple[tuple[str, ...], ...]
    served: Mapping[str, str] = field(default_factory=dict)
    alarm: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """
    What a file of runs holds.

    `runs` are those of the present reference, `count` is the number of all, `text` the file as it is and `sum` its last
    checksum.
    """

    reference: Reference | None = None
    runs: tuple[Run, ...] = ()
    count: int = 0
    text: bytes = b""
    sum: str = ""
    anchors: tuple[Anchor, ...] = ()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """
    Keep a history from all other processes while the block lasts; the system ends that with the process.

    What is locked is a file beside it, `.NAME.lock`: the history is replaced, which Windows does to no locked file. A
    link to a history is locked as the history itself.

    Raises:
        ConfigError: another process has it, or it cannot be opened.
    """
    real = Path(os.path.realpath(path))  # `resolve` raises where a link leads to itself
    place = real.with_name(f".{real.name}.lock")
    file = _locked(place, path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file: there it stays, and is empty
            place.unlink()
        file.close()


def _locked(place: Path, path: Path) -> IO[bytes]:
    from portalocker import AlreadyLocked, LockException, LockFlags, lock

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = place.open("ab")
            try:
                lock(file, LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING)
                if os.path.samestat(os.fstat(file.fileno()), place.stat()):
                    return file
            except FileNotFoundError:
                pass  # whoever had it removed it between our opening and our locking it: once more
            except BaseException:
                file.close()
                raise
            file.close()
    except AlreadyLocked as error:
        raise ConfigError(
            f"{path}: another `calm watch` is using this history now; wait until it has ended, then run the command "
            "again. Nothing was asked"
        ) from error
    except (LockException, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be used as a history: {why}") from error


def read_history(path: Path) -> History:
    """
    Return what a history holds; an empty file, and none, hold nothing.

    Raises:
        ConfigError: it cannot be read, is no history, or is not as calm wrote it; the first bad line is named.
    """
    try:
        with path.open("rb") as file:
            refuse_large(file, path)
            text = file.read(MOST_BYTES)
    except FileNotFoundError:
        return History()
    except OSError as error:
        raise ConfigError(unopened(path, error, "a history of calm watch")) from error
    found = _Reading()
    for number, line in enumerate(text.split(b"\n")[:-1] if text.endswith(b"\n") else text.split(b"\n"), start=1):
        if not text:
            break
        try:
            found.take(line.decode())
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise ConfigError(_damaged(path, number, len(found.runs), found.count)) from error
    if text and not text.endswith(b"\n"):
        raise ConfigError(_damaged(path, text.count(b"\n") + 1, len(found.runs), found.count))
    return History(found.reference, tuple(found.runs), found.count, text, found.sum, found.anchors)


def with_run(path: Path, history: History, reference: Reference, run: Run) -> History:
    """
    Write a history with one more run, as a whole, and return it. Another reference than the present one is a new one.

    Raises:
        ConfigError: it cannot be written; the file is as it was.
    """
    new = history.reference != reference
    bodies: list[dict[str, Any]] = []
    if new:
        promise = {"rate": reference.promise.rate, "horizon": reference.promise.horizon}
        judge = {"name": reference.judge, "fingerprint": reference.fingerprint, "about": dict(reference.about)}
        head = {"schema": SCHEMA, "judge": judge, "task": reference.task, "asks": reference.asks}
        bodies.append({**head, **promise})
    if new or _rows(run.anchors) != _rows(history.anchors):
        bodies.append({"anchors": _rows(run.anchors)})
    places: dict[str, int] = {}
    verdicts = [[places.setdefault(said, len(places)) for said in row] for row in run.verdicts]
    bodies.append(
        {
            "run": run.number,
            "at": run.at,
            "served": dict(run.served),
            "alarm": run.alarm,
            "said": [json.loads(said) for said in places],
            "verdicts": verdicts,
        }
    )
    before, lines = history.sum, []
    for body in bodies:
        text = hidden(json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
        before = _sum(before, text[:-1])
        lines.append(f'{text[:-1]}{_MARK}{before}"}}\n'.encode())
    write_whole(path, [history.text, *lines], WATCHED)
    runs = (run,) if new else (*history.runs, run)
    return History(reference, runs, run.number, history.text + b"".join(lines), before, run.anchors)


class _Reading:
    """What was read so far."""

    def __init__(self) -> None:
        self.reference: Reference | None = None
        self.anchors: tuple[Anchor, ...] = ()
        self.runs: list[Run] = []
        self.count = 0
        self.sum = ""

    def take(self, line: str) -> None:
        """Take a line; a `ValueError` or the like where it is not as calm wrote it."""
        body, mark, end = line.rpartition(_MARK)
        if not mark or end != f'{_sum(self.sum, body)}"}}':
            raise ValueError("a checksum that does not fit")
        found = cast("dict[str, Any]", json_of(line))
        if "schema" in found:
            self._begin(found)
        elif "anchors" in found:
            self.anchors = tuple(_anchor(*row) for row in found["anchors"])
        else:
            self._add(found)
        self.sum = end[:_DIGITS]

    def _add(self, found: Mapping[str, Any]) -> None:
        said = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in found["said"]]
        for one in said:
            verdict_in(one)
        verdicts = tuple(tuple([said[place] for place in row]) for row in found["verdicts"])
        number, at, served, alarm = found["run"], found["at"], found["served"], found["alarm"]
        _expect(self.reference is not None and len(verdicts) == len(self.anchors), number > self.count)
        _expect(*(isinstance(one, str) for one in (at, *served, *served.values())), isinstance(alarm, bool))
        self.count = number
        self.runs.append(Run(number, at, self.anchors, verdicts, served, alarm))

    def _begin(self, found: Mapping[str, Any]) -> None:
        judge, promise = found["judge"], Promise(found["rate"], found["horizon"])
        _expect(found["schema"] == SCHEMA, 0 < promise.rate < 1, promise.horizon > 0, found["asks"] > 0)
        _expect(*(isinstance(one, str) for one in (judge["name"], judge["fingerprint"] or "")))
        _expect(found["task"] in FAMILY, isinstance(judge["about"], dict))
        self.reference = Reference(
            judge["name"], judge["fingerprint"], found["task"], found["asks"], promise, judge["about"]
        )
        self.runs = []


def _anchor(one: object, shown: object, toward: object, points: Mapping[str, float]) -> Anchor:
    _expect(*(isinstance(text, str) for text in (one, shown, toward)))
    return Anchor(str(one), str(shown), str(toward), {name: float(weight) for name, weight in points.items()})


def _expect(*true: bool) -> None:
    """Raise a `ValueError` unless all of it is true."""
    if not all(true):
        raise ValueError("a line that calm does not write")


def _rows(anchors: Sequence[Anchor]) -> list[list[Any]]:
    return [[one.id, one.shown, one.toward, dict(one.points)] for one in anchors]


def _sum(before: str, body: str) -> str:
    return sha256(f"{before}{body}".encode()).hexdigest()[:_DIGITS]


def _damaged(path: Path, line: int, runs: int, count: int) -> str:
    whole = f"The {line - 1} lines before it are whole ({count} runs)" if line > 1 else "No line before it is whole"
    keep = f"`head -n {line - 1} {path} > repaired.jsonl`" if line > 1 else "another --history"
    return (
        f"{path}: line {line}: expected a line as `calm watch` wrote it, got one that is cut off or was changed, or "
        f"that follows a line which was removed. {whole}. Nothing was asked, and the file is as it was. Put back a "
        f"copy of the file, or go on from the whole lines: {keep}"
    )
