"""Logs in which anything may stand anywhere: they are read, or refused in words, and never bring calm down."""

import json
import random

import pytest

from calm import ConfigError
from calm.cases.lines import line
from calm.cases.logs import Log, Wanted, gathered
from calm.judges.recorded.kept import recorded_toml, verdict_lines
from calm.judges.recorded.live import format_in, prompt_in
from calm.plugins.logs.opening import READERS
from tests.plugins.logs.test_logs import FILES, LOGS

JUNK = (
    *(None, 5, -1.5, True, "", "x", "{", "[1]", [], {}, [1, "a"], {"a": 1}, float("nan"), float("inf"), "\ud800"),
    *("~!tie", [[]], [None], {"role": "user"}, "\0", 10**30),
)
SEEDS = range(6)


def documents(tool):
    """Return what the files of a tool hold."""
    return [json.loads(text) for name in FILES[tool] for text in (LOGS / name).read_text("utf-8").splitlines() if text]


def changed(value, random_, share):
    """Return a value in which a share of all values, also within strings of JSON, is something else or gone."""
    if random_.random() < share:
        return random_.choice(JUNK)
    if isinstance(value, dict):
        return {key: changed(one, random_, share) for key, one in value.items() if random_.random() > share / 2}
    if isinstance(value, list):
        return [changed(one, random_, share) for one in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.dumps(changed(json.loads(value), random_, share))
        except ValueError:
            return value
    return value


@pytest.mark.parametrize("tool", [tool for tool in FILES if tool != "inspect"])
def test_a_log_in_which_anything_stands_is_read_or_refused_in_words(tool):
    """What is gathered can be written."""
    whole = documents(tool)
    for seed in SEEDS:
        random_ = random.Random(seed)
        log = Log(tool, ("log.json",))
        READERS[tool]([changed(one, random_, random_.choice((0.002, 0.01, 0.05))) for one in whole], log)
        for metric in {one.metric for one in log.judgments if one.who == "judge"}:
            try:
                found = gathered(log, Wanted(metric))
            except ConfigError:
                continue
            prompt_in(found), format_in(found)
            assert all(map(line, found.cases))
            assert all(verdict_lines(found))
            assert recorded_toml(found, "verdicts.jsonl", tool, "cases.jsonl")
