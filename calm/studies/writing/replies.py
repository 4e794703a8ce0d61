"""Replies that are no texts: why a model's reply cannot be used, and where such replies are recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from calm.core.validation import Fault
from calm.core.verdict import Refused, Scale
from calm.judges import reading
from calm.judges.reading import Format, View
from calm.models.wire import Reply
from calm.results.outputs import UNUSED, write_whole

SCALE = Scale()
_VIEW = View("score", ("A",), ("one",), SCALE)


def declined(reply: Reply) -> Fault | None:
    """Return what a reply says where it declines to answer; None if it does not decline."""
    found = reading.read(reply, Format("tag", tag="verdict"), _VIEW)
    return Fault("declined", found.reason) if isinstance(found, Refused) else None


def beside(out: Path) -> Path:
    """Return where the unused replies of a file of cases are recorded: `cases.jsonl` has `cases.refused.jsonl`."""
    return out.with_name(f"{out.stem}.refused.jsonl")


def record(out: Path, unused: Sequence[Mapping[str, str]]) -> None:
    """
    Write the unused replies of a file of cases, and replace an older record even where there are none.

    Raises:
        ConfigError: the file cannot be written.
    """
    path = beside(out)
    if unused or path.exists():
        write_whole(path, (f"{json.dumps(one, ensure_ascii=False)}\n" for one in unused), UNUSED)


def counted(faults: Iterable[Fault]) -> str:
    """Return how often each kind of fault occurs, the most frequent first."""
    return ", ".join(f"{about} {n}" for about, n in Counter(fault.about for fault in faults).most_common())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table of five columns for a terminal; the last column is as wide as it needs to be."""
    lines = [head, *rows]
    widths = [max(len(row[column]) for row in lines) for column in range(4)]
    return ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in lines]
