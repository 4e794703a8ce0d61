"""A small disk of its own, and a process that asks on it: for tests of what happens when it is full."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from calm.engine.store import RESERVE, Mode, Store

ROOT = Path(__file__).parents[1]
SIZE = 4 << 20
MOUNTS = sys.platform == "linux" and os.geteuid() == 0
"""Only root can mount a disk."""

FULL = """
import sys
from pathlib import Path
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.core.verdict import Preferred
from calm.models.wire import Limits, Reply
from tests.planted import Asking, Local, pairs

class Long(Local):
    async def call(self, body):
        await super().call(body)
        return Reply("good", model="m-1" + "x" * 2000)

server = Long(limits=Limits(concurrency=8))
engine = Engine(Store(Path(sys.argv[1]), Mode.ON))
found = [one.verdict for one in engine.ask(Asking(server), [(case, 1) for case in pairs(int(sys.argv[2]))])]
said = [str(note) for note in (engine.broken, *engine.notes) if note]
engine.close()
print(len(server.begun), sum(isinstance(v, Preferred) for v in found), *said, sep=chr(10), flush=True)
"""


@contextmanager
def small_disk(folder, size=SIZE, user=0):
    """Mount a disk of 4 MB in a folder, or of another size in bytes, which belongs to a user."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},uid={user}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def filled(folder, left):
    """Ask 200 questions on a disk with so many bytes left, then again with room; return what both runs printed."""
    with small_disk(folder) as disk:
        Store(disk / "cache.sqlite", Mode.ON).close()
        room = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - left - RESERVE - 40_000)))
        first = asked_on(disk / "cache.sqlite", 200)
        (disk / "ballast").unlink()
        return first, asked_on(disk / "cache.sqlite", 200)


def asked_on(cache, count):
    """Ask so many questions in a process of its own; return what it printed: paid, verdicts, what went wrong."""
    done = run_apart(FULL, cache, count)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def run_apart(script, *given):
    """Run a script in a process of its own, and return what came of it."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, given)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
