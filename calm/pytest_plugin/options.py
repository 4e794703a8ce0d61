"""The options of the plugin: declared once, read and checked before any call is paid for."""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import calm

if TYPE_CHECKING:
    from calm.engine.database import RecordAddress
    from calm.engine.engine import Batches
    from calm.engine.money import Caps
    from calm.experiment.stopping import Design, Stopping
    from calm.gate.resolution import Limits

SUITES = Path(calm.__path__[-1], "suites")
"""The suites that ship: inside of a release, beside calm in a checkout."""
EXTRA = "calm_every_variant"
"""The marker of probes beyond the default gate."""
MARKER = "calm"
"""The marker by which a test says how it is asked."""
LONGEST_NAME = 200
"""How many characters the name of a run may have."""
MOST_ASKS = 100
"""More asks of one case in one arm than this are taken for a typing error."""

# option, its default, what it takes, help
OPTIONS = (
    (
        "judge",
        "lexical",
        "SPEC",
        "lexical, planted:..., recorded:SET/MODEL, recorded:FILE, panel:A+B, a judge.toml, or module:name",
    ),
    ("sample", "200", "N", "use at most this many cases, the same ones for all probes (default 200)"),
    ("seed", "0", "I", "seed of every random choice (default 0)"),
    (
        "repeats",
        "2+1",
        "K+M",
        "K clean and M perturbed asks for each case (default 2+1; undecided claims get 4+2)",
    ),
    ("cache", "on", "MODE", "on, replay (never call), refresh (ask again), off"),
    ("cache-file", ".calm/cache.sqlite", "FILE", "the file that keeps the replies"),
    (
        "cache-url",
        "",
        "URL",
        "a PostgreSQL server that keeps the replies for several machines, postgresql://user@host/database; its "
        "password comes from PGPASSWORD or ~/.pgpass, or the whole URL from CALM_CACHE_URL",
    ),
    (
        "run",
        "",
        "NAME",
        "the name of a run that several machines share: the caps count what all of it has used, on any day",
    ),
    ("cache-days", "", "N", "ask again if a reply is older than this many days"),
    ("max-calls", "", "N", "make at most this many calls; unfinished claims are INCOMPLETE"),
    ("max-tokens", "", "N", "use at most this many tokens, in prompts and replies together"),
    ("max-usd", "", "X", "spend at most this many US dollars"),
    ("batch-least", "20", "N", "with --calm-batch: make a wave of fewer than N calls live, without delay (default 20)"),
    ("max-minutes", "", "M", "start no call after this many minutes"),
    ("lookahead", "500", "N", "ask N probes at once, before their tests run (default 500; 0: test by test)"),
    ("peers", "", "A,B", "peers in a test of self-preference: judge files, or records of such a test"),
    (
        "families",
        "",
        "A=F,FILE",
        "families of authors in a test of self-preference, such as human=human, or a file of them (.toml, .csv); "
        "unknown: leave the author's answers out",
    ),
    (
        "stopping",
        "sequential",
        "RULE",
        "sequential: stop each claim at the first look that decides it (default); fixed: ask all cases; anytime: a "
        "betting e-process, so that you may look at any time and add cases later",
    ),
    ("looks-ahead", "0", "N", "ask for N more looks while one is being decided (default 0)"),
    (
        "limits",
        "",
        "suites|attainable",
        "suites: limits as the tests state them; attainable: where the cases are few, the strictest that a sound judge "
        "can prove with them (default: attainable in the suites that ship, and as you state them in your own tests)",
    ),
    ("undecided", "fail", "fail|warn", "whether an undecided claim fails its test (default) or only warns"),
    (
        "gate",
        "",
        "FILE",
        "gate.toml: other limits, waivers and accepted NOT_TESTED claims, each with a reason and an expiry date",
    ),
    ("baseline", "", "FILE", "also require that nothing is worse than in this accepted run (see `calm accept`)"),
    ("report", "", "FILE.html", "write a report for people"),
    ("results", "", "FILE.json", "write the results as JSON, and the texts of cases to FILE.texts.jsonl"),
    ("summary", "", "FILE.md", "write a summary in Markdown, for a job's page or a pull request"),
    ("sarif", "", "FILE", "write failed, undecided, incomplete and accepted claims as SARIF 2.1.0"),
    (
        "texts",
        "full",
        "full|none",
        "none: no question, answer, prompt or reply in any output (default full)",
    ),
)
FLAGS = (
    (
        "batch",
        "send the calls by the batch API of the judge's provider, at about half the price, and wait for the replies; "
        "the same command goes on after an end of any kind",
    ),
    ("batch-leave", "as --calm-batch, but end once all is handed in; the same command goes on later"),
    ("batch-hold", "as --calm-batch, but hand nothing in: `calm batch write` writes it to a file for any engine"),
    ("plan", "print what the run would ask and what it would cost; ask nothing"),
    ("every-variant", "also run each variant of a rotation by itself (only a FAIL by Benjamini-Hochberg is red)"),
)
OUTPUTS = ("results", "report", "summary", "sarif")
"""Options that name a file to write."""
_PATHS = ("cache-file", "gate", "baseline", *OUTPUTS)
_LISTS = {"peers": (".toml", ".json"), "families": (".toml", ".csv")}
"""Options that take a list with files among its parts, and how the names of these files end."""


def add_to(parser: pytest.Parser) -> None:
    """Add the options, each also as an ini setting."""
    group = parser.getgroup("calm", "calm: audit of LLM judges")
    for name, _, takes, text in OPTIONS:
        group.addoption(f"--calm-{name}", dest=key(name), default=None, metavar=takes, help=text)
        parser.addini(key(name), f"{text} (as --calm-{name})")
    group.addoption(
        "--calm-cases",
        dest="calm_cases",
        action="append",
        default=None,
        metavar="FILE",
        help="a file of cases as JSON Lines (repeatable)",
    )
    group.addoption("--calm-command", action="store_true", help=SUPPRESS)  # a command of calm began this run
    parser.addini("calm_cases", "files of cases (as --calm-cases)", type="paths")
    for name, text in FLAGS:
        group.addoption(f"--calm-{name}", dest=key(name), action="store_true", default=None, help=text)
        parser.addini(key(name), f"{text} (as --calm-{name})", type="bool", default=False)


def key(name: str) -> str:
    """Return the name under which pytest keeps an option."""
    return f"calm_{name.replace('-', '_')}"


def option(config: pytest.Config, name: str) -> str:
    """Return an option as given on the command line, else in the ini file, else by default."""
    given = config.getoption(key(name))
    if given is not None:
        return str(given)
    default = next(value for option, value, *_ in OPTIONS if option == name)
    return _beside_ini(config, name, str(config.getini(key(name)))) or default


def _beside_ini(config: pytest.Config, name: str, text: str) -> str:
    """Return a path of the ini file as seen from the folder of that file, and anything else as it is."""
    if name in _LISTS and config.inipath:
        folder = config.inipath.parent
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return ",".join(str(folder / p) if p.endswith(_LISTS[name]) and ":" not in p else p for p in parts)
    path = name in _PATHS or (name == "judge" and text.endswith(".toml") and not text.startswith("panel:"))
    return str(config.inipath.parent / text) if path and text and config.inipath else text


def flag(config: pytest.Config, name: str) -> bool:
    """Return whether a flag is set, on the command line or in the ini file."""
    return bool(config.getoption(key(name)) or config.getini(key(name)))


def given(config: pytest.Config, name: str) -> bool:
    """Return whether an option was given, on the command line or in the ini file."""
    return config.getoption(key(name)) is not None or bool(config.getini(key(name)))


def case_files(config: pytest.Config) -> list[str]:
    """Return the files of cases that were given, or those that the judge.toml of the run names."""
    given = config.getoption("calm_cases")
    own = list(given) if given is not None else [str(p) for p in config.getini("calm_cases") or ()]
    judge = option(config, "judge")
    if own or not judge.endswith(".toml"):
        return own
    from calm.judges.judgefile import remembered

    return remembered(judge)


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of xdist."""
    return hasattr(config, "workerinput")


def commanded(config: pytest.Config) -> bool:
    """Return whether any of our options was given on the command line."""
    names = (*(name for name, *_ in (*OPTIONS, *FLAGS)), "cases")
    return any(config.getoption(key(name)) is not None for name in names)


def asked(config: pytest.Config) -> bool:
    """Return whether any of our options was given, on the command line or in the ini file."""
    return commanded(config) or bool(case_files(config)) or any(given(config, name) for name, *_ in OPTIONS)


def distributed(config: pytest.Config) -> bool:
    """Return whether the tests are spread over workers of xdist."""
    return bool(getattr(config.option, "dist", "no") != "no")


def indented(text: str) -> str:
    """Return a message of several lines as pytest shows it after `ERROR: `."""
    from calm.results.wording import fitted, printable

    lines = printable(text, "\n").splitlines()
    whole = "\n".join([f"ERROR: calm: {lines[0]}", *(f"      {rest}" for rest in lines[1:])])
    return fitted(whole, sys.stderr).removeprefix("ERROR: ")


def _whole(config: pytest.Config, name: str, least: int) -> int | None:
    from calm.errors import ConfigError

    text = option(config, name)
    if not text:
        return None
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        value = least - 1
    if value < least:
        raise ConfigError(f"--calm-{name}: expected a whole number of at least {least}, got {text!r}")
    return value


def seed_of(config: pytest.Config) -> int:
    """Return the seed of the run."""
    return _whole(config, "seed", 0) or 0


def lookahead_of(config: pytest.Config) -> int:
    """Return how many probes are asked at once, ahead of their tests."""
    return _whole(config, "lookahead", 0) or 0


def looks_ahead_of(config: pytest.Config) -> int:
    """Return how many looks are asked ahead of the one that is decided."""
    return _whole(config, "looks-ahead", 0) or 0


def sample_of(config: pytest.Config) -> int:
    """Return how many cases are asked at most."""
    return _whole(config, "sample", 1) or 1


def design_of(config: pytest.Config) -> Design:
    """Return the number of asks in each arm."""
    return design_in(option(config, "repeats"), "--calm-repeats")


def design_in(text: object, where: str) -> Design:
    """
    Return the number of asks in each arm that a text such as `2+1` names.

    Raises:
        ConfigError: it names none; `where` says where the text stands.
    """
    from calm.errors import ConfigError
    from calm.experiment.stopping import Design

    clean, plus, perturbed = str(text).partition("+")
    numbers = [int(n) for n in (clean, perturbed) if n.isascii() and n.isdigit()]
    if not plus or len(numbers) < 2 or not all(1 <= n <= MOST_ASKS for n in numbers):
        wanted = f"clean+perturbed asks such as 2+1, each at most {MOST_ASKS}"
        raise ConfigError(f"{where}: expected {wanted}, got {text!r}")
    return Design(*numbers)


def caps_of(config: pytest.Config) -> Caps:
    """Return the hard caps of the run."""
    from calm.engine.money import OF_PYTEST, Caps

    return Caps(
        calls=_whole(config, "max-calls", 1),
        tokens=_whole(config, "max-tokens", 1),
        usd=_amount(config, "max-usd"),
        minutes=_amount(config, "max-minutes"),
        option="--max-" if config.getoption("calm_command") else OF_PYTEST,
    )


def _amount(config: pytest.Config, name: str) -> float | None:
    from calm.errors import ConfigError

    text = option(config, name)
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount < float("inf"):
        raise ConfigError(f"--calm-{name}: expected an amount above 0, got {text!r}")
    return amount


def batches_of(config: pytest.Config) -> Batches | None:
    """
    Return how calls go by batch; None: they are made live.

    Raises:
        ConfigError: two of the options exclude each other, or there would be no record to go on from.
    """
    from calm.engine.engine import Batches
    from calm.errors import ConfigError

    leave, hold, cache = flag(config, "batch-leave"), flag(config, "batch-hold"), option(config, "cache")
    if leave and hold:
        raise ConfigError("--calm-batch-hold: expected this option or --calm-batch-leave, got both; leave one out")
    if not (leave or hold or flag(config, "batch")):
        return None
    if cache == "refresh" and (leave or hold):  # each run would ask again for what the last one collected
        raise ConfigError(f"--calm-batch-{'leave' if leave else 'hold'}: expected --calm-cache=on, got 'refresh'")
    if cache in ("off", "replay"):
        raise ConfigError(f"--calm-batch: expected --calm-cache=on or refresh, which keep what is asked, got {cache!r}")
    return Batches.HOLD if hold else Batches.LEAVE if leave else Batches.WAIT


def batch_least_of(config: pytest.Config) -> int:
    """Return how many calls make a batch."""
    return _whole(config, "batch-least", 1) or 1


def place_of(config: pytest.Config) -> Path | RecordAddress:
    """
    Return where replies are kept: a file, or a server.

    A file on the command line comes before a URL of the ini file, and both before a URL of the environment.

    Raises:
        ConfigError: both are given at once, or what is no URL.
    """
    from calm.engine.places import place

    said = [config.getoption(key(name)) for name in ("cache-file", "cache-url")]
    if said == [None, None]:
        said = [str(config.getini(key(name))) and option(config, name) for name in ("cache-file", "cache-url")]
    return place(
        said[0] or None, said[1] or None, os.environ, option="--calm-cache-url", usual=option(config, "cache-file")
    )


def run_name_of(config: pytest.Config) -> str:
    """
    Return the name of the run that this one is a part of; "": it has none.

    Raises:
        ConfigError: it is too long, or there is no cache to share.
    """
    from calm.errors import ConfigError

    name = option(config, "run")
    if len(name) > LONGEST_NAME:
        raise ConfigError(f"--calm-run: expected a name of at most {LONGEST_NAME} characters, got {len(name)}")
    if name and option(config, "cache") == "off":
        raise ConfigError("--calm-run: expected a cache that the machines of the run share, got --calm-cache=off")
    return name


def days_of(config: pytest.Config) -> float | None:
    """Return how old a kept reply may be, in days; None: as old as it is."""
    return _amount(config, "cache-days")


def limits_of(config: pytest.Config, path: Path | None = None) -> Limits:
    """
    Return which limits the tests of a file take; without a file, those of the suites that ship.

    Raises:
        ConfigError: no such choice, or attainable limits where it is not known what a sound judge attains.
    """
    from calm.errors import ConfigError, none_of
    from calm.gate.resolution import LIMITS, knows

    text, known = option(config, "limits"), knows(design_of(config), stopping_of(config))
    if not text:
        shipped = path is None or path.resolve().parent == SUITES.resolve()
        return "attainable" if known and shipped else "suites"
    for name in LIMITS:
        if name == text:
            break
    else:
        raise ConfigError(f"--calm-limits: {none_of(LIMITS, text)}")
    if name == "attainable" and not known:
        wanted = "--calm-repeats=2+1 or more, and another rule than --calm-stopping=anytime"
        raise ConfigError(f"--calm-limits: expected {wanted} with attainable limits")
    return name


def stopping_of(config: pytest.Config) -> Stopping:
    """Return the rule by which claims are decided."""
    from calm.experiment.stopping import Stopping

    return Stopping(option(config, "stopping"))


def families_of(config: pytest.Config) -> dict[str, str]:
    """
    Return the families that the user states for authors.

    Raises:
        ConfigError: something that is neither NAME=FAMILY nor a file of them.
    """
    if not (said := option(config, "families")):
        return {}
    from calm.core.families import stated

    return stated([said], "--calm-families")
