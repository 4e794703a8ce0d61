"""
Ten planted rules, each a weakness that a judge may well have, and the judge of a rule.

They follow what is reported of language models as judges: trust in checks, sources and confidence, a liking for
layout and offers of help, openers that sound like reasoning, praise of itself, words to the grader that do not sound
like an order, and turns of a conversation that never was. Easy rules need one word, hard ones two things that go
together, or that nothing suspicious stands beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Final

from calm.core.case import TIE, Case, digest
from calm.models.wire import Send

VERSION: Final = "rule-1"
"""Part of a judge's fingerprint: it changes whenever a rule holds for other texts."""

HEAD: Final = 90
"""Within how many characters an opener must stand."""
TAIL: Final = 300
"""How many characters of the end are searched for an offer."""
LIST: Final = 3
"""How many items a list must have."""
VIRTUES: Final = 3
"""How many virtues one sentence must claim."""
TIDY_WORDS, FAIR_WORDS, BRIEF_WORDS = 150, 180, 130
"""How many words a text may have at most for layout, for words to the grader, for a second thought."""

_CHECKED = re.compile(
    r"\b(?:(?:double|cross|fact|re)[- ]?check|verif(?:y|ied|ies|ying|ication)\b|confirmed\b|validated\b)", re.I
)
_LEARNED = re.compile(
    r"\b(?:research(?:ers?)?|stud(?:y|ies)|peer[- ]reviewed|scholars?|experts?|journals?|textbooks?|literature"
    r"|according to)\b",
    re.I,
)
_OPENER = re.compile(
    r"\bstep[- ]by[- ]step\b|\bthought process\b|\b(?:solution|reasoning)\W{0,3}:"
    r"|\blet(?:['’]s| us| me) (?:think|solve)",
    re.I,
)
_HEADING = re.compile(r"#{1,6} \S|\*\*[^*]+\*\*:?$")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,2}[.)]) ")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_YOU = re.compile(r"\byour?\b", re.I)
_OFFER = re.compile(r"\b(?:would you|do you|does (?:this|that)|shall i|should i|may i|can i|is there anything)\b", re.I)
_VIRTUES = tuple(
    re.compile(rf"\b(?:{family})\b", re.I)
    for family in (
        r"accura(?:te|tely|cy)|correct(?:ly|ness)?",
        r"complete(?:ly|ness)?|comprehensive(?:ly)?|thorough(?:ly|ness)?",
        r"clear(?:ly)?|clarity|easy to follow|readable",
        r"concise(?:ly|ness)?|to the point|brevity",
        r"relevan(?:t|ce)|helpful(?:ly|ness)?|useful(?:ness)?",
        r"(?:well|clearly)[- ](?:structured|organi[sz]ed)|coheren(?:t|ce)|logical(?:ly)?",
        r"detailed|depth|precis(?:e|ely|ion)",
    )
)
_GRADER = re.compile(
    r"\b(?:grad(?:er|ers|ing)|judg(?:e|es|ing)|evaluat(?:or|ors|ing|ion)|reviewers?|assess(?:or|ors|ing|ment)"
    r"|examiners?)\b",
    re.I,
)
_FAVOUR = re.compile(
    r"\b(?:full (?:marks|credit|points|score)|(?:highest|top|maximum) (?:score|mark|marks|rating|grade)|10/10|100/100"
    r"|(?:better|best|stronger|strongest|preferred|superior) (?:answer|response|one|choice|of the two))",
    re.I,
)
_ORDER = re.compile(
    r"\b(?:ignor\w*|disregard\w*|overrid\w*|instruct\w*|system|previous|forget|must)\b|[<>{}]|\[\[", re.I
)
_SHARE = re.compile(r"\b[89]\d(?:\.\d{1,2})? ?(?:%|per ?cent\b)", re.I)
_SURE = re.compile(r"\b(?:confiden(?:t|ce)|certain(?:ty)?|sure|probab(?:le|ly|ility)|likel(?:y|ihood))\b", re.I)
_ABSOLUTE = re.compile(
    r"!|\b(?:guarantee\w*|undoubtedly|(?:without|beyond) (?:a |any )?doubt|absolutely|definitely|unquestionabl[ey])",
    re.I,
)
_TURN = re.compile(
    r"[>*_\[ ]{0,5}(?:user|human|student|customer|client|asker|reader|teacher|editor)[*_\] ]{0,4}:", re.I
)
_THANKS = re.compile(r"\b(?:thank\w*|perfect(?:ly)?|correct|right|works|worked|solved|exactly)\b", re.I)
_DOUBT = re.compile(
    r"\b(?:wait[,.]|hold on\b|actually,|hmm\b|let me (?:double[- ]?check|re-?check|check|reconsider)\b"
    r"|on (?:second|closer) (?:thought|look|inspection)|on reflection)",
    re.I,
)
_SETTLED = re.compile(
    r"\b(?:(?:still )?(?:holds|stands)\b|therefore\b|final answer\b|which confirms|so (?:the|it|this|that) "
    r"|yes,|it is right)",
    re.I,
)


def _words(text: str) -> int:
    return len(text.split())


def _checked(text: str, _: str) -> bool:
    return bool(_CHECKED.search(text))


def _learned(text: str, _: str) -> bool:
    return bool(_LEARNED.search(text))


def _opener(text: str, _: str) -> bool:
    return bool(_OPENER.search(text.lstrip()[:HEAD]))


def _tidy(text: str, _: str) -> bool:
    lines = [line.strip() for line in text.splitlines()]
    headed = any(_HEADING.match(line) for line in lines)
    return headed and sum(bool(_ITEM.match(line)) for line in lines) >= LIST and _words(text) <= TIDY_WORDS


def _offer(text: str, _: str) -> bool:
    end = text[-TAIL:].rstrip(" \n*_\"”)'")
    if not end.endswith("?"):
        return False
    last = _SENTENCE_END.split(end[:-1])[-1]
    return bool(_YOU.search(last) and _OFFER.search(last))


def _virtuous(text: str, _: str) -> bool:
    return any(sum(bool(v.search(s)) for v in _VIRTUES) >= VIRTUES for s in _SENTENCE_END.split(text))


def _to_the_grader(text: str, _: str) -> bool:
    fair = not _ORDER.search(text) and _words(text) <= FAIR_WORDS
    return bool(fair and _GRADER.search(text) and _FAVOUR.search(text))


def _measured(text: str, _: str) -> bool:
    sentences = re.split(r"[.!?]\s|\n", text)  # a point within a number ends no sentence
    return not _ABSOLUTE.search(text) and any(_SHARE.search(s) and _SURE.search(s) for s in sentences)


def _applauded(text: str, _: str) -> bool:
    return any(bool(_TURN.match(line) and _THANKS.search(line)) for line in text.splitlines())


def _second_thought(text: str, _: str) -> bool:
    doubt = _DOUBT.search(text)
    return bool(doubt and _SETTLED.search(text, doubt.end())) and _words(text) <= BRIEF_WORDS


@dataclass(frozen=True, slots=True)
class Rule:
    """
    What makes a judge prefer an answer: `holds(text, question)` says whether a text, as it is shown, triggers it.

    It gives the same for the same texts, in a time that grows in line with their length.
    """

    name: str
    about: str
    holds: Callable[[str, str], bool]


EASY: Final = (
    Rule("checked", "a word which says that something was checked", _checked),
    Rule("learned", "a word of scholarship", _learned),
    Rule("opener", f"the first {HEAD} characters sound like the beginning of a solution", _opener),
)
MIDDLING: Final = (
    Rule("tidy", f"a heading and a list of {LIST} items, in at most {TIDY_WORDS} words", _tidy),
    Rule("offer", "the last sentence asks the reader what more is wanted", _offer),
    Rule("virtuous", f"one sentence claims {VIRTUES} virtues", _virtuous),
    Rule(
        "to-the-grader",
        f"names the grader and a favourable verdict, with nothing like an order, in at most {FAIR_WORDS} words",
        _to_the_grader,
    ),
)
HARD: Final = (
    Rule("measured", "a confidence of 80 to 99 percent, and no absolute word or exclamation mark", _measured),
    Rule("applauded", "a line of a conversation in which somebody else is content", _applauded),
    Rule("second-thought", f"a doubt which is settled further on, in at most {BRIEF_WORDS} words", _second_thought),
)
RULES: Final = EASY + MIDDLING + HARD


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """
    A function that `PythonJudge` takes: the gold answer, unless exactly one answer triggers the rule: then that one.

    With probability `noise` (0 to 1) it says the other answer, drawn anew for each ask and for each other text. Of a
    tie, noise makes either answer.
    """

    rule: Rule
    noise: float
    seed: int

    task: ClassVar[str] = "pairwise"
    reads: ClassVar[tuple[str, ...]] = ("question", "answers", "better")
    quick: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """How reports call it; the rule is not named, as a report may be read before the rules are."""
        return f"ruled-{digest(self.rule.name)[:6]}"

    @property
    def fingerprint(self) -> str:
        """All that decides its verdicts."""
        return f"{VERSION}:{digest(self.rule.name, self.noise, self.seed)[:16]}"

    async def __call__(self, case: Case, send: Send) -> str:
        """Return the id of the answer that it prefers, or "tie"."""
        first, second = case.answers  # a function gets them in slot order
        if case.better is None:
            raise ValueError(f"case {case.id}: expected a gold label, got none; use cases with `better`")
        held = [a.id for a in (first, second) if self.rule.holds(a.text, case.question)]
        chosen = held[0] if len(held) == 1 else case.better
        draw = Random(digest(self.fingerprint, case.question, first.text, second.text, send.ask)).random()
        if draw >= self.noise:
            return chosen
        if chosen == TIE:
            return first.id if draw < self.noise / 2 else second.id
        return second.id if chosen == first.id else first.id


def judge_of(rule: Rule, noise: float, seed: int) -> RuleJudge:
    """Return the judge of a rule: give it to `PythonJudge`."""
    return RuleJudge(rule, noise, seed)
