"""Tools that a run is sent to: `calm report RESULTS --to TARGET`."""

EXPORTS = {
    "otel": "calm.results.reports.targets:OTEL",
    "mlflow": "calm.results.reports.targets:MLFLOW",
    "langfuse": "calm.results.reports.targets:LANGFUSE",
    "wandb": "calm.results.reports.targets:WANDB",
}
