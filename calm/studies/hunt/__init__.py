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

from calm.studies.hunt.arms import Arm as Arm
from calm.studies.hunt.arms import arms_for as arms_for
from calm.studies.hunt.findings import Finding as Finding
from calm.studies.hunt.findings import Hunted as Hunted
from calm.studies.hunt.findings import Memory as Memory
from calm.studies.hunt.hunt import Progress as Progress
from calm.studies.hunt.hunt import hunt as hunt
from calm.studies.hunt.proposers import Bandit as Bandit
from calm.studies.hunt.proposers import BestOf as BestOf
from calm.studies.hunt.proposers import bandit_for as bandit_for
from calm.studies.hunt.report import summary as summary
from calm.studies.hunt.report import to_json as to_json
from calm.studies.hunt.subjects import ERROR as ERROR
from calm.studies.hunt.subjects import LEAST as LEAST
from calm.studies.hunt.subjects import PLACES as PLACES
from calm.studies.hunt.subjects import Bounds as Bounds
from calm.studies.hunt.subjects import Place as Place
from calm.studies.hunt.written import files_in as files_in
from calm.studies.hunt.written import kept_rows as kept_rows
from calm.studies.hunt.written import rows_for as rows_for
from calm.studies.hunt.written import write_found as write_found
