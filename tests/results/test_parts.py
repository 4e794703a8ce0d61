"""Tables of a record for a terminal: their cells, their columns, and what is too wide for one line."""

from calm.results.parts import aligned, cell, lines_of

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


def test_a_table_that_is_too_wide_is_told_in_pieces():
    """Each piece begins with the first column and fits; all columns are told once; without a width it is one."""
    whole = lines_of("a_table", ROWS, "why it says little")
    pieces = lines_of("a_table", ROWS, "why it says little", width=22)

    assert whole == [
        "a table:",
        "  judge  one   two",
        "  a      0.50  0.25 [0.10, 0.40]",
        "  b      -     -",
        "  why it says little",
    ]
    assert pieces[1:7] == [
        "  judge  one",
        "  a      0.50",
        "  b      -",
        "  judge  two",
        "  a      0.25 [0.10, 0.40]",
        "  b      -",
    ]
    assert pieces[7:] == ["  why it says little"]


def test_hostile_cells_stay_in_their_line():
    """A control character in a name is shown, not obeyed, and columns stay aligned."""
    lines = aligned([["name", "n"], ["a\x1b[2Jb\nc", "1"]])

    assert len(lines) == 2
    assert "\x1b" not in lines[1]
    assert lines[0].index("n", 1) > 0
