"""
The tools whose judges are Python objects: what each makes of an object of its own, by the tool's public names.

Two names with an underscore are read where they are there: what a metric of deepeval needs (`_required_params`), and
the argument that keeps its progress bar away. Inspect's question to a model is not asked in a dry ask (`_inspect`).
"""

from __future__ import annotations

import copy
import importlib
import inspect
import math
import re
import string
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.plugins.adapters.door import DRY, FURTHER, Patch
from calm.plugins.adapters.evaluator import (
    ANSWER,
    CONTEXTS,
    QUESTION,
    REFERENCE,
    SECOND,
    SHARE,
    Evaluator,
    installed,
    listed,
    made,
    package,
    part_for,
    release_of,
)

_PASSED: Final[Mapping[str, float]] = {"pass": 1.0, "fail": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}


def _expected(spec: str, what: str, found: object, more: str = "") -> ConfigError:
    return ConfigError(f"--calm-judge {spec}: expected {what}, got {type(found).__name__}{more}")


def _lists(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: listed(value) if name in CONTEXTS else value for name, value in values.items()}


# autoevals: the ready-made scorers, and those of `LLMClassifier`; `Battle` compares two answers

_MUSTACHE: Final = re.compile(r"\{\{\{?\s*[#^&]?\s*(\w+)[\w.]*\s*\}?\}\}")


def _autoevals(found: object, spec: str) -> Evaluator:
    autoevals = package("autoevals", "autoevals", spec)
    if not isinstance(found, autoevals.Scorer) and callable(found):
        found = made(found, spec)
    if not isinstance(found, autoevals.Scorer):
        raise _expected(spec, "a scorer of autoevals, such as Factuality(...)", found)
    scorer: Any = found
    called = str(getattr(scorer, "name", type(scorer).__name__))
    battle = called == "Battle"
    texts = [str(one["content"]) for one in getattr(scorer, "messages", None) or ()]
    passes = {"output": ANSWER, "expected": SECOND if battle else REFERENCE, "input": QUESTION}
    if texts:  # what its template names: it renders a missing one as nothing
        usual = {**passes, **({"instructions": QUESTION} if battle else {})}
        usual.pop("input")
        given = {"__choices", *getattr(scorer, "render_args", {})}
        named = dict.fromkeys(["output", *(name for text in texts for name in _MUSTACHE.findall(text))])
        passes = {name: usual.get(name) or part_for(name) for name in named if name not in given}
    blocks = False
    if hasattr(scorer, "client"):
        with suppress(Exception):  # a client that cannot be made is the scorer's own to report
            client = scorer.client or package("autoevals.oai", "autoevals", spec).prepare_openai(is_async=True)
            blocks = not type(getattr(client, "openai", client)).__name__.startswith("Async")

    def verdict(result: Any) -> object:
        return {1: "A", 0: "B"}.get(result.score) if battle else result.score

    def score(values: Mapping[str, Any]) -> object:
        given = dict(values)
        output, expected = given.pop("output"), given.pop("expected", None)
        if blocks:
            return verdict(scorer.eval(output, expected, **given))

        async def awaited() -> object:
            return verdict(await scorer.eval_async(output, expected, **given))

        return awaited()

    scores = [float(one) for one in (getattr(scorer, "choice_scores", None) or {}).values() if one is not None]
    return Evaluator(
        release=release_of("autoevals"),
        task="pairwise" if battle else "score",
        scale=Scale() if battle else _between(scores),
        passes=passes,
        call=score,
        asynchronous=not blocks,
        notes=("autoevals has no tie: the first answer wins, or the second one",) if battle else (),
        description={"scorer": called, "prompt": "\n".join(texts)},
    )


def _between(numbers: list[float]) -> Scale:
    return Scale(min(numbers), max(numbers)) if numbers and min(numbers) < max(numbers) else SHARE


# deepeval: any metric for a single turn

_PARTS: Final[Mapping[str, str]] = {
    "input": QUESTION,
    "actual_output": ANSWER,
    "expected_output": REFERENCE,
    "context": "context",
    "retrieval_context": "context",
}


def _deepeval(found: object, spec: str) -> Evaluator:
    metrics = package("deepeval.metrics", "deepeval", spec)
    kinds = (metrics.BaseMetric, metrics.BaseConversationalMetric, metrics.BaseArenaMetric)
    if not isinstance(found, kinds) and callable(found):
        found = made(found, spec)
    if not isinstance(found, kinds):
        more = "; a function of your own is a judge without the word deepeval: before it"
        raise _expected(spec, "a metric of deepeval, such as GEval(...)", found, more)
    metric: Any = found
    kind = type(metric).__name__
    params = getattr(metric, "evaluation_params", None) or getattr(metric, "_required_params", None) or ()
    named = list(dict.fromkeys(["input", "actual_output", *(str(one.value) for one in params)]))
    mode = getattr(metric, "eval_mode", None)
    faults = {
        f"{kind} judges whole conversations, and a case holds one question with its answers; take a metric for a "
        "single turn": isinstance(metric, metrics.BaseConversationalMetric),
        f"{kind} draws the order and the names of the answers anew at each ask, so no bias for a position can be seen; "
        "call it in a function of your own: docs/how-to/audit-a-judge-of-another-tool.md shows one": isinstance(
            metric, metrics.BaseArenaMetric
        ),
        f"{kind} has eval_mode={mode!r}, which asks a service of deepeval's own, not a model; take "
        "eval_mode='llm'": mode not in (None, "llm"),
        "the metric has no evaluation_params, so it judges a trace, and a case has none; give it "
        "evaluation_params": getattr(metric, "requires_trace", False),
        f"the metric reads {', '.join(name for name in named if name not in _PARTS)} of a test case, and a case of "
        f"calm has {', '.join(_PARTS)} alone": not _PARTS.keys() >= set(named),
    }
    for fault, holds in faults.items():
        if holds:
            raise ConfigError(f"--calm-judge {spec}: {fault}")
    test_case = package("deepeval.test_case", "deepeval", spec).LLMTestCase

    async def score(values: Mapping[str, Any]) -> object:
        one = copy.copy(metric)  # a metric keeps score, reason and error on itself
        if hasattr(one, "include_reason"):
            one.include_reason = False
        return await one.a_measure(test_case(**_lists(values)), _show_indicator=False)

    criteria, steps = getattr(metric, "criteria", None), getattr(metric, "evaluation_steps", None)
    notes = {
        "its model makes the evaluation steps of the criteria at each ask; write evaluation_steps to fix them": criteria
        and not steps,
        "it is asked without its reason (include_reason=False), which it writes after the score": getattr(
            metric, "include_reason", False
        ),
    }
    return Evaluator(
        release=release_of("deepeval"),
        task="score",
        scale=SHARE if not getattr(metric, "strict_mode", False) else Scale(0.0, 1.0, 1.0),
        passes={name: _PARTS[name] for name in named},
        call=score,
        asynchronous=True,
        notes=tuple(note for note, holds in notes.items() if holds),
        description={"metric": kind, "prompt": "\n".join(str(part) for part in (criteria, *(steps or ())) if part)},
    )


# Inspect: model-graded scorers, and any other one that judges an output

_NO_MODEL: Final = "none/none"
_GRADES: Final[Mapping[str, float]] = {
    **{"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0},
    **dict.fromkeys(("yes", "true", "correct"), 1.0),
    **dict.fromkeys(("no", "false", "incorrect"), 0.0),
}
"""The values that Inspect's own `value_to_float` knows; it takes every other text for 0."""


def _inspect(found: object, spec: str) -> Evaluator:
    scorers = package("inspect_ai.scorer", "inspect", spec)
    models = package("inspect_ai.model", "inspect", spec)
    solvers = package("inspect_ai.solver", "inspect", spec)

    def waits(one: object) -> bool:
        return inspect.iscoroutinefunction(one) or (
            not inspect.isfunction(one) and inspect.iscoroutinefunction(getattr(one, "__call__", None))  # noqa: B004 - of what kind it is, not whether it is there
        )

    if callable(found) and not waits(found):
        found = made(found, spec)
    if not callable(found) or not waits(found):
        raise _expected(spec, "a scorer of Inspect, such as model_graded_qa(...)", found)
    scorer: Any = found
    if not FURTHER:
        FURTHER.extend(_unasked())

    async def score(values: Mapping[str, Any]) -> object:
        question, answer = values["input"], values["output"]
        target = scorers.Target(values.get("target", ""))
        state = solvers.TaskState(
            model=models.ModelName(_NO_MODEL),
            sample_id="1",
            epoch=1,
            input=question,
            messages=[models.ChatMessageUser(content=question), models.ChatMessageAssistant(content=answer)],
            target=target,
            output=models.ModelOutput.from_content(_NO_MODEL, answer),
            metadata={name: value for name, value in values.items() if name not in ("input", "output", "target")},
            completed=True,
        )
        given = await scorer(state, target)
        return None if given is None else _grade(given.value)

    return Evaluator(
        release=release_of("inspect-ai"),
        task="score",
        scale=SHARE,
        passes={"input": QUESTION, "output": ANSWER, "target": REFERENCE, "context": "context"},
        call=score,
        asynchronous=True,
        optional=frozenset({"target", "context"}),
        description={"scorer": str(getattr(scorer, "__qualname__", type(scorer).__name__)).partition(".")[0]},
    )


def _unasked() -> list[Patch]:
    try:
        provider = importlib.import_module("inspect_ai.model._providers.openai")  # it needs the package of OpenAI
    except ImportError:
        return []

    def unasked(before: Callable[[Any], Awaitable[bool]]) -> Callable[[Any], Awaitable[bool]]:
        async def reasoning_summaries(self: Any) -> bool:
            return True if DRY.get() else await before(self)

        return reasoning_summaries

    return [Patch(provider.OpenAIAPI, "reasoning_summaries", unasked)]


def _grade(value: Any) -> object:
    if isinstance(value, int | float):  # a truth value, too
        return None if math.isnan(value) else float(value)
    if isinstance(value, str):
        known = _GRADES.get(value, _GRADES.get(value.lower()))
        return _number(value) if known is None else known  # no number: the reader says so
    return value


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


# langchain and openevals: evaluators of `load_evaluator`, and functions `f(inputs, outputs, reference_outputs)`

_USUAL: Final[Mapping[str, str]] = {"inputs": QUESTION, "outputs": ANSWER, "reference_outputs": REFERENCE}
_MISREADINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("CriteriaEvalChain", "LabeledCriteriaEvalChain"),
        'langchain takes any reply that ends in y or n for a verdict: "I am not sure why" is a Y',
    ),
    **dict.fromkeys(
        ("QAEvalChain", "CotQAEvalChain", "ContextQAEvalChain"),
        'langchain takes any reply with the word correct for CORRECT: "the answer is not correct" is one',
    ),
}


def _langchain(found: object, spec: str) -> Evaluator:
    package("langchain_core", "langchain", spec)
    pairs = hasattr(found, "aevaluate_string_pairs")
    if not pairs and not hasattr(found, "aevaluate_strings"):
        if inspect.isfunction(found):
            return _function(found, spec, release_of("langchain-core"), {})
        what = "an evaluator, as load_evaluator(...) makes one, or a function f(inputs, outputs, reference_outputs)"
        raise _expected(spec, what, found)
    chain: Any = found
    kind = type(chain).__name__
    norm = getattr(chain, "normalize_by", None) or 1.0
    passes = {"prediction": ANSWER, **({"prediction_b": SECOND} if pairs else {})}
    if getattr(chain, "requires_input", True):
        passes["input"] = QUESTION
    if getattr(chain, "requires_reference", False):
        passes["reference"] = REFERENCE

    async def judged(values: Mapping[str, Any]) -> object:
        if pairs:
            score = (await chain.aevaluate_string_pairs(**values)).get("score")
            return {1: "A", 0: "B", 0.5: "tie"}.get(score)
        return (await chain.aevaluate_strings(**values)).get("score")

    return Evaluator(
        release=release_of("langchain-classic" if installed("langchain_classic") else "langchain"),
        task="pairwise" if pairs else "score",
        scale=Scale() if pairs else Scale(1.0 / norm, 10.0 / norm) if "ScoreString" in kind else SHARE,
        passes=passes,
        call=judged,
        asynchronous=True,
        notes=(_MISREADINGS[kind],) if kind in _MISREADINGS else (),
        description={
            "evaluator": kind,
            "prompt": str(getattr(getattr(chain, "prompt", None), "template", "") or ""),
        },
    )


def _openevals(found: object, spec: str) -> Evaluator:
    package("openevals", "openevals", spec)
    if not callable(found) or isinstance(found, type):
        raise _expected(spec, "an evaluator, as create_llm_as_judge(...) makes one", found)
    scorer = _closure(found).get("scorer")  # a ready-made one says nowhere else what it was made with
    return _function(found, spec, release_of("openevals"), {} if scorer is None else _closure(scorer))


def _closure(function: Any) -> dict[str, Any]:
    try:
        return dict(inspect.getclosurevars(function).nonlocals)
    except (TypeError, ValueError):  # no function of Python, or a value that is not set yet
        return {}


def _function(found: Any, spec: str, release: str, settings: Mapping[str, Any]) -> Evaluator:
    """
    Return a function of such parameters as it is asked; `settings` is what a ready-made one was made with.

    Raises:
        ConfigError: its parameters are not those of an evaluator.
    """
    if settings.get("schema") is not None:
        raise ConfigError(
            f"--calm-judge {spec}: it has an output_schema, so nothing says which of its values is the score; leave "
            "it out, or write a function that returns the score"
        )
    prompt = settings.get("prompt")
    passes, optional = _of_prompt(prompt, spec) or _of_parameters(found, spec)

    def scored(value: Any) -> object:
        """Return the score of a result: of the first one, if there are several."""
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, Mapping):
            value = value.get("score", value.get("value"))
        return float(value) if isinstance(value, bool) else value

    def score(values: Mapping[str, Any]) -> object:
        value = found(**values)

        async def awaited() -> object:
            return scored(await value)

        return awaited() if inspect.isawaitable(value) else scored(value)

    return Evaluator(
        release=release,
        task="score",
        scale=_between([float(one) for one in settings.get("choices") or ()]),
        passes=passes,
        call=score,
        asynchronous=inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(getattr(found, "func", None)),
        optional=optional,
        description={
            "evaluator": getattr(found, "__qualname__", type(found).__name__),
            "prompt": prompt if isinstance(prompt, str) else "" if prompt is None else repr(prompt),
        },
    )


def _of_prompt(prompt: Any, spec: str) -> tuple[dict[str, str], frozenset[str]] | None:
    named = getattr(prompt, "input_variables", None)
    if isinstance(prompt, str):
        named = [name for _, name, _, _ in string.Formatter().parse(prompt) if name]
    if named is None:
        return None
    if "outputs" not in named:
        raise ConfigError(f"--calm-judge {spec}: its prompt does not show the answer; write {{outputs}} into it")
    return {name: _USUAL.get(name) or part_for(name) for name in dict.fromkeys(named)}, frozenset()


def _of_parameters(found: Any, spec: str) -> tuple[dict[str, str], frozenset[str]]:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--calm-judge {spec}: expected a function with named parameters ({error})") from error
    given = {p.name: p.default is p.empty for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if "outputs" not in given:
        got = ", ".join(given) or "none"
        raise ConfigError(
            f"--calm-judge {spec}: expected a function f(inputs, outputs, reference_outputs), got one of {got}"
        )
    passes = {name: _USUAL.get(name) or part_for(name) for name, needed in given.items() if name in _USUAL or needed}
    return passes, frozenset(name for name, needed in given.items() if not needed and name != "outputs")


# ragas: the collections, discrete and numeric metrics with their model, and the older ones of single turns


def _ragas(found: object, spec: str) -> Evaluator:
    base = package("ragas.metrics.base", "ragas", spec)
    kinds = (base.SimpleBaseMetric, base.SingleTurnMetric)
    llm: Any = None
    if isinstance(found, tuple) and len(found) == 2:
        found, llm = found
    if not isinstance(found, (*kinds, base.Metric)) and callable(found):
        found = made(found, spec)
    if not isinstance(found, kinds):
        more = "; one that takes its model at each call is named with it: name = (metric, llm)"
        raise _expected(spec, "a metric of ragas that judges single answers", found, more)
    metric: Any = found
    kind = type(metric).__name__
    allowed = getattr(metric, "allowed_values", None)
    instruction = getattr(metric, "prompt", None)
    text = str(getattr(instruction, "instruction", instruction) or "")
    optional: frozenset[str] = frozenset()
    if isinstance(metric, base.SimpleLLMMetric):
        if llm is None:
            raise ConfigError(
                f"--calm-judge {spec}: {kind} is given its model at each call; name it with its model: "
                "name = (metric, llm)"
            )
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name]
        texts = [str(one) for one in allowed] if isinstance(allowed, list) else []
        if not all(one.lower() in _PASSED or isinstance(_number(one), float) for one in texts):
            raise ConfigError(
                f"--calm-judge {spec}: the metric's values {', '.join(texts)} have no order that calm knows; take "
                "numbers, or pass and fail, or write a function that returns a number"
            )

        async def score(values: Mapping[str, Any]) -> object:
            value = (await metric.ascore(llm=llm, **values)).value
            return _PASSED.get(value.lower(), value) if isinstance(value, str) else value
    elif isinstance(metric, base.SingleTurnMetric):
        sample = package("ragas.dataset_schema", "ragas", spec).SingleTurnSample
        needed, every = (metric.get_required_columns(more).get("SINGLE_TURN", set()) for more in (False, True))
        names, optional = sorted(every), frozenset(every - needed)

        async def score(values: Mapping[str, Any]) -> object:
            return await metric.single_turn_ascore(sample(**_lists(values)))
    else:
        parameters = inspect.signature(metric.ascore).parameters.values()
        names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        optional = frozenset(one.name for one in parameters if one.default is not one.empty)
        if not names:
            raise ConfigError(f"--calm-judge {spec}: nothing says what {kind} reads: it has no parameters")
        if getattr(getattr(metric, "llm", None), "is_async", True) is False:
            raise ConfigError(
                f"--calm-judge {spec}: the metric's model has a client that blocks, which ragas cannot await; make it "
                "with llm_factory(..., client=AsyncOpenAI())"
            )

        async def score(values: Mapping[str, Any]) -> object:
            return (await metric.ascore(**_lists(values))).value

    ends = [allowed.start, allowed.stop] if isinstance(allowed, range) else list(allowed or ())
    known = [_PASSED.get(str(one).lower(), _number(str(one))) for one in ends]
    rubrics = getattr(metric, "rubrics", None)
    if not known and isinstance(rubrics, Mapping):
        known = [1.0, float(len(rubrics))]
    return Evaluator(
        release=release_of("ragas"),
        task="score",
        scale=_between([one for one in known if isinstance(one, float)]),
        passes={name: part_for(name) for name in names},
        call=score,
        asynchronous=True,
        optional=optional,
        description={"metric": kind, "prompt": text},
    )


@dataclass(frozen=True, slots=True)
class Tool:
    """
    How an object of a tool is asked.

    `evaluator_of` takes the object and what the user wrote; it raises a `ConfigError` where the tool is not there, or
    the object cannot be a judge. `package` is what Python knows the tool as, `environment` what is set before it is
    imported, where the user has not.
    """

    evaluator_of: Callable[[object, str], Evaluator]
    package: str
    environment: Mapping[str, str] = field(default_factory=dict)


TOOLS: Final[Mapping[str, Tool]] = {
    "autoevals": Tool(_autoevals, "autoevals"),
    "deepeval": Tool(
        _deepeval,
        "deepeval",
        {
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "DEEPEVAL_DISABLE_DOTENV": "1",
            "DEEPEVAL_DISABLE_TIMEOUTS": "1",  # a call may wait for its turn longer than deepeval would
            "DEEPEVAL_RETRY_MAX_ATTEMPTS": "1",
        },
    ),
    "inspect": Tool(_inspect, "inspect_ai"),
    "langchain": Tool(_langchain, "langchain_core", {"LANGSMITH_TRACING": "false"}),
    "openevals": Tool(_openevals, "openevals", {"LANGSMITH_TRACING": "false"}),
    "ragas": Tool(_ragas, "ragas", {"RAGAS_DO_NOT_TRACK": "true", "LANGSMITH_TRACING": "false"}),
}
"""
The tools by the word before the colon; promptfoo is a program of its own.

Tracing is off, as each call may be sent to a service else.
"""
