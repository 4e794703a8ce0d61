"""What the verdicts of a judge are worth, by cases that people labelled."""
