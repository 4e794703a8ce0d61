"""Judges: each turns a case into a verdict, by a model and a prompt, by a function, or around a judge."""

from typing import Any


def data(name: str) -> dict[str, Any]:
    """Return a table of `judges/data`."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("calm").joinpath("judges", "data", name).read_text("utf-8"))
