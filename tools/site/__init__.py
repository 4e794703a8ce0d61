"""The site of the docs: `python -m tools.site` builds it."""
