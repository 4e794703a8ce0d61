"""Rows as IFEval has them, with the answers of several models."""

import json
import re

import pytest

from calm.commands import cli

MODELS = ("gpt-9", "qwen-9", "llama-9")


def row(number):
    """Return a prompt: gpt-9 has a comma in one of two answers, qwen-9 in one of three, llama-9 in one of four."""
    texts = {m: f"{m} says{',' * (number % n == 0)} a plain line {number}" for n, m in enumerate(MODELS, start=2)}
    return {
        "key": number,
        "prompt": f"Write line {number}.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{}, {"relation": "at least", "num_words": 6}],
        "responses": texts,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"responses": {}}, "responses: expected an object of models and texts"),
        ({"kwargs": [{}]}, "kwargs: expected a list of 2 objects"),
        ({"followed": {"gpt-9": [True]}}, "followed: expected a model of `responses` with a list of 2"),
    ],
)
def test_rows_that_are_no_ifeval_rows_are_refused(tmp_path, capsys, change, message):
    """The record and the field are named."""
    (tmp_path / "rows.jsonl").write_text(json.dumps(row(1) | change), "utf-8")

    status = cli.main(["cases", "import", f"{tmp_path}/rows.jsonl", "--format=ifeval", "-o", f"{tmp_path}/out.jsonl"])

    assert status == 4
    assert re.search(f"record 1: {re.escape(message)}", capsys.readouterr().err)
    assert not (tmp_path / "out.jsonl").exists()
