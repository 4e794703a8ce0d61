"""
Self-preference: does a judge favour its own answers, or those of its family, beyond their worth?

| module | method | input |
|---|---|---|
| `scores` | double-centred excess of scores; graded self-evaluation: S, R and G with t tests | a `ScoreTable` |
| `opportunity` | equal opportunity and demographic parity | pairs with one own answer, or their counts |
| `perplexity` | does the judge prefer what it finds likely? (`likelihood` asks its server) | log-probabilities |
| `rubric` | scores, signs of comparisons, accuracy, committees, the agreement filter | a `RubricTable` |
| `overestimation` | over-estimation against a truth that is known | a `RubricTable`, or signs of comparisons |
| `skill` | the excess with truth: balanced, and with two readings of a fair judge | shares of verdicts, criteria |
| `calm_errors` | CALM's error rates, bias intensity and improvement rate | mean scores, rates |
| `contrasts` | the corrected estimators: excess and ratio against outsiders | any table of judges and generators |
| `symbols` | the figures that a suite claims | nothing |
| `panels` | agreement of judges, rankings of authors | ratings, scores by judge and generator, signs |
| `families` | who is related to whom; preference leakage | names of models |
| `pairs` | pairs from the side of one author, and that excess for them | verdicts on pairs, or a `ScoreTable` |
| `verdicts` | what a judge said, in which words | what `Judge.judge` returned |
| `report` | all figures of the verdicts of one kind, as JSON-able data, with `parts` and `harmful` beside | `Tables` |

The published estimators are given beside the corrected ones. The published ones accuse a fair judge whose own answers
are the best or the worst, or that is lenient. Without truth every estimator accuses one that is more skilled than its
peers; `docs/measured/self-preference.md` shows it. Everything is a pure function of arrays. A judge is one row of a
table, a generator (who wrote the answers) one column. The unit is the item: all of its rubrics, opponents and judges go
together.
"""
