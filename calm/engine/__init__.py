"""The only door to a model: it schedules, caps, caches and records every call."""
