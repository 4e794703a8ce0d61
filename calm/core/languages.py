"""
Languages: which one a text is in, as far as its script and its commonest words say, and whether words are English.

It is a rule and no model: a few words of each language that English and the others lack. Where it cannot tell, it says
so, and a text of which nothing is known is edited as an English one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from calm.core.case import Case
from calm.core.checks import words
from calm.core.markup import fenced
from calm.core.order import LANGUAGE
from calm.core.validation import NO_WIDTH

ENGLISH: Final = "en"
UNKNOWN: Final = ""
NAMES: Final[Mapping[str, str]] = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "sw": "Swahili", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""The names of the languages that have one here, by their codes."""
SERVED: Final = ("en", "de", "fr", "es", "pt", "it", "pl", "tr", "ru", "zh", "ja", "ar", "hi")
"""The languages in which there are bundled cases, inert words and stock phrases."""
UNSPACED: Final = frozenset({"zh", "ja", "th"})
"""Languages that put no space between words, nor between sentences."""

_FUNCTION_WORDS: Final = (
    "the of and this that these those which with is are were be been being have has had from by for not you your what"
    " when where who why how all it its will would can could should there their they them we our here as any each every"
    " because if than then but or some such only other into out up down about after before to in on at an my am he she"
    " his her"
)
_ENGLISH: Final = frozenset(_FUNCTION_WORDS.split())
_ALSO: Final = frozenset({"was", "so", "a", "as", "no", "do", "to", "me", "all", "die", "i"})
"""Words that are common in English and in another language: they tell nothing of either."""
_ON_LABELS: Final = "answer answers verified once more most people again said step note summary overview believe firmly"
_LABELS: Final = frozenset(_ON_LABELS.split())
"""Further words of English that edits put by themselves into a text."""
_COMMON: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, words in {
        "de": "der das und ist nicht ein eine einen einem einer dem den mit von zu für auf sich auch wird werden "
        "sind wie oder aber als nach bei aus diese dieser dieses man kann haben hat ich sie wir ihr wenn nur "
        "noch im zum zur am vom sein über durch dann mehr sehr wurde beträgt sowie antwort in an es er so was "
        "diesem etwas hier dass",
        "fr": "de suis tout mes on en à le la les un une des du est et que qui dans pour pas sur par avec ce cette "
        "ces il elle sont au aux ne se plus ou où vous nous je mais sa son ses leur être été dont ont cela "
        "comme très c'est d'un d'une l'on deux réponse",
        "es": "un de a me todo esto hace el la los las una del es y que en por para con no se su sus al lo como más "
        "pero este esta estos son está ha han fue muy también cuando donde hay porque sobre entre sin desde "
        "ser ya si cada respuesta",
        "pt": "a as de me tudo isto um o os uma do da dos das é e que em no na nos nas por para com não se seu sua "
        "ao à mais como mas este esta são está foi muito também quando há porque sobre entre sem você ele ela "
        "isso pelo pela cada resposta",
        "it": "mi in a tutto qui il lo gli un una del della dei delle degli è e che di per con non si al alla nel "
        "nella sono questo questa come più ma anche ha hanno quando dove perché tra fra essere ogni cui dal "
        "dalla ne ci c'è se sul sulla risposta la le i",
        "pl": "jest wynosi i w z na się nie że jak co od za przez dla po są oraz lub ale tak ten ta te tego tej tym "
        "może być przed przy bez który która które czy już tylko jego ich był była to do odpowiedź odpowiedzi "
        "ile tutaj aż",
        "tr": "ve bir bu da de için ile çok olarak daha olan gibi en ne kadar sonra değil var ya her ama şu o mi mı "
        "olduğu veya ancak tüm hem ise yanıt cevap burada bunu beni bütün kim kaç",
        "nl": "de het een en van niet dat die voor met zijn op te aan ook wordt worden naar bij uit deze dit maar "
        "als kan heeft ik je wij hij zij nog wel er door om geen antwoord",
        "sv": "och att det som en ett är på för med av den inte till om har de var jag han hon vi kan från eller "
        "men så också när där nu mycket",
        "da": "og at det som en et er på for med af den ikke til om har de var jeg han hun vi kan fra eller men så "
        "også når hvor nu meget",
        "no": "og at det som en et er på for med av den ikke til om har de var jeg han hun vi kan fra eller men så "
        "også når hvor nå mye",
        "cs": "a v se na je že z s do to jako pro by jsou od za při podle není ale nebo jak tak také který která "
        "které už jen byl bude může",
        "fi": "ja on ei se että oli kun niin mutta tai ovat myös joka voi hän ole jos kuin sen tämä mitä sekä",
        "hu": "a az és hogy nem is egy ez de van meg csak már volt mint vagy ha ki kell lehet még pedig azt",
        "ro": "și în a la cu de pe este nu că un o din care să mai pentru sunt se dar au ca fost sau prin",
        "id": "yang dan di untuk dengan adalah ini itu dari pada tidak dalam akan juga atau ke bisa oleh karena "
        "jawaban",
        "vi": "là và của có không được cho với một các trong những này đó khi người để ở từ như cũng đã sẽ",
    }.items()
}
_LETTERS: Final = {
    code: re.compile(letters)
    for code, letters in {
        "de": "ß|ä|ö|ü",
        "fr": r"ç|œ|ê|è\w|ù|â|î|û",
        "es": r"ñ|ón\b",
        "pt": "ã|õ|ç",
        "it": r"[àòù]\b|zion[ei]\b",
        "pl": "[ąćęłńśźż]",
        "tr": "[ğıİşü]",
        "sv": "[äåö]",
        "da": "[æøå]",
        "no": "[æøå]",
        "cs": "[ěřůšč]",
        "fi": "ää|öö|yy",
        "hu": "[őűö]",
        "ro": "[ășțşţ]",
        "vi": "[\u1ea0-\u1ef9đơư]",
    }.items()
}
"""Letters, and ends of words, that a language has and most others lack: a word with one counts as a common one."""
_IN_ASCII: Final = {code: _LETTERS[code] for code in ("it", "fi")}
"""Those that a word of ASCII alone can have."""
_COMMON_IN: Final = {
    word: tuple(code for code, common in _COMMON.items() if word in common)
    for word in frozenset().union(*_COMMON.values())
}
"""The languages in which a word is common."""
_SHARED: Final = {code: common & _ENGLISH for code, common in _COMMON.items()}
"""The common words of a language that are common ones of English, too."""
_SCRIPTS: Final = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    "kana": re.compile(r"[\u3040-\u30ff\uff66-\uff9f]"),
    "ko": re.compile(r"[\u1100-\u11ff\uac00-\ud7af]"),
    "cyrillic": re.compile(r"[\u0400-\u052f]"),
    "arabic": re.compile(r"[\u0620-\u064a\u066e-\u06d3\u0750-\u077f]"),
    "devanagari": re.compile(r"[\u0904-\u0963\u0971-\u097f]"),
    "el": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"),
    "he": re.compile(r"[\u05d0-\u05ea]"),
    "th": re.compile(r"[\u0e01-\u0e4e]"),
    "ka": re.compile(r"[\u10a0-\u10ff]"),
    "hy": re.compile(r"[\u0531-\u0587]"),
    "bn": re.compile(r"[\u0985-\u09fb]"),
    "ta": re.compile(r"[\u0b83-\u0bfa]"),
    "te": re.compile(r"[\u0c05-\u0c63]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
}
_HEAVIER: Final = {"han": 3, "kana": 2, "ko": 2}
"""How many letters of an alphabet a sign of a script stands for: a word of Chinese has about two."""
_MARKS: Final = (
    ("cyrillic", "uk", re.compile(r"[іїєґ]")),
    ("cyrillic", "ru", re.compile(r"[ыэё]|\b(?:и|не|что|как|это|ответ|равн)\b")),
    ("arabic", "fa", re.compile(r"[پچژگ]")),
    ("arabic", "ur", re.compile(r"[ٹڈڑے]")),
    ("arabic", "ar", re.compile(r"[ةىأإ]|ال")),
    ("devanagari", "hi", re.compile(r"(?:^|\s)(?:है|हैं|का|की|के|में|से|और|नहीं|को|यह|कितन[ाीे])(?=\W|$)")),
)
"""Letters and words by which a language of a script is known."""
_OF_SCRIPT: Final = {"cyrillic": "ru", "arabic": "ar", "devanagari": "hi", "han": "zh"}
_MOST: Final = 20_000
"""Characters of a text that are looked at."""
LEAST: Final = 2
"""Common words of a language, or this many times the same one, that a text in Latin letters must have, ..."""
SHARE: Final = 0.08
"""... and the share of all its words that they must be."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_INLINE: Final = re.compile(r"`[^`\n]+`|https?://\S+|<[^<>\n]*>")
_LETTER: Final = re.compile("[A-Za-z]")
_MOST_KEPT: Final = 1 << 17
"""Of so many texts the language is remembered: each takes 150 bytes."""
_known: dict[bytes, str] = {}
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e4e]+")


def spoken_words(text: str) -> int:
    """
    Return about how many words a text has; two signs of a script without spaces are one.

    >>> spoken_words("It is so: 4."), spoken_words("答案是四。")
    (4, 2)
    """
    if text.isascii():
        return words(text)
    signs = sum(len(found[0]) for found in _UNSPACED.finditer(text))
    return words(_UNSPACED.sub(" ", text)) + math.ceil(signs / 2)


def language_of(text: str) -> str:
    """
    Return the code of the language that a text is in, and "" if there is too little to tell.

    Code, tags and addresses do not count. A language outside the lists is known by its script alone, if at all.

    >>> language_of("Die Antwort ist 36, und das ist alles."), language_of("It is 36, and that is all.")
    ('de', 'en')
    >>> language_of("答案是三十六。"), language_of("36")
    ('zh', '')
    """
    seen = text[:_MOST]
    key = blake2b(seen.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    found = _known.get(key)
    if found is None:
        if len(_known) >= _MOST_KEPT:
            _known.clear()
        found = _known[key] = _told(_prose(seen))
    return found


def _told(prose: str) -> str:
    if prose.isascii():
        return _of_latin(prose) if _LETTER.search(prose) else UNKNOWN
    count = {name: len(signs.findall(prose)) * _HEAVIER.get(name, 1) for name, signs in _SCRIPTS.items()}
    total = sum(count.values())
    if not total:
        return UNKNOWN
    script = max(count, key=lambda name: count[name])
    if count["han"] + count["kana"] > total / 2:
        return "ja" if 10 * count["kana"] > count["han"] else "zh"
    if script == "latin":
        return _of_latin(prose)
    if count[script] <= total / 2:
        return UNKNOWN
    marked = (code for of, code, mark in _MARKS if of == script and mark.search(prose))
    return next(marked, _OF_SCRIPT.get(script, script))


def _of_latin(prose: str) -> str:
    every = [word.casefold().replace("’", "'") for word in _WORD.findall(prose)]
    said = Counter(every)
    hits = dict.fromkeys(_COMMON, 0)
    for word, n in said.items():
        for code in _COMMON_IN.get(word, ()):
            hits[code] += n
    together = " ".join(said)
    for code, letters in (_IN_ASCII if together.isascii() else _LETTERS).items():
        if letters.search(together):
            common = _COMMON[code]
            hits[code] += sum(n for word, n in said.items() if word not in common and letters.search(word))
    code = max(hits, key=lambda one: (hits[one], one in SERVED))
    shared = _SHARED[code]
    english = sum(n for word, n in said.items() if word in _ENGLISH and word not in shared)
    own = hits[code] - sum(said[word] for word in shared)
    if own > english and hits[code] >= LEAST and hits[code] >= SHARE * len(every):
        return code
    return ENGLISH if english >= 1 else UNKNOWN


def _prose(text: str) -> str:
    """Return the text without its code, tags and addresses, and without characters of no width."""
    if "`" in text or "~~~" in text:
        lines = text.split("\n")
        code, _ = fenced(lines)
        text = "\n".join(line for line, inside in zip(lines, code, strict=True) if not inside)
    return _INLINE.sub(" ", NO_WIDTH.sub("", text))


def language_of_case(case: Case, answer: str | None = None) -> str:
    """
    Return the language that an edit of an answer has to speak, by its code; English where that is unknown.

    The tag `language` of the case decides if there is one. Otherwise question and answer have to agree: a case of which
    one is English is an English one, as a question about a translation is. Where one of the two says nothing, such as a
    number alone, the other decides; where they differ otherwise, the answer.

    Args:
        case: the case.
        answer: the id of the answer; None for all of them together.
    """
    if tagged := code_of(case.tags.get(LANGUAGE, "")):
        return tagged
    texts = [one.text for one in case.answers if answer is None or one.id == answer]
    asked, said = language_of(case.question), language_of("\n".join(texts))
    if not said:
        return asked or ENGLISH
    return ENGLISH if asked == ENGLISH else said


def code_of(said: str) -> str:
    """
    Return the code of a language by its code or English name; "" if it is none, as a programming language is not.

    >>> code_of("de-CH"), code_of("German"), code_of("python")
    ('de', 'de', '')
    """
    if not said:
        return UNKNOWN
    word = re.split(r"[-_]", said.strip().lower())[0]
    return word if word in NAMES else next((code for code, name in NAMES.items() if name.lower() == word), "")


def english_among(before: str, after: str, language: str) -> bool:
    """
    Return whether a text in a language got new words of English: some, and as many as new common ones of its own.

    >>> english_among("Das ist so.", "Das ist so. All of this is known.", "de")
    True
    >>> english_among("Das ist so.", "Das ist so. Das steht in der Zeitung.", "de")
    False
    """
    known = {word.casefold() for word in _WORD.findall(_prose(before))}
    said = [word.casefold().replace("’", "'") for word in _WORD.findall(_prose(after))]
    new = [word for word in said if word not in known]
    common = _COMMON.get(language, frozenset())
    english = sum((word in _ENGLISH or word in _LABELS) and word not in common for word in new)
    return english > 0 and english >= sum(word in common and word not in _ENGLISH | _ALSO for word in new)
