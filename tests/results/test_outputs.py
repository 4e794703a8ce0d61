"""The one writer: what it refuses to replace, and what is there after a write that fails."""

import errno
import json
import os
import resource
import socket
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from calm.errors import ConfigError
from calm.results import outputs
from calm.results.outputs import REPORT, RESULTS, SUMMARY, Form, Output, faults, refuse, stays, write_whole
from calm.results.reports import markdown
from tests.reports.planted_audit import empty, finding, sample

OLD = '{\n "schema": "calm-results/2"\n}'
NEW = '{\n "schema": "calm-results/2", "new": 1\n}'


def folded(folder):
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_an_older_output_of_the_same_form_is_replaced(tmp_path):
    """It says itself what it is; so does an empty file, which holds nothing."""
    for text in ("", OLD):
        path = tmp_path / "results.json"
        path.write_text(text)

        write_whole(path, [NEW], RESULTS)

        assert path.read_text() == NEW


@pytest.mark.parametrize("text", ['{"id": "c1"}\n', "[judge]\nname = 'x'\n", "# calm: notes of mine\n", "\0\xff" * 9])
def test_a_file_that_calm_did_not_write_stays(tmp_path, text):
    """Whatever it is called; and an output of another form is such a file, too."""
    path = tmp_path / "mine"
    path.write_text(text)

    for form in (RESULTS, REPORT, SUMMARY):
        with pytest.raises(ConfigError, match=r"got another file: '.*mine'; it stays: choose another name"):
            write_whole(path, ["new"], form)

    assert path.read_text() == text
    assert folded(tmp_path) == ["mine"]


def test_every_form_knows_its_own_marks():
    """A form that could not find its own mark would refuse the second run; one without marks replaces nothing."""
    forms = [form for form in vars(outputs).values() if isinstance(form, Form)]

    assert len(forms) > 20
    assert {form.what for form in forms if form.shape is None} == {"cases", "a recorded judge", "an export of a cache"}


def log(*names):
    """Return a SARIF log with a run of each tool."""
    return json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": name}}} for name in names]})


TREE = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="calm">{}</testsuites>\n'
HEAD = "<!DOCTYPE html>\n<html><head>{}</head><body>{}</body></html>\n"
META = '<meta name="generator" content="calm">'
ROW = {"id": "c", "question": "q", "answers": []}
KINDS = {
    "SARIF": ([log("calm")], [log("CodeQL", "calm"), log("calm", "CodeQL"), log(), log("calm")[:-9]]),
    "RESULTS": (
        [OLD],
        ['def test(): pass\nX = \'{"schema": "calm-results/2"}\'\n', OLD[:-1], f"[{OLD}]", '{"a": ' + OLD + "}"],
    ),
    "REPORT": ([HEAD.format(META, "")], [HEAD.format("", META), HEAD.format(f"<!-- {META} -->", ""), f"# {META}"]),
    "SUMMARY": (
        [
            "# calm: PASS\n\n**The gate is green.** x",
            markdown.render(sample()),
            markdown.render(empty()),
            markdown.render(empty(findings=(finding(),))),
        ],
        [
            "Notes\n# calm: PASS\n\n**The gate is green.** x",
            f"Notes\n{markdown.render(sample())}",
            "# calm: RED\n\nmine",
        ],
    ),
    "JUNIT": (
        [TREE.format('<testsuite name="calm" time="1" />')],
        [TREE.format('<testsuite name="calm" /><testsuite name="mine" />'), "# " + TREE, TREE.format("")[:-14]],
    ),
    "TRIALS": (["keys,bias,perturbation,against,task\n"], ["import csv\nX = 'keys,bias,perturbation,against,'\n"]),
    "MITIGATED": (["# written by calm mitigate from 'a'\n"], ["[judge]\n# written by calm mitigate from 'a'\n"]),
    "REWRITTEN": (
        [f"{json.dumps(ROW)}\n{json.dumps(ROW | {'tags': {'written_by': 'm'}})}\n"],
        [json.dumps(ROW), json.dumps(ROW | {"question": '"written_by": "me"'}), 'X = {"written_by": "m"}'],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_that_merely_occurs_is_no_proof(tmp_path, kind):
    """A log that another tool wrote into, a source that holds a schema as a text, half a file: all stay."""
    form = vars(outputs)[kind]
    path = tmp_path / "file"
    ours, others = KINDS[kind]
    for text in ours:
        path.write_text(text)
        assert form.owns(path), text
    for text in others:
        path.write_text(text)
        assert not form.owns(path), text
        with pytest.raises(ConfigError, match="it stays"):
            write_whole(path, ["new"], form)
        assert path.read_text() == text


def test_an_empty_file_makes_way_only_where_it_is_called_so(tmp_path):
    """`__init__.py` is empty and says much; `results.json` says nothing yet."""
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "link.json").symlink_to("__init__.py")
    for name in ("__init__.py", "link.json"):
        with pytest.raises(ConfigError, match="got another file"):
            write_whole(tmp_path / name, [NEW], RESULTS)
    (tmp_path / "RESULTS.JSON").write_text("")

    write_whole(tmp_path / "RESULTS.JSON", [NEW], RESULTS)

    assert (tmp_path / "__init__.py").read_text() == ""


def test_a_file_that_appears_while_an_output_is_written_stays(tmp_path):
    """What was free at the beginning need not be free at the end; one of ours still makes way."""
    path = tmp_path / "results.json"
    for before, text in ((None, "precious"), (OLD, "precious"), (None, OLD)):
        path.unlink(missing_ok=True)
        if before:
            path.write_text(before)
        with suppress(ConfigError), outputs.written_beside(path, RESULTS) as file:
            file.write(NEW.encode())
            path.write_text(text)

        assert path.read_text() == (text if text == "precious" else NEW)
        assert folded(tmp_path) == ["results.json"]


def test_the_place_where_an_older_output_is_set_aside_is_checked_like_it(tmp_path):
    """A file of the user's, an input, a cache, a folder, another output: all said before anything is paid for."""
    output = Output("--calm-results", tmp_path / "r.json", RESULTS, aside=True)
    beside = tmp_path / "r.json.before"

    assert faults([output]) == []
    beside.write_text(OLD)
    assert faults([output]) == []
    assert "other than the inputs of the run" in faults([output], inputs=[beside])[0]
    assert "other than the cache" in faults([output], caches=[beside])[0]
    assert "expected two files" in faults([output, Output("--calm-sarif", beside, RESULTS)])[0]
    for text in ("my notes", ""):
        beside.write_text(text)
        assert "r.json cannot be set aside: expected a new file" in faults([output])[0]
    beside.unlink()
    beside.mkdir()
    assert "got a folder" in faults([output])[0]


def links(target, folder):
    """Return paths of many kinds that all mean one file."""
    (folder / "sub").mkdir()
    (folder / "soft").symlink_to(target)
    os.link(target, folder / "hard")
    return [
        target,
        folder / "soft",
        folder / "hard",
        folder / "sub" / ".." / target.name,
        target.with_name(target.name.upper()),
        Path(os.path.relpath(target)),
    ]


def test_no_path_to_an_input_is_written_over(tmp_path):
    """By links of both kinds, by `..`, by another letter case, or relative; also where the input is an old output."""
    target = tmp_path / "cases.json"
    target.write_text(OLD)

    for path in links(target, tmp_path):
        with pytest.raises(ConfigError, match="--out: expected a file other than the inputs of the run"):
            refuse([Output("--out", path, RESULTS, force=True)], inputs=[target])


@pytest.mark.parametrize("side", ["", "-wal", "-shm", "-journal"])
def test_no_part_of_a_cache_is_written_over(tmp_path, side):
    """Nor is a database at another place, whoever made it."""
    cache = tmp_path / "cache.sqlite"
    with closing(sqlite3.connect(cache)) as db, db:
        db.execute("create table reply (key)")
    target = Path(f"{cache}{side}")

    found = faults([Output("-o", target, RESULTS)], caches=[cache])

    assert found == [f"-o: expected a file other than the cache, got {str(target)!r}; choose another name"]
    with pytest.raises(ConfigError, match="another file"):
        write_whole(cache, [NEW], RESULTS)


def test_what_is_no_regular_file_stays(tmp_path):
    """A device node, a pipe, a socket, a folder, and links to them; none is opened, so none blocks or empties."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name, kind in {"pipe": "a pipe", "folder": "a folder", "socket": "a socket"}.items():
            (tmp_path / f"to-{name}").symlink_to(tmp_path / name)
            for path in (tmp_path / name, tmp_path / f"to-{name}"):
                with pytest.raises(ConfigError, match=f"expected a file to write, got {kind}"):
                    write_whole(path, [NEW], RESULTS, force=True)
    before = Path(os.devnull).stat()
    with pytest.raises(ConfigError, match="got a device"):
        write_whole(Path(os.devnull), [NEW], RESULTS, force=True)

    after = Path(os.devnull).stat()
    assert (before.st_mode, before.st_rdev) == (after.st_mode, after.st_rdev)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_link_to_an_older_output_is_followed(tmp_path):
    """The link stays a link; another name of the same bytes keeps them."""
    (tmp_path / "real.json").write_text(OLD)
    (tmp_path / "link.json").symlink_to("real.json")
    os.link(tmp_path / "real.json", tmp_path / "kept.json")

    write_whole(tmp_path / "link.json", [NEW], RESULTS)

    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == NEW
    assert (tmp_path / "kept.json").read_text() == OLD


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    """A report that a group may read stays one; a private one stays private."""
    path = tmp_path / "results.json"
    path.write_text(OLD)
    path.chmod(mode)

    write_whole(path, [NEW], RESULTS)

    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_mode(tmp_path):
    """As the umask of the user says, not the 0600 of a temporary file; a private one is private."""
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "results.json", [NEW], RESULTS)
        write_whole(tmp_path / "replies.jsonl", [NEW], outputs.EXPORT, private=True)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "results.json").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "replies.jsonl").stat().st_mode) == 0o600


def test_a_read_only_file_stays(tmp_path):
    """To take the right to write away is to say that a file is to stay; a rename would not ask."""
    path = tmp_path / "results.json"
    path.write_text(OLD)
    path.chmod(0o444)

    with pytest.raises(ConfigError, match="read-only"):
        write_whole(path, [NEW], RESULTS)

    assert path.read_text() == OLD


@pytest.mark.parametrize("error", [RuntimeError("no more"), KeyboardInterrupt()])
def test_a_write_that_is_cut_short_leaves_the_old_file(tmp_path, error):
    """Nobody reads half a file, and nothing is left beside it."""
    path = tmp_path / "results.json"
    path.write_text(OLD)

    def parts():
        yield "new " * 100_000
        raise error

    with pytest.raises(type(error)):
        write_whole(path, parts(), RESULTS)

    assert path.read_text() == OLD
    assert folded(tmp_path) == ["results.json"]


FULL = """
import resource, sys
from pathlib import Path
from calm.errors import ConfigError
from calm.results.outputs import RESULTS, write_whole

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    write_whole(Path(sys.argv[1]), ['{"schema": "calm-results/2"'] + ["x" * 1000] * 100, RESULTS)
except ConfigError as error:
    print(error)
"""


@pytest.mark.parametrize("room", [0, 1, 1000, 99_000])
def test_a_full_disk_is_one_message_and_the_old_file_stays(tmp_path, room):
    """The system refuses a byte at the beginning, in the middle, or near the end (a limit on the size of files)."""
    assert resource.RLIMIT_FSIZE
    path = tmp_path / "results.json"
    path.write_text(OLD)

    done = subprocess.run([sys.executable, "-c", FULL, path, str(room)], capture_output=True, text=True, check=False)

    why = os.strerror(errno.EFBIG)
    assert done.stdout == f"{path}: cannot be written: {why}; an earlier file of this name is unchanged\n"
    assert (done.returncode, done.stderr) == (0, "")
    assert path.read_text() == OLD
    assert folded(tmp_path) == ["results.json"]


@pytest.mark.parametrize("name", ["x" * 300, "/proc/new.json", "file/new.json", "a\0b", "loop"])
def test_a_name_that_cannot_be_written_is_one_message(tmp_path, monkeypatch, name):
    """Too long, in a folder of the system's, below a file, with a NUL, or a link to itself: said before and after."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    Path("loop").symlink_to("loop")

    told = faults([Output("--calm-results", Path(name), RESULTS)])

    assert len(told) == 1
    assert told[0].startswith("--calm-results: expected a file that can be written, got ")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(Path(name), [NEW], RESULTS)
    assert folded(tmp_path) == ["file", "loop"]


def test_a_name_of_the_greatest_length_is_written(tmp_path):
    """The file beside it has a short name of its own."""
    path = tmp_path / ("x" * 255)

    write_whole(path, [NEW], RESULTS)

    assert folded(tmp_path) == [path.name]


def test_two_outputs_are_two_files(tmp_path):
    """Names that differ in letter case alone are one file on some systems."""
    one, two = (Output(f"--{name}", tmp_path / name, RESULTS) for name in ("Out.json", "out.JSON"))

    assert faults([one, two]) == [f"--Out.json and --out.JSON: expected two files, got {str(one.path)!r} twice"]


def test_an_older_file_stays_where_nothing_was_answered(tmp_path):
    """One rule for the gate and all commands."""
    path = tmp_path / "out.json"

    assert stays(path, answered=False) == ""
    path.write_text(OLD)
    assert stays(path, answered=True) == ""
    assert stays(path, answered=False) == f"{path} stays as it was: nothing was answered in this run"


def test_no_other_place_opens_a_file_for_writing():
    """Whoever writes a file that a user named does it through this module; the cache is the engine's."""
    scratch = {  # their own
        "commands/init_prompts.py: write_text(",
        "engine/database.py: .touch(",
        "engine/database.py: write_text(",
        "engine/signals.py: .touch(",
        "plugins/adapters/promptfoo.py: write_text(",
        "pytest_plugin/workers.py: write_bytes(",
    }
    root = Path(outputs.__file__).parents[1]
    words = ["write_text(", "write_bytes(", ".touch(", "NamedTemporaryFile", "os.replace(", "shutil.", 'open("w']
    allowed = {root / "results" / "outputs.py"}
    found = [
        f"{path.relative_to(root)}: {word}"
        for path in sorted(root.rglob("*.py"))
        if path not in allowed
        for word in words
        if word in path.read_text("utf-8")
    ]

    assert set(found) == {one for one in scratch if (root / one.partition(":")[0]).exists()}


def test_a_file_is_read_once_for_its_shape_until_it_changes(tmp_path):
    """A run asks several times whether it may replace its large results; a file that changed is looked at anew."""
    looked = []

    def shape(file):
        looked.append(file.read())
        return True

    form, path = outputs.Form("a file", (".x",), shape), tmp_path / "a.x"
    path.write_text("one")

    assert form.owns(path)
    assert form.owns(path)
    path.write_text("another")
    assert form.owns(path)
    assert looked == [b"one", b"another"]
