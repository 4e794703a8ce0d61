"""
Mitigations, measured: what makes a judge pass its gate, and what it costs.

| module | what it holds |
|---|---|
| `study` | a set of mitigations with the judge that it makes; what was found of it; the cheapest that passes |
| `gate` | the gate on one set: findings, and values case by case |
| `differences` | each set against the bare judge |
| `grid` | how often each attack wins against each set |
| `plan` | what all of it asks, before any call |
| `telling`, `judge_toml` | the record and the words; the judge.toml that has the set |

All sets are asked through one engine, so that a call which two of them make is made once. What a set costs is what a
run of its own would cost, whatever was shared.
"""
