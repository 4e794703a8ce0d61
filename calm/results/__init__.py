"""The record of a run: each decision becomes a finding, all findings an audit; reports read the audit."""

from calm import BESIDE

__path__ += BESIDE
