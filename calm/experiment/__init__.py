"""The experiment of a probe: which cases, in which arms, how many asks, and when a claim is decided."""
