"""The prompt and the files that `calm init` is to write, from any tool, a log or a person's answers."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast

from calm.core.names import parts, plain_name
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest
from calm.results.outputs import Form
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from calm.cases.logs import Gathered
    from calm.core.case import Case
    from calm.core.files import Value
    from calm.judges.prompts.foreign import Lookalike, Style, Translation
    from calm.judges.prompts.forms import Asked
    from calm.judges.prompts.placeholders import Placeholder, Puzzle
    from calm.judges.prompts.turns import Turn

STARTERS: Final = ("pairwise", "score", "rubric")
"""Tasks that have a template to start from; the others use the bundled prompt."""
_PART: Final = re.compile(r"\{# (turns|context|steps) #\}\n")
WRITTEN: Final = Form("a file of `calm init`", ("",), forcible=True)
GATE: Final = """\
# What the owners of the judge accept, each with a reason and a last day. An entry that has expired is an error.
#
# [[limit]]                       # another limit for a claim
# key = "verbosity/gain"
# limit = 0.20
# reason = "long answers are wanted here"
# expires = 2030-01-31
#
# [[waive]]                       # a claim that may fail until then
# [[not_tested]]                  # something that need not be tested
"""


def starter(task: str, *, negative: bool = False, parts: Collection[str] = ()) -> str:
    """Return the template to start from, or its twin; it shows turns, context and steps where cases have such parts."""
    text = _start(f"{task}.negative.jinja" if negative else f"{task}.jinja")
    return _PART.sub(lambda found: _start(f"part.{found[1]}.jinja") if found[1] in parts else "", text)


def _start(name: str) -> str:
    return files("calm").joinpath("judges", "data", "start", name).read_text("utf-8")


def check(written: Mapping[str, str], judge: str, *, filled: bool = True) -> str | None:
    """
    Read the judge and its cases in a folder of their own, before anything is put in place.

    Cases that are not `filled` lack what the prompt shows, which a person is to add.

    Returns the variable that holds its key; None if it needs none.

    Raises:
        ConfigError: what they say cannot be used together; the messages name the files as they will be called.
    """
    from calm.cases import read_files
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import recall
    from calm.judges.judgefile import read_judge
    from calm.models.apis import APIS
    from calm.models.server import Server

    with TemporaryDirectory(prefix="calm-init-") as stage:
        place = Path(stage)
        for name, text in written.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, "utf-8")
        try:
            made = read_judge(place / judge, {}, keyless=True)
            cases = read_files([str(place / "cases.jsonl")], task=made.task)
            recall(made, cases)
            if filled:
                refuse_unshowable(made, cases)
        except ConfigError as error:
            raise ConfigError([problem.replace(f"{stage}/", "") for problem in error.problems]) from error
    for server in made.endpoints:
        if isinstance(server, Server):
            return server.api_key_env or (APIS[server.provider].key_name if server.own else None)
    return None


_WHY: Final[Mapping[Puzzle, str]] = {
    "index": "calm has one text there, and no list; write the name alone, such as {{ context }}",
    "item": "calm does not know the parts of these items; write each text by its name, such as {{ answers[0].text }}",
    "format": "expected a text as it is, or its first characters, such as {output} or {output:.200}; write one of them",
    "section": "a section cannot go through answers; write each by its name, such as {{response_a}} and {{response_b}}",
    "partial": "another file would go in here; put its text in its place",
    "helper": "calm has no such helper or function; write the text itself, or a section such as {{#context}}",
    "unclosed": "a section must begin with its name and end with it: {{#context}} ... {{/context}}",
    "syntax": "expected a template that Jinja2 can read; fix it there",
    "tag": "Jinja2 has no such statement; for a text of the case write its name in double braces, such as {{ policy }}",
    "parts": "it is used in two ways; give each text a name of its own, such as {{ question }} and {{ context }}",
}
"""What to do about a piece of a prompt that is not understood."""
_OURS: Final = {"developer": "system"}
"""Other names of a role."""
_TEXT: Final = "text"
"""What a user says that a text means which only looks like a placeholder."""
_NOTATION: Final[Mapping[Style | None, str]] = {"single": "{%s}", "dollar": "${%s}", "angle": "<<%s>>"}
"""How a prompt writes its placeholders, if not in double braces."""
_BETWEEN: Final = "\n\0\n"
"""What stands between the messages while they are turned round together."""


STARTED: Final = Scale(1.0, 5.0, 1.0)
"""The scale of the prompt to start from."""
STARTER: Final = "judge.jinja"
STARTER_TWIN: Final = "judge.negative.jinja"
_ALONE: Final = frozenset(("text", "content", "comment", "post", "message", "review", "passage", "tweet", "email"))
"""What is judged in a prompt that shows nothing else, as where texts of users are moderated."""


@dataclass(slots=True)
class Draft:
    """What is to be written, and what a person is to be told of it."""

    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    judge: str = "judge.toml"
    classes: tuple[str, ...] = ()
    """The classes of the cases, in the order in which they come."""
    denied: bool = False
    """Whether the server refuses calls without a key, and no variable is named that holds one."""


@dataclass(slots=True)
class Prompt:
    """
    The templates of a judge by key of `[prompt]`, and what the log or the text shows of its verdict.

    `shown` are the fields of a case by the names of the placeholders that show them, and `said` is what those of these
    names mean that a person said, or that no tool uses and were guessed.
    """

    task: Task
    table: dict[str, str] = field(default_factory=dict)
    verdict: dict[str, Value] = field(default_factory=dict)
    values: Mapping[str, float | str] = field(default_factory=dict)
    scale: Scale | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)
    directed: bool = True
    """Whether it is known which end of the scale is the best one."""
    scaled: bool = True
    """Whether the prompt shows what its scores are."""
    parts: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)
    """The named numbers that a verdict is made of."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The classes by the letters that stand for them in a reply."""


def started(task: Task, cases: Sequence[Case], draft: Draft) -> Prompt:
    """Return a prompt to start from that shows what the cases hold, on a scale that holds their gold."""
    from calm.cases.logs.judgments import usual_scale
    from calm.cases.shapes import parts_of

    scores = [score for case in cases for score in case.scores.values()]
    begun = task in STARTERS and (task != "score" or all(STARTED.holds(score) for score in scores))
    if begun:
        parts = parts_of(cases)
        draft.files[STARTER] = starter(task, parts=parts)
        draft.files[STARTER_TWIN] = starter(task, negative=True, parts=parts)
        table = {"user_file": STARTER, "negative_user_file": STARTER_TWIN}
        return Prompt(task, table, {"format": "brackets"}, scale=STARTED if task == "score" else None)
    if task == "score":
        scale = usual_scale(scores)
        draft.notes.append(
            f"the judge uses calm's own prompt, on the scale of the gold: {scale.low:g} to {scale.high:g}"
        )
        return Prompt(task, scale=scale)
    twin = "no negative twin, as a class has none" if task == "label" else "a negative twin"
    draft.notes.append(f"the judge uses calm's own prompt for the task {task}, which has {twin}")
    return Prompt(task)


def prompt_of_file(options: argparse.Namespace, draft: Draft, columns: Sequence[str]) -> Prompt:
    """Return a prompt that a person has, with its placeholders in calm's names; `columns` are those of the cases."""
    from calm.judges.prompts.foreign import missed, translate
    from calm.judges.prompts.forms import asked_in
    from calm.judges.prompts.placeholders import guessed

    read = _read(options, draft)
    turns = [turn for _, turn in read]
    texts = [turn.text for turn in turns]
    made = translate(*texts)
    alike = missed(texts, made, columns)
    given = _said(options.placeholder, made, {one.name for found in alike for one in found})
    plain = {name for name, meaning in given.items() if meaning == _TEXT}
    given = {name: meaning for name, meaning in given.items() if name not in plain}
    said = guessed([one for found in made.found for one in found if one.name not in given]) | given
    roles = {one.name: one.role for found in made.found for one in found}
    single = [*roles.values()] == [None] and {*given.values()} <= {"answer"}
    alone = [name for name in roles if single and not _ALONE.isdisjoint(parts(name))]
    said |= dict.fromkeys(alone, "answer")
    made = translate(*texts, said=said)
    _refuse_unread([name for name, _ in read], turns, made)
    _refuse_missed([name for name, _ in read], turns, made, alike, plain)
    every = [one for found in made.found for one in found]
    if made.answers == 0:
        got = ", ".join(one.written for one in every)
        raise ConfigError(
            f"{options.prompt}: none of its placeholders ({got}) is known to be the answer that is judged. Say which "
            f"one it is, as in --placeholder {every[0].name}=answer; of two answers, as in --placeholder NAME=a "
            "--placeholder OTHER=b"
            if every
            else f"{options.prompt} has no placeholder, so the judge would read the same text about every case. Where "
            "a text of the case belongs, write its name in double braces: {{question}} and {{answer}}; to compare two "
            "answers: {{question}}, {{answer_a}} and {{answer_b}}"
        )
    _refuse_half(options, every)
    _refuse_twice(options, every, set(said))
    if (
        options.cases
        and not options.yes
        and not alone
        and made.style != "jinja"
        and all(one.role != "question" for one in every)
    ):
        raise ConfigError(
            f"{options.prompt} never shows the question of a case, so the judge would not know what is answered. Write "
            f"{_NOTATION.get(made.style, '{{%s}}') % 'question'} where it belongs; if it has another name, "
            f"say which, as in --placeholder {every[0].name}=question; if the judge is to see no question, add --yes"
        )
    asked = asked_in("\n".join(made.templates), _task(options, made.answers))
    task: Task = "label" if asked.options and options.task is None else _task(options, made.answers)
    if every:
        meanings = dict.fromkeys(f"{one.written} is {_meaning(one)}" for one in every)
        draft.notes.append(f"in the prompt, {', '.join(meanings)}")
    names = [one.name for found in translate(*texts).found for one in found]
    prompt = Prompt(task, said=said, shown=dict(zip(names, map(_case_field, every), strict=True)))
    _put([turn.role for turn in turns], made.templates, prompt, draft)
    if options.negative and "messages_file" in prompt.table:
        raise ConfigError("--negative: expected a prompt of a user message alone or with a system message, got more")
    if options.negative:
        _own_twin(options, prompt, draft)
    elif "user_file" in prompt.table and task != "label":
        _twin(made.templates, prompt, draft)
    _take(asked, prompt, draft)
    return prompt


def _take(asked: Asked, prompt: Prompt, draft: Draft) -> None:
    """Take how a prompt asks for its verdict, and note what of it a person must check, as judge.toml says it."""
    if not asked.seen:
        form = ", ".join(f'{key} = "{value}"' for key, value in asked.form.items())
        draft.notes.append(
            f"the prompt does not show how the verdict is written, so judge.toml says {form}: check it with calm try, "
            "and see docs/how-to/audit-a-judge-prompt.md"
        )
    prompt.verdict, prompt.values, prompt.directed = dict(asked.form), asked.values, asked.directed
    prompt.parts, prompt.options = asked.parts, asked.options if prompt.task == "label" else {}
    if asked.formula:
        prompt.verdict["formula"] = asked.formula
        draft.notes.append(
            f"a verdict has {len(asked.parts)} parts, {', '.join(asked.parts)}. The formula in judge.toml makes one of "
            f"them, {asked.formula}: check it"
        )
    elif asked.parts:
        draft.notes.append("a reply gives each answer a score: the greater one wins, and equal ones are a tie")
    if prompt.task == "score":
        prompt.scale = asked.scale or (Scale(0.0, 1.0, 1.0) if asked.values else Scale())
        prompt.scaled = bool(asked.scale or asked.values)
        if not prompt.scaled:
            draft.notes.append(
                "the prompt does not show its scale, so it is 1 to 10: check [verdict.scale] in judge.toml"
            )
    note_values(asked.values, draft)


def note_values(values: Mapping[str, float | str], draft: Draft) -> None:
    """Note what the words of a verdict mean, as judge.toml says it."""
    if worth := ", ".join(f"{word} is {value}" for word, value in values.items()):
        draft.notes.append(f"{worth}: [verdict] values in judge.toml says so, check it")


def _said(texts: Sequence[str], made: Translation, alike: Set[str]) -> dict[str, str]:
    """Return what a person says that placeholders mean, and which of the texts that look `alike` are plain text."""
    from calm.judges.prompts.placeholders import SAID

    names = {one.name for found in made.found for one in found}
    said: dict[str, str] = {}
    for text in texts:
        name, _, meaning = text.partition("=")
        if name in alike and meaning == _TEXT:
            said[name] = meaning
            continue
        if name not in names:
            raise ConfigError(
                f"--placeholder: expected a placeholder of the prompt, got {name!r}{nearest(name, names)}"
            )
        if meaning not in SAID and not re.fullmatch(r"field\.\w+|[ab]\.[1-9]", meaning):
            known = f"{', '.join(SAID)}, field.NAME, or a.1 for the reply of a in turn 1"
            raise ConfigError(f"--placeholder: expected {name}= and {known}, got {text!r}")
        said[name] = meaning
    return said


def _case_field(one: Placeholder) -> str:
    """Return the field of a case that a placeholder shows, as a table is mapped to it."""
    from calm.cases.proposed import FIELDS

    if one.turn is not None:
        return f"history.{one.turn + 1}.{'a' if one.role == 'first' else 'b'}"
    return f"field.{_field(one)}" if one.role in (None, "rubric") else FIELDS[one.role]


def _read(options: argparse.Namespace, draft: Draft) -> list[tuple[str, Turn]]:
    """Return the messages of the prompt that the options name, each with the name of its file."""
    from calm.judges.prompts.turns import text_of, turns_of

    path = Path(options.prompt)
    turns = turns_of(path, text_of(path).removesuffix("\n"))
    if options.system and len(turns) > 1:
        raise ConfigError(f"--system: {path} holds {len(turns)} messages already, so expected none beside it")
    if len(turns) == 1 and turns[0].role != "user":
        draft.notes.append(
            f"the only message is the {turns[0].role}'s: it is sent as the user's, as a judge is asked by one"
        )
        turns = [replace(turns[0], role="user")]
    system = Path(options.system) if options.system else None
    before = turns_of(system, text_of(system).removesuffix("\n")) if system is not None else []
    if len(before) > 1:
        raise ConfigError(f"--system: expected one text, got {len(before)} messages in {system}")
    return [
        *((str(system), replace(one, role="system")) for one in before),
        *((str(path), replace(one, role=_OURS.get(one.role, one.role))) for one in turns),
    ]


def _line(name: str, turn: Turn, line: int) -> int:
    """Return the line of a file that is a line of one of its messages; a message in JSON stands in one line."""
    return turn.line if name.endswith(".json") else turn.line + line - 1


def _refuse_unread(names: Sequence[str], turns: Sequence[Turn], made: Translation) -> None:
    """Refuse a prompt of which a piece is not understood: what is guessed would change what the judge reads."""
    faults = [
        f"{name}, line {_line(name, turn, one.line)}: {one.written}: {_WHY[one.why]}"
        for name, turn, unread in zip(names, turns, made.unread, strict=True)
        for one in unread
    ]
    if faults:
        raise ConfigError(list(dict.fromkeys(faults)))


def _refuse_missed(
    names: Sequence[str],
    turns: Sequence[Turn],
    made: Translation,
    alike: Sequence[Sequence[Lookalike]],
    plain: Set[str] = frozenset(),
) -> None:
    """Refuse text that looks like a placeholder and is not read as one, unless a person says that it is plain text."""
    form = _NOTATION.get(made.style, "{{%s}}")
    faults = []
    for broken in (True, False):
        found = [
            (f"{one.written} ({name}, line {_line(name, turn, one.line)})", one.name)
            for name, turn, many in zip(names, turns, alike, strict=True)
            for one in many
            if one.broken is broken and one.name not in plain
        ]
        if not found:
            continue
        which, one = ", ".join(where for where, _ in found), found[0][1]
        looks = "looks like a placeholder" if len(found) == 1 else "look like placeholders"
        why = (
            f"the braces of {which} do not match"
            if broken
            else f"{which} {looks}, but "
            + ("in no notation that calm reads" if made.style is None else f"the others are written as {form % 'name'}")
        )
        write = " and ".join(dict.fromkeys(form % name for _, name in found))
        faults.append(
            f"{why}. The judge would read these signs, and not the text of the case. Write {write}; or, if it is plain "
            f"text, add --placeholder {one}={_TEXT}"
        )
    if faults:
        raise ConfigError(faults)


def _refuse_half(options: argparse.Namespace, found: Sequence[Placeholder]) -> None:
    """Refuse a prompt that shows one of two answers, as the name of its only answer says, unless the task is said."""
    from calm.core.names import of_pair

    shown = [one for one in found if one.role in ("answer", "first", "second")]
    names = {one.name for one in shown}
    if options.task is not None or len(names) != 1 or any("[" in one.written for one in shown):
        return
    name = shown[0].name
    other = of_pair(name)
    said = any(text.startswith(f"{name}=") for text in options.placeholder)
    if other is None or said or any(plain_name(one.name) == plain_name(other) for one in found):
        return
    raise ConfigError(
        f"{options.prompt} shows one of two answers, {shown[0].written}, and never the other one. To compare two, "
        f"write {shown[0].written.replace(name, other)} where the other answer belongs. If the judge rates one answer, "
        f"add --placeholder {name}=answer"
    )


def _refuse_twice(options: argparse.Namespace, found: Sequence[Placeholder], said: Set[str]) -> None:
    """Refuse a prompt of which two placeholders would be one answer, unless a person says so."""
    for role, meaning in (("answer", "answer"), ("first", "a"), ("second", "b")):
        same = [one for one in found if one.role == role and one.turn is None and one.name not in said]
        names = list(dict.fromkeys(one.name for one in same))
        if len({plain_name(name) for name in names}) > 1:
            raise ConfigError(
                f"{options.prompt}: {' and '.join(dict.fromkeys(one.written for one in same))} would both be "
                f"{_meaning(same[0])}. Say what each of them is, as in --placeholder {names[0]}={meaning} "
                f"--placeholder {names[1]}=field.{names[1]}"
            )


def _task(options: argparse.Namespace, answers: int | None) -> Task:
    """Return what the judge does, by the options and by how many answers its prompt shows (None: all of a case)."""
    if answers is None:
        if options.task is None:
            raise ConfigError(
                f"{options.prompt}: the prompt goes through all answers of a case, so it may compare two or rate one; "
                "expected --task pairwise or --task score beside it"
            )
        return cast("Task", options.task)
    task = cast("Task", options.task or ("pairwise" if answers > 1 else "score"))
    if (task == "pairwise") != (answers > 1):
        raise ConfigError(
            f"--task: expected {'pairwise' if answers > 1 else 'score or rubric'}, as {options.prompt} shows "
            f"{answers} answer{'s' if answers > 1 else ''}, got {task}"
        )
    return task


def _meaning(one: Placeholder) -> str:
    meanings = {"first": "the first answer", "second": "the second answer", "answer": "the answer"}
    if one.role in (None, "rubric"):
        return f"the field {_field(one)}"
    if one.turn is not None:
        return f"{meanings[one.role]}'s own reply in turn {one.turn + 1}, {one.expression}"
    return meanings.get(one.role, f"the {one.role}") + ("" if one.cut is None else f", cut after {one.cut} characters")


def _field(one: Placeholder) -> str:
    return one.expression.removeprefix("fields.").partition("[")[0]


def _put(roles: Sequence[str], templates: Sequence[str], prompt: Prompt, draft: Draft) -> None:
    if tuple(roles) in (("user",), ("system", "user")):
        draft.files["judge.jinja"] = templates[-1]
        prompt.table["user_file"] = "judge.jinja"
        if len(roles) > 1:
            draft.files["judge.system.jinja"] = templates[0]
            prompt.table["system_file"] = "judge.system.jinja"
        return
    turns = [{"role": role, "content": text} for role, text in zip(roles, templates, strict=True)]
    draft.files["messages.json"] = json.dumps(turns, ensure_ascii=False, indent=1) + "\n"
    prompt.table["messages_file"] = "messages.json"
    draft.notes.append("a prompt of several turns has no negative twin: the framing test is left out")


def _own_twin(options: argparse.Namespace, prompt: Prompt, draft: Draft) -> None:
    from calm.judges.prompts.foreign import missed, translate
    from calm.judges.prompts.turns import text_of, turns_of

    path = Path(options.negative)
    turns = turns_of(path, text_of(path).removesuffix("\n"))
    made = translate(*(turn.text for turn in turns))
    _refuse_unread([options.negative] * len(turns), turns, made)
    _refuse_missed([options.negative] * len(turns), turns, made, missed([turn.text for turn in turns], made))
    roles = tuple(turn.role for turn in turns)
    if roles not in (("user",), ("system", "user")):
        raise ConfigError(f"--negative: expected a user message alone or with a system message, got {', '.join(roles)}")
    _name_twin(made.templates, prompt, draft)


def _twin(templates: Sequence[str], prompt: Prompt, draft: Draft) -> None:
    """Draft the negative twin, if a rule turns the messages round; else say that framing is not tested."""
    from calm.judges.prompts.turns import turned

    whole = _BETWEEN.join(templates)
    made = turned(whole, "pairwise" if prompt.task == "pairwise" else "score")
    twins = (made.text or "").split(_BETWEEN)
    if made.text is not None and len(twins) == len(templates):
        _name_twin(twins[1:] if len(twins) > 1 and twins[0] == templates[0] else twins, prompt, draft)
        known = set(whole.splitlines())
        new = next((line.strip() for line in made.text.splitlines() if line not in known), "")
        new = re.split(r"(?<=[?.]) ", new, maxsplit=1)[0]
        draft.notes.append(
            f"judge.negative.jinja asks for the worse answer, or how bad it is. A rule wrote it, so check it: {new}"
        )
        return
    before = whole.count("\n", 0, whole.find(_BETWEEN) + len(_BETWEEN)) if _BETWEEN in whole else 0
    file = "judge.jinja" if len(templates) == 1 or made.line > before else "judge.system.jinja"
    line = made.line - before if made.line > before else made.line
    why = f", because of the word {made.word!r} ({file}, line {line})" if made.word else ""
    draft.notes.append(
        f"calm could not write the prompt that asks for the worse answer{why}. Write judge.negative.jinja yourself and "
        "name it in judge.toml as negative_user_file, or go on without the framing test"
    )


def _name_twin(templates: Sequence[str], prompt: Prompt, draft: Draft) -> None:
    draft.files["judge.negative.jinja"] = templates[-1]
    prompt.table["negative_user_file"] = "judge.negative.jinja"
    if len(templates) > 1:
        draft.files["judge.negative.system.jinja"] = templates[0]
        prompt.table["negative_system_file"] = "judge.negative.system.jinja"


def prompt_of_log(found: Gathered, draft: Draft) -> Prompt | None:
    """Return the prompt that a log holds; None if it holds none, so that there is no judge that could be asked."""
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
    parts: Mapping[str, Mapping[str, str | float]] = {}
    if reads is not None:
        kind = reads.form.kind
        own = {"json": reads.form.field, "regex": reads.form.pattern, "tag": reads.form.tag}.get(kind, "")
        form = {"format": kind, **({{"json": "field", "regex": "pattern", "tag": "tag"}[kind]: own} if own else {})}
        values = reads.form.values
        draft.notes.append(f"[verdict] reads {reads.right} of {reads.of} replies of the log as the log does")
    else:
        from calm.judges.prompts.forms import asked_in

        asked = asked_in("\n".join(made.templates), found.task)
        form = {**asked.form, **({"formula": asked.formula} if asked.formula else {})}
        values, parts = asked.values, asked.parts
        draft.notes.append("the log holds no replies, so check with calm try that [verdict] reads them")
    prompt = Prompt(found.task, {}, form, values, found.scale if found.task == "score" else None, parts=parts)
    _put(made.roles, made.templates, prompt, draft)
    if "user_file" in prompt.table:
        _twin(made.templates, prompt, draft)
    return prompt


def at_terminal() -> bool:
    """Return whether a person is there to be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def answered(question: str, usual: str = "") -> str:
    """Ask a person, and return what was written; the `usual` answer for an empty line or the end of the input."""
    try:
        asked = fitted(printable(f"{question} [{usual}]?" if usual else f"{question}?"), sys.stdout)
        said = input(f"{asked} ").strip()
    except EOFError:
        said = ""
        if not usual:
            raise ConfigError(f"{question}: expected an answer, got the end of the input") from None
    return said or usual


def chosen(question: str, known: Sequence[str], usual: str) -> str:
    """Ask a person for one of some names, until it is one."""
    while (said := answered(f"{question}: {', '.join(known)}", usual)) not in known:
        say(f"expected one of {', '.join(known)}, got {said}")
    return said


def say(text: str, *, error: bool = False) -> None:
    """Print a line; at a terminal, several that are no wider than it."""
    stream = sys.stderr if error else sys.stdout
    print(fitted(printable(text), stream), file=stream)
