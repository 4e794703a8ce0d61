"""What the probes of one process share: its engine, whom and what they ask, what is asked ahead, what it cost."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.checks import gate_of
from calm.pytest_plugin.options import (
    batch_least_of,
    batches_of,
    caps_of,
    days_of,
    distributed,
    is_worker,
    lookahead_of,
    option,
    place_of,
    run_name_of,
    seed_of,
)
from calm.pytest_plugin.selection import SELECTION, part_chosen
from calm.pytest_plugin.shown import SHOWN, FirstFinding, ProgressLine, speaker
from calm.pytest_plugin.workers import FIRST, OVER, SHARED, Workers, sharing, strike_out

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.core.memo import Memo
    from calm.core.reasons import Reason
    from calm.core.verdict import Scale
    from calm.engine.engine import Engine
    from calm.experiment.crossing import Member
    from calm.experiment.lookahead import Lookahead, Order
    from calm.gate.plan import PlanRecord
    from calm.gate.verdict_of import VerdictOf
    from calm.models.wire import Judge
    from calm.pytest_plugin.endings import Record


@dataclass
class Subjects:
    """Whom the tests ask and about which cases: each judge, sample and peer is made once."""

    foreign: list[Judge] = field(default_factory=list)
    """Judges made of objects that fixtures of users returned."""
    peers: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    sampled: list[tuple[Sequence[Case], Scale, tuple[Case, ...]]] = field(default_factory=list)
    """Cases that a fixture gave, and the sample of them with gold for a scale."""
    showable: list[tuple[Judge, tuple[Case, ...], Memo]] = field(default_factory=list)
    """Samples that a judge can be shown, and what its probes make of them and share."""
    unseen: dict[str, Reason] = field(default_factory=dict)
    """Parts of the cases that the judge of this run is not shown, each with how many cases have it."""
    asked: list[tuple[Judge, Sequence[Case], dict[str, Any]]] = field(default_factory=list)
    """Judges, their cases, and what the record says of them."""
    asking: VerdictOf | None = None
    """What tests ask by that have no probe, made when the first one wants it."""

    def memo(self, judge: Judge, cases: tuple[Case, ...]) -> Memo | None:
        """Return what probes make of a sample that a judge can be shown; None if it was not looked at yet."""
        return next((memo for known, drawn, memo in self.showable if known is judge and drawn is cases), None)


@dataclass
class Ahead:
    """What tests would ask, as a run of them before the run tells."""

    tracing: bool = False
    """Whether tests run for what they would ask: ahead of the run, or for a plan."""
    lookahead: Lookahead | None = None
    plan: PlanRecord | None = None
    """What a plan collects, in which no judge is asked; None: this is no plan."""
    orders: list[tuple[Lookahead, Order]] = field(default_factory=list)
    """What tests would ask, while they are traced."""
    claimed: dict[str, tuple[str, Order]] = field(default_factory=dict)
    """By the key of each finding that the tests make, the test and the question."""
    twice: list[Reason] = field(default_factory=list)
    """Which findings two questions make, as a trace tells."""


@dataclass
class Sharing:
    """What the processes of a run with xdist share, and what a worker has told its controller."""

    scratch: TemporaryDirectory[str] | None = None
    """A folder until the run ends: a file that says so, results of workers and, without a cache, their replies."""
    workers: Workers | None = None
    """The workers of this run, as this one sees them."""
    named: bool = False
    """Whether this worker has told which tests take a probe."""
    introduced: bool = False
    """Whether it has told whom they ask."""


class Process:
    """What a run changes in its process until it ends: who takes signals, and how seldom cycles are collected."""

    def __init__(self) -> None:
        self.caught = False
        """Whether this run has taken the signals."""
        self.until_end = ExitStack()
        """What sets everything back at the end."""

    def look_rarely(self) -> None:
        """Have the collector of cycles look seldom until the run ends, and not at what was there before it began."""
        from calm.engine.thread import RareCollections

        self.until_end.enter_context(RareCollections())
        if not gc.get_freeze_count():  # else this process is another program's, which freezes by itself
            gc.freeze()
            self.until_end.callback(gc.unfreeze)

    def catch_signals(self, *, patient: bool) -> None:
        """Let a signal end the run as Ctrl-C does, until `release_signals`."""
        from calm.engine.signals import SIGNALS

        if not self.caught:
            self.caught = True
            SIGNALS.catch(patient=patient)

    def release_signals(self) -> None:
        """Give the signals back, if this run has taken them."""
        if self.caught:
            from calm.engine.signals import SIGNALS

            self.caught = False
            SIGNALS.release()


@dataclass
class Session:
    """What the probes of one process share, made when the first one is used."""

    config: pytest.Config
    started: float = field(default_factory=time.time)
    engine: Engine | None = None
    process: Process = field(default_factory=Process)
    subjects: Subjects = field(default_factory=Subjects)
    ahead: Ahead = field(default_factory=Ahead)
    sharing: Sharing = field(default_factory=Sharing)
    records: dict[str, Record] = field(default_factory=dict)
    """What the tests of this process found, until their reports are read."""


SESSION: pytest.StashKey[Session] = pytest.StashKey()


def engine_of(config: pytest.Config) -> Engine:
    """Return the engine of this process; workers share caps and cache, and know the models read by the controller."""
    from calm.engine.engine import Engine
    from calm.engine.money import Keys, Money
    from calm.engine.signals import SIGNALS
    from calm.engine.store import Mode, Store

    session = config.stash[SESSION]
    if session.engine is None:
        place, mode, given = place_of(config), Mode(option(config, "cache")), _from_controller(config)
        if mode is Mode.OFF and (given or distributed(config)):  # workers share a file all the same, until the end
            place, mode = _scratch(config) / "run.sqlite", Mode.ON
        days = days_of(config)
        oldest = 0.0 if days is None else session.started - 86_400 * days
        name = run_name_of(config)
        store = Store(place, mode, run=given.get("calm_run", ""), name=name, oldest=given.get("calm_oldest", oldest))
        shared = store.account if given or name or distributed(config) else None
        money = Money(caps_of(config), shared, given.get("calm_started"))
        session.engine = Engine(
            store,
            money=money,
            served=given.get("calm_served"),
            seed=seed_of(config),
            batches=batches_of(config),
            least=batch_least_of(config),
        )
        session.engine.ledger.keys = Keys()
        if mode is Mode.ON and not given:
            session.engine.note_batches()
        if given:
            engine = session.engine
            store.bills.keep(lambda: json.dumps(_bill_of(config, engine)))
            SIGNALS.share(_scratch(config) / OVER)
            if SIGNALS.over:
                raise KeyboardInterrupt
    return session.engine


def _scratch(config: pytest.Config) -> Path:
    """Return the folder that the workers of this run share until it ends."""
    session = config.stash[SESSION]
    if shared := _from_controller(config).get("calm_scratch"):
        return Path(shared)
    session.sharing.scratch = session.sharing.scratch or TemporaryDirectory(prefix="calm-")
    return Path(session.sharing.scratch.name)


def _from_controller(config: pytest.Config) -> dict[str, Any]:
    """Return what the controller of xdist gave to this process; empty if it is no worker."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given


def handed_on(engine: Engine, config: pytest.Config, specs: Sequence[Any]) -> dict[str, Any]:
    """Return what the controller of xdist gives to its workers, which it starts by `specs`."""
    from calm.engine.signals import SIGNALS

    scratch = _scratch(config)
    SIGNALS.share(scratch / OVER)
    (scratch / SHARED).mkdir(exist_ok=True)
    # each worker counts its own waves: a share of one may be too small for a batch
    return {
        "calm_workers": sharing(config, specs) if batches_of(config) is None else [],
        "calm_served": dict(engine.served),
        "calm_run": engine.store.run,
        "calm_oldest": engine.store.oldest,
        "calm_started": engine.money.started,
        "calm_scratch": str(scratch),
    }


def meet(config: pytest.Config) -> None:
    """Let a worker of xdist tell others of its machine what it finds; to be called before any of them gets a test."""
    given = _from_controller(config)
    if (names := given.get("calm_workers")) and lookahead_of(config):
        config.stash[SESSION].sharing.workers = Workers(_scratch(config) / SHARED, given["workerid"], names)


def part(config: pytest.Config, worker: str) -> None:
    """In the controller of xdist: note that a worker has ended, so that no other one waits for what it was to find."""
    if config.stash[SESSION].sharing.scratch is not None:
        strike_out(_scratch(config) / SHARED, worker)


def lookahead_for(config: pytest.Config, judge: Judge) -> Lookahead:
    """
    Return what asks probes before their tests run; with `--calm-lookahead 0` it has nothing to do.

    A worker of xdist looks ahead at its share of the tests, or at all of them where the workers are not on one machine.
    The replies of a judge without a fingerprint cannot be kept, so each worker would ask for those that it shares with
    others: such a judge is asked when its test runs.
    """
    from calm.experiment.lookahead import Lookahead

    session = config.stash[SESSION]
    first = first_of(config)
    if session.ahead.lookahead is None:
        progress = ProgressLine(config, engine_of(config), first)
        probes = max(1, lookahead_of(config))
        ends = progress.show, progress.clear, first.hear
        session.ahead.lookahead = Lookahead(probes, *ends, workers=session.sharing.workers)
    if is_worker(config) and judge.fingerprint is None:
        idle = Lookahead(1, heard=first.hear)
        idle.stop()
        return idle
    return session.ahead.lookahead


def first_of(config: pytest.Config) -> FirstFinding:
    """Return what says the first disproved claim, made once in each process; those of one run share a file."""
    shown = config.stash[SHOWN]
    if shown.first is None:
        shared = _scratch(config) / FIRST if distributed(config) or is_worker(config) else None
        shown.first = FirstFinding(config, gate_of(config), shared, speaker(config))
    return shown.first


def figures_of(config: pytest.Config) -> dict[str, Any]:
    """Return what this process used, and which calls of it were found or made; empty if it has no engine."""
    from calm.results.codes import to_code

    session = config.stash[SESSION]
    engine = session.engine
    if engine is None:
        return {}
    ledger, used = engine.ledger, _bill_of(config, engine)
    used["notes"] += [to_code(note) for note in _notes_of(session)]
    return used | {"keys": ledger.keys.packed() if ledger.keys is not None else None}


def _bill_of(config: pytest.Config, engine: Engine) -> dict[str, Any]:
    """Return what this process used so far, as plain data."""
    from calm.results.codes import to_code

    ledger = engine.ledger
    return {
        "worker": _from_controller(config).get("workerid", ""),
        "pid": os.getpid(),
        "calls": dict(ledger.calls),
        "answers": ledger.answers,
        "tokens": dict(ledger.tokens),
        "usd": ledger.usd,
        "unpriced": list(ledger.unpriced),
        "notes": [to_code(note) for note in (*engine.notes, engine.broken) if note],
    }


def bills_left(config: pytest.Config, known: Collection[str]) -> list[dict[str, Any]]:
    """
    Return what the workers of xdist kept of what they used, but for those that are known to have ended.

    Raises:
        StorageError: the record cannot be read, or its server is away.
    """
    engine = config.stash[SESSION].engine
    if engine is None or not distributed(config):
        return []
    with engine.store.hurried():
        return [bill for text in engine.store.bills.left() if (bill := json.loads(text))["worker"] not in known]


def figures_of_dead(config: pytest.Config, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """
    Return what workers of xdist used that died before they could tell, as they kept it beside the replies.

    Which calls they made themselves is seen from the replies that were kept since the run began. Where the record
    cannot be read, nobody knows: the run says that it failed.
    """
    from calm.engine.money import KEY_BYTES
    from calm.errors import StorageError

    session = config.stash[SESSION]
    with suppress(StorageError):
        bills = bills_left(config, {one["worker"] for one in told})
        if bills and session.engine is not None:
            made = b"".join(key[:KEY_BYTES] for key in session.engine.store.kept_since(session.started))
            return [bill | {"keys": (b"", made)} for bill in bills]
    return []


def _notes_of(session: Session) -> list[Reason]:
    """
    Return that a part of the gate was selected, and what judges say of their own run.

    Of a panel that is which members gave no verdict, and how far they agree.

    A worker of xdist has seen only a part of the verdicts, so it says nothing of how far members agree.
    """
    from calm.core.reasons import Kind, because, reason_of

    chosen = session.config.stash[SELECTION]
    of = chosen.selected + chosen.deselected
    part = [because(Kind.SELECTED, chosen.selected, of)] if chosen.deselected else []
    if not part and chosen.selected and part_chosen(session.config):  # pytest does not say how many there are
        part = [because(Kind.SELECTED, chosen.selected)]
    said = [judge.remarks for judge, _, _ in session.subjects.asked]
    whole = not is_worker(session.config)
    part += session.subjects.unseen.values()
    return part + [reason_of(note) for one in said for note in (*one.notes, *(one.agreement if whole else ()))]
