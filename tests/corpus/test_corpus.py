"""Every reply of the corpus has a verdict of its task, no reply stands twice, and the texts give the same rows."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import reader
from tests.corpus.second import compose

SECOND = Path(__file__).parent / "second"
KEYS = ["id", "lang", "format", "task", "scale", "reply", "verdict", "kind", "real"]
SHARES = {"brackets": 0.45, "json": 0.30, "last-line": 0.15, "tag": 0.10}
STYLES = Path(__file__).parent / "styles"
STYLE_KEYS = ["id", "style", "lang", "reply", "verdict", "kind", "real"]
KINDS = ("clean", "chatty", "adversarial")
FEWEST = 25
"""Replies of each style by the first hand."""


@pytest.fixture(scope="module")
def rows():
    """All rows, as the files hold them."""
    return [
        json.loads(line) for path in sorted(SECOND.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]


def fits(row):
    """Whether the verdict is one of the row's task and scale."""
    verdict = row["verdict"]
    if row["task"] == "pairwise":
        return row["scale"] is None and verdict in ("A", "B", "tie", None)
    low, high = row["scale"]
    return verdict is None or (type(verdict) in (int, float) and low <= verdict <= high)


def test_every_row_has_the_keys_and_a_verdict_of_its_task(rows):
    """A label that no reader could give would count against every reader."""
    assert [row["id"] for row in rows if list(row) != KEYS] == []
    assert [row["id"] for row in rows if not fits(row)] == []
    assert {type(row["real"]) for row in rows} == {bool}
    assert {row["task"] for row in rows} == {"pairwise", "score"}


def test_no_slot_of_a_skeleton_is_left_in_a_reply(rows):
    """A sign of the program is nothing that a judge writes."""
    assert [row["id"] for row in rows if "§" in row["reply"] or "@@" in row["reply"]] == []


def test_no_reply_stands_twice_and_few_differ_in_labels_alone(rows):
    """A thousand copies of one reply would hide all others."""
    alike = Counter(compose.bare(row["reply"]) for row in rows)

    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["reply"] for row in rows}) == len(rows)
    assert {text: count for text, count in alike.items() if count > 3} == {}


def test_each_language_has_its_rows_and_its_own_skeletons(rows):
    """No language is a sample of another one."""
    counts = Counter(row["lang"] for row in rows)
    texts = {lang: {skeleton.text for skeleton in compose.read(lang).skeletons} for lang in compose.LANGUAGES}

    assert counts == dict.fromkeys(compose.LANGUAGES, compose.ROWS)
    assert min(counts.values()) >= 160
    assert min(map(len, texts.values())) >= 50


def test_the_formats_and_the_hard_replies_have_their_shares(rows):
    """A reader that only knows brackets, or only knows clean replies, must be seen."""
    formats = Counter(row["format"] for row in rows)

    assert {name: formats[name] / len(rows) for name in formats} == pytest.approx(SHARES, abs=0.05)
    assert 0.6 <= sum(row["real"] for row in rows) / len(rows) <= 0.7


def test_replies_in_other_scripts_are_in_other_scripts(rows):
    """A file named after a language holds replies in that language."""
    scripts = {"ja": ("HIRAGANA", "KATAKANA", "CJK"), "zh": ("CJK",), "ko": ("HANGUL",), "ru": ("CYRILLIC",)}
    long = [row for row in rows if row["lang"] in scripts and len(row["reply"]) > 60]

    strange = [
        row["id"]
        for row in long
        if not any(unicodedata.name(sign, "").startswith(scripts[row["lang"]]) for sign in row["reply"])
    ]

    assert strange == []


def test_the_written_texts_give_the_same_bytes():
    """Who edits a row by hand finds the edit gone, so the program says it first."""
    for lang, made in compose.compose().items():
        assert (SECOND / f"{lang}.jsonl").read_bytes() == compose.lines(made).encode(), lang


@pytest.fixture(scope="module")
def styled():
    """All rows in public styles by the hand that wrote them, as the files hold them."""
    return {
        hand: [
            json.loads(line)
            for path in (STYLES / hand).glob("*.jsonl")
            for line in path.read_text("utf-8").splitlines()
        ]
        for hand in ("first", "second", "hard")
    }


def on_menu(row):
    """Whether the verdict is one that the judge of the row's style can give."""
    judge, verdict = reader.judge(row["style"]), row["verdict"]
    if verdict is None:
        return True
    if judge.task == "pairwise":
        return verdict in ("A", "B", "tie")
    if judge.task == "label":
        return judge.scale.classes.named(verdict) is not None
    return type(verdict) in (int, float) and judge.scale.holds(verdict)


def test_every_style_has_a_prompt_a_judge_and_its_rows(styled):
    """A style without replies of one kind would say nothing on that kind."""
    names = {path.stem for path in (STYLES / "prompts").glob("*.txt")}
    kinds = {kind: Counter(row["style"] for row in styled["first"] if row["kind"] == kind) for kind in KINDS}

    assert {path.stem for path in (STYLES / "judges").glob("*.toml")} == names
    assert {row["style"] for row in styled["second"]} == names
    assert min(Counter(row["style"] for row in styled["first"]).values()) >= FEWEST
    assert {kind: set(counts) for kind, counts in kinds.items()} == dict.fromkeys(KINDS, names)


def test_every_row_in_a_style_has_the_keys_and_a_verdict_on_the_menu(styled):
    """A label that no reader could give would count against every reader."""
    rows = [row for hand in styled.values() for row in hand]

    assert [row["id"] for row in rows if list(row) != STYLE_KEYS or row["kind"] not in KINDS] == []
    assert [row["id"] for row in rows if not on_menu(row)] == []
    assert {type(row["real"]) for row in rows} == {bool}
    assert len({row["id"] for row in rows}) == len(rows)


def test_no_hand_writes_a_reply_in_a_style_twice(styled):
    """A copy would count twice."""
    for rows in styled.values():
        assert [key for key, n in Counter((row["style"], row["reply"]) for row in rows).items() if n > 1] == []
