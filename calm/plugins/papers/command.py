"""`calm compare --as calm`: the figures of several judges in a table as in the paper on CALM."""

from __future__ import annotations

import argparse
from pathlib import Path
from shutil import get_terminal_size

from calm.commands import DONE
from calm.errors import ConfigError

TABLES = (".html", ".htm", ".csv")


def compare(options: argparse.Namespace) -> int:
    """Show CALM's figures of several judges."""
    from calm.core.files import inputs
    from calm.plugins.papers import pages as calm_judges
    from calm.plugins.papers.protocol import judge_table
    from calm.results.outputs import Output, refuse
    from calm.results.wording import printable

    target = Path(options.out) if options.out else None
    if options.lines is not None:
        raise ConfigError("--lines: a table of judges has no parts to cut, got it with --as calm; leave it out")
    if options.texts == "none":
        raise ConfigError("--texts: a table of judges has no texts, got it with --as calm; leave it out")
    if target is not None and target.suffix.lower() not in TABLES:
        raise ConfigError(f"-o: expected a FILE that ends in {', '.join(TABLES)}, got {options.out!r}")
    table = judge_table([Path(name) for name in options.files])
    if target is not None:
        refuse([Output("-o", target, calm_judges.form_of(target))], inputs=inputs())
    print("\n".join(map(printable, calm_judges.render_text(table, get_terminal_size().columns).splitlines())))
    if target is not None:
        calm_judges.write(table, target)
        print(f"wrote {printable(options.out)}")
    return DONE
