"""The run of an agent as a case has it, read of what happened: its question, its steps, and its answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from calm.cases.foreign.result import listed
from calm.cases.logs.events import (
    AGENT,
    SYSTEM,
    USER,
    Beside,
    Call,
    Event,
    Missing,
    Returned,
    Said,
    Thought,
)
from calm.cases.logs.values import clean
from calm.cases.messages import unpacked

NO_ANSWER: Final = "(The run ended without an answer.)"
"""What stands in place of an answer that an agent did not give."""
_ENDS: Final = (
    *("finish", "submit", "final_answer", "submit_answer", "submit_final_answer", "finish_task", "complete_task"),
    *("task_complete", "attempt_completion", "answer", "done"),
)
"""Tools that take the answer of a run and end it."""
_SIGNS: Final = ("status", "outcome", "state", "verdict")
"""Under these such a tool is given how the run went, which is no answer."""
_WORDS: Final = 3
"""A question of fewer words may stand in a message by chance."""
_HUGE: Final = 100_000
"""A result with more characters is named: many models take no prompt that holds it."""


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

    def take(self, other: Remarks) -> None:
        """Note all that others hold."""
        for what, records in other.records.items():
            for record in records:
                self.add(what, record)

    def notes(self) -> Iterator[str]:
        """Yield one note for each thing."""
        for what, records in self.records.items():
            yield f"{listed(records)}: {what}"


def acts(events: Sequence[Event]) -> bool:
    """Return whether the agent speaks or acts in a run."""
    return any(isinstance(event, Call) or _by(event, AGENT) for event in events)


def said_at(events: Sequence[Event], text: str) -> int | None:
    """Return where a user says a text before the agent is done, alone, or among others if it is no mere word or two."""
    wanted = text.strip()
    last = max(place for place, event in enumerate(events) if isinstance(event, Call) or _by(event, AGENT))
    said = {
        place: clean(event.text).strip()
        for place, event in enumerate(events[:last])
        if isinstance(event, Said) and event.role == USER
    }
    same = [place for place, words in said.items() if words and words == wanted]
    among = [place for place, words in said.items() if wanted in words] if len(wanted.split()) >= _WORDS else []
    return next(iter([*same, *among]), None)


def shared_question(runs: Sequence[Sequence[Event]]) -> int | None:
    """Return where the last words of a user are in what all runs begin with; None without any."""
    found = None
    for place, events in enumerate(zip(*runs, strict=False)):
        if any(event != events[0] for event in events):
            break
        found = place if _by(events[0], USER) else found
    return found


def run_of(events: Sequence[Event], question: str, number: int, remarks: Remarks, asked: int | None = None) -> Run:
    """
    Return a run of what happened.

    Its question is what the user said last before the last call (without calls: before the last words of the agent),
    its answer what the agent says after the last call, before the user speaks again. Words before a call are thoughts.

    Args:
        events: what happened.
        question: the question where no message of a user holds it.
        number: the number of the record.
        remarks: takes what is worth a note.
        asked: the place of the question; -1 for none, so that all that a user says belongs to the run; None: as above.
    """
    reading = _Reading(events, _Places.of(events, asked), number, remarks)
    for place, event in enumerate(events):
        reading.take(place, event)
    reading.end()
    said = events[reading.at.asked] if reading.at.asked >= 0 else None
    wanted = said.text if isinstance(said, Said) else question
    if not wanted and reading.turns and reading.turns[-1][0] == SYSTEM:
        wanted = reading.turns.pop()[1]
    return Run(tuple(reading.turns), clean(wanted), tuple(reading.steps), clean(reading.answer))


def _by(event: Event, role: str) -> bool:
    return isinstance(event, Said) and event.role == role


@dataclass(frozen=True, slots=True)
class _Places:
    """
    Where the parts of a run are: its first act, its question, its answer and its end; -1 for none.

    `ending` is the call whose argument is the answer, of a run that ends in it.
    """

    first: int
    asked: int
    answered: int
    ending: int
    last: int

    @classmethod
    def of(cls, events: Sequence[Event], asked: int | None) -> _Places:
        calls = [place for place, event in enumerate(events) if isinstance(event, Call)]
        words = [place for place, event in enumerate(events) if _by(event, AGENT)]
        users = [place for place, event in enumerate(events) if _by(event, USER)]
        if asked is None:
            asked = max((place for place in users if place < (calls or words)[-1]), default=-1)
        begin = max(asked, calls[-1] if calls else -1)
        after = next((place for place in words if place > begin), None)
        answered = -1
        if after is not None:
            end = next((place for place in users if place > after), len(events))
            answered = max(place for place in words if begin < place < end)
        ends = calls and answered < 0 and calls[-1] > asked and _final_text(events[calls[-1]])
        last = answered if answered >= 0 else max((*calls, *words))
        return cls(min((*calls, *words)), asked, answered, calls[-1] if calls and ends else -1, last)


def _final_text(event: Event) -> str:
    """Return the answer that a call of `finish`, `submit` or a similar tool brings: its one text; "" without one."""
    if not isinstance(event, Call) or event.tool.strip().lower().replace("-", "_") not in _ENDS:
        return ""
    given = unpacked(event.arguments)
    if isinstance(given, Mapping):
        texts = [text for key, text in given.items() if isinstance(text, str) and text.strip() and key not in _SIGNS]
        return texts[0] if len(texts) == 1 else ""
    plain = event.arguments.strip()
    return "" if plain.startswith(("{", "[")) else plain


@dataclass(slots=True)
class _Reading:
    """What was read of a run so far."""

    events: Sequence[Event]
    at: _Places
    number: int
    remarks: Remarks
    turns: list[tuple[str, str]] = field(default_factory=list)
    steps: list[dict[str, str]] = field(default_factory=list)
    answer: str = NO_ANSWER
    thoughts: list[str] = field(default_factory=list)
    waiting: list[tuple[Call, dict[str, str]]] = field(default_factory=list)
    """The calls without a result, each with its step."""
    called: dict[str, dict[str, str]] = field(default_factory=dict)
    early: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The results that came before their calls, by id."""
    latest: dict[str, str] | None = None
    """The step that got the last result."""
    ended: dict[str, str] | None = None
    """What takes the result of the call that brings the answer, such as "Submitted."."""
    calls: dict[str, int] = field(init=False)
    """The place of the last call with each id."""

    def __post_init__(self) -> None:
        """Look for the calls."""
        self.calls = {event.id: place for place, event in enumerate(self.events) if isinstance(event, Call)}

    def take(self, place: int, event: Event) -> None:
        """Take the next event."""
        match event:
            case Said(text=text) if place == self.at.answered:
                self.answer = text
            case Said() if place != self.at.asked:
                self._said(place, event)
            case Thought(text) if place <= self.at.last or self.at.answered < 0:
                self.thoughts.append(text.strip())
            case Call():
                self._called(place, event)
            case Returned():
                self._returned(place, event)
            case Beside(text):
                self._beside(text)
            case Missing(what):
                self._remark(f"a part that is no text is shown as [{what}]")

    def end(self) -> None:
        """Close the run."""
        self._think_alone()
        if any(step is not self.ended for _, step in self.waiting):
            self._remark("a call has no result")
        if any(place < self.at.asked for place in self.calls.values()):
            self._remark("the user spoke between calls: all calls come first, in their order, before the answer")
        if self.answer == NO_ANSWER:
            self._remark(f"the run ends without an answer; in its place is {NO_ANSWER}")

    def _said(self, place: int, said: Said) -> None:
        if place > self.at.last:
            self._remark("messages after the answer are left out")
        elif said.role == AGENT and (said.before_call or place > self.at.asked):
            self.thoughts.append(said.text.strip())
        elif place < self.at.asked or (said.role == SYSTEM and place < self.at.first):
            self._think_alone()
            self.turns.append((said.role, clean(said.text)))
        else:
            self._think_alone()
            self.steps.append({"thought": "", "tool": said.role, "arguments": "", "result": clean(said.text)})
            self._remark(f"what the {said.role} said during the run is a step of its own, as of a tool {said.role!r}")

    def _called(self, place: int, call: Call) -> None:
        if place == self.at.ending:
            self._think_alone()
            self.answer = _final_text(call)
            self._remark(f"the answer is the text with which the agent called {clean(call.tool)!r}: it is no step")
            self.ended = {"result": ""}
            self._wait(call, self.ended)
            return
        tool = clean(call.tool).strip() or "tool"
        step = {"thought": self._thought(), "tool": tool, "arguments": clean(call.arguments), "result": ""}
        self.steps.append(step)
        self._wait(call, step)

    def _wait(self, call: Call, step: dict[str, str]) -> None:
        """Let a call wait for its result, unless that is there."""
        if self.early[call.id]:
            step["result"] = self.early[call.id].pop(0)
        else:
            self.waiting.append((call, step))
        if call.id:
            self.called[call.id] = step

    def _returned(self, place: int, given: Returned) -> None:
        """Put a result beside its call: by its id, else by the name of the tool, else in order; alone if none is."""
        text = clean(given.text)
        if len(text) > _HUGE:
            self._remark(f"a result of a tool has more than {_HUGE:,} characters; it was not cut")
        step = self._step_of(given)
        if step is None and given.id and self.calls.get(given.id, -1) > place:
            self.early[given.id].append(text)
            return
        if step is None:
            self._remark("a result belongs to no call: it is a step of its own")
            step = {"thought": "", "tool": clean(given.tool).strip() or "tool", "arguments": "", "result": ""}
            self.steps.append(step)
        self.latest = step
        step["result"] = f"{step['result']}\n{text}" if step["result"] else text
        self.waiting = [(call, one) for call, one in self.waiting if one is not step]

    def _step_of(self, given: Returned) -> dict[str, str] | None:
        """Return the step of a result; of several calls with its id that of the last message, and there the first."""
        same = [(call, step) for call, step in self.waiting if given.id and call.id == given.id]
        if same:
            return next(step for call, step in same if call.message == same[-1][0].message)
        if given.id in self.called:
            return self.called[given.id]
        named = [step for call, step in self.waiting if given.tool in ("", call.tool) and not (given.id and call.id)]
        return named[0] if named else None

    def _beside(self, text: str) -> None:
        self._remark("words beside a result of a tool were put at the end of this result")
        if self.latest is not None:
            self.latest["result"] = f"{self.latest['result']}\n{clean(text)}".strip("\n")

    def _thought(self) -> str:
        text = "\n\n".join(self.thoughts)
        self.thoughts.clear()
        return clean(text)

    def _think_alone(self) -> None:
        if any(self.thoughts):
            self.steps.append({"thought": self._thought()})

    def _remark(self, what: str) -> None:
        self.remarks.add(what, self.number)
