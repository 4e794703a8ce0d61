"""The public names: one list, importable, and free of charge."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import calm

SOURCE = Path(calm.__file__)
HEAVY = ("scipy", "numpy", "pandas", "openai", "anthropic", "jinja2", "pytest", "httpx2", "genai_prices")


def test_every_public_name_can_be_imported(subtests):
    """By attribute, and as `from calm import name`."""
    for name in calm.__all__:
        with subtests.test(name=name):
            scope = {}

            exec(f"from calm import {name}", scope)

            assert scope[name] is getattr(calm, name)


def test_type_checkers_see_the_same_names():
    """The imports under TYPE_CHECKING are those of the list, each from the module where it is found at run time."""
    tree = ast.parse(SOURCE.read_text())
    guarded = [n for block in tree.body if isinstance(block, ast.If) for n in block.body]

    seen = {alias.asname: node.module for node in guarded for alias in node.names}

    assert {*seen, "__version__"} == set(calm.__all__)
    assert seen == {name: f"calm.{module}" for name, module in calm._HOME.items()}
    assert all(alias.asname == alias.name for node in guarded for alias in node.names)


def test_the_list_is_sorted_and_without_doubles():
    """So that a new name has one place."""
    assert sorted(set(calm.__all__)) == calm.__all__
    assert dir(calm) == calm.__all__


def test_every_public_name_is_told_about():
    """Classes and functions have a docstring."""
    undocumented = [n for n in calm.__all__ if callable(getattr(calm, n)) and not getattr(calm, n).__doc__]

    assert undocumented == []


def test_an_unknown_name_is_an_attribute_error():
    """As of any module; private modules are not offered."""
    with pytest.raises(AttributeError, match="module 'calm' has no attribute 'net_robustnes'"):
        _ = calm.net_robustnes


def loaded(statement):
    """Return the modules that are loaded after a statement, in a fresh interpreter."""
    script = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_importing_calm_loads_nothing_else():
    """Nothing of its own beside the package, and no other package; a pytest run that does not use it pays nothing."""
    found = loaded("import calm")

    assert {m for m in found if m.startswith("calm")} == {"calm"}
    assert not found & set(HEAVY)


def test_writing_suites_and_perturbations_loads_nothing_heavy():
    """All public names, and still no numbers, no SDK, no pytest."""
    found = loaded(f"from calm import {', '.join(n for n in calm.__all__ if n != '__version__')}")

    assert not found & set(HEAVY)


def test_the_gate_itself_loads_no_sdk_and_no_pandas():
    """Engine, experiment, audit and probe: what a run needs before it asks anything."""
    found = loaded(
        "import calm.engine.engine, calm.experiment.run, calm.results.audit, calm.gate.probe, calm.results.wording, "
        "calm.engine.store, calm.models.pricing"
    )

    assert not found & set(HEAVY)
