"""
Plug-ins: what packages beside the core give it, by the entry points of the group `calm.plugins`.

An entry point names a module of declarations (`hunt = "package.hunt"`), which imports nothing heavy. Its constants say
what the plug-in gives, each a mapping of a name to `"module:attribute"`, which is imported when it is first used:

| constant | by what name | what the attribute is |
|---|---|---|
| `COMMANDS` | a command, to a pair of its help and the attribute | `register(commands)`, which adds its parser |
| `JUDGES` | what stands before the colon, as `deepeval` | `judge(spec, *, keyless)`, which returns a judge |
| `RECORDED` | a set of `recorded:SET/MODEL` | `judge(spec)`, which returns a judge |
| `MITIGATIONS` | a mitigation in judge.toml | a `calm.plugins.mitigate.mitigations.Mitigation` |
| `CASES` | a format of `calm cases import --format` | `read(paths)`, which returns cases |
| `PAGES` | the schema of a record without its version | `page(record)`, which returns HTML |
| `EXPORTS` | a target of `calm report --to` | `open()`, which returns what sends a run, and `keeps_files` |
| `STORES` | what stands before `://` in a URL | `address(url, option, environment)`, which returns a `RecordAddress` |
| `HOOKS` | a place in the core that asks for it by that name | what that place says; also a whole `"module"` |

Nothing is read before a name is asked for that the core does not know itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from calm import BESIDE
from calm.core.releases import NAME
from calm.errors import CalmError, ConfigError

GROUP: Final = "calm.plugins"
KINDS: Final = ("COMMANDS", "JUDGES", "RECORDED", "MITIGATIONS", "CASES", "PAGES", "EXPORTS", "STORES", "HOOKS")


@dataclass(frozen=True, slots=True)
class Given:
    """A part of the core's that a plug-in gives: `target` is `"module:attribute"`, `package` the one to install."""

    name: str
    target: str
    plugin: str
    package: str
    help: str = ""

    def load(self) -> Any:
        """
        Return the attribute.

        Raises:
            ConfigError: it cannot be imported; the message names the package.
        """
        module, _, attribute = self.target.partition(":")
        try:
            found = import_module(module)
            return attrgetter(attribute)(found) if attribute else found
        except CalmError:
            raise
        except (Exception, SystemExit) as error:
            raise ConfigError(_broken(self.plugin, self.package, error)) from error


def given(kind: str) -> Mapping[str, Given]:
    """Return what the plug-ins give of a kind of `KINDS`, by its names; two that give one name give none."""
    return _read()[0][kind]


def find(kind: str, name: str) -> Given | None:
    """
    Return what a plug-in gives under a name; None if no plug-in does.

    Raises:
        ConfigError: two plug-ins give it, or none does and calm's own are not installed.
    """
    if clash := _read()[1].get((kind, name)):
        raise ConfigError(clash)
    if (found := given(kind).get(name)) is None and _STALE in troubles():
        raise ConfigError(_STALE)
    return found


def hook(name: str) -> Any:
    """Return what a plug-in gives for a place in the core; None if no plug-in is there."""
    found = find("HOOKS", name)
    return None if found is None else found.load()


def needed(name: str, what: str) -> Any:
    """
    Return what a plug-in gives for a place in the core that cannot do without.

    Raises:
        ConfigError: no plug-in gives it; `what` says what needs it.
    """
    if (found := hook(name)) is None:
        raise ConfigError([f"{what} needs a plug-in that gives {name!r}, and none is installed", *troubles()])
    return found


def troubles() -> tuple[str, ...]:
    """Return a line for each plug-in that cannot be imported, and for each name that two of them give."""
    _, clashes, broken = _read()
    return (*broken, *clashes.values())


def own() -> Mapping[str, str]:
    """Return the module of each of calm's own plug-ins, by name."""
    return {name: module for name, module, package in _declared() if package == NAME}


_STALE: Final = f"calm's own plug-ins are not installed: install {NAME} again (a checkout: pip install -e .)"


def _broken(plugin: str, package: str, error: BaseException) -> str:
    why = f"{type(error).__name__}: {error}"
    return f"the plug-in {plugin} of the package {package} cannot be imported ({why}); update or remove that package"


@lru_cache(maxsize=1)
def _read() -> tuple[Mapping[str, Mapping[str, Given]], Mapping[tuple[str, str], str], tuple[str, ...]]:
    """Return what is given by kind and name, what two plug-ins give with words on it, and what is wrong otherwise."""
    found: dict[str, dict[str, Given]] = {kind: {} for kind in KINDS}
    clashes: dict[tuple[str, str], str] = {}
    broken: list[str] = []
    declared = tuple(_declared())
    for plugin, module, package in declared:
        try:
            parts = [(kind, one) for kind in KINDS for one in _parts(kind, module, plugin, package)]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever that package raises, the others go on
            broken.append(_broken(plugin, package, error))
            continue
        for kind, one in parts:
            if (other := found[kind].setdefault(one.name, one)) is not one:
                clashes[kind, one.name] = (
                    f"two plug-ins give {one.name!r} of {kind}: {other.plugin} of the package {other.package}, and "
                    f"{one.plugin} of the package {one.package}; remove one of them"
                )
    for kind, name in clashes:
        del found[kind][name]
    ours = any(package == NAME for _, _, package in declared)
    if not ours and any(Path(__file__).parents[1].glob("plugins/*/__init__.py")):
        broken.append(_STALE)
    return found, clashes, tuple(broken)


def _declared() -> Iterator[tuple[str, str, str]]:
    """
    Yield the name, the module and the package of each plug-in.

    A checkout says its own in its pyproject.toml: what was installed may be older.
    """
    said = {}
    if BESIDE:  # a release looks at no project beside it
        with suppress(OSError, ValueError):
            said = tomllib.loads(Path(BESIDE[0], "pyproject.toml").read_text("utf-8")).get("project", {})
    here = said.get("name") == NAME
    if here:
        yield from ((name, module, NAME) for name, module in said.get("entry-points", {}).get(GROUP, {}).items())
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist is not None else "?"
        if not (here and package == NAME):
            yield point.name, point.module, package


def _parts(kind: str, module: str, plugin: str, package: str) -> Iterator[Given]:
    table = getattr(import_module(module), kind, {})
    if not isinstance(table, Mapping):
        raise TypeError(f"{module}.{kind}: expected a mapping, got {table!r}")
    for name, said in table.items():
        match ("", said) if kind != "COMMANDS" else said:
            case (str() as text, str() as target):
                yield Given(name, target, plugin, package, text)
            case _:
                wanted = "(help, 'module:attribute')" if kind == "COMMANDS" else "'module:attribute'"
                raise TypeError(f"{module}.{kind}[{name!r}]: expected {wanted}, got {said!r}")
