"""Logs of other tools, and runs of agents, that `calm cases import` and `calm init` read."""

HOOKS = {"logs": "calm.plugins.logs.opening", "runs": "calm.plugins.logs.agents"}
