"""
The verdicts of a crossed set of asks, as numbers: of judges that are asked, or of runs that are saved.

Each verdict is the favour of one answer: of a pair the better one by gold, or else the first by id. The order of a pair
is told by the place of this answer, so that a bias for a slot has the same sign in all cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from calm.core.case import TIE, Case, Treated
from calm.core.languages import language_of_case
from calm.core.reasons import Reason, reason_of
from calm.core.trials import Trial, favour
from calm.core.verdict import FAMILY, Family, NoReply, Scale, Verdict, code, readable
from calm.engine.asks import PlainQuestion, Question
from calm.engine.engine import Engine
from calm.errors import ConfigError
from calm.experiment.inert import BRIEF_CLOSERS, BRIEF_OPENERS, stock_of
from calm.experiment.pairs import ORDER_SALT, clusters_of
from calm.models.wire import Judge, Rewordable
from calm.perturbations.judge_prompt import BIAS as PROMPT
from calm.perturbations.position import swap
from calm.perturbations.prose import append, prepend
from calm.perturbations.rewording import BIAS as REWORDING
from calm.plugins.diagnose.asking import BASE, PROMPTS, Paraphrases, Wording, wordings_of
from calm.results.audit import Audit
from calm.results.records import family_of, rows_of, scale_of
from calm.results.study_provenance import too_little
from calm.statistics.components import Said

FIRST, LAST, ONLY = "first", "last", ""
"""Where the answer stands whose favour is measured; the only order of what is no pair."""


@dataclass
class Answers:
    """
    What was said. `figure` is what the mean of the verdicts is, in words; `said` leaves out what cannot be read.

    `lost` counts asks without a reply, by reason. `frozen`: no two asks that were alike ever differed, and some were
    made.
    """

    judges: tuple[str, ...]
    family: Family
    figure: str
    said: list[Said] = field(default_factory=list)
    clusters: dict[str, str] = field(default_factory=dict)
    unread: int = 0
    asked: int = 0
    lost: Counter[Reason] = field(default_factory=Counter)
    _alike: dict[tuple[str, ...], list[object]] = field(default_factory=dict)

    def note(self, verdict: Verdict, levels: tuple[str, ...], toward: str | None, row: Trial, scale: Scale) -> None:
        """Count a verdict, and take it as a number where it says something."""
        self.asked += 1
        if isinstance(verdict, NoReply):
            self.lost[reason_of(verdict.reason)] += 1
            return
        self._alike.setdefault(levels, []).append(code(verdict))
        value = favour(verdict, toward, row, scale) if readable(verdict) else None
        if value is None:
            self.unread += 1
        else:
            self.said.append(Said(value, levels))

    @property
    def incomplete(self) -> Reason:
        """Why the data are incomplete, or `NONE`."""
        return too_little(self.lost, self.asked)

    @property
    def frozen(self) -> bool:
        """Whether no two asks that were alike ever differed, and some were made."""
        again = [one == said[0] for said in self._alike.values() for one in said[1:]]
        return bool(again) and all(again)


COMPARED: Final = ("pairwise", "listwise")
"""Families of which several answers are shown, so that a verdict favours one of them."""
MEANT: Final[Mapping[Family, str]] = {
    "score": "the mean score, as a share of the scale",
    "rubric": "the mean share of the points earned",
    "label": "how favourable the class is on average",
}


def figure_of(family: Family, gold: Iterable[bool]) -> str:
    """Return in words what the mean of the verdicts is; `gold` says of each case whether a better answer is known."""
    if family not in COMPARED:
        return MEANT[family]
    known, first = set(gold), "the first answer by id"
    whose = "the better answer" if known == {True} else first if known == {False} else f"the better answer, or {first},"
    return (
        f"how often {whose} wins" if family == "pairwise" else f"the mean place of {whose.rstrip(',')}, 1 for the top"
    )


def refuse_unlike(judges: Sequence[tuple[str, str]]) -> Family:
    """
    Return the family of the tasks of judges, given as pairs of a name and a task.

    Raises:
        ConfigError: a task that calm does not know, or judges whose verdicts are of several kinds.
    """
    families = [family_of(task) for _, task in judges]
    first = families[0]
    if first is None or len(set(families)) > 1:
        told = ", ".join(f"{name}: {task}" for name, task in judges)
        raise ConfigError(f"expected judges of one known task, as their verdicts are compared, got {told}")
    return first


def named(names: Iterable[str]) -> tuple[str, ...]:
    """
    Return names of judges, each once.

    >>> named(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    given = list(names)
    counts = [given[: place + 1].count(name) for place, name in enumerate(given)]
    return tuple(name if n == 1 else f"{name} ({n})" for name, n in zip(given, counts, strict=True))


@dataclass(frozen=True, slots=True)
class Crossed:
    """What is asked of each case: the wordings of each judge, whether in both orders of a pair, and the repeats."""

    wordings: Mapping[str, tuple[Wording, ...]]
    both: bool
    repeats: int

    @classmethod
    def over(
        cls, judges: Sequence[Judge], cases: Sequence[Case], own: Paraphrases, *, wordings: int, repeats: int, seed: int
    ) -> Crossed:
        """
        Return the set of asks with so many wordings besides the judges' own: of the prompt, or else of the cases.

        A judge without a prompt that calm can reword is shown the cases with a few neutral words in each answer.
        """
        found = {}
        for name, judge in zip(named(judge.name for judge in judges), judges, strict=True):
            shown = wordings_of(judge, cases, own, prompts=wordings, criteria=0, seed=seed)
            if not isinstance(judge, Rewordable) and judge.traits.recorded is None:
                shown = (*shown, *(_neutral(judge, form) for form in range(min(wordings, NEUTRAL))))
            found[name] = shown
        pairs = FAMILY[judges[0].task] == "pairwise" and all(len(case.answers) == 2 for case in cases)
        given = all(judge.traits.as_given and judge.traits.recorded is None for judge in judges)
        return cls(found, pairs and not given, repeats)

    @property
    def most(self) -> int:
        """The asks of a case."""
        return sum(map(len, self.wordings.values())) * (1 + self.both) * self.repeats

    def questions(self, cases: Sequence[Case]) -> Iterator[tuple[Question, tuple[str, ...]]]:
        """Yield each ask with the levels of its sources."""
        for case, (name, shown) in product(cases, self.wordings.items()):
            traits, toward = shown[0].judge.traits, _whose(case.better, case.slots)
            plain = case.with_order("" if traits.as_given else ORDER_SALT)
            orders = [plain.slots, plain.slots[::-1]] if self.both else [plain.slots]
            for order, wording in product(orders, shown):
                worded = wording.shown(plain.present(order=order))
                if worded is None:
                    continue
                held = self.repeats if traits.recorded is None else min(self.repeats, traits.recorded.held(worded))
                levels = case.id, wording.name, _order(order, toward), name
                for ask in range(1, held + 1):
                    one = wording.judge, worded, ask
                    yield PlainQuestion(*one) if wording.kind == "base" else one, levels


NEUTRAL: Final = len(BRIEF_CLOSERS) + len(BRIEF_OPENERS)
"""So many forms of neutral words there are."""


def _neutral(judge: Judge, form: int) -> Wording:
    """Return the wording that puts one form of neutral words into each answer: the same form in all cases."""

    def worded(case: Case) -> Case | None:
        found: Treated | None = case.treat(None)
        for answer in case.answers:
            words = stock_of(language_of_case(case, answer.id))
            closers = words.brief_closers
            if found is not None:
                aimed = found.treat(answer.id)
                opener = form - len(closers)
                found = append(aimed, closers[form]) if opener < 0 else prepend(aimed, words.brief_openers[opener])
        return found and found.untreated()

    return Wording(f"neutral words {form + 1}", "prompt", judge, worded)


def _whose(better: str | None, answers: Sequence[str]) -> str | None:
    """Return the better answer, or else the first by id; None: a record that names no answers."""
    return better if _has_better(better) else min(answers, default=None)


def _order(shown: Sequence[str], toward: str | None) -> str:
    return ONLY if len(shown) != 2 else FIRST if shown[0] == toward else LAST


def ask(engine: Engine, crossed: Crossed, cases: Sequence[Case]) -> Answers:
    """Ask all judges about all cases, and return what they said."""
    judges = {name: shown[0].judge for name, shown in crossed.wordings.items()}
    family = refuse_unlike([(name, judge.task) for name, judge in judges.items()])
    found = Answers(tuple(judges), family, figure_of(family, (_has_better(case.better) for case in cases)))
    found.clusters = dict(clusters_of(cases))
    rows = {case.id: (_whose(case.better, case.slots), Trial(case.id, points=dict(case.points))) for case in cases}
    asked = list(crossed.questions(cases))
    for (_, levels), answer in zip(asked, engine.ask_each([question for question, _ in asked]), strict=True):
        found.note(answer.verdict, levels, *rows[levels[0]], judges[levels[-1]].scale)
    return found


def _has_better(better: str | None) -> bool:
    return better is not None and better != TIE


def recorded(audits: Sequence[Audit]) -> Answers:
    """
    Return what runs hold on the same question in several wordings, orders and repeats, each run as one judge.

    Clean asks of an unedited case are repeats. The swap of a pair is its other order. The suites `judge-prompt` and
    `rewording`, and neutral words that stand in all answers, are other wordings. Of several runs only what all of them
    asked counts, as a judge that was asked about more would weigh more.

    Raises:
        ConfigError: a damaged record, runs of several kinds of verdicts, or with nothing in common.
    """
    names = named(audit.judge.name for audit in audits)
    family = refuse_unlike([(name, one.judge.task) for name, one in zip(names, audits, strict=True)])
    kept = [kept_in(audit) for audit in audits]
    if not all(kept):
        raise ConfigError(
            "the record holds no case that was asked as it is; run the gate with suites/test_consistency.py, or give "
            "the judge itself"
        )
    common = set.intersection(*(set(one) for one in kept))
    if not common:
        raise ConfigError("the runs have no case in common that was asked in the same wording and order")
    gold = (_has_better(row.better) for one in kept for row, _ in one.values())
    found = Answers(names, family, figure_of(family, gold))
    for name, audit, one in zip(names, audits, kept, strict=True):
        scale = scale_of(audit.judge)
        for asked, (row, verdicts) in one.items():
            if asked in common:
                found.clusters[row.case] = row.cluster
                toward = _whose(row.better, row.order)
                for verdict in verdicts if toward or family not in COMPARED else ():
                    found.note(verdict, (*asked, name), toward, row, scale)
    return found


Kept = dict[tuple[str, str, str], tuple[Trial, tuple[Verdict, ...]]]
"""By case, wording and order: the row as it was asked unedited, and the verdicts."""


def kept_in(audit: Audit) -> Kept:
    """
    Return the verdicts of a run on the cases that were asked as they are (that comes first); of equal arms the longest.

    Raises:
        ConfigError: a damaged record.
    """
    rows = [(finding, row) for finding in audit.findings if finding.against is None for row in rows_of(finding)]
    found: Kept = {}
    plain: dict[str, Trial] = {}
    for finding, row in rows:
        longer = row.case not in plain or len(row.clean) > len(plain[row.case].clean)
        if finding.perturbation is None and not finding.expects and row.clean and longer:
            plain[row.case] = row

    def keep(row: Trial, wording: str, shown: Sequence[str], verdicts: Sequence[Verdict]) -> None:
        base = plain[row.case]
        order = _order(shown, _whose(base.better, base.order))
        if verdicts and len(verdicts) > len(found.get((row.case, wording, order), (base, ()))[1]):
            found[row.case, wording, order] = base, tuple(verdicts)

    for row in plain.values():
        keep(row, BASE, row.order, row.clean)
    prompts = {edit.label for edit in PROMPTS}
    for finding, row in rows:
        if row.case not in plain:
            continue
        shown = plain[row.case].order
        if finding.bias == swap.bias and row.edit == swap.label and len(shown) == 2 and row.slots:
            keep(row, BASE, row.slots[0], row.perturbed)
        elif finding.bias == PROMPT and row.edit in prompts:
            keep(row, row.edit, shown, row.perturbed)
        elif finding.bias == REWORDING:  # each case has a form of its own
            keep(row, "neutral words", shown, row.perturbed)
        if row.floor.startswith("each-") or (len(shown) < 2 and row.floor.startswith("text-")):
            keep(row, f"neutral words, {row.floor}", shown, row.inert)
    return found
