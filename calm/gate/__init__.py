"""What a test holds, and what it will cost: probes, plans, and everything by its name."""
