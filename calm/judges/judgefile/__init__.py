"""judge.toml -> a judge. Every fault of the file is found and reported at once, before any call."""

from calm.judges.judgefile.judge import read_judge
from calm.judges.judgefile.keys import KEYS

__all__ = ["KEYS", "read_judge"]
