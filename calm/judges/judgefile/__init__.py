"""judge.toml -> a judge. Every fault of the file is found and reported at once, before any call."""

from calm.judges.judgefile.judge import read_judge, remembered
from calm.judges.judgefile.parts import prompt_faults
from calm.judges.judgefile.tables import KEYS

__all__ = ["KEYS", "prompt_faults", "read_judge", "remembered"]
