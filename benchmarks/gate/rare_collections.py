"""
A plugin of a project that owns its process: the collector of cycles runs less often, and not over what a run leaves.

calm itself does this in the process of its own command alone.
"""

import gc


def pytest_configure() -> None:
    """Run the collector less often from the start."""
    gc.set_threshold(50_000, 20, 100)


def pytest_unconfigure() -> None:
    """Leave what the run made out of the last collections."""
    gc.collect()
    gc.freeze()
