"""Whether judges prefer their own answers: `calm self-preference`."""

COMMANDS = {
    "self-preference": ("test whether judges prefer their own answers", "calm.plugins.self_preference.command:register")
}

RECORDED = dict.fromkeys(("headlines", "ifeval"), "calm.plugins.self_preference.recorded:bundled")

HOOKS = {
    "cross": "calm.plugins.self_preference.tables:decide_cross",
    "peers": "calm.plugins.self_preference.record:members_from",
    "likelihoods": "calm.plugins.self_preference.record:likely_from",
}

PAGES = {"calm-self-preference": "calm.plugins.self_preference.screen:page"}
