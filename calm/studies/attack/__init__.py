"""Attacks: how often does an attacker win who tries one text after another in each case?"""

from calm.studies.attack.attack import ATTACK as ATTACK
from calm.studies.attack.attack import PRUNE as PRUNE
from calm.studies.attack.attack import SHRINK as SHRINK
from calm.studies.attack.attack import TRIES as TRIES
from calm.studies.attack.attack import Attack as Attack
from calm.studies.attack.attack import attack as attack
from calm.studies.attack.report import summary as summary
from calm.studies.attack.report import to_json as to_json
from calm.studies.attack.report import with_texts as with_texts
