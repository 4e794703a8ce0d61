"""Logs of other tools, and runs of agents, that `calm cases import` and `calm init` read."""

HOOKS = {"logs": "calm.cases.logs.opening", "runs": "calm.cases.logs.agents"}
