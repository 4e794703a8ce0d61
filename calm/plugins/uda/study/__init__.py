"""
Pull the ratings of a set of judges together, without labels (UDA, unsupervised debiasing alignment).

A set of judges compares the answers of a set of models. A small network, shared by all judges, sees the embeddings of
the two answers and of the judge's own answer to the same prompt, and says how far a comparison may move the ratings and
how much of a bonus either answer gets. It is trained to bring the ratings of all judges near their mean. Only `network`
and `training` need JAX.
"""
