"""Texts that are set aside: they are the same texts, also in another process."""

import pickle
import subprocess
import sys
from pathlib import Path

from calm.core.texts import LONG, CaseTexts

ROOT = Path(__file__).parents[2]
READS = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
from tests.core.test_texts import aside
own = aside("z")
came = pickle.loads(sys.stdin.buffer.read())
sys.stdout.buffer.write(pickle.dumps([dict(one.prompts) for one in (came, own)]))
"""


def aside(letter):
    """Return the texts of a case whose long prompts are in a file."""
    prompts = {"p": ({"role": "user", "text": letter * LONG},)}
    return CaseTexts("c", "h", "q", None, None, prompts, {}, (), ()).set_aside()


def test_texts_that_are_set_aside_go_to_another_process():
    """A worker tells another one what it found: the file of each holds other texts at the same place."""
    done = subprocess.run(
        [sys.executable, "-c", READS, str(ROOT)], input=pickle.dumps(aside("a")), capture_output=True, check=False
    )

    assert not done.returncode, done.stderr.decode()
    assert pickle.loads(done.stdout) == [dict(aside(letter).prompts) for letter in "az"]
