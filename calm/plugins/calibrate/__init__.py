"""A judge beside the labels of people: `calm calibrate`."""

COMMANDS = {"calibrate": ("compare a judge with labels of people", "calm.plugins.calibrate.command:register")}
