"""
The same gate through several checkouts of calm, in turn: what a change costs or saves.

    python benchmarks/versions.py before=../before after=. [--calls N] [--in-flight N] [--rounds N]

Each checkout has its environment in `.venv` and asks its own gate of `benchmarks/throughput.py`. All ask the same
cases of one local server. The table gives medians; its ratios are to the first checkout, round by round.
"""

import argparse
import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any


def benchmark_of(name: str, checkout: Path) -> ModuleType:
    """Load the benchmark of a checkout under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"throughput_{name}", checkout / "benchmarks" / "throughput.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{checkout}: expected a checkout with benchmarks/throughput.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("checkouts", nargs="+", metavar="NAME=FOLDER", help="others are compared with the first")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=8370)
    given = parser.parse_args()
    url = f"http://127.0.0.1:{given.port}/v1"
    last = (os.cpu_count() or 1) - 1
    folders = {name: Path(folder).resolve() for name, _, folder in (one.partition("=") for one in given.checkouts)}
    modules = {name: benchmark_of(name, folder) for name, folder in folders.items()}
    first = modules[next(iter(modules))]
    with TemporaryDirectory() as temporary:
        home = Path(temporary)
        with first.stub(home, [f"{given.port}:50"], last or None):
            cases = first.write_cases(home, given.calls // first.ASKS_A_CASE)
            runs: dict[str, list[object]] = {}
            entrants = []
            for name, module in modules.items():
                load = module.Load(cases, given.calls, given.in_flight, url)
                asked = own(module.gate(name, load), folders[name])
                kept = module.filled(asked, home, url, "cache.sqlite")
                cached = own(module.gate(f"{name}, all cached", load, kept), folders[name])
                entrants += [(module, asked), (module, cached)]
            for _ in range(given.rounds):
                for module, entrant in entrants:
                    found = module.rounds([entrant], 1, lambda _: url)
                    runs.setdefault(entrant.name, []).extend(found[entrant.name])
            for suffix in ("", ", all cached"):
                chosen = {f"{name}{suffix}": runs[f"{name}{suffix}"] for name in modules}
                print(first.table([e for _, e in entrants], chosen, next(iter(chosen))), "\n", sep="")


def own(entrant: Any, checkout: Path) -> Any:
    """Return an entrant that runs in the environment of its checkout."""
    python = str(checkout / ".venv" / "bin" / "python")
    return replace(entrant, command=lambda folder: [python, *entrant.command(folder)[1:]])


if __name__ == "__main__":
    main()
