"""The files of some how-to pages: each is run as it stands, with cases of its page."""

import json
import re

import pytest

from calm.commands.cli import main
from tests.docs.pages import DOCS, load_generator
from tests.servers import wire_server

SCORES = DOCS / "how-to" / "audit-a-score-judge.md"
LABELS = DOCS / "how-to" / "audit-a-label-judge.md"
RETRIEVAL = DOCS / "how-to" / "audit-retrieval-and-conversations.md"


def written(page, folder, monkeypatch, url=""):
    """Write the files of a page, with a judge file that asks a server on loopback, and go there."""
    for file, body in load_generator().files_in(page).items():
        own = f'model = "tiny"\nbase_url = "{url}"' if url else 'model = "gpt-4.1-mini"'
        (folder / file).write_text(body.replace('model = "gpt-4.1-mini"', own), "utf-8")
    monkeypatch.chdir(folder)


def shown(capsys, *words):
    """Run a command and return what it prints."""
    status = main(words)
    captured = capsys.readouterr()
    assert status == 0, captured.out + captured.err
    return captured.out


def test_the_page_on_classes_leads_to_a_class(tmp_path, monkeypatch, capsys):
    """The prompt shows each class with its meaning, the class is read whatever its case, and an edit is shown."""
    with wire_server(lambda *_: '{"reason": "A part of it.", "label": "Partly grounded."}') as server:
        written(LABELS, tmp_path, monkeypatch, server.url)

        plain = shown(capsys, "try", "judge.toml", "--cases", "cases.jsonl")
        edited = shown(capsys, "try", "judge.toml", "--cases", "cases.jsonl", "--edit", "authority.cite_book")

    assert "- partly-grounded: the policy says a part of it" in plain
    assert "verdict: partly-grounded" in plain
    assert "verdict: partly-grounded" in edited


def test_the_page_on_scores_leads_to_a_score(tmp_path, monkeypatch, capsys):
    """Both prompts render with the cases of the page, the score is read, and an edit is shown."""
    with wire_server(lambda *_: '{"reason": "It is right.", "score": 4}') as server:
        written(SCORES, tmp_path, monkeypatch, server.url)

        plain = shown(capsys, "try", "judge.toml", "--cases", "cases.jsonl")
        edited = shown(capsys, "try", "judge.toml", "--cases", "cases.jsonl", "--edit", "authority.cite_book")
        turned = shown(capsys, "try", "judge.toml", "--cases", "cases.jsonl", "--edit", "framing.ask_how_bad")

    assert "Our policy: Returns are taken for 30 days." in plain
    assert " gets 4 of 5" in plain
    assert edited.count(" gets 4 of 5") == 4
    assert " gets 2 of 5" in turned  # "how bad" 4 of 5 is 2


def test_the_page_on_retrieval_shows_the_passages(tmp_path, monkeypatch, capsys):
    """The passages of a case are in the prompt of a model, and a judge in Python reads them."""
    with wire_server(lambda *_: "[[A]]") as server:
        written(RETRIEVAL, tmp_path, monkeypatch, server.url)

        asked = shown(capsys, "try", "retrieval.toml", "--cases", "retrieval.jsonl")
        own = shown(capsys, "try", "grounded:judge", "--cases", "retrieval.jsonl")

    assert '<passage id="p2">\n   Lamps are sent with a bulb.' in asked
    assert re.search(r"^-- verdict: reply A \(id (grounded|invented)", asked, re.MULTILINE)
    assert "(id grounded, the better one) wins" in own


def test_the_page_on_conversations_shows_the_turns(tmp_path, monkeypatch, capsys):
    """A chat becomes a case with turns, the prompt shows them, and an order in a turn reaches it."""
    with wire_server(lambda *_: "[[A]]") as server:
        written(RETRIEVAL, tmp_path, monkeypatch, server.url)

        asked = shown(capsys, "try", "talk.toml", "--cases", "talk.jsonl")
        edited = shown(
            capsys, "try", "talk.toml", "--cases", "talk.jsonl", "--edit", "turn_injection.order_in_last_turn"
        )
        shown(capsys, "cases", "import", "chats.jsonl", "-o", "chats-cases.jsonl")
        linted = shown(capsys, "lint", "talk.toml", "--cases", "talk.jsonl")
        own = (tmp_path / "talk.jinja").read_text("utf-8")
        (tmp_path / "talk.jinja").write_text(re.sub(r"{% for turn.*?{% endfor %}", "", own, flags=re.DOTALL))
        assert main(["lint", "talk.toml", "--cases", "talk.jsonl"]) == 1

    assert '<turn role="assistant">' in asked
    assert "whoever rates this conversation" in edited
    assert json.loads((tmp_path / "chats-cases.jsonl").read_text("utf-8"))["turns"][1]["role"] == "assistant"
    assert "part-not-shown" not in linted
    assert "error: part-not-shown: " in " ".join(capsys.readouterr().out.split())


def test_the_suites_of_passages_are_asked_about_cases_that_have_some(pytester, monkeypatch):
    """The order of the passages does not move a judge that counts words, but one that reads the first alone."""
    folder = pytester.path
    written(RETRIEVAL, folder, monkeypatch)
    row = json.loads((folder / "retrieval.jsonl").read_text("utf-8").splitlines()[0])
    rows = [{**row, "id": f"lamp-{n}", "question": f"Can I return lamp {n} after 40 days?"} for n in range(60)]
    (folder / "many.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    (folder / "first.py").write_text(
        (folder / "grounded.py").read_text("utf-8").replace("in case.context", "in case.context[:1]", 1)
    )
    suites = ("--pyargs", "calm.suites.test_passage_order", "calm.suites.test_authority", "-k", "passages")
    command = (*suites, "--calm-cases=many.jsonl", "-q")

    judges = (f"--calm-judge={name}:judge" for name in ("grounded", "first"))
    # in processes of their own: what the code of a judge reads is remembered
    steady, swayed = (pytester.runpytest_subprocess(*command, judge).stdout.str() for judge in judges)

    assert "FAIL" not in steady, steady
    assert "FAIL net_robustness >=" in swayed, swayed


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_that_runs_the_suites_of_a_checkout_says_what_an_installed_package_runs(page):
    """`suites/` is a folder of the repository: whoever installed calm has none."""
    text = page.read_text("utf-8")

    assert "pytest suites/" not in text or "pytest --pyargs calm.suites" in text


def test_the_example_of_a_plugin_is_that_of_its_page():
    """Whoever follows the page has these files."""
    written = load_generator().files_in(DOCS / "how-to" / "write-a-plugin.md")
    example = DOCS.parent / "tests" / "examples" / "plugin"
    there = {
        path.relative_to(example).as_posix(): path for path in example.rglob("*") if path.suffix in (".py", ".toml")
    }

    assert {name: written[name] for name in there} == {name: path.read_text("utf-8") for name, path in there.items()}
