"""The `calm` command, also as `python -m calm`. Ctrl-C ends it in one line, also while it starts and when it ends."""

import os
import signal
import sys
from contextlib import suppress


def main() -> int:
    """Run the command that `sys.argv` names, and return its exit status; Ctrl-C makes it 130."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, or somebody else's
    if ours:
        signal.signal(signal.SIGINT, _end)
    from calm.commands.cli import main as command  # it takes half a second

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command()
    except KeyboardInterrupt:
        return _end()
    finally:
        if ours:
            signal.signal(signal.SIGINT, _end)


def _end(*_signal: object) -> int:
    """End this process at once: it has begun nothing yet, or has ended all."""
    with suppress(OSError, RuntimeError, ValueError):  # nobody reads it, it is being written, or it is closed
        sys.stdout.flush()
    os.write(2, b"calm: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
