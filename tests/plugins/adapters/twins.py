"""A judge of another tool beside the same object called by hand, over its own connections: both must find the same."""

import json
import sys
from urllib.request import Request as Post
from urllib.request import urlopen

from calm import gain, net_robustness
from calm.cases import read_files
from calm.core.verdict import code
from calm.experiment.run import run
from calm.judges.python import PythonJudge
from calm.perturbations.authority import cite_book
from tests.planted import setup
from tests.servers.biased import cases_of, written

CLAIMS = (gain <= 0.10, net_robustness >= 0.90)


def cases_in(folder, *, pairwise=False, count=12):
    """Return cases that the biased model knows, through a file as a user has them."""
    task = "pairwise" if pairwise else "score"
    return read_files([written(folder / f"{task}.jsonl", cases_of(count, pairwise=pairwise))], task=task)


def module_of(tmp_path, monkeypatch, name, source, **environment):
    """Write a user's module, and let it be imported."""
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)


def by_hand(call, judge, *, waits=False):
    """Return a function that calls the tool's own object as a judge, with what `judge` declares."""

    async def awaited(case):
        return await call(case)

    def twin(case):
        return call(case)

    twin = awaited if waits else twin
    twin.task, twin.scale, twin.reads = judge.task, judge.scale, judge.evaluator.reads
    twin.concurrency = 4
    return PythonJudge(twin, judge.name)


def found(judge, cases):
    """Return what a probe finds: each verdict of each arm, and what is decided."""
    with setup(judge, cases) as ready:
        rulings = run(ready, cite_book, CLAIMS).rulings
    verdicts = [
        (row.case, row.edit, [code(one) for one in (*row.clean, *row.inert, *row.perturbed)])
        for row in rulings[0].trials.rows
    ]
    return verdicts, [one.decision for one in rulings]


def posted(judge, read):
    """Return a function that posts by itself what a judge was seen to send, with the texts of a case in it."""
    sample, (sent,) = judge.evaluator.sample(), judge.dry.requests
    url = sent.endpoint.url + {"openai": "/chat/completions", "openai-responses": "/responses"}[sent.endpoint.provider]

    def call(case):
        body = json.dumps(dict(sent.body))
        pairs = [(sample.question, case.question), (sample.answers[0].text, case.answers[0].text)]
        pairs += [(sample.reference, case.reference)] if "reference" in judge.evaluator.reads else []
        pairs += [(sample.fields[name], case.fields[name]) for name in sample.fields]
        for old, new in pairs:
            assert body.count(old) == 1
            body = body.replace(old, json.dumps(new)[1:-1])
        with urlopen(Post(url, body.encode(), {"content-type": "application/json"})) as reply:
            return read(json.load(reply))

    return by_hand(call, judge)
