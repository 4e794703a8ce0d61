"""Where a judge is unsure: `calm diagnose`."""

COMMANDS = {
    "diagnose": ("name the unsure cases and the vague criteria of a judge", "calm.plugins.diagnose.command:register")
}

PAGES = {"calm-diagnose": "calm.plugins.diagnose.report:page"}
