"""`calm attack --curve N`: how often the best of so many texts wins; the exit status says what follows for a claim."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from calm.cases import sample
from calm.commands import DONE, REFUSED
from calm.commands.spending import CONTINUE, bill, opened_engine, sampled, stays
from calm.core.claims import Outcome
from calm.experiment.setup import Setup
from calm.gate.prices import clean_plan
from calm.models.pricing import dollars
from calm.plugins.search.curve import AGAIN, race, summary, to_json
from calm.plugins.search.proposers import BestOf, bandit_for
from calm.plugins.search.subjects import ANSWER, PLACES
from calm.results.outputs import ATTACK, Output, write_whole
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from calm.core.case import Case
    from calm.models.wire import Judge
    from calm.plugins.search.arms import Arm
    from calm.plugins.search.writer import Writer

LIMIT = 0.10
"""What is taken for `--limit` where it is not given."""


def curve(
    options: argparse.Namespace, judge: Judge, cases: Sequence[Case], arms: Sequence[Arm], author: Writer | None
) -> int:
    """Say what the curve takes, and try so many texts in each case; return 0 if the claim is proven."""
    print(fitted(printable(_budget(options, judge, cases), "\n"), sys.stdout), flush=True)
    if options.plan:
        return DONE
    out = Path(options.out or "curve.json")
    with opened_engine(options, Output("-o", out, ATTACK)) as engine:
        engine.admit(judge)
        setup = Setup(judge, tuple(cases), engine, options.seed)
        writer = BestOf(author, setup) if author else None
        bandit = bandit_for(arms, PLACES[ANSWER], setup, writer)
        found = race(setup, options.sample, options.curve, bandit, options.limit or LIMIT)
    body = to_json(found, setup, options.curve, writer)
    said = printable(f"\n{summary(found, body, writer)}\n{bill(engine)}", "\n")
    print(fitted(said, sys.stdout))
    if not stays(engine, out):
        write_whole(out, [f"{json.dumps(body, indent=1, ensure_ascii=False)}\n"], ATTACK)
        print(printable(f"wrote {out}; its page: calm report {out}"))
    if body["incomplete"]:
        print(CONTINUE)
    return DONE if body["outcome"] == Outcome.PASS else REFUSED


def _budget(options: argparse.Namespace, judge: Judge, cases: Sequence[Case]) -> str:
    drawn = sample(cases, options.sample, options.seed)
    plan = clean_plan(judge, drawn, 1)
    once, begun = plan.asks, plan.most.calls - plan.asks.calls  # an ask of each case, and the first call of a server
    least, most = 1 + 2 * options.curve, 1 + 2 * (options.curve + AGAIN)  # asks of a case
    price = f", about {dollars(once.usd * most)} USD" if once.usd else ""
    texts = f"{sampled(len(drawn), len(cases))}: {options.curve} texts and as many harmless ones in each"
    each = f"{least} to {most} asks of a case, and fewer where it is left out or has fewer texts"
    calls = f"at most {once.calls * most + begun:,} calls of the judge{price}: {each}"
    writer = f"\ncalls of the writer come on top: {options.curve} or more in each case" if options.writer else ""
    return f"{texts}\n{calls}{writer}"
