"""
Asking a judge about each case in several wordings, several times in each.

The wordings are its own prompt, the same prompt in other words, and the same criteria in other words. A unit is what
the judge said of a case, or of one criterion of it. Two asks of the same wording differ by noise alone. What two asks
of different wordings differ by beyond that is due to the wording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, fsum
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias

from calm.core.case import Case, digest
from calm.core.edits import PromptEdit
from calm.core.files import read_json
from calm.core.reasons import Reason, reason_of
from calm.core.trials import Trial, distance
from calm.core.verdict import FAMILY, Criteria, NoReply, Scale, Score, Verdict, as_written, code, readable
from calm.engine.asks import PlainQuestion, Question
from calm.engine.engine import Engine
from calm.errors import ConfigError, nearest
from calm.experiment.pairs import ORDER_SALT, clusters_of
from calm.models.wire import Judge, Rewordable
from calm.perturbations import bundled_prompt, judge_prompt
from calm.results.study_provenance import too_little
from calm.statistics.dissent import Block

Kind: TypeAlias = Literal["base", "prompt", "criterion"]

PROMPTS: Final[tuple[PromptEdit, ...]] = (
    bundled_prompt.rephrase,
    judge_prompt.give_persona,
    judge_prompt.append_sentence,
    bundled_prompt.define_terms,
    judge_prompt.prepend_sentence,
    judge_prompt.forbid_bias,
    bundled_prompt.instruct_last,
    judge_prompt.system_as_user,
    bundled_prompt.double_tags,
    bundled_prompt.commit_first,
    bundled_prompt.instruct_first,
    bundled_prompt.shout_tags,
)
"""Edits that ask for the same verdict in the same form; those of the bundled prompts apply to no other."""
FRAMES: Final = (
    "Find out whether this is so: {}",
    "The point to check is this: {}",
    "What has to hold: {}",
    "See whether the following applies: {}",
)
"""What is written around a criterion without a given paraphrase. It changes no word of the criterion."""
BASE: Final = "as it is"
"""The judge's own wording."""
_FIELDS: Final = ("prompt", "criteria")


@dataclass(frozen=True, slots=True)
class Paraphrases:
    """
    What a person wrote in other words: passages of the judge's prompt, and criteria.

    Each of `prompt` maps passages to what stands in their place. `criteria` maps the text of a criterion to others.
    """

    prompt: tuple[Mapping[str, str], ...] = ()
    criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Wording:
    """
    One way to put the question: a judge, and what it does to the criteria of a case (None: nothing).

    `reword` returns None for a case that it does not change.
    """

    name: str
    kind: Kind
    judge: Judge
    reword: Callable[[Case], Case | None] | None = None

    def shown(self, case: Case) -> Case | None:
        """Return the case as this wording shows it, or None where it changes nothing."""
        return case if self.reword is None else self.reword(case)


def wordings_of(
    judge: Judge, cases: Sequence[Case], own: Paraphrases, *, prompts: int, criteria: int, seed: int
) -> tuple[Wording, ...]:
    """
    Return the judge's own wording, and so many others of its prompt and of the criteria, as far as there are any.

    Those that a person wrote go first. A judge without a prompt that calm can reword has none of the first kind, one
    that is shown no criteria none of the second.

    Raises:
        ConfigError: a person's passage or criterion that occurs nowhere.
    """
    known = {one.text for case in cases for one in case.criteria}
    if strange := [text for text in own.criteria if text not in known]:
        raise ConfigError(
            f"paraphrases: criteria: no case has the criterion {strange[0]!r}{nearest(strange[0], sorted(known))}; "
            "write it as the cases do"
        )
    found = [Wording(BASE, "base", judge), *_prompts(judge, own, prompts, seed)]
    held = [case for case in cases if case.criteria]
    for number in range(criteria if held and judge.traits.recorded is None else 0):
        one = _criteria(judge, own, number)
        first = one.shown(held[0])
        if first is not None and judge.sees(first) != judge.sees(held[0]):
            found.append(one)
    return tuple(found)


def _prompts(judge: Judge, own: Paraphrases, most: int, seed: int) -> list[Wording]:
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None or not isinstance(judge, Rewordable):
        if own.prompt:
            raise ConfigError(f"{judge.name} has no prompt that calm can reword: leave `prompt` out of the paraphrases")
        return []
    found: list[Wording] = []
    for number, passages in enumerate(own.prompt, 1):
        edited = judge_prompt.paraphrase(passages)(prompt, Random(seed))
        missing = [text for text in passages if not any(text in one.text for one in prompt.messages)]
        if missing or edited is None:
            told = missing[0] if missing else next(iter(passages))
            raise ConfigError(f"prompt paraphrase {number}: the judge's prompt holds no such passage: {told!r}")
        found.append(Wording(f"paraphrase {number}", "prompt", judge.with_prompt(edited)))
    for edit in PROMPTS:
        if len(found) >= most:
            break
        edited = edit(prompt, Random(digest("diagnose", seed, edit.label)))
        if edited is not None and edited != prompt:
            found.append(Wording(edit.label, "prompt", judge.with_prompt(edited)))
    return found[:most]


def _criteria(judge: Judge, own: Paraphrases, number: int) -> Wording:
    def other(text: str) -> str:
        written = own.criteria.get(text, ())
        frame = FRAMES[(number - len(written)) % len(FRAMES)]
        return written[number] if number < len(written) else frame.format(text)

    def reword(case: Case) -> Case | None:
        if not case.criteria:
            return None
        return replace(case, criteria=tuple(replace(one, text=other(one.text)) for one in case.criteria))

    return Wording(f"criteria {number + 1}", "criterion", judge, reword)


def read_paraphrases(path: Path) -> Paraphrases:
    """
    Read a file of paraphrases: `{"prompt": [{PASSAGE: OTHER}], "criteria": {TEXT: [OTHER, ...]}}`, each part optional.

    Raises:
        ConfigError: it cannot be read, or holds something else; the message says where.
    """
    body = read_json(path, f"a file of paraphrases: JSON with {' and '.join(_FIELDS)}")
    if not isinstance(body, dict):
        raise ConfigError(f"{path}: expected an object with {' and '.join(_FIELDS)}, got {type(body).__name__}")
    problems = [f"{path}: unknown field {one!r}{nearest(one, _FIELDS)}" for one in body if one not in _FIELDS]
    prompt, criteria = body.get("prompt", []), body.get("criteria", {})
    if not isinstance(prompt, list) or not all(isinstance(one, dict) and _texts(one) for one in prompt):
        problems.append(f"{path}: prompt: expected a list of objects that map a passage to its paraphrase, both texts")
    if not isinstance(criteria, dict) or not all(isinstance(one, list) and _texts(one) for one in criteria.values()):
        problems.append(f"{path}: criteria: expected an object that maps the text of a criterion to a list of others")
    if not problems and not prompt and not criteria:
        problems.append(f"{path}: it holds no paraphrase: give {' or '.join(_FIELDS)}")
    if problems:
        raise ConfigError(problems)
    return Paraphrases(tuple(dict(one) for one in prompt), {text: tuple(others) for text, others in criteria.items()})


def _texts(found: object) -> bool:
    texts = list(found.values()) if isinstance(found, dict) else found
    return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)


@dataclass(frozen=True, slots=True)
class Cell:
    """The verdicts on a unit in one wording, in the order of the asks, of which the `first` ones are of round one."""

    wording: str
    kind: Kind
    verdicts: tuple[Verdict, ...]
    first: int


@dataclass(frozen=True, slots=True)
class Unit:
    """
    A case, or one criterion of a case (`criterion` is its id, `text` its wording; both are empty for a whole case).

    `cells[0]` is the judge's own wording. Units of one `cluster` are about the same question.
    """

    case: str
    cluster: str
    cells: tuple[Cell, ...]
    criterion: str = ""
    text: str = ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts, wording by wording."""
        return tuple(verdict for cell in self.cells for verdict in cell.verdicts)

    @property
    def once(self) -> Unit:
        """The unit with the first ask of each wording: all that a judge that repeats itself says."""
        return replace(self, cells=tuple(replace(one, verdicts=one.verdicts[:1], first=1) for one in self.cells))

    def counts(self, scale: Scale) -> dict[str, int]:
        """Return how often each verdict was given, as the judge writes it, the most frequent one first."""
        found = Counter(_name(verdict, scale) for verdict in self.verdicts)
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def units_of(case: str, cluster: str, cells: Sequence[Cell], criteria: Mapping[str, str]) -> list[Unit]:
    """Return the units of a case: one, or one for each criterion (id to text) that its verdicts are about."""

    def only(verdict: Verdict, name: str) -> Verdict:  # a reply that says nothing of it is one that cannot be read
        met, law = (verdict.met, verdict.probabilities or {}) if isinstance(verdict, Criteria) else ({}, {})
        return Criteria({name: met.get(name)}, {name: law[name]} if name in law else None)

    if not criteria:
        return [Unit(case, cluster, tuple(cells))]
    found = []
    for name, text in criteria.items():
        told = tuple(replace(c, verdicts=tuple(only(v, name) for v in c.verdicts)) for c in cells)
        found.append(Unit(case, cluster, told, name, text))
    return found


def dissents(verdicts: Sequence[Verdict], scale: Scale, tolerance: float) -> tuple[bool, ...]:
    """
    Return which verdicts are not the usual one: the most frequent, or for scores the fullest window of the scale.

    The window reaches `tolerance`, a share of the scale, to both sides of its middle.
    """
    if not verdicts:
        return ()
    scores = [one.value for one in verdicts if isinstance(one, Score)]
    if not scores:
        names = [_name(verdict, scale) for verdict in verdicts]
        usual = Counter(names).most_common(1)[0][0]
        return tuple(name != usual for name in names)
    width = 2 * tolerance * (scale.high - scale.low) + 1e-9
    low = max(sorted(scores), key=lambda start: sum(start <= one <= start + width for one in scores))
    return tuple(not (isinstance(one, Score) and low <= one.value <= low + width) for one in verdicts)


def block(unit: Unit, kinds: Sequence[Kind], scale: Scale) -> Block | None:
    """Return the distances of all asks in the wordings of some kinds; None: it was asked in fewer than two of them."""
    import numpy as np

    cells = [cell for cell in unit.cells if cell.kind in kinds and cell.verdicts]
    if len(cells) < 2:
        return None
    said = [verdict for cell in cells for verdict in cell.verdicts]
    row = row_of(unit)
    apart = np.zeros((len(said), len(said)))
    for i, one in enumerate(said):
        for j in range(i):
            apart[i, j] = apart[j, i] = distance(one, said[j], row, scale)
    wordings = tuple(number for number, cell in enumerate(cells) for _ in cell.verdicts)
    return Block(apart, wordings, tuple(int(k >= cell.first) for cell in cells for k in range(len(cell.verdicts))))


def noise(unit: Unit, scale: Scale) -> float | None:
    """
    Return the mean distance of two asks in the same words, in [0, 1]; None if no wording was asked twice.

    Two that cannot be read have no distance.
    """
    row = row_of(unit)
    found = []
    for cell in unit.cells:
        said = cell.verdicts
        pairs = [(a, b) for i, a in enumerate(said) for b in said[:i] if readable(a) or readable(b)]
        if pairs:
            found.append(fsum(distance(a, b, row, scale) for a, b in pairs) / len(pairs))
    return fsum(found) / len(found) if found else None


def row_of(unit: Unit) -> Trial:
    """Return the row by which the distance of two verdicts of a unit is measured."""
    return Trial(unit.case, points={unit.criterion: 1.0} if unit.criterion else {})


def _name(verdict: Verdict, scale: Scale) -> str:
    if isinstance(verdict, Criteria) and len(verdict.met) == 1:
        met = next(iter(verdict.met.values()))
        return "unread" if met is None else "met" if met else "not met"
    if not readable(verdict):
        return "unread"
    kept = as_written(code(verdict), scale)
    return f"{kept:g}" if isinstance(kept, float) else str(kept)


FIRST: Final = 8
"""So many asks a case has at least in the first round: eight replies of a coin are all equal 1 time in 128."""


@dataclass(frozen=True, slots=True)
class Design:
    """
    How often a case is asked in each wording: `first` times, and up to `repeats` if its first replies differ.

    A judge that repeats itself is asked `first` times alone: what it says again is no new reply.
    """

    first: int
    repeats: int

    @classmethod
    def over(cls, wordings: int, asks: int) -> Design:
        """Return the design with so many asks of a case in some wordings together, in whole repeats of two or more."""
        repeats = max(2, ceil(asks / wordings))
        return cls(min(repeats, max(2, ceil(FIRST / wordings))), repeats)


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The verdicts: `first` holds the first asks of all cases, `units` all asks.

    `frozen` says that no repeat of a wording ever differed, and that some were made. `lost` counts asks without a
    reply, by reason; `asked` all asks.
    """

    first: tuple[Unit, ...]
    units: tuple[Unit, ...]
    frozen: bool
    asked: int
    lost: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def incomplete(self) -> Reason:
        """Why the data are incomplete, or `NONE`."""
        return too_little(self.lost, self.asked)


class Book:
    """All verdicts of a diagnosis, by case and wording."""

    def __init__(self, wordings: Sequence[Wording], cases: Sequence[Case]) -> None:
        judge = wordings[0].judge
        salt = "" if judge.traits.as_given else ORDER_SALT
        self._plain = {case.id: case.with_order(salt) for case in cases}
        self._wordings = wordings
        self._said: dict[tuple[str, str], list[Verdict]] = {}
        self._first: dict[tuple[str, str], int] = {}
        self._cluster = clusters_of(cases)
        self._criteria = FAMILY[judge.task] == "rubric"
        self.lost: Counter[Reason] = Counter()
        self.asked = 0

    def ask(self, engine: Engine, cases: Sequence[Case], asks: range) -> None:
        """Ask about some cases in each wording, by some repeat indices."""
        places: list[tuple[str, str]] = []
        questions: list[Question] = []
        for case in cases:
            for wording in self._wordings:
                shown = wording.shown(self._plain[case.id])
                if shown is None:
                    continue
                record = wording.judge.traits.recorded
                for ask in asks if record is None else asks[: max(0, record.held(shown) - asks.start + 1)]:
                    one = wording.judge, shown, ask
                    questions.append(PlainQuestion(*one) if wording.kind == "base" else one)
                    places.append((case.id, wording.name))
        self.asked += len(questions)
        for place, answer in zip(places, engine.ask_each(questions), strict=True):
            if isinstance(answer.verdict, NoReply):
                self.lost[reason_of(answer.verdict.reason)] += 1
            else:
                self._said.setdefault(place, []).append(answer.verdict)
        for place, said in self._said.items():
            self._first.setdefault(place, len(said))

    def units(self, cases: Sequence[Case]) -> list[Unit]:
        """Return the verdicts on some cases."""
        found: list[Unit] = []
        for case in cases:
            cells = [
                Cell(one.name, one.kind, tuple(said), self._first[case.id, one.name])
                for one in self._wordings
                if (said := self._said.get((case.id, one.name)))
            ]
            if cells and cells[0].kind == "base":
                criteria = {one.id: one.text for one in case.criteria} if self._criteria else {}
                found += units_of(case.id, self._cluster[case.id], cells, criteria)
        return found


def ask(
    engine: Engine, wordings: Sequence[Wording], cases: Sequence[Case], design: Design, *, tolerance: float
) -> Asked:
    """
    Ask a judge about cases in some wordings, in two rounds, and return the verdicts.

    The second round takes the cases of which two replies of the first round differ, by more than `tolerance` of the
    scale for scores. What is counted in the end is all asks of a case. A case can only be named after both rounds, so
    the first one makes no name likelier than it was.
    """
    judge = wordings[0].judge
    book = Book(wordings, cases)
    book.ask(engine, cases, range(1, design.first + 1))
    first = book.units(cases)
    frozen = repeats_itself(first)
    differ = {unit.case for unit in first if any(dissents(unit.verdicts, judge.scale, tolerance))}
    again = [case for case in cases if case.id in differ]
    if not frozen and again and design.repeats > design.first and not any(one.unfinished for one in book.lost):
        book.ask(engine, again, range(design.first + 1, design.repeats + 1))
    return Asked(tuple(first), tuple(book.units(cases)), frozen, book.asked, dict(book.lost))


def repeats_itself(units: Sequence[Unit]) -> bool:
    """Return whether no two asks in the same words ever differ, though some were made."""
    cells = [cell for unit in units for cell in unit.cells if len(cell.verdicts) > 1]
    return bool(cells) and all(code(one) == code(cell.verdicts[0]) for cell in cells for one in cell.verdicts)
