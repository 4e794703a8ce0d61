"""The tests stand where the code stands, and the README of this folder names every folder."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def test_every_room_has_its_tests():
    """A test of a room is found under the room's name."""
    rooms = {p.name for p in (ROOT / "calm").iterdir() if (p / "__init__.py").exists()}

    assert {room for room in rooms if not any((TESTS / name).exists() for name in (room, f"test_{room}.py"))} == set()


def test_the_readme_names_every_folder():
    """Nobody has to guess what a folder is for."""
    page = (TESTS / "README.md").read_text("utf-8")
    folders = {p.name for p in TESTS.iterdir() if p.is_dir() and not p.name.startswith("_")}

    assert {name for name in folders if f"`{name}`" not in page and f"tests/{name}" not in page} == set()
