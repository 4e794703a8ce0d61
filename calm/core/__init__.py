"""What everything speaks of: cases, verdicts, edits, claims and measures. Frozen data and pure functions."""
