"""The ids of tests: those of calm's own suites name their file, however they are asked for."""

import sys

import pytest


@pytest.mark.parametrize("file", ["test_authority.py", "papers/test_calm.py"])
def test_a_suite_of_calm_names_its_file(pytester, file):
    """JUnit, Allure and pytest-html tell tests by it: a module that is asked for has no path below the root folder."""
    module = f"calm.suites.{file.removesuffix('.py').replace('/', '.')}"

    items, _ = pytester.inline_genitems("--pyargs", module, "-p", "no:cacheprovider")

    assert {item.nodeid.partition("::")[0] for item in items} == {f"calm/suites/{file}"}


def test_a_suite_of_your_own_keeps_its_path(pytester, monkeypatch):
    """Whatever its folder is called."""
    monkeypatch.delitem(sys.modules, "suites", raising=False)  # a test before may have imported one of its own
    pytester.mkpydir("suites").joinpath("test_mine.py").write_text("def test_it():\n    pass\n")

    items, _ = pytester.inline_genitems("suites")

    assert [item.nodeid for item in items] == ["suites/test_mine.py::test_it"]
