"""A reply, looked at as a whole: the last verdict in it, a refusal, or neither."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, get_args

from calm.core.verdict import Refused, Unreadable, Verdict
from calm.errors import ConfigError, nearest
from calm.judges.reading.brackets import bracket_marks, tag_marks
from calm.judges.reading.formats import Format, Kind
from calm.judges.reading.json_fields import field_marks
from calm.judges.reading.lines import by_last_line, by_lines, by_numbers
from calm.judges.reading.logprobs import by_token
from calm.judges.reading.marks import MAX_MARKS, Mark, line_of, short
from calm.judges.reading.meanings import meant
from calm.judges.reading.patterns import pattern_marks
from calm.judges.reading.quotations import quoted
from calm.judges.reading.reasoning import TAIL, spoken
from calm.judges.reading.views import View
from calm.models.wire import Reply

MAX_CHARS: Final = 200_000
"""Characters at each end of a reply that are looked at; what lies between is not."""
REFUSAL_CHARS: Final = 800
"""Up to this length a reply without a verdict can be a refusal; a longer one has said something else."""

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


def read(reply: Reply, form: Format, view: View) -> Verdict:
    """
    Return the verdict that a reply says, with the framing and the scale mapped back.

    Raises:
        ConfigError: a format that `check` finds fault with (a pattern or a path that is none).
    """
    if reply.refusal or reply.stop == "refusal":
        return Refused(f"the server says that the model declined: {short(reply.refusal or 'stop=refusal')}")
    if reply.stop == "length" and form.kind != "logprobs":
        return Unreadable("cut by max_tokens before the reply was complete; raise max_tokens")
    if not reply.text.strip() and not reply.tokens:
        return Unreadable("empty reply")
    text = _looked_at(reply.text)
    visible = TAIL.sub("", "\n".join(text[start:end] for start, end in spoken(text)))
    verdict = by_token(reply, view, form) if form.kind == "logprobs" else _by_text(visible, form, view)
    if verdict is not None:
        return verdict
    if text.strip() and not visible.strip():
        return Unreadable("the reply is reasoning alone, and ends before a verdict")
    if len(visible) <= REFUSAL_CHARS and _REFUSAL.search(visible):
        return Refused(f"the reply declines: {short(visible)}")
    if reply.stop == "length":
        return Unreadable("cut by max_tokens before the reply was complete; raise max_tokens")
    return Unreadable(f"no verdict found by format={form.kind!r}; the reply ends: {short(visible[-80:])}")


def _looked_at(text: str) -> str:
    if len(text) > 2 * MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}"
    return text.replace("\r\n", "\n")


def _by_text(text: str, form: Format, view: View) -> Verdict | None:
    """Return the verdict of a text, an `Unreadable` that says what is wrong with it, or None if there is none."""
    if form.kind == "last-line":
        return by_lines(text, form, view) if view.task == "rubric-all" else by_last_line(text, form, view)
    if form.kind == "json":
        marks = field_marks(text, form.field, view)
    elif form.kind == "tag":
        marks = tag_marks(text, form.tag)
    elif form.kind == "regex":
        marks = pattern_marks(text, form.pattern)
    elif form.kind == "brackets":
        marks = bracket_marks(text)
    else:
        raise ConfigError(f"unknown verdict format {form.kind!r}{nearest(str(form.kind), get_args(Kind))}")
    if isinstance(marks, Unreadable):
        return marks
    if view.task == "rubric-all" and form.kind != "json":
        return by_numbers(text, marks, form, view)
    return _last(text, marks, form, view)


def _last(text: str, marks: Sequence[Mark], form: Format, view: View) -> Verdict | None:
    """Return the last verdict, unless its line has another one."""
    counted: Mark | None = None
    for mark in reversed(marks[-MAX_MARKS:]):
        if not quoted(text, mark, view.judged):
            counted = mark
            break
    if counted is None:
        return None
    verdict = meant(counted.raw, form, view)
    start, _ = line_of(text, counted)
    rivals = [m for m in marks if m.end > start and m is not counted and m.start < counted.start]
    if len(rivals) > MAX_MARKS:
        return Unreadable(f"more than {MAX_MARKS} verdicts in one line")
    for rival in rivals:
        if meant(rival.raw, form, view) != verdict and not quoted(text, rival, view.judged):
            return Unreadable(f"two verdicts in one line: {short(rival.raw)} and {short(counted.raw)}")
    return verdict
