"""A results file tells whether it is as calm wrote it, to every command that reads it."""

import json
import random
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from calm.commands.cli import main
from calm.errors import ConfigError
from calm.results.audit import read, write
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, sample


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.json"
    write(sample(), path)
    return path


def changed(path, change):
    body = json.loads(path.read_text("utf-8"))
    change(body)
    path.write_text(json.dumps(body), "utf-8")


def test_what_calm_wrote_is_read(tmp_path, subtests):
    """Records of all kinds, with any text in them, are as their digest says."""
    for number, audit in enumerate([empty(), sample(), *(hostile_audit(text) for text in HOSTILE if len(text) < 1000)]):
        with subtests.test(number):
            write(audit, tmp_path / "results.json")

            assert read(tmp_path / "results.json").findings == audit.findings


def test_the_digest_is_that_of_the_canonical_json(results):
    """Another program finds the same one with a line of code."""
    body = json.loads(results.read_text("utf-8"))
    said = body["run"].pop("digest")

    assert said == sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def test_another_layout_of_the_same_record_is_read(results):
    """Spaces, the order of keys and escapes are no contents."""
    body = json.loads(results.read_text("utf-8"))
    results.write_text(json.dumps(dict(reversed(body.items())), indent=3, ensure_ascii=False), "utf-8")

    assert read(results) == read(results)


def a_verdict(body):
    next(f for f in body["findings"] if f["outcome"] == "FAIL")["outcome"] = "PASS"


def a_limit(body):
    next(f["claim"] for f in body["findings"] if f["claim"])["limit"] = 0.99


def a_row(body):
    next(f["trials"] for f in body["findings"] if f["trials"]).pop()


CHANGES = {
    "a verdict": a_verdict,
    "a limit": a_limit,
    "a row": a_row,
    "a finding": lambda body: body["findings"].pop(),
    "the order of findings": lambda body: body["findings"].reverse(),
    "the judge": lambda body: body["judge"].update(name="another"),
    "the cost": lambda body: body["run"].update(usd=0.01),
    "the digest": lambda body: body["run"].update(digest="0" * 64),
    "no digest": lambda body: body["run"].pop("digest"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_record_is_refused_by_every_command(change, results, tmp_path, capsys):
    """`report`, `compare` and `accept` say which file was changed and what to do, and write nothing."""
    good = tmp_path / "good.json"
    good.write_bytes(results.read_bytes())
    changed(results, CHANGES[change])
    for command in (
        ["report", str(results), "-o", str(tmp_path / "out.html")],
        ["compare", str(good), str(results)],
        ["compare", str(results), str(good)],
        ["accept", str(results), "-o", str(tmp_path / "out.json")],
    ):
        status = main(command)
        said = capsys.readouterr().err

        assert status != 0, command
        assert f"{results}: expected" in said
        assert "restore it or run the suite again" in said
        assert "Traceback" not in said
    assert not list(tmp_path.glob("out.*"))


def test_damage_anywhere_is_found(results):
    """A byte that is another one is never read as if nothing had happened, unless it stands between the values."""
    whole = results.read_bytes()
    before = read(results)
    rng = random.Random(7)
    missed = 0
    for _ in range(300):
        at = rng.randrange(len(whole))
        results.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(7)]) + whole[at + 1 :])
        try:
            missed += read(results) != before
        except ConfigError:
            continue
    assert missed == 0


def test_an_older_record_without_a_digest_is_read(results):
    """Records of calm-results/1 never had one."""
    changed(results, lambda body: (body.update(schema="calm-results/1"), body["run"].pop("digest")))

    assert read(results).findings


def test_the_script_of_the_reference_gives_an_edited_file_its_digest(results, tmp_path):
    """Who edits a file on purpose finds in the reference how to say so."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "results.md").read_text("utf-8")
    script = re.search(r"`digest\.py`.*?```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "digest.py").write_text(script[1])
    changed(results, a_verdict)
    subprocess.run([sys.executable, tmp_path / "digest.py", results], check=True)

    assert read(results).findings
