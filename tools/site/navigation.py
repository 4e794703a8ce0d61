"""The navigation of the site: made from the folders, so that no page can be left out of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tools.site.pages import DECISIONS, HOME, OVERVIEW

Section: TypeAlias = Mapping[str, Sequence["str | Section"]]
FIRST = (HOME, OVERVIEW, "tutorial.md", "glossary.md")
FOLDERS = (
    ("How-to", "how-to/"),
    ("Reference", "reference/"),
    ("Explanation", "explanation/"),
    ("Measured", "measured/"),
    ("API", "api/"),
)
WHY = "decisions/"


def sections(pages: Sequence[str], order: Sequence[str]) -> list[Section]:
    """
    Return the sections with all pages: those that `order` names come in its order, the others after them, by name.

    What lies in none of the folders ends up in the last section.

    >>> pages = ["index.md", "how-to/b.md", "how-to/a.md", "decisions/index.md", "ARCHITECTURE.md", "decisions/0001.md"]
    >>> for section in sections(pages, ["how-to/b.md"]):
    ...     print(section)
    {'Start': ['index.md']}
    {'How-to': ['how-to/b.md', 'how-to/a.md']}
    {'Project': ['ARCHITECTURE.md', {'Decisions': ['decisions/index.md', 'decisions/0001.md']}]}
    """
    place = {name: i for i, name in reversed(list(enumerate([*FIRST, DECISIONS, *order])))}
    ordered = sorted(pages, key=lambda name: (place.get(name, len(place)), name))
    known = [("Start", FIRST), *((title, (folder,)) for title, folder in FOLDERS)]
    found = [(title, [name for name in ordered if name.startswith(starts)]) for title, starts in known]
    taken = {name for _, names in found for name in names}
    why = [name for name in ordered if name.startswith(WHY)]
    left = [name for name in ordered if name not in taken and name not in why]
    return [*({title: names} for title, names in found if names), {"Project": [*left, {"Decisions": why}]}]


def flat(section: str | Section | Sequence[str | Section]) -> Iterator[str]:
    """
    Yield the pages of a navigation in its order.

    >>> list(flat([{"A": ["a.md", {"B": ["b.md"]}]}]))
    ['a.md', 'b.md']
    """
    if isinstance(section, str):
        yield section
    else:
        for part in section.values() if isinstance(section, Mapping) else section:
            yield from flat(part)


def as_toml(section: str | Section | Sequence[str | Section]) -> str:
    """
    Return a navigation as a value of TOML.

    >>> print(as_toml([{"A": ["a.md", {"B": ["b.md"]}]}]))
    [{"A" = ["a.md", {"B" = ["b.md"]}]}]
    """
    if isinstance(section, str):
        return json.dumps(section)
    if isinstance(section, Mapping):
        return "{" + ", ".join(f"{json.dumps(title)} = {as_toml(inner)}" for title, inner in section.items()) + "}"
    return f"[{', '.join(map(as_toml, section))}]"
