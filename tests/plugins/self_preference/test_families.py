"""Who is related to whom, and what that says about a test."""

import pytest

from calm.core.families import (
    Relation,
    families_of,
    family_of,
    leaks,
    relation,
)
from calm.core.names import one_name
from calm.errors import EstimateError


def test_families_come_from_names(subtests):
    """A known beginning names the family; a word that only begins with the same letters does not."""
    for model, family in [
        ("gpt-4.1-2025-04-14", "gpt"),
        ("openai/o3", "gpt"),
        ("claude-3-7-sonnet-20250219", "claude"),
        ("google/gemma-3-27b-it", "gemma"),
        ("gemini-2.5-pro-preview-05-06", "gemini"),
        ("meta-llama/Llama-4-Scout", "llama"),
        ("Qwen2-72B-Instruct", "qwen"),
        ("mixtral-8x22b", "mistral"),
        ("Nous-Hermes-2-Mistral-7B-DPO", "mistral"),
        ("Nous-Hermes-2-Mixtral-8x7B-SFT", "mistral"),
        ("NousResearch/Nous-Hermes-2-Yi-34B", "yi"),
        ("Nous-Hermes-13b", "llama"),
        ("zephyr-7b-gemma-v0.1", "gemma"),
        ("zephyr-7b-beta", "mistral"),
        ("DeepSeek-R1-Distill-Qwen-32B", "qwen"),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "qwen"),
        ("DeepSeek-R1-Distill-Llama-70B", "llama"),
        ("DeepSeek-R1", "deepseek"),
        ("llama-3-8b-mistral-style", "llama"),
        ("oasst-rlhf-2-llama-30b", "llama"),
        ("our-own-llama", None),
        ("our-own-model", None),
        ("phiale-7b", None),
    ]:
        with subtests.test(model=model, family=family):
            assert family_of(model) == family


@pytest.mark.parametrize(
    ("model", "family", "taught"),
    [
        ("vicuna-13b-v1.2", "llama", True),
        ("lmsys/vicuna-7b", "llama", True),
        ("alpaca-13b", "llama", True),
        ("koala-13b", "llama", True),
        ("wizardlm-13b", "llama", True),
        ("guanaco-33b", "llama", False),
        ("gpt4all-13b-snoozy", "llama", True),
        ("fastchat-t5-3b", "t5", True),
        ("stablelm-tuned-alpha-7b", "stablelm", True),
        ("stablelm-base-alpha-7b", "stablelm", False),
        ("mpt-7b-chat", "mpt", True),
        ("RWKV-4-Raven-14B", "rwkv", True),
        ("dolly-v2-12b", "eleuther", False),
        ("oasst-pythia-12b", "eleuther", False),
        ("oasst-sft-7-llama-30b", "llama", False),
        ("gpt-j-6b", "eleuther", False),
        ("chatglm-6b", "glm", False),
        ("palm-2", "gemini", False),
    ],
)
def test_a_fine_tune_has_the_family_of_its_weights_and_a_teacher(model, family, taught):
    """Authors of MT-bench and the arena; a model of the teacher's line is related to what learnt from its outputs."""
    assert family_of(model) == family
    assert relation("gpt-4", model) is (Relation.DERIVED if taught else Relation.UNRELATED)
    assert relation(model, "gpt-4") is relation("gpt-4", model)
    assert relation("llama-2-70b", model) is (Relation.SAME_FAMILY if family == "llama" else Relation.UNRELATED)


def test_a_distilled_model_has_its_teacher_beside_the_family_of_its_weights():
    """The line that taught it is related to it, and so is the line of its weights."""
    model = "DeepSeek-R1-Distill-Qwen-32B"

    assert relation("deepseek-v3", model) is Relation.DERIVED
    assert relation("qwen3-8b", model) is Relation.SAME_FAMILY


def test_a_stated_family_wins_over_the_name():
    """A distilled model may carry the name of one family and the taste of another."""
    assert family_of("llama-distilled-from-r1", {"llama-distilled-from-r1": "deepseek"}) == "deepseek"


def test_names_and_families_are_compared_without_case_and_white_space(subtests):
    """Whoever spells them; what differs is another model: two dates of one line are two models of one family."""
    stated = {"Vendor/House-1 ": "QWEN", "plain": " Unknown"}
    for model in ("house-1", "HOUSE-1", "vendor/House-1", "house-1-2025-01-01"):
        with subtests.test(model=model):
            assert family_of(model, stated) == "qwen"
    assert family_of("Plain", stated) is None
    assert relation("GPT-4o", "openai/gpt-4o") is Relation.SAME_MODEL
    assert relation("house-1-2025-01-01", "House-1-2025-02-02") is Relation.SAME_FAMILY
    assert relation("a", "b", {"a": "Qwen", "B": "qwen"}) is Relation.SAME_FAMILY


def test_the_spellings_of_one_author_are_one_name():
    """A judge's spelling wins; an exact date before the name without one; a name that may be two judges is neither."""
    judges = ["openai/gpt-4o-2024-05-13", "gpt-4o-2024-08-06"]

    found = one_name(["GPT-4o-2024-08-06", "gpt-4o", "Human", "human "], judges)

    assert found == {
        "GPT-4o-2024-08-06": "gpt-4o-2024-08-06",
        "gpt-4o": "gpt-4o",
        "Human": "Human",
        "human ": "Human",
    }
    assert one_name(["gpt-4o"], judges[:1]) == {"gpt-4o": judges[0]}


def test_an_unknown_family_is_an_error_and_not_a_stranger():
    """Taking an unknown model for an unrelated one would hide a bias."""
    with pytest.raises(EstimateError, match="none for mystery, riddle; name it"):
        families_of(["gpt-5", "mystery", "riddle"])


def test_relations(subtests):
    """Same model, derived, same family, unrelated, unknown: in this order."""
    for judge, model, derived, expected in [
        ("gpt-5", "openai/gpt-5", (), Relation.SAME_MODEL),
        ("gpt-5", "student-7b", [("student-7b", "gpt-5")], Relation.DERIVED),
        ("gpt-5", "gpt-4o", (), Relation.SAME_FAMILY),
        ("gpt-5", "claude-opus-4", (), Relation.UNRELATED),
        ("gpt-5", "student-7b", (), Relation.UNKNOWN),
    ]:
        with subtests.test(judge=judge, model=model, derived=derived, expected=expected):
            assert relation(judge, model, derived=derived) is expected


def test_the_lint_names_every_relation_and_every_doubt():
    """Unrelated makers are left out; unknown ones are not."""
    makers = {"answers": ["claude-opus-4", "gpt-4o"], "perturbations": ["student-7b"], "gold labels": ["gpt-5"]}

    found = leaks("gpt-5", makers)

    assert [(leak.role, leak.model, leak.relation) for leak in found] == [
        ("answers", "gpt-4o", Relation.SAME_FAMILY),
        ("gold labels", "gpt-5", Relation.SAME_MODEL),
        ("perturbations", "student-7b", Relation.UNKNOWN),
    ]
    assert "name the families" in str(found[2])
