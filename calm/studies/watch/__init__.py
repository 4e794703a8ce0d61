"""
Watching a judge: today's run on fixed anchor cases against the earlier ones.

    cases --ask--> Run --append--> History --compare--> Comparison --report--> words, JSON, Markdown

| module | what it holds |
|---|---|
| `history` | the anchors; a run, which asks each anew, also one that was begun; the file of runs |
| `alarm` | the tests, what each may spend, so that all runs together keep the promise, and what could raise it at all |
| `comparison` | what moved because the judge moved, and what because the cases did, from tables of numbers |
| `report` | the result in JSON, in words, and as Markdown |
"""

from calm.studies.watch.alarm import Promise as Promise
from calm.studies.watch.alarm import Sign as Sign
from calm.studies.watch.comparison import Comparison as Comparison
from calm.studies.watch.comparison import compare as compare
from calm.studies.watch.comparison import reach_of as reach_of
from calm.studies.watch.history import Anchor as Anchor
from calm.studies.watch.history import Begun as Begun
from calm.studies.watch.history import History as History
from calm.studies.watch.history import Reference as Reference
from calm.studies.watch.history import Run as Run
from calm.studies.watch.history import anchors_of as anchors_of
from calm.studies.watch.history import ask_anchors as ask_anchors
from calm.studies.watch.history import asks_of as asks_of
from calm.studies.watch.history import begin as begin
from calm.studies.watch.history import end as end
from calm.studies.watch.history import held as held
from calm.studies.watch.history import read_history as read_history
from calm.studies.watch.history import with_run as with_run
from calm.studies.watch.report import in_words as in_words
from calm.studies.watch.report import markdown as markdown
from calm.studies.watch.report import to_json as to_json
from calm.studies.watch.report import too_few as too_few
