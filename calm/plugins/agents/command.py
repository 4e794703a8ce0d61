"""`calm mcp` and `calm skill`: what agents that work for people audit a judge with."""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final

from calm.commands import DONE, add_command
from calm.errors import ConfigError

NAME: Final = "audit-llm-judge"
"""The name of the skill, and of its folder: agents expect them to be the same."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `mcp` and `skill`."""
    served = add_command(
        commands,
        "mcp",
        "Serve agents with tools to audit a judge. They plan, try and audit a judge, and explain a finding. The server "
        "speaks the Model Context Protocol on standard input and output, and reads paths relative to the folder in "
        "which it starts.",
        "calm mcp",
    )
    served.set_defaults(run=_serve)
    skill = add_command(
        commands,
        "skill",
        "Write a skill for coding agents. It says how to audit the prompt of a judge with calm, and what not to do.",
        "calm skill .claude/skills",
    )
    skill.add_argument(
        "folder", metavar="FOLDER", type=Path, help="the agent's folder of skills: .claude/skills, .agents/skills, ..."
    )
    skill.set_defaults(run=_skill)


def _serve(_: argparse.Namespace) -> int:
    """
    Serve until the client closes the input.

    Raises:
        ConfigError: the package of the protocol is not installed.
    """
    try:
        from calm.plugins.agents import server as mcp_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        from calm.core.releases import install

        raise ConfigError(f"calm mcp needs the package mcp, release 2 or later: {install('mcp')}") from error
    if sys.stdin.isatty():
        print("calm mcp waits for an agent, which starts it by itself; Ctrl-D ends it", file=sys.stderr)
    mcp_server.serve(Path.cwd())
    return DONE


def _skill(options: argparse.Namespace) -> int:
    from calm.results.outputs import Form, begins, write_whole
    from calm.results.wording import printable

    target = options.folder / NAME / "SKILL.md"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{target.parent}: this folder cannot be made: {error.strerror}") from error
    text = files("calm").joinpath("plugins", "agents", "data", "SKILL.md").read_text("utf-8")
    write_whole(target, [text], Form("the skill of calm", (".md",), begins(f"---\nname: {NAME}\n")))
    print(printable(f"wrote {target}"))
    return DONE
