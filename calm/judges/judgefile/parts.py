"""The parts of a judge file: its model, its prompt and its verdict."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Final, cast

from jinja2 import TemplateError, meta

from calm.core.classes import Classes, checked
from calm.core.edits import (
    FORMS,
    NOTES,
    QUESTIONS,
    Message,
    Prompt,
)
from calm.core.files import json_of
from calm.core.verdict import FAMILY, Family, Scale, Task
from calm.errors import ConfigError, closest, nearest
from calm.judges import prompts, reading
from calm.judges.judgefile.tables import (
    HEADER,
    KEYS,
    ONE_FORMAT,
    OWN_BODY,
    PARTED,
    PARTED_TASKS,
    TEMPLATES,
    VARIABLE,
    Table,
    dict_of,
    one_of,
    shown,
)
from calm.judges.prompts.sandbox import parsed
from calm.judges.reading import SYMBOLS, Format, Kind, Part
from calm.judges.reading.formats import NOTHING
from calm.models.apis import APIS, MUTE, PROVIDERS, Provider
from calm.models.secrets import Secrets
from calm.models.server import BATCH_SHARE, Server
from calm.models.transport import KEY_HEADERS, TRANSPORTS
from calm.models.wire import Json, Limits, Price

CACHE_READ: Final = 0.1
CACHE_WRITE: Final = 1.25
"""What Anthropic asks for a token that its cache gives or takes, as a multiple of the price of a token of a prompt."""


def server_of(
    model: Table, env: Mapping[str, str] | None, schema: Mapping[str, Json] | None, *, logprobs: bool
) -> Server:
    """Return the server that the table describes; what is wrong with it is noted, and left out."""
    provider = one_of(PROVIDERS, model.choice("provider")) or "openai"
    base_url = model.text("base_url")
    headers = model.texts("headers")
    headers_env = model.texts("headers_env")
    query, query_env = model.texts("query"), model.texts("query_env")
    key_name = model.text("api_key_env")
    limits = Limits(model.count("concurrency") or Limits().concurrency, model.count("rpm"), model.count("tpm"))
    for name in {h.lower() for h in headers} & {h.lower() for h in headers_env}:
        model.say("headers_env", f"the header {name!r} is in headers, too; expected it in one of them")
    for name in query.keys() & query_env.keys():
        model.say("query_env", f"the parameter {name!r} is in query, too; expected it in one of them")
    for name in (*headers, *headers_env):
        if not re.fullmatch(HEADER, name):
            model.say("headers", f"expected the name of a header, got {name!r}")
    server = Server(
        provider=provider,
        model=model.line("model") or "",
        base_url=base_url,
        api_key_env=key_name,
        headers=headers,
        headers_env=headers_env,
        query=query,
        query_env=query_env,
        extra_body=_extra_body(model),
        max_tokens=_max_tokens(model, provider),
        temperature=model.number("temperature"),
        timeout_s=model.number("timeout_s") or 120.0,
        limits=limits,
        price=_price(model),
        batch_share=_batch_share(model),
        served_as=model.line("served_as"),
        context_window=model.count("context_window"),
        prompt_cache=model.truth("prompt_cache"),
        schema=schema,
        logprobs=logprobs,
        greeting=model.truth("greeting") is not False,
        keyless=env is None,
        transport=one_of(TRANSPORTS, model.choice("transport")) or "fast",
    )
    return replace(server, secrets=_secrets(model, env, server))


def _max_tokens(model: Table, provider: Provider) -> int:
    given = model.count("max_tokens")
    if provider not in MUTE:
        return given or 4096
    for key in ("max_tokens", "temperature"):
        if key in model.values:
            model.say(key, "a decision model writes no text; take it out")
    return 0


def _secrets(model: Table, env: Mapping[str, str] | None, server: Server) -> Secrets:
    values = {name: _value(model, "headers_env", variable, env) for name, variable in server.headers_env.items()}
    known = {name: value for name, value in values.items() if value is not None}
    key_name = server.api_key_env
    authorised = KEY_HEADERS & {name.lower() for name in (*server.headers, *server.headers_env)}
    chosen = model.values.get("provider") == server.provider and "api_key_env" not in model.values
    if key_name is None and chosen and server.own and not authorised:
        key_name = APIS[server.provider].key_name  # no other server than the provider's own is given its key unasked
    key = None if key_name is None else _value(model, "api_key_env", key_name, env)
    asked = {name: _value(model, "query_env", variable, env) for name, variable in server.query_env.items()}
    return Secrets(key, known, {name: value for name, value in asked.items() if value is not None})


def _value(model: Table, key: str, variable: str, env: Mapping[str, str] | None) -> str | None:
    if not re.fullmatch(VARIABLE, variable):
        model.say(key, "expected the name of an environment variable, such as 'OPENAI_API_KEY', never the key itself")
        return None
    if env is None:
        return None
    value = env.get(variable)
    if value is None or not value.strip():
        state = "is not set" if value is None else "is empty"
        model.say(
            key, f"the environment variable {variable!r} {state}{meant(variable, env)}; set it, or name another one"
        )
        return None
    return value.strip()


def meant(variable: str, env: Mapping[str, str]) -> str:
    """
    Return which variable that is set has this name but for one letter more or less, or in another place, as a question.

    Nothing of a value; and no name with another letter in it, which may be the key of another maker.
    """
    close = closest(variable, [name for name, value in env.items() if value.strip() and name != variable], ALMOST)
    one, other = Counter(variable), Counter(close)
    return f" (did you mean {close}?)" if close and ((one - other) | (other - one)).total() <= 1 else ""


def _extra_body(model: Table) -> dict[str, Json]:
    table = model.table("extra_body")
    if table is None:
        return {}
    for name in sorted(OWN_BODY & set(table.values)):
        model.say("extra_body", f"{name!r} is not for extra_body; expected only what calm does not set or read itself")
    found: dict[str, Json] = {}
    for name, value in table.values.items():
        if _is_json(value):
            found[name] = json.loads(json.dumps(value))
        else:
            model.say("extra_body", f"expected what JSON can hold, got {shown(name, value)}; dates go in quotes")
    return found


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_json(v) for v in value.values())
    if isinstance(value, list):
        return all(_is_json(v) for v in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int | bool)


def _batch_share(model: Table) -> float:
    table = model.values.get("price_usd_per_mtok")
    share = table.get("batch") if isinstance(table, dict) else None
    if isinstance(share, int | float) and not isinstance(share, bool):
        return float(share)
    return 1.0 if model.values.get("provider") in MUTE else BATCH_SHARE  # no batch API takes its questions


def _price(model: Table) -> Price | None:
    table = model.table("price_usd_per_mtok")
    if table is None:
        return None
    put, got, _, read, write = (table.number(one) for one in ("input", "output", "batch", "cache_read", "cache_write"))
    table.unknown()
    if put is None or got is None:
        return None
    if model.values.get("provider") == "anthropic":
        read, write = CACHE_READ * put if read is None else read, CACHE_WRITE * put if write is None else write
    return Price(put, got, model.path.name, read=read, write=write)


ALMOST: Final = 0.85
"""How much alike the names of two variables are of which one is meant: KITCHN_KEY and KITCHEN_KEY are 0.95."""
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
    if provider in MUTE and system is not None and user is None and task is not None and task in reading.TYPES:
        user = prompts.state(task)
    notes = one_of(NOTES, table.choice("notes"))
    _check_parts(table, alone=user is not None)
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
    from calm.judges.prompts.foreign import borrowed  # a judge with a bundled prompt needs it not

    counts = [borrowed(message.text).answers for message in (*prompt.messages, *(prompt.negative or ()))]
    if task in ("pairwise", "listwise") or all((count or 0) <= 1 for count in counts):
        return []
    return [f'task = "{task}" shows one answer, and the prompt shows two. Did you mean task = "pairwise"?']


def _unasked(path: Path, form: Format) -> list[str]:
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
    text, found = table.text(key), table.file(f"{key}_file")
    if key in table.values and f"{key}_file" in table.values:
        table.say(key, f"{key} and {key}_file are both given; expected one of them")
    if found is not None:
        names[found[1]] = str(found[0])
        return found[1]
    if text is not None:
        names[text] = f"{key} in {table.path}"
    return text


def _check_parts(table: Table, *, alone: bool) -> None:
    given = {key.removesuffix("_file") for key in table.values if key in table.keys}
    for key in sorted(given & {*TEMPLATES}):
        if "messages" in given:
            table.say(key, "messages_file holds the whole prompt, so expected one of them")
        elif not alone and "user" not in given:
            table.say(key, "expected user or user_file beside it: without it the bundled prompt would be used")


def _messages(table: Table, provider: Provider, names: dict[str, str]) -> tuple[Message, ...] | None:
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
    problems = []
    needed = ["answers", *{"rubric": ["criterion"], "rubric-all": ["criteria"]}.get(task, [])]
    for which, messages in (("prompt", prompt.messages), ("negative prompt", prompt.negative)):
        if messages is None:
            continue
        used = set().union(*(_variables(m.text) for m in messages))
        lacking = [name for name in needed if name not in used and not (name == "criteria" and "criterion" in used)]
        if lacking and (plain := _plain("\n".join(m.text for m in messages))):
            problems.append(f"the {which} shows no {' and no '.join(lacking)}: {plain}")
            continue
        problems += [
            f"the {which} shows no {name}; expected {{{{ {name} }}}} or a loop over it in the user prompt"
            for name in lacking
        ]
    return problems


def _plain(text: str) -> str:
    """Return what to do about placeholders of other tools, such as {answer}; nothing if there is none."""
    from calm.judges.prompts.foreign import Style, placeholders  # a judge with a bundled prompt needs it not

    styles: tuple[Style, ...] = ("dollar", "angle", "single")
    for style in styles:
        write = {
            one.written: f"{{{{ {one.expression} }}}}" for one in placeholders(text, style) if one.role is not None
        }
        if write:
            return (
                f"{', '.join(write)} {'is' if len(write) == 1 else 'are'} plain text here, as `calm init` alone reads "
                f"such placeholders; write {', '.join(write.values())}, or let it do so: calm init --prompt FILE"
            )
    return ""


def _variables(template: str) -> set[str]:
    tree = parsed(template)
    try:
        return set() if tree is None else meta.find_undeclared_variables(tree)
    except TemplateError:
        return set()


MEANINGS: Final[Mapping[Family, tuple[tuple[float, ...], tuple[str, ...]]]] = {
    "pairwise": ((), ("first", "second", "tie")),
    "score": ((), ()),
    "rubric": ((0, 1), ("met", "unmet")),
    "listwise": ((), ()),
    "label": ((), ()),
}
"""The numbers and words that a label may stand for; without numbers: any."""


def classes_of(document: Mapping[str, object], path: Path, task: Task | None, problems: list[str]) -> Classes | None:
    """Return the classes that the table `[labels]` of a file names; None if there are none, which is noted."""
    given = document.get("labels")
    table = Table(path, "labels", dict_of(given), problems, KEYS["labels"])
    if task not in ("label", None):
        if given is not None:
            problems.append(f"{path}: [labels] is for task = 'label' only, got task={task!r}; take it out")
        return None
    if given is None and task is None:
        return None
    if not isinstance(given, dict):
        example = 'classes = ["ungrounded", "grounded"]'
        problems.append(f"{path}: expected a table [labels] with the classes, as the task is 'label'; write {example}")
        return None
    table.unknown()
    more = {key: table.values[key] for key in KEYS["labels"] if key in table.values and key != "classes"}
    try:
        return checked(table.values.get("classes", []), **more)
    except ConfigError as error:
        for problem in error.problems:
            key, _, what = problem.partition(": ")
            table.say(key, what)
        return None


def format_of(
    verdict: Table, task: Task | None, classes: Classes | None = None, *, decides: bool = False
) -> tuple[Format, dict[str, Json] | None]:
    """Return how the reply is read, and the schema that it is asked for in; whether a decision model `decides`."""
    kind = one_of(FORMS, verdict.choice("format")) or (_usual_question(task) if decides else "brackets")
    if decides != (kind in QUESTIONS):
        known = ", ".join(QUESTIONS if decides else [form for form in FORMS if form not in QUESTIONS])
        verdict.say("format", f"expected one of {known} with this provider, got format={kind!r}")
        kind = _usual_question(task) if decides else "brackets"
    schema = _schema(verdict)
    if "parts" in verdict.values or "formula" in verdict.values:
        if schema is not None and kind != "json":
            verdict.say("schema_file", f"is for format = 'json' only, got format={kind!r}; take it out")
        return _of_parts(verdict, kind, task), schema
    texts = {key: verdict.text(key) for key in ("field", "tag", "pattern")}
    for key, owner in ONE_FORMAT.items():
        if key in verdict.values and kind != owner:
            verdict.say(key, f"is for format = {owner!r} only, got format={kind!r}; take it out, or change the format")
    if kind == "regex" and "pattern" not in verdict.values:
        verdict.say("pattern", "missing; expected a regular expression with one group, such as 'Verdict: (A|B)'")
    form = Format(
        kind=kind,
        field=texts["field"] or "verdict",
        tag=texts["tag"] or "verdict",
        pattern=texts["pattern"] or "",
        values=_values(verdict, task, classes),
    )
    if kind != "regex" or texts["pattern"] is not None:
        say_problems(verdict, reading.check(form, task or "pairwise"))
    return form, schema


def _usual_question(task: Task | None) -> Kind:
    return reading.TYPES.get(task or "pairwise", ("choice",))[0]


def _of_parts(verdict: Table, kind: Kind, task: Task | None) -> Format:
    for key in ("field", "tag", "pattern"):
        if key in verdict.values:
            verdict.say(key, "each part has its own; take it out, or move it into [verdict.parts]")
    if task is not None and task not in PARTED_TASKS:
        verdict.say("parts", f"is for the tasks score and pairwise only, got task={task!r}; take it out")
    if kind not in PARTED:
        verdict.say("format", f"expected one of {', '.join(PARTED)} with [verdict.parts], got format={kind!r}")
    values = _values(verdict, "score", None)
    table = verdict.table("parts")
    parts = {} if table is None else {name: _part(table, name, kind, values) for name in table.values}
    formula = verdict.text("formula") or (reading.TWO_SCORES if task == "pairwise" else "")
    if "parts" not in verdict.values or (table is not None and not parts):
        verdict.say("parts", "missing; expected a name for each number, such as { facts = { label = 'Facts' } }")
    elif not formula and "formula" not in verdict.values:
        verdict.say("formula", f"missing; expected arithmetic on the parts, such as '{' + '.join(parts)}'")
    elif formula and parts:
        for problem in reading.formula_problems(formula, parts):
            verdict.say("formula", problem)
    found = {name: part for name, part in parts.items() if part is not None}
    for one, other in permutations((part.label for part in found.values() if part.label), 2):
        if f" {other.casefold()}".endswith(f" {one.casefold()}"):
            verdict.say("parts", f"a line {other!r} is also one {one!r}; give the parts labels that do not end alike")
            break
    return Format(kind, values=values, formula=formula, parts=found)


def _part(parts: Table, name: str, kind: Kind, values: Mapping[str, float | str]) -> Part | None:
    table = parts.table(name, "verdict.parts.NAME")
    if table is None:
        return None
    own = PARTED.get(kind, "label")
    for key in ("field", "tag", "pattern", "label"):
        if key in table.values and key != own:
            table.say(key, f"a part has {own!r} with format = {kind!r}; write that, or change the format")
    text = table.text(own, required=kind == "regex") or name
    if not name.isidentifier() or keyword.iskeyword(name) or name in reading.FUNCTIONS:
        table.say(name, "expected a name of letters, digits and _, other than a word such as min, if or class")
    pattern = text if kind == "regex" else reading.labelled(text, kind) if own == "label" else ""
    form = Format("regex" if own == "label" else kind, field=text, tag=text, pattern=pattern, values=values)
    if own in table.values or kind != "regex":
        say_problems(table, reading.check(form, "score"))
    scale = _range(table, Scale(0, 1) if "[]" in form.field else Scale(-math.inf, math.inf))
    table.unknown()
    return Part(form, scale, text if own == "label" else "")


def say_problems(verdict: Table, problems: Iterable[str]) -> None:
    """Note problems that begin with the key of `[verdict]` that they are about."""
    for problem in problems:
        key, _, what = problem.removeprefix("verdict.").partition(": ")
        verdict.say(key, what)


def _schema(verdict: Table) -> dict[str, Json] | None:
    found = verdict.file("schema_file")
    if found is None:
        return None
    path, text = found
    try:
        schema = json_of(text, parse_constant=_no_constant)
    except ValueError as error:
        verdict.say("schema_file", f"expected JSON in {path}: {error}")
        return None
    if not isinstance(schema, dict):
        verdict.say("schema_file", f"expected a JSON object in {path}, got {type(schema).__name__}")
        return None
    return schema


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _values(verdict: Table, task: Task | None, classes: Classes | None) -> dict[str, float | str]:
    table = verdict.table("values")
    if table is None:
        return {}
    numbers, words = MEANINGS[FAMILY[task]] if task else ((), SYMBOLS)
    if classes is not None:
        words = classes.names
    words = (*words, NOTHING)
    found: dict[str, float | str] = {}
    for label, value in table.values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if number and (not numbers or value in numbers) and task not in ("pairwise", "label"):
            found[label] = float(cast("float", value))
        elif isinstance(value, str) and value in words:
            found[label] = value
        else:
            any_number = ["a number"] if not numbers and task not in ("pairwise", "label", None) else []
            known = [*any_number, *(f"{n:g}" for n in numbers), *(repr(word) for word in words)]
            note = f", as the task is {task!r}" if task and "parts" not in verdict.values else ""
            table.expected(label, f"{' or '.join(known)}{note}")
    return found


def scale_of(verdict: Table, task: Task | None, classes: Classes | None = None) -> Scale:
    """Return the scale of a score, or one of classes; points have a scale of their own, and other tasks none."""
    table = verdict.table("scale")
    share = task == "score" and "[]" in str(verdict.get("field"))
    own = Scale(0.0, 1.0) if task == "points" or share else Scale(classes=classes)
    if table is None:
        return own
    if task not in {"score", None}:
        verdict.say("scale", f"is for task = 'score' only, got task={task!r}; take it out")
    scale = _range(table, own)
    best = table.choice("best") or "high"
    table.unknown()
    return replace(scale, best="low" if best == "low" else "high")


def _range(table: Table, own: Scale) -> Scale:
    low, high, step = table.number("low"), table.number("high"), table.number("step")
    scale = Scale(own.low if low is None else low, own.high if high is None else high, step)
    if step is not None and math.isinf(scale.high - scale.low):
        table.say("step", "expected low and high beside it")
        return replace(scale, step=None)
    if scale.low >= scale.high:
        table.say("low", f"expected less than high, got low={scale.low:g}, high={scale.high:g}")
    elif not scale.holds(scale.high):
        table.say(
            "step",
            f"expected steps that lead from low to high, got step={step:g}, low={scale.low:g}, high={scale.high:g}",
        )
    return scale
