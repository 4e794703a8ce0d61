"""A judge.toml that names mitigations."""

import asyncio

from calm.core.verdict import Preferred
from calm.judges.judgefile import read_judge
from tests.judges.test_judgefile import PAIR, Direct, least, problems, write
from tests.servers import wire_server

__all__ = ["write"]


def test_swap_asks_in_both_orders(write):
    """mitigations = ["swap"] makes a judge that prefers the first answer tie."""
    with wire_server(lambda *_: "[[A]]") as wire:
        text = least().replace("http://127.0.0.1:9/v1", wire.url)
        plain = read_judge(write(text), {})
        swapped = read_judge(write(text.replace('name = "j"', 'name = "j"\nmitigations = ["swap"]')), {})
        verdicts = [asyncio.run(judge.judge(PAIR, Direct())) for judge in (plain, swapped)]

    assert verdicts[0] == Preferred("a")
    assert type(verdicts[1]).__name__ == "Tie"
    assert len(wire.judged) == 3
    assert plain.fingerprint != swapped.fingerprint


def test_swap_is_for_pairs(write):
    """A mitigation that does not fit the task is a fault."""
    text = least("score").replace('name = "j"', 'name = "j"\nmitigations = ["swap"]')

    assert problems(write(text)) == [
        "[judge] mitigations: 'swap' expects task = 'pairwise', got task='score'; take it out"
    ]
