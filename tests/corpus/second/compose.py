"""Writes the rows of this folder from the texts in `written/`: `python tests/corpus/second/compose.py`.

`written/<lang>.txt` holds three lists of reasons (`@reasons`, `@ties`, `@scores`) and the skeletons, each under a line
`@@ format task kind real|hard verdict`. In a skeleton, `§` and one sign stand for what differs from row to row; see
`SLOTS`. Nothing here is random: the same texts give the same bytes.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "ja", "zh", "ko", "ru")
ROWS = 220
EACH = {True: 4, False: 2}  # rows of one skeleton, at most: of a real one, of a hard one
ALIKE = 3  # replies that differ in digits and labels alone, at most, in all languages together
SLOTS = {
    "X": "the label that the judge means, A or B",
    "Y": "the other label",
    "x": "X in lower case",
    "w": "X in full width",
    "W": "Y in full width",
    "c": "X in Cyrillic",
    "N": "the number that the judge means",
    "M": "another number of the scale",
    "K": "a third one",
    "n": "N in full width",
    "L": "the low end of the scale",
    "H": "its high end",
    "r": "why X is better",
    "R": "another reason",
    "t": "why neither is better",
    "s": "a remark on one answer",
    "S": "another remark",
    "z": "a zero-width space",
    "b": "a no-break space",
    "_": "nothing, to keep white space at an end",
}
NUMBERS = {
    (1, 10): (7, 4, 8, 3, 9, 6, 5, 2),
    (0, 10): (6, 8, 3, 7, 9, 4, 2, 5),
    (1, 5): (4, 2, 3, 5, 1),
    (0, 5): (3, 4, 1, 2, 5),
    (1, 100): (72, 85, 41, 64, 93, 18, 56, 37),
    (0, 100): (68, 82, 45, 91, 33, 74, 57, 12),
    (1, 7): (5, 3, 6, 2, 4),
    (0, 1000): (640, 815, 275, 930, 455, 120),
}


@dataclass(frozen=True)
class Skeleton:
    """One hand-written reply with slots, and what a careful reader takes from it."""

    format: str
    scale: tuple[int, int] | None
    kind: str
    real: bool
    verdict: str
    text: str


@dataclass
class Written:
    """All that is written in one language."""

    reasons: list[str] = field(default_factory=list)
    ties: list[str] = field(default_factory=list)
    scores: list[str] = field(default_factory=list)
    skeletons: list[Skeleton] = field(default_factory=list)


def read(lang: str) -> Written:
    """The texts of one language."""
    written = Written()
    for block in re.split(r"^(?=@)", (HERE / "written" / f"{lang}.txt").read_text("utf-8"), flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        body = body.strip("\n")
        if head.startswith("@@ "):
            form, task, kind, real, verdict = head[3:].split(None, 4)
            low, _, high = task.removeprefix("score:").partition("-")
            scale = (int(low), int(high)) if high else None
            written.skeletons.append(Skeleton(form, scale, kind, {"real": True, "hard": False}[real], verdict, body))
        else:
            getattr(written, head[1:].strip()).extend(body.split("\n"))
    return written


def wide(text: str) -> str:
    """The text in full-width signs."""
    return "".join(chr(ord(sign) + 0xFEE0) for sign in text)


class Filler:
    """Fills the slots, and goes on in the lists of reasons from row to row. Each turn begins one reason further on."""

    def __init__(self, written: Written, turn: int):
        self.lists = {"r": written.reasons, "t": written.ties, "s": written.scores}
        self.used = Counter(dict.fromkeys(self.lists, turn))

    def reason(self, name: str) -> str:
        """The next text of a list."""
        self.used[name] += 1
        return self.lists[name][self.used[name] % len(self.lists[name])]

    def fill(self, skeleton: Skeleton, turn: int) -> tuple[str, object]:
        """The reply and its verdict."""
        x, y = ("A", "B") if turn % 2 == 0 else ("B", "A")
        slots = {"X": x, "Y": y, "x": x.lower(), "w": wide(x), "W": wide(y), "c": {"A": "А", "B": "В"}[x]}
        slots |= {"z": "\u200b", "b": "\u00a0", "_": ""}
        if skeleton.scale is not None:
            numbers = NUMBERS[skeleton.scale]
            n, m, k = (numbers[(turn + step) % len(numbers)] for step in (0, 1, 3))
            slots |= {"N": str(n), "M": str(m), "K": str(k), "n": wide(str(n))}
            slots |= {"L": str(skeleton.scale[0]), "H": str(skeleton.scale[1])}

        def put(match: re.Match[str]) -> str:
            sign = match[1]
            return re.sub("§(.)", put, self.reason(sign.lower())) if sign in "rRtsS" else slots[sign]

        reply = re.sub("§(.)", put, skeleton.text)
        verdict = re.sub("§(.)", put, skeleton.verdict)
        return reply, verdict if verdict in ("A", "B", "tie") else json.loads(verdict)


def bare(reply: str) -> str:
    """The reply without digits, labels and white space at its ends."""
    return re.sub(r"\d|(?<![A-Za-zＡ-Ｚ])[ABCabcＡＢＣАВ](?![A-Za-zａ-ｚА-я])", "", reply).strip()


def compose() -> dict[str, list[dict[str, object]]]:
    """All rows by language."""
    alike: Counter[str] = Counter()
    seen: set[str] = set()
    rows: dict[str, list[dict[str, object]]] = {}
    for lang in LANGUAGES:
        written = read(lang)
        mine = rows[lang] = []
        for turn in range(max(EACH.values())):
            filler = Filler(written, turn)
            for place, skeleton in enumerate(written.skeletons):
                if len(mine) == ROWS:
                    break
                if turn >= EACH[skeleton.real]:
                    continue
                reply, verdict = filler.fill(skeleton, turn + place)
                if reply in seen or alike[bare(reply)] == ALIKE:
                    continue
                seen.add(reply)
                alike[bare(reply)] += 1
                mine.append(
                    {
                        "id": f"{lang}-{len(mine) + 1:03d}",
                        "lang": lang,
                        "format": skeleton.format,
                        "task": "pairwise" if skeleton.scale is None else "score",
                        "scale": skeleton.scale and list(skeleton.scale),
                        "reply": reply,
                        "verdict": verdict,
                        "kind": skeleton.kind,
                        "real": skeleton.real,
                    }
                )
    return rows


def lines(rows: list[dict[str, object]]) -> str:
    """The rows as a file holds them."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    for lang, rows in compose().items():
        (HERE / f"{lang}.jsonl").write_text(lines(rows), "utf-8", newline="\n")
