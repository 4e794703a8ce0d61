"""
Logs of Inspect (`.eval` or `.json`), read by its own reader, which knows all versions and how it packs them.

Prompt and reply of a judge are in what a model-graded scorer keeps, else in the events under the span of the scorer.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast
from zipfile import ZipFile

from calm.cases.logs.judgments import Judgment, Log, State
from calm.cases.logs.values import CONTEXTS, answer_in, first_of, prompt_of, question_in, texts_in, uses_tools
from calm.cases.rows import dig, objects, string
from calm.core.case import Turn
from calm.core.files import MOST_BYTES, json_of, megabytes, unfolded
from calm.errors import ConfigError

Form: TypeAlias = Literal["eval", "json"]
"""How a log is written: as an archive, or as JSON."""

_NO_GRADE: Final = "Grade not found in model output"
_UNREAD: Final = ("grader_failed", "invalid_response_format")
_SHOWN: Final = 200
"""So many characters of what its reader says are shown."""


def load(path: Path, form: Form) -> object:
    """
    Return a log as plain data; `form` is how it is written.

    Raises:
        ConfigError: Inspect is not installed, its reader refuses the file, or the file goes beyond a limit.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        from calm.core.releases import install

        raise ConfigError(f"{path}: expected inspect_ai to read a log of Inspect, got none; {install('inspect')}")
    found = unfolded(f"{__name__}:dumped", path, "a log of Inspect", (str(path), form))
    try:
        return json_of(cast("bytes", found))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error


def dumped(question: tuple[str, Form]) -> bytes | str:
    """Return a log as JSON, or what is wrong with it: what the process does that reads it."""
    from inspect_ai.log import read_eval_log

    path, form = question
    try:
        if form == "eval" and (fault := _too_much(path)):
            return fault
        log = read_eval_log(path, resolve_attachments="full", format=form)
        return json.dumps(log.model_dump(mode="json")).encode()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever its reader says of a file of somebody
        first = next(iter(str(error).splitlines()), "")[:_SHOWN] or type(error).__name__
        return f"expected a log of Inspect, got a file that its reader refuses: {first}"


def _too_much(path: str) -> str:
    """Return what an archive says of its parts that is over a limit, or not clear; "" if all is well."""
    with ZipFile(path) as packed:
        parts = packed.infolist()
    size = sum(part.file_size for part in parts)
    if size > MOST_BYTES:
        most = megabytes(MOST_BYTES)
        return f"expected a log of at most {most} once unfolded, got {megabytes(size)}; keep fewer samples"
    if len({part.filename for part in parts}) < len(parts):
        return "expected an archive whose parts have names that differ, got a name twice; write the log again"
    return ""


def read(documents: Sequence[object], log: Log) -> None:
    """Add the judgments of all samples to the log."""
    panels: set[str] = set()
    for document in documents:
        samples = objects(document, "samples")
        if not samples:
            status = string(document, "status")
            log.notes.append(f"the log holds no samples (its status is {status}); a run without errors writes them")
        for sample in samples:
            panels |= _sample(sample, objects(document, "eval", "scorers"), log)
    log.notes += [
        f"{name} is a panel of several graders: it is one judge here, without prompts and replies, as the log keeps "
        "those of its first grader alone"
        for name in sorted(panels)
    ]


def _sample(sample: Mapping[str, object], scorers: Sequence[object], log: Log) -> set[str]:
    """Add the judgments of a sample; return the names of those scorers that are several graders."""
    answer = string(sample, "output", "completion") or answer_in(dig(sample, "output"))
    target = sample.get("target")
    metadata = sample.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    scores = sample.get("scores")
    panels: set[str] = set()
    if not answer or not isinstance(scores, Mapping):
        log.leave("a sample without an output or a score")
        return panels
    calls = _calls(sample)
    for place, (name, score) in enumerate(scores.items()):
        prompt, reply, model = _grading(score) or calls.get(str(name), ((), "", ""))
        if not prompt and not model:
            log.leave(f"{name}: no judge that is a model")
            continue
        reason = string(score, "explanation")
        if several := _several(score, scorers[place] if len(scorers) == len(scores) else None):
            panels.add(str(name))
            prompt, reply, model, reason = (), "", "", ""
        history = objects(score, "history")
        first = dig(history[0], "value") if history else dig(score, "value")
        for metric, value in _values(str(name), first):
            state = _state(value, score, panel=several)
            common = Judgment(
                metric=metric,
                place=f"sample {sample.get('id')}, epoch {sample.get('epoch')}",
                question=_text(sample.get("input")),
                answers=(answer,),
                value=value if state == "said" else None,
                state=state,
                item=str(sample.get("id", "")),
                reference="\n".join(map(str, target)) if isinstance(target, list) else string(sample, "target") or None,
                context=texts_in(first_of(given, CONTEXTS)),
                reason=reason,
                prompt=prompt,
                reply=reply,
                model=model,
                tools=uses_tools([sample.get("input"), sample.get("messages")]),
                row=sample,
            )
            log.judgments.append(common)
            if len(history) > 1:
                _edited(common, str(name), score, history, log)
    return panels


def _edited(judged: Judgment, scorer: str, score: object, history: Sequence[Mapping[str, object]], log: Log) -> None:
    """Add what a person made of a score."""
    for name, value in _values(scorer, dig(score, "value")):
        if name == judged.metric:
            log.judgments.append(
                Judgment(
                    metric=name,
                    place=judged.place,
                    question=judged.question,
                    answers=judged.answers,
                    value=value,
                    item=judged.item,
                    reference=judged.reference,
                    context=judged.context,
                    who="person",
                    person=string(history[-1], "provenance", "author"),
                    row=judged.row,
                )
            )


def _several(score: object, scorer: object) -> bool:
    """Return whether several graders gave a score: what is kept beside it is then of the first of them alone."""
    options = [dig(scorer, "options", key) for key in ("model", "scorers")]
    votes = dig(score, "metadata", "panel", "votes")
    return any(isinstance(one, list | tuple) and len(one) > 1 for one in (votes, *options))


def _values(name: str, value: object) -> list[tuple[str, object]]:
    """Return what a score says, under a name for each part of it."""
    if isinstance(value, Mapping):
        return [(f"{name}/{key}", part) for key, part in value.items()]
    return [(name, value)]


def _state(value: object, score: object, *, panel: bool) -> State:
    """Return whether a score says something; a panel whose graders do not agree said nothing that can be read."""
    nothing = _nothing(value)
    if panel:
        votes = dig(score, "metadata", "panel", "votes")
        voted = any(not _nothing(one) for one in votes) if isinstance(votes, list | tuple) else False
        return "said" if not nothing else "unread" if voted else "failed"
    why = string(score, "reason") or string(score, "metadata", "unscored_reason")
    if string(score, "explanation").startswith(_NO_GRADE):
        return "unread"
    return ("unread" if why in _UNREAD else "failed") if nothing else "said"


def _nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _grading(score: object) -> tuple[tuple[Turn, ...], str, str] | None:
    """Return the prompt, the reply and the model that a model-graded scorer kept; None if it kept none."""
    kept = objects(score, "metadata", "grading")
    if not kept:
        return None
    turns = prompt_of(list(kept))
    asked = tuple(turn for turn in turns if turn.role != "assistant")
    return asked, turns[-1].text if len(turns) > len(asked) else "", string(kept[-1], "model")


def _calls(sample: Mapping[str, object]) -> dict[str, tuple[tuple[Turn, ...], str, str]]:
    """Return for each scorer the last call of a model under its span: prompt, reply and model."""
    spans: dict[object, Mapping[str, object]] = {}
    found: dict[str, tuple[tuple[Turn, ...], str, str]] = {}
    for event in objects(sample, "events"):
        if event.get("event") == "span_begin":
            spans[event.get("id")] = event
        elif event.get("event") == "model":
            span = spans.get(event.get("span_id"))
            climbed = 0
            while span is not None and span.get("type") != "scorer" and climbed < len(spans):
                span, climbed = spans.get(span.get("parent_id")), climbed + 1
            if span is not None and span.get("type") == "scorer":
                reply = string(event, "output", "completion") or answer_in(dig(event, "output"))
                found[string(span, "name")] = prompt_of(event.get("input")), reply, string(event, "model")
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else question_in(value)
