"""
Each method of the publications: the command that gives it to a user, what computes it, and the test of a known value.

`tests/papers/test_methods.py` runs each command on a small input and sees that it calls what is named here, and that
the test exists. `python -m benchmarks.papers --write docs/reference/papers.md` writes the table into the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PAPERS_SUITE: Final = "`pytest suites/papers`"
COMPARE: Final = "`calm compare a.json b.json --as calm`"
SELF: Final = "`calm self-preference`"
MITIGATE: Final = "`calm mitigate --try {}`"


@dataclass(frozen=True, slots=True)
class Method:
    """
    A method of a publication.

    `run` names the small run of the test that stands for `command`. `calls` are the functions of calm that it must
    call, as "module:name"; for a mitigation, its name. `test` is a test that holds a value computed by hand or by an
    independent implementation, as "file::function".
    """

    name: str
    command: str
    run: str
    calls: tuple[str, ...]
    test: str


def _mitigation(name: str, entry: str, test: str) -> Method:
    """Return a method that is a mitigation, by its name in the table of mitigations."""
    return Method(name, MITIGATE.format(entry), "mitigations", (entry.partition(":")[0],), test)
