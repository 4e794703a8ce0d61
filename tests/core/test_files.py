"""Files of other people: each limit refuses what is over it and lets pass what is just under it."""

import json
import os
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.files import MOST_DIGITS, MOST_NESTED, MOST_SETTINGS, json_of, meant, read_bytes, read_json, read_toml
from calm.errors import ConfigError


def refused(function, *arguments):
    with pytest.raises(ConfigError) as error:
        function(*arguments)
    assert len(error.value.problems) == 1
    assert len(str(error.value)) < 400
    return str(error.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    """A file of 100 GB is refused by its size; one that does not end, once it is over the limit."""
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        os.truncate(file.fileno(), 10**11)

    assert refused(read_bytes, large) == (
        f"{large}: expected at most 500 MB, got 100,000 MB; split it, or leave some of it out"
    )
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    assert "expected at most 2 MB, got more" in refused(read_toml, tmp_path / "endless.toml", "a judge.toml")


def test_a_toml_file_over_a_limit_is_refused_with_its_line(tmp_path, subtests):
    """Digits, nesting and keys of many parts, which take the reader of TOML minutes or hours, name line and limit."""
    path = tmp_path / "judge.toml"
    for text, said in [
        ("a = 1\nb = " + "9" * 100_000, "line 2: expected numbers of at most 300 digits, got one of 100000"),
        ("b = 0x" + "f" * 100_000, "line 1: expected numbers of at most 300 digits"),
        ("b = 1." + "3" * 100_000, "numbers of at most 300 digits"),
        ("b = " + "[" * 100_000 + "]" * 100_000, "line 1: expected brackets nested at most 100 deep"),
        ("b = " + "{a = " * 100_000, "brackets nested at most 100 deep"),
        ("\n\n" + ".".join("a" * 50_000) + " = 1", "line 3: expected keys of at most 100 parts"),
        ("[" + " . ".join(["'a'"] * 50_000) + "]", "keys of at most 100 parts"),
        ("#" * (MOST_SETTINGS + 1), "expected at most 2 MB"),
    ]:
        with subtests.test(text=text[:20]):
            path.write_text(text)

            assert said in refused(read_toml, path, "a judge.toml")


def test_a_toml_file_within_the_limits_is_read(tmp_path):
    """What stands in texts and comments is not counted, nor what is just within a limit."""
    dots, open_brackets = ".".join("a" * 500), "[" * 500
    text = (
        f"a = '{dots}'\nb = \"{open_brackets} \\\" {dots}\"\nc = '''\n{open_brackets}\n''{dots}'''\n"
        f"# {open_brackets}{dots}\n"
        f'd = """{dots}\n\\""" {open_brackets}"""\ne = {"[" * MOST_NESTED + "]" * MOST_NESTED}\n'
        f"{'.'.join('f' * (MOST_NESTED - 1))} = 1\ng = [{'1.5, ' * 1000}]\nh = {'7' * MOST_DIGITS}\n"
    )
    path = tmp_path / "judge.toml"
    path.write_text(text)

    assert read_toml(path, "a judge.toml") == tomllib.loads(text)


@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet="ab0.=[]{}\"'#\\\n ,-", max_size=60))
def test_a_file_that_toml_reads_is_read_equally(tmp_path_factory, text):
    """The limits change nothing of a small file, whatever is in it."""
    path = tmp_path_factory.mktemp("toml") / "a.toml"
    path.write_text(text)
    try:
        expected = tomllib.loads(text)
    except ValueError:
        assert refused(read_toml, path, "a file").startswith(f"{path}: ")
    else:
        assert read_toml(path, "a file") == expected


def test_a_json_text_over_a_limit_is_refused(tmp_path, subtests):
    """Digits, nesting and many tiny values."""
    path = tmp_path / "results.json"
    for text, said in [
        (
            "9" * 100_000,
            "expected numbers of at most 300 digits, got one of 100000",
        ),
        ("[" * 200_000, "nested at most 100 deep"),
        ('{"a":' * 200_000, "nested at most 100 deep"),
        ("", "expected a results file, got an empty file"),
    ]:
        with subtests.test(text=text[:20]):
            path.write_text(text)

            assert said in refused(read_json, path, "a results file")
    with pytest.raises(ValueError, match="at most 1,000 values, got about 1,001"):
        json_of("[" + ",".join("1" * 1001) + "]", most=1000)
    assert json_of(json.dumps([1] * 999), most=1000) == [1] * 999
    assert json_of(json.dumps("a, " * 300).encode(), most=1000) == "a, " * 300


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cases.jsn", "cases.jsonl"),
        ("clam-audit/results.json", "calm-audit/results.json"),
        ("sp.json", None),
        ("no/such/folder.json", None),
    ],
)
def test_a_path_with_one_misspelt_part_is_answered_with_the_one_that_is_there(tmp_path, wrong, right):
    """A folder or a file; names that are alike in their endings alone are not."""
    (tmp_path / "calm-audit").mkdir()
    for name in ("cases.jsonl", "six.jsonl", "calm-audit/results.json"):
        (tmp_path / name).touch()

    assert meant(tmp_path / wrong) == ("" if right is None else f"did you mean {tmp_path / right}?")
