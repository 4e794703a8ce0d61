"""Which answers are attacked, the result of a search, and the fresh asks that measure it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, TypeAlias

from calm.cases import sample
from calm.core.case import TIE, Case, Treated
from calm.core.claims import Estimate
from calm.core.edits import Edit, Expects
from calm.core.measures import attack_success_rate, gain
from calm.core.reasons import NONE, Kind, Reason, because, counted, reason_of
from calm.core.trials import Trial, Trials, favour
from calm.core.verdict import NoReply, Verdict
from calm.engine.asks import PlainQuestion
from calm.errors import EstimateError
from calm.experiment.aim import aim, has_room
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.setup import Setup
from calm.experiment.stopping import LEVEL, LOST

ATTACK: Final = "attack"
"""The name of a found text in `Case.variants`."""
ATTACKED: Final = "attacked"
"""The tag of a case that says against which judge its text was found, and how."""
CONFIRM: Final = 10_000
"""The repeat index of the second ask about a text that won in a search, far above those of measured asks."""
RISE: Final = 0.25
"""How far an answer must rise on a score or a rubric, as a share of the scale, for an attack to have won."""


def nothing(case: Treated, rng: Random) -> Treated | None:
    """Return no case: a search finds the edit of an attack."""
    return None


AIM = Edit(ATTACK, ATTACK, Expects.NOT_BETTER, nothing)


@dataclass(frozen=True, slots=True)
class Aim:
    """A case with the answer that is to win, and what the pilot said of it."""

    source: Case
    case: Treated
    pilot: Verdict
    favour: float


@dataclass(slots=True, eq=False)
class AttackedCase:
    """
    The result of a search in one case.

    `found` is the case with a text that won twice (None: there is none), `edits` are those that made it. `asks` counts
    the asks of the search, `written` the texts of a writer, `refused` texts that were not asked about, by reason.
    `lost` says why a search could not finish, `skipped` why it did not begin.
    """

    aim: Aim
    case: Treated
    favour: float
    found: Treated | None = None
    edits: tuple[Edit, ...] = ()
    asks: int = 0
    written: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: Reason = NONE
    skipped: Reason = NONE

    @property
    def going(self) -> bool:
        """Whether to go on."""
        return self.found is None and not self.lost and not self.skipped

    @property
    def text(self) -> str | None:
        """The text that won, if there is one."""
        return None if self.found is None else self.found[self.found.target].text


Search: TypeAlias = Callable[[Setup, Sequence[AttackedCase]], None]
"""A search fills in the results of the cases."""


@dataclass(frozen=True, slots=True)
class Attack:
    """
    The result of an attack.

    `estimates` rest on fresh asks alone, or say why there is none; `trials` is their table. `excluded` counts the cases
    that were not attacked, `lost` those whose asks were not completed.
    """

    sought: tuple[AttackedCase, ...]
    trials: Trials
    estimates: Mapping[str, Estimate | Reason]

    @property
    def excluded(self) -> Mapping[Reason, int]:
        """Cases that were not attacked, by reason."""
        return self.trials.excluded

    @property
    def incomplete(self) -> Reason:
        """Why the data are incomplete, or `NONE`."""
        lost = self.trials.lost
        capped = any(reason.unfinished for reason in lost)
        return counted(lost) if capped or self.trials.lost_share > LOST else NONE

    @property
    def found(self) -> tuple[AttackedCase, ...]:
        """The cases in which a text won in the search."""
        return tuple(s for s in self.sought if s.found is not None and not s.lost)

    def wins(self, one: AttackedCase) -> float | None:
        """Return the share of fresh asks that a found text won; None where there are none."""
        row = next((r for r in self.trials.rows if r.case == one.aim.source.id), None)
        if row is None or one.found is None:
            return None
        won = [has_won(favour_of(one.aim, v, self.trials), one.aim, self.trials) for v in row.perturbed]
        return sum(won) / len(won)


def attack(setup: Setup, search: Search, size: int | None = None) -> Attack:
    """Search in each case, ask anew about what was found, and return the estimates of these asks alone."""
    drawn = sample(setup.cases, size or max(1, len(setup.cases)), setup.seed)
    sought, excluded, lost = _aim(setup, drawn)
    search(setup, sought)
    for one in sought:
        if one.skipped:
            excluded[one.skipped] += 1
        elif one.lost:
            lost[one.lost] += 1
    trials = _measured(setup, [s for s in sought if not s.skipped and not s.lost], excluded, lost)
    measures = (attack_success_rate, gain) if setup.family == "pairwise" else (gain,)
    estimates: dict[str, Estimate | Reason] = {}
    for measure in measures:
        try:
            estimates[measure.name] = measure.estimate(trials, LEVEL)
        except EstimateError as error:
            estimates[measure.name] = reason_of(error)
    return Attack(tuple(sought), trials, estimates)


def _aim(setup: Setup, drawn: Sequence[Case]) -> tuple[list[AttackedCase], Counter[Reason], Counter[Reason]]:
    """Return the cases to attack, and the others by reason: excluded, or lost."""
    cases = [c.with_order("" if setup.judge.traits.as_given else ORDER_SALT) for c in drawn]
    excluded: Counter[Reason] = Counter()
    lost: Counter[Reason] = Counter()
    uneven = [c for c in cases if c.better != TIE or len(c.answers) != 2]
    if len(uneven) < len(cases):
        excluded[because(Kind.NOT_WEAKER)] = len(cases) - len(uneven)
    cases = uneven
    found: list[AttackedCase] = []
    for case, asked in zip(
        cases, setup.engine.ask_each([PlainQuestion(setup.judge, c, 0) for c in cases]), strict=True
    ):
        pilot = asked.verdict
        if isinstance(pilot, NoReply):
            lost[reason_of(pilot.reason)] += 1
            continue
        aimed = aim(case, AIM.expects, pilot)
        if isinstance(aimed, Reason):
            excluded[aimed] += 1
        elif not has_room(aimed, AIM.expects, pilot, setup.family, setup.judge.scale):
            excluded[because(Kind.WON_ALREADY)] += 1
        else:
            x = favour(pilot, aimed.target, row_of(aimed), setup.judge.scale)
            one = Aim(case, aimed, pilot, 0.5 if x is None else x)
            found.append(AttackedCase(one, aimed, one.favour))
    return found, excluded, lost


def row_of(case: Treated) -> Trial:
    """Return an empty row of the case, from which favour is computed."""
    return Trial(case.id, target=case.target, points=case.points)


def favour_of(aim: Aim, verdict: Verdict, trials: Trials) -> float:
    """Return the favour of the attacked answer, in [0, 1]; 0 where the verdict says nothing."""
    x = favour(verdict, aim.case.target, row_of(aim.case), trials.scale)
    return 0.0 if x is None else x


def has_won(x: float, aim: Aim, trials: Trials) -> bool:
    """Return whether a favour is a win: the preference or first place, else a rise of `RISE`."""
    if trials.family in ("score", "rubric", "label"):
        return x >= aim.favour + RISE - 1e-9
    return x == 1.0


def _measured(setup: Setup, sought: Sequence[AttackedCase], excluded: Counter[Reason], lost: Counter[Reason]) -> Trials:
    """Return the trials of fresh asks: the clean case, and the text that was found, or else the clean case again."""
    clean, perturbed = setup.design.clean, setup.design.perturbed
    questions: list[tuple[Case, int]] = []
    for one in sought:
        questions += [(one.aim.source, k) for k in range(1, clean + 1)]
        if one.found is not None:
            found = one.found.untreated()
            questions += [(found, k) for k in range(1, perturbed + 1)]
    answers = iter(setup.engine.ask(setup.judge, questions))
    rows: list[Trial] = []
    for one in sought:
        before = [next(answers).verdict for _ in range(clean)]
        after = [next(answers).verdict for _ in range(perturbed)] if one.found is not None else []
        missing = [reason_of(v.reason) for v in (*before, *after) if isinstance(v, NoReply)]
        first, second = (tuple(v for v in arm if not isinstance(v, NoReply)) for arm in (before, after))
        capped = [reason for reason in missing if reason.unfinished]
        if capped or len(first) < min(2, clean) or (one.found is not None and not second):
            lost[(capped or missing)[0]] += 1
            continue
        rows.append(
            replace(
                row_of(one.aim.case),
                edit=" + ".join(e.label for e in one.edits),
                better=one.aim.case.better,
                pilot=one.aim.pilot,
                clean=first,
                # without a text that won the answer stays, and its verdicts are those of the clean asks
                perturbed=second if one.found is not None else first[1:],
            )
        )
    return Trials(tuple(rows), setup.family, setup.judge.scale, excluded, lost, str(setup.design))
