"""A run of the gate loads no more packages, calls no more functions and keeps no more objects than was measured."""

import json
import shutil

import pytest

from tests.weight.measured import ALLOWED, CASES, ROOT, faults, measured, weigh

HEAVY = ("scipy", "numpy", "pandas", "openai", "anthropic", "hypothesis")
AUTHORITY = ROOT / "suites" / "test_authority.py"
LONGER = 100_000
"""Characters of a long answer."""
AGAIN = "weigh anew if that is meant: python -m tests.weight.measured"


def test_a_run_is_no_heavier_than_it_was(tmp_path):
    """What is heavier is said by its name."""
    allowed = json.loads(ALLOWED.read_text("utf-8"))

    assert not {*HEAVY} & {*allowed["packages"]}
    assert list(faults(measured(tmp_path), allowed)) == [], AGAIN


@pytest.mark.slow
def test_the_default_gate_loads_none_of_the_heavy_packages(tmp_path):
    """All suites, on sixty bundled cases and the default judge."""
    found = weigh(tmp_path, 60, gate=("--pyargs", "calm.suites"))

    assert not {*HEAVY} & {*found["packages"]}


def test_a_package_that_comes_back_is_found(tmp_path):
    """In a copy whose report imports scipy."""
    copy = tmp_path / "copy"
    reports = copy / "reports"
    for folder in ("calm", "perturbations", "suites", "reports"):
        shutil.copytree(ROOT / folder, copy / folder)
    source = (reports / "probes.py").read_text("utf-8")
    (reports / "probes.py").write_text(source.replace("\nfrom calm.", "\nimport scipy.stats\nfrom calm.", 1), "utf-8")

    found = weigh(tmp_path, CASES[0], copy)

    known = json.loads(ALLOWED.read_text("utf-8"))
    said = list(faults({**found, "calls": {}, "objects": {}}, known))
    assert any("the package scipy is loaded" in one for one in said)
    assert not any("the package jinja2" in one for one in said)


def test_a_layer_and_a_copy_are_found():
    """A function that is new on the hot path, one that is called twice as often, and a copy kept of each judgment."""
    known = {"packages": [], "modules": 3, "calls": {"calm.a:f": 2.0, "calm.a:g": 50.0}, "objects": {"calm.a.Row": 1.0}}
    found = {
        "packages": ["tomlkit"],
        "modules": 4,
        "calls": {"calm.a:f": 4.0, "calm.b:layer": 1.0, "calm.a:g": 50.0},
        "objects": {"calm.a.Row": 2.0},
    }

    said = "\n".join(faults(found, known))

    for name in ("tomlkit", "4 modules", "calm.a:f", "calm.b:layer", "calm.a.Row", "calls a judgment in all"):
        assert name in said
    assert "calm.a:g" not in said
    assert list(faults(known, known)) == []


@pytest.mark.slow
def test_long_answers_are_held_once(tmp_path):
    """Not once for each edit and each ask: what a case more adds is its own answers, and a part of them for a while."""
    held = {}
    for count in (20, 30):
        folder = tmp_path / str(count)
        folder.mkdir()
        held[count] = weigh(folder, count, gate=(str(AUTHORITY),), longer=LONGER)["text"]

    assert (held[30] - held[20]) / 10 < 1.6 * 2 * LONGER, held
