"""Runs of agents in logs: their events, their outcome, and the gold that follows."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, TypeGuard

from calm.cases.foreign.columns import is_number
from calm.cases.foreign.records import listed, shown
from calm.cases.logs.values import clean
from calm.cases.rows import ROLES, dig, in_place_of, kind_of, refusal_in, role_in, string, unpacked
from calm.core.verdict import Scale

USER: Final = "user"
AGENT: Final = "assistant"
SYSTEM: Final = "system"
_TOOL: Final = "tool"
_KNOWN: Final = (USER, AGENT, SYSTEM, _TOOL)
_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
_SHOWN: Final = ("image", "document")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
ERROR: Final = "Error: "
"""How the result of a call begins that its log calls an error by another sign than its text."""


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said to the other; `before_call` where the same message calls a tool."""

    role: str
    text: str
    before_call: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """What the agent thought."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, with its arguments as JSON; `message` is the place of its message, which may hold several."""

    id: str
    tool: str
    arguments: str
    message: int = 0


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call gave."""

    id: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Beside:
    """Words in the message that brings a result of a tool, such as a reminder: they belong to this result."""

    text: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is no text, such as an image; its kind in brackets takes its place."""

    what: str


Event: TypeAlias = Said | Thought | Call | Returned | Beside | Missing


class NotMessages(ValueError):
    """What is no list of messages: where, and why."""


class NoMessages(NotMessages):
    """A record without messages, as of a run that failed before its first one."""


def events_of(messages: object) -> list[Event]:
    """
    Return what happens in a list of messages or items, in its order.

    Raises:
        NotMessages: it is no list, or something in it is no message.
    """
    if isinstance(messages, str):
        return [Said(USER, messages)]
    if not isinstance(messages, list):
        raise NotMessages(f"expected a list of messages, got {type(messages).__name__}")
    return [
        replace(event, message=place) if isinstance(event, Call) else event
        for place, one in enumerate(messages)
        for event in _of_message(one, place)
    ]


def _of_message(one: object, place: int) -> Iterator[Event]:
    if not isinstance(one, Mapping):
        raise NotMessages(f"message {place + 1}: expected an object with role and content")
    kind = str(one.get("type", ""))
    if kind == "reasoning":
        yield from _thoughts(one.get("summary"))
        yield from _thoughts(one.get("content"))
    elif kind.endswith("_call") and "role" not in one:
        yield from _of_item(one, kind)
    elif kind.endswith(("_call_output", "_call_response")):
        yield Returned(_text_at(one, "call_id"), "", _result(one.get("output"), error=_is_error(one)))
    else:
        role = role_in(one)
        if role not in _KNOWN:
            known = ", ".join((*_KNOWN, *ROLES))
            raise NotMessages(f"message {place + 1}: role: expected one of {known}, got {role[:40]!r}")
        yield from _of_role(one, role)


def _of_item(one: Mapping[str, object], kind: str) -> Iterator[Event]:
    """Yield the call of an item of Responses; a tool of the server's own brings its result along."""
    name = _text_at(one, "name") or kind.removesuffix("_call")
    key = _text_at(one, "call_id") or _text_at(one, "id")
    given = next((one[key] for key in ("arguments", "input", "action", "queries", "code") if one.get(key)), None)
    yield Call(key, name, _json(given))
    held = next((one[key] for key in ("output", "results", "outputs") if one.get(key) is not None), None)
    if one.get("error") is not None:
        yield Returned(key, name, _result(one["error"], error=True))
    elif held is not None:
        yield Returned(key, name, _result(held))


def _of_role(one: Mapping[str, object], role: str) -> Iterator[Event]:
    content = one.get("content")
    if role == _TOOL:
        key = _text_at(one, "tool_call_id") or _text_at(one, "id")
        yield Returned(key, _text_at(one, "name"), _result(content, error=_is_error(one)))
        return
    if role == AGENT:
        yield from _thoughts(one.get("reasoning_content") or one.get("reasoning"))
    calls = list(_calls_beside(one))
    yield from _of_content(content or refusal_in(one), role, called=bool(calls))
    yield from calls


def _calls_beside(one: Mapping[str, object]) -> Iterator[Call]:
    """Yield the calls that stand beside the content of a message: `tool_calls`, and the older `function_call`."""
    listed = one.get("tool_calls")
    for call in listed if isinstance(listed, list) else []:
        if isinstance(call, Mapping):
            inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), Mapping)), call)
            given = next((inner[key] for key in ("arguments", "args", "input") if inner.get(key) is not None), None)
            yield Call(_text_at(call, "id"), _text_at(inner, "name") or "tool", _json(given))
    older = one.get("function_call")
    if isinstance(older, Mapping):
        yield Call("", _text_at(older, "name") or "tool", _json(older.get("arguments")))


def _of_content(content: object, role: str, *, called: bool) -> Iterator[Event]:
    """Yield what the parts of a content are; its texts in a row are said together, those beside a result last."""
    parts = content if isinstance(content, list) else [] if content is None else [content]
    kinds = [_kind(part) for part in parts]
    called = called or any(kind in _CALLS for kind in kinds)
    brings = role == USER and any(kind.endswith("tool_result") for kind in kinds)
    beside: list[str] = []
    said: list[str] = []
    for part, kind in zip(parts, kinds, strict=True):
        text = _text_of(part)
        if text is not None:
            (beside if brings else said).append(text)
            continue
        if kind in ("thinking", "redacted_thinking", "reasoning", *_CALLS) or kind.endswith("tool_result"):
            if any(map(str.strip, said)):
                yield Said(role, "\n".join(said), called)
            said = []
            yield from _of_block(part if isinstance(part, Mapping) else {}, kind)
        else:
            (beside if brings else said).append(in_place_of(part))
            yield Missing(kind_of(part))
    if any(map(str.strip, said)):
        yield Said(role, "\n".join(said), called)
    if any(map(str.strip, beside)):
        yield Beside("\n".join(beside))


def _of_block(block: Mapping[str, object], kind: str) -> Iterator[Event]:
    if kind in _CALLS:
        given = block.get("input", block.get("arguments"))
        yield Call(_text_at(block, "id"), _text_at(block, "name") or "tool", _json(given))
    elif kind.endswith("tool_result"):
        name = kind.removesuffix("_tool_result") if kind != "tool_result" else ""
        yield Returned(_text_at(block, "tool_use_id"), name, _result(block.get("content"), error=_is_error(block)))
    elif kind == "redacted_thinking":
        yield Missing("redacted thinking")
    else:
        yield from _thoughts(block.get("thinking") or block.get("summary") or block.get("text"))


def _thoughts(value: object) -> Iterator[Thought]:
    text = value if isinstance(value, str) else "\n".join(_texts(value))
    if text.strip():
        yield Thought(text)


def _texts(value: object) -> list[str]:
    parts = value if isinstance(value, list) else []
    return [text for part in parts if (text := _text_of(part)) is not None]


def _text_of(part: object) -> str | None:
    """Return the text of a part; None for one that is none."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and (_kind(part) in _TEXTS or "type" not in part):
        found = part.get("text", part.get("refusal"))
        return found if isinstance(found, str) else None
    return None


def _kind(part: object) -> str:
    return str(part.get("type") or "part")[:40] if isinstance(part, Mapping) else "part"


def _result(value: object, *, error: bool = False) -> str:
    """Return what a call gave as a text: texts as they are, parts that are none in brackets, all else as JSON."""
    if isinstance(value, list) and all(_is_part(part) for part in value):
        texts = [text if (text := _text_of(part)) is not None else in_place_of(part) for part in value]
        found = "\n".join(texts)
    else:
        found = _json(value)
    return f"{ERROR}{found}" if error and not found.lower().lstrip("{\"' ").startswith("error") else found


def _is_part(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and (_kind(part) in _TEXTS or kind_of(part) in _SHOWN))


def _is_error(one: Mapping[str, object]) -> bool:
    return one.get("is_error") is True or one.get("status") in ("error", "failed")


def _json(value: object) -> str:
    """Return a text as it is, and any other value as JSON; nothing for none."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_at(one: Mapping[str, object], key: str) -> str:
    found = one.get(key)
    return found if isinstance(found, str) else ""


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


TRUTHS: Final = ("success", "succeeded", "is_success", "passed", "resolved", "solved", "correct", "is_correct")
NUMBERS: Final = ("score", "reward", "rating", "grade")
LABELS: Final = ("label", "outcome", "verdict", "status")
_WITHIN: Final = ("metadata", "info", "evaluation", "eval", "annotations")
_ENDINGS: Final = ("stop_reason", "finish_reason", "termination_reason", "exit_status", "reason", "status")
_ERRORS: Final = ("error", "exception", "error_message")
_ENDED: Final = {
    "a filter": frozenset(("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocked")),
    "a limit": frozenset(
        (
            *("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "timeout"),
            *("max_turns", "max_steps", "max_iterations", "step_limit", "exit_cost", "exit_context"),
        )
    ),
}
"""How the end of a run is called that the agent did not choose."""
_GOLD_WORDS: Final = {
    **dict.fromkeys(("success", "succeeded", "successful", "pass", "passed", "correct", "resolved", "solved"), True),
    **dict.fromkeys(("good", "yes", "true"), True),
    **dict.fromkeys(("failure", "failed", "fail", "unsuccessful", "incorrect", "wrong", "unresolved", "error"), False),
    **dict.fromkeys(("bad", "no", "false"), False),
}


@dataclass(frozen=True, slots=True)
class Worth:
    """What a record says of its run: a finite number, a truth value or a word; `truth` where its name asks for one."""

    value: bool | float | str
    truth: bool = False


def worth_of(row: Mapping[str, object]) -> Worth | None:
    """Return what a record says of its run; None where it says nothing."""
    places = [row, *(row[key] for key in _WITHIN if isinstance(row.get(key), Mapping))]
    for keys in (NUMBERS, TRUTHS, LABELS):
        for place in places:
            for key in keys:
                value = place.get(key) if isinstance(place, Mapping) else None
                if isinstance(value, bool) or (isinstance(value, str) and value):
                    return Worth(value, keys is TRUTHS)
                if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
                    return Worth(float(value), keys is TRUTHS)
    return None


def ended_by(row: Mapping[str, object]) -> str | None:
    """
    Return what a record says of the end of its run, where it is not the agent that ended it; None for nothing.

    >>> ended_by({"choices": [{"finish_reason": "length"}]})
    'its log says that a limit ended the run (length)'
    """
    last = [dig(row, key, -1) for key in ("messages", "choices")]
    inner = [row.get(key) for key in ("response", "incomplete_details", *_WITHIN)]
    within = [dig(row, "response", *steps) for steps in (("choices", -1), ("incomplete_details",))]
    for place in (row, *last, *inner, *within):
        for key in _ENDINGS:
            word = string(place, key).strip().lower()
            for what, words in _ENDED.items():
                if word in words:
                    return f"its log says that {what} ended the run ({word})"
    failed = any(row.get(key) or dig(row, "response", key) for key in _ERRORS) or string(row, "status") == "error"
    return "its log says that the run failed with an error" if failed else None


def gold_of(
    worths: Sequence[Worth | None], scale: Scale | None, words: Mapping[str, float | None]
) -> tuple[list[float | None], list[str]]:
    """
    Return the gold of each run on the scale (None: from 1 to 10), and notes about how it was taken.

    A 1 or a 0 under a name such as `resolved` is a truth value, unless the log counts there: another number above 1.
    Scores that are all 1 are none where no scale is given: the best of 0 to 1, or the worst of 1 to 10.

    >>> gold_of([Worth(1, truth=True), Worth(0, truth=True), Worth(8)], Scale(1, 10), {})[0]
    [10, 1, 8.0]
    """
    on = scale or Scale()
    spelled = [None if one is None else replace(one, value=_spelled(one.value, words)) for one in worths]
    counts = any(one is not None and one.truth and _is_number(one.value) and not 0 <= one.value <= 1 for one in spelled)
    said = [
        None if one is None else bool(one.value) if one.truth and not counts and one.value in (0, 1) else one.value
        for one in spelled
    ]
    numbers = [one for one in said if _is_number(one)]
    ones = bool(numbers) and set(numbers) == {1} and (on.low, on.high) != (0, 1)
    shares = bool(numbers) and all(0 <= number <= 1 for number in numbers) and (on.low, on.high) != (0, 1) and not ones
    notes: list[str] = []
    if shares:
        notes.append(f"scores from 0 to 1 are taken as shares of the scale from {on.low:g} to {on.high:g}")
    if ones and scale is None:
        notes.append(
            f"{len(numbers)} scores are no gold yet: all are 1, the best of 0 to 1 or the worst of 1 to 10; say the "
            "scale with --scale LOW..HIGH"
        )
        said = [None if _is_number(one) else one for one in said]
    if none := Counter(one for one in said if isinstance(one, str) and one in words and words[one] is None):
        notes.append(f"no verdict, so no gold: {', '.join(f'{shown(word)} ({count})' for word, count in none.items())}")
    unknown = Counter(
        one for one in said if isinstance(one, str) and one not in words and one.strip().lower() not in _GOLD_WORDS
    )
    if unknown:
        some = ", ".join(shown(word) for word, _ in unknown.most_common(3))
        notes.append(
            f"{unknown.total()} labels are no gold yet: say what each means: --value WORD=NUMBER, or WORD=none if it "
            f"is no verdict ({some})"
        )
    beyond = [number for number in numbers if not on.low <= number <= on.high]
    if beyond and not shares:
        notes.append(
            f"{len(beyond)} scores lie outside {on.low:g}..{on.high:g}, such as {beyond[0]:g}: say their scale with "
            "--scale LOW..HIGH, and give the judge the same"
        )
    return [_on(one, on, words, shares=shares) for one in said], notes


def _spelled(value: bool | float | str, words: Mapping[str, float | None]) -> bool | float | str:
    """Return the number that a text spells, unless a user explained it; else the value as it is."""
    plain = isinstance(value, str) and value not in words and is_number(value)
    return float(value) if plain else value


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _on(said: object, on: Scale, words: Mapping[str, float | None], *, shares: bool) -> float | None:
    if isinstance(said, str):
        if said in words:
            return words[said]
        said = _GOLD_WORDS.get(said.strip().lower())
    if isinstance(said, bool):
        return on.high if said == (on.best == "high") else on.low
    if isinstance(said, int | float):
        return on.low + said * (on.high - on.low) if shares else float(said)
    return None
