"""gate.toml: what the owners of a suite accepted, why and until when; and every way to write it wrongly."""

from datetime import date

import pytest

from calm.errors import ConfigError
from calm.results.gatefile import Gate, read_gate

TODAY = date(2026, 11, 20)
GATE = """
[[limit]]
key = "authority/gain"
limit = 0.15
reason = "accepted by the owners until the new prompt ships"
expires = 2027-01-31

[[limit]]
key = "baseline/worsening/gain"
limit = 0.05
reason = "a smaller model"
expires = 2026-11-20

[[waive]]
key = "verbosity/gain/double"
reason = "  known  "
expires = 2027-01-31

[[not_tested]]
key = "framing"
reason = "the prompt has no twin"
expires = 2027-01-31

[[not_tested]]
key = "bandwagon/net_robustness"
reason = "no notes"
expires = 2027-01-31
"""


def gate(tmp_path, text):
    """Read a gate of this text."""
    path = tmp_path / "gate.toml"
    path.write_text(text, encoding="utf-8")
    return read_gate(path, TODAY)


def problems(tmp_path, text):
    """Return what is wrong with a gate, without the path."""
    with pytest.raises(ConfigError) as caught:
        gate(tmp_path, text)
    return [p.removeprefix(f"{tmp_path / 'gate.toml'}: ") for p in caught.value.problems]


def entry(kind="limit", **changes):
    """Return an entry as TOML; None leaves a key out."""
    held = {"key": '"authority/gain"', "limit": "0.15", "reason": '"why"', "expires": "2027-01-31"}
    if kind != "limit":
        del held["limit"]
    lines = [f"{k} = {v}" for k, v in (held | changes).items() if v is not None]
    return "\n".join([f"[[{kind}]]", *lines, ""])


def test_a_limit_is_found_by_its_key(tmp_path):
    """With reason and last day; other keys have none."""
    found = gate(tmp_path, GATE)

    one = found.limit_for("authority/gain")
    assert (one.limit, one.expires) == (0.15, date(2027, 1, 31))
    assert one.reason == "accepted by the owners until the new prompt ships"
    assert found.limit_for("authority/gain/cite_book") is None
    assert found.limit_for("verbosity/gain/double") is None


def test_a_waiver_is_no_limit(tmp_path):
    """Each kind answers its own question."""
    found = gate(tmp_path, GATE)

    assert found.waiver("verbosity/gain/double").reason == "known"
    assert found.waiver("verbosity/gain") is None
    assert found.waiver("authority/gain") is None


def test_a_bias_alone_accepts_that_none_of_it_was_tested(tmp_path):
    """A key with a measure accepts that one claim."""
    found = gate(tmp_path, GATE)

    assert found.accepts_untested("framing/net_robustness") is not None
    assert found.accepts_untested("framing/mean_shift/invert") is not None
    assert found.accepts_untested("framing-2/mean_shift") is None
    assert found.accepts_untested("bandwagon/net_robustness") is not None
    assert found.accepts_untested("bandwagon/gain") is None


def test_an_entry_holds_on_its_last_day(tmp_path):
    """And not on the day after."""
    assert gate(tmp_path, GATE).limit_for("baseline/worsening/gain").expires == TODAY


def test_entries_that_mean_nothing_are_named(tmp_path):
    """Misspelt, or of a test that is gone."""
    keys = ["authority/gain", "framing/net_robustness", "baseline/worsening/gain", "verbosity/gain"]

    assert gate(tmp_path, GATE).unused(iter(keys)) == (
        "[[waive]] verbosity/gain/double",
        "[[not_tested]] bandwagon/net_robustness",
    )


def test_an_empty_gate_accepts_nothing(tmp_path):
    """No file is needed for that."""
    assert gate(tmp_path, "# nothing\n") == Gate()
    assert Gate().unused(["authority/gain"]) == ()


def test_what_is_wrong_is_said(tmp_path, subtests):
    """With the entry it is about, what was expected, and what came."""
    for text, expected in [
        (entry("limits"), "unknown table 'limits'; did you mean 'limit'?"),
        ("[limit]\n", "limit: expected tables that begin with [[limit]], got {}"),
        ("waive = 3\n", "waive: expected tables that begin with [[waive]], got 3"),
        (entry(reasn='"x"'), "unknown key 'reasn'; did you mean 'reason'?"),
        (entry("waive", limit="0.2"), "unknown key 'limit'; known: expires, key, reason"),
        (entry(key=None), "key: expected the key of a finding such as 'authority/gain', got none"),
        (entry(key="3"), "key: expected bias/measure or bias/measure/perturbation, got 3"),
        (entry(key='"a//b"'), "key: expected bias/measure or bias/measure/perturbation, got 'a//b'"),
        (entry(key='" a/gain"'), "key: expected bias/measure or bias/measure/perturbation, got ' a/gain'"),
        (entry(key='"a/gain/b/c"'), "key: expected bias/measure or bias/measure/perturbation, got 'a/gain/b/c'"),
        (entry(key='"Au_th/gain"'), "key: expected a bias in kebab case such as 'self-authorship', got 'Au_th'"),
        (entry("waive", key='"framing"'), "key: expected bias/measure such as 'framing/gain', got 'framing'"),
        (entry(key='"authority/gian"'), "key: no measure is called 'gian'; did you mean 'gain'?"),
        (entry(reason=None), "reason: expected who accepted this and why, got none"),
        (entry(reason='"  "'), "reason: expected who accepted this and why, got '  '"),
        (entry(reason="5"), "reason: expected who accepted this and why, got 5"),
        (entry(expires=None), "expires: expected a day without quotes such as 2027-01-31, got none"),
        (entry(expires='"2027-01-31"'), "expires: expected a day without quotes such as 2027-01-31, got '2027-01-31'"),
        (
            entry(expires="2027-01-31T10:00:00"),
            "expires: expected a day without quotes such as 2027-01-31, got 2027-01-31 10:00:00",
        ),
        (
            entry(expires="2026-11-19"),
            "expires: expired on 2026-11-19; fix the cause, or decide again and set a later day",
        ),
        (entry(limit=None), "limit: expected a number such as 0.15, got none"),
        (entry(limit='"0.1"'), "limit: expected a number such as 0.15, got '0.1'"),
        (entry(limit="true"), "limit: expected a number such as 0.15, got True"),
        (entry(limit="nan"), "limit: expected a number such as 0.15, got nan"),
        (entry(limit="1.0"), "limit: gain <= 1 can be neither proven nor disproven: its range is -1 to 1"),
        (
            entry(key='"a/net_robustness"', limit="1.0"),
            "limit: net_robustness >= 1 can be neither proven nor disproven: its range is 0 to 1",
        ),
        (
            entry(key='"authority/worsening"'),
            "limit: of the findings about a baseline only those like 'baseline/worsening/net_robustness' have one; "
            "waive the others",
        ),
        (
            entry(key='"baseline/worsening/gain"', limit="0"),
            "limit: expected a number between 0 and 1 for baseline/worsening/gain, got 0",
        ),
        (
            entry(key='"baseline/worsening"'),
            "limit: of the findings about a baseline only those like 'baseline/worsening/net_robustness' have one; "
            "waive the others",
        ),
        (entry(key='"baseline/worsening/gian"'), "key: no measure is called 'gian'; did you mean 'gain'?"),
        (entry() + entry(), "[[limit]] authority/gain: expected one entry for each key, got two"),
        (entry() + entry("waive"), "[[waive]] authority/gain: expected either another limit or a waiver, got both"),
    ]:
        with subtests.test(text=text, expected=expected):
            found = problems(tmp_path, text)

            assert len(found) == 1
            assert found[0].endswith(expected)


def test_all_errors_come_at_once(tmp_path):
    """Each with the table, its number and its key."""
    found = problems(tmp_path, entry(reason=None, limit='"x"') + entry("waive", expires="2020-01-01") + "[other]\n")

    assert [p.partition(": ")[0] for p in found] == [
        "unknown table 'other'; known",
        "[[limit]] number 1 (authority/gain)",
        "[[limit]] number 1 (authority/gain)",
        "[[waive]] number 1 (authority/gain)",
    ]


def test_a_limit_of_one_key_and_its_gap_are_two_things(tmp_path):
    """A claim may have another limit where it is tested, and be untested for another judge."""
    found = gate(tmp_path, entry() + entry("not_tested"))

    assert found.limit_for("authority/gain") is not None
    assert found.accepts_untested("authority/gain") is not None


def test_what_is_not_toml_is_named_with_its_line(tmp_path):
    """As are files that are not there or not text."""
    assert "the key key has no value" in problems(tmp_path, "[[limit]]\nkey = \n")[0]
    assert "line 2" in problems(tmp_path, "[[limit]]\nkey = \n")[0]
    with pytest.raises(ConfigError, match="there is no such file"):
        read_gate(tmp_path / "none.toml", TODAY)
    (tmp_path / "bytes.toml").write_bytes(b"key = '\xff'")
    with pytest.raises(ConfigError, match="not in UTF-8"):
        read_gate(tmp_path / "bytes.toml", TODAY)


def test_claims_of_every_resolution_have_limits(tmp_path):
    """About a whole run, about the worst variant, and about what any rewording moves."""
    keys = {
        "run/net_robustness": 0.9,
        "run/gain": 0.1,
        "run/unreadable_gain": 0.1,
        "authority/worst_gain": 0.4,
        "sensitivity/worst_detection": 0.1,
        "rewording/rewording_rate": 0.2,
    }

    found = gate(tmp_path, "".join(entry(key=f'"{key}"', limit=f"{limit}") for key, limit in keys.items()))

    assert found.limits == keys


def test_findings_about_a_baseline_can_be_waived(tmp_path):
    """By the keys that a comparison gives them."""
    found = gate(tmp_path, entry("waive", key='"authority/worsening/cite"'))

    assert found.waiver("authority/worsening/cite") is not None
