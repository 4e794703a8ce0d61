"""Every command that a report gives to its reader runs as it is, and asks about what it stands beside."""

import shlex
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from calm.cases import bundled
from calm.cases.lines import line
from calm.commands.cli import main
from calm.results.audit import read
from tests.inside import offered

JUDGE = "planted:authority=0.6,position=0.4,noise=0.03,seed=7"
SUITES = ("authority", "position", "sensitivity")
MOST = 12
"""So many cases of the page are asked about again, besides one for each edit."""
RUN = "import sys; from pathlib import Path; from calm.commands.audit import gate; gate({!r}, Path('out'), {!r}, {!r})"


class Commands(HTMLParser):
    """The commands of a page, as a browser would copy them, each with the id of its case if it has one."""

    def __init__(self, text):
        super().__init__()
        self.found, self.case, self.open = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "details":
            self.case = given.get("id", "")
        if given.get("class") == "again":
            self.open = True
        if tag == "code" and self.open:
            self.found.append([self.case, ""])

    def handle_endtag(self, tag):
        if tag == "code":
            self.open = False

    def handle_data(self, data):
        if self.open and self.found:
            self.found[-1][1] += data


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Audit a judge that is no file on cases of one's own, whose name has a blank."""
    folder = tmp_path_factory.mktemp("copied")
    cases = folder / "my cases.jsonl"
    cases.write_text("".join(f"{line(case)}\n" for case in bundled("pairwise")[:40]), "utf-8")
    options = ["--calm-cases=my cases.jsonl", "--calm-cache=off", "--calm-seed=3"]
    subprocess.run(
        [sys.executable, "-c", RUN.format(JUDGE, options, SUITES)],
        cwd=folder,
        check=False,
        timeout=300,
        stdout=subprocess.DEVNULL,
    )
    return folder


def test_every_copied_command_runs_and_asks_about_its_case(audited, monkeypatch, capsys):
    """Those that search or compare are asked for their plan: they take the judge, the cases and every name."""
    monkeypatch.chdir(audited)
    commands = Commands((audited / "out" / "report.html").read_text("utf-8")).found
    tried, planned, edits, placed = [], [], set(), 0

    for place, command in commands:
        name, *words = shlex.split(command)
        assert name == "calm"
        if words == ["mitigate", "--help"] or not offered(words[0]):
            continue
        assert JUDGE in words
        assert words[words.index("--cases") + 1] == "my cases.jsonl"
        given = dict(word.partition("=")[::2] for word in words if word.startswith("--"))
        if words[0] != "try":
            extra = words.index("--") if words[0] == "mitigate" else len(words)
            assert main([*words[:extra], "--plan", *words[extra:]]) == 0, command
            capsys.readouterr()
            planned.append(words[0])
        elif given.get("--edit") not in edits or len(tried) < MOST:
            edits.add(given.get("--edit"))
            assert main(words) == 0, command
            assert capsys.readouterr().out.startswith(f"case {given['--case']}: ")
            assert given["--case"] in (place or given["--case"])  # a card of the summary is in no case
            placed += bool(place)
            tried.append(command)

    assert len(edits) > 12
    assert len(tried) >= MOST
    assert placed > MOST // 2
    assert set(offered("hunt", "mitigate")) <= set(planned)


def test_a_row_is_shown_again_as_the_run_showed_it(audited, monkeypatch, capsys):
    """The prompt after the edit is the recorded one, to the letter: edit, seed and treated answer are all carried."""
    from calm.results.steps import again

    monkeypatch.chdir(audited)
    audit = read(audited / "out" / "results.json")
    kept = {(one.case, one.hash): one for one in audit.texts if one.perturbed}
    seen = {}
    for found in audit.findings:
        for row in found.trials:
            if (row.case, row.hash) in kept:
                seen.setdefault((found.bias, row.edit), (found, row))

    for found, row in seen.values():
        assert main(shlex.split(again(audit, found, row))[1:]) == 0
        said = capsys.readouterr().out
        texts = kept[row.case, row.hash]
        for message in texts.prompts[texts.perturbed[0][0].prompt]:
            assert "\n".join(f"   {line}" if line.strip() else line for line in message["text"].split("\n")) in said

    assert len(seen) > 12
