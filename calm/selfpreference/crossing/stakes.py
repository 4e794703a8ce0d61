"""What the test of one judge asks: nothing where the truth says beforehand that nothing can come of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from calm.core.case import TIE, Case
from calm.core.items import item_of
from calm.core.model_names import same_model
from calm.core.reasons import Kind, because
from calm.errors import EstimateError
from calm.models.wire import Judge
from calm.selfpreference.crossing.design import CrossDesign, CrossInputs, arrange, member_of
from calm.selfpreference.symbols import LEAST, own_pull, self_preference_excess


def arranged_for(judge: Judge, wanted: CrossInputs, seed: int, measures: Collection[str]) -> CrossDesign:
    """
    Return who is asked about which cases to test one judge; a peer that is the same model is left out.

    `measures` are the figures that are wanted: for a pull or an excess, nothing is asked that could give neither.

    Raises `EstimateError` and `ConfigError` as `arrange` and `refuse_hopeless` do.
    """
    first = member_of(judge)
    peers = [peer for peer in wanted.peers if not same_model(peer.model, first.model)]
    found = arrange(
        [first, *peers],
        wanted.cases,
        about=first.model,
        sample=wanted.sample,
        seed=seed,
        families=wanted.families,
        option="--calm-families",
    )
    if set(measures) <= {own_pull.name, self_preference_excess.name}:
        refuse_hopeless(found, pull=own_pull.name in measures)
    return found


def refuse_hopeless(crossing: CrossDesign, *, pull: bool) -> None:
    """
    Raise an `EstimateError` where no verdicts could tell of the first member's pull, if it is wanted, or of its excess.

    A pull needs questions with equal answers, or such that an own answer lost or failed. An excess needs questions in
    which the own answers deserve the verdict and others in which they do not, and peers of two families. Without truth
    the excess is observed, so nothing is refused.
    """
    sides = list(_sides(crossing))
    if not sides:
        return
    for_it, equal, against = ({item for item, side in sides if (side > 0) - (side < 0) == sign} for sign in (1, 0, -1))
    if pull:
        if max(len(equal), len(against)) < LEAST:
            raise EstimateError(because(Kind.FEW_EQUAL, len(equal or against), LEAST))
        return
    if min(len(for_it), len(against)) < LEAST:
        raise EstimateError(because(Kind.ONE_SIDED, len(for_it), len(against), LEAST))
    own = crossing.families[crossing.members[0].model]
    outsiders = [m.model for m in crossing.members if crossing.families[m.model] != own]
    if len({crossing.families[name] for name in outsiders}) == 1:
        raise EstimateError(because(Kind.ONE_OUTSIDER, ", ".join(outsiders)))


def _sides(crossing: CrossDesign) -> Iterator[tuple[str, float]]:
    """Yield the item of each verdict on an own answer whose truth is known, and 1, -1 or 0: for it, against, a tie."""
    about = crossing.members[0].model
    if crossing.family == "rubric":
        yield from _criteria(crossing.cases, about)
    elif crossing.family == "pairwise":
        yield from _pairs(crossing.cases, about)
    else:
        yield from _scores(crossing, about)


def _criteria(cases: tuple[Case, ...], about: str) -> Iterator[tuple[str, float]]:
    for case in cases:
        answer = case.answers[0]
        if answer.author == about:
            for name, met in case.met.get(answer.id, {}).items():
                yield item_of(case), 1.0 if met == (case.points[name] > 0) else -1.0


def _pairs(cases: tuple[Case, ...], about: str) -> Iterator[tuple[str, float]]:
    for case in cases:
        own = next((answer.id for answer in case.answers if answer.author == about), None)
        if case.better is not None and own is not None:
            yield item_of(case), 0.0 if case.better == TIE else 1.0 if case.better == own else -1.0


def _scores(crossing: CrossDesign, about: str) -> Iterator[tuple[str, float]]:
    worth: dict[str, dict[str, float]] = {}
    for case in crossing.cases:
        answer = case.answers[0]
        if answer.author is not None and (found := case.worth(answer.id)) is not None:
            worth.setdefault(item_of(case), {})[answer.author] = found
    for item, known in worth.items():
        if about in known:
            yield from ((item, known[about] - other) for author, other in known.items() if author != about)
