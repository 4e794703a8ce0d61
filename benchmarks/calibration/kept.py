"""The numbers of each seed of each row, kept in a file of JSON Lines, so that a later run goes on from there."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks.calibration.conditions import Condition, Figure, figure


class Kept:
    """Reads what was measured, and adds to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seeds: dict[str, dict[int, Mapping[str, float]]] = defaultdict(dict)
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                one = json.loads(line)
                self._seeds[one["row"]][one["seed"]] = one["numbers"]

    def measure(self, key: str, condition: Condition, runs: int) -> None:
        """Measure the seeds of a row that are missing, and print what is known of it."""
        known = self._seeds[key]
        if len(known) >= runs:
            return
        for seed in range(runs):
            if seed not in known:
                numbers = {name: round(number, 6) for name, number in condition.measure(seed).items()}
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"row": key, "seed": seed, "numbers": numbers}) + "\n")
                known[seed] = numbers
        shown = {name: str(one) for name, one in self.figures(key).items()}
        print(f"{key}: {len(known)} seeds: {shown}", flush=True)

    def seeds(self, key: str) -> int:
        """Return with how many seeds a row was measured."""
        return len(self._seeds.get(key, {}))

    def figures(self, key: str) -> dict[str, Figure]:
        """Return the figures of a row by name. What a seed does not mention did not hold in it."""
        known = self._seeds.get(key, {})
        names = dict.fromkeys(name for numbers in known.values() for name in numbers)
        return {name: figure([numbers.get(name, 0.0) for numbers in known.values()]) for name in names}
