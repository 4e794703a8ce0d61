"""Attacks: how often does an attacker win who tries one text after another in each case?"""

from calm.plugins.search.attack.attack import ATTACK as ATTACK
from calm.plugins.search.attack.attack import PRUNE as PRUNE
from calm.plugins.search.attack.attack import SHRINK as SHRINK
from calm.plugins.search.attack.attack import TRIES as TRIES
from calm.plugins.search.attack.attack import Attack as Attack
from calm.plugins.search.attack.attack import attack as attack
from calm.plugins.search.attack.report import summary as summary
from calm.plugins.search.attack.report import to_json as to_json
from calm.plugins.search.attack.report import with_texts as with_texts
