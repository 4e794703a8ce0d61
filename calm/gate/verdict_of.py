"""What tests ask one by one: `verdict_of(case)` is a verdict, `verdict_of.flips(a, b)` compares those on two cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from calm.core.case import Case, Treated
from calm.core.reasons import Reason, reason_of
from calm.core.trials import Trial, distance
from calm.core.verdict import NoReply, Ranking, Verdict, code, decode
from calm.errors import ClaimError, ConfigError, JudgeError
from calm.experiment.arms import surface
from calm.experiment.lookahead import NeedsData
from calm.experiment.referee import Ask, Flip, Ruling, Stand, Terms, rule, rule_both
from calm.experiment.setup import Setup

TERMS: Final = Terms(level=1e-4, most=24)
"""
When `flips` stops: in a property of 100 examples, a judge that no edit moves fails less than once in 100 runs, whatever
its noise.
"""
MOVED: Final = {"pairwise": 0.5}
"""The distance from which on two verdicts are not the same; on other kinds `MOVED_BY`, a quarter of the scale."""
MOVED_BY: Final = 0.25
HEARD: Final = 3
"""So many asks say what the verdict on a case is; it is the most frequent one."""
FIRST_HEARD: Final = 60
"""The number of the first of them: no ask that is held against the edited case has such a number, or these words."""

KEEPING: Final = (*range(32, FIRST_HEARD), *range(FIRST_HEARD + HEARD, 128))
"""The numbers of the asks by which `keeps` decides, each with words of its own, and with others than `flips`."""
KEPT: Final = Terms(level=1e-4, most=len(KEEPING), clean_each=1)
"""When `keeps` says that a verdict flips, or gives up."""
STANDS: Final = Stand()
"""When `keeps` says that a verdict stands."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What `keeps` found: true if the verdict was proven to stand, false if it flips, or if that is not decided."""

    ruling: Ruling

    def __bool__(self) -> bool:
        return self.ruling.flip is Flip.NO

    def __repr__(self) -> str:
        return f"<{self.why}>"

    @property
    def why(self) -> str:
        """What was found, in one sentence."""
        blocks = self.ruling.blocks
        first, second = sum(b.first for b in blocks), sum(b.second for b in blocks)
        said = {
            Flip.YES: "the verdict flips",
            Flip.NO: f"the verdict stays: the change moves less than {STANDS.gap:.0%} of the verdicts",
            Flip.UNDECIDED: "undecided, which is no pass: it is not proven that the verdict flips, nor that it stays",
        }[self.ruling.flip]
        return f"{said}; the judge decided otherwise in {second} of {len(blocks)} asks after it, {first} before"


class NoVerdict(BaseException):
    """
    Ends a test that wanted a verdict and got no reply: a cap was reached, or the server is down.

    It is no `Exception`: Hypothesis would take it for a failure of the property, and replay and shrink it. `reason` is
    why there is no reply.
    """

    def __init__(self, case: Case, reason: Reason) -> None:
        self.reason = reason
        super().__init__(
            f"verdict_of: no reply about case {case.id}: {reason}. The test ends here and decides nothing. What was "
            "answered is in the cache (but for --calm-cache=off): remove the cause, or raise the cap, and run again"
        )


class VerdictOf:
    """
    Asks the judge of the run about one case at a time, for tests that are no probes.

    Each ask goes through the engine of the run: its cache, caps, retries and count. An equal ask is made once in a run,
    with any `--calm-cache`, so an example that is tried again costs nothing and ends as before.
    """

    def __init__(self, setup: Setup, tracing: Callable[[], bool]) -> None:
        self.setup, self._tracing = setup, tracing

    def __repr__(self) -> str:
        return "verdict_of"

    @contextmanager
    def about(self, setup: Setup) -> Iterator[None]:
        """Ask another judge until the end of the block: a folder of tests may have its own."""
        before, self.setup = self.setup, setup
        try:
            yield
        finally:
            self.setup = before

    def __call__(self, case: Case, ask: int = 1) -> Verdict:
        """
        Return the verdict on a case: an answer's id, a score, criteria or a ranking, or what could not be read.

        Args:
            case: the case; answers without an order are shown as they are listed.
            ask: the repeat index, from 1. The same index gets the same verdict.

        Raises:
            ClaimError: something else was given as a case.
            ConfigError: no repeat index.
            NoVerdict: there is no reply; it ends the test.
        """
        if not isinstance(ask, int) or ask < 1:
            raise ConfigError(f"verdict_of(case, ask): expected a repeat index from 1, got ask={ask!r}")
        return self._asked([(_plain(case), ask)])[0]

    def flips(self, before: Case, after: Case) -> bool:
        """
        Return whether the judge decides otherwise about `after` than about `before`, beyond its noise.

        Otherwise means another answer, or a tie in place of one, or no verdict; on scores, rubrics and rankings a
        distance of a quarter or more; on rankings also another first place. Where nothing changes it is true with a
        probability below 0.0001, whatever the noise of the judge (`calm.experiment.referee`). A sound judge is asked
        once about each case. A flip takes about 20 asks, 14 of them about `before`, which further calls with that case
        share.

        Raises:
            ClaimError: something else was given as a case.
            NoVerdict: there is no reply; it ends the test.
        """
        first, second = _plain(before), _plain(after)
        asks = surface(first, FIRST_HEARD), surface(second, 0)
        if not self._moved(first, *self._asked(asks)):  # most examples end here; it makes no flip likelier
            return False
        usual = self._usual(first)

        def otherwise(asks: Sequence[Ask]) -> list[bool]:
            said = self._asked([surface(second if ask.edited else first, ask.number) for ask in asks])
            return [self._moved(first, usual, verdict) for verdict in said]

        return rule(otherwise, TERMS).flip is Flip.YES

    def keeps(self, before: Case, after: Case) -> Kept:
        """
        Return whether it is proven that the judge decides about `after` as about `before`.

        For a test that must not pass by chance. It is true with a probability of at most 0.05 where a third or more of
        the verdicts move, to or from what it usually says, whatever the noise, and false otherwise: where the verdict
        flips, and where all the asks that it may take do not decide. A judge without noise takes 19 asks if it keeps
        its verdict. One that errs in 5, 10 and 15 % of its asks takes about 39, 60 and 82; in 300 calls of each, one
        stayed undecided.

        Raises:
            ClaimError: something else was given as a case.
            NoVerdict: there is no reply; it ends the test.
        """
        first, second = _plain(before), _plain(after)
        usual = self._usual(first)

        def otherwise(asks: Sequence[Ask]) -> list[bool]:
            asked = [surface(second if ask.edited else first, KEEPING[ask.number]) for ask in asks]
            return [self._moved(first, usual, verdict) for verdict in self._asked(asked)]

        return Kept(rule_both(otherwise, KEPT, STANDS))

    def _usual(self, case: Case) -> Verdict:
        """Return the most frequent of a few verdicts on a case, the first of those that are equally frequent."""
        said = self._asked([surface(case, FIRST_HEARD + number) for number in range(HEARD)])
        frequent = Counter(str(code(verdict)) for verdict in said)
        return max(said, key=lambda verdict: frequent[str(code(verdict))])

    def _moved(self, case: Case, usual: Verdict, said: Verdict) -> bool:
        least = MOVED.get(self.setup.family, MOVED_BY)
        one, two = (decode(code(verdict), "") for verdict in (usual, said))  # what was decided, without its probability
        if isinstance(one, Ranking) and isinstance(two, Ranking) and {*one.order[0]} != {*two.order[0]}:
            return True
        return distance(one, two, Trial(case.id, points=case.points), self.setup.judge.scale) >= least - 1e-9

    def _asked(self, questions: Sequence[tuple[Case, int]]) -> list[Verdict]:
        if self._tracing():
            raise NeedsData("`verdict_of` asks when the test runs")
        try:
            found = [judged.verdict for judged in self.setup.engine.ask(self.setup.judge, questions)]
        except JudgeError as error:
            raise NoVerdict(questions[0][0], reason_of(error)) from None
        for (case, _), verdict in zip(questions, found, strict=True):
            if isinstance(verdict, NoReply):
                raise NoVerdict(case, reason_of(verdict.reason))
        return found


def _plain(case: Case) -> Case:
    """Return a case as the engine takes it: in an order, and without what the experiment knows of it."""
    if not isinstance(case, Case):
        raise ClaimError(f"verdict_of: expected a case, got {type(case).__name__}; call an edit with one: edit(case)")
    return (case.untreated() if isinstance(case, Treated) else case).with_order()
