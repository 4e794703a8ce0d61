"""Programs of the project that do not ship: they make shipped data, and measure what the tests catch."""
