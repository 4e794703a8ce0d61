"""Segments: score an answer piece by piece, and take the mean (after GEMBA, arXiv:2302.14520)."""

from __future__ import annotations

import re
from dataclasses import replace

from calm.core.case import Case
from calm.core.verdict import Verdict
from calm.judges.combining import combined
from calm.judges.mitigations.mitigation import MitigatedJudge, Mitigation, Reader, number_argument
from calm.judges.prompted import together
from calm.models.wire import Judge, Send

DEFAULT = 4
_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


def split(text: str, most: int) -> tuple[str, ...]:
    """
    Split a text into at most `most` pieces of whole sentences, of about the same length.

    >>> split("One. Two is longer. Three.", 2)
    ('One. Two is longer.', 'Three.')
    """
    starts = [0, *(found.end() for found in _END.finditer(text))]
    pieces = [""] * most
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        middle = (start + end) / 2
        pieces[min(most - 1, int(middle / max(1, len(text)) * most))] += text[start:end]
    return tuple(piece.strip() for piece in pieces if piece.strip()) or (text,)


def _segments(judge: Judge, argument: str, _: Reader) -> Judge:
    most = number_argument("segments", argument, DEFAULT, least=2)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        whole = case.shown[0]
        parts = [
            replace(case, answers=tuple(replace(a, text=piece) if a.id == whole.id else a for a in case.answers))
            for piece in split(whole.text, most)
        ]
        return combined(await together(*(inner.judge(part, send) for part in parts)), case)

    label = f"segments:{most}"
    return MitigatedJudge(judge, label, label, ask)


MITIGATIONS = (
    Mitigation(
        "segments",
        "score an answer in at most k pieces of whole sentences and take the mean",
        ("score",),
        f"up to k (default {DEFAULT})",
        "arXiv:2302.14520",
        _segments,
        "k",
    ),
)
