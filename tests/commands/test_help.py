"""`calm COMMAND --help`: every command describes itself in plain sentences, with an example that parses."""

import argparse
import re
import shlex

import pytest

from calm.commands import cli
from calm.commands.cli import verbs_of


def parsers(parser, name="calm"):
    """Yield the name and the parser of each command that runs, those of two words included."""
    verbs = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not verbs:
        yield name, parser
    for action in verbs:
        for word, found in action.choices.items():
            yield from parsers(found, f"{name} {word}")


def test_every_command_has_a_description_and_an_example_that_parses():
    """The description has whole sentences, or ends with a line to copy; the example is one of that command."""
    for name, parser in parsers(cli._parser()):
        said, _, copied = parser.description.rpartition(":\n")
        assert (said and "\n" not in copied) or parser.description.endswith("."), name
        line = parser.epilog.removeprefix("example:\n  ")
        words = shlex.split(line)
        assert line.startswith(f"{name} ") or line == name
        own = words[1 : words.index("--")] if "--" in words else words[1:]
        cli._parser_for(own).parse_args(own)


def test_every_argument_has_a_name_and_says_what_it_is():
    """No argument of any command is left without help, or under a list of choices in place of a name."""
    for name, parser in parsers(cli._parser()):
        for action in parser._actions:
            assert action.help, (name, action)
            assert action.metavar or action.nargs == 0, (name, action)


def test_a_command_prints_its_help(capsys):
    """The help shows what the command does, and then the example on a line of its own."""
    with pytest.raises(SystemExit) as left:
        cli.main(["audit", "--help"])

    assert left.value.code == 0
    told = capsys.readouterr().out
    assert "Run all suites on a judge and write a report." in told
    assert "example:\n  calm audit judge.toml --sample 60 --max-usd 5\n" in told


def test_the_list_of_commands_has_a_line_of_80_columns_for_each_in_the_order_of_need(monkeypatch):
    """Those of the core come first, in their order, then those of plug-ins by name; none is left out or twice."""
    monkeypatch.setenv("COLUMNS", "80")
    parser = cli._parser()

    lines = parser.format_help().splitlines()

    shown = [line.split()[0] for line in lines if re.match(r"  [a-z]", line)]
    assert shown[: len(cli.CORE)] == [*cli.CORE]
    assert shown[len(cli.CORE) :] == sorted(set(verbs_of(parser).choices) - {*cli.CORE})
    assert [line for line in lines if len(line) > 80 or line.startswith(" " * 10)] == []


def test_the_line_of_a_command_is_the_beginning_of_its_description():
    """What the list of commands says without importing a command is what the command says of itself."""
    choices = verbs_of(cli._parser()).choices

    for name, text in choices.helps.items():
        assert " ".join(choices[name].description.split()).partition(". ")[0].rstrip(".").lower() == text.lower()
