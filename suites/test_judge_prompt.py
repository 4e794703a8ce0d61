"""Judge prompt: the same question in other words must lead to the same verdict."""

import pytest

from calm import gain, net_robustness, rotate
from calm.perturbations import bundled_prompt, judge_prompt
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant
WORDING = rotate(
    judge_prompt.append_sentence,
    judge_prompt.prepend_sentence,
    judge_prompt.forbid_bias,
    judge_prompt.give_persona,
    judge_prompt.system_as_user,
    judge_prompt.reason_first,
    name="wording",
)
BUNDLED = rotate(
    bundled_prompt.rephrase,
    bundled_prompt.define_terms,
    bundled_prompt.instruct_first,
    bundled_prompt.instruct_last,
    bundled_prompt.shout_tags,
    bundled_prompt.double_tags,
    bundled_prompt.verdict_first,
    bundled_prompt.no_reasons,
    bundled_prompt.commit_first,
    bundled_prompt.in_german,
    bundled_prompt.in_brackets,
    bundled_prompt.in_json,
    bundled_prompt.in_tag,
    bundled_prompt.in_last_line,
    name="bundled",
)
SCALES = rotate(
    bundled_prompt.worst_first,
    bundled_prompt.count_down,
    bundled_prompt.letters,
    bundled_prompt.roman_numerals,
    bundled_prompt.times_ten,
    bundled_prompt.from_zero,
    name="scale",
)
ALONE = (
    WORDING,
    BUNDLED,
    SCALES,
    bundled_prompt.offer_unclear,
    judge_prompt.reorder_criteria,
)


@pytest.mark.parametrize("edit", ALONE, ids=lambda edit: edit.name)
def test_other_words_do_not_move_the_verdict(probe, edit):
    assert probe(edit).proves(**SAME_VERDICT)


def test_the_order_of_the_keys_does_not_move_the_verdict(probe):
    assert probe(bundled_prompt.verdict_key_first, against=bundled_prompt.reasons_key_first).proves(**SAME_VERDICT)


def test_a_choice_without_ties_is_observed(probe):
    probe(bundled_prompt.forbid_ties).observe(net_robustness, gain)
