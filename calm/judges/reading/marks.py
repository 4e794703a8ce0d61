"""What a reply is read with: words and cues of several languages, marks and views, and what of it is reasoning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from calm.core.case import Case, Criterion, Framing
from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Scale, Task, Unreadable
from calm.errors import ConfigError
from calm.judges import data

Languages: TypeAlias = Mapping[str, Sequence[str]]

UNSPACED: Final = frozenset(("ja", "zh", "ko"))
"""Languages whose words are found inside of a run of letters."""
AFTER: Final = frozenset(("ja", "ko"))
"""Languages that say no after what they deny."""


class Cue(Enum):
    """What a word says of the verdict beside it."""

    __hash__ = object.__hash__  # that of `Enum` computes anew, and a reply is looked at for 36 of them

    NOUN = "noun"  # it names a verdict
    CHOICE = "choice"  # it says that the judge decides
    DENIED = "denied"  # it denies
    THAN = "than"  # what stands after it is the lesser one
    IF = "if"  # it is a condition or a guess
    LESSER = "lesser"  # it names the answer that is not the better one
    FOLLY = "folly"  # it would be wrong to give the verdict
    ASIDE = "aside"  # it names another number than the verdict
    WHOSE = "whose"  # the verdict is somebody else's
    CITED = "cited"  # the name of an object in JSON that holds somebody else's verdict, or none yet
    WHOLE = "whole"  # it names the whole of several verdicts
    OTHERS = "others"  # somebody else's words, an order to the judge, or an example
    DRAFT = "draft"  # a draft
    FINAL = "final"  # final
    PAUSE = "pause"  # set off by a sign: the judge stops, and doubts what it said
    TURN = "turn"  # before a verdict in its own sentence: it corrects an earlier one
    TAKEN_BACK = "taken-back"  # the judge takes back what it said
    OWN = "own"  # the verdict that the judge gave, as it speaks of it
    REVISED = "revised"  # the judge names another value than the verdict that it gave
    JOINT = "joint"  # another clause begins
    SUMMARY = "summary"  # the judge sums up
    BETTER = "better"  # one answer is called the better one
    ALLOWED = "allowed"  # no cue, though it holds the word of one


@lru_cache(maxsize=1)
def table() -> Mapping[str, Languages]:
    """Return all words, by cue and language."""
    return data("words.toml")


@lru_cache(maxsize=64)
def cue(kind: Cue, *, before: bool = False) -> re.Pattern[str]:
    """Return the expression of a cue; `before` leaves out the languages whose denial follows what it denies."""
    spaced: list[str] = []
    openers: list[str] = []
    unspaced: list[str] = []
    for language, words in table()[kind.value].items():
        if before and language in AFTER:
            continue
        for word in map(str.lower, words):
            kinds = unspaced if language in UNSPACED else openers if word.startswith("^") else spaced
            kinds.append(word.removeprefix("^"))
    parts = [rf"(?<!\w){_tree(spaced)}(?!\w)"] if spaced else []
    parts += [rf"(?:^|[,;:(¿]\s?){_tree(openers)}(?!\w)"] if openers else []
    parts += [_tree(unspaced)] if unspaced else []
    return re.compile("|".join(parts))


def _tree(words: list[str]) -> str:
    rest: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        rest.setdefault(word[:1], []).append(word[1:])
    ends = "" in rest
    rest.pop("", None)
    found = "|".join(f"{_LETTERS.get(letter) or re.escape(letter)}{_tree(more)}" for letter, more in rest.items())
    if not found:
        return ""
    return f"(?:{found})?" if ends else f"(?:{found})" if len(rest) > 1 else found


_LETTERS: Final = {"*": r"\w*", " ": r"\s"}


def plain(text: str) -> str:
    """Return a text in lower case, without the phrases that hold the word of a cue and are none."""
    if not text:
        return ""
    low = _forced().sub(" ", cue(Cue.ALLOWED).sub(" ", text.lower()))
    return _mine().sub(lambda found: re.sub(r"\s?(?:would|würde)\s?", "", found[0]), low)


@lru_cache(maxsize=1)
def _mine() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{one_of('mine')})\b(?!\s(?:\w+\s)?(?:have|need|haben))")


@lru_cache(maxsize=1)
def _forced() -> re.Pattern[str]:
    return re.compile(rf"(?:{one_of('forced')})(?=\s*(?:[,:.;!?)*，、：。]|\Z))")


def has(kind: Cue, text: str, *, before: bool = False) -> bool:
    """
    Return whether a text has a cue.

    >>> has(Cue.DENIED, "The verdict is not"), has(Cue.DENIED, "There is no doubt that it is")
    (True, False)
    """
    return bool(text) and _has(kind, text, before)  # beside a verdict on a line of its own there is nothing


@lru_cache(maxsize=4096)
def _has(kind: Cue, text: str, before: bool) -> bool:
    return cue(kind, before=before).search(plain(text)) is not None


def one_of(name: str, *languages: str) -> str:
    """Return an expression for one of the words of a table, the longest first."""
    found = table()[name]
    words = {word for language in languages or found for word in found.get(language, ())}
    return "|".join(re.escape(word).replace(r"\ ", r"\s{1,4}") for word in sorted(words, key=lambda w: (-len(w), w)))


@lru_cache(maxsize=1)
def _retractions() -> re.Pattern[str]:
    table = data("retractions.toml")
    whole = "|".join(f"(?:{one})" for group in table["patterns"].values() for one in group)
    for name, part in reversed(table["parts"].items()):
        whole = whole.replace(f"{{{name}}}", part)
    return re.compile(whole)


def retracts(sentence: str) -> bool:
    """
    Return whether a sentence after a verdict takes it back.

    >>> retracts("That number came from the wrong answer."), retracts("The answer has the wrong year.")
    (True, False)
    """
    return _retractions().search(sentence.lower().replace("’", "'")) is not None


INVISIBLE: Final = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
"""Signs that have no width; a reply is read, and compared with what it quotes, without them."""
PICTURES: Final = re.compile("[\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]+")
"""Pictures beside a verdict, such as a tick."""
MAX_MARKS: Final = 200
"""Verdicts that are looked at, from the end of a reply; a judge writes one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """
    A verdict as written, and where: `start` and `end` in the text that is looked at.

    `stop` is where all of it ends, if that is another place; `about` are the words in it that say of which stage it is,
    and `key` is how many characters of its line number the criterion that it is on.
    A `remark` is a bare word such as A or 7: it counts only where a sentence gives it as a verdict. With `led`, the
    judge's own form of a verdict announces it: what the user's expression has before its group.
    """

    start: int
    end: int
    raw: object
    stop: int = -1
    about: str = ""
    key: int = 0
    remark: bool = False
    led: bool = False

    def __post_init__(self) -> None:
        if self.stop < 0:
            object.__setattr__(self, "stop", self.end)


@dataclass(frozen=True, slots=True)
class Clash:
    """Different `values` for one key of a JSON object, or of entries that a path names alike."""

    key: str
    values: tuple[object, ...] = ()

    @property
    def reason(self) -> Reason:
        """Why no verdict is read from it."""
        return because(Kind.KEY_TWICE, Said(short(self.key)))

    def __repr__(self) -> str:
        return f"{len(self.values)} values"


def line_of(text: str, mark: Mark) -> tuple[int, int]:
    """Return start and end of the line (or lines) that a verdict stands in."""
    end = text.find("\n", mark.end)
    return text.rfind("\n", 0, mark.start) + 1, len(text) if end < 0 else end


def unpictured(text: str) -> str:
    """Return a text without pictures; as it is where one of them is the verdict, as where symbols name the answers."""
    bare = PICTURES.sub("", text)
    said = bare.rstrip(" \t\r\n*_`\"'“”‘’.")
    return bare if said and not said.endswith((":", "：")) else text


def short(text: object) -> str:
    """Return a few words of a text for a message, with nothing in them that could move a terminal's cursor."""
    words = " ".join(str(text)[:400].split())
    return ascii(words if len(words) <= 80 else f"{words[:77]}...")


@dataclass(frozen=True, slots=True)
class View:
    """
    What a verdict is about: the labels by slot and the answer ids that they mean, scale, criteria, framing.

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
    texts = [
        case.question,
        *(a.text for a in shown),
        *(h for a in shown for h in case.history(a)),
        case.reference or "",
    ]
    texts += case.surroundings()
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


@lru_cache(maxsize=64)
def names_of(*labels: str) -> re.Pattern[str]:
    """Return an expression for the labels of answers as words."""
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, labels))})(?![A-Za-z0-9_])")


_REASONING = re.compile(
    r"<(?P<close>/)?(?P<tag>think|thinking|thought|reasoning|scratchpad)(?:\s[^<>]{0,200})?>"
    r"|\[(?P<close2>/)?(?P<tag2>THINK)\]"
    r"|◁(?P<close3>/)?(?P<tag3>think)▷"
    r"|<\|(?P<special>START_THINKING|END_THINKING|begin_of_thought|end_of_thought)\|>"
    r"|<\|channel\|>(?P<channel>[a-z ]{0,40})",
    re.IGNORECASE,
)
"""Where reasoning begins and ends, as current models write it; a verdict within is a thought, not a verdict."""

END_TOKEN = re.compile(r"(?:<\|(?:end|return|eot_id|im_end|endoftext|end_of_text)\|>|</s>)\s{0,20}\Z")
"""A special token that a server left at the end."""

_END_OF_MESSAGE = re.compile(r"<\|(?:start|end|return|call|message)\|>(?:assistant)?")


def _event(found: re.Match[str]) -> tuple[str, bool]:
    if found["special"]:
        return "special", found["special"].lower().startswith("end")
    if found["channel"] is not None:
        return "channel", found["channel"].strip().lower().startswith("final")
    for n in ("", "2", "3"):
        if found[f"tag{n}"]:
            return f"{n}{found[f'tag{n}'].lower()}", bool(found[f"close{n}"])
    raise AssertionError("a marker of reasoning has a name")


def _after_bare_channels(text: str) -> int:
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


_BRACKETS = re.compile(r"(?:\\?\[\\?\[|【【)([^\[\]【】\n]{0,2000}?)(?:\\?\]\s?\\?\]|】】|\](?=[\s*.]{0,20}\Z))")


def bracket_marks(text: str) -> list[Mark]:
    """Return the text between double brackets."""
    return [Mark(m.start(), m.end(), m[1]) for m in _BRACKETS.finditer(text)]


def tag_marks(text: str, tag: str) -> list[Mark] | Unreadable:
    """Return the text between an opening tag and the closing one that follows it."""
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
