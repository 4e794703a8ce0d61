"""
What CI installs: the calm that is installed here, as a wheel, and the packages that it needs, each in its version here.

The name of calm on a package registry is never written: whoever held it there would get the key of the judge. A wheel
needs no registry for calm, no other host and nothing to build it with. The repository that holds it says what is in it.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import calm
import calm_judge
from calm.core.releases import NAME
from calm.errors import ConfigError

FOLDER: Final = "calm-ci"
"""The folder beside judge.toml that holds what CI installs."""
PACKAGES: Final = ("calm", "calm.perturbations", "calm.suites", "calm.results.reports")
"""The folders of calm: all but the first stand beside it in a checkout."""
REQUIREMENTS: Final = f"{FOLDER}/requirements.txt"
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The Python of CI: the one here, for which the versions were chosen."""
_HEAD: Final = """\
# Written by `calm init`: what CI installs, which is what was installed here. pip installs nothing else (--no-deps).
# calm is the wheel beside this file, so no package registry decides what it is. To update it, install another calm,
# run `calm init` in an empty folder, and put its {folder}/ here.
"""
_WHEEL: Final = "Wheel-Version: 1.0\nGenerator: calm init\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@cache
def package() -> dict[str, str | bytes]:
    """
    Return the files from which CI installs calm, by their place beside judge.toml: its wheel, and the requirements.

    Raises:
        ConfigError: what is installed here cannot be installed elsewhere.
    """
    ours = _installed(NAME)
    if ours.version != calm.__version__:
        raise _refused(
            f"calm {calm.__version__} is imported here, but what is installed is {ours.version}",
            "install calm again (in its folder: pip install -e .)",
        )
    wheel = f"{FOLDER}/calm_judge-{ours.version}-py3-none-any.whl"
    lines = [f"./{wheel}", *sorted(_needed(ours))]
    return {wheel: _wheel(ours), REQUIREMENTS: _HEAD.format(folder=FOLDER) + "".join(f"{line}\n" for line in lines)}


def refuse_ignored(folder: Path) -> None:
    """Raise `ConfigError` where git would not take the wheel into the repository of a folder."""
    base = next(one for one in (folder, *folder.parents) if one.is_dir())
    places = [os.path.relpath(folder / name, base) for name in package()]
    try:
        done = subprocess.run(  # noqa: S603 - the names are calm's own
            ["git", "check-ignore", "--", *places],  # noqa: S607 - as a person runs it
            cwd=base,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return
    if done.returncode == 0:
        raise _refused(
            f"git ignores {', '.join(done.stdout.split())} here, so CI would not have it",
            f"take the rule out (git check-ignore -v {places[0]} names it)",
        )


def _refused(cause: str, fix: str) -> ConfigError:
    return ConfigError(f"--ci: a workflow could not install calm: {cause}; {fix}, or write no workflow: --ci none")


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise _refused(
            f"the package {name} is not installed here", "install calm again (in its folder: pip install -e .)"
        ) from None


def _needed(ours: Distribution) -> Iterator[str]:
    """Yield `name==version` of all packages that calm needs here, and that these need."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    todo, seen = [(ours, "")], {(canonicalize_name(NAME), "")}
    named: set[str] = set()
    while todo:
        one, extra = todo.pop()
        for wanted in map(Requirement, one.requires or ()):
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
                continue
            name = canonicalize_name(wanted.name)
            for more in ("", *wanted.extras):
                if (name, more) not in seen:
                    seen.add((name, more))
                    todo.append((_installed(name), more))
            if name not in named:
                named.add(name)
                yield _pinned(name)


def _pinned(name: str) -> str:
    """Return the line of a package in its version here; one that no registry gave is refused."""
    found = _installed(name)
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    of_conda = (found.read_text("INSTALLER") or "").strip() == "conda"  # it notes where it built a release
    if (origin and not of_conda) or "+" in found.version:
        raise _refused(
            f"{name} {found.version} is installed here from a folder, a file or a commit, and no registry holds it",
            f"install a release of it (pip install --force-reinstall {name})",
        )
    return f"{name}=={found.version}"


def _wheel(ours: Distribution) -> bytes:
    """Return a wheel of the package as it is imported here; equal files make equal bytes."""
    about = f"calm_judge-{ours.version}.dist-info"
    files = {f"{about}/METADATA": (ours.read_text("METADATA") or "").encode(), f"{about}/WHEEL": _WHEEL.encode()}
    files[f"{about}/entry_points.txt"] = (ours.read_text("entry_points.txt") or "").encode()
    for one in ours.files or ():
        if ".dist-info/licenses/" in one.as_posix():
            files[f"{about}/licenses/{one.as_posix().partition('/licenses/')[2]}"] = one.read_binary()
    files["calm_judge.py"] = Path(calm_judge.__file__).read_bytes()
    for module in PACKAGES:
        top = Path(import_module(module).__path__[0])
        for path in top.rglob("*"):
            place = f"{module.replace('.', '/')}/{path.relative_to(top).as_posix()}"
            if path.is_file() and path.suffix != ".pyc" and "/." not in place and "/__pycache__/" not in place:
                files[place] = path.read_bytes()
    record = "".join(f"{name},{_hash(held)},{len(held)}\n" for name, held in sorted(files.items()))
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    made = io.BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for name, held in sorted(files.items()):
            entry = ZipInfo(name)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, held)
    return made.getvalue()


def _hash(held: bytes) -> str:
    return f"sha256={urlsafe_b64encode(sha256(held).digest()).rstrip(b'=').decode()}"
