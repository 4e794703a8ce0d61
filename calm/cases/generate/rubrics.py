"""Rubric cases whose truth a program computes: a task with constraints, an answer, and one check a criterion."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

from calm.cases.generate.problems import shape
from calm.cases.generate.scores import gold, grade_class
from calm.core.checks import verify, violate
from calm.core.verdict import Task


@dataclass(frozen=True)
class Topic:
    """Hold one topic: ``marked`` gives for each sentence its marked word, empty where there is none."""

    task: str
    word: str
    title: str
    code: str
    sentences: tuple[str, ...]
    marked: tuple[str, ...]


def topic_list() -> list[Topic]:
    """List the topics in the order in which cases take them."""
    text = files("calm").joinpath("cases", "data", "topics.txt").read_text("utf-8")
    topics = []
    for block in text.strip().lstrip("@").split("\n@"):
        head, *lines = block.strip().split("\n")
        task, word, title, *code = head.split("|", 3)
        found = [re.search(r"\*(\w+)\*", line) for line in lines]
        marked = tuple(match[1] if match else "" for match in found)
        topics.append(
            Topic(task, word, title, code[0] if code else "", tuple(x.replace("*", "") for x in lines), marked)
        )
    return topics


_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six")
_OPENINGS: Final = (
    "Here are the main points.",
    "A few plain remarks give a first picture.",
    "The following lines keep to what matters.",
    "This is the short form of a longer story.",
    "What follows can be read in a minute.",
    "These remarks are meant for a first look.",
    "The most useful things are told here.",
    "A short account is given below.",
)
_STARTS: Final = ("In short", "To begin with", "Picture this", "First of all")
_ENDS: Final = ("That is all.", "So much for today.", "The rest is practice.", "This is the whole story.")

# How the question asks for a kind and how the criterion states it; {0} is the value, {1} a second one.
_ASKS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "contains": (
        ('use the word "{0}"', 'mention the word "{0}"', 'let the word "{0}" appear'),
        'The answer contains the word "{0}".',
    ),
    "contains_all": (
        ('use both the word "{0}" and the word "{1}"', 'bring in the words "{0}" and "{1}"'),
        'The answer contains the word "{0}" and the word "{1}".',
    ),
    "avoids": (
        ('do not use the word "{0}"', 'leave out the word "{0}"', 'do without the word "{0}"'),
        'The answer does not contain the word "{0}".',
    ),
    "mentions_at_least": (
        ('use the word "{0}" at least {1} times', 'mention the word "{0}" {1} times or more'),
        'The word "{0}" occurs at least {1} times in the answer.',
    ),
    "exact_bullets": (
        ("write exactly {0} bullet points", "include a list of exactly {0} bullet points"),
        "The answer has exactly {0} bullet points.",
    ),
    "numbered_list": (
        ("write a numbered list of exactly {0} items", "include a numbered list of exactly {0} items"),
        "The answer has a numbered list of exactly {0} items.",
    ),
    "has_heading": (
        ("add a Markdown heading", "include a heading that is marked with #"),
        "The answer has a Markdown heading.",
    ),
    "bold_title": (
        ("put a title in bold on a line of its own", "give the text a bold title on its own line"),
        "The answer has a title in bold on a line of its own.",
    ),
    "has_code_block": (
        ("show the code in a fenced code block", "include a code block between triple backticks"),
        "The answer has a fenced code block.",
    ),
    "max_words": (("use at most {0} words", "stay within {0} words"), "The answer has at most {0} words."),
    "min_words": (("use at least {0} words", "write {0} words or more"), "The answer has at least {0} words."),
    "max_sentences": (
        ("use at most {0} sentences", "do not go beyond {0} sentences"),
        "The answer has at most {0} sentences.",
    ),
    "exact_sentences": (("write exactly {0} sentences",), "The answer has exactly {0} sentences."),
    "exact_paragraphs": (
        ("write exactly {0} paragraphs", "divide the text into exactly {0} paragraphs"),
        "The answer has exactly {0} paragraphs.",
    ),
    "has_digits": (
        ("give at least one number in digits", "include a number that is written in digits"),
        "The answer gives a number in digits.",
    ),
    "no_digits": (("do not use any digits", "write without any digits"), "The answer contains no digits."),
    "has_quotation": (
        ("include a saying in double quotation marks", "quote a phrase in double quotation marks"),
        "The answer has a phrase in double quotation marks.",
    ),
    "no_commas": (("do not use commas", "write without commas"), "The answer contains no commas."),
    "no_exclamation": (
        ("do not use exclamation marks", "keep clear of exclamation marks"),
        "The answer contains no exclamation mark.",
    ),
    "all_lowercase": (("write in lower case only",), "The answer contains no capital letter."),
    "starts_with": (('begin with the words "{0}"',), 'The answer begins with the words "{0}".'),
    "ends_with": (('end with the sentence "{0}"',), 'The answer ends with the sentence "{0}"'),
}


@dataclass
class _Form:
    """Hold how a text is laid out around its sentences."""

    bullets: int = 0
    numbers: int = 0
    heading: bool = False
    bold: bool = False
    code: bool = False
    paragraphs: int = 1
    lower: bool = False
    opening: str = ""
    start: str = ""
    end: str = ""


@dataclass
class _Draft:
    """Hold the sentences and the form of the answer, and the checks with the truth that is wanted for each."""

    used: list[int]
    form: _Form
    checks: list[dict[str, object]] = field(default_factory=list)
    wanted: list[bool] = field(default_factory=list)


def _render(topic: Topic, used: list[int], form: _Form) -> str:
    """Assemble a text: an opening, a title, prose or a list, code, further prose."""
    rest = [topic.sentences[number] for number in used]
    blocks: list[str] = []
    if form.start:
        first = form.opening or rest.pop(0)
        first = f"{form.start}: {first[0].lower()}{first[1:]}"
        if form.opening or form.heading or form.bold or form.bullets or form.numbers:
            blocks.append(first)
        else:
            rest.insert(0, first)
    elif form.opening:
        blocks.append(form.opening)
    if form.heading:
        blocks.append(f"## {topic.title}")
    if form.bold:
        blocks.append(f"**{topic.title}**")
    count = form.bullets or form.numbers
    if count:
        items, rest = rest[:count], rest[count:]
        marks = ["-" if form.bullets else f"{number}." for number in range(1, count + 1)]
        blocks.append("\n".join(f"{mark} {item}" for mark, item in zip(marks, items, strict=True)))
    if form.code:
        if not count:
            half = (len(rest) + 1) // 2
            blocks.append(" ".join(rest[:half]))
            rest = rest[half:]
        blocks.append(f"```\n{topic.code}\n```")
    parts = max(1, form.paragraphs)
    size = -(-len(rest) // parts)
    blocks += [" ".join(rest[at : at + size]) for at in range(0, len(rest), size)] if rest else []
    if form.end:
        blocks[-1] += f" {form.end}"
    text = "\n\n".join(blocks)
    return text.lower() if form.lower else text


def _form(rng: random.Random, topic: Topic, kinds: Mapping[str, bool], used: int) -> _Form:
    """Lay out an answer so that the structural kinds come out as wanted (the list lengths are fitted afterwards)."""
    form = _Form()
    if "exact_bullets" in kinds:
        form.bullets = rng.choice([0, 2, 3, 4, 5]) if not kinds["exact_bullets"] else rng.randint(3, 5)
    elif "numbered_list" in kinds:
        form.numbers = rng.choice([0, 2, 3, 4, 5]) if not kinds["numbered_list"] else rng.randint(3, 5)
    form.bullets, form.numbers = min(form.bullets, used), min(form.numbers, used)
    form.heading = kinds.get("has_heading", False)
    form.bold = kinds.get("bold_title", False)
    form.code = kinds.get("has_code_block", False)
    titled = form.heading or form.bold
    if form.bullets or form.numbers or (titled and rng.random() < 0.75):
        form.opening = rng.choice(_OPENINGS)
    if kinds.get("exact_paragraphs"):
        form.paragraphs = rng.choice([2, 3])
    elif not (form.bullets or form.numbers or form.code) and rng.random() < 0.3:
        form.paragraphs = 2
    form.lower = kinds.get("all_lowercase", False)
    return form


def _askable(topic: Topic, draft: _Draft, text: str) -> tuple[list[str], list[str]]:
    taken = {str(value).lower() for check in draft.checks for value in _values(check)} | {topic.word}
    # A word of the task itself is no fair thing to ask for or to forbid.
    words = [word for word in dict.fromkeys(topic.marked) if word and word.lower() not in taken]
    words = [word for word in words if word.lower() not in topic.task.lower()]
    inside = [word for word in words if verify({"kind": "contains", "value": word}, text)]
    return inside, [word for word in words if word not in inside]


def _check(rng: random.Random, topic: Topic, draft: _Draft, kind: str, wanted: bool) -> dict[str, object] | None:
    """Choose the parameters of a check so that it is likely to come out as wanted for the drafted answer."""
    text = _render(topic, draft.used, draft.form)
    inside, outside = _askable(topic, draft, text) if kind in {"contains", "avoids", "contains_all"} else ([], [])
    value: object
    match kind:
        case "contains" | "avoids":
            pool = inside if wanted == (kind == "contains") else outside
            return {"kind": kind, "value": rng.choice(pool).lower()} if pool else None
        case "contains_all":
            if len(inside) < 2 or (not wanted and not outside):
                return None
            pair = rng.sample(inside, 2) if wanted else [rng.choice(inside), rng.choice(outside)]
            rng.shuffle(pair)
            return {"kind": kind, "value": [word.lower() for word in pair]}
        case "mentions_at_least":
            count = len(re.findall(rf"\b{topic.word}\b", text, re.IGNORECASE))
            value = rng.choice([count, max(2, count - 1)]) if wanted else max(2, count + 1)
            return {"kind": kind, "value": topic.word, "times": value} if 2 <= int(str(value)) <= 5 else None
        case "exact_bullets" | "numbered_list":
            count = draft.form.bullets or draft.form.numbers
            value = count if wanted else rng.choice([number for number in (3, 4, 5) if number != count])
        case "max_words":
            value = rng.choice([150, 160, 180, 200]) if wanted else rng.choice([25, 30, 35])
        case "min_words":
            value = rng.choice([20, 25, 30])
        case "max_sentences":
            value = rng.choice([14, 15, 16]) if wanted else rng.choice([3, 4])
        case "exact_sentences":
            value = len(draft.used) + bool(draft.form.opening) if wanted else rng.choice([3, 4])
        case "exact_paragraphs":
            value = draft.form.paragraphs if wanted else 4 - draft.form.paragraphs
        case "starts_with":
            value = rng.choice(_STARTS)
            draft.form.start = str(value) if wanted else ""
        case "ends_with":
            value = rng.choice(_ENDS)
            draft.form.end = str(value) if wanted else ""
        case _:
            return {"kind": kind}
    return {"kind": kind, "value": value}


def _values(check: Mapping[str, object]) -> list[object]:
    value = check.get("value")
    return value if isinstance(value, list) else [] if value is None else [value]


def _close(check: Mapping[str, object], text: str) -> bool:
    """Return whether a limit is missed so narrowly that a reader who counts differently might call it kept."""
    slack = {"max_words": 5, "max_sentences": 1, "exact_sentences": 1}.get(str(check["kind"]))
    if slack is None:
        return False
    kind = str(check["kind"]).replace("exact", "max")
    return verify({"kind": kind, "value": int(str(check["value"])) + slack}, text)


def _reference(rng: random.Random, topic: Topic, checks: list[dict[str, object]]) -> str | None:
    by_kind = {str(check["kind"]): check for check in checks}

    def number(kind: str) -> int:
        return int(str(by_kind[kind]["value"])) if kind in by_kind else 0

    for _ in range(80):
        form = _Form(
            bullets=number("exact_bullets"),
            numbers=number("numbered_list"),
            heading="has_heading" in by_kind,
            bold="bold_title" in by_kind,
            code="has_code_block" in by_kind,
            paragraphs=max(1, number("exact_paragraphs")),
            lower="all_lowercase" in by_kind,
            start=str(by_kind["starts_with"]["value"]) if "starts_with" in by_kind else "",
            end=str(by_kind["ends_with"]["value"]) if "ends_with" in by_kind else "",
        )
        count = form.bullets or form.numbers
        if (count or form.heading or form.bold) and rng.random() < 0.5:
            form.opening = rng.choice(_OPENINGS)
        size = rng.randint(max(2, count + bool(form.start and not form.opening)), len(topic.sentences))
        text = _render(topic, sorted(rng.sample(range(len(topic.sentences)), size)), form)
        if 20 <= len(text.split()) <= 90 and all(verify(check, text) for check in checks):
            return text
    return None


def _draw(rng: random.Random, topic: Topic, fragile: str | None, good: bool) -> dict[str, bool]:
    """Draw three to five kinds, at most one from each group that does not mix, and the truth wanted for each."""
    groups = [
        ["contains"],
        ["avoids"],
        ["mentions_at_least"],
        ["contains_all"],
        ["exact_bullets", "numbered_list"],
        ["has_heading", "bold_title"],
        ["max_words", "max_sentences", "min_words"],
        ["has_digits", "has_quotation", "no_exclamation"],
    ]
    weights = [5, 5, 4, 3, 6, 5, 3, 3]
    if topic.code:
        groups.append(["has_code_block"])
        weights.append(12)
    if fragile in {"exact_paragraphs", "exact_sentences", "all_lowercase"}:
        groups[4:6] = []
        weights[4:6] = []
    if fragile == "exact_paragraphs" and topic.code:
        groups.pop()
        weights.pop()
    if fragile == "exact_sentences":
        groups[4] = ["max_words", "min_words"]
    if fragile in {"no_digits", "exact_sentences"}:
        groups[-1 - bool(topic.code)] = ["no_exclamation", "has_quotation"]
    count = rng.choice([3, 3, 4, 4, 5])
    chosen: list[str] = [fragile] if fragile else []
    while len(chosen) < count:
        place = rng.choices(range(len(groups)), weights)[0]
        weights[place] = 0
        chosen.append(rng.choice(groups[place]))
    rng.shuffle(chosen)
    if "max_sentences" in chosen and {"exact_bullets", "numbered_list", "exact_paragraphs"} & set(chosen):
        chosen[chosen.index("max_sentences")] = "max_words"
    always = {"has_digits", "has_quotation", "no_exclamation", "min_words"}
    truth = {kind: True for kind in chosen if kind in always}
    open_ = [kind for kind in chosen if kind not in always]
    most = count if good else {3: 2, 4: 2, 5: 3}[count]
    least = count if good else 1
    room = max(0, rng.randint(least, most) - len(truth))
    for kind in rng.sample(open_, len(open_)):
        truth[kind] = room > 0
        room -= 1
    return {kind: truth[kind] for kind in chosen}


def _spell(kind: str, value: object) -> str:
    if isinstance(value, int) and kind not in {"max_words", "min_words"} and value < len(_NUMBERS):
        return _NUMBERS[value]
    return str(value)


def _ask(rng: random.Random, topic: Topic, checks: list[dict[str, object]]) -> tuple[str, list[str]]:
    """Put the constraints into the question, and into one line for each criterion."""
    asks: list[str] = []
    lines: list[str] = []
    for check in checks:
        kind = str(check["kind"])
        values = [_spell(kind, value) for value in [*_values(check), *([check["times"]] if "times" in check else [])]]
        forms, line = _ASKS[kind]
        asks.append(rng.choice(forms).format(*values))
        lines.append(line.format(*values))
    asks = [ask[0].upper() + ask[1:] if number in (0, 2, 4) else ask for number, ask in enumerate(asks)]
    pairs = [" and ".join(asks[at : at + 2]) for at in range(0, len(asks), 2)]
    return ". ".join([topic.task, *pairs]).replace('.". ', '." ') + ("" if pairs[-1].endswith('."') else "."), lines


_FRAGILE: Final = (
    "no_commas", "no_digits", "all_lowercase", "exact_sentences", "exact_paragraphs", "starts_with", "ends_with"
)  # fmt: skip


def rubric_case(rng: random.Random, topic: Topic, turn: int) -> dict[str, object] | None:
    """Draw the case of a turn, without its id; None where the topic cannot carry the drawn constraints."""
    # One case in six has a kind that an added sentence can turn; in one of four of these it is met.
    fragile = _FRAGILE[turn // 6 % len(_FRAGILE)] if turn % 6 == 1 else None
    good = turn % 14 == 4
    kinds = _draw(rng, topic, fragile, good)
    if fragile and not good:
        kinds[fragile] = turn % 24 == 1
    used = sorted(rng.sample(range(len(topic.sentences)), rng.randint(4, 6)))
    draft = _Draft(used, _form(rng, topic, kinds, len(used)))
    for kind, wanted in kinds.items():
        check = _check(rng, topic, draft, kind, wanted)
        if check is None:
            return None
        draft.checks.append(check)
        draft.wanted.append(wanted)
    text = _render(topic, used, draft.form)
    met = [verify(check, text) for check in draft.checks]
    if met != draft.wanted or not 30 <= len(text.split()) <= 90:
        return None
    if any(_close(check, text) for check, one in zip(draft.checks, met, strict=True) if not one):
        return None
    reference = _reference(rng, topic, draft.checks)
    if reference is None or reference == text:
        return None
    points = [rng.choice([1, 1, 1, 2]) for _ in met]
    share = sum(point for point, one in zip(points, met, strict=True) if one) / sum(points)
    if not good and not 0 < share <= 0.7:
        return None
    question, lines = _ask(rng, topic, draft.checks)
    names = [f"c{number}" for number in range(1, len(met) + 1)]
    return {
        "question": question,
        "answers": [{"id": "only", "text": text}],
        "criteria": [
            {"id": name, "text": line, "points": point, "check": check}
            for name, line, point, check in zip(names, lines, points, draft.checks, strict=True)
        ],
        "met": {"only": dict(zip(names, met, strict=True))},
        "reference": reference,
        "tags": {"category": "instruction"},
    }


_FULL: Final = 4
"""The turn, of 14, whose answer keeps every constraint."""
_FULL_PERIOD: Final = 14
_CLOSE_PERIOD: Final = 3

Checks = Sequence[Mapping[str, object]]


def case_of(topic: Topic, task: Task, rng: random.Random, turn: int) -> dict[str, object] | None:
    """Return a case without its id; None where the topic cannot carry the drawn constraints."""
    family = shape(task)
    if family in ("pairwise", "listwise") and turn % _FULL_PERIOD == _FULL:
        turn += 1  # an answer that keeps everything cannot lose against the reference
    drawn = rubric_case(rng, topic, turn)
    if drawn is None or family == "rubric":
        return drawn
    criteria, answers = drawn["criteria"], drawn["answers"]
    if not (isinstance(criteria, list) and isinstance(answers, list)):
        return None
    checks: Checks = [criterion["check"] for criterion in criteria]
    text, reference = str(answers[0]["text"]), str(drawn["reference"])
    known = {key: drawn[key] for key in ("question", "tags")}
    if family == "score":
        known |= {"answers": [{"id": "only", "text": text}], "reference": reference}
        return known | {"scores": {"only": gold(_kept(checks, text), len(checks))}}
    if family == "label":
        known |= {"answers": [{"id": "only", "text": text}], "reference": reference}
        return known | {"label": grade_class(_kept(checks, text), len(checks))}
    if family == "pairwise":
        return _pair(known, checks, (text, reference), rng, turn)
    return _list(known, checks, (text, reference), rng)


def _kept(checks: Checks, text: str) -> int:
    return sum(verify(check, text) for check in checks)


def _broken(checks: Checks, text: str, rng: random.Random) -> str | None:
    """Return the text with one constraint broken and all others as they were; None if no edit does that."""
    before = [verify(check, text) for check in checks]
    for at in rng.sample(range(len(checks)), len(checks)):
        changed = violate(checks[at], text, rng) if before[at] else None
        if changed is not None and all(
            verify(check, changed) == (held and number != at)
            for number, (check, held) in enumerate(zip(checks, before, strict=True))
        ):
            return changed
    return None


def _pair(
    known: dict[str, object], checks: Checks, texts: tuple[str, str], rng: random.Random, turn: int
) -> dict[str, object] | None:
    """Return the reference against an answer that breaks one constraint (close) or most of them (clear)."""
    text, reference = texts
    close = turn % _CLOSE_PERIOD == 0
    bad = _broken(checks, reference, rng) if close else text
    if bad is None or _kept(checks, bad) == len(checks):
        return None
    return known | {
        "answers": [{"id": "good", "text": reference}, {"id": "bad", "text": bad}],
        "better": "good",
        "tags": {"margin": "close" if close else "clear"},
    }


def _list(
    known: dict[str, object], checks: Checks, texts: tuple[str, str], rng: random.Random
) -> dict[str, object] | None:
    found = {_kept(checks, text): text for text in texts}
    for text in texts:
        less = _broken(checks, text, rng)
        if less is not None:
            found.setdefault(_kept(checks, less), less)
    if len(found) < 3:
        return None
    kept = rng.sample(sorted(found), len(found))
    names = [f"w{number}" for number in range(1, len(kept) + 1)]
    return known | {
        "answers": [{"id": name, "text": found[count]} for name, count in zip(names, kept, strict=True)],
        "better": names[kept.index(max(kept))],
        "scores": {name: gold(count, len(checks)) for name, count in zip(names, kept, strict=True)},
    }
