"""Calls by the batch API of a provider: `--batch` and `calm batch`."""

COMMANDS = {"batch": ("show, collect or cancel batches of a run", "calm.plugins.batches.command:register")}

HOOKS = {
    "batches.api": "calm.plugins.batches.api",
    "batches.desk": "calm.plugins.batches.desk:BatchDesk",
    "batches.records": "calm.plugins.batches.records:BatchRecords",
    "batches.route": "calm.plugins.batches.route:BatchRoute",
}
