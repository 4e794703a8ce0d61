"""In which words `calm self-preference` asks each judge: about which dimensions, and which way round."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from calm.errors import ConfigError

if TYPE_CHECKING:
    from calm.core.templates import Message, Prompt
    from calm.models.wire import Judge
    from calm.selfpreference.crossing.design import Member

FORM = "NAME=PROMPT[,NEGATIVE_PROMPT]"


def add_wordings(command: argparse.ArgumentParser) -> None:
    """Add the options that say in which words judges are asked."""
    command.add_argument(
        "--framings",
        metavar="WHICH",
        choices=("standard", "both"),
        default="standard",
        help="scores: 'both' also asks each judge's inverted twin, and shows what that changes (twice the calls)",
    )
    command.add_argument(
        "--dimension",
        action="append",
        default=[],
        metavar=FORM,
        help="scores: ask about this dimension, with a file as user message (and its inverted twin, for --framings "
        "both); may be repeated",
    )


@dataclass(frozen=True, slots=True)
class Dimension:
    """What answers are judged for: the templates of the user message, and where each was read."""

    name: str
    user: str
    negative: str | None
    places: dict[str, str]


def dimensions_of(options: argparse.Namespace) -> list[Dimension]:
    """
    Return the dimensions that the user names, with the templates of their files.

    Raises:
        ConfigError: a fault of form, a name twice, a file that cannot be read, or a twin that is missing or not asked.
    """
    found = [_dimension(given, both=options.framings == "both") for given in options.dimension]
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"--dimension: {twice[0]!r} is named twice; give each dimension a name of its own")
    return found


def _dimension(given: str, *, both: bool) -> Dimension:
    from calm.selfpreference.parts import MEAN

    name, sign, paths = (part.strip() for part in given.partition("="))
    files = [path.strip() for path in paths.split(",")]
    if not name or not sign or not all(files) or len(files) > 2:
        raise ConfigError(f"--dimension: expected {FORM}, got {given!r}")
    if name == MEAN:
        raise ConfigError(f"--dimension: {MEAN!r} stands for the mean over all dimensions; give it another name")
    if both and len(files) == 1:
        raise ConfigError(f"--framings both: dimension {name!r} has no inverted twin; expected {FORM}, got {given!r}")
    if not both and len(files) == 2:
        raise ConfigError(f"--dimension {name}: only --framings both asks {files[1]}; add it, or leave the file out")
    texts = [_template(name, path) for path in files]
    return Dimension(name, texts[0], texts[1] if both else None, dict(zip(texts, files, strict=True)))


def _template(name: str, path: str) -> str:
    from calm.core.files import MOST_SETTINGS, read_bytes

    try:
        text = read_bytes(Path(path), MOST_SETTINGS).decode("utf-8")
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"--dimension {name}: {path}: cannot be read: {why}; expected a prompt") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--dimension {name}: {path}: expected UTF-8: {error.reason}") from error
    if not text.strip():
        raise ConfigError(f"--dimension {name}: {path}: expected a prompt, got an empty file")
    return text


def about_each(judge: Judge, dimensions: Sequence[Dimension]) -> list[tuple[str, Judge]]:
    """
    Return a judge with the prompt of each dimension, by name; as it is, under "", without dimensions.

    Raises:
        ConfigError: it gives no scores, has no prompt to change, or a template shows no answers.
    """
    if dimensions and judge.task != "score":
        raise ConfigError(f"--dimension: expected judges with task = 'score', got {judge.name} ({judge.task})")
    return [(one.name, _about(judge, one)) for one in dimensions] or [("", judge)]


def framed(judge: Judge, dimension: str, options: argparse.Namespace) -> list[Member]:
    """
    Return a judge as it is to be asked: once, or in each framing.

    Raises:
        ConfigError: both framings are wanted, and the judge gives no scores or has no inverted twin.
    """
    from calm.core.case import Framing
    from calm.experiment.twins import twin_of
    from calm.selfpreference.crossing.design import member_of

    if options.framings == "standard":
        return [member_of(judge, dimension=dimension)]
    if judge.task != "score":
        raise ConfigError(f"--framings both: expected judges with task = 'score', got {judge.name} ({judge.task})")
    if (twin := twin_of(judge)) is None:
        raise ConfigError(
            f"--framings both: {judge.name} has no inverted twin; give it negative_user or negative_user_file in "
            "[prompt], or use the bundled prompt"
        )
    return [member_of(judge, dimension=dimension, framing=framing) for framing in (Framing.STANDARD, twin)]


def _about(judge: Judge, dimension: Dimension) -> Judge:
    """Return a judge with the prompt of a dimension."""
    from calm.judges.judgefile import prompt_faults
    from calm.models.wire import Rewordable

    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None or not isinstance(judge, Rewordable):
        raise ConfigError(
            f"--dimension: {judge.name} has no prompt to change, as it is recorded or code; expected a judge.toml with "
            "a model"
        )
    worded = _reworded(prompt, dimension)
    if faults := prompt_faults(worded, judge.task, judge.scale, dimension.places):
        raise ConfigError("\n".join(f"--dimension {dimension.name}: {fault}" for fault in faults))
    return judge.with_prompt(worded)


def _reworded(prompt: Prompt, dimension: Dimension) -> Prompt:
    """Return a prompt whose last message is that of a dimension; of a bundled one nothing else stays."""
    from calm.core.templates import Message

    def ending(before: Sequence[Message], text: str) -> tuple[Message, ...]:
        kept = () if prompt.bundled else tuple(before[:-1])
        return (*kept, Message("user", text))

    negative = None
    if dimension.negative is not None:
        negative = ending(prompt.negative or prompt.messages, dimension.negative)
    messages = ending(prompt.messages, dimension.user)
    return replace(prompt, messages=messages, negative=negative, inverted=None, bundled=False)
