"""What `calm init` is to write, and what a person is to be told of it: drafts of a prompt, cases and a judge."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from calm.commands import init_files, logs
from calm.core.verdict import Scale, Task
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


@dataclass(slots=True)
class Draft:
    """What is to be written, and what a person is to be told of it."""

    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    judge: str = "judge.toml"


@dataclass(slots=True)
class Prompt:
    """The templates of a judge by key of `[prompt]`, and what the log or the text shows of its verdict."""

    task: Task
    table: dict[str, str] = field(default_factory=dict)
    verdict: dict[str, Value] = field(default_factory=dict)
    values: Mapping[str, float | str] = field(default_factory=dict)
    scale: Scale | None = None


def of_log(options: argparse.Namespace, draft: Draft) -> Gathered | None:
    """Return what a log holds, and draft its cases and the judge that replays it; None without a log."""
    if not options.log:
        return None
    from calm.cases.lines import line
    from calm.cases.logs import gathered, read_logs
    from calm.judges.recorded.kept import recorded_toml, verdict_lines

    wanted = logs.wanted_from(options)
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


def prompt_of(options: argparse.Namespace, found: Gathered | None, draft: Draft) -> Prompt | None:
    """Return the judge's prompt; None if a log holds none, so that there is no judge that could be asked."""
    if found is not None:
        return _prompt_of_log(found, draft)
    if options.prompt:
        return _prompt_of_file(options, draft)
    task = cast("Task", options.task or "pairwise")
    if task not in init_files.STARTERS:
        draft.notes.append(f"the judge uses calm's own prompt for the task {task}, which has a negative twin")
        return Prompt(task)
    draft.files["judge.jinja"] = init_files.starter(task)
    draft.files["judge.negative.jinja"] = init_files.starter(task, negative=True)
    table = {"user_file": "judge.jinja", "negative_user_file": "judge.negative.jinja"}
    scale = Scale(1.0, 5.0, 1.0) if task == "score" else None
    return Prompt(task, table, {"format": "brackets"}, scale=scale)


def _prompt_of_file(options: argparse.Namespace, draft: Draft) -> Prompt:
    """Return a prompt that a person has, with its placeholders in calm's names."""
    from calm.judges.prompts.asking import asked_in
    from calm.judges.prompts.foreign import translate

    text = _text(options.prompt)
    made = translate(text)
    if not made.answers:
        names = ", ".join(one.written for one in made.found) or "none"
        raise ConfigError(
            f"{options.prompt}: expected a placeholder for the answer, such as {{answer}}, {{{{output}}}} or "
            f"{{response_a}} and {{response_b}}, got {names}; rename it in the prompt"
        )
    task = cast("Task", options.task or ("pairwise" if made.answers > 1 else "score"))
    if (task == "pairwise") != (made.answers > 1):
        raise ConfigError(
            f"--task: expected {'pairwise' if made.answers > 1 else 'score or rubric'}, as {options.prompt} shows "
            f"{made.answers} answer{'s' if made.answers > 1 else ''}, got {task}"
        )
    draft.files["judge.jinja"] = made.template
    for one in made.found:
        meaning = {"first": "the first answer", "second": "the second answer", "answer": "the answer"}
        means = meaning.get(one.role or "", f"the {one.role}") if one.role else f"the field {one.name} of a case"
        draft.notes.append(f"line {one.line}: {one.written} is {means}")
    table = {"user_file": "judge.jinja"}
    if options.system:
        draft.files["judge.system.jinja"] = translate(_text(options.system)).template
        table["system_file"] = "judge.system.jinja"
    asked = asked_in(text if not options.system else f"{_text(options.system)}\n{text}", task)
    if not asked.seen:
        draft.notes.append(
            "the prompt does not show how the verdict is written, so [verdict] is calm's default, [[A]] or [[7]]: "
            "check it with calm try, and see docs/how-to/audit-a-judge-prompt.md"
        )
    if options.negative:
        draft.files["judge.negative.jinja"] = translate(_text(options.negative)).template
        table["negative_user_file"] = "judge.negative.jinja"
    else:
        _twin(made.template, task, table, draft)
    scale = asked.scale or (Scale() if task == "score" else None)
    if task == "score" and asked.scale is None:
        draft.notes.append("the prompt does not show its scale, so it is 1 to 10: check [verdict.scale] in judge.toml")
    values = asked.values
    if values and scale is not None:
        scale = Scale(0.0, 1.0, 1.0)
    return Prompt(task, table, dict(asked.form), values, scale)


def _twin(template: str, task: Task, table: dict[str, str], draft: Draft) -> None:
    """Draft the negative twin, if a rule turns the template round; else say that framing is not tested."""
    from calm.judges.prompts.turned import turned

    made = turned(template, "pairwise" if task == "pairwise" else "score")
    if made.text is not None:
        draft.files["judge.negative.jinja"] = made.text
        table["negative_user_file"] = "judge.negative.jinja"
        draft.notes.append("judge.negative.jinja asks the other way round; it was made by rule: read it")
        return
    why = f"no rule turns {made.word!r} in line {made.line} round" if made.word else "no rule turns it round"
    draft.notes.append(
        f"the prompt has no negative twin, as {why}: framing is NOT TESTED until you write judge.negative.jinja, which "
        "asks for the worse answer or how bad it is, and name it in judge.toml as negative_user_file"
    )


def _prompt_of_log(found: Gathered, draft: Draft) -> Prompt | None:
    from calm.judges.recorded.live import format_in, prompt_in

    made = prompt_in(found)
    if made is None or not made.whole:
        why = "the log holds no prompt of the judge"
        if made is not None:
            why = (
                f"no template shows all prompts of the log (the best shows {made.shown} of {made.of}), as they hold "
                "a text that no case has: name it with --map, as in --map reference=PATH"
            )
        draft.notes.append(
            f"{why}. So no judge.toml was written. To test the judge under edits, give its prompt: "
            "calm init --prompt prompt.txt --cases cases.jsonl --dir live"
        )
        return None
    reads = format_in(found)
    form: dict[str, Value] = {"format": "brackets"}
    values: Mapping[str, float | str] = {}
    if reads is not None:
        kind = reads.form.kind
        own = {"json": reads.form.field, "regex": reads.form.pattern, "tag": reads.form.tag}.get(kind, "")
        form = {"format": kind, **({{"json": "field", "regex": "pattern", "tag": "tag"}[kind]: own} if own else {})}
        values = reads.form.values
        draft.notes.append(f"[verdict] reads {reads.right} of {reads.of} replies of the log as the log does")
    else:
        from calm.judges.prompts.asking import asked_in

        asked = asked_in("\n".join(made.templates), found.task)
        form = dict(asked.form)
        values = asked.values
        draft.notes.append("the log holds no replies, so check with calm try that [verdict] reads them")
    prompt = Prompt(found.task, {}, form, values, found.scale if found.task == "score" else None)
    if made.roles in (("user",), ("system", "user")):
        draft.files["judge.jinja"] = made.templates[-1]
        prompt.table["user_file"] = "judge.jinja"
        if len(made.roles) > 1:
            draft.files["judge.system.jinja"] = made.templates[0]
            prompt.table["system_file"] = "judge.system.jinja"
        _twin(made.templates[-1], found.task, prompt.table, draft)
    else:
        turns = [{"role": role, "content": text} for role, text in zip(made.roles, made.templates, strict=True)]
        draft.files["messages.json"] = json.dumps(turns, ensure_ascii=False, indent=1) + "\n"
        prompt.table["messages_file"] = "messages.json"
        draft.notes.append("a prompt of several turns has no negative twin: framing is NOT TESTED")
    return prompt


def _text(name: str) -> str:
    """Return a prompt file without its last line break. Raises `ConfigError` if it cannot be read, or is empty."""
    from calm.core.files import read_text

    path = Path(name)
    if path.is_dir():
        raise ConfigError(f"{path}: expected a prompt in a file, got a folder")
    text = read_text(path, "a prompt")
    if not text.strip():
        raise ConfigError(f"{path}: expected a prompt, got an empty file")
    return text.removesuffix("\n")


def draft_cases(options: argparse.Namespace, prompt: Prompt, found: Gathered | None, draft: Draft) -> None:
    """Draft the cases: those of the log, of a file, or made ones."""
    from calm.cases.lines import line

    if found is not None:
        return
    if options.cases:
        cases, notes = _read_cases(options)
        draft.notes += notes
    else:
        from calm.cases.generate import generate

        cases = list(generate(prompt.task, MADE, SEED))
        draft.notes.append(
            f"cases.jsonl holds {MADE} cases that a program made, to start with: put your own in their place, with "
            "calm cases import FILE -o cases.jsonl --force"
        )
    draft.files["cases.jsonl"] = "".join(line(case) for case in cases)


def _read_cases(options: argparse.Namespace) -> tuple[Sequence[Case], list[str]]:
    from calm.cases import read_files
    from calm.cases.foreign import columns_from, import_cases
    from calm.cases.foreign.guessed import guessed

    path = Path(options.cases)
    if path.suffix.lower() in _ENDINGS and not options.map:
        try:
            return read_files([str(path)]), []
        except ConfigError:
            columns = guessed(path, options.map)
            if not columns:
                raise
    else:
        columns = guessed(path, options.map)
    maps = [*options.map, *(f"{field}={column}" for field, column in columns.items())]
    found = import_cases(path, columns=columns_from(maps, options.value))
    notes = [f"taken for granted: {', '.join(f'{column} is the {field}' for field, column in columns.items())}"]
    return found.cases, [*(notes if columns else []), *found.notes]


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
    draft.files["judge.toml"] = toml(tables)


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
