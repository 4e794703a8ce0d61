"""Options of a run under their short names: `calm audit --sample 60` is `pytest --calm-sample=60`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Final

TAKEN: Final[Mapping[str, tuple[str, ...]]] = {
    "audit": (),
    "batch write": ("sample", "seed", "repeats", "stopping", "every-variant", "peers", "families"),
    "plan": ("seed", "stopping", "every-variant", "peers", "families"),
    "mitigate": ("seed", "stopping"),
}
"""Commands that run tests, and the options which mean something to them beside their own; none named: all."""
_OWN: Final = ("judge", "cases")
"""What every such command takes in a way of its own."""
_KEPT: Final = "run_"
"""How the names begin under which their values are kept."""


def add_run_options(parser: ArgumentParser, command: str) -> None:
    """
    Add the options of a run to a command that takes some; those of the command itself stay as they are.

    They are declared with pytest's, whose import takes long: so only the command that runs gets them.
    """
    if command not in TAKEN:
        return
    from calm.pytest_plugin.options import FLAGS, OPTIONS

    known = {string for action in parser._actions for string in action.option_strings}
    wanted = TAKEN[command]
    parser.usage = "%(prog)s JUDGE [options] [-- options of pytest]"
    group = parser.add_argument_group("options of the run, as of pytest without `calm-`")
    for name, _, takes, text in OPTIONS:
        if name not in _OWN and f"--{name}" not in known and (not wanted or name in wanted):
            group.add_argument(f"--{name}", dest=_dest(name), metavar=takes, help=_short(text))
            parser.add_argument(f"--calm-{name}", dest=_dest(name), metavar=takes, help=SUPPRESS)
    for name, text in FLAGS:
        if f"--{name}" not in known and (not wanted or name in wanted):
            group.add_argument(f"--{name}", dest=_dest(name), action="store_true", help=_short(text))
            parser.add_argument(f"--calm-{name}", dest=_dest(name), action="store_true", help=SUPPRESS)


def given_to_pytest(options: Namespace) -> list[str]:
    """Return what was given of them, as pytest takes it."""
    found = []
    for name, value in vars(options).items():
        if name.startswith(_KEPT) and value not in (None, False):
            option = f"--calm-{name.removeprefix(_KEPT).replace('_', '-')}"
            found.append(option if value is True else f"{option}={value}")
    return found


def _dest(name: str) -> str:
    return f"{_KEPT}{name.replace('-', '_')}"


def _short(text: str) -> str:
    return text.replace("--calm-", "--").replace("%", "%%")
