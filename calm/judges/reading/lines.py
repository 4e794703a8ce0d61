"""Verdicts that are lines of their own, and those on numbered criteria."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Final

from calm.core.case import Framing
from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Criteria, Unreadable, Verdict
from calm.judges.reading.deciding import Standing, decide
from calm.judges.reading.formats import Format
from calm.judges.reading.json_fields import alike
from calm.judges.reading.layout import FENCE, TERMINAL, Layout, is_quotation
from calm.judges.reading.marks import (
    MAX_MARKS,
    PICTURES,
    Cue,
    Mark,
    View,
    cue,
    has,
    line_of,
    names_of,
    one_of,
    short,
    table,
    unpictured,
)
from calm.judges.reading.meanings import QUALITY, all_criteria, is_met, is_none, meant, names, noted

MAX_LINES: Final = 10_000
"""Lines from the end of a reply in which verdicts on criteria are looked for."""

LONGEST_LINE: Final = 2_000
"""Characters that a line may have and be a verdict."""
LONGEST_LEAD: Final = 60
"""Characters of the words that may announce a verdict at the beginning of a line."""

MENU: Final = 3
"""So many lines that differ, one for each label of `values`, are the choices that the prompt gives."""
MAX_LEAD_WORDS: Final = 6
"""Words that may announce a verdict at the beginning of a line."""
LONGEST_SENTENCE: Final = 120
"""Characters of a last line that may give a verdict in a sentence."""

_SLIP = re.compile(
    r"(?<![\[\w])\[([^\[\]\n]{1,20})\](?![\](\w])|\\boxed\{([^{}\n]{1,20})\}"
    r"|(?m:^)[ \t*_]*(?:\(([A-Za-z0-9]{1,3})\)|\$([A-Za-z0-9]{1,3})\$)[ \t*_.]*(?=\s*\Z)"
)
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9_.,/-])[0-9]+(?:[.,][0-9]+)?(?:(?:/|\s(?:{one_of('ratios')})\s)[0-9]+)?(?![A-Za-z0-9_/])",
    re.IGNORECASE,
)
_SIGNS = " \t\n*_$`}"
_SEPARATOR = re.compile(r"[ \t]{0,4}(?:[:：→⇒➜]|[=-]>)[ \t]{0,4}")
_COPULA = re.compile(rf"(?:[ \t]{{0,4}}(?:=|{one_of('copulas')}))?[ \t]{{1,4}}|(?=[\d])", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*[0-9]{1,2}[.)][ \t]+(?=\w)")
"""The number of an item of a list at the beginning of a line."""
_ANSWERS = frozenset(word for words in table()["answers"].values() for word in words)
_NUMBER_LIKE = re.compile(r"[+-]?[0-9.,/ ]{0,20}[0-9](?:[eE][+-]?[0-9]{1,6})?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"[ \t]{0,8}(?:[-*+•#>][ \t]{0,4}){0,4}+(?:\*\*|__)?(?:criterion[ \t]{1,4})?#?[\[(]?(?P<key>[^\s:)\]|*]{1,80})"
    r"(?:\*\*|__)?(?P<sep>[ \t]{0,4}[:)\]|–—-]{1,3})?(?:\*\*|__)?",
    re.IGNORECASE,
)
_NOTE = re.compile(rf"(?:{one_of('notes')})[ \t]{{0,4}}[:：][ \t]{{0,4}}", re.IGNORECASE)
_SIGNED = re.compile(r"\s*[-+]\s*[0-9]")
"""A class behind a bullet, or a number with its sign: no one can tell."""
_LABELLED = re.compile(
    r"^[ \t>#*•|+\"'-]*(?:[0-9]{1,2}[.)][ \t]*)?[*_]*(?:evaluation form[^\n:]{0,20}:[ \t*-]*)?"
    r"(?P<label>[^\W\d_][^\n:：|*()（）]{0,40}?)"
    r"(?:[ \t]*[(（][^()（）\n]{1,20}[)）])?[*_]*[ \t]*(?:[:：|=]|[–—-][ \t])[ \t*_\[]*"
    rf"(?P<value>[0-9]+(?:[.,][0-9]+)?(?:(?:/|\s(?:{one_of('ratios')})\s)[0-9]+)?)"
    rf"[*_\]\"']*(?=[ \t]*(?:[.|(,;–—-]|{PICTURES.pattern}|$))",
    re.MULTILINE | re.IGNORECASE,
)
"""A line such as "Coherence: 4", or a row of a table."""
_BULLET = re.compile(r"(?:[-*+•#>]{1,6}[ \t]{1,8}){1,4}")


def by_last_line(text: str, form: Format, view: View) -> Verdict | Reason | None:
    """
    Return the verdict that the last line is; where remarks follow it, the line above them that is one beyond doubt.

    A line above the last one counts if words such as "Verdict:" begin it, or if it begins a paragraph and is nothing
    but a label or a number.
    """
    marks: list[Mark] = []
    remarks: list[Mark] = []
    menu: list[Verdict] = []
    for number, mark in enumerate(islice(_lines(text), MAX_LINES)):
        raw = str(mark.raw)
        verdict = _said(raw, form, view) if len(raw) <= LONGEST_LINE else None
        menu += [] if verdict is None or isinstance(verdict, Unreadable) or verdict in menu else [verdict]
        if verdict is None:
            remarks += [] if marks else _words(text, mark, form, view)
        elif number and (isinstance(verdict, Unreadable) or not _strong(text, mark, form, view)):
            continue
        elif not is_quotation(text, mark.start, raw.strip(), view.judged):
            marks.append(replace(mark, about=raw[:LONGEST_LEAD]))
    if len(menu) >= MENU and len(menu) == len(set(form.values.values())):
        return None
    if not marks:
        return _by_last_sentence(text, remarks, form, view)

    def means(raw: object) -> Verdict:
        found = _said(str(raw), form, view)
        return Unreadable(f"{short(raw)} is no verdict") if found is None else found

    valid = [m for m in remarks if not isinstance(means(m.raw), Unreadable)]
    one = decide(text, sorted([*marks, *valid], key=lambda m: m.start), means, view)
    return means(one.raw) if isinstance(one, Mark) else one


def _by_last_sentence(text: str, words: Sequence[Mark], form: Format, view: View) -> Verdict | Reason | None:
    """
    Return the verdict that the last line gives in a short sentence, if it names no other one.

    A line such as "Coherence: 4" is a score, too, if it is the only one of this kind; of several none is.
    """
    last = next(_lines(text), None)
    if last is None:
        return None
    own = by_own_sentence(text, form, view)
    if own is not None:
        return own
    labelled = list(_LABELLED.finditer(text)) if view.task == "score" else []
    valid = [m for m in labelled if not isinstance(meant(m["value"], form, view), Unreadable)]
    if len(valid) > 1:
        return because(
            Kind.VERDICT_PARTS,
            *(
                x
                for m in (valid[0], valid[-1])
                for x in (Said(short(m["value"])), text.count("\n", 0, m.start("value")) + 1)
            ),
        )
    if len(labelled) == len(valid) == 1 and _of_quality(valid[0]["label"]):
        only = Mark(*valid[0].span(), valid[0]["value"], led=True)
        one = decide(text, [only], partial(meant, form=form, view=view), view)
        return meant(only.raw, form, view) if isinstance(one, Mark) else one
    if len(str(last.raw)) > LONGEST_SENTENCE:
        return None
    tail = re.split(r"[.!?。！？][\"')]?\s+", str(last.raw).rstrip())[-1]
    if view.task == "label" and (lead_of(_bare(tail), view) is not None or form.key(_bare(tail)) is not None):
        return _said(tail, form, view)
    said = [replace(m, remark=False) for m in words if m.start >= last.start]
    said = [m for m in said if not isinstance(meant(m.raw, form, view), Unreadable)]
    ends = bool(said) and view.task == "pairwise" and not text[said[-1].stop : last.end].strip(" .!。！*_\t")
    for least in (Standing.SAID, Standing.IN_PASSING)[: 1 + ends]:
        one = decide(text, said, partial(meant, form=form, view=view), view, least)
        if isinstance(one, Mark) and (least is Standing.SAID or one == said[-1]):
            return meant(one.raw, form, view)
    return None


def _of_quality(label: str) -> bool:
    return QUALITY.search(label) is not None and not any(
        has(kind, label) for kind in (Cue.ASIDE, Cue.WHOSE, Cue.DENIED)
    )


def by_own_sentence(text: str, form: Format, view: View) -> Verdict | Reason | None:
    """Return the verdict that one sentence of the judge gives, such as "I'd give it a 4" or "My grade is B"."""
    labels = [*form.values, *(view.scale.classes.names if view.scale.classes else ())]
    known = names(form, view) if view.task == "pairwise" else labels
    value = _NUMBER.pattern if view.task == "score" and not form.values else "|".join(map(re.escape, known)) or r"(?!)"
    marks = [Mark(*m.span("value"), m["value"]) for m in _own_sentence(value).finditer(text)]
    said = [(m, verdict) for m in marks if not isinstance(verdict := meant(m.raw, form, view), Unreadable)]
    if len({str(verdict) for _, verdict in said}) != 1:
        return None
    mark, verdict = said[0]
    one = decide(text, [mark], lambda _: verdict, view, Standing.SAID)
    return verdict if isinstance(one, Mark) else one


@lru_cache(maxsize=64)
def _own_sentence(value: str) -> re.Pattern[str]:
    verbs = "give|rate|score|grade|assign|go with|choose|pick|prefer|select|judge"
    gives = rf"\bi(?:'d|’d| would| will)? (?:{verbs})\b[^.\d\n:;]{{0,60}}?"
    says = r"\b(?:the|my)(?: \w+)? (?:score|verdict|rating|grade|choice|preference) is[ *_`:\"']{1,6}"
    ends = r"(?![\w/-]|\s(?:or|to)\s\d)"
    return re.compile(rf"(?i:(?:{gives}|{says}))(?<![\w/.-])(?P<value>{value}){ends}")


def by_slip(text: str, form: Format, view: View) -> Verdict | Reason | None:
    """
    Return the verdict of a reply without any in its format, if it is in a form that leaves no doubt.

    These are `[A]` or `\\boxed{A}` on a line of its own, `(A)` or `$A$` as the last one, and a line "Verdict: A".
    """
    if view.task == "rubric-all":
        return None
    marks = [Mark(m.start(), m.end(), m[m.lastindex or 1]) for m in _SLIP.finditer(text)]
    for line in islice(_lines(text), MAX_LINES):
        raw = str(line.raw)
        lead = lead_of(_bare(raw), view) if len(raw) <= LONGEST_LEAD else None
        if lead is not None and _SEPARATOR.search(_bare(raw)[:lead]) and not _SLIP.search(raw):
            marks.append(replace(line, raw=_bare(_bare(raw)[lead:]), about=raw))

    def means(raw: object) -> Verdict:
        return meant(raw, form, view)

    valid = [m for m in marks[-MAX_MARKS:] if not isinstance(means(m.raw), Unreadable)]
    valid.sort(key=lambda m: m.start)
    one = decide(text, valid, means, view, Standing.STANDS)
    if one is None and valid and not text[valid[-1].stop :].strip(f"{_SIGNS}{TERMINAL}"):
        one = decide(text, valid, means, view, Standing.SAID)
    return means(one.raw) if isinstance(one, Mark) else None


def by_numbers(text: str, marks: Sequence[Mark], form: Format, view: View) -> Verdict | Reason | None:
    """Return for each criterion the verdict on the lines that begin with its number."""
    lines: dict[str, list[Mark]] = {}
    first: dict[int, str | None] = {}
    for mark in marks[-MAX_LINES:]:
        start = line_of(text, mark)[0]
        before = text[start : mark.start][:400]
        named = _key(before, view)
        if start not in first:
            first[start] = named[0] if named and (named[1] or not before[named[2] :].strip()) else None
        criterion = first[start]
        if criterion is not None and named is not None:
            lines.setdefault(criterion, []).append(replace(mark, key=named[2]))
    if lines:
        return _criteria(text, lines, form, view)
    one = decide(text, marks, lambda raw: _inside(str(raw), form, view), view)
    return _inside(str(one.raw), form, view) if isinstance(one, Mark) else one


def by_lines(text: str, form: Format, view: View) -> Verdict | Reason | None:
    """Return for each criterion the verdict on the lines that are its number and a verdict."""
    lines: dict[str, list[Mark]] = {}
    for mark in islice(_lines(text), MAX_LINES):
        line = str(mark.raw)
        named = _key(line, view) if len(line) <= 300 else None
        if named is None or is_met(_bare(line[named[2] :]), form) is None:
            continue
        if not is_quotation(text, mark.start, line.strip(), view.judged):
            lines.setdefault(named[0], []).insert(0, replace(mark, raw=_bare(line[named[2] :])))
    return _criteria(text, lines, form, view) if lines else None


def _criteria(text: str, lines: Mapping[str, Sequence[Mark]], form: Format, view: View) -> Verdict | Reason:
    layout = Layout(text, sorted((m for marks in lines.values() for m in marks), key=lambda m: m.start))
    met: dict[str, bool | None] = {}
    reasons: list[Reason] = []

    def means(raw: object) -> Verdict:
        said = is_met(raw, form)
        return Unreadable(f"{short(raw)} is neither yes nor no") if said is None else Criteria({"": said})

    for criterion, marks in lines.items():
        one = decide(layout, marks, means, view)
        met[criterion] = is_met(one.raw, form) if isinstance(one, Mark) else None
        reasons += [one] if isinstance(one, Reason) else []
    if reasons and all(one is None for one in met.values()):
        return reasons[0]
    return all_criteria({c: met.get(c) for c in view.criteria}, view)


def _inside(text: str, form: Format, view: View) -> Verdict:
    found = by_lines(text, form, view)
    if isinstance(found, Reason):
        return Unreadable(str(found))
    return Unreadable(f"{short(text)} names no criterion") if found is None else found


def _strong(text: str, mark: Mark, form: Format, view: View) -> bool:
    line = _bare(str(mark.raw))
    if lead_of(line, view) is not None or _cells(str(mark.raw)):
        return True
    if not text[: mark.start].strip() and (noted(line, form, view) != line or (form.values and " " in line)):
        return True
    above = text[max(0, mark.start - 200) : mark.start]
    return (
        len(line.split()) == 1
        and not str(mark.raw).lstrip().startswith("#")
        and _begins(above.rpartition("\n")[0].rpartition("\n")[2])
    )


def _begins(above: str) -> bool:
    headed = above.lstrip().startswith("#") and has(Cue.NOUN, above)
    return not above.strip() or headed or FENCE.match(above) is not None


def _words(text: str, line: Mark, form: Format, view: View) -> list[Mark]:
    if view.task not in ("pairwise", "score"):
        return []
    names_ = _NUMBER if view.task == "score" else names_of(*names(form, view))
    found = islice(names_.finditer(text, line.start, min(line.end, line.start + LONGEST_LINE)), MAX_MARKS)
    return [
        Mark(m.start(), m.end(), m[0], remark=True) for m in found if not _ITEM.match(text, line.start, m.end() + 3)
    ]


def _said(line: str, form: Format, view: View) -> Verdict | None:
    bare = _bare(line)
    lead = lead_of(bare, view)
    tries = [line.strip(), line.strip() if view.task == "label" and _SIGNED.match(line) else bare]
    if cells := _cells(line):
        tries += cells[1:] if has(Cue.WHOLE, cells[0]) or has(Cue.NOUN, cells[0]) else []
    elif lead is not None:
        tries += [_bare(bare[lead:]), noted(_bare(bare[lead:]), form, view)]
    elif (form.values or view.task == "label") and not _SIGNED.match(line):
        tries.append(noted(bare, form, view))
    if lead is None and (note := _NOTE.match(bare)):
        rest = _bare(bare[note.end() :])
        tries += [noted(rest, form, view)] if view.task != "score" or _NUMBER_LIKE.fullmatch(rest) else []
    readings = [meant(part, form, view) for part in tries]
    for reading in readings:
        if not isinstance(reading, Unreadable):
            return reading
    if lead is not None and not cells and len(tries[2].split()) <= (3 if _SEPARATOR.search(bare[:lead]) else 1):
        return readings[2]
    return readings[1] if _NUMBER_LIKE.fullmatch(bare) or is_none(bare, form, view) else None


def lead_of(line: str, view: View) -> int | None:
    """Return where the words end that announce a verdict at the beginning of a line; None if there are none."""
    found = _SEPARATOR.search(line, 0, LONGEST_LEAD)
    if found is None:
        nouns = [m.end() for m in cue(Cue.NOUN).finditer(line[:LONGEST_LEAD].lower())]
        found = _COPULA.match(line, nouns[-1]) if nouns else None
    if found is None or not found.start() or len(line[: found.start()].split()) > MAX_LEAD_WORDS:
        return None
    words = line[: found.start()]
    kinds = [Cue.DENIED, Cue.OTHERS, Cue.IF, Cue.WHOSE]
    kinds += [Cue.ASIDE] if view.task == "score" else [] if view.framing is Framing.NEGATIVE else [Cue.LESSER]
    if any(has(kind, words) for kind in kinds):
        return None
    return found.end() if has(Cue.NOUN, words) or words.strip().lower() in _ANSWERS else None


def _key(line: str, view: View) -> tuple[str, bool, int] | None:
    found = _NUMBERED.match(line)
    if found is None:
        return None
    key = found["key"].rstrip(".")
    set_off = found["sep"] is not None or found["key"].endswith(".")
    if re.fullmatch(r"[0-9]{1,4}", key) and 1 <= int(key) <= len(view.criteria):
        return view.criteria[int(key) - 1], set_off, found.end()
    known = alike(view.criteria, key)
    return None if known is None else (known, set_off, found.end())


def _lines(text: str) -> Iterator[Mark]:
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.strip() and not FENCE.match(line):
            yield Mark(start, end, line)
        end = start - 1


def _cells(line: str) -> list[str]:
    row = line.strip()
    return [_bare(cell) for cell in row.strip("|").split("|")] if row.startswith("|") and row.count("|") > 2 else []


def _bare(line: str) -> str:
    line = unpictured(line).strip().lstrip("=→⇒➜")
    bullet = _BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    for sign in ("**", "__", "`"):
        line = line.replace(sign, "")
    return line.strip(" \t*\"'“”‘’").rstrip(".!").rstrip()
