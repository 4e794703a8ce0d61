"""What pyproject.toml cannot say: three packages stand beside `calm`, and a release holds them inside."""

from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

BESIDE = {"calm.perturbations": "perturbations", "calm.suites": "suites", "calm.results.reports": "reports"}
inside = [
    ".".join((package, *found.parent.relative_to(folder).parts))
    for package, folder in BESIDE.items()
    for found in sorted(Path(folder).rglob("__init__.py"))
]

with TemporaryDirectory() as scratch:  # no build finds what another one left
    setup(
        packages=[*find_packages(include=["calm", "calm.*"]), *inside],
        package_dir=BESIDE,
        package_data={"": ["py.typed", "*.csv", "*.jsonl", "data/**", "templates/**"]},
        options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}},
    )
