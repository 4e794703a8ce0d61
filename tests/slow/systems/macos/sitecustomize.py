"""Python begins so: this process is one of macos, as far as calm can see."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import without

sys.path.remove(str(Path(__file__).parents[1]))
without.take_away("macos")
