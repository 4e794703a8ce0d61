"""Validation: what an edited text must keep of the original, measured before a judge is asked about it.

Each rule is about a property that a program can measure, so none proves that two texts mean the same: a rewrite that
passes may still be a bad one. What fails is never asked about.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from calm.core.case import Case, Treated
from calm.core.reasons import Kind, Reason, because
from calm.errors import EditError, few_of

Numbers: TypeAlias = Literal["same", "kept", "there", "digits", "any"]
"""
How an edit may treat numbers: `same`: the same ones, as often; `kept`: all of them, as often or more, and none with a
new value; `there`: all of them, and others beside them; `digits`: the same values, however a language writes them.
"""

Difference: TypeAlias = Literal["seen", "spaced", "any"]
"""
What counts as a difference: `seen`: not white space and characters without width alone; `spaced`: white space, too, as
for an edit made by rule, which changes nothing by accident; `any`: even what nobody sees.
"""


@dataclass(frozen=True, slots=True)
class Band:
    """The least and the greatest value of something measured."""

    low: float = 0.0
    high: float = math.inf

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"at least {self.low:g}"
        return f"at most {self.high:g}" if self.low == 0 else f"{self.low:g} to {self.high:g}"

    def holds(self, value: float) -> bool:
        """Return whether a value lies inside."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Rules:
    """
    The rules for an edited text; a rule that is None or False is not checked.

    `length` is the number of characters, as a multiple of the original's. `new_words` is the share of the edited text's
    content words that the original lacks, `kept_words` the share of the original's that are still there. Both count
    each word once, by its beginning, and allow three more words. `names` refuses words that are written like a name and
    that the original lacks. `code` wants code blocks and inline code unchanged, `final` the final answer (in a box,
    after `####`, the letter after "answer", the number of the last sentence, or a last line of up to three words).
    """

    length: Band | None = None
    new_words: Band | None = None
    kept_words: Band | None = None
    names: bool = False
    numbers: Numbers = "any"
    code: bool = False
    final: bool = False
    difference: Difference = "seen"


UNKNOWN = Rules()
"""The rules for a text that somebody brings: that it differs visibly."""

ADDED = Rules(numbers="there", code=True, difference="spaced")
"""The rules for an edit made by rule after which the verdict must stay, or not rise."""
_BESIDE = replace(ADDED, difference="any")
"""The same for one that changes more than a text."""

SPARE = 3
"""This many words may be new or missing, whatever their share: in a short text one word is a large share."""
_STEM = 5
"""A word is compared by this many first letters: "repeats" and "repeated" are one word."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an edited text: the property it is `about`, which tables count, and the details."""

    about: str
    words: str = ""

    def __str__(self) -> str:
        return f"{self.about}: {self.words}" if self.words else self.about


def problems(before: str, after: str, rules: Rules) -> list[Fault]:
    """
    Return what is wrong with an edited text; nothing if it is usable.

    >>> rules = Rules(Band(0.5, 2.0), numbers="same")
    >>> list(map(str, problems("It takes 4 hours.", "It takes 5 hours, and it is a long way.", rules)))
    ['length: expected 0.5 to 2 times the original, got 2.29', 'numbers: expected the original ones, got 5, lost 4']
    """
    if not after.strip():
        return [Fault("blank", "expected a text, got none")]
    found: list[Fault] = []
    if rules.difference != "any" and not _differs_visibly(before, after, spaces=rules.difference == "spaced"):
        found.append(
            Fault("unchanged", "expected a visible difference, got none but of spaces or characters without width")
        )
    ratio = len(after) / max(1, len(before))
    if rules.length is not None and not rules.length.holds(ratio):
        found.append(Fault("length", f"expected {rules.length} times the original, got {ratio:.2f}"))
    if rules.new_words is not None or rules.kept_words is not None:
        found += _word_problems(before, after, rules)
    if rules.names and (new := _new_names(before, after)):
        found.append(Fault("names", f"expected no new ones, got {_few(new)}"))
    if rules.numbers != "any":
        found += _number_problems(before, after, rules.numbers)
    if rules.code:
        found += _code_problems(before, after, added=rules.numbers == "there")
    if rules.final and (wrong := _final_problem(before, after)):
        found.append(wrong)
    return found


# --------------------------------------------------------------------------------------------------------- in a run


KEEPS = ("SAME", "NOT_BETTER")
"""The expectations of edits that keep the gold."""
_GOLD = ("better", "scores", "met", "reference")


class Expecting(Protocol):
    """The part of an edit that is used here: its name, what it expects, and `rules` of its own if it has any."""

    @property
    def name(self) -> str:
        """Its name, by which a case may hold a text ready for it."""
        ...

    @property
    def label(self) -> str:
        """Its name as results show it."""
        ...

    @property
    def expects(self) -> str:
        """What a sound judge does with the treated answer."""
        ...


def fault_in(edit: Expecting, before: Treated, after: Treated) -> Reason | None:
    """
    Return why an edited case may not be asked about, or None.

    Raises:
        EditError: an edit that changed what it must not, or that expects WORSE and does not say what it harmed.
    """
    keeps = edit.expects in KEEPS
    if keeps:
        broken = [name for name in _GOLD if _differs(before, after, name)]
        if {a.id for a in before.answers} - {a.id for a in after.answers}:
            broken.append("the answers' ids")
        if broken:
            changed = f"changed {broken[0]} of case {before.id}"
            raise EditError(f"perturbation {edit.label} expects {edit.expects} but {changed}")
        if not before.truth_kept_by(after):
            return because(Kind.CHANGES_TRUTH)
    if edit.expects == "WORSE" and after.damaged is None:
        raise EditError(f"perturbation {edit.label} expects WORSE: harm the answer with case.damage(id, change)")
    why = refusal(edit, before, after)  # what was measured differs from case to case
    return None if why is None else because(Kind.REFUSED, why.about)


def refusal(edit: Expecting, before: Case, after: Case) -> Fault | None:
    """
    Return why an edited case may not be asked about, or None.

    Where the verdict must stay or not rise, the gold must be unchanged, the numbers and the code of each original
    answer must still be there, and if only texts were changed, the change must be visible. The text of an edit with its
    own `rules` must keep those instead; a text that the case itself holds for the edit must only differ visibly.
    """
    own: Rules | None = getattr(edit, "rules", None)
    names: tuple[str, ...] = getattr(edit, "takes", ())
    keeps = edit.expects in KEEPS
    if not keeps and own is None:
        return None
    if keeps and (changed := [n for n in _GOLD if _differs(before, after, n)]):
        return Fault("gold", f"expected no change, got another {changed[0]}")
    texts = {answer.id: answer.text for answer in before.answers}
    edited = [(a.id, texts[a.id], a.text) for a in after.answers if a.id in texts and texts[a.id] != a.text]
    only = len(edited) == 1 and _only_texts(before, after)
    for answer, old, new in edited:
        held = any(before.variants.get(name, {}).get(answer) == new for name in names)
        rules = UNKNOWN if held else own or (ADDED if only else _BESIDE)
        if found := problems(old, new, rules):
            return found[0]
    return None


def _differs(before: Case, after: Case, name: str) -> bool:
    old, new = getattr(before, name), getattr(after, name)
    return old is not new and old != new


_BESIDE_TEXTS = ("question", "turns", "context", "fields")
_PRESENTED = ("notes", "examples", "framing", "follow_ups", "bylines", "drafts", "labels", "order")


def _only_texts(before: Case, after: Case) -> bool:
    """Return whether nothing but the texts of the answers differs in what a judge can be shown."""
    pairs = zip(before.answers, after.answers, strict=False)
    if any((a.author, a.history, a.steps) != (b.author, b.history, b.steps) for a, b in pairs):
        return False
    names = _BESIDE_TEXTS if before.presentation is after.presentation else (*_BESIDE_TEXTS, *_PRESENTED)
    return not any(_differs(before, after, name) for name in names)


# ------------------------------------------------------------------------------------------------------------- sight

NO_WIDTH = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+")


def _differs_visibly(before: str, after: str, *, spaces: bool) -> bool:
    old, new = _seen(before), _seen(after)
    return old != new if spaces else "".join(old.split()) != "".join(new.split())


def _seen(text: str) -> str:
    """Return a text composed and without the characters of no width."""
    return text if text.isascii() else NO_WIDTH.sub("", unicodedata.normalize("NFC", text))


# ------------------------------------------------------------------------------------------------------------- words

_COMMON = (
    "the and but for nor yet not are was were been being have has had having does did doing done will would shall"
    " should can could may might must this that these those there here then than thus hence therefore because since"
    " while when where which who whom whose what why how all any each every both few more most much many some such no"
    " only own same so too very just also even still again once about above after against along among around before"
    " below between beyond down during from into near off onto out over per through throughout toward towards under"
    " until upon with within without you your yours yourself him his her hers its our ours they them their theirs one"
    " ones someone something anyone anything everyone everything nobody nothing other others another else either"
    " neither whether though although however moreover furthermore nevertheless instead rather quite indeed really"
    " actually simply now ever never always often sometimes well like get gets got let lets way ways thing things"
    " make makes made take takes said say says words word point points order fact case say namely etc"
)
STOP_WORDS = frozenset(_COMMON.split())
"""Words that carry no content of their own: function words, and what fills a longer sentence."""

_SHORTEST = 3
_WORD = re.compile(rf"[^\W\d_]{{{_SHORTEST},}}")
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
_NAME = re.compile(r"[A-Z][^\W\d_]+")
_MANY_NAMES = 1 / 6


def content_words(text: str) -> frozenset[str]:
    """
    Return the beginnings of the words of a text that carry content, each once.

    >>> sorted(content_words("The trains were repeated; a train repeats."))
    ['repea', 'train']
    """
    return frozenset(word[:_STEM] for word in _words(text.casefold()) - STOP_WORDS)


def _words(text: str) -> set[str]:
    if not text.isascii():
        return set(_WORD.findall(text))
    return {word for word in set(text.translate(_NO_LETTERS).split()) if len(word) >= _SHORTEST}  # several times faster


def _word_problems(before: str, after: str, rules: Rules) -> list[Fault]:
    old, new = content_words(before), content_words(after)
    found = []
    if (band := rules.new_words) is not None and new:
        fresh = new - old
        share = len(fresh) / len(new)
        if (share > band.high and len(fresh) > SPARE) or (share < band.low and len(new & old) > SPARE):
            found.append(Fault("new words", f"expected {band} of all, got {share:.2f}: {_few(fresh)}"))
    if (band := rules.kept_words) is not None and old:
        lost = old - new
        share = 1 - len(lost) / len(old)
        if share < band.low and len(lost) > SPARE:
            found.append(Fault("kept words", f"expected {band} of the original's, got {share:.2f}: lost {_few(lost)}"))
    return found


def _names(text: str) -> list[str]:
    """Return the words that begin with a capital letter inside a sentence, or are all capitals."""
    found = []
    for word in _NAME.finditer(text):
        start = word.start()
        before, gap = text[max(0, start - 2) : start - 1] if start > 1 else "", text[max(0, start - 1) : start]
        inside = gap == " " and (before.isalnum() or before in (",", ";"))
        if inside or (word[0].isupper() and not gap.isalnum()):
            found.append(word[0])
    return found


def _new_names(before: str, after: str) -> list[str]:
    """Return the new words that are written like names; none in a language that capitalises all nouns."""
    names = _names(after)
    if not names:
        return []
    known = before.casefold()
    new = sorted({n for n in names if n.casefold() not in STOP_WORDS and n.casefold()[:_STEM] not in known})
    if not new:
        return []
    words = before.count(" ") + 1
    german = words > 2 * SPARE and len(_names(before)) > _MANY_NAMES * words
    return [] if german else new


def _few(words: Iterable[str]) -> str:
    return few_of(sorted(words), 4)


# ----------------------------------------------------------------------------------------------------------- numbers

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SEPARATOR = re.compile(r"[.,:]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MARKER = re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+(?=\S)", re.MULTILINE)
_SPELLED = {
    word: str(value)
    for value, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=2
    )
}


def numbers(text: str) -> Counter[str]:
    """
    Return the numbers of a text by value, those of list items left out.

    >>> dict(numbers("1. Mix 1,000 g with 3.50 l.\\n2. Wait until 10:30."))
    {'1000': 1, '3.5': 1, '10:30': 1}
    """
    return Counter(map(_value, _NUMBER.findall(_unlisted(text))))


def _value(number: str) -> str:
    if not number.isascii():
        number = "".join(str(unicodedata.digit(c, c)) for c in number)
    if "," in number and _THOUSANDS.fullmatch(number):
        number = number.replace(",", "")
    return number.rstrip("0").rstrip(".") if number.count(".") == 1 and "," not in number else number


def _unlisted(text: str) -> str:
    """Return a text without the numbers of its list items: 1, 2, 3 ... at the beginnings of lines."""
    markers = list(_MARKER.finditer(text))
    if len(markers) < 2:
        return text
    parts, at, last = [], 0, 0
    for marker in markers:
        if int(marker[1]) in (1, last + 1):
            last = int(marker[1])
            parts.append(text[at : marker.start()])
            at = marker.end()
    return "".join([*parts, text[at:]])


def _spelled(text: str) -> frozenset[str]:
    lowered = text.lower()
    near = [word for word in _SPELLED if word in lowered]
    return frozenset(_SPELLED[word] for word in near if re.search(rf"\b{word}\b", lowered))


def _number_problems(before: str, after: str, how: Numbers) -> list[Fault]:
    if how == "there":
        missing = Counter(_NUMBER.findall(before)) - Counter(_NUMBER.findall(after))
        return [Fault("numbers", f"expected all of the original, lost {_few(missing)}")] if missing else []
    read = _digits if how == "digits" else numbers
    old, new = read(before), read(after)
    said_before, said_after = _spelled(before), _spelled(after)
    lost = {n for n in old - new if new[n] == 0 and n not in said_after}
    fresh = {n for n in new if n not in old and n not in said_before}
    if how in ("same", "kept"):
        lost |= {n for n in said_before - said_after if n not in new}
        fresh |= {n for n in said_after - said_before if n not in old}
        lost |= {n for n in old - new if n not in said_after}
    if how == "same":
        fresh |= {n for n in new - old if n not in said_before}
    if not lost and not fresh:
        return []
    said = [f"got {_few(fresh)}"] if fresh else []
    said += [f"lost {_few(lost)}"] if lost else []
    return [Fault("numbers", f"expected the original ones, {', '.join(said)}")]


def _digits(text: str) -> Counter[str]:
    """
    Return the numbers of a text without their separators, in plain digits: 1,000.50 is 1.000,50 elsewhere.

    >>> _digits("1.000,50 and \N{ARABIC-INDIC DIGIT FOUR}")
    Counter({'100050': 1, '4': 1})
    """
    plain = text if text.isascii() else "".join(str(int(sign)) if sign.isdecimal() else sign for sign in text)
    return Counter(_SEPARATOR.sub("", number) for number in _NUMBER.findall(_unlisted(plain)))


# -------------------------------------------------------------------------------------------------------------- code

_FENCED = re.compile(  # possessive, so that a long line of backticks is read once
    r"^[ \t]{0,3}(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_INLINE = re.compile(r"`[^`\n]+`")


def _code_problems(before: str, after: str, *, added: bool) -> list[Fault]:
    if "`" not in before and "~~~" not in before and "`" not in after and "~~~" not in after:
        return []
    old, new = [m[0] for m in _FENCED.finditer(before)], [m[0] for m in _FENCED.finditer(after)]
    if old != new and not (added and _within(_lines(old), _lines(new))):
        why = "expected the code blocks as they were, got another text in one; put added words on a line of their own"
        return [Fault("code", why)]
    spans, others = Counter(_INLINE.findall(before)), Counter(_INLINE.findall(after))
    if missing := spans - others:
        return [Fault("code", f"expected all inline code, lost {_few(missing)}")]
    return []


def _lines(blocks: Iterable[str]) -> list[str]:
    return [line for block in blocks for line in block.splitlines()]


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(element in rest for element in part)


# ------------------------------------------------------------------------------------------------------ final answer

_FORMS = (
    ("\\boxed", re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\}){0,200})\}")),
    ("####", re.compile(r"^####[ \t]*(\S[^\n]{0,200})$", re.MULTILINE)),
    ("answer", re.compile(r"\banswer(?: is|:)\W{0,6}([A-J])\b(?!['’])")),
)
"""How a final answer can be marked: what such a mark contains, and the pattern that finds it."""
_SENTENCE_END = re.compile(r"[.!?]\s+|\n+")
_LAST_CHARACTERS = 400
_FEW_WORDS = 3


def _final_problem(before: str, after: str) -> Fault | None:
    """Return what is wrong with the final answer, looked for in the form in which the original has it."""
    for mark, pattern in _FORMS:
        if mark in before and (old := pattern.findall(before)):
            new = [_plain(found) for found in pattern.findall(after)]
            if new and new[-1] == _plain(old[-1]):
                return None
            got = repr(new[-1][:40]) if new else "none in the form of the original"
            return Fault("final answer", f"expected {_plain(old[-1])[:40]!r}, got {got}")
    last = _SENTENCE_END.split(before.strip()[-_LAST_CHARACTERS:].rstrip(".!?"))[-1]
    if stated := _NUMBER.findall(last):
        given = _last_numbers(after)
        if given and _value(given[-1]) == _value(stated[-1]):
            return None
        if not given and _value(stated[-1]) in _spelled(after):
            return None
        return Fault(
            "final answer", f"expected {stated[-1]!r} as the last number, got {given[-1] if given else 'none'!r}"
        )
    if len(last.split()) <= _FEW_WORDS and _plain(last) and _plain(last) not in _plain(after):
        return Fault("final answer", f"expected {_plain(last)[:40]!r}, got a text without it")
    return None


def _last_numbers(text: str) -> list[str]:
    """Return some of the numbers of a text, the last one among them; none if it has none."""
    near = _NUMBER.findall(text[-_LAST_CHARACTERS:])
    return near if len(near) > 1 else _NUMBER.findall(text)  # a single one may be cut off at its beginning


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`$.!?]", " ", text).casefold().split())
