"""`calm watch`: ask a judge about fixed anchor cases again and again, and say when it no longer answers as before."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from calm.commands import CASES, CONFIGURATION, DONE, JUDGES, REFUSED, add_command, cache_files
from calm.commands.spending import CONTINUE, add_caps, bill, impossible, opened_engine
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calm.core.case import Case
    from calm.engine.engine import Engine
    from calm.gate.prices import Plan
    from calm.models.wire import Json, Judge
    from calm.plugins.watch.history import History, Reference, Run
    from calm.plugins.watch.since import Chosen
    from calm.results.audit import Audit
    from calm.results.outputs import Output

MOST_ASKS = 100
"""How often a run may ask about an anchor."""
HOUR_S = 3600.0
MOST_NAMED = 5
"""How many of the differences between two judges are named."""
MOST_SHOWN, MOST_BEFORE = 36, 12
"""How many characters of each are shown."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `watch`."""
    watch = add_command(
        commands,
        "watch",
        "Compare a judge with its own verdicts of earlier days. It is asked about fixed anchor cases. Run the command "
        "daily or weekly. Each run adds to a history. Exit status 1 is an alarm: the judge does not answer as before. "
        "Status 4 means that nothing was decided. After a vendor's notice, --since compares once, with a saved run.",
        "calm watch judge.toml --cases anchors.jsonl --history watch.jsonl",
    )
    option = watch.add_argument
    option("judge", metavar="JUDGE", help=JUDGES)
    option("--cases", action="append", default=[], metavar="FILE", help=f"the anchors: {CASES}")
    option("--history", metavar="FILE", help="the file of all runs (default watch.jsonl)")
    option(
        "--since",
        metavar="RESULTS",
        help="compare with the verdicts of a saved run instead, on at most 60 of its cases, with at most 120 calls; "
        "no history is read or written",
    )
    option("--asks", type=int, metavar="K", help="asks of each anchor in a run (default 2, or as in the history)")
    option(
        "--false-alarms",
        type=float,
        metavar="P",
        help="the probability that a judge that never moves ever raises an alarm (default 0.01, or as in the history)",
    )
    option(
        "--horizon",
        type=int,
        metavar="N",
        help="half of the false alarms are kept for the first N runs, where the command is most watchful "
        "(default 365, or as in the history)",
    )
    option(
        "--new-reference",
        action="store_true",
        help="accept the judge as it is now: this run begins a new reference in the same history",
    )
    option(
        "--resume-hours",
        type=float,
        default=12.0,
        metavar="H",
        help="a run that was stopped goes on with its replies of the last H hours (default 12)",
    )
    add_caps(watch)
    option("--plan", action="store_true", help="show how many calls a run takes; make none")
    option("-o", "--out", default="watch.json", metavar="FILE", help="where the record goes (default watch.json)")
    option("--summary", metavar="FILE.md", help="also write a summary as Markdown")
    watch.set_defaults(run=_watch)


def _watch(options: argparse.Namespace) -> int:
    from calm.core.files import inputs
    from calm.core.reasons import Kind, because
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import cases_from, judge_from
    from calm.plugins.watch.comparison import compare
    from calm.plugins.watch.history import end, held, read_history, with_run
    from calm.plugins.watch.report import in_words, markdown, to_json
    from calm.results.outputs import refuse

    _check(options)
    judge = judge_from(options.judge)
    if judge.traits.recorded is not None or judge.traits.repeats is not None:
        raise ConfigError(f"{judge.name} cannot be watched, since it cannot move: {because(Kind.REPLAYED)}")
    if options.since is not None:
        return _since(options, judge)
    options.history = options.history or "watch.jsonl"
    cases = cases_from(options.cases, judge)
    refuse_unshowable(judge, cases)
    path = Path(options.history)
    outputs = _outputs(options)
    refuse(outputs, inputs=inputs(), caches=cache_files(options))
    if options.plan:
        history = read_history(path)
        print(printable(_plan(options, judge, cases, history), "\n"))
        return DONE
    with held(path):
        history = read_history(path)
        reference = _reference(options, judge, history)
        runs = history.runs if reference is history.reference else ()
        _refuse_strangers(path, runs, cases)
        run, replayed, spent = _run(options, judge, cases, reference, history)
        found = compare([*runs, run], cases, judge.scale, reference.promise)
        run = replace(run, alarm=found.alarm)
        late = _backwards(runs, run)
        with_run(path, history, reference, run)
        end(path)
    notes = [note for note in (_replays(replayed), late, _unknown(judge)) if note]
    _tell([*in_words(found, reference).splitlines(), *notes, spent])
    _write(options, to_json(found, reference, run, replayed))
    ran = f"{options.history} ({run.number} run{'s' if run.number > 1 else ''})"
    _summed_up(options, markdown(found, reference, run), ran, options.out)
    return REFUSED if found.alarm else DONE


def _check(options: argparse.Namespace) -> None:
    """
    Refuse impossible options.

    Raises:
        ConfigError: all of them.
    """
    problems = impossible(options)
    if options.asks is not None and not 1 <= options.asks <= MOST_ASKS:
        problems.append(f"--asks: expected a number from 1 to {MOST_ASKS}, got {options.asks}")
    if options.false_alarms is not None and not 0 < options.false_alarms <= 0.5:
        problems.append(f"--false-alarms: expected a probability above 0, at most 0.5, got {options.false_alarms!r}")
    if options.horizon is not None and options.horizon < 1:
        problems.append(f"--horizon: expected a number of runs above 0, got {options.horizon}")
    if options.since is not None:
        of_history = {
            "--history": options.history,
            "--asks": options.asks,
            "--horizon": options.horizon,
            "--new-reference": options.new_reference or None,
        }
        problems += [
            f"{name}: --since compares once, with two asks of each case and no history; leave it out"
            for name, given in of_history.items()
            if given is not None
        ]
    if not 0 <= options.resume_hours < float("inf"):
        problems.append(f"--resume-hours: expected a number of hours from 0 on, got {options.resume_hours!r}")
    if problems:
        raise ConfigError(problems)


def _since(options: argparse.Namespace, judge: Judge) -> int:
    """Compare a judge once with a saved run."""
    from calm.core.files import inputs
    from calm.gate.from_spec import cases_from
    from calm.plugins.watch.history import History, end, held
    from calm.plugins.watch.report import since_in_words, since_markdown, since_to_json
    from calm.plugins.watch.since import ASKS, LEAST_ANCHORS, MOST_CALLS, since
    from calm.results.audit import read
    from calm.results.outputs import refuse

    source = Path(options.since)
    audit = read(source, texts=False)
    files = options.cases or audit.run.case_files
    if files is None or (not options.cases and not all(Path(file).exists() for file in files)):
        where = "given by code" if files is None else f"in {', '.join(files)}, which is not here"
        raise ConfigError(f"{source}: its cases were {where}; name the file that holds them with --cases")
    reference, was = _fresh(options, judge), audit.judge
    about = {"model": was.model, "prompt_sha256": was.prompt_sha256, "parameters": dict(was.parameters), **was.about}
    about = {name: about.get(name) for name in judge.about}
    old = replace(reference, judge=was.name, fingerprint=was.fingerprint, task=was.task, about=about)
    how = "Take a run of this judge, or compare two runs (`calm compare`)"
    _refuse_another(old, reference, f"{source}: it is a run", how)
    cap = options.max_calls or MOST_CALLS
    chosen, plan, fewer = _affordable(audit, judge, cases_from(files, judge), str(source), cap)
    refuse(_outputs(options), inputs=inputs(), caches=cache_files(options))
    twice = sum(len(row.clean) > 1 for row in chosen.rows.values())
    bounds = f"at most {plan.most.calls} calls, {plan.most.cost}{'; no call is made' if options.plan else ''}"
    first = ", and one call to try the server" if plan.most.calls > plan.asks.calls else ""
    told = [f"{len(chosen.cases)} of {chosen.of} cases, {ASKS} asks each{first}: {bounds}", *fewer]
    if twice < LEAST_ANCHORS:
        few = f"note: {source} asked {twice} of these cases twice or more, and {LEAST_ANCHORS} are needed to say that"
        told.append(f"{few} the judge did not move; here it can only be found to have moved")
    _tell(told)
    if options.plan:
        return DONE
    options.max_calls = cap
    with held(Path(options.out)):
        run, replayed, spent = _run(options, judge, chosen.cases, reference, History())
        found = since(chosen, run.verdicts, judge.scale, judge.task, reference.promise.rate)
        _write(options, since_to_json(found, reference, run.at, run.served, str(audit.run.started)))
        end(Path(options.out))
    said = since_in_words(found, reference, str(source))
    other = [model for model in run.served.values() if was.served not in (None, model) and len(run.served) == 1]
    said += [f"the server now says that its model is {model}; it was {was.served}" for model in other]
    said += [note for note in (_replays(replayed), _unknown(judge), spent) if note]
    _tell(said)
    _summed_up(options, since_markdown(found, reference, str(source)), options.out)
    return {"moved": REFUSED, "not moved": DONE}.get(found.outcome, CONFIGURATION)


def _tell(told: Sequence[str]) -> None:
    from calm.results.wording import lines

    width = get_terminal_size().columns if sys.stdout.isatty() else 80
    for one in told:
        inset = " " * (len(one) - len(one.lstrip()))
        for line in lines(one.lstrip(), width - len(inset)):
            print(f"{inset}{line}", flush=True)


def _affordable(
    audit: Audit, judge: Judge, cases: Sequence[Case], source: str, cap: int
) -> tuple[Chosen, Plan, list[str]]:
    """
    Return the cases to ask again, what they take, and why they are fewer than they could be, if they are.

    Raises:
        ConfigError: so few calls decide nothing.
    """
    from calm.gate.prices import clean_plan
    from calm.plugins.watch.since import ASKS, LEAST_ANCHORS, choose

    chosen = choose(audit, judge, cases, source)
    plan = clean_plan(judge, chosen.cases, ASKS)
    most = plan.most
    if most.calls <= cap:
        return chosen, plan, []
    fewer = cap * len(chosen.cases) // most.calls
    if fewer < LEAST_ANCHORS:
        raise ConfigError(
            f"{judge.name}: {LEAST_ANCHORS} cases are needed, and {cap} calls ask about {fewer}, {ASKS} times each; "
            f"allow more: --max-calls {most.calls} for {len(chosen.cases)} cases"
        )
    why = f"{len(chosen.cases)} cases would take {most.calls} calls, and {cap} are allowed (--max-calls)"
    chosen = choose(audit, judge, cases, source, fewer)
    return chosen, clean_plan(judge, chosen.cases, ASKS), [why]


def _outputs(options: argparse.Namespace) -> list[Output]:
    from calm.plugins.watch.history import place_of
    from calm.results.outputs import WATCH, WATCH_BEGUN, WATCH_PAGE, WATCHED, Output

    found = [Output("-o", Path(options.out), WATCH)]
    if options.since is None:
        found.append(Output("--history", Path(options.history), WATCHED))
    found.append(Output("--history" if options.since is None else "-o", place_of(_kept(options)), WATCH_BEGUN))
    if options.summary:
        found.append(Output("--summary", Path(options.summary), WATCH_PAGE))
    return found


def _kept(options: argparse.Namespace) -> Path:
    """Return the file beside which a run under way is kept."""
    return Path(options.history if options.since is None else options.out)


def _fresh(options: argparse.Namespace, judge: Judge) -> Reference:
    from calm.plugins.watch.alarm import Promise
    from calm.plugins.watch.history import Reference

    promise = Promise(options.false_alarms or 0.01, options.horizon or 365)
    return Reference(judge.name, judge.fingerprint, judge.task, options.asks or 2, promise, dict(judge.about))


def _reference(options: argparse.Namespace, judge: Judge, history: History) -> Reference:
    """
    Return the reference of a history, or a new one.

    Raises:
        ConfigError: the history is about another judge, or was begun with other settings.
    """
    from calm.plugins.watch.alarm import Promise

    old, fresh = history.reference, _fresh(options, judge)
    if old is None:
        return fresh
    if options.new_reference:
        promise = Promise(options.false_alarms or old.promise.rate, options.horizon or old.promise.horizon)
        return replace(fresh, asks=options.asks or old.asks, promise=promise)
    how = "Give another --history, or --new-reference to begin a new reference with this run"
    _refuse_another(old, fresh, f"{options.history}: its runs are those", how)
    given = {
        "--asks": (options.asks, old.asks),
        "--false-alarms": (options.false_alarms, old.promise.rate),
        "--horizon": (options.horizon, old.promise.horizon),
    }
    problems = [
        f"{name}: expected {before!r}, as in the runs of {options.history}, got {now!r}. {how}"
        for name, (now, before) in given.items()
        if now is not None and now != before
    ]
    if problems:
        raise ConfigError(problems)
    return old


def _refuse_another(old: Reference, new: Reference, what: str, how: str) -> None:
    """
    Refuse another judge than that of before; `what` begins the message, `how` mends it.

    Raises:
        ConfigError: it is another one.
    """
    if old.task != new.task or (old.fingerprint or old.judge) != (new.fingerprint or new.judge):
        names = "" if old.judge == new.judge else f", {old.judge}, not of {new.judge}"
        raise ConfigError(
            f"{what} of another judge{names}{_differences(old, new)}. Two judges say nothing about the drift of one. "
            f"{how}"
        )


def _differences(old: Reference, new: Reference) -> str:
    """Return what two judges differ in, as far as they say it of themselves."""
    before, now = (_flat({"task": one.task, **one.about}) for one in (old, new))
    found = [
        f"{key}: {_apart(before.get(key), now.get(key))}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    ]
    return f" ({'; '.join(found[:MOST_NAMED])})" if found else ""


def _flat(about: Mapping[str, Json], within: str = "") -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in about.items():
        flat |= _flat(value, f"{within}{key}.") if isinstance(value, dict) else {f"{within}{key}": value}
    return flat


def _apart(before: Json, now: Json) -> str:
    """
    Return two values, of long ones what they differ in.

    >>> _apart(0.0, None)
    '0.0 -> none'
    >>> _apart("You are a judge. Say which of the two is better.", "You are a judge. Say which of the two is worse.")
    '...the two is better. -> ...the two is worse.'
    """
    texts = ["none" if one is None else str(one) for one in (before, now)]
    start = next((n for n, both in enumerate(zip(*texts, strict=False)) if len(set(both)) > 1), min(map(len, texts)))
    if start > MOST_BEFORE and max(map(len, texts)) > MOST_SHOWN:
        start = texts[0].find(" ", start - MOST_BEFORE, start) + 1 or start
        texts = [f"...{one[start:]}" for one in texts]
    return " -> ".join(one if len(one) <= MOST_SHOWN else f"{one[:MOST_SHOWN]}..." for one in texts)


def _refuse_strangers(path: Path, runs: Sequence[Run], cases: Sequence[Case]) -> None:
    """
    Refuse cases none of which was ever asked before, though there were runs.

    Raises:
        ConfigError: it is so.
    """
    from calm.plugins.watch.history import anchors_of

    known = {anchor.key for run in runs for anchor in run.anchors}
    if known and not any(anchor.key in known for anchor in anchors_of(cases)):
        raise ConfigError(
            f"{path}: none of the {len(cases)} cases was asked in an earlier run (by id and text), so that nothing can "
            "be compared. Give the anchors of before, another --history, or --new-reference to begin with these cases"
        )


def _run(
    options: argparse.Namespace, judge: Judge, cases: Sequence[Case], reference: Reference, history: History
) -> tuple[Run, int, str]:
    """
    Make a run, or go on with the one that was stopped; return it, how many replies it replays, and the bill.

    Raises:
        ConfigError: nothing can be decided.
    """
    from calm.engine.money import Keys, saved
    from calm.plugins.watch.history import begin, end

    path, keys, answers = _kept(options), Keys(), 0
    begun = begin(path, history.sum)
    oldest = time.time() - options.resume_hours * HOUR_S
    try:
        with opened_engine(options, *_outputs(options), oldest=oldest, series=begun.series) as engine:
            engine.ledger.keys = keys
            try:
                run = _asked(engine, judge, cases, reference, history.count + 1)
            finally:
                answers = engine.ledger.answers
            return run, saved([keys.packed()]), bill(engine)
    except ConfigError:
        if not answers and not begun.again:
            end(path)
        raise


def _replays(count: int) -> str:
    """Return that a run holds replies of an earlier, stopped one, if it does."""
    some = "1 reply" if count == 1 else f"{count} replies"
    return f"replayed {some} of a stopped run: what was answered then was not asked again" if count else ""


def _asked(engine: Engine, judge: Judge, cases: Sequence[Case], reference: Reference, number: int) -> Run:
    """
    Ask about all anchors, and return what was said as a run.

    Raises:
        ConfigError: too much was not answered, so that nothing can be decided.
    """
    from calm.plugins.watch.history import Run, anchors_of, ask_anchors, said

    engine.admit(judge)
    asked = ask_anchors(engine, judge, cases, number, reference.asks)
    if asked.incomplete is not None:
        raise ConfigError(
            f"run {number} is not complete, so nothing was recorded and nothing decided: "
            f"{asked.lost} of {len(cases) * reference.asks} asks have no reply: {asked.incomplete}. "
            f"{bill(engine)}; {CONTINUE}"
        )
    verdicts = tuple(tuple(map(said, row)) for row in asked.verdicts)
    served = {one.model: engine.served[one.identity] for one in judge.endpoints if engine.served.get(one.identity)}
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Run(number, at, anchors_of(cases), verdicts, served)


def _backwards(runs: Sequence[Run], run: Run) -> str:
    """Return that the clock stands before an earlier run, if it does."""
    latest = max((one.at for one in runs), default="")
    if run.at >= latest:
        return ""
    return f"note: the clock says {run.at}, but a run was made at {latest}; runs count in the order of the history"


def _unknown(judge: Judge) -> str:
    """Return that nobody can tell whether a judge was changed, if it does not say who it is."""
    if judge.fingerprint is not None:
        return ""
    return (
        f"note: {judge.name} has no `fingerprint`, so a change of its code looks like drift, and a stopped run asks "
        "everything again"
    )


def _plan(options: argparse.Namespace, judge: Judge, cases: Sequence[Case], history: History) -> str:
    from calm.gate.prices import clean_plan
    from calm.plugins.watch.comparison import reach_of
    from calm.plugins.watch.history import anchors_of
    from calm.plugins.watch.report import too_few

    reference, number = _reference(options, judge, history), history.count + 1
    runs = history.runs if reference is history.reference else ()
    few = too_few(reach_of(runs, anchors_of(cases), number, reference.promise), number)
    most = clean_plan(judge, cases, reference.asks).most
    return (
        f"run {number} of {judge.name}: {len(cases)} anchors, {reference.asks} asks each; no call is made\n"
        f"at most {most.calls} calls, {most.cost}" + (f"\n{few}" if few else "")
    )


def _write(options: argparse.Namespace, record: Json) -> None:
    from calm.results.outputs import WATCH, write_whole

    body = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(Path(options.out), [f"{body}\n"], WATCH)


def _summed_up(options: argparse.Namespace, page: str, *written: str) -> None:
    """Write the summary, if one is wanted, and say what was written."""
    from calm.results.outputs import WATCH_PAGE, write_whole

    if options.summary:
        write_whole(Path(options.summary), [page], WATCH_PAGE)
    print(printable(f"wrote {' and '.join(filter(None, (*written, options.summary)))}"))
