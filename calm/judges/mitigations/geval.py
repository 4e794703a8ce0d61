"""G-Eval: the mean of the verdicts weighted by their probabilities, sum p(s) s (arXiv:2303.16634)."""

from __future__ import annotations

from dataclasses import replace

from calm.core.templates import Prompt
from calm.judges.mitigations.inner_model import need_model
from calm.judges.mitigations.mitigation import Mitigation, NotApplicable
from calm.judges.mitigations.prompt_changes import prompt_mitigation
from calm.models.server import wrong_settings
from calm.models.wire import Judge

NUMBERS = 20
"""How many alternatives to a token servers report, at most; a scale with more values would be cut."""


def _weighed(prompt: Prompt) -> Prompt:
    """Return the same prompt, with a reply that is read from the probabilities of its tokens."""
    return replace(prompt, form="logprobs")


def _geval(judge: Judge, *_: object) -> Judge:
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
    return prompt_mitigation("g-eval", judge, "g-eval", _weighed)


MITIGATIONS = (
    Mitigation(
        "g-eval",
        "weigh each possible verdict by the probability of its token",
        ("score", "pairwise", "rubric"),
        "1",
        "arXiv:2303.16634",
        _geval,
    ),
)
