"""Whether a judge can be shown its cases, found before the first call: a prompt that fails would fail mid-run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from calm.core.case import Case, Framing
from calm.core.templates import Prompt
from calm.core.verdict import FAMILY
from calm.errors import ConfigError
from calm.experiment.equal import as_pair
from calm.models.wire import Judge, Rewordable

MOST_NAMED: Final = 5
"""So many cases that cannot be shown are named; the others are only counted."""
MARK: Final = "mark"
"""Stands where an edit says something."""
OTHER_CASES: Final = (
    "none of the {} cases can be shown; if these are not the cases that you meant, name yours: --cases FILE, or with "
    "pytest --calm-cases=FILE"
)


def refuse_unshowable(judge: Judge, cases: Sequence[Case]) -> None:
    """
    Render the prompts of a judge for all cases, those of judges inside it too; no judge is asked.

    A judge without a model renders nothing, and none of its code is called.

    Raises:
        ConfigError: a line for each case that cannot be shown, the first ones named, with what it lacks and the fix.
    """
    if not judge.endpoints:
        return
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    framings, own = _framings(prompt), prompt is None or not prompt.bundled
    pairs = [as_pair(case, FAMILY[judge.task]) for case in cases]
    faults = [fault for case in pairs if (fault := _fault(judge, case, framings, own=own))]
    if not faults:
        return
    problems = [f"judge {judge.name}: {fault}" for fault in faults[:MOST_NAMED]]
    if len(faults) > MOST_NAMED:
        problems.append(f"{len(faults) - MOST_NAMED} more of the {len(cases)} cases cannot be shown either")
    if len(faults) == len(cases) > 1:
        problems.append(OTHER_CASES.format(len(cases)))
    raise ConfigError(problems)


def _framings(prompt: Prompt | None) -> tuple[Framing, ...]:
    """Return the framings of which a prompt has templates of its own."""
    twins = {} if prompt is None else {Framing.NEGATIVE: prompt.negative, Framing.INVERTED: prompt.inverted}
    return (Framing.STANDARD, *(framing for framing, messages in twins.items() if messages is not None))


def _fault(judge: Judge, case: Case, framings: Sequence[Framing], *, own: bool) -> str:
    """Return why a case cannot be shown, or nothing."""
    try:
        for shown in _shown(case, framings, own=own):
            repr(judge.sees(shown))  # what it is sent is rendered where it is looked at
    except ConfigError as error:
        return "; ".join(error.problems)
    return ""


def _shown(case: Case, framings: Sequence[Framing], *, own: bool) -> Iterator[Case]:
    for framing in framings:
        yield case if framing is Framing.STANDARD else case.present(framing=framing)
    if own:  # a template may show what an edit presents, and only then what the case lacks
        ids = [answer.id for answer in case.answers]
        yield case.present(notes=(MARK,), bylines=dict.fromkeys(ids, MARK), drafts=dict.fromkeys(ids, (MARK,)))
