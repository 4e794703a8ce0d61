"""The files of `calm init`: what stands in each, which are there already, and whether they can be used together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from calm.errors import ConfigError
from calm.results.outputs import Form

STARTERS: Final = ("pairwise", "score", "rubric")
"""Tasks that have a template to start from; the others use the bundled prompt."""
WRITTEN: Final = Form("a file of `calm init`", ("",), forcible=True)
GATE: Final = """\
# What the owners of the judge accept, each with a reason and a last day. An entry that has expired is an error.
#
# [[limit]]                       # another limit for a claim
# key = "verbosity/gain"
# limit = 0.20
# reason = "long answers are wanted here"
# expires = 2030-01-31
#
# [[waive]]                       # a claim that may fail until then
# [[not_tested]]                  # something that need not be tested
"""
GITHUB: Final = """\
name: judge
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
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install calm-judge
      - uses: actions/cache@v4
        with:
          path: ${{ runner.temp }}/calm.sqlite
          key: calm-${{ hashFiles('judge.toml', '*.jinja', 'cases.jsonl') }}-${{ github.run_id }}
          restore-keys: |
            calm-${{ hashFiles('judge.toml', '*.jinja', 'cases.jsonl') }}-
            calm-
      - name: gate
        env:
          KEY: ${{ secrets.KEY }}
        run: |
          mode=on
          if [ -z "$KEY" ]; then
            mode=replay
            export KEY=none    # a fork has no key: it replays the cache, and nothing is sent
          fi
          calm audit judge.toml --cases cases.jsonl -- --calm-gate=gate.toml \\
            --calm-cache=$mode --calm-cache-file="$RUNNER_TEMP/calm.sqlite" --calm-max-calls=10000
      - name: summary
        if: always()
        run: cat calm-audit/summary.md >> "$GITHUB_STEP_SUMMARY"
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: calm-audit
          path: calm-audit/
"""
GITLAB: Final = """\
judge:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  cache:
    key: calm
    paths: [.calm/]
  script:
    - pip install calm-judge
    - calm audit judge.toml --cases cases.jsonl -- --calm-gate=gate.toml --calm-max-calls=10000
  artifacts:
    when: always
    paths: [calm-audit/]
"""
CI: Final[Mapping[str, tuple[str, str]]] = {
    "github": (".github/workflows/judge.yml", GITHUB),
    "gitlab": (".gitlab-ci.yml", GITLAB),
}
"""Where the workflow of a CI goes, and what stands in it."""


def starter(task: str, *, negative: bool = False) -> str:
    """Return the template to start from, or its twin."""
    name = f"{task}.negative.jinja" if negative else f"{task}.jinja"
    return files("calm").joinpath("judges", "data", "start", name).read_text("utf-8")


def workflow(ci: str, key: str) -> tuple[str, str]:
    """Return the place and the text of a workflow; `key` is the variable that holds the key ("": none is needed)."""
    place, text = CI[ci]
    return place, text.replace("KEY", key or "OPENAI_API_KEY")


def there(folder: Path, names: Iterable[str]) -> list[str]:
    """Return which of some files stand in a folder already."""
    return [name for name in names if (folder / name).exists() or (folder / name).is_symlink()]


def check(written: Mapping[str, str], judge: str) -> str | None:
    """
    Read the judge and its cases in a folder of their own, before anything is put in place.

    Returns the variable that holds its key; None if it needs none.

    Raises:
        ConfigError: what they say cannot be used together; the messages name the files as they will be called.
    """
    from calm.cases import read_files
    from calm.experiment.showing import refuse_unshowable
    from calm.gate.from_spec import recall
    from calm.judges.judgefile import read_judge
    from calm.models.server import APIS, Server

    with TemporaryDirectory(prefix="calm-init-") as stage:
        place = Path(stage)
        for name, text in written.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, "utf-8")
        try:
            made = read_judge(place / judge, {}, keyless=True)
            cases = read_files([str(place / "cases.jsonl")], task=made.task)
            recall(made, cases)
            refuse_unshowable(made, cases)
        except ConfigError as error:
            raise ConfigError([problem.replace(f"{stage}/", "") for problem in error.problems]) from error
    for server in made.endpoints:
        if isinstance(server, Server):
            return server.api_key_env or (APIS[server.provider].key_name if server.own else None)
    return None
