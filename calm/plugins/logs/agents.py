"""Import the logs of agents: runs as lists of messages, one or several in a file, with gold where a record has some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeGuard

from calm.cases.foreign.records import Faults, ImportResult, case_id
from calm.cases.logs.values import clean
from calm.cases.rows import MOST, role_in
from calm.core.case import Case, digest
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.plugins.logs.opening import documents_of, is_log
from calm.plugins.logs.runs import (
    AGENT,
    LABELS,
    NUMBERS,
    SYSTEM,
    TRUTHS,
    USER,
    Call,
    Event,
    NoMessages,
    NotMessages,
    Remarks,
    Returned,
    Run,
    Said,
    Worth,
    acts,
    ended_by,
    events_of,
    gold_of,
    run_of,
    said_at,
    shared_question,
    worth_of,
)

ONLY: Final = "only"
"""The id of a run that stands alone."""
PAIR: Final = ("chosen", "rejected")
_MESSAGES: Final = ("messages", "trajectory", "conversation", "transcript", "history", "items", "chat", "traj")
_SAID: Final = ("content", "tool_calls", "function_call", "refusal", "reasoning_content")
"""What a message holds beside its role: one of these, as a dump that leaves out what is empty has no content."""
_QUESTIONS: Final = ("question", "task", "goal", "instruction", "prompt", "query")
_REFERENCES: Final = ("reference", "expected", "expected_answer", "expected_output", "ground_truth")
_AUTHORS: Final = ("agent", "model", "author")
_IDS: Final = ("id", "run_id", "trace_id", "task_id", "instance_id")
_LOOKED_AT: Final = 20
"""So many records are looked at to tell whether a file holds runs."""


def holds_runs(path: Path) -> bool:
    """Return whether a file holds runs of agents: messages, with calls of tools, and no log of verdicts; else False."""
    if is_log(path):
        return False
    try:
        records = _records(documents_of(path))
    except ConfigError:
        return False
    return any(isinstance(event, Call | Returned) for record in records[:_LOOKED_AT] for event in _all_events(record))


def import_runs(
    paths: Sequence[Path], *, scale: Scale | None = None, words: Mapping[str, float | None] | None = None
) -> ImportResult:
    """
    Return a case for each run of some files, or for each chosen run beside a rejected one.

    A record is a list of messages, or an object with one (`messages`, `input` and `output`, `request` and `response`),
    or with a `chosen` and a `rejected` run. Its gold is what it says of the run: a number, a truth value or a word. A
    truth value is an end of the scale; numbers from 0 to 1 are shares of it, where no record has another one.

    Args:
        paths: files of JSON or of JSON Lines.
        scale: the scale of the gold; None: from 1 to 10.
        words: the scores that words mean; None: they are no verdict.

    Raises:
        ConfigError: a file that cannot be read, all records that cannot be understood, or why no record holds a run.
    """
    drafts: list[tuple[str, int, dict[str, object]]] = []
    remarks = Remarks()
    count = 0
    faults = Faults(str(paths[0]))
    for path in paths:
        faults.name = str(path)
        for record in _records(documents_of(path)):
            count += 1
            draft = _draft(record, count, faults, remarks)
            if draft is not None:
                drafts.append((path.name, count, draft))
    faults.name = ", ".join(map(str, paths))
    faults.settle()
    gold, notes = gold_of([_worth(draft) for _, _, draft in drafts], scale, words or {})
    questions = Counter(str(draft["question"]) for _, _, draft in drafts)
    ids = Counter(str(draft["id"]) for _, _, draft in drafts if draft["id"])
    cases: list[Case] = []
    for (name, record, draft), score in zip(drafts, gold, strict=True):
        row = _row(draft, score, again=questions[str(draft["question"])] > 1)
        own = str(draft["id"])
        if not own:
            named = case_id(name, record, row)
        else:
            named = own if ids[own] == 1 else f"{own}-{digest('run', record, row['answers'])[:8]}"
        case = faults.case({"id": named, **row}, record)
        cases += [] if case is None else [case]
    return faults.result(cases, count, (*remarks.notes(), *notes, *_about_gold(cases)))


def _records(documents: Sequence[object]) -> list[object]:
    """Return the records of a file: a list of messages is one, and so is each object or list of messages in a list."""
    if documents and all(_is_message(one) for one in documents):
        return [list(documents)]
    inner = documents[0] if len(documents) == 1 else None
    if isinstance(inner, Mapping) and isinstance(inner.get("runs"), list):
        return list(inner["runs"])
    return list(documents)


def _is_message(one: object) -> TypeGuard[Mapping[str, object]]:
    if not isinstance(one, Mapping):
        return False
    kind = str(one.get("type", ""))
    said = "role" in one and any(key in one for key in _SAID)
    return said or kind == "reasoning" or kind.endswith(("_call", "_call_output"))


def _all_events(record: object) -> list[Event]:
    found: list[Event] = []
    sides = [record[key] for key in PAIR if key in record] if isinstance(record, Mapping) else []
    for side in sides or [record]:
        try:
            found += _events(side)
        except NotMessages:
            continue
    return found


def _events(record: object) -> list[Event]:
    """
    Return what happens in a record.

    Raises:
        NotMessages: it holds no list of messages.
    """
    if record is None:
        raise NoMessages("no run")
    if not isinstance(record, Mapping):
        return events_of(record)
    system = [
        Said(SYSTEM, text) for text in (_system(record.get("system")), _system(record.get("instructions"))) if text
    ]
    if "request" in record or "response" in record:
        parts = [_events(record[key]) for key in ("request", "response") if isinstance(record.get(key), Mapping)]
        return [*system, *(event for part in parts for event in part)]
    found = next((record[key] for key in _MESSAGES if isinstance(record.get(key), list)), None)
    if found is None and isinstance(record.get("output"), list):
        before = record.get("input")
        found = [*(events_of(before) if isinstance(before, str | list) else []), *events_of(record["output"])]
        return [*system, *found]
    said = [] if found is None else events_of(found)
    choices = record.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        said += events_of([choices[0].get("message")])
    elif found is None and role_in(record) == AGENT and _is_message(record):
        said += events_of([record])
    elif found is None:
        raise NoMessages(f"no list of messages under one of {', '.join(_MESSAGES)}")
    return [*system, *said]


def _system(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(str(part.get("text", "")) for part in value if isinstance(part, Mapping)).strip()
    return value if isinstance(value, str) else ""


def _draft(record: object, number: int, faults: Faults, remarks: Remarks) -> dict[str, object] | None:
    """Return a record as a case, with what it says of the worth of its runs under `gold`; None, and why, if not."""
    row = record if isinstance(record, Mapping) else {}
    sides = [key for key in PAIR if key in row]
    if len(sides) == 1:
        faults.add(number, sides[0], f"expected a chosen and a rejected run, got {sides[0]} alone; add the other one")
        return None
    happened: list[list[Event]] = []
    ending = ended_by(row)
    for side in sides or [""]:
        try:
            events = _before(row, _events(row[side])) if side else _events(record)
        except NoMessages as error:
            faults.leave(number, f"{error}{'' if ending is None else f'; {ending}'}")
            return None
        except NotMessages as error:
            faults.add(number, side or "record", f"{error}")
            return None
        if not acts(events):
            faults.leave(number, f"no word and no call of the agent{'' if ending is None else f'; {ending}'}")
            return None
        happened.append(events)
    calls = max(sum(isinstance(event, Call) for event in events) for events in happened)
    runs = [] if calls > MOST else _runs(row, happened, number, faults, remarks)
    if calls > MOST or any(max(len(run.steps), len(run.turns)) > MOST for run in runs):
        faults.leave(number, f"a run of more than {MOST:,} steps or turns, and a case holds no more")
        return None
    if not runs:
        return None
    if ending is not None:
        remarks.add(ending, number)
    first = runs[0]
    if not first.question.strip():
        faults.leave(number, 'no message of a user and no question (add "question": "...")')
        return None
    return {
        "id": _first(row, _IDS),
        "question": first.question,
        "turns": first.turns,
        "runs": runs,
        "reference": _first(row, _REFERENCES) or None,
        "author": _first(row, _AUTHORS) or None,
        "gold": None if sides else worth_of(row),
    }


def _runs(
    row: Mapping[str, object], happened: Sequence[Sequence[Event]], number: int, faults: Faults, remarks: Remarks
) -> list[Run]:
    """
    Return the runs of a record, all of one question; none, and a fault, if they are not.

    The question is the record's own, where the user says it. The question of a pair whose runs differ before theirs is
    the last one that both share, or the record's own.
    """
    own = _first(row, _QUESTIONS)
    said = [said_at(events, own) for events in happened]
    asked = said if None not in said else [None for _ in happened]
    found = Remarks()
    runs = [run_of(events, own, number, found, at) for events, at in zip(happened, asked, strict=True)]
    several = len({run.question for run in runs}) > 1
    if several or len({run.turns for run in runs}) > 1:
        shared = shared_question(happened)
        if several and shared is None and not own:
            faults.add(number, PAIR[1], "expected a run with the question of the chosen one, got another; pair them up")
            return []
        if several or shared is not None:
            found, place = Remarks(), -1 if shared is None else shared
            runs = [run_of(events, own, number, found, place) for events in happened]
    if len({run.turns for run in runs}) > 1:
        found.add(
            "the messages before the question differ between the two runs: those of the chosen one are kept", number
        )
    if own and own.strip() not in runs[0].question:
        found.add("its own question is left out, as no message of the user before the last call holds it", number)
    remarks.take(found)
    return runs


def _before(row: Mapping[str, object], events: list[Event]) -> list[Event]:
    """Return a run of a pair with the messages that both runs have before theirs, where it does not begin with them."""
    if any(isinstance(event, Said) and event.role == USER for event in events):
        return events
    shared = next((row[key] for key in ("prompt", *_MESSAGES) if isinstance(row.get(key), list | str)), None)
    return events if shared is None else [*events_of(shared), *events]


def _first(row: Mapping[str, object], keys: Iterable[str]) -> str:
    """Return the first text, or whole number as a text, under some keys; "" without one."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, str) and value.strip():
            return clean(value.strip() if key in _IDS else value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def _row(draft: Mapping[str, object], score: float | None, *, again: bool) -> dict[str, object]:
    """Return a draft as a row of calm's own format, without its id; `again`: another case has its question, too."""
    runs = draft["runs"]
    assert isinstance(runs, list)
    alone = f"run-{digest('run', runs[0].answer, list(runs[0].steps))[:8]}" if again else ONLY
    names = PAIR if len(runs) > 1 else (alone,)
    answers = [
        {"id": name, "text": run.answer, "steps": list(run.steps), **_author(draft, len(runs))}
        for name, run in zip(names, runs, strict=True)
    ]
    if len(runs) > 1 and again:
        for answer, run in zip(answers, runs, strict=True):
            answer["id"] = f"{answer['id']}-{digest('run', run.answer, list(run.steps))[:8]}"
    return {
        "question": draft["question"],
        "turns": [{"role": role, "text": text} for role, text in runs[0].turns],
        "answers": answers,
        "reference": draft["reference"],
        "better": answers[0]["id"] if len(runs) > 1 else None,
        "scores": {} if score is None else {alone: score},
    }


def _worth(draft: Mapping[str, object]) -> Worth | None:
    worth = draft["gold"]
    return worth if isinstance(worth, Worth) else None


def _author(draft: Mapping[str, object], count: int) -> dict[str, object]:
    return {"author": draft["author"]} if draft["author"] and count == 1 else {}


def _about_gold(cases: Sequence[Case]) -> Iterator[str]:
    gold = sum(1 for case in cases if case.better or case.scores)
    if not gold:
        keys = ", ".join((TRUTHS[0], NUMBERS[0], LABELS[0]))
        yield f"no run has gold: add to each record one of {keys}, or write chosen and rejected runs"
    elif gold < len(cases):
        yield f"{len(cases) - gold} of {len(cases)} runs have no gold"
