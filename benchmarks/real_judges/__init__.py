"""
The gate on verdicts of real judges, where the whole table of a judge is the truth.

    python -m benchmarks.real_judges --rows numbers.jsonl  # 2,000 samples a row; a later run goes on from there
    python -m benchmarks.real_judges --rows numbers.jsonl --samples 100  # the same, quick and coarse
    python -m benchmarks.real_judges --rows some.jsonl --keep docs/measured/real-judges.csv --only position/  # one set
    python -m benchmarks.real_judges --rows numbers.jsonl --write docs/measured/real-judges.md

A sample is drawn from the table with replacement, so that the truth of the population that it comes from is exactly
what the whole table says. Looks, estimates and decisions are the product's own: `calm.experiment.stopping.looks`,
`Measure.estimate`, `decide_between` and, for rates of one ask, `rule_on`; differences are those of `calm compare`.
"""
