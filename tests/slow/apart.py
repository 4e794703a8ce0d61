"""Environments of their own for what is too large for the development environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from venv import EnvBuilder


def environment(variable: str, folder: Path, *packages: str) -> Path:
    """Return the interpreter of an environment with these packages: the one that `variable` names, or a new one."""
    if os.environ.get(variable):
        return Path(os.environ[variable])
    EnvBuilder(with_pip=True).create(folder)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True, timeout=3600)
    return python
