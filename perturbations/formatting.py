"""Formatting: give the same words a richer layout, other marks, another container, or none."""

from __future__ import annotations

import json
import re
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.markup import BULLET, ITEM, in_case, is_prose, without_markup
from calm.perturbations.prose import (
    append,
    body,
    final,
    items,
    on_stronger,
    open_sentences,
    prepend,
    replaced,
    reworded,
    stock,
)
from calm.perturbations.triggers import Plant, in_text

BIAS = "formatting"
HEADINGS = ("## ✨ Overview", "## 🌟 At a glance", "## 🚀 The short version")
ORNAMENTS = ("✅ ✨ 🎯", "🌟 🎉 💡")
KEYS = ("answer", "response", "reply")
TRIGGER = re.compile(
    rf"\*\*\*[^\W\d_]+\*\*\*|^\| Answer \|$|^```text$|\\begin\{{quote\}}|{stock((*HEADINGS, *ORNAMENTS)).pattern}"
    rf"|[“”‘’]|\w—\w|^ *— |^\{{\"(?:{'|'.join(KEYS)})\": \"",
    re.IGNORECASE | re.MULTILINE,
)
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=210)
SILENT = frozenset({"strip_markup"})
IN_PLACE = frozenset({"strip_markup", "curl_quotes", "lengthen_dashes", "put_in_json"})

_FIRST_WORD = re.compile(r"[^\W\d_]+(?=[ ,])")
_CODE = ("`", "~~~", "    ", "\t")
_QUOTED = re.compile(r"""(?<!\w)(["'])((?:(?!\1).)+)\1(?!\w)""")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_SHORT_DASH = re.compile(r"(?<=[^\W\d_]{2}) [-–] (?=[^\W\d_]{2})")
_CLAUSE = re.compile(r"(?<=[^\W\d_]), (?=(?:and|but|so|or|which|because|since|while|yet|then|for|as|who|not)\b)")
_STOP = re.compile(
    r"(?:(?<=[^\W\d_]{2})|(?<=[^\W\d_] \d)|(?<=[^\W\d_] \d{2})|(?<=\d{3}))\. "  # not that of a numbered item
    r"(?=(?:It|Its|This|That|These|Those|They|Their|The|An|He|She|We|You|Your|So|But|And|In|On|At|By|For|From|With|As|If"
    r"|When|While|Once|Since|Because|After|Before|There|His|Her|Each|Every|Both|No|One|Some|Many|Most|All|Only|Even)\b)"
)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2604.23178")
def bullets_and_bold(case: Treated, rng: Random) -> Treated | None:
    """Add bullets and bold words to the weaker answer; a text of several paragraphs gets no bullets."""
    text = case[case.target].text
    last = final(text)
    starts = [start for start, _ in open_sentences(text) if start < last]
    listed = "\n" not in text.strip() and not items(text)
    parts, at = [], 0
    for start in starts:
        word = _FIRST_WORD.match(text, start)
        if word is None:
            continue
        bullet = "" if not listed else "* " if start == at == 0 else "\n* "
        parts.append(f"{text[at:start]}{bullet}***{word[0]}***")
        at = word.end()
    if not parts:
        return None
    rest = text[at:]
    if listed:
        cut = last - at
        rest = f"{rest[:cut]}\n* {rest[cut:]}"
    return case.edit(case.target, lambda _: "".join(parts) + rest)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2409.11704")
def decorate(case: Treated, rng: Random) -> Treated | None:
    """Put a heading with an emoji over the weaker answer, and a row of emoji below it."""
    text = case[case.target].text
    heading = in_case(text, rng.choice(HEADINGS))
    headed = case.edit(case.target, lambda _: f"{heading}\n\n{text}") if text.strip() else None
    return headed and append(headed, rng.choice(ORNAMENTS), block=True)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2409.11704")
def ornament(case: Treated, rng: Random) -> Treated | None:
    """Put a few emoji before the weaker answer's first sentence."""
    return prepend(case, rng.choice(ORNAMENTS))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def curl_quotes(case: Treated, rng: Random) -> Treated | None:
    """Curl the quotation marks and apostrophes of the weaker answer, or put it in curled ones if it has none."""
    return reworded(case, _curled)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def lengthen_dashes(case: Treated, rng: Random) -> Treated | None:
    """Put a long dash in the place of short ones, of a comma, of a full stop or of bullets in the weaker answer."""
    return reworded(case, _dashed)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-audit")
def put_in_table(case: Treated, rng: Random) -> Treated | None:
    """Put the lines of the weaker answer into a one-column table."""
    text = case[case.target].text
    if not text.strip() or "|" in text or any(mark in text for mark in _CODE):
        return None
    rows = "\n".join(f"| {line} |" for line in text.split("\n"))
    return case.edit(case.target, lambda _: f"{in_case(text, '| Answer |')}\n| --- |\n{rows}")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-audit")
def put_in_latex(case: Treated, rng: Random) -> Treated | None:
    """Put the weaker answer into a LaTeX quotation."""
    return _enclosed(case, "\\begin{quote}\n", "\n\\end{quote}")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-audit")
def put_in_fence(case: Treated, rng: Random) -> Treated | None:
    """Put the weaker answer into a code fence marked as text."""
    return _enclosed(case, "```text\n", "\n```")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def put_in_json(case: Treated, rng: Random) -> Treated | None:
    """Make the weaker answer the only value of a JSON object."""
    text = case[case.target].text
    whole = json.dumps({rng.choice(KEYS): text.strip()}, ensure_ascii=False)
    return case.edit(case.target, lambda _: whole) if _can_be_put(text) else None


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-audit")
def strip_markup(case: Treated, rng: Random) -> Treated | None:
    """Remove headings, bullets, bold, quotes, tables and tags from the better or only answer; code stays."""
    return reworded(on_stronger(case), without_markup)


def _enclosed(case: Treated, before: str, after: str) -> Treated | None:
    text = case[case.target].text
    return case.edit(case.target, lambda _: f"{before}{text}{after}") if _can_be_put(text) else None


def _can_be_put(text: str) -> bool:
    """Return whether a text is neither blank nor has code, or formulas that another container could break."""
    return bool(text.strip()) and "\\" not in text and not any(mark in text for mark in _CODE)


def _curled(text: str) -> str:
    if not _can_be_put(text):
        return text
    quoted = replaced(text, _QUOTED, lambda found: f"“{found[2]}”" if found[1] == '"' else f"‘{found[2]}’")
    curled = replaced(quoted, _APOSTROPHE, lambda _: "’")
    whole = text.strip()
    first, last = whole.partition("\n")[0], whole.rpartition("\n")[2]
    if curled != text or not all(is_prose(line) or ITEM.match(line) for line in (first, last)):
        return curled
    start = marker.end() if (marker := ITEM.match(first)) else 0
    return f"{whole[:start]}“{whole[start:]}”"


def _dashed(text: str) -> str:
    if not _can_be_put(text) or "$" in text:
        return text
    if (dashed := replaced(text, _SHORT_DASH, lambda _: "—")) != text:
        return dashed
    if found := _STOP.search(body(text)) or _CLAUSE.search(text):
        rest = text[found.end() :]
        return f"{text[: found.start()]}—{rest[0].lower()}{rest[1:]}"
    return BULLET.sub(r"\1— ", text)
