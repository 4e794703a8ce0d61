"""
Hunts: the smallest text that flips the judge.

    cases --clean asks--> subjects --a search--> flips --Hypothesis shrinks--> the simplest texts --fresh asks--> Hunted

| module | what it holds |
|---|---|
| `subjects` | cases in hand: where they may be edited, what the judge said of each text, what it may cost |
| `arms` | the edits that are tried, and the words, signs and layouts beside them |
| `proposers` | who proposes the next text: many edits at once, a few, a model that writes; a bandit over them |
| `hunt` | the hunt: search, shrink, confirm |
| `findings` | what it found, and what earlier hunts found |
| `report` | a hunt as a record, and in words |
| `written` | a test file for what was found |
"""

from calm.plugins.search.hunt.arms import Arm as Arm
from calm.plugins.search.hunt.arms import arms_for as arms_for
from calm.plugins.search.hunt.findings import Finding as Finding
from calm.plugins.search.hunt.findings import Hunted as Hunted
from calm.plugins.search.hunt.findings import Memory as Memory
from calm.plugins.search.hunt.hunt import Progress as Progress
from calm.plugins.search.hunt.hunt import hunt as hunt
from calm.plugins.search.hunt.proposers import Bandit as Bandit
from calm.plugins.search.hunt.proposers import BestOf as BestOf
from calm.plugins.search.hunt.proposers import bandit_for as bandit_for
from calm.plugins.search.hunt.report import summary as summary
from calm.plugins.search.hunt.report import to_json as to_json
from calm.plugins.search.hunt.subjects import ERROR as ERROR
from calm.plugins.search.hunt.subjects import LEAST as LEAST
from calm.plugins.search.hunt.subjects import PLACES as PLACES
from calm.plugins.search.hunt.subjects import Bounds as Bounds
from calm.plugins.search.hunt.subjects import Place as Place
from calm.plugins.search.hunt.written import files_in as files_in
from calm.plugins.search.hunt.written import kept_rows as kept_rows
from calm.plugins.search.hunt.written import rows_for as rows_for
from calm.plugins.search.hunt.written import write_found as write_found
