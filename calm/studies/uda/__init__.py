"""
Pull the ratings of a set of judges together, without labels (UDA, unsupervised debiasing alignment).

A set of judges compares the answers of a set of models. A small network, shared by all judges, sees the embeddings of
the two answers and of the judge's own answer to the same prompt, and says how far a comparison may move the ratings and
how much of a bonus either answer gets. It is trained to bring the ratings of all judges near their mean.

| module | what it holds |
|---|---|
| `comparisons` | who preferred what: named comparisons in, arrays out |
| `reading` | comparisons from JSON Lines and CSV |
| `bridge`, `verdicts` | comparisons from records of `calm self-preference` and of gate runs |
| `embeddings` | texts to vectors: hashed words of our own, sentence-transformers, an embedding server |
| `elo` | Elo with given K-factors and outcomes, one table a judge, in numpy |
| `consensus` | spread between judges, self-preference, agreement with gold, and where the consensus may be biased |
| `weighting` | how much each judge counts in the consensus |
| `clusters` | judges that share a lean beyond chance |
| `report` | before and after, as JSON and as a table |
| `backend` | JAX, or the error that names what to install; all modules below need it |
| `scan`, `features`, `network` | the same Elo through `lax.scan`; what the network sees; the network |
| `settings`, `tables` | how a network is trained; comparisons as arrays of JAX |
| `training`, `checkpoint` | loss, optimiser, epochs; models and checkpoints on disk |
"""
