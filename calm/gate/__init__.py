"""What a test holds: a probe, which runs an experiment and returns its result; and what a run will cost."""
