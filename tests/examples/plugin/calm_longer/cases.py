"""A format of cases: a text file with a question, a good and a bad answer in each line, and bars between them."""

from calm import Answer, Case


def read(paths):
    """Return the cases of some files."""
    rows = [line.split("|") for path in paths for line in path.read_text().splitlines()]
    return [
        Case(id=f"pair-{n}", question=asked, answers=(Answer("good", good), Answer("bad", bad)), better="good")
        for n, (asked, good, bad) in enumerate(rows, 1)
    ]
