"""What replies without a verdict do hold, and which line of judge.toml reads them: found by reading them otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.core.verdict import readable
from calm.judges.reading.brackets import bracket_marks
from calm.judges.reading.formats import Format
from calm.judges.reading.json_fields import names_in, steps
from calm.judges.reading.reply import doubt, read
from calm.judges.reading.views import View
from calm.models.wire import Reply

LONGEST: Final = 160
"""Characters that are shown of a reply."""
MOST_NAMES: Final = 8
"""So many keys, tags or brackets are named."""
MOST_TRIED: Final = 24
"""So many other ways to read are tried."""
LIKELY: Final = ("verdict", "winner", "score", "rating", "preference", "preferred", "choice", "grade", "label")
"""Names that a verdict usually has: they are tried before all others."""
CHARACTERS: Final = 20_000
"""So much of the end of a reply is looked at."""
_DECIDE: Final = (
    "ask in the prompt for exactly one verdict, at the end and on a line of its own, called final if a draft comes "
    "before it; a server that keeps to a schema ([verdict] format = 'json', schema_file) can give no second one"
)
_TAG: Final = re.compile(r"<([A-Za-z_][\w.-]{0,40})(?:\s[^<>]{0,200})?>[^<]{0,2000}</\1>")


@dataclass(frozen=True, slots=True)
class UnreadReply:
    """A reply that holds no verdict, what it was read against, and why."""

    reply: Reply
    view: View
    why: str


def way(form: Format) -> str:
    """
    Return how a format reads, as judge.toml says it.

    >>> way(Format("json", field="winner")), way(Format("brackets"))
    ("[verdict] format = 'json', field = 'winner'", "[verdict] format = 'brackets'")
    """
    if form.parts:
        return f"[verdict] format = {form.kind!r}, parts {', '.join(form.parts)}"
    own = {"json": ("field", form.field), "tag": ("tag", form.tag), "regex": ("pattern", form.pattern)}.get(form.kind)
    return f"[verdict] format = {form.kind!r}{f', {own[0]} = {own[1]!r}' if own else ''}"


def held(unread: Sequence[UnreadReply]) -> str:
    """Return which keys, tags and brackets replies hold."""
    texts = [one.reply.text[-CHARACTERS:] for one in unread]
    kinds = {
        "the JSON keys": _named(name for text in texts for name in names_in(text)),
        "the tags": _named(f"<{name}>" for text in texts for name in _TAG.findall(text)),
        "the brackets": _named(f"[[{mark.raw}]]" for text in texts for mark in bracket_marks(text)),
    }
    found = [f"{kind} {names}" for kind, names in kinds.items() if names]
    return ", ".join(found) or "no JSON, no tag and no [[...]]"


def fix(form: Format, unread: Sequence[UnreadReply], *, bundled: bool) -> str:
    """Return what to change, so that replies like these are read: a way that reads them all, if there is one."""
    if not any((one.reply.text or one.reply.refusal or "").strip() for one in unread):
        return "the replies are empty: raise [model] max_tokens, or look at one with `calm try`"
    if all(one.reply.stop == "length" for one in unread):
        return "the replies are cut: raise [model] max_tokens"
    if all(doubt(one.reply, form, one.view) is not None for one in unread):
        return _DECIDE
    if bundled:
        schema = "give its server a schema ([verdict] schema_file), " if form.kind == "json" else ""
        return (
            f"the model does not keep to the bundled prompt: {schema}choose another [verdict] format, or write the "
            "prompt yourself ([prompt] user_file)"
        )
    other = None if form.parts else next((one for one in _others(form, unread) if _reads(one, unread)), None)
    if other is not None:
        return f"in judge.toml, write {way(other)}, which reads these"
    return (
        "in judge.toml, change [verdict] (format, field, tag, pattern, values, scale, parts) so that it fits what the "
        "prompt asks for; `calm try` shows a reply as a whole"
    )


def example(unread: UnreadReply) -> str:
    """Return the end of a reply, in one line."""
    text = " ".join((unread.reply.text or unread.reply.refusal or "").split())
    if not text:
        return "(empty)"
    return text if len(text) <= LONGEST else f"... {text[-LONGEST:]}"


def _reads(form: Format, unread: Sequence[UnreadReply]) -> bool:
    """Return whether a format reads all of some replies."""
    verdicts = [read(one.reply, form, one.view) for one in unread]
    return all(map(readable, verdicts))


def _others(form: Format, unread: Sequence[UnreadReply]) -> Iterator[Format]:
    """Return other formats, those of the same kind first."""
    texts = [one.reply.text[-CHARACTERS:] for one in unread]
    keys = sorted(dict.fromkeys(key for text in texts for key in names_in(text)), key=_likely)
    tags = sorted(dict.fromkeys(name for text in texts for name in _TAG.findall(text)), key=_likely)
    found = [replace(form, kind="json", field=key) for key in keys[:MOST_TRIED] if steps(key) is not None]
    found += [replace(form, kind="tag", tag=tag) for tag in tags[:MOST_TRIED]]
    found += [replace(form, kind="brackets"), replace(form, kind="last-line")]
    yield from sorted((one for one in found if one != form), key=lambda one: one.kind != form.kind)


def _likely(name: str) -> tuple[bool, int]:
    last = re.split(r"[.\[]", name)[-1].lower()
    return (last not in LIKELY, LIKELY.index(last) if last in LIKELY else 0)


def _named(names: Iterator[str]) -> str:
    """Return names, each once."""
    known = list(dict.fromkeys(names))
    return ", ".join([*(name[:LONGEST] for name in known[:MOST_NAMES]), *(["..."] if len(known) > MOST_NAMES else [])])
