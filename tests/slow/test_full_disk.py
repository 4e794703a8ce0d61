"""A disk that is full at 20 places of a run."""

import pytest

from tests.disk import MOUNTS, filled

POINTS = range(20_000, 820_000, 40_000)


@pytest.mark.skipif(not MOUNTS, reason="only root can mount a small disk")
def test_twenty_full_disks_lose_nothing(tmp_path):
    """No traceback, one message, and no question is paid for twice."""
    stopped = 0
    for left in POINTS:
        (paid, verdicts, *said), second = filled(tmp_path / f"{left}", left)
        stopped += int(paid) < 200
        print(f"{left} bytes left: {paid} paid, {verdicts} verdicts; then {second[0]} paid, {second[1]} verdicts")

        assert paid == verdicts
        assert second[:2] == [str(200 - int(paid)), "200"]
        assert (int(paid) == 200) or "the disk is full" in said[0]
    print(f"{stopped} of {len(POINTS)} runs were stopped by the disk")
    assert stopped >= len(POINTS) // 2
