"""The cases and the judge that `calm init` is to write, also from a table whose columns it proposes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final, Literal, cast

from calm.commands import logs
from calm.commands.init_prompts import (
    STARTED,
    STARTER,
    STARTER_TWIN,
    Draft,
    Prompt,
    answered,
    at_terminal,
    note_values,
    say,
)
from calm.core.classes import SHIPPED
from calm.core.files import join, quote
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError
from calm.models.apis import APIS, MUTE, Provider

if TYPE_CHECKING:
    from calm.cases.foreign.records import Table
    from calm.cases.logs import Gathered, Log, Wanted
    from calm.cases.proposed import Guess, Proposal
    from calm.core.case import Case
    from calm.core.files import Value

_OPTIONS: Final = (
    *("dir", "task", "prompt", "system", "negative", "cases", "map", "value", "placeholder", "best", "name"),
    *("provider", "model", "base_url", "api_key_env", "ci", "force"),
)
"""The options of a proposed command, in their order."""
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class Read:
    """How a table is read: the columns by field, what the words of its gold mean, and a note of what was taken."""

    columns: Mapping[str, str]
    words: Mapping[str, str]
    note: str


def names_in(options: argparse.Namespace) -> list[str]:
    """Return the columns of the cases that the options name, and what `--map` says of them; those that can be read."""
    from calm.cases.foreign.records import load

    said = [word for text in options.map for word in text.split("=", 1)]
    try:
        return [*said, *(load(Path(options.cases)).columns if options.cases else ())]
    except ConfigError:
        return said  # the fault is named where the cases are read


def read_of(options: argparse.Namespace, table: Table, prompt: Prompt | None) -> Read:
    """
    Return how a table is read: as the options say, by its names, and for the rest as a person says.

    Raises:
        ConfigError: an option that does not fit; or, where nobody is there to be asked, the whole command that reads
            the table as it is guessed.
    """
    from calm.cases.foreign.columns import unknown_columns
    from calm.cases.proposed import VERDICT, named_in, proposal
    from calm.core.files import read_text

    mine = named_in(options.map, options.value)
    given = dict(mine.columns)
    if unknown := unknown_columns(given, table):
        raise ConfigError(unknown)
    shown = {} if prompt is None else prompt.shown
    scale = None if prompt is None else prompt.scale
    classes = "label" in (options.task, None if prompt is None else prompt.task)
    text = read_text(Path(options.prompt), "a prompt") if options.prompt else ""
    found = proposal(table, given, mine.values, shown, scale=scale, classes=classes, prompt=text)
    columns = {guess.key: guess.value for guess in found.columns}
    words = {guess.key: guess.value for guess in found.words}
    unsure = [guess for guess in (*found.columns, *found.words) if not guess.known]
    if at_terminal():
        columns |= {key: _column(key, "", table) for key in found.lacking if not _may_lack(key)}
        if not options.yes:
            columns |= {one.key: _column(one.key, one.value, table) for one in found.columns if not one.known}
            words |= {one.key: _meaning(one, {**given, **columns}) for one in found.words if not one.known}
    elif needed := [key for key in found.lacking if not _may_lack(key)]:
        raise ConfigError(_lacking(needed, table, prompt))
    elif unsure and not options.yes:
        command = _command(options, {**given, **columns}, {**mine.values, **words}, prompt)
        raise ConfigError([*_paragraph(found, table).splitlines(), f"  {command}"])
    taken = [f"{column!r} is the {_called(key)}" for key, column in columns.items()]
    taken += [f"{word!r} means {meaning}" for word, meaning in words.items()]
    note = f"read from the table: {', '.join(taken)}" if taken else ""
    whole = {**given, **columns}
    if prompt is not None or options.task or options.model or options.base_url or options.provider:
        whole.pop(VERDICT, None)  # the judge is asked anew
    return Read(whole, {**mine.values, **words}, note)


def _may_lack(key: str) -> bool:
    """Return whether cases can be written without a field, to be filled in later."""
    return key in ("reference", "context") or key.startswith(("field.", "history."))


def _lacking(keys: Sequence[str], table: Table, prompt: Prompt | None) -> str:
    """Return that no column holds what a case needs, or what the prompt shows, and how to name one."""
    shown = {field: name for name, field in ({} if prompt is None else prompt.shown).items()}
    what = " and ".join(f"{{{shown[key]}}}" if key in shown else f"the {_called(key)}" for key in keys)
    options = " ".join(f'--map {key}="COLUMN"' for key in keys)
    return (
        f"no column of {table.name} seems to hold {what}. Say which one does, with its name for COLUMN: {options}; its "
        f"columns are {', '.join(table.columns)}. If none does, add such a column to the file"
    )


def _called(key: str) -> str:
    if key.startswith("history."):
        turn, _, side = key.removeprefix("history.").partition(".")
        return f"reply {side} of turn {turn}".replace("  ", " ")
    plain = {"better": "better answer", "score": "gold score", "label": "gold class", "verdict": "judge's verdict"}
    return plain.get(key, key.replace("_", " ").replace("field.", "field "))


def _paragraph(found: Proposal, table: Table) -> str:
    """Return in words how a table is read, and that a person must say whether this is right."""
    columns = "; ".join(f"{guess.value!r} is the {_called(guess.key)}" for guess in found.columns)
    words = ", ".join(f"{guess.key!r} ({guess.count}) is {guess.value}" for guess in found.words)
    read = "; ".join(filter(None, [columns, words]))
    return fill(
        f"{table.name}: nothing is written yet. It would be read so: {read}. If that "
        "is right, run the next line, or the same command with --yes; if not, correct the line:",
        _WIDTH - len("calm: "),
    )


def _command(
    options: argparse.Namespace, columns: Mapping[str, str], words: Mapping[str, str], prompt: Prompt | None
) -> str:
    said = {} if prompt is None else prompt.said
    full = {
        "map": [f"{key}={column}" for key, column in columns.items() if key != column],
        "value": [f"{word}={meaning}" for word, meaning in words.items()],
        "placeholder": [f"{name}={meaning}" for name, meaning in said.items()],
    }
    line = ["calm", "init"]
    for name in _OPTIONS:
        value = full.get(name, getattr(options, name))
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            line += [word for one in value for word in (option, one)]
        elif value is True:
            line.append(option)
        elif value not in (None, False) and (name, value) != ("dir", "."):
            line += [option, value]
    return join(line)


def _column(key: str, usual: str, table: Table) -> str:
    while True:
        said = answered(f"Which column is the {_called(key)}", usual)
        if said in table.columns:
            return said
        say(f"expected one of: {', '.join(table.columns)}")


def _meaning(guess: Guess, columns: Mapping[str, str]) -> str:
    from calm.cases.foreign.columns import NOTHING, is_number

    letters = [key[-1] for key in sorted(columns) if key.startswith("answer_")]
    known = f"{', '.join(letters)}, tie or none" if letters else "a number, or none"
    while True:
        said = answered(f"What does {guess.key!r} mean ({guess.count} rows): {known}", guess.value)
        if said == NOTHING or (said in (*letters, "tie") if letters else is_number(said)):
            return said
        say(f"expected {known}, got {said}")


RECORDED: Final = "recorded.toml"
"""The judge that replays the verdicts of a log."""
CASES: Final = "cases.jsonl"
"""The cases that are written, as judge.toml names them."""
MADE: Final = 120
"""How many cases are made if none are given."""
SEED: Final = 1
_ENDINGS: Final = (".jsonl", ".ndjson")
_PREFIXES: Final[Mapping[str, Provider]] = {"openai": "openai", "anthropic": "anthropic"}


def of_log(options: argparse.Namespace, draft: Draft) -> Gathered | None:
    """Return what a log holds, and draft its cases and the judge that replays it; None without a log."""
    if not options.log:
        return None
    from calm.cases.logs import read_logs

    wanted = logs.wanted_from(options)
    _refuse_runs(options)
    return _replayed(read_logs([Path(name) for name in options.log], options.kind), wanted, draft, options.best)


def _replayed(log: Log, wanted: Wanted, draft: Draft, best: Literal["high", "low"] | None) -> Gathered:
    """Return the cases and the verdicts of a log, and draft them with the judge that replays them."""
    from calm.cases.lines import line
    from calm.cases.logs import gathered
    from calm.judges.recorded.kept import recorded_toml, verdict_lines

    found = logs.directed(gathered(log, wanted), RECORDED, best)
    draft.files[CASES] = "".join(line(case) for case in found.cases)
    draft.files["verdicts.jsonl"] = "".join(verdict_lines(found))
    draft.files[RECORDED] = recorded_toml(found, "verdicts.jsonl", log.kind, CASES)
    draft.notes += [f"recorded.toml replays the {len(found.asks)} verdicts of {found.metric}; no model is called"]
    draft.notes += found.notes
    return found


def _refuse_runs(options: argparse.Namespace) -> None:
    from calm.cases.logs import holds_runs

    for name in options.log if options.kind is None else ():
        if holds_runs(Path(name)):
            raise ConfigError(
                f"--log: expected a log of verdicts, got {name}, which holds runs of an agent: these are what is to be "
                f"judged, so say --cases {quote(name)}"
            )


def made_cases(task: Task, prompt: Prompt | None, draft: Draft) -> Sequence[Case]:
    """Return cases that a program makes, to start with, with gold on the scale of the judge, or of its own classes."""
    from calm.cases.generate import generate

    scale = STARTED if prompt is None else prompt.scale or Scale()

    draft.notes.append(
        f"cases.jsonl holds {MADE} cases that a program made, to start with. Use your own: --cases FILE, a table or a "
        "file of cases"
    )
    options = {} if prompt is None else prompt.options
    return [
        replace(
            case,
            scores={key: _moved(score, scale) for key, score in case.scores.items()},
            label=None if options else case.label,
        )
        for case in generate(task, MADE, SEED)
    ]


def lacking_in(prompt: Prompt, cases: Sequence[Case], draft: Draft) -> list[str]:
    """
    Return, by placeholder of the prompt, what some of the cases lack: a field, a reference, or an earlier reply.

    What a template asks for before it shows it may lack.
    """
    found = []
    texts = "\n".join(draft.files.get(file, "") for key, file in prompt.table.items() if key.endswith("file"))
    for name, key in prompt.shown.items():
        kind, _, own = key.partition(".")
        fields = own if kind == "field" else "context" if key == "context" else None
        if fields is not None:
            lack = sum(fields not in case.fields and not (fields == "context" and case.context) for case in cases)
            shown = f"fields.{fields}"
        elif kind == "history":
            turn, _, side = own.partition(".")
            answer = "ab".index(side)
            lack = sum(len(case.answers[answer].history) < int(turn) for case in cases)
            shown = f"answers[{answer}].history[{int(turn) - 1}]"
        elif key == "reference":
            lack, shown = sum(case.reference is None for case in cases), "reference"
        else:
            continue
        either = f"(?:{re.escape(name)}|{re.escape(shown)})"
        asked = re.search(rf"\{{%-?\s*(?:el)?if\b[^%}}]*\b{either}(?!\w)|{re.escape(shown)} \| default", texts)
        if lack and not asked:
            found.append(f"{name} ({shown} in {lack} of {len(cases)} cases)")
    return found


def _moved(score: float, scale: Scale) -> float:
    share = (score - Scale().low) / (Scale().high - Scale().low)
    steps = (share if scale.best == "high" else 1 - share) * (scale.high - scale.low) / (scale.step or 1e-3)
    return scale.low + round(steps) * (scale.step or 1e-3)


def cases_in(options: argparse.Namespace, prompt: Prompt | None, draft: Draft) -> Sequence[Case] | Gathered:
    """
    Return the cases of the file that the options name, or what a table of a judge's verdicts holds.

    Raises:
        ConfigError: the file cannot be read, or a person must first say how.
    """
    from calm.cases import read_files
    from calm.cases.foreign import import_cases
    from calm.cases.foreign.columns import NOTHING, Columns, form_of
    from calm.cases.foreign.records import load
    from calm.cases.logs import Wanted, holds_runs
    from calm.cases.logs.judgments import judged
    from calm.cases.proposed import VERDICT

    path = Path(options.cases)
    if not options.map and holds_runs(path):
        return _read_runs(path, prompt, draft)
    own: ConfigError | None = None
    if path.suffix.lower() in _ENDINGS and not options.map:
        try:
            return read_files([str(path)])
        except ConfigError as error:
            own = error
    table = load(path)
    if own is not None and "answers" in table.columns:
        raise own
    form = form_of(table)
    if form is not None and not options.map:
        found = import_cases(path, form=form)
        draft.notes += found.notes
        return found.cases
    read = read_of(options, table, prompt)
    draft.notes += [read.note] if read.note else []
    if VERDICT in read.columns and "answer" in {*read.columns, *table.columns}:
        columns = {name: name for name in table.columns} | dict(read.columns)
        words = {word: None if number == NOTHING else float(number) for word, number in read.words.items()}
        return _replayed(judged(table, columns), Wanted(words=words), draft, options.best)
    found = import_cases(path, columns=Columns(read.columns, read.words))
    draft.notes += found.notes
    return _with_blanks(found.cases, {} if prompt is None else prompt.shown, draft)


def _with_blanks(cases: Sequence[Case], shown: Mapping[str, str], draft: Draft) -> Sequence[Case]:
    """Return the cases of a table, with an empty field where others have one that the prompt shows."""
    for key in dict.fromkeys(key for key in shown.values() if key.startswith("field.")):
        name = key.removeprefix("field.")
        blank = sum(name not in case.fields for case in cases)
        if 0 < blank < len(cases):
            draft.notes.append(f"{blank} of {len(cases)} cases have an empty {name}, and the prompt shows it so")
            cases = [replace(case, fields={name: "", **case.fields}) for case in cases]
    return cases


def _read_runs(path: Path, prompt: Prompt | None, draft: Draft) -> Sequence[Case]:
    from calm.cases.logs import import_runs

    found = import_runs([path], scale=STARTED if prompt is None else prompt.scale)
    if prompt is None and any(not STARTED.holds(score) for case in found.cases for score in case.scores.values()):
        found = import_runs([path])
    draft.notes += found.notes
    return found.cases


def task_of(cases: Sequence[Case]) -> Task:
    """Return what a judge of some cases does, by what they hold."""
    if any(len(case.answers) > 1 for case in cases):
        return "pairwise"
    if any(case.label is not None for case in cases):
        return "label"
    return "rubric" if all(case.criteria for case in cases) and not any(case.scores for case in cases) else "score"


def named_classes(cases: Sequence[Case], draft: Draft) -> bool:
    """Return whether the drafted prompt names two classes of the cases or more; a letter as it is written."""
    text = "\n".join(draft.files.values())
    classes = {case.label for case in cases if case.label is not None}
    shapes = (rf"(?{'' if len(name) == 1 else 'i'}:(?<!\w){re.escape(name)}(?!\w))" for name in classes)
    return sum(re.search(shape, text) is not None for shape in shapes) > 1


def refuse_other_scale(options: argparse.Namespace, cases: Sequence[Case], prompt: Prompt) -> None:
    """
    Refuse gold scores that are not on the scale of a person's own prompt.

    Raises:
        ConfigError: there are some.
    """
    scale = prompt.scale or Scale()
    scores = [score for case in cases for score in case.scores.values()]
    if beyond := [score for score in scores if prompt.task == "score" and not scale.low <= score <= scale.high]:
        raise ConfigError(
            f"{options.cases}: expected scores from {scale.low:g} to {scale.high:g}, the scale of the prompt, got "
            f"{beyond[0]:g} ({len(beyond)} of {len(scores)} scores); rescale them, or give a prompt with their scale "
            "(--prompt FILE)"
        )


def draft_judge(options: argparse.Namespace, prompt: Prompt, found: Gathered | None, draft: Draft) -> None:
    """Draft judge.toml."""
    from calm.core.files import toml
    from calm.judges.recorded.kept import scale_table

    provider, model = _model(options, found, draft)
    if provider in MUTE:
        _ask_decider(prompt, draft)
    served: dict[str, Value] = {"provider": provider, "model": model}
    if options.base_url:
        served["base_url"] = options.base_url
    if options.api_key_env:
        served["api_key_env"] = options.api_key_env
    named = options.prompt or options.cases
    name = options.name or (found.metric if found else Path(named).stem if named else "") or "judge"
    tables: dict[str, Mapping[str, Value]] = {
        "judge": {"name": " ".join(name.split()), "task": prompt.task, "cases": CASES},
        "model": served,
    }
    if prompt.table:
        tables["prompt"] = dict(prompt.table)
    labels = _label_tables(prompt, draft) if prompt.task == "label" else {}
    if prompt.task == "label" and "pattern" in prompt.verdict and not prompt.options:
        longest = sorted(map(re.escape, draft.classes), key=len, reverse=True)
        prompt.verdict["pattern"] = str(prompt.verdict["pattern"]).replace(r"(\w+)", rf"({'|'.join(longest)})\b")
    if prompt.verdict or prompt.values:
        values: dict[str, Value] = {"values": dict(prompt.values)} if prompt.values else {}
        tables["verdict"] = prompt.verdict | values
    if prompt.parts:
        tables["verdict.parts"] = dict(prompt.parts)
    if prompt.scale is not None and prompt.task == "score":
        tables["verdict.scale"] = scale_table(prompt.scale) | ({"best": options.best} if options.best else {})
    tables |= labels
    draft.files["judge.toml"] = toml(tables)


def _ask_decider(prompt: Prompt, draft: Draft) -> None:
    """Ask a decision model in calm's own words, or in those of a person; it says its verdict in no words."""
    prompt.verdict, prompt.parts = {}, {}
    prompt.values = {} if prompt.task == "rubric" else prompt.values  # a noul has no other answers than true and false
    if not prompt.shown:  # the prompt to start from
        draft.files = {name: text for name, text in draft.files.items() if name not in (STARTER, STARTER_TWIN)}
        prompt.table = {}
    elif prompt.table:
        draft.notes.append(
            "a decision model answers the question in [prompt] system about the state in [prompt] user: move what the "
            "prompt asks into system, and leave in user what the question is about"
        )


def _label_tables(prompt: Prompt, draft: Draft) -> dict[str, Mapping[str, Value]]:
    """Return the tables of the classes: those of the prompt or the cases, in no order, or of the made ones."""
    if prompt.options:
        _name_classes(prompt, draft)
    elif set(draft.classes) <= set(SHIPPED.names):
        meanings = dict(zip(SHIPPED.names, SHIPPED.meanings, strict=True))
        known: dict[str, Value] = {"classes": list(SHIPPED.names), "ordered": True, "damaged": SHIPPED.damaged or ""}
        return {"labels": known, "labels.meanings": meanings}
    elif len(draft.classes) < 2:
        raise ConfigError(
            f"--cases: expected gold labels of two classes or more, got {', '.join(draft.classes)} alone; add cases of "
            "another class, so that it is known what the judge chooses from"
        )
    draft.notes.append(
        f"[labels] in judge.toml has the classes ({', '.join(draft.classes)}) in no order: put them from "
        'worst to best and set ordered = true, or say which moves do harm, as in harm = ["WORSE -> BETTER"]'
    )
    return {"labels": {"classes": list(draft.classes)}}


def _name_classes(prompt: Prompt, draft: Draft) -> None:
    """
    Name the classes that letters stand for as the cases name them: by their words, or by the letters alone.

    Raises:
        ConfigError: a gold label is none of the classes.
    """

    def folded(name: str) -> str:
        return re.sub(r"[\s_-]+", " ", name.strip()).casefold()

    gold = {folded(name): name for name in draft.classes}
    lettered = bool(gold) and gold.keys() <= {folded(letter) for letter in prompt.options}
    classes = {
        letter: gold.get(folded(letter if lettered else name), letter if lettered else name)
        for letter, name in prompt.options.items()
    }
    if others := [name for key, name in gold.items() if key not in {folded(name) for name in classes.values()}]:
        raise ConfigError(
            f"--cases: expected gold labels that the prompt names ({', '.join(classes.values())}), got "
            f"{', '.join(others)}; rename them in the file"
        )
    draft.classes = tuple(classes.values())
    prompt.values = {letter: name for letter, name in classes.items() if letter != name}
    note_values(prompt.values, draft)


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
    if model is None and options.base_url:
        usual = APIS[cast("Provider", provider)].model
        draft.notes.append(f"no model was named, so judge.toml has {usual}: --model NAME says what the server serves")
    return provider, model or APIS[cast("Provider", provider)].model
