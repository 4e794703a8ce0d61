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

from calm.plugins.watch.study.alarm import Promise as Promise
from calm.plugins.watch.study.alarm import Sign as Sign
from calm.plugins.watch.study.comparison import Comparison as Comparison
from calm.plugins.watch.study.comparison import compare as compare
from calm.plugins.watch.study.comparison import reach_of as reach_of
from calm.plugins.watch.study.history import Anchor as Anchor
from calm.plugins.watch.study.history import Begun as Begun
from calm.plugins.watch.study.history import History as History
from calm.plugins.watch.study.history import Reference as Reference
from calm.plugins.watch.study.history import Run as Run
from calm.plugins.watch.study.history import anchors_of as anchors_of
from calm.plugins.watch.study.history import ask_anchors as ask_anchors
from calm.plugins.watch.study.history import asks_of as asks_of
from calm.plugins.watch.study.history import begin as begin
from calm.plugins.watch.study.history import end as end
from calm.plugins.watch.study.history import held as held
from calm.plugins.watch.study.history import read_history as read_history
from calm.plugins.watch.study.history import with_run as with_run
from calm.plugins.watch.study.report import in_words as in_words
from calm.plugins.watch.study.report import markdown as markdown
from calm.plugins.watch.study.report import to_json as to_json
from calm.plugins.watch.study.report import too_few as too_few
