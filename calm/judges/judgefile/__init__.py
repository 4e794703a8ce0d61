"""judge.toml -> a judge. Every fault of the file is found and reported at once, before any call."""

from calm.judges.judgefile.judge import read_judge, remembered
from calm.judges.judgefile.keys import KEYS
from calm.judges.judgefile.prompt import prompt_faults

__all__ = ["KEYS", "prompt_faults", "read_judge", "remembered"]
