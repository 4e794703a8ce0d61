"""The only door to a model: it schedules, counts, caps, caches and records every call."""
