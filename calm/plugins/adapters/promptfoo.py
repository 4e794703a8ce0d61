"""
The assertions of a promptfoo configuration, by promptfoo's own command.

promptfoo is a program of its own: its grader calls models from another process, which calm does not see. Many answers
are graded by one process, as it takes seconds to start.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import Any, Final, cast

from calm.core.files import MOST_SETTINGS, read_bytes
from calm.core.verdict import Unreadable
from calm.errors import ConfigError, JudgeError
from calm.judges.code import in_thread
from calm.plugins.adapters.evaluator import ANSWER, QUESTION, REFERENCE, SHARE, Evaluator

COMMAND: Final = "promptfoo"
GATHER_S: Final = 0.3
"""For how many seconds asks are gathered before a process grades them."""
TIMEOUT_S: Final = 3600.0
FAILED: Final = 100
"""The exit status of promptfoo where assertions failed, which is a result."""
ENVIRONMENT: Final[Mapping[str, str]] = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_CACHE_ENABLED": "false",
}
"""What promptfoo is started with, where the user set nothing else."""
NO_ANSWER: Final = ("API error", "Error:", "API call error")
"""How the reason of a grade begins that is none, as the grader's model gave no answer."""
NO_GRADE: Final = ("No output", "Could not extract JSON", "llm-rubric produced malformed response")
"""How it begins where the answer held no grade."""


def evaluator_of_file(name: str, spec: str) -> Evaluator:
    """
    Return the assertions in the `defaultTest` of a configuration as they are asked.

    Raises:
        ConfigError: there is no such file, or promptfoo is not installed.
    """
    path = Path(name)
    try:
        content = read_bytes(path, MOST_SETTINGS)
    except (ConfigError, OSError) as error:
        raise ConfigError(
            f"--calm-judge {spec}: expected a promptfoo configuration, and the file {name!r} cannot be read ({error})"
        ) from error
    command = which(COMMAND)
    if command is None:
        raise ConfigError(
            f"--calm-judge {spec}: there is no command promptfoo on the path; install it: npm install -g promptfoo"
        )
    if b"defaultTest" not in content:
        raise ConfigError(
            f"--calm-judge {spec}: {name} has no defaultTest, so nothing says how an answer that is not in it is "
            "graded; put the assertions there: defaultTest: {assert: [...]}"
        )
    release = _release(command, spec)
    waves = _Waves(command, path.resolve())
    return Evaluator(
        release=release,
        task="score",
        scale=SHARE,
        passes={"question": QUESTION, "output": ANSWER, "reference": REFERENCE, "context": "context"},
        call=waves.score,
        asynchronous=True,
        optional=frozenset({"reference", "context"}),
        notes=("what is measured is the score of all assertions together, as promptfoo weighs them",),
        description={"config": name, "config_sha256": sha256(content).hexdigest()},  # the text may hold a key
        fingerprint=None if b"file://" in content else sha256(release.encode() + content).hexdigest(),
    )


class _Waves:
    """Grades what is asked meanwhile in one process; another one follows it."""

    def __init__(self, command: str, config: Path) -> None:
        self._command, self._config = command, config
        self._waiting: list[tuple[Mapping[str, Any], asyncio.Future[object]]] = []
        self._task: asyncio.Task[None] | None = None

    async def score(self, values: Mapping[str, Any]) -> object:
        """Return the score of an answer, or a verdict that there is none."""
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting.append((values, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER_S)
            wave = [(values, future) for values, future in self._waiting if not future.done()]
            self._waiting = []
            if not wave:
                continue
            try:
                found = cast("list[object]", await in_thread(partial(self._graded, [values for values, _ in wave])))
            except JudgeError as error:
                found = [error] * len(wave)
            for (_, future), one in zip(wave, found, strict=True):
                if future.done():
                    continue
                if isinstance(one, JudgeError):
                    future.set_exception(one)
                else:
                    future.set_result(one)

    def _graded(self, wave: Sequence[Mapping[str, Any]]) -> list[object]:
        with tempfile.TemporaryDirectory(prefix="calm-promptfoo-") as folder:
            tests, out = Path(folder, "tests.json"), Path(folder, "out.json")
            tests.write_text(json.dumps([_test(str(place), values) for place, values in enumerate(wave)]), "utf-8")
            command = [self._command, "eval", "-c", str(self._config), "-t", str(tests), "-r", "echo", "-o", str(out)]
            command += ["--no-cache", "--no-write", "--no-progress-bar", "--no-table"]
            environment = {**ENVIRONMENT, "PROMPTFOO_CONFIG_DIR": folder, **os.environ}
            try:
                done = subprocess.run(  # noqa: S603 - the user's own command, with a file of calm's
                    command,
                    cwd=self._config.parent,
                    env=environment,
                    capture_output=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise JudgeError(f"promptfoo did not run: {error}") from error
            if done.returncode not in (0, FAILED):
                raise JudgeError(f"promptfoo ended with status {done.returncode}: {_last_line(done.stderr)}")
            try:
                results = json.loads(out.read_bytes())["results"]["results"]
            except (OSError, ValueError, KeyError) as error:
                raise JudgeError(f"promptfoo wrote no results: {_last_line(done.stderr)}") from error
        by_name = {str(one["testCase"].get("description")): one for one in results}
        return [_value(by_name.get(str(place))) for place in range(len(wave))]


def _test(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in values.items() if key != "output"}
    return {"description": name, "vars": {**given, "input": given["question"]}, "providerOutput": values["output"]}


def _value(result: Mapping[str, Any] | None) -> object:
    if result is None:
        return JudgeError("promptfoo left this answer out of its results")
    grading = result.get("gradingResult")
    if not isinstance(grading, Mapping):
        return JudgeError(f"promptfoo did not grade it: {result.get('error') or 'it has no assertion in defaultTest'}")
    for part in grading.get("componentResults") or ():
        graded = str(part.get("reason", ""))  # promptfoo says only in words that there is no grade
        if graded.startswith(NO_ANSWER):
            return JudgeError(f"promptfoo's grader: {graded[:200]}")
        if graded.startswith(NO_GRADE):
            return Unreadable(graded[:200])
    return grading.get("score")


def _release(command: str, spec: str) -> str:
    try:
        said = subprocess.run(  # noqa: S603 - the command that was found on the path
            [command, "--version"], capture_output=True, timeout=120, check=True, env={**ENVIRONMENT, **os.environ}
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"--calm-judge {spec}: promptfoo --version failed: {error}; does promptfoo run?") from error
    return f"promptfoo {_last_line(said)}"


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"
