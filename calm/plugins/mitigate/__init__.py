"""Mitigations of biases, in judge.toml and by `calm mitigate`."""

COMMANDS = {
    "mitigate": ("audit a judge alone and with each mitigation, and compare", "calm.plugins.mitigate.command:register")
}

HOOKS = {"mitigations": "calm.plugins.mitigate.mitigations"}

PAGES = {"calm-mitigations": "calm.plugins.mitigate.report:page"}
