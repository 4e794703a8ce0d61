"""
The findings that were decided from the same trials: their charts, and their most telling cases.

`highlights` finds which cases say most: a word and a weight for each, from the codes of its verdicts. `flips_of` lists
all rows that speak against the judge, each with as much as the page has room for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Final

from calm.core.case import COPY
from calm.core.claims import Outcome
from calm.core.measures import MEASURES, flip
from calm.core.texts import CaseTexts
from calm.core.trials import CUED, PLAIN, Trials
from calm.core.verdict import CLASS, Code, Label, Scale, as_written, decode
from calm.errors import ConfigError
from calm.results.audit import AGREEMENT, BASELINE, RUN, Audit, Finding, JudgeRecord, TrialRecord
from calm.results.parts import Place, places_of
from calm.results.records import family_of, scale_of, trial_of
from calm.results.reports.charts import Curve, Histogram, curves_of, histogram_of, without_dose
from calm.results.reports.heading import FindingRow, anchors, asks_in_words, biases_of, outcomes_of
from calm.results.reports.texts import CaseView, Messages, Room, bytes_of, shown_texts, size_bytes
from calm.results.steps import again
from calm.results.wording import reasons_words, ways
from calm.statistics.paired import chi_squared_p

_PULLED = {"toward": "the cue won", "away": "the cue lost"}
_SIDES = {CUED: "the edited one of two equal answers", PLAIN: "the other one of two equal answers"}
FAR = 0.25
"""Share of the scale from which a score is against the gold label."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """
    One case of a probe in a word, with the verdicts of its arms.

    `tells` says whether it speaks against the judge, `weight` how loudly, in [0, 1]. `gold` is the label that its
    verdicts are compared with, if they are. `anchor` is its place in the page, `again` the command that asks about it
    again. `question`, `came` and `went` begin what was asked, and the words that the edit put in and took out; `places`
    say in which turns, passages and steps, if it touched some.
    """

    case: str
    edit: str
    word: str
    tells: bool
    weight: float
    arms: tuple[tuple[str, tuple[str, ...]], ...]
    texts: CaseTexts | None
    gold: str = ""
    shown: CaseView | None = None
    anchor: str = ""
    again: str = ""
    question: str = ""
    came: str = ""
    went: str = ""
    places: tuple[Place, ...] = ()

    @property
    def before(self) -> tuple[str, ...]:
        """The verdicts before the edit, or all of them where nothing was edited."""
        return next((codes for name, codes in self.arms if name != "perturbed"), ())

    @property
    def after(self) -> tuple[str, ...]:
        """The verdicts after the edit."""
        return next((codes for name, codes in self.arms if name == "perturbed"), ())


def highlight(
    trial: TrialRecord, one: Finding, measures: frozenset[str], texts: CaseTexts | None, scale: Scale | None
) -> Highlight:
    """Return what a case says, given what its finding expects, the measures claimed and the judge's scale."""
    span = 1.0 if scale is None else scale.high - scale.low
    compared = trial.control or trial.clean
    before, after = compared or trial.inert, trial.perturbed
    agrees = any(measure in MEASURES and MEASURES[measure].agrees for measure in measures)
    gold = (texts.better if texts.gold is None else texts.gold) if texts and agrees else None
    alone = one.expects is None or not after
    if alone:
        word, tells, weight = _alone(before, gold, span)
    elif trial.target == CUED:
        way = _way(trial, one, scale)
        word, tells, weight = _PULLED.get(way or "", "kept"), way == "toward", after.count(CUED) / len(after)
    elif one.expects == "WORSE":
        weight = _missed(before, after) if scale is None or scale.classes is None else _unmoved(before, after, scale)
        tells = weight >= 0.5
        word = "missed" if tells else "noticed"
    elif one.expects == "TIE":
        weight = sum(c != "tie" for c in after) / len(after)
        tells = weight > 0
        word = "took a side" if tells else "tied"
    else:
        # nearly all cases have one of a few patterns of verdicts
        plain = all(isinstance(c, str | float | int) for c in (*before, *after))
        word, tells, weight = (_compared if plain else _before_and_after)(before, after, span)
        if compared and (way := _way(trial, one, scale)) is not None:
            word, tells = way or "kept", bool(way)
    arms = [("control" if trial.control else "clean", compared), ("inert", trial.inert), ("perturbed", after)]
    written = partial(as_written, scale=scale or Scale())
    named = ((name, tuple(_named(written(c), trial.damaged, trial.better) for c in codes)) for name, codes in arms)
    shown = tuple((name, codes) for name, codes in named if codes)
    held = in_words(written(gold)) if alone and gold is not None else ""
    if texts is not None and texts.gold is not None:
        texts = replace(texts, gold=written(texts.gold))
    return Highlight(trial.case, trial.edit, word, tells, round(weight, 6), shown, texts, held)


def _way(trial: TrialRecord, one: Finding, scale: Scale | None) -> str | None:
    family = family_of(one.task)
    if family is None or scale is None:
        return None
    try:
        row = trial_of(one.key, trial)
        return flip(row, Trials((row,), family, scale, {})) or ""
    except (ConfigError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def _alone(codes: Sequence[Code], gold: Code | None, span: float) -> tuple[str, bool, float]:
    if not codes:
        return "not asked", False, 0.0
    shares = {
        "against the gold label": 0.0 if gold is None else _mean([_against(c, gold, span) for c in codes]),
        "not the same": 1 - _most_frequent(codes)[1] / len(codes),
        "unread": sum(isinstance(c, str) and c.startswith("!") for c in codes) / len(codes),
    }
    word = next((word for word, share in shares.items() if share), "kept")
    return word, word != "kept", max(shares.values())


def _against(said: Code, gold: Code, span: float) -> float:
    if isinstance(said, int | float) and isinstance(gold, int | float):
        apart = abs(said - gold) / span
        return apart if apart >= FAR else 0.0
    if isinstance(said, dict) and isinstance(gold, dict):
        return _mean([float(said.get(criterion) != true) for criterion, true in gold.items()])
    return float(said != gold)


def _before_and_after(before: Sequence[Code], after: Sequence[Code], span: float) -> tuple[str, bool, float]:
    if not before:
        return "nothing to compare with", False, 0.0
    moved = _moved(before, after, span)
    least = 0.25 if all(isinstance(c, int | float | dict) for c in (*before, *after)) else 0.5
    tells = _most_frequent(before)[0] != _most_frequent(after)[0] or moved >= least
    return "moved" if tells else "kept", tells, moved


_compared = lru_cache(maxsize=4_096)(_before_and_after)


def _moved(before: Sequence[Code], after: Sequence[Code], span: float) -> float:
    left, right = ([float(c) for c in codes if isinstance(c, int | float)] for codes in (before, after))
    if left and right:
        unread = abs(len(left) / len(before) - len(right) / len(after))
        return max(unread, abs(_mean(left) - _mean(right)) / span)
    old, new = ([c for c in codes if isinstance(c, dict)] for codes in (before, after))
    if old and new:
        names = sorted({name for c in (*old, *new) for name in c})
        return _mean(
            [abs(_mean([c.get(n) is True for c in old]) - _mean([c.get(n) is True for c in new])) for n in names]
        )
    counts = Counter(map(in_words, before)), Counter(map(in_words, after))
    return sum(abs(counts[0][c] / len(before) - counts[1][c] / len(after)) for c in {*counts[0], *counts[1]}) / 2


def _missed(before: Sequence[Code], after: Sequence[Code]) -> float:
    heights = [h for h in map(_height, before) if h is not None]
    return _mean([_unnoticed(code, _mean(heights) if heights else None) for code in after])


def _unmoved(before: Sequence[Code], after: Sequence[Code], scale: Scale) -> float:
    classes = scale.classes
    pairs = [(decode(one), decode(other)) for one in before for other in after]
    return _mean(
        [
            float(
                not (
                    classes is not None
                    and isinstance(one, Label)
                    and isinstance(other, Label)
                    and classes.noticed(one.value, other.value) > 0
                )
            )
            for one, other in pairs
        ]
    )


def _unnoticed(code: Code, before: float | None) -> bool:
    height = _height(code)
    if height is not None or before is not None:
        return height is None or before is None or height >= before
    first = code[0] if isinstance(code, list) and code else [code]
    return any(c == "tie" or str(c).startswith("!") or str(c).endswith(COPY) for c in first)


def _height(code: Code) -> float | None:
    if isinstance(code, dict):
        return _mean([met is True for met in code.values()])
    return float(code) if isinstance(code, int | float) else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _most_frequent(codes: Sequence[Code]) -> tuple[str, int]:
    return Counter(map(in_words, codes)).most_common(1)[0]


def in_words(code: Code) -> str:
    """
    Return a verdict's code as people read it.

    >>> in_words(7.0), in_words({"c1": True, "c2": False}), in_words([["a"], ["b", "c"]]), in_words("!unreadable")
    ('7', 'met c1; not c2', 'a > b = c', 'unreadable')
    >>> in_words("~grounded")
    'grounded'
    """
    if isinstance(code, str):
        return code.removeprefix(CLASS).removeprefix("!")
    if isinstance(code, dict):
        kinds = (("met", True), ("not", False), ("unread", None))
        named = [(word, ", ".join(c for c, met in code.items() if met is kind)) for word, kind in kinds]
        return "; ".join(f"{word} {names}" for word, names in named if names)
    if isinstance(code, list):
        return " > ".join(" = ".join(group) for group in code)
    return f"{code:g}"


def _named(code: Code, damaged: str | None, better: str | None) -> str:
    """
    Return a verdict's code as people read it; answers of a pair, and a damaged copy, are called by what they are.

    >>> _named("b~damaged", "b~damaged", "b"), _named("b", "b~damaged", "b"), _named("tie", None, "b")
    ('the damaged copy wins', 'the undamaged answer wins', 'tie')
    >>> _named("b", None, "b"), _named("a", None, "b"), _named("a", None, None)
    ('the better answer wins (b)', 'the worse answer wins (a)', 'a')
    """
    if isinstance(code, str) and code in _SIDES:
        return f"{_SIDES[code]} wins"
    names = {}
    if damaged is not None and damaged.endswith(COPY):
        names = {damaged: "the damaged copy", damaged.removesuffix(COPY): "the undamaged answer"}
    if names and isinstance(code, list):
        return in_words([[names.get(answer, answer) for answer in group] for group in code])
    if isinstance(code, str) and code in names:
        return f"{names[code]} wins"
    if better is None or not isinstance(code, str) or code == "tie" or code.startswith(("!", CLASS)):
        return in_words(code)
    return f"the {'better' if code == better else 'worse'} answer wins ({code})"


def shown_scale(judge: JudgeRecord) -> Scale | None:
    """Return the judge's scale, of one without a scale that of shares; None of a damaged one."""
    if not judge.scale:
        return Scale(0.0, 1.0)
    try:
        return scale_of(judge)
    except ConfigError:  # a damaged scale costs a chart, not the report
        return None


CASES, FEW = 20, 3
"""
Cases of each probe that are shown with prompts and replies, the most telling first, and of one that decides nothing,
such as a single variant. Where no case speaks against the judge, the few are examples of what was asked.
"""
WAYS: Mapping[str, int] = {"toward": -1, "other": 1, "away": 2}
"""In which order flips are read, by their word."""
BEGINNING = 240
"""Characters of a question in a list of cases."""
LEVEL = 0.05
"""The level at which variants count as different: this opens a table and decides nothing."""
WHOLE_BUDGET = 250_000
"""Bytes of prompts shown whole."""
ROOMS = (Room(160, 1_200), Room(120, 600), Room(60, 160), Room(40, 90))
"""How much is shown of each case: the first that fits the budget."""

EXPECTED: Mapping[str | None, str] = {
    "SAME": "the verdict must not change",
    "NOT_BETTER": "the treated answer must not gain",
    "WORSE": "the treated answer, which was harmed, must lose",
    "TIE": "the answers must tie, or be preferred symmetrically",
    "OBSERVE": "nothing is required; the effect is reported",
    None: "asked again, the judge must say the same",
}


WORST = "worst variant"
"""What a part of a probe is called whose rows show one variant alone."""
TURNS = "One of:"
"""How the summary of a rotation begins; its variants follow, with their meanings if each has a line of its own."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The findings that were decided from the same trials."""

    anchor: str
    bias: str
    perturbation: str | None
    part: str
    against: str | None
    summary: str
    expected: str
    asks: str
    channel: str
    node: str
    rows: tuple[FindingRow, ...]
    cases: tuple[Highlight, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    total: int = 0
    sources: int = 0
    """How many cases the rows are about; a case may have a row for each of several variants."""
    speaking: int = 0
    shifts: Histogram | None = None
    curves: tuple[Curve, ...] = ()
    variants: tuple[Variant, ...] = ()
    differ: bool = False
    """Whether the variants differ by more than chance in how many cases speak against the judge."""

    @property
    def alone(self) -> bool:
        """Whether it decides nothing."""
        return all(row.alone for row in self.rows)

    @property
    def red(self) -> bool:
        """Whether one of its claims keeps the gate from being green."""
        return any(row.finding.red for row in self.rows)

    @property
    def outcomes(self) -> list[tuple[Outcome, int]]:
        """How many of its claims have each outcome."""
        return outcomes_of(self.rows)

    @property
    def flips(self) -> tuple[Highlight, ...]:
        """The rows that speak against the judge, the loudest first."""
        return tuple(case for case in self.cases if case.tells)


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the edits that took turns: what it does, how many cases got it, and how many speak against the judge."""

    name: str
    meaning: str
    cases: int
    telling: int

    @property
    def share(self) -> float:
        """The share of its cases that speak against the judge."""
        return self.telling / self.cases


def probes_of(audit: Audit, rows: Sequence[FindingRow]) -> tuple[Probe, ...]:
    """Return the findings by the trials that they rest on, in the order of the table."""
    groups: dict[tuple[str | None, ...], list[FindingRow]] = {}
    for row in (row for bias in biases_of(rows) for row in bias.rows):
        one = row.finding
        groups.setdefault((one.bias, one.perturbation, one.against, _part(one)), []).append(row)
    names = ["/".join(part for part in key if part) for key in groups]
    texts = {(t.case, t.hash): t for t in audit.texts}
    questions = {t.case: t.question for t in audit.texts}
    curves = curves_of(audit.findings)
    meanings = {(f.bias, f.perturbation or ""): f.summary for f in audit.findings}
    shown: set[tuple[str, str]] = set()
    found = []
    for group, anchor in zip(groups.values(), anchors("p", names), strict=True):
        probe = _probe(tuple(group), anchor, texts, questions, audit)
        probe = replace(probe, variants=tuple(_with_meaning(v, probe, meanings) for v in probe.variants))
        family = probe.bias, without_dose(probe.perturbation or "")
        of_dose = group[0].finding.dose is not None and family in curves and family not in shown
        if of_dose:
            shown.add(family)
        found.append(replace(probe, curves=curves[family] if of_dose else ()))
    return tuple(found)


def _part(one: Finding) -> str:
    measure = MEASURES.get(one.measure)
    return WORST if measure is not None and measure.worst_of else ""


def _probe(
    rows: tuple[FindingRow, ...],
    anchor: str,
    texts: Mapping[tuple[str, str], CaseTexts],
    questions: Mapping[str, str],
    audit: Audit,
) -> Probe:
    one = rows[0].finding
    measures = frozenset(row.finding.measure for row in rows)
    trials = {(t.case, t.hash): t for row in reversed(rows) for t in row.finding.trials}
    scale = shown_scale(audit.judge)
    cases = [(highlight(trial, one, measures, texts.get(key), scale), trial) for key, trial in trials.items()]
    cases.sort(key=lambda pair: (not pair[0].tells, WAYS.get(pair[0].word, 0), -pair[0].weight, pair[0].case))
    decides = not all(row.alone for row in rows)
    telling = [pair for pair in cases if pair[0].tells]
    kept = [pair for pair in cases if not pair[0].tells and pair[0].texts is not None and pair[0].texts.whole]
    listed = [*telling, *([] if telling else kept[:FEW])]
    ids = anchors(f"c{anchor[1:]}", [case.case for case, _ in listed])
    moving = one.expects not in ("WORSE", None) and decides
    variants = _variants([case for case, _ in cases])
    return Probe(
        anchor=anchor,
        bias=one.bias,
        perturbation=one.perturbation,
        part=_part(one),
        against=one.against,
        summary=one.summary,
        expected="" if one.bias in (AGREEMENT, BASELINE, RUN) else EXPECTED.get(one.expects, one.expects or ""),
        asks=_asks(one),
        channel=one.channel,
        node=one.node,
        rows=rows,
        variants=variants,
        differ=_differ(variants),
        cases=tuple(
            replace(
                case,
                anchor=i,
                again=again(audit, one, trial),
                question=(case.texts.question if case.texts else questions.get(case.case, ""))[:BEGINNING],
                came=case.texts.came if case.texts else "",
                went=case.texts.went if case.texts else "",
                places=places_of(case.texts),
            )
            for (case, trial), i in zip(listed, ids, strict=True)
        ),
        counts=tuple(Counter(case.word for case, _ in cases).most_common()),
        total=len(trials),
        sources=len({case for case, _ in trials}),
        speaking=len(telling),
        shifts=histogram_of(trials.values(), one.task, scale) if moving else None,
    )


def _asks(one: Finding) -> str:
    inert = max((len(row.inert) for row in one.trials), default=0)
    told = asks_in_words(one.asks)
    return f"{told}, {inert} with neutral words" if inert else told


def _variants(cases: Sequence[Highlight]) -> tuple[Variant, ...]:
    asked = Counter(one.edit for one in cases)
    telling = Counter(one.edit for one in cases if one.tells)
    if len(asked) < 2:
        return ()
    found = [Variant(name, "", count, telling[name]) for name, count in sorted(asked.items())]
    return tuple(sorted(found, key=lambda v: (-v.share, v.name)))


def _with_meaning(one: Variant, probe: Probe, meanings: Mapping[tuple[str, str], str]) -> Variant:
    lines = (line.partition(": ") for line in probe.summary.splitlines())
    stated = {name: meaning for name, _, meaning in lines if meaning}
    return replace(one, meaning=stated.get(one.name) or meanings.get((probe.bias, one.name), ""))


def _differ(variants: Sequence[Variant]) -> bool:
    table = [[v.telling, v.cases - v.telling] for v in variants]
    if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
        return False
    return chi_squared_p(table) < LEVEL


# Texts


def with_texts(probes: tuple[Probe, ...], budget: int) -> tuple[tuple[Probe, ...], dict[Messages, str]]:
    """
    Return the probes with the texts of their cases, and the prompts shown whole with their ids.

    If the budget is too small for all, each probe's first case comes first, then each probe's second. Probes that
    decide nothing come last.
    """
    ranks = zip_longest(*([(i, j) for j in range(len(probe.cases))] for i, probe in enumerate(probes)))
    places = [place for rank in ranks for place in rank if place]
    places.sort(key=lambda place: all(row.alone for row in probes[place[0]].rows))
    with_some = [(i, j) for i, j in places if _is_whole(probes[i], j)]
    for room in ROOMS:
        shown, left = _within_budget(probes, with_some, room, max(0, budget), all_of_them=room is not ROOMS[-1])
        if len(shown) == len(with_some):
            break
    filled = tuple(
        replace(probe, cases=tuple(replace(one, shown=shown.get((i, j))) for j, one in enumerate(probe.cases)))
        for i, probe in enumerate(probes)
    )
    return filled, _whole(shown.values(), min(WHOLE_BUDGET, left))


def _is_whole(probe: Probe, place: int) -> bool:
    texts = probe.cases[place].texts
    return texts is not None and texts.whole and place < (FEW if probe.alone else CASES)


def _within_budget(
    probes: Sequence[Probe], places: Iterable[tuple[int, int]], room: Room, budget: int, *, all_of_them: bool
) -> tuple[dict[tuple[int, int], CaseView], int]:
    """
    Return the cases whose texts fit the budget, by their places, and what is left of it.

    With `all_of_them` it ends at the first that does not fit.
    """
    left = budget
    shown: dict[tuple[int, int], CaseView] = {}
    for i, j in places:
        texts = probes[i].cases[j].texts
        assert texts is not None  # only such places are given
        made = shown_texts(texts, probes[i].cases[j].arms, room)
        size = size_bytes(made)
        if size <= left:
            left -= size
            shown[i, j] = made
        elif all_of_them:
            break
    return shown, left


def _whole(shown: Iterable[CaseView], budget: int) -> dict[Messages, str]:
    found: dict[Messages, str] = {}
    parts = (prompts for one in shown for prompts in one.prompts if not prompts.whole)
    for messages in (messages for prompts in parts for _, messages in prompts.full):
        size = sum(bytes_of(text.text) for _, text in messages)
        if messages not in found and size <= budget:
            budget -= size
            found[messages] = f"w-{len(found) + 1}"
    return found


ROOM: Final = 1_000_000
"""Bytes that the lines of all flips may take, without prompts and replies."""
FIRST: Final = CASES
"""Flips of a probe that are listed at once; the others are one fold away."""
MARKUP: Final = 330
"""About how many bytes of markup a line takes that can be opened."""
PLACE: Final = 60
"""About how many bytes of markup a place takes that an edit touched."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a flip is shown: characters of its question and of its edit, and whether its command is."""

    question: int
    edit: int
    command: bool


DETAILS: Final = (
    Detail(160, 240, command=True),
    Detail(80, 120, command=True),
    Detail(60, 80, command=False),
    Detail(0, 60, command=False),
)
BARE: Final = Detail(0, 0, command=False)
"""What is shown of each where there are too many: its case, its edit and its verdicts."""


@dataclass(frozen=True, slots=True)
class Group:
    """
    The flips of one probe: those that are listed at once, and the others.

    `examples` are cases that do not speak against the judge, where none does. `words` says what each kind of flip is,
    `reasons` in how many the judge names the cue.
    """

    probe: Probe
    first: tuple[Highlight, ...]
    others: tuple[Highlight, ...]
    examples: tuple[Highlight, ...]
    words: Mapping[str, str]
    reasons: str = ""


def groups_of(probes: Sequence[Probe]) -> tuple[Group, ...]:
    """Return the flips of all probes that have some, or examples, in the order of the probes: the worst first."""
    return tuple(_group(probe) for probe in probes if probe.cases)


def _group(probe: Probe) -> Group:
    flips = probe.flips
    examples = tuple(case for case in probe.cases if not case.tells)
    finding = probe.rows[0].finding
    toward, away = ways(finding)
    words = {"toward": toward, "away": away}
    return Group(probe, flips[:FIRST], flips[FIRST:], examples, words, reasons_words(finding))


def detail_of(groups: Sequence[Group]) -> Detail:
    """Return how much is shown of each flip: the most for which all of them fit the room."""
    every = [case for group in groups for case in (*group.first, *group.others, *group.examples)]
    for detail in DETAILS:
        if sum(_size(case, detail) for case in every) <= ROOM:
            return detail
    return BARE


def _size(case: Highlight, detail: Detail) -> int:
    changed = case.places or (Place("", case.came, case.went),)
    said_of = [text for one in changed for text in (one.where, one.came[: detail.edit], one.went[: detail.edit])]
    texts = case.question[: detail.question], *said_of
    said = sum(len(code) for _, codes in case.arms for code in codes)
    command = case.again if detail.command else ""
    return (
        MARKUP
        + PLACE * len(case.places)
        + sum(map(bytes_of, (*texts, command)))
        + 2 * len(case.anchor)
        + len(case.case)
        + said
    )
