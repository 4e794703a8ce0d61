"""Texts that `calm rewrite` writes are shown by the suites that it names."""

import json
import re

from calm.cases import read_cases
from calm.commands.plan import suite_of
from calm.core.ready_made import KINDS, text_kind
from tests.plugins.search.test_rewrite import answer_in, calm, padded, writer_file
from tests.servers import wire_server
from tests.suites.gate import run_gate
from tests.suites.test_ready_made_texts import announced, bad, good, shown_in

WORD = {"because": "since", "measured": "gauged", "guessed": "supposed", "near": "beside"}


def in_other_words(text):
    """Return a text with some of its words replaced."""
    return re.sub("|".join(WORD), lambda found: WORD[found[0]], text)


GERMAN = "Der Fluss hat die Zahlen {}. Das wurde im Boot gemessen, und die Karte stimmt damit."


OBEYED = {
    "make the answer about twice as long": padded,
    "translate the answer into German": lambda text: GERMAN.format(" und ".join(re.findall(r"[0-9]+", text))),
    "plant one error": lambda text: text.replace("near the town", "far from any town"),
    "break the reasoning": lambda text: text.replace("Therefore the map", "A week is long, so the map"),
    **{f"{mood} tone": f"I feel {mood} as I say so. {{}}".format for mood in ("cheerful", "sad", "angry", "fearful")},
    "": in_other_words,
}
"""What a writer makes of a text, by the words of its task."""


def respond(messages, body):
    """Return what a writer answers that obeys each task."""
    prompt = messages[-1][1]
    task = prompt.rpartition("</answer>")[2]
    made = next(make for words, make in OBEYED.items() if words in task)
    return f"<rewrite>\n{made(answer_in(prompt))}\n</rewrite>"


FEW = 10
"""The cases whose texts a writer makes."""


KINDS_ASKED = "verbosity,sentiment,fallacy,error,polish,paraphrase,neutral,translate:de"


def test_nobody_pays_for_texts_that_no_suite_shows(tmp_path, capsys):
    """Each kind that `calm rewrite` writes is shown by the suite that it names, in as many cases as announced."""
    source = tmp_path / "cases.jsonl"
    rows = [
        {
            "id": f"c{number}",
            "question": f"How long is river {number}?",
            "answers": [{"id": "good", "text": good(number)}, {"id": "bad", "text": bad(number)}],
            "better": "good",
        }
        for number in range(FEW)
    ]
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    path = tmp_path / "rewritten.jsonl"
    with wire_server(respond) as server:
        status = calm(
            "rewrite",
            source,
            f"--with={writer_file(tmp_path, server)}",
            f"--kinds={KINDS_ASKED}",
            f"-o={path}",
            f"--cache-file={tmp_path / 'cache.sqlite'}",
        )
    said = capsys.readouterr().out
    cases = read_cases(path)
    written = {name for case in cases for name in case.variants}
    suites = sorted({f"calm.suites.{suite_of(text_kind(name))}" for name in written})

    gate = run_gate(
        "planted:noise=0.02",
        tmp_path,
        f"--calm-cases={path}",
        "--calm-stopping=fixed",
        "--calm-every-variant",
        "--calm-repeats=2+4",
        what=("--pyargs", *suites),
        timeout_s=500,
    )

    rows = [row for one in gate.results["findings"] for row in one["trials"]]
    assert status == 0
    assert written == {name for name, kind in KINDS.items() if kind.word} | {"translate_de"}
    assert {row["own"] for row in rows} - {""} == written
    assert shown_in(gate.results).items() >= {name: one.shown for name, one in announced(cases).items()}.items()
    assert {one.shown for one in announced(cases).values()} == {FEW}
    for name in written:
        assert re.search(rf"\b{name}\b[^\n]*: shown by suites/{suite_of(text_kind(name))}\.py", said), name
    floors = {row["own"]: row["floor"] for row in rows if row["inert"]}
    assert {floors[name] for name in ("lengthen", "cheerful", "sad", "angry", "fearful", "paraphrase")} == {"rewrite"}
    assert "no probe of this run shows the texts" not in gate.output
