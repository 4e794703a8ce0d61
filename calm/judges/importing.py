"""An object that a user names as `package.module:attribute`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from calm.errors import ConfigError, nearest
from calm.judges.traces import in_short, place_of


def imported(spec: str, module: str, attribute: str, *, wanted: Callable[[object], bool]) -> object:
    """
    Return an attribute of a module, which may lie in the current folder; `spec` is what the user wrote.

    Of the names that a message lists, each is of an object that is `wanted`.

    Raises:
        ConfigError: there is no such module or attribute, or importing it failed.
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:  # as `python -m pytest` does, for the `calm` commands
        sys.path.insert(0, here)
    try:
        return _attribute(importlib.import_module(module), attribute, wanted)
    except ModuleNotFoundError as error:
        raise ConfigError(f"--calm-judge {spec}: {_no_module(module, error.name or module)}") from error
    except ConfigError as error:
        raise ConfigError([f"--calm-judge {spec}: {problem}" for problem in error.problems]) from error
    except (Exception, SystemExit) as error:  # whatever the user's module does on import is the user's to read
        raise ConfigError(f"--calm-judge {spec}: importing it failed: {in_short(error)} ({place_of(error)})") from error
    finally:
        if added:
            sys.path.remove(here)


def _no_module(module: str, missing: str) -> str:
    """Return what to do about a module that is not there: that of the judge, or one that it imports itself."""
    if missing != module and not module.startswith(f"{missing}."):
        return f"there is no module {missing!r}, which it imports; install it"
    if module.endswith(".py"):
        return f"there is no module {module!r}; write it without .py: {module.removesuffix('.py').replace('/', '.')}"
    package, _, _ = missing.rpartition(".")
    parent = sys.modules.get(package)
    places = [str(Path.cwd())] if not package else list(getattr(parent, "__path__", ()))
    there = [f"{package}.{one.name}".lstrip(".") for one in pkgutil.iter_modules(places)]
    close = get_close_matches(missing, there, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "run calm in the folder that holds it, or install it"
    return f"there is no module {missing!r}; {hint}"


def _attribute(found: object, path: str, wanted: Callable[[object], bool]) -> object:
    """Return what a path of names leads to; a `ConfigError` with the nearest wanted name if one is not there."""
    for name in path.split("."):
        if not hasattr(found, name):
            known = [one for one in dir(found) if not one.startswith("_") and wanted(getattr(found, one, None))]
            where = getattr(found, "__name__", type(found).__name__)
            raise ConfigError(f"{where!r} has no attribute {name!r}{nearest(name, known) if known else ''}")
        found = getattr(found, name)
    return found
