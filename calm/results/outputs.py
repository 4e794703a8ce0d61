"""
The one writer of all files that a run or a command leaves behind, and the one rule of what it may replace.

A path is refused if it is an input of the run, a cache, anything but a regular file, or a file that calm did not
write: an older output of the same form may be replaced, and says itself what it is (`Form`). A file is written beside
its place and renamed, so it is there whole or not at all, and an earlier file stays until then.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from time import sleep
from typing import IO, Final
from unicodedata import normalize

from calm.errors import ConfigError
from calm.models.secrets import hidden
from calm.results import shapes

BEFORE: Final = ".before"
"""What a run adds to the name of an older output, which it sets aside until it has results."""
PRIVATE: Final = 0o600
"""The mode of a file that only its owner may read."""
WAITS_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""On Windows: so many seconds are waited between tries to take the place of a file that somebody has open."""
_SIDES: Final = ("", "-wal", "-shm", "-journal")
"""What SQLite adds to the name of a database for the files beside it."""
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


_SHAPED: Final[dict[tuple[object, ...], bool]] = {}
"""Whether a file has a shape, by what tells the file: a run asks several times, and large results take a while."""


@dataclass(frozen=True, slots=True)
class Form:
    """
    What a file of calm is: what its name ends in, and its shape, which all files of the form have, and no other one.

    The ending "" is that of a name without one. `forcible` says whether the command has an option --force, for a file
    that has no shape of its own.
    """

    what: str
    endings: tuple[str, ...]
    shape: shapes.Shape | None = None
    forcible: bool = False

    def owns(self, path: Path) -> bool:
        """Return whether calm may replace this file: it has the shape of the form, or is empty and is called so."""
        with path.open("rb") as file:
            there = os.fstat(file.fileno())
            if not there.st_size:
                return self._names(path.resolve().name.lower())
            if self.shape is None:
                return False
            key = self.shape, *_told_by(there)
            if key not in _SHAPED:
                _SHAPED[key] = self.shape(file)
            return _SHAPED[key]

    def _names(self, name: str) -> bool:
        return any(name.endswith(ending) if ending else "." not in name for ending in self.endings)


_JSON: Final = (".json",)
_LINES: Final = (".jsonl",)
_PAGE: Final = (".html", ".htm")
_ARRAYS: Final = (".safetensors",)
RESULTS: Final = Form("results", _JSON, shapes.schema("calm-results/"))
TEXTS: Final = Form(
    "the texts of results", (".texts.jsonl",), shapes.marked('{"case": ', '"prompts": {', '"perturbed": [')
)
REPORT: Final = Form("a report", _PAGE, shapes.page)
SUMMARY: Final = Form("a summary", (".md", ".markdown", ".txt", ""), shapes.summary)
COMMENT_BEGINS: Final = "<!-- calm-comment:"
COMMENT: Final = Form("a comment", (".md", ".markdown"), shapes.begins(COMMENT_BEGINS))
SARIF: Final = Form("a SARIF log of calm alone", (".sarif", ".json"), shapes.sarif)
LINTED: Final = Form("findings of `calm lint`", _JSON, shapes.schema("calm-lint/"))
JUNIT: Final = Form("a JUnit file of calm alone", (".xml",), shapes.junit)
TRIALS: Final = Form("a table of trials", (".csv",), shapes.begins("keys,bias,perturbation,against,"))
JUDGES_BEGIN: Final = "judge,file,task,cases,"
JUDGES: Final = Form("a table of judges", (".csv",), shapes.begins(JUDGES_BEGIN))
PARQUET: Final = Form("a table of results", (".parquet",), shapes.parquet)
BASELINE: Final = Form("a baseline", _JSON, shapes.schema("calm-baseline/"))
CALIBRATION: Final = Form("a record of `calm calibrate`", _JSON, shapes.schema("calm-calibration/"))
CROSS_CHECK: Final = Form("a record of `calm cross-check`", _JSON, shapes.schema("calm-cross-check/"))
DIAGNOSIS: Final = Form("a record of `calm diagnose`", _JSON, shapes.schema("calm-diagnose/"))
OWN_ANSWERS: Final = Form("a record of `calm self-preference`", _JSON, shapes.schema("calm-self-preference/"))
ATTACK: Final = Form("a record of `calm attack`", _JSON, shapes.schema("calm-attack/"))
HUNT: Final = Form("a record of `calm hunt`", _JSON, shapes.schema("calm-hunt/"), forcible=True)
FOUND_BEGINS: Final = "# Written by `calm hunt --write`"
FOUND_TESTS: Final = Form("tests of `calm hunt`", (".py",), shapes.begins(FOUND_BEGINS))
FOUND_TEXTS: Final = Form("texts of `calm hunt`", _LINES, shapes.begins('{"schema": "calm-found/'))
MITIGATIONS: Final = Form("a record of `calm mitigate`", _JSON, shapes.schema("calm-mitigations/"))
MITIGATED: Final = Form("a judge.toml of `calm mitigate`", (".toml",), shapes.begins("# written by calm mitigate"))
LOG_BEGINS: Final = "# what the server of calm demo --real printed\n"
SERVER_LOG: Final = Form("a log of `calm demo --real`", (".log",), shapes.begins(LOG_BEGINS))
SMALL_JUDGE: Final = Form("a judge.toml of `calm demo --real`", (".toml",), shapes.begins("# written by calm demo"))
TURNS: Final = Form("a prompt of `calm demo --real`", _JSON, shapes.begins('[\n {\n  "role": "user",\n'))
WATCHED: Final = Form("a history of `calm watch`", _LINES, shapes.begins('{"schema":"calm-watch-history/'))
WATCH_BEGUN: Final = Form(
    "what `calm watch` keeps of a run under way", (".begun",), shapes.begins('{"schema":"calm-watch-begun/')
)
WATCH: Final = Form("a record of `calm watch`", _JSON, shapes.schema("calm-watch/"))
WATCH_PAGE: Final = Form("a summary of `calm watch`", (".md", ".markdown"), shapes.begins("# calm watch: "))
UDA_REPORT: Final = Form("a report of `calm uda`", _JSON, shapes.schema("calm-uda"))
UDA_MODEL: Final = Form("a model of `calm uda train`", _ARRAYS, shapes.arrays("calm-uda-model/"))
UDA_CHECKPOINT: Final = Form("a checkpoint of `calm uda train`", _ARRAYS, shapes.arrays("calm-uda-checkpoint/"))
ANSWERED: Final = Form("cases of `calm answer`", _LINES, shapes.cases("tags", "families", text="{"), forcible=True)
REWRITTEN: Final = Form("cases of `calm rewrite`", _LINES, shapes.cases("tags", "written_by"), forcible=True)
ATTACKED: Final = Form("cases of `calm attack`", _LINES, shapes.cases("variants", "attack"), forcible=True)
UNUSED: Final = Form("replies that are no texts", (".refused.jsonl",), shapes.rows_of("reason", "reply"))
CASES: Final = Form("cases", _LINES, forcible=True)
VERDICTS: Final = Form("a recorded judge", (".jsonl", ".toml"), forcible=True)
REQUESTS: Final = Form("requests of `calm batch write`", _LINES, shapes.requests)
EXPORT: Final = Form("an export of a cache", _LINES)


@dataclass(frozen=True, slots=True)
class Output:
    """
    A file that is to be written: the option that names it, its form, and whether any regular file may make way.

    `aside` says that an older file is set aside while the run lasts, so that its place must be free, too (`before`).
    """

    option: str
    path: Path
    form: Form
    force: bool = False
    aside: bool = False


def before(path: Path) -> Path:
    """Return where an older output is set aside; a link to a file is followed, if it leads anywhere."""
    try:
        place = path.resolve()
    except (OSError, ValueError, RuntimeError):
        place = path.absolute()
    return place.with_name(f"{place.name}{BEFORE}")


def refuse(outputs: Sequence[Output], *, inputs: Iterable[Path] = (), caches: Iterable[Path] = ()) -> None:
    """
    Refuse, before anything is paid for, outputs that must not or cannot be written.

    Raises:
        ConfigError: one line for each fault: the option, what was expected, and what came.
    """
    if found := faults(outputs, inputs=inputs, caches=caches):
        raise ConfigError(found)


def faults(outputs: Sequence[Output], *, inputs: Iterable[Path] = (), caches: Iterable[Path] = ()) -> list[str]:
    """Return what is wrong with the places of some outputs, a line for each."""
    read, kept = _Files(inputs), _Files(Path(f"{cache}{side}") for cache in caches for side in _SIDES)
    found = []
    for one in outputs:
        fault = _taken(one.path, read, kept) or _fault(one.path, one.form, force=one.force) or _unwritable(one.path)
        if fault:
            found.append(f"{one.option}: {fault}")
    if not found:
        found = [fault for one in outputs if one.aside and (fault := _beside_taken(one, read, kept))]
    places = [(one.option, path) for one in outputs for path in (one.path, *([before(one.path)] if one.aside else ()))]
    for (option, path), (other, second) in combinations(places, 2):
        if path in _Files([second]):
            found.append(f"{option} and {other}: expected two files, got {str(path)!r} twice")
    return found


def _beside_taken(one: Output, inputs: _Files, caches: _Files) -> str:
    """Return why an older output cannot be set aside; nothing if it can, or need not."""
    beside = before(one.path)
    fault = _taken(beside, inputs, caches) or _fault(beside, one.form, force=False)
    return f"{one.option}: an older {one.path.name} cannot be set aside: {fault}" if fault else ""


def stays(path: Path, *, answered: bool) -> str:
    """Return that an older file stays, since nothing was answered that could replace it; nothing if it need not."""
    return "" if answered or not path.exists() else f"{path} stays as it was: nothing was answered in this run"


def write_whole(
    path: Path, parts: Iterable[str | bytes], form: Form, *, force: bool = False, private: bool = False
) -> None:
    """
    Write a file beside its place, and put it there when it is whole and on the disk.

    No text has a known credential in it. An older file keeps its mode; a link to one is followed. `private` is for what
    its owner alone may read.

    Raises:
        ConfigError: the file there must stay, or the new one cannot be written; the file there is unchanged.
    """
    with written_beside(path, form, force=force, private=private) as file:
        for part in parts:
            file.write(part if isinstance(part, bytes) else hidden(part).encode("utf-8", "backslashreplace"))


@contextmanager
def written_beside(path: Path, form: Form, *, force: bool = False, private: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file of bytes that takes its place at the end; see `write_whole`."""
    found = _identity(path)
    if fault := _fault(path, form, force=force):
        raise ConfigError(f"{path}: cannot be written: {fault}")
    try:
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("wb", dir=place.parent, prefix=".calm-", suffix=".tmp", delete=False) as file:
            beside = Path(file.name)
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                file.close()  # Windows neither renames nor removes a file that is open
                _take_over(beside, place, private=private)
                if found is None and _taken_first(beside, place):
                    beside.unlink()
                else:
                    if _identity(place) != found and (fault := _fault(place, form, force=force)):
                        raise ConfigError(f"{path}: cannot be written: {fault}")
                    put_in_place(beside, place)
            except BaseException:
                with suppress(OSError):  # the disk may be full
                    file.close()
                beside.unlink(missing_ok=True)
                raise
        _settle(place.parent)
    except OSError as error:
        why = error.strerror or error
        if os.name == "nt" and isinstance(error, PermissionError):
            why = f"{why}; another program may have it open: close it there, and run the same command again"
        raise ConfigError(f"{path}: cannot be written: {why}; an earlier file of this name is unchanged") from error


def put_in_place(new: Path, place: Path) -> None:
    """
    Rename a file to a place, where one may be; on Windows wait a moment for whoever has that one open.

    A virus scanner, a sync folder or a browser opens what is new for a moment.

    Raises:
        OSError: it cannot be renamed, or the file there stays open.
    """
    for wait_s in WAITS_S if os.name == "nt" else ():
        with suppress(PermissionError):
            new.replace(place)
            return
        sleep(wait_s)
    new.replace(place)


def remove(path: Path, form: Form) -> None:
    """
    Remove an older file of a form; there need not be one, and any other file stays.

    Raises:
        ConfigError: it cannot be removed.
    """
    try:
        if path.is_file() and not path.is_symlink() and form.owns(path):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be removed: {error.strerror or error}; remove it by hand") from error


def _fault(path: Path, form: Form, *, force: bool) -> str:
    """Return why the file at a path must stay; nothing if nothing does, or what may be replaced."""
    try:
        there = path.stat()
        mode = there.st_mode
        kind = next((name for test, name in _KINDS if test(mode)), "")
        if kind:
            return f"expected a file to write, got {kind}: {str(path)!r}"
        if not mode & 0o222:
            return f"expected a file that may be written, got one that is read-only: {str(path)!r}"
        if force or form.owns(path):
            return ""
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        return f"expected a file that can be written, got {str(path)!r}: {why}"
    how = "choose another name, or overwrite it with --force" if form.forcible else "choose another name"
    if form.shape is None:
        return f"expected a file that does not exist yet, got {str(path)!r}; it stays: {how}"
    return f"expected a new file, or {form.what} that calm wrote, got another file: {str(path)!r}; it stays: {how}"


def _taken(path: Path, inputs: _Files, caches: _Files) -> str:
    """Return whose place an output would take: that of an input or a cache; nothing if it is free."""
    if path in inputs:
        return f"expected a file other than the inputs of the run, got {str(path)!r}; choose another name"
    if path in caches or caches.beside(path):
        return f"expected a file other than the cache, got {str(path)!r}; choose another name"
    return ""


class _Files:
    """
    Some files, as of now. A path is `in` them if it is one of them: by links, or by a name that some systems take for
    the same. Each is looked at once, as a run may have a hundred, and asks for each of its outputs before each test.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        own = [(_number(path), _folded(path)) for path in paths]
        self._numbers = {number for number, _ in own} - {None}
        self._names = {name for _, name in own}

    def __contains__(self, path: Path) -> bool:
        return _number(path) in self._numbers or _folded(path) in self._names

    def beside(self, path: Path) -> bool:
        """Return whether a path has the name of one of them, and an ending after it."""
        return _folded(path).startswith(tuple(f"{name}." for name in self._names))


def _number(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from all others, whatever its names; None if there is none."""
    with suppress(OSError, ValueError):
        there = path.stat()
        return there.st_dev, there.st_ino
    return None


def _folded(path: Path) -> str:
    """Return a path without links, `..`, letter case and other ways to write its letters."""
    try:
        plain = str(path.resolve())
    except (OSError, ValueError, RuntimeError):
        plain = os.path.normpath(path.absolute())
    return normalize("NFC", normalize("NFC", plain).casefold())


def _unwritable(path: Path) -> str:
    """Return why a file cannot be written, as far as can be seen before; nothing if it can."""
    try:
        place = path.resolve()
        folder = next(parent for parent in place.parents if parent.exists())
        with TemporaryFile(dir=folder):  # root may do what the permissions deny, and not what the file system denies
            return ""
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        return f"expected a file that can be written, got {str(path)!r}: {why}"


def _take_over(new: Path, place: Path, *, private: bool) -> None:
    """Give a new file the mode and the owner of the one whose place it takes, or the usual mode."""
    old, own = _stat(place) or _stat(before(place)), new.stat()
    if old is None:
        mask = os.umask(0)
        os.umask(mask)
        new.chmod(PRIVATE if private else 0o666 & ~mask)
        return
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (own.st_uid, own.st_gid):
        with suppress(PermissionError):
            os.chown(new, old.st_uid, old.st_gid)
    new.chmod(PRIVATE if private else stat.S_IMODE(old.st_mode))


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):  # it is not there, or its name cannot be one
        return None


def _taken_first(beside: Path, place: Path) -> bool:
    """Take a free place; False if another process was faster, or the file system has no hard links."""
    try:
        os.link(beside, place)
    except OSError:
        return False
    return True


def _identity(path: Path) -> tuple[int, ...] | None:
    """Return what tells whether a file is still the one that it was; None if there is none."""
    there = _stat(path)
    return None if there is None else _told_by(there)


def _told_by(there: os.stat_result) -> tuple[int, ...]:
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns


def _settle(folder: Path) -> None:
    """Make sure that a new name outlives a loss of power, where the system lets a folder be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
