"""Tables of a record for a terminal: their cells and their columns."""

from calm.results.parts import aligned, cell

ROWS = [{"judge": "a", "one": 0.5, "two": {"value": 0.25, "low": 0.1, "high": 0.4}}, {"judge": "b", "one": None}]


def test_a_cell_says_what_it_holds(subtests):
    """An estimate has its interval, nothing is a dash, small shares keep their digits, lists stand in a row."""
    for value, shown in [
        (ROWS[0]["two"], "0.25 [0.10, 0.40]"),
        ({"value": None, "low": 0, "high": 1}, "-"),
        (None, "-"),
        (0.004, "0.0040"),
        (-0.0, "0.00"),
        (float("nan"), "-"),
        (True, "yes"),
        (1234, "1,234"),
        (["a", 1], "a, 1"),
    ]:
        with subtests.test(repr(value)):
            assert cell(value) == shown


def test_hostile_cells_stay_in_their_line():
    """A control character in a name is shown, not obeyed, and columns stay aligned."""
    lines = aligned([["name", "n"], ["a\x1b[2Jb\nc", "1"]])

    assert len(lines) == 2
    assert "\x1b" not in lines[1]
    assert lines[0].index("n", 1) > 0
