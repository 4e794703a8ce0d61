"""
A whole audit of a judge of another tool beside one of the same judge written by hand: every finding must be the same.

The judge by hand is a module that a user could have written. It posts the request by itself, with the texts of the case
in it, and reads the reply by itself: neither the tool nor calm's adapter takes part.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from calm.plugins.adapters.judge import adapted
from tests.servers.biased import cases_of, written

ROOT = Path(__file__).parents[3]
PATHS = {"openai": "/chat/completions", "openai-responses": "/responses"}
BY_HAND = '''
"""A judge that posts its request by itself."""

import json
from math import exp
from pathlib import Path
from urllib.request import Request, urlopen

from calm import Refused, Scale

SENT = json.loads(Path("sent.json").read_text())


READ


def judge(case):
    if REFUSES and not case.answers[0].text.strip():
        return Refused("it judges no empty answer")
    body = json.dumps(SENT["body"])
    shown = {"question": case.question, "answer": case.answers[0].text}
    if "reference" in SENT["texts"]:
        shown["reference"] = case.reference
    for part, text in SENT["texts"].items():
        body = body.replace(text, json.dumps(shown[part])[1:-1])
    headers = {"content-type": "application/json", "authorization": "Bearer key-for-a-test-1"}
    with urlopen(Request(SENT["url"], body.encode(), headers)) as reply:
        return read(json.load(reply))


judge.task, judge.reads, judge.scale = "score", tuple(SENT["reads"]), Scale(*SENT["scale"])
'''
NAMES_THE_JUDGE = ("commands", "hunt")
"""Parts of a finding that hold commands, with the name of the judge in them."""
UNSEEN = ("not-shown", "not-read")
"""What an edit changes is not shown to the judge; of code that is a judge it says how it would be."""


def findings(folder, spec, *, count=16):
    """Run a whole audit of a judge, and return its findings by key."""
    if not (folder / "cases.jsonl").exists():
        written(folder / "cases.jsonl", cases_of(count))
    out = spec.partition(":")[0]
    command = [sys.executable, "-m", "calm", "audit", spec, "--cases", "cases.jsonl", "--out", out]
    done = subprocess.run(
        [*command, "--", "--calm-cache=off", "-n", "0"],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stdout + done.stderr
    results = json.loads((folder / out / "results.json").read_text())
    assert (folder / out / "report.html").stat().st_size > 0
    kept = {}
    for one in results["findings"]:
        assert one["key"] not in kept
        kept[one["key"]] = {name: value for name, value in one.items() if name not in NAMES_THE_JUDGE}
        if one.get("reason_code", {}).get("kind") in UNSEEN:
            kept[one["key"]].update(reason_code=UNSEEN, reason="")
        if one["bias"] == "self-authorship":  # of an adapter's judge calm knows the model, which these edits name
            kept[one["key"]]["trials"] = [{**row, "hash": ""} for row in one["trials"]]
    return kept


def by_hand(folder, spec, read, *, refuses=False):
    """Write the same judge as a module of a user, from the request that the tool's judge sends about a sample."""
    judge = adapted(spec)
    sample, (sent,) = judge.evaluator.sample(), judge.dry.requests
    texts = {"question": sample.question, "answer": sample.answers[0].text}
    if "reference" in judge.evaluator.reads:
        texts["reference"] = sample.reference
    body = json.dumps(dict(sent.body))
    assert all(body.count(text) == 1 for text in texts.values())
    (folder / "sent.json").write_text(
        json.dumps(
            {
                "url": sent.endpoint.url + PATHS[sent.endpoint.provider],
                "body": dict(sent.body),
                "texts": texts,
                "reads": judge.evaluator.reads,
                "scale": [judge.scale.low, judge.scale.high, judge.scale.step],
            }
        )
    )
    (folder / "by_hand.py").write_text(BY_HAND.replace("READ", read.strip()).replace("REFUSES", str(refuses)))
    return "by_hand:judge"


def both(folder, spec, read, *, refuses=False):
    """Return the findings of a tool's judge and those of the same judge by hand; some failed, and some passed."""
    twin = by_hand(folder, spec, read, refuses=refuses)
    theirs, ours = findings(folder, spec), findings(folder, twin)
    outcomes = {one["outcome"] for one in theirs.values()}
    assert {"FAIL", "PASS"} <= outcomes, outcomes
    return theirs, ours
