"""What `calm rubric` found: as a record, in words for a terminal, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

from calm.commands.spending import sampled
from calm.errors import few_of
from calm.models.wire import Json
from calm.plugins.rubrics.exploits import Exploits, Kind
from calm.plugins.rubrics.study import FEWEST, RARE, Answer, Found, Pair, Why
from calm.results.parts import cell
from calm.results.reports.charts import finite
from calm.results.reports.extras import Section, Table, as_list, as_mapping, objects
from calm.results.reports.pages import Page
from calm.results.sentences import capital
from calm.results.study_provenance import numbers, plain_fields
from calm.results.wording import clipped

SCHEMA: Final = "calm-rubric/1"
WIDTH: Final = 78
SHOWN: Final = 30
"""Criteria that a terminal shows, the gamed ones first; the record and the page have all."""
PERCENT: Final = "\N{NO-BREAK SPACE}%"
KEPT_TEXT: Final = 2_000
"""Characters of an example that a record keeps."""
ANSWERS: Final[Mapping[str, str]] = {
    Answer.GAMED: "can be gamed",
    Answer.NOTHING: "says nothing",
    Answer.APART: "tells answers apart",
    Answer.OPEN: "not decided",
}
MANY: Final[Mapping[str, str]] = {**ANSWERS, Answer.NOTHING: "say nothing", Answer.APART: "tell answers apart"}
"""The same of several criteria."""
DONE: Final[Mapping[str, str]] = {
    Kind.CLAIM: "a claim that all is met",
    Kind.RESTATE: "a list of the criteria with ticks",
    Kind.ECHO: "a row of their key words",
    Kind.HEADINGS: "a row of empty headings with their key words",
    Kind.WRITER: "a claim by a writer who saw the criterion alone",
}
"""What stands behind an answer about another question, by the kind of the exploit."""
_RARE: Final = f"{100 * RARE:.0f}{PERCENT}"
SAID: Final[Mapping[str, str]] = {
    Why.EXPLOIT: "{did}; {allowed}.",
    Why.WORDS: "{did}. Nobody said whether its words may meet it (--content).",
    Why.FEW_EXPLOITS: "{did}; {allowed}: too few cases to tell{about}.",
    Why.NO_ROOM: "Answers about another question meet it by themselves, so no exploit can be tried.",
    Why.NONE_FAILS: "Almost no answer fails it.",
    Why.NONE_MEETS: "Almost no answer meets it.",
    Why.KEPT: "An answer that cannot meet it is called met as well.",
    Why.FEW_ANSWERS: f"{{answers}} too few to tell if at least {_RARE} meet it and at least {_RARE} fail it{{about}}.",
    Why.NO_EXPLOITS: "No exploit could be tried on it.",
}
"""What a reason says; `did` is what its exploit did, and `about` how many cases or answers would do."""


def to_json(found: Sequence[Found], pairs: Sequence[Pair], made: Mapping[str, Exploits]) -> dict[str, Json]:
    """Return what was found as a record has it, those first that can be gamed, each exploit with an example."""

    def shown(one: Found) -> Json:
        texts = [made[tried.example].forms[tried.kind].answers[0].text if tried.example else "" for tried in one.tried]
        tried = [{**plain_fields(how), "text": text[:KEPT_TEXT]} for how, text in zip(one.tried, texts, strict=True)]
        return {**plain_fields(one), "tried": [*tried]}

    ranked = sorted(found, key=lambda one: ([*Answer].index(one.answer), -one.own.n if one.own else 0))
    return {
        "together": [shown(one) for one in ranked if not one.criterion],
        "criteria": [shown(one) for one in ranked if one.criterion],
        "pairs": [{**plain_fields(pair), "kappa": numbers(pair.kappa)} for pair in pairs],
    }


# ------------------------------------------------------------------------------------------------------------- in words


def _answers(body: Mapping[str, Json]) -> int:
    """Return how many answers have a verdict on a criterion."""
    n = as_mapping(body.get("own")).get("n")
    return n if isinstance(n, int) else 0


def share_in_words(share: Mapping[str, Json], what: str = "") -> str:
    """
    Return a share of something with its bounds in percent.

    >>> share_in_words({"met": 3, "n": 60, "low": 0.0139, "high": 0.1241}, " answers")
    '3 of 60 answers (1 to 12\\xa0%)'
    """
    low, high = _percent(share.get("low")), _percent(share.get("high"))
    return f"{cell(share.get('met'))} of {cell(share.get('n'))}{what} ({low} to {high}{PERCENT})"


def _percent(value: Json) -> str:
    return "?" if (found := finite(value)) is None else f"{100 * found:.0f}"


def headline(body: Mapping[str, Json]) -> str:
    """Return in a line what follows, and what was found of how many criteria."""
    counts = Counter(str(one.get("answer")) for one in objects(body.get("criteria")))
    said = ", ".join(f"{n} {(ANSWERS if n == 1 else MANY)[name]}" for name in ANSWERS if (n := counts[name]))
    together = "".join(f"; all together: {_answer(one)}" for one in objects(body.get("together")))
    return f"{colour(body)}: of {sum(counts.values())} criteria {said}{together}"


def colour(body: Mapping[str, Json]) -> str:
    """Return RED if a criterion, or the rubric as a whole, can be gamed; GREEN if all are decided and one was tried."""
    found = [one for key in ("criteria", "together") for one in objects(body.get(key))]
    answers = {one.get("answer") for one in found}
    if Answer.GAMED in answers:
        return "RED"
    untried = not any(one.get("tried") for one in found)
    return "NOT GREEN" if untried or Answer.OPEN in answers or body.get("incomplete") else "GREEN"


def notes(body: Mapping[str, Json]) -> tuple[str, ...]:
    """Return what a reader should know first."""
    told = [f"INCOMPLETE: {body['incomplete']}"] if body.get("incomplete") else []
    told.append(
        "An exploit is an answer about another question that claims to meet the criteria, or holds their words. It "
        f"works if it is called met in more than {_percent(body.get('limit'))}{PERCENT} more of the cases than that "
        'answer alone. Counted are cases in which that answer is called unmet when asked first; "without it" is when '
        "asked again. The bounds allow for all criteria and exploits together, so few cases show nothing."
    )
    criteria = objects(body.get("criteria"))
    if not any(one.get("tried") for one in criteria):
        told = [*told[:-1], "No exploit was tried, so nothing is said of gaming."]
    if (writer := as_mapping(body.get("writer"))).get("name"):
        counted = sum(_counts(one) for one in criteria)
        told.append(
            f"The writer {writer['name']} wrote texts for {cell(writer.get('wrote'))} of {cell(writer.get('of'))} "
            f"criteria. They count for {counted} of them: only for those in --content, or with a check."
        )
    if any(cause.get("why") == Why.WORDS for one in criteria for cause in objects(one.get("causes"))):
        told.append(
            'The words of a criterion may meet it, as they do "mentions Paris". Name with --content the criteria that '
            "only an answer to its own question can meet; --content none says that there are none."
        )
    return tuple(told)


def _counts(found: Mapping[str, Json]) -> bool:
    return any(one.get("kind") == Kind.WRITER and one.get("certain") for one in objects(found.get("tried")))


def lines_of(found: Mapping[str, Json], limit: Json) -> Iterator[str]:
    """Yield the sentences about a criterion, or about all together."""
    tried = {str(one.get("kind")): one for one in objects(found.get("tried"))}
    for cause in objects(found.get("causes")):
        why, one = str(cause.get("why")), tried.get(str(cause.get("kind")), {})
        did, allowed = f"{_kind(one)} gets it called met in {_rise(one)}", f"allowed {_percent(limit)}{PERCENT}"
        needed, count = cause.get("needed") or one.get("needed"), _answers(found)
        about = f"; about {cell(needed)} would do" if needed else ""
        answers = f"{count} answers are" if count else "So few answers are"
        yield SAID[why].format(did=did, allowed=allowed, about=about, answers=answers) if why in SAID else why
    if found.get("answer") == Answer.APART and (worst := _worst(found)):
        yield f"With the best exploit it is called met in {_rise(worst)}."
    own, kept = as_mapping(found.get("own")), as_mapping(found.get("kept"))
    if own and found.get("criterion"):
        unread = f"; {cell(own.get('unread'))} could not be read" if own.get("unread") else ""
        damaged = "one that cannot meet it" if found.get("kept_certain") else "an answer about another question"
        instead = f", and {share_in_words(kept)} if {damaged} stands there" if kept else ""
        yield f"{share_in_words(own, ' answers')} meet it{unread}{instead}."


def _worst(found: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return the exploit that does most of those that count; None if none does."""
    sure = [one for one in objects(found.get("tried")) if one.get("certain") and one.get("n")]
    return max(sure, key=lambda one: [finite(one.get(end)) or 0.0 for end in ("high", "low")], default=None)


def _rise(tried: Mapping[str, Json]) -> str:
    low, high = _percent(tried.get("low")), _percent(tried.get("high"))
    unread = f" ({cell(tried.get('unread'))} could not be read)" if tried.get("unread") else ""
    without = f"{cell(tried.get('met'))} of {cell(tried.get('n'))}{unread}, {cell(tried.get('noise'))} without it"
    return without if (low, high) == ("-100", "100") else f"{without} ({low} to {high}{PERCENT} more)"


def in_words(body: Mapping[str, Json]) -> str:
    """Return a record for a terminal of 80 columns."""
    cases, criteria = as_mapping(body.get("cases")), objects(body.get("criteria"))
    taken = sampled(int(str(cases.get("n"))), int(str(cases.get("of"))))
    lines = [
        *_filled(headline(body).replace(":", f" (exit {int(colour(body) != 'GREEN')}):", 1)),
        *_filled(f"{body.get('judge')} ({body.get('task')}): {taken}, {len(criteria)} criteria"),
        *(line for note in notes(body) for line in _filled(f"note: {note}")),
    ]
    shown = [one for one in criteria if one.get("answer") == Answer.GAMED or _answers(one) >= FEWEST]
    shown = shown[:SHOWN] or criteria[:1]
    for found in [*objects(body.get("together")), *shown]:
        lines += ["", *_filled(f"{_answer(found).upper()}: {title(found)}")]
        lines += [line for said in lines_of(found, body.get("limit")) for line in _filled(said, "  ")]
    if left := [one for one in criteria if one not in shown]:
        few = sum(_answers(one) < FEWEST for one in left)
        more = f"{len(left)} more criteria are in the record ({few} of them in fewer than {FEWEST} answers)."
        lines += ["", *_filled(more)]
    if moving := [pair for pair in objects(body.get("pairs")) if pair.get("together") or pair.get("opposite")]:
        lines += ["", *(line for pair in moving for line in _filled(pair_in_words(pair)))]
    return "\n".join(lines)


def _answer(found: Mapping[str, Json]) -> str:
    if not found.get("criterion") and found.get("answer") == Answer.APART:
        return "no exploit works"
    return ANSWERS.get(str(found.get("answer")), cell(found.get("answer")))


def title(found: Mapping[str, Json]) -> str:
    """Return the text of a criterion, and its ids in the cases."""
    if not found.get("criterion"):
        return "All criteria together"
    ids = [cell(one) for one in as_list(found.get("ids"))]
    return f"{clipped(cell(found['criterion']), 160)} (id{'s' * (len(ids) > 1)} {few_of(ids, 3)})"


def pair_in_words(pair: Mapping[str, Json]) -> str:
    """Return that two criteria move together, or opposite to each other."""
    how = "always move together" if pair.get("together") else "are always opposite"
    first, second = (clipped(cell(pair.get(name)), 80) for name in ("first", "second"))
    return f'"{first}" and "{second}" {how}: they differ in {_differ(pair)}, kappa {cell(pair.get("kappa"))}.'


def _differ(pair: Mapping[str, Json]) -> str:
    return share_in_words({**pair, "met": pair.get("differ")})


def _filled(text: str, indent: str = "") -> list[str]:
    lines = wrap(text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
    return [line.replace(PERCENT, " %") for line in lines]


# ------------------------------------------------------------------------------------------------------------- the page

MOST: Final = 100
"""Criteria that a page shows one by one."""


def sections(body: Mapping[str, Json]) -> tuple[Section, ...]:
    """Return the parts of the page: all criteria in a table, those that move together, and each with its exploits."""
    every = [*objects(body.get("together")), *objects(body.get("criteria"))]
    rows = [
        (title(one), capital(_answer(one)), _shown(one.get("own")), _shown(one.get("kept")),
         _rise(worst) if (worst := _worst(one)) else "-")
        for one in every
    ]  # fmt: skip
    columns = ("Criterion", "Verdict", "Answers that meet it", "Kept by a damaged one", "Best exploit: met in")
    pairs = [
        (cell(one.get("first")), cell(one.get("second")),
         "always" if one.get("together") else "opposite" if one.get("opposite") else "no",
         _differ(one), cell(one.get("kappa")))
        for one in objects(body.get("pairs"))
    ]  # fmt: skip
    named = ("Criterion", "Another one", "Together", "Differ in", "Kappa")
    return (
        Section("Which criteria tell answers apart", tuple(_facts(body)), Table(columns, tuple(rows))),
        Section(
            "Criteria that move together", (), Table(named, tuple(pairs[:MOST])), left_out=max(0, len(pairs) - MOST)
        ),
        *(_section(one, body.get("limit")) for one in every[:MOST]),
    )


def _shown(share: Json) -> str:
    return share_in_words(as_mapping(share)) if share else "-"


def _facts(body: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    cases = as_mapping(body.get("cases"))
    yield "Task", cell(body.get("task"))
    yield "Cases", f"{cell(cases.get('n'))} of {cell(cases.get('of'))}"
    yield "Asks", cell(body.get("asks"))
    if body.get("content"):
        yield "Met by content alone (--content)", cell(body.get("content"))
    for criterion, why in as_mapping(as_mapping(body.get("writer")).get("refused")).items():
        yield "A writer's text was not used", f"{criterion}: {cell(why)}"
    for reason, count in as_mapping(body.get("lost")).items():
        yield "Lost", f"{cell(count)}: {reason}"
    yield "Seed", cell(body.get("seed"))
    if body.get("spent"):
        yield "Cost", cell(body.get("spent"))


def _section(found: Mapping[str, Json], limit: Json) -> Section:
    tried = objects(found.get("tried"))
    rows = [(_kind(one), _rise(one), "yes" if one.get("certain") else "no", cell(one.get("outcome"))) for one in tried]
    columns = ("Exploit", "Met in", "Counted", "Outcome")
    facts = [("Verdict", capital(_answer(found))), *(("Found", said) for said in lines_of(found, limit))]
    examples = [one for one in tried if one.get("text") and found.get("criterion")]
    facts += [(f"Example: {_kind(one)}", cell(one.get("text"))) for one in examples]
    return Section(title(found), tuple(facts), Table(columns, tuple(rows)) if rows else None)


def _kind(tried: Mapping[str, Json]) -> str:
    return capital(DONE.get(str(tried.get("kind")), cell(tried.get("kind"))))


page = Page("calm \N{MIDDLE DOT} which criteria tell answers apart", headline, notes=notes, sections=sections)
