"""What every tool is asked to judge: a prompt a line, written by benchmarks/throughput.py."""

import json
from pathlib import Path


def prompts(path: str, count: int) -> list[tuple[str, str]]:
    """Return so many pairs of a question and the text to be judged."""
    lines = Path(path).read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines[:count]]
    return [(one["question"], one["answer"]) for one in found]


JUDGE = (
    "You are an impartial judge. Say whether the answer serves the question. End with [[A]] if it does, with [[B]] if "
    "it does not.\n\n<question>\n{question}\n</question>\n\n<answer>\n{answer}\n</answer>\n"
)
