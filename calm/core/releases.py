"""
Which releases of a package calm was written for, where it relies on more than the package promises.

A new major may rename what is relied on. It is refused by name before it is used, instead of failing strangely later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from calm.errors import ConfigError

NAME: Final = "calm-judge"
"""The name of the distribution. No command or message installs it by this name: anyone could take it in a registry."""

RELIED_ON: Final[Mapping[str, tuple[str, str]]] = {
    "openai": ("1.99.2", "4"),
    "anthropic": ("0.62", "3"),
    "httpx2": ("2", "3"),
    "genai-prices": ("0.0.50", "0.3"),
    "pytest": ("8.2", "10"),
}
"""The first release that fits, and the first that does not; the same bounds stand in pyproject.toml."""


def refuse_other_releases(*packages: str) -> None:
    """
    Return if all of these packages are installed in a release that calm was written for.

    Raises:
        ConfigError: one is not; the message has the release, the range and the command that installs one.
    """
    problems = [problem for package in packages if (problem := _problem(package))]
    if problems:
        raise ConfigError(problems)


def _problem(package: str) -> str:
    least, below = RELIED_ON[package]
    fix = f'pip install "{package}>={least},<{below}"'
    try:
        found = version(package)
    except PackageNotFoundError:
        return f"expected the package {package} >= {least} and < {below}, got none; {fix}"
    if _numbers(least) <= _numbers(found) < _numbers(below):
        return ""
    return (
        f"expected {package} >= {least} and < {below}, got {found}: calm relies on parts that may differ there; "
        f"{fix}, or update calm"
    )


def absent(name: str, error: ImportError) -> str:
    """
    Return that a package is not installed, or why it cannot be used although it is.

    >>> absent("wandb", ModuleNotFoundError("No module named 'wandb'", name="wandb"))
    'the package wandb is not installed'
    >>> absent("wandb", ImportError("a library is broken"))
    'the package wandb cannot be used (a library is broken)'
    """
    missing = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == name.partition(".")[0]
    return f"the package {name} {'is not installed' if missing else f'cannot be used ({error})'}"


def install(extra: str) -> str:
    """
    Return the command that installs the packages of an extra of calm, by their own names.

    >>> install("plots")
    'pip install "matplotlib>=3.9"'
    """
    try:
        found = [re.fullmatch(r"""(.+?) ?; ?extra == ['"](.+)['"]""", one) for one in requires(NAME) or ()]
    except PackageNotFoundError:
        found = []
    named = [f'"{one[1]}"' for one in found if one and one[2] == extra]
    return f"pip install {' '.join(named)}" if named else f'pip install -e ".[{extra}]" in the folder of calm'


def _numbers(release: str) -> tuple[int, ...]:
    """
    Return the numbers of a release; a pre-release counts as what it leads to.

    >>> _numbers("3.50.1"), _numbers("4.0.0rc1"), _numbers("4"), _numbers("2.post1")
    ((3, 50, 1), (4, 0, 0), (4,), (2,))
    """
    found = re.match(r"\d+(?:\.\d+)*", release)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
