"""The shared nouns, frozen: case, edit, verdict, trials, measure, estimate, claim and decision."""
