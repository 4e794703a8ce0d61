"""`calm cache` shows, prunes and exports what is kept, and spoils no file that is not its own."""

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from time import time

import pytest

from calm.commands.cli import main
from calm.core.edits import Message
from calm.engine import database
from calm.engine.store import Mode, Store
from calm.models.wire import Reply

DAY_S = 86_400
HOSTILE = "a\0b \ud800 \U0010ffff \\u0000 \\\\u0000 ' % ? {}"


@pytest.fixture
def cache(tmp_path):
    """A cache with three replies of two models, one of them 40 days old, and a verdict of Python code."""
    path = tmp_path / "cache.sqlite"
    store = Store(path, Mode.ON)
    for number, model in enumerate(("big", "big", "small", "")):
        body = {"model": model} if model else {}
        prompt = (Message("user", f"Which? \u2028 {number}"),)
        store.put(bytes([number]) * 32, prompt, body, Reply("[[A]]", model=model))
    store.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update reply set at = ? where key = ?", (time() - 40 * DAY_S, bytes([0]) * 32))
    db.close()
    return path


def kept(path):
    db = sqlite3.connect(path)
    rows = [bytes(key)[0] for (key,) in db.execute("select key from reply order by key")]
    db.close()
    return rows


def test_show_counts_replies_by_model(cache, capsys):
    """With their number, size and age; Python code has no model."""
    assert main(["cache", "show", f"--cache-file={cache}"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{cache}: 4 replies, 0.")
    assert lines[1].startswith("oldest 2")
    assert [line.split(None, 1) for line in lines[2:]] == [["2", "big"], ["1", "small"], ["1", "(Python code)"]]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--days=30"], [1, 2, 3]),
        (["--days=50"], [0, 1, 2, 3]),
        (["--model=big"], [2, 3]),
        (["--model=big", "--days=30"], [1, 2, 3]),
        (["--model=(Python code)"], [0, 1, 2]),
        (["--model=unknown"], [0, 1, 2, 3]),
    ],
)
def test_prune_forgets_what_was_chosen(cache, capsys, options, left):
    """Both options together forget only what fits both."""
    assert main(["cache", "prune", *options, f"--cache-file={cache}"]) == 0

    assert kept(cache) == left
    assert f"deleted {4 - len(left)} replies, kept {len(left)}" in capsys.readouterr().out


def test_prune_wants_to_know_what_to_forget(cache, capsys, subtests):
    """Nothing is forgotten without a choice, or by a number of days that is none."""
    for options in [[], ["--days=-1"], ["--days=nan"], ["--days=inf"]]:
        with subtests.test(repr(options)):
            assert main(["cache", "prune", *options, f"--cache-file={cache}"]) == 4

            assert "--days" in capsys.readouterr().err
            assert kept(cache) == [0, 1, 2, 3]


def test_export_writes_prompts_and_replies(cache, tmp_path):
    """One JSON object a line, in a file that only its owner can read."""
    out = tmp_path / "out.jsonl"

    assert main(["cache", "export", str(out), f"--cache-file={cache}"]) == 0

    entries = [json.loads(line) for line in out.read_text("utf-8").split("\n") if line]
    assert [e["reply"]["model"] for e in entries] == ["big", "big", "small", ""]
    assert entries[2]["prompt"] == [{"role": "user", "text": "Which? \u2028 2"}]
    assert entries[2]["body"] == {"model": "small"}
    assert entries[2]["key"] == "02" * 32
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_export_overwrites_nothing(cache, tmp_path, capsys):
    """Neither another file nor the cache itself."""
    other = tmp_path / "diary.txt"
    other.write_text("Dear diary")

    for target in (other, cache):
        before = target.read_bytes()
        assert main(["cache", "export", str(target), f"--cache-file={cache}"]) == 4
        assert target.read_bytes() == before

    assert str(other) in capsys.readouterr().err


def missing(path):
    return None


def text(path):
    path.write_text("Dear diary,\n" * 100)


def foreign(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("create table reply (key, request, reply, at)")
    db.close()


def torn(path):
    store = Store(path, Mode.ON)
    for number in range(200):
        store.put(bytes([number]) * 32, (), {}, Reply("reply " * 500))
    store.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 60_000)


def test_a_file_that_is_no_cache_is_refused_and_left_untouched(tmp_path, monkeypatch, capsys, subtests):
    """The message names it, and not a byte of it changes."""
    for make in [missing, text, foreign, torn]:
        for verb in [["show"], ["prune", "--days=1"], ["export", "out.jsonl"]]:
            with subtests.test(repr(make) + repr(verb)):
                monkeypatch.chdir(tmp_path)
                path = tmp_path / f"{verb[0]}-{make.__name__}.sqlite"
                make(path)
                before = path.read_bytes() if path.exists() else None

                assert main(["cache", *verb, f"--cache-file={path}"]) == 4

                assert str(path) in capsys.readouterr().err
                assert (path.read_bytes() if path.exists() else None) == before
                assert not Path("out.jsonl").exists()


def test_no_key_of_a_server_is_in_what_is_shown_or_exported(tmp_path, monkeypatch, capsys):
    """A key from a variable reaches neither the file nor what is made of it."""
    from calm.engine.engine import Engine
    from calm.judges.judgefile import read_judge
    from tests.servers import wire_server

    secret = "sk-not-to-be-kept-0123456789"
    case = json.dumps({"id": "c", "question": "Which?", "answers": [{"id": i, "text": i} for i in "ab"]})
    (tmp_path / "cases.jsonl").write_text(f"{case}\n")
    cache = tmp_path / "cache.sqlite"
    with wire_server(lambda *_: f"The key is {secret}. [[A]]", api_key=secret) as server:
        (tmp_path / "judge.toml").write_text(
            f'[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "tiny"\n'
            f'base_url = "{server.url}"\napi_key_env = "THE_KEY"\n'
        )
        from calm.cases import read_cases

        judge = read_judge(tmp_path / "judge.toml", {"THE_KEY": secret})
        engine = Engine(Store(cache, Mode.ON))
        engine.greet(*judge.endpoints)
        engine.ask(judge, [(read_cases(tmp_path / "cases.jsonl")[0], 1)])
        engine.close()

    main(["cache", "show", f"--cache-file={cache}"])
    main(["cache", "export", str(tmp_path / "out.jsonl"), f"--cache-file={cache}"])

    assert secret not in capsys.readouterr().out
    assert "The key is ***. [[A]]" in (tmp_path / "out.jsonl").read_text()
    assert all(secret.encode() not in f.read_bytes() for f in tmp_path.glob("cache.sqlite*"))


def test_the_digest_of_a_cache_is_that_of_its_replies(cache, tmp_path, capsys):
    """A copy has the same one; with one reply less it is another."""
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(cache.read_bytes())

    def digest(path):
        assert main(["cache", "show", f"--cache-file={path}"]) == 0
        return capsys.readouterr().out.splitlines()[0].rpartition("sha256 ")[2]

    first, same = digest(cache), digest(copy)
    with closing(sqlite3.connect(copy)) as db, db:
        db.execute("delete from reply where rowid = 1")
    db.close()

    assert len(first) == 64
    assert first == same != digest(copy)


def test_a_cache_that_another_program_locks_is_not_called_damaged(cache, capsys, monkeypatch):
    """The message says what holds it, and what to do; the wait is made short here."""
    monkeypatch.setattr(database, "OPEN_S", 0.1)
    other = sqlite3.connect(cache, isolation_level=None)
    other.execute("pragma locking_mode = exclusive")
    other.execute("begin exclusive")
    other.execute("delete from served")

    status = main(["cache", "export", f"--cache-file={cache}", str(cache.with_name("out.jsonl"))])

    assert status == 4
    assert "another program keeps it locked" in " ".join(capsys.readouterr().err.split())
    other.close()


def test_a_copy_goes_to_a_server_and_back(cache, shared, tmp_path, capsys, monkeypatch):
    """With equal digests; a damaged reply is left and counted, what is there stays, and a second copy adds nothing."""
    monkeypatch.chdir(tmp_path)
    store = Store(cache, Mode.ON)
    store.put(b"h" * 32, (Message("user", HOSTILE),), {"model": HOSTILE}, Reply(HOSTILE, model=HOSTILE))
    store.serves("endpoint", "model")
    store.close()
    url, back = shared(), tmp_path / "back.sqlite"

    def said(*arguments):
        assert main(["cache", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    def digest(*place):
        return said("show", *place).splitlines()[0].rpartition("sha256 ")[2]

    assert "copied 5 replies, 0 were there before" in said("copy", cache, url)
    assert "copied 0 replies, 5 were there before" in said("copy", cache, url)
    assert "copied 5 replies" in said("copy", url, back)
    assert digest(f"--cache-url={url}") == digest(f"--cache-file={back}") == digest(f"--cache-file={cache}")
    store = Store(back, Mode.ON)
    assert (store.get(b"h" * 32).text, store.served("endpoint")) == (HOSTILE, "model")
    store.close()

    with closing(sqlite3.connect(cache)) as db, db:
        db.execute("update reply set reply = replace(reply, '[[A]]', '[[B]]') where key = ?", (bytes([1]) * 32,))
    db.close()
    empty = tmp_path / "empty.sqlite"
    found = said("copy", cache, empty)
    assert "copied 4 replies" in found
    assert "left 1 reply" in found
