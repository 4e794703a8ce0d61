"""Which cases a judge is unsure about, which criteria are vague, and whether the judge or the wording is why."""
