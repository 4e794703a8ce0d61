"""Statistics of decisions: pure functions of numbers, ignorant of judges."""
