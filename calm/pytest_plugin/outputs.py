"""
The files that a run writes, and those of an earlier run, set aside so that none is taken for what this run found.

`results.json` is `results.json.before` from the first moment of a run. A run that tells something writes its own files
and removes the earlier ones. One that is killed, or tells nothing, leaves them beside: nothing paid for is lost.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calm.pytest_plugin.options import OUTPUTS, option, place_of
from calm.pytest_plugin.selection import part_chosen

if TYPE_CHECKING:
    from calm.results.audit import Audit
    from calm.results.outputs import Form, Output


@dataclass
class Inputs:
    """What a run reads, which no output may take the place of."""

    known: int = 0
    """The number of the last reading of an input before the run."""
    weighed: int = -1
    """The number of the last reading when the outputs were looked at."""
    sources: list[Path] = field(default_factory=list)
    """The files of the tests, and those that configure them."""


INPUTS: pytest.StashKey[Inputs] = pytest.StashKey()


def outputs_of(config: pytest.Config) -> list[Output]:
    """Return the files that the run is to write."""
    from calm.results import outputs

    forms = {
        "results": outputs.RESULTS,
        "report": outputs.REPORT,
        "summary": outputs.SUMMARY,
        "sarif": outputs.SARIF,
    }
    found = [
        outputs.Output(f"--calm-{name}", Path(option(config, name)), forms[name], aside=True)
        for name in OUTPUTS
        if option(config, name)
    ]
    if (path := option(config, "results")) and option(config, "texts") == "full":
        from calm.results.audit import texts_path

        found.append(outputs.Output("--calm-results", texts_path(Path(path)), outputs.TEXTS, aside=True))
    return found


def set_aside_of(config: pytest.Config) -> list[Output]:
    """Return all files that the run may write or remove, that of the texts included."""
    from calm.results.audit import texts_path
    from calm.results.outputs import TEXTS, Output

    found = outputs_of(config)
    if results := option(config, "results"):
        texts = texts_path(Path(results))
        if option(config, "texts") != "full" and texts.is_file() and TEXTS.owns(texts):
            found.append(Output("--calm-results", texts, TEXTS, aside=True))
    return found


def output_faults(config: pytest.Config, *names: str) -> list[str]:
    """
    Return which outputs would take the place of an input, a cache or a file of the user's, or cannot be written.

    `names` are those of the options to look at (none: all).
    """
    from calm.core.files import inputs
    from calm.engine.places import files
    from calm.errors import ConfigError
    from calm.results.outputs import faults

    ours = config.stash[INPUTS]
    try:
        caches = files(place_of(config))
    except ConfigError:  # it is said elsewhere
        caches = []
    read = (*inputs(ours.known), *ours.sources, *([config.inipath] if config.inipath else ()))
    looked_at = {f"--calm-{name}" for name in names or OUTPUTS}
    written = [one for one in outputs_of(config) if one.option in looked_at]
    return faults(written, inputs=read, caches=caches)


def refuse_outputs(config: pytest.Config) -> None:
    """
    Refuse outputs again, now that more inputs are known: those that the fixtures of a test read.

    Raises:
        ConfigError: one line for each.
    """
    from calm.core.files import count
    from calm.errors import ConfigError

    ours = config.stash[INPUTS]
    if ours.weighed != count():
        ours.weighed = count()
        if found := output_faults(config):
            raise ConfigError(found)


def write(audit: Audit, name: str, config: pytest.Config) -> None:
    """
    Write one output of a run, by the name of its option.

    Raises:
        ConfigError: it cannot be written there.
    """
    path = Path(option(config, name))
    if name == "results":
        from calm.results import audit as results

        results.write(audit, path, texts=option(config, "texts") == "full")
    elif name == "report":
        from calm.results.reports import html

        html.write(audit, path)
    elif name == "summary":
        from calm.results.reports import markdown

        markdown.write(audit, path)
    else:
        from calm.results.reports import sarif

        sarif.write(audit, path, root=config.rootpath)


def _tests_in(results: Path, *, more_than: int) -> int:
    """Return how many tests a results file tells of, if they are so many; 0 if there is none."""
    from calm.errors import ConfigError
    from calm.results.audit import read

    with suppress(ConfigError):
        return count if (count := len(read(results, texts=False).tests)) > more_than else 0
    return 0


class Outputs:
    """The output files of a run, and what an earlier run left in their places."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._moved: list[Path] = []
        self._done = False
        self.stay: set[Path] = set()
        """The outputs of an earlier run that stay, so that nothing is written in their places."""
        self.written: list[str] = []
        """The names of the outputs that were written."""
        self.replaced = 0
        """Of how many tests the results were that the results of a part of the tests replaced; 0: of no more."""

    def set_aside(self) -> None:
        """
        Set aside, once, what calm wrote in the places of outputs; whatever else is there, or beside, stays.

        An empty file stays: it says nothing, and may be anybody's.
        """
        from calm.results.outputs import before

        if self._done:
            return
        self._done = True
        for one in set_aside_of(self._config):
            with suppress(OSError):  # a folder that is read alone: the output will be refused there, too
                beside, mine = before(one.path), _ours(one.path, one.form)
                if _ours(beside, one.form):
                    if mine:  # an earlier run told nothing, and what lies here is all that it wrote
                        one.path.resolve().unlink()
                elif mine and not beside.exists() and not beside.is_symlink():
                    one.path.resolve().replace(beside)
                else:
                    continue
                self._moved.append(one.path)

    def put_back(self) -> None:
        """Undo all of it, since no run has begun or one was interrupted: the earlier files stay."""
        from calm.results.outputs import before

        for path in self._moved:
            with suppress(OSError):
                if not path.exists():
                    before(path).replace(path.resolve())
        self.stay = set(self._moved)
        self._moved.clear()
        self._done = False

    def wanted(self) -> list[str]:
        """Return the names of the outputs to write."""
        return [name for name in OUTPUTS if (path := option(self._config, name)) and Path(path) not in self.stay]

    def take_their_places(self, audit: Audit) -> None:
        """Remove what was set aside where this run, which told something, has written."""
        from calm.results.outputs import before

        if part_chosen(self._config) and "results" in self.written:
            self.replaced = _tests_in(before(Path(option(self._config, "results"))), more_than=len(audit.tests))
        for one in set_aside_of(self._config):
            with suppress(OSError):
                if one.path.exists() and _ours(beside := before(one.path), one.form):
                    beside.unlink()

    def kept(self) -> list[Path]:
        """Return the places of outputs whose earlier file is beside."""
        from calm.results.outputs import before

        return [one.path for one in set_aside_of(self._config) if _ours(before(one.path), one.form)]


def _ours(path: Path, form: Form) -> bool:
    """Return whether a file is what calm wrote in a form, and says something."""
    with suppress(OSError):
        return path.is_file() and path.stat().st_size > 0 and form.owns(path)
    return False
