"""Reading comparisons: what is read, and one clear line for each fault."""

import json
from random import Random

import numpy as np
import pytest

from calm.errors import ConfigError
from calm.plugins.uda.comparisons import HashedWords
from calm.plugins.uda.matrix import read_gold
from calm.plugins.uda.reading import MAX_SHOWN, read

EMBED = HashedWords(8)
GOOD = {"prompt": "p", "judge": "x", "model_a": "x", "model_b": "y", "outcome": "a", "text_a": "one", "text_b": "two"}


def of(tmp_path, *rows, name="c.jsonl", answers=None):
    """Read rows: dictionaries as JSON, texts as they are."""
    path = tmp_path / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    return read([path], answers, EMBED)[0]


def test_texts_with_the_comparison_are_read(tmp_path):
    """Each answer is embedded once; the judge's own is that of the model of its name."""
    data = of(tmp_path, GOOD, {**GOOD, "judge": "y", "outcome": "tie"})

    assert (data.judges, data.models, data.share.tolist()) == (("x", "y"), ("x", "y"), [1.0, 0.5])
    assert data.embeddings.shape == (2, 8)
    assert data.own.tolist() == [data.one[0], data.two[0]]
    assert data.embeddings[data.one[0]].tolist() == EMBED(["one"])[0].tolist()


def test_csv_is_read_as_json_lines_are(tmp_path):
    """The same rows under a header give the same arrays, embeddings as JSON in their cells included."""
    header = "prompt,judge,model_a,model_b,outcome,embedding_a,embedding_b\n"
    data = of(tmp_path, header + 'p,j,x,y,B,"[1, 2]","[3, 4]"\n', name="c.csv")

    assert (data.share.tolist(), data.own.tolist()) == ([0.0], [-1])
    assert data.embeddings.tolist() == [[1, 2], [3, 4]]


def test_an_own_text_is_that_of_the_judge(tmp_path):
    """A judge that is no model of the arena can bring its own answer."""
    data = of(tmp_path, {**GOOD, "judge": "j", "text_own": "three"})

    assert data.embeddings[data.own[0]].tolist() == EMBED(["three"])[0].tolist()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("not json", "expected a JSON object, got an error"),
        ("[1]", "expected a JSON object, got list"),
        ('{"prompt": NaN}', "expected a finite number, got NaN"),
        ("[" * 100_000, "expected a JSON object, got an error"),
        ({**GOOD, "outcome": "A>B"}, "expected outcome a, b or tie, got outcome='A>B'"),
        ({**GOOD, "judge": ""}, "expected judge as a text that is not blank"),
        ({**GOOD, "judge": 7}, "expected judge as a text that is not blank, got judge=7"),
        ({**GOOD, "model_b": "x"}, "expected two models, got 'x' against itself"),
        ({**GOOD, "model_c": "x"}, "unknown key 'model_c'; did you mean"),
        ({**GOOD, "text_a": " "}, "expected text_a as a text that is not blank"),
        ({**GOOD, "embedding_a": [1]}, "expected text_a or embedding_a, got both"),
        ({**GOOD, "text_a": None, "embedding_a": [True]}, "expected embedding_a as a list of finite numbers"),
        ({**GOOD, "text_a": None, "embedding_a": [1e39]}, "expected embedding_a as a list of finite numbers"),
        ({**GOOD, "text_a": None, "embedding_a": []}, "expected embedding_a as a list of finite numbers"),
        ({k: v for k, v in GOOD.items() if k != "text_b"}, "expected the text or embedding of every answer compared"),
        ({**GOOD, "text_b": None, "embedding_b": [1.0]}, "expected texts alone or embeddings alone"),
    ],
)
def test_a_fault_is_one_clear_line(tmp_path, row, told):
    """Each fault says what was expected and what came."""
    with pytest.raises(ConfigError) as raised:
        of(tmp_path, row)

    assert told in str(raised.value)
    assert len(raised.value.problems) == 1


def test_faults_are_named_by_line_and_counted(tmp_path):
    """All faults are told at once, each that differs once with its first line; of many the first are spelled out."""
    with pytest.raises(ConfigError) as raised:
        of(tmp_path, GOOD, *["broken"] * 30)

    (told,) = raised.value.problems
    assert told.startswith(f"{tmp_path / 'c.jsonl'}:2: ")
    assert told.endswith("(and 29 more like it)")

    with pytest.raises(ConfigError) as raised:
        of(tmp_path, GOOD, *({**GOOD, "outcome": f"no {n}"} for n in range(30)))
    assert len(raised.value.problems) == MAX_SHOWN + 1
    assert raised.value.problems[-1] == "and 10 more; fix these first"


def test_two_answers_of_one_model_to_one_prompt_are_refused(tmp_path):
    """An answer that changes under one id would be embedded as either."""
    with pytest.raises(ConfigError, match="expected one answer of 'x' to prompt 'p', got two that differ"):
        of(tmp_path, GOOD, {**GOOD, "text_a": "other"})


def test_embeddings_of_two_lengths_are_refused(tmp_path):
    """Vectors have to be of one length."""
    plain = {k: v for k, v in GOOD.items() if not k.startswith("text")}

    with pytest.raises(ConfigError, match="expected embeddings of one length, got lengths 1, 2"):
        of(tmp_path, {**plain, "embedding_a": [1], "embedding_b": [1, 2]})


@pytest.mark.parametrize(("name", "content"), [("c.jsonl", b"\xff\xfe"), ("c.csv", b"prompt\n\xff")])
def test_bytes_that_are_no_text_are_refused(tmp_path, name, content):
    """The message names the byte."""
    (tmp_path / name).write_bytes(content)

    with pytest.raises(ConfigError, match="expected UTF-8, got byte 0xff"):
        read([tmp_path / name], None, EMBED)


def test_an_empty_file_and_a_missing_one_are_refused(tmp_path):
    """Nothing to learn from is an error, not an empty result."""
    with pytest.raises(ConfigError, match="expected at least one comparison, got an empty file"):
        of(tmp_path)
    with pytest.raises(ConfigError, match="nowhere"):
        read([tmp_path / "nowhere.jsonl"], None, EMBED)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"a": "1"}', '{"a": NaN}', '{"a": true}'])
def test_gold_that_is_no_table_of_numbers_is_refused(tmp_path, content):
    """Gold is an object of finite numbers."""
    (tmp_path / "gold.json").write_text(content)

    with pytest.raises(ConfigError, match="expected a JSON object of"):
        read_gold(tmp_path / "gold.json")


def test_hashed_words_are_the_same_everywhere_and_near_for_near_texts():
    """A text has one vector of norm 1; texts that share words are nearer than texts that share none."""
    words = HashedWords(256)
    one, near, far = words(["the cat sat on the mat", "the cat sat on a mat", "quarterly profit fell by nine percent"])

    assert words(["the cat sat on the mat"])[0].tobytes() == one.tobytes()
    assert float(np.linalg.norm(one)) == pytest.approx(1, abs=1e-6)
    assert float(one @ near) > 0.7 > 0.4 > float(one @ far)
    assert HashedWords(4)(["a"])[0].tolist() == HashedWords(4)(["a"])[0].tolist()


def test_leaving_out_a_judge_keeps_the_others_in_order(arena):
    """Without a judge the others' comparisons are what they were."""
    _, data = arena
    chosen = Random(0).randrange(6)

    rest = data.without_judge(chosen)

    assert len(rest) == len(data) - int((data.judge == chosen).sum())
    assert rest.judges == tuple(j for i, j in enumerate(data.judges) if i != chosen)
    names = [data.judges[j] for j in data.judge if j != chosen]
    assert [rest.judges[j] for j in rest.judge] == names
