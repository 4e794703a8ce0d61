"""
How much less the prompts of a default gate cost with the caches of prompts of Anthropic and OpenAI.

    python -m benchmarks.prompt_caching                                     # print the table
    python -m benchmarks.prompt_caching --cases 20                          # quicker

A rubric of 2,000 tokens stands in the judge's system message, at the beginning of its user message, or at the end of
it, after the case. The judge is sound. The servers are those of `tests/servers/caching.py`, on loopback: they keep
beginnings by the providers' rules, and reply after a moment, so that calls overlap. Prices are those of the table of
prices. A line with `no order` asks without letting the first call with a beginning go before the others.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from calm.cases.generate import generate
from calm.cases.lines import line as case_line
from calm.judges.prompts import bundled
from calm.models.pricing import look_up
from tests.servers.caching import caching_server
from tests.servers.planted import planted_respond

ROOT: Final = Path(__file__).resolve().parent.parent

RUBRIC: Final = "\n".join(
    f"{number:02}. An answer that states a fact about matter {number:02} must be right about it, and say so plainly."
    for number in range(1, 84)
)
"""About 2,000 tokens."""
ASKED: Final = bundled("pairwise", "brackets").messages[1].text
CONTEXT: Final = "A passage about the matter of this case. " * 200
"""About 2,000 tokens, which stand in one case."""
JUDGE: Final = """[judge]
name = "support"
task = "pairwise"
[model]
provider = "{provider}"
model = "{model}"
base_url = "{url}"
api_key_env = "NO_KEY"
max_tokens = 300
concurrency = 16
prompt_cache = true
[prompt]
user_file = "judge.jinja"
{system}
[verdict]
format = "brackets"
"""
PLACES: Final = {
    "system message": ("{{ asked }}", True),
    "beginning of the user message": ("{{ rubric }}\n\n{{ asked }}", False),
    "end of the user message": ("{{ asked }}\n\n{{ rubric }}", False),
}


@dataclass(frozen=True, slots=True)
class Way:
    """A provider, a model, how it caches, where the rubric stands, and whether one call with a beginning goes first."""

    provider: str
    model: str
    least: int = 1024
    explicit: bool = False
    place: str = "system message"
    first: bool = True
    passages: bool = False

    @property
    def words(self) -> str:
        """What the table says of where the shared text stands."""
        shown = f"{self.place}, and a reference of each case" if self.passages else self.place
        return shown if self.first else f"{shown}, no order"


WAYS: Final = (
    *(Way("anthropic", "claude-sonnet-4-5", place=place) for place in PLACES),
    Way("anthropic", "claude-sonnet-4-5", first=False),
    Way("anthropic", "claude-haiku-4-5", least=4096),
    Way("anthropic", "claude-sonnet-4-5", passages=True),
    Way("anthropic", "claude-sonnet-4-5", passages=True, first=False),
    *(Way("openai", "gpt-4.1-mini", place=place) for place in PLACES),
    Way("openai", "gpt-4.1-mini", first=False),
    Way("openai", "gpt-4o-mini"),
    Way("openai", "gpt-5.6", explicit=True),
    Way("openai-responses", "gpt-5-mini"),
)


def line(way: Way, *, cases: int, delay_s: float, suites: tuple[str, ...]) -> str:
    """Run the gate once on a fresh server, and return the row of the table."""
    made = list(generate("pairwise", cases, 7))
    if way.passages:
        made = [replace(case, reference=f"{case.id}. {CONTEXT}") for case in made]
    with (
        TemporaryDirectory() as name,
        caching_server(
            planted_respond("planted:", made), least=way.least, explicit=way.explicit, delay_s=delay_s
        ) as server,
    ):
        folder = Path(name)
        template, system = PLACES[way.place]
        text = template.replace("{{ asked }}", ASKED).replace("{{ rubric }}", RUBRIC)
        (folder / "judge.jinja").write_text(text, "utf-8")
        (folder / "rubric.txt").write_text(RUBRIC, "utf-8")
        url = server.url if way.provider != "anthropic" else server.url.removesuffix("/v1")
        judge = JUDGE.format(
            provider=way.provider, model=way.model, url=url, system='system_file = "rubric.txt"' if system else ""
        )
        (folder / "judge.toml").write_text(judge, "utf-8")
        (folder / "cases.jsonl").write_text("".join(f"{case_line(case)}\n" for case in made), "utf-8")
        began = perf_counter()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}", *suites),
                *("-p", "no:cacheprovider", "--import-mode=importlib", "--calm-judge=judge.toml", "--calm-cache=off"),
                *("--calm-cases=cases.jsonl", *(() if way.first else ("-p", "benchmarks.together"))),
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "NO_KEY": "none"},
            capture_output=True,
            text=True,
            check=False,
        )
        wall_s = perf_counter() - began
        if done.returncode not in (0, 1) or not server.counted.calls:
            raise SystemExit(done.stdout[-3000:] + done.stderr[-1000:])
        counted = server.counted
    price = look_up(way.model)
    assert price is not None
    paid = counted.cost((price.read or price.input) / price.input, (price.write or price.input) / price.input)
    return (
        f"| {way.provider} | {way.model} | {way.words} | {counted.calls:,} | {counted.input:,} | {counted.written:,} "
        f"| {counted.read:,} | {1 - paid:.2f} | {wall_s:.0f} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--delay-s", type=float, default=0.2, help="how long a reply takes (default 0.2)")
    parser.add_argument("--ways", type=int, nargs="+", choices=range(len(WAYS)), default=range(len(WAYS)), metavar="N")
    parser.add_argument("tests", nargs="*", default=["--pyargs", "calm.suites"])
    given = parser.parse_args()
    print("| provider | model | the rubric stands in | calls | tokens in | written | read | saved | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for number in given.ways:
        row = line(WAYS[number], cases=given.cases, delay_s=given.delay_s, suites=tuple(given.tests))
        print(row, flush=True)


if __name__ == "__main__":
    main()
