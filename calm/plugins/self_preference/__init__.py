"""Whether judges prefer their own answers: `calm self-preference`."""

COMMANDS = {
    "self-preference": ("test whether judges prefer their own answers", "calm.commands.self_preference:register")
}

RECORDED = dict.fromkeys(("headlines", "ifeval"), "calm.judges.recorded.bundled:bundled")

HOOKS = {
    "cross": "calm.plugins.self_preference.cross:decide",
    "peers": "calm.selfpreference.crossing.record:members_from",
    "likelihoods": "calm.selfpreference.crossing.record:likely_from",
}

PAGES = {"calm-self-preference": "calm.plugins.self_preference.page:page"}
