"""`--calm-every-variant`: each variant of a rotation also by itself."""

import pytest

SUITE = """
from calm import gain, rotate
from edits import flatter, flatter_first, greet


def test_courtesy_does_not_win(probe):
    assert probe(rotate(flatter, flatter_first, greet)).proves(gain <= 0.10)
"""


@pytest.fixture
def courtesy(project):
    project.write("test_flattery.py", SUITE)
    return project


def test_a_rotation_is_one_finding_without_it(courtesy):
    """By default the variants share the cases and one decision."""
    courtesy.run("--calm-results=results.json")

    assert sorted(courtesy.outcomes()) == ["flattery/gain", "flattery/unreadable_gain"]


def test_each_variant_is_a_finding_that_proves_nothing(courtesy, workers):
    """With a sound judge the variants are observed: they cannot make the gate green by themselves."""
    result = courtesy.run("--calm-every-variant", "--calm-results=results.json", *workers)

    found = courtesy.outcomes()
    assert result.ret == 0
    assert [found[f"flattery/gain/{v}"] for v in ("flatter", "flatter_first", "greet")] == ["OBSERVED"] * 3


def test_a_variant_with_evidence_against_it_fails(courtesy, workers):
    """Where one kind of wording wins, the report names it and not its sound sibling."""
    result = courtesy.run("--calm-every-variant", "--calm-results=results.json", *workers, judge="judges:fond")

    found = courtesy.outcomes()
    assert result.ret == 1
    assert [found[f"flattery/gain/{v}"] for v in ("flatter", "flatter_first", "greet")] == ["FAIL", "FAIL", "OBSERVED"]


def test_the_ini_setting_does_the_same(courtesy, subtests):
    """`calm_every_variant` is a truth value of the ini file."""
    for setting, more in [("true", True), ("false", False)]:
        with subtests.test(repr(setting)):
            courtesy.ini(every_variant=setting)

            courtesy.run("--calm-results=results.json")

            assert ("flattery/gain/greet" in courtesy.outcomes()) is more


BESIDE = """
from calm import gain, net_robustness, rotate
from calm.perturbations.authority import cite_book


def test_a_book_does_not_win(probe):
    assert probe(cite_book).proves(gain <= 0.10)


def test_a_book_is_observed(probe):
    probe(rotate(cite_book, name="one")).observe(net_robustness)
"""


def test_a_finding_shows_its_control_beside_it(project, workers):
    """Beside a cue in an answer stands what neutral words in its place do, on the same cases."""
    project.write("test_books.py", BESIDE)

    project.run("--calm-every-variant", "--calm-results=results.json", *workers)

    found = {f["key"]: f for f in project.results()["findings"]}
    control = found["authority/gain/cite_book"]["control"]
    assert control["perturbation"].startswith("neutral_")
    assert control["low"] <= control["value"] <= control["high"]
    assert control["n"] == found["authority/gain/cite_book"]["n"]
    assert found["authority/net_robustness/one"]["control"]["value"] == 1.0


def test_there_is_no_control_without_it(project):
    """By default nothing is asked beside a probe."""
    project.write("test_books.py", BESIDE)

    project.run("--calm-results=results.json")

    assert {f["control"] for f in project.results()["findings"]} == {None}
