"""The files of CI services that `calm init` writes, and where they must stand."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from calm import __version__

_GITHUB: Final = """\
name: {name}
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: 30
{defaults}    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: {install}
      - uses: actions/cache@v4
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
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: calm-{name}
          path: {below}calm-audit/
"""
_WITH_KEY: Final = """\
        env:
          {key}: ${{{{ secrets.{key} }}}}
        run: |
          mode=on
          if [ -z "${key}" ]; then
            # A run for a fork has no key. It replays the cache that a run with the key has left on the main branch, and
            # sends nothing. Until there is one, it fails with "there is no cache to replay": run it on main first.
            mode=replay
            export {key}=none
          fi
          calm audit judge.toml -- --calm-gate=gate.toml \\
            --calm-cache=$mode --calm-cache-file="$RUNNER_TEMP/calm.sqlite" --calm-max-calls=10000"""
_KEYLESS: Final = """\
        run: |
          calm audit judge.toml -- --calm-gate=gate.toml \\
            --calm-cache-file="$RUNNER_TEMP/calm.sqlite" --calm-max-calls=10000"""
_GITLAB: Final = """\
{name}:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  cache:
    key: calm-{name}
    paths: [{below}.calm/]
  script:
    - {install}
{change}    - calm audit judge.toml -- --calm-gate=gate.toml --calm-max-calls=10000
  artifacts:
    when: always
    paths: [{below}calm-audit/]
"""
_SIMPLE: Final = re.compile(r"[\w./-]*")
"""A path that means itself in YAML, in a shell and in an expression of GitHub."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A file of a CI service: its place, relative to the judge's folder, its text, and what is left to do."""

    place: str
    text: str
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


def _install() -> tuple[str, str]:
    """Return the command that installs this calm elsewhere, and what a person must check of it (or "")."""
    try:
        origin = json.loads(distribution("calm-judge").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {"url": "file:"}
    url, at = str(origin.get("url", "")), origin.get("vcs_info", {})
    if url.startswith("file:"):
        return "pip install calm-judge", (
            "calm is installed here from a folder, so check the line `pip install calm-judge` of the workflow: it must "
            "name a place from which your CI can install calm"
        )
    if at:
        url = f"{at.get('vcs', 'git')}+{url}@{at.get('commit_id', 'HEAD')}"
    which = f"calm-judge @ {url}" if url else f"calm-judge=={__version__}"
    return f'pip install "{which}"', ""


def workflow(ci: str, folder: Path, key: str | None) -> Workflow:
    """
    Return the workflow that runs the gate of the judge in a folder.

    It stands where the service looks for it: at the root of the git work tree around the folder. `key` is the variable
    that holds the judge's key (None: it needs none, and nothing is ever replayed in its place).
    """
    here = folder.resolve()
    root = _root(here)
    install, check = _install()
    below = "" if root is None or root == here else f"{here.relative_to(root).as_posix()}/"
    moved = root is None and folder != Path()
    if not _SIMPLE.fullmatch(below):
        below, moved = "", True
    name = "-".join(["judge", *(part for part in re.split(r"[/.]+", below) if part)])
    if ci == "gitlab":
        change = f"    - cd {below}\n" if below else ""
        text = _GITLAB.format(name=name, below=below, change=change, install=install)
        include = f'"include: [{{local: {below}.gitlab-ci.yml}}]"'
        left = f"GitLab reads the file at the root alone: write {include} there" if below else ""
        left = left or (_moved(folder / ".gitlab-ci.yml", folder) if moved else "")
        return Workflow(".gitlab-ci.yml", text, tuple(filter(None, (left, check))))
    path = f".github/workflows/{name}.yml"
    text = _GITHUB.format(
        name=name,
        defaults=f"    defaults:\n      run:\n        working-directory: {below}\n" if below else "",
        cache=name.replace("judge", "calm", 1),
        hashed=", ".join(f"'{below}{one}'" for one in ("judge.toml", "*.jinja", "cases.jsonl")),
        gate=_WITH_KEY.format(key=key) if key else _KEYLESS,
        below=below,
        install=install,
    )
    place = os.path.relpath(root / path, here) if root is not None and below else path
    return Workflow(
        Path(place).as_posix(), text, tuple(filter(None, (_moved(folder / path, folder) if moved else "", check)))
    )


def _moved(path: Path, folder: Path) -> str:
    return (
        f"{path} is run only at the root of a repository: if {folder} is not the root of yours, move the file "
        f"there and let its steps run in the folder of judge.toml (working-directory on GitHub, cd on GitLab)"
    )
