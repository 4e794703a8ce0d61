"""What a name, a number or a formula in a reply means as a verdict."""

from __future__ import annotations

import ast
import html
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from calm.core.case import Framing
from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Criteria, Label, Preferred, Ranking, Score, Tie, Unreadable, Verdict, unreadable
from calm.errors import nearest
from calm.judges.reading.formats import NOTHING, SYMBOLS, Format
from calm.judges.reading.json_fields import alike
from calm.judges.reading.marks import UNSPACED, Clash, Cue, View, has, names_of, one_of, short, table, unpictured

_NUMBER = r"[+-]?(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})"
_PLAIN_NUMBER = re.compile(_NUMBER)
_RATIO = re.compile(rf"({_NUMBER})\s{{0,4}}(?:/|{one_of('ratios')})\s{{0,4}}({_NUMBER})", re.IGNORECASE)
_SPACED = sorted(set(table()["answers"]) - UNSPACED)
_NOUN = re.compile(
    rf"(?:{one_of('answers', *_SPACED)})\s{{1,4}}|(?:{one_of('answers', *sorted(UNSPACED))})\s{{0,4}}", re.IGNORECASE
)
_UNIT = re.compile(rf"\s{{0,4}}(?:{one_of('units')})\Z", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"([+-]?[0-9]{1,3}),([0-9]{1,2})(?![0-9])")
_COMPARED = re.compile(r"\s*([^<>=]{1,40}?)\s*(>{1,3}|<{1,3}|={1,2})\s*([^<>=]{1,40}?)\s*")
_STRENGTH = re.compile(r"(?<=\w)\+{1,2}\Z")
"""How much better an answer is: `A++`."""
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[.,\s][0-9]{3})+")
_TIES = frozenset(word for words in table()["ties"].values() for word in words)
DECLARED = ("brackets", "json", "tag", "regex")
"""Formats that say where a verdict is: a remark beside it is no sentence of the reply."""
QUALITY = re.compile(
    r"(?:ence|ency|enz|anz|encia|ência|enza|anza|zia|ance|ness|ity|acy|ität|heit|keit|té|dad|dade|ità|ность|性|度)\s*\Z",
    re.IGNORECASE,
)
"""What ends the name of a quality in a few languages: a line that begins with one is no count of anything."""
_NOTED = re.compile(
    rf"(?P<lead>[^\W\d][^\d:=]{{0,30}}?)?\s{{0,4}}[:=]?\s{{0,4}}(?P<value>{_NUMBER}(?:\s?/\s?{_NUMBER})?)"
    r"\s{0,4}(?P<note>[(\[][^()\[\]\d]{0,80}[)\]]|[:,]\s[^\d]{1,80}|\s?[–—-]\s[^\d]{1,80})?[.!]{0,3}"
)
_KEYED = re.compile(r"([\w+-]{1,40}?)(?:\s?\(|\s[–—-]\s|[,;:.]\s|[.!]?\Z)")
_TAGS = re.compile(r"</?(?:b|i|u|em|strong|span|code|mark)>", re.IGNORECASE)
_AROUND = " \t\r\n*_`\"'“”‘’"
"""Signs around a number, or another verdict."""
LONGEST_WRAPPED = 40
"""Characters that a verdict may have with what wraps it."""
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\{(.+)\}|\$+([^$]+)\$+|[\[(<]([^\[\]()<>]+)[\])>]")
_LETTERED = re.compile(
    r"[(\[]?([A-Za-z0-9])(?:[)\]]\s?[:.–-]?|\s?[:.–-])\s{1,4}[(\[]?([A-Za-z][\w-]*(?:[ _]\w+){0,2})[)\]]?\.?"
)
"""A letter of a menu and the words that it stands for: `A: CORRECT`, `(C) not attempted`."""
_WORDS: Mapping[str, bool] = {
    "yes": True,
    "met": True,
    "true": True,
    "no": False,
    "not met": False,
    "not_met": False,
    "unmet": False,
    "false": False,
}


def meant(raw: object, form: Format, view: View) -> Verdict:
    """Return what a verdict as written means for the task, with framing and scale mapped back."""
    if isinstance(raw, str):
        raw = _named(unicodedata.normalize("NFKC", html.unescape(raw) if "&" in raw else raw), form, view)
    if isinstance(raw, Clash):
        return unreadable(raw.reason)
    if view.task == "rubric-all":
        return _checklist(raw, form, view)
    value, mapped = _mapped(raw, form)
    if is_none(raw, form, view):
        return Unreadable(f"{short(raw)} is no verdict, as [verdict.values] says")
    if view.task == "pairwise":
        return _choice(value, mapped, form, view)
    if view.task == "score":
        return _mean(value, form, view) if isinstance(value, tuple) else _score(value, view)
    if view.task == "rubric":
        met = is_met(raw, form)
        if met is None:
            return Unreadable(f"{short(raw)} is neither yes nor no")
        return all_criteria({view.criteria[0]: met}, view)
    if view.task == "points":
        return _share(value, mapped, view)
    if view.task == "label":
        return _class(value, view)
    return _ranking(value, view)


def is_none(raw: object, form: Format, view: View) -> bool:
    """Return whether `values` says of a word that it is no verdict; where a class is called `none`, it means that."""
    value, mapped = _mapped(raw, form)
    return mapped and value == NOTHING and class_of(value, view) is None


def _named(text: str, form: Format, view: View) -> str:
    if (text.isascii() and text.isalnum()) or view.task == "listwise" or form.key(text) is not None:
        return text
    bare = _TAGS.sub("", unpictured(text)).strip(_AROUND)
    if (noun := _NOUN.match(bare)) is not None and form.key(bare[noun.end() :].strip("() ")) is not None:
        return bare[noun.end() :].strip("() ")
    while len(bare) <= LONGEST_WRAPPED and (inner := _WRAPPED.fullmatch(bare)) is not None:
        text = bare = (inner[1] or inner[2] or inner[3]).strip(_AROUND)
    letter = _LETTERED.fullmatch(bare) if view.task != "pairwise" else None
    classes = view.scale.classes
    sides = (letter[1], letter[2]) if letter else ()
    named = [one for one in sides if form.key(one) is not None or (classes and classes.named(one))]
    if not named:
        return bare if form.key(bare) is not None else noted(bare, form, view) if form.kind in DECLARED else text
    meanings = {form.values[key] if (key := form.key(one)) else classes.named(one) if classes else "" for one in named}
    return named[0] if len(meanings) == 1 else text


def noted(text: str, form: Format, view: View) -> str:
    """
    Return a verdict without the remark on it: `3 - adequate`, `7 (high)`, `Severity 2`, `INCORRECT, because ...`.

    A remark that holds a number or another label, or that doubts, is none.
    """
    if view.task == "score" and (found := _NOTED.fullmatch(text)):
        quiet = not any(has(kind, found["note"] or "") for kind in (Cue.REVISED, Cue.TAKEN_BACK, Cue.IF, Cue.DENIED))
        lead = found["lead"] or ""
        other = has(Cue.ASIDE, lead) or has(Cue.DENIED, lead) or form.kind not in DECLARED
        named = not lead or has(Cue.NOUN, lead) or QUALITY.search(lead) is not None or not other
        return found["value"] if named and quiet else text
    classes = view.scale.classes
    found = _KEYED.match(text)
    if found is None:
        return text
    known = [*form.values, *(classes.names if classes else ())]
    key = form.key(found[1])
    meaning = form.values[key] if key is not None else classes.named(found[1]) if classes else None
    others = [one for one in known if form.values.get(one, one) != meaning and names_of(one).search(text, found.end(1))]
    return text if meaning is None or others else found[1]


def _mapped(raw: object, form: Format) -> tuple[object, bool]:
    if not form.values or not isinstance(raw, str | bool | int | float):
        return raw, False
    key = form.key(str(raw).lower() if isinstance(raw, bool) else f"{raw:g}" if isinstance(raw, float) else str(raw))
    return (raw, False) if key is None else (form.values[key], True)


def _slot(text: str, labels: Sequence[str]) -> int | None:
    names = [_STRENGTH.sub("", text.strip())]
    plain = names[0].strip("\"'`“”‘’*_").strip()
    names.append(plain)
    if plain.endswith(")") and "(" in plain:
        head = plain[: plain.rfind("(")].strip()
        names.append(head or plain[1:-1].strip())
    if noun := _NOUN.match(plain):
        names.append(plain[noun.end() :].strip("() "))
    for name in names:
        if name in labels:
            return list(labels).index(name)
    folded = [label.casefold() for label in labels]
    for name in names:
        if folded.count(name.casefold()) == 1:
            return folded.index(name.casefold())
    return None


def _choice(value: object, mapped: bool, form: Format, view: View) -> Verdict:
    if mapped and value in SYMBOLS:
        slot = {"first": 0, "second": 1}.get(str(value))
        if value == "tie":
            return Tie()
    else:
        name = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        name = name.replace("≫", ">>").replace("≪", "<<")
        if {"first", "second"} <= set(map(str, form.values.values())) and name in view.labels:
            return Unreadable(f"{short(value)} is no label; expected one of {', '.join(form.values)}")
        compared = _COMPARED.fullmatch(name)
        labels = names(form, view)
        if compared is not None and {_slot(part, labels) for part in compared.groups()[::2]} == {0, 1}:
            if "=" in compared[2]:
                return Tie()
            slot = _slot(compared[1 if compared[2][0] == ">" else 3], labels)
        else:
            slot = _slot(name, view.labels)
        if slot is None and _is_tie(name):
            return Tie()
    if slot is None or slot >= len(view.ids):
        return Unreadable(f"{short(value)} is no label; expected one of {', '.join(view.labels)} or a tie")
    return Preferred(view.ids[better(slot, view)])


def _is_tie(name: str) -> bool:
    plain = name.strip().strip("\"'`*").casefold()
    noun = _NOUN.match(plain)
    return plain == "c" or plain in _TIES or (noun is not None and plain[noun.end() :] == "c")


def names(form: Format, view: View) -> tuple[str, ...]:
    """Return what a judge calls each of two answers, by slot: the label that `values` has for it, or its own."""
    given = {meaning: label for label, meaning in form.values.items()}
    return tuple(given.get(side, label) for side, label in zip(("first", "second"), view.labels, strict=False))


def better(slot: int, view: View) -> int:
    """Return the slot of the better of two answers, where the judge may have named the worse one."""
    return 1 - slot if view.framing is Framing.NEGATIVE and len(view.ids) == 2 else slot


def number_of(value: object) -> float | None:
    """Return a finite number, or None; text must be the number and nothing else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if not isinstance(value, str):
        return None
    plain = _DECIMAL_COMMA.sub(r"\1.\2", _UNIT.sub("", value.strip(_AROUND)).strip())
    return float(plain) if _PLAIN_NUMBER.fullmatch(plain) else None


def _ratio(value: object) -> tuple[float, float] | None:
    if not isinstance(value, str):
        return None
    found = _RATIO.fullmatch(_DECIMAL_COMMA.sub(r"\1.\2", _UNIT.sub("", value.strip(_AROUND)).strip()))
    return None if found is None else (float(found[1]), float(found[2]))


def turns(view: View) -> bool:
    """Return whether a score has to be turned over for its high end to be good."""
    return (view.framing is not Framing.STANDARD) != (view.scale.best == "low")


def _score(value: object, view: View) -> Verdict:
    ratio = _ratio(value)
    if ratio is not None and ratio[1] != view.scale.high:
        return unreadable(because(Kind.OUT_OF, Said(short(value)), f"{ratio[1]:g}", f"{view.scale.high:g}"))
    if view.scale.high >= 1000 and isinstance(value, str) and _THOUSANDS.fullmatch(value.strip(_AROUND)):
        value = re.sub(r"[.,\s]", "", value)
    number = number_of(value) if ratio is None else ratio[0]
    percent = value.strip(_AROUND) if isinstance(value, str) else ""
    if percent.endswith("%") and (share := number_of(percent[:-1])) is not None:
        if (view.scale.low, view.scale.high) not in ((0, 1), (0, 100)):
            return Unreadable(f"{short(value)} is no score from {view.scale.low:g} to {view.scale.high:g}")
        number = share * view.scale.high / 100
    if number is None:
        what = ", but an object" if isinstance(value, dict) else ", but a list" if isinstance(value, list) else ""
        return Unreadable(f"{short(value)} is no score{what}")
    if not view.scale.holds(number):
        steps = "" if view.scale.step is None else f" in steps of {view.scale.step:g}"
        ends = view.scale.low, view.scale.high
        return unreadable(because(Kind.OFF_SCALE, Said(f"{number:g}"), *(f"{one:g}" for one in ends), steps))
    return Score(view.scale.turned(number) if turns(view) else number)


def _mean(values: tuple[object, ...], form: Format, view: View) -> Verdict:
    found: list[float] = []
    share = (view.scale.low, view.scale.high) == (0, 1)
    for number, one in enumerate(values, start=1):
        value, mapped = _mapped(one, form)
        if share and not mapped:
            met = is_met(one, form)
            value = one if met is None else float(met)
            value = value if number_of(value) in (0, 1) else None
        verdict = _score(value, view)
        if not isinstance(verdict, Score):
            return Unreadable(
                f"{short(one)} is verdict {number} of {len(values)} in the list, and is none on the scale"
            )
        found.append(verdict.value)
    return Score(math.fsum(found) / len(found)) if found else Unreadable("the list of verdicts is empty")


def is_met(raw: object, form: Format) -> bool | None:
    """Return whether a criterion is met (under negative framing: failed) as written; None if that cannot be read."""
    value, mapped = _mapped(raw, form)
    if mapped:
        return (
            {"met": True, "unmet": False, 1: True, 0: False}.get(value)
            if isinstance(value, str | int | float)
            else None
        )
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(" ".join(value.strip().strip("\"'`*_").casefold().split()))
    if isinstance(value, dict):
        return is_met(value.get("criteria_met"), form)
    return None


def all_criteria(met: Mapping[str, bool | None], view: View) -> Verdict:
    """Return the criteria as met or not; under negative framing the judge said which ones fail."""
    if all(m is None for m in met.values()):
        return Unreadable("no criterion could be read")
    negative = view.framing is Framing.NEGATIVE
    return Criteria({c: None if m is None else m != negative for c, m in met.items()})


def _checklist(raw: object, form: Format, view: View) -> Verdict:
    if isinstance(raw, list | tuple):
        if len(raw) != len(view.criteria):
            return Unreadable(f"expected {len(view.criteria)} criteria in the list, got {len(raw)}")
        return all_criteria({c: is_met(r, form) for c, r in zip(view.criteria, raw, strict=True)}, view)
    if isinstance(raw, dict):
        keys = {str(k).strip(): v for k, v in raw.items()}
        named = {
            c: v for k, v in keys.items() if (c := alike(view.criteria, k)) is not None and (c == k or c not in keys)
        }
        numbers = enumerate(view.criteria, start=1)
        return all_criteria({c: is_met(keys.get(str(n), named.get(c)), form) for n, c in numbers}, view)
    return Unreadable(f"{short(raw)} is no list of criteria")


def _share(value: object, mapped: bool, view: View) -> Verdict:
    if isinstance(value, dict):
        met, of = number_of(value.get("met")), number_of(value.get("of"))
    elif mapped:
        met, of = number_of(value), 1.0
    else:
        met, of = _ratio(value) or (None, None)
    if met is None or of is None:
        return Unreadable(f"{short(value)} is not of the form X/Y")
    if of <= 0 or met < 0:
        return Unreadable(f"{met:g}/{of:g} counts nothing; expected X of Y with Y above 0")
    share = min(met, of) / of
    return Score(1 - share if view.framing is Framing.NEGATIVE else share)


_LEAD = re.compile(r"[\s*_`\"']{0,8}([^:：]{1,40})[:：]")


def class_of(value: object, view: View) -> str | None:
    """Return the class that a value is the name of; also after words such as "Class:"."""
    classes = view.scale.classes
    if classes is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = f"{value:g}" if isinstance(value, float) else str(value)
    found = classes.named(text)
    lead = _LEAD.match(text) if found is None else None
    if lead is not None and (has(Cue.NOUN, lead[1]) or lead[1].strip(" *_").casefold() in _CLASS_NOUNS):
        found = classes.named(text[lead.end() :])
    return found


_CLASS_NOUNS = frozenset({"class", "label", "category", "classification", "klasse", "kategorie"})


def _class(value: object, view: View) -> Verdict:
    name = class_of(value, view)
    names = () if view.scale.classes is None else view.scale.classes.names
    return Unreadable(f"{short(value)} is none of the classes {', '.join(names)}") if name is None else Label(name)


def _ranking(value: object, view: View) -> Verdict:
    groups: list[list[object]]
    if isinstance(value, str):
        groups = [list(group.split("=")) for group in value.split(">")]
    elif isinstance(value, list | tuple):
        groups = [group if isinstance(group, list) else [group] for group in value]
    else:
        return Unreadable(f"{short(value)} is no ranking")
    slots = [[_slot(str(n), view.labels) if isinstance(n, str | int) else None for n in group] for group in groups]
    flat = [s for group in slots for s in group]
    if None in flat or [] in slots or sorted(s for s in flat if s is not None) != list(range(len(view.ids))):
        return Unreadable(f"{short(value)} does not name each of {', '.join(view.labels)} exactly once")
    order = tuple(tuple(view.ids[s] for s in group if s is not None) for group in slots)
    return Ranking(order[::-1] if view.framing is Framing.NEGATIVE else order)


LONGEST_FORMULA: Final = 500
"""Characters of a formula."""
DECIMALS: Final = 9
"""A result is rounded to so many, so that no sum misses the end of its scale by a hair."""
TWO_SCORES: Final = "first - second"
"""The formula of two scores in one reply: above 0 the first answer wins, below 0 the second."""
FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {"min": min, "max": max, "round": round}
_SIGNS: Final[Mapping[type, Callable[..., float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_NOUN_AFTER: Final = r"(?:[ \t]+(?:scores?|ratings?|grades?|verdict))?(?:[ \t]*\([^()\n]{0,60}\))?"


def by_parts(form: Format, view: View, said: Mapping[str, Verdict | Reason | None]) -> Verdict | Reason | None:
    """Return the verdict that the parts of a reply make; why they make none, or None if no part is there."""
    if all(one is None for one in said.values()):
        return None
    numbers: dict[str, float] = {}
    for name, one in said.items():
        if isinstance(one, Score):
            numbers[name] = one.value
        elif isinstance(one, Reason):
            return because(Kind.VERDICT_PART, Said(short(name)), one)
        else:
            return Unreadable(f"part {name!r}: {'it is not in the reply' if one is None else _why(one)}")
    values = ", ".join(f"{name} = {number:g}" for name, number in numbers.items())
    try:
        result = round(_worth(_parsed(form.formula), numbers), DECIMALS)
    except (ArithmeticError, ValueError, RecursionError):
        result = math.nan
    if not math.isfinite(result):
        return Unreadable(f"the formula has no value with {values}")
    if view.task == "pairwise":
        return Preferred(view.ids[0 if result > 0 else 1]) if result else Tie()
    verdict = meant(result, Format(), view)
    return Unreadable(f"{verdict.reason}, by the formula with {values}") if isinstance(verdict, Unreadable) else verdict


def _why(verdict: Verdict) -> str:
    return verdict.reason if isinstance(verdict, Unreadable) else short(verdict)


def labelled(label: str, kind: str) -> str:
    """Return the expression that finds a verdict in brackets, or at the end of a line, after a label."""
    words = r"[ \t]+".join(map(re.escape, label.split())) + _NOUN_AFTER
    if kind == "brackets":  # "Facts and tone: [[9]] and [[4]]" is no verdict on the tone
        alone = r"(?<![\w/&-])(?<!\w[ \t]{0,3}(?:,|\band)[ \t]{0,3})"
        signs = rf"[ \t*_`\"'’:：=|–—-]{{0,12}}(?:(?:{one_of('copulas')})[ \t*_]{{0,6}})?"
        return rf"(?i){alone}{words}{signs}\[\[([^\[\]\n]{{0,200}}+)\]\]"
    opened = rf"(?im)^[ \t>*#_•|\d.)(`-]{{0,12}}{words}[ \t*_`]{{0,6}}[:：=|][ \t*_`|]{{0,6}}"
    return rf"{opened}([^\n|]{{1,40}}?)[ \t*_`]{{0,6}}(?:$|[|(]|[.;,](?=\s+\D|\s*$)|\s[–—-]\s(?!\d))"


def formula_problems(formula: str, names: Mapping[str, object]) -> list[str]:
    """Return what is wrong with a formula of these parts, a line for each problem."""
    try:
        tree = _parsed(formula)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [f"expected arithmetic on the parts, such as '{_example(names)}', got {formula[:80]!r}"]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - FUNCTIONS.keys()
    problems = [f"no part is called {name!r}{nearest(name, sorted(names))}" for name in sorted(used - names.keys())]
    unused = sorted(names.keys() - used)
    return problems + [f"the part {name!r} is not in the formula; use it, or take it out" for name in unused]


def _example(names: Mapping[str, object]) -> str:
    return " + ".join(names) or "a + b"


@lru_cache(maxsize=64)
def _parsed(formula: str) -> ast.expr:
    """
    Return the tree of a formula.

    Raises:
        ValueError: anything but numbers, names, + - * / and the functions; a `SyntaxError` and the like for no formula.
    """
    if len(formula) > LONGEST_FORMULA:
        raise ValueError("too long")
    tree = ast.parse(formula.strip(), mode="eval").body
    _worth(tree, None)
    return tree


def _worth(node: ast.expr, numbers: Mapping[str, float] | None) -> float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name) if name not in FUNCTIONS:
            return 1.0 if numbers is None else numbers[name]
        case ast.UnaryOp(op=sign, operand=inner) if type(sign) in _SIGNS:
            values = [inner]
            work = _SIGNS[type(sign)]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            values, work = [left, right], _SIGNS[type(sign)]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and (
            len(args) == 1 if name == "round" else len(args) > 1
        ):
            values, work = args, FUNCTIONS[name]
        case _:
            raise ValueError("no arithmetic")
    done = [_worth(one, numbers) for one in values]
    return 1.0 if numbers is None else float(work(*done))
