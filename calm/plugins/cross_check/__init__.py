"""Whether a judge agrees with itself: `calm cross-check`."""

COMMANDS = {
    "cross-check": (
        "check that preferences form no cycle and agree with scores",
        "calm.plugins.cross_check.command:register",
    )
}

PAGES = {"calm-cross-check": "calm.plugins.cross_check.coherence:page"}
