"""Each judge of the page whose tool is in this environment gives a verdict; `CALM_TEST_TOOLS` names the tools."""

import os

import pytest

from calm.core.verdict import readable
from tests.plugins.adapters.page import asked, judges_of


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", judges_of(*os.environ["CALM_TEST_TOOLS"].split(",")))
def test_a_judge_of_the_page_gives_a_verdict(spec, tmp_path, monkeypatch):
    """As it stands there."""
    judge, verdict = asked(spec, tmp_path, monkeypatch)

    assert readable(verdict), verdict
    assert [endpoint.model for endpoint in judge.endpoints] == ["gpt-4.1-mini"]
