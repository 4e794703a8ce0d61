"""Small arenas: comparisons whose truth is known, in memory and on disk."""

import json
from random import Random

import pytest

from benchmarks.uda_arena import play, world
from calm.plugins.uda.network import jax


@pytest.fixture(scope="package", autouse=True)
def quickly_compiled():
    """Let XLA leave out most of its passes: these arenas are small, and compiling takes longer than running."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture(scope="session")
def arena():
    """Six judges that are models, 16 dimensions, 1,440 comparisons."""
    place = world(Random(5), models=6, dims=16)
    return place, play(place, Random(6), prompts=24, pairs=10)


def write_lines(path, rows):
    """Write JSON Lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="session")
def small():
    """Four judges that are models, 4 dimensions, and every judge on every pair: 192 comparisons, 48 a judge."""
    place = world(Random(7), models=4, dims=4)
    return place, play(place, Random(8), prompts=4)


@pytest.fixture(scope="session")
def files(small, tmp_path_factory):
    """The small arena as the two files that the command takes, and its truth as a third, `gold.json`."""
    place, data = small
    folder = tmp_path_factory.mktemp("arena")
    letters = {1.0: "a", 0.0: "b", 0.5: "tie"}
    comparisons = [
        {
            "prompt": f"p{p}",
            "judge": data.judges[j],
            "model_a": data.models[a],
            "model_b": data.models[b],
            "outcome": letters[s],
        }
        for p, j, a, b, s in zip(data.prompt, data.judge, data.first, data.second, data.share.tolist(), strict=True)
    ]
    answers = [
        {"prompt": f"p{row // 4}", "model": place.names[row % 4], "embedding": vector.tolist()}
        for row, vector in enumerate(data.embeddings)
    ]
    (folder / "gold.json").write_text(json.dumps(place.truth))
    return write_lines(folder / "comparisons.jsonl", comparisons), write_lines(folder / "answers.jsonl", answers)
