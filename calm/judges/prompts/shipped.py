"""Our own prompts, as the files that ship with calm."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import get_args

from calm.core.templates import FORMS, Message, Prompt
from calm.core.verdict import Task
from calm.errors import ConfigError, nearest

_PART = re.compile(r'\{% include "([a-z]+)" %\}\n?')


@lru_cache(maxsize=64)
def bundled(task: Task, form: str) -> Prompt:
    """
    Return our own prompt for a task, asking for its verdict in a form.

    In json the verdict is asked for in the field `verdict`, in a tag in `<verdict>`, for a regex after `Verdict:`.

    Raises:
        ConfigError: a task or a form that is not known.
    """
    if task not in get_args(Task):
        raise ConfigError(f"unknown task {task!r}{nearest(task, get_args(Task))}")
    if form not in FORMS:
        raise ConfigError(f"unknown verdict format {form!r}{nearest(form, FORMS)}")

    def messages(suffix: str) -> tuple[Message, ...]:
        stem = f"{task}{suffix}"
        return tuple(Message(role, _template(f"{stem}.{role}.jinja", form)) for role in ("system", "user"))

    return Prompt(
        messages=messages(""),
        negative=None if task == "label" else messages(".negative"),  # a class is no answer to "how bad is it?"
        inverted=messages(".inverted") if task == "score" else None,
        bundled=True,
    )


def part(name: str, form: str = "") -> str:
    """Return a part that the bundled prompts share: "material", "answers"; with a form, the "verdict" part for it."""
    return _file(f"part.{name}.{form}.jinja" if form else f"part.{name}.jinja")


def _template(name: str, form: str) -> str:
    """Return a bundled template with its shared parts put in; `verdict` is the part that depends on the form."""
    parts = _PART.sub(lambda found: part(found[1], form if found[1] == "verdict" else ""), _file(name))
    return parts.removesuffix("\n")


def _file(name: str) -> str:
    return files("calm").joinpath("judges", "data", name).read_text("utf-8")
