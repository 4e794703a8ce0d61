"""The rules of the linter: each a function from what is linted to what it found. One module for each noun."""
