"""Builds that all tests of packaging share, and environments with an installed copy of wheel and source release."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from venv import EnvBuilder

import pytest
from setuptools import build_meta

ROOT = Path(__file__).parents[2]
TRACKED = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
OURS = ("calm", "calm_judge", "_editable_impl_calm_judge", "__editable__.calm")


@dataclass(frozen=True)
class Built:
    """The files of a release, and the names in each."""

    wheel: Path
    sdist: Path | None

    def in_wheel(self):
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.namelist()

    def in_sdist(self):
        with tarfile.open(self.sdist) as archive:
            return [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]

    def metadata(self):
        with zipfile.ZipFile(self.wheel) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            return archive.read(name).decode()


@dataclass(frozen=True)
class Installed:
    """An environment of its own that holds an installed copy of calm, and the libraries of this environment."""

    python: Path

    def pytest(self, folder, *options):
        """Run pytest as its console script does, on the installed copy and no other."""
        where = self.run("-P", "-c", "import calm; print(calm.__file__)", folder=folder).stdout.strip()
        assert where.startswith(str(self.python.parents[1])), where
        return self.run("-P", "-m", "pytest", *options, folder=folder)

    def run(self, *arguments, folder):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "CALM", "COV"))}
        command = [str(self.python), *arguments]
        return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=120)


def checked(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """A clean copy of what git holds."""
    source = tmp_path_factory.mktemp("source") / "calm"
    listed = subprocess.run(TRACKED, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout: what belongs to a release cannot be told")
    for name in filter(None, listed.stdout.decode().split("\0")):
        original, copy = ROOT / name, source / name
        if original.is_symlink() or original.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(original, copy, follow_symlinks=False)
    return source


@pytest.fixture(scope="session")
def wheel(source):
    """The wheel alone, made by the backend itself."""
    out = source.parent / "wheel"
    out.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(source)
        return Built(out / build_meta.build_wheel(str(out)), None)


@pytest.fixture(scope="session")
def built(source):
    """Wheel and sdist, both built as a release is."""
    out = source.parent / "dist"
    checked([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--sdist", f"--outdir={out}", str(source)])
    return Built(next(out.glob("*.whl")), next(out.glob("*.tar.gz")))


def environment(folder, distribution):
    """Make an environment that finds our libraries through links (but not this copy of calm), and install into it."""
    builder = EnvBuilder(with_pip=False, symlinks=True)
    builder.create(folder)
    python = Path(builder.ensure_directories(folder).env_exe)
    site = Path(checked([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    libraries = folder / "libraries"
    libraries.mkdir()
    for path in (Path(p) for p in sys.path if p.endswith("-packages")):
        for entry in path.iterdir():
            linked = libraries / entry.name
            ours = entry.name.partition("-")[0].removesuffix(".py") in OURS
            if not ours and entry.suffix != ".pth" and not linked.exists():
                linked.symlink_to(entry)
    (site / "libraries.pth").write_text(f"{libraries}\n")
    pip = [sys.executable, "-m", "pip", f"--python={python}", "--disable-pip-version-check", "install", "--quiet"]
    checked([*pip, "--no-deps", "--no-index", "--no-build-isolation", str(distribution)])
    return Installed(python)


@pytest.fixture(scope="session")
def from_wheel(built, tmp_path_factory):
    return environment(tmp_path_factory.mktemp("wheel") / "env", built.wheel)


@pytest.fixture(scope="session")
def from_sdist(built, tmp_path_factory):
    return environment(tmp_path_factory.mktemp("sdist") / "env", built.sdist)


@pytest.fixture(params=["from_wheel", "from_sdist"])
def installed(request):
    return request.getfixturevalue(request.param)
