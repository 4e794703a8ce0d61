"""The README keeps its promises: short, true commands, links that lead somewhere."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_it_has_at_most_120_lines():
    """A reader sees what calm is on two screens."""
    lines = README.splitlines()

    assert len(lines) <= 120


def test_the_command_of_ci_is_in_it_word_for_word():
    """What CI runs on a clean clone, part by part, is what the README tells people to run; an environment is kept."""
    recipe = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    starts = ("python3 -m venv", ".venv/bin/pip install --quiet -e ", ".venv/bin/pytest ")

    parts = [line.strip().removesuffix(" || status=$?") for line in recipe if line.strip().startswith(starts)]

    assert f"```sh\n{' && '.join(parts)}\n```" in README


def test_each_of_the_two_commands_stands_alone_in_a_block():
    """One line sets up and runs the gate, another one sets up and runs the tests."""
    set_up = "python3 -m venv .venv && .venv/bin/pip install --quiet -e "

    blocks = [block.partition("\n```")[0] for block in README.split("```sh\n")[1:]]

    assert [b for b in blocks if b.startswith(set_up)] == [
        f"{set_up}. && .venv/bin/pytest suites/ --calm-report=report.html",
        f'{set_up}".[dev]" && .venv/bin/pytest tests/ -n logical --dist worksteal',
    ]


def test_it_says_what_to_do_in_few_words():
    """At most 700 before the table of biases."""
    assert len(README.partition("## What is tested")[0].split()) <= 700
