"""SARIF: valid by its schema, a rule a bias, a result for each finding that is red or accepted, and where it stands."""

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, reason_of
from calm.results.audit import Control
from calm.results.reports.sarif import render, to_sarif, write
from calm.results.sentences import sentence
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, judge, sample

SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0-part.schema.json").read_text("utf-8"))


def checked(audit, **options):
    """Return the one run of a log that keeps to the schema, and to what the standard says beside it."""
    log = json.loads(render(audit, **options))
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER).validate(log)
    (run,) = log["runs"]
    assert broken_rules(run) == []
    return run


def broken_rules(run):
    """Return which obligations of the standard a run does not keep that no schema can state."""
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    results = run["results"]
    places = [(place, r) for r in results for place in (*r["locations"], *r.get("relatedLocations", ()))]
    files = [place["physicalLocation"]["artifactLocation"] for place, _ in places]
    notes = [n["message"] for i in run["invocations"] for n in i["toolExecutionNotifications"]]
    texts = [
        m["text"]
        for m in (*notes, *(r["message"] for r in results), *(p["message"] for p, _ in places if "message" in p))
    ]
    keeps = {
        "uriBaseId: is defined in the run": {f["uriBaseId"] for f in files} <= set(run["originalUriBaseIds"]),
        "uri: is relative beside a base": not [f for f in files if re.match(r"/|[A-Za-z][\w+.-]*:", f["uri"])],
        "uri: has no empty step, and none up or in place": not [
            f for f in files if {".", "..", ""} & set(f["uri"].split("/"))
        ],
        "message: no placeholder without arguments": not [
            t for t in texts if re.search(r"\{\d+\}", t.replace("{{", "").replace("}}", ""))
        ],
        "message: no embedded link": not [t for t in texts if re.search(r"(?<!\\)\]\(", t)],
        "rules: no id twice": len(set(rules)) == len(rules),
        "ruleIndex: names the rule of ruleId": all(rules[r["ruleIndex"]] == r["ruleId"] for r in results),
        "level: a failure has one": all(r["level"] != "none" for r in results if r["kind"] == "fail"),
        "relatedLocations: no id twice": all(
            len(set(ids)) == len(ids) for r in results if (ids := [p["id"] for p in r.get("relatedLocations", ())])
        ),
        "suppressions: of all results or of none": len({"suppressions" in r for r in results}) < 2,
        "baselineState: of all results or of none": len({"baselineState" in r for r in results}) < 2,
    }
    return [section for section, kept in keeps.items() if not kept]


def uri(location):
    """Return the file of a location."""
    return location["physicalLocation"]["artifactLocation"]["uri"]


def failing(**changes):
    """Return an audit with one claim that failed."""
    return empty(findings=(finding(**{"outcome": sample().findings[0].outcome, **changes}),))


def test_a_log_is_valid(subtests):
    """What is written keeps to the schema."""
    for audit in [empty(), sample()]:
        with subtests.test(audit=audit):
            assert checked(audit)["tool"]["driver"]["name"] == "calm"


def test_the_schema_refuses_what_is_no_sarif():
    """The schema in use would find a fault."""
    log = to_sarif(sample())
    log["runs"][0]["results"][0]["level"] = "fatal"

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA)


def test_the_schema_asks_for_what_the_standard_asks(subtests):
    """What the text of the standard rules out is refused, not the wrong types alone."""
    for place, value in [
        (("runs", 0, "results", 0, "kind"), "pass"),
        (("runs", 0, "results", 0, "locations", 0, "physicalLocation", "artifactLocation", "uri"), "a b.py"),
        (("runs", 0, "results", 0, "locations", 0, "physicalLocation", "artifactLocation"), {"uriBaseId": "%SRCROOT%"}),
        (("runs", 0, "results", 0, "locations", 0, "physicalLocation", "region"), {"startColumn": 1}),
        (("runs", 0, "results", 0, "locations", 0, "logicalLocations"), [{"kind": "function"}]),
        (("runs", 0, "originalUriBaseIds", "%SRCROOT%"), {"uri": "file:///srv/tests"}),
        (("runs", 0, "invocations", 0, "startTimeUtc"), "2026-05-04 09:12"),
        (("runs", 0, "tool", "driver", "rules", 0, "id"), ""),
        (("runs", 0, "tool", "driver", "informationUri"), "example.org"),
        (("$schema",), "sarif-2.1.0.json"),
    ]:
        with subtests.test(place=place, value=value):
            log = inner = json.loads(render(sample()))
            for step in place[:-1]:
                inner = inner[step]
            inner[place[-1]] = value

            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(log, SCHEMA)


def test_what_no_schema_can_say_is_checked_too():
    """A result without suppressions among others that have some is found."""
    run = to_sarif(sample())["runs"][0]
    del run["results"][0]["suppressions"]
    run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "a/../b"
    run["results"][1]["message"]["text"] = "see {0}"

    assert [told.partition(":")[0] for told in broken_rules(run)] == ["uri", "message", "suppressions"]


def test_biases_that_look_alike_have_rules_of_their_own():
    """An id says what can be seen; two that would be the same are numbered."""
    twins = [finding(key=f"{b}/gain", bias=b, outcome=Outcome.FAIL) for b in ("a b", "a  b", "a\nb", "", " ")]

    run = checked(empty(findings=tuple(twins)))

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["unnamed", "unnamed-2", "a b", "a b-2", "a b-3"]


def test_a_control_stands_beside_its_finding():
    """What inert words did in the same place is there as numbers; the message is its sentence."""
    audit = failing(control=Control("note", 0.012, None, 197))
    result = checked(audit)["results"][0]

    assert result["properties"]["control"] == {"floor": "note", "moved": 0.012, "gain": None, "n": 197}
    assert sentence(audit.findings[0]) in result["message"]["text"]


def test_there_is_a_rule_for_each_bias():
    """Each result names its rule by id and by place."""
    run = checked(sample())
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert rules == sorted({f.bias for f in sample().findings})
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"])


def test_results_are_what_is_red_and_what_was_accepted():
    """A claim that passed is none; one that was accepted is suppressed, with its reason."""
    results = {r["properties"]["key"]: r for r in checked(sample())["results"]}

    assert set(results) == {f.key for f in sample().findings if f.red or f.accepted}
    assert results["position/net_robustness/swap"]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "until 2026-09-01: the next prompt asks in both orders",
        }
    ]
    assert results["authority/gain/rotation"]["suppressions"] == []
    assert results["framing/mean_shift/inverted"]["level"] == "warning"


def test_a_result_stands_at_its_test_and_names_the_prompt(tmp_path):
    """The suite's file comes first, at the line of the test; the prompt's file and judge.toml are related."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "test_mine.py").write_text(
        "import calm\n\n\nclass TestX:\n    def test_it(self):\n        pass\n"
    )
    found = failing(node="suites/test_mine.py::TestX::test_it[a-b]")
    found = replace(found, judge=judge(about={"files": ["prompts/judge.jinja", "judge.toml"]}))

    result = checked(found, root=tmp_path)["results"][0]

    assert uri(result["locations"][0]) == "suites/test_mine.py"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 5}
    assert [uri(place) for place in result["relatedLocations"]] == ["prompts/judge.jinja", "judge.toml"]


def test_a_suite_of_calm_gives_way_to_the_prompt(subtests):
    """What the reader can change comes first."""
    for file in ("test_authority.py", "calm/suites/test_authority.py"):
        with subtests.test(file):
            found = replace(failing(node=f"{file}::test_x"), judge=judge(about={"files": ["judge.jinja"]}))

            result = checked(found)["results"][0]

            assert uri(result["locations"][0]) == "judge.jinja"
            assert [uri(place) for place in result["relatedLocations"]] == ["calm/suites/test_authority.py"]


def test_no_location_leaves_its_folder(subtests):
    """Paths are relative, whatever the record says."""
    for node in ["/srv/suites/test_x.py::test_y", "../other/test_x.py::test_y", "C:\\a\\test_x.py::y", ""]:
        with subtests.test(node=node):
            found = replace(failing(node=node), judge=judge(about={"files": ["/etc/passwd", "../secret", 7]}))

            places = [
                uri(place)
                for r in checked(found)["results"]
                for place in (*r["locations"], *r.get("relatedLocations", ()))
            ]

            assert places
            assert not [place for place in places if place.startswith("/") or ".." in place or ":" in place]


def test_the_same_finding_has_the_same_fingerprint():
    """Two runs are matched by the key, whatever was measured."""
    prints = {checked(failing(value=v))["results"][0]["partialFingerprints"]["calmKey/v1"] for v in (0.1, 0.2)}

    assert len(prints) == 1


def test_a_run_that_was_cut_short_did_not_succeed(subtests):
    """A viewer is told that results are missing."""
    note = reason_of("fine")
    for faults in [(because(Kind.INTERRUPTED),), ()]:
        with subtests.test(faults=faults):
            run = checked(replace(sample(), faults=faults, run=replace(sample().run, notes=(note,))))

            assert run["invocations"][0]["executionSuccessful"] == (not faults)
            assert str(*faults or (note,)) in [
                n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]
            ]


def test_no_text_breaks_the_log_or_makes_a_link(tmp_path, subtests):
    """The log stays valid and small, and holds no link, placeholder or control character."""
    for text in HOSTILE:
        with subtests.test(text=text):
            shown = render(hostile_audit(text), root=tmp_path)

            run = checked(hostile_audit(text), root=tmp_path)

            messages = [r["message"]["text"] for r in run["results"]]
            assert not [m for m in messages if "](" in m or re.search(r"(?<!\{)\{\d\}(?!\})", m)]
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
            assert len(shown) < 300_000


def test_it_is_written_whole(tmp_path):
    """The file holds what is rendered."""
    write(sample(), tmp_path / "out" / "results.sarif")

    assert (tmp_path / "out" / "results.sarif").read_text("utf-8") == render(sample())
