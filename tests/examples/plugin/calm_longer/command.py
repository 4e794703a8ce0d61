"""`calm longer JUDGE`, and the page of its record."""

import json
from pathlib import Path

from calm.commands import CASES, DONE, JUDGES, add_command
from calm.commands.spending import add_caps, opened_engine
from calm.results.reports.pages import Page


def register(commands):
    """Add `longer`."""
    one = add_command(
        commands,
        "longer",
        "Count how often a judge takes the longer answer. Each case is asked about once.",
        "calm longer judge.toml --cases pairs.jsonl -o longer.json",
    )
    one.add_argument("judge", metavar="JUDGE", help=JUDGES)
    one.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    one.add_argument("-o", "--out", default="longer.json", metavar="FILE", help="the record (default longer.json)")
    add_caps(one)
    one.set_defaults(run=run)


def run(options):
    """Ask the judge, and write the record."""
    from calm.gate.from_spec import cases_from, judge_from
    from calm_longer.study import longer

    judge = judge_from(options.judge)
    with opened_engine(options) as engine:
        found = longer(judge, cases_from(options.cases, judge), engine)
    Path(options.out).write_text(json.dumps(found))
    print(f"the longer answer won in {found['longer']} of {found['asked']} cases; wrote {options.out}")
    return DONE


page = Page("longer \N{MIDDLE DOT} a judge and long answers", lambda found: f"{found['longer']} of {found['asked']}")
