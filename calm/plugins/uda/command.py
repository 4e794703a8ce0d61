"""`calm uda train`, `apply`, `report`: align the ratings of several judges without labels, or describe them."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from calm.commands import DONE, REFUSED, add_command
from calm.commands.terminal import end_of_progress, progress_line
from calm.errors import ConfigError, nearest
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calm.plugins.uda.comparisons import Comparisons
    from calm.plugins.uda.network import Settings
    from calm.plugins.uda.training import Progress, State

PAGES = (".html", ".htm")
"""What the name of a page ends in."""
EMBEDDERS = "hashed[:DIMS], sentence-transformers:MODEL, openai:MODEL"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `uda train`, `uda apply` and `uda report`."""
    uda = add_command(commands, "uda", "Align the ratings of several judges, without labels.")
    verbs = uda.add_subparsers(required=True, metavar="train|apply|report")
    train = add_command(
        verbs,
        "train",
        "Train a network that aligns the ratings of several judges. It learns from comparisons and needs no labels. "
        "The report covers the comparisons that were held out.",
        "calm uda train self-preference.json --answers answers.jsonl -o uda.safetensors",
    )
    _add_inputs(train)
    option = train.add_argument
    option("--embed", default="hashed:64", metavar="NAME", help=f"{EMBEDDERS} (default hashed:64)")
    model = Path("uda.safetensors")
    option("-o", "--out", type=Path, default=model, metavar="FILE", help="the model file to write")
    option("--without-own", action="store_true", help="leave out the judges' own answers (the ablation)")
    option("--hidden", default="256,64", metavar="N,N", help="hidden layers (default 256,64; paper 2048,512,64)")
    features = "also let the network see instruction, perplexity or both (default: neither, as the paper)"
    option("--features", default="", metavar="NAMES", help=features)
    option("--epochs", type=int, default=80, metavar="N", help="steps over all comparisons (default 80)")
    option("--learning-rate", type=float, default=1e-4, metavar="X", help="step size (default 0.0001)")
    option("--validation", type=float, default=0.3, metavar="V", help="share of comparisons held out (default 0.3)")
    option("--seed", type=int, default=42, metavar="I", help="seed (default 42)")
    option("--k", type=float, default=32.0, metavar="X", help="K-factor of the ratings (default 32)")
    option("--base", type=float, default=math.e, metavar="X", help="base of the ratings (default e; chess 10)")
    option("--checkpoint", type=Path, metavar="FILE", help="keep the state in FILE, and continue from it if it exists")
    option("--every", type=int, default=10, metavar="N", help="write the state every N epochs (default 10)")
    option("--leave-one-out", action="store_true", help="also train without each judge, and rate that judge")
    train.set_defaults(run=_train)
    apply = add_command(
        verbs,
        "apply",
        "Rate with a trained network. The report shows the ratings before and after.",
        "calm uda apply uda.safetensors self-preference.json --answers answers.jsonl --report uda.html",
    )
    apply.add_argument("model", type=Path, metavar="MODEL", help="a file that `calm uda train` wrote")
    _add_inputs(apply)
    apply.add_argument("--embed", metavar="NAME", help=f"{EMBEDDERS} (default: what the model was trained with)")
    apply.set_defaults(run=_apply)
    describe = add_command(
        verbs,
        "report",
        "Report on ratings that you have: how far the judges lie apart, how near they are to gold. It trains nothing.",
        "calm uda report ratings.csv --after aligned.csv --gold gold.json --report uda.html",
    )
    describe.add_argument(
        "matrix", type=Path, metavar="MATRIX.csv", help="a row of ratings for each judge, a column for each model"
    )
    describe.add_argument("--after", type=Path, metavar="MATRIX.csv", help="the same judges and models after alignment")
    _add_reporting(describe, weights="equal")
    describe.set_defaults(run=_report)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "comparisons",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a record of `calm self-preference`, results.json of each of several judges, or comparisons as JSON Lines "
        "or .csv",
    )
    option(
        "--answers",
        type=Path,
        metavar="FILE",
        help="for records, the cases that `calm answer` wrote; else answers as JSON Lines or .csv: prompt, model, text",
    )
    option("--base-url", metavar="URL", help="address of the embedding server, for openai:...")
    option("--keep-collapsed", action="store_true", help="write the files also if the alignment collapsed")
    _add_reporting(parser, weights="equal; apply: as the model was trained")


def _add_reporting(parser: argparse.ArgumentParser, *, weights: str) -> None:
    option = parser.add_argument
    option(
        "--weights",
        metavar="equal|agreement|FILE.json",
        help="how much each judge counts in the consensus: equal, by its agreement with the others, or as FILE says "
        f"(default: {weights})",
    )
    option("--gold", type=Path, metavar="FILE", help="true ratings by model: a JSON object, or a CSV with one row")
    option(
        "--report",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="also write the report: FILE.html for people, FILE.json for machines; may be given twice",
    )


def _refuse_outputs(options: argparse.Namespace, inputs: Sequence[Path], *names: str) -> None:
    from calm.plugins.uda.ratings import AGREEMENT, EQUAL
    from calm.results.outputs import REPORT, UDA_CHECKPOINT, UDA_MODEL, UDA_REPORT, Output, refuse

    if odd := [path for path in options.report if path.suffix.lower() not in (*PAGES, ".json")]:
        raise ConfigError(f"--report: expected a name that ends in .html or .json, got {str(odd[0])!r}; rename it")
    forms = {"out": UDA_MODEL, "checkpoint": UDA_CHECKPOINT}
    given: list[Path | None] = [getattr(options, name, None) for name in ("model", "answers", "gold", "after")]
    if options.weights not in (None, EQUAL, AGREEMENT):
        given.append(Path(options.weights))
    written = [Output(f"--{name}", path, forms[name]) for name in names if (path := getattr(options, name))]
    pages = [
        Output("--report", path, UDA_REPORT if path.suffix.lower() == ".json" else REPORT) for path in options.report
    ]
    refuse([*written, *pages], inputs=[path for path in (*inputs, *given) if path is not None])


def _train(options: argparse.Namespace) -> int:
    from calm.plugins.uda.comparisons import embedder, split
    from calm.plugins.uda.matrix import read_gold, refuse_foreign
    from calm.plugins.uda.network import Settings
    from calm.plugins.uda.ratings import EQUAL, Elo, choice_of, name_of, refuse_strangers
    from calm.plugins.uda.reading import read
    from calm.plugins.uda.report import report
    from calm.plugins.uda.training import Model, apply, digests, judge_weights, save_model

    _refuse_outputs(options, options.comparisons, "out", "checkpoint")
    try:
        hidden = tuple(int(part) for part in options.hidden.split(","))
    except ValueError as error:
        said = f"got --hidden={options.hidden!r}"
        raise ConfigError(f"expected hidden layers as whole numbers with commas, {said}") from error
    settings = Settings(
        hidden=hidden,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        validation=options.validation,
        own=not options.without_own,
        seed=options.seed,
        elo=Elo(k=options.k, base=options.base),
        extra=_features(options.features),
        weights=choice_of(options.weights or EQUAL),
    )
    embed = embedder(options.embed, base_url=options.base_url)
    gold = read_gold(options.gold) if options.gold else None
    data, unread = read(options.comparisons, options.answers, embed, extra=settings.extra)
    refuse_strangers(options.weights, data.judges)
    refuse_foreign(options.gold, gold, data.models)
    state = _trained(data, settings, options)
    fits, held_out = split(data, settings.validation)
    weights = judge_weights(fits, settings)
    rated = apply(state.best, held_out, settings)
    made = report(*rated, data.judges, data.models, gold=gold, rng=Random(0), weights=weights)
    made["weighting"] = name_of(settings.weights)
    made["training"] = {
        "comparisons": len(data),
        "held_out": len(held_out),
        "epochs": state.epoch,
        "best_epoch": state.best_epoch,
        "validation_loss": state.best_loss,
        "own_answers": settings.own,
        "features": list(settings.extra),
        "seed": settings.seed,
        "embedder": embed.name,
    }
    kept = options.keep_collapsed or not made["collapse"]
    if kept:
        save_model(options.out, Model(state.best, settings, data.dims, embed.name, frozenset(digests(fits))))
    if options.leave_one_out and kept:
        made["leave_one_judge_out"] = _left_out(data, settings, gold)
    print(f"{len(held_out):,} of {len(data):,} comparisons held out; best epoch {state.best_epoch} of {state.epoch}\n")
    if not kept:
        return _refuse_collapsed(made | {"unread": unread}, [options.out, *options.report], TRAIN_BETTER)
    _tell(made | {"unread": unread}, options.report)
    print(f"\nmodel: {printable(str(options.out))}")
    return DONE


def _apply(options: argparse.Namespace) -> int:
    from calm.plugins.uda.comparisons import embedder
    from calm.plugins.uda.matrix import read_gold, refuse_foreign
    from calm.plugins.uda.ratings import choice_of, name_of, refuse_strangers
    from calm.plugins.uda.reading import read
    from calm.plugins.uda.report import report
    from calm.plugins.uda.training import apply, digests, judge_weights, load_model

    _refuse_outputs(options, options.comparisons)
    model = load_model(options.model)
    if options.embed and options.embed != model.embedder:
        raise ConfigError(
            f"expected the embedder of the model, {model.embedder!r}, got --embed={options.embed!r}; "
            f"leave --embed out, or train again"
        )
    gold = read_gold(options.gold) if options.gold else None
    embed = embedder(model.embedder, base_url=options.base_url)
    data, unread = read(options.comparisons, options.answers, embed, extra=model.settings.extra)
    refuse_strangers(options.weights, data.judges)
    refuse_foreign(options.gold, gold, data.models)
    chosen = choice_of(options.weights) if options.weights else model.settings.weights
    settings = replace(model.settings, weights=chosen)
    rated, weights = apply(model.params, data, settings), judge_weights(data, settings)
    made = report(*rated, data.judges, data.models, gold=gold, rng=Random(0), weights=weights)
    made["weighting"] = name_of(chosen)
    if seen := sum(one in model.trained_on for one in digests(data)):
        made["foremost"].append(
            f"the model was trained with {seen:,} of these {len(data):,} comparisons, so the figures flatter it; judge "
            "it by other comparisons, or by the report of its training"
        )
    print(f"{len(data):,} comparisons of {len(data.judges)} judges and {len(data.models)} models\n")
    if made["collapse"] and not options.keep_collapsed:
        return _refuse_collapsed(made | {"unread": unread}, options.report, APPLY_BETTER)
    _tell(made | {"unread": unread}, options.report)
    return DONE


def _report(options: argparse.Namespace) -> int:
    from calm.plugins.uda.matrix import read_after, read_gold, read_matrix, refuse_foreign
    from calm.plugins.uda.ratings import EQUAL, choice_of, name_of, refuse_strangers, weights_of
    from calm.plugins.uda.report import report

    _refuse_outputs(options, [options.matrix])
    given = read_matrix(options.matrix)
    after = read_after(options.after, given) if options.after else None
    gold = read_gold(options.gold) if options.gold else None
    refuse_foreign(options.gold, gold, given.models)
    refuse_strangers(options.weights, given.judges)
    chosen = choice_of(options.weights or EQUAL)
    weights = weights_of(chosen, given.ratings, given.judges)
    made = report(given.ratings, after, given.judges, given.models, gold=gold, rng=Random(0), weights=weights)
    print(f"ratings of {len(given.judges)} judges of {len(given.models)} models\n")
    _tell(made | {"weighting": name_of(chosen)}, options.report)
    return DONE


TRAIN_BETTER = (
    "Give more comparisons, or train faster (--learning-rate 0.01) or longer (--epochs 300). If the judges agree "
    "already (correlation .9 or more), there is little to align: use their ratings as they are"
)
APPLY_BETTER = (
    "The model does not fit these comparisons: train one on such comparisons, or use the ratings as they were before"
)


def _refuse_collapsed(made: Mapping[str, Any], files: Sequence[Path], better: str) -> int:
    from calm.plugins.uda.report import collapsed

    _tell({**made, "warnings": made["warnings"][1:]}, [])  # the first says what follows
    names = ", ".join(str(path) for path in files)
    said = (
        f"calm: the alignment collapsed, so {f'nothing was written to {names}' if names else 'do not use it'}: "
        f"{collapsed(made['collapse'])}. {better}. --keep-collapsed writes the files all the same."
    )
    print(fitted(printable(said), sys.stderr), file=sys.stderr)
    return REFUSED


def _trained(data: Comparisons, settings: Settings, options: argparse.Namespace) -> State:
    from calm.plugins.uda.training import load_state, save_state, train

    path: Path | None = options.checkpoint
    if options.every < 1:
        raise ConfigError(f"expected epochs between checkpoints of 1 or more, got every={options.every}")

    def keep(state: State) -> None:
        if path is not None and (state.epoch % options.every == 0 or state.epoch == settings.epochs):
            save_state(path, state, settings, data)

    begun = load_state(path, settings, data) if path is not None and path.exists() else None
    if begun is not None:
        print(f"calm: continuing from {printable(str(path))}, epoch {begun.epoch}", file=sys.stderr)
    return train(data, settings, state=begun, show=_show, keep=keep)


def _show(progress: Progress) -> None:
    line = (
        f"epoch {progress.epoch} of {progress.epochs}: loss {progress.training_loss:.1f}, held out "
        f"{progress.validation_loss:.1f}, best {progress.best_loss:.1f}"
    )
    last = progress.epoch == progress.epochs
    progress_line(line, worth=last or progress.epoch % 10 == 0)
    if last:
        end_of_progress()


def _left_out(data: Comparisons, settings: Settings, gold: Mapping[str, float] | None) -> dict[str, object]:
    """
    Rate each judge with a network that was trained without it, and compare with the mean of all other judges.

    The rating uses all comparisons of the judge; the network has seen none of them.
    """
    import numpy as np

    from calm.plugins.uda.ratings import correlation, squared_error
    from calm.plugins.uda.report import FEWEST_GOLD
    from calm.plugins.uda.training import apply, train

    found: dict[str, object] = {}
    known = [m for m, name in enumerate(data.models) if gold and name in gold]
    for judge, name in enumerate(data.judges):
        print(f"calm: training without {name!r}", file=sys.stderr)
        state = train(data.without_judge(judge), settings)
        before, after = apply(state.best, data, settings)
        others = np.delete(before, judge, axis=0).mean(axis=0)
        sides: dict[str, object] = {}
        for side, ratings in (("before", before[judge]), ("after", after[judge])):
            figures = {
                "correlation_with_others": correlation(ratings, others),
                "squared_error_to_others": squared_error(ratings, others),
            }
            if gold and len(known) >= FEWEST_GOLD:
                figures["correlation_with_gold"] = correlation(
                    ratings[known], np.array([gold[data.models[m]] for m in known])
                )
            sides[side] = figures
        found[name] = sides
    return found


def _tell(made: Mapping[str, Any], paths: Sequence[Path]) -> None:
    from calm.plugins.uda.report import table
    from calm.results.outputs import UDA_REPORT, write_whole
    from calm.results.reports import pages

    if unread := made.get("unread"):
        print(f"{unread:,} verdict{'s' * (unread != 1)} could not be read and made no comparison\n")
    print(fitted(printable(table(made), keep="\n"), sys.stdout))
    left_out = made.get("leave_one_judge_out")
    if isinstance(left_out, dict):
        print("\ntrained without the judge, then applied to it: correlation with the other judges before and after")
        for name, sides in left_out.items():
            found = (sides[side]["correlation_with_others"] for side in ("before", "after"))
            print(printable(f"  {name}: {' '.join('-' if one is None else f'{one:.3f}' for one in found)}"))
    for path in paths:
        text = json.dumps(made, indent=1, allow_nan=False)
        if path.suffix.lower() == ".json":
            write_whole(path, [text, "\n"], UDA_REPORT)
        else:
            pages.write(json.loads(text), path)  # as `calm report` of the JSON
        print(f"\nreport: {printable(str(path))}")


def _features(text: str) -> tuple[str, ...]:
    from calm.plugins.uda.comparisons import FEATURES

    given = [part.strip() for part in text.split(",") if part.strip()]
    if odd := [name for name in given if name not in FEATURES]:
        raise ConfigError(
            f"--features: expected {' or '.join(FEATURES)}, or both with a comma, got {odd[0]!r}"
            f"{nearest(odd[0], FEATURES)}"
        )
    return tuple(name for name in FEATURES if name in given)
