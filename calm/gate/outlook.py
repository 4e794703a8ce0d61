"""What the cases of a run can decide: said in one line before the first call, and taken as limits if so wished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from calm.core.case import Case
from calm.core.claims import Claim
from calm.core.edits import AnyEdit, Edit
from calm.core.measures import MEASURES
from calm.core.reasons import Reason
from calm.core.validation import fault_in
from calm.core.verdict import Preferred, Ranking, Verdict
from calm.experiment.aim import aim, aims_by_pilot
from calm.experiment.lookahead import Order
from calm.experiment.setup import Setup, clusters_of
from calm.gate.resolution import NOISE, Claimed, attainable, attainable_of_run, green, knows, missed
from calm.results.pooled import LIMITS as OF_RUN

Limits: TypeAlias = Literal["suites", "attainable"]
"""Which limits a run takes: those of its suites, or the strictest that its cases let a sound judge prove."""
LIMITS: Final[tuple[Limits, ...]] = ("suites", "attainable")
ENOUGH: Final = 0.95
"""A gate serves if a sound judge passes it at least this often."""
SHOWN: Final = 3
"""How many claims are named that so few cases hardly decide."""


def outlook(orders: Iterable[Order], limits: Limits = "suites") -> str:
    """
    Return in one line how often a sound judge is green in a run that asks some orders.

    Empty if that is not known of all of them, as of fewer asks a case than the usual ones.

    Each probe is taken to apply to all of its cases.
    """
    asked = [o for o in orders if _sized(o) and o.top_up and not o.idle]
    if not asked or not all(_known(o.setup) for o in asked):
        return ""
    sizes: dict[int, int] = {}
    for order in asked:
        sizes.setdefault(id(order.setup.cases), len(set(clusters_of(order.setup.cases).values())))
    probes = [(order, _claimed(order, sizes[id(order.setup.cases)])) for order in asked]
    family, most = asked[0].setup.family, max(probes, key=lambda pair: pair[1].clusters)
    cases, clusters = len(most[0].setup.cases), most[1].clusters
    of_run = OF_RUN if limits == "suites" else attainable_of_run(family, clusters)
    chance = green([probe for _, probe in probes], family, of_run)
    about = f"{cases} cases" + (f" about {clusters} questions" if clusters < cases else "")
    at = "these limits" if limits == "suites" else "the attainable limits"
    judge = f"a judge without bias that errs in {100 * NOISE:g} % of asks"
    if chance >= ENOUGH:
        return f"{about} are enough to prove {at} of {judge}"
    text = f"{about} are few: {judge} is green in {_percent(chance)} of runs at {at}"
    misses = {f"{_named(o)}: {c}": missed(c, family, probe) for o, probe in probes for c in o.claims}
    least = sorted((name for name, miss in misses.items() if miss > 0.01), key=lambda name: -misses[name])
    weak = [f"{name} (proven in {_percent(1 - misses[name])})" for name in least[:SHOWN]]
    more = f" and {len(least) - SHOWN} more" if len(least) > SHOWN else ""
    fix = "take more cases" if limits == "attainable" else "take more cases, or --calm-limits attainable"
    return f"{text}; decided too seldom: {', '.join(weak)}{more}; {fix}" if weak else f"{text}; {fix}"


def shortfall(order: Order, limits: Limits) -> str:
    """Return the same line about one order, if a sound judge often does not prove what it claims; else nothing."""
    said = outlook([order], limits)
    return said if ";" in said else ""


def attained(order: Order, kept: Sequence[str] = ()) -> Order:
    """
    Return an order with attainable limits for the cases that its edit applies to; claims about `kept` measures stay.

    The limits depend on the cases and the edit alone, and on no verdict.
    """
    if not order.claims or not order.top_up or order.idle or not _known(order.setup):
        return order
    clusters = clusters_of(order.setup.cases)
    about = {clusters[c.id] for c in order.setup.cases if order.edit is None or _applies(order, order.edit, c)}
    probe = _claimed(order, len(about))

    def chosen(claim: Claim) -> Claim:
        return claim if claim.measure in kept else attainable(claim, order.setup.family, probe)

    return replace(order, claims=tuple(map(chosen, order.claims)))


def _sized(order: Order) -> bool:
    """Return whether anything is claimed whose chances are known: those of agreement depend on the labels, too."""
    return any(MEASURES[claim.measure].topped for claim in order.claims)


def _known(setup: Setup) -> bool:
    return setup.repeatable and knows(setup.design, setup.stopping)


def _named(order: Order) -> str:
    edit = order.edit
    return f"{order.bias}/{edit.label}" if edit and edit.name else order.bias


def _claimed(order: Order, clusters: int) -> Claimed:
    edit = order.edit
    return Claimed(order.claims, edit.expects if edit else None, bool(edit and len(edit.variants) > 1), clusters)


def _percent(share: float) -> str:
    """
    Return a share for people, never rounded to certainty.

    >>> _percent(0.9996), _percent(0.974), _percent(0.001)
    ('over 99 %', '97 %', 'under 1 %')
    """
    return "over 99 %" if share > 0.99 else "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _applies(order: Order, edit: AnyEdit, case: Case) -> bool:
    """Return whether an edit applies to a case; where a pilot chooses the answer, its first answer is assumed best."""
    pilot = _assumed(case) if aims_by_pilot(case, edit.expects) else None
    treated = aim(case, edit.expects, pilot)
    if isinstance(treated, Reason):
        return False
    if not isinstance(edit, Edit):  # an edit of the prompt sees no case
        return True
    seed = order.setup.seed
    found = ((variant, variant.apply(treated, seed)) for variant in edit.choices(treated, seed))
    return any(edited is not None and fault_in(variant, treated, edited) is None for variant, edited in found)


def _assumed(case: Case) -> Verdict:
    ids = sorted(a.id for a in case.answers)
    return Ranking(tuple((i,) for i in ids)) if len(ids) > 2 else Preferred(ids[0])
