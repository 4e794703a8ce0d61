"""JUnit from a record: a test case a test, the gate's own properties, red where the gate is red."""

import re
from xml.etree import ElementTree

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because
from calm.results.reports.sarif import WHOLE, render_junit, write_junit
from calm.results.wording import value
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, sample


def suite_of(audit):
    """Return the one test suite, whose counts are those of its cases."""
    (suite,) = ElementTree.fromstring(render_junit(audit))
    for name, place in (("tests", "testcase"), ("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
        assert suite.get(name) == str(len(suite.findall(place)))
    return suite


def cases_of(audit):
    """Return the test cases by class and name."""
    return {(case.get("classname"), case.get("name")): case for case in suite_of(audit).findall("testcase")}


def test_every_claim_is_a_property_worded_as_during_the_run():
    """Name and value are those that the gate gives to pytest's own file."""
    found = [(p.get("name"), p.get("value")) for p in suite_of(sample()).findall("testcase/properties/property")]

    assert sorted(found) == sorted((f.key, f"{f.outcome.value} {value(f)}") for f in sample().findings)


def test_a_test_is_red_where_a_finding_of_it_is():
    """FAIL, INCOMPLETE and UNDECIDED are failures, what was accepted is none, what was not tested is skipped."""
    node = "suites/test_x.py::TestX::test_{}[a::b]"
    outcomes = {o.value.lower(): finding(key=o.value, node=node.format(o.value.lower()), outcome=o) for o in Outcome}
    accepted = finding(key="known", node=node.format("known"), outcome=Outcome.FAIL, accepted="until 2026-09-01: soon")

    cases = cases_of(empty(findings=(*outcomes.values(), accepted)))
    state = {name: [(e.tag, e.get("type")) for e in case if e.tag != "properties"] for (_, name), case in cases.items()}

    assert {group for group, _ in cases} == {"suites.test_x.TestX", "calm"}
    assert state.pop(WHOLE) == []
    assert state == {
        "test_pass[a::b]": [],
        "test_fail[a::b]": [("failure", "FAIL")],
        "test_undecided[a::b]": [("failure", "UNDECIDED")],
        "test_incomplete[a::b]": [("failure", "INCOMPLETE")],
        "test_not_tested[a::b]": [("skipped", "NOT_TESTED")],
        "test_observed[a::b]": [],
        "test_known[a::b]": [("system-out", None)],
    }


def test_several_claims_of_one_test_are_one_case():
    """The worst names the failure, and all red ones are listed."""
    node = "suites/test_x.py::test_y"
    red = [finding(key=f"x/{o.value}", node=node, outcome=o) for o in (Outcome.UNDECIDED, Outcome.FAIL, Outcome.PASS)]

    case = cases_of(empty(findings=tuple(red)))["suites.test_x", "test_y"]

    assert case.find("failure").get("type") == "FAIL"
    assert [told.partition(":")[0] for told in case.find("failure").text.splitlines()] == ["x/UNDECIDED", "x/FAIL"]
    assert len(case.findall("properties/property")) == 3


def test_a_run_that_proves_nothing_is_red_without_a_red_test(subtests):
    """What no test can say has a case of its own."""
    for audit in [
        empty(),
        empty(findings=(finding(),), faults=(because(Kind.INTERRUPTED),)),
    ]:
        with subtests.test(audit=audit):
            assert cases_of(audit)["calm", WHOLE].find("failure") is not None


def test_it_is_as_green_as_the_gate():
    """Nothing fails in a run whose gate is green."""
    audit = empty(findings=(finding(),))

    assert audit.green()
    assert suite_of(audit).get("failures") == "0"


def test_any_text_is_valid_xml(subtests):
    """No text becomes markup or a character that XML does not know, and none makes the file large."""
    for text in HOSTILE:
        with subtests.test(text=text):
            shown = render_junit(hostile_audit(text))

            tags = {e.tag for e in ElementTree.fromstring(shown).iter()}
            assert tags <= {
                "testsuites",
                "testsuite",
                "testcase",
                "properties",
                "property",
                "failure",
                "skipped",
                "system-out",
            }
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
            assert len(shown) < 200_000


def test_it_is_written_whole(tmp_path):
    """The file holds what is rendered."""
    write_junit(sample(), tmp_path / "out" / "junit.xml")

    assert (tmp_path / "out" / "junit.xml").read_text("utf-8") == render_junit(sample())
