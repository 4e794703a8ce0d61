"""A reply, looked at as a whole: the verdict in it, a refusal, or neither."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final, get_args

from calm.core.case import Framing
from calm.core.reasons import Reason
from calm.core.verdict import Refused, Unreadable, Verdict, unreadable
from calm.errors import ConfigError, nearest
from calm.judges.reading.alone import stands_alone
from calm.judges.reading.brackets import bracket_marks, tag_marks
from calm.judges.reading.contradiction import contradiction
from calm.judges.reading.deciding import decide
from calm.judges.reading.formats import Format, Kind
from calm.judges.reading.json_fields import field_marks, names_in, unstrung, whole_field
from calm.judges.reading.layout import Layout
from calm.judges.reading.lines import by_last_line, by_lines, by_numbers, by_own_sentence, by_slip
from calm.judges.reading.logprobs import by_token
from calm.judges.reading.marks import INVISIBLE, Mark, short
from calm.judges.reading.meanings import meant, names
from calm.judges.reading.parts import by_parts
from calm.judges.reading.patterns import pattern_marks
from calm.judges.reading.reasoning import TAIL, may_think, spoken
from calm.judges.reading.views import View
from calm.models.wire import Reply

MAX_CHARS: Final = 200_000
"""Characters at each end of a reply that are looked at; what lies between is not."""
REFUSAL_CHARS: Final = 800
"""Up to this length a reply without a verdict can be a refusal; a longer one has said something else."""
MOST_KEYS: Final = 20
"""So many keys of a reply's JSON are looked at for a message."""

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
        return Unreadable(_empty(reply))
    text = _looked_at(reply.text)
    visible = _visible(text)
    found = _found(reply, text, visible, form, view)
    if isinstance(found, Reason):
        return unreadable(found)
    if found is not None:
        return found
    if text.strip() and not visible.strip():
        return Unreadable("the reply is reasoning alone, and ends before a verdict")
    if len(visible) <= REFUSAL_CHARS and _REFUSAL.search(visible):
        return Refused(f"the reply declines: {short(visible)}")
    if reply.stop == "length":
        return Unreadable("cut by max_tokens before the reply was complete; raise max_tokens")
    names = dict.fromkeys(islice(names_in(visible), MOST_KEYS)) if form.kind == "json" and not form.parts else {}
    if names and form.field not in names:  # one that is there stands in a quotation
        return Unreadable(f"the reply has no field {form.field!r}; the keys of its JSON are {short(', '.join(names))}")
    return Unreadable(f"no verdict found by format={form.kind!r}; the reply ends: {short(visible[-80:])}")


def _empty(reply: Reply) -> str:
    """Return why a reply without text has none, and what to change."""
    if reply.calls:
        return f"the reply is a call of the tool {short(reply.calls[0][0])} and has no text; send no tools to the judge"
    if reply.elsewhere:
        return (
            f"the reply has no text; what the model wrote is in the field {reply.elsewhere}: start the server without "
            f"its reasoning parser, or turn reasoning off"
        )
    return "empty reply"


def doubt(reply: Reply, form: Format, view: View) -> Reason | None:
    """Return why a reply that holds candidates has no verdict beyond doubt; None if that is not what it lacks."""
    text = _looked_at(reply.text)
    found = _found(reply, text, _visible(text), form, view)
    return found if isinstance(found, Reason) else None


def read_parts(reply: Reply, form: Format, view: View) -> dict[str, Verdict | Reason | None]:
    """Return what each part of a verdict says: a `Score` as written, or why there is none; None where it is missing."""
    text = _looked_at(reply.text)
    return _parts(text, _visible(text), form, view)


def _parts(text: str, visible: str, form: Format, view: View) -> dict[str, Verdict | Reason | None]:
    about = replace(view, task="score", framing=Framing.STANDARD)
    found = {name: _marks(visible, part.form, about) for name, part in form.parts.items() if form.kind != "json"}
    marks = {name: [] if isinstance(one, Unreadable) else one for name, one in found.items()}
    said = {}
    for name, part in form.parts.items():
        beside = [mark for other, ones in marks.items() if other != name for mark in ones]
        said[name] = _said(text, visible, part.form, replace(about, scale=part.scale), beside)
    return said


def _found(reply: Reply, text: str, visible: str, form: Format, view: View) -> Verdict | Reason | None:
    """Return the verdict of a reply, why it has none beyond doubt, or None if nothing in it could be one."""
    if form.kind == "logprobs":
        return by_token(reply, view, form)
    if form.parts:
        return by_parts(form, view, _parts(text, visible, form, view))
    return _said(text, visible, form, view)


def _said(
    text: str, visible: str, form: Format, view: View, beside: Sequence[Mark] | None = None
) -> Verdict | Reason | None:
    """Return the verdict of a text, or of one part of it with those that are `beside` it."""
    if form.kind == "json" and (inner := unstrung(visible)) is not None:
        text = visible = inner
    whole = whole_field(TAIL.sub("", text), form.field, view) if form.kind == "json" else None
    return _by_text(visible, form, view, beside) if whole is None else meant(whole.raw, form, view)


def _visible(text: str) -> str:
    """Return what of a reply is no reasoning; each line keeps its number."""
    if not may_think(text):
        return text
    parts, at = [], 0
    for start, end in spoken(text):
        gap = text.count("\n", at, start)
        parts += ["\n" * max(gap, at > 0), text[start:end]]
        at = end
    return TAIL.sub("", "".join(parts))


def _looked_at(text: str) -> str:
    if len(text) > 2 * MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}"
    return (text if text.isascii() else INVISIBLE.sub("", text)).replace("\r\n", "\n")


def _marks(text: str, form: Format, view: View) -> list[Mark] | Unreadable:
    """Return what may be the verdict of a text, as written."""
    if form.kind == "json":
        return field_marks(text, form.field, view)
    if form.kind == "tag":
        return tag_marks(text, form.tag)
    if form.kind == "regex":
        return pattern_marks(text, form.pattern)
    if form.kind == "brackets":
        return bracket_marks(text)
    raise ConfigError(f"unknown verdict format {form.kind!r}{nearest(str(form.kind), get_args(Kind))}")


def _by_text(text: str, form: Format, view: View, beside: Sequence[Mark] | None) -> Verdict | Reason | None:
    """
    Return the verdict of a text, what is wrong with it, or None if there is none.

    The words in the parts that are `beside` it say nothing of it, and it counts in no other form than its own.
    """
    if form.kind == "last-line":
        return by_lines(text, form, view) if view.task == "rubric-all" else by_last_line(text, form, view)
    marks = _marks(text, form, view)
    if isinstance(marks, Unreadable):
        return marks
    if view.task == "rubric-all" and form.kind != "json":
        return by_numbers(text, marks, form, view)
    if not marks and form.kind == "json":
        found = tag_marks(text, re.split(r"[.\[\]]+", form.field)[-1])
        marks = [] if isinstance(found, Unreadable) or beside is not None else found
    if not marks and form.kind != "regex":
        said = None if beside is not None else by_slip(text, form, view)
        alone = said is None and beside is None and view.task == "score"
        return by_own_sentence(text, form, view) if alone else said
    if len(marks) == 1 and stands_alone(text, marks[0], view):
        return meant(marks[0].raw, form, view)
    layout = Layout(text, sorted([*marks, *(beside or ())], key=lambda mark: mark.start))
    one = decide(layout, marks, partial(meant, form=form, view=view), view)
    if not isinstance(one, Mark):
        return one
    verdict = meant(one.raw, form, view)
    return contradiction(layout.page, one, verdict, names(form, view), view) or verdict
