"""Calls by the batch API of a provider: `--batch` and `calm batch`."""

COMMANDS = {"batch": ("show, collect or cancel batches of a run", "calm.plugins.batches.command:register")}

HOOKS = {
    "batches.api": "calm.plugins.batches.api",
    "batches.batcher": "calm.plugins.batches.batcher:Batcher",
    "batches.records": "calm.plugins.batches.records:BatchRecords",
}
