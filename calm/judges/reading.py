"""
A judge's reply to a verdict. A reply that does not say a verdict beyond doubt is `Unreadable`, never a number.

What all formats have in common: blocks of reasoning are taken out first; the last verdict wins; two different ones in
one line, or one that is not on the scale or no label, are unreadable; what stands in a quotation of a judged text is no
verdict. Only the first and the last `MAX_CHARS` characters of a reply are looked at.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal, TypeAlias, get_args

import regex

from calm.core.case import Case, Criterion, Framing
from calm.core.verdict import (
    Criteria,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Task,
    Tie,
    Unreadable,
    Verdict,
)
from calm.errors import ConfigError, nearest
from calm.models.wire import Reply, Token

Kind: TypeAlias = Literal["brackets", "json", "last-line", "tag", "regex", "logprobs"]

MAX_CHARS = 200_000
"""Characters at each end of a reply that are looked at; what lies between is not."""

REGEX_LIMIT_S = 0.5
"""Seconds of processor time that a user's regular expression may take on one reply."""

MAX_MARKS = 200
"""Verdicts that are looked at, from the end of a reply; a judge writes one."""

MAX_BROKEN = 1_000
"""Openings of JSON objects that may turn out not to be JSON before a reply is given up."""

MIN_QUOTE = 5
"""Characters from which on a quotation can be told from a bare verdict in quotes: the length of `[[A]]`."""

REFUSAL_CHARS = 800
"""Up to this length a reply without a verdict can be a refusal; a longer one has said something else."""

SYMBOLS = ("first", "second", "tie", "met", "unmet")
"""What a label can stand for, beside a number."""


@dataclass(frozen=True, slots=True)
class Format:
    """
    How a judge writes its verdict: the `[verdict]` table of judge.toml.

    `field` is a path in JSON such as `result.score` or `scores[0].value`, `tag` the name of a tag, `pattern` a regular
    expression with one group. `values` maps labels, whatever their case, to numbers or to `first`, `second`, `tie`,
    `met`, `unmet`.
    """

    kind: Kind = "brackets"
    field: str = "verdict"
    tag: str = "verdict"
    pattern: str = ""
    values: Mapping[str, float | str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """
    What a verdict is about: the labels by slot and the answer ids that they stand for, scale, criteria, framing.

    `criteria` are criterion ids: for the task rubric the one that is asked about. `judged` are the texts that were put
    before the judge, so that a quotation of them is not taken for a verdict.
    """

    task: Task
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    scale: Scale
    criteria: tuple[str, ...] = ()
    framing: Framing = Framing.STANDARD
    judged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A verdict as written, and where: `start` and `end` in the text that is looked at."""

    start: int
    end: int
    raw: object


@dataclass(frozen=True, slots=True)
class Clash:
    """Two different values for one key of a JSON object."""


def view(case: Case, task: Task, scale: Scale, criterion: Criterion | None = None) -> View:
    """
    Return what a verdict on a case is about.

    Raises:
        ConfigError: the task rubric without a criterion, on a case that has not exactly one.
    """
    asked = tuple(c.id for c in case.criteria)
    if task == "rubric":
        if criterion is None and len(asked) != 1:
            raise ConfigError(
                f"case {case.id}: expected the criterion that is asked about, got criterion=None; "
                f"the task rubric asks one criterion a call, rubric-all asks them together"
            )
        asked = asked if criterion is None else (criterion.id,)
    shown = case.shown
    texts = [case.question, *(a.text for a in shown), *(h for a in shown for h in a.history), case.reference or ""]
    texts += [*case.notes, *case.fields.values(), *case.bylines.values(), *(c.text for c in case.criteria)]
    texts += [t for e in case.examples for t in (e.question, *e.answers)]
    return View(
        task=task,
        labels=case.slot_labels,
        ids=tuple(a.id for a in shown),
        scale=scale,
        criteria=asked,
        framing=case.framing,
        judged=tuple(t for t in texts if t),
    )


def check(form: Format, task: Task) -> list[str]:
    """Return the problems of a format, a line for each; none if it can be used for the task."""
    problems = []
    if form.kind not in get_args(Kind):
        problems.append(f"verdict.format: unknown {form.kind!r}{nearest(str(form.kind), get_args(Kind))}")
    if form.kind == "regex":
        problems += _pattern_problems(form.pattern)
    if form.kind == "json" and _steps(form.field) is None:
        problems.append(f"verdict.field: expected a path such as 'result.score' or 'scores[0]', got {form.field!r}")
    if form.kind == "tag" and not re.fullmatch(r"[A-Za-z_][\w.-]*", form.tag):
        problems.append(f"verdict.tag: expected the name of a tag such as 'verdict', got {form.tag!r}")
    if form.kind == "logprobs" and task in ("rubric-all", "points", "listwise"):
        problems.append(
            f"verdict.format: logprobs reads a verdict of one token, which the task {task} does not have; "
            f"use json or brackets"
        )
    for label, value in form.values.items():
        if isinstance(value, str) and value not in SYMBOLS:
            problems.append(f"verdict.values: {label!r} expects a number or one of {', '.join(SYMBOLS)}, got {value!r}")
        elif not isinstance(value, str) and not math.isfinite(value):
            problems.append(f"verdict.values: {label!r} expects a finite number, got {value!r}")
    return problems


def _pattern_problems(pattern: str) -> list[str]:
    try:
        groups = regex.compile(pattern).groups
    except regex.error as error:
        return [f"verdict.pattern: {error}, in {pattern!r}"]
    if groups != 1:
        return [f"verdict.pattern: expected a regular expression with one group, got {groups} in {pattern!r}"]
    return []


# ---------------------------------------------------------------------------------------------------------------------
# The reply


def read(reply: Reply, form: Format, view: View) -> Verdict:
    """
    Return the verdict that a reply says, with the framing and the scale mapped back.

    Raises:
        ConfigError: a format that `check` would have told of (a pattern or a path that is none).
    """
    if reply.refusal or reply.stop == "refusal":
        return Refused(f"the server says that the model declined: {_short(reply.refusal or 'stop=refusal')}")
    if reply.stop == "length" and form.kind != "logprobs":
        return Unreadable("cut by max_tokens before the reply was complete; raise max_tokens")
    if not reply.text.strip() and not reply.tokens:
        return Unreadable("empty reply")
    text = _looked_at(reply.text)
    visible = _TAIL.sub("", "\n".join(text[start:end] for start, end in _spoken(text)))
    verdict = _by_token(reply, view, form) if form.kind == "logprobs" else _by_text(visible, form, view)
    if verdict is not None:
        return verdict
    if text.strip() and not visible.strip():
        return Unreadable("the reply is reasoning alone, and ends before a verdict")
    if len(visible) <= REFUSAL_CHARS and _REFUSAL.search(visible):
        return Refused(f"the reply declines: {_short(visible)}")
    if reply.stop == "length":
        return Unreadable("cut by max_tokens before the reply was complete; raise max_tokens")
    return Unreadable(f"no verdict found by format={form.kind!r}; the reply ends: {_short(visible[-80:])}")


def _short(text: object) -> str:
    """Return a few words of a text for a message, with nothing in them that could move a terminal's cursor."""
    words = " ".join(str(text)[:400].split())
    return ascii(words if len(words) <= 80 else f"{words[:77]}...")


def _looked_at(text: str) -> str:
    if len(text) > 2 * MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}"
    return text.replace("\r\n", "\n")


_REFUSAL = re.compile(
    r"\b(?:i(?:['’]m| am)? (?:so |very |truly )?sorry\b"
    r"|(?:i|we) (?:can['’]?t|cannot|can not|could not|won['’]?t|will not|am unable to|am not able to|must decline to"
    r"|have to decline to|decline to|refuse to) (?:\w+ ){0,2}"
    r"(?:help|assist|comply|judge|evaluate|assess|rate|score|compare|grade|rank|provide|continue|participate|engage"
    r"|answer|respond|fulfil|fulfill|process|do)\b"
    r"|i['’]m (?:unable|not able) to\b|(?:i|we) (?:must|have to) (?:respectfully )?decline\b"
    r"|against my (?:guidelines|principles)\b)",
    re.IGNORECASE,
)

_REASONING = re.compile(
    r"<(?P<close>/)?(?P<tag>think|thinking|thought|reasoning|scratchpad)(?:\s[^<>]{0,200})?>"
    r"|\[(?P<close2>/)?(?P<tag2>THINK)\]"
    r"|◁(?P<close3>/)?(?P<tag3>think)▷"
    r"|<\|(?P<special>START_THINKING|END_THINKING|begin_of_thought|end_of_thought)\|>"
    r"|<\|channel\|>(?P<channel>[a-z ]{0,40})",
    re.IGNORECASE,
)
"""Where reasoning begins and ends, as current models write it; a verdict within is a thought, not a verdict."""

_TAIL = re.compile(r"(?:<\|(?:end|return|eot_id|im_end|endoftext|end_of_text)\|>|</s>)\s{0,20}\Z")
"""A special token that a server left at the end."""

_END_OF_MESSAGE = re.compile(r"<\|(?:start|end|return|call|message)\|>(?:assistant)?")


def _event(found: re.Match[str]) -> tuple[str, bool]:
    """Return a reasoning block's name and whether the marker closes it; harmony's final channel closes the others."""
    if found["special"]:
        return "special", found["special"].lower().startswith("end")
    if found["channel"] is not None:
        return "channel", found["channel"].strip().lower().startswith("final")
    for n in ("", "2", "3"):
        if found[f"tag{n}"]:
            return f"{n}{found[f'tag{n}'].lower()}", bool(found[f"close{n}"])
    raise AssertionError("a marker of reasoning has a name")


def _after_bare_channels(text: str) -> int:
    """Return where the final channel begins in a harmony reply whose special tokens a server has dropped, else 0."""
    final = "assistantfinal"
    at = text.rfind(final) if text.startswith("analysis") else -1
    return at + len(final) if at >= 0 else 0


def _spoken(text: str) -> list[tuple[int, int]]:
    """
    Return the parts of a reply that are no reasoning, as (start, end).

    A block that is not closed reaches to the end; a closing tag without an opening one (the opening one stood in the
    prompt) makes everything before it reasoning.
    """
    spans: list[tuple[int, int]] = []
    start, inside = _after_bare_channels(text), ""
    for found in _REASONING.finditer(text, start):
        name, closes = _event(found)
        if not inside and not closes:
            spans.append((start, found.start()))
            inside = name
        elif closes and inside in ("", name):
            spans = spans if inside else []
            start, inside = found.end(), ""
            if name == "channel" and (message := _END_OF_MESSAGE.match(text, start)):
                start = message.end()
    if not inside:
        spans.append((start, len(text)))
    return [(s, e) for s, e in spans if s < e]


# ---------------------------------------------------------------------------------------------------------------------
# Quotations

_PAIRS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "„": "“”",
    "”": "”",
    "‘": "’",
    "‚": "‘’",
    "«": "»",
    "»": "«",
    "「": "」",
}
_TICKS = "(?<!`)`{1,2}(?!`)"  # three of them are a fence
_OPENERS = re.compile(f"{_TICKS}|[{''.join(_PAIRS).replace('`', '')}]")
_CLOSERS = re.compile(f"{_TICKS}|[{''.join(sorted(set(''.join(_PAIRS.values())))).replace('`', '')}]")
_WINDOW = 2_000
_NEAREST = 6


@lru_cache(maxsize=512)
def _normal(text: str) -> str:
    """Return a text without what a quotation may change: case, white space, the backslashes of neutralised tags."""
    return " ".join(text.replace("\\", "").casefold().split())


def _repeats(content: str, judged: Sequence[str]) -> bool:
    """Return whether a judged text has this content, apart from an ellipsis at its ends."""
    plain = _normal(content).strip(" .…")
    return len(plain) >= MIN_QUOTE and any(plain in _normal(text) for text in judged)


def _quoted(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether a verdict stands in a quotation of a judged text."""
    plain = _normal(text[mark.start : mark.end])
    if not any(plain in _normal(text) for text in judged):
        return False
    return _in_quotes(text, mark, judged) or _in_block(text, mark, judged)


def _in_quotes(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether quotes or backticks around a verdict hold what a judged text says; the nearest few are tried."""
    begin = max(0, mark.start - _WINDOW)
    opened = list(_OPENERS.finditer(text, begin, mark.start))[-_NEAREST:]
    closed = islice(_CLOSERS.finditer(text, mark.end, mark.end + _WINDOW), _NEAREST)
    return any(
        _fits(left[0][0], right[0][0]) and _repeats(text[left.end() : right.start()], judged)
        for right in closed
        for left in reversed(opened)
    )


def _fits(left: str, right: str) -> bool:
    return right in _PAIRS.get(left, "")


def _in_block(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether a code fence or a block quote holds the verdict, in lines that a judged text has."""
    start, end = _line_of(text, mark)
    line = text[start:end].strip()
    if line.startswith(">"):
        return _repeats(line.lstrip("> \t"), judged)
    return bisect_left(_fences(text), start) % 2 == 1 and _repeats(line, judged)


_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)


@lru_cache(maxsize=2)
def _fences(text: str) -> tuple[int, ...]:
    """Return where the lines begin that open or close a code fence."""
    return tuple(m.start() for m in _FENCE.finditer(text))


def _line_of(text: str, mark: Mark) -> tuple[int, int]:
    """Return start and end of the line (or lines) that a verdict stands in."""
    end = text.find("\n", mark.end)
    return text.rfind("\n", 0, mark.start) + 1, len(text) if end < 0 else end


# ---------------------------------------------------------------------------------------------------------------------
# Finding verdicts in a text

_BRACKETS = re.compile(r"\[\[([^\[\]\n]{0,2000}+)\]\]")


def _by_text(text: str, form: Format, view: View) -> Verdict | None:
    """Return the verdict of a text, an `Unreadable` that says what is wrong with it, or None if there is none."""
    if form.kind == "last-line":
        return _by_lines(text, form, view) if view.task == "rubric-all" else _by_last_line(text, form, view)
    if form.kind == "json":
        marks = _json_marks(text, form.field, view)
    elif form.kind == "tag":
        marks = _tag_marks(text, form.tag)
    elif form.kind == "regex":
        marks = _regex_marks(text, form.pattern)
    elif form.kind == "brackets":
        marks = [Mark(m.start(), m.end(), m[1]) for m in _BRACKETS.finditer(text)]
    else:
        raise ConfigError(f"unknown verdict format {form.kind!r}{nearest(str(form.kind), get_args(Kind))}")
    if isinstance(marks, Unreadable):
        return marks
    if view.task == "rubric-all" and form.kind != "json":
        return _by_numbers(text, marks, form, view)
    return _last(text, marks, form, view)


def _last(text: str, marks: Sequence[Mark], form: Format, view: View) -> Verdict | None:
    """Return the last verdict, unless its line has another one."""
    counted: Mark | None = None
    for mark in reversed(marks[-MAX_MARKS:]):
        if not _quoted(text, mark, view.judged):
            counted = mark
            break
    if counted is None:
        return None
    verdict = _meant(counted.raw, form, view)
    start, _ = _line_of(text, counted)
    rivals = [m for m in marks if m.end > start and m is not counted and m.start < counted.start]
    if len(rivals) > MAX_MARKS:
        return Unreadable(f"more than {MAX_MARKS} verdicts in one line")
    for rival in rivals:
        if _meant(rival.raw, form, view) != verdict and not _quoted(text, rival, view.judged):
            return Unreadable(f"two verdicts in one line: {_short(rival.raw)} and {_short(counted.raw)}")
    return verdict


def _tag_marks(text: str, tag: str) -> list[Mark] | Unreadable:
    """Return what stands between an opening tag and the closing one that follows it."""
    marks = []
    opened: re.Match[str] | None = None
    for found in re.finditer(rf"<(/?){re.escape(tag)}(?:\s[^<>]{{0,200}})?>", text, re.IGNORECASE):
        if not found[1]:
            opened = found
        elif opened is not None:
            marks.append(Mark(opened.start(), found.end(), text[opened.end() : found.start()]))
            opened = None
    if opened is not None:
        return Unreadable(f"the last <{tag}> is not closed")
    return marks


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> regex.Pattern[str]:
    if problems := _pattern_problems(pattern):
        raise ConfigError(problems)
    return regex.compile(pattern)


def _regex_marks(text: str, pattern: str) -> list[Mark] | Unreadable:
    """
    Return the matches of a user's expression; one that hangs is cut short.

    A mark ends where its group begins: a greedy group may swallow the closing quote of a quotation.
    """
    try:
        found = list(_pattern(pattern).finditer(text, timeout=REGEX_LIMIT_S))
    except TimeoutError:
        return Unreadable(f"verdict.pattern took more than {REGEX_LIMIT_S} s on the reply; make it simpler")
    return [Mark(m.start(), m.start(1), m[1]) for m in found if m[1] is not None]


# ---------------------------------------------------------------------------------------------------------------------
# JSON

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{1,6})\]")
_CUT = re.compile(r"[\w.+-]{0,9}[\s`~]{0,40}")
"""What is left where the end of a text cuts off an object: nothing, or the beginning of a number or of `true`."""

_OPENING = re.compile(r'\{(?=\s*["}])')


@lru_cache(maxsize=64)
def _steps(path: str) -> tuple[str | int, ...] | None:
    """Return a path's steps, or None if it is none."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or (at == 0 and path[0] in ".["):
            return None
        steps.append(found[1] if found[1] is not None else int(found[2]))
        at = found.end()
    return tuple(steps) or None


_MISSING = object()


def _at(data: object, path: str) -> object:
    """Return the value at a path, or `_MISSING`."""
    if isinstance(data, dict) and path in data:
        return data[path]
    steps = _steps(path)
    if steps is None:
        raise ConfigError(f"verdict.field: expected a path such as 'result.score' or 'scores[0]', got {path!r}")
    for step in steps:
        if isinstance(data, Clash):
            return data
        if isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return _MISSING
            data = data[step]
        else:
            if not isinstance(data, dict) or step not in data:
                return _MISSING
            data = data[step]
    return data


def _is_verdict(data: object, view: View) -> bool:
    """Return whether an object without the field is a verdict itself: `{"1": true, ...}`, `{"met": 3, "of": 5}`."""
    if not isinstance(data, dict) or not data:
        return False
    if view.task == "points":
        return data.keys() >= {"met", "of"}
    numbers = {str(n) for n in range(1, len(view.criteria) + 1)}
    return view.task == "rubric-all" and data.keys() <= numbers | set(view.criteria)


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; a key that has two different values has a `Clash`."""
    made: dict[str, object] = {}
    for key, value in pairs:
        made[key] = Clash() if key in made and made[key] != value else value
    return made


def _whole(digits: str) -> float:
    """Return an integer of JSON; one of thousands of digits is not worth its time, and on no scale."""
    return int(digits) if len(digits) <= 300 else math.inf


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_whole, parse_constant=lambda _: math.nan, strict=False)


def _json_marks(text: str, path: str, view: View) -> list[Mark] | Unreadable:
    """Return the field of each JSON object; an object that the text's end cuts off makes the reply unreadable."""
    marks = []
    at = broken = 0
    while found := _OPENING.search(text, at):
        start = found.start()
        try:
            data, at = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string") or _CUT.fullmatch(text, error.pos):
                return Unreadable("truncated JSON: the last object is not closed")
            at, broken = max(start + 1, error.pos), broken + 1
        except RecursionError:
            return Unreadable("JSON nested too deeply")
        else:
            value = _at(data, path)
            if value is _MISSING and _is_verdict(data, view):
                value = data
            if value is not _MISSING:
                marks.append(Mark(start, at, value))
        if broken > MAX_BROKEN:
            return Unreadable(f"more than {MAX_BROKEN} fragments that are no JSON")
    return marks


# ---------------------------------------------------------------------------------------------------------------------
# Lines

_LEAD = re.compile(
    r"(?:(?:so|thus|therefore|hence|my|the|final|overall)[ \t,:]{1,4}){0,4}+"
    r"(?:rating|score|verdict|answer|grade|judge?ment|decision|result|choice|winner|preference|points|ranking)"
    r"(?:[ \t]{1,4}is)?(?:[ \t]{0,4}[:=][ \t]{0,4}|[ \t]{1,4})",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"[ \t]{0,8}(?:[-*+•#>][ \t]{0,4}){0,4}+(?:\*\*|__)?(?:criterion[ \t]{1,4})?#?[\[(]?(?P<key>[^\s:)\]|*]{1,80})"
    r"(?:\*\*|__)?(?P<sep>[ \t]{0,4}[:)\]|–—-]{1,3})?(?:\*\*|__)?",
    re.IGNORECASE,
)
MAX_LINES = 10_000
"""Lines from the end of a reply in which verdicts on criteria are looked for."""


_BULLET = re.compile(r"(?:[-*+•#>]{1,6}[ \t]{1,8}){1,4}")


def _bare(line: str) -> str:
    """Return a line without the marks of Markdown and quotes around it."""
    line = line.strip()
    bullet = _BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    for sign in ("**", "__", "`"):
        line = line.replace(sign, "")
    return line.strip(" \t*\"'“”‘’").rstrip(".!").rstrip()


def _lines(text: str) -> Iterator[Mark]:
    """Return the lines that hold something, the last one first; fences are not lines."""
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.strip() and not _FENCE.match(line):
            yield Mark(start, end, line)
        end = start - 1


def _by_last_line(text: str, form: Format, view: View) -> Verdict | None:
    """Return the verdict that the last line is."""
    mark = next(_lines(text), None)
    if mark is None or len(line := str(mark.raw)) > 2_000:
        return None
    verdict = _said(line, form, view)
    if verdict is None:
        return None
    return None if _is_quotation(text, mark.start, line.strip(), view.judged) else verdict


def _is_quotation(text: str, start: int, line: str, judged: Sequence[str]) -> bool:
    """Return whether a whole line is quoted, and a judged text has it."""
    marked = line.startswith(">") or bisect_left(_fences(text), start) % 2 == 1 or _fits(line[0], line[-1])
    return marked and _repeats(line.strip("> \t" + "".join(_PAIRS) + "".join(_PAIRS.values())), judged)


def _said(line: str, form: Format, view: View) -> Verdict | None:
    """Return the verdict that a line is; None if it is something else."""
    bare = _bare(line)
    lead = _LEAD.match(bare)
    tries = [line.strip(), bare]
    if lead is not None:
        tries.append(_bare(bare[lead.end() :]))
    readings = [_meant(part, form, view) for part in tries]
    for reading in readings:
        if not isinstance(reading, Unreadable):
            return reading
    if lead is not None and len(tries[-1].split()) <= 3:
        return readings[-1]
    return readings[1] if _NUMBER_LIKE.fullmatch(bare) else None


def _key(line: str, view: View) -> tuple[str, bool, int] | None:
    """Return the criterion that begins a line (number or id), whether it is set off, and where the rest begins."""
    found = _NUMBERED.match(line)
    if found is None:
        return None
    key = found["key"].rstrip(".").casefold()
    set_off = found["sep"] is not None or found["key"].endswith(".")
    if re.fullmatch(r"[0-9]{1,4}", key) and 1 <= int(key) <= len(view.criteria):
        return view.criteria[int(key) - 1], set_off, found.end()
    known = {c.casefold(): c for c in view.criteria}
    return (known[key], set_off, found.end()) if key in known else None


def _by_numbers(text: str, marks: Sequence[Mark], form: Format, view: View) -> Verdict | None:
    """Return for each criterion the verdict of the last line that begins with its number."""
    lines: dict[int, list[Mark]] = {}
    for mark in marks[-MAX_LINES:]:
        lines.setdefault(_line_of(text, mark)[0], []).append(mark)
    met: dict[str, bool | None] = {}
    for start, group in lines.items():
        before = text[start : group[0].start][:400]
        named = _key(before, view)
        if named is None or not (named[1] or not before[named[2] :].strip()):
            continue
        said = {_is_met(m.raw, form) for m in group[:MAX_MARKS] if not _quoted(text, m, view.judged)}
        if said:
            met[named[0]] = said.pop() if len(said) == 1 else None
    if met:
        return _all({c: met.get(c) for c in view.criteria}, view)
    last = next((m for m in reversed(marks[-MAX_MARKS:]) if not _quoted(text, m, view.judged)), None)
    return _by_lines(str(last.raw), form, view) if last is not None else None


def _by_lines(text: str, form: Format, view: View) -> Verdict | None:
    """Return for each criterion the verdict of the last line that is its number and a verdict."""
    met: dict[str, bool | None] = {}
    for mark in islice(_lines(text), MAX_LINES):
        line = str(mark.raw)
        named = _key(line, view) if len(line) <= 300 else None
        if named is None or named[0] in met:
            continue
        said = _is_met(_bare(line[named[2] :]), form)
        if said is not None and not _is_quotation(text, mark.start, line.strip(), view.judged):
            met[named[0]] = said
    return _all({c: met.get(c) for c in view.criteria}, view) if met else None


# ---------------------------------------------------------------------------------------------------------------------
# What a verdict means

_NUMBER = r"[+-]?(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})"
_PLAIN_NUMBER = re.compile(_NUMBER)
_RATIO = re.compile(rf"({_NUMBER})\s{{0,4}}(?:/|out\s{{1,4}}of|of)\s{{0,4}}({_NUMBER})", re.IGNORECASE)
_NUMBER_LIKE = re.compile(r"[+-]?[0-9.,/ ]{0,20}[0-9](?:[eE][+-]?[0-9]{1,6})?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_NOUN = re.compile(r"(?:answer|assistant|response|option|candidate|text|output|model)\s{1,4}", re.IGNORECASE)
_WORDS: Mapping[str, bool] = {
    "yes": True,
    "met": True,
    "true": True,
    "no": False,
    "not met": False,
    "not_met": False,
    "unmet": False,
    "false": False,
}


def _meant(raw: object, form: Format, view: View) -> Verdict:
    """Return what a verdict as written means for the task, with framing and scale mapped back."""
    if isinstance(raw, Clash):
        return Unreadable("two verdicts: the JSON object has the field twice, with different values")
    if view.task == "rubric-all":
        return _checklist(raw, form, view)
    value, mapped = _mapped(raw, form)
    if view.task == "pairwise":
        return _choice(value, mapped, view)
    if view.task == "score":
        return _score(value, view)
    if view.task == "rubric":
        met = _is_met(raw, form)
        return (
            Unreadable(f"{_short(raw)} is neither yes nor no") if met is None else _all({view.criteria[0]: met}, view)
        )
    if view.task == "points":
        return _share(value, mapped, view)
    return _ranking(value, view)


def _mapped(raw: object, form: Format) -> tuple[object, bool]:
    """Return a value as `values` maps it, and whether it does."""
    if not form.values or not isinstance(raw, str | bool | int | float):
        return raw, False
    text = str(raw).lower() if isinstance(raw, bool) else f"{raw:g}" if isinstance(raw, float) else str(raw)
    return _folded(form).get(text.strip().casefold(), raw), text.strip().casefold() in _folded(form)


def _folded(form: Format) -> dict[str, float | str]:
    return {label.strip().casefold(): value for label, value in form.values.items()}


def _slot(text: str, labels: Sequence[str]) -> int | None:
    """Return the slot that a text names: its label, also as `A (You)`, `(A)`, `Answer A`."""
    names = [text.strip()]
    plain = names[0].strip("\"'`“”‘’*").strip()
    names.append(plain)
    if plain.endswith(")") and "(" in plain:
        head = plain[: plain.rfind("(")].strip()
        names.append(head or plain[1:-1].strip())
    if noun := _NOUN.match(plain):
        names.append(plain[noun.end() :].strip("() "))
    for name in names:
        if name in labels:
            return list(labels).index(name)
    folded = [label.casefold() for label in labels]
    for name in names:
        if folded.count(name.casefold()) == 1:
            return folded.index(name.casefold())
    return None


def _choice(value: object, mapped: bool, view: View) -> Verdict:
    """Return which of two answers is preferred; where the judge named the worse one, the other."""
    if mapped and value in SYMBOLS:
        slot = {"first": 0, "second": 1}.get(str(value))
        if value == "tie":
            return Tie()
    else:
        name = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        slot = _slot(name, view.labels)
        if slot is None and name.strip().strip("\"'`*").casefold() in ("c", "tie"):
            return Tie()
    if slot is None or slot >= len(view.ids):
        return Unreadable(f"{_short(value)} is no label; expected one of {', '.join(view.labels)} or a tie")
    return Preferred(view.ids[_better(slot, view)])


def _better(slot: int, view: View) -> int:
    return 1 - slot if view.framing is Framing.NEGATIVE and len(view.ids) == 2 else slot


def _number(value: object) -> float | None:
    """Return a finite number, or None; text must be the number and nothing else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        return float(value.strip())
    return None


def _ratio(value: object) -> tuple[float, float] | None:
    found = _RATIO.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if found is None else (float(found[1]), float(found[2]))


def _turns(view: View) -> bool:
    """Return whether a score has to be turned over for its high end to be good."""
    return (view.framing is not Framing.STANDARD) != (view.scale.best == "low")


def _score(value: object, view: View) -> Verdict:
    """Return a score with the high end good; `4/5` is read if 5 is the top of the scale."""
    ratio = _ratio(value)
    if ratio is not None and ratio[1] != view.scale.high:
        return Unreadable(f"{_short(value)} is out of {ratio[1]:g}; expected a score up to {view.scale.high:g}")
    number = _number(value) if ratio is None else ratio[0]
    if number is None:
        return Unreadable(f"{_short(value)} is no score")
    if not view.scale.holds(number):
        steps = "" if view.scale.step is None else f" in steps of {view.scale.step:g}"
        return Unreadable(f"{number:g} is not on the scale from {view.scale.low:g} to {view.scale.high:g}{steps}")
    return Score(view.scale.turned(number) if _turns(view) else number)


def _is_met(raw: object, form: Format) -> bool | None:
    """Return whether a criterion is met (under negative framing: failed) as written; None if that cannot be read."""
    value, mapped = _mapped(raw, form)
    if mapped:
        return (
            {"met": True, "unmet": False, 1: True, 0: False}.get(value)
            if isinstance(value, str | int | float)
            else None
        )
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(" ".join(value.strip().strip("\"'`*").casefold().split()))
    if isinstance(value, dict):
        return _is_met(value.get("criteria_met"), form)
    return None


def _all(met: Mapping[str, bool | None], view: View) -> Verdict:
    """Return the criteria as met or not; under negative framing the judge said which ones fail."""
    if all(m is None for m in met.values()):
        return Unreadable("no criterion could be read")
    negative = view.framing is Framing.NEGATIVE
    return Criteria({c: None if m is None else m != negative for c, m in met.items()})


def _checklist(raw: object, form: Format, view: View) -> Verdict:
    """Return the criteria of a JSON object by number or id, or of a list that has them all in order."""
    if isinstance(raw, list):
        if len(raw) != len(view.criteria):
            return Unreadable(f"expected {len(view.criteria)} criteria in the list, got {len(raw)}")
        return _all({c: _is_met(r, form) for c, r in zip(view.criteria, raw, strict=True)}, view)
    if isinstance(raw, dict):
        keys = {str(k).strip().casefold(): v for k, v in raw.items()}
        numbers = enumerate(view.criteria, start=1)
        return _all({c: _is_met(keys.get(str(n), keys.get(c.casefold())), form) for n, c in numbers}, view)
    return Unreadable(f"{_short(raw)} is no list of criteria")


def _share(value: object, mapped: bool, view: View) -> Verdict:
    """Return X out of the judge's own Y as a score from 0 to 1; under negative framing X are the ones that fail."""
    if isinstance(value, dict):
        met, of = _number(value.get("met")), _number(value.get("of"))
    elif mapped:
        met, of = _number(value), 1.0
    else:
        met, of = _ratio(value) or (None, None)
    if met is None or of is None:
        return Unreadable(f"{_short(value)} is not of the form X/Y")
    if of <= 0 or met < 0:
        return Unreadable(f"{met:g}/{of:g} counts nothing; expected X of Y with Y above 0")
    share = min(met, of) / of
    return Score(1 - share if view.framing is Framing.NEGATIVE else share)


def _ranking(value: object, view: View) -> Verdict:
    """Return a ranking that has every label exactly once, best first."""
    groups: list[list[object]]
    if isinstance(value, str):
        groups = [list(group.split("=")) for group in value.split(">")]
    elif isinstance(value, list):
        groups = [group if isinstance(group, list) else [group] for group in value]
    else:
        return Unreadable(f"{_short(value)} is no ranking")
    slots = [[_slot(str(n), view.labels) if isinstance(n, str | int) else None for n in group] for group in groups]
    flat = [s for group in slots for s in group]
    if None in flat or [] in slots or sorted(s for s in flat if s is not None) != list(range(len(view.ids))):
        return Unreadable(f"{_short(value)} does not name each of {', '.join(view.labels)} exactly once")
    order = tuple(tuple(view.ids[s] for s in group if s is not None) for group in slots)
    return Ranking(order[::-1] if view.framing is Framing.NEGATIVE else order)


# ---------------------------------------------------------------------------------------------------------------------
# Log-probabilities

_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<end_of_turn>|<eos>")
_BEFORE = re.compile(r"(?:.*(?:[:=>]|\[\[)|)[\s*_`\"'(\[]{0,12}", re.DOTALL)
_AFTER = re.compile(r"[\s*_`\"')\]}.!]{0,12}(?:</[A-Za-z_][\w.-]{0,40}>)?\s{0,12}")


def _by_token(reply: Reply, view: View, form: Format) -> Verdict | None:
    """Return the verdict of the last generated token that is one, with its distribution over the allowed verdicts."""
    if view.task in ("rubric-all", "points", "listwise"):
        return Unreadable(f"format='logprobs' cannot read the task {view.task}; use json or brackets")
    if not reply.tokens:
        return Unreadable(
            "the server sent no tokens with log-probabilities; take a server that gives them, or another format"
        )
    token = _verdict_token(reply, view, form)
    if token is None:
        return None
    if not token.alternatives:
        return Unreadable("the server sent no alternatives to the verdict's token (top_logprobs)")
    weights = _distribution(token, _allowed(view, form))
    if weights is None:
        return Unreadable("the log-probabilities of the verdict's token are not numbers")
    return _weighed(weights, view)


def _allowed(view: View, form: Format) -> Callable[[str], str | None]:
    """Return what maps a token to a verdict: a slot's number or "tie", a number of the scale, "met" or "unmet"."""
    values = _folded(form)

    def name(token: str) -> str | None:
        text = token.strip()
        value: object = values.get(text.casefold(), text)
        if view.task == "score":
            number = _number(value)
            return f"{number:g}" if number is not None and number.is_integer() and view.scale.holds(number) else None
        if view.task == "rubric":
            met = _is_met(text, form)
            return None if met is None else "met" if met else "unmet"
        if text.casefold() in values:
            return {"first": "0", "second": "1", "tie": "tie"}.get(str(value))
        if text in view.labels:
            return str(view.labels.index(text))
        return "tie" if text == "C" or text.casefold() == "tie" else None

    return name


def _verdict_token(reply: Reply, view: View, form: Format) -> Token | None:
    """
    Return the last token that is a verdict: alone on its line, or after a colon or the like at its end.

    The word A in a sentence is none, nor the 1 of a 10 that was generated digit by digit. A reply that max_tokens cut
    is read only if nothing but the verdict was generated.
    """
    tokens = reply.tokens or ()
    allowed = _allowed(view, form)
    text = "".join(t.text for t in tokens)
    spans = _spoken(text)
    end = len(text)
    for token in reversed(tokens):
        start = end - len(token.text)
        span = next(((s, e) for s, e in spans if s <= start and end <= e), None)
        if span is not None and allowed(token.text) is not None:
            alone = not text[:start].strip() and not _SPECIAL.sub("", text[end:]).strip()
            if alone or (reply.stop != "length" and _stands_alone(text, start, end, span)):
                return token
        end = start
    return None


def _stands_alone(text: str, start: int, end: int, span: tuple[int, int]) -> bool:
    """Return whether a token is the whole verdict of its line."""
    token = text[start:end]
    first, last = start + len(token) - len(token.lstrip()), end - len(token) + len(token.rstrip())
    begin = max(text.rfind("\n", 0, first) + 1, span[0], first - 400)
    stop = text.find("\n", last)
    before = _SPECIAL.sub("", text[begin:first])
    after = _SPECIAL.sub("", text[last : min(span[1], stop if stop >= 0 else len(text), last + 400)])
    return _BEFORE.fullmatch(before) is not None and _AFTER.fullmatch(after) is not None


def _distribution(token: Token, allowed: Callable[[str], str | None]) -> dict[str, float] | None:
    """Return the probabilities of the allowed verdicts, made to sum to one; None if they are no numbers."""
    given = dict(token.alternatives)
    given.setdefault(token.text, token.logprob)
    weights: dict[str, float] = {}
    for text, logprob in given.items():
        name = allowed(text)
        if name is None:
            continue
        if math.isnan(logprob) or logprob == math.inf:
            return None
        weights[name] = weights.get(name, 0.0) + math.exp(min(logprob, 0.0))
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if total > 0 else None


def _weighed(weights: Mapping[str, float], view: View) -> Verdict:
    """Return the verdict that a distribution says."""
    if view.task == "score":
        turned = {(view.scale.turned(float(n)) if _turns(view) else float(n)): p for n, p in weights.items()}
        probabilities = {f"{value:g}": p for value, p in sorted(turned.items())}
        return Score(math.fsum(value * p for value, p in turned.items()), probabilities)
    if view.task == "rubric":
        met = weights.get("unmet" if view.framing is Framing.NEGATIVE else "met", 0.0)
        return Criteria({view.criteria[0]: met >= 0.5}, {view.criteria[0]: met})
    named = {"tie" if n == "tie" else view.ids[_better(int(n), view)]: p for n, p in weights.items()}
    probabilities = {name: named.get(name, 0.0) for name in (*view.ids, "tie")}
    best = max(probabilities.values())
    top = [name for name, p in probabilities.items() if p == best]
    return Preferred(top[0], probabilities) if len(top) == 1 and top[0] != "tie" else Tie(probabilities)
