"""How a prompt asks for its verdict: the form, the range of a score, and the names of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from keyword import iskeyword
from typing import Final

from calm.core.names import SIDES, apart, parts
from calm.core.verdict import Scale, Task
from calm.judges.prompts.direction import direction_of

WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_N: Final = rf"(?:\d{{1,4}}(?:\.\d{{1,2}})?|{'|'.join(WORDS)})"
_TO: Final = r"(-|–|—|~|～|to|through|/|\.\.)"
_LENGTH: Final = (
    r"(?!\s*(?:(?:short|brief|full|complete|bullet|key|main)\s+)?(?:sentences?|lines?|words?|paragraphs?|reasons?|steps?|"
    r"characters?|tokens?|examples?|items?|bullets?|bullet points?|minutes?|pages?)\b)"
)
"""What follows a range that says how long a text is to be."""
_RANGES: Final = (
    re.compile(rf"\b(?:between[^\d\n]{{0,40}}?\b({_N})\s*(and)\s*({_N})\b{_LENGTH})", re.IGNORECASE),
    re.compile(
        r"\b(?:from|between|scale(?: of)?|range[ds]?(?: from| of)?|rat(?:e|ing)|scores?(?: of)?|integer|number|value|"
        r"severity|levels?)\b"
        rf"[^\d\n]{{0,40}}?\(?\[?\b({_N})\s*(?:\([^()\d\n]{{1,40}}\)\s*)?{_TO}\s*({_N})\b{_LENGTH}",
        re.IGNORECASE,
    ),
    re.compile(rf"[\[(<:][\"' ]{{0,3}}({_N})\s*(-|–|—|~|～|to)\s*({_N})[\"' ]{{0,3}}[\])>}},\n]", re.IGNORECASE),
    re.compile(rf"\b({_N})\s*(-|–|—|~|～|to)\s*({_N})\s*(?:%|\b(?:scale|points?|stars?|rating)\b)", re.IGNORECASE),
    re.compile(rf"\b({_N})\s*\([^()\d\n]{{1,40}}\)\s*{_TO}\s*({_N})\b{_LENGTH}", re.IGNORECASE),
    re.compile(
        r"\b(?:how|count|judge|assess|evaluate|grade|measure|estimate|mark)\b"
        r"(?:(?!\b(?:steps?|criteri\w+|rules?|points|questions?|lines?|chapters?|sections?|years?|ages?)\s+\d)[^\d\n.!]){0,90}?"
        rf"\b({_N})\s*(-|–|—|~|～|to)\s*({_N})\b{_LENGTH}",
        re.IGNORECASE,
    ),
)
_TOPS: Final = (
    re.compile(rf"\bout of (?:a (?:maximum|total) of )?({_N})\b{_LENGTH}", re.IGNORECASE),
    re.compile(rf"\b({_N})[- ](?:point|star)s?\b(?: (?:likert )?scale)?", re.IGNORECASE),
)
"""How a text states the top of a scale alone."""
_MADE: Final = re.compile(
    r"%|\d[ .,\u00a0\u202f]\d|\b(?:subtract\w*|deduct\w*|add|minus|plus|doubl\w*|tripl\w*|twice|halv\w*|half|bonus\w*|"
    r"penal\w*|percent\w*|total\w*|sum\w*|add(?:ed)? up|average\w*|mean|normali[sz]\w*|scaled to|divid\w*|multipl\w*|"
    r"each|per|every|respectively|weight\w*)\b",
    re.IGNORECASE,
)
"""How a text says that its score is made of others, or into another one; or a number of which only a part is read."""
_LEVELS: Final = re.compile(
    r"^[^\w\n]{0,20}(?:(?:score|rating|grade|level)\s*(\d{1,2})\b|(\d{1,2})\s*(?:[=:–—]|-\s))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that begins with a value of the scale."""
_EXPLAINED: Final = re.compile(
    r"(?<![\w.])(\d{1,3})\s*(?:=|\b(?:is|means|being|for|if)\b)[\s\"'`]*(?=[^\W\d])", re.IGNORECASE
)
"""A value of the scale and what it means, in running text."""
LEAST: Final = 1
"""A scale begins here or below, unless the prompt states no such range: "4 and 5" are mostly two values of one."""
MOST_TOP: Final = 100
"""A greater number behind "out of" counts something else."""


def range_in(text: str) -> tuple[float, float, int] | None:
    """
    Return the ends of the scale that a text states, and where; None if it states none.

    Where the text states the top alone, as in "out of 5", the scale begins at 1.

    >>> range_in("Give reasons (1 to 3 lines). Rate it from 1-10.")
    (1.0, 10.0, 42)
    >>> range_in("A score of one to five: 1~2 is poor.")[:2], range_in("Give it a mark out of 5.")[:2]
    ((1.0, 5.0), (1.0, 5.0))
    """
    found = _ranges(text)
    if bands := _bands(sorted(found, key=lambda one: one[2])):
        return bands
    stated = next((one for one in found if one[0] <= LEAST), None)
    if stated is None:
        stated = next(_stated_otherwise(text), None)
    return stated or (found[0] if found else None)


def _ranges(text: str) -> list[tuple[float, float, int]]:
    return [
        (_number(one[1]), _number(one[3]), one.start(1))
        for pattern in _RANGES
        for one in pattern.finditer(text)
        if _number(one[1]) < _number(one[3]) and (one[2] != "/" or _number(one[1]) <= LEAST)
    ]


def other_range(text: str, scale: Scale) -> tuple[float, float, int] | None:
    """
    Return the ends of the scale that a text names, and where, if that is beyond doubt another one than `scale`.

    It is in doubt where a text names several, has a word for what is made of the score, or names the top of `scale`:
    a value below its own range may be for answers of another kind.

    >>> other_range("Rate it from 1 to 10.", Scale(0, 100)), other_range("Rate it from 1 to 10.", Scale(1, 10))
    ((1.0, 10.0, 13), None)
    >>> other_range("Rate three parts from 1 to 5, and give the total.", Scale(3, 15))
    """
    found = _ranges(text)
    tops = {_number(one[1]) for pattern in _TOPS for one in pattern.finditer(text)}
    ends = {one[:2] for one in found}
    if len(ends) != 1 or found[0][0] > LEAST or _MADE.search(text) or tops - {found[0][1]}:
        return None
    high = found[0][1]
    named = high == scale.high or re.search(rf"(?<![\d.]){scale.high:g}(?![\d]|\.\d)", text)
    return None if named else min(found, key=lambda one: one[2])


def _number(text: str) -> float:
    return float(WORDS.index(text.lower())) if text.lower() in WORDS else float(text)


def _bands(found: list[tuple[float, float, int]]) -> tuple[float, float, int] | None:
    run = found[:1]
    for one in found[1:]:
        if one[0] in (run[-1][1], run[-1][1] + 1):
            run.append(one)
        elif len(run) < 3:
            run = [one]
    if len(run) < 3 or run[0][0] > LEAST:
        return None
    return (run[0][0], run[-1][1], run[0][2])


def _stated_otherwise(text: str) -> Iterator[tuple[float, float, int]]:
    listed = [(float(one[1] or one[2]), one.start()) for one in _LEVELS.finditer(text)]
    values = sorted({value for value, _ in listed})
    if len(values) > 2 and values[0] <= LEAST and values == [values[0] + n for n in range(len(values))]:
        yield values[0], values[-1], listed[0][1]
    for paragraph in re.finditer(r"(?:[^\n]+\n?)+", text):
        ends = sorted(float(one[1]) for one in _EXPLAINED.finditer(paragraph[0]))
        if ends and ends[0] <= LEAST and ends[-1] - ends[0] > 1:
            yield ends[0], ends[-1], paragraph.start()
    for pattern in _TOPS:
        for one in pattern.finditer(text):
            if LEAST < _number(one[1]) <= MOST_TOP:
                yield float(LEAST), _number(one[1]), one.start(1)


NUMBER: Final = r"(\d+(?:\.\d+)?)(?!\.?\d|\s*(?:-|–|~|or|to)\s*\d)"
"""A number in a pattern that is written: no part of another one, and none of two that are named together."""
LEAD: Final = r"[^\w<]{0,20}?"
"""What stands between a label and its number."""
MOST_PARTS: Final = 12
"""A prompt with more numbers to fill in asks for a table, and not for a verdict of parts."""
MOST_OBJECTS: Final = 100
"""So many openings of objects in a prompt are looked at, each for `LONGEST_OBJECT` characters."""
LONGEST_OBJECT: Final = 5000
LONGEST_CLASS: Final = 40
"""Characters of a class that a letter stands for; longer texts describe classes, whose names are the letters."""

_SHOWN: Final = re.compile(r"\{\{(?!\s*[\"{])[^{}]{1,200}\}\}")
"""A text of the case in a template."""
_BRACES: Final = re.compile(r'\{\{ "(\{[{%#]?)" \}\}')
"""How a template writes braces that are text."""
_BRACKETS: Final = re.compile(r"\[\[\s*(?:[^\[\]\n{}]{1,40}|\{\{[^{}]+\}\})\s*\]\]")
_MARKER: Final = re.compile(r"\[((?:final )?(?:result|score|verdict|rating|grade|decision))\](?=\s*[(<\[\d\"'])", re.I)
_JSON: Final = re.compile(r"\bJSON\b", re.IGNORECASE)
_VERDICT: Final = "score|verdict|rating|grade|result|pass|passed|winner|choice|label|answer|better|preference|met"
_KEY: Final = re.compile(rf"[\"'`{{ ,]({_VERDICT})[\"'`]?\s*(?::|key|field)", re.IGNORECASE)
_QUOTED: Final = re.compile(rf"[\"'`]({_VERDICT})[\"'`]", re.IGNORECASE)
_KEYED: Final = re.compile(r"[\"']([A-Za-z_][\w .-]{0,40})[\"']\s*:\s*(\"[^\"\n]*\"|'[^'\n]*'|[^,{}\[\]\n]*)")
_LISTED: Final = re.compile(
    rf"(?:[\"'](\w+)[\"']\s*:\s*)?\[\s*\{{[^{{}}]*[\"']({_VERDICT}|supported|attributed|faithful|relevant)[\"']\s*:",
    re.IGNORECASE,
)
"""A list of objects, each with a verdict, and the key that it has."""
_RANKED: Final = re.compile(r"[\"']([\w-]+)[\"']\s*:\s*[^,{}]+,\s*[\"'](rank\w*)[\"']\s*:", re.IGNORECASE)
"""An object that says of a name which rank it has."""
_TAG: Final = re.compile(r"<(verdict|score|rating|grade|result|judgement|judgment|decision)>", re.IGNORECASE)
_TAGGED: Final = re.compile(
    r"<(\w[\w.-]{0,30})>(?=[^<>\n{}]*(?:score|rating|grade|verdict|severity|\d|\bor\b|[A-Z]/[A-Z])|\W{0,9}\w\W{0,9}</)"
    r"([^<>\n{}]{1,80})</\1>",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"(?:^|\n)[\s>*#•-]{0,8}([A-Za-z][\w -]{1,30})[*_]{0,2}:[*_]{0,2}\s*\Z")
"""A label at the end of a prompt, which the judge is to go on from."""
_SIGN: Final = (
    r"(?:[<\[({_](?=[^\n]{0,40}(?:\d|score|rating|number|integer|\bint\b|\b[xn]\b))[^<>\[\](){}\n]{1,40}[>\])}_]"
    r"|\d{1,3}\s*(?:-|–|~|/|to|or)\s*\d{1,3})"
)
"""A sign of a number that is to be filled in: `<1-5>`, `[score]`, `0 or 1`."""
_NAMES: Final = r"(score|rating|grade|verdict|final verdict|decision)[\"'`*]*\s*:"
_LINE: Final = (
    re.compile(rf"(?:^[ \t]*[\"'`*]*|[\"'`]){_NAMES}", re.IGNORECASE | re.MULTILINE),
    re.compile(
        rf"\b(?:(?<=with )|(?-i:(?=[A-Z]))){_NAMES}(?=[ \t\"'`*]*(?:{_SIGN}|[XN]\b|[<\[(]?A[\"'`*]*(?:[/,]|[ ]or\b)))",
        re.IGNORECASE,
    ),
)
"""A label before the verdict: in a line of its own or in quotes, or in running text before a sign that is filled in."""
_FILLED: Final = re.compile(rf"{_SIGN}|\d{{1,3}}(?:\.\d{{1,3}})?|[xXnN]|int|integer|float|number", re.IGNORECASE)
_LABELLED: Final = re.compile(
    rf"^[ \t>*•`\"'-]{{0,8}}(?:\d{{1,2}}[.)]\s+)?(#?[A-Za-z][\w #.&/-]{{0,50}}?)[ \t*`]*[:=][ \t*`]*"
    rf"(\[\[\s*(?:\d{{1,3}}|[xn]|(?:\w+ )?(?:score|rating|number|grade)|{_SIGN})\s*\]\]|{_SIGN})[\"'`*.\s]*$",
    re.IGNORECASE | re.MULTILINE,
)
_WHOLE: Final = re.compile(r"\b(?:overall|final|total|verdict|result|score|rating|grade)\W*\Z", re.IGNORECASE)
"""The label of a verdict on the whole."""
_OVERALL: Final = re.compile(r"(?:\A|[\W_])(?:overall|final|total)(?:[\W_]|\Z)", re.IGNORECASE)
"""What the name of a number says that is on the whole, beside those of its parts."""
_TRUTH: Final = re.compile(
    r"[<\[(]?\s*(?:true|false|bool(?:ean)?)(?:\s*(?:/|\||,|\bor\b)\s*(?:true|false))?\s*[>\])]?", re.IGNORECASE
)
"""A sign of a truth value that is to be filled in: `true/false`, `<bool>`."""
_TWO: Final = re.compile(
    r"\b(?:two|both|2)\s+(?:\w+\s+){0,3}?(?:values|numbers|scores|integers|ratings)\b", re.IGNORECASE
)
_APART: Final = re.compile(r"\bseparated\b|\bspace between\b|\b(?:one|single|same|first) line\b", re.IGNORECASE)
_OPTION: Final = re.compile(r"^[ \t>*•`\"'-]{0,8}\(?([A-G])[).:=][ \t]*(\S[^\n]{0,400})", re.MULTILINE)
_LETTER: Final = re.compile(r"\bletters?\b|[\"'`(]A[\"'`)]|\bA, B\b|\bA/B\b|\boptions?\b|\bchoices?\b", re.IGNORECASE)
_NAMED: Final = re.compile(r"[\"'][\w -]{1,30}[\"']\s*:\s*[\"']([^\"'\n<>{}]{1,30})[\"']")
RANK: Final = ("score", "rating", "grade", "verdict", "winner", "choice", "preference", "better", "result")
"""Keys of a JSON reply, those first that say the verdict where there are several."""
_AROUND: Final = " <>[](){}"
_FUNCTIONS: Final = ("min", "max", "round")
"""What a formula can call."""
_BINARY: Final = re.compile(r"\b[01]\s*(?:or|/|,)\s*[01]\b")


@dataclass(frozen=True, slots=True)
class Form:
    """
    How a verdict is asked for: the keys of `[verdict]`.

    `parts` are the named numbers that one verdict is made of, by `formula`; `share` is whether the verdict is one from
    0 to 1 that is made of several. `options` are the classes by the letters that stand for them.
    """

    table: Mapping[str, str]
    parts: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)
    formula: str = ""
    share: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


def written(template: str) -> str:
    """Return a template with its braces as a judge reads them; what it shows of a case stays as it is."""
    return _BRACES.sub(r"\1", template)


def form_in(text: str, task: Task) -> Form | None:
    """
    Return the form that a text asks for; None if it shows none.

    >>> form_in("Write <S1>your reasons</S1><S2>your score</S2>", "score").table
    {'format': 'tag', 'tag': 'S2'}
    """
    ranked = _ranked(text) if task == "pairwise" else None
    if ranked is not None:
        return ranked
    labelled = _of_lines(text, task)
    if labelled is not None:
        return labelled
    if _BRACKETS.search(text):
        return Form({"format": "brackets"})
    number = NUMBER if task == "score" else r"(\w+)"
    if marker := _MARKER.search(text):
        word = rf"(?:\\?[\[(]\s?{marker[1]}(?:\s?\\?[\])])?|\*\*{marker[1]}\*\*|\b{marker[1]}[:\]])"
        return Form({"format": "regex", "pattern": rf"(?i){word}\W*(?:score\W*)?{number}"})
    if task == "score" and (options := _options(text)):
        return Form({"format": "last-line"}, options=options)
    if task == "pairwise" and _TWO.search(text) and _APART.search(text) and not _objects(text):
        return _two_numbers(text)
    if r"\boxed{" in text:
        return Form({"format": "regex", "pattern": rf"\\boxed\{{[^\w<]*{number}"})
    return _of_json(text, task) or _of_tag(text, task) or _of_words(text, number)


def _of_tag(text: str, task: Task) -> Form | None:
    tagged = list(_TAGGED.finditer(text))
    known = next(_TAG.finditer(text), None)
    signs = {one[1]: (one[1], one[2]) for one in tagged if _FILLED.fullmatch(one[2].strip())}
    made = None if known else _of_parts(("tag", "tag"), signs, text, task)
    tags = [known] if known else tagged[::-1]
    return made or (Form({"format": "tag", "tag": tags[0][1]}) if tags else None)


def _of_words(text: str, value: str) -> Form | None:
    if line := next(filter(None, (one.search(text) for one in _LINE)), None):
        return Form({"format": "regex", "pattern": rf"(?i){line[1]}{LEAD}{value}"})
    end = _ENDS.search(text)
    if end is None or value != NUMBER or not re.search(rf"{end[1]} \(\d|\bscores? only\b", text, re.IGNORECASE):
        return None
    return Form({"format": "last-line"})


def _objects(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    for opening in islice(re.finditer(r"\{(?=\s{0,99}[\"'])|\[(?=\s{0,99}\{\s{0,99}[\"'])", text), MOST_OBJECTS):
        if opening.start() < at:
            continue
        at, depth = opening.start(), 0
        for sign in re.finditer(r"[{}\[\]]", text[at : at + LONGEST_OBJECT]):
            depth += 1 if sign[0] in "{[" else -1
            if depth == 0:
                break
        else:
            at += 1
            continue
        whole = text[at : at + sign.end()]
        at += sign.end()
        if not _SHOWN.search(whole):
            found.append(whole)
    return found


def _of_json(text: str, task: Task) -> Form | None:
    objects = _objects(text)
    if not objects and not _JSON.search(text):
        return None
    listed = next((found for one in objects if (found := _LISTED.search(one))), None)
    if listed is not None and task == "score":
        return Form({"format": "json", "field": f"{listed[1] or ''}[].{listed[2]}"}, share=True)
    keyed = {key: value.strip("\"' \t") for one in objects for key, value in _KEYED.findall(one)}
    numbers = {key: value for key, value in keyed.items() if _FILLED.fullmatch(value)}
    made = _of_parts(("json", "field"), {key: (key, sign) for key, sign in numbers.items()}, text, task)
    if made is not None:
        return made
    keys = [key for key in keyed if key.lower() in _VERDICT.split("|")]
    keys = keys or _KEY.findall(_SHOWN.sub("", text)) or _QUOTED.findall(text)
    ranked = sorted(keys, key=lambda key: RANK.index(key.lower()) if key.lower() in RANK else len(RANK))
    truths = [key for key, value in keyed.items() if _TRUTH.fullmatch(value)]
    said = [*ranked, *filter(_OVERALL.search, numbers), *numbers, *(truths if len(truths) == 1 else [])]
    return Form({"format": "json", "field": said[0]}) if said else None


def _of_lines(text: str, task: Task) -> Form | None:
    found = {one[1].strip(): one[2] for one in _LABELLED.finditer(text)}
    bracketed = {sign.startswith("[[") for sign in found.values()}
    if bracketed == {True}:
        return _of_parts(("brackets", "label"), {label: (label, sign) for label, sign in found.items()}, text, task)
    if True in bracketed:
        return None
    patterns = {label: (rf"(?i){re.escape(label.lstrip('# '))}{LEAD}{NUMBER}", sign) for label, sign in found.items()}
    return _of_parts(("regex", "pattern"), patterns, text, task)


def _of_parts(own: tuple[str, str], found: Mapping[str, tuple[str, str]], text: str, task: Task) -> Form | None:
    """
    Return the form of a verdict of several numbers; None if they are fewer than two, or one is for the whole.

    `own` is a format and the key that says where a part is; `found` are, by label, the value of this key, and the sign
    of what is to be filled in.
    """
    kind, key = own
    if task == "pairwise":
        sides = next((pair for pair in permutations(found, 2) if apart(*pair) in SIDES), ())
        if not sides:
            return None
        first, second = ({key: found[label][0], **_ends(text)} for label in sides)
        return Form({"format": kind}, {"first": first, "second": second})
    whole = any(_WHOLE.search(label) or _OVERALL.search(label) for label in found)
    if task != "score" or whole or not 1 < len(found) <= MOST_PARTS:
        return None
    made: dict[str, Mapping[str, str | float]] = {}
    for label, (where, sign) in found.items():
        name = "_".join(parts(label.rpartition(".")[2]))
        fits = name.isidentifier() and not iskeyword(name) and name not in (*made, *_FUNCTIONS)
        binary = _BINARY.search(sign) is not None
        low, high = (
            (0.0, 1.0) if binary else (range_in(f"({sign.strip(_AROUND)})") or range_in(text) or (1.0, 10.0, 0))[:2]
        )
        step = {"step": 1.0} if binary else {}
        made[name if fits else f"part_{len(made) + 1}"] = {key: where, "low": low, "high": high, **step}
    return Form({"format": kind}, made, formula(made), share=True)


def formula(table: Mapping[str, Mapping[str, str | float]]) -> str:
    """
    Return the mean of named parts, each from 0 to 1; a part of yes or no beside graded ones multiplies it.

    A part whose name is a fault counts the other way round.

    >>> formula({"refusal": {"low": 0.0, "high": 1.0, "step": 1.0}, "tone": {"low": 1.0, "high": 5.0}})
    '(1 - refusal) * (tone - 1) / 4'
    """

    def share(name: str) -> str:
        low, high = float(table[name]["low"]), float(table[name]["high"])
        bad = direction_of("", Scale(low, high), names=[name]).best == "low"
        top = f"{high:g} - {name}" if bad else f"{name} - {low:g}"
        top = name if top == f"{name} - 0" else f"({top})"
        return top if high - low == 1 else f"{top} / {high - low:g}"

    gates = [name for name in table if "step" in table[name]]
    graded = [name for name in table if name not in gates]
    if not graded:
        gates, graded = [], gates
    mean = " + ".join(map(share, graded))
    mean = f"({mean}) / {len(graded)}" if len(graded) > 1 else mean
    return " * ".join([*map(share, gates), mean])


def _ends(text: str) -> dict[str, str | float]:
    found = range_in(text)
    return {} if found is None else {"low": found[0], "high": found[1]}


def _two_numbers(text: str) -> Form:
    scale = _ends(text)
    between, other = r"(?:/\d+)?(?:[ \t,;|:]+| (?:and|und|et|y|e|и|vs\.?) )", r"\d+(?:\.\d+)?"
    first, second = rf"{NUMBER}{between}{other}", rf"{other}{between}{NUMBER}"
    ends = (r"^(?:[^\d\n:]*:)?(?:<\w+>)?[^\w\n]*+", r"(?:/\d+)?(?:[^\w\n(<]|</?\w+>|\([^()\n]+\))*+$")
    return Form(
        {"format": "regex"},
        {
            "first": {"pattern": rf"(?m)(?|{first.join(ends)}|{_named_score(1)}{NUMBER})", **scale},
            "second": {"pattern": rf"(?m)(?|{second.join(ends)}|{_named_score(2)}{NUMBER})", **scale},
        },
    )


def _named_score(number: int) -> str:
    words = r"assistant|answer|response|output|model|score|ai"
    return rf"(?i:\b(?:{words})[ _]?#?{number}(?:'s)?(?: score)?(?:[^\w\n]{{1,6}}| gets | receives ))"


def _options(text: str) -> dict[str, str]:
    if not _LETTER.search(text):
        return {}
    run: list[re.Match[str]] = []
    for one in _OPTION.finditer(text):
        follows = run and ord(one[1]) == ord(run[-1][1]) + 1
        run = [*run, one] if follows else [one] if one[1] == "A" else run
    letters, names = [one[1] for one in run], [one[2].strip(" \t`\"'*.") for one in run]
    short = all(len(name) <= LONGEST_CLASS and len(name.split()) < 4 for name in names)
    if len(run) < 2 or len({*names}) < len(names):
        return {}
    return dict(zip(letters, names if short else letters, strict=True))


def names_in(text: str) -> tuple[str, str] | None:
    """
    Return the names that a template gives the two answers in the objects that show them; None if it gives none.

    >>> names_in('{"model": "m", "output": "{{ answers[0].text }}"}, {"model": "M", "output": "{{ answers[1].text }}"}')
    ('m', 'M')
    """
    found: list[str] = []
    for answer in (0, 1):
        place = text.find(f"answers[{answer}].text")
        before = text[max(0, place - 200) : place] if place >= 0 else ""
        named = list(_NAMED.finditer(before[before.rfind("{", 0, before.rfind("{{")) + 1 :]))
        found += [named[-1][1]] if named else []
    return (found[0], found[1]) if len(found) == 2 and found[0] != found[1] else None


def _ranked(text: str) -> Form | None:
    names = names_in(text)
    ranked = _RANKED.search(text)
    if names is None or ranked is None:
        return None
    return Form({"format": "json", "field": f"[{ranked[2]}=1].{ranked[1]}"})


_INTEGER: Final = re.compile(r"\b(?:integer|whole number)", re.IGNORECASE)
_BOOLEAN: Final = ("pass", "passed", "met")
_BOOLEANS: Final = re.compile(r"\bboolean\b|:\s{0,9}(?:true|false)\b", re.IGNORECASE)
"""How a prompt asks for true or false."""
_PAIRS: Final = (
    *(("yes", "no"), ("true", "false"), ("pass", "fail"), ("passed", "failed"), ("correct", "incorrect")),
    *(("safe", "unsafe"), ("factual", "hallucinated"), ("relevant", "irrelevant"), ("relevant", "unrelated")),
    *(("grounded", "ungrounded"), ("faithful", "unfaithful"), ("supported", "unsupported"), ("helpful", "unhelpful")),
    *(("acceptable", "unacceptable"), ("non-toxic", "toxic")),
    *(("good", "bad"), ("right", "wrong"), ("accept", "reject"), ("met", "unmet"), ("met", "not met"), ("y", "n")),
)
"""Words for a good and a bad verdict on one answer."""
_NUMBERED: Final = re.compile(r"(?:\[\[|[\"'`:])\s*(\d|[AB])\s*(?:\]\]|[\"'`}])")
"""How a prompt writes a verdict that is a number or a letter."""
_LETTERS: Final = re.compile(r"\bA[\"'`]?(?:\s*/\s*|,?\s+or\s+)[\"'`]?B\b")
_NUMBERED_NOUN: Final = re.compile(
    r"\b(answer|response|assistant|output|model|option|candidate) ([12])\b", re.IGNORECASE
)
_ONE_OR_TWO: Final = re.compile(r"(?<![\d.])1[\"'`]?(?:\s*/\s*|,?\s+or\s+)[\"'`]?2(?![\d.])(?! \w+s\b)")
_OR: Final = r"[\"'`*]*\s*(?:,?\s*or|/|\||,)\s*[\"'`*]*"


@dataclass(frozen=True, slots=True)
class Asked:
    """
    How a prompt asks for its verdict: the keys of `[verdict]` and the scale of a score, as far as they can be seen.

    `seen` is whether the form was found in the text; else `form` is a guess, which a person must check. `directed` is
    whether the text says which end of the scale is the best one; else it is taken to be the high one. `parts` are the
    named numbers of a verdict, `formula` what is made of them, and `options` the classes by the letters for them.
    """

    form: Mapping[str, str] = field(default_factory=lambda: {"format": "last-line"})
    scale: Scale | None = None
    values: Mapping[str, float | str] = field(default_factory=dict)
    seen: bool = False
    directed: bool = True
    parts: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)
    formula: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def asked_in(text: str, task: Task) -> Asked:
    """
    Return how a prompt asks for its verdict.

    >>> asked_in("Rate it from 1 to 5. Reply in JSON with the key `score`: ...", "score").form
    {'format': 'json', 'field': 'score'}
    >>> asked_in("Answer with one line: 'Verdict: A' or 'Verdict: B'.", "pairwise").form["format"]
    'regex'
    """
    text = written(text)
    found = _asked_in(text, task)
    if found.scale is None or found.parts:
        return found
    best = direction_of(text, found.scale, found.values, [found.form.get(key, "") for key in ("field", "tag")]).best
    return replace(found, scale=replace(found.scale, best=best or "high"), directed=best is not None)


def _asked_in(text: str, task: Task) -> Asked:
    form = form_in(text, task)
    if form is not None and form.share:
        return Asked(form.table, Scale(0.0, 1.0), seen=True, parts=form.parts, formula=form.formula)
    if form is not None and form.parts:
        return Asked(form.table, seen=True, parts=form.parts)
    ends = range_in(text) if task == "score" else None
    step = 1.0 if _INTEGER.search(text) or (ends and ends[1] - ends[0] > 1) else None
    scale = None if ends is None else Scale(ends[0], ends[1], step)
    if form is not None and form.options and scale is None:
        return _of_options(form.table, form.options)
    values = _values(text) if task == "score" and scale is None else {}
    if task == "pairwise":
        values = _sides(text)
    if form is None:
        return Asked(
            scale=scale, values=values, seen=bool(values) or (task == "pairwise" and bool(_LETTERS.search(text)))
        )
    name = form.table.get("field", "").lower()
    if task == "score" and not values and name and (name in _BOOLEAN or (scale is None and _BOOLEANS.search(text))):
        values = {"true": 1.0, "false": 0.0}
    table = dict(form.table)
    if values and task == "score" and "pattern" in table:
        table["pattern"] = table["pattern"].replace(NUMBER, r"(\w+)")
    return Asked(table, scale, values, seen=True)


def _of_options(table: Mapping[str, str], options: Mapping[str, str]) -> Asked:
    words = {name.lower(): letter for letter, name in options.items()}
    for good, bad in _PAIRS:
        if {good, bad} == words.keys():
            return Asked(table, values={words[good]: 1.0, words[bad]: 0.0}, seen=True)
    return Asked(table, seen=True, options=options)


def _sides(text: str) -> dict[str, float | str]:
    named = names_in(text)
    if named is not None and {name.upper() for name in named} != {"A", "B"}:
        return {named[0]: "first", named[1]: "second"}
    said = {one[1] for one in _NUMBERED.finditer(text)}
    nouns = [{one[1] for one in _NUMBERED_NOUN.finditer(text) if one[2] == side} for side in "12"]
    both = sorted(nouns[0] & nouns[1])
    if said != {"1", "2"} and not _ONE_OR_TWO.search(text) and (not both or said & {"A", "B"} or _LETTERS.search(text)):
        return {}
    return {
        name: side for n, side in (("1", "first"), ("2", "second")) for name in (n, *(f"{noun} {n}" for noun in both))
    }


def _values(text: str) -> dict[str, float | str]:
    for good, bad in _PAIRS:
        if re.search(rf"\b(?:{good}{_OR}{bad}|{bad}{_OR}{good})\b", text, re.IGNORECASE):
            return {good: 1.0, bad: 0.0}
    return {}
