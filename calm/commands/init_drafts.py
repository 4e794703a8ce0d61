"""The cases and the judge that `calm init` is to write."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, cast

from calm.commands import logs
from calm.commands.init_prompts import STARTER, STARTER_TWIN, Draft, Prompt, start
from calm.core.classes import SHIPPED
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.models.address import Provider

if TYPE_CHECKING:
    from calm.cases.logs import Gathered
    from calm.core.case import Case
    from calm.core.toml_text import Value

RECORDED: Final = "recorded.toml"
"""The judge that replays the verdicts of a log."""
USUAL: Final[Mapping[Provider, str]] = {
    "openai": "gpt-4.1-mini",
    "openai-responses": "gpt-4.1-mini",
    "anthropic": "claude-haiku-4-5",
}
"""The model that is written if none is named."""
MADE: Final = 120
"""How many cases are made if none are given."""
SEED: Final = 1
_ENDINGS: Final = (".jsonl", ".ndjson")
_PREFIXES: Final[Mapping[str, Provider]] = {"openai": "openai", "anthropic": "anthropic"}


def of_log(options: argparse.Namespace, draft: Draft) -> Gathered | None:
    """Return what a log holds, and draft its cases and the judge that replays it; None without a log."""
    if not options.log:
        return None
    from calm.cases.lines import line
    from calm.cases.logs import gathered, read_logs
    from calm.judges.recorded.kept import recorded_toml, verdict_lines

    wanted = logs.wanted_from(options)
    _refuse_runs(options)
    log = read_logs([Path(name) for name in options.log], options.kind)
    found = gathered(log, wanted)
    draft.files["cases.jsonl"] = "".join(line(case) for case in found.cases)
    draft.files["verdicts.jsonl"] = "".join(verdict_lines(found))
    draft.files[RECORDED] = recorded_toml(found, "verdicts.jsonl", log.kind)
    draft.notes += [
        f"recorded.toml replays the {len(found.asks)} verdicts of {found.metric}, with no key: "
        "calm audit recorded.toml --cases cases.jsonl",
        *found.notes,
    ]
    return found


def _refuse_runs(options: argparse.Namespace) -> None:
    from calm.cases.logs.agents import holds_runs

    for name in options.log if options.kind is None else ():
        if holds_runs(Path(name)):
            raise ConfigError(
                f"--log: expected a log of verdicts, got {name}, which holds runs of an agent: these are what is to be "
                f"judged, so say --cases {quote(name)}"
            )


def draft_cases(options: argparse.Namespace, prompt: Prompt, found: Gathered | None, draft: Draft) -> None:
    """Draft the cases: those of the log, of a file, or made ones."""
    from calm.cases.lines import line
    from calm.cases.shapes import parts_of

    if found is not None:
        return
    if options.cases:
        cases, notes = _read_cases(options, prompt)
        draft.notes += notes
        _fit_scale(options, cases, prompt, draft)
        if prompt.begun and (parts := parts_of(cases)):
            start(prompt.task, draft, parts)
    else:
        from calm.cases.generate import generate

        cases = list(generate(prompt.task, MADE, SEED))
        draft.notes.append(
            f"cases.jsonl holds {MADE} cases that a program made, to start with: put your own in their place, with "
            "calm cases import FILE -o cases.jsonl --force"
        )
    draft.files["cases.jsonl"] = "".join(line(case) for case in cases)
    draft.classes = tuple(dict.fromkeys(case.label for case in cases if case.label is not None))


def _read_cases(options: argparse.Namespace, prompt: Prompt) -> tuple[Sequence[Case], list[str]]:
    from calm.cases import read_files
    from calm.cases.foreign import columns_from, import_cases
    from calm.cases.foreign.guessed import guessed
    from calm.cases.logs.agents import holds_runs

    path = Path(options.cases)
    if not options.map and holds_runs(path):
        return _read_runs(path, prompt)
    if path.suffix.lower() in _ENDINGS and not options.map:
        try:
            return read_files([str(path)]), []
        except ConfigError:
            columns = guessed(path, options.map, prompt.fields)
            if not columns:
                raise
    else:
        columns = guessed(path, options.map, prompt.fields)
    maps = [*options.map, *(f"{field}={column}" for field, column in columns.items())]
    found = import_cases(path, columns=columns_from(maps, options.value))
    notes = [f"taken for granted: {', '.join(f'{column} is the {field}' for field, column in columns.items())}"]
    return found.cases, [*(notes if columns else []), *found.notes]


def _read_runs(path: Path, prompt: Prompt) -> tuple[Sequence[Case], list[str]]:
    from calm.cases.logs.agents import import_runs

    found = import_runs([path], scale=prompt.scale)
    if prompt.begun and prompt.scale is not None and _beyond(found.cases, prompt.scale):
        found = import_runs([path])
    return found.cases, list(found.notes)


def _fit_scale(options: argparse.Namespace, cases: Sequence[Case], prompt: Prompt, draft: Draft) -> None:
    """
    Take calm's own prompt, which rates from 1 to 10, in place of the one to start from where the gold needs it.

    Raises:
        ConfigError: the gold lies beyond any scale that a prompt here has.
    """
    if prompt.task != "score" or not _beyond(cases, prompt.scale or Scale()):
        return
    widest = Scale() if prompt.begun else prompt.scale or Scale()
    if beyond := _beyond(cases, widest):
        raise ConfigError(
            f"{options.cases}: expected scores from {widest.low:g} to {widest.high:g}, the scale of the prompt, got "
            f"{beyond[0]:g} ({len(beyond)} of {len(cases)} cases); rescale them, or give a prompt with their scale "
            "(--prompt FILE)"
        )
    for name in (STARTER, STARTER_TWIN):
        draft.files.pop(name)
    prompt.table, prompt.verdict, prompt.scale, prompt.begun = {}, {}, None, False
    draft.notes.append("the judge uses calm's own prompt, which rates from 1 to 10, as the scores of the cases do")


def _beyond(cases: Sequence[Case], scale: Scale) -> list[float]:
    """Return the gold scores that are not on a scale."""
    scores = [score for case in cases for score in case.scores.values()]
    return [score for score in scores if not scale.low <= score <= scale.high]


def draft_judge(options: argparse.Namespace, prompt: Prompt, found: Gathered | None, draft: Draft) -> None:
    """Draft judge.toml."""
    from calm.core.toml_text import toml
    from calm.judges.recorded.kept import scale_table

    provider, model = _model(options, found, draft)
    served: dict[str, Value] = {"provider": provider, "model": model}
    if options.base_url:
        served["base_url"] = options.base_url
    if options.api_key_env:
        served["api_key_env"] = options.api_key_env
    name = options.name or (found.metric if found else Path(options.dir).resolve().name) or "judge"
    tables: dict[str, Mapping[str, Value]] = {
        "judge": {"name": " ".join(name.split()), "task": prompt.task},
        "model": served,
    }
    if prompt.table:
        tables["prompt"] = dict(prompt.table)
    if prompt.verdict:
        values: dict[str, Value] = {"values": dict(prompt.values)} if prompt.values else {}
        tables["verdict"] = prompt.verdict | values
    if prompt.scale is not None and prompt.task == "score":
        tables["verdict.scale"] = scale_table(prompt.scale)
    if prompt.task == "label":
        tables |= _label_tables(draft)
    draft.files["judge.toml"] = toml(tables)


def _label_tables(draft: Draft) -> dict[str, Mapping[str, Value]]:
    """Return the tables of the classes: those of the cases, in no order, or of the made ones, with what they mean."""
    if set(draft.classes) <= set(SHIPPED.names):
        meanings = dict(zip(SHIPPED.names, SHIPPED.meanings, strict=True))
        known: dict[str, Value] = {"classes": list(SHIPPED.names), "ordered": True, "damaged": SHIPPED.damaged or ""}
        return {"labels": known, "labels.meanings": meanings}
    if len(draft.classes) < 2:
        raise ConfigError(
            f"--cases: expected gold labels of two classes or more, got {', '.join(draft.classes)} alone; add cases of "
            "another class, so that it is known what the judge chooses from"
        )
    draft.notes.append(
        f"[labels] in judge.toml has the classes of the cases ({', '.join(draft.classes)}) in no order: put them from "
        'worst to best and set ordered = true, or say which moves do harm, as in harm = ["WORSE -> BETTER"]'
    )
    return {"labels": {"classes": list(draft.classes)}}


def _model(options: argparse.Namespace, found: Gathered | None, draft: Draft) -> tuple[str, str]:
    """Return the API and the model: as the options say, as a log does, or the usual ones."""
    provider: str | None = options.provider
    model: str | None = options.model
    if found is not None and model is None and found.model:
        start, *_ = found.model.replace("/", ":").split(":")
        known = _PREFIXES.get(start)
        model = found.model.replace("/", ":").rsplit(":", 1)[-1] if known else found.model
        provider = provider or known
        if known is None and not options.base_url:
            draft.notes.append(f"the log calls the model {found.model}: check provider and model in judge.toml")
    provider = provider or "openai"
    return provider, model or USUAL[cast("Provider", provider)]
