"""The examples in the docstrings of `calm.statistics` are known values: they run."""

import doctest
import subprocess
import sys
from importlib import import_module

MODULES = [
    *("agreement", "intervals", "multiplicity", "paired", "power", "ratings", "sequential"),
]


def test_the_examples_hold(subtests):
    """Every doctest of the module passes, and there is at least one."""
    for name in MODULES:
        with subtests.test(name=name):
            found = doctest.testmod(import_module(f"calm.statistics.{name}"))

            assert found.failed == 0
            assert found.attempted > 0


def test_every_public_function_has_an_example(subtests):
    """Every public function of the module shows a value."""
    for name in MODULES:
        with subtests.test(name=name):
            module = import_module(f"calm.statistics.{name}")
            public = [
                thing
                for key, thing in vars(module).items()
                if not key.startswith("_") and callable(thing) and getattr(thing, "__module__", "") == module.__name__
            ]
            functions = [thing for thing in public if not isinstance(thing, type)]

            assert functions
            assert [f.__name__ for f in functions if ">>>" not in (f.__doc__ or "")] == []


def test_statistics_are_light_to_import():
    """Importing every module loads neither numpy nor scipy nor pandas."""
    lines = [f"import calm.statistics.{name}" for name in MODULES]
    code = "\n".join(["import sys", *lines, "print({'numpy', 'scipy', 'pandas'} & set(sys.modules))"])

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == "set()"
