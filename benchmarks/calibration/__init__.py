"""
What the gate promises, measured: the whole default gate on simulated judges whose truth is known.

| module | what it holds |
|---|---|
| `harness` | the default gate through the product's own code: only the judge and the engine are simulated |
| `remembered` | what does not depend on a judge's seed, made once: edited cases, inert forms, values of a row |
| `laws` | the judges: what each says, as a function of the case, the arm and chance |
| `chance` | numbers that look drawn, by what is asked |

Everything is seeded.
"""
