"""What a release stands on: bounds where more is relied on than promised, and a bill of materials made in the build."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from calm.core.releases import RELIED_ON, refuse_other_releases
from calm.errors import ConfigError
from tests.lanes import slow

ROOT = Path(__file__).parents[2]
JUDGE = """[judge]
name = "a"
task = "pairwise"
[model]
provider = "{}"
model = "m"
base_url = "http://127.0.0.1:9/v1"
transport = "sdk"
"""


def test_the_bounds_in_the_code_are_those_of_the_package():
    """pip and calm refuse the same releases: a bound that moves in one place moves in both."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    declared = {one.name: one.specifier for one in map(Requirement, needs)}

    for package, (least, below) in RELIED_ON.items():
        assert str(declared[package]) == f"<{below},>={least}", package


def installed_as(folder, **releases):
    """Return an environment in which packages say that they are of these releases."""
    for name, release in releases.items():
        info = folder / f"{name}-{release}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


@pytest.mark.parametrize(("provider", "package"), [("openai", "openai"), slow("anthropic", "anthropic")])
def test_a_new_major_of_an_sdk_is_refused_before_a_call(provider, package, tmp_path):
    """The message has the release, the range and the command, not an error from inside the SDK."""
    (tmp_path / "judge.toml").write_text(JUDGE.format(provider))
    env = installed_as(tmp_path, **{package: "9.1.0"})
    for command in (
        ["-m", "calm", "try", "judge.toml"],
        ["-m", "pytest", str(ROOT / "suites/test_authority.py"), "--calm-judge=judge.toml", "-p", "no:cacheprovider"],
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=100
        )
        said = done.stdout + done.stderr

        assert done.returncode == 4, said
        least, below = RELIED_ON[package]
        assert f"expected {package} >= {least} and < {below}, got 9.1.0" in said
        assert f'pip install "{package}>={least},<{below}"' in said
        assert "Traceback" not in said


def test_a_new_major_of_pytest_is_refused_where_calm_is_used(tmp_path):
    """Tests without calm run; the first use of calm says which pytest it needs."""
    (tmp_path / "test_plain.py").write_text("def test_plain():\n    pass\n")
    env = installed_as(tmp_path, pytest="10.0.0")
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    plain, used = (
        subprocess.run([*run, *more], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=100)
        for more in (["test_plain.py"], [str(ROOT / "suites/test_authority.py"), "--calm-judge=lexical"])
    )

    assert plain.returncode == 0, plain.stdout
    assert used.returncode == 4
    assert "expected pytest >= 8.2 and < 10, got 10.0.0" in used.stderr


def test_all_that_is_installed_here_fits():
    """What the tests run with is what the bounds allow."""
    refuse_other_releases(*RELIED_ON)


def test_a_release_outside_of_the_bounds_is_refused(tmp_path, monkeypatch, subtests):
    """Too old, a new major, its pre-release, none at all; the last release before the bound fits."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for release, fits in [("1.99.1", False), ("1.99.2", True), ("3.99.1", True), ("4.0.0rc1", False), ("4", False)]:
        with subtests.test(release):
            info = tmp_path / f"openai-{release}.dist-info"
            installed_as(tmp_path, openai=release)
            try:
                if fits:
                    refuse_other_releases("openai")
                else:
                    with pytest.raises(ConfigError, match=r"expected openai >= 1\.99\.2 and < 4, got"):
                        refuse_other_releases("openai")
            finally:
                (info / "METADATA").unlink()
                info.rmdir()


@pytest.fixture(scope="module")
def bill(built):
    command = [sys.executable, str(ROOT / "tools/sbom.py"), str(built.wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(Path(done.stdout.removeprefix("wrote ").strip()).read_text())


def test_the_bill_of_materials_names_what_the_wheel_needs(bill, built):
    """Each requirement is there in a release that fits it, with all that it needs, and no tool of development."""
    components = {one["name"].lower(): one for one in bill["components"]}
    needs = [Requirement(line.partition(": ")[2]) for line in built.metadata().splitlines() if "Requires-Dist" in line]

    for one in needs:
        if one.marker is None:
            assert one.specifier.contains(components[one.name]["version"]), one
    assert {"markupsafe", "httpcore2", "pydantic"} <= components.keys()
    assert components.keys().isdisjoint({"ruff", "mypy", "cyclonedx-bom", "playwright", "calm-judge"})
    assert all(one["purl"].startswith("pkg:pypi/") and one.get("licenses") is not None for one in components.values())


def test_the_bill_of_materials_is_cyclonedx(bill, built):
    """It is valid, tells who depends on whom without loose ends, and holds no date that changes with each build."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "calm-judge")
    assert bill["metadata"]["component"]["version"] in built.wheel.name
    refs = {one["bom-ref"] for one in bill["components"]}
    root, *others = bill["dependencies"]
    assert root["ref"] == bill["metadata"]["component"]["bom-ref"]
    assert {one["ref"] for one in others} == refs
    assert all(set(one.get("dependsOn", [])) <= refs for one in bill["dependencies"])
    assert "timestamp" not in bill["metadata"]
    assert "serialNumber" not in bill
