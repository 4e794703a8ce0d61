"""calm's own plug-ins: they declare by names alone, and what they name is there."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from calm.core import plugins
from calm.core.releases import NAME
from tests.examples.test_plugin import packaged, run_code

__all__ = ["packaged"]

OWN = [(kind, one) for kind in plugins.KINDS for one in plugins.given(kind).values() if one.package == NAME]


def test_each_folder_is_declared_and_has_no_trouble():
    """A folder that no entry point names would not be found."""
    folder = Path(find_spec("calm.plugins").origin).parent

    assert {one.plugin for _, one in OWN} == {path.parent.name for path in folder.glob("*/__init__.py")}
    assert plugins.troubles() == ()


@pytest.mark.parametrize(("kind", "one"), OWN, ids=[f"{kind}-{one.name}" for kind, one in OWN])
def test_what_is_declared_is_there(kind, one):
    """Each name leads to something that can be imported."""
    assert one.load() is not None


def test_declarations_import_nothing():
    """So all of them can be read for the sake of one."""
    folder = Path(find_spec("calm.plugins").origin).parent

    for path in folder.glob("*/__init__.py"):
        body = ast.parse(path.read_text("utf-8")).body
        assert not [line for line in body if not isinstance(line, ast.Expr | ast.Assign)], path


def test_a_place_without_a_plugin_says_what_is_missing():
    """What can go on without gets None; what cannot gets a message."""
    assert plugins.hook("no such place") is None
    with pytest.raises(plugins.ConfigError, match=r"^--this needs a plug-in that gives 'no such place', and none"):
        plugins.needed("no such place", "--this")


def test_an_installation_without_its_own_plugins_says_so(packaged):
    """Metadata older than the code name none of them: what needs one refuses, and does not go on without it."""
    site = packaged("nothing", {})

    done = run_code(
        site,
        "from calm.core import plugins\nplugins._declared = lambda: iter(())\n"
        "from calm.commands.cli import main\n"
        "raise SystemExit(main(['audit', 'planted:', '--sample', '4', '--plan']))",
    )
    assert done.returncode == 4
    assert "calm's own plug-ins are not installed: install calm-judge again" in " ".join(done.stderr.split())
