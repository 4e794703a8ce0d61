"""`python -m calm` is the `calm` command."""

import sys

from calm.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
