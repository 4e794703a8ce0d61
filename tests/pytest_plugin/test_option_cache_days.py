"""`--calm-cache-days N`: what is older is asked again."""

import sqlite3
from contextlib import closing
from time import time

DAY_S = 86_400


def age(project, days):
    with closing(sqlite3.connect(project.path / ".calm" / "cache.sqlite")) as db, db:
        db.execute("update reply set at = ?", (time() - days * DAY_S,))
    db.close()


def test_old_replies_are_asked_again_and_replaced(project, workers):
    """Those of 10 days ago are not used with 9, are used with 11, and the new ones take their place."""
    project.run(judge="judges:counted")
    first = project.calls()
    age(project, 10)

    project.run("--calm-cache-days=11", *workers, judge="judges:counted")
    young = project.calls()
    project.run("--calm-cache-days=9", *workers, judge="judges:counted")
    old = project.calls()
    project.run("--calm-cache-days=9", *workers, judge="judges:counted")

    assert (young, old, project.calls()) == (first, 2 * first, 2 * first)


def test_a_replay_of_old_replies_fails_closed(project):
    """What is too old is not there, and nothing is asked."""
    project.run(judge="judges:counted")
    calls = project.calls()
    age(project, 10)

    done = project.run("--calm-cache=replay", "--calm-cache-days=9", judge="judges:counted")

    assert done.ret == 1
    assert project.calls() == calls


def test_a_number_of_days_is_wanted(project, subtests):
    """Anything else is a configuration error that names the option."""
    for days in ["0", "-1", "week", "inf", "nan"]:
        with subtests.test(repr(days)):
            done = project.run(f"--calm-cache-days={days}")

            assert done.ret == 4
            done.stderr.fnmatch_lines([f"*--calm-cache-days: expected an amount above 0, got '{days}'*"])
