"""A first look: `calm demo`."""

COMMANDS = {"demo": ("show a red gate of three suites on a simulated judge", "calm.plugins.demo.command:register")}
