"""`calm completion`: the script of each shell completes commands, options, choices and files."""

import argparse
import os
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import redirect_stdout

import pytest

from calm.commands import cli
from calm.commands.cli import verbs_of
from calm.plugins.shell.command import SHELLS, words_of

LINES = {
    "calm au": {"audit"},
    "calm cases ": {"import", "generate", "fewer", "check"},
    "calm audit --sa": {"--sample", "--sarif"},
    "calm lint --task pa": {"pairwise"},
    "calm audit --cache of": {"off"},
    "calm audit judge.toml --limits ": {"suites", "attainable"},
    "calm perturb authority.cite_b": {"authority.cite_book"},
    "calm perturb --list --bias posi": {"position"},
    "calm audit judge.toml -- -k posi": {"position"},
    "calm schema ": {"judge", "gate", "case"},
    "calm report -o x --format sa": {"sarif"},
}
"""What stands on a line before the key that completes it, and what may follow."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """Write the script of each shell into a folder, with two files to complete."""
    folder = tmp_path_factory.mktemp("shells")
    for shell in SHELLS:
        with (folder / f"calm.{shell}").open("w") as out, redirect_stdout(out):
            options = cli._options_of(["completion", shell])
            assert options.run(options) == 0
    (folder / "judge one.toml").touch()
    return folder


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_every_command_option_and_choice_is_a_word():
    """The script holds all that the parser of calm takes, but for what no help shows."""
    commands = verbs_of(cli._parser())

    words = {key: {word for word, _ in some} for key, some in words_of(commands).items()}

    def check(parser, path):
        nested = verbs_of(parser)
        for name, inner in {} if nested is None else nested.choices.items():
            assert name in words[path]
            check(inner, f"{path} {name}".strip())
        for action in parser._actions if nested is None else ():
            if action.help != argparse.SUPPRESS:
                assert {*action.option_strings} <= words[path]
                for key in action.option_strings or ["_"] if action.choices else ():
                    assert words[f"{path} {key}"] == {*map(str, action.choices)}

    check(cli._parser(), "")
    assert "--max-usd" in words["audit"]


def test_bash(scripts):
    """bash is asked by its own variables; `=` is a word of its own there; a file is left to readline."""
    asked = "".join(
        f"COMP_WORDS=({line if line[-1] != ' ' else line + chr(39) * 2}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        '_calm; echo "${COMPREPLY[*]}"\n'
        for line in [*LINES, "calm lint --task = pa", "calm audit judge"]
    )

    told = run(scripts, "bash", "--norc", "-c", f"source calm.bash\n{asked}").split("\n")

    assert [set(line.split()) for line in told[:-1]] == [*LINES.values(), {"pairwise"}, set()]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
def test_fish(scripts):
    """fish says what it would complete, each with what it means."""
    for line, expected in {
        **LINES,
        "calm lint --task=pa": {"--task=pairwise"},
        "calm audit j": {"judge one.toml"},
    }.items():
        told = run(scripts, "fish", "--no-config", "-c", f"source calm.fish; complete -C '{line}'")
        assert {one.partition("\t")[0] for one in told.splitlines()} == expected


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
@pytest.mark.parametrize("line", [*LINES, "calm lint --task=pa", "calm audit judge"])
def test_zsh(scripts, line):
    """zsh completes at a terminal: one word is written, of several it lists each with what it means."""
    expected = {**LINES, "calm lint --task=pa": {"pairwise"}, "calm audit judge": {"judge\\ one.toml"}}[line]

    told = at_terminal(scripts, line)

    typed = re.split(r"[ =]", line)[-1]
    assert [word for word in expected if word.removeprefix(typed if len(expected) == 1 else "") not in told] == []


def at_terminal(folder, line):
    """Return what zsh shows after a line and its key."""
    import pty  # there is none on Windows

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "60"})
    try:
        os.write(terminal, b"autoload -Uz compinit; compinit -u -D; LISTMAX=999; source calm.zsh; echo REA''DY\n")
        read_until(terminal, b"READY\r\n")
        os.write(terminal, line.encode())
        read_until(terminal, line.encode()[-2:])
        time.sleep(0.5)  # a key that comes with others is a pasted one
        os.write(terminal, b"\t")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", read_until(terminal, None).decode())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def read_until(terminal, wanted):
    """Return what a terminal shows, up to some bytes, or until it is silent."""
    shown = b""
    while (wanted is None or wanted not in shown) and select.select([terminal], [], [], 3 if wanted is None else 30)[0]:
        shown += os.read(terminal, 65536)
    return shown
