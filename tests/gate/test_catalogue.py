"""Perturbations by name, and the names of perturbations."""

from calm import Expects, perturbation, rotate
from calm.gate.catalogue import entries, find_edit, name_of
from calm.perturbations import authority
from tests.planted import Planted, fair


def test_a_name_leads_back_to_its_edit(subtests):
    """What has a name is found by it: the same edit, or of a factory one with the same label."""
    named, judge = 0, Planted(fair)
    for entry in entries():
        if name := name_of(entry.edit, judge):
            with subtests.test(entry.key):
                found = find_edit(name, judge.name)
                assert (found.bias, found.label) == (entry.edit.bias, entry.edit.label)
                named += 1
    assert named > 200


def test_what_no_command_line_can_name_has_no_name():
    """An edit that a test makes in its body, or a rotation, is found by no name."""

    @perturbation(bias="mine", expects=Expects.SAME)
    def local(case, rng):
        """Change nothing."""

    assert name_of(local) == ""
    assert name_of(rotate(authority.cite_book, authority.cite_quote)) == ""
