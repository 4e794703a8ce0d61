"""
The wheel, the source release and an editable install, on each Python from 3.11 that is found here.

    pytest -s tests/slow/test_install.py                        prints seconds, packages and MB of each install
    CALM_TEST_DIST=dist pytest tests/slow/test_install.py       the files of a release that is already built

Each install is made without a cache of packages, in an environment, a home and a folder of its own, and the README's
commands are run as they stand there.
"""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
FIRST, TESTS = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
INSTALLED = """
import json
from importlib.metadata import distributions
from pathlib import Path
every = {one.name: one for one in distributions() if one.name not in ("pip", "setuptools")}
paths = {Path(one.locate_file(file)) for one in every.values() for file in one.files or () if file.suffix != ".pyc"}
print(len(every) - 1, sum(path.stat().st_size for path in paths if path.is_file()) / 1e6)
"""
"""Prints how many packages calm brought, and the MB of all files."""


def pythons():
    """Return the Pythons that are here, by their versions: one of each minor release."""
    places = [*os.environ["PATH"].split(os.pathsep), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    found = {}
    for minor in range(11, 15):
        for place in places:
            python = Path(place, f"python3.{minor}")
            run = [python, "-c", "import sys, venv, ensurepip; print(sys.base_prefix == sys.prefix)"]
            if python.is_file() and "shims" not in place:
                done = subprocess.run(run, capture_output=True, text=True, check=False)
                if done.stdout == "True\n":
                    found.setdefault(f"3.{minor}", python)
    return found


PYTHONS = pythons()
ENDS = list(dict.fromkeys([next(iter(PYTHONS)), [*PYTHONS][-1]]))
"""The oldest Python and the newest one."""


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """The wheel and the source release of what is committed here."""
    if built := os.environ.get("CALM_TEST_DIST"):
        folder = Path(built).absolute()
    else:
        base = tmp_path_factory.mktemp("dist")
        folder, clone = base / "out", base / "clone"
        run(["git", "clone", "--quiet", str(ROOT), str(clone)], base)
        run([sys.executable, "-m", "build", "--no-isolation", f"--outdir={folder}", str(clone)], base)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def run(command, folder, seconds=900, **env):
    """Run a command as a person does who has nothing but a home, and return what it prints."""
    (home := folder / "home").mkdir(exist_ok=True)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "CALM", "CI"))
    }
    kept |= {"HOME": str(home), "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", **env}
    done = subprocess.run(
        command if isinstance(command, list) else ["/bin/sh", "-c", command],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def first(python, folder):
    """Return a folder with nothing but a `python3`, to be first on the path, so that a README's command finds it."""
    place = folder / "bin"
    place.mkdir()
    (place / "python3").symlink_to(python)
    return f"{place}{os.pathsep}{os.environ['PATH']}"


def unpacked(archive, folder):
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return next(folder.glob("calm_judge-*"))


def weight(python, folder):
    packages, size = run([str(python), "-c", INSTALLED], folder).split()
    return f"{packages} packages, {float(size):.0f} MB"


@pytest.mark.parametrize("form", ["wheel", "sdist"])
@pytest.mark.parametrize("version", PYTHONS)
def test_a_release_works_where_nothing_else_is(version, form, dist, tmp_path):
    """It is installed alone, the gate runs on the default judge, and its demo too."""
    run([str(PYTHONS[version]), "-m", "venv", "env"], tmp_path)
    began = time.monotonic()
    run(["env/bin/pip", "install", "--quiet", str(dist[0 if form == "wheel" else 1])], tmp_path)
    took = time.monotonic() - began
    run("env/bin/pytest --pyargs calm.suites --calm-report=report.html -W error::pytest.PytestWarning", tmp_path)
    run("env/bin/calm demo", tmp_path)
    run("env/bin/pip check", tmp_path)

    assert (tmp_path / "report.html").stat().st_size > 10_000
    print(f"\nPython {version}, {form}: {took:.0f} s, {weight(tmp_path / 'env' / 'bin' / 'python', tmp_path)}")


@pytest.mark.parametrize("source", ["clone", "sdist"])
@pytest.mark.parametrize("version", PYTHONS)
def test_the_readmes_first_command_does_what_it_says(version, source, dist, tmp_path):
    """Word for word, in a clone and in the unpacked source release: an editable install, and a green gate."""
    if source == "clone":
        run(["git", "clone", "--quiet", str(ROOT), "calm"], tmp_path)
    place = tmp_path / "calm" if source == "clone" else unpacked(dist[1], tmp_path)
    began = time.monotonic()
    said = run(FIRST, place, PATH=first(PYTHONS[version], tmp_path))
    took = time.monotonic() - began

    assert "\nGREEN" in said
    assert "Warning" not in said
    assert (place / "report.html").stat().st_size > 10_000
    weighs = weight(place / ".venv" / "bin" / "python", place)
    print(f"\nPython {version}, {source}, editable: {took:.0f} s with the gate, {weighs}")


@pytest.mark.parametrize("version", ENDS)
def test_the_readmes_tests_pass_in_the_source_release(version, dist, tmp_path):
    """Word for word; what needs a git checkout is skipped there."""
    place = unpacked(dist[1], tmp_path)
    said = run(TESTS, place, seconds=5400, PATH=first(PYTHONS[version], tmp_path))

    print(f"\nPython {version}: {said.splitlines()[-1]}")


@pytest.mark.parametrize(
    "command",
    [
        "tools/bin/uvx --python {python} --from {wheel} calm --version",
        "tools/bin/uvx --python {python} --from {wheel} calm demo",
        "tools/bin/pipx run --python {python} --spec {wheel} calm --version",
        "tools/bin/pipx install --quiet --python {python} {wheel} && home/.local/bin/calm demo",
    ],
)
def test_tools_that_make_an_environment_start_it(command, dist, tmp_path):
    """The commands of the page about CI and of the tutorial, on the newest Python."""
    python = PYTHONS[ENDS[-1]]
    run([str(python), "-m", "venv", "tools"], tmp_path)
    run(["tools/bin/pip", "install", "--quiet", "uv", "pipx"], tmp_path)

    assert run(command.format(python=python, wheel=shlex.quote(str(dist[0]))), tmp_path)


def test_there_is_an_oldest_and_a_newer_python():
    """Else this lane says little."""
    assert len(ENDS) == 2, f"expected two releases of Python, found {[*PYTHONS]}"
