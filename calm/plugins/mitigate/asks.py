"""
Asking several times, or in another form, and taking the mean.

Samples and evidence: the papers draw several replies to one prompt at a temperature above 0. Here each prompt but the
first sample has a number at its end, so that a server which keeps replies, or a temperature of 0, gives new ones too,
and a run with more of them finds those of a run with fewer in the cache.

Orders of the scale: the prompt shows its values in k orders (`calm.core.edits`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TypeVar

from calm.core.case import Case, Framing
from calm.core.edits import FEW, MOST_VALUES, permuted
from calm.core.verdict import Verdict
from calm.errors import ConfigError
from calm.experiment.arms import twin_of
from calm.judges.combining import LAW, combined, unanimous
from calm.judges.prompted import together
from calm.models.server import wrong_settings
from calm.models.wire import Judge, Rewordable, Send
from calm.plugins.mitigate.mitigation import (
    EVERY,
    MitigatedJudge,
    NotApplicable,
    Reader,
    mitigation,
    need_model,
    need_room_for_reasons,
    number_argument,
    prompt_mitigation,
    several_prompts,
    with_rule,
)

T = TypeVar("T")

SAMPLES, EVALUATIONS, PIECES, TURNS = 5, 3, 4, 3
"""How many samples, evaluations with evidence, pieces of an answer and orders of a scale there are by default."""
NUMBERS = 20
"""How many alternatives to a token servers report, at most; a scale with more values would be cut."""


# ------------------------------------------------------------------------------------------- orders of the answers


@mitigation("swap", "ask in both orders; where they differ it is a tie", ("pairwise",), "2", "arXiv:2306.05685")
def swap(judge: Judge) -> Judge:
    """Return a judge that asks a pairwise judge in both orders; if they differ, it is a tie."""
    if judge.task != "pairwise":
        raise ConfigError(f"mitigations: 'swap' expects a judge with task = 'pairwise', got task={judge.task!r}")

    def both(case: Case) -> tuple[Case, Case]:
        return case, case.arranged(tuple(answer.id for answer in reversed(case.shown)))

    async def agreed(inner: Judge, case: Case, send: Send) -> Verdict:
        return unanimous(await together(*(inner.judge(one, send) for one in both(case))), case)

    return MitigatedJudge(judge, "swap", "swap", agreed, lambda inner, case: tuple(map(inner.sees, both(case))))


@mitigation(
    "average", "ask in both orders and take the mean of the probabilities", ("pairwise",), "2", "arXiv:2305.17926"
)
def _average(judge: Judge, name: str = "average") -> Judge:

    async def averaged(inner: Judge, case: Case, send: Send) -> Verdict:
        verdicts = await together(*(inner.judge(one, send) for one in rotations(case)))
        return combined(verdicts, case, every=True)  # without one of the orders a slot could win again

    def shown(inner: Judge, case: Case) -> object:
        return tuple(map(inner.sees, rotations(case)))

    return MitigatedJudge(judge, name, f"rotations-{LAW}", averaged, shown)


mitigation(
    "rotations",
    "balanced position calibration: the mean over all rotations of the answers",
    ("pairwise", "listwise"),
    "one for each answer",
    "arXiv:2305.17926",
)(partial(_average, name="rotations"))


def rotations(case: Case) -> tuple[Case, ...]:
    """Return a case in each rotation of its order, its own first."""
    ids = tuple(answer.id for answer in case.shown)
    return tuple(case.arranged(ids[turn:] + ids[:turn]) for turn in range(len(ids)))


# ------------------------------------------------------------------------------- samples, evidence, framings, pieces


@mitigation(
    "samples",
    "ask the same k times and take the mean; of answers and criteria, what most samples say",
    EVERY,
    f"k (default {SAMPLES})",
    "arXiv:2303.16634, arXiv:2203.11171",
    takes="k",
)
def _samples(judge: Judge, argument: str, _: Reader) -> Judge:
    count = number_argument("samples", argument, SAMPLES, least=2)
    numbered = [partial(with_rule, text=f"(Sample number {number}.)") for number in range(2, count + 1)]
    return several_prompts("samples", judge, f"samples:{count}", [lambda prompt: prompt, *numbered])


@mitigation(
    "evidence",
    "write the evidence before the verdict, k times, and take the mean",
    EVERY,
    f"k (default {EVALUATIONS})",
    "arXiv:2305.17926",
    takes="k",
)
def _evidence(judge: Judge, argument: str, _: Reader) -> Judge:
    count = number_argument("evidence", argument, EVALUATIONS)
    need_room_for_reasons("evidence", judge)
    text = (
        "Write the evidence first: for each text that you judge, what speaks for it and what against it, with the "
        "words that show it. Then write your verdict, in the form that is asked for, and let it follow from the "
        "evidence. (Independent evaluation number {}.)"
    )
    changes = [partial(with_rule, text=text.format(place)) for place in range(1, count + 1)]
    return several_prompts("evidence", judge, f"evidence:{count}", changes)


@mitigation(
    "g-eval",
    "weigh each possible verdict by the probability of its token",
    ("score", "pairwise", "rubric"),
    "1",
    "arXiv:2303.16634",
)
def _weighed(judge: Judge) -> Judge:
    inside = need_model("g-eval", judge)
    if inside.form.kind == "logprobs":
        raise NotApplicable(
            "g-eval: the judge weighs its verdicts by their probabilities already (format = 'logprobs')"
        )
    if judge.task not in ("score", "pairwise", "rubric"):
        raise NotApplicable(f"g-eval: a verdict of the task {judge.task!r} is not one token")
    if judge.task == "score" and (judge.scale.step or 1) % 1:
        raise NotApplicable(f"g-eval: expected a scale of whole numbers, got step={judge.scale.step:g}")
    if judge.task == "score" and judge.scale.high - judge.scale.low >= NUMBERS:
        raise NotApplicable(f"g-eval: a scale of more than {NUMBERS} numbers has more values than servers report")
    for _key, problem in wrong_settings(replace(inside.server, logprobs=True)):
        raise NotApplicable(f"g-eval: {problem}")
    return prompt_mitigation("g-eval", judge, "g-eval", lambda prompt: replace(prompt, form="logprobs"))


@mitigation(
    "inverted-pair",
    "ask the question and its inverted twin, turn the twin's verdict back and take the mean",
    ("pairwise", "score", "rubric", "listwise"),
    "2",
    "graded self-evaluation in two framings, ELTE 2025",
)
def _inverted(judge: Judge) -> Judge:
    twin = twin_of(judge)
    if twin is None:
        raise NotApplicable("inverted-pair: the judge has no inverted prompt (negative_user_file)")

    def pair(case: Case) -> tuple[Case, Case]:
        other = twin if case.framing is Framing.STANDARD else case.framing  # one that is inverted keeps its own
        return case.present(framing=Framing.STANDARD), case.present(framing=other)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        return combined(await together(*(inner.judge(one, send) for one in pair(case))), case, every=True)

    def shown(inner: Judge, case: Case) -> object:
        return case.framing, tuple(map(inner.sees, pair(case)))

    return MitigatedJudge(judge, "inverted-pair", f"inverted-pair-{LAW}", ask, shown)


def split(text: str, most: int) -> tuple[str, ...]:
    """
    Split a text into at most `most` pieces of whole sentences, of about the same length.

    >>> split("One. Two is longer. Three.", 2)
    ('One. Two is longer.', 'Three.')
    """
    starts = [0, *(found.end() for found in re.finditer(r"(?<=[.!?])\s+|\n\s*\n", text))]
    pieces = [""] * most
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        middle = (start + end) / 2
        pieces[min(most - 1, int(middle / max(1, len(text)) * most))] += text[start:end]
    return tuple(piece.strip() for piece in pieces if piece.strip()) or (text,)


@mitigation(
    "segments",
    "score an answer in at most k pieces of whole sentences and take the mean",
    ("score",),
    f"up to k (default {PIECES})",
    "arXiv:2302.14520",
    takes="k",
)
def _segments(judge: Judge, argument: str, _: Reader) -> Judge:
    most = number_argument("segments", argument, PIECES, least=2)

    async def ask(inner: Judge, case: Case, send: Send) -> Verdict:
        whole = case.shown[0]
        parts = [
            replace(case, answers=tuple(replace(a, text=piece) if a.id == whole.id else a for a in case.answers))
            for piece in split(whole.text, most)
        ]
        return combined(await together(*(inner.judge(part, send) for part in parts)), case)

    return MitigatedJudge(judge, f"segments:{most}", f"segments:{most}", ask)


# --------------------------------------------------------------------------------------------- orders of the scale


@mitigation(
    "score-options",
    "show the values of the scale in k orders and take the mean",
    ("score",),
    f"k (default {TURNS}); 2 for a scale without steps",
    "arXiv:2506.22316, arXiv:2305.17926",
    takes="k",
)
def _score_options(judge: Judge, argument: str, _: Reader) -> Judge:
    count = number_argument("score-options", argument, TURNS, least=2)
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None:
        raise NotApplicable("score-options: the judge has no prompt that can be rewritten")
    asked = prompt.scale or judge.scale
    step = asked.step or (1.0 if prompt.form == "logprobs" else None)
    if step is not None and not FEW <= (asked.high - asked.low) / step + 1 <= MOST_VALUES:
        raise NotApplicable(f"score-options: expected a scale of {FEW} to {MOST_VALUES} values")
    if permuted(prompt, 1, asked) == prompt:
        raise NotApplicable(
            "score-options: the prompt shows its scale at no clear place, as a list with a line for each value or as a "
            "range"
        )
    shown = [permuted(prompt, turn, asked) for turn in range(count)]
    turns = [turn for turn, found in enumerate(shown) if found not in shown[:turn]]  # without steps there are two
    changes = [partial(permuted, turn=turn, scale=judge.scale) for turn in turns]
    return several_prompts("score-options", judge, f"score-options:{count}", changes)
