"""Tools that a run is sent to: `calm report RESULTS --to TARGET`."""

EXPORTS = {
    "otel": "calm.plugins.exports.targets:OTEL",
    "mlflow": "calm.plugins.exports.targets:MLFLOW",
    "langfuse": "calm.plugins.exports.targets:LANGFUSE",
    "wandb": "calm.plugins.exports.targets:WANDB",
}
