"""Statistics of decisions: pure functions of numbers, which do not know judges."""
