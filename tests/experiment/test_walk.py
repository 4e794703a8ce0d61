"""The way of one probe through the code: which rooms `run` enters, and how often it comes back to one that it left."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import calm
from calm.core.edits import Expects, perturbation
from calm.core.measures import gain, net_robustness
from calm.experiment.run import run
from calm.experiment.setup import Setup
from tests.planted import Planted, engine, fair, pairs

HOME = Path(calm.__file__).parent
ROOMS = {f"experiment/{name}.py" for name in ("run", "setup", "pairs", "edited", "inert", "stopping", "arms")}
RETURNS = 14
"""A way without a turn would have none; it is 14: pilots and floors are made when they are asked for."""
NOUNS = ("Case", "Pair", "Judgment", "Trial", "Ruling", "Finding")


@contextmanager
def visits() -> Iterator[list[str]]:
    """
    Note each file of calm whose function this thread enters, one after the other, each function once.

    Comprehensions count for nothing: some versions of Python make functions of them, others do not.
    """
    found: list[str] = []
    seen = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        inlined = frame.f_code.co_name in ("<listcomp>", "<dictcomp>", "<setcomp>")
        if event != "call" or inlined or not path.is_relative_to(HOME) or frame.f_code in seen:
            return
        seen.add(frame.f_code)
        room = str(path.relative_to(HOME))
        if not found or found[-1] != room:
            found.append(room)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def test_a_probe_keeps_to_its_way():
    """A probe with two claims enters seven rooms of the experiment; each function counts where it is entered first."""
    cite = perturbation(bias="authority", expects=Expects.NOT_BETTER)(
        lambda case, rng: case.edit(case.target, lambda text: f"{text} (A book)")
    )
    with engine() as running:
        setup = Setup(Planted(fair), pairs(60), running)
        with visits() as found:
            run(setup, cite, (gain <= 0.10, net_robustness >= 0.90))

    inside = [room for room in found if room.startswith("experiment/")]
    stays = [room for place, room in enumerate(inside) if place == 0 or inside[place - 1] != room]
    assert set(stays) == ROOMS
    assert len(stays) - len(ROOMS) <= RETURNS


def test_the_package_names_the_six_nouns():
    """What a case passes on its way is told where the way begins."""
    import calm.experiment

    told = [line.split("`")[1] for line in (calm.experiment.__doc__ or "").splitlines() if line.startswith("| `")]
    assert tuple(told) == NOUNS
