"""
Recorded judges replay verdicts that were given beforehand. They need no model, no key and no call.

| specification | what it replays |
|---|---|
| `recorded:headlines/MODEL`, `recorded:ifeval/MODEL` | verdicts of real models that ship with calm, on their cases |
| `recorded:position/MODEL`, `recorded:pandalm/MODEL` | the same, with repeats and orders as they were given |
| `recorded:scores/MODEL/RUN`, `recorded:llmbar/MODEL/PROMPT` | the same, for each run or prompt of a model |
| `recorded:FILE`, `recorded:TASK:FILE`, or a table `[recorded]` in a judge.toml | a user's table, on the run's cases |
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import get_args

from calm.cases.foreign.records import ENDINGS
from calm.core.plugins import find, given
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest
from calm.judges.reading import Format
from calm.judges.recorded.published import PUBLISHED, published
from calm.judges.recorded.replay import Replay, table_in
from calm.models.wire import Judge

__all__ = ["Replay", "recorded"]


def recorded(spec: str) -> Judge:
    """
    Return the judge of a specification.

    What ends as a table does is a file, whatever else its path holds.

    Raises:
        ConfigError: there is no such set, model or file, or the file is no table of verdicts.
    """
    start, _, rest = spec.partition(":")
    task, found, path = rest.partition(":")
    stated = next((one for one in get_args(Task) if found and one == task), None)
    file = Path(path if stated else rest)
    if start == "recorded" and (stated or PurePath(rest).suffix.lower() in ENDINGS):
        scale = Scale(0.0, 1.0) if stated == "points" else Scale()
        return Replay(f"recorded:{file.name}", stated or "pairwise", scale, table_in(file), Format(), model=file.stem)
    name = rest.partition("/")[0]
    if name in PUBLISHED:
        return published(spec)
    if found_set := find("RECORDED", name):
        judge: Judge = found_set.load()(spec)
        return judge
    known = (*given("RECORDED"), *PUBLISHED)
    if start == "recorded":
        raise ConfigError(
            f"--calm-judge {spec}: expected recorded:SET/MODEL, with a SET of {', '.join(known)}, or recorded:FILE, "
            f"with a name that ends in {', '.join(ENDINGS)}, or recorded:TASK:FILE, with a TASK of "
            f"{', '.join(get_args(Task))}{nearest(name, known)}"
        )
    raise ConfigError(f"expected recorded:SET/MODEL, with a SET of {', '.join(known)}, got {spec!r}")
