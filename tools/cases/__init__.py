"""Programs that make the case files in `calm/cases/data`."""
