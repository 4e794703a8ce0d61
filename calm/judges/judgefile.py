"""judge.toml -> a judge. Every fault of the file is found and told at once, before any call."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar, cast, get_args
from unicodedata import category

from jinja2 import Environment, TemplateError, meta

from calm.core.templates import FORMS, Message, Prompt
from calm.core.verdict import FAMILY, Family, Scale, Task
from calm.errors import ConfigError, nearest
from calm.judges import prompts, reading
from calm.judges.mitigations import MITIGATIONS, fault, mitigated, unfit
from calm.judges.panel import RULES, panel
from calm.judges.prompted import PromptedJudge
from calm.judges.reading import SYMBOLS, Format
from calm.models.address import Provider
from calm.models.secrets import Secrets
from calm.models.server import APIS, PROVIDERS, Server
from calm.models.settings import wrong_settings
from calm.models.transport import KEY_HEADERS, TRANSPORTS
from calm.models.wire import Json, Judge, Limits, Price

N = TypeVar("N", int, float)

TASKS: Final[tuple[Task, ...]] = get_args(Task)
ORDERS: Final = ("balanced", "as-given")
MEANINGS: Final[Mapping[Family, tuple[tuple[float, ...], tuple[str, ...]]]] = {
    "pairwise": ((), ("first", "second", "tie")),
    "score": ((), ()),
    "rubric": ((0, 1), ("met", "unmet")),
    "listwise": ((), ()),
}
"""The numbers and words that a label may stand for; without numbers: any."""
ROLES: Final = ("system", "user", "assistant")
TABLES: Final = ("judge", "model", "prompt", "verdict")

_UNSEEN: Final = frozenset({"Cc", "Zl", "Zp"})
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction in which a text is shown."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_OWN_BODY: Final = frozenset(
    {"model", "messages", "input", "system", "stream", "n", "max_tokens", "max_completion_tokens", "max_output_tokens"}
)
"""What `extra_body` must not hold: it would make the record of the run untrue, or the reply unreadable."""


def read_judge(path: Path, env: Mapping[str, str], *, keyless: bool = False) -> Judge:
    """
    Return the judge that a judge.toml describes, with the keys that `env` holds.

    A `keyless` one is for a replay: it is given no key, no variable need be set, and a live call is a `JudgeError`.

    Raises:
        ConfigError: one line for each fault, with file, key, what was expected and what came.
    """
    problems: list[str] = []
    document = _document(path)
    if "panel" in document:
        return _panel(path, document, env, keyless=keyless)
    for name, value in document.items():
        if name not in TABLES:
            problems.append(f"{path}: unknown table [{name}]{nearest(name, (*TABLES, 'panel'))}")
        elif not isinstance(value, dict):
            problems.append(f"{path}: expected a table [{name}], got {_shown(name, value)}")
    judge, model, prompt, verdict = (_Table(path, name, _dict(document.get(name)), problems) for name in TABLES)
    found = _judge(judge, model, prompt, verdict, None if keyless else env)
    for table in (judge, model, prompt, verdict):
        table.unknown()
    if problems or found is None:
        raise ConfigError(problems)
    return found


def _panel(path: Path, document: Mapping[str, object], env: Mapping[str, str], *, keyless: bool) -> Judge:
    """Return the panel that a file describes: its members are judge files beside it."""
    problems: list[str] = []
    for name in document:
        if name not in ("judge", "panel"):
            known = "; a panel has no model and no prompt of its own" if name in TABLES else nearest(name, ("judge",))
            problems.append(f"{path}: expected [judge] and [panel] alone, got a table [{name}]{known}")
    judge, table = (_Table(path, name, _dict(document.get(name)), problems) for name in ("judge", "panel"))
    own_name = judge.line("name")
    names, weights = table.get("members"), table.get("weights")
    rule = table.choice("rule", RULES) or "majority"
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        table.say("members", f'expected a list of judge files such as ["a.toml", "b.toml"], got {names!r}')
        names = []
    numbers = weights if isinstance(weights, list) else [] if weights is None else [None]
    if not all(isinstance(weight, int | float) and not isinstance(weight, bool) for weight in numbers):
        table.expected("weights", "a list of numbers")
    for one in (judge, table):
        one.unknown()
    members: list[Judge] = []
    for name in names:
        file = path.parent / name
        try:
            if "panel" in _document(file):
                table.say("members", f"expected judges, got the panel {name!r}; name its members in its place")
            else:
                members.append(read_judge(file, env, keyless=keyless))
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(problems)
    try:
        return panel(members, rule, [float(cast("float", w)) for w in numbers], own_name or "")
    except ConfigError as error:
        raise ConfigError([f"{path}: [panel] {problem}" for problem in error.problems]) from error


def _document(path: Path) -> dict[str, object]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); expected a judge.toml") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8, got the byte {error.object[error.start]:#04x}") from error
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _shown(name: str, value: object) -> str:
    text = f"{name}={value!r}"
    return text if len(text) <= 100 else f"{text[:97]}..."


@dataclass(slots=True)
class _Table:
    """One table of the file, that notes which keys were asked for and what is wrong with them."""

    path: Path
    name: str
    values: dict[str, object]
    problems: list[str]
    known: list[str] = field(default_factory=list)

    def say(self, key: str, problem: str) -> None:
        self.problems.append(f"{self.path}: [{self.name}] {key}: {problem}")

    def expected(self, key: str, what: str) -> None:
        self.say(key, f"expected {what}, got {_shown(key, self.values[key])}")

    def unknown(self) -> None:
        for key in self.values:
            if key not in self.known:
                self.problems.append(f"{self.path}: [{self.name}] {key}: unknown key{nearest(key, self.known)}")

    def get(self, key: str) -> object:
        self.known.append(key)
        return self.values.get(key)

    def text(self, key: str, *, required: bool = False, blank: bool = False) -> str | None:
        value = self.get(key)
        if value is None:
            if required:
                self.say(key, "missing; expected a text")
            return None
        if isinstance(value, str) and (blank or value.strip()):
            return value
        self.expected(key, "a text in quotes" if not isinstance(value, str) else "a text that is not blank")
        return None

    def line(self, key: str, *, required: bool = False) -> str | None:
        """Return a text that is shown as it is: one line, without what moves a terminal's cursor or turns its text."""
        text = self.text(key, required=required)
        odd = sorted({f"U+{ord(c):04X}" for c in text or "" if category(c) in _UNSEEN or c in _TURNING})
        if odd:
            self.say(key, f"expected a text without control characters, got {key} with {', '.join(odd)}; take them out")
            return None
        return text

    def choice(self, key: str, choices: Iterable[str], *, required: bool = False) -> str | None:
        names = tuple(choices)
        value = self.get(key)
        if value is None:
            if required:
                self.say(key, f"missing; expected one of {', '.join(names)}")
            return None
        if isinstance(value, str) and value in names:
            return value
        hint = nearest(value, names) if isinstance(value, str) else f"; known: {', '.join(names)}"
        self.say(key, f"unknown value, got {_shown(key, value)}{hint}")
        return None

    def number(self, key: str, *, least: float = -math.inf, above: float = -math.inf) -> float | None:
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value) if abs(value) < 1e300 else math.inf
            if math.isfinite(number) and number >= least and number > above:
                return number
        bound = f" of at least {least:g}" if least > -math.inf else f" above {above:g}" if above > -math.inf else ""
        self.expected(key, f"a number{bound}")
        return None

    def count(self, key: str) -> int | None:
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53:
            return value
        self.expected(key, "a whole number above 0")
        return None

    def table(self, key: str) -> _Table | None:
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, dict):
            return _Table(self.path, f"{self.name}.{key}", value, self.problems)
        self.expected(key, "a table such as { name = value }")
        return None

    def texts(self, key: str) -> dict[str, str]:
        found = self.table(key)
        if found is None:
            return {}
        pairs = {name: found.text(name) for name in found.values}
        return {name: text for name, text in pairs.items() if text is not None}

    def file(self, key: str) -> tuple[Path, str] | None:
        """Return the path and the text of the file that a key names, line ends and all."""
        name = self.text(key)
        if name is None:
            return None
        path = self.path.parent / name
        try:
            return path, path.read_bytes().decode("utf-8")
        except OSError as error:
            self.say(key, f"the file {path} cannot be read ({error.strerror}); paths are relative to judge.toml")
        except UnicodeDecodeError as error:
            self.say(key, f"expected the file {path} in UTF-8, got the byte {error.object[error.start]:#04x}")
        except ValueError as error:
            self.say(key, f"expected the name of a file, got {_shown(key, name)} ({error})")
        return None


# ----------------------------------------------------------------------------------------------------------- the whole


def _judge(
    judge: _Table, model: _Table, prompt: _Table, verdict: _Table, env: Mapping[str, str] | None
) -> Judge | None:
    """Return the judge, or None if anything is wrong, after reading every key."""
    name = judge.line("name", required=True)
    task = _one(TASKS, judge.choice("task", TASKS, required=True))
    family = judge.line("family")
    mitigations = _mitigations(judge, task)
    form, schema = _format(verdict, task)
    scale = _scale(verdict, task)
    if task == "score":
        for label, value in form.values.items():
            if not isinstance(value, str) and not scale.holds(value):
                verdict.say("values", f"expected a number on the scale, got {_shown(label, value)}")
    server = _server(model, env, schema, logprobs=form.kind == "logprobs")
    for key, problem in wrong_settings(server):
        (verdict if key == "format" else model).say(key, problem)
    templates = _prompt(prompt, task, form, scale, server.provider)
    as_given = prompt.choice("order", ORDERS) == "as-given"
    if judge.problems or name is None or task is None or templates is None:
        return None
    made = PromptedJudge(name, task, scale, templates, form, server, schema, as_given, family)
    try:
        return mitigated(made, mitigations, lambda spec: _other(judge, spec, env))
    except ConfigError as error:
        for problem in error.problems:
            judge.problems.append(f"{judge.path}: [judge] mitigations: {problem.removeprefix('mitigations: ')}")
        return None


def _other(judge: _Table, spec: str, env: Mapping[str, str] | None) -> Judge:
    """Return a further judge that a mitigation names; its path is relative to judge.toml."""
    path = judge.path.parent / spec
    if path.resolve() == judge.path.resolve():
        raise ConfigError(f"mitigations: {spec!r} is this judge itself; expected the judge.toml of another one")
    return read_judge(path, env or {}, keyless=env is None)


C = TypeVar("C", bound=str)


def _one(known: tuple[C, ...], name: str | None) -> C | None:
    return next((k for k in known if k == name), None)


def _mitigations(judge: _Table, task: Task | None) -> tuple[str, ...]:
    value = judge.get("mitigations")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        judge.expected("mitigations", f"a list of names (known: {', '.join(sorted(MITIGATIONS))})")
        return ()
    for name in value:
        if problem := fault(name):
            judge.say("mitigations", problem)
        elif task is not None and (problem := unfit(name, task)):
            judge.say("mitigations", f"{problem}; take it out")
    if len(set(value)) < len(value):
        judge.expected("mitigations", "each name once")
    return tuple(value)


# ----------------------------------------------------------------------------------------------------------- [model]


def _server(
    model: _Table, env: Mapping[str, str] | None, schema: Mapping[str, Json] | None, *, logprobs: bool
) -> Server:
    """Return the server that the table describes; what is wrong with it is noted, and left out."""
    provider = _one(PROVIDERS, model.choice("provider", PROVIDERS, required=True)) or "openai"
    base_url = model.text("base_url")
    headers = model.texts("headers")
    headers_env = model.texts("headers_env")
    key_name = model.text("api_key_env")
    limits = Limits(model.count("concurrency") or Limits().concurrency, model.count("rpm"), model.count("tpm"))
    for name in {h.lower() for h in headers} & {h.lower() for h in headers_env}:
        model.say("headers_env", f"the header {name!r} stands in headers, too; expected it in one of them")
    for name in (*headers, *headers_env):
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            model.say("headers", f"expected the name of a header, got {name!r}")
    server = Server(
        provider=provider,
        model=model.line("model", required=True) or "",
        base_url=base_url,
        api_key_env=key_name,
        headers=headers,
        headers_env=headers_env,
        query=model.texts("query"),
        extra_body=_extra_body(model),
        max_tokens=model.count("max_tokens") or 4096,
        temperature=model.number("temperature", least=0),
        timeout_s=model.number("timeout_s", above=0) or 120.0,
        limits=limits,
        price=_price(model),
        served_as=model.line("served_as"),
        schema=schema,
        logprobs=logprobs,
        keyless=env is None,
        transport=_one(TRANSPORTS, model.choice("transport", TRANSPORTS)) or "fast",
    )
    return replace(server, secrets=_secrets(model, env, server))


def _secrets(model: _Table, env: Mapping[str, str] | None, server: Server) -> Secrets:
    values = {name: _value(model, "headers_env", variable, env) for name, variable in server.headers_env.items()}
    known = {name: value for name, value in values.items() if value is not None}
    key_name = server.api_key_env
    authorised = KEY_HEADERS & {name.lower() for name in (*server.headers, *server.headers_env)}
    chosen = model.values.get("provider") == server.provider and "api_key_env" not in model.values
    if key_name is None and chosen and server.own and not authorised:
        key_name = APIS[server.provider].key_name  # no other server than the provider's own is given its key unasked
    key = None if key_name is None else _value(model, "api_key_env", key_name, env)
    return Secrets(key, known)


def _value(model: _Table, key: str, variable: str, env: Mapping[str, str] | None) -> str | None:
    """Return the value of a variable; what does not look like its name is never shown, as it may be the key itself."""
    words = variable.count("_") + 1
    odd = variable != variable.upper() and (len(variable) > 30 or (words == 1 and len(variable) > 15))
    if odd or not _VARIABLE.fullmatch(variable):
        model.say(key, "expected the name of an environment variable, such as 'OPENAI_API_KEY', never the key itself")
        return None
    if env is None:
        return None
    value = env.get(variable)
    if value is None or not value.strip():
        state = "is not set" if value is None else "is empty"
        model.say(key, f"the environment variable {variable!r} {state}; set it, or name another one")
        return None
    return value.strip()


def _extra_body(model: _Table) -> dict[str, Json]:
    table = model.table("extra_body")
    if table is None:
        return {}
    for name in sorted(_OWN_BODY & set(table.values)):
        model.say("extra_body", f"{name!r} is not for extra_body; expected only what calm does not set or read itself")
    found: dict[str, Json] = {}
    for name, value in table.values.items():
        if _is_json(value):
            found[name] = json.loads(json.dumps(value))
        else:
            model.say("extra_body", f"expected what JSON can hold, got {_shown(name, value)}; dates go in quotes")
    return found


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_json(v) for v in value.values())
    if isinstance(value, list):
        return all(_is_json(v) for v in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int | bool)


def _price(model: _Table) -> Price | None:
    table = model.table("price_usd_per_mtok")
    if table is None:
        return None
    prices = {name: table.number(name, least=0) for name in ("input", "output")}
    for name in prices:
        if name not in table.values:
            table.say(name, "missing; expected US dollars for a million tokens")
    table.unknown()
    put, got = prices["input"], prices["output"]
    return None if put is None or got is None else Price(put, got, model.path.name)


# --------------------------------------------------------------------------------------------------------- [verdict]


def _format(verdict: _Table, task: Task | None) -> tuple[Format, dict[str, Json] | None]:
    """Return how the reply is read, and the schema that it is asked for in."""
    kind = _one(FORMS, verdict.choice("format", FORMS)) or "brackets"
    texts = {key: verdict.text(key) for key in ("field", "tag", "pattern")}
    schema = _schema(verdict)
    for key, owner in (("field", "json"), ("schema_file", "json"), ("tag", "tag"), ("pattern", "regex")):
        if key in verdict.values and kind != owner:
            verdict.say(key, f"is for format = {owner!r} only, got format={kind!r}; take it out, or change the format")
    if kind == "regex" and "pattern" not in verdict.values:
        verdict.say("pattern", "missing; expected a regular expression with one group, such as 'Verdict: (A|B)'")
    form = Format(
        kind=kind,
        field=texts["field"] or "verdict",
        tag=texts["tag"] or "verdict",
        pattern=texts["pattern"] or "",
        values=_values(verdict, task),
    )
    if kind != "regex" or texts["pattern"] is not None:
        _say_problems(verdict, reading.check(form, task or "pairwise"))
    return form, schema


def _say_problems(verdict: _Table, problems: Iterable[str]) -> None:
    for problem in problems:
        key, _, what = problem.removeprefix("verdict.").partition(": ")
        verdict.say(key, what)


def _schema(verdict: _Table) -> dict[str, Json] | None:
    found = verdict.file("schema_file")
    if found is None:
        return None
    path, text = found
    try:
        schema = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        verdict.say("schema_file", f"expected JSON in {path}: {error}")
        return None
    if not isinstance(schema, dict):
        verdict.say("schema_file", f"expected a JSON object in {path}, got {type(schema).__name__}")
        return None
    return schema


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _values(verdict: _Table, task: Task | None) -> dict[str, float | str]:
    table = verdict.table("values")
    if table is None:
        return {}
    numbers, words = MEANINGS[FAMILY[task]] if task else ((), SYMBOLS)
    found: dict[str, float | str] = {}
    for label, value in table.values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if number and (not numbers or value in numbers) and task != "pairwise":
            found[label] = float(cast("float", value))
        elif isinstance(value, str) and value in words:
            found[label] = value
        else:
            known = [*(f"{n:g}" for n in numbers), *(repr(w) for w in words)] or ["a number"]
            note = f", as the task is {task!r}" if task else ""
            table.expected(label, f"{' or '.join(known)}{note}")
    return found


def _scale(verdict: _Table, task: Task | None) -> Scale:
    """Return the scale of a score; points have a scale of their own, and other tasks none."""
    table = verdict.table("scale")
    own = Scale(0.0, 1.0) if task == "points" else Scale()
    if table is None:
        return own
    if task not in {"score", None}:
        verdict.say("scale", f"is for task = 'score' only, got task={task!r}; take it out")
    low, high, step = table.number("low"), table.number("high"), table.number("step", above=0)
    best = table.choice("best", ("high", "low")) or "high"
    table.unknown()
    scale = Scale(
        own.low if low is None else low, own.high if high is None else high, step, "low" if best == "low" else "high"
    )
    if scale.low >= scale.high:
        table.say("low", f"expected less than high, got low={scale.low:g}, high={scale.high:g}")
    elif not scale.holds(scale.high):
        table.say(
            "step",
            f"expected steps that lead from low to high, got step={step:g}, low={scale.low:g}, high={scale.high:g}",
        )
    return scale


# ---------------------------------------------------------------------------------------------------------- [prompt]


def _prompt(table: _Table, task: Task | None, form: Format, scale: Scale, provider: Provider) -> Prompt | None:
    """Return the user's prompt, or the bundled one if there is none; None if anything is wrong with it."""
    before = len(table.problems)
    names: dict[str, str] = {}
    system, user = _template(table, "system", names), _template(table, "user", names)
    negative_system, negative_user = (
        _template(table, "negative_system", names),
        _template(table, "negative_user", names),
    )
    messages = _messages(table, provider, names)
    _check_parts(table)
    if len(table.problems) > before or task is None:
        return None
    if messages is None and user is None:
        table.problems.extend(_unasked(table.path, form))
        return prompts.bundled(task, form.kind)
    negative = None
    if negative_system is not None or negative_user is not None:
        negative = _turns(system if negative_system is None else negative_system, negative_user or user or "")
    prompt = Prompt(messages=messages or _turns(system, user or ""), negative=negative)
    problems = prompts.check(prompt, task, scale, names=names) or _hidden(prompt, task)
    table.problems.extend(f"{table.path}: [prompt] {problem}" for problem in problems)
    return prompt


def _unasked(path: Path, form: Format) -> list[str]:
    """Return what is read but not asked for: the bundled prompts have names of their own."""
    given = {"json": ("field", form.field), "tag": ("tag", form.tag)}.get(form.kind)
    if given is None or given[1] == "verdict":
        return []
    key, name = given
    problem = f"the bundled prompt asks for 'verdict', got {key}={name!r}; take it out, or write a prompt"
    return [f"{path}: [verdict] {key}: {problem}"]


def _turns(system: str | None, user: str) -> tuple[Message, ...]:
    return ((Message("system", system),) if system is not None else ()) + (Message("user", user),)


def _template(table: _Table, key: str, names: dict[str, str]) -> str | None:
    """Return a template that stands in the table or in a file."""
    text, found = table.text(key, blank=key.endswith("system")), table.file(f"{key}_file")
    if key in table.values and f"{key}_file" in table.values:
        table.say(key, f"stands beside {key}_file; expected one of them")
    if found is not None:
        names[found[1]] = str(found[0])
        return found[1]
    if text is not None:
        names[text] = f"{key} in {table.path}"
    return text


def _check_parts(table: _Table) -> None:
    given = {key.removesuffix("_file") for key in table.values if key in table.known}
    for key in sorted(given & {"system", "user", "negative_system", "negative_user"}):
        if "messages" in given:
            table.say(key, "stands beside messages_file, which holds the whole prompt; expected one of them")
        elif "user" not in given:
            table.say(key, "expected user or user_file beside it: without it the bundled prompt would be used")


def _messages(table: _Table, provider: Provider, names: dict[str, str]) -> tuple[Message, ...] | None:
    """Return the turns of a messages_file, a JSON list of {"role": ..., "content": ...}."""
    found = table.file("messages_file")
    if found is None:
        return None
    path, text = found
    try:
        turns = json.loads(text)
    except (ValueError, RecursionError) as error:
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
    try:
        return meta.find_undeclared_variables(Environment(autoescape=False).parse(template))  # noqa: S701 - not rendered
    except TemplateError:
        return set()
