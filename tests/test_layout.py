"""The tests stand where the code stands, and the README of this folder names every folder."""

from pathlib import Path

from tests.lanes import NIGHTLY

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def test_every_room_has_its_tests():
    """A test of a room is found under the room's name."""
    rooms = {p.name for p in (ROOT / "calm").iterdir() if (p / "__init__.py").exists()}

    assert {room for room in rooms if not any((TESTS / name).exists() for name in (room, f"test_{room}.py"))} == set()


def test_every_plugin_has_its_tests():
    """They can be taken away with it."""
    plugins = {path.parent.name for path in (ROOT / "calm" / "plugins").glob("*/__init__.py")}

    assert {name for name in plugins if not any((TESTS / "plugins" / name).glob("test_*.py"))} == set()


def test_the_readme_names_every_folder():
    """Nobody has to guess what a folder is for."""
    page = (TESTS / "README.md").read_text("utf-8")
    folders = {p.name for p in TESTS.iterdir() if p.is_dir() and not p.name.startswith("_")}

    assert {name for name in folders if f"`{name}`" not in page and f"tests/{name}" not in page} == set()


def test_the_tests_of_the_night_are_there():
    """A file or a function that is gone is no longer listed."""
    gone = []
    for one in NIGHTLY.read_text("utf-8").splitlines():
        file, _, name = one.partition("[")[0].partition("::")
        path = ROOT / file
        if file.startswith("tests/plugins/") and not path.parent.exists():
            continue  # taken away with its plug-in
        if not path.exists() or f"def {name.rpartition('::')[2]}(" not in path.read_text("utf-8"):
            gone.append(one)

    assert gone == []
