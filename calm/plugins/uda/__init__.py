"""Ratings of several judges aligned without labels: `calm uda`."""

COMMANDS = {"uda": ("align the ratings of several judges, without labels", "calm.commands.uda:register")}

PAGES = {"calm-uda-report": "calm.results.reports.uda_page:render"}
