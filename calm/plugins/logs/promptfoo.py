"""
Results of promptfoo: `promptfoo eval -o results.json` (or .jsonl), as its OutputFile and EvaluateResult types say.

The prompt of a judge is kept for graders with a JSON reply alone; what a judge replied is kept by few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from calm.cases.logs.judgments import ANY, PAIR, Judgment, Log, State
from calm.cases.logs.values import QUESTIONS, REFERENCES, first_of, number, prompt_of, question_in, texts_in, written
from calm.cases.rows import (
    dig,
    objects,
    string,
    unpacked,
)

_JSON_GRADERS: Final = ("llm-rubric", "agent-rubric", "trajectory:goal-success", "g-eval")
_TRUTHS: Final = ("factuality", "model-graded-factuality", "model-graded-closedqa")
"""Graders that say yes or no; the score of factuality is a table of the user's."""
_SCORES: Final = ("context-faithfulness", "context-recall", "context-relevance", "answer-relevance")
_BEST: Final = "select-best"
_UNREAD: Final = (
    *("Invalid category value", "Factuality checker output did not match", "Invalid select-best verdict"),
    *("Error parsing output", "Model grader produced a malformed response", "Could not extract JSON"),
)
"""How the reason of a grader begins whose reply could not be read."""
_FAILED: Final = ("No output", "API error", "Provider error")
_BEGINS: Final = ("The submission meets the criterion:\n", "The submission does not meet the criterion:\n")
_INTERNAL_ERROR: Final = 2
"""`failureReason` of a row whose application failed: it has no answer."""
_NAMES: Final = tuple(name for name in REFERENCES if name not in ("answer", "value", "target"))
_GIVEN: Final = (*QUESTIONS[:-3], "topic", "task")


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all rows to the log; documents that are rows are those of one run."""
    rows = [document for document in documents if isinstance(document, Mapping) and "results" not in document]
    for document in ({"results": {"results": rows}}, *documents):
        best: dict[tuple[str, str], list[tuple[int, Judgment]]] = {}
        for place, row in enumerate(objects(document, "results", "results"), 1):
            _row(row, f"results {place}", log, best)
        for group in best.values():
            _pair([one for _, one in sorted(group, key=lambda found: found[0])], log)


def _row(
    row: Mapping[str, object],
    place: str,
    log: Log,
    best: dict[tuple[str, str], list[tuple[int, Judgment]]],
) -> None:
    answer = written(dig(row, "response", "output"))
    if not answer or row.get("failureReason") == _INTERNAL_ERROR:
        log.leave("a row without an answer")
        return
    given = row.get("vars")
    values = given if isinstance(given, Mapping) else {}
    reference = first_of(values, _NAMES)
    components = objects(row, "gradingResult", "componentResults")
    if not components:
        log.leave("a row without results of its assertions")
    for number_, component in enumerate(components, 1):
        kind = string(component, "assertion", "type")
        one = _judgment(row, component, kind, f"{place}, assertion {number_}", (values, answer, reference))
        if one is None:
            log.leave(f"{kind or 'a result without its assertion'}: no judge that is a model")
        elif kind.removeprefix("not-") == _BEST:
            key = (repr(row.get("testIdx")), one.metric)
            index = row.get("promptIdx")
            best.setdefault(key, []).append((index if isinstance(index, int) else 0, one))
        else:
            log.judgments.append(one)


def _judgment(
    row: Mapping[str, object],
    component: Mapping[str, object],
    kind: str,
    place: str,
    case: tuple[Mapping[str, object], str, object],
) -> Judgment | None:
    values, answer, reference = case
    base = kind.removeprefix("not-")
    if base not in (*_JSON_GRADERS, *_TRUTHS, *_SCORES, _BEST, "human"):
        return None
    metadata = dig(component, "metadata")
    rubric = string(metadata, "renderedAssertionValue") or written(dig(component, "assertion", "value"))
    fields: dict[str, str] = {}
    if base in (*_JSON_GRADERS, _TRUTHS[2], _BEST) and rubric:
        fields["rubric"] = rubric
    elif base in (*_TRUTHS[:2], "context-recall") and rubric:
        reference = rubric
    reason = string(component, "reason")
    reply = next((reason.removeprefix(begin) for begin in _BEGINS if reason.startswith(begin)), "")
    said = dig(component, "pass") if base in (*_TRUTHS, "human") else number(dig(component, "score"))
    state: State = "said"
    if base != "human" and (dig(metadata, "graderError") is True or reason.startswith(_FAILED)):
        state = "failed"
    if base != "human" and reason.startswith(_UNREAD):
        state = "unread"
    own = first_of(values, _GIVEN)
    return Judgment(
        metric=ANY if base == "human" else string(component, "assertion", "metric") or kind,
        place=place,
        question=question_in(unpacked(dig(row, "prompt", "raw")) if own is None else own),
        answers=(answer,),
        value=said if state == "said" else None,
        state=state,
        item=string(row, "testCase", "description") or string(row, "description"),
        reference=written(reference) or None,
        context=texts_in(values.get("context") or dig(metadata, "context")),
        fields=fields,
        authors=(string(row, "provider", "label") or string(row, "provider", "id"),),
        who="person" if base == "human" else "judge",
        reason=reason,
        prompt=prompt_of(dig(metadata, "renderedGradingPrompt")),
        reply=reply or string(metadata, "graderOutputs", "final"),
        model=_model(dig(component, "assertion", "provider")) or _model(dig(row, "testCase", "options", "provider")),
        limits=(0.0, 1.0),
        row=row,
    )


def _model(provider: object) -> str:
    """Return the name of a grader: a string, an object with an id, or one of several by kind."""
    return provider if isinstance(provider, str) else string(provider, "id") or string(provider, "text")


def _pair(shown: Sequence[Judgment], log: Log) -> None:
    """Add what `select-best` chose between two outputs of one test; of more, it does not say which is second."""
    chosen = [place for place, one in enumerate(shown) if one.value == 1.0]
    if len(shown) != PAIR or any(one.state != "said" for one in shown) or len(chosen) != 1:
        log.leave("select-best without exactly two outputs and one choice")
        return
    first, second = shown
    log.judgments.append(
        Judgment(
            metric=first.metric,
            place=first.place,
            question=first.question,
            answers=(*first.answers, *second.answers),
            value=chosen[0],
            item=first.item,
            reference=first.reference,
            context=first.context,
            fields=first.fields,
            authors=(*first.authors, *second.authors),
            reason=shown[chosen[0]].reason,
            model=first.model,
            row=first.row,
        )
    )
