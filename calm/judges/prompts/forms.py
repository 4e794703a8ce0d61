"""The form in which a prompt asks for its verdict, by what its text and the examples in it show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice, permutations
from keyword import iskeyword
from typing import Final

from calm.core.foreign_names import SIDES, apart, parts
from calm.core.verdict import Scale, Task
from calm.judges.prompts.direction import direction_of
from calm.judges.prompts.ranges import range_in

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
    """Return the form of a tag around the verdict, or of several around its parts."""
    tagged = list(_TAGGED.finditer(text))
    known = next(_TAG.finditer(text), None)
    signs = {one[1]: (one[1], one[2]) for one in tagged if _FILLED.fullmatch(one[2].strip())}
    made = None if known else _of_parts(("tag", "tag"), signs, text, task)
    tags = [known] if known else tagged[::-1]
    return made or (Form({"format": "tag", "tag": tags[0][1]}) if tags else None)


def _of_words(text: str, value: str) -> Form | None:
    """Return the form of a line such as "Score: 4", or of a label at the end, which a judge may repeat or not."""
    if line := next(filter(None, (one.search(text) for one in _LINE)), None):
        return Form({"format": "regex", "pattern": rf"(?i){line[1]}{LEAD}{value}"})
    end = _ENDS.search(text)
    if end is None or value != NUMBER or not re.search(rf"{end[1]} \(\d|\bscores? only\b", text, re.IGNORECASE):
        return None
    return Form({"format": "last-line"})


def _objects(text: str) -> list[str]:
    """Return the JSON or Python objects and lists that a text shows, without those that show a text of the case."""
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
    """Return the form of a JSON reply: a list of verdicts, several numbers, or one field."""
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
    """Return the form of several lines, each a label and a number that is to be filled in."""
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
    """Return the form of a line with two numbers, the scores of the first and of the second answer."""
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
    """Return an expression for what stands before the score of a numbered answer, such as "Assistant 1:"."""
    words = r"assistant|answer|response|output|model|score|ai"
    return rf"(?i:\b(?:{words})[ _]?#?{number}(?:'s)?(?: score)?(?:[^\w\n]{{1,6}}| gets | receives ))"


def _options(text: str) -> dict[str, str]:
    """Return the classes that letters stand for, in lines such as "A: CORRECT" one after the other; or nothing."""
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
    """Return the form of a list that says which rank each of the named answers has: the name with rank 1 counts."""
    names = names_in(text)
    ranked = _RANKED.search(text)
    if names is None or ranked is None:
        return None
    return Form({"format": "json", "field": f"[{ranked[2]}=1].{ranked[1]}"})
