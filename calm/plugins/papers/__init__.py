"""Figures of published protocols: CALM's by bias in a run, and of several judges by `calm compare --as calm`."""

HOOKS = {
    "record": "calm.results.calm_protocol:with_protocol",
    "page.protocol": "calm.results.reports.calm_protocol:view_of",
    "terminal.protocol": "calm.results.reports.calm_protocol:told",
    "compare": "calm.commands.compare_judges:compare",
}
