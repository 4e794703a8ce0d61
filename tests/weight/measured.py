"""
What a fixed run of the gate weighs: modules, calls of each function, and objects that live on, for each judgment.

    .venv/bin/python -m tests.weight.measured    # weigh anew, and write tests/weight/allowed.json

Two runs of one gate (`benchmarks/gate`), 200 and 2,000 judgments behind a server of this machine: what the second one
has more, for each judgment more, does not depend on the start of a run.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import distributions, packages_distributions, requires
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from tests.servers import wire_server

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("allowed.json")
GATE = ROOT / "benchmarks" / "gate" / "test_load.py"
CASES = (20, 200)
ASKS_A_CASE = 10
OTHERS = ("anyio", "hypothesispytest", "xdist", "xdist.looponfail", "platformdirs")
"""Plugins of an environment for development."""
JUDGE = """[judge]
name = "served"
task = "pairwise"
[model]
provider = "openai"
model = "a-model-of-nobody"
base_url = "{url}"
max_tokens = 64
"""


def weigh(folder, count, *first, gate=(str(GATE),), longer=0):
    """
    Return what a run on so many cases weighs.

    `first` are folders from which modules are taken before all others, `gate` is what pytest runs. Each answer gets so
    many characters `longer`; then calls are not counted.
    """
    generate = ["cases", "generate", "--task", "pairwise", "--count", str(count), "--seed", "1", "-o", "cases.jsonl"]
    subprocess.run(
        [sys.executable, "-m", "calm", *generate],
        cwd=folder,
        check=True,
        capture_output=True,
        env=environment(),
    )
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        for answer in row["answers"]:
            answer["text"] += f" {'It is so. ' * (longer // 10)}" if longer else ""
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    with wire_server(lambda turns, body: "The first one is right. [[A]]") as server:
        (folder / "judge.toml").write_text(JUDGE.format(url=server.url), "utf-8")
        weight = folder / "weight.json"
        plugins = [part for name in OTHERS for part in ("-p", f"no:{name}")]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}", *plugins),
                *("-p", "no:cacheprovider", "--import-mode=importlib", "-p", "tests.weight.weighing", *gate),
                *("--calm-judge=judge.toml", "--calm-cases=cases.jsonl", "--calm-cache-file=cache.sqlite"),
                *("--calm-results=results.json", "--calm-report=report.html"),
                *(f"--calm-sample={count}", "--calm-stopping=fixed", "--calm-repeats=2+2"),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=environment(*first)
            | {"WEIGHT": str(weight), "OPENAI_API_KEY": "none", "UNCOUNTED": "yes" if longer else ""},
        )
    assert weight.exists(), f"{done.stdout}{done.stderr}"
    return json.loads(weight.read_text("utf-8"))


def environment(*first):
    """Return the environment of a child."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*first, ROOT))), "PYTEST_ADDOPTS": ""}


def for_each(few, many):
    """Return by name how many of something a judgment more brings."""
    more = (CASES[1] - CASES[0]) * ASKS_A_CASE
    return {name: (many[name] - few.get(name, 0)) / more for name in many}


def measured(folder):
    """Return packages, modules, and calls and objects for each judgment."""
    weights = []
    for count in CASES:
        place = Path(folder) / str(count)
        place.mkdir()
        weights.append(weigh(place, count))
    few, many = weights
    return {
        "packages": many["packages"],
        "modules": many["modules"],
        "calls": for_each(few["calls"], many["calls"]),
        "objects": for_each(few["objects"], many["objects"]),
    }


def needed_by(packages):
    """Return the packages that others need: with a new release of one of these, another one may come."""
    of_package = packages_distributions()
    found, todo = set(), [one for name in packages for one in of_package.get(name, ())]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            needs = map(Requirement, requires(one) or ())
            here = [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
            todo += [name for name in here if any(d.name == name for d in distributions(name=name))]
    return {name for name, ones in of_package.items() if found & {*ones}}


def faults(found, allowed):
    """
    Yield what a run has that it may not have: a package or modules more, a function or objects on its hot path.

    A function may be called a quarter more often than when it was measured, and one more in ten judgments: how the
    replies of a server come together is chance. Their sum may grow by a twentieth.
    """
    for name in sorted({*found["packages"]} - {*allowed["packages"]} - needed_by(allowed["packages"])):
        yield f"the package {name} is loaded in a default run"
    if found["modules"] > allowed["modules"]:
        yield f"{found['modules']} modules of calm are loaded, {allowed['modules']} were measured"
    for kind, most in (("calls", 1.05), ("objects", 1.05)):
        known = allowed[kind]
        for name, count in sorted(found[kind].items()):
            if count > 1.25 * known.get(name, 0) + 0.1:
                yield f"{name}: {count:.2f} {kind} a judgment, {known.get(name, 0):.2f} were measured"
        whole, before = sum(found[kind].values()), sum(known.values())
        if whole > most * before:
            yield f"{whole:.0f} {kind} a judgment in all, {before:.0f} were measured"


def main():
    """Weigh, and write what is allowed from now on."""
    with TemporaryDirectory() as folder:
        found = measured(folder)
    kept = {
        kind: {name: round(count, 2) for name, count in sorted(found[kind].items()) if count > 0.05}
        for kind in ("calls", "objects")
    }
    ALLOWED.write_text(json.dumps(found | kept, indent=1) + "\n", "utf-8")
    print(f"{found['modules']} modules, {sum(found['calls'].values()):.0f} calls and ", end="")
    print(f"{sum(found['objects'].values()):.1f} objects a judgment")


if __name__ == "__main__":
    main()
