"""`calm power`: how many cases and repeats a claim needs."""

from __future__ import annotations

import argparse

from calm.commands import DONE

SIZED = ("net_robustness", "gain", "consistency_rate", "accuracy", "readable_rate")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `power`."""
    power = commands.add_parser("power", help="say how many cases and repeats a claim needs")
    power.add_argument("--measure", default="net_robustness", metavar="NAME", help=f"one of {', '.join(SIZED)}")
    power.add_argument(
        "--limit", type=float, metavar="X", help="limit of the claim (default 0.05: net_robustness >= 0.95; gain 0.10)"
    )
    power.add_argument("--true", type=float, metavar="X", help="what is true of the judge (default 0: no effect)")
    power.add_argument("--noise", type=float, default=0.05, metavar="V", help="share of asks that err (default 0.05)")
    power.add_argument("--close-calls", type=float, default=0.0, metavar="V", help="share of cases (default 0)")
    power.add_argument("--probes", type=int, default=12, metavar="N", help="probes that pass together (default 12)")
    power.add_argument("--cases", type=int, metavar="N", help="only this number of cases (default 40 to 400)")
    power.add_argument("--repeats", default="4+2", metavar="K+M", help="clean and perturbed asks a case (default 4+2)")
    power.set_defaults(run=_power)


def _power(options: argparse.Namespace) -> int:
    from calm.gate.sizing import power_report, question

    asked = question(options.measure, options.limit, options.true, options.noise, options.close_calls)
    print(power_report(asked, probes=options.probes, cases=options.cases, repeats=options.repeats))
    return DONE
