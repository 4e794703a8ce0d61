"""
The topics that rubric cases are about.

`topics.txt` holds for each topic its task, the word for its subject, a title, at times a line of code, and eight
sentences. The word between asterisks in a sentence is the one that a criterion may ask for or forbid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Topic:
    """Hold one topic: ``marked`` gives for each sentence its marked word, empty where there is none."""

    task: str
    word: str
    title: str
    code: str
    sentences: tuple[str, ...]
    marked: tuple[str, ...]


def topic_list() -> list[Topic]:
    """List the topics in the order in which cases take them."""
    text = files("calm").joinpath("cases", "data", "topics.txt").read_text("utf-8")
    topics = []
    for block in text.strip().lstrip("@").split("\n@"):
        head, *lines = block.strip().split("\n")
        task, word, title, *code = head.split("|", 3)
        found = [re.search(r"\*(\w+)\*", line) for line in lines]
        marked = tuple(match[1] if match else "" for match in found)
        topics.append(
            Topic(task, word, title, code[0] if code else "", tuple(x.replace("*", "") for x in lines), marked)
        )
    return topics
