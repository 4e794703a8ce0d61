"""The parts of a reply that are reasoning, as current models write it: a verdict in them is a thought."""

from __future__ import annotations

import re

_REASONING = re.compile(
    r"<(?P<close>/)?(?P<tag>think|thinking|thought|reasoning|scratchpad)(?:\s[^<>]{0,200})?>"
    r"|\[(?P<close2>/)?(?P<tag2>THINK)\]"
    r"|◁(?P<close3>/)?(?P<tag3>think)▷"
    r"|<\|(?P<special>START_THINKING|END_THINKING|begin_of_thought|end_of_thought)\|>"
    r"|<\|channel\|>(?P<channel>[a-z ]{0,40})",
    re.IGNORECASE,
)
"""Where reasoning begins and ends, as current models write it; a verdict within is a thought, not a verdict."""

TAIL = re.compile(r"(?:<\|(?:end|return|eot_id|im_end|endoftext|end_of_text)\|>|</s>)\s{0,20}\Z")
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


def may_think(text: str) -> bool:
    """Return whether a reply has a sign that every mark of reasoning, and every special token, has; a quick look."""
    return "<" in text or "◁" in text or text.startswith("analysis") or "nk]" in text.lower()


def spoken(text: str) -> list[tuple[int, int]]:
    """
    Return the parts of a reply that are no reasoning, as (start, end).

    A block that is not closed reaches to the end; a closing tag without an opening one (the opening one was in the
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
