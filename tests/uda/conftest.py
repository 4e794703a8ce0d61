"""Small arenas: comparisons whose truth is known, in memory and on disk."""

import json
from random import Random

import pytest

from benchmarks.uda_arena import play, world


@pytest.fixture(scope="session")
def arena():
    """Six judges that are models, 16 dimensions, 1,440 comparisons."""
    place = world(Random(5), models=6, dims=16)
    return place, play(place, Random(6), prompts=24, pairs=10)


def write_lines(path, rows):
    """Write JSON Lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def files(arena, tmp_path):
    """The arena as the two files that the command takes, and its truth as a third."""
    place, data = arena
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
        {"prompt": f"p{row // 6}", "model": place.names[row % 6], "embedding": vector.tolist()}
        for row, vector in enumerate(data.embeddings)
    ]
    (tmp_path / "gold.json").write_text(json.dumps(place.truth))
    return write_lines(tmp_path / "comparisons.jsonl", comparisons), write_lines(tmp_path / "answers.jsonl", answers)
