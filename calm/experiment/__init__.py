"""
Which cases are asked, in which arms and how often, and what follows for each claim.

From a file to a report a case passes six nouns, each a frozen dataclass:

| noun | what it is | module |
|---|---|---|
| `Case` | what is asked; an edit gets and returns it as `Treated` | `calm.core.case` |
| `Pair` | the case as it is asked in both arms | `calm.experiment.edited` |
| `Judgment` | the verdict on one ask | `calm.engine.asks` |
| `Trial` | one case with the verdicts of both arms; a probe's are its `Trials` | `calm.core.trials` |
| `Ruling` | the decision on one claim, with the trials that it was taken on | `calm.experiment.stopping` |
| `Finding` | the decision on record | `calm.results.audit` |

`run` follows this order: `aim` chooses the answer to treat, `pairs` edits, `arms` asks, `stopping` decides.
"""
