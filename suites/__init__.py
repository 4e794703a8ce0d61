"""The gate: one test file per bias, claims and limits."""
