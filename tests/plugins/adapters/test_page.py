"""The page on judges of other tools: each judge on it is asked; those of the other tools in `tests/slow/adapters`."""

import pytest

from calm.core.releases import install
from calm.core.verdict import readable
from calm.plugins import adapters
from calm.plugins.adapters.tools import TOOLS
from tests.plugins.adapters.page import JUDGES, PAGE, asked, judges_of


def test_every_tool_is_on_the_page():
    """With its name, and how it is installed."""
    text = PAGE.read_text("utf-8")

    assert (
        {spec.partition(":")[0] for spec in JUDGES} - {"promptfoo"}
        == set(TOOLS)
        == set(adapters.JUDGES) - {"promptfoo"}
    )
    assert all(f"`{install(tool)}`" in text for tool in TOOLS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", judges_of("autoevals", "inspect"))
def test_a_judge_of_the_page_gives_a_verdict(spec, tmp_path, monkeypatch):
    """As it stands there."""
    judge, verdict = asked(spec, tmp_path, monkeypatch)

    assert readable(verdict), verdict
    assert [endpoint.model for endpoint in judge.endpoints] == ["gpt-4.1-mini"]
