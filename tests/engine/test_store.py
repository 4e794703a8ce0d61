"""The record of replies: modes, foreign and damaged files, several processes, sudden death."""

import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.engine.database import APPLICATION_ID, VERSION
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.models.wire import Message, Reply, Token, Usage

KEY, OTHER = b"k" * 32, b"o" * 32
PROMPT = (Message("system", "Judge."), Message("user", "Which?"))
FULL = Reply(
    "first",
    model="m-1",
    stop="length",
    refusal="no",
    tokens=(Token("fi", -0.1, (("fi", -0.1), ("se", -2.5))), Token("rst", -0.25)),
    usage=Usage(10, None),
    retries=2,
)
CLEAN = multiprocessing.get_context("forkserver")
"""Processes are forked from a clean one: this one may have threads of JAX, which a fork would break."""


def kept(path, text, *, mode=Mode.ON):
    """Put one reply into a file and return what then stands."""
    store = Store(path, mode)
    standing = store.put(KEY, PROMPT, {"a": 1}, Reply(text))
    store.close()
    return standing


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "cache.sqlite"


def test_a_reply_comes_back_whole_after_the_file_was_closed(path):
    """With its model, tokens, usage and the prompt that it answers."""
    store = Store(path, Mode.ON)
    store.put(KEY, PROMPT, {"a": 1}, FULL)
    store.close()

    again = Store(path, Mode.ON)

    assert again.get(KEY) == FULL
    assert again.prompt(KEY) == PROMPT
    assert (again.get(OTHER), again.prompt(OTHER)) == (None, ())
    again.close()


@pytest.mark.parametrize(
    "text", ["lone \udc80 surrogate", "null \0 byte", "é \N{SNOWMAN} \U0001f600", "\u2028 \x85", ""]
)
def test_any_text_can_be_kept(path, text):
    """Also what UTF-8 has no bytes for: in replies, prompts and bodies."""
    store = Store(path, Mode.ON)
    store.put(KEY, (Message("user", text),), {"text": text, text: 1}, Reply(text))
    store.close()

    again = Store(path, Mode.REPLAY)

    assert again.get(KEY).text == text
    assert again.prompt(KEY) == (Message("user", text),)
    again.close()


@settings(derandomize=True, deadline=None)
@given(st.text(st.characters(codec=None), max_size=20))
def test_no_text_is_changed_by_keeping_it(text):
    """Backslashes and escapes are kept as they are."""
    store = Store(None, Mode.OFF)

    store.put(KEY, (), {}, Reply(text))

    assert store.get(KEY).text == text
    store.close()


def test_the_first_reply_stands(path):
    """A second answer to the same call is dropped, and the caller is given the first."""
    kept(path, "first")

    assert kept(path, "second").text == "first"


def test_refresh_asks_everything_again_once(path):
    """What was there is not read and is replaced; what this run has put is read, and stands."""
    kept(path, "old")
    store = Store(path, Mode.REFRESH)

    assert store.get(KEY) is None
    assert store.put(KEY, PROMPT, {}, Reply("new")).text == "new"
    assert store.get(KEY).text == "new"
    assert store.put(KEY, PROMPT, {}, Reply("newer")).text == "new"
    store.close()
    assert kept(path, "last").text == "new"


def test_off_keeps_nothing_beyond_the_run(path):
    """No file is made, and within the run an equal call is found."""
    store = Store(path, Mode.OFF)
    store.put(KEY, PROMPT, {}, Reply("now"))

    assert store.get(KEY).text == "now"
    assert not path.parent.exists()
    store.close()


def test_replay_needs_a_file(path):
    """Without one nothing could be answered; the file is not made."""
    with pytest.raises(ConfigError, match=f"{path}: there is no cache to replay"):
        Store(path, Mode.REPLAY)

    assert not path.exists()


def test_the_model_that_served_is_kept_per_endpoint(path):
    """The last word stands, across runs."""
    store = Store(path, Mode.ON)
    assert store.served("e-1") is None
    store.serves("e-1", "m-1")
    store.serves("e-1", "m-2")
    store.close()

    again = Store(path, Mode.ON)

    assert (again.served("e-1"), again.served("e-2")) == ("m-2", None)
    again.close()


def test_the_file_and_the_folder_made_for_it_are_private(path):
    """0600 in 0700, and git ignores the folder; prompts and replies may be confidential."""
    kept(path, "reply")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_the_files_beside_an_open_cache_are_private_too(path):
    """The write-ahead log holds the same replies."""
    store = Store(path, Mode.ON)
    store.put(KEY, PROMPT, {}, Reply("reply"))

    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.glob("cache.sqlite*")} == {0o600}
    store.close()


def test_a_folder_that_was_there_is_left_as_it_is(tmp_path):
    """No .gitignore is put into a folder of the user's."""
    mode = stat.S_IMODE(tmp_path.stat().st_mode)

    kept(tmp_path / "cache.sqlite", "reply")

    assert not (tmp_path / ".gitignore").exists()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == mode


def foreign(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("create table mine (x)")
        db.execute("insert into mine values (1)")
    db.close()


def foreign_wal(path):
    db = sqlite3.connect(path)
    db.execute("pragma journal_mode=wal")
    db.execute("create table reply (key, request, reply, at)")
    db.close()


def text_file(path):
    path.write_text("Dear diary,\n" * 100)


def short_text(path):
    path.write_text("x")


def truncated(path):
    kept(path, "reply " * 5000)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def beheaded(path):
    kept(path, "reply")
    with path.open("r+b") as file:
        file.truncate(50)


def newer(path):
    kept(path, "reply")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"pragma user_version={VERSION + 1}")
    db.close()


@pytest.mark.parametrize("mode", [Mode.ON, Mode.REPLAY, Mode.REFRESH])
@pytest.mark.parametrize("make", [foreign, foreign_wal, text_file, short_text, truncated, beheaded, newer])
def test_what_is_no_cache_of_ours_is_refused_and_left_untouched(tmp_path, make, mode):
    """The error names the file; not a byte of it changes, and nothing is left beside it."""
    path = tmp_path / "file.sqlite"
    make(path)
    before, mask = path.read_bytes(), path.stat().st_mode

    with pytest.raises(ConfigError, match=str(path)):
        Store(path, mode)

    assert path.read_bytes() == before
    assert path.stat().st_mode == mask
    assert list(tmp_path.iterdir()) == [path]


def test_a_newer_cache_names_both_versions(tmp_path):
    """So that the reader knows which program is old."""
    newer(tmp_path / "c.sqlite")

    with pytest.raises(
        ConfigError, match=f"expected a cache of version {VERSION}, got {VERSION + 1}; name another file"
    ):
        Store(tmp_path / "c.sqlite", Mode.ON)


def test_a_folder_is_no_cache(tmp_path):
    """A directory in place of the file is refused."""
    with pytest.raises(ConfigError, match=str(tmp_path)):
        Store(tmp_path, Mode.ON)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    """The folder cannot be made."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(ConfigError, match="file"):
        Store(tmp_path / "file" / "sub" / "cache.sqlite", Mode.ON)


def _open_as_nobody(path, queue):
    if os.geteuid() == 0:
        os.setegid(65534)
        os.seteuid(65534)
    try:
        Store(path, Mode.ON)
    except ConfigError as error:
        queue.put(str(error))
    except Exception as error:  # noqa: BLE001 - the test shows whatever else it was
        queue.put(repr(error))
    else:
        queue.put("opened")


@pytest.mark.parametrize("name", ["cache.sqlite", "sub/cache.sqlite"])
def test_a_folder_that_may_not_be_written_to_is_refused(name):
    """
    The error names what could not be made (root, who may write everywhere, tries as nobody).

    The folder is no one of pytest's: each other run of pytest closes the folder above those to others.
    """
    with TemporaryDirectory() as folder:
        open_to_all = Path(folder)
        open_to_all.chmod(0o755)
        locked = open_to_all / "locked"
        locked.mkdir(mode=0o555)
        queue = CLEAN.Queue()
        child = CLEAN.Process(target=_open_as_nobody, args=(locked / name, queue))
        child.start()
        message = queue.get(timeout=30)
        child.join()

    assert message.startswith(str((locked / name).parent if "/" in name else locked / name))
    assert message != "opened"


def _race(path, number, gate, queue):
    gate.wait(timeout=30)
    try:
        store = Store(path, Mode.ON)
        queue.put([store.put(bytes([k]) * 32, PROMPT, {}, Reply(f"{number}")).text for k in range(40)])
        store.close()
    except Exception as error:  # noqa: BLE001 - the test shows whatever it was
        queue.put(repr(error))


def test_processes_that_start_together_share_one_file_and_the_first_reply_wins(path):
    """All make the folder and the file at the same moment, and all are given the same reply to each call."""
    for turn in range(6):
        shared = path.with_name(f"{turn}") / "cache.sqlite"
        gate, queue = CLEAN.Barrier(4), CLEAN.Queue()
        children = [CLEAN.Process(target=_race, args=(shared, n, gate, queue)) for n in range(4)]
        for child in children:
            child.start()

        answers = [queue.get(timeout=60) for _ in children]

        for child in children:
            child.join()
        assert all(a == answers[0] for a in answers), answers
        assert len(answers[0]) == 40


DYING = """
import sys
from pathlib import Path
from calm.engine.store import Mode, Store
from calm.models.wire import Message, Reply

store = Store(Path(sys.argv[1]), Mode.ON)
number = 0
while True:
    store.put(number.to_bytes(32), (Message("user", "x"),), {}, Reply(f"reply {number}"))
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_loses_nothing_that_it_had_put(path):
    """After kill -9 every reply whose `put` returned is there, and the file works."""
    child = subprocess.Popen([sys.executable, "-c", DYING, str(path)], stdout=subprocess.PIPE, text=True)
    said = [child.stdout.readline() for _ in range(200)]
    os.kill(child.pid, signal.SIGKILL)
    rest = child.stdout.read().splitlines(keepends=True)
    child.wait()
    child.stdout.close()
    put = [int(line) for line in (*said, *rest) if line.endswith("\n")]

    store = Store(path, Mode.ON)

    assert len(put) >= 200
    assert all(store.get(number.to_bytes(32)).text == f"reply {number}" for number in put)
    store.close()


def test_an_open_cache_may_be_used_from_several_threads(path):
    """100 threads put and get at once; nothing is lost."""
    from concurrent.futures import ThreadPoolExecutor

    store = Store(path, Mode.ON)

    def work(number):
        key = number.to_bytes(32)
        store.put(key, PROMPT, {}, Reply(str(number)))
        return store.get(key).text

    with ThreadPoolExecutor(100) as pool:
        found = list(pool.map(work, range(300)))

    assert found == [str(n) for n in range(300)]
    store.close()


def test_the_file_says_that_it_is_ours(path):
    """By SQLite's own field for that, which `file` and others read."""
    kept(path, "reply")
    db = sqlite3.connect(path)

    assert db.execute("pragma application_id").fetchone()[0] == APPLICATION_ID
    assert db.execute("pragma journal_mode").fetchone()[0] == "wal"
    db.close()


@pytest.mark.parametrize("mode", [Mode.ON, Mode.REPLAY])
def test_a_cache_in_which_something_is_computed_is_refused(tmp_path, mode):
    """A view in the place of a table may be a query that does not end."""
    path = tmp_path / "cache.sqlite"
    Store(path, Mode.ON).close()
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as key from n"
    base = sqlite3.connect(path)
    base.execute("alter table reply rename to other")
    base.execute(f"create view reply as {endless}")
    base.commit()
    base.close()

    with pytest.raises(ConfigError, match="one with 'reply', which calm does not make"):
        Store(path, mode)


@pytest.mark.parametrize("value", [b"\xff", 5, "{}", "["])
def test_a_request_of_another_kind_has_no_prompt(tmp_path, value):
    """A row that calm did not write is a damaged one, and no error."""
    path = tmp_path / "cache.sqlite"
    store = Store(path, Mode.ON)
    store.put(b"k" * 32, (Message("user", "Hi"),), {}, Reply("[[A]]"))
    base = sqlite3.connect(path)
    with base:
        base.execute("update reply set request = ?", (value,))
    base.close()

    assert store.prompt(b"k" * 32) == ()
    store.close()
