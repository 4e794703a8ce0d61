"""Files that belong together, such as cases and a judge that replays verdicts on them: all are written, or none."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from calm.errors import ConfigError
from calm.models.secrets import hidden
from calm.results.outputs import Form, written_beside


def put(written: Mapping[Path, str | bytes], form: Form, *, judges: Collection[Path], force: bool) -> None:
    """
    Write files, all or none: each is whole beside its place before the first is put there.

    If one cannot be put there, those before it are taken back: only what this call has put there, so that a file which
    another process wrote in the meantime stays. A folder that was made for them is gone again if it is empty.

    A process can be killed between two files. So older judges are taken away first, and the new ones are put last: a
    judge that is there fits the files that it reads.

    Args:
        written: texts, in which secrets are hidden, and bytes, by place.
        form: what the files are.
        judges: those of them that read the others.
        force: whether older files make way.

    Raises:
        ConfigError: one cannot be written; all files are as they were.
    """
    order = [*judges, *(path for path in written if path not in judges)]  # the last to be begun is the first to be put
    made = list(dict.fromkeys(one for path in order for one in path.resolve().parents if not one.exists()))
    before = {path: _held(path) for path in order}
    begun: dict[Path, tuple[int, ...]] = {}
    away: list[Path] = []
    try:
        with ExitStack() as whole:
            for path in order:
                file = whole.enter_context(written_beside(path, form, force=force))
                held = written[path]
                file.write(held if isinstance(held, bytes) else hidden(held).encode("utf-8", "backslashreplace"))
                file.flush()
                begun[path] = _told_by(os.fstat(file.fileno()))
            for path in judges if force else ():
                away.append(path)
                _take_away(path)
    except BaseException:
        for path, ours in begun.items():
            if _is(path, ours) or (path in away and not path.exists()):
                with suppress(OSError, ConfigError):
                    _take_back(path, form, before[path])
        for folder in sorted(made, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise


def _held(path: Path) -> bytes | None:
    """Return what a file holds; None if there is none."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be replaced: {error.strerror or error}; check who may read it") from error


def _told_by(there: os.stat_result) -> tuple[int, ...]:
    """
    Return what tells a file from all others, and nearly always from one that gets its number later.

    A handle kept open would do so always; but Windows renames no open file. It also writes its times down late.
    """
    return there.st_dev, there.st_ino, there.st_size


def _is(path: Path, ours: tuple[int, ...]) -> bool:
    try:
        return _told_by(path.stat()) == ours
    except OSError:
        return False


def _take_back(path: Path, form: Form, old: bytes | None) -> None:
    """Put back what stood at a path; None: nothing did."""
    if old is None:
        path.unlink(missing_ok=True)
        return
    with written_beside(path, form, force=True) as file:
        file.write(old)


def _take_away(path: Path) -> None:
    """Remove an older judge; a link to one is followed, and stays."""
    try:
        if path.is_file():
            path.resolve().unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be removed: {error.strerror or error}; remove it by hand") from error
