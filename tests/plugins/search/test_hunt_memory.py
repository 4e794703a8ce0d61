"""What earlier hunts found: a later hunt begins with it, and confirms it by asks that no earlier one made."""

from benchmarks.hunt.judges import ruled
from calm.cases import bundled
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.setup import Setup
from calm.plugins.search.arms import arms_for
from calm.plugins.search.findings import Memory
from calm.plugins.search.hunt import hunt
from calm.plugins.search.proposers import bandit_for
from calm.plugins.search.subjects import PLACES, Bounds

CERTIFIED = ruled("certified", lambda text: "certified" in text)


def hunted(folder, *, fresh=False):
    """Return the result of a hunt that remembers in a folder, and keeps replies in it."""
    engine = Engine(Store(folder / "cache.sqlite", Mode.ON))
    try:
        engine.admit(CERTIFIED)
        setup = Setup(CERTIFIED, tuple(bundled("pairwise")[:40]), engine)
        arms, place = arms_for("pairwise", ["cue"]), PLACES["answer"]
        found = hunt(
            setup,
            place,
            bandit_for(arms, place, setup),
            Bounds(300, 1),
            memory=Memory(folder / "hunts", fresh=fresh),
        )
        return found, engine.ledger.calls["made"]
    finally:
        engine.close()


def test_a_second_hunt_begins_with_the_first(tmp_path):
    """It knows the text, so it takes fewer asks; the asks that confirm it are new ones, and are paid for."""
    first, _ = hunted(tmp_path)
    second, made = hunted(tmp_path)
    (one,), (other,) = first.confirmed, second.confirmed

    assert other.found_by == "earlier hunt"
    assert other.text == one.text
    assert second.asks < first.asks
    assert other.fresh_from > one.fresh_from
    assert made >= 2 * len(other.ruling.blocks)


def test_a_fresh_hunt_repeats_the_first(tmp_path):
    """Without what was found it goes the same way, and every reply is in the cache."""
    first, _ = hunted(tmp_path)
    again, made = hunted(tmp_path, fresh=True)

    assert made == 0
    assert [(f.text, f.ruling, f.after) for f in again.findings] == [
        (f.text, f.ruling, f.after) for f in first.findings
    ]
