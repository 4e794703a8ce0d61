"""
The tools that `calm report RESULTS --to TARGET` sends a run to: OpenTelemetry, MLflow, Langfuse, and Weights & Biases.

Each function checks its destination, and returns the function that sends a run there. Addresses and keys come from the
environment, by the names that the tools themselves use. What is sent twice replaces itself, or carries the same ids.

They are told a row for the gate and one for each finding, with names that any tool can hold (`rows`).
"""

from __future__ import annotations

import csv
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from calm.errors import ConfigError
from calm.models import secrets
from calm.models.secrets import on_guard
from calm.results.reports.exports import ExportedRun, Row, text
from calm.results.reports.tables import neutral

Send: TypeAlias = Callable[[ExportedRun, Sequence[Path]], str]
"""It sends a run with its files, and returns where it is found; the files matter only where a tool keeps files."""

TIMEOUT: Final = 20
"""Seconds that an answer may take."""
MOST_SCORES: Final = 100
"""Scores of Langfuse in one request, which may have a million bytes."""
MOST_METRICS: Final = 900
"""Metrics of MLflow in one request; it takes a thousand."""


@contextmanager
def _to(target: str, what: str, fix: str) -> Iterator[None]:
    """
    Do something at a target: its packages print nothing, and whatever they raise becomes a message with a fix.

    Raises:
        ConfigError: it failed.
    """
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    except ConfigError:
        raise
    except Exception as error:  # the packages of the targets raise whatever they like
        raise _fault(target, f"{what} failed: {type(error).__name__}: {error}", fix) from error


def _fault(target: str, what: str, fix: str) -> ConfigError:
    return ConfigError(f"--to {target}: {text(what).rstrip('. ')}. {fix}")


def _environment(target: str, **wanted: Sequence[str]) -> dict[str, str]:
    """
    Return values of the environment: for each name the first variable that is set.

    Raises:
        ConfigError: one is set by none of its variables.
    """
    on_guard()
    found = {name: next(filter(None, map(os.environ.get, given)), "") for name, given in wanted.items()}
    if lacking := [wanted[name][0] for name in wanted if not found[name]]:
        raise _fault(target, "the destination is not set", f"Set in the environment: {', '.join(lacking)}.")
    return {name: str(value) for name, value in found.items()}


def _package(name: str, target: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        from calm.core.releases import absent, install

        raise _fault(target, absent(name, error), f"Install it: {install(target)}") from error


# OpenTelemetry


def otel() -> Send:
    """
    Send each row as an event `gen_ai.evaluation.result`, all in one request over OTLP.

    An event cannot be replaced: its attribute `log.record.uid` is the same when it is sent again.
    """
    _environment("otel", address=("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"))
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"):
        secrets.keep(unquote(pair.partition("=")[2]) for pair in os.environ.get(name, "").split(","))
    http = _package("opentelemetry.exporter.otlp.proto.http._log_exporter", "otel")
    answers = _package("opentelemetry.proto.collector.logs.v1.logs_service_pb2", "otel")
    fix = "Check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS; the collector must take logs over HTTP."

    def export(events: Sequence[object]) -> None:
        said, replies = _Said(), []
        session = _package("requests", "otel").Session()
        session.hooks["response"].append(lambda reply, **_: replies.append(reply))
        session.max_redirects = 0  # a redirected request loses its events, or takes its keys to another host
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(said)
        before, logger.propagate = logger.propagate, False
        try:
            with _to("otel", "sending", fix):
                done = http.OTLPLogExporter(session=session).export(events)
        finally:
            logger.propagate = before
            logger.removeHandler(said)
        if done.name != "SUCCESS":
            last = replies[-1] if replies else None
            moved = f"it redirects to {last.headers['location']}" if last is not None and last.is_redirect else ""
            why = [moved] if moved else [*said.lines[-2:], "" if last is None else last.text]
            raise _fault("otel", f"the collector took nothing: {' '.join(why)}", fix)
        with _to("otel", "reading the answer of the collector", fix):
            part = answers.ExportLogsServiceResponse.FromString(replies[-1].content).partial_success
        if part.rejected_log_records:
            few = f"the collector refused {part.rejected_log_records} of {len(events)} events: {part.error_message}"
            raise _fault("otel", few, "Correct that there, and send them again.")

    export([])

    def send(sent: ExportedRun, files: Sequence[Path]) -> str:
        logs, api = _package("opentelemetry.sdk._logs", "otel"), _package("opentelemetry._logs", "otel")
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = _package("opentelemetry.sdk.resources", "otel").Resource.create(
            {} if named else {"service.name": "calm"}
        )
        scope = _package("opentelemetry.sdk.util.instrumentation", "otel").InstrumentationScope(
            "calm", sent.facts["version"]
        )
        at = int(sent.started.timestamp()) * 10**9
        with _to("otel", "making the events", "Install the newest packages of OpenTelemetry."):
            events = [
                logs.ReadableLogRecord(
                    api.LogRecord(
                        timestamp=at,
                        observed_timestamp=at,
                        severity_number=api.SeverityNumber.INFO,
                        event_name="gen_ai.evaluation.result",
                        attributes=_attributes(row, sent),
                    ),
                    resource,
                    scope,
                )
                for row in sent.rows
            ]
        export(events)
        return f"{len(events)} events gen_ai.evaluation.result; calm.run is {sent.id}"

    return send


class _Said(logging.Handler):
    """The lines that a package logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())


def _attributes(row: Row, sent: ExportedRun) -> dict[str, str | float]:
    shown = {
        "gen_ai.evaluation.name": row.name,
        "gen_ai.evaluation.score.value": row.value,
        "gen_ai.evaluation.score.label": row.label,
        "gen_ai.evaluation.explanation": row.sentence,
        "log.record.uid": row.id,
        "calm.run": str(sent.id),
        **{f"calm.{name}": said for name, said in sent.facts.items()},
        **{f"calm.{name}": said for name, said in _more(row).items()},
    }
    return {name: said for name, said in shown.items() if said not in (None, "")}


def _more(row: Row) -> dict[str, str | float]:
    return {name: said for name, said in row.plain().items() if name not in ("value", "label", "sentence")}


# MLflow


def mlflow() -> Send:
    """
    Send a run: a metric for each value and its bounds, the facts as parameters, and the files as artifacts.

    The same file is always the same run of the experiment: when it is sent again, that run is written again.
    """
    uri = _environment("mlflow", uri=("MLFLOW_TRACKING_URI",))["uri"]
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "calm"
    for variable, most in (("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2"), ("MLFLOW_HTTP_REQUEST_TIMEOUT", str(TIMEOUT))):
        os.environ.setdefault(variable, most)
    package = _package("mlflow", "mlflow")
    entities = _package("mlflow.entities", "mlflow")
    fix = "Check that the server at MLFLOW_TRACKING_URI runs and takes your credentials."
    with _to("mlflow", "asking the server for its experiments", fix):
        client = package.MlflowClient(tracking_uri=uri)
        experiment = client.get_experiment_by_name(name)
        if experiment is not None and experiment.lifecycle_stage != "active":
            deleted = f"the experiment {name!r} was deleted"
            raise _fault("mlflow", deleted, "Restore it, or set MLFLOW_EXPERIMENT_NAME to another one.")

    def send(sent: ExportedRun, files: Sequence[Path]) -> str:
        at = int(sent.started.timestamp()) * 1000
        tags = {"calm.run": str(sent.id), "calm.outcome": sent.rows[0].label, "calm.headline": sent.rows[0].sentence}
        metrics = [
            entities.Metric(f"{row.name}{part}", value, at, 0)
            for row in sent.rows
            for part, value in (("", row.value), (".low", row.low), (".high", row.high))
            if value is not None
        ]
        with _to("mlflow", "making the run", fix):
            home = client.create_experiment(name) if experiment is None else experiment.experiment_id
            known = client.search_runs([home], f"tags.`calm.run` = '{sent.id}'", max_results=1)
            run = known[0] if known else client.create_run(home, at, tags, run_name=sent.facts.get("judge", "judge"))
        run_id = run.info.run_id
        try:
            with _to(
                "mlflow", "sending", f"The run {run_id} is not whole. {fix} Then send it again: it completes the run."
            ):
                client.log_batch(
                    run_id,
                    params=[entities.Param(key, said) for key, said in sent.facts.items()],
                    tags=[entities.RunTag(key, said) for key, said in tags.items()],
                )
                for first in range(0, len(metrics), MOST_METRICS):
                    client.log_batch(run_id, metrics=metrics[first : first + MOST_METRICS])
                client.log_text(run_id, _csv(sent.rows), "findings.csv")
                for file in files:
                    client.log_artifact(run_id, str(file))
                client.set_terminated(run_id, "FINISHED")
        except ConfigError:
            with suppress(ConfigError), _to("mlflow", "ending the run", fix):
                client.set_terminated(run_id, "FAILED")
            raise
        return f"experiment {text(name)}, run {run_id}: {len(metrics)} metrics, {len(files) + 1} artifacts"

    return send


def _csv(rows: Sequence[Row]) -> str:
    written = StringIO()
    table = csv.DictWriter(written, [field.name for field in fields(Row)], lineterminator="\n")
    table.writeheader()
    table.writerows(
        {name: neutral(cell) if isinstance(cell, str) else cell for name, cell in asdict(row).items()} for row in rows
    )
    return written.getvalue()


# Langfuse


def langfuse() -> Send:
    """
    Send scores: of each row its value as a number, and its outcome as a category, all of one session.

    Ids and times are those of the run, so what is sent again replaces itself.
    """
    import httpx2

    given = _environment(
        "langfuse",
        public=("LANGFUSE_PUBLIC_KEY",),
        secret=("LANGFUSE_SECRET_KEY",),
        host=("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
    )
    secrets.keep([given["public"], given["secret"]])
    fix = "Check LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY; calm needs Langfuse 4.59 or newer."

    def ask(method: str, path: str, content: bytes | None = None) -> tuple[int, Any]:
        with _to("langfuse", f"{method} {path}", fix):
            reply = httpx2.request(
                method,
                f"{given['host'].rstrip('/')}{path}",
                content=content,
                headers={"Content-Type": "application/json"},
                auth=(given["public"], given["secret"]),
                timeout=TIMEOUT,
            )
        said = f"the server answered {method} {path} with status {reply.status_code}"
        if not reply.is_success:
            raise _fault("langfuse", f"{said}: {reply.text}", fix)
        try:
            return reply.status_code, reply.json()
        except ValueError as error:
            raise _fault("langfuse", f"{said} and no JSON: {reply.text}", fix) from error

    _, projects = ask("GET", "/api/public/projects")
    if not isinstance(projects, dict) or not isinstance(projects.get("data"), list):
        raise _fault("langfuse", f"expected the projects of a Langfuse server, got {projects!r}", fix)

    def send(sent: ExportedRun, files: Sequence[Path]) -> str:
        scores = [score for row in sent.rows for score in _scores(row, sent)]
        for first in range(0, len(scores), MOST_SCORES):
            some = scores[first : first + MOST_SCORES]
            left = f"{first} of {len(scores)} scores were sent; send the run again, and they are replaced. {fix}"
            try:
                status, reply = ask("POST", "/api/public/scores", json.dumps(some, ensure_ascii=False).encode())
            except ConfigError as error:
                raise ConfigError(f"{error} {left}") from error
            if status != ACCEPTED and not (isinstance(reply, dict) and reply.get("rejected") == 0):
                raise _fault("langfuse", f"the server refused scores: {reply!r}", left)
        return f"{len(scores)} scores of the session calm-{sent.id}"

    return send


ACCEPTED: Final = 202
"""The status by which Langfuse takes all scores of a request."""


def _scores(row: Row, sent: ExportedRun) -> Iterator[Mapping[str, object]]:
    shared = {
        "sessionId": f"calm-{sent.id}",
        "timestamp": sent.started.isoformat(),
        "comment": row.sentence,
        "metadata": {**sent.facts, **_more(row)},
    }
    yield {
        **shared,
        "id": f"{row.id}-outcome",
        "name": f"{row.name}/outcome",
        "value": row.label,
        "dataType": "CATEGORICAL",
    }
    if row.value is not None:
        yield {**shared, "id": row.id, "name": row.name, "value": row.value, "dataType": "NUMERIC"}


# Weights & Biases


def wandb() -> Send:
    """
    Send a run: its values as summary metrics, the findings as a table, and the files as an artifact.

    The id of the run is that of its file: when it is sent again, the same run is continued with the same values. With
    WANDB_MODE=offline it is written below ./wandb, and `wandb sync` sends it later.
    """
    on_guard()
    mode = os.environ.get("WANDB_MODE", "online")
    if mode not in ("online", "offline"):
        raise _fault("wandb", f"nothing is sent with WANDB_MODE={mode}", "Set it to online or offline.")
    package = _package("wandb", "wandb")
    fix = "Set WANDB_API_KEY and, for a server of your own, WANDB_BASE_URL; or set WANDB_MODE=offline and sync later."
    if mode == "online":
        with _to("wandb", "signing in", fix):
            signed = package.login(prompt=False, verify=True)
        if not signed:
            raise _fault("wandb", "no key was found", fix)

    def send(sent: ExportedRun, files: Sequence[Path]) -> str:
        plain = {"silent": True, "console": "off", "save_code": False, "disable_git": True, "disable_code": True}
        apart = {"x_disable_machine_info": True, "x_disable_stats": True, "x_save_requirements": False}
        names = [field.name for field in fields(Row)]
        again = f"The run may not be whole. {fix} Then send it again: it completes the run."
        with (
            _to("wandb", "sending", again),
            package.init(
                project=os.environ.get("WANDB_PROJECT") or "calm",
                id=f"calm-{sent.id.hex}",
                resume="allow",
                name=sent.facts.get("judge", "judge"),
                config=sent.facts,
                mode=mode,
                settings=package.Settings(**plain, **apart, init_timeout=3 * TIMEOUT),
            ) as run,
        ):
            run.summary.update({row.name: row.value for row in sent.rows if row.value is not None})
            run.summary.update({"outcome": sent.rows[0].label, "headline": sent.rows[0].sentence})
            run.log({"findings": package.Table(names, [[*asdict(row).values()] for row in sent.rows])})
            artifact = package.Artifact(f"calm-{sent.id.hex}", "report")
            for file in files:
                artifact.add_file(str(file))
            kept = run.log_artifact(artifact)
            if mode == "online":
                kept.wait()
            where = run.dir if mode == "offline" else run.url
        if mode == "offline":
            return f"offline run calm-{sent.id.hex}; send it with: wandb sync {Path(where).parent}"
        return f"run {text(where)}"

    return send


@dataclass(frozen=True, slots=True)
class Target:
    """A tool: `open` checks it and returns what sends a run; one that keeps files gets the report and the record."""

    open: Callable[[], Send]
    keeps_files: bool = False


OTEL, LANGFUSE = Target(otel), Target(langfuse)
MLFLOW, WANDB = Target(mlflow, keeps_files=True), Target(wandb, keeps_files=True)
