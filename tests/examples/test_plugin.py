"""Plug-ins of other packages: what they give is found by name, and a faulty one spoils nothing else."""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from calm import Answer
from calm.cases.lines import line
from calm.core import plugins
from tests.inside import calm_inside
from tests.planted import pair
from tests.servers import wire_server

HERE = Path(__file__).parent / "plugin"
HEAVY = ("numpy", "calm.plugins.search.hunt_command", "calm.plugins.uda.command", "calm_longer.command")
DECLARED = "COMMANDS = {{{!r}: ({!r}, 'x:y')}}\n"


@pytest.fixture
def packaged(tmp_path):
    """Return a function that installs a package, from what its pyproject.toml says, for `calm` to find."""
    (site := tmp_path / "site").mkdir()

    def install(name, points):
        info = site / f"{name.replace('-', '_')}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        said = "".join(f"{plugin} = {module}\n" for plugin, module in points.items())
        (info / "entry_points.txt").write_text(f"[calm.plugins]\n{said}")
        return site

    return install


def run(site, *words, cwd=None):
    """Run a command of calm in this process, with the packages of a folder beside the example."""
    plugins._read.cache_clear()
    try:
        with pytest.MonkeyPatch.context() as patch:
            for folder in (site, HERE):
                patch.syspath_prepend(folder)
            return calm_inside(cwd or site, *words, env={"COLUMNS": "120"})
    finally:
        plugins._read.cache_clear()


def run_code(site, code):
    """Run Python in a process of its own, with the same packages."""
    path = os.pathsep.join([str(HERE), str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)


def test_the_example_gives_a_command_a_study_a_page_and_a_format(packaged, tmp_path):
    """The help names the command; it runs on cases of its format, and `calm report` renders its record."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    site = packaged(project["name"], project["entry-points"]["calm.plugins"])
    (tmp_path / "pairs.txt").write_text("2 + 2?|4|It may well be five\nCapital of France?|Paris, on the Seine|Rome\n")

    assert re.search(r"\n  longer +count how often a judge takes the longer answer\n", run(site, "--help").stdout)
    done = run(site, "cases", "import", "pairs.txt", "--format", "pairs", "-o", "pairs.jsonl", cwd=tmp_path)
    assert "wrote pairs.jsonl: 2 cases, 2 with gold\n" in done.stdout, done.stderr
    done = run(site, "longer", "lexical", "--cases", "pairs.jsonl", cwd=tmp_path)
    assert "\nwrote longer.json\n" in done.stdout, done.stderr
    assert json.loads((tmp_path / "longer.json").read_text())["schema"] == "longer/1"
    done = run(site, "report", "longer.json", "-o", "longer.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a judge and long answers" in (tmp_path / "longer.html").read_text()


def test_a_plugin_that_cannot_be_imported_is_named_and_the_others_go_on(packaged, tmp_path):
    """The help says so in one line; another command does not mention it."""
    packaged("calm-longer", {"longer": "calm_longer"})
    site = packaged("broken-tool", {"broken": "no_such_module"})

    helped = run(site, "--help")
    assert helped.returncode == 0
    assert "\n  longer " in helped.stdout
    said = "the plug-in broken of the package broken-tool cannot be imported (ModuleNotFoundError: No module named"
    assert said in " ".join(helped.stdout.split())
    unknown = run(site, "brokn")
    assert unknown.returncode == 2
    assert said in " ".join(unknown.stderr.split())
    other = run(site, "longer", "--help")
    assert (other.returncode, other.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(0)\n", "cannot be imported (SystemExit: 0)"),
        ("COMMANDS = {'faulty': 'faulty_tool:register'}\n", "expected (help, 'module:attribute'), got 'faulty_tool:"),
        ("JUDGES = ['faulty']\n", "faulty_tool.JUDGES: expected a mapping, got ['faulty']"),
    ],
)
def test_a_faulty_plugin_ends_nothing_else(packaged, tmp_path, code, said):
    """Whatever its module does, the help names it in a line, and a run of the gate goes on to its end."""
    site = packaged("faulty-tool", {"faulty": "faulty_tool"})
    (site / "faulty_tool.py").write_text(code)

    helped = run(site, "--help")
    assert helped.returncode == 0
    assert said in " ".join(helped.stdout.split())
    done = run(site, "audit", "planted:position=0.9", "--sample", "8", "--plan", cwd=tmp_path)
    assert "calls" in done.stdout, done.stderr


def test_a_command_that_is_not_as_declared_names_its_package(packaged):
    """Its help may hold a per cent sign, and what registers another name is told as a fault of the package."""
    site = packaged("odd-tool", {"odd": "odd_tool"})
    (site / "odd_tool.py").write_text(
        "COMMANDS = {'odd': ('100 % odd', 'odd_tool:register')}\ndef register(verbs):\n    verbs.add_parser('even')\n"
    )

    assert re.search(r"\n  odd +100 % odd\n", run(site, "--help").stdout)
    done = run(site, "odd")
    assert (done.returncode, "Traceback" in done.stderr) == (4, False)
    assert "the plug-in odd of the package odd-tool registers no command 'odd'" in " ".join(done.stderr.split())


def test_a_part_that_cannot_be_imported_names_its_package(packaged):
    """The declarations can be read, and what they name cannot."""
    site = packaged("half-tool", {"half": "half"})
    (site / "half.py").write_text(DECLARED.format("half", "do half"))

    done = run(site, "half")

    assert done.returncode == 4
    assert "the plug-in half of the package half-tool cannot be imported (ModuleNotFoundError" in " ".join(
        done.stderr.split()
    )


def test_two_plugins_of_one_name_are_refused_where_it_is_used(packaged):
    """Neither wins: the message names both packages; other commands go on."""
    packaged("calm-longer", {"longer": "calm_longer"})
    for name in ("one", "other"):
        site = packaged(f"{name}-tool", {name: f"{name}_tool"})
        (site / f"{name}_tool.py").write_text(DECLARED.format("both", "do both"))

    done = run(site, "both")
    said = "two plug-ins give 'both' of COMMANDS: "

    assert done.returncode == 4
    assert said in " ".join(done.stderr.split())
    assert {"one-tool", "other-tool"} <= {word.strip(",;") for word in done.stderr.split()}
    assert said in " ".join(run(site, "--help").stdout.split())
    assert run(site, "longer", "--help").returncode == 0


def test_nothing_is_read_before_a_name_is_asked_for(packaged):
    """A command of the core reads no entry points, and a list of the commands imports none of them."""
    site = packaged("calm-longer", {"longer": "calm_longer"})
    seen = "import sys; from calm.commands.cli import main\ntry: main({!r})\nexcept SystemExit: pass\n"
    seen += "sys.stderr.write(' '.join(name for name in sys.modules if name.startswith({!r})))"

    assert run_code(site, seen.format(["--version"], "calm.plugins")).stderr == ""
    assert run_code(site, seen.format(["cache", "--help"], "calm.plugins")).stderr == ""
    listed = run_code(site, seen.format(["--help"], HEAVY))
    assert listed.stderr == ""
    assert "\n  longer " in listed.stdout


@pytest.fixture
def longer(packaged, tmp_path):
    """Return a function that runs `calm longer` in a folder with two cases."""
    site = packaged("calm-longer", {"longer": "calm_longer"})
    cases = [pair("one"), pair("two")]
    (tmp_path / "pairs.jsonl").write_text("".join(map(line, cases)))
    pairs = ("--cases", "pairs.jsonl")
    return lambda *words, cases=pairs: run(site, "longer", *words, *cases, cwd=tmp_path)


def test_a_study_of_a_dead_server_is_an_error(longer, tmp_path):
    """It says that nobody answers, and leaves no record."""
    with wire_server(lambda *_: "[[A]]") as server:
        (tmp_path / "dead.toml").write_text(judge_at(server.url))

    done = longer("dead.toml")

    assert done.returncode == 4, done.stdout
    assert "could not be reached" in " ".join(done.stderr.split())
    assert not (tmp_path / "longer.json").exists()


def test_a_study_counts_the_cases_without_a_reply(longer, tmp_path):
    """A cap leaves a case unasked: the command says which cap, and the status is not that of a whole run."""
    with wire_server(lambda *_: "[[A]]") as server:
        (tmp_path / "judge.toml").write_text(judge_at(server.url))
        done = longer("judge.toml", "--max-calls", "2")

    assert done.returncode == 1, done.stderr
    assert "no reply in 1 of 2 cases: a cap was reached: --max-calls 2; run the same command again" in done.stdout
    found = json.loads((tmp_path / "longer.json").read_text())
    assert (found["decided"], list(found["lost"].values())) == (1, [1])


def test_a_study_does_not_measure_position(longer, tmp_path):
    """Of a judge that takes the first answer, where the longer one is always first in the file."""
    cases = [
        replace(pair(f"c{n}"), answers=(Answer("good", "a long answer"), Answer("bad", "short"))) for n in range(20)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(map(line, cases)))
    with wire_server(lambda *_: "[[A]]") as server:
        (tmp_path / "judge.toml").write_text(judge_at(server.url))
        done = longer("judge.toml")

    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "longer.json").read_text())
    assert found["decided"] == 20
    assert 5 <= found["longer"] <= 15


def test_a_study_refuses_a_judge_of_other_verdicts(longer):
    """A score names no winner."""
    done = longer("lexical:task=score", cases=())

    assert done.returncode == 4
    assert "expected a judge of task pairwise, got task='score'" in " ".join(done.stderr.split())


@pytest.mark.parametrize("out", ["pairs.jsonl/x.json", ".", "pairs.jsonl"])
def test_an_output_that_cannot_be_written_is_refused_before_it_is_paid_for(longer, tmp_path, out):
    """A folder, a place below a file and an input of the run: one line, and no call."""
    with wire_server(lambda *_: "[[A]]") as server:
        (tmp_path / "judge.toml").write_text(judge_at(server.url))
        done = longer("judge.toml", "-o", out)

    assert done.returncode == 4
    assert "-o: expected a file" in done.stderr
    assert "Traceback" not in done.stderr
    assert not server.seen


def test_a_missing_folder_of_an_output_is_made(longer, tmp_path):
    """As for the outputs of calm."""
    done = longer("planted:noise=0.01", "-o", "nofolder/x.json")

    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "nofolder" / "x.json").read_text())["schema"] == "longer/1"


def judge_at(url):
    return (
        f'[judge]\nname = "far"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "tiny"\nbase_url = "{url}"\n'
    )
