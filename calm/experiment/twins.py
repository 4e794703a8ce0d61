"""The inverted twin of a judge's question: the framing in which it can be asked besides the standard one."""

from __future__ import annotations

from dataclasses import replace

from calm.core.case import Answer, Case, Criterion, Framing
from calm.models.wire import Judge, Rewordable

_SAMPLE = Case("sample", "Why?", (Answer("a", "Because."), Answer("b", "So.")), criteria=(Criterion("c", "It is so."),))


def twin_of(judge: Judge) -> Framing | None:
    """Return the framing of the inverted twin; None if the judge has none."""
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is not None:
        if prompt.inverted is not None and judge.task == "score":
            return Framing.INVERTED
        return None if prompt.negative is None else Framing.NEGATIVE
    sample = replace(
        _SAMPLE, answers=_SAMPLE.answers if judge.task in ("pairwise", "listwise") else _SAMPLE.answers[:1]
    )
    shown = judge.sees(sample) != judge.sees(sample.present(framing=Framing.NEGATIVE))
    return Framing.NEGATIVE if shown else None
