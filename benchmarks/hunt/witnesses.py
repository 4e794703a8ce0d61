"""
Whether a hunt returns exactly the witness of a planted rule, and what it takes.

    python -m benchmarks.hunt.witnesses --seeds 20 --asks 600 --write docs/measured/hunts.md

A rule is a word, a sign at the end, a length, two words only together, a word in the first sentence alone. A witness is
exact if nothing can be left out of it: that word, that sign behind the text, the fewest words that pass the length.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.hunt.judges import hunted, ruled
from benchmarks.pages import measured, put
from calm.plugins.search.findings import Finding
from calm.plugins.search.subjects import Bounds
from calm.strategies.shrinking import tokens_of

LONG = 90
"""An answer of more words wins."""


def _words(finding: Finding) -> list[str]:
    return sorted(token.strip() for token in finding.words)


def _at_end(finding: Finding) -> bool:
    end = len(tokens_of(finding.subject.original))
    return all(piece.place == end and not piece.removes for piece in finding.pieces)


@dataclass(frozen=True)
class Rule:
    """A rule, and whether a finding is exactly its witness."""

    about: str
    holds: Callable[[str], bool]
    exact: Callable[[Finding], bool]


RULES = {
    "word": Rule(
        'the word "certified"', lambda t: bool(re.search(r"\bcertified\b", t)), lambda f: _words(f) == ["certified"]
    ),
    "sign": Rule(
        'the text ends in "!"', lambda t: t.endswith("!"), lambda f: _words(f) == ["!"] and f.text.endswith("!")
    ),
    "length": Rule(
        f"more than {LONG} words",
        lambda t: len(t.split()) > LONG,
        lambda f: len(f.text.split()) == LONG + 1 and _at_end(f) and len({*f.words}) == 1,
    ),
    "two": Rule(
        'the words "experts" and "verified", together only',
        lambda t: bool(re.search(r"\bexperts\b", t) and re.search(r"\bverified\b", t)),
        lambda f: _words(f) == ["experts", "verified"],
    ),
    "first": Rule(
        'the word "authorities", in the first sentence only',
        lambda t: bool(re.search(r"\bauthorities\b", re.split(r"[.!?]", t)[0])),
        lambda f: _words(f) == ["authorities"],
    ),
}


def one(given: tuple[str, float, int, int]) -> tuple[bool, int, str]:
    """Return of one hunt whether its simplest finding is the exact witness, the asks, and what was found."""
    name, noise, seed, asks = given
    rule = RULES[name]
    found = hunted(ruled(name, rule.holds, noise, seed), seed, Bounds(asks))
    simplest = found.confirmed[0] if found.confirmed else None
    said = "" if simplest is None else " ".join(simplest.words[:6])
    return simplest is not None and rule.exact(simplest), 0 if simplest is None else simplest.after, said


def main() -> None:
    """Measure and print; write the table where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--asks", type=int, nargs="+", default=[600])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.05, 0.15])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = ["| rule | noise | asks allowed | exact witness | asks until confirmed, median |", "|---|---|---|---|---|"]
    with ProcessPoolExecutor(options.workers) as workers:
        for name, rule in RULES.items():
            for noise in options.noise:
                for asks in options.asks:
                    given = [(name, noise, seed, asks) for seed in range(options.seeds)]
                    told = list(workers.map(one, given))
                    exact = [after for right, after, _ in told if right]
                    took = f"{median(exact):.0f}" if exact else "-"
                    rows.append(f"| {rule.about} | {noise} | {asks} | {len(exact)} of {len(told)} | {took} |")
                    others = [said for right, _, said in told if not right]
                    print(rows[-1], "others:", others, flush=True)
    if options.write:
        put(options.write, "witnesses", "\n".join(rows), measured())


if __name__ == "__main__":
    main()
