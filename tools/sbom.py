"""
Write the bill of materials of a wheel: what it needs, in the releases that this environment holds, as CycloneDX JSON.

    python -m build --no-isolation --outdir dist
    python tools/sbom.py dist/calm_judge-*.whl          # writes dist/calm_judge-VERSION.cdx.json

cyclonedx-py describes the environment; what the wheel does not need (tools of development) is left out. The file has no
date and no random number: the same environment gives the same file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from email.parser import HeaderParser
from email.policy import compat32
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def main(arguments: list[str]) -> int:
    """Write a bill beside each wheel."""
    if not arguments:
        print("usage: python tools/sbom.py WHEEL...", file=sys.stderr)
        return 2
    for name in arguments:
        print(f"wrote {write(Path(name))}")
    return 0


def write(wheel: Path) -> Path:
    """Write the bill of a wheel beside it, and return its path."""
    name, version, needs = _metadata(wheel)
    kept = needed(needs)
    bill = _environment()
    components = {canonicalize_name(one["name"]): one for one in bill["components"]}
    missing = sorted(kept - components.keys())
    if missing:
        raise SystemExit(f"{wheel}: expected all that it needs to be installed, got no {', '.join(missing)}")
    root = f"pkg:pypi/{name}@{version}"
    bill["metadata"]["component"] = {
        "type": "library",
        "bom-ref": root,
        "name": name,
        "version": version,
        "purl": root,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    bill["components"] = [one for key, one in sorted(components.items()) if key in kept]
    refs = {one["bom-ref"] for one in bill["components"]}
    direct = sorted(components[key]["bom-ref"] for key in {canonicalize_name(one.name) for one in _applying(needs, "")})
    bill["dependencies"] = [
        {"ref": root, "dependsOn": direct},
        *(
            {
                "ref": one["ref"],
                **({"dependsOn": on} if (on := [to for to in one.get("dependsOn", []) if to in refs]) else {}),
            }
            for one in bill["dependencies"]
            if one["ref"] in refs
        ),
    ]
    path = wheel.with_name(f"{name.replace('-', '_')}-{version}.cdx.json")
    path.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", "utf-8")
    return path


def needed(needs: list[str]) -> set[str]:
    """Return the packages that requirements lead to in this environment, by their canonical names."""
    found: set[tuple[str, str]] = set()
    waiting = _applying(needs, "")
    while waiting:
        one = waiting.pop()
        for extra in ("", *sorted(one.extras)):
            key = (canonicalize_name(one.name), extra)
            if key in found:
                continue
            found.add(key)
            try:
                further = requires(one.name) or []
            except PackageNotFoundError:
                continue
            waiting += _applying(further, extra)
    return {name for name, _ in found}


def _applying(needs: list[str], extra: str) -> list[Requirement]:
    """Return the requirements that hold here, without an extra or with one."""
    parsed = [Requirement(text) for text in needs]
    return [one for one in parsed if one.marker is None or one.marker.evaluate({"extra": extra})]


def _metadata(wheel: Path) -> tuple[str, str, list[str]]:
    with ZipFile(wheel) as archive:
        inside = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser(policy=compat32).parsestr(archive.read(inside).decode())
    return str(headers["Name"]), str(headers["Version"]), [str(one) for one in headers.get_all("Requires-Dist", [])]


def _environment() -> dict[str, Any]:
    dateless = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", sys.executable]
    done = subprocess.run(command, env=dateless, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"cyclonedx-py: expected a description of this environment, got {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
