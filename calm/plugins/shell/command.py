"""
`calm completion`: a script that completes commands, options, choices and files in a shell, without starting calm.

`calm schema`: the JSON Schema of a file that people write, for their editor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from re import fullmatch
from shlex import quote
from textwrap import shorten
from typing import Final, TypeAlias

from calm.commands import DONE, add_command
from calm.commands.cli import BEHIND, add_run_options, helps_of, verbs_of
from calm.core.plugins import hook

SHELLS: Final = ("bash", "zsh", "fish")
Words: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""
The words that can follow, each with what it means, by what stands before them.

That is a command ("" before the first); a command and an option that takes one of some values; or a command and `_`,
for what it takes without an option. The words behind a command that has no further ones begin with `-`.
"""
HERE: Final = "_"


def register_completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `calm completion`."""
    one = add_command(
        commands,
        "completion",
        "Print the completion script of a shell. It completes commands, options, their choices, and files. Write it "
        "anew after an update of calm. bash reads it from ~/.local/share/bash-completion/completions/calm, fish from "
        "~/.config/fish/completions/calm.fish, zsh from a file _calm in a folder of $fpath.",
        "calm completion fish",
    )
    one.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    one.set_defaults(run=_completion)


def _completion(options: argparse.Namespace) -> int:
    words = words_of(options.commands)
    made = _in_fish(words) if options.shell == "fish" else _in_sh(words)
    template = files("calm").joinpath("plugins", "shell", "data", f"calm.{options.shell}").read_text("utf-8")
    print(template.replace("@WORDS@", made), end="")
    return DONE


def words_of(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> Words:
    """Return the words of all commands."""
    found: dict[str, list[tuple[str, str]]] = {}
    _add_commands(commands, "", found, _values())
    return found


def _add_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    before: str,
    found: dict[str, list[tuple[str, str]]],
    values: Mapping[str, Callable[[], Sequence[str]]],
) -> None:
    said = helps_of(commands)
    found[before] = [(name, said.get(name, "")) for name in commands.choices]
    for name, parser in commands.choices.items():
        path = f"{before} {name}".lstrip()
        if (nested := verbs_of(parser)) is not None:
            _add_commands(nested, path, found, values)
            continue
        add_run_options(parser, path)
        found[path] = []
        for action in parser._actions:
            if action.help == argparse.SUPPRESS:
                continue
            known = [(value, "") for value in _choices(action, path, values)]
            found[path] += [(string, action.help or "") for string in action.option_strings]
            found.update({f"{path} {key}": known for key in (action.option_strings or [HERE]) if known})
        if path in BEHIND:
            found[f"{path} -k"] = [(suite, "") for suite in _suites()]


def _choices(action: argparse.Action, path: str, values: Mapping[str, Callable[[], Sequence[str]]]) -> Sequence[str]:
    """Return the values of an argument, if there are only some; `a|b` as its name shows them, too."""
    if action.choices is not None:
        return [str(one) for one in action.choices]
    name = str(action.metavar)
    if fullmatch(r"[a-z-]+(\|[a-z-]+)+", name):
        return name.split("|")
    called = action.option_strings[-1] if action.option_strings else HERE
    found = values.get(f"{path} {called}") or values.get(name)
    return found() if found else ()


def _values() -> Mapping[str, Callable[[], Sequence[str]]]:
    """Return what makes the values of arguments that the parser does not list: by the argument, or by its name."""
    from calm.core.edits import Expects
    from calm.core.verdict import TASKS
    from calm.engine.store import Mode
    from calm.gate.catalogue import entries, known_biases

    def edits() -> list[str]:
        return [f"{entry.module}.{entry.name}" for entry in entries()]

    def mitigations() -> list[str]:
        found = hook("mitigations")
        return [] if found is None else sorted(found.MITIGATIONS)

    return {
        "BIAS": lambda: sorted(known_biases()),
        "EXPECTS": lambda: [one.value for one in Expects],
        "MODE": lambda: [one.value for one in Mode],
        "TASK": lambda: TASKS,
        "perturb _": edits,
        "try --edit": edits,
        "try --against": edits,
        "mitigate --try": mitigations,
        "mitigate --together": mitigations,
    }


def _suites() -> list[str]:
    """Return what `-k` of pytest chooses a suite by."""
    names = sorted(file.name for file in files("calm.suites").iterdir())
    return [name[len("test_") : -len(".py")] for name in names if name.startswith("test_") and name.endswith(".py")]


def _lines(words: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{word}\t{shorten(said.replace('%%', '%'), 70, placeholder=' ...')}" for word, said in words]


def _in_sh(words: Words) -> str:
    """Return a function of bash and zsh that prints the words behind what stands before them."""
    cases = [f"    {quote(key)}) printf '%s\\n' {' '.join(map(quote, _lines(some)))} ;;" for key, some in words.items()]
    return "\n".join(["_calm_words() {", '    case "$1" in', *cases, "    esac", "}"])


def _in_fish(words: Words) -> str:
    """Return the same function of fish."""

    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    cases = [
        f"        case {quoted(key)}\n            printf '%s\\n' {' '.join(map(quoted, _lines(some)))}"
        for key, some in words.items()
    ]
    return "\n".join(["function __calm_words", '    switch "$argv[1]"', *cases, "    end", "end"])


KINDS: Final = ("judge", "gate", "case")


def register_schema(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `calm schema`."""
    one = add_command(
        commands,
        "schema",
        "Print the JSON Schema of a file, for an editor. Of judge.toml, of gate.toml, or of a case, which is one line "
        "of a case file. An editor with a TOML extension then completes keys and underlines faults, if the first line "
        "of judge.toml is: #:schema judge.schema.json",
        "calm schema judge",
    )
    one.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    one.set_defaults(run=_schema)


def _schema(options: argparse.Namespace) -> int:
    print(files("calm").joinpath("plugins", "shell", "data", f"{options.kind}.schema.json").read_text("utf-8"), end="")
    return DONE
