"""
Hunts: the smallest text that flips the judge.

    cases --clean asks--> quarries --a search--> flips --Hypothesis shrinks--> the simplest texts --fresh asks--> Hunted

| module | what it holds |
|---|---|
| `hunt` | the hunt: its stages |
| `bounds`, `budget` | what it may take, and what is left of it |
| `findings` | what it found, and what comes of it |
| `watch` | what it shows of itself while it runs |
| `choosing` | which cases are taken in hand |
| `quarry` | a case in hand: what was asked about it, and the referee's rulings |
| `places` | the part of a case that is edited |
| `arms`, `cues` | the edits that are tried, and the words, signs and layouts beside them |
| `search` | the search: known texts, proposed ones, generated ones |
| `proposers` | the proposers of the next text: many edits at once, single edits, a bandit over them |
| `writers` | the proposers in which a model writes |
| `shrinking` | fewer edits, fewer and plainer words; what Hypothesis generates |
| `confirming` | fresh asks about what was found, and what is known already |
| `memory` | what earlier hunts found |
| `report`, `summary` | a hunt as a record, and in words |
| `written` | a test file for what was found |
"""

from calm.studies.hunt.arms import Arm as Arm
from calm.studies.hunt.arms import arms_for as arms_for
from calm.studies.hunt.bounds import ERROR as ERROR
from calm.studies.hunt.bounds import LEAST as LEAST
from calm.studies.hunt.bounds import Bounds as Bounds
from calm.studies.hunt.findings import Finding as Finding
from calm.studies.hunt.findings import Hunted as Hunted
from calm.studies.hunt.findings import Progress as Progress
from calm.studies.hunt.hunt import hunt as hunt
from calm.studies.hunt.memory import Memory as Memory
from calm.studies.hunt.places import PLACES as PLACES
from calm.studies.hunt.places import Place as Place
from calm.studies.hunt.proposers import SEARCHES as SEARCHES
from calm.studies.hunt.proposers import WRITING as WRITING
from calm.studies.hunt.proposers import Proposer as Proposer
from calm.studies.hunt.proposers import proposer_for as proposer_for
from calm.studies.hunt.report import to_json as to_json
from calm.studies.hunt.summary import summary as summary
from calm.studies.hunt.writers import Writings as Writings
from calm.studies.hunt.writers import writers_for as writers_for
from calm.studies.hunt.written import files_in as files_in
from calm.studies.hunt.written import kept_rows as kept_rows
from calm.studies.hunt.written import rows_for as rows_for
from calm.studies.hunt.written import write_found as write_found
