"""`--calm-gate`: limits, waivers and accepted NOT_TESTED, each with a reason and an expiry."""

PROVEN = "from calm import readable_rate\n\n\ndef test_b(probe):\n    assert probe().proves(readable_rate >= 0.9)\n"
ENTRY = '[[{kind}]]\nkey = "{key}"\n{more}reason = "known until the new prompt"\nexpires = {expires}\n'


def entry(kind, key, more="", expires="2999-12-31"):
    return ENTRY.format(kind=kind, key=key, more=more, expires=expires)


def test_another_limit_is_claimed_and_both_are_shown(project, workers):
    """An undecided claim passes under the limit that the owners accept; the record holds the stated one beside it."""
    wider = entry("limit", "flattery/gain/flatter", "limit = 0.25\n")
    lower = entry("limit", "flattery/net_robustness/flatter", "limit = 0.75\n")
    project.write("gate.toml", wider + lower)
    project.write("test_second.py", PROVEN)

    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json", *workers, judge="judges:torn")

    found = next(f for f in project.results()["findings"] if f["measure"] == "gain")
    assert result.ret == 0
    assert (found["outcome"], found["claim"]["limit"], found["stated"]["limit"]) == ("PASS", 0.25, 0.1)
    assert "known until the new prompt" in found["reason"]


def test_a_waived_claim_may_fail(project, workers):
    """The finding stays FAIL and says why it is accepted; the test and the gate are green."""
    waivers = [entry("waive", f"flattery/{measure}/flatter") for measure in ("gain", "net_robustness")]
    project.write("gate.toml", "".join(waivers))
    project.write("test_second.py", PROVEN)

    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json", *workers, judge="judges:fond")

    accepted = {f["key"]: f["accepted"] for f in project.results()["findings"] if f["outcome"] == "FAIL"}
    assert result.ret == 0
    assert set(accepted) == {"flattery/gain/flatter", "flattery/net_robustness/flatter"}
    assert all("known until the new prompt" in why for why in accepted.values())


def test_an_entry_that_means_no_claim_is_red(project):
    """A key that no finding has was misspelt or is left over."""
    project.write("gate.toml", entry("waive", "flattery/gain/flater"))

    result = project.run("--calm-gate=gate.toml")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["--calm-gate: * flattery/gain/flater means no claim of this run*"])


def test_a_wrong_file_is_said_before_anything_is_asked(project, subtests):
    """Exit status 4, the cause and the fix, and no call."""
    for text, message in [
        (entry("waive", "flattery/gain", expires="2020-01-01"), "*2020-01-01*"),
        (entry("wave", "flattery/gain"), "*did you mean 'waive'*"),
        ('[[waive]]\nkey = "flattery/gain"\nexpires = 2999-01-01\n', "*reason*"),
    ]:
        with subtests.test(repr(text)):
            project.write("gate.toml", text)

            result = project.run_apart("--calm-gate=gate.toml", judge="judges:counted")

            assert (result.ret, project.calls()) == (4, 0)
            result.stderr.fnmatch_lines([message])
            result.stderr.no_fnmatch_line("*Traceback*")
