"""Statistics of decisions: pure functions of numbers that know nothing of judges."""
