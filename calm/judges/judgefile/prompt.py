"""The `[prompt]` table of judge.toml: templates that stand in it or in files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jinja2 import TemplateError, meta

from calm.core.files import json_of
from calm.core.templates import NOTES, Message, Prompt
from calm.core.verdict import Scale, Task
from calm.errors import nearest
from calm.judges import prompts
from calm.judges.judgefile.keys import TEMPLATES
from calm.judges.judgefile.tables import Table, one_of
from calm.judges.prompts.sandbox import parsed
from calm.judges.reading import Format
from calm.models.transport import Provider

ROLES: Final = ("system", "user", "assistant")


def prompt_of(table: Table, task: Task | None, form: Format, scale: Scale, provider: Provider) -> Prompt | None:
    """Return the user's prompt, or the bundled one if there is none; None if anything is wrong with it."""
    before = len(table.problems)
    names: dict[str, str] = {}
    system, user = _template(table, "system", names), _template(table, "user", names)
    negative_system, negative_user = (
        _template(table, "negative_system", names),
        _template(table, "negative_user", names),
    )
    messages = _messages(table, provider, names)
    notes = one_of(NOTES, table.choice("notes"))
    _check_parts(table)
    if len(table.problems) > before or task is None:
        return None
    if messages is None and user is None:
        if notes is not None:
            table.say("notes", "the bundled prompt has a place for notes; take it out, or write a prompt")
        table.problems.extend(_unasked(table.path, form))
        return prompts.bundled(task, form.kind)
    negative = None
    if negative_system is not None or negative_user is not None:
        negative = _turns(system if negative_system is None else negative_system, negative_user or user or "")
    prompt = Prompt(messages or _turns(system, user or ""), negative, notes=notes or "question")
    problems = prompt_faults(prompt, task, scale, names)
    table.problems.extend(f"{table.path}: [prompt] {problem}" for problem in problems)
    return prompt


def prompt_faults(prompt: Prompt, task: Task, scale: Scale, names: Mapping[str, str]) -> list[str]:
    """
    Return what is wrong with a user's prompt, a line for each fault: a bad template, or nothing that shows the answers.

    `names` holds the file or key of each template, by its text, for the messages.
    """
    return _of_other_task(prompt, task) or prompts.check(prompt, task, scale, names=names) or _hidden(prompt, task)


def _of_other_task(prompt: Prompt, task: Task) -> list[str]:
    """Return what is wrong with a prompt that shows another number of answers than its task takes."""
    from calm.judges.prompts.borrowed import borrowed  # a judge with a bundled prompt needs it not

    counts = [borrowed(message.text).answers for message in (*prompt.messages, *(prompt.negative or ()))]
    if task in ("pairwise", "listwise") or all((count or 0) <= 1 for count in counts):
        return []
    return [f'task = "{task}" shows one answer, and the prompt shows two. Did you mean task = "pairwise"?']


def _unasked(path: Path, form: Format) -> list[str]:
    """Return what is read but not asked for: the bundled prompts have names of their own."""
    if form.parts:
        return [f"{path}: [verdict] parts: the bundled prompt asks for one verdict; take them out, or write a prompt"]
    given = {"json": ("field", form.field), "tag": ("tag", form.tag)}.get(form.kind)
    if given is None or given[1] == "verdict":
        return []
    key, name = given
    problem = f"the bundled prompt asks for 'verdict', got {key}={name!r}; take it out, or write a prompt"
    return [f"{path}: [verdict] {key}: {problem}"]


def _turns(system: str | None, user: str) -> tuple[Message, ...]:
    return ((Message("system", system),) if system is not None else ()) + (Message("user", user),)


def _template(table: Table, key: str, names: dict[str, str]) -> str | None:
    """Return a template that stands in the table or in a file."""
    text, found = table.text(key), table.file(f"{key}_file")
    if key in table.values and f"{key}_file" in table.values:
        table.say(key, f"{key} and {key}_file are both given; expected one of them")
    if found is not None:
        names[found[1]] = str(found[0])
        return found[1]
    if text is not None:
        names[text] = f"{key} in {table.path}"
    return text


def _check_parts(table: Table) -> None:
    given = {key.removesuffix("_file") for key in table.values if key in table.keys}
    for key in sorted(given & {*TEMPLATES}):
        if "messages" in given:
            table.say(key, "messages_file holds the whole prompt, so expected one of them")
        elif "user" not in given:
            table.say(key, "expected user or user_file beside it: without it the bundled prompt would be used")


def _messages(table: Table, provider: Provider, names: dict[str, str]) -> tuple[Message, ...] | None:
    """Return the turns of a messages_file, a JSON list of {"role": ..., "content": ...}."""
    found = table.file("messages_file")
    if found is None:
        return None
    path, text = found
    try:
        turns = json_of(text)
    except ValueError as error:
        table.say("messages_file", f"expected JSON in {path}: {error}")
        return None
    if not isinstance(turns, list) or not turns:
        table.say("messages_file", f'expected a list of {{"role": ..., "content": ...}} in {path}')
        return None
    messages = []
    for number, turn in enumerate(turns, start=1):
        fault = _turn_fault(turn)
        if fault:
            table.say("messages_file", f"{path}, message {number}: {fault}")
            continue
        messages.append(Message(turn["role"], turn["content"]))
        names[turn["content"]] = f"{path}, message {number}"
    if len(messages) < len(turns):
        return None
    if messages[-1].role != "user":
        table.say("messages_file", f"expected a last message of role 'user' in {path}, got {messages[-1].role!r}")
    first = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    if provider == "anthropic" and any(m.role == "system" for m in messages[first:]):
        table.say("messages_file", f"expected system messages before all others in {path}, as provider='anthropic'")
    return tuple(messages)


def _turn_fault(turn: object) -> str | None:
    if not isinstance(turn, dict):
        return f"expected an object with role and content, got {type(turn).__name__}"
    for key in turn:
        if key not in {"role", "content"}:
            return f"unknown key {key!r}{nearest(key, ('role', 'content'))}"
    role, content = turn.get("role"), turn.get("content")
    if role not in ROLES:
        return f"expected a role of {', '.join(ROLES)}, got role={role!r}"
    return None if isinstance(content, str) else f"expected a text as content, got {type(content).__name__}"


def _hidden(prompt: Prompt, task: Task) -> list[str]:
    """Return what the prompt must show and does not."""
    problems = []
    needed = ["answers", *{"rubric": ["criterion"], "rubric-all": ["criteria"]}.get(task, [])]
    for which, messages in (("prompt", prompt.messages), ("negative prompt", prompt.negative)):
        if messages is None:
            continue
        used = set().union(*(_variables(m.text) for m in messages))
        problems += [
            f"the {which} shows no {name}; expected {{{{ {name} }}}} or a loop over it in the user prompt"
            for name in needed
            if name not in used and not (name == "criteria" and "criterion" in used)
        ]
    return problems


def _variables(template: str) -> set[str]:
    tree = parsed(template)
    try:
        return set() if tree is None else meta.find_undeclared_variables(tree)
    except TemplateError:
        return set()
