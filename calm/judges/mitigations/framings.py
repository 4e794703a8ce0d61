"""
Inverted pair: ask the question and its inverted twin, and take the mean.

After graded self-evaluation in two framings (ELTE 2025): what a framing adds to one verdict, it takes from the other.
The twin is the judge's own prompt (`negative_*_file`); none is written for it.
"""

from __future__ import annotations

from calm.core.case import Case, Framing
from calm.core.verdict import Verdict
from calm.experiment.twins import twin_of
from calm.judges.combining import LAW, combined
from calm.judges.mitigations.mitigation import MitigatedJudge, Mitigation, NotApplicable
from calm.judges.prompted import together
from calm.models.wire import Judge, Send


def _pair(case: Case, twin: Framing) -> tuple[Case, Case]:
    """Return a case in both framings; one that is inverted already keeps its own."""
    other = twin if case.framing is Framing.STANDARD else case.framing
    return case.present(framing=Framing.STANDARD), case.present(framing=other)


def _inverted(judge: Judge, *_: object) -> Judge:
    twin = twin_of(judge)
    if twin is None:
        raise NotApplicable("inverted-pair: the judge has no inverted prompt (negative_user_file)")

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        verdicts = await together(*(inner.judge(one, send) for one in _pair(case, twin)))
        return combined(verdicts, case, every=True)

    def shown(inner: Judge, case: Case) -> object:
        return case.framing, tuple(inner.sees(one) for one in _pair(case, twin))

    return MitigatedJudge(judge, "inverted-pair", f"inverted-pair-{LAW}", ask, shown)


MITIGATIONS = (
    Mitigation(
        "inverted-pair",
        "ask the question and its inverted twin, turn the twin's verdict back and take the mean",
        ("pairwise", "score", "rubric", "listwise"),
        "2",
        "graded self-evaluation in two framings, ELTE 2025",
        _inverted,
    ),
)
