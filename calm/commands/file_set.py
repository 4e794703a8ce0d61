"""Files that belong together, such as cases and a judge that replays verdicts on them: all are written, or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from calm.errors import ConfigError
from calm.results.outputs import Form, write_whole, written_beside


def put(written: Mapping[Path, str], form: Form, *, judges: Collection[Path], force: bool) -> None:
    """
    Write files, all or none: if one cannot be written, those before it are taken back.

    A process can be killed between two files. So older judges are taken away first, and the new ones are written last:
    a judge that is there fits the files that it reads.

    Args:
        written: the texts, by place.
        form: what the files are.
        judges: those of them that read the others.
        force: whether older files make way.

    Raises:
        ConfigError: one cannot be written; all files are as they were.
    """
    before: dict[Path, bytes | None] = {}
    others = [path for path in written if path not in judges]
    try:
        for path in judges if force else ():
            before[path] = _held(path)
            _take_away(path)
        for path in (*others, *judges):
            before.setdefault(path, _held(path))
            write_whole(path, [written[path]], form, force=force)
    except BaseException:
        for path, old in before.items():
            with suppress(OSError, ConfigError):
                if old is None:
                    path.unlink(missing_ok=True)
                else:
                    with written_beside(path, form, force=True) as file:
                        file.write(old)
        raise


def _held(path: Path) -> bytes | None:
    """Return what a file holds; None if there is none."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be replaced: {error.strerror or error}; check who may read it") from error


def _take_away(path: Path) -> None:
    """Remove an older judge; a link to one is followed, and stays."""
    try:
        if path.is_file():
            path.resolve().unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be removed: {error.strerror or error}; remove it by hand") from error
