"""
Mitigations, measured: what makes a judge pass its gate, and what it costs.

| module | what it holds |
|---|---|
| `study` | a set of mitigations with the judge that it makes, its results, and the cheapest that passes |
| `nearest` | the set that helps most where none passes |
| `serving` | which sets can be asked at all, and why the others are left out |
| `gate` | the gate on one set: findings, and values case by case |
| `differences` | each set against the bare judge |
| `grid` | how often each attack wins against each set |
| `plan` | the calls of a study, before any is made |
| `report`, `judge_toml` | the record and the words; the judge.toml with the set |

All sets share one engine, so a call that two of them make is made once. The cost of a set is that of a run of its own,
whatever was shared.
"""
