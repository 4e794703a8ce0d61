"""The first page promises what a test holds: each of its sentences names the tests, in `promises.toml`."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

from tests.docs.pages import DOCS, ROOT

PAGE = DOCS / "README.md"
PROMISES = tomllib.loads(Path(__file__).with_name("promises.toml").read_text("utf-8"))
ENDS = re.compile(r"(?<=\.) (?=[A-Z-]|calm changes)")


def sentences():
    """Return the sentences above the list of pages, without links and marks; an item of a list is one or more."""
    text = PAGE.read_text("utf-8").partition("## All pages")[0]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    parts = [" ".join(part.split()).removeprefix("- ") for part in re.split(r"\n\n|\n(?=- )", text) if part.strip()]
    found = []
    for part in parts:
        shown = part.replace("**", "").replace("`", "")
        asks = re.match(r"(a|my own|verdicts)\b", shown)  # an item under "I have ..."
        found += [shown] if asks else ENDS.split(shown)
    return found


@cache
def names_in(file):
    """Return the names of the tests of a file."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_sentence_of_the_first_page_names_the_tests_that_hold_it():
    """And no sentence is held that is not there."""
    assert sentences() == list(PROMISES)


def test_each_test_that_holds_a_promise_is_there(subtests):
    """In the file and under the name that `promises.toml` gives."""
    for sentence, held in PROMISES.items():
        with subtests.test(sentence=sentence):
            assert held
            for one in held:
                file, _, name = one.partition("::")
                assert name.startswith("test_")
                assert name in names_in(file)
