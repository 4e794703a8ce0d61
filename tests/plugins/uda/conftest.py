"""Small arenas: comparisons whose truth is known, in memory and on disk."""

import json
from random import Random

import pytest

from benchmarks.uda_arena import play, world, written
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
    (folder / "gold.json").write_text(json.dumps(place.truth))
    return written(data, folder)
