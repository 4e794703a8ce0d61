"""Import the logs of agents: runs as lists of messages, one or several in a file, with gold where a record has some."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeGuard

from calm.cases.foreign.naming import case_id
from calm.cases.foreign.records import Faults, shown
from calm.cases.foreign.result import ImportResult, listed
from calm.cases.logs.events import (
    AGENT,
    SYSTEM,
    USER,
    Call,
    Event,
    Missing,
    NotMessages,
    Returned,
    Said,
    Thought,
    events_of,
)
from calm.cases.logs.opening import documents_of
from calm.core.case import Case, digest
from calm.core.verdict import Scale
from calm.errors import ConfigError

ONLY: Final = "only"
"""The id of a run that stands alone."""
NO_ANSWER: Final = "(The run ended without an answer.)"
"""What stands in place of an answer that an agent did not give."""
PAIR: Final = ("chosen", "rejected")
_MESSAGES: Final = ("messages", "trajectory", "conversation", "transcript", "history", "items", "chat", "traj")
_QUESTIONS: Final = ("question", "task", "goal", "instruction", "prompt", "query")
_REFERENCES: Final = ("reference", "expected", "expected_answer", "expected_output", "ground_truth")
_AUTHORS: Final = ("agent", "model", "author")
_IDS: Final = ("id", "run_id", "trace_id", "task_id", "instance_id")
_TRUTHS: Final = ("success", "succeeded", "is_success", "passed", "resolved", "solved", "correct", "is_correct")
_NUMBERS: Final = ("score", "reward", "rating", "grade")
_LABELS: Final = ("label", "outcome", "verdict", "status")
_WITHIN: Final = ("metadata", "info", "evaluation", "eval", "annotations")
_WORDS: Final = {
    **dict.fromkeys(("success", "succeeded", "successful", "pass", "passed", "correct", "resolved", "solved"), True),
    **dict.fromkeys(("good", "yes", "true", "1"), True),
    **dict.fromkeys(("failure", "failed", "fail", "unsuccessful", "incorrect", "wrong", "unresolved", "error"), False),
    **dict.fromkeys(("bad", "no", "false", "0"), False),
}
_LOOKED_AT: Final = 20
"""So many records are looked at to tell whether a file holds runs."""
_HUGE: Final = 100_000
"""A result with more characters is named: many models take no prompt that holds it."""
_SIGN_OF_NUL: Final = "\N{SYMBOL FOR NULL}"


@dataclass(frozen=True, slots=True)
class Run:
    """One run as a case has it: the turns before its question, the question, the steps, and the answer."""

    turns: tuple[tuple[str, str], ...]
    question: str
    steps: tuple[dict[str, str], ...]
    answer: str


@dataclass(slots=True)
class Remarks:
    """In which records something is worth a note, by what it is, in the order in which it was found."""

    records: dict[str, list[int]] = field(default_factory=dict)

    def add(self, what: str, record: int) -> None:
        """Note something about a record, once."""
        found = self.records.setdefault(what, [])
        if record not in found:
            found.append(record)

    def notes(self) -> Iterator[str]:
        """Yield one note for each thing."""
        for what, records in self.records.items():
            yield f"{listed(records)}: {what}"


def holds_runs(path: Path) -> bool:
    """Return whether a file holds runs of agents: messages, with calls of tools; False if it cannot be read."""
    try:
        records = _records(documents_of(path))
    except ConfigError:
        return False
    return any(isinstance(event, Call | Returned) for record in records[:_LOOKED_AT] for event in _all_events(record))


def import_runs(
    paths: Sequence[Path], *, scale: Scale | None = None, words: Mapping[str, float] | None = None
) -> ImportResult:
    """
    Return a case for each run of some files, or for each chosen run beside a rejected one.

    A record is a list of messages, or an object with one (`messages`, `input` and `output`, `request` and `response`),
    or with a `chosen` and a `rejected` run. Its gold is what it says of the run: a number, a truth value or a word. A
    truth value is an end of the scale; numbers from 0 to 1 are shares of it, where no record has another one.

    Args:
        paths: files of JSON or of JSON Lines.
        scale: the scale of the gold; None: from 1 to 10.
        words: the scores that words stand for.

    Raises:
        ConfigError: a file that cannot be read, or all records that hold no run, by record.
    """
    on = scale or Scale()
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
    if not drafts:
        raise ConfigError(f"{faults.name}: expected at least one run, got none")
    gold, notes = _gold([draft for _, _, draft in drafts], on, words or {})
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
    faults.settle()
    return ImportResult(tuple(cases), count, (*remarks.notes(), *notes, *_about_gold(cases)))


# ------------------------------------------------------------------------------------------------------------ records


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
    return ("role" in one and "content" in one) or kind == "reasoning" or kind.endswith(("_call", "_call_output"))


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
    elif found is None and record.get("role") == AGENT and "content" in record:
        said += events_of([record])
    elif found is None:
        raise NotMessages(f"expected a list of messages under one of {', '.join(_MESSAGES)}, got none of them")
    return [*system, *said]


def _system(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(str(part.get("text", "")) for part in value if isinstance(part, Mapping)).strip()
    return value if isinstance(value, str) else ""


def _draft(record: object, number: int, faults: Faults, remarks: Remarks) -> dict[str, object] | None:
    """Return a record as a case, with what it says of the worth of its runs under `gold`; None, and a fault, if not."""
    row = record if isinstance(record, Mapping) else {}
    sides = [key for key in PAIR if key in row]
    if len(sides) == 1:
        faults.add(number, sides[0], f"expected a chosen and a rejected run, got {sides[0]} alone; add the other one")
        return None
    runs: list[Run] = []
    for side in sides or [""]:
        try:
            events = _before(row, _events(row[side])) if side else _events(record)
            runs.append(_run(events, _first(row, _QUESTIONS), number, remarks))
        except NotMessages as error:
            faults.add(number, side or "record", f"{error}")
            return None
    if len({run.question for run in runs}) > 1:
        faults.add(number, PAIR[1], "expected a run with the question of the chosen one, got another; pair them up")
        return None
    first = runs[0]
    if not first.question.strip():
        faults.add(number, "record", 'expected a message of a user, or a question, got none; add "question": "..."')
        return None
    return {
        "id": _first(row, _IDS),
        "question": first.question,
        "turns": first.turns,
        "runs": runs,
        "reference": _first(row, _REFERENCES) or None,
        "author": _first(row, _AUTHORS) or None,
        "gold": None if sides else _said_of(row),
    }


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
            return value.strip() if key in _IDS else value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


# --------------------------------------------------------------------------------------------------------------- runs


def _run(events: Sequence[Event], question: str, number: int, remarks: Remarks) -> Run:
    """Return a run of what happened: who asked last is the question, the last words of the agent are the answer."""
    acts = [place for place, event in enumerate(events) if isinstance(event, Call) or _by(event, AGENT)]
    if not acts:
        raise NotMessages("expected a message or a call of the assistant, got none")
    asked = max((place for place, event in enumerate(events[: acts[-1]]) if _by(event, USER)), default=-1)
    answered = max((place for place, event in enumerate(events) if place > asked and _by(event, AGENT)), default=-1)
    reading = _Reading(asked, answered, acts[0], number, remarks)
    for place, event in enumerate(events):
        reading.take(place, event)
    reading.end()
    first = next((place for place, event in enumerate(events) if _by(event, USER)), 0)
    if any(isinstance(event, Call) for event in events[first : max(asked, 0)]):
        remarks.add("the user spoke between calls: all calls stand together, in their order, before the answer", number)
    said = events[asked] if asked >= 0 else None
    wanted = said.text if isinstance(said, Said) else question
    if not wanted and reading.turns and reading.turns[-1][0] == SYSTEM:
        wanted = reading.turns.pop()[1]
    answer = events[answered] if answered >= 0 else None
    text = answer.text if isinstance(answer, Said) else NO_ANSWER
    return Run(tuple(reading.turns), _clean(wanted), tuple(reading.steps), _clean(text))


def _by(event: Event, role: str) -> bool:
    return isinstance(event, Said) and event.role == role


@dataclass(slots=True)
class _Reading:
    """What was read of a run so far; `asked` and `answered` are the places of the question and of the answer."""

    asked: int
    answered: int
    first_act: int
    number: int
    remarks: Remarks
    turns: list[tuple[str, str]] = field(default_factory=list)
    steps: list[dict[str, str]] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[str, dict[str, str]] = field(default_factory=dict)
    waiting: list[dict[str, str]] = field(default_factory=list)

    def take(self, place: int, event: Event) -> None:
        """Take the next event."""
        match event:
            case Said() if place not in (self.asked, self.answered):
                self._said(place, event)
            case Thought(text):
                self.thoughts.append(text.strip())
            case Call():
                self._called(event)
                if 0 <= self.answered < place:
                    self._remark("tools were called after the last words of the agent, which are the answer")
            case Returned():
                self._returned(event)
            case Missing(what):
                self._remark(f"a part that is no text stands as [{what}]")

    def end(self) -> None:
        """Close the run."""
        self._think_alone()
        if self.waiting:
            self._remark("a call has no result")
        if self.answered < 0:
            self._remark(f"the run ends without an answer, in place of which stands {NO_ANSWER}")

    def _said(self, place: int, said: Said) -> None:
        if said.role == AGENT and (said.before_call or place > self.asked):
            self.thoughts.append(said.text.strip())
        elif place < self.asked or (said.role == SYSTEM and place < max(self.asked, self.first_act)):
            self._think_alone()
            self.turns.append((said.role, _clean(said.text)))
        else:
            self._remark("what was said after the last answer is left out")

    def _called(self, call: Call) -> None:
        step = {"thought": self._thought(), "tool": call.tool, "arguments": _clean(call.arguments), "result": ""}
        self.steps.append(step)
        self.waiting.append(step)
        if call.id:
            self.calls[call.id] = step

    def _returned(self, given: Returned) -> None:
        """Put a result beside its call: by its id, else by the name of the tool, else in order; alone if none is."""
        text = _clean(given.text)
        if len(text) > _HUGE:
            self._remark(f"a result of a tool has more than {_HUGE:,} characters, and none of it is cut")
        step = self.calls.get(given.id)
        if step is None:
            step = next((one for one in self.waiting if given.tool in ("", one["tool"]) and not given.id), None)
        if step is None:
            self._remark("a result belongs to no call: it is a step of its own")
            self.steps.append({"thought": "", "tool": given.tool or "tool", "arguments": "", "result": text})
            return
        step["result"] = f"{step['result']}\n{text}" if step["result"] else text
        self.waiting = [one for one in self.waiting if one is not step]

    def _thought(self) -> str:
        text = "\n\n".join(self.thoughts)
        self.thoughts.clear()
        return _clean(text)

    def _think_alone(self) -> None:
        if self.thoughts:
            self.steps.append({"thought": self._thought()})

    def _remark(self, what: str) -> None:
        self.remarks.add(what, self.number)


def _clean(text: str) -> str:
    """Return a text that a file of cases can hold: a NUL, and half a character, become signs that are seen."""
    return text.replace("\0", _SIGN_OF_NUL).encode("utf-8", "replace").decode()


# --------------------------------------------------------------------------------------------------------------- gold


def _said_of(row: Mapping[str, object]) -> object:
    """Return what a record says of its run: a number, a truth value or a word; None without any."""
    places = [row, *(row[key] for key in _WITHIN if isinstance(row.get(key), Mapping))]
    for keys in (_NUMBERS, _TRUTHS, _LABELS):
        for place in places:
            for key in keys:
                value = place.get(key) if isinstance(place, Mapping) else None
                if isinstance(value, bool | int | float | str) and value != "":
                    return value
    return None


def _gold(
    drafts: Sequence[Mapping[str, object]], on: Scale, words: Mapping[str, float]
) -> tuple[list[float | None], list[str]]:
    """Return the gold of each run on the scale, and notes about how it was taken."""
    said = [draft["gold"] for draft in drafts]
    numbers = [float(one) for one in said if isinstance(one, int | float) and not isinstance(one, bool)]
    shares = bool(numbers) and all(0 <= number <= 1 for number in numbers) and (on.low, on.high) != (0, 1)
    notes: list[str] = []
    if shares:
        notes.append(f"scores from 0 to 1 are taken as shares of the scale from {on.low:g} to {on.high:g}")
    unknown = Counter(
        one for one in said if isinstance(one, str) and one not in words and one.strip().lower() not in _WORDS
    )
    if unknown:
        some = ", ".join(shown(word) for word, _ in unknown.most_common(3))
        notes.append(f"{unknown.total()} labels are no gold yet: say what each means: --value WORD=NUMBER ({some})")
    beyond = [number for number in numbers if not on.low <= number <= on.high]
    if beyond and not shares:
        notes.append(
            f"{len(beyond)} scores lie outside {on.low:g}..{on.high:g}, such as {beyond[0]:g}: say their scale with "
            "--scale LOW..HIGH, and give the judge the same"
        )
    return [_on(one, on, words, shares=shares) for one in said], notes


def _on(said: object, on: Scale, words: Mapping[str, float], *, shares: bool) -> float | None:
    if isinstance(said, str):
        if said in words:
            return words[said]
        said = _WORDS.get(said.strip().lower())
    if isinstance(said, bool):
        return on.high if said == (on.best == "high") else on.low
    if isinstance(said, int | float) and math.isfinite(said):
        return on.low + said * (on.high - on.low) if shares else float(said)
    return None


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


def _author(draft: Mapping[str, object], count: int) -> dict[str, object]:
    return {"author": draft["author"]} if draft["author"] and count == 1 else {}


def _about_gold(cases: Sequence[Case]) -> Iterator[str]:
    gold = sum(1 for case in cases if case.better or case.scores)
    if not gold:
        keys = ", ".join((_TRUTHS[0], _NUMBERS[0], _LABELS[0]))
        yield f"no run has gold: add to each record one of {keys}, or write chosen and rejected runs"
    elif gold < len(cases):
        yield f"{len(cases) - gold} of {len(cases)} runs have no gold"
