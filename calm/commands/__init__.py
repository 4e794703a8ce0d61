"""
The subcommands of `calm`: a person starts a run here and reads what came of it.

There is one module for each noun. Its `register` adds the parsers.
"""

from __future__ import annotations

DONE, REFUSED, CONFIGURATION = 0, 1, 4
"""Exit statuses of all commands; usage errors leave with 2, as is the custom of command lines."""

JUDGES = "lexical, planted:..., a path to a judge.toml, or package.module:attribute"
"""What the argument JUDGE takes."""
