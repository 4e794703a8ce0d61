"""
Subjects: cases in hand, where a search may write in them, and what the judge said of each text.

    cases --clean asks--> Subjects: the answer does not win by itself --asks about texts--> flips, or none

An answer flips the judge if it wins with a text and not without: it is preferred or put first, or rises by `RISE`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import fsum, sqrt
from random import Random
from typing import Final

from calm.cases import sample
from calm.core.case import TIE, Case, Treated
from calm.core.edits import Edit, Expects
from calm.core.languages import language_of_case
from calm.core.reasons import NONE, Kind, Reason, because, reason_of
from calm.core.trials import Trial, favour
from calm.core.validation import Band, Rules, problems, refusal
from calm.core.verdict import NoReply, Unreadable, Verdict, as_written, code
from calm.engine.asks import PlainQuestion
from calm.experiment.arms import surface
from calm.experiment.edited import has_room
from calm.experiment.inert import Form, stock_of
from calm.experiment.pairs import ORDER_SALT, aim
from calm.experiment.referee import Ask, Flip, Ruling, Terms, rule
from calm.experiment.run import MARK
from calm.experiment.setup import Setup
from calm.models.wire import Json, Judge
from calm.strategies.shrinking import Enough, tokens_of

ANSWER: Final = "answer"
EXPECTED: Final = (Expects.NOT_BETTER, Expects.SAME)
"""What the edits of a search expect: a sound judge must not come to prefer the answer for them."""
STACKED: Final = Rules(kept_words=Band(0.5), numbers="there", difference="any")
"""The rules for an edited text as a whole."""
RISE: Final = 0.25
"""How far an answer must rise on a score or a rubric, as a share of the scale, to have won."""
RISES: Final = ("score", "rubric", "label")
"""The kinds of verdicts on one answer, which wins if it rises."""
FRESH: Final = 32
"""The number of the first fresh ask of each side: no search asks as often."""
ERROR: Final = 0.05
"""The probability that a hunt reports anything on a judge whom no text moves."""
LEAST: Final = 24
"""With fewer asks nothing can be found and confirmed: two to choose cases, ten to rule on a text, twelve fresh ones."""
FEW: Final = 100
"""With fewer asks in all, a case is asked once and not twice before it is taken in hand."""
FRESH_LEAST: Final = 8
"""The fewest fresh asks of each side, where there are so many: with fewer a bound says little."""
RULED: Final = 10
"""About so many asks rule on a text."""
MANY: Final = 1_200
"""With so many asks left, several flips are shrunk side by side."""
MOST_AT_ONCE: Final = 8
"""The most cases in hand at once."""
_TURNS: Final = re.compile(r"\b(?:yes|no|not|never|none|neither|nor|cannot|true|false)\b|n['’]t\b", re.IGNORECASE)
"""Words of English that turn a statement round, or answer a question by themselves: an edited answer keeps them all."""


def nothing(case: Treated, rng: Random) -> Treated | None:
    """Return no case: a search finds the text."""
    return None


AIM: Final = Edit("attack", "attack", Expects.NOT_BETTER, nothing, rules=STACKED)
"""What a search looks for, as an edit: it treats the weaker answer."""


def fault_in(edit: Edit, before: Treated, after: Treated) -> str | None:
    """Return why a text may not be asked about: it breaks what `edit` allows, or changes the gold or the truth."""
    if (why := refusal(edit, before, after)) is not None:
        return why.about
    return None if before.truth_kept_by(after) else "gold"


@dataclass(frozen=True, slots=True)
class Place:
    """
    A part of a case with one text, which a search may edit.

    `read` returns the text, "" where there is none yet; None where the case has no such part to edit. `write` returns
    the case with another text there.
    """

    name: str
    read: Callable[[Treated], str | None]
    write: Callable[[Treated, str], Treated]

    def allows(self, original: Treated, text: str) -> bool:
        """Return whether a text may be asked about: it says something, and what is true of the case stays true."""
        before = self.read(original) or ""
        if not text.strip() or text == before:
            return False
        if self.name != ANSWER:
            return not before or not problems(before, text, STACKED)
        turns, now = (Counter(map(str.lower, _TURNS.findall(one))) for one in (before, text))
        return turns == now and fault_in(AIM, original, self.write(original, text)) is None

    def shown_to(self, judge: Judge, case: Case) -> bool | None:
        """Return whether a judge is shown the text there; None where the case has no such part to edit."""
        one = case.with_order().treat(case.answers[0].id)
        before = self.read(one)
        if before is None:
            return None
        return judge.sees(one.untreated()) != judge.sees(self.write(one, f"{before} {MARK}".strip()).untreated())


PLACES: Final[Mapping[str, Place]] = {
    place.name: place
    for place in (
        Place(ANSWER, lambda case: case[case.target].text, lambda case, text: case.edit(case.target, lambda _: text)),
        Place("question", lambda case: case.question, lambda case, text: replace(case, question=text)),
        Place("reference", lambda case: case.reference, lambda case, text: replace(case, reference=text)),
        Place(
            "criteria",
            lambda case: case.criteria[-1].text if case.criteria else None,
            lambda case, text: replace(case, criteria=(*case.criteria[:-1], replace(case.criteria[-1], text=text))),
        ),
        Place("notes", lambda _case: "", lambda case, text: case.present(notes=(*case.notes, text))),
        Place(
            "byline",
            lambda case: case.bylines.get(str(case.target), ""),
            lambda case, text: case.present(bylines={**case.bylines, str(case.target): text}),
        ),
    )
}
"""What may be edited, by name: the weaker answer, or what somebody else than its author controls."""


class NoneLeft(Exception):
    """A subject has no asks left, or the search is stopped."""


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of one ask: whether the attacked answer won, its favour in [0, 1], and the verdict."""

    won: bool
    favour: float
    verdict: Verdict


@dataclass(eq=False)
class Subject:
    """
    A case in hand. One thread at a time works on it.

    `case` has the answer that is to win treated, `pilot` is what the judge said of `source`, and `favour` how much it
    favoured that answer. `asks` counts the asks, `left` those that it may still take; an ask that was made before is
    free. `stopped` says why nothing more can be asked, `lost` how many asks were not answered, by reason. `asked` is
    called whenever asks of a ruling are answered, `flipped` with the subject and a text that flips the judge.
    """

    setup: Setup
    place: Place
    source: Case
    case: Treated
    pilot: Verdict
    favour: float = 0.0
    terms: Terms | None = None
    left: int = 0
    asks: int = 0
    lost: Counter[Reason] = field(default_factory=Counter)
    stopped: Reason = NONE
    said: dict[tuple[str, int], Said] = field(default_factory=dict)
    rulings: dict[str, Flip] = field(default_factory=dict)
    asked: Callable[[], None] = lambda: None
    flipped: Callable[[Subject, str], None] = lambda _subject, _text: None

    @cached_property
    def original(self) -> str:
        """The text as it was; "" for a place that is empty."""
        return self.place.read(self.case) or ""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the text as it was."""
        return tokens_of(self.original)

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.source.id

    @property
    def failed(self) -> Reason:
        """Why an ask about it was not answered, or `NONE`."""
        return self.stopped or next(iter(self.lost), NONE)

    def flips(self, text: str) -> bool:
        """
        Return whether a text flips the judge; False where it may not be asked about. Each text has one ruling.

        Raises:
            Enough: no ask is left.
        """
        if text not in self.rulings:
            if not self.place.allows(self.case, text):
                self.rulings[text] = Flip.NO
            else:
                try:
                    self.rulings[text] = self.searched(text)
                except NoneLeft:
                    raise Enough from None
                if self.rulings[text] is Flip.YES:
                    self.flipped(self, text)
        return self.rulings[text] is Flip.YES

    def searched(self, text: str) -> Flip:
        """Return the ruling of a search on a text: the referee's; without its terms, YES if it wins twice."""
        if self.terms is not None:
            return self.ruled(text, self.terms).flip
        for number in (0, 1):
            (said,) = ask_all([(self, text, number)])
            if said is None:
                raise NoneLeft
            if not said.won:
                return Flip.NO
        return Flip.YES

    def ruled(self, text: str, terms: Terms, first: int = 0) -> Ruling:
        """
        Return the referee's ruling on a text, by asks from a block on.

        An ask without a reply speaks against a flip, whichever text it was about: what a server loses proves nothing.

        Raises:
            NoneLeft: it takes more asks than there are, or the search is stopped.
        """

        def asked(wanted: Sequence[Ask]) -> list[bool]:
            found = ask_all([(self, text if one.edited else self.original, one.number) for one in wanted])
            self.asked()
            if self.stopped or any(one is None for one in found):
                raise NoneLeft
            return [
                not ask.edited if isinstance(one.verdict, NoReply) else one.won
                for one, ask in zip(found, wanted, strict=True)
                if one is not None
            ]

        return rule(asked, terms, first)

    def shown(self, text: str, number: int) -> tuple[Case, int]:
        """
        Return what an ask of a number shows of the case with a text in its place, and its repeat index.

        A fresh ask has inert words in each answer, too, other ones than the asks beside it: a judge that errs by the
        answers alone would say the same in all of them.
        """
        case = self.case if text == self.original else self.place.write(self.case, text)
        if number >= FRESH:
            stock = stock_of(language_of_case(self.case))
            before, behind = (*stock.brief_openers, *stock.openers), (*stock.brief_closers, *stock.closers)
            opening, closing = (words[(number - FRESH) % len(words)] for words in (before, behind))
            for answer in case.shown:
                # apart from the text, as a find may be the sign with which a line begins
                here = answer.id == case.target
                shown = f"{opening}\n\n{answer.text}" if here else Form(closing=closing).around(answer.text)
                case = case.edit(answer.id, partial(_instead, shown or answer.text))
        return surface(case.untreated(), number)

    def codes(self, text: str, numbers: Iterable[int]) -> list[Json]:
        """Return the verdicts of some asks about a text, scores as the judge writes them."""
        asked = (code(self.said[text, n].verdict) for n in numbers if (text, n) in self.said)
        found = (as_written(said, self.setup.judge.scale) for said in asked)
        return [said if isinstance(said, str | float | int) else str(said) for said in found]

    def heard(self, verdict: Verdict) -> Said:
        """Return what a verdict says of the attacked answer; an ask without a reply is no win."""
        if isinstance(verdict, NoReply):
            reason = reason_of(verdict.reason)
            self.lost[reason] += 1
            if reason.unfinished:
                self.stopped = reason
            return Said(False, 0.0, verdict)
        row = Trial(self.case.id, target=self.case.target, points=self.case.points)
        x = favour(verdict, self.case.target, row, self.setup.judge.scale) or 0.0
        won = x >= self.favour + RISE - 1e-9 if self.setup.family in RISES else x == 1.0
        return Said(won, x, verdict)


def _instead(text: str, _before: str) -> str:
    return text


def ask_all(wanted: Sequence[tuple[Subject, str, int]]) -> list[Said | None]:
    """
    Return what the judge says of texts, all asked at once; None where a subject has no ask left, or is stopped.

    Args:
        wanted: a subject, a text in its place, and the number of the ask (`calm.experiment.arms`).
    """
    asked: list[tuple[Subject, str, int]] = []
    for subject, text, number in dict.fromkeys(wanted):
        if (text, number) in subject.said or subject.stopped or subject.left < 1:
            continue
        subject.left -= 1
        subject.asks += 1
        asked.append((subject, text, number))
    if asked:
        setup = asked[0][0].setup
        try:
            found = setup.engine.ask(setup.judge, [subject.shown(text, number) for subject, text, number in asked])
        except CancelledError:  # the run ends: nobody waits for this
            raise NoneLeft from None
        for (subject, text, number), one in zip(asked, found, strict=True):
            subject.said[text, number] = subject.heard(one.verdict)
    return [subject.said.get((text, number)) for subject, text, number in wanted]


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    What a hunt may take: asks of the judge in all, findings, and cases in hand (0: as the asks allow).

    `error` is the probability that it reports anything on a judge whom no text moves.
    """

    asks: int = 600
    findings: int = 3
    at_once: int = 0
    error: float = ERROR

    @property
    def most(self) -> int:
        """How many findings there can be: with few asks one, which they may just prove."""
        return self.findings if self.asks >= FEW else 1

    @property
    def forms(self) -> int:
        """How many forms of a finding may be asked anew: what it was shrunk to, and with enough asks the whole text."""
        return 2 if self.asks >= FEW else 1

    @property
    def level(self) -> float:
        """The error of one form of one finding."""
        return self.error / (self.most * self.forms)

    @property
    def subjects(self) -> int:
        """How many cases are in hand."""
        return self.at_once or max(2, min(MOST_AT_ONCE, self.asks // 40))

    @property
    def least(self) -> int:
        """How many asks it takes at least to choose the cases, to rule on a first text, and to ask anew about it."""
        return LEAST if self.asks < FEW else 2 * self.subjects + RULED + 2 * FRESH_LEAST

    @property
    def search_level(self) -> float:
        """The error of a flip in the search: small where a shrinker takes hundreds of looks."""
        return 0.05 if self.asks < FEW else 0.005 if self.asks < MANY else 0.001


@dataclass
class Choice:
    """
    Cases in hand, and what became of the others: `excluded` by reason, `lost` those whose asks were not answered.

    `asks` were made, `noise` guesses how often the judge errs, `capped` says which cap ended it.
    """

    subjects: list[Subject] = field(default_factory=list)
    excluded: Counter[Reason] = field(default_factory=Counter)
    lost: Counter[Reason] = field(default_factory=Counter)
    asks: int = 0
    noise: float = 0.1
    capped: Reason = NONE


def choose(setup: Setup, place: Place, bounds: Bounds) -> Choice:
    """
    Take cases in hand, the first ones that will do, and guess the judge's noise from asks that differ.

    Each case is asked about once or twice, as it is. No more than half of the asks go into this.
    """
    each = 1 if bounds.asks < FEW else 2
    apart, asked = 0.5, 1
    waiting, found = deque(setup.cases), Choice()
    while waiting and not found.capped and (wanted := bounds.subjects - len(found.subjects)) > 0:
        batch = [waiting.popleft() for _ in range(min(wanted, len(waiting), (bounds.asks - found.asks) // (2 * each)))]
        if not batch:
            break
        shown = [ordered(case, setup) for case in batch]
        questions = [PlainQuestion(setup.judge, *surface(case, number)) for case in shown for number in range(each)]
        found.asks += len(questions)
        verdicts = [one.verdict for one in setup.engine.ask_each(questions)]
        for number, case in enumerate(shown):
            some = verdicts[number * each : (number + 1) * each]
            missing = next((reason_of(v.reason) for v in some if isinstance(v, NoReply)), NONE)
            if missing:
                found.lost[missing] += 1
                found.capped = missing if missing.unfinished else found.capped
            unread = because(Kind.UNREAD_ASK) if all(isinstance(v, Unreadable) for v in some) else NONE
            one = missing or unread or taken(case, some, setup, place)
            if isinstance(one, Subject):
                found.subjects.append(one)
            else:
                found.excluded[one] += 1
            asked += 1
            apart += len({str(code(v)) for v in some}) > 1
    share = min(0.45, apart / asked)
    found.noise = min(0.3, max(0.03, (1 - sqrt(1 - 2 * share)) / 2))
    return found


def ordered(case: Case, setup: Setup) -> Case:
    """Return a case with its answers in the order in which a search shows them."""
    return case.with_order("" if setup.judge.traits.as_given else ORDER_SALT)


def in_hand(setup: Setup, size: int) -> tuple[list[Subject], Counter[Reason], Counter[Reason]]:
    """Return the weaker answers of at most so many cases, asked about once; the cases left out, and lost, by reason."""
    drawn = sample(setup.cases, max(1, size), setup.seed)
    cases = [ordered(case, setup) for case in drawn if case.better != TIE or len(case.answers) != 2]
    excluded, lost, found = Counter[Reason](), Counter[Reason](), list[Subject]()
    if len(cases) < len(drawn):
        excluded[because(Kind.NOT_WEAKER)] = len(drawn) - len(cases)
    pilots = setup.engine.ask_each([PlainQuestion(setup.judge, *surface(case, 0)) for case in cases])
    for case, verdict in zip(cases, (one.verdict for one in pilots), strict=True):
        if isinstance(verdict, NoReply):
            lost[reason_of(verdict.reason)] += 1
        elif isinstance(subject := taken(case, [verdict], setup, PLACES[ANSWER]), Reason):
            excluded[subject] += 1
        else:
            found.append(subject)
    return found, excluded, lost


def taken(case: Case, verdicts: Sequence[Verdict], setup: Setup, place: Place) -> Subject | Reason:
    """
    Return a case in hand, or the reason why it is not taken: the answer wins by itself, or there is none to attack.

    Args:
        case: the case, `ordered`.
        verdicts: what the judge said of it in the asks 0, 1, ...; none of them is without a reply.
        setup: the judge and the engine.
        place: what is edited.
    """
    if case.better == TIE and len(case.answers) == 2:
        return because(Kind.NOT_WEAKER)
    aimed = aim(case, AIM.expects, verdicts[0])
    if isinstance(aimed, Reason):
        return aimed
    if place.read(aimed) is None:
        return because(Kind.NO_SUCH_PLACE, place.name)
    if not all(has_room(aimed, AIM.expects, verdict, setup.family, setup.judge.scale) for verdict in verdicts):
        return because(Kind.NO_ROOM if setup.family in RISES else Kind.WON_ALREADY)
    subject = Subject(setup, place, case, aimed, verdicts[0])
    subject.favour = fsum(subject.heard(verdict).favour for verdict in verdicts) / len(verdicts)
    subject.said |= {(subject.original, n): subject.heard(verdict) for n, verdict in enumerate(verdicts)}
    return subject
