"""
A plugin of a child's pytest: it counts what a run does, and writes that to the file that `WEIGHT` names.

Calls of each function of calm, by name; the packages and modules that are loaded; and the objects of calm that are
alive when the run has ended and its engine is still there. No clock is read, so a busy machine counts the same.
"""

import gc
import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

CALLS = Counter()
LONG = 10_000
"""Characters of a text that is counted."""
OURS = {"calm", "editables"}
"""Calm, and what an editable install of it loads at the start of Python."""


def note(frame, event, arg):
    """Count a call; lines and returns are not traced."""
    CALLS[frame.f_code] += 1


if not os.environ.get("UNCOUNTED"):  # a call that is counted takes several times as long
    sys.settrace(note)
    threading.settrace(note)


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config):
    """Write what was counted, before the engine is closed."""
    sys.settrace(None)
    threading.settrace(None)
    gc.unfreeze()
    gc.collect()
    alive = Counter(type(one) for one in gc.get_objects())
    installed = [name for name, module in list(sys.modules.items()) if "site-packages" in str(module)]
    weight = {
        "calls": named(CALLS),
        "packages": sorted({name.partition(".")[0] for name in installed if not name.startswith("_")} - OURS),
        "modules": sum(name.partition(".")[0] == "calm" for name in sys.modules),
        "text": sum(map(len, texts())),
        "objects": {f"{kind.__module__}.{kind.__qualname__}": n for kind, n in alive.items() if ours(kind)},
    }
    Path(os.environ["WEIGHT"]).write_text(json.dumps(weight), "utf-8")


def texts():
    """Return the long texts that are held, each once."""
    held = gc.get_referents(*gc.get_objects())
    held += gc.get_referents(*[one for one in held if type(one) is tuple])  # one of texts alone is not tracked
    return {id(one): one for one in held if type(one) is str and len(one) > LONG}.values()


def ours(kind):
    """Return whether an object is one of calm's, or one of those that hold them."""
    return str(kind.__module__).partition(".")[0] == "calm" or kind in (dict, list, tuple)


def named(calls):
    """Return how often each function of calm was called, by module and name."""
    of_file = {
        getattr(module, "__file__", None): name for name, module in list(sys.modules.items()) if name.startswith("calm")
    }
    found = Counter()
    for code, count in calls.items():
        module = of_file.get(code.co_filename)
        if module is not None and "<" not in code.co_name:
            found[f"{module}:{code.co_qualname}"] += count
    return found
