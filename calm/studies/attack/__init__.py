"""
Attacks: search, case by case, for a text of the weaker answer that wins, then measure it with fresh asks.

    cases --pilot--> Aim --a search--> AttackedCase --fresh asks of both arms--> Attack

A search asks about every text once (ask 0, as a pilot does) and once more (`CONFIRM`) about one that won. These asks
choose and are in no measure. Fresh asks with the repeat indices 1, 2, ... then compare the text that was found with the
clean case, so luck in the search is not counted as success. If nothing was found, the answer stays as it is.

| search | what it tries |
|---|---|
| `stack` | a pile of edits of the catalogue until the verdict flips, then the fewest of them that win |
| `best_of` | the best of n rewrites by a model |
| `hill_climb` | a rewrite by a model, which sees the verdict and writes again, at most r times |
| `transfer` | the text that an earlier search against another judge left in the case |

| module | what it holds |
|---|---|
| `attack` | the nouns; which answers are attacked; the fresh asks about the texts that were found |
| `asks` | how a search asks about texts, and which it may ask about; `transfer` |
| `stacks`, `writers` | the searches that try edits, and those that let a model write |
| `shrinking` | from a text that won to fewer and plainer words that win too |
| `report` | the result of an attack: as cases, as a record, in words |
"""

from calm.studies.attack.asks import transfer as transfer
from calm.studies.attack.attack import ATTACK as ATTACK
from calm.studies.attack.attack import CONFIRM as CONFIRM
from calm.studies.attack.attack import Aim as Aim
from calm.studies.attack.attack import Attack as Attack
from calm.studies.attack.attack import AttackedCase as AttackedCase
from calm.studies.attack.attack import Search as Search
from calm.studies.attack.attack import attack as attack
from calm.studies.attack.report import summary as summary
from calm.studies.attack.report import to_json as to_json
from calm.studies.attack.report import with_texts as with_texts
from calm.studies.attack.shrinking import SHRINK as SHRINK
from calm.studies.attack.shrinking import shrinking as shrinking
from calm.studies.attack.stacks import LOOKS as LOOKS
from calm.studies.attack.stacks import Group as Group
from calm.studies.attack.stacks import groups_for as groups_for
from calm.studies.attack.stacks import stack as stack
from calm.studies.attack.stacks import steps as steps
from calm.studies.attack.writers import best_of as best_of
from calm.studies.attack.writers import hill_climb as hill_climb
