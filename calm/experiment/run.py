"""One probe: which cases, which target, which arms, how many asks, and what follows for each claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from calm.core.case import TIE, Case, Presentation, Treated, digest
from calm.core.claims import Claim, Decision, Outcome, cases_to_decide
from calm.core.edits import AnyEdit, Edit, Expects, PromptEdit
from calm.core.identity import Identity
from calm.core.measures import MEASURES, Measure, flip
from calm.core.reasons import NONE, Kind, Reason, because, counted, name, reason_of
from calm.core.templates import Message
from calm.core.texts import CaseTexts, Exchange
from calm.core.trials import Trial, Trials, favour
from calm.core.validation import refusal
from calm.core.verdict import FAMILY, Family, NoReply, Preferred, Ranking, Verdict, readable
from calm.engine.batches import Prefetch
from calm.engine.engine import Engine
from calm.engine.store import Store
from calm.engine.verdicts import Judgment
from calm.errors import ClaimError, EditError, EstimateError, nearest
from calm.experiment.stopping import LEVEL, Stopping, looks, rule_on
from calm.models.wire import Judge, Rewordable
from calm.statistics.sequential import Look

LOST = 0.02
"""Share of cases that may be lost before a claim is INCOMPLETE."""
NO_ROOM = 0.75
"""Favour above which an answer has no room to gain: less than a quarter of the scale."""
ORDER_SALT = "slot order 1"
EXAMPLES = 60
"""How many cases of a probe are kept with their texts."""


@dataclass(frozen=True, slots=True)
class Design:
    """Asks an arm: clean and perturbed; undecided claims are topped up to as many perturbed asks as clean ones."""

    clean: int = 4
    perturbed: int = 2

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"


Drawn: TypeAlias = dict[tuple[Identity, int, bool], list[Case]]


@dataclass(frozen=True, slots=True)
class Setup:
    """
    What all probes of a run share.

    `looks_ahead`: while a look is decided, the questions of so many later ones are under way already. That saves time
    and no money: they are paid even if the look decides. `drawn` holds cases as they were put in order, for the next
    probe that asks about the same ones.
    """

    judge: Judge
    cases: tuple[Case, ...]
    engine: Engine
    seed: int = 0
    design: Design = Design()
    stopping: Stopping = Stopping.FIXED
    looks_ahead: int = 0
    drawn: Drawn = field(default_factory=dict, compare=False, repr=False)

    @property
    def family(self) -> Family:
        """What the judge's task measures."""
        return FAMILY[self.judge.task]


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision with the trials that it was taken on."""

    decision: Decision
    trials: Trials | None


@dataclass(frozen=True, slots=True)
class Result:
    """All decisions of a probe, and the texts of the cases that tell most about it."""

    decided: tuple[Decided, ...]
    texts: tuple[CaseTexts, ...] = ()
    asked: int = 0
    planned: int = 0
    """Asks that were needed, and that all cases would have needed before any top-up."""


@dataclass(frozen=True, slots=True)
class Pair:
    """
    A case as it is asked in both arms: `base`, and after the edit `shown`, which is None for the clean arm alone.

    `target`, `damaged` and `hit` are what the experiment knows of the edited case and the judge must not.

    `judge` is asked in the perturbed arm and `control` in the other one, where its prompt was edited (else: None).
    """

    source: Case
    base: Case
    shown: Case | None
    variant: str
    channel: str
    hash: str
    pilot: Verdict | None
    room: bool
    judge: Judge | None = None
    control: Judge | None = None
    target: str | None = None
    damaged: str | None = None
    hit: str | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """A case as it is put to a judge, by which variant of an edit, and what that changed; `shown` is what it sees."""

    case: Treated
    judge: Judge
    shown: Case
    variant: str = ""
    changed: frozenset[str] = frozenset()
    hash: str = ""


def check(edit: AnyEdit | None, claims: Sequence[Claim], family: Family) -> None:
    """
    Refuse claims that say nothing about an edit.

    Raises:
        ClaimError: naming the claims that can be made.
    """
    expects = edit.expects if edit else None
    fitting = [m for m in MEASURES.values() if expects in m.serves and family in m.families]
    can = [m.name for m in fitting if m.asks[0] == 0 or not alone(edit, family)]
    for claim in claims:
        if claim.measure in can:
            continue
        if claim.measure not in MEASURES:
            raise ClaimError(f"unknown measure {claim.measure!r}{nearest(claim.measure, MEASURES)}")
        about = f"{edit!r} expects {expects}" if edit else "probe() without an edit asks the clean cases alone"
        instead = f"claim {' or '.join(can)}" if can else "nothing can be claimed"
        raise ClaimError(f"{about}: {claim.measure} says nothing about it on {family} verdicts; {instead}")


def unserved(judge: Judge, suite: str) -> Reason:
    """Return why a suite has nothing to test on a judge that says which suites it serves, or `NONE`."""
    serves = judge.traits.serves
    if serves is None or suite in serves:
        return NONE
    return because(Kind.UNSERVED, " and ".join(sorted(serves)))


def alone(edit: AnyEdit | None, family: Family) -> bool:
    """Return whether the edited case is asked without a clean arm: what must lose or tie does so in its own prompt."""
    together = family in ("pairwise", "listwise")
    return edit is not None and together and edit.expects in (Expects.WORSE, Expects.TIE)


def run(
    setup: Setup,
    edit: AnyEdit | None,
    claims: Sequence[Claim],
    *,
    observed: Sequence[Measure] = (),
    against: AnyEdit | None = None,
    top_up: bool = True,
) -> Result:
    """
    Ask what the claims need and decide them; `observed` measures are estimated without a limit.

    Raises:
        ClaimError: a claim that says nothing about this edit or task.
        EditError: an edit that changed nothing, or changed what it must not.
    """
    check(edit, claims, setup.family)
    claims = with_readability(edit, claims)
    for one in (edit, against):
        if one is not None and setup.family not in one.tasks:
            reason = because(Kind.OTHER_TASK, name(repr(one)), ", ".join(one.tasks), setup.judge.task)
            return Result(tuple(Decided(d, None) for d in _untested(claims, observed, reason)))
    pairs, excluded, lost = pair_up(setup, edit, against)
    if not pairs:
        if lost:
            reason, outcome = counted(lost), Outcome.INCOMPLETE
        else:
            only = next(iter(excluded)) if len(excluded) == 1 else counted(excluded)
            reason, outcome = only or because(Kind.NO_CASES), Outcome.NOT_TESTED
        return Result(tuple(Decided(d, None) for d in _untested(claims, observed, reason, outcome)))
    arms = _Arms(setup, edit, pairs, excluded, lost)
    design = setup.design
    staged = edit is not None and top_up and design.perturbed < design.clean
    rule = setup.stopping if claims else Stopping.FIXED
    plan = looks(rule, len(pairs), staged=staged, edited=edit is not None)
    decided: dict[Claim, Decided] = {}
    for number, look in enumerate(plan.looks, start=1):
        asks = replace(design, perturbed=design.clean) if look.topped else design
        if later := plan.looks[number : number + setup.looks_ahead]:
            arms.foresee(later[-1], design)
        trials = arms.ask(look.n, asks.clean, asks.perturbed)
        for claim in claims:
            if claim in decided:
                continue
            found = _decided(rule, claim, trials, asks, look)
            if found.decision.outcome is not Outcome.UNDECIDED or number == len(plan.looks):
                decided[claim] = found
        if claims and len(decided) == len(claims):
            break
    arms.forget()
    seen = [Decided(_observation(m, trials, design), trials) for m in observed]
    planned = arms.asks_for(len(pairs), design.clean, design.perturbed)
    return Result((*(decided[c] for c in claims), *seen), arms.texts(trials), arms.asked, planned)


def with_readability(edit: AnyEdit | None, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Add to a claim about a gain that the edit does not make replies unreadable: they would hide the gain."""
    moved = any(c.measure in ("gain", "mean_shift") for c in claims)
    stated = any(c.measure == "unreadable_gain" for c in claims)
    if edit is None or not moved or stated:
        return tuple(claims)
    return (*claims, Claim("unreadable_gain", "<=", 0.05))


def _untested(
    claims: Sequence[Claim], observed: Sequence[Measure], reason: Reason, outcome: Outcome = Outcome.NOT_TESTED
) -> list[Decision]:
    asked = [Decision(c.measure, c, outcome, reason=reason) for c in claims]
    return asked + [Decision(m.name, None, outcome, reason=reason) for m in observed]


def _decided(rule: Stopping, claim: Claim, trials: Trials, design: Design, look: Look) -> Decided:
    measure = MEASURES[claim.measure]
    missing = _missing(claim, trials)
    need_clean, need_perturbed = measure.asks
    if design.clean < need_clean or (design.perturbed < need_perturbed):
        reason = because(Kind.NEEDS_ASKS, claim.measure, need_clean, need_perturbed, str(design))
        return Decided(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), trials)
    try:
        ruling = rule_on(rule, claim, measure, trials, look)
    except EstimateError as error:
        outcome = Outcome.INCOMPLETE if missing else Outcome.NOT_TESTED
        return Decided(Decision(claim.measure, claim, outcome, reason=missing or reason_of(error)), trials)
    if missing:
        return Decided(Decision(claim.measure, claim, Outcome.INCOMPLETE, ruling.estimate, missing), trials)
    needed = None
    if ruling.outcome is Outcome.UNDECIDED:
        smallest = measure.smallest_n(claim, look.prove or LEVEL)
        needed = cases_to_decide(ruling.estimate, claim, smallest)
    decision = Decision(claim.measure, claim, ruling.outcome, ruling.estimate, cases_to_decide=needed)
    return Decided(decision, ruling.trials)


def _observation(measure: Measure, trials: Trials, design: Design) -> Decision:
    if design.clean < measure.asks[0] or design.perturbed < measure.asks[1]:
        return Decision(measure.name, None, Outcome.NOT_TESTED, reason=because(Kind.TOO_FEW_ASKS, str(design)))
    try:
        return Decision(measure.name, None, Outcome.OBSERVED, measure.estimate(trials, LEVEL))
    except EstimateError as error:
        return Decision(measure.name, None, Outcome.NOT_TESTED, reason=reason_of(error))


def _missing(claim: Claim, trials: Trials) -> Reason:
    """Return why the data of a claim are incomplete, or `NONE`."""
    if trials.lost_share > LOST or any(reason.has(Kind.CAPPED) for reason in trials.lost):
        return counted(trials.lost)
    if claim.measure in ("gain", "mean_shift") and trials.rows:
        for name in ("clean", "perturbed"):
            if not any(readable(v) for row in trials.rows for v in getattr(row, name)):
                return because(Kind.SILENT_ARM, name)
    return NONE


def pair_up(
    setup: Setup, edit: AnyEdit | None, against: AnyEdit | None
) -> tuple[list[Pair], Counter[Reason], Counter[Reason]]:
    """Return the cases to ask, and the others counted by reason: excluded by design, or lost."""
    judge, cases = setup.judge, _drawn(setup)
    excluded: Counter[Reason] = Counter()
    lost: Counter[Reason] = Counter()
    if edit is None:
        return [Pair(c, c, None, "", "", _identity(c), None, True) for c in cases], excluded, lost
    piloted = [c for c in cases if _wants_pilot(c, edit)]
    asked = setup.engine.ask(judge, [(c, 0) for c in piloted])
    pilots = {c.id: a.verdict for c, a in zip(piloted, asked, strict=True)}
    pairs: list[Pair] = []
    for case in cases:
        pilot = pilots.get(case.id)
        if isinstance(pilot, NoReply):
            lost[reason_of(pilot.reason)] += 1
            continue
        aimed = _aimed(case, edit, pilot)
        if isinstance(aimed, Reason):
            excluded[aimed] += 1
            continue
        found = _paired(setup, edit, against, Put(aimed, judge, case), pilot)
        if isinstance(found, Reason):
            excluded[found] += 1
        else:
            pairs.append(found)
    return pairs, excluded, lost


def _drawn(setup: Setup) -> list[Case]:
    """
    Return the cases in the order in which they are asked, each with an order of its answers.

    It is the order of `calm.cases.sample`: looks are taken in it, so it may not be that of a file or of a test's list.
    """
    as_given = setup.judge.traits.as_given
    key = Identity(setup.cases), setup.seed, as_given
    if key not in setup.drawn:
        drawn = sorted(setup.cases, key=lambda case: digest("sample", setup.seed, case.id))
        cases = [c if as_given or len(c.answers) == 1 else c.balanced(ORDER_SALT) for c in drawn]
        cases = [c if c.order else c.present(order=tuple(a.id for a in c.answers)) for c in cases]
        setup.drawn[key] = cases
    return setup.drawn[key]


def _wants_pilot(case: Case, edit: AnyEdit) -> bool:
    if edit.expects is Expects.NOT_BETTER:
        return True
    unknown = case.better is None or case.better == TIE or len(case.answers) > 2
    return len(case.answers) > 1 and unknown and edit.expects is not Expects.TIE


def _aimed(case: Case, edit: AnyEdit, pilot: Verdict | None) -> Treated | Reason:
    """Return the case with the answer that the edit treats, or the reason why there is none."""
    if len(case.answers) == 1:
        return case.treat(case.answers[0].id)
    if len(case.answers) == 2 and case.better not in (None, TIE) and edit.expects not in (Expects.TIE, Expects.WORSE):
        return case.treat(next(a.id for a in case.answers if a.id != case.better))
    ids = sorted((a.id for a in case.answers), key=lambda i: digest("target", case.id, i))
    if edit.expects is Expects.TIE or (case.better == TIE and not isinstance(pilot, Ranking)):
        return case.treat(ids[0])
    best, worst = _ends(case, pilot)
    good = best if case.better in (None, TIE) else case.better
    chosen = good if edit.expects is Expects.WORSE else worst
    if chosen is None:
        if pilot is not None and not readable(pilot):
            return because(Kind.PILOT_UNREAD)
        chosen = ids[0]
    return case.treat(chosen)


def _ends(case: Case, pilot: Verdict | None) -> tuple[str | None, str | None]:
    """Return the best and the worst answer by gold scores, else by the pilot; None where neither tells."""
    known = [a.id for a in case.answers if a.id in case.scores]
    if len(known) == len(case.answers) and len(set(case.scores.values())) > 1:
        return max(known, key=case.scores.__getitem__), min(known, key=case.scores.__getitem__)
    if isinstance(pilot, Preferred):
        others = [a.id for a in case.answers if a.id != pilot.answer]
        return pilot.answer, others[0] if len(others) == 1 else None
    if isinstance(pilot, Ranking):
        return min(pilot.order[0]), max(pilot.order[-1])
    return None, None


def _paired(setup: Setup, edit: AnyEdit, against: AnyEdit | None, base: Put, pilot: Verdict | None) -> Pair | Reason:
    case, source = base.case, base.shown
    if against is not None:
        control = _edited(setup, against, case, None)
        if isinstance(control, Reason):
            return because(Kind.CONTROL, control)
        base = control
    found = _edited(setup, edit, case, base)
    if isinstance(found, Reason):
        return found
    room = edit.expects is not Expects.NOT_BETTER or _has_room(setup, case, found.case.target, pilot)
    channel = ", ".join(sorted(_CHANNEL.get(c, c) for c in found.changed))
    judge, other = (None if put.judge is setup.judge else put.judge for put in (found, base))
    known = found.case.target, found.case.damaged, found.case.hit
    return Pair(source, base.shown, found.shown, found.variant, channel, found.hash, pilot, room, judge, other, *known)


def _identity(shown: Case, reworded: str = "") -> str:
    """
    Return what tells whether two runs asked about the same case as a judge is shown it, edited in the same way.

    An edit of the prompt is told by its name: the prompt is the judge's, which may differ from run to run.
    """
    content = shown.content()
    return digest(content, reworded)[:16] if reworded else digest(content)[:16]


def _has_room(setup: Setup, case: Case, target: str | None, pilot: Verdict | None) -> bool:
    if pilot is None:
        return True
    x = favour(pilot, target, Trial(case.id, points=_points(case)), setup.judge.scale)
    return x is None or x <= (0.5 if setup.family == "pairwise" else NO_ROOM)


def _edited(setup: Setup, edit: AnyEdit, case: Treated, base: Put | None) -> Put | Reason:
    """
    Return the case after the first of an edit's variants that applies and can be seen, or why none does.

    Without a `base` to compare with, the first one that applies will do.
    """
    reasons: list[Reason] = []
    for variant in edit.choices(case, setup.seed):
        found = _applied(setup, variant, case)
        if isinstance(found, Reason):
            reasons.append(found)
        elif base is not None and found.judge.sees(found.shown) == base.judge.sees(base.shown):
            nouns = sorted(_NOUN.get(c, c) for c in found.changed)
            reasons.append(because(Kind.NOT_SHOWN, " or ".join(nouns)))
        else:
            return found
    # "does not apply" is the weakest reason: another variant's says more
    return next((r for r in reasons if r.kind is not Kind.APPLIES_NOT), reasons[0])


def _applied(setup: Setup, variant: AnyEdit, case: Treated) -> Put | Reason:
    return _reworded(setup, variant, case) if isinstance(variant, PromptEdit) else _rewritten(setup, variant, case)


def _rewritten(setup: Setup, variant: Edit, case: Treated) -> Put | Reason:
    edited = variant.apply(case, setup.seed)
    if edited is None:
        return because(Kind.APPLIES_NOT)
    _refuse(variant, case, edited)
    if variant.expects in (Expects.SAME, Expects.NOT_BETTER) and not case.truth_kept_by(edited):
        return because(Kind.CHANGES_TRUTH)
    if (why := refusal(variant, case, edited)) is not None:
        return because(Kind.REFUSED, why.about)  # what was measured differs from case to case
    shown = edited.untreated()
    return Put(edited, setup.judge, shown, variant.label, _changed(case, edited), _identity(shown))


def _reworded(setup: Setup, variant: PromptEdit, case: Treated) -> Put | Reason:
    judge = setup.judge
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None or not isinstance(judge, Rewordable):
        return because(Kind.NO_PROMPT)
    if variant.bundled and not prompt.bundled:
        return because(Kind.OWN_PROMPT)
    edited = variant.apply(prompt, case, setup.seed)
    if edited is None:
        return because(Kind.APPLIES_NOT)
    other, shown = judge.with_prompt(edited), case.untreated()
    identity = _identity(shown, f"prompt {variant.label}")
    return Put(case, other, shown, variant.label, frozenset({"prompt"}), identity)


def _refuse(variant: Edit, case: Treated, edited: Treated) -> None:
    gold = ("better", "scores", "met", "reference")
    if variant.expects in (Expects.SAME, Expects.NOT_BETTER):
        broken = [name for name in gold if getattr(case, name) != getattr(edited, name)]
        if broken or {a.id for a in case.answers} - {a.id for a in edited.answers}:
            what = broken[0] if broken else "the answers' ids"
            changed = f"changed {what} of case {case.id}"
            raise EditError(f"perturbation {variant.label} expects {variant.expects} but {changed}")
    if variant.expects is Expects.WORSE and edited.damaged is None:
        raise EditError(f"perturbation {variant.label} expects WORSE: harm the answer with case.damage(id, change)")


_HIDDEN = ("presentation", "better", "scores", "met")
_SHOWN = tuple(f.name for f in (*fields(Case), *fields(Presentation)) if f.name not in _HIDDEN)
_CHANNEL = {"answers": "answer", "bylines": "label", "labels": "label", "notes": "note", "examples": "example"}
_NOUN = {
    "bylines": "labels",
    "framing": "inverted framing",
    "follow_ups": "follow-up turns",
    "history": "earlier drafts",
    "prompt": "other prompt",
}


def _changed(before: Case, after: Case) -> frozenset[str]:
    """Return the names of what differs, but for what no judge is shown."""
    changed = {name for name in _SHOWN if getattr(before, name) != getattr(after, name)}
    if "answers" in changed and [(a.id, a.text) for a in before.answers] == [(a.id, a.text) for a in after.answers]:
        changed = changed - {"answers"} | {"history"}
    return frozenset(changed - {"order"} if changed - {"order"} else changed)


def _slots(case: Case) -> tuple[str, ...]:
    return tuple(answer.id for answer in case.shown)


def _points(case: Case) -> Mapping[str, float]:
    return {c.id: c.points for c in case.criteria}


class _Arms:
    """Asks the arms of a probe, first few times, then more often; what was asked before is not asked again."""

    def __init__(
        self, setup: Setup, edit: AnyEdit | None, pairs: list[Pair], excluded: Counter[Reason], lost: Counter[Reason]
    ) -> None:
        self._setup, self._pairs, self._excluded, self._lost = setup, pairs, excluded, lost
        by_itself = alone(edit, setup.family)
        self._has_clean = not by_itself
        self._both_orders = by_itself and edit is not None and edit.expects is Expects.WORSE
        self._asked: dict[str, tuple[list[Judgment], list[Judgment]]] = {}
        self._foreseen: list[Prefetch] = []

    @property
    def asked(self) -> int:
        """How many asks were needed so far, without the pilots."""
        return sum(len(clean) + len(perturbed) for clean, perturbed in self._asked.values())

    def asks_for(self, n: int, clean: int, perturbed: int) -> int:
        """Return how many asks the first n cases need."""
        return sum((clean if self._has_clean else 0) + self._perturbed(p, perturbed) for p in self._pairs[:n])

    def ask(self, n: int, clean: int, perturbed: int) -> Trials:
        """Return the trials of the first n cases with so many asks an arm, in the order asked."""
        clean = clean if self._has_clean else 0
        pairs = self._pairs[:n]
        answers = iter(self._setup.engine.ask_each(self._questions(pairs, clean, perturbed)))
        rows: list[Trial] = []
        lost = Counter(self._lost)
        for pair in pairs:
            first = [next(answers) for _ in range(clean)]
            second = [next(answers) for _ in range(self._perturbed(pair, perturbed))]
            self._asked[pair.source.id] = (first, second)
            row = self._row(pair, first, second)
            if isinstance(row, Reason):
                lost[row] += 1
            else:
                rows.append(row)
        asks = f"{clean}+{perturbed if self._pairs[0].shown is not None else 0}"
        return Trials(tuple(rows), self._setup.family, self._setup.judge.scale, self._excluded, lost, asks)

    def foresee(self, look: Look, design: Design) -> None:
        """Begin to ask what a later look will want; those before it want a part of the same."""
        clean = design.clean if self._has_clean else 0
        perturbed = design.clean if look.topped else design.perturbed
        questions = self._questions(self._pairs[: look.n], clean, perturbed)
        self._foreseen.append(self._setup.engine.prefetch(questions))

    def forget(self) -> None:
        """Take back what was foreseen and not begun."""
        for foresight in self._foreseen:
            self._setup.engine.withdraw(foresight)
        self._foreseen.clear()

    def _questions(self, pairs: Sequence[Pair], clean: int, perturbed: int) -> list[tuple[Judge, Case, int]]:
        questions: list[tuple[Judge, Case, int]] = []
        for pair in pairs:
            control, judge = pair.control or self._setup.judge, pair.judge or self._setup.judge
            questions += [(control, pair.base, k) for k in range(1, clean + 1)]
            numbers = range(1, self._perturbed(pair, perturbed) + 1)
            questions += [(judge, *self._question(pair, k)) for k in numbers]
        return questions

    def _perturbed(self, pair: Pair, asks: int) -> int:
        return asks if pair.shown is not None else 0

    def _question(self, pair: Pair, number: int) -> tuple[Case, int]:
        shown = pair.shown
        assert shown is not None
        if not self._both_orders:
            return shown, number
        turned = number % 2 == 0
        case = shown.arranged(_slots(shown)[::-1]) if turned else shown
        return case, (number + 1) // 2

    def _row(self, pair: Pair, clean: list[Judgment], perturbed: list[Judgment]) -> Trial | Reason:
        arms = []
        for arm in (clean, perturbed):
            answered = tuple(a.verdict for a in arm if not isinstance(a.verdict, NoReply))
            missing = [reason_of(a.verdict.reason) for a in arm if isinstance(a.verdict, NoReply)]
            capped = [reason for reason in missing if reason.has(Kind.CAPPED)]
            if capped or len(answered) < min(2, len(arm)):  # what a cap left unfinished is lost, however far it got
                return (capped or missing)[0]
            arms.append(answered)
        case = pair.source
        shown = [_slots(self._question(pair, k + 1)[0]) for k in range(len(perturbed))]
        kept = [s for s, a in zip(shown, perturbed, strict=True) if not isinstance(a.verdict, NoReply)]
        return Trial(
            case=case.id,
            edit=pair.variant,
            hash=pair.hash,
            channel=pair.channel,
            target=pair.target,
            damaged=pair.damaged,
            hit=pair.hit if self._setup.family == "rubric" else None,  # else the whole answer was judged
            better=case.better,
            met=case.met.get(case.answers[0].id, {}) if len(case.answers) == 1 else {},
            points=_points(case),
            room=pair.room,
            slots=tuple(kept),
            pilot=pair.pilot,
            clean=arms[0],
            perturbed=arms[1],
        )

    def texts(self, trials: Trials) -> tuple[CaseTexts, ...]:
        """Return the texts of the cases that tell most: flips, missed defects, disagreements, unread replies."""
        telling = {row.case for row in trials.rows if _tells(row, trials)}
        chosen = [p for p in sorted(self._pairs, key=lambda p: p.source.id) if p.source.id in telling][:EXAMPLES]
        return tuple(self._text(pair) for pair in chosen)

    def _text(self, pair: Pair) -> CaseTexts:
        store = self._setup.engine.store
        prompts: dict[str, tuple[Mapping[str, str], ...]] = {}
        clean, perturbed = self._asked[pair.source.id]
        shown = {"clean": pair.base, "perturbed": pair.shown or pair.base}
        return CaseTexts(
            case=pair.source.id,
            hash=pair.hash,
            question=pair.source.question,
            reference=pair.source.reference,
            better=pair.source.better,
            prompts=prompts,
            answers={arm: {a.id: a.text for a in case.shown} for arm, case in shown.items()},
            clean=tuple(_exchanges(store, a, prompts) for a in clean),
            perturbed=tuple(_exchanges(store, a, prompts) for a in perturbed),
        )


def _exchanges(
    store: Store, asked: Judgment, prompts: dict[str, tuple[Mapping[str, str], ...]]
) -> tuple[Exchange, ...]:
    found = []
    for key in asked.calls:
        reply = store.get(key)
        if reply is None:
            continue
        prompt = store.prompt(key)
        name = _name(prompt)
        prompts[name] = tuple({"role": m.role, "text": m.text} for m in prompt)
        found.append(Exchange(name, reply.text))
    return tuple(found)


def _name(prompt: tuple[Message, ...]) -> str:
    return digest([[m.role, m.text] for m in prompt])[:16]


def _tells(row: Trial, trials: Trials) -> bool:
    everything = (*row.clean, *row.perturbed)
    if any(not readable(v) for v in everything):
        return True
    if row.damaged is not None:
        found = MEASURES["net_detection"].per_case(row, trials.scale)
        return not isinstance(found, Reason) and found <= 0
    if row.perturbed:
        return flip(row, trials) is not None
    first = row.clean[0]
    wrong = isinstance(first, Preferred) and row.better not in (None, first.answer)
    return wrong or any(v != first for v in row.clean)
