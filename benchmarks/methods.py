"""
Each method of the publications: the command that gives it to a user, what computes it, and the test of a known value.

`tests/papers/test_methods.py` runs each command on a small input, sees that it calls what is named here, and that the
test exists. `python -m benchmarks.papers --write docs/measured/papers.md` writes the table into the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Method:
    """
    A method of a publication.

    `run` names the small run of the test that stands for `command`. `calls` are the functions of calm that it must
    call, as "module:name" below `calm.`; of a mitigation its name. `test` holds a value that was computed by hand or by
    an independent implementation, as "file::function" below `tests/`.
    """

    name: str
    command: str
    run: str
    calls: tuple[str, ...]
    test: str


def _calm(name: str, calls: str, test: str, run: str = "protocol") -> Method:
    command = "`calm compare a.json b.json --as calm`" if run == "compare" else "`pytest suites/papers`"
    return Method(name, command, run, (calls,), test)


def _own(name: str, calls: str, test: str, run: str = "pairwise", option: str = "") -> Method:
    command = f"`calm self-preference{' ' + option if option else ''}`"
    where = calls if calls.startswith("statistics.") else f"plugins.self_preference.{calls}"
    return Method(name, command, run, (where,), test)


def _uda(name: str, calls: str, test: str, option: str = "", run: str = "uda train") -> Method:
    return Method(name, f"`calm {run}{' ' + option if option else ''}`", run, (f"plugins.uda.{calls}",), test)


def _mitigation(name: str, entry: str, test: str) -> Method:
    return Method(name, f"`calm mitigate --try {entry}`", "mitigations", (entry.partition(":")[0],), test)


_PROTOCOL: Final = "plugins/papers/test_protocol.py::test_the_record_holds_the_papers_figures"
_ERRORS: Final = "statistics/test_calm_errors.py::test_both_signs_of_the_papers_versions"
_THESIS: Final = "papers/test_self_evaluation_thesis.py::test_every_cell_of_table_1_is_reproduced"
_TABLE_1: Final = "papers/test_rubric_self_preference.py::test_table_1_on_ifeval_is_reproduced"
_PANELS: Final = "plugins/mitigate/test_panels.py::"
_PROMPTS: Final = "plugins/mitigate/test_prompts.py::"
_RUBRIC: Final = "plugins/self_preference/test_rubric.py::"
_COMMANDS: Final = "plugins/self_preference/test_harmful_self_preference.py::"
_VOTES: Final = "plugins/self_preference/test_imported_votes.py::test_votes_make_a_majority_a_plurality_or_each_a_label"
_UDA: Final = "papers/test_uda.py::"

METHODS: Final[tuple[tuple[str, tuple[Method, ...]], ...]] = (
    (
        "CALM",
        (
            _calm("RR and CR of each bias", "plugins.papers.protocol:calm_protocol", _PROTOCOL),
            _calm(
                "accuracy before and after the edit (Acc, Acc_hack)", "plugins.papers.protocol:calm_protocol", _PROTOCOL
            ),
            _calm("AIR of chain-of-thought", "statistics.calm_errors:improvement_rate", _PROTOCOL),
            _calm("BIS", "statistics.calm_errors:bias_intensity", _PROTOCOL),
            _calm("Err_RA", "statistics.calm_errors:refinement_error", _ERRORS, "protocol of scores"),
            _own("Err_SE", "statistics.calm_errors:self_enhancement_error", _ERRORS, "score"),
            _calm(
                "Tables 4 and 5: judges side by side",
                "plugins.papers.protocol:judge_table",
                "plugins/papers/test_compare_as_calm.py::test_csv_holds_every_figure_as_computed_by_hand",
                "compare",
            ),
        ),
    ),
    (
        "Graded self-evaluation",
        (
            _own("S, R, G: N, mean, SD, t, p and intervals", "scores:self_evaluation", _THESIS, "headlines"),
            _own(
                "S - R, S - G, R - G: paired t",
                "scores:compared",
                "plugins/self_preference/test_self_evaluation.py::test_every_figure_is_that_of_scipy",
                "score",
            ),
            _own(
                "both framings in one run, the negative one mapped back",
                "parts:evaluation_parts",
                "plugins/self_preference/test_graded_self_evaluation.py::test_both_framings_are_in_one_run",
                "headlines",
                "--framings both",
            ),
            _own(
                "several dimensions (Likert form)",
                "parts:with_means",
                "plugins/self_preference/test_graded_self_evaluation.py::test_each_dimension_has_its_rows_and_all_have_a_mean",
                "headlines",
                "--dimension NAME=PROMPT",
            ),
            _own(
                "Peer Rank of models",
                "statistics.ratings:peer_rank",
                "plugins/self_preference/test_ranking.py::test_peer_rank_is_the_fixed_point_written_out",
            ),
            _own(
                "Bradley-Terry strengths",
                "statistics.ratings:bradley_terry",
                "plugins/self_preference/test_ranking.py::test_strengths_maximise_the_likelihood_without_own_answers",
            ),
            _mitigation("G-Eval", "g-eval", f"{_PROMPTS}test_g_eval_is_the_mean_of_the_scores_by_their_probabilities"),
            _mitigation("GEMBA: segments", "segments:k", f"{_PROMPTS}test_an_answer_is_scored_in_pieces"),
            _mitigation("MEC", "evidence:k", f"{_PROMPTS}test_evidence_is_averaged_over_its_evaluations"),
            _mitigation(
                "BPC", "rotations", "plugins/mitigate/test_orders.py::test_rotations_balance_any_number_of_answers"
            ),
            _mitigation("PoLL", "panel:b.toml+c.toml", f"{_PANELS}test_the_majority_decides"),
            _mitigation(
                "PoLL weighted by perplexity",
                "perplexity-panel:b.toml+c.toml",
                f"{_PANELS}test_who_finds_the_answers_likely_weighs_less",
            ),
            _mitigation(
                "Peer Rank of judges", "peer-rank:b.toml+c.toml", f"{_PANELS}test_peer_rank_finds_the_best_member"
            ),
            _mitigation("Peer Discussion", "discussion:b.toml", f"{_PANELS}test_a_discussion_ends_where_they_agree"),
            _mitigation(
                "AutoCalibrate",
                "autocalibrate:labelled.jsonl",
                "plugins/mitigate/test_autocalibrate.py::test_the_best_criteria_are_found_refined_and_judged_by",
            ),
        ),
    ),
    (
        "Equal opportunity and parity",
        (
            _own(
                "confusion counts",
                "opportunity:confusion",
                "plugins/self_preference/test_opportunity.py::test_counts_and_verdicts_agree",
            ),
            _own(
                "both recalls and the gap",
                "opportunity:equal_opportunity",
                "papers/test_self_preference_opportunity.py::test_the_gap_is_the_printed_one",
            ),
            _own("the gap by the majority of the votes on a pair", "report:of_pairs", _VOTES),
            _own("the gap by their plurality", "record:recounted", _VOTES, "plurality", "--votes plurality"),
            _own("the gap by each vote", "pairs:by_vote", _VOTES, "each", "--votes each"),
            _own(
                "demographic parity over all pairs (`parity`)",
                "opportunity:demographic_parity",
                "plugins/self_preference/test_opportunity.py::test_demographic_parity_is_twice_the_rate_less_one",
            ),
            _own("demographic parity over labelled pairs (`parity_labelled`)", "parts:opportunity_parts", _VOTES),
            _own(
                "gap and parity of questions with several pairs",
                "opportunity:opportunity_bootstrap",
                "plugins/self_preference/test_opportunity_parts.py::test_pairs_of_one_item_go_together",
            ),
            _own(
                "scores from the probabilities of the letters",
                "opportunity:own_scores",
                "plugins/self_preference/test_opportunity.py::test_log_probabilities_of_both_orders_are_averaged",
                "probabilities",
            ),
            _own(
                "win rates by difference in log-perplexity",
                "perplexity:curves",
                "plugins/self_preference/test_perplexity.py::test_a_judge_that_goes_by_perplexity_has_one_curve_and_a_steep_one",
                "perplexity",
                "--perplexity",
            ),
            _own(
                "own against others' log-perplexity",
                "parts:perplexity_parts",
                "plugins/self_preference/test_perplexity.py::test_own_answers_stand_beside_others_by_item",
                "perplexity",
                "--perplexity",
            ),
        ),
    ),
    (
        "Self-preference on criteria",
        (
            _own("MRA, HSPP by criterion (SR)", "harmful:harmful", _TABLE_1, "rubric"),
            *(
                _own(
                    f"MIPA, HSPP by comparison ({shape})",
                    "harmful:held",
                    "plugins/self_preference/test_evidence.py::test_a_small_table_has_the_same_ratio_in_every_shape",
                    run,
                )
                for shape, run in (("SR", "rubric"), ("AR", "rubric_all"), ("DA", "points"), ("PWC", "pairwise"))
            ),
            _own(
                "loss to win, loss to tie",
                "overestimation:overestimated_instances",
                f"{_COMMANDS}test_table_2_comes_from_the_command_as_printed",
                "ifeval",
            ),
            _own(
                "score of a direct assessment",
                "rubric:direct_scores",
                f"{_RUBRIC}test_a_committee_of_direct_assessments_is_their_mean",
                "points",
            ),
            _own(
                "score of a system from pairs",
                "rubric:pairwise_system_scores",
                f"{_RUBRIC}test_pairwise_verdicts_make_system_scores",
            ),
            _own(
                "committees, leave-one-out and by size",
                "harmful:together",
                f"{_COMMANDS}test_both_committees_of_the_paper_come_from_the_command",
                "ifeval",
                "--committee a,b,c",
            ),
            _own(
                "agreement filter",
                "harmful:filtered",
                f"{_COMMANDS}test_the_agreement_filter_comes_from_the_command",
                "ifeval",
                "--agreement 0.5,0.8",
            ),
            _own(
                "slices by sign, length, axis",
                "harmful:sliced",
                f"{_RUBRIC}test_recorded_criteria_can_be_sliced_by_topic_and_length",
                "ifeval",
                "--slices length,axis",
            ),
            _own(
                "self minus outsiders (MSD-SP)",
                "rubric:self_minus_outsiders",
                "papers/test_rubric_self_preference.py::test_figure_5_holds_the_authors_differences",
                "rubric",
            ),
            _own(
                "roles that flip for negative points",
                "overestimation:overestimated_rubrics",
                f"{_RUBRIC}test_the_roles_flip_for_negative_points",
                "rubric",
            ),
            _own(
                "centred differences of scores",
                "rubric:centred_deltas",
                "papers/test_rubric_self_preference.py::test_the_rows_of_figure_5_are_centred",
                "rubric",
            ),
        ),
    ),
    (
        "UDA",
        (
            _uda("Elo with base e", "ratings:rate", "plugins/uda/test_elo.py::test_the_scan_gives_what_the_loop_gives"),
            _uda("features", "network:features", "plugins/uda/test_network.py::test_the_features_stand_in_their_order"),
            _uda(
                "adaptive K and outcome",
                "network:adjust",
                "plugins/uda/test_network.py::test_the_formulas_of_k_and_outcome_are_the_papers",
            ),
            _uda(
                "loss and training",
                "training:train",
                "plugins/uda/test_training.py::test_the_gradient_is_that_of_small_steps",
            ),
            _uda(
                "deviation between judges",
                "ratings:inter_judge_std",
                f"{_UDA}test_the_row_of_deviations_of_the_baseline_comes_out",
                run="uda report",
            ),
            _uda(
                "deviation of a judge's own rating",
                "ratings:self_deviation",
                f"{_UDA}test_the_deviations_of_self_preference_come_out",
                run="uda report",
            ),
            _uda(
                "correlation with the consensus",
                "ratings:correlation",
                f"{_UDA}test_table_4_comes_out",
                run="uda report",
            ),
            _uda(
                "calibration against gold",
                "ratings:calibration",
                "plugins/uda/test_matrix.py::test_calibration_is_the_line_of_gold_on_ratings",
                run="uda report",
            ),
            _uda(
                "weighted consensus",
                "ratings:weights_of",
                "plugins/uda/test_weighting.py::test_agreement_is_the_correlation_with_the_others",
                "--weights agreement",
            ),
            _uda(
                "judges that share a lean",
                "ratings:clustered",
                "plugins/uda/test_clusters.py::test_leans_and_the_tree_are_those_of_numpy_and_scipy",
            ),
        ),
    ),
)
"""By publication, in the order of its methods."""
