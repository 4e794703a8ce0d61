"""Every reader of a file, fed with changed copies of good files: `python -m tests.fuzz --minutes 60`."""
