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
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest
from calm.judges.reading import Format
from calm.judges.recorded.bundled import RecordedJudge, bundled
from calm.judges.recorded.published import PUBLISHED, published
from calm.judges.recorded.replay import Replay, table_in
from calm.models.wire import Judge
from calm.selfpreference.recorded import SETS

__all__ = ["RecordedJudge", "Replay", "recorded"]

ALL = (*SETS, *PUBLISHED)
"""The names of the sets that ship with calm."""


def recorded(spec: str) -> Judge:
    """
    Return the judge of a specification.

    What ends as a table does is a file, whatever else its path holds.

    Raises:
        ConfigError: there is no such set, model or file, or the file is no table of verdicts.
    """
    start, _, rest = spec.partition(":")
    task, found, path = rest.partition(":")
    given = next((known for known in get_args(Task) if found and known == task), None)
    file = Path(path if given else rest)
    if start == "recorded" and (given or PurePath(rest).suffix.lower() in ENDINGS):
        scale = Scale(0.0, 1.0) if given == "points" else Scale()
        return Replay(f"recorded:{file.name}", given or "pairwise", scale, table_in(file), Format(), model=file.stem)
    name = rest.partition("/")[0]
    if name in PUBLISHED:
        return published(spec)
    if start == "recorded" and name not in SETS:
        raise ConfigError(
            f"--calm-judge {spec}: expected recorded:SET/MODEL, with a SET of {', '.join(ALL)}, or recorded:FILE, "
            f"with a name that ends in {', '.join(ENDINGS)}, or recorded:TASK:FILE, with a TASK of "
            f"{', '.join(get_args(Task))}{nearest(name, ALL)}"
        )
    return bundled(spec)
