"""
Calibrate a judge: what its verdicts are worth, by cases that people labelled.

| module | what it holds |
|---|---|
| `items` | verdicts and labels in one form for pairs, rankings, scores and rubrics |
| `tables` | the confusion table, errors by class and by slice |
| `fitting` | the threshold or mapping that fits best, cross-validated |
| `applying` | a mapping in words, so that a person can apply it |
| `estimates` | corrected means, what may be decided alone, which labels are missing |
| `remarks` | why the agreement says less than it seems to |
| `study` | all of it for one judge |
| `report` | the record as JSON, and the words for a terminal |
"""
