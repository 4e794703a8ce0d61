"""The record of a run: each decision becomes a finding, all findings an audit; reports read the audit."""
