"""
UDA, measured: the rating scan, a whole training, a simulated arena, the paper's own size, and a plain PyTorch loop.

    python -m benchmarks.uda                                  # everything, some minutes
    python -m benchmarks.uda --only scan arena                # some of it
    python -m benchmarks.uda --write docs/measured/uda.md    # write the blocks between the page's markers

Seeds are fixed. PyTorch is compared with only where it is installed; nothing here needs it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.pages import measured, put
from benchmarks.uda_arena import World, play, world, written
from calm.commands.cli import main as main_of_calm
from calm.plugins.uda import network, ratings
from calm.plugins.uda.comparisons import Comparisons, split
from calm.plugins.uda.network import Settings, doubles, jax, jnp, width
from calm.plugins.uda.page import FIGURES, SIDES
from calm.plugins.uda.ratings import Elo, Floats
from calm.plugins.uda.report import report
from calm.plugins.uda.training import apply, gradient, judge_weights, new_state, train
from calm.statistics.power import uniforms

JUDGES, MODELS, TURNS = 10, 10, 45_000
PAPER = Settings(hidden=(2048, 512, 64))
SEEDS = (1, 2, 3)
LOOP = 10_000
"""Comparisons of the plain loop; its time is scaled up."""
PART = 4_096
"""Comparisons of the paper's size that are measured; the network's time is scaled up."""


def timed(run: Callable[[], Any], *, times: int = 1) -> tuple[float, float]:
    """Return the least wall and processor seconds of some runs; the first of all is not counted, it compiles."""
    run()
    found = []
    for _ in range(times):
        wall, worked = time.perf_counter(), time.process_time()
        run()
        found.append((time.perf_counter() - wall, time.process_time() - worked))
    return min(w for w, _ in found), min(c for _, c in found)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in lines)


def where() -> str:
    """Return how the figures were measured, and how busy the machine was."""
    load = f"load average {os.getloadavg()[0]:.1f} then (above the number of cores, wall times are too long)"
    return measured(f"jax {jax.__version__}, {load}")


# ------------------------------------------------------------------------------------------------------------ the scan


def games(judges: int, turns: int) -> tuple[ratings.Lanes, Floats, Floats]:
    """Return random comparisons in lanes, with outcomes and factors."""
    rng = Random(1)
    first = (uniforms(rng, (turns, judges)) * MODELS).astype(np.int32)
    second = ((first + 1 + (uniforms(rng, (turns, judges)) * (MODELS - 1)).astype(np.int32)) % MODELS).astype(np.int32)
    source = np.arange(turns * judges, dtype=np.int32).reshape(turns, judges)
    share = np.floor(uniforms(rng, (turns, judges)) * 3) / 2
    return ratings.Lanes(source, first, second), share, 100 * uniforms(rng, (turns, judges))


def differentiate(judges: int, turns: int) -> Callable[[], object]:
    """Return what runs the ratings forward and backward."""
    laid, share, k = games(judges, turns)

    def total(share: jax.Array, k: jax.Array, met: network.Turns) -> jax.Array:
        return (network.rate_turns(met, share, MODELS, Elo(), k) ** 2).sum()

    with doubles():
        met, won, factor = network.turns_of(laid), jnp.asarray(share), jnp.asarray(k)
        both = jax.jit(jax.value_and_grad(total, argnums=(0, 1)))

    def run() -> object:
        with doubles():
            return jax.block_until_ready(both(won, factor, met))

    return run


def scans() -> str:
    """Return the time of 450,000 sequential comparisons, forward and backward."""
    rows = []
    for label, judges in ((f"{JUDGES} judges side by side, {TURNS:,} each", JUDGES), ("one judge, all in a row", 1)):
        wall, worked = timed(differentiate(judges, TURNS * JUDGES // judges), times=5)
        rows.append((label, f"{wall:.2f}", f"{worked:.2f}"))
    return table(("450,000 comparisons, K and outcome given, forward and backward", "s, wall", "s, processor"), rows)


def torch_loop() -> str:
    """Return the time of the same ratings in a plain PyTorch loop, and the ratio in this run."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed here: not compared."
    laid, share, k = games(1, LOOP)
    pairs = list(zip(laid.first[:, 0].tolist(), laid.second[:, 0].tolist(), strict=True))

    def run() -> None:
        won = torch.tensor(share[:, 0], requires_grad=True)
        factor = torch.tensor(k[:, 0], requires_grad=True)
        ratings = [torch.tensor(1200.0, dtype=torch.float64) for _ in range(MODELS)]
        for turn, (a, b) in enumerate(pairs):
            change = factor[turn] * (won[turn] - torch.sigmoid((ratings[a] - ratings[b]) / 400))
            ratings[a], ratings[b] = ratings[a] + change, ratings[b] - change
        (torch.stack(ratings) ** 2).sum().backward()

    loop, _ = timed(run)
    ours, _ = timed(differentiate(1, TURNS * JUDGES), times=3)
    whole = loop * TURNS * JUDGES / LOOP
    return (
        f"A plain PyTorch {torch.__version__.partition('+')[0]} loop, one judge: {loop:.1f} s for {LOOP:,} "
        f"comparisons, so {whole:.0f} s for 450,000 (scaled, not run); the scan takes {ours:.2f} s in the same "
        f"process: a ratio of {whole / ours:,.0f}."
    )


# ----------------------------------------------------------------------------------------------------------- the arena


def figures(matrix: Floats, place: World) -> list[float]:
    """Return deviation, spread, their ratio, mean correlation with the truth, and that of the consensus."""
    deviation, spread = float(ratings.inter_judge_std(matrix).mean()), ratings.consensus_spread(matrix)
    true = [ratings.correlation(row, place.quality) or 0.0 for row in matrix]
    together = ratings.correlation(matrix.mean(axis=0), place.quality) or 0.0
    return [deviation, spread, deviation / spread, float(np.mean(true)), together]


def row(label: str, matrix: Floats, place: World, base: Floats) -> tuple[str, ...]:
    """Return a row of the arena's table."""
    deviation, spread, relative, true, together = figures(matrix, place)
    fall = deviation / figures(base, place)[0] - 1
    change = "" if matrix is base else f"{fall:+.1%}"
    return label, f"{deviation:.0f}", change, f"{spread:.0f}", f"{relative:.2f}", f"{true:.3f}", f"{together:.3f}"


def arena() -> str:
    """Return what training on 20,000 comparisons does to 450,000 on prompts that were never trained on."""
    rows, seconds, applied = [], [], []
    for seed in SEEDS:
        rng = Random(seed)
        place = world(rng)
        known, unseen = play(place, rng, prompts=100, pairs=20), play(place, rng, prompts=500)
        assert (len(known), len(unseen)) == (20_000, 450_000)
        for settings, label in ((Settings(), "UDA"), (Settings(own=False), "ablation")):
            begun, worked = time.perf_counter(), time.process_time()
            state = train(known, settings)
            seconds.append((time.perf_counter() - begun, time.process_time() - worked))
            begun = time.perf_counter()
            before, after = apply(state.best, unseen, settings)
            applied.append(time.perf_counter() - begun)
            if settings.own:
                rows.append(row(f"{seed}: baseline", before, place, before))
                rows.append(
                    row(
                        f"{seed}: UDA, not trained",
                        apply(new_state(64, settings).params, unseen, settings)[1],
                        place,
                        before,
                    )
                )
            rows.append(row(f"{seed}: {label}", after, place, before))
    walls, work = zip(*seconds, strict=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    head = (
        "world",
        "inter-judge std",
        "change",
        "consensus spread",
        "std / spread",
        "mean r with truth",
        "r of consensus",
    )
    return (
        f"{table(head, rows)}\n\nTraining on 20,000 comparisons (64 dimensions, hidden 256, 64; 80 epochs, compilation "
        f"included): {min(walls):.0f} to {max(walls):.0f} s wall, {min(work):.0f} to {max(work):.0f} s processor. "
        f"Applying to 450,000: {min(applied):.0f} to {max(applied):.0f} s. Peak memory of the process: {peak:.2f} GB."
    )


def beyond() -> str:
    """Return what features beyond the paper's, and weights by agreement, do in two of the arena's worlds."""
    changed = {
        "UDA": Settings(),
        "with instruction": Settings(extra=("instruction",)),
        "with perplexity": Settings(extra=("perplexity",)),
        "weights by agreement": Settings(weights="agreement"),
        "ablation": Settings(own=False),
        "ablation with perplexity": Settings(own=False, extra=("perplexity",)),
    }
    rows = []
    for seed in SEEDS[:2]:
        rng, more = Random(seed), Random(f"beyond {seed}")
        place = world(rng)
        known = play(place, rng, prompts=50, pairs=20, beyond=more)
        unseen = play(place, rng, prompts=50, beyond=more)
        for label, settings in changed.items():
            before, after = apply(train(known, settings).best, unseen, settings)
            _, _, relative, true, together = figures(after, place)
            weights = judge_weights(unseen, settings)
            if weights is not None:
                together = ratings.correlation(ratings.centre(after, weights), place.quality) or 0.0
            if label == "UDA":
                base = figures(before, place)
                rows.append((f"{seed}: baseline", *(f"{x:.{n}f}" for x, n in zip(base[2:], (2, 3, 3), strict=True))))
            rows.append((f"{seed}: {label}", f"{relative:.2f}", f"{true:.3f}", f"{together:.3f}"))
    return table(("world", "std / spread", "mean r with truth", "r of consensus"), rows)


def bloc() -> str:
    """Return what happens where six of ten judges share one bias, and what is said of it."""
    rng = Random(4)
    place = world(rng, bloc=6)
    known, unseen = play(place, rng, prompts=100, pairs=20), play(place, rng, prompts=100)
    before, after = apply(train(known, Settings()).best, unseen, Settings())
    head = (
        "world",
        "inter-judge std",
        "change",
        "consensus spread",
        "std / spread",
        "mean r with truth",
        "r of consensus",
    )
    rows = [row("baseline", before, place, before), row("UDA", after, place, before)]
    told = [
        *(f"- with gold: {w}" for w in ratings.warnings(before, place.names, place.names, place.truth, Random(0))),
        *(f"- without: {w}" for w in ratings.warnings(before, place.names, place.names, None, Random(0))),
    ]
    return f"{table(head, rows)}\n\n" + "\n".join(told)


def collapses() -> str:
    """Return how many trainings, sound and bad, would be refused, and what they do to the figure that decides."""
    apart: dict[str, Any] = {}
    near: dict[str, Any] = {"liking": (0.0, 0.2), "models": 6, "dims": 16}
    kinds: dict[str, tuple[int, dict[str, Any], Settings]] = {
        "80 epochs (the default)": (12, apart, Settings()),
        "3 epochs": (12, apart, Settings(epochs=3)),
        "10 epochs": (12, apart, Settings(epochs=10)),
        "judges that agree, 80 epochs": (3, near, Settings()),
        "judges that agree, rate 0.01": (3, near, Settings(learning_rate=0.01)),
    }
    rows = []
    for label, (seeds, of, settings) in kinds.items():
        pairs, broken = [], []
        for seed in range(1, seeds + 1):
            rng = Random(seed)
            place = world(rng, **of)
            data = play(place, rng, prompts=50, pairs=20)
            rated = apply(train(data, settings).best, split(data, settings.validation)[1], settings)
            made = report(*rated, data.judges, data.models, gold=None, rng=Random(0))
            pairs.append([made[side]["mean_correlation_with_consensus"] for side in ("before", "after")])
            broken.append(len(made["collapse"]) > 0)
        moved = [after - before for before, after in pairs]
        means = [f"{float(np.mean(column)):.3f}" for column in zip(*pairs, strict=True)]
        rows.append((label, seeds, sum(broken), *means, f"{min(moved):+.3f} to {max(moved):+.3f}"))
        print(rows[-1], file=sys.stderr, flush=True)
    return table(("training", "worlds", "refused", "mean r before", "mean r after", "change"), rows)


def commands() -> str:
    """Return what the commands say of an arena of ArenaHard's size, end to end: train, apply, report."""
    rng = Random(1)
    place = world(rng)
    known, unseen = play(place, rng, prompts=100, pairs=20), play(place, rng, prompts=500)
    with TemporaryDirectory() as name:
        folder = Path(name)
        given = []
        for part, data in (("known", known), ("unseen", unseen)):
            (folder / part).mkdir()
            comparisons, answers = written(data, folder / part)
            given.append([comparisons, "--answers", answers])
        model, gold = folder / "m.safetensors", folder / "gold.json"
        gold.write_text(json.dumps(place.truth), "utf-8")
        applied, again = folder / "applied.json", folder / "again.json"
        training = command("train", *given[0], "-o", model)
        applying = command("apply", model, *given[1], "--gold", gold, "--report", applied)
        made = json.loads(applied.read_text("utf-8"))
        pair = [matrix(folder / f"{side}.csv", made[side]["ratings"]) for side in SIDES]
        reporting = command("report", pair[0], "--after", pair[1], "--gold", gold, "--report", again)
        repeated = json.loads(again.read_text("utf-8"))
    assert all(repeated[side] == made[side] for side in SIDES)
    rows = [(words, *(f"{made[side][key]:.{places}f}" for side in SIDES)) for key, words, places in FIGURES]
    return (
        f"{table(('figure', *SIDES), rows)}\n\n`calm uda train` took {training:.0f} s wall for {len(known):,} "
        f"comparisons, `calm uda apply` {applying:.0f} s for {len(unseen):,}, and `calm uda report` {reporting:.0f} s "
        f"for its two matrices, of which it says the same."
    )


def command(*words: object) -> float:
    """Run a command of `calm uda` and return the seconds that it took."""
    begun = time.perf_counter()
    status = main_of_calm(["uda", *map(str, words)])
    if status:
        raise SystemExit(f"expected calm uda {words[0]} to end with 0, got {status}")
    return time.perf_counter() - begun


def matrix(path: Path, of: Mapping[str, Mapping[str, float]]) -> Path:
    """Write ratings by judge and model as a matrix in CSV, and return its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["judge", *next(iter(of.values()))])
        rows.writerows([judge, *map(repr, row.values())] for judge, row in of.items())
    return path


# ---------------------------------------------------------------------------------------------------- the paper's size


def paper() -> str:
    """Return the seconds of an epoch at the paper's size: the network on a part, scaled; the scan whole."""
    rng = Random(5)
    place = world(rng, dims=768)
    data = play(place, rng, prompts=PART // 900 + 1).take(np.arange((PART // 900 + 1) * 900) < PART)
    params = new_state(768, PAPER).params
    settings = replace(PAPER, batch=1024)
    wall, worked = timed(lambda: slope(params, data, settings))
    scan_wall, _ = timed(differentiate(JUDGES, TURNS))
    parts = 450_000 / len(data)
    forward = wall * parts
    return (
        f"{width(768, own=True):,} features, hidden 2048, 512, 64: {wall:.1f} s wall ({worked:.1f} s processor) for "
        f"the loss and its gradient over {len(data):,} comparisons, so {forward:,.0f} s an epoch of 450,000 or "
        f"{worked * parts:,.0f} s of processor (the part measured, times {parts:.0f}; not run whole), of which the "
        f"scan is {scan_wall:.2f} s, measured whole. A comparison that is held out costs one forward pass, about a "
        f"quarter of one that is trained on."
    )


def slope(params: Any, data: Comparisons, settings: Settings) -> object:
    """Return loss and gradient when they are there."""
    loss, found = gradient(params, data, settings)
    return loss, jax.block_until_ready(found)


PARTS: dict[str, Callable[[], str]] = {
    "scan": scans,
    "torch": torch_loop,
    "arena": arena,
    "beyond": beyond,
    "bloc": bloc,
    "collapse": collapses,
    "files": commands,
    "paper": paper,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=list(PARTS), metavar="PART")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args(arguments)
    for name in options.only:
        body = PARTS[name]()
        print(f"## {name}\n\n{body}\n", flush=True)
        if options.write:
            put(options.write, name, body, where())


if __name__ == "__main__":
    main(sys.argv[1:])
