"""
What pyproject.toml cannot say.

Three packages stand beside `calm`, and a release holds them inside. `SOURCE_URL`, the address of the repository, makes
the links of the package's page absolute: `SOURCE_URL=https://host/owner/repository python -m build`.
"""

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

BESIDE = {"calm.perturbations": "perturbations", "calm.suites": "suites", "calm.results.reports": "reports"}
LINK = re.compile(r"(!?\[[^\]]*\]\()(?!\w+:|#)")
"""What opens a link to a file of the repository."""

version = re.search(r'^__version__ = "(.+)"$', Path("calm/__init__.py").read_text("utf-8"), re.MULTILINE)[1]
page, addresses = Path("README.md").read_text("utf-8"), {}
if url := os.environ.get("SOURCE_URL", "").rstrip("/"):
    files = f"{url}/blob/v{version}"
    page = LINK.sub(lambda link: link[1] + (f"{url}/raw/v{version}/" if link[1][0] == "!" else f"{files}/"), page)
    addresses = {"Source": url, "Documentation": f"{files}/docs/README.md", "Changelog": f"{files}/CHANGELOG.md"}
inside = [
    ".".join((package, *found.parent.relative_to(folder).parts))
    for package, folder in BESIDE.items()
    for found in sorted(Path(folder).rglob("__init__.py"))
]
with TemporaryDirectory() as scratch:  # no build finds what another one left
    setup(
        version=version,
        long_description=page,
        long_description_content_type="text/markdown",
        project_urls=addresses,
        packages=[*find_packages(include=["calm", "calm.*"]), *inside],
        package_dir=BESIDE,
        py_modules=["calm_judge"],
        package_data={"": ["py.typed", "*.csv", "*.jsonl", "data/**", "templates/**"]},
        options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}},
    )
