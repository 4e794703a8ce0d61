"""The page on judges of other tools: each judge on it is asked, where its tool is installed."""

import re
from importlib.util import find_spec

import pytest

from calm.core.verdict import readable
from calm.judges.adapters import ADAPTERS, adapted
from tests.docs.pages import DOCS, load_generator
from tests.judges.adapters.twins import cases_in, module_of
from tests.planted import engine
from tests.servers import wire_server
from tests.servers.biased import biased, score_of, weighed

PAGE = DOCS / "how-to" / "audit-a-judge-of-another-tool.md"
NEEDS = {"inspect": "inspect_ai", "langchain": "langchain_classic"}
JUDGES = sorted(set(re.findall(r"^calm audit (\w+:\w+:\w+)", PAGE.read_text("utf-8"), re.MULTILINE)))


def plain(text, body):
    if "Alice" in text or "[[A]]" in text:
        return "[[A]]"
    if "[[rating]]" in text or "[[5]]" in text:
        return "Rating: [[5]]"
    if "GRADE" in text:
        return "GRADE: C"
    return weighed(text, score_of(text)) if body.get("logprobs") else '{"reason": "so it is", "value": 5}'


def test_every_tool_is_on_the_page():
    """With its name, and how it is installed."""
    text = PAGE.read_text("utf-8")

    assert {spec.partition(":")[0] for spec in JUDGES} | {"promptfoo"} == set(ADAPTERS)
    assert all(f'calm-judge[{tool}]"' in text for tool in ADAPTERS if tool != "promptfoo")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", JUDGES)
def test_a_judge_of_the_page_gives_a_verdict(spec, tmp_path, monkeypatch):
    """As it stands there, with the addresses and keys that its client takes from the environment."""
    tool, module, _ = spec.split(":")
    if find_spec(NEEDS.get(tool, tool)) is None:
        pytest.skip(f"{tool} is not installed")
    module_of(tmp_path, monkeypatch, module, load_generator().files_in(PAGE)[f"{module}.py"])
    said = biased(plain, score=lambda text: 0.5, choice=lambda text: "A" if "(A)" in text else "Yes")
    with wire_server(said, limitless=True) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-for-a-test-1")
        judge = adapted(spec)
        cases = cases_in(tmp_path, pairwise=judge.task == "pairwise", count=1)
        with engine() as running:
            verdict = running.ask(judge, [(cases[0], 1)])[0].verdict

    assert readable(verdict), verdict
    assert [endpoint.model for endpoint in judge.endpoints] == ["gpt-4.1-mini"]
