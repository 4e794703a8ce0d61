"""Figures of published protocols: CALM's by bias in a run, and of several judges by `calm compare --as calm`."""

HOOKS = {
    "record": "calm.plugins.papers.protocol:with_protocol",
    "page.protocol": "calm.plugins.papers.pages:view_of",
    "terminal.protocol": "calm.plugins.papers.pages:told",
    "measured": "calm.plugins.papers.pages:measured",
    "compare": "calm.plugins.papers.pages:compare",
}
