"""
Orders: ask in several orders of the answers, so that no slot can win by its place.

`swap` counts only what both orders agree on (arXiv:2306.05685). `average` takes the mean of both orders.
`rotations` takes that of all rotations of any number of answers: balanced position calibration (arXiv:2305.17926).
"""

from __future__ import annotations

from calm.core.case import Case
from calm.core.verdict import Verdict
from calm.errors import ConfigError
from calm.judges.combining import LAW, combined, unanimous
from calm.judges.mitigations.mitigation import MitigatedJudge, Mitigation
from calm.judges.prompted import together
from calm.models.wire import Judge, Send


def swap(judge: Judge) -> Judge:
    """Return a judge that asks a pairwise judge in both orders; if they differ, it is a tie."""
    if judge.task != "pairwise":
        raise ConfigError(f"mitigations: 'swap' expects a judge with task = 'pairwise', got task={judge.task!r}")
    return MitigatedJudge(judge, "swap", "swap", _agreed, _both)


def average(judge: Judge, name: str = "average") -> Judge:
    """Return a judge that takes the mean over all rotations of the answers."""
    return MitigatedJudge(judge, name, f"rotations-{LAW}", _averaged, _all)


def rotations(case: Case) -> tuple[Case, ...]:
    """Return a case in each rotation of its order, its own first."""
    ids = tuple(answer.id for answer in case.shown)
    return tuple(case.arranged(ids[turn:] + ids[:turn]) for turn in range(len(ids)))


def _both(judge: Judge, case: Case) -> object:
    return judge.sees(case), judge.sees(_turned(case))


def _all(judge: Judge, case: Case) -> object:
    return tuple(judge.sees(one) for one in rotations(case))


def _turned(case: Case) -> Case:
    return case.arranged(tuple(answer.id for answer in reversed(case.shown)))


async def _agreed(judge: Judge, case: Case, send: Send) -> Verdict:
    verdicts = await together(judge.judge(case, send), judge.judge(_turned(case), send))
    return unanimous(verdicts, case)


async def _averaged(judge: Judge, case: Case, send: Send) -> Verdict:
    verdicts = await together(*(judge.judge(one, send) for one in rotations(case)))
    return combined(verdicts, case, every=True)  # without one of the orders a slot could win again


MITIGATIONS = (
    Mitigation(
        "swap",
        "ask in both orders; where they differ it is a tie",
        ("pairwise",),
        "2",
        "arXiv:2306.05685",
        lambda judge, *_: swap(judge),
    ),
    Mitigation(
        "average",
        "ask in both orders and take the mean of the probabilities",
        ("pairwise",),
        "2",
        "arXiv:2305.17926",
        lambda judge, *_: average(judge),
    ),
    Mitigation(
        "rotations",
        "balanced position calibration: the mean over all rotations of the answers",
        ("pairwise", "listwise"),
        "one for each answer",
        "arXiv:2305.17926",
        lambda judge, *_: average(judge, "rotations"),
    ),
)
