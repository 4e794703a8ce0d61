"""A judge over time: `calm watch`."""

COMMANDS = {"watch": ("compare a judge with its own verdicts of earlier days", "calm.plugins.watch.command:register")}

PAGES = {"calm-watch": "calm.plugins.watch.report:page"}
