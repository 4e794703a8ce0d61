"""Arms: ask about each pair in both arms, and make trials and texts of what is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from calm.core.case import Case, digest
from calm.core.measures import MEASURES, flip
from calm.core.reasons import Kind, Reason, reason_of
from calm.core.templates import Message
from calm.core.texts import CaseTexts, Exchange
from calm.core.trials import Trial, Trials
from calm.core.verdict import NoReply, Preferred, readable
from calm.engine.batches import Prefetch
from calm.engine.store import Store
from calm.engine.verdicts import Judgment
from calm.experiment.pairs import Pair
from calm.experiment.setup import Design, Setup
from calm.models.wire import Judge
from calm.statistics.sequential import Look

EXAMPLES = 60
"""How many cases of a probe are kept with their texts."""


class Arms:
    """Asks the arms of a probe, first few times, then more often; what was asked before is not asked again."""

    def __init__(
        self,
        setup: Setup,
        pairs: Sequence[Pair],
        excluded: Mapping[Reason, int],
        lost: Mapping[Reason, int],
        *,
        has_clean: bool,
    ) -> None:
        self._setup, self._pairs, self._excluded, self._lost = setup, pairs, excluded, lost
        self._has_clean = has_clean
        self._asked: dict[str, tuple[list[Judgment], list[Judgment]]] = {}
        self._prefetched: list[Prefetch] = []

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

    def prefetch(self, look: Look, design: Design) -> None:
        """Begin to ask what a later look will want; those before it want a part of the same."""
        clean = design.clean if self._has_clean else 0
        perturbed = design.clean if look.topped else design.perturbed
        questions = self._questions(self._pairs[: look.n], clean, perturbed)
        self._prefetched.append(self._setup.engine.prefetch(questions))

    def withdraw(self) -> None:
        """Take back what was prefetched and has not begun."""
        for one in self._prefetched:
            self._setup.engine.withdraw(one)
        self._prefetched.clear()

    def _questions(self, pairs: Sequence[Pair], clean: int, perturbed: int) -> list[tuple[Judge, Case, int]]:
        questions: list[tuple[Judge, Case, int]] = []
        for pair in pairs:
            control, judge = pair.control or self._setup.judge, pair.judge or self._setup.judge
            questions += [(control, pair.base, k) for k in range(1, clean + 1)]
            numbers = range(1, self._perturbed(pair, perturbed) + 1)
            questions += [(judge, *pair.ask(k)) for k in numbers]
        return questions

    def _perturbed(self, pair: Pair, asks: int) -> int:
        return asks if pair.shown is not None else 0

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
        shown = [pair.ask(k + 1)[0].slots for k in range(len(perturbed))]
        kept = [s for s, a in zip(shown, perturbed, strict=True) if not isinstance(a.verdict, NoReply)]
        return Trial(
            case=case.id,
            edit=pair.variant,
            hash=pair.hash,
            channel=pair.channel,
            target=pair.treatment.target,
            damaged=pair.treatment.damaged,
            hit=pair.treatment.hit if self._setup.family == "rubric" else None,  # else the whole answer was judged
            better=case.better,
            met=case.met.get(case.answers[0].id, {}) if len(case.answers) == 1 else {},
            points=case.points,
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
