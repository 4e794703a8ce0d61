"""Ratings of several judges aligned without labels: `calm uda`."""

COMMANDS = {"uda": ("align the ratings of several judges, without labels", "calm.plugins.uda.command:register")}

PAGES = {"calm-uda-report": "calm.plugins.uda.page:render"}
