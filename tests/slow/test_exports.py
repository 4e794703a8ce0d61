"""
`calm report --to` against the other side: what is read back there is what the record holds.

`pytest tests/slow/test_exports.py` installs each tool into an environment of its own, which it keeps in the folder of
caches (`calm-lanes`, two gigabytes): a server of MLflow, a collector that decodes OTLP with the published protobuf, the
SDK of Langfuse, W&B, whose offline file is read with its own protobuf, and the plugins for Allure and pytest-html.
"""

import csv
import io
import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from calm.results.audit import write
from calm.results.reports.exports import exported
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import sample
from tests.servers.langfuse import langfuse_server
from tests.slow.apart import environment

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calm-lanes"
KEY = "key-of-a-test"


def python_of(name, *more):
    """Return the interpreter of an environment with calm's own packages, an extra and some more; it is kept."""
    extra = PROJECT["optional-dependencies"].get(name, [])
    variable, kept = f"CALM_TEST_{name.upper()}", CACHE / f"{name}-{sys.version_info[0]}{sys.version_info[1]}"
    if not os.environ.get(variable) and (kept / "done").exists():
        return kept / "bin" / "python"
    python = environment(variable, kept, *PROJECT["dependencies"], *extra, *more)
    if kept in python.parents:
        (kept / "done").touch()
    return python


@pytest.fixture
def folder(tmp_path):
    """A folder with the results of a run."""
    write(sample(), tmp_path / "results.json")
    return tmp_path


def run(python, folder, *words, **environment):
    """Run a program in a folder, with this calm."""
    known = {name: said for name, said in os.environ.items() if not name.startswith(("OTEL_", "MLFLOW_", "WANDB_"))}
    return subprocess.run(
        [str(python), *words],
        cwd=folder,
        env={**known, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def send(python, folder, target, **environment):
    """Send the results of the folder, and return how that ended."""
    done = run(python, folder, "-m", "calm", "report", "results.json", "--to", target, **environment)
    assert "Traceback" not in done.stderr
    return done


@contextmanager
def started(*words, **more):
    """Run a program while the block lasts."""
    with subprocess.Popen([*map(str, words)], text=True, **more) as process:
        try:
            yield process
        finally:
            process.terminate()


def rows_of(folder, audit=None):
    """Return what is told of a run, by name."""
    return {row.name: row for row in exported(audit or sample(), folder / "results.json").rows}


# OpenTelemetry


def test_a_collector_takes_an_event_for_each_result(folder):
    """With the names of the semantic conventions; sent again, each has the id that it had."""
    python = python_of("otel", "opentelemetry-proto")
    with started(python, ROOT / "tests/slow/otlp.py", stdout=subprocess.PIPE) as collector:
        where = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.stdout.readline().strip()}"}
        keyed = {**where, "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={KEY}"}
        assert [send(python, folder, "otel", **keyed).returncode for _ in range(2)] == [0, 0]
        wrong = send(python, folder, "otel", **{**where, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=key-of-another"})
        moved = send(
            python, folder, "otel", OTEL_EXPORTER_OTLP_ENDPOINT=f"{where['OTEL_EXPORTER_OTLP_ENDPOINT']}/moved"
        )
        write(replace(sample(), judge=replace(sample().judge, name="partial")), folder / "results.json")
        part = send(python, folder, "otel", **keyed)
        collector.terminate()
        came = [json.loads(line) for line in collector.stdout]
    write(sample(), folder / "results.json")

    assert (wrong.returncode, moved.returncode, part.returncode) == (4, 4, 4)
    assert "key-of-another" not in wrong.stderr
    sent = [one for one in came if one.get("resourceLogs")][:2]
    assert {one["path"] for one in came} == {"/v1/logs"}
    first, second = ([*events(one)] for one in sent)
    assert first == second
    rows = rows_of(folder)
    assert {event["gen_ai.evaluation.name"] for event in first} == set(rows)
    for event in first:
        row = rows[event["gen_ai.evaluation.name"]]
        assert event.get("gen_ai.evaluation.score.value") == row.value
        assert event["gen_ai.evaluation.score.label"] == row.label
        assert event["gen_ai.evaluation.explanation"] == row.sentence
        assert event["log.record.uid"] == row.id


def events(request):
    """Yield the attributes of the events of a request."""
    (logs,) = request["resourceLogs"]
    assert {"key": "service.name", "value": {"stringValue": "calm"}} in logs["resource"]["attributes"]
    for record in (record for scope in logs["scopeLogs"] for record in scope["logRecords"]):
        assert record["eventName"] == "gen_ai.evaluation.result"
        yield {one["key"]: next(iter(one["value"].values())) for one in record["attributes"]}


# MLflow


BACK = """
import json, sys
from mlflow import MlflowClient, artifacts
client = MlflowClient()
runs = client.search_runs([client.get_experiment_by_name("calm").experiment_id])
print(json.dumps([{
    "status": run.info.status, "metrics": run.data.metrics, "params": run.data.params, "tags": run.data.tags,
    "history": {name: len(client.get_metric_history(run.info.run_id, name)) for name in run.data.metrics},
    "files": sorted(one.path for one in client.list_artifacts(run.info.run_id)),
    "table": artifacts.load_text(f"runs:/{run.info.run_id}/findings.csv"),
    "page": artifacts.load_text(f"runs:/{run.info.run_id}/report.html")[:15],
} for run in runs]))
"""


def test_mlflow_gives_back_what_was_sent(folder, tmp_path_factory):
    """Metrics, parameters and files; the same file is one run, however often it is sent; hostile texts are taken."""
    python, serving = python_of("mlflow"), python_of("mlflow_server", "mlflow>=3")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = tmp_path_factory.mktemp("mlflow")
    words = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", port, "--workers", 1]
    words += ["--backend-store-uri", f"sqlite:///{place}/runs.db", "--artifacts-destination", place / "files"]
    uri = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}"}
    with started(serving, *words, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        awake(f"{uri['MLFLOW_TRACKING_URI']}/health")
        assert [send(python, folder, "mlflow", **uri).returncode for _ in range(2)] == [0, 0]
        (back,) = json.loads(run(python, folder, "-c", BACK, **uri).stdout)
        for text in (HOSTILE[0], HOSTILE[10], HOSTILE[21]):
            write(hostile_audit(text), folder / "results.json")
            assert send(python, folder, "mlflow", **uri).returncode == 0, text[:20]
    write(sample(), folder / "results.json")

    rows = rows_of(folder)
    assert back["status"] == "FINISHED"
    assert {name: back["metrics"].get(name) for name in rows} == {name: row.value for name, row in rows.items()}
    assert set(back["history"].values()) == {1}
    assert back["params"]["judge"] == sample().judge.name
    assert back["tags"]["calm.outcome"] == sample().outcome.value
    assert back["files"] == ["findings.csv", "report.html", "results.json", "results.texts.jsonl"]
    assert back["page"] == "<!DOCTYPE html>"
    assert [line["name"] for line in csv.DictReader(io.StringIO(back["table"]))] == [*rows]


def awake(url):
    """Return when a server answers."""
    for _ in range(600):
        try:
            if httpx2.get(url).is_success:
                return
        except httpx2.HTTPError:
            time.sleep(0.5)
    pytest.fail(f"{url} does not answer")


# Langfuse


READ = """
import json, os
from langfuse.api import LangfuseAPI
client = LangfuseAPI(base_url=os.environ["LANGFUSE_HOST"], username=os.environ["LANGFUSE_PUBLIC_KEY"],
                     password=os.environ["LANGFUSE_SECRET_KEY"])
assert [one.name for one in client.projects.get().data] == ["judges"]
print(json.dumps({one.name: one.value for one in client.scores.get_many(fields="details,subject").data}))
"""


def test_the_sdk_of_langfuse_reads_the_scores(folder):
    """The server on loopback is what its SDK takes for Langfuse, and its SDK reads all that was sent."""
    with langfuse_server() as server:
        keys = dict(zip(("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"), server.keys, strict=True))
        assert send(sys.executable, folder, "langfuse", LANGFUSE_HOST=server.url, **keys).returncode == 0
        done = run(python_of("langfuse", "langfuse>=5"), folder, "-c", READ, LANGFUSE_HOST=server.url, **keys)
    assert done.returncode == 0, done.stderr

    rows = rows_of(folder)
    labels = {f"{name}/outcome": row.label for name, row in rows.items()}
    assert json.loads(done.stdout) == {n: r.value for n, r in rows.items() if r.value is not None} | labels


# Weights & Biases


OFFLINE = """
import json, struct, sys
from wandb.proto import wandb_internal_pb2 as kinds
data, at, part, found = open(sys.argv[1], "rb").read(), 7, b"", []
while at + 7 <= len(data):
    if (left := 32768 - at % 32768) < 7:
        at += left
        continue
    _, size, kind = struct.unpack("<IHB", data[at : at + 7])
    part = data[at + 7 : at + 7 + size] if kind in (1, 2) else part + data[at + 7 : at + 7 + size]
    at += 7 + size
    if kind in (1, 4):
        record = kinds.Record()
        record.ParseFromString(part)
        found.append(record)
said = {"run": None, "summary": {}, "config": {}, "files": []}
for one in found:
    kind = one.WhichOneof("record_type")
    if kind == "run":
        said["run"] = one.run.run_id
        said["config"] |= {each.key: json.loads(each.value_json) for each in one.run.config.update}
    elif kind == "summary":
        said["summary"] |= {each.key: json.loads(each.value_json) for each in one.summary.update if each.key}
    elif kind == "artifact":
        said["files"] += [each.path for each in one.artifact.manifest.contents]
print(json.dumps(said))
"""


def test_the_offline_file_of_wandb_holds_the_run(folder):
    """Values, facts, a table and the report; sent twice, both files are of the same run."""
    python, offline = python_of("wandb"), {"WANDB_MODE": "offline"}
    assert [send(python, folder, "wandb", **offline).returncode for _ in range(2)] == [0, 0]

    files = sorted(folder.glob("wandb/offline-run-*/*.wandb"))
    first, second = (json.loads(run(python, folder, "-c", OFFLINE, str(file)).stdout) for file in files)
    rows = rows_of(folder)
    assert first["run"] == second["run"]
    for back in (first, second):
        summary = back["summary"]
        assert {n: summary.get(n) for n in rows} == {name: row.value for name, row in rows.items()}
        assert summary["outcome"] == sample().outcome.value
        assert back["config"]["judge"] == sample().judge.name
        assert {"findings.table.json", "report.html", "results.json"} <= set(back["files"])


def test_wandb_without_a_key_is_refused_and_asks_nobody(folder):
    """It does not wait for a person."""
    done = send(python_of("wandb"), folder, "wandb", HOME=str(folder), WANDB_API_KEY="")

    assert done.returncode == 4
    assert not [*folder.glob("wandb/*run-*")]


# Allure and pytest-html


def test_reports_of_other_plugins_name_suite_and_file(tmp_path):
    """For shipped suites, asked for as modules: Allure's suite and package, and the ids of pytest-html and JUnit."""
    python = python_of("plugins", "allure-pytest", "pytest-html")
    suites = ("calm.suites.test_position", "calm.suites.test_authority")
    options = ["--alluredir=allure", "--html=page.html", "--junit-xml=junit.xml", "-p", "no:cacheprovider"]

    asked = ["--calm-judge=planted:seed=7", "--calm-sample=10", "--calm-cache=off", *options]
    run(python, tmp_path, "-m", "pytest", "-p", "calm.pytest_plugin", "--pyargs", *suites, *asked)

    tests = [json.loads(file.read_text("utf-8")) for file in tmp_path.glob("allure/*-result.json")]
    labels = [{one["name"]: one["value"] for one in test["labels"] if "value" in one} for test in tests]
    files = {"test_position", "test_authority"}
    assert {(one["parentSuite"], one["suite"]) for one in labels} == {("calm.suites", name) for name in files}
    assert {one["package"] for one in labels} == {f"calm.suites.{name}" for name in files}
    page, junit = ((tmp_path / name).read_text("utf-8") for name in ("page.html", "junit.xml"))
    assert set(re.findall(r"calm/suites/(test_\w+)\.py::", page)) == files
    assert set(Counter(re.findall(r'classname="([^"]*)"', junit))) == {f"calm.suites.{name}" for name in files}
