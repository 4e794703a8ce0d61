"""The verdict of each judge on each answer, from an engine or a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from calm.core.case import Case
from calm.core.reasons import Reason, listed, reason_of
from calm.core.verdict import NoReply, Scale, Score, Verdict
from calm.engine.asks import LOOKS, Legibility
from calm.engine.engine import Engine
from calm.errors import EstimateError, JudgeError
from calm.experiment.showing import refuse_unshowable
from calm.selfpreference.crossing.design import CrossDesign, CrossResult, Member, identity
from calm.selfpreference.verdicts import Judgment


def ask(crossing: CrossDesign, engine: Engine) -> CrossResult:
    """
    Return the verdict of each member on each case, asked once and all at the same time.

    Raises:
        ConfigError: a case cannot be shown to a member, its server does not answer, or a cap in dollars for a model
            without a price.
        EstimateError: a record holds no verdict of a member on any of the cases.
        JudgeError: no reply of any judge can be read.
    """
    for member in crossing.members:
        fixed = member.judge is None or member.judge.traits.recorded is not None
        if fixed and not any(_known(member, case) for case in crossing.cases):
            raise EstimateError(
                f"the record of {member.model!r} holds no verdict on any of these answers; make it from the same file "
                "of answers, or name the judge itself"
            )
    asking = [m for m in crossing.members if m.judge is not None]
    judges = [m.judge for m in crossing.members if m.judge is not None]
    for judge in judges:
        refuse_unshowable(judge, crossing.cases)
    for judge in judges:
        engine.admit(judge)
    _refuse_unread(asking, crossing.cases[: LOOKS[-1][0]], engine)
    questions = [(m.judge, m.asked(case), 1) for m in asking if m.judge for case in crossing.cases if _known(m, case)]
    answers = iter(engine.ask_each(questions))
    judged: list[Judgment] = []
    lost: Counter[Reason] = Counter()
    for member in crossing.members:
        for case in crossing.cases:
            if not _known(member, case):
                continue
            verdict = next(answers).verdict if member.judge is not None else member.recalled[identity(case)]
            if isinstance(verdict, NoReply):
                lost[reason_of(verdict.reason)] += 1
            else:
                judged.append(Judgment(member.model, case, _on_unit(verdict, member.scale), member.wording))
    return CrossResult(crossing, tuple(judged), lost)


def _refuse_unread(asking: Sequence[Member], cases: Sequence[Case], engine: Engine) -> None:
    """
    Ask about the first cases; raise a `JudgeError` if not one of the judges can be read.

    Where one of several cannot, that is a result: its share of unread verdicts stands beside the figures of the others.
    """
    watch = Legibility()
    first = [(m.name, m.judge, m.asked(case)) for m in asking if m.judge for case in cases if _known(m, case)]
    found = engine.ask_each([(judge, case, 1) for _, judge, case in first])
    for (name, judge, case), asked in zip(first, found, strict=True):
        watch.note(name, judge, case, asked.verdict)
    faults = [fault for m in asking if (fault := watch.fault(m.name)) is not None]
    if faults and len(faults) == len(asking):
        raise JudgeError(listed(faults), fatal=True)


def _known(member: Member, case: Case) -> bool:
    """Return whether a member can be asked about a case, or has a verdict on it."""
    if member.judge is None:
        return identity(case) in member.recalled
    record = member.judge.traits.recorded
    return record is None or record.held(member.asked(case)) > 0


def _on_unit(verdict: Verdict, scale: Scale) -> Verdict:
    """Return a score as its place between the ends of its judge's scale, so that all judges have one."""
    if not isinstance(verdict, Score):
        return verdict
    return Score((verdict.value - scale.low) / (scale.high - scale.low))
