"""What all questions of one test share: the judge and the rules of the run, and what was found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from calm.cases import upright
from calm.core.case import Case
from calm.core.reasons import Kind, Reason, because
from calm.core.texts import CaseTexts
from calm.errors import ConfigError, few_of
from calm.experiment.lookahead import Lookahead, Order
from calm.experiment.setup import Setup
from calm.gate.outlook import Limits
from calm.gate.proof import Proof
from calm.models.wire import Json
from calm.results.audit import BASELINE, RUN, Finding
from calm.results.gatefile import Gate

if TYPE_CHECKING:
    from calm.selfpreference.crossing.design import CrossInputs


@dataclass(frozen=True, slots=True)
class Node:
    """The test that a probe belongs to: its id, and the name of its suite in kebab case."""

    id: str
    suite: str


class Sink(Protocol):
    """Takes what a test would ask while the test is traced."""

    def take(self, orders: Sequence[Order]) -> None:
        """Take a question's own order, and after it those of its variants."""

    def take_cross(self, order: Order, wanted: Callable[[], CrossInputs]) -> None:
        """Take a question about authors and judges, and what tells what the cross is made of."""


@dataclass(slots=True)
class LookaheadSink:
    """The sink of a look-ahead: gathers the orders that it is to run. A cross is asked when its test runs."""

    lookahead: Lookahead
    gathered: list[tuple[Lookahead, Order]]

    def take(self, orders: Sequence[Order]) -> None:
        """Gather the orders."""
        self.gathered += [(self.lookahead, order) for order in orders]

    def take_cross(self, order: Order, wanted: Callable[[], CrossInputs]) -> None:
        """Leave a cross to its test."""


@dataclass(slots=True)
class Context:
    """
    What the questions of a test share.

    `sink`: given in a trace, in which nothing is decided. `supposed`: there, an answer was
    supposed, so that what follows may never be asked. `lenient`: whether the test is expected to fail. `limits`: which
    limits claims get. `announced`: it was said what the cases of the run can decide. `say`: shows a message to the user
    at once. The other fields are what the test found; `seconds` are per finding, `asks_made` and `asks_planned` count
    asks. All tests of a run share `claimed`: by the key of a finding the test and the order that make it. `twice`: why
    a trace is refused.
    """

    setup: Setup
    node: Node
    undecided: Literal["fail", "warn"] = "fail"
    every_variant: bool = False
    lenient: Callable[[], bool] = lambda: False
    limits: Limits = "suites"
    announced: bool = False
    gate: Gate = field(default_factory=Gate)
    say: Callable[[str], None] = lambda _text: None
    lookahead: Lookahead = field(default_factory=lambda: Lookahead(1))
    sink: Sink | None = None
    supposed: bool = False
    wanted_by: Callable[[], CrossInputs] | None = None
    proofs: list[Proof] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    texts: dict[tuple[str, str], CaseTexts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    extras: dict[str, Json] = field(default_factory=dict)
    asks_made: int = 0
    asks_planned: int = 0
    claimed: dict[str, tuple[str, Order]] = field(default_factory=dict)
    twice: list[Reason] = field(default_factory=list)

    @property
    def wanted(self) -> CrossInputs:
        """What a cross of judges and authors can use: the run's cases and the peers of the judge."""
        if self.wanted_by is not None:
            return self.wanted_by()
        from calm.selfpreference.crossing.design import CrossInputs

        return CrossInputs(self.setup.cases)

    def claim(self, orders: Sequence[Order]) -> None:
        """
        Note which findings the orders of a question make: no other question of the run makes one of them.

        Raises:
            ConfigError: one does, or the bias has a name of calm's own. In a trace `twice` gets the reasons instead.
        """
        found = [because(Kind.NAME_TAKEN, name) for name in sorted({one.bias for one in orders} & {RUN, BASELINE})]
        clashes: dict[str, list[str]] = {}
        for order in orders:
            for key in order.keys:
                node, first = self.claimed.setdefault(key, (self.node.id, order))
                if node != self.node.id or (first is not order and first.name != order.name):
                    clashes.setdefault(node, []).append(key)
        for node, keys in clashes.items():
            kind, nodes = (Kind.TWICE_IN_TEST, (node,)) if node == self.node.id else (Kind.TWICE, (node, self.node.id))
            found.append(because(kind, few_of(keys, 3), *nodes))
        if self.sink is not None:
            self.twice += found
        elif found:
            raise ConfigError([str(one) for one in found])

    def setup_for(self, cases: Sequence[Case] | None) -> Setup:
        """
        Return the setup with other cases, if others were given.

        Raises:
            ConfigError: something that is no case, or two cases with one id.
        """
        if cases is None:
            return self.setup
        given = tuple(cases)
        for case in given:
            if not isinstance(case, Case):
                raise ConfigError(f"probe(cases=...): expected cases, got {type(case).__name__}")
        twice = [name for name, count in Counter(c.id for c in given).items() if count > 1]
        if twice:
            raise ConfigError(f"probe(cases=...): two cases with the id {twice[0]!r}; each counts as one of its own")
        judge = self.setup.judge
        return replace(self.setup, cases=tuple(upright(given, judge.task, judge.scale)), equals=())
