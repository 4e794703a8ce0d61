"""`--calm-max-usd X`: a hard cap in US dollars."""

import json

import pytest

from tests.servers import wire_server

JUDGE = """
[judge]
name = "priced"
task = "pairwise"

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
max_tokens = 50
{price}
"""


def first_is_better(messages, body):
    return "[[A]]"


@pytest.fixture
def server():
    with wire_server(first_is_better) as running:
        yield running


def wired(project, server, price="price_usd_per_mtok = { input = 100.0, output = 100.0 }"):
    project.write("judge.toml", JUDGE.format(url=server.url, price=price))
    return "judge.toml"


def test_no_more_is_spent_than_allowed(project, server):
    """The cap holds before a call is made, by the most that it can cost."""
    judge = wired(project, server)

    result = project.run("--calm-max-usd=0.5", "--calm-results=results.json", judge=judge)

    assert result.ret == 1
    assert 0 < project.results()["run"]["usd"] <= 0.5
    codes = [f["reason_code"]["details"][1] for f in project.results()["findings"]]
    assert codes == [{"kind": "capped", "details": ["--calm-max-usd 0.5"]}] * 2


def test_a_cap_for_a_model_without_a_price_is_an_error_before_any_call(project, server, workers):
    """What has no price cannot be capped: exit status 4, and nothing was asked."""
    judge = wired(project, server, price="")

    result = project.run("--calm-max-usd=5", *workers, judge=judge)

    assert result.ret == 4
    assert "no price is known for the model 'tiny'" in f"{result.stdout}{result.stderr}"
    assert server.seen == []


def test_the_ini_setting_does_the_same(project, server):
    """`calm_max_usd` in the ini file is the cap."""
    project.ini(max_usd="0.5")

    project.run("--calm-results=results.json", judge=wired(project, server))

    assert json.dumps(project.outcomes()).count("INCOMPLETE") == 2


def test_a_callable_costs_nothing(project):
    """A cap in dollars does not stop a judge that has no price at all."""
    assert project.run("--calm-max-usd=0.01").ret == 0
