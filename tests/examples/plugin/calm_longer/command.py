"""`calm longer JUDGE`, and the page of its record."""

import json
from pathlib import Path

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import CONTINUE, add_caps, bill, opened_engine, refuse_impossible, stays
from calm.results.outputs import Form, Output, schema, write_whole
from calm.results.reports.pages import Page
from calm.results.wording import printable

RECORD = Form("a record of `calm longer`", (".json",), schema("longer/"))


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

    refuse_impossible(options)
    judge, out = judge_from(options.judge), Path(options.out)
    cases = cases_from(options.cases, judge)
    with opened_engine(options, Output("-o", out, RECORD)) as engine:
        found = longer(judge, cases, engine)
        spent = bill(engine)
    print(f"{headline(found)}; {found['undecided']} undecided")
    for reason, count in found["lost"].items():
        print(printable(f"no reply in {count} of {len(cases)} cases: {reason}; {CONTINUE}"))
    print(printable(spent))
    if not stays(engine, out):
        write_whole(out, [json.dumps(found)], RECORD)
        print(printable(f"wrote {out}"))
    return DONE if found["decided"] and not found["lost"] else REFUSED


def headline(found):
    """Return what a record says in one line."""
    return f"the longer answer won in {found['longer']} of {found['decided']} cases"


page = Page("longer \N{MIDDLE DOT} a judge and long answers", headline)
