"""The files of CI services that `calm init` writes, and the calm that they install."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import calm
import calm_judge
from calm.core.plugins import GROUP, own
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
    points = re.sub(rf"(?ms)^\[{GROUP}\]\n.*?(?=^\[|\Z)", "", ours.read_text("entry_points.txt") or "")
    named = "".join(f"{name} = {module}\n" for name, module in sorted(own().items()))  # of this code, not as installed
    files[f"{about}/entry_points.txt"] = f"{points.rstrip()}\n\n[{GROUP}]\n{named}".encode()
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


_CHECKOUT: Final = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
_SETUP_PYTHON: Final = "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0"
_CACHE: Final = "actions/cache@cdf6c1fa76f9f475f3d7449005a359c84ca0f306 # v5.0.3"
_UPLOAD: Final = "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1"
"""Actions by commit: a tag can be moved to other code. The same stand in action.yml."""

_GITHUB: Final = """\
name: {name}
on:
  pull_request:
  push:
    branches: [main]
permissions: {{}}
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    permissions:
      contents: read
{defaults}    steps:
      - uses: {checkout}
        with:
          persist-credentials: false
      - uses: {setup_python}
        with:
          python-version: "{python}"
      - name: install
        run: |
          {install}
          {complete}
      - uses: {cached}
        with:
          path: ${{{{ runner.temp }}}}/calm.sqlite
          key: {cache}-${{{{ hashFiles({hashed}) }}}}-${{{{ github.run_id }}}}
          restore-keys: |
            {cache}-${{{{ hashFiles({hashed}) }}}}-
            {cache}-
      - name: gate
{gate}
      - name: summary
        if: always()
        run: if [ -f calm-audit/summary.md ]; then cat calm-audit/summary.md >> "$GITHUB_STEP_SUMMARY"; fi
      - uses: {upload}
        if: always()
        with:
          name: calm-{name}
          path: {below}calm-audit/
"""
_CLEAR: Final = "rm -rf calm-audit    # what the tree brings is of no run"
_WITH_KEY: Final = """\
        env:
          # a pull request of a fork or of Dependabot gets no key, whatever the repository allows them
          {key}: >-
            ${{{{ (github.event_name == 'push' || (github.event.pull_request.head.repo.full_name == github.repository
            && github.event.pull_request.user.login != 'dependabot[bot]')) && secrets.{key} || '' }}}}
        run: |
          {clear}
          mode=on
          if [ -z "${key}" ]; then
            # Without a key it replays the cache that a run with the key has left on the main branch, and sends nothing.
            # Until there is one, it fails with "there is no cache to replay": run it on main first.
            mode=replay
            export {key}=none
          fi
          calm audit judge.toml -- --calm-gate=gate.toml --calm-cache=$mode \\
            --calm-cache-file="$RUNNER_TEMP/calm.sqlite" --calm-max-calls=10000"""
_KEYLESS: Final = """\
        run: |
          {clear}
          calm audit judge.toml -- --calm-gate=gate.toml \\
            --calm-cache-file="$RUNNER_TEMP/calm.sqlite" --calm-max-calls=10000"""
_GITLAB: Final = """\
{name}:
  image: python:{python}
  rules:
    # the merge request of a fork runs in the fork, and never here, where it would have the key
    - if: $CI_MERGE_REQUEST_SOURCE_PROJECT_ID && $CI_MERGE_REQUEST_SOURCE_PROJECT_ID != $CI_PROJECT_ID
      when: never
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  cache:
    key: calm-{name}
    paths: [{below}.calm/]
  script:
{change}    - "{install}"
    - {complete}
    - {clear}
    - calm audit judge.toml -- --calm-gate=gate.toml --calm-max-calls=10000
  artifacts:
    when: always
    paths: [{below}calm-audit/]
"""
_INSTALL: Final = f"python -m pip install --no-deps --only-binary :all: -r {REQUIREMENTS}"
_COMPLETE: Final = "python -m pip check"
_SIMPLE: Final = re.compile(r"[\w./-]*")
"""A path that means itself in YAML, in a shell and in an expression of GitHub."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """The files for a CI service by their place, relative to the judge's folder, and what is left to do."""

    files: Mapping[str, str | bytes]
    left: tuple[str, ...] = ()


def usual(folder: Path) -> str:
    """Return the CI that the git work tree around a folder uses, `github` or `gitlab`, as its files and remotes say."""
    root = _root(folder.resolve())
    if root is None or (root / ".github").exists():
        return "github"
    config = root / ".git" / "config"
    remotes = config.read_text("utf-8", "replace") if config.is_file() else ""
    return "gitlab" if (root / ".gitlab-ci.yml").exists() or "gitlab" in remotes else "github"


def _root(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def workflow(ci: str, folder: Path, key: str | None) -> Workflow:
    """
    Return the workflow that runs the gate of the judge in a folder, with what it installs.

    It stands where the service looks for it: at the root of the git work tree around the folder. `key` is the variable
    that holds the judge's key (None: it needs none, and nothing is ever replayed in its place).

    Raises:
        ConfigError: what it would install is not to be had where it runs.
    """
    here = folder.resolve()
    root = _root(here)
    installed = package()
    if root is not None:
        refuse_ignored(here)
    below = "" if root is None or root == here else f"{here.relative_to(root).as_posix()}/"
    moved = root is None and folder != Path()
    if not _SIMPLE.fullmatch(below):
        below, moved = "", True
    name = "-".join(["judge", *(part for part in re.split(r"[/.]+", below) if part)])
    usual = {"name": name, "below": below, "python": PYTHON, "install": _INSTALL, "complete": _COMPLETE}
    if ci == "gitlab":
        text = _GITLAB.format(**usual, change=f"    - cd {below}\n" if below else "", clear=_CLEAR)
        include = f'"include: [{{local: {below}.gitlab-ci.yml}}]"'
        left = f"GitLab reads the file at the root alone: write {include} there" if below else ""
        left = left or (_moved(folder / ".gitlab-ci.yml", folder) if moved else "")
        return Workflow({".gitlab-ci.yml": text, **installed}, (left,) if left else ())
    path = f".github/workflows/{name}.yml"
    text = _GITHUB.format(
        **usual,
        defaults=f"    defaults:\n      run:\n        working-directory: {below}\n" if below else "",
        cache=name.replace("judge", "calm", 1),
        hashed=", ".join(f"'{below}{one}'" for one in ("judge.toml", "*.jinja", "cases.jsonl")),
        gate=_WITH_KEY.format(key=key, clear=_CLEAR) if key else _KEYLESS.format(clear=_CLEAR),
        checkout=_CHECKOUT,
        setup_python=_SETUP_PYTHON,
        cached=_CACHE,
        upload=_UPLOAD,
    )
    place = os.path.relpath(root / path, here) if root is not None and below else path
    return Workflow({Path(place).as_posix(): text, **installed}, (_moved(folder / path, folder),) if moved else ())


def _moved(path: Path, folder: Path) -> str:
    return (
        f"{path} is run only at the root of a repository: if {folder} is not the root of yours, move the file "
        f"there and let its steps run in the folder of judge.toml (working-directory on GitHub, cd on GitLab)"
    )
