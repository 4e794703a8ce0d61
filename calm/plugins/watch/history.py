"""
The runs of an anchor set: asked, begun, and kept as JSON Lines, each with a checksum that covers all lines before it.

Each run asks each anchor anew, by repeat indices that no other run has.

A run that was begun and not recorded: what names its replies in the cache, so that it alone can go on with them.

Each run draws a name. It is kept in a file beside the history while the run lasts, and goes with it: a run that was
recorded, a copy of the history, and another history have no such file, so that none of them finds these replies.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, cast
from uuid import uuid4

from calm.core.case import TIE, Case, digest
from calm.core.classes import Classes
from calm.core.files import MOST_BYTES, json_of, refuse_large, unopened
from calm.core.order import RUN_ASKS
from calm.core.reasons import Reason, reason_of
from calm.core.trials import Trial, favour
from calm.core.verdict import (
    FAMILY,
    Criteria,
    Label,
    NoReply,
    Preferred,
    Scale,
    Score,
    Tie,
    Verdict,
    chances,
    code,
    decode,
    readable,
)
from calm.engine.engine import Engine
from calm.errors import ConfigError
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.stopping import LOST
from calm.models.secrets import hidden
from calm.models.wire import Json, Judge
from calm.plugins.watch.alarm import Promise
from calm.results.outputs import WATCH_BEGUN, WATCHED, remove, write_whole

_UNSEEN: Final = ("id", "better", "met", "scores", "tags", "variants")
"""What of a case may change without the judge being asked another question."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """
    A case that is asked in every run: `shown` is a hash of what the judge is shown of it.

    `toward` is the answer whose favour is measured: the better one by gold, else the first. `points` are the weights of
    the criteria.
    """

    id: str
    shown: str
    toward: str
    points: Mapping[str, float] = field(default_factory=dict, compare=False, hash=False)

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by in all runs."""
        return self.id, self.shown

    @property
    def row(self) -> Trial:
        """It as a row of trials, for `distance` and `favour`."""
        return Trial(self.id, points=self.points)


def anchors_of(cases: Sequence[Case]) -> tuple[Anchor, ...]:
    """Return the anchors that cases make, in their order."""
    return tuple(Anchor(case.id, _shown(case), _toward(case), dict(case.points)) for case in cases)


def agreement(verdict: Verdict, case: Case, scale: Scale) -> float | None:
    """
    Return how far a verdict agrees with the gold of a case, in [0, 1]; None where the case has none.

    Pairs: 1 for the better answer, a half for a tie where there is one. Scores: 1 minus the distance from the gold over
    the range. Rubrics: the share of criteria with the right word. Rankings: 1 where the best answer comes first, 0
    where it comes last. A verdict that says nothing agrees with none.
    """
    answer = case.answers[0].id
    if len(case.answers) > 1:
        if case.better is None and not case.scores:
            return None
        if not readable(verdict):
            return 0.0
        if case.better == TIE:
            return float(isinstance(verdict, Tie))
        return favour(verdict, _toward(case), Trial(case.id), scale)
    if scale.classes is not None:
        return None if case.label is None else _as_gold(verdict, case.label, scale.classes)
    truth = case.met.get(answer)
    if truth and not isinstance(verdict, Score):
        met = verdict.met if isinstance(verdict, Criteria) else {}
        return sum(met.get(one) == true for one, true in truth.items()) / len(truth)
    share = favour(Criteria(truth), answer, Trial(case.id, points=case.points), scale) if truth else None
    worth = case.scores.get(answer) if share is None else scale.low + share * (scale.high - scale.low)
    if worth is None:
        return None
    if not isinstance(verdict, Score):
        return 0.0
    return 1 - abs(verdict.value - min(max(worth, scale.low), scale.high)) / (scale.high - scale.low)


def _as_gold(verdict: Verdict, gold: str, classes: Classes) -> float:
    return 1 - classes.apart(verdict.value, gold) if isinstance(verdict, Label) else 0.0


def _shown(case: Case) -> str:
    return digest({name: value for name, value in case.content().items() if name not in _UNSEEN})[:16]


def _toward(case: Case) -> str:
    if case.better is not None and case.better != TIE:
        return case.better
    return max(case.answers, key=lambda answer: case.scores.get(answer.id, 0.0)).id


_PLACES = 2
"""Decimals of a probability in a history: more would separate asks that say the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The verdicts on each case, in the order of the cases; `lost` counts asks without a reply.

    `incomplete` is why most of them have none, if too many have none for a run to count.
    """

    verdicts: tuple[tuple[Verdict, ...], ...]
    lost: int
    incomplete: Reason | None = None


def asks_of(number: int, repeats: int) -> range:
    """
    Return the repeat indices of a run, numbered from 1: no other run of its history has them.

    >>> list(asks_of(3, 2))
    [3001, 3002]
    """
    return range(number * RUN_ASKS + 1, number * RUN_ASKS + repeats + 1)


def ask_anchors(engine: Engine, judge: Judge, cases: Sequence[Case], number: int, repeats: int) -> Asked:
    """
    Ask a judge about each case, so many times, as the run of a number; equal asks of a stopped run are kept.

    The order of the answers is drawn once for a case, as in the gate, so that a pull to one slot is no favour.
    """
    asks, salt = asks_of(number, repeats), "" if judge.traits.as_given else ORDER_SALT
    shown = [case.with_order(salt) for case in cases]
    found = iter(engine.ask(judge, [(case, ask) for case in shown for ask in asks]))
    every = [[next(found).verdict for _ in asks] for _ in cases]
    lost = Counter(reason_of(one.reason) for row in every for one in row if isinstance(one, NoReply))
    kept = tuple(tuple(one for one in row if not isinstance(one, NoReply)) for row in every)
    capped = any(reason.unfinished for reason in lost)
    stopped = engine.broken is not None and bool(engine.broken)
    much = lost.total() > LOST * len(cases) * repeats
    return Asked(kept, lost.total(), max(lost, key=lost.__getitem__) if lost and (capped or stopped or much) else None)


def said(verdict: Verdict) -> str:
    """
    Return a verdict as a history keeps it: its code, and the probability of each where it has them.

    >>> said(Preferred("good")), said(Preferred("good", {"good": 0.912, "bad": 0.088}))
    ('{"code":"good"}', '{"code":"good","p":{"bad":0.09,"good":0.91}}')
    """
    law = chances(verdict)
    body: dict[str, Json] = {"code": cast(Json, code(verdict))}
    if law is not None:
        body["p"] = {name: share for name, p in sorted(law.items()) if (share := round(p, _PLACES))}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def verdict_in(kept: str) -> Verdict:
    """Return the verdict that `said` wrote; an error such as `ValueError` for any other text."""
    body = json.loads(kept)
    law = {name: float(share) for name, share in body["p"].items()} if "p" in body else None
    verdict = decode(body["code"])
    match verdict:
        case Preferred(answer=answer):
            return Preferred(answer, law)
        case Tie():
            return Tie(law)
        case Score(value=value):
            return Score(value, law)
        case Criteria(met=met):
            return Criteria(met, law)
        case Label(value=value):
            return Label(value, law)
        case _:
            return verdict


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


BEGUN: Final = "calm-watch-begun/1"
ENDING: Final = ".begun"


@dataclass(frozen=True, slots=True)
class Begun:
    """A run under way: the name of its replies in the cache, and whether it was begun before and stopped."""

    series: str
    again: bool


def place_of(history: Path) -> Path:
    """Return where a run under way is kept, beside its history; a link to a history is followed."""
    try:
        place = history.resolve()
    except (OSError, ValueError, RuntimeError):
        place = history.absolute()
    return place.with_name(f"{place.name}{ENDING}")


def begin(history: Path, last: str) -> Begun:
    """
    Return the run that follows the line with the checksum `last`: the one that was stopped there, or a new one.

    The name of its replies holds what was drawn, the place of the history and `last`. So a file that was copied or
    moved, or a history with fewer or more lines than then, is a new run.

    Raises:
        ConfigError: the file beside the history cannot be written, or is not calm's.
    """
    place = place_of(history)
    drawn, again = _kept(place, last), True
    if drawn is None:
        drawn, again = uuid4().hex, False
        body = json.dumps({"schema": BEGUN, "run": drawn, "after": last}, separators=(",", ":"))
        write_whole(place, [f"{body}\n"], WATCH_BEGUN)
    return Begun(digest("watch", drawn, str(place), last), again)


def end(history: Path) -> None:
    """Forget the run under way, which was recorded: nothing finds its replies any more."""
    remove(place_of(history), WATCH_BEGUN)


def _kept(place: Path, last: str) -> str | None:
    try:
        found = json.loads(place.read_bytes()[:1000])
        drawn, after = found["run"], found["after"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return drawn if isinstance(drawn, str) and drawn and after == last else None
