"""
Where the command `calm` and pytest enter: an old package, unrelated to this one, has the import name `calm` too.

If that one is found instead of this one, there is one sentence instead of an error from its inside.
"""

import sys


def main() -> int:
    """Run the command that `sys.argv` names, and return its exit status; 4 if `calm` is another package."""
    if wrong := _another():
        sys.stderr.write(f"calm: {wrong}\n")
        return 4
    from calm.__main__ import main as command

    return command()


def __getattr__(name: str) -> object:
    """Return pytest's plugin under the name `plugin`."""
    if name != "plugin":
        raise AttributeError(f"module 'calm_judge' has no attribute {name!r}")
    if wrong := _another():
        sys.exit(f"calm: {wrong}")
    from calm import pytest_plugin

    return pytest_plugin


def _another() -> str:
    """Return what is wrong if `calm` is not the package that this module came with; nothing if it is."""
    try:
        from calm import BESIDE  # noqa: F401 - no other package has it
    except Exception:  # noqa: BLE001 - whatever that package raises
        from importlib.util import find_spec

        found = find_spec("calm")
        place = found and (found.origin or [*(found.submodule_search_locations or ())])
        return (
            f"expected the judge gate of this name, got another package that is called calm, too: {place}. If it is "
            "yours, or an older calm, rename it, or take it out of PYTHONPATH. If it was installed over this one, or a "
            "part of it was, remove both (pip uninstall calm calm-judge), and install this one again"
        )
    return ""
