"""A judge.toml as a whole: a judge, with its mitigations, or a panel of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from calm.core.plugins import needed
from calm.core.verdict import TASKS, Task
from calm.errors import ConfigError, nearest
from calm.judges import reading
from calm.judges.judgefile.parts import classes_of, format_of, prompt_of, say_problems, scale_of, server_of
from calm.judges.judgefile.tables import KEYS, OF_PANEL, TABLES, Table, as_meant, dict_of, one_of, read_document, shown
from calm.judges.prompted import PromptedJudge
from calm.models.apis import MUTE
from calm.models.server import Server, wrong_settings
from calm.models.wire import Json, Judge


def read_judge(path: Path, env: Mapping[str, str], *, keyless: bool = False) -> Judge:
    """
    Return the judge that a judge.toml describes, with the keys that `env` holds.

    A `keyless` one is for a replay: it is given no key, no variable need be set, and a live call is a `JudgeError`.

    Raises:
        ConfigError: one line for each fault, with file, key, what was expected and what came.
    """
    problems: list[str] = []
    document = read_document(path)
    if "panel" in document:
        return _panel(path, document, env, keyless=keyless)
    if "recorded" in document:
        from calm.judges.judgefile.recorded import replay_of  # each kind of judge imports its own parts

        return replay_of(path, document)
    for name, value in document.items():
        if name not in (*TABLES, "labels"):
            problems.append(f"{path}: unknown table [{name}]{nearest(name, (*TABLES, 'labels', 'panel', 'recorded'))}")
        elif not isinstance(value, dict):
            problems.append(f"{path}: expected a table [{name}], got {shown(name, value)}")
    document = as_meant(document, (*TABLES, "labels"))
    judge, model, prompt, verdict = (
        Table(path, name, dict_of(document.get(name)), problems, KEYS[name]) for name in TABLES
    )
    found = _judge(judge, model, prompt, verdict, None if keyless else env, document=document)
    for table in (judge, model, prompt, verdict):
        table.unknown()
    if problems or found is None:
        raise ConfigError(problems)
    return found


def remembered(spec: str) -> list[str]:
    """
    Return the files of cases that a judge.toml names with `cases` in `[judge]`, as paths from where we are.

    A run that is given no other ones asks about these. None for any other judge, and for a file that cannot be read:
    who reads it as a judge says why.
    """
    path = Path(spec)
    if path.suffix != ".toml" or not path.is_file():
        return []
    try:
        judge = Table(path, "judge", dict_of(read_document(path).get("judge")), [])
    except ConfigError:
        return []
    return [str(path.parent / name) for name in judge.names("cases")]


def endpoint_of(model: Mapping[str, Json], env: Mapping[str, str] | None, where: str) -> Server:
    """
    Return the server that a [model] table describes, with the keys that `env` holds; `where` names the table's place.

    Without an `env` it has no keys, and no variable need be set.

    Raises:
        ConfigError: one line for each fault.
    """
    problems: list[str] = []
    table = Table(Path(where), "model", dict(model), problems, KEYS["model"])
    found = server_of(table, env, None, logprobs=False)
    if problems:
        raise ConfigError(problems)
    return found


def _panel(path: Path, document: Mapping[str, object], env: Mapping[str, str], *, keyless: bool) -> Judge:
    from calm.judges.panel import panel

    problems: list[str] = []
    for name, value in document.items():
        if name not in ("judge", "panel"):
            known = "; a panel has no model and no prompt of its own" if name in TABLES else nearest(name, ("judge",))
            problems.append(f"{path}: expected [judge] and [panel] alone, got a table [{name}]{known}")
        elif not isinstance(value, dict):
            problems.append(f"{path}: expected a table [{name}], got {shown(name, value)}")
    judge = Table(path, "judge", dict_of(document.get("judge")), problems, OF_PANEL)
    table = Table(path, "panel", dict_of(document.get("panel")), problems, KEYS["panel"])
    own_name = judge.line("name")
    judge.names("cases")
    names, weights = table.get("members"), table.get("weights")
    rule = table.choice("rule") or "majority"
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
            if "panel" in read_document(file):
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


def _judge(
    judge: Table,
    model: Table,
    prompt: Table,
    verdict: Table,
    env: Mapping[str, str] | None,
    *,
    document: Mapping[str, object],
) -> Judge | None:
    name = judge.line("name")
    task = one_of(TASKS, judge.choice("task"))
    family = judge.line("family")
    judge.names("cases")
    mitigations = _mitigations(judge, task)
    classes = classes_of(document, judge.path, task, judge.problems)
    decides = model.get("provider") in MUTE
    form, schema = format_of(verdict, task, classes, decides=decides)
    scale = scale_of(verdict, task, classes)
    if decides and task is not None:
        say_problems(verdict, reading.faults(form, task, scale))
    if task == "score" and not form.parts:
        for label, value in form.values.items():
            if not isinstance(value, str) and not scale.holds(value):
                verdict.say("values", f"expected a number on the scale, got {shown(label, value)}")
    server = server_of(model, env, schema, logprobs=form.kind == "logprobs")
    for key, problem in wrong_settings(server):
        (verdict if key == "format" else model).say(key, problem)
    templates = prompt_of(prompt, task, form, scale, server.provider)
    as_given = prompt.choice("order") == "as-given"
    if judge.problems or name is None or task is None or templates is None:
        return None
    made = PromptedJudge(name, task, scale, templates, form, server, schema, as_given, family)
    if not mitigations:
        return made
    try:
        judged: Judge = needed("mitigations", "[judge] mitigations").mitigated(made, mitigations, _Beside(judge, env))
        return judged
    except ConfigError as error:
        for problem in error.problems:
            judge.problems.append(f"{judge.path}: [judge] mitigations: {problem.removeprefix('mitigations: ')}")
        return None


@dataclass(frozen=True, slots=True)
class _Beside:
    """Makes the further judges that a mitigation names; paths are relative to judge.toml."""

    judge: Table
    env: Mapping[str, str] | None

    @property
    def folder(self) -> Path:
        return self.judge.path.parent

    def __call__(self, spec: str) -> Judge:
        path = self.folder / spec
        if path.resolve() == self.judge.path.resolve():
            raise ConfigError(f"mitigations: {spec!r} is this judge itself; expected the judge.toml of another one")
        return read_judge(path, self.env or {}, keyless=self.env is None)


def _mitigations(judge: Table, task: Task | None) -> tuple[str, ...]:
    value = judge.get("mitigations")
    if value is None or value == []:
        return ()
    try:
        known = needed("mitigations", "[judge] mitigations")
    except ConfigError as error:
        judge.problems += [f"{judge.path}: {problem}" for problem in error.problems]
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        judge.expected("mitigations", f"a list of names (known: {', '.join(sorted(known.MITIGATIONS))})")
        return ()
    for name in value:
        if problem := known.fault(name):
            judge.say("mitigations", problem)
        elif task is not None and (problem := known.unfit(name, task)):
            judge.say("mitigations", f"{problem}; take it out")
    if len(set(value)) < len(value):
        judge.expected("mitigations", "each name once")
    return tuple(value)
