"""`calm power`: how many cases and repeats a claim needs."""

from __future__ import annotations

import argparse

from calm.commands import DONE, REPEATS, add_command

SIZED = (
    "net_robustness",
    "gain",
    "worst_gain",
    "worst_robustness",
    "run/net_robustness",
    "run/gain",
    "net_detection",
    "consistency_rate",
    "accuracy",
    "readable_rate",
)


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `power`."""
    power = add_command(
        commands,
        "power",
        "Show how many cases a claim needs, and what it says. The command simulates judges with the noise that you "
        "give, and counts how often they pass and fail by the looks of a run.",
        "calm power --measure gain --noise 0.1",
    )
    power.add_argument("--measure", default="net_robustness", metavar="NAME", help=f"one of {', '.join(SIZED)}")
    power.add_argument("--limit", type=float, metavar="X", help="limit of the claim (default: that of the suites)")
    power.add_argument("--true", type=float, metavar="X", help="the true value for the judge (default: no effect)")
    power.add_argument(
        "--noise", type=float, default=0.05, metavar="V", help="share of asks in which the judge errs (default 0.05)"
    )
    power.add_argument(
        "--close-calls", type=float, default=0.0, metavar="V", help="share of cases without a clear winner (default 0)"
    )
    power.add_argument(
        "--probes", type=int, default=12, metavar="N", help="probes that must all pass, or are pooled (default 12)"
    )
    power.add_argument("--cases", type=int, metavar="N", help="show only N cases (default 40 to 400)")
    power.add_argument("--repeats", default="2+1", metavar="K+M", help=REPEATS)
    power.set_defaults(run=_power)


def _power(options: argparse.Namespace) -> int:
    from calm.gate.power_text import power_report
    from calm.gate.scenario import scenario

    values = options.measure, options.limit, options.true, options.noise, options.close_calls
    asked = scenario(*values, probes=max(2, options.probes))
    print(power_report(asked, probes=options.probes, cases=options.cases, repeats=options.repeats))
    return DONE
